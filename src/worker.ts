// Every background job, one line a job.

import type { Gateway } from './gateway.ts';
import { purgeExpired } from './holders/housekeeping.ts';
import { maintainSignatures } from './holders/signatures.ts';
import { type Job, runLoop } from './platform/jobs.ts';

const EVERY_MINUTE = { shortest: 60_000, longest: 60_000 };
const EVERY_TEN_MINUTES = { shortest: 600_000, longest: 600_000 };

export type Workers = { stop(): Promise<void> };

function jobsOf({ ctx, jobs }: Gateway): Job[] {
  return [
    ...jobs,
    { name: 'signature_partitions', pass: () => maintainSignatures(ctx), idleMs: EVERY_MINUTE },
    { name: 'purge_expired', pass: () => purgeExpired(ctx), idleMs: EVERY_TEN_MINUTES },
  ];
}

export function startWorkers(gateway: Gateway): Workers {
  const { ctx } = gateway;
  const running = jobsOf(gateway).map((job) => {
    const loop = runLoop(ctx, job);
    job.onHungry?.(() => loop.wake());
    return loop;
  });
  gateway.operator?.start();
  return {
    async stop() {
      await Promise.all(running.map((job) => job.stop()));
    },
  };
}
