// Waiting for news of a phone. Changes made by this process wake those who wait at once; changes made by another process
// are found by looking from time to time. Every wait is bounded, and so is their number.

const LONGEST_WAIT_MS = 25_000;
const LOOK_EVERY_MS = 500;
const MAX_WAITING = 1_000;

export interface PhoneChanges {
  tell(msisdns: string[]): void;
  /** Resolves when `hasChanged` says so, when the time is over, or when the listener goes away. */
  wait(
    msisdn: string,
    waitMs: number,
    signal: AbortSignal | undefined,
    hasChanged: () => Promise<boolean>,
  ): Promise<void>;
  /** Ends every wait. */
  close(): void;
}

export function createPhoneChanges(): PhoneChanges {
  const waiting = new Map<string, Set<() => void>>();
  let count = 0;
  let closed = false;

  /** Until somebody tells news of this phone, or the time is over; `end` ends it early. */
  function pause(msisdn: string, ms: number, signal: AbortSignal | undefined): { over: Promise<void>; end(): void } {
    const set = waiting.get(msisdn) ?? new Set();
    waiting.set(msisdn, set);
    count++;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(end, ms);
    function end() {
      if (!set.delete(end)) return;
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (set.size === 0) waiting.delete(msisdn);
      count--;
      resolve();
    }
    set.add(end);
    signal?.addEventListener('abort', end, { once: true });
    return { over: promise, end };
  }

  return {
    tell(msisdns) {
      for (const msisdn of msisdns) for (const wake of Array.from(waiting.get(msisdn) ?? [])) wake();
    },
    async wait(msisdn, waitMs, signal, hasChanged) {
      // Real time on purpose: this is how long a connection is held open.
      const until = performance.now() + Math.min(Math.max(waitMs, 0), LONGEST_WAIT_MS);
      for (;;) {
        const left = until - performance.now();
        if (closed || signal?.aborted || left <= 0 || count >= MAX_WAITING) return;
        // Listening begins before looking: what happens in between is not missed.
        const listening = pause(msisdn, Math.min(left, LOOK_EVERY_MS), signal);
        try {
          if (await hasChanged()) return;
          await listening.over;
        } finally {
          listening.end();
        }
      }
    },
    close() {
      closed = true;
      for (const wake of Array.from(waiting.values()).flatMap((set) => Array.from(set))) wake();
    },
  };
}
