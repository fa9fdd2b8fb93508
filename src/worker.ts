// Every background job, one line a job.

import { purgeExpired } from './holders/housekeeping.ts';
import { maintainSignatures } from './holders/signatures.ts';
import type { Context } from './platform/context.ts';
import { type Job, runLoop } from './platform/jobs.ts';

const EVERY_MINUTE = { shortest: 60_000, longest: 60_000 };
const EVERY_TEN_MINUTES = { shortest: 600_000, longest: 600_000 };

export type Workers = { stop(): Promise<void> };

function jobsOf(ctx: Context): Job[] {
  return [
    { name: 'signature_partitions', pass: () => maintainSignatures(ctx), idleMs: EVERY_MINUTE },
    { name: 'purge_expired', pass: () => purgeExpired(ctx), idleMs: EVERY_TEN_MINUTES },
  ];
}

export function startWorkers(ctx: Context): Workers {
  const running = jobsOf(ctx).map((job) => runLoop(ctx, job));
  return {
    async stop() {
      await Promise.all(running.map((job) => job.stop()));
    },
  };
}
