// What is limited over all processes: wrong keys of an integration, and the requests of an integration and of a holder.

import { limitKey } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import { perProcess } from '../platform/memory.ts';
import { tooManyRequests } from '../platform/rate-limit-headers.ts';
import { sha256 } from '../platform/secrets.ts';
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

/** Guesses of an integration's secret_key. It is too long to be found by trying, so the count may be shared a second late. */
export const credentialGuesses = perProcess((ctx: Context): GuessLimit => {
  const perMinute = (failures: number) => createSharedLimiter(ctx, 'credentials', failures / WINDOW_SECONDS, failures);
  const subjects = perMinute(FAILURES_PER_SUBJECT);
  const addresses = perMinute(FAILURES_PER_ADDRESS);
  // Hashed, because a stranger may send a name of any length.
  const subjectKey = (from: string, subject: string) => `${from} ${sha256(subject).toString('base64url')}`;
  return {
    refuse(subject, address) {
      const from = limitKey(address);
      const full = [
        { limit: FAILURES_PER_SUBJECT, isFull: !subjects.hasRoom(subjectKey(from, subject)) },
        { limit: FAILURES_PER_ADDRESS, isFull: !addresses.hasRoom(from) },
      ].find(({ isFull }) => isFull);
      if (!full) return;
      const refused = { allowed: false, limit: full.limit, remaining: 0, resetSeconds: WINDOW_SECONDS };
      throw tooManyRequests(refused, 'credentials');
    },
    addFailure(subject, address) {
      const from = limitKey(address);
      subjects.take(subjectKey(from, subject), from);
      addresses.take(from);
    },
  };
});

/** Requests of each integration, in a burst of up to two seconds' worth. */
export const integrationRate = perProcess((ctx: Context) =>
  createSharedLimiter(ctx, 'integration', ctx.config.rateLimitPerSecond, ctx.config.rateLimitPerSecond * 2),
);

/** Requests of all integrations of a holder: another integration is not another limit. */
export const holderRate = perProcess((ctx: Context) => {
  const perSecond = ctx.config.holderRateLimitPerSecond ?? ctx.config.rateLimitPerSecond * HOLDER_SHARE;
  return createSharedLimiter(ctx, 'holder', perSecond, perSecond * 2);
});
