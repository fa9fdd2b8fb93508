// People and mail: a link that was sent proves the address, and only its mailbox sees it.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { TOTP } from 'otpauth';
import { setPayoutApproval } from '../src/holders/approval-rules.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { addressState } from '../src/holders/credentials.ts';
import { findFactors } from '../src/holders/factor-changes.ts';
import { createHolder } from '../src/holders/holders.ts';
import { sendMails } from '../src/holders/mail-queue.ts';
import { createSession, findMemberByEmail, findSession, roleAt } from '../src/holders/members.ts';
import { base32, finishFactor, startFactor } from '../src/holders/second-factor.ts';
import { flushRefusals } from '../src/platform/held-back.ts';
import { addPerson, type ConsoleAnswer, csrfOf, type Person, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createMailServer, type MailServer, type ReceivedMail } from './mail-server.ts';

const PASSWORD = 'mangoes ripen in november';
const OTHER_PASSWORD = 'rivers run to the ocean';

let gateway: TestGateway;
let server: MailServer;

before(async () => {
  server = await createMailServer();
  gateway = await createTestGateway({ ALLOW_SIGN_UP: 'true', SMTP_URL: server.url, MAIL_FROM: 'pay@gateway.example' });
});
after(async () => {
  await gateway.close();
  await server.close();
});
afterEach(async () => {
  await receive();
  gateway.ctx.clock.advance(2 * 3_600_000);
});

async function receive(): Promise<ReceivedMail[]> {
  while ((await sendMails(gateway.ctx)) > 0);
  return server.takeMails();
}

async function stranger() {
  const page = await visitor(gateway, '').get('/console/sign-in');
  const cookie = /simbi_visitor=[^;]+/.exec(page.headers.get('set-cookie') ?? '')?.[0] ?? '';
  return visitor(gateway, cookie, csrfOf(page.text));
}

async function enter(answer: ConsoleAnswer): Promise<Pick<Person, 'get' | 'post'>> {
  const cookie = /simbi_session=[\w-]+/.exec(answer.headers.get('set-cookie') ?? '')?.[0] ?? '';
  const page = await visitor(gateway, cookie).get('/console/account');
  return visitor(gateway, cookie, csrfOf(page.text));
}

const pathOf = (mail: ReceivedMail | undefined) => /\/console\/[\w/-]+_[\w-]+/.exec(mail?.text ?? '')?.[0] ?? '';

let shops = 0;
async function newShop(name?: string) {
  shops++;
  const holder = await createHolder(gateway.ctx, COMMAND_LINE, name ?? `Shop ${shops}`);
  const owner = await addPerson(gateway, holder.id, 'owner', `owner${shops}@example.org`);
  return { holderId: holder.id, owner };
}

/** An account from before the mail server: its address was never proven, and its owner set up an app. */
async function newGuardedAccount() {
  const { ctx } = gateway;
  const { owner, holderId } = await newShop();
  const { id: memberId, email } = owner.member;
  await ctx.db.query('update members set email_proven_at = null where id = $1', [memberId]);
  const from = { address: '192.0.2.7', userAgent: '', language: 'en' } as const;
  const session = await findSession(ctx, (await createSession(ctx, memberId, from)).token);
  const totp = new TOTP({ secret: base32(await startFactor(ctx, memberId)) });
  const code = () => totp.generate({ timestamp: ctx.clock.millis() });
  const who = { actor: { memberId, name: email }, memberId, sessionId: session?.id ?? 0n, holderId, from };
  assert.ok(await finishFactor(ctx, who, code()));
  ctx.clock.advance(60_000);
  await receive();
  return { email, memberId, code };
}

describe('with a mail server', () => {
  test('security S1: an invitation goes to the mailbox, not to the inviter, and proves the address', async () => {
    const { owner, holderId } = await newShop();
    const page = await owner.post('/console/team/invite', { email: 'Ada@example.org', role: 'developer' });
    assert.doesNotMatch(page.text, /inv_/);
    const [mail] = await receive();
    assert.deepEqual(mail?.to, ['ada@example.org']);
    const joined = await (await stranger()).post(pathOf(mail), { name: 'Ada', password: PASSWORD });
    assert.equal(joined.location, '/console');
    const ada = await findMemberByEmail(gateway.ctx.db, 'ada@example.org');
    assert.equal(await roleAt(gateway.ctx.db, ada?.id ?? 0n, holderId), 'developer');
    assert.equal(await addressState(gateway.ctx.db, 'ada@example.org'), 'proven');
  });

  test('security S1: nothing exists before a sign-up is confirmed, and the password is chosen by the mailbox', async () => {
    const attacker = await stranger();
    const email = 'victim@example.org';
    const sent = await attacker.post('/console/sign-up', { business: 'Bait', name: 'V', email, password: PASSWORD });
    assert.equal(sent.status, 200);
    assert.equal(await findMemberByEmail(gateway.ctx.db, email), null);
    assert.equal((await attacker.post('/console/sign-in', { email, password: PASSWORD })).status, 401);
    const path = pathOf((await receive())[0]);
    const weak = await (await stranger()).post(path, { password: 'password12' });
    assert.equal(weak.status, 400);
    const confirmed = await (await stranger()).post(path, { password: OTHER_PASSWORD });
    assert.equal(confirmed.location, '/console');
    assert.equal(await addressState(gateway.ctx.db, email), 'proven');
    assert.equal((await attacker.post('/console/sign-in', { email, password: PASSWORD })).status, 401);
    assert.equal((await (await stranger()).get(path)).status, 404, 'it works once');
  });

  test('a sign-up for an address that has an account answers the same, and tells only the mailbox', async () => {
    const { owner } = await newShop();
    const fields = (email: string) => ({ business: 'B', name: 'N', email });
    const taken = await (await stranger()).post('/console/sign-up', fields(owner.member.email));
    const free = await (await stranger()).post('/console/sign-up', fields('owner0@example.org'));
    const plain = (answer: ConsoleAnswer) => answer.text.replace(/owner\d+@/g, '').replace(/name="csrf"[^>]+/g, '');
    assert.equal(plain(taken), plain(free));
    const mails = await receive();
    assert.match(mails.find(({ to }) => to.includes(owner.member.email))?.text ?? '', /You have one already/);
  });

  test('security S13: a login link by mail works while passwords are refused', async () => {
    const { owner } = await newShop();
    const { email } = owner.member;
    const person = await stranger();
    for (let n = 0; n < 12; n++) await person.post('/console/sign-in', { email, password: 'wrong' });
    assert.equal((await person.post('/console/sign-in', { email, password: 'wrong' })).status, 429);
    const asked = await person.post('/console/sign-in/link', { email });
    const unknown = await person.post('/console/sign-in/link', { email: 'nobody@example.org' });
    assert.deepEqual([asked.status, unknown.status], [200, 200]);
    const mails = await receive();
    assert.deepEqual(
      mails.map(({ to }) => to),
      [[email]],
    );
    const inside = await enter(await person.post(pathOf(mails[0])));
    assert.equal((await inside.get('/console/account')).status, 200);
  });

  test('a link by mail does not take the second factor of an address that was never proven', async () => {
    const { email, memberId, code } = await newGuardedAccount();
    await (await stranger()).post('/console/sign-in/link', { email });
    const thief = await stranger();
    const asked = await thief.post(pathOf((await receive())[0]));
    assert.doesNotMatch(asked.headers.get('set-cookie') ?? '', /simbi_session/);
    const pending = /name="pending" value="([^"]+)"/.exec(asked.text)?.[1] ?? '';
    assert.equal((await thief.post('/console/sign-in/code', { pending, code: '000000' })).status, 401);
    assert.equal(await addressState(gateway.ctx.db, email), 'unproven');
    // Who has both the mailbox and the app is the owner, and keeps everything.
    const entered = await thief.post('/console/sign-in/code', { pending, code: code() });
    assert.match(entered.headers.get('set-cookie') ?? '', /simbi_session/);
    assert.equal(await addressState(gateway.ctx.db, email), 'proven');
    assert.equal((await findFactors(gateway.ctx.db, memberId)).totp, true);
  });

  test('neither does an invitation by mail, or a sign-up', async () => {
    const { email, memberId } = await newGuardedAccount();
    const { owner } = await newShop();
    await owner.post('/console/team/invite', { email, role: 'viewer' });
    const path = pathOf((await receive())[0]);
    const invited = await (await stranger()).post(path, { name: 'Thief', password: OTHER_PASSWORD });
    assert.match(invited.text, /Sign in/);
    await (await stranger()).post('/console/sign-up', { business: 'B', name: 'N', email });
    assert.match((await receive())[0]?.text ?? '', /You have one already/);
    assert.equal((await findFactors(gateway.ctx.db, memberId)).totp, true);
  });

  test('review: asking for a link does the same work whether or not the address has an account', async () => {
    const { owner } = await newShop();
    const { counters } = gateway.ctx.db;
    // Refusals of before are written a second later.
    await flushRefusals(gateway.ctx);
    const costOf = async (email: string) => {
      const person = await stranger();
      const before = { ...counters };
      assert.equal((await person.post('/console/sign-in/link', { email })).status, 200);
      return { statements: counters.statements - before.statements, commits: counters.commits - before.commits };
    };
    await costOf('warm@example.org');
    assert.deepEqual(await costOf(owner.member.email), await costOf('nobody-here@example.org'));
    assert.deepEqual(
      (await receive()).map(({ to }) => to),
      [[owner.member.email]],
    );
  });

  test('review: a stranger who asks for links does not keep an owner from inviting', async () => {
    const { owner } = await newShop();
    const email = `wanted${shops}@example.org`;
    for (let n = 0; n < 6; n++) await (await stranger()).post('/console/sign-in/link', { email });
    assert.equal((await owner.post('/console/team/invite', { email, role: 'viewer' })).status, 200);
    assert.equal((await receive()).length, 1);
  });

  test('strangers make the gateway send few mails to one address', async () => {
    const { owner } = await newShop();
    const statuses: number[] = [];
    for (let n = 0; n < 8; n++)
      statuses.push((await (await stranger()).post('/console/sign-in/link', { email: owner.member.email })).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
    assert.equal((await receive()).length, 5);
  });

  test('a name that a tenant chose puts no link and no line into a mail', async () => {
    const { owner } = await newShop('Win https://evil.example/a?b now');
    await owner.post('/console/team/invite', { email: 'reader@example.org', role: 'viewer' });
    const [mail] = await receive();
    assert.doesNotMatch(mail?.text ?? '', /evil\.example|https:\/\/evil/);
    assert.match(mail?.text ?? '', /Win https evil example/);
  });

  test('security S14: the owners learn by mail about a role that waits', async () => {
    const { owner, holderId } = await newShop();
    const second = await addPerson(gateway, holderId, 'owner', 'second@example.org');
    const viewer = await addPerson(gateway, holderId, 'viewer', 'third@example.org');
    const actor = { memberId: owner.member.id, name: owner.member.email };
    await setPayoutApproval(gateway.ctx, actor, holderId, true);
    await owner.post(`/console/team/${viewer.member.id}`, { role: 'finance' });
    const mails = await receive();
    assert.deepEqual(mails.flatMap(({ to }) => to).sort(), [owner.member.email, second.member.email].sort());
    assert.match(mails[0]?.text ?? '', /third@example\.org.*Finance/i);
  });
});
