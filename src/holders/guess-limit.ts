// A guess of a code, counted before it is compared, or refused with 429.

import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { takeGuess } from './guesses.ts';

/** Throws when there were too many guesses. Call `giveBack` when the guess was right. */
export async function requireGuess(
  ctx: Context,
  guess: Parameters<typeof takeGuess>[1],
): Promise<{ giveBack(): Promise<void> }> {
  const taken = await takeGuess(ctx, guess);
  if (!taken.allowed) throw new Problem('rate_limited', { retryAfterSeconds: taken.retryAfterSeconds });
  return taken;
}
