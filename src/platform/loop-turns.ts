// Starts background work a little in each turn of the event loop. A batch that ends may make hundreds of calls due at once; started
// together they would hold up every request that arrives meanwhile. After each share of work the loop reads what has arrived.

import { perProcess } from './memory.ts';

/** How long background work may be started before requests have their turn. */
const SHARE_MS = 4;

export interface LoopTurns {
  /** Calls `start` in one of the next turns, in the order of the calls. It must not throw. */
  add(start: () => void): void;
}

export function createLoopTurns(shareMs: number = SHARE_MS, now: () => number = () => performance.now()): LoopTurns {
  /** What has started is undefined: under load the list may be long and not end for seconds, and must not hold what is over. */
  let waiting: ((() => void) | undefined)[] = [];
  let next = 0;
  let isScheduled = false;

  function takeTurn(): void {
    isScheduled = false;
    const end = now() + shareMs;
    do {
      const start = waiting[next];
      waiting[next++] = undefined;
      start?.();
    } while (next < waiting.length && now() < end);
    if (next < waiting.length) {
      schedule();
      return;
    }
    waiting = [];
    next = 0;
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(takeTurn);
  }

  return {
    add(start) {
      waiting.push(start);
      schedule();
    },
  };
}

/** The turns of one process: calls to operators and callbacks share them. */
export const backgroundTurns = perProcess(() => createLoopTurns());
