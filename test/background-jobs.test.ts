// Every background job once with the rights of the service, on the database's own time: none is refused, in whatever time zone
// the database speaks.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ROOT } from '../scripts/tree.ts';
import { createDatabaseTime } from '../src/platform/database-time.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { createServices, type Services } from '../src/services.ts';
import { listJobs } from '../src/worker.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

describe('background jobs', () => {
  let gateway: TestGateway;
  let db: Database;
  let services: Services;

  before(async () => {
    gateway = await createTestGateway();
    const { ctx } = gateway;
    // A zone where ninety days are an hour more or less than ninety times a day, half of the year on each side.
    await ctx.ownerDb.query(
      `do $$ begin execute format('alter database %I set timezone = %L', current_database(), 'Europe/Paris'); end $$`,
    );
    db = connectDatabase({ url: ctx.databaseUrl });
    const clock = { now: () => new Date(), millis: () => Date.now() };
    services = await createServices({
      ...ctx,
      db,
      clock,
      databaseTime: createDatabaseTime(db, clock),
      memory: new Map(),
    });
  });
  after(async () => {
    await services.stop();
    await db.close();
    await gateway.close();
  });

  test('review: each job passes with the rights of the service', async () => {
    const jobs = listJobs(services);
    assert.ok(jobs.length >= 15, `${jobs.length} jobs`);
    for (const job of jobs) await assert.doesNotReject(job.pass(), job.name);
  });

  test('the alert for jobs that fail sees the one that runs most seldom, and names it', () => {
    const rule =
      /- alert: SimbiJobFails\n([\s\S]*?)- alert:/.exec(readFileSync(join(ROOT, 'ops/alerts.yml'), 'utf8'))?.[1] ?? '';
    const hours = Math.max(...[...rule.matchAll(/\[(\d+)h\]/g)].map((match) => Number(match[1])));
    const longest = Math.max(...listJobs(services).map(({ idleMs }) => idleMs?.longest ?? 0));
    assert.ok(hours * 3_600_000 >= 3 * longest, `${hours} h for a job that runs every ${longest} ms`);
    // Prometheus gives every series the label job of its scrape, and calls ours exported_job.
    const dashboard = readFileSync(join(ROOT, 'ops/grafana-dashboard.json'), 'utf8');
    assert.doesNotMatch(rule + dashboard, /\$labels\.job|\{\{job\}\}|by \([^)]*\bjob\b/);
  });

  test('review: old rows of a default partition are deleted in every season of every time zone', async () => {
    for (const zone of ['Europe/Paris', 'America/New_York', 'Australia/Sydney', 'UTC'])
      await db.transaction(async (tx) => {
        await tx.query(`select set_config('timezone', $1, true)`, [zone]);
        for (const table of ['events', 'callback_attempts'])
          await tx.query(`select trim_default_partition($1, clock_timestamp() - interval '2160 hours')`, [table]);
      });
  });
});
