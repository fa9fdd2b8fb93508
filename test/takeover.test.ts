// How somebody who lost an account, a role or a session could come back, and how a stranger could keep its owner out.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { TOTP } from 'otpauth';
import { finishRestore } from '../src/commands/finish-restore.ts';
import {
  applyRuleChanges,
  confirmRuleChange,
  listRuleChanges,
  setPayoutApproval,
} from '../src/holders/approval-rules.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { forgetCredentials, resetCredentials } from '../src/holders/credentials.ts';
import { findFactors } from '../src/holders/factor-changes.ts';
import { createHolder, findHolder } from '../src/holders/holders.ts';
import {
  addMember,
  createLoginLink,
  createSession,
  findMemberByEmail,
  findSession,
  roleAt,
  useLoginLink,
} from '../src/holders/members.ts';
import { disownNotice, listUnreadNotices } from '../src/holders/notices.ts';
import { addPasskey, askForNewPasskey, listPasskeys } from '../src/holders/passkeys.ts';
import { setPassword } from '../src/holders/passwords.ts';
import { renewRecoveryCodes, useRecoveryCode } from '../src/holders/recovery-codes.ts';
import { base32, finishFactor, startFactor } from '../src/holders/second-factor.ts';
import type { SignedInMember } from '../src/holders/sessions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { publicUrl } from '../src/platform/config.ts';
import { Problem } from '../src/platform/errors.ts';
import { createAuthenticator } from './authenticator.ts';
import { addPerson, csrfOf, type Person, signIn, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const PASSWORD = 'mangoes ripen in november';
const FROM = { address: '192.0.2.7', userAgent: '', language: 'en' } as const;
const BROWSER = 'the form token of a browser';

const refused = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

let gateway: TestGateway;
let people = 0;

before(async () => {
  gateway = await createTestGateway({ TRUSTED_PROXIES: '127.0.0.1' });
});
after(() => gateway.close());
// Limits of one test must not hold in the next.
beforeEach(() => gateway.ctx.clock.advance(2 * 3_600_000));

async function newShop(): Promise<{ holderId: bigint; owner: Person }> {
  people++;
  const { id: holderId } = await createHolder(gateway.ctx, COMMAND_LINE, `Shop ${people}`);
  return { holderId, owner: await addPerson(gateway, holderId, 'owner', `owner${people}@example.org`) };
}

async function stranger(): Promise<Pick<Person, 'get' | 'post'>> {
  const page = await visitor(gateway, '').get('/console/sign-in');
  const cookie = /simbi_visitor=[^;]+/.exec(page.headers.get('set-cookie') ?? '')?.[0] ?? '';
  return visitor(gateway, cookie, csrfOf(page.text));
}

async function signedIn(): Promise<SignedInMember & { email: string }> {
  const { ctx } = gateway;
  const { id: holderId } = await createHolder(ctx, COMMAND_LINE, `Shop ${++people}`);
  const person = { email: `person${people}@example.org`, name: 'P', holderId, role: 'owner' } as const;
  const member = await addMember(ctx, COMMAND_LINE, person);
  const { token } = await createSession(ctx, member.id, FROM);
  const session = await findSession(ctx, token);
  const actor = { memberId: member.id, name: member.email };
  return { actor, memberId: member.id, sessionId: session?.id ?? 0n, holderId, from: FROM, email: member.email };
}

/** What the browser of a new device would send. */
async function newPasskey({ memberId, email }: { memberId: bigint; email: string }): Promise<string> {
  const { ctx } = gateway;
  const question = { browser: BROWSER, address: FROM.address };
  const options = await askForNewPasskey(ctx, { id: memberId, email, name: 'P' }, question);
  return createAuthenticator(publicUrl(ctx.config)).create(options);
}

async function addKey(who: SignedInMember & { email: string }, name: string): Promise<void> {
  assert.ok(await addPasskey(gateway.ctx, who, BROWSER, { credential: await newPasskey(who), name }));
}

async function addApp(who: SignedInMember): Promise<string[]> {
  const { ctx } = gateway;
  const totp = new TOTP({ secret: base32(await startFactor(ctx, who.memberId)) });
  const finished = await finishFactor(ctx, who, totp.generate({ timestamp: ctx.clock.millis() }));
  assert.ok(finished);
  return finished.recoveryCodes;
}

describe('a person who lost a role', () => {
  for (const role of ['', 'viewer'])
    test(`review: an owner who is now ${role || 'nobody'} does not come back by an invitation of their own`, async () => {
      const { owner, holderId } = await newShop();
      const bad = await addPerson(gateway, holderId, 'owner', `bad${people}@example.org`);
      const alias = `alias${people}@example.org`;
      const invited = await bad.post('/console/team/invite', { email: alias, role: 'owner' });
      const path = /\/console\/invitations\/[\w-]+/.exec(invited.text)?.[0] ?? '';
      assert.notEqual(path, '');
      assert.equal((await owner.post(`/console/team/${bad.member.id}`, { role })).status, 303);
      const accepted = await (await stranger()).post(path, { name: 'Alias', password: PASSWORD });
      assert.equal(accepted.status, 404);
      assert.equal(await findMemberByEmail(gateway.ctx.db, alias), null);
      assert.doesNotMatch((await owner.get('/console/team')).text, new RegExp(alias));
    });
});

describe('a session that is over', () => {
  test('review: no factor is added, and no codes are made, by a request that was on its way when the session ended', async () => {
    const { ctx } = gateway;
    const ends = [
      ({ memberId }: SignedInMember) => ctx.db.transaction((tx) => forgetCredentials(tx, memberId, ctx.clock.now())),
      ({ sessionId }: SignedInMember) =>
        ctx.db.query('update sessions set revoked_at = $2 where id = $1', [sessionId, ctx.clock.now()]),
    ];
    for (const end of ends) {
      const who = await signedIn();
      const credential = await newPasskey(who);
      await end(who);
      const added = await addPasskey(ctx, who, BROWSER, { credential, name: 'Thief' }).catch(() => null);
      assert.equal(added, null);
      await assert.rejects(addApp(who), refused('unauthenticated'));
      await assert.rejects(renewRecoveryCodes(ctx, who), refused('unauthenticated'));
      const { totp, passkeys, recoveryCodes } = await findFactors(ctx.db, who.memberId);
      assert.deepEqual({ totp, passkeys, recoveryCodes }, { totp: false, passkeys: 0, recoveryCodes: 0 });
    }
  });

  test('review: a login link from before a reset does not sign in without the second factor that was reset', async () => {
    const { ctx } = gateway;
    const who = await signedIn();
    await addApp(who);
    const { token } = await createLoginLink(ctx, who.memberId);
    await resetCredentials(ctx, COMMAND_LINE, { id: who.memberId, email: who.email });
    await assert.rejects(useLoginLink(ctx, token), refused('unauthenticated'));
  });
});

describe('"This was not me"', () => {
  const disown = async (who: SignedInMember, kind: string) => {
    const notice = (await listUnreadNotices(gateway.ctx.db, who.memberId)).find((each) => each.kind === kind);
    await disownNotice(gateway.ctx, who, notice?.id ?? 0n);
  };
  const names = async ({ memberId }: SignedInMember) =>
    (await listPasskeys(gateway.ctx.db, memberId)).map(({ name }) => name);

  test('review: the passkey and the codes of the thief end, the older factor stays', async () => {
    const { ctx } = gateway;
    const who = await signedIn();
    await addApp(who);
    ctx.clock.advance(60_000);
    await addKey(who, 'Own');
    ctx.clock.advance(60_000);
    await addKey(who, 'Thief');
    ctx.clock.advance(1_000);
    const [code = ''] = await renewRecoveryCodes(ctx, who);
    await disown(who, 'recovery_codes_created');
    assert.deepEqual(await names(who), ['Own', 'Thief'], 'older than what was disowned');
    assert.equal(await useRecoveryCode(ctx, who.memberId, code, FROM), false);
    const again = await signInAgain(who);
    await addKey(again, 'Thief again');
    await disown(again, 'passkey_added');
    assert.deepEqual(await names(who), ['Own', 'Thief']);
    assert.equal((await findFactors(ctx.db, who.memberId)).totp, true);
  });

  test('review: an app that a thief turned on beside a passkey ends', async () => {
    const { ctx } = gateway;
    const who = await signedIn();
    await addKey(who, 'Own');
    ctx.clock.advance(60_000);
    await addApp(who);
    await disown(who, 'factor_on');
    assert.deepEqual(await names(who), ['Own']);
    assert.equal((await findFactors(ctx.db, who.memberId)).totp, false);
  });

  test('review: a thief with a session cannot take the last factor away', async () => {
    const who = await signedIn();
    await addKey(who, 'Own');
    await disown(who, 'passkey_added');
    assert.deepEqual(await names(who), ['Own']);
  });

  async function signInAgain(who: SignedInMember & { email: string }) {
    gateway.ctx.clock.advance(60_000);
    const { token } = await createSession(gateway.ctx, who.memberId, FROM);
    return { ...who, sessionId: (await findSession(gateway.ctx, token))?.id ?? 0n };
  }
});

describe('after a restore', () => {
  test('review: recovery codes that may have been used since the backup, challenges and links end', async () => {
    const { ctx } = gateway;
    const who = await signedIn();
    const [code = ''] = await addApp(who);
    const credential = await newPasskey(who);
    const before = await findFactors(ctx.db, who.memberId);
    await ctx.db.transaction((tx) => finishRestore(tx, ctx.clock.now(), null));
    assert.equal(await useRecoveryCode(ctx, who.memberId, code, FROM), false);
    assert.equal(await addPasskey(ctx, who, BROWSER, { credential, name: 'P' }), null);
    const now = await findFactors(ctx.db, who.memberId);
    assert.equal(now.totp, true, 'the app stays: without it a password would be enough');
    assert.ok(now.credentialsVersion > before.credentialsVersion, 'a sign-in on its way opens no session');
  });

  test('review: a rule that was about to be loosened waits for a whole day again', async () => {
    const { ctx } = gateway;
    const { owner, holderId } = await newShop();
    const second = await addPerson(gateway, holderId, 'owner', `second${people}@example.org`);
    const actorOf = ({ member }: Person) => ({ memberId: member.id, name: member.email });
    await setPayoutApproval(ctx, actorOf(owner), holderId, true);
    await setPayoutApproval(ctx, actorOf(owner), holderId, false);
    const [change] = await listRuleChanges(ctx.db, holderId);
    await confirmRuleChange(ctx, actorOf(second), holderId, change?.id ?? '');
    ctx.clock.advance(3 * DAY_MS);
    await ctx.db.transaction((tx) => finishRestore(tx, ctx.clock.now(), null));
    await applyRuleChanges(ctx);
    assert.equal((await findHolder(ctx.db, holderId))?.payouts_need_approval, true);
    ctx.clock.advance(DAY_MS);
    await applyRuleChanges(ctx);
    assert.equal((await findHolder(ctx.db, holderId))?.payouts_need_approval, false);
    assert.equal(await roleAt(ctx.db, owner.member.id, holderId), 'owner');
  });
});

describe('a stranger who guesses', () => {
  test('review: leaves a row in the audit log also with a passkey that is refused, and with a link', async () => {
    const attacker = await stranger();
    const failed = async () =>
      (await gateway.ctx.db.query(`select 1 from audit_log where action = 'member.sign_in_failed'`)).length;
    const before = await failed();
    assert.equal((await attacker.post('/console/sign-in/passkey', { credential: '{}' })).status, 401);
    assert.equal((await attacker.post('/console/login/otl_guessed')).status, 401);
    assert.equal((await failed()) - before, 2);
  });

  test('review: does not stop a signed-in owner from confirming with the password', async () => {
    const { ctx } = gateway;
    const { holderId } = await newShop();
    const owner = await addPerson(gateway, holderId, 'owner', `guessed${people}@example.org`, { confirmed: false });
    await setPassword(ctx, COMMAND_LINE, owner.member.id, PASSWORD, { sessionId: null, holderId: null });
    const person = await signIn(gateway, owner.member, { confirmed: false });
    const attacker = await stranger();
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    for (let n = 0; n < 10; n++)
      await attacker.post('/console/sign-in', { email: owner.member.email, password: 'wrong' }, headers);
    for (const path of ['/console/confirm', '/console/account/proof'])
      assert.equal((await person.post(path, { password: PASSWORD })).status, 303, path);
  });
});
