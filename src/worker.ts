// Every background job, one line each.

import { fetchDailyStatements } from './books/fetch-statement.ts';
import { makeMonthlyStatements } from './books/monthly-statements.ts';
import { mailLowFloats } from './console/float-mails.ts';
import { notifyMembers } from './console/notifications.ts';
import { applyRuleChanges } from './holders/approval-rules.ts';
import { purgeExpired } from './holders/housekeeping.ts';
import { sendMails } from './holders/mail-queue.ts';
import { applyRoleChanges } from './holders/role-changes.ts';
import { maintainSignatures } from './holders/signatures.ts';
import { purgeRefusals } from './platform/held-back.ts';
import { type Job, runLoop } from './platform/jobs.ts';
import { purgeSharedLimits } from './platform/shared-limits.ts';
import { listenForWork, listenUrl } from './platform/work-signal.ts';
import type { Services } from './services.ts';

const EVERY_MINUTE = { shortest: 60_000, longest: 60_000 };
const MAIL_IDLE_MS = { shortest: 1_000, longest: 5_000 };
const EVERY_TEN_MINUTES = { shortest: 600_000, longest: 600_000 };

export type Workers = { stop(): Promise<void> };

export function listJobs({ ctx, jobs }: Services): Job[] {
  return [
    ...jobs,
    { name: 'signature_partitions', pass: () => maintainSignatures(ctx), idleMs: EVERY_MINUTE },
    { name: 'approval_rules', pass: () => applyRuleChanges(ctx), idleMs: EVERY_MINUTE },
    { name: 'role_changes', pass: () => applyRoleChanges(ctx), idleMs: EVERY_MINUTE },
    { name: 'daily_statements', pass: () => fetchDailyStatements(ctx), idleMs: EVERY_MINUTE },
    { name: 'monthly_statements', pass: () => makeMonthlyStatements(ctx), idleMs: EVERY_TEN_MINUTES },
    { name: 'float_mails', pass: () => mailLowFloats(ctx), idleMs: EVERY_MINUTE },
    { name: 'notifications', pass: () => notifyMembers(ctx), idleMs: EVERY_MINUTE },
    { name: 'mails', pass: () => sendMails(ctx), idleMs: MAIL_IDLE_MS },
    { name: 'shared_limits', pass: () => purgeSharedLimits(ctx), idleMs: EVERY_MINUTE },
    { name: 'limit_refusals', pass: () => purgeRefusals(ctx), idleMs: EVERY_TEN_MINUTES },
    { name: 'purge_expired', pass: () => purgeExpired(ctx), idleMs: EVERY_TEN_MINUTES },
  ];
}

/** `sharedUrl` is the database in which other processes may leave work; null: there are none. */
export function startWorkers(services: Services, sharedUrl: string | null): Workers {
  const { ctx } = services;
  const running = listJobs(services).map((job) => {
    const loop = runLoop(ctx, job);
    job.onCapacity?.(() => loop.wake());
    return { name: job.name, loop };
  });
  const wake = (name: string | null) => {
    for (const job of running) if (name === null || job.name === name) job.loop.wake();
  };
  const url = listenUrl(ctx.config, sharedUrl);
  const listener = url === null ? null : listenForWork(url, ctx.log, wake);
  services.sandbox?.start();
  return {
    async stop() {
      await Promise.all([listener?.stop(), ...running.map(({ loop }) => loop.stop())]);
    },
  };
}
