// Waiting for the next change of a phone. A change made by this process ends the wait at once; one made by another
// process is found by polling. The length and the number of waits are limited.

const MAX_WAIT_MS = 25_000;
const POLL_INTERVAL_MS = 500;
const MAX_WAITING = 1_000;

export interface PhoneChanges {
  /** Ends the waits for these phones that find their `hasChanged` true. */
  notify(msisdns: string[]): void;
  /** Resolves when `hasChanged` returns true, after `waitMs`, or when `signal` aborts. */
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

  /** Resolves at the next `notify` for this phone, or after `ms`; `end` ends it early. */
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
    notify(msisdns) {
      for (const msisdn of msisdns) for (const wake of Array.from(waiting.get(msisdn) ?? [])) wake();
    },
    async wait(msisdn, waitMs, signal, hasChanged) {
      // Real time on purpose: this is how long a connection is held open.
      const until = performance.now() + Math.min(Math.max(waitMs, 0), MAX_WAIT_MS);
      for (;;) {
        const left = until - performance.now();
        if (closed || signal?.aborted || left <= 0 || count >= MAX_WAITING) return;
        // Subscribes before it checks, so that a change in between is not missed.
        const listening = pause(msisdn, Math.min(left, POLL_INTERVAL_MS), signal);
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
