// The second factor: the codes of the standard, the window around now, and that a code works once.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TOTP } from 'otpauth';
import { createTestContext } from '../../test/harness.ts';
import { createShop } from '../../test/shop.ts';
import { COMMAND_LINE } from './audit.ts';
import { addMember, createSession, findSession } from './members.ts';
import { base32, finishFactor, matchingStep, pendingFactor, proveFactor, startFactor } from './second-factor.ts';

/** Appendix B of RFC 6238, SHA-1: Unix time and the last six of its eight digits. */
const RFC_SECRET = Buffer.from('12345678901234567890');
const RFC_CODES = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
] as const;

test('accepts the codes of RFC 6238, one step early or late, and no others', () => {
  for (const [seconds, code] of RFC_CODES) {
    const step = Math.floor(seconds / 30);
    for (const offset of [-30, 0, 30]) assert.equal(matchingStep(RFC_SECRET, code, (seconds + offset) * 1000), step);
    for (const offset of [-60, 60]) assert.equal(matchingStep(RFC_SECRET, code, (seconds + offset) * 1000), null);
  }
  assert.equal(matchingStep(RFC_SECRET, ' 287 082 ', 59_000), 1, 'spaces are ignored');
  for (const code of ['', '28708', '2870820', '94287082', 'abcdef', '287083'])
    assert.equal(matchingStep(RFC_SECRET, code, 59_000), null, code);
});

test('writes the secret as RFC 4648 does', () => {
  assert.equal(base32(RFC_SECRET), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
});

describe('a member with a second factor', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  test('a code works once, also for two requests at the same time', async () => {
    const { holderId } = await createShop(ctx, 'Careful');
    const person = { email: 'eve@example.org', name: 'Eve', holderId, role: 'owner' } as const;
    const { id } = await addMember(ctx, COMMAND_LINE, person);
    const secret = await startFactor(ctx, id);
    assert.deepEqual(await pendingFactor(ctx, id), secret);
    const codeNow = () => new TOTP({ secret: base32(secret) }).generate({ timestamp: ctx.clock.millis() });
    const from = { address: '192.0.2.1', userAgent: '', language: 'en' } as const;
    const { token } = await createSession(ctx, id, from);
    const session = await findSession(ctx, token);
    assert.ok(session);
    const who = { actor: COMMAND_LINE, memberId: id, sessionId: session.id, holderId, from };
    assert.equal(await finishFactor(ctx, who, '000000'), null);
    const first = codeNow();
    assert.equal((await finishFactor(ctx, who, first))?.recoveryCodes.length, 10);
    assert.equal(await proveFactor(ctx, id, first, '192.0.2.1'), false, 'the code of the enrolment');
    ctx.clock.advance(30_000);
    const proofs = await Promise.all(Array.from({ length: 5 }, () => proveFactor(ctx, id, codeNow(), '192.0.2.1')));
    assert.deepEqual(proofs.filter(Boolean), [true]);
  });
});
