// The console over HTTP: which role may use which route, which forms are accepted, and what never appears on a page.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { TOTP } from 'otpauth';
import { createApp } from '../src/app.ts';
import { safePath } from '../src/console/console-request.ts';
import { CONSOLE_ROUTES } from '../src/console/routes.ts';
import { clientSample, STATUS_PATH, sampleParams, writeSamples } from '../src/console/samples.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { canonicalEnvelope } from '../src/holders/envelope.ts';
import { addMember, createLoginLink, ROLES } from '../src/holders/members.ts';
import { writeNoticeMail } from '../src/holders/notice-mails.ts';
import { setPassword } from '../src/holders/passwords.ts';
import { base32, startFactor } from '../src/holders/second-factor.ts';
import { BEFORE_ALL, listByAmount, listTransactions, totalOfFilter } from '../src/payments/listing.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import {
  findByNumberPrefix,
  findByOperatorReceipt,
  findByOwnReference,
  findByPartOfRef,
} from '../src/payments/search.ts';
import { verifyInBackground } from '../src/payments/verify-books.ts';
import type { Reader } from '../src/platform/db.ts';
import { createUuid, shortId } from '../src/platform/ids.ts';
import { createLogger } from '../src/platform/log.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { createServices } from '../src/services.ts';
import { collectInKenya } from './client.ts';
import {
  addPerson,
  csrfOf,
  hiddenFieldsOf,
  importPayouts,
  type Person,
  payOut,
  signIn,
  visitor,
} from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createTestContext } from './harness.ts';
import { createShop, type Shop, signBody } from './shop.ts';

const MARKUP = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;
const KENYA: JsonObject = { amount: 2500, country_id: 1, currency: 'KES', mobile: '254712345000' };

let gateway: TestGateway;
let shop: Shop;
let kenya: JsonObject;
let method: string;

before(async () => {
  gateway = await createTestGateway({ ALLOW_SIGN_UP: 'true', CALLBACK_ALLOWED_RANGES: '127.0.0.0/8' });
  shop = await createShop(gateway.ctx, 'Duka la Amani');
  const row = [...gateway.ctx.catalog.collectionCountries.values()].find((each) => each.currency === 'KES');
  method = row?.methods[0]?.code ?? '';
  kenya = { ...KENYA, country_id: row?.countryId ?? 1, payment_method_type: method };
});
after(() => gateway.close());

const collect = (params: JsonObject = {}, of: Shop = shop) => collectInKenya(gateway, of, { ...kenya, ...params });

function addressOf(path: string, ref: string): string {
  return `/console${path.replace(':ref', ref).replace(':currency', 'KES').replace(':token', 'none').replace(/:id/g, '999999')}`;
}

/** Which breaks, or which day of which account, stands in the address; the answer without it. */
const CHOSEN_BEFORE = new Map([
  ['/admin/books/decide', 400],
  ['/admin/books/close', 404],
  ['/admin/books/closes', 404],
  ['/admin/books/closes.csv', 404],
]);

describe('access', () => {
  test('each role reaches exactly the routes that the table says', async () => {
    const people = new Map<string, Person['member']>();
    const readers = new Map<string, Person>();
    for (const role of ROLES) {
      const person = await addPerson(gateway, shop.holderId, role);
      people.set(role, person.member);
      readers.set(role, person);
    }
    const ref = 'TX_00000000000000000000000000';
    const signedIn = (member: Person['member']) => signIn(gateway, member, { holderId: shop.holderId });
    // A fresh session for each change. Some end all sessions of the person.
    const postAs = async (member: Person['member'], path: string) => (await signedIn(member)).post(path);
    const readAs = async (role: string, member: Person['member'], path: string) => {
      const answer = await readers.get(role)?.get(path);
      if (answer && !answer.location?.startsWith('/console/sign-in')) return answer;
      const person = await signedIn(member);
      readers.set(role, person);
      return person.get(path);
    };
    for (const route of CONSOLE_ROUTES) {
      if (route.access === 'anyone') continue;
      for (const role of ROLES) {
        const member = people.get(role);
        assert.ok(member);
        const path = addressOf(route.path, ref);
        const answer = await (route.method === 'GET' ? readAs(role, member, path) : postAs(member, path));
        const allowed = route.access === 'member' || (Array.isArray(route.access) && route.access.includes(role));
        const name = `${role} ${route.method} ${route.path}`;
        if (allowed) {
          assert.notEqual(answer.status, 403, name);
          assert.ok(answer.status < 500, `${name} answered ${answer.status}`);
        } else assert.equal(answer.status, 403, name);
      }
    }
  });

  test('no route works without a session or after it ended', async () => {
    const nobody = visitor(gateway, '');
    for (const route of CONSOLE_ROUTES) {
      if (route.access === 'anyone') continue;
      const path = addressOf(route.path, 'TX_00000000000000000000000000');
      const answer = route.method === 'GET' ? await nobody.get(path) : await nobody.post(path);
      assert.equal(answer.status, 303, route.path);
      assert.match(answer.location ?? '', /^\/console\/sign-in\?next=%2Fconsole/);
    }
    const person = await addPerson(gateway, shop.holderId, 'viewer', 'gone@example.org');
    assert.equal((await person.post('/console/sign-out')).status, 303);
    assert.equal((await person.get('/console')).status, 303);
  });

  test('an admin reaches the pages of the gateway, a member of a holder does not', async () => {
    const admin = await addPerson(gateway, shop.holderId, 'viewer', 'ops@example.org', { admin: true });
    const owner = await addPerson(gateway, shop.holderId, 'owner', 'notops@example.org');
    for (const route of CONSOLE_ROUTES.filter((each) => each.access === 'admin' && each.method === 'GET')) {
      const path = `/console${route.path.replace(':id', String(shop.holderId))}`;
      // The number of a holder names no case and no decision, and there is no connection.
      const isThere = !route.path.includes(':') || route.path.startsWith('/admin/holders');
      const expected = CHOSEN_BEFORE.get(route.path) ?? (isThere ? 200 : 404);
      assert.equal((await admin.get(path)).status, expected, path);
      assert.equal((await owner.get(path)).status, 403, path);
    }
    // The check runs in the background: the answer does not wait for it.
    assert.equal((await admin.post('/console/admin/ledger/verify')).status, 303);
    assert.match((await admin.get('/console/admin/ledger')).text, /The check is under way/);
    await verifyInBackground(gateway.ctx);
    assert.match((await admin.get('/console/admin/ledger')).text, /Ledger verified/);
    const opened = await admin.post('/console/admin/holders', { business: 'New shop', email: 'new@example.org' });
    assert.match(opened.text, /\/console\/invitations\/inv_/);
    const fee = { method, direction: 'collection', percent: '2.5', fixed: '0' };
    const saved = await admin.post(`/console/admin/holders/${shop.holderId}/fees`, fee);
    assert.equal(saved.status, 303);
    assert.match((await admin.get(`/console/admin/holders/${shop.holderId}`)).text, /2\.5 %/);
    await admin.post(`/console/admin/holders/${shop.holderId}/fees`, { ...fee, remove: 'yes' });
  });

  test('the data of another holder is not found', async () => {
    const ref = await collect();
    const other = await createShop(gateway.ctx, 'Another shop');
    const stranger = await addPerson(gateway, other.holderId, 'owner', 'stranger@example.org');
    for (const path of [`/console/transactions/${ref}`, `/console/integrations/${shop.clientId}`]) {
      const answer = await stranger.get(path);
      assert.equal(answer.status, 404, path);
      assert.ok(!answer.text.includes('Duka la Amani'));
    }
    for (const path of [
      '/console',
      '/console/transactions',
      '/console/balances',
      '/console/audit',
      '/console/requests',
    ]) {
      const answer = await stranger.get(path);
      assert.ok(!answer.text.includes(shortId(ref)) && !answer.text.includes(shop.clientId), path);
    }
    const switched = await stranger.post('/console/switch', { holder: String(shop.holderId) });
    assert.equal(switched.status, 404);
  });
});

describe('forms', () => {
  test('without the token, with another’s, or from another site: refused, and nothing happens', async () => {
    const person = await addPerson(gateway, shop.holderId, 'owner', 'forms@example.org');
    const other = await addPerson(gateway, shop.holderId, 'owner', 'forms2@example.org');
    for (const route of CONSOLE_ROUTES.filter((each) => each.method === 'POST')) {
      const path = addressOf(route.path, 'TX_00000000000000000000000000');
      const none = await visitor(gateway, person.cookie).post(path, { csrf: '' });
      assert.equal(none.status, 403, route.path);
      const theirs = await visitor(gateway, person.cookie, other.csrf).post(path);
      assert.equal(theirs.status, 403, route.path);
      const foreign = await person.post(path, {}, { 'sec-fetch-site': 'cross-site' });
      assert.equal(foreign.status, 403, route.path);
      const origin = await person.post(path, {}, { origin: 'https://evil.example' });
      assert.equal(origin.status, 403, route.path);
    }
    assert.equal((await person.get('/console')).status, 200, 'the session is still there');
  });

  test('a form of one account pays nothing from another that was chosen in a second window meanwhile', async () => {
    const second = await createShop(gateway.ctx, 'The second shop');
    const person = await addPerson(gateway, shop.holderId, 'owner', 'two-shops@example.org');
    await addMember(gateway.ctx, COMMAND_LINE, { ...person.member, holderId: second.holderId, role: 'owner' });
    for (const { holderId } of [shop, second])
      await topUpSandbox(gateway.ctx, COMMAND_LINE, holderId, 'KES', 5_000_00n);
    const payoutsOf = async (holderId: bigint) =>
      (await gateway.ctx.db.query(`select from transactions where holder_id = $1 and direction = 'payout'`, [holderId]))
        .length;
    const before = { first: await payoutsOf(shop.holderId), second: await payoutsOf(second.holderId) };
    const order = { amount: '1000', currency: 'KES', mobile: '254712345000', country_id: '1', payee: 'Ada Obi' };
    const confirmation = await person.post('/console/payouts', order);
    assert.equal(confirmation.status, 200);
    const switched = await person.post('/console/switch', { holder: String(second.holderId) });
    assert.equal(switched.status, 303);
    const refused = await person.post('/console/payouts', hiddenFieldsOf(confirmation.text));
    assert.equal(refused.status, 409);
    assert.match(refused.text, /The second shop/);
    assert.deepEqual({ first: await payoutsOf(shop.holderId), second: await payoutsOf(second.holderId) }, before);
    // Back in the account of the form it counts, once.
    await person.post('/console/switch', { holder: String(shop.holderId) });
    assert.equal((await person.post('/console/payouts', hiddenFieldsOf(confirmation.text))).status, 303);
    assert.equal(await payoutsOf(shop.holderId), before.first + 1);
  });

  test('a form of an account that the member was removed from does nothing in another one of theirs', async () => {
    const second = await createShop(gateway.ctx, 'The shop that is left');
    const person = await addPerson(gateway, shop.holderId, 'developer', 'removed-meanwhile@example.org');
    await addMember(gateway.ctx, COMMAND_LINE, { ...person.member, holderId: second.holderId, role: 'owner' });
    const page = await person.get('/console/integrations/new');
    const fields = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
    await gateway.ctx.db.query('delete from memberships where member_id = $1 and holder_id = $2', [
      person.member.id,
      shop.holderId,
    ]);
    const form = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]));
    const refused = await person.post('/console/integrations', { ...form, title: 'Made by mistake' });
    assert.equal(refused.status, 409);
    assert.equal((await gateway.ctx.db.query("select from integrations where title = 'Made by mistake'")).length, 0);
  });

  test('pages cannot be framed or cached, and run no foreign script', async () => {
    const person = await addPerson(gateway, shop.holderId, 'viewer', 'frames@example.org');
    const { headers } = await person.get('/console');
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /default-src 'none'/);
    assert.ok(!policy.includes('unsafe'));
    assert.equal(headers.get('x-frame-options'), 'DENY');
    assert.equal(headers.get('cache-control'), 'no-store');
  });

  test('redirects stay inside the console', async () => {
    for (const path of [
      '//evil.example',
      'https://evil.example',
      '/console//evil.example',
      '/\\evil.example',
      '/consoleevil',
      '/console\r\nX: y',
      '/pay/x',
    ])
      assert.equal(safePath(path), '/console', path);
    assert.equal(safePath('/console/transactions?status=failed'), '/console/transactions?status=failed');
  });
});

describe('signing in', () => {
  async function anonymous(cookie = '') {
    const page = await visitor(gateway, cookie).get('/console/sign-in');
    const visitorCookie = /simbi_visitor=[^;]+/.exec(page.headers.get('set-cookie') ?? '')?.[0] ?? '';
    return visitor(gateway, [cookie, visitorCookie].filter(Boolean).join('; '), csrfOf(page.text));
  }

  test('a one-time link works once, and only when its form is sent', async () => {
    const member = await addMember(gateway.ctx, COMMAND_LINE, {
      email: 'link@example.org',
      name: 'Link',
      holderId: shop.holderId,
      role: 'owner',
    });
    const { token } = await createLoginLink(gateway.ctx, member.id);
    const person = await anonymous();
    assert.equal((await person.get(`/console/login/${token}`)).status, 200);
    assert.equal((await person.get(`/console/login/${token}`)).status, 200, 'looking does not spend it');
    const entered = await person.post(`/console/login/${token}`);
    assert.equal(entered.location, '/console/welcome');
    assert.match(entered.headers.get('set-cookie') ?? '', /simbi_session=[\w-]{40,}; Path=\/; HttpOnly; SameSite=Lax/);
    assert.equal((await person.post(`/console/login/${token}`)).status, 401);
  });

  test('review: the first sign-in by link asks for a password, and nothing in a sandbox ends at a terminal', async () => {
    const member = await addMember(gateway.ctx, COMMAND_LINE, {
      email: 'newcomer@example.org',
      name: 'Newcomer',
      holderId: shop.holderId,
      role: 'owner',
    });
    const { token } = await createLoginLink(gateway.ctx, member.id);
    const entered = await (await anonymous()).post(`/console/login/${token}`);
    const cookie = /simbi_session=[\w-]+/.exec(entered.headers.get('set-cookie') ?? '')?.[0] ?? '';
    const asked = await visitor(gateway, cookie).get('/console/welcome');
    assert.match(asked.text, /name="password".*Skip for now/s);
    const person = visitor(gateway, cookie, csrfOf(asked.text));
    gateway.ctx.clock.advance(11 * 60_000);
    assert.equal((await person.get('/console/integrations/new')).status, 200, 'there is nothing to confirm with');
    assert.equal((await person.post('/console/welcome', { password: 'short' })).status, 400);
    const chosen = await person.post('/console/welcome', { password: 'a sentence that is long enough' });
    assert.equal(chosen.location, '/console?done=saved');
    assert.equal((await person.get('/console/welcome')).location, '/console', 'it is asked once');
  });

  test('a session token planted by an attacker is never adopted', async () => {
    const member = await addMember(gateway.ctx, COMMAND_LINE, {
      email: 'fix@example.org',
      name: 'Fix',
      holderId: shop.holderId,
      role: 'owner',
    });
    const planted = 'simbi_session=planted-by-an-attacker-000000000000000000';
    const person = await anonymous(planted);
    const { token } = await createLoginLink(gateway.ctx, member.id);
    const entered = await person.post(`/console/login/${token}`);
    const fresh = /simbi_session=([\w-]+)/.exec(entered.headers.get('set-cookie') ?? '')?.[1];
    assert.ok(fresh && !planted.includes(fresh));
    assert.equal((await visitor(gateway, planted).get('/console')).status, 303);
  });

  test('password and second factor; a code works once and is asked for again before secrets', async () => {
    const { ctx } = gateway;
    const member = await addMember(ctx, COMMAND_LINE, {
      email: 'two@example.org',
      name: 'Two',
      holderId: shop.holderId,
      role: 'owner',
    });
    await setPassword(ctx, COMMAND_LINE, member.id, 'a long enough secret', { sessionId: null, holderId: null });
    const person = await anonymous();
    const wrong = await person.post('/console/sign-in', { email: 'two@example.org', password: 'not this one' });
    assert.equal(wrong.status, 401);
    assert.equal(
      (await person.post('/console/sign-in', { email: 'nobody@example.org', password: 'x' })).text.includes(
        'Incorrect e-mail or password',
      ),
      true,
    );
    const enrolling = await signIn(gateway, member, { holderId: shop.holderId });
    const password = 'a long enough secret';
    assert.equal((await enrolling.post('/console/account/proof', { password })).status, 303);
    const secret = await startFactor(ctx, member.id);
    const codeNow = () => new TOTP({ secret: base32(secret) }).generate({ timestamp: ctx.clock.millis() });
    assert.match((await enrolling.get('/console/account/factor')).text, new RegExp(base32(secret).slice(0, 4)));
    const code = codeNow();
    assert.equal((await enrolling.post('/console/account/factor/proof', { code: '000000' })).status, 400);
    assert.match((await enrolling.post('/console/account/factor/proof', { code })).text, /Recovery codes/);
    ctx.clock.advance(30_000);
    const asked = await person.post('/console/sign-in', {
      email: 'TWO@example.org',
      password,
      next: '/console/payouts',
    });
    assert.equal(asked.status, 200);
    const pending = /name="pending" value="([^"]+)"/.exec(asked.text)?.[1] ?? '';
    const second = codeNow();
    assert.equal((await person.post('/console/sign-in/code', { pending, code })).status, 401, 'an old code');
    const entered = await person.post('/console/sign-in/code', { pending, code: second });
    assert.equal(entered.location, '/console/payouts');
    assert.equal(
      (await person.post('/console/sign-in/code', { pending, code: second })).status,
      401,
      'a code works once',
    );
    const cookie = /simbi_session=[\w-]+/.exec(entered.headers.get('set-cookie') ?? '')?.[0] ?? '';
    const inside = visitor(gateway, cookie, csrfOf((await visitor(gateway, cookie).get('/console/account')).text));
    const refused = await inside.get('/console/integrations/new');
    assert.match(refused.location ?? '', /^\/console\/confirm\?next=%2Fconsole%2Fintegrations%2Fnew/);
    ctx.clock.advance(30_000);
    const third = codeNow();
    const proved = await inside.post('/console/confirm', { code: third, next: '/console/integrations/new' });
    assert.equal(proved.location, '/console/integrations/new');
    assert.equal((await inside.get('/console/integrations/new')).status, 200);
  });

  test('guessing is slowed down', async () => {
    const person = await anonymous();
    const answers = new Set<number>();
    for (let tries = 0; tries < 12; tries++)
      answers.add((await person.post('/console/sign-in', { email: 'guess@example.org', password: 'wrong' })).status);
    assert.deepEqual(answers, new Set([401, 429]));
    gateway.ctx.clock.advance(61_000);
  });

  test('signing up opens an account; an address that is taken opens nothing', async () => {
    const person = await anonymous();
    const fields = { business: 'Soko', name: 'Asha', email: 'asha@example.org', password: 'mangoes are sweet' };
    assert.equal((await person.post('/console/sign-up', fields)).location, '/console');
    const again = await person.post('/console/sign-up', { ...fields, password: 'another password' });
    assert.equal(again.status, 400);
  });

  test('an invitation makes a new person a member, and never opens an existing person’s account', async () => {
    const owner = await addPerson(gateway, shop.holderId, 'owner', 'inviter@example.org');
    const invite = async (email: string) => {
      const page = await owner.post('/console/team/invite', { email, role: 'finance' });
      return /\/console\/invitations\/(inv_[\w-]+)/.exec(page.text)?.[1] ?? '';
    };
    const person = await anonymous();
    const token = await invite('fresh@example.org');
    const joined = await person.post(`/console/invitations/${token}`, {
      name: 'Fresh',
      password: 'a long enough secret',
    });
    assert.equal(joined.location, '/console');
    assert.equal((await person.get(`/console/invitations/${token}`)).status, 404, 'it works once');
    const theirs = await invite('stranger@example.org');
    const taken = await person.post(`/console/invitations/${theirs}`, {
      name: 'Thief',
      password: 'a long enough secret',
    });
    assert.equal(taken.status, 200);
    assert.match(taken.text, /already has an account/);
    assert.ok(!(taken.headers.get('set-cookie') ?? '').includes('simbi_session'));
  });

  test('sessions are listed and can be ended; a page that looks for news keeps none alive', async () => {
    const { ctx } = gateway;
    const first = await addPerson(gateway, shop.holderId, 'viewer', 'sessions@example.org');
    const second = await signIn(gateway, first.member, { holderId: shop.holderId });
    const id = /\/account\/sessions\/(\d+)\/end/.exec((await first.get('/console/account')).text)?.[1];
    assert.equal((await first.post(`/console/account/sessions/${id}/end`)).status, 303);
    assert.equal((await second.get('/console')).status, 303);
    for (let minutes = 0; minutes < 70; minutes += 10) {
      ctx.clock.advance(10 * 60_000);
      await first.get('/console', { 'x-live': '1' });
    }
    assert.equal((await first.get('/console')).status, 303);
  });
});

describe('integrations and secrets', () => {
  test('a secret is on one page, once, and works; then on no page and in no log', async () => {
    const base = await createTestContext();
    const lines: string[] = [];
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(chunk.toString());
        done();
      },
    });
    const whole = await createServices({ ...base, log: createLogger('trace', sink) });
    const app = createApp(whole);
    const inner = {
      ...gateway,
      ctx: { ...base, ...whole.ctx, clock: base.clock, databaseTime: base.databaseTime },
      url: await app.listen({ port: 0, host: '127.0.0.1' }),
    };
    try {
      const made = await createShop(inner.ctx, 'Secretive');
      const owner = await addPerson(inner, made.holderId, 'owner', 'secret@example.org');
      const page = await owner.post('/console/integrations', { title: 'Till 1', callback_url: '' });
      const [secret = ''] = /sk_[\w-]{40,}/.exec(page.text) ?? [];
      const [callbackSecret = ''] = /whsec_[\w+/=]{40,}/.exec(page.text) ?? [];
      assert.ok(secret && callbackSecret);
      const id = /\/console\/integrations\/(client_\w+)/.exec(page.text)?.[1] ?? '';
      const rotated = await owner.post(`/console/integrations/${id}/rotate`, { kind: 'api', overlap_api: '3600' });
      const [next = ''] = /sk_[\w-]{40,}/.exec(rotated.text) ?? [];
      assert.ok(next && next !== secret);
      for (const route of CONSOLE_ROUTES.filter((each) => each.method === 'GET' && each.access !== 'admin')) {
        const { text } = await owner.get(addressOf(route.path, 'TX_0').replace('999999', id));
        for (const kept of [secret, next, callbackSecret]) assert.ok(!text.includes(kept), route.path);
      }
      const cookie = owner.cookie.split('=')[1] ?? '';
      for (const kept of [secret, next, callbackSecret, cookie, owner.csrf]) assert.ok(!lines.join('').includes(kept));
      assert.ok(lines.length > 10, 'there is a log to look at');
    } finally {
      await app.close();
      await whole.stop();
      await base.close();
    }
  });

  test('changes of callback address and allow-list are checked, saved and audited', async () => {
    const owner = await addPerson(gateway, shop.holderId, 'owner', 'changes@example.org');
    const path = `/console/integrations/${shop.clientId}`;
    const wrong = await owner.post(path, { callback_url: '', allowed_addresses: 'not-an-address' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /is not an IP address/);
    await owner.post(path, { callback_url: 'https://shop.example/hook', allowed_addresses: '127.0.0.1\n10.0.0.0/8' });
    assert.match((await owner.get(path)).text, /10\.0\.0\.0\/8/);
    assert.match((await owner.get('/console/audit')).text, /integration\.changed/);
    await owner.post(path, { callback_url: '', allowed_addresses: '' });
  });

  test('the debugger finds a wrong byte, a skewed clock, a wrong sender, and what was signed instead', async () => {
    const developer = await addPerson(gateway, shop.holderId, 'developer', 'debug@example.org');
    const now = gateway.ctx.clock.millis();
    const check = async (body: JsonObject, own = '') =>
      (await developer.post('/console/debugger', { body: JSON.stringify(body), own_string: own })).text;
    const right = signBody(shop, now, kenya);
    assert.match(await check(right), /would be accepted/);
    const canonical = canonicalEnvelope(right);
    const changed = canonical.replace('2500', '2501');
    const signature = createHmac('sha256', shop.secretKey).update(changed).digest('hex');
    const byte = Buffer.from(canonical).indexOf('2500') + 3;
    const wrongByte = await check({ ...right, signature }, changed);
    assert.match(wrongByte, new RegExp(`difference at byte ${byte}:`));
    assert.match(wrongByte, /your text is not the canonical JSON/);
    assert.match(await check(signBody(shop, now - 3_600_000, kenya)), /Off by -3600 s/);
    assert.match(await check(signBody(shop, now, kenya, { sender: 'duka la amani' })), /sender must be exactly/);
    assert.match(await check({ ...right, signature: right.signature.toUpperCase() }), /in upper case/);
    const asSent = { b: 1, ...right } as JsonObject;
    const { signature: _, ...unsigned } = asSent;
    asSent.signature = createHmac('sha256', shop.secretKey).update(JSON.stringify(unsigned)).digest('hex');
    assert.match(await check(asSent), /You signed the body as you wrote it/);
    const other = await createShop(gateway.ctx, 'Not mine');
    assert.match(await check(signBody(other, now, kenya)), /None of your active integrations/);
    assert.match((await developer.post('/console/debugger', { body: '{"a":1,}' })).text, /not valid JSON/);
  });
});

describe('money', () => {
  let receiver: Server;
  let received: string[];
  before(async () => {
    received = [];
    receiver = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => received.push(chunk.toString()));
      request.on('end', () => response.end(MARKUP));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    receiver.close();
  });

  test('a case file joins the request, the operator, the ledger and the callback', async () => {
    const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    const owner = await addPerson(gateway, shop.holderId, 'owner', 'file@example.org');
    const ref = await collect({ callback_url: hook, third_party_reference_1: 'order-77' });
    assert.equal(received.length, 1);
    gateway.ctx.clock.advance(1);
    await flushRequests();
    const { text } = await owner.get(`/console/transactions/${ref}`);
    for (const expected of [
      'Succeeded',
      'order-77',
      'Request received',
      'Posted to ledger',
      'your wallet',
      'collection.success',
      'delivered',
    ])
      assert.ok(text.includes(expected), expected);
    assert.ok(!text.includes(MARKUP), 'the receiver’s answer is shown as text');
    const again = await owner.post(`/console/transactions/${ref}/resend`, { event: /evt_\w+/.exec(text)?.[0] ?? '' });
    assert.equal(again.status, 303);
    await gateway.settle();
    assert.equal(received.length, 2);
    const refunded = await owner.post(`/console/transactions/${ref}/refund`);
    assert.match(refunded.location ?? '', /done=refundRequested/);
    await gateway.settle();
    assert.match((await owner.get(`/console/transactions/${ref}`)).text, /Reversed/);
    assert.match((await owner.get('/console/requests')).text, new RegExp(shortId(ref)));
    assert.match((await owner.get(`/console/integrations/${shop.clientId}`)).text, /Last used/);
    const [row] = await gateway.ctx.db.query<{ last_used_at: Date | null }>(
      'select last_used_at from integrations where id = $1',
      [shop.id],
    );
    assert.ok(row?.last_used_at);
  });

  /** The log writes itself every second; a test does not wait. */
  async function flushRequests(): Promise<void> {
    for (let tries = 0; tries < 40; tries++) {
      const [row] = await gateway.ctx.db
        .query<{ count: bigint }>(
          `select count(*) from request_log where holder_id = $1 and transaction_id is not null and at > $2`,
          [shop.holderId, new Date(gateway.ctx.clock.millis() - 60_000)],
        )
        .catch(() => [{ count: 0n }]);
      if ((row?.count ?? 0n) > 0n) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test('search takes a reference, a number, an own reference and part of a number', async () => {
    const person = await addPerson(gateway, shop.holderId, 'viewer', 'search@example.org');
    const ref = await collect({ mobile: '254722111000', third_party_reference_2: 'inv/2026-9' });
    assert.equal((await person.get(`/console/search?q=${ref.toLowerCase()}`)).location, `/console/transactions/${ref}`);
    for (const q of ['+254 722 111 000', 'inv/2026-9', '2111000'])
      assert.ok((await person.get(`/console/search?q=${encodeURIComponent(q)}`)).text.includes(ref), q);
    assert.match((await person.get('/console/search?q=nothing-like-this')).text, /No results/);
  });

  test('the export has every row, streams, and says how far it has come', async () => {
    const person = await addPerson(gateway, shop.holderId, 'viewer', 'export@example.org');
    const ref = await collect({ third_party_reference_1: '=1+1' });
    const csv = await person.get('/console/transactions.csv?export=abc');
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
    const [count] = await gateway.ctx.db.query<{ count: bigint }>(
      'select count(*) from transactions where holder_id = $1',
      [shop.holderId],
    );
    assert.equal(csv.text.trim().split('\r\n').length, Number(count?.count) + 1);
    assert.ok(
      csv.text
        .split('\r\n')
        .find((line) => line.startsWith(`"${ref}"`))
        ?.includes(`'=1+1`),
      'no formula reaches a spreadsheet',
    );
    assert.equal((JSON.parse((await person.get('/console/exports/abc')).text) as { done: boolean }).done, true);
    assert.match((await person.get('/console/balances/KES/statement.csv')).text, /"collection","TX_/);
    const day = gateway.ctx.clock.now().toISOString().slice(0, 10);
    assert.match((await person.get(`/console/balances/KES?day=${day}`)).text, /id="at-day"><b>KES/);
  });

  test('one person creates a payout and cannot approve it; another approves; the audit log has both', async () => {
    const { ctx } = gateway;
    const team = await createShop(ctx, 'Two people');
    const maker = await addPerson(gateway, team.holderId, 'finance', 'maker@example.org');
    const checker = await addPerson(gateway, team.holderId, 'owner', 'checker@example.org');
    await checker.post('/console/settings/approval', { needed: 'yes' });
    await topUpSandbox(ctx, COMMAND_LINE, team.holderId, 'KES', 1_000_000n);
    const order = {
      amount: '1,500.00',
      currency: 'KES',
      mobile: '0712345000',
      method,
      payee: 'Wanjiku',
    };
    const made = await payOut(maker, order);
    const path = (made.location ?? '').split('?')[0] ?? '';
    assert.match(path, /^\/console\/transactions\/TX_/);
    assert.equal((await maker.post(`${path}/approve`)).status, 403);
    assert.match((await maker.get(path)).text, /Another owner or finance member must approve/);
    assert.equal((await checker.post(`${path}/approve`)).status, 303);
    await gateway.settle();
    assert.match((await maker.get(path)).text, /Succeeded/);
    const audit = (await checker.get('/console/audit')).text;
    assert.match(audit, /maker@example\.org[\s\S]*payout\.created|payout\.created[\s\S]*maker@example\.org/);
    assert.match(audit, /payout\.approved[\s\S]{0,60}checker@example\.org[\s\S]{0,20} approved a payout/);
    assert.equal((await maker.post('/console/payouts', { ...order, amount: '99999999' })).status, 400);
  });

  test('a payout form that is sent twice pays once', async () => {
    const { ctx } = gateway;
    const twice = await createShop(ctx, 'Twice');
    const person = await addPerson(gateway, twice.holderId, 'finance', 'twice@example.org');
    await topUpSandbox(ctx, COMMAND_LINE, twice.holderId, 'KES', 1_000_000n);
    const once = /name="once" value="([^"]+)"/.exec((await person.get('/console/payouts/new')).text)?.[1] ?? '';
    const order = { once, amount: '100', currency: 'KES', mobile: '0712345000', method };
    const shown = hiddenFieldsOf((await person.post('/console/payouts', order)).text);
    const answers = await Promise.all([1, 2, 3].map(() => person.post('/console/payouts', shown)));
    assert.equal(answers.filter((answer) => /done=formAlreadySent/.test(answer.location ?? '')).length, 2);
    assert.equal((await ctx.db.query('select 1 from payout_orders where holder_id = $1', [twice.holderId])).length, 1);
  });

  test('a list of payouts is checked first, gives back the lines to mend, and is ordered as a whole', async () => {
    const { ctx } = gateway;
    const list = await createShop(ctx, 'Lists');
    const person = await addPerson(gateway, list.holderId, 'finance', 'lists@example.org');
    await topUpSandbox(ctx, COMMAND_LINE, list.holderId, 'KES', 1_000_000n);
    const csv = [
      'amount,currency,mobile,method,payee',
      `100,KES,0712345000,${method},"Otieno, J."`,
      `-5,KES,0712345000,${method},Wrong`,
      `200,KES,0712346000,${method},Achieng`,
      '',
    ].join('\n');
    const dry = await person.post('/console/payouts/check', { name: 'March', csv });
    assert.match(dry.text, /Nothing has been sent/);
    assert.match(dry.text, /1 row to fix/);
    assert.doesNotMatch(dry.text, /Create 2 payouts/);
    assert.match(dry.text, /-5,KES,0712345000[^<]*Wrong,/);
    assert.equal((await person.post('/console/payouts/import', { name: 'March', csv })).status, 409);
    assert.equal((await ctx.db.query('select 1 from payout_orders where holder_id = $1', [list.holderId])).length, 0);
    const fixed = csv.replace('-5,', '50,');
    assert.match((await person.post('/console/payouts/check', { name: 'March', csv: fixed })).text, /Create 3 payouts/);
    const ordered = await importPayouts(person, { name: 'March', csv: fixed });
    assert.match(ordered.location ?? '', /files\/bat_.*done=imported/);
    await gateway.settle();
    assert.match((await person.get('/console/payouts')).text, /3 of 3/);
    assert.equal((await person.post('/console/payouts/check', { csv: 'who,knows\n1,2' })).status, 400);
  });

  test('a payment link is made with a logo, shown, and disabled', async () => {
    const person = await addPerson(gateway, shop.holderId, 'finance', 'links@example.org');
    const country = [...gateway.ctx.catalog.linkCountries.values()].find((row) => row.currency === 'KES');
    const logo =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
    const fields = {
      item_name: 'Basket',
      amount: '2 500',
      country_id: String(country?.countryId),
      business_name: '',
      logo,
    };
    const made = await person.post('/console/links', fields);
    const path = (made.location ?? '').split('?')[0] ?? '';
    const page = (await person.get(path)).text;
    assert.match(page, /\/logos\/[0-9a-f]{64}\.webp/);
    assert.match(page, /<svg/);
    assert.equal((await person.post('/console/links', { ...fields, amount: 'much' })).status, 400);
    assert.equal((await person.post(`${path}/disable`)).status, 303);
    assert.match((await person.get(path)).text, /Disabled/);
  });
});

describe('the samples', () => {
  test('run as they are', async () => {
    const { ctx } = gateway;
    const before = ctx.clock.now();
    // The programs have a clock of their own.
    ctx.clock.set(new Date());
    const facts = { baseUrl: gateway.url, clientId: shop.clientId, sender: shop.title, secretKey: shop.secretKey };
    const samples = writeSamples(facts, sampleParams(ctx.catalog));
    const client = new URL('../sdk/src/index.ts', import.meta.url).href;
    const withClient = clientSample(facts, sampleParams(ctx.catalog)).replace('@simbi/client', client);
    const programs: [string, string[]][] = [
      ['sh', ['-c', samples.curl]],
      [process.execPath, ['--input-type=module-typescript', '-e', samples.typescript]],
      ['python3', ['-c', samples.python]],
      ['php', ['-r', samples.php.replace('<?php', '')]],
      [process.execPath, ['--input-type=module-typescript', '-e', withClient]],
    ];
    for (const [program, args] of programs) {
      const { stdout, stderr } = await promisify(execFile)(program, args).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return { stdout: 'success', stderr: `${program} is not on this machine` };
      });
      assert.match(stdout, /success/, `${program}: ${stdout} ${stderr}`);
      assert.doesNotMatch(stdout, /false/, program);
    }
    ctx.clock.set(before);
  });

  test('print the refusal when there is one', async () => {
    const { ctx } = gateway;
    const before = ctx.clock.now();
    ctx.clock.set(new Date());
    const facts = { baseUrl: gateway.url, clientId: shop.clientId, sender: shop.title, secretKey: shop.secretKey };
    const { python, curl } = writeSamples(facts, { id: 'TX_1' }, STATUS_PATH);
    for (const [program, code] of [
      ['python3', python],
      ['sh', curl],
    ] as const) {
      const { stdout } = await promisify(execFile)(program, ['-c', code]).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return { stdout: `transaction_not_found: ${program} is not on this machine` };
      });
      assert.match(stdout, /transaction_not_found/, program);
    }
    ctx.clock.set(before);
  });
});

describe('behind https', () => {
  test('cookies are secure and have the __Host- prefix', async () => {
    const secure = await createTestGateway({ PUBLIC_URL: 'https://pay.example.org' });
    try {
      const cookies = (await visitor(secure, '').get('/console/sign-in')).headers.get('set-cookie') ?? '';
      assert.match(cookies, /^__Host-simbi_visitor=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    } finally {
      await secure.close();
    }
  });
});

/** Forms and links of a page that lead to no route of the console. */
function deadEnds(page: string): string[] {
  const isRoute = (method: string, path: string) =>
    CONSOLE_ROUTES.some(
      (route) => route.method === method && new RegExp(`^/console${route.path.replace(/:\w+/g, '[^/]+')}$`).test(path),
    );
  const posts = [...page.matchAll(/<form method="post" action="([^"?]+)/g)].map(([, path = '']) => path);
  const gets = [...page.matchAll(/(?:<form action|href)="(\/console[^"?#]*)/g)].map(([, path = '']) => path);
  return [...posts.filter((path) => !isRoute('POST', path)), ...gets.filter((path) => !isRoute('GET', path))];
}

describe('user input', () => {
  test('markup in every field is shown as text on every page', async () => {
    const { ctx } = gateway;
    const hostile = await createShop(ctx, `Shop ${MARKUP}`.slice(0, 120));
    const owner = await addPerson(gateway, hostile.holderId, 'owner', 'hostile@example.org');
    await ctx.db.query('update members set name = $2, is_admin = true where id = $1', [owner.member.id, MARKUP]);
    await owner.post('/console/integrations', { title: MARKUP, callback_url: '' });
    await owner.post('/console/links', { item_name: MARKUP, business_name: MARKUP, country_id: '1', amount: '100' });
    await topUpSandbox(ctx, COMMAND_LINE, hostile.holderId, 'KES', 1_000_000n);
    await payOut(owner, {
      amount: '10',
      currency: 'KES',
      mobile: '0712345000',
      method,
      payee: MARKUP,
      invoice_no: MARKUP,
      detail: MARKUP,
    });
    await importPayouts(owner, {
      name: MARKUP,
      csv: `amount,currency,mobile,method,payee\n10,KES,0712345000,${method},"${MARKUP.replaceAll('"', '""')}"`,
    });
    const ref = await collect({ third_party_reference_1: MARKUP, third_party_reference_2: MARKUP }, hostile);
    await ctx.db.query(
      `insert into cases (id, holder_id, transaction_id, kind, detail, opened_at) values ($1, $2, null, 'contradiction', $3, $4)`,
      [createUuid(ctx.clock.millis()), hostile.holderId, JSON.stringify({ said: MARKUP }), ctx.clock.now()],
    );
    const paths = CONSOLE_ROUTES.filter((route) => route.method === 'GET' && !/\.(csv|jsonl)$/.test(route.path)).map(
      (route) =>
        addressOf(route.path, ref).replace(
          '999999',
          route.path.startsWith('/admin') ? String(hostile.holderId) : String(hostile.id),
        ),
    );
    for (const path of [
      ...paths,
      `/console/search?q=${encodeURIComponent(MARKUP)}`,
      `/console/transactions?text=${encodeURIComponent(MARKUP)}`,
      `/console?done=${encodeURIComponent(MARKUP)}`,
    ]) {
      const answer = await owner.get(path);
      assert.ok(answer.status < 500, `${path} answered ${answer.status}`);
      assert.ok(!answer.text.includes('<script>alert') && !answer.text.includes('<img src=x'), path);
      assert.deepEqual(deadEnds(answer.text), [], path);
    }
    const debug = await owner.post('/console/debugger', { body: MARKUP, own_string: MARKUP });
    assert.ok(!debug.text.includes('<script>alert'));
  });

  test('French is complete and asked for', async () => {
    const person = await addPerson(gateway, shop.holderId, 'owner', 'fr@example.org');
    const page = await person.get('/console?lang=fr');
    assert.match(page.text, /<html lang="fr">/);
    assert.match(page.text, /Paiement de test/);
    assert.match(page.headers.get('set-cookie') ?? '', /lang=fr/);
  });

  test('a browser from Tanzania reads Swahili: pages, money, searches and mails', async () => {
    const person = await addPerson(gateway, shop.holderId, 'owner', 'sw@example.org');
    const swahili = { 'accept-language': 'sw-TZ,en;q=0.8' };
    const home = await person.get('/console', swahili);
    assert.match(home.text, /<html lang="sw">.*Habari za .*Pesa iliyoingia/);
    assert.doesNotMatch(home.text, /\b(?:Ksh|TSh)\b/, 'one spelling of money in every language');
    assert.match((await person.get('/console/search?q=mishahara', swahili)).text, /href="\/console\/payouts\/import"/);
    const origin = { address: '192.0.2.1', userAgent: '', language: 'sw' } as const;
    const change = { kind: 'password_changed', detail: '', at: gateway.ctx.clock.now() } as const;
    const { subject, text } = writeNoticeMail(gateway.ctx.config, change, origin);
    assert.match(`${subject} ${text}`, /Arifa ya usalama.*Nenosiri lako limebadilishwa/);
  });
});

describe('a million rows', () => {
  test('every list and search is answered by an index', async () => {
    const { ctx } = gateway;
    const big = await createShop(ctx, 'Big');
    await ctx.db.query(
      `insert into transactions (
         id, holder_id, direction, status, amount, fee, currency, country_id, method, rail,
         msisdn, reference_1, reference_2, link_id, verification, created_at, updated_at
       )
       select (
           lpad(to_hex((extract(epoch from $2::timestamptz) * 1000)::bigint - n), 12, '0')
           || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15)
         )::uuid,
         $1, 'collection', 'failed', 100 + n, 1, 'KES', 1, 'M', 'sandbox',
         '2547' || lpad(n::text, 8, '0'), 'r' || n, 's' || n,
         case when n % 10 = 0 then md5((n / 500)::text)::uuid end, 'prompt', $2, $2
       from generate_series(1, 30000) n`,
      [big.holderId, ctx.clock.now()],
    );
    await ctx.ownerDb.query('analyze transactions');
    const plans: string[] = [];
    const explaining: Reader = {
      async query(statement, values) {
        const text = typeof statement === 'string' ? statement : statement.text;
        const rows = await ctx.db.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return [];
      },
    };
    const filters = [
      {},
      { statuses: ['success' as const] },
      { numbers: ['254700000007'] },
      { reference: 'r77' },
      { linkId: '00000000-0000-0000-0000-000000000001' },
      { text: 'zzz' },
      { min: 5n, max: 6n, from: new Date(0), to: ctx.clock.now() },
    ];
    for (const filter of filters) {
      await listTransactions(explaining, big.holderId, filter, { limit: 50 });
      await listTransactions(explaining, big.holderId, filter, { limit: 50, after: BEFORE_ALL });
      await totalOfFilter(explaining, big.holderId, filter);
      await listByAmount(explaining, big.holderId, filter, { order: 'desc', offset: 0, limit: 50 });
    }
    await findByNumberPrefix(explaining, big.holderId, ['2547000', '256'], 5);
    await findByPartOfRef(explaining, big.holderId, '48VCSDMX', 5);
    await findByPartOfRef(explaining, big.holderId, 'TX_01JD8ZK7Q3', 5);
    await findByOperatorReceipt(explaining, big.holderId, 'QK7', ['sandbox']);
    await findByOwnReference(explaining, big.holderId, 'r77', 5);
    for (const plan of plans) assert.ok(!/Seq Scan on transactions/.test(plan), plan);
    assert.match(plans.join('\n'), /transactions_by_number/);
    assert.match(plans.join('\n'), /transactions_by_reference_1/);
    const page = await listTransactions(ctx.db, big.holderId, { statuses: ['success'] }, { limit: 50 });
    assert.equal(page.rows.length, 0);
    assert.ok(page.next && page.lookedBackTo, 'a look that found nothing says how far it got');
    const rest = await listTransactions(
      ctx.db,
      big.holderId,
      { statuses: ['success'] },
      { limit: 50, before: page.next },
    );
    assert.equal(rest.next, null);
  });
});
