// Long polls ("Check now"): the response is held until the attempt changes. Limited in time, to one for each attempt, and
// in number, so that waiting payers leave room for paying ones.

const LONGEST_HOLD_MS = 20_000;
const LOOK_EVERY_MS = 400;

export interface LongPolls {
  /** Resolves on a change, after the time limit, or when the payer disconnects; at once when there is no room. */
  until(key: string, signal: AbortSignal, hasChanged: () => Promise<boolean>): Promise<void>;
  /** Ends every poll, because the server stops. */
  close(): void;
}

export function createLongPolls(maxHolds: number, longestMs = LONGEST_HOLD_MS): LongPolls {
  const held = new Set<string>();
  const closing = new AbortController();
  return {
    async until(key, signal, hasChanged) {
      if (held.has(key) || held.size >= maxHolds) return;
      held.add(key);
      try {
        // Real time on purpose: this is how long a connection is held open.
        const until = performance.now() + longestMs;
        while (!signal.aborted && !closing.signal.aborted && performance.now() < until) {
          if (await hasChanged()) return;
          await pause(LOOK_EVERY_MS, [signal, closing.signal]);
        }
      } finally {
        held.delete(key);
      }
    },
    close: () => closing.abort(),
  };
}

function pause(ms: number, signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(wake, ms);
    function wake() {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', wake);
      resolve();
    }
    for (const signal of signals) signal.addEventListener('abort', wake, { once: true });
  });
}
