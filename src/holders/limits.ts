// What is limited: guesses of a secret, per process, and the requests of an integration and of a holder, over all processes.

import { limitKey } from '../platform/addresses.ts';
import type { Clock } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { perProcess } from '../platform/memory.ts';
import { createFailureCounter } from '../platform/rate-limit.ts';
import { createSharedLimiter } from '../platform/shared-limits.ts';

const FAILURES_PER_SUBJECT = 10;
const FAILURES_PER_ADDRESS = 50;
const WINDOW_SECONDS = 60;
/** Without a setting, a holder has the limit of this many integrations. */
const HOLDER_SHARE = 5;

/** Slows guessing down. Failures count per caller's address, so a stranger cannot lock anybody out. */
type GuessLimit = {
  /** Throws when too many guesses failed from this address, for this subject or in all. */
  refuse(subject: string, address: string): void;
  addFailure(subject: string, address: string): void;
};

function createGuessLimit(clock: Clock): GuessLimit {
  const failures = createFailureCounter(clock, WINDOW_SECONDS);
  return {
    refuse(subject, address) {
      const from = limitKey(address);
      const tooMany =
        failures.count(`${from} ${subject}`) >= FAILURES_PER_SUBJECT || failures.count(from) >= FAILURES_PER_ADDRESS;
      if (tooMany) throw new Problem('rate_limited', { retryAfterSeconds: WINDOW_SECONDS });
    },
    addFailure(subject, address) {
      const from = limitKey(address);
      failures.add(`${from} ${subject}`);
      failures.add(from);
    },
  };
}

/** Guesses of an integration's secret_key. */
export const credentialGuesses = perProcess((ctx: Context) => createGuessLimit(ctx.clock));

/** Requests of each integration, in a burst of up to two seconds' worth. */
export const integrationRate = perProcess((ctx: Context) =>
  createSharedLimiter(ctx, 'integration', ctx.config.rateLimitPerSecond, ctx.config.rateLimitPerSecond * 2),
);

/** Requests of all integrations of a holder: another integration is not another limit. */
export const holderRate = perProcess((ctx: Context) => {
  const perSecond = ctx.config.holderRateLimitPerSecond ?? ctx.config.rateLimitPerSecond * HOLDER_SHARE;
  return createSharedLimiter(ctx, 'holder', perSecond, perSecond * 2);
});
