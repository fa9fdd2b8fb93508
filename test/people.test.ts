// Who gets in, and who gets rights: nobody through an address that they only typed, nobody alone where two are required,
// and nobody by guessing.

import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { runCommand } from '../src/cli.ts';
import { applyRuleChanges, setPayoutApproval } from '../src/holders/approval-rules.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder, findHolder } from '../src/holders/holders.ts';
import { findMemberByEmail, findSession, roleAt, useLoginLink } from '../src/holders/members.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { addPerson, type ConsoleAnswer, csrfOf, type Person, payOut, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const PASSWORD = 'mangoes ripen in november';
const OTHER_PASSWORD = 'rivers run to the ocean';

let gateway: TestGateway;
let dataDir: string;

before(async () => {
  gateway = await createTestGateway({ ALLOW_SIGN_UP: 'true', TRUSTED_PROXIES: '127.0.0.1' });
  dataDir = mkdtempSync(join(tmpdir(), 'simbi-people-'));
});
after(async () => {
  await gateway.close();
  rmSync(dataDir, { recursive: true });
});
// Limits of one test must not hold in the next.
afterEach(() => gateway.ctx.clock.advance(2 * 3_600_000));

async function stranger() {
  const page = await visitor(gateway, '').get('/console/sign-in');
  const cookie = /simbi_visitor=[^;]+/.exec(page.headers.get('set-cookie') ?? '')?.[0] ?? '';
  return visitor(gateway, cookie, csrfOf(page.text));
}

/** Goes on with the session that an answer set. */
async function enter(answer: ConsoleAnswer): Promise<Pick<Person, 'get' | 'post'>> {
  const cookie = /simbi_session=[\w-]+/.exec(answer.headers.get('set-cookie') ?? '')?.[0] ?? '';
  assert.notEqual(cookie, '', `no session: ${answer.status} ${answer.text.slice(0, 3_000)}`);
  const page = await visitor(gateway, cookie).get('/console/account');
  return visitor(gateway, cookie, csrfOf(page.text));
}

const isSignedIn = async (person: Pick<Person, 'get'>) => (await person.get('/console/account')).status === 200;

/** A command of the host, on the database of the gateway. */
async function command(...args: string[]): Promise<{ out: string; stderr: string }> {
  const printed = { out: '', stderr: '' };
  const code = await runCommand(
    {
      environment: { DATABASE_URL: gateway.ctx.databaseUrl, DATA_DIR: dataDir, LOG_LEVEL: 'silent' },
      interactive: false,
      out: (text) => {
        printed.out += `${text}\n`;
      },
      say: (text) => {
        printed.stderr += `${text}\n`;
      },
      bold: (text) => text,
      readInput: () => Promise.resolve(null),
    },
    args,
  );
  process.exitCode = 0;
  assert.equal(code, 0, printed.stderr);
  return printed;
}

const pathOf = (text: string) => /\/console\/(?:invitations|login)\/[\w-]+/.exec(text)?.[0] ?? '';

async function invite(owner: Pick<Person, 'post'>, email: string, role = 'viewer'): Promise<string> {
  return pathOf((await owner.post('/console/team/invite', { email, role })).text);
}

let shops = 0;
async function newShop(): Promise<{ holderId: bigint; owner: Person }> {
  shops++;
  const { id: holderId } = await createHolder(gateway.ctx, COMMAND_LINE, `Shop ${shops}`);
  return { holderId, owner: await addPerson(gateway, holderId, 'owner', `owner${shops}@example.org`) };
}

/** A tenant takes an address that is not theirs: by an invitation that they accept in its place. */
async function takeAddress(email: string): Promise<Pick<Person, 'get' | 'post'>> {
  const { owner } = await newShop();
  const path = await invite(owner, email);
  return enter(await (await stranger()).post(path, { name: 'Squatter', password: PASSWORD }));
}

describe('an address that somebody else took first', () => {
  test('security S1: admin rights go to nobody before they used the link made for it', async () => {
    const squatter = await takeAddress('ops@gateway.example');
    const { out, stderr } = await command('admin', 'add', 'ops@gateway.example');
    assert.match(stderr, /nobody confirmed/);
    assert.equal((await squatter.get('/console/admin')).status, 403);
    const path = pathOf(out);
    const joined = await (await stranger()).post(path, { name: 'Ops', password: OTHER_PASSWORD });
    const ops = await enter(joined);
    assert.equal((await ops.get('/console/admin')).status, 200);
    assert.equal(await isSignedIn(squatter), false, 'the sessions of before are over');
    const again = await (await stranger()).post('/console/sign-in', {
      email: 'ops@gateway.example',
      password: PASSWORD,
    });
    assert.equal(again.status, 401, 'and so is the password');
    assert.equal((await (await stranger()).get(path)).status, 404, 'the link works once');
  });

  test('security S1: the owner of a new holder is not the person who took the address', async () => {
    const squatter = await takeAddress('customer@example.org');
    const { out, stderr } = await command('holder', 'create', 'New customer', '--owner', 'customer@example.org');
    assert.match(stderr, /nobody confirmed/);
    assert.doesNotMatch((await squatter.get('/console/team')).text, /New customer/);
    const page = await (await stranger()).get(pathOf(out));
    assert.match(page.text, /nobody has confirmed/);
    assert.match(page.text, /Shop \d+/, 'the owner sees what the account can see already');
    const customer = await enter(await (await stranger()).post(pathOf(out), { name: 'C', password: OTHER_PASSWORD }));
    assert.match((await customer.get('/console/team')).text, /customer@example\.org/);
    assert.match((await customer.get('/console')).text, /New customer/, 'not the shop of the person who took it');
    assert.equal(await isSignedIn(squatter), false);
  });

  test('security S1: an admin page hands no account over, and shows no link that signs in as somebody else', async () => {
    const squatter = await takeAddress('merchant@example.org');
    const { holderId } = await newShop();
    const admin = await addPerson(gateway, holderId, 'owner', 'admin1@example.org', { admin: true });
    const other = await addPerson(gateway, holderId, 'owner', 'admin2@example.org', { admin: true });
    const opened = await admin.post('/console/admin/holders', { business: 'Merchant', email: 'merchant@example.org' });
    assert.match(opened.text, /nobody has confirmed/);
    const path = pathOf(opened.text);
    assert.match(path, /invitations/);
    for (const person of [await stranger(), squatter]) {
      const answer = await person.post(path, { name: 'Thief', password: OTHER_PASSWORD });
      assert.equal(answer.status, 200);
      assert.match(answer.text, /npx simbi login-link/);
    }
    const forOther = await admin.post('/console/admin/holders', { business: 'Two eyes', email: other.member.email });
    const taken = await (await stranger()).post(pathOf(forOther.text), { name: 'A', password: OTHER_PASSWORD });
    assert.doesNotMatch(taken.headers.get('set-cookie') ?? '', /simbi_session/);
    assert.equal(await isSignedIn(other), true);
  });

  test('security S1: an unproven person joins no other holder until a link of the host proved the address', async () => {
    const squatter = await takeAddress('bola@example.org');
    const { owner, holderId } = await newShop();
    const path = await invite(owner, 'bola@example.org', 'finance');
    for (const person of [squatter, await stranger()]) {
      const refused = await person.post(path, { name: 'Bola', password: OTHER_PASSWORD });
      assert.match(refused.text, /npx simbi login-link/);
    }
    const { out, stderr } = await command('login-link', 'bola@example.org');
    assert.match(stderr, /confirms the address/);
    const bola = await enter(await (await stranger()).post(pathOf(out)));
    assert.equal(await isSignedIn(squatter), false);
    assert.equal((await bola.post(path)).status, 303);
    const member = await findMemberByEmail(gateway.ctx.db, 'bola@example.org');
    assert.equal(await roleAt(gateway.ctx.db, member?.id ?? 0n, holderId), 'finance');
  });

  test('security S1: sign-up without a mail server makes an account that nobody adopts', async () => {
    const fields = { business: 'Squat', name: 'S', email: 'cfo@example.org', password: PASSWORD };
    const squatter = await enter(await (await stranger()).post('/console/sign-up', fields));
    const { out, stderr } = await command('admin', 'add', 'cfo@example.org');
    assert.match(stderr, /nobody confirmed/);
    assert.equal((await squatter.get('/console/admin')).status, 403);
    assert.equal((await squatter.post(pathOf(out))).status, 400, 'the link asks for a password of its own');
  });

  test('security S1: a sign-in or a new password that is on its way outlives no proof', async () => {
    const { ctx } = gateway;
    const squatter = await takeAddress('slow@example.org');
    const person = await stranger();
    const { out } = await command('login-link', 'slow@example.org');
    const token = pathOf(out).split('/').at(-1) ?? '';
    // All at the same moment: whatever the order is, nothing of the squatter works afterwards.
    const [entered] = await Promise.all([
      person.post('/console/sign-in', { email: 'slow@example.org', password: PASSWORD }),
      squatter.post('/console/account/password', { password: OTHER_PASSWORD }),
      useLoginLink(ctx, token),
    ]);
    const session = /simbi_session=([\w-]+)/.exec(entered.headers.get('set-cookie') ?? '')?.[1];
    assert.equal(session ? await findSession(ctx, session) : null, null);
    assert.equal(await isSignedIn(squatter), false);
    for (const password of [PASSWORD, OTHER_PASSWORD])
      assert.equal((await person.post('/console/sign-in', { email: 'slow@example.org', password })).status, 401);
  });

  test('a person with a proven address keeps everything, and accepts with a session and the link', async () => {
    const { owner } = await newShop();
    const { out, stderr } = await command('admin', 'add', owner.member.email);
    assert.match(stderr, /has an account/);
    const path = pathOf(out);
    const thief = await (await stranger()).post(path, { name: 'Thief', password: OTHER_PASSWORD });
    assert.match(thief.text, /already has an account/);
    assert.equal((await owner.get('/console/admin')).status, 403);
    assert.equal((await owner.post(path)).location, '/console/admin?done=joined');
    assert.equal((await owner.get('/console/admin')).status, 200);
    await command('admin', 'remove', owner.member.email);
    assert.equal((await owner.get('/console/admin')).status, 403);
  });

  test('no code gives a right without a link, but for the accounts that a sandbox makes for itself', () => {
    const root = join(import.meta.dirname, '..');
    const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
    const naming = (pattern: RegExp) =>
      files.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8'))).sort();
    assert.deepEqual(naming(/\baddMember\(/), [
      'src/demo.ts',
      'src/holders/members.ts',
      'src/sample-shop/sample-shop.ts',
    ]);
    assert.deepEqual(naming(/set is_admin = true/), ['src/holders/members.ts']);
    const givers = ['invitations', 'members', 'registration', 'role-changes'].map((name) => `src/holders/${name}.ts`);
    assert.deepEqual(naming(/\bgive(?:Admin|Role|OrRequestRole)\(/), [...givers, 'src/sample-shop/sample-shop.ts']);
  });

  test('removing an admin also ends a link that was not used', async () => {
    const { out } = await command('admin', 'add', 'late@example.org');
    await command('admin', 'remove', 'late@example.org');
    assert.equal((await (await stranger()).get(pathOf(out))).status, 404);
  });
});

describe('guessing passwords', () => {
  const guess = async (person: Pick<Person, 'post'>, email: string, address: string, password = 'wrong') =>
    (await person.post('/console/sign-in', { email, password }, { 'x-forwarded-for': address })).status;

  test('security S13: 240 addresses of one /64 have ten guesses a minute', async () => {
    const person = await stranger();
    const statuses: number[] = [];
    for (let n = 0; n < 240; n++)
      statuses.push(await guess(person, `who${n}@example.org`, `2001:db8:5:5::${n.toString(16)}`));
    assert.equal(statuses.filter((status) => status === 401).length, 10);
    assert.equal(statuses.filter((status) => status === 429).length, 230);
  });

  test('security S13: one account has a hundred guesses an hour; its login link and its own browser still work', async () => {
    const email = 'target@example.org';
    const { out } = await command('holder', 'create', 'Target', '--owner', email);
    const own = await stranger();
    await own.post(pathOf(out), { name: 'Target', password: PASSWORD });
    const signedIn = await own.post('/console/sign-in', { email, password: PASSWORD });
    const browser = /simbi_browser=[^;]+/.exec(signedIn.headers.get('set-cookie') ?? '')?.[0] ?? '';
    assert.notEqual(browser, '');
    const attacker = await stranger();
    let compared = 0;
    for (let minute = 0; minute < 12; minute++) {
      for (let n = 0; n < 12; n++) if ((await guess(attacker, email, `198.51.${minute}.${n}`)) === 401) compared++;
      gateway.ctx.clock.advance(60_000);
    }
    assert.equal(compared, 100);
    const refused = await attacker.post('/console/sign-in', { email, password: PASSWORD });
    assert.equal(refused.status, 429);
    assert.match(refused.text, /login link/);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    const visit = await visitor(gateway, '').get('/console/sign-in');
    const cookie = `${browser}; ${/simbi_visitor=[^;]+/.exec(visit.headers.get('set-cookie') ?? '')?.[0]}`;
    const page = await visitor(gateway, cookie).get('/console/sign-in');
    const known = visitor(gateway, cookie, csrfOf(page.text));
    assert.equal((await known.post('/console/sign-in', { email, password: PASSWORD })).status, 303);
    const link = await command('login-link', email);
    assert.ok(await isSignedIn(await enter(await (await stranger()).post(pathOf(link.out)))));
  });

  test('security S4: a burst of passwords is counted before it is compared, and does not stop others', async () => {
    const person = await stranger();
    const burst = Array.from({ length: 200 }, () => guess(person, 'burst@example.org', '203.0.113.9'));
    const [statuses, health] = await Promise.all([Promise.all(burst), fetch(`${gateway.url}/readyz`)]);
    assert.ok(statuses.filter((status) => status === 401).length <= 10);
    assert.deepEqual(new Set(statuses), new Set([401, 429]));
    assert.equal(health.status, 200);
  });

  test('security S4: beyond a few passwords at once, and a short queue, the rest is refused', async () => {
    const person = await stranger();
    const burst = Array.from({ length: 120 }, (_, n) => guess(person, `many${n}@example.org`, `203.0.${n}.1`));
    const statuses = await Promise.all(burst);
    assert.ok(statuses.includes(429));
    assert.deepEqual(new Set(statuses), new Set([401, 429]));
  });
});

describe('a role that approves money', () => {
  async function twoPeopleShop(owners = 1) {
    const shop = await newShop();
    const { ctx } = gateway;
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, 'KES', 1_000_000n);
    const actor = { memberId: shop.owner.member.id, name: shop.owner.member.email };
    await setPayoutApproval(ctx, actor, shop.holderId, true);
    const second = owners > 1 ? await addPerson(gateway, shop.holderId, 'owner', `second${shops}@example.org`) : null;
    return { ...shop, second };
  }

  const PAYOUT = { amount: '1500', currency: 'KES', mobile: '254712345000', method: 'MPESA_KEN' };
  const waiting = (page: ConsoleAnswer) => /\/team\/changes\/([\w-]+)\/withdraw/.exec(page.text)?.[1] ?? '';

  test('security S14: an owner who invites a second address of their own cannot approve with it before a day', async () => {
    const { owner, holderId } = await twoPeopleShop();
    const paid = await payOut(owner, PAYOUT);
    const ref = /TX_[\w-]+/.exec(paid.location ?? paid.text)?.[0] ?? '';
    assert.notEqual(ref, '');
    const path = await invite(owner, `alias${shops}@example.org`, 'finance');
    const joined = await (await stranger()).post(path, { name: 'Alias', password: PASSWORD });
    assert.equal(joined.location, '/console/team');
    const alias = await enter(joined);
    assert.equal((await alias.post(`/console/transactions/${ref}/approve`)).status, 403);
    const page = await owner.get('/console/team');
    const id = waiting(page);
    assert.notEqual(id, '');
    assert.match(page.text, /Roles that wait/);
    assert.equal((await owner.post(`/console/team/changes/${id}/confirm`)).status, 403, 'not the person who asked');
    assert.equal((await alias.post(`/console/team/changes/${id}/confirm`)).status, 403, 'not the person who gets it');
    const { applyRoleChanges } = await import('../src/holders/role-changes.ts');
    const member = await findMemberByEmail(gateway.ctx.db, `alias${shops}@example.org`);
    const role = () => roleAt(gateway.ctx.db, member?.id ?? 0n, holderId);
    // A process whose clock is a day ahead gives nothing away: the database's clock counts.
    gateway.ctx.databaseTime.setSkew(2 * DAY_MS);
    gateway.ctx.clock.advance(2 * DAY_MS);
    await applyRoleChanges(gateway.ctx);
    assert.equal(await role(), 'viewer');
    gateway.ctx.clock.advance(DAY_MS - 1_000);
    await applyRoleChanges(gateway.ctx);
    assert.equal(await role(), 'viewer');
    gateway.ctx.clock.advance(1_000);
    await applyRoleChanges(gateway.ctx);
    assert.equal(await role(), 'finance');
    gateway.ctx.databaseTime.setSkew(0);
  });

  test('security S14: one owner does not end the rule alone', async () => {
    const { owner, holderId } = await twoPeopleShop();
    await owner.post('/console/settings/approval', {});
    const id = /\/changes\/([\w-]+)"/.exec((await owner.get('/console/settings')).text)?.[1] ?? '';
    assert.notEqual(id, '');
    assert.equal((await owner.post(`/console/settings/approval/changes/${id}`, { decision: 'confirm' })).status, 403);
    gateway.ctx.clock.advance(2 * DAY_MS);
    await applyRuleChanges(gateway.ctx);
    assert.equal((await findHolder(gateway.ctx.db, holderId))?.payouts_need_approval, true);
  });

  test('security S14: a second owner confirms at once', async () => {
    const { owner, second, holderId } = await twoPeopleShop(2);
    const viewer = await addPerson(gateway, holderId, 'viewer', `viewer${shops}@example.org`);
    const asked = await owner.post(`/console/team/${viewer.member.id}`, { role: 'owner' });
    assert.equal(asked.location, '/console/team?done=roleWaits');
    assert.equal(await roleAt(gateway.ctx.db, viewer.member.id, holderId), 'viewer');
    const id = waiting(await owner.get('/console/team'));
    assert.equal((await second?.post(`/console/team/changes/${id}/confirm`))?.status, 303);
    assert.equal(await roleAt(gateway.ctx.db, viewer.member.id, holderId), 'owner');
  });

  test('security S14: both people can cancel, and a person who is no longer an owner asks for nothing', async () => {
    const { owner, second, holderId } = await twoPeopleShop(2);
    const viewer = await addPerson(gateway, holderId, 'viewer', `viewer${shops}@example.org`);
    const ask = (by: Person | null) => by?.post(`/console/team/${viewer.member.id}`, { role: 'finance' });
    for (const cancelling of [owner, second, viewer]) {
      await ask(owner);
      const id = waiting(await viewer.get('/console/team'));
      assert.equal((await cancelling?.post(`/console/team/changes/${id}/withdraw`))?.status, 303);
      assert.equal(waiting(await viewer.get('/console/team')), '');
    }
    await ask(second);
    const stranger = (await newShop()).owner;
    const id = waiting(await viewer.get('/console/team'));
    assert.equal((await stranger.post(`/console/team/changes/${id}/withdraw`)).status, 404, 'another holder');
    await owner.post(`/console/team/${second?.member.id}`, { role: 'viewer' });
    assert.equal(waiting(await owner.get('/console/team')), '');
  });

  test('without the rule of two people a role holds at once, and a lower role always does', async () => {
    const { owner, holderId } = await newShop();
    const viewer = await addPerson(gateway, holderId, 'viewer', `viewer${shops}@example.org`);
    const change = (role: string) => owner.post(`/console/team/${viewer.member.id}`, { role });
    assert.equal((await change('owner')).location, '/console/team?done=saved');
    const actor = { memberId: owner.member.id, name: owner.member.email };
    await setPayoutApproval(gateway.ctx, actor, holderId, true);
    assert.equal((await change('finance')).location, '/console/team?done=saved');
    assert.equal((await change('owner')).location, '/console/team?done=roleWaits');
    assert.equal((await change('developer')).location, '/console/team?done=saved');
    assert.equal((await change('finance')).location, '/console/team?done=roleWaits');
  });
});

describe('choosing a password', () => {
  test('common passwords, repetitions, the own address and the name of the service are refused', async () => {
    const { owner } = await newShop();
    const set = async (password: string) => owner.post('/console/account/password', { password });
    for (const password of [
      '1234567890',
      'password12',
      'P4ssw0rd123!',
      'qwertyuiop',
      'aaaaaaaaaa',
      'abababababab',
      owner.member.email,
      `${owner.member.email}2026`,
      'Simbi simbi 1',
      'Service2026',
      'iloveyou2024',
    ]) {
      const answer = await set(password);
      assert.equal(answer.status, 400, password);
      assert.match(answer.text, /easy to guess/, password);
    }
    assert.match((await set('short')).text, /at least 10 characters/);
    for (const password of ['kx7Qp2mZt9', PASSWORD, 'la pluie tombe sur le toit'])
      assert.equal((await set(password)).status, 303, password);
    const french = await owner.post('/console/account/password?lang=fr', { password: '1234567890' });
    assert.match(french.text, /facile à deviner/);
  });
});
