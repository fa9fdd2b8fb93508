// Passkeys: what is accepted, and each way in which an answer is not.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Authenticator, type AuthenticatorAnswer, createAuthenticator } from '../../test/authenticator.ts';
import { createTestContext } from '../../test/harness.ts';
import { createShop } from '../../test/shop.ts';
import { publicUrl } from '../platform/config.ts';
import { COMMAND_LINE } from './audit.ts';
import { findFactors } from './factor-changes.ts';
import { addMember, createSession, findSession, type Member } from './members.ts';
import type { PasskeyQuestion } from './passkey-challenges.ts';
import { addPasskey, askForNewPasskey, askForPasskey, listPasskeys, provePasskey, removePasskey } from './passkeys.ts';
import type { SignedInMember } from './sessions.ts';

const BROWSER = 'the form token of a browser';
const FROM = { address: '192.0.2.7', userAgent: '', language: 'en' } as const;
const ALONE: PasskeyQuestion = { purpose: 'sign_in', memberId: null, browser: BROWSER, address: FROM.address };

describe('passkeys', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  let holderId: bigint;
  let people = 0;
  before(async () => {
    ctx = await createTestContext();
    ({ holderId } = await createShop(ctx, 'Shop'));
  });
  after(() => ctx.close());
  // The guesses of one test are not those of the next.
  beforeEach(() => ctx.clock.advance(3_600_000));

  async function addOwner(): Promise<{ member: Member; who: SignedInMember; device: Authenticator }> {
    const person = { email: `p${++people}@example.org`, name: 'P', holderId, role: 'owner' } as const;
    const member = await addMember(ctx, COMMAND_LINE, person);
    const { token } = await createSession(ctx, member.id, FROM);
    const session = await findSession(ctx, token);
    const actor = { memberId: member.id, name: member.email };
    const who = { actor, memberId: member.id, sessionId: session?.id ?? 0n, holderId, from: FROM };
    return { member, who, device: createAuthenticator(publicUrl(ctx.config)) };
  }

  async function register(owner: Awaited<ReturnType<typeof addOwner>>, answer?: AuthenticatorAnswer) {
    const options = await askForNewPasskey(ctx, owner.member, { browser: BROWSER, address: FROM.address });
    const credential = owner.device.create(options, answer);
    return addPasskey(ctx, owner.who, BROWSER, { credential, name: 'Phone' });
  }

  const prove = async (question: PasskeyQuestion, answer: string) =>
    (await provePasskey(ctx, question, answer))?.memberId ?? null;

  /** A member with a passkey, and what its device answers to a question. */
  async function addUser() {
    const owner = await addOwner();
    assert.ok(await register(owner));
    const second: PasskeyQuestion = { ...ALONE, purpose: 'second_step', memberId: owner.member.id };
    const answer = async (question: PasskeyQuestion, how?: AuthenticatorAnswer) =>
      prove(question, owner.device.get(await askForPasskey(ctx, question), how));
    return { ...owner, second, answer };
  }

  test('a passkey signs in alone, and after a password; the first one brings recovery codes', async () => {
    const owner = await addOwner();
    const none = await findFactors(ctx.db, owner.member.id);
    const added = await register(owner);
    assert.equal(added?.recoveryCodes.length, 10);
    assert.deepEqual(await findFactors(ctx.db, owner.member.id), { ...none, passkeys: 1, recoveryCodes: 10 });
    const options = await askForPasskey(ctx, ALONE);
    assert.equal(options.userVerification, 'required');
    assert.equal(options.allowCredentials, undefined, 'nobody is named to a stranger');
    assert.equal(await prove(ALONE, owner.device.get(options, { counter: 1 })), owner.member.id);
    const second: PasskeyQuestion = { ...ALONE, purpose: 'second_step', memberId: owner.member.id };
    const asked = await askForPasskey(ctx, second);
    assert.equal(asked.allowCredentials?.length, 1);
    assert.equal(await prove(second, owner.device.get(asked, { counter: 2 })), owner.member.id);
    const [passkey] = await listPasskeys(ctx.db, owner.member.id);
    assert.equal(passkey?.last_used_at?.getTime(), ctx.clock.millis());
    await removePasskey(ctx, owner.who, passkey?.id ?? 0n);
    assert.deepEqual(await findFactors(ctx.db, owner.member.id), none);
  });

  test('a challenge works once, for five minutes, in one browser and for one purpose', async () => {
    const { member, device, second } = await addUser();
    const asked = await askForPasskey(ctx, ALONE);
    assert.equal(await prove(ALONE, device.get(asked)), member.id);
    assert.equal(await prove(ALONE, device.get(asked)), null, 'the same challenge again');
    const elsewhere = device.get(await askForPasskey(ctx, ALONE));
    assert.equal(await prove({ ...ALONE, browser: 'another' }, elsewhere), null, 'another browser');
    assert.equal(await prove(ALONE, elsewhere), null, 'a wrong answer uses it up as well');
    const forSignIn = device.get(await askForPasskey(ctx, ALONE));
    assert.equal(await prove({ ...second, purpose: 'confirm' }, forSignIn), null, 'another purpose');
    const late = device.get(await askForPasskey(ctx, ALONE));
    ctx.clock.advance(5 * 60_000);
    assert.equal(await prove(ALONE, late), null, 'too late');
    const foreign = device.get({ challenge: Buffer.alloc(32).toString('base64url') });
    assert.equal(await prove(ALONE, foreign), null, 'a challenge that was never asked');
  });

  test('an answer from another origin or for another host is refused, also when a passkey is added', async () => {
    const { answer } = await addUser();
    assert.equal(await answer(ALONE, { origin: 'https://simbi.example.net' }), null);
    assert.equal(await answer(ALONE, { host: 'example.net' }), null);
    const owner = await addOwner();
    assert.equal(await register(owner, { origin: 'https://simbi.example.net' }), null);
    assert.equal(await register(owner, { host: 'example.net' }), null);
    assert.equal((await findFactors(ctx.db, owner.member.id)).passkeys, 0);
  });

  test('a counter that does not grow is refused, also by two requests at once', async () => {
    const { member, device, answer } = await addUser();
    assert.equal(await answer(ALONE, { counter: 7 }), member.id);
    assert.equal(await answer(ALONE, { counter: 7 }), null);
    assert.equal(await answer(ALONE, { counter: 6 }), null);
    assert.equal(await answer(ALONE, { counter: 0 }), null);
    const copies = await Promise.all(
      Array.from({ length: 4 }, async () => device.get(await askForPasskey(ctx, ALONE), { counter: 8 })),
    );
    const answers = await Promise.all(copies.map((copy) => prove(ALONE, copy)));
    assert.equal(answers.filter((each) => each !== null).length, 1);
  });

  test('the passkey of another person is refused', async () => {
    const [ann, ben] = [await addUser(), await addUser()];
    const asked = await askForPasskey(ctx, ann.second);
    assert.equal(await prove(ann.second, ben.device.get(asked)), null, 'after Ann’s password');
    assert.equal(await ben.answer(ALONE, { userHandle: Buffer.alloc(32).toString('base64url') }), null, 'another name');
    const mixed = { ...JSON.parse(ann.device.get(asked)), id: JSON.parse(ben.device.get(asked)).id };
    assert.equal(await prove(ALONE, JSON.stringify(mixed)), null);
    const options = await askForNewPasskey(ctx, ann.member, { browser: BROWSER, address: FROM.address });
    await assert.rejects(
      addPasskey(ctx, ann.who, BROWSER, { credential: ben.device.create(options), name: 'Taken' }),
      /already stored/,
    );
    assert.equal(
      await addPasskey(ctx, ben.who, BROWSER, { credential: ann.device.create(options), name: 'x' }),
      null,
      'what Ann was asked is not answered for Ben',
    );
    await assert.rejects(removePasskey(ctx, ann.who, (await listPasskeys(ctx.db, ben.member.id))[0]?.id ?? 0n));
  });

  test('without user verification a passkey is a second step, and not enough alone', async () => {
    const { member, second, answer } = await addUser();
    assert.equal(await answer(second, { verified: false }), member.id);
    assert.equal(await answer(ALONE, { verified: false }), null);
  });

  test('certificates are refused unread, and what is no answer at all is refused', async () => {
    const owner = await addOwner();
    assert.equal(await register(owner, { certified: true }), null);
    for (const credential of ['', 'null', '[]', '{}', '{"id":1}', '{"id":"x","response":{"clientDataJSON":"e30"}}']) {
      assert.equal(await addPasskey(ctx, owner.who, BROWSER, { credential, name: 'x' }), null);
      assert.equal(await prove(ALONE, credential), null);
    }
  });

  test('security S4: wrong passkeys are counted, and one address has a limited number of open challenges', async () => {
    const { device, second } = await addUser();
    const wrong = Array.from({ length: 30 }, () => device.get({ challenge: 'never-asked' }));
    const answers = await Promise.allSettled(wrong.map((answer) => prove(second, answer)));
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 10);
    const from = { ...ALONE, address: '198.51.100.1' };
    for (let open = 0; open < 50; open++) await askForPasskey(ctx, from);
    await assert.rejects(askForPasskey(ctx, from), /Too many/i);
    ctx.clock.advance(5 * 60_000);
    await askForPasskey(ctx, from);
  });
});
