// Recovery codes: ten codes that replace the second factor once each, for the day the phone is lost. They are shown once.
// A code has 80 random bits, so that its hash cannot be searched for the code.

import { randomBytes } from 'node:crypto';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { sha256 } from '../platform/secrets.ts';
import { recordAudit } from './audit.ts';
import { requireGuess } from './guess-limit.ts';
import { recordNotice } from './notices.ts';
import { type RequestOrigin, requireLiveSession, type SignedInMember } from './sessions.ts';

const CODES = 10;
/** Crockford's base 32: no letter that is easily taken for a digit. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CHARACTERS = 16;

/** Replaces the codes of a member. Only the hashes are stored. */
export async function issueRecoveryCodes(tx: Tx, memberId: bigint, at: Date): Promise<string[]> {
  const codes = Array.from({ length: CODES }, createCode);
  await tx.query('delete from recovery_codes where member_id = $1', [memberId]);
  await tx.query(
    'insert into recovery_codes (member_id, code_hash, created_at) select $1, hash, $3 from unnest($2::bytea[]) as hash',
    [memberId, codes.map((code) => hashOf(memberId, code)), at],
  );
  return codes;
}

/** New codes on request. The old ones stop working. */
export function renewRecoveryCodes(ctx: Context, who: SignedInMember): Promise<string[]> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    await requireLiveSession(tx, who);
    const codes = await issueRecoveryCodes(tx, who.memberId, at);
    const { holderId, actor } = who;
    await recordAudit(tx, { holderId, actor, action: 'member.recovery_codes_created' }, at);
    await recordNotice(tx, ctx, who.memberId, { kind: 'recovery_codes_created' }, who.from, at);
    return codes;
  });
}

/** Uses a code. Of two requests with one code, the update lets the first pass. */
export async function useRecoveryCode(
  ctx: Context,
  memberId: bigint,
  code: string,
  from: RequestOrigin,
): Promise<boolean> {
  const guess = await requireGuess(ctx, { kind: 'recovery_code', person: String(memberId), address: from.address });
  const at = ctx.clock.now();
  const used = await ctx.db.transaction(async (tx) => {
    const [row] = await tx.query<{ email: string }>(
      `update recovery_codes r set used_at = $3 from members m
       where r.member_id = $1 and r.code_hash = $2 and r.used_at is null and m.id = r.member_id returning m.email`,
      [memberId, hashOf(memberId, code), at],
    );
    if (!row) return false;
    const left = await countRecoveryCodes(tx, memberId);
    const actor = { memberId, name: row.email };
    await recordAudit(tx, { holderId: null, actor, action: 'member.recovery_code_used', details: { left } }, at);
    await recordNotice(tx, ctx, memberId, { kind: 'recovery_code_used', detail: String(left) }, from, at);
    return true;
  });
  if (used) await guess.giveBack();
  return used;
}

/** How many codes still work. */
export async function countRecoveryCodes(reader: Reader, memberId: bigint): Promise<number> {
  const [row] = await reader.query<{ left: number }>(
    'select count(*)::integer as left from recovery_codes where member_id = $1 and used_at is null',
    [memberId],
  );
  return row?.left ?? 0;
}

export async function forgetRecoveryCodes(tx: Tx, memberId: bigint): Promise<void> {
  await tx.query('delete from recovery_codes where member_id = $1', [memberId]);
}

function createCode(): string {
  const characters = Array.from(randomBytes(CHARACTERS), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
  return characters.replace(/(.{4})(?=.)/g, '$1-');
}

/** As people copy it: with or without hyphens and spaces, in small letters, O for 0. */
function hashOf(memberId: bigint, code: string): Buffer {
  const plain = code
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
  return sha256(`${memberId} ${plain}`);
}
