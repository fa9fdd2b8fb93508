// Background work. A job does one pass over what is due and returns how many rows it handled; `runLoop` repeats it: at once
// while there is work, with a growing pause while there is none. Tests call the pass directly and never wait.

import type { Context } from './context.ts';

export type Job = {
  name: string;
  /** Does one pass and returns how many rows it handled. */
  pass(): Promise<number>;
  /** Receives the `wake` of the loop, to call when the job can do more before the pause is over. */
  onCapacity?(wake: () => void): void;
  /** Pause after an empty pass, growing to the longest. */
  idleMs?: { shortest: number; longest: number };
};

export interface RunningJob {
  /** Ends the pause now, because this process has just created work. */
  wake(): void;
  /** Finishes the pass under way and stops. */
  stop(): Promise<void>;
}

export function runLoop(ctx: Context, job: Job): RunningJob {
  const { shortest, longest } = job.idleMs ?? { shortest: 50, longest: 1_000 };
  let stopping = false;
  let pauseMs = shortest;
  let endPause = () => {};
  let woken = false;

  async function loop(): Promise<void> {
    while (!stopping) {
      woken = false;
      const handled = await job.pass().then(
        (count) => {
          ctx.metrics.jobRuns.inc({ job: job.name, result: 'ok' });
          return count;
        },
        (error: unknown) => {
          ctx.metrics.jobRuns.inc({ job: job.name, result: 'failed' });
          ctx.log.warn({ job: job.name, err: error }, 'a background pass failed; it is tried again');
          return -1;
        },
      );
      if (handled > 0) {
        pauseMs = shortest;
        continue;
      }
      if (woken || stopping) continue;
      pauseMs = handled < 0 ? longest : Math.min(pauseMs * 2, longest);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs);
        endPause = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  const done = loop();
  return {
    wake() {
      woken = true;
      pauseMs = shortest;
      endPause();
    },
    stop() {
      stopping = true;
      endPause();
      return done;
    },
  };
}
