// The second factor: time-based one-time passwords (RFC 6238, SHA-1, six digits, thirty seconds), as every authenticator
// reads them. The secret is sealed under the master key; a code is accepted once.

import { createHmac, randomBytes } from 'node:crypto';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import { type Actor, recordAudit } from './audit.ts';
import { countFailure, refuseGuessing } from './passwords.ts';

const SECRET_BYTES = 20;
const STEP_SECONDS = 30;
/** Clocks of phones differ: one step to either side counts. */
const STEPS_AROUND = 1;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The code of one step. */
export function totpCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 1_000_000).padStart(6, '0');
}

export function stepAt(millis: number): number {
  return Math.floor(millis / 1000 / STEP_SECONDS);
}

export function base32(bytes: Buffer): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32.charAt(Number.parseInt(five.padEnd(5, '0'), 2))).join('');
}

/** Begins an enrolment: a secret that counts only once its owner has shown a code of it. */
export async function startFactor(ctx: Context, memberId: bigint): Promise<Buffer> {
  const secret = randomBytes(SECRET_BYTES);
  await ctx.db.query('update members set totp_pending = $2 where id = $1', [
    memberId,
    ctx.vault.seal(secret.toString('base64'), sealPurpose(memberId)),
  ]);
  return secret;
}

/** The secret of an enrolment under way, or null. */
export async function pendingFactor(ctx: Context, memberId: bigint): Promise<Buffer | null> {
  const [row] = await ctx.db.query<{ totp_pending: Buffer | null }>('select totp_pending from members where id = $1', [
    memberId,
  ]);
  return row?.totp_pending ? openSecret(ctx, memberId, row.totp_pending) : null;
}

/** Ends an enrolment: from now on the factor is asked for. Answers false when the code is not right. */
export async function finishFactor(
  ctx: Context,
  actor: Actor,
  memberId: bigint,
  holderId: bigint | null,
  code: string,
): Promise<boolean> {
  const secret = await pendingFactor(ctx, memberId);
  const step = secret ? matchingStep(secret, code, ctx.clock.millis()) : null;
  if (step === null) return false;
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await tx.query(
      'update members set totp_sealed = totp_pending, totp_pending = null, totp_last_step = $2 where id = $1',
      [memberId, step],
    );
    await recordAudit(tx, { holderId, actor, action: 'member.second_factor_on' }, at);
  });
  return true;
}

export function removeFactor(ctx: Context, actor: Actor, memberId: bigint, holderId: bigint | null): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    await tx.query('update members set totp_sealed = null, totp_pending = null, totp_last_step = null where id = $1', [
      memberId,
    ]);
    await recordAudit(tx, { holderId, actor, action: 'member.second_factor_off' }, at);
  });
}

export async function hasFactor(ctx: Context, memberId: bigint): Promise<boolean> {
  const rows = await ctx.db.query('select 1 from members where id = $1 and totp_sealed is not null', [memberId]);
  return rows.length > 0;
}

/** Whether the code is right and fresh. The update decides between two that use one code at the same time. */
export async function proveFactor(ctx: Context, memberId: bigint, code: string, address: string): Promise<boolean> {
  refuseGuessing(ctx, `factor ${memberId}`, address);
  const [row] = await ctx.db.query<{ totp_sealed: Buffer | null }>('select totp_sealed from members where id = $1', [
    memberId,
  ]);
  if (!row?.totp_sealed) throw new Problem('forbidden', { message: 'There is no second factor to prove.' });
  const step = matchingStep(openSecret(ctx, memberId, row.totp_sealed), code, ctx.clock.millis());
  const used =
    step === null
      ? []
      : await ctx.db.query(
          `update members set totp_last_step = $2 where id = $1 and (totp_last_step is null or totp_last_step < $2) returning 1`,
          [memberId, step],
        );
  if (used.length > 0) return true;
  countFailure(ctx, `factor ${memberId}`, address);
  return false;
}

function matchingStep(secret: Buffer, code: string, millis: number): number | null {
  const given = Buffer.from(code.replace(/\s/g, ''));
  const now = stepAt(millis);
  let found: number | null = null;
  for (let step = now - STEPS_AROUND; step <= now + STEPS_AROUND; step++)
    if (constantTimeEqual(Buffer.from(totpCode(secret, step)), given)) found = step;
  return found;
}

function sealPurpose(memberId: bigint): string {
  return `second-factor:${memberId}`;
}

function openSecret(ctx: Context, memberId: bigint, sealed: Buffer): Buffer {
  return Buffer.from(ctx.vault.open(sealed, sealPurpose(memberId)), 'base64');
}
