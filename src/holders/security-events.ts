// What a security team wants to see and nobody did: guesses at the door. A stranger decides how many there are, so only some
// are written, each with the number of those before it that were not.

import { limitKey } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import { perProcess } from '../platform/memory.ts';
import { createRateLimiter } from '../platform/rate-limit.ts';
import { recordAudit } from './audit.ts';

const ROWS_AT_ONCE = 20;
const ROWS_PER_SECOND = 1 / 30;
const STRANGER = { memberId: null, name: 'stranger' };

const rejections = perProcess((ctx: Context) => ({
  limiter: createRateLimiter(ctx.clock, ROWS_PER_SECOND, ROWS_AT_ONCE),
  notRecorded: 0,
}));

/** Somebody gave a wrong password or code. The e-mail address is written only if it is that of a person here. */
export async function recordFailedSignIn(ctx: Context, attempt: { email: string; address: string }): Promise<void> {
  const state = rejections(ctx);
  if (!state.limiter.take('all').allowed) {
    state.notRecorded++;
    return;
  }
  const notRecorded = state.notRecorded;
  state.notRecorded = 0;
  await ctx.db.transaction(async (tx) => {
    const [member] = await tx.query<{ email: string }>('select email from members where email = $1', [
      attempt.email.toLowerCase(),
    ]);
    const details = { address: limitKey(attempt.address), not_recorded: notRecorded };
    const entry = {
      holderId: null,
      actor: STRANGER,
      action: 'member.sign_in_failed',
      subject: member?.email ?? '',
      details,
    } as const;
    await recordAudit(tx, entry, ctx.clock.now());
  });
}
