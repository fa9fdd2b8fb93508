// How many calls of one kind a connection takes in a second. A call waits for its turn; it never fails because of this. Each
// process counts its own calls.

import { setTimeout as sleep } from 'node:timers/promises';

/** Much less than a lease: the work that waits stays with its process. */
const LONGEST_WAIT_MS = 5_000;

export interface CallLimits {
  /** Resolves to true when the call may be made; to false at once when its turn would come too late. */
  take(kind: string, perSecond: number | null): Promise<boolean>;
  /** Whether a call could be made now. */
  isFree(kind: string, perSecond: number | null): boolean;
}

/** `now` is real time, in milliseconds: operators do not live by the clock of a test. */
export function createCallLimits(now: () => number = () => performance.now()): CallLimits {
  const nextAt = new Map<string, number>();
  return {
    async take(kind, perSecond) {
      if (perSecond === null) return true;
      const at = Math.max(nextAt.get(kind) ?? 0, now());
      const waitMs = at - now();
      if (waitMs > LONGEST_WAIT_MS) return false;
      nextAt.set(kind, at + 1_000 / perSecond);
      if (waitMs > 0) await sleep(waitMs);
      return true;
    },
    isFree: (kind, perSecond) => perSecond === null || (nextAt.get(kind) ?? 0) <= now(),
  };
}
