// What a passkey is asked to sign: random, stored by its hash, for one browser and one purpose, five minutes, once.

import { randomBytes } from 'node:crypto';
import { limitKey } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { sha256 } from '../platform/secrets.ts';

const CHALLENGE_BYTES = 32;
export const CHALLENGE_MS = 5 * 60_000;
/** Anybody can open the sign-in page: one address must not fill the table. */
const MAX_OPEN_PER_ADDRESS = 50;

/** Signing in with nothing else, after a password, proving oneself again, adding a passkey. */
export type PasskeyPurpose = 'sign_in' | 'second_step' | 'confirm' | 'register';

/** Who is asked, and in which browser. `browser` is the token of its forms. Only `sign_in` asks an unknown person. */
export type PasskeyQuestion = {
  purpose: PasskeyPurpose;
  memberId: bigint | null;
  browser: string;
  address: string;
};

export async function createChallenge(ctx: Context, question: PasskeyQuestion): Promise<Buffer> {
  const challenge = randomBytes(CHALLENGE_BYTES);
  const now = ctx.clock.now();
  const stored = await ctx.db.query(
    `insert into passkey_challenges (challenge_hash, purpose, member_id, browser_hash, address, expires_at)
     select $1, $2, $3::bigint, $4, $5, $6
     where (select count(*) from passkey_challenges where address = $5 and expires_at > $7) < $8 returning 1`,
    [
      sha256(challenge.toString('base64url')),
      question.purpose,
      question.memberId,
      sha256(question.browser),
      limitKey(question.address),
      new Date(now.getTime() + CHALLENGE_MS),
      now,
      MAX_OPEN_PER_ADDRESS,
    ],
  );
  if (stored.length === 0) throw new Problem('rate_limited', { retryAfterSeconds: CHALLENGE_MS / 1_000 });
  return challenge;
}

/** Whether this was asked, there and for that, and was not answered before. It is gone afterwards, whatever the answer is. */
export async function takeChallenge(ctx: Context, challenge: string, question: PasskeyQuestion): Promise<boolean> {
  const [row] = await ctx.db.query<{ matches: boolean }>(
    `delete from passkey_challenges where challenge_hash = $1
     returning purpose = $2 and member_id is not distinct from $3::bigint and browser_hash = $4 and expires_at > $5 as matches`,
    [sha256(challenge), question.purpose, question.memberId, sha256(question.browser), ctx.clock.now()],
  );
  return row?.matches === true;
}
