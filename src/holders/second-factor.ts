// The second factor of an authenticator app: time-based one-time passwords (RFC 6238: SHA-1, six digits, thirty seconds), which every
// authenticator app supports. The secret is sealed under the master key; a code is accepted once.

import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { recordFactorChange } from './factor-changes.ts';
import { requireGuess } from './guess-limit.ts';
import { requireLiveSession, type SignedInMember } from './sessions.ts';

const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
/** Phone clocks are often some seconds off, so one step before and after now is accepted. */
const STEPS_AROUND = 1;

/** A secret as authenticator apps take it: base 32 without padding. */
export function base32(secret: Buffer): string {
  return secretOf(secret).base32;
}

/** Starts an enrolment: the secret becomes active once the member enters a code made with it. */
export async function startFactor(ctx: Context, memberId: bigint): Promise<Buffer> {
  const secret = randomBytes(SECRET_BYTES);
  await ctx.db.query('update members set totp_pending = $2 where id = $1', [
    memberId,
    ctx.vault.seal(secret.toString('base64'), factorSealPurpose(memberId)),
  ]);
  return secret;
}

/** The secret of an enrolment that was started and not finished, or null. */
export async function pendingFactor(ctx: Context, memberId: bigint): Promise<Buffer | null> {
  const [row] = await ctx.db.query<{ totp_pending: Buffer | null }>('select totp_pending from members where id = $1', [
    memberId,
  ]);
  return row?.totp_pending ? openSecret(ctx, memberId, row.totp_pending) : null;
}

/**
 * Finishes an enrolment: sign-in asks for a code from now on. Returns the recovery codes when this is the first second
 * factor; null: the code is wrong.
 */
export async function finishFactor(
  ctx: Context,
  who: SignedInMember,
  code: string,
): Promise<{ recoveryCodes: string[] } | null> {
  const { memberId } = who;
  const guess = await requireGuess(ctx, { kind: 'code', person: String(memberId), address: who.from.address });
  const secret = await pendingFactor(ctx, memberId);
  const step = secret ? matchingStep(secret, code, ctx.clock.millis()) : null;
  if (step === null) return null;
  const at = ctx.clock.now();
  const finished = await ctx.db.transaction(async (tx) => {
    await requireLiveSession(tx, who);
    const updated = await tx.query(
      `update members set totp_sealed = totp_pending, totp_pending = null, totp_last_step = $2
       where id = $1 and totp_pending is not null returning 1`,
      [memberId, step],
    );
    if (updated.length === 0) return null;
    return recordFactorChange(tx, ctx, who, { action: 'member.second_factor_on', kind: 'factor_on' }, at);
  });
  if (finished) await guess.giveBack();
  return finished;
}

export function removeFactor(ctx: Context, who: SignedInMember): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    await requireLiveSession(tx, who);
    const removed = await tx.query(
      `update members set totp_sealed = null, totp_pending = null, totp_last_step = null
       where id = $1 and totp_sealed is not null returning 1`,
      [who.memberId],
    );
    if (removed.length === 0) return;
    await recordFactorChange(tx, ctx, who, { action: 'member.second_factor_off', kind: 'factor_off' }, at);
  });
}

/** Whether the code is right and not used before. Of two requests with one code, the update lets the first pass. */
export async function proveFactor(ctx: Context, memberId: bigint, code: string, address: string): Promise<boolean> {
  // Counted before it is compared: of many guesses at once, only as many as the limit are compared.
  const guess = await requireGuess(ctx, { kind: 'code', person: String(memberId), address });
  const [row] = await ctx.db.query<{ totp_sealed: Buffer | null }>('select totp_sealed from members where id = $1', [
    memberId,
  ]);
  if (!row?.totp_sealed) throw new Problem('forbidden', { message: 'There is no second factor to prove.' });
  const step = matchingStep(await openSecret(ctx, memberId, row.totp_sealed), code, ctx.clock.millis());
  if (step === null) return false;
  const used = await ctx.db.query(
    `update members set totp_last_step = $2 where id = $1 and (totp_last_step is null or totp_last_step < $2) returning 1`,
    [memberId, step],
  );
  if (used.length === 0) return false;
  await guess.giveBack();
  return true;
}

/** The time step whose code this is, within the window around now; null when the code is wrong. */
export function matchingStep(secret: Buffer, code: string, millis: number): number | null {
  const totp = new TOTP({ secret: secretOf(secret), algorithm: 'SHA1', digits: 6, period: STEP_SECONDS });
  const delta = totp.validate({ token: code.replace(/\s/g, ''), timestamp: millis, window: STEPS_AROUND });
  return delta === null ? null : totp.counter({ timestamp: millis }) + delta;
}

function secretOf(secret: Buffer): Secret {
  return new Secret({ buffer: Uint8Array.from(secret).buffer });
}

export function factorSealPurpose(memberId: bigint): string {
  return `second-factor:${memberId}`;
}

async function openSecret(ctx: Context, memberId: bigint, sealed: Buffer): Promise<Buffer> {
  return Buffer.from(await ctx.vault.open(sealed, factorSealPurpose(memberId)), 'base64');
}
