// Background work. A job does one pass over what is due and returns how many rows it handled; `runLoop` repeats it: at once
// while there is work, with a growing pause while there is none. No pass begins while the clock of this process is wrong: it
// would take what is not due, and give work up too early. Tests call the pass directly and never wait.

import type { Context } from './context.ts';
import { MAX_CLOCK_SKEW_MS } from './database-time.ts';
import { perProcess } from './memory.ts';

/** How soon a loop looks at the clocks again after it skipped a pass. */
const SKEWED_PAUSE_MS = 5_000;
const SKEW_LOGGED_EVERY_MS = 60_000;
/** A pause is shorter by up to this share, at random: jobs that began together, here and in other processes, come apart. */
const SHORTER_BY = 0.25;

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

type PassResult = { kind: 'handled'; rows: number } | { kind: 'failed' } | { kind: 'skipped' };

export function runLoop(ctx: Context, job: Job): RunningJob {
  const { shortest, longest } = job.idleMs ?? { shortest: 50, longest: 1_000 };
  let stopping = false;
  let pauseMs = shortest;
  let endPause = () => {};
  let woken = false;

  async function loop(): Promise<void> {
    while (!stopping) {
      woken = false;
      const result = await runPass(ctx, job);
      if (result.kind === 'handled' && result.rows > 0) {
        pauseMs = shortest;
        continue;
      }
      if (stopping || (woken && result.kind !== 'skipped')) continue;
      if (result.kind === 'handled') pauseMs = Math.min(pauseMs * 2, longest);
      else pauseMs = result.kind === 'failed' ? longest : Math.min(SKEWED_PAUSE_MS, longest);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs * (1 - SHORTER_BY * Math.random()));
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

export interface Waker {
  /** Starts a pass in the background: for work that was just committed. Never throws; the loop finds what it missed. */
  wake(): void;
  /** Resolves when no pass is running. */
  idle(): Promise<void>;
}

/** Passes one at a time: a call during a pass starts one more after it, however many calls there are. */
export function createWaker(ctx: Context, job: Pick<Job, 'name' | 'pass'>): Waker {
  let again = false;
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    do {
      again = false;
      await runPass(ctx, job);
    } while (again);
    running = null;
  }

  return {
    wake() {
      again = true;
      running ??= run();
    },
    idle: async () => {
      await running;
    },
  };
}

/** One pass, counted. It never rejects: a failure is logged, and what it left is found by the next pass. */
async function runPass(ctx: Context, { name, pass }: Pick<Job, 'name' | 'pass'>): Promise<PassResult> {
  try {
    if (!(await isClockRight(ctx))) {
      ctx.metrics.jobRuns.inc({ job: name, result: 'skipped' });
      return { kind: 'skipped' };
    }
    const rows = await pass();
    ctx.metrics.jobRuns.inc({ job: name, result: 'ok' });
    return { kind: 'handled', rows };
  } catch (error) {
    ctx.metrics.jobRuns.inc({ job: name, result: 'failed' });
    ctx.log.warn({ job: name, err: error }, 'a background pass failed; it is tried again');
    return { kind: 'failed' };
  }
}

/**
 * Does `work` with each of them. One that fails does not keep the others from it: without this, one bad row at the front would stop
 * the job for everybody. The first failure is thrown when all were tried.
 */
export async function tryEach<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** `performance.now()` of the last log line; the clock itself cannot be trusted here. */
const lastLogged = perProcess(() => ({ at: Number.NEGATIVE_INFINITY }));

async function isClockRight(ctx: Context): Promise<boolean> {
  const skewMs = await ctx.databaseTime.skewMs();
  ctx.metrics.clockSkew.set(skewMs / 1000);
  if (Math.abs(skewMs) <= MAX_CLOCK_SKEW_MS) return true;
  const logged = lastLogged(ctx);
  if (performance.now() - logged.at >= SKEW_LOGGED_EVERY_MS) {
    logged.at = performance.now();
    ctx.log.error({ clock_skew_ms: skewMs }, 'background work pauses: the clock differs from that of the database');
  }
  return false;
}
