// Health checks and metrics: /livez (and /healthz, its older name), /readyz, /metrics.

import { isAddressIn } from './addresses.ts';
import { isoMicroseconds } from './clock.ts';
import type { CommitState } from './commit-watch.ts';
import type { Context } from './context.ts';
import { MAX_CLOCK_SKEW_MS } from './database-time.ts';
import type { Reader } from './db.ts';
import { PROBLEMS, Problem } from './errors.ts';
import { addressOf, type HttpServer } from './http.ts';
import { pendingMigrations } from './migrate.ts';
import { MigrationError } from './migration-files.ts';
import { stopState } from './stop-state.ts';

/** /readyz is public, so the database is queried at most this often. */
const READINESS_MS = 500;

/** Rows that wait for a background job, by queue. Each count reads a bounded number of rows. */
export type Backlogs = Record<string, (reader: Reader) => Promise<number>>;

const CANNOT_COMMIT: Record<Exclude<CommitState, 'commits'>, string> = {
  standby: 'The database server is a standby and takes no changes.',
  stalled: 'The database does not finish commits. Check its synchronous standby and its disk.',
  away: 'The database does not answer.',
};

export type HealthOptions = {
  /** The metrics of all processes; left out, those of this one. */
  readMetrics?: () => Promise<string>;
  /** A sentence about what the gateway does not do although it is ready; null: it does everything. */
  findNotice?: ReadinessNotice;
};

type ReadinessNotice = (ctx: Context) => Promise<string | null>;

type Readiness = {
  errors: Record<string, string[]>;
  clockSkewMs: number | null;
  backlog: Record<string, number>;
  notice: string | null;
};

export function healthRoutes(
  app: HttpServer,
  ctx: Context,
  backlogs: Backlogs = {},
  { readMetrics = () => ctx.metrics.registry.metrics(), findNotice = () => Promise.resolve(null) }: HealthOptions = {},
): void {
  const options = { config: { unlimited: true } };

  for (const path of ['/livez', '/healthz']) app.get(path, options, async () => ({ success: true, message: 'Alive.' }));

  let last: { at: number; readiness: Promise<Readiness> } | null = null;
  app.get('/readyz', options, async (request, reply) => {
    const now = performance.now();
    if (!last || now - last.at > READINESS_MS) last = { at: now, readiness: checkReadiness(ctx, backlogs, findNotice) };
    const { errors: found, clockSkewMs, backlog, notice } = await last.readiness;
    const errors = stopState(ctx).isReady ? found : { ...found, process: ['The gateway is stopping.'] };
    const data = { time: isoMicroseconds(ctx.clock.now()), clock_skew_ms: clockSkewMs, backlog };
    if (Object.keys(errors).length === 0)
      return { success: true, message: notice === null ? 'Ready.' : `Ready. ${notice}`, data };
    const message = `${PROBLEMS.not_ready.message} ${Object.values(errors).flat().join(' ')}`;
    void reply.code(503).header('Retry-After', '1');
    return { success: false, message, code: 'not_ready', request_id: request.id, errors, data };
  });

  app.get('/metrics', options, async (request, reply) => {
    // This machine is no exception: behind a proxy that is not configured every caller seems to be this machine.
    const direct = ctx.config.trustedProxies.length > 0 || request.headers['x-forwarded-for'] === undefined;
    const allowed = direct && isAddressIn(ctx.config.metricsAllowedRanges, addressOf(request));
    if (ctx.config.mode === 'live' && !allowed) throw new Problem('not_found');
    await measureBacklogs(ctx, backlogs).catch(() => undefined);
    return reply.type(ctx.metrics.registry.contentType).send(await readMetrics());
  });
}

async function checkReadiness(ctx: Context, backlogs: Backlogs, findNotice: ReadinessNotice): Promise<Readiness> {
  const errors: Record<string, string[]> = {};
  try {
    const state = await ctx.db.commitState();
    if (state !== 'commits') errors.database = [CANNOT_COMMIT[state]];
    const pending = await pendingMigrations(ctx.db);
    if (pending.length > 0) errors.migrations = [`The database lacks ${pending.join(', ')}; run: npx simbi migrate.`];
    const clockSkewMs = await ctx.databaseTime.skewMs();
    ctx.metrics.clockSkew.set(clockSkewMs / 1000);
    if (Math.abs(clockSkewMs) > MAX_CLOCK_SKEW_MS)
      errors.clock = [
        `The clock of this machine is ${Math.abs(Math.round(clockSkewMs / 1000))} s ` +
          `${clockSkewMs > 0 ? 'ahead of' : 'behind'} the database's; set both by NTP.`,
      ];
    if (pending.length > 0) return { errors, clockSkewMs, backlog: {}, notice: null };
    return { errors, clockSkewMs, backlog: await measureBacklogs(ctx, backlogs), notice: await findNotice(ctx) };
  } catch (error) {
    // A schema that does not belong to this version has a message of its own; a broken connection has no useful one.
    const sentence = error instanceof MigrationError ? error.message : null;
    if (!sentence) ctx.log.warn({ err: error }, 'not ready');
    return {
      errors: { ...errors, database: [sentence ?? 'The database does not answer.'] },
      clockSkewMs: null,
      backlog: {},
      notice: null,
    };
  }
}

async function measureBacklogs(ctx: Context, backlogs: Backlogs): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [queue, count] of Object.entries(backlogs)) {
    counts[queue] = await count(ctx.db);
    ctx.metrics.backlog.set({ queue }, counts[queue] ?? 0);
  }
  return counts;
}
