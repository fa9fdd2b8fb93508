// The work that waits in this process, and how much of it runs at once. It is memory only: every item has a leased job in the
// table, so work that is dropped or fails is found again when its lease ends.

import type { Context } from '../platform/context.ts';
import { backgroundTurns } from '../platform/loop-turns.ts';
import type { ClaimedHint } from './operator-hints.ts';
import { type ClaimedJob, LEASE_MS } from './payment-jobs.ts';
import { refOf, type Transaction } from './transactions.ts';

const MAX_RUNNING = 256;
/** Work that waited longer is dropped: a call that starts now could outlast the lease, and another process would ask too. */
const MAX_QUEUED_MS = LEASE_MS / 2;

export type Work = ClaimedJob | { kind: 'hint'; transaction: Transaction; hint: ClaimedHint };
type QueuedWork = Work & { queuedAt: number };

interface WorkQueue {
  add(work: readonly Work[]): void;
  /** How much work waits to be started. */
  waiting(): number;
  /** Whether as much is running as may run at once. */
  isBusy(): boolean;
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
  /** Starts nothing more and returns the work that was not started. */
  close(): Work[];
}

export function createWorkQueue(
  ctx: Pick<Context, 'clock' | 'log' | 'memory'>,
  options: {
    /** `isStale` says whether the work has waited so long by now that another process may have its job. */
    perform: (work: Work, isStale: () => boolean) => Promise<void>;
    /** Called when work has left the queue and starts. */
    onStart: () => void;
    /** Called with work that waited so long that it is not started. */
    onDrop: (work: Work) => void;
  },
): WorkQueue {
  const turns = backgroundTurns(ctx);
  const queue: QueuedWork[] = [];
  let running = 0;
  let closed = false;
  let idleWaiters: (() => void)[] = [];

  const isStale = (work: QueuedWork) => ctx.clock.millis() - work.queuedAt > MAX_QUEUED_MS;

  function startWork(): void {
    while (!closed && running < MAX_RUNNING) {
      const work = queue.shift();
      if (!work) break;
      if (isStale(work)) {
        options.onDrop(work);
        continue;
      }
      running++;
      options.onStart();
      turns.add(() => void run(work));
    }
  }

  async function run(work: QueuedWork): Promise<void> {
    try {
      await options.perform(work, () => isStale(work));
    } catch (error) {
      ctx.log.warn({ err: error, kind: work.kind, ref: refOf(work.transaction) }, 'work on a transaction failed');
    } finally {
      running--;
      startWork();
      if (running === 0 && queue.length === 0) {
        for (const resolve of idleWaiters) resolve();
        idleWaiters = [];
      }
    }
  }

  return {
    add(work) {
      const queuedAt = ctx.clock.millis();
      queue.push(...work.map((each) => ({ ...each, queuedAt })));
      startWork();
    },
    waiting: () => queue.length,
    isBusy: () => running >= MAX_RUNNING,
    async idle() {
      if (running > 0 || queue.length > 0) await new Promise<void>((resolve) => idleWaiters.push(resolve));
    },
    close() {
      closed = true;
      return queue.splice(0).filter((work) => !isStale(work));
    },
  };
}
