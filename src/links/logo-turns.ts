// Logos are decoded one at a time, because decoding shares the machine with payments. Holders take turns, so that one with
// many pictures, or with pictures that take long, delays the others by one picture at most.

import { Problem } from '../platform/errors.ts';

/** Pictures that may wait; each needs a few megabytes. */
const MAX_WAITING = 32;
const MAX_WAITING_PER_HOLDER = 4;

export interface Turns {
  /** Does the work when it is the holder's turn. When too many wait, more are refused. */
  take<T>(holderId: bigint, work: () => Promise<T>): Promise<T>;
}

export function createTurns(): Turns {
  /** The holder whose turn is next comes first. The picture that is being decoded counts as waiting. */
  const waiting = new Map<bigint, (() => Promise<void>)[]>();
  let total = 0;
  let running = false;

  async function run(): Promise<void> {
    running = true;
    for (;;) {
      const [next] = waiting;
      if (!next) break;
      const [holderId, queue] = next;
      await queue[0]?.();
      queue.shift();
      total--;
      // The holder goes to the end of the line.
      waiting.delete(holderId);
      if (queue.length > 0) waiting.set(holderId, queue);
    }
    running = false;
  }

  return {
    take(holderId, work) {
      const queue = waiting.get(holderId) ?? [];
      if (total >= MAX_WAITING || queue.length >= MAX_WAITING_PER_HOLDER)
        return Promise.reject(new Problem('overloaded', { retryAfterSeconds: 1 }));
      return new Promise((resolve, reject) => {
        queue.push(() => work().then(resolve, reject));
        waiting.set(holderId, queue);
        total++;
        if (!running) void run();
      });
    },
  };
}
