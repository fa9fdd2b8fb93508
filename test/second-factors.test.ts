// The second factor of a member over HTTP: who may set it up, what a change brings with it, recovery codes, the list of
// sessions, and notices of what happened to an account.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { TOTP } from 'otpauth';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { forgetCredentials } from '../src/holders/credentials.ts';
import { addMember, createLoginLink, type Member } from '../src/holders/members.ts';
import { setPassword } from '../src/holders/passwords.ts';
import { base32, pendingFactor } from '../src/holders/second-factor.ts';
import { createAuthenticator } from './authenticator.ts';
import { type ConsoleAnswer, csrfOf, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop } from './shop.ts';

const MINUTE_MS = 60_000;
const LIVE = { MODE: 'live', MASTER_KEY: '11'.repeat(32), PUBLIC_URL: 'https://pay.example.org' };
const PASSWORD = 'violet harbour 42 lamps';
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** A browser: it keeps its cookies, and sends the form token of the page it last saw. */
function openBrowser(gateway: TestGateway, userAgent = CHROME) {
  const jar = new Map<string, string>();
  let csrf = '';
  const keep = (answer: ConsoleAnswer) => {
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    csrf = csrfOf(answer.text) || csrf;
    return answer;
  };
  const cookie = () => Array.from(jar, ([name, value]) => `${name}=${value}`).join('; ');
  const headers = { 'user-agent': userAgent };
  const browser = {
    jar,
    get: async (path: string) => keep(await visitor(gateway, cookie()).get(path, headers)),
    post: async (path: string, fields: Record<string, string> = {}) =>
      keep(await visitor(gateway, cookie(), csrf).post(path, fields, headers)),
    async signIn(email: string, password = PASSWORD) {
      await browser.get('/console/sign-in');
      const answer = await browser.post('/console/sign-in', { email, password });
      if (answer.status === 303) await browser.get('/console/account');
      return answer;
    },
    async signInByLink(member: Member) {
      const { token } = await createLoginLink(gateway.ctx, member.id);
      await browser.get(`/console/login/${token}`);
      const answer = await browser.post(`/console/login/${token}`);
      if (answer.status === 303) await browser.get('/console/account');
      return answer;
    },
    /** The same cookies in another place: what a thief of cookies has. */
    copy() {
      const thief = openBrowser(gateway, userAgent);
      for (const [name, value] of jar) thief.jar.set(name, value);
      return thief;
    },
  };
  return browser;
}

const pendingOf = (answer: ConsoleAnswer) => /name="pending" value="([^"]+)"/.exec(answer.text)?.[1] ?? '';
const codesIn = (page: string) => [...page.matchAll(/\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}\b/g)].map(([code]) => code);
const noticesIn = (page: string) =>
  [...page.matchAll(/<div class="notice"><p><b>([^<]+)/g)].map(([, text = '']) => text);

describe('second factors', () => {
  let gateway: TestGateway;
  let holderId: bigint;
  let people = 0;

  before(async () => {
    const smtp = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'gateway@example.org' };
    gateway = await createTestGateway({ ...smtp, DATABASE_POOL_SIZE: '5' });
    ({ holderId } = await createShop(gateway.ctx, 'Shop'));
  });
  after(() => gateway?.close());
  beforeEach(() => gateway.ctx.clock.advance(60 * MINUTE_MS));

  async function addPasswordOwner(on = gateway, holder = holderId): Promise<Member> {
    const person = { email: `person${++people}@example.org`, name: 'Person', holderId: holder, role: 'owner' } as const;
    const member = await addMember(on.ctx, COMMAND_LINE, person);
    await setPassword(on.ctx, COMMAND_LINE, member.id, PASSWORD, { sessionId: null, holderId: null });
    return member;
  }

  async function appOf(member: Member, on = gateway): Promise<() => string> {
    const secret = await pendingFactor(on.ctx, member.id);
    assert.ok(secret);
    return () => new TOTP({ secret: base32(secret) }).generate({ timestamp: on.ctx.clock.millis() });
  }

  /** A signed-in member who has just set up an app. */
  async function addEnrolled() {
    const member = await addPasswordOwner();
    const browser = openBrowser(gateway);
    await browser.signIn(member.email);
    await browser.post('/console/account/proof', { password: PASSWORD });
    await browser.post('/console/account/factor');
    const code = await appOf(member);
    const shown = await browser.post('/console/account/factor/proof', { code: code() });
    return { member, browser, code, codes: codesIn(shown.text) };
  }

  async function mailsTo(member: Member): Promise<string[]> {
    const rows = await gateway.ctx.db.query<{ text: string }>(
      'select text from mails where to_address = $1 order by id',
      [member.email],
    );
    return rows.map(({ text }) => text);
  }

  test('in live mode a first sign-in by link leads to nothing but a password or a passkey', async () => {
    const live = await createTestGateway(LIVE);
    try {
      const shop = await createShop(live.ctx, 'Live shop');
      const person = { email: 'new@example.org', name: 'New', holderId: shop.holderId, role: 'owner' } as const;
      const member = await addMember(live.ctx, COMMAND_LINE, person);
      const browser = openBrowser(live);
      await browser.signInByLink(member);
      for (const path of ['/console', '/console/account', '/console/transactions', '/console/account/factor'])
        assert.equal((await browser.get(path)).location, '/console/welcome', path);
      await browser.get('/console/welcome');
      assert.equal((await browser.post('/console/account/password', {})).location, '/console/welcome');
      assert.equal((await browser.post('/console/account/passkeys/options')).status, 200);
      live.ctx.clock.advance(11 * MINUTE_MS);
      assert.match((await browser.get('/console/welcome')).text, /npx simbi login-link new@example\.org/);
      assert.equal((await browser.post('/console/welcome', { password: PASSWORD })).location, '/console/welcome');
      await browser.signInByLink(member);
      const asked = await browser.get('/console/welcome');
      assert.match(asked.text, /name="password"/);
      assert.doesNotMatch(asked.text, /Skip for now/);
      assert.equal((await browser.post('/console/welcome', { password: PASSWORD })).location, '/console?done=saved');
      assert.equal((await browser.get('/console')).status, 200);
    } finally {
      await live.close();
    }
  });

  test('security S11: in live mode a copied cookie sets up no second factor', async () => {
    const live = await createTestGateway(LIVE);
    try {
      const shop = await createShop(live.ctx, 'Live shop');
      const member = await addPasswordOwner(live, shop.holderId);
      const owner = openBrowser(live);
      assert.equal((await owner.signIn(member.email)).status, 303);
      const thief = owner.copy();
      await thief.get('/console/account');
      const begun = await thief.post('/console/account/factor');
      assert.match(begun.location ?? '', /^\/console\/account\/proof\?/);
      assert.match((await thief.get('/console/account/factor')).location ?? '', /^\/console\/account\/proof\?/);
      assert.equal(await pendingFactor(live.ctx, member.id), null, 'no secret was made');
      assert.equal((await thief.post('/console/account/passkeys/options')).status, 401);
      assert.match((await thief.post('/console/account/passkeys', { credential: '{}' })).location ?? '', /proof/);
      // The owner starts, and the thief tries to finish with the cookie of another session.
      const other = openBrowser(live);
      await other.signIn(member.email);
      await owner.post('/console/account/proof', { password: PASSWORD });
      assert.equal((await owner.post('/console/account/factor')).location, '/console/account/factor');
      const code = await appOf(member, live);
      await other.get('/console/account');
      const finished = await other.post('/console/account/factor/proof', { code: code() });
      assert.match(finished.location ?? '', /^\/console\/account\/proof\?/);
      assert.match((await other.get('/console/integrations/new')).location ?? '', /^\/console\/confirm/);
      // Where there is nothing to prove with, no page says that the form is carried out after it.
      const lost = await other.post('/console/settings/limits', { amount: '5' });
      assert.match(lost.location ?? '', /^\/console\/confirm\?next=.*repeatStep/);
      assert.match((await other.get(lost.location ?? '')).text, /Live mode requires two-step authentication/);
      assert.match(
        (await other.post('/console/account/proof', { password: 'not this one' })).text,
        /Incorrect password/,
      );
      assert.match((await owner.post('/console/account/factor/proof', { code: code() })).text, /Recovery codes/);
      assert.equal((await owner.get('/console/integrations/new')).status, 200);
      assert.match((await other.get('/console/account')).location ?? '', /sign-in/, 'the other session ended');
    } finally {
      await live.close();
    }
  });

  test('security S11: a login link proves a person for ten minutes; a session without proof asks for a new link', async () => {
    const person = { email: 'link@example.org', name: 'Link', holderId, role: 'owner' } as const;
    const member = await addMember(gateway.ctx, COMMAND_LINE, person);
    const browser = openBrowser(gateway);
    await browser.signInByLink(member);
    assert.equal((await browser.post('/console/account/factor')).location, '/console/account/factor');
    gateway.ctx.clock.advance(10 * MINUTE_MS);
    assert.match((await browser.post('/console/account/factor')).location ?? '', /^\/console\/account\/proof\?/);
    assert.match((await browser.get('/console/account/proof')).text, /href="\/console\/sign-in\/link"/);
    await browser.signInByLink(member);
    const code = await appOf(member);
    assert.equal(codesIn((await browser.post('/console/account/factor/proof', { code: code() })).text).length, 10);
  });

  test('security S11: every change of a factor ends the other sessions and tells its owner', async () => {
    const member = await addPasswordOwner();
    const browser = openBrowser(gateway);
    const other = openBrowser(gateway, FIREFOX);
    await browser.signIn(member.email);
    await other.signIn(member.email);
    await browser.post('/console/account/proof', { password: PASSWORD });
    await browser.post('/console/account/factor');
    const code = await appOf(member);
    await browser.post('/console/account/factor/proof', { code: code() });
    assert.equal((await other.get('/console/account')).status, 303, 'set up');
    // A second factor more needs the first one, not the password.
    gateway.ctx.clock.advance(11 * MINUTE_MS);
    await browser.get('/console/account');
    assert.equal((await browser.post('/console/account/passkeys/options')).status, 401);
    assert.match((await browser.post('/console/account/passkeys/proof')).location ?? '', /^\/console\/confirm/);
    assert.equal((await browser.post('/console/confirm', { code: code() })).status, 303);
    const device = createAuthenticator(`http://localhost:${gateway.ctx.config.port}`);
    const options = JSON.parse((await browser.post('/console/account/passkeys/options')).text) as {
      challenge: string;
      user: { id: string };
    };
    const added = await browser.post('/console/account/passkeys', {
      credential: device.create(options),
      name: 'Key ring',
    });
    assert.equal(added.location, '/console/account?done=saved');
    const page = await browser.get('/console/account');
    const id = /passkeys\/(\d+)\/remove/.exec(page.text)?.[1] ?? '';
    await browser.post(`/console/account/passkeys/${id}/remove`);
    await browser.post('/console/account/factor/off');
    const shown = noticesIn((await browser.get('/console/account')).text);
    assert.deepEqual(shown, [
      'The authenticator app was turned off',
      'Passkey removed: Key ring',
      'Passkey added: Key ring',
    ]);
    const mails = await mailsTo(member);
    assert.equal(mails.length, 5);
    assert.match(mails[0] ?? '', /Firefox on Linux\nAddress: 127\.0\.0\.1/);
    const actions = await gateway.ctx.db.query<{ action: string }>(
      `select action from audit_log where member_id = $1 and action like 'member.%' order by id`,
      [member.id],
    );
    assert.deepEqual(actions.map(({ action }) => action).slice(-4), [
      'member.second_factor_on',
      'member.passkey_added',
      'member.passkey_removed',
      'member.second_factor_off',
    ]);
  });

  test('a passkey signs in from the sign-in page without a password, and confirms', async () => {
    const { browser, code } = await addEnrolled();
    gateway.ctx.clock.advance(30_000);
    await browser.post('/console/confirm', { code: code() });
    const device = createAuthenticator(`http://localhost:${gateway.ctx.config.port}`);
    type Options = { challenge: string; user: { id: string } };
    const ask = async (of: typeof browser, path: string) => JSON.parse((await of.post(path)).text) as Options;
    const credential = device.create(await ask(browser, '/console/account/passkeys/options'));
    await browser.post('/console/account/passkeys', { credential, name: 'Key' });
    const fresh = openBrowser(gateway, FIREFOX);
    await fresh.get('/console/sign-in');
    const answer = device.get(await ask(fresh, '/console/sign-in/passkey/options'), { counter: 1 });
    const thief = openBrowser(gateway);
    await thief.get('/console/sign-in');
    assert.equal((await thief.post('/console/sign-in/passkey', { credential: answer })).status, 401, 'another browser');
    const again = device.get(await ask(fresh, '/console/sign-in/passkey/options'), { counter: 2 });
    const entered = await fresh.post('/console/sign-in/passkey', { credential: again, next: '/console/payouts' });
    assert.equal(entered.location, '/console/payouts');
    await fresh.get('/console/account');
    assert.match((await fresh.get('/console/integrations/new')).location ?? '', /^\/console\/confirm/);
    const proof = device.get(await ask(fresh, '/console/confirm/passkey/options'), { counter: 3 });
    const confirmed = { credential: proof, next: '/console/integrations/new' };
    assert.equal((await fresh.post('/console/confirm/passkey', confirmed)).location, '/console/integrations/new');
    assert.equal((await fresh.post('/console/confirm/passkey', confirmed)).status, 401, 'sent again');
  });

  test('a recovery code works once, tells its owner and says how many are left; new ones replace all', async () => {
    const { member, browser, codes } = await addEnrolled();
    assert.equal(new Set(codes).size, 10);
    const stored = await gateway.ctx.db.query<{ row: string }>(
      'select code_hash::text as row from recovery_codes where member_id = $1',
      [member.id],
    );
    for (const code of codes) assert.ok(!stored.some(({ row }) => row.includes(Buffer.from(code).toString('hex'))));
    const lost = openBrowser(gateway, FIREFOX);
    const pending = pendingOf(await lost.signIn(member.email));
    const enter = (recovery_code: string) => lost.post('/console/sign-in/recovery', { pending, recovery_code });
    assert.equal((await enter('0000-0000-0000-0000')).status, 401);
    const written = (codes[0] ?? '').toLowerCase().replaceAll('-', ' ');
    const twice = await Promise.all([enter(written), enter(written)]);
    assert.deepEqual(
      twice.map(({ status }) => status).sort((a, b) => a - b),
      [303, 401],
    );
    const later = openBrowser(gateway, FIREFOX);
    const used = { pending: pendingOf(await later.signIn(member.email)), recovery_code: codes[0] ?? '' };
    assert.equal((await later.post('/console/sign-in/recovery', used)).status, 401);
    await lost.get('/console/account');
    assert.match((await lost.get('/console/account')).text, /9 recovery codes left/);
    assert.ok(noticesIn((await lost.get('/console/account')).text).includes('A recovery code was used. Codes left: 9'));
    assert.ok((await mailsTo(member)).some((text) => text.startsWith('A recovery code was used. Codes left: 9.')));
    // It also confirms, so that a lost app can be turned off.
    assert.equal((await lost.post('/console/confirm/recovery', { recovery_code: codes[1] ?? '' })).status, 303);
    const renewed = codesIn((await lost.post('/console/account/recovery-codes')).text);
    assert.equal(renewed.length, 10);
    assert.equal((await lost.post('/console/confirm/recovery', { recovery_code: codes[2] ?? '' })).status, 401);
    assert.equal((await lost.post('/console/confirm/recovery', { recovery_code: renewed[0] ?? '' })).status, 303);
    assert.ok(!(await browser.get('/console/account')).text.includes(renewed[1] ?? ''), 'they are shown once');
  });

  test('security S4: recovery codes are counted before they are compared', async () => {
    const { member, codes } = await addEnrolled();
    const lost = openBrowser(gateway);
    const pending = pendingOf(await lost.signIn(member.email));
    const enter = (recovery_code: string) => lost.post('/console/sign-in/recovery', { pending, recovery_code });
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => enter(`0000-0000-0000-${1000 + index}`)),
    );
    assert.equal(answers.filter(({ status }) => status === 401).length, 10);
    assert.equal((await enter(codes[0] ?? '')).status, 429);
  });

  test('sessions are listed in plain words and end one by one or all but this one', async () => {
    const member = await addPasswordOwner();
    const [here, there, third] = [openBrowser(gateway), openBrowser(gateway, FIREFOX), openBrowser(gateway, 'curl/8')];
    for (const each of [here, there, third]) await each.signIn(member.email);
    const list = (await here.get('/console/account')).text;
    assert.match(list, /Chrome on Windows(?:(?!<\/tr>).)*this session/s);
    assert.match(list, /Firefox on Linux/);
    assert.match(list, /Unknown browser/);
    const ids = [...list.matchAll(/sessions\/(\d+)\/end"/g)].map(([, id]) => id);
    assert.equal(ids.length, 2);
    await here.post(`/console/account/sessions/${ids[0]}/end`);
    const left = await Promise.all([there, third].map(async (each) => (await each.get('/console/account')).status));
    assert.deepEqual(
      left.sort((a, b) => a - b),
      [200, 303],
    );
    await here.post('/console/account/sessions/end-others');
    for (const each of [there, third]) assert.equal((await each.get('/console/account')).status, 303);
    const alone = (await here.get('/console/account')).text;
    assert.ok(!alone.includes('End all other sessions'));
  });

  test('a sign-in from a new browser is told until it is read; from a known browser it is not', async () => {
    const member = await addPasswordOwner();
    const browser = openBrowser(gateway);
    await browser.signIn(member.email);
    assert.deepEqual(noticesIn((await browser.get('/console')).text), [], 'the first browser of all');
    await browser.post('/console/sign-out');
    await browser.signIn(member.email);
    assert.deepEqual(noticesIn((await browser.get('/console')).text), [], 'a browser that is known');
    const stranger = openBrowser(gateway, FIREFOX);
    await stranger.signIn(member.email);
    for (let look = 0; look < 2; look++) {
      const page = (await browser.get('/console')).text;
      assert.deepEqual(noticesIn(page), ['New sign-in from a browser that was not used before']);
      assert.match(page, /Firefox on Linux · 127\.0\.0\.1/);
    }
    assert.equal((await mailsTo(member)).length, 1);
    const id = /notices\/(\d+)\/read/.exec((await browser.get('/console')).text)?.[1] ?? '';
    const other = openBrowser(gateway);
    await other.signIn((await addPasswordOwner()).email);
    assert.equal((await other.post(`/console/notices/${id}/not-me`)).status, 404, 'another person’s notice');
    await browser.get('/console');
    await browser.post(`/console/notices/${id}/read`);
    assert.deepEqual(noticesIn((await browser.get('/console')).text), []);
  });

  test('"This was not me" ends every session and the password; a login link is the way back', async () => {
    const member = await addPasswordOwner();
    const browser = openBrowser(gateway);
    const stranger = openBrowser(gateway, FIREFOX);
    await browser.signIn(member.email);
    await stranger.signIn(member.email);
    const id = /notices\/(\d+)\/not-me/.exec((await browser.get('/console')).text)?.[1] ?? '';
    const ended = await browser.post(`/console/notices/${id}/not-me`);
    assert.match(ended.text, /All sessions are ended[\s\S]*\/console\/sign-in\/link/);
    for (const each of [browser, stranger]) assert.equal((await each.get('/console/account')).status, 303);
    assert.equal((await stranger.signIn(member.email)).status, 401);
    await browser.signInByLink(member);
    assert.match((await browser.get('/console/account')).text, /You have no password yet/);
    await browser.post('/console/account/password', { password: 'another long lamp 77' });
    assert.ok(noticesIn((await browser.get('/console')).text).includes('Your password was changed'));
    assert.equal((await stranger.signIn(member.email, 'another long lamp 77')).status, 303);
  });

  test('forgotten credentials include passkeys, recovery codes and known browsers; a sign-in on its way ends', async () => {
    const { ctx } = gateway;
    const { member, browser, code } = await addEnrolled();
    const pending = pendingOf(await openBrowser(gateway, FIREFOX).signIn(member.email));
    assert.ok(pending);
    await ctx.db.transaction((tx) => forgetCredentials(tx, member.id, ctx.clock.now()));
    const left = await ctx.db.query<{ rows: number }>(
      `select count(*)::integer as rows from (
         select member_id from passkeys union all select member_id from recovery_codes union all select member_id from known_browsers)
       where member_id = $1`,
      [member.id],
    );
    assert.deepEqual(left, [{ rows: 0 }]);
    assert.equal((await browser.get('/console/account')).status, 303);
    const late = openBrowser(gateway);
    await late.get('/console/sign-in');
    ctx.clock.advance(30_000);
    assert.equal((await late.post('/console/sign-in/code', { pending, code: code() })).status, 403);
  });

  test('an idle session ends after SESSION_IDLE_MINUTES', async () => {
    const short = await createTestGateway({ SESSION_IDLE_MINUTES: '5' });
    try {
      const shop = await createShop(short.ctx, 'Short');
      const member = await addPasswordOwner(short, shop.holderId);
      const browser = openBrowser(short);
      await browser.signIn(member.email);
      short.ctx.clock.advance(4 * MINUTE_MS);
      assert.equal((await browser.get('/console/account')).status, 200);
      short.ctx.clock.advance(5 * MINUTE_MS);
      assert.equal((await browser.get('/console/account')).status, 303);
    } finally {
      await short.close();
    }
  });
});
