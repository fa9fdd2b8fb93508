// Token buckets, in the memory of each process and limited in number: the bucket that was idle longest is dropped first. Limits
// that hold over all processes are in shared-limits.ts.

import type { Clock } from './clock.ts';

const MAX_KEYS = 50_000;

export type RateLimitResult = { allowed: boolean; limit: number; remaining: number; resetSeconds: number };

export interface RateLimiter {
  /** Takes one token of `key`'s bucket, if there is one. `subject` is how admins are shown the key. */
  take(key: string, subject?: string): RateLimitResult;
}

/** `perSecond` tokens a second, at most `burst` at once. `perSecond` may be a fraction (ten a minute is 1/6). */
export function createRateLimiter(clock: Clock, perSecond: number, burst: number): RateLimiter {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return {
    take(key) {
      if (perSecond === 0) return { allowed: true, limit: 0, remaining: 0, resetSeconds: 0 };
      const now = clock.millis();
      const bucket = buckets.get(key);
      const elapsedSeconds = bucket ? Math.max(0, now - bucket.at) / 1000 : 0;
      const tokens = Math.min(burst, (bucket?.tokens ?? burst) + elapsedSeconds * perSecond);
      const allowed = tokens >= 1;
      const left = allowed ? tokens - 1 : tokens;
      // Deleting first moves the key to the end of the map's order.
      buckets.delete(key);
      buckets.set(key, { tokens: left, at: now });
      if (buckets.size > MAX_KEYS) buckets.delete(buckets.keys().next().value ?? key);
      const resetSeconds = Math.ceil((allowed ? burst - left : 1 - left) / perSecond);
      return { allowed, limit: burst, remaining: Math.floor(left), resetSeconds };
    },
  };
}

/** Counts events (failed sign-ins) per key in fixed windows; the caller decides what too many means. */
export function createFailureCounter(
  clock: Clock,
  windowSeconds: number,
): { add(key: string): void; count(key: string): number } {
  let window = 0;
  let counts = new Map<string, number>();
  function roll(): void {
    const current = Math.floor(clock.millis() / (windowSeconds * 1000));
    if (current === window) return;
    window = current;
    counts = new Map();
  }
  return {
    add(key) {
      roll();
      if (counts.size < MAX_KEYS || counts.has(key)) counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    count(key) {
      roll();
      return counts.get(key) ?? 0;
    },
  };
}
