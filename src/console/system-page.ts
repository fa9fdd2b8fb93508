// The gateway itself, for its staff: version, mode, database, clock, what waits and how old it is, mail, and errors of this
// process since it was started.

import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import { countDueDeliveries, oldestDueDelivery } from '../callbacks/endpoints.ts';
import { countMails, mailIsConfigured, oldestMail } from '../holders/mail-queue.ts';
import { listShipped } from '../ledger/head-keeper.ts';
import { findLostHead } from '../ledger/lost-history.ts';
import { countDuePayments, oldestDuePayment } from '../payments/payment-jobs.ts';
import { MAX_CLOCK_SKEW_MS } from '../platform/database-time.ts';
import { type Html, html } from '../platform/html.ts';
import { findLastRestore } from '../platform/restores.ts';
import { dataTable, emptyState, facts, status, type Tone } from '../ui/components.ts';
import { timeTag } from './components.ts';
import type { MemberRequest } from './console-request.ts';
import { renderPage } from './layout.ts';
import { type ConsoleRoute, forAdmin } from './route.ts';

const PACKAGE = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
const LIVE_SECONDS = 10;
/** Work that is due waits seconds; when it waits minutes, something is wrong. */
const LATE_MS = 120_000;
const ERRORS_SHOWN = 10;

export const systemRoutes: ConsoleRoute[] = [forAdmin('GET', '/admin/system', systemPage)];

async function systemPage(request: MemberRequest): Promise<FastifyReply> {
  const { ctx, t } = request;
  const [skewMs, restoredAt, lost, heads, size, queues] = await Promise.all([
    ctx.databaseTime.skewMs(),
    findLastRestore(ctx),
    findLostHead(ctx),
    headState(request),
    readDatabase(request),
    queueTable(request),
  ]);
  const isRight = Math.abs(skewMs) <= MAX_CLOCK_SKEW_MS;
  return renderPage(request, {
    title: t.menu.system,
    lead: t.system.lead,
    active: 'system',
    live: LIVE_SECONDS,
    body: html`
      <div class="card">
        ${facts([
          [t.system.version, PACKAGE.version],
          [t.system.mode, t.system.modes[ctx.config.mode]],
          ['Node', process.version],
          ['PostgreSQL', size.version],
          [t.system.databaseSize, megabytes(size.bytes)],
          [t.system.clock, status(isRight ? 'success' : 'error', t.system.skew(Math.round(skewMs)))],
          [t.system.mail, mailState(request)],
          [t.system.restored, restoredAt ? timeTag(request, restoredAt) : t.never],
          [t.system.history, lost ? status('error', t.system.historyLost) : status('success', t.system.historyWhole)],
          [t.system.heads, heads],
        ])}
      </div>
      <section><h2>${t.system.queues}</h2>${queues}</section>
      <section><h2>${t.system.errors}</h2>${errorTable(request)}</section>
    `,
  });
}

async function readDatabase({ ctx }: MemberRequest): Promise<{ bytes: bigint; version: string }> {
  const [row] = await ctx.db.query<{ bytes: bigint; version: string }>(
    `select pg_database_size(current_database()) as bytes, current_setting('server_version') as version`,
  );
  return row ?? { bytes: 0n, version: '' };
}

function megabytes(bytes: bigint): string {
  const millions = Number(bytes / 100_000n) / 10;
  return millions < 1_000 ? `${millions.toFixed(1)} MB` : `${(millions / 1_000).toFixed(1)} GB`;
}

function mailState(request: MemberRequest): Html {
  const { ctx, t } = request;
  return mailIsConfigured(ctx) ? status('success', t.system.mailOn) : status('warning', t.system.mailOff);
}

/** Where the newest head of the ledger went, and what failed. */
async function headState(request: MemberRequest): Promise<Html> {
  const { ctx, t } = request;
  const places = await listShipped(ctx.db);
  if (places.length === 0) return status('neutral', t.system.headsKept);
  return html`${places.map(
    ({ place, shipped_at, error }) => html`
      <div>
        ${status(error === null ? 'success' : 'error', error === null ? t.system.headsSent : t.system.headsNotSent)}
        ${place} ${shipped_at && timeTag(request, shipped_at)}
      </div>
    `,
  )}`;
}

/** What is due and not done: how much, and since when the oldest waits. */
async function queueTable(request: MemberRequest): Promise<Html> {
  const { ctx, t, services } = request;
  const now = ctx.clock.now();
  const [payments, payment, callbacks, callback, mails, mail] = await Promise.all([
    countDuePayments(ctx.db, now),
    oldestDuePayment(ctx.db, now),
    countDueDeliveries(ctx.db, now),
    oldestDueDelivery(ctx.db, now),
    countMails(ctx.db),
    oldestMail(ctx.db),
  ]);
  const row = (name: string, count: number, oldest: Date | null) => {
    const isLate = oldest !== null && now.getTime() - oldest.getTime() > LATE_MS;
    const tone: Tone = isLate ? 'error' : 'success';
    return [name, count, oldest ? timeTag(request, oldest) : '–', status(tone, isLate ? t.system.late : t.system.fine)];
  };
  return dataTable(
    t.system.queues,
    [
      { label: t.system.queue, phone: 'main' },
      { label: t.system.waiting, right: true, phone: 'amount' },
      { label: t.system.oldest },
      { label: t.state, phone: 'status' },
    ],
    [
      row(t.system.payments, payments, payment),
      row(t.menu.callbacks, callbacks, callback),
      row(t.system.mails, mails, mail),
      [t.system.droppedLog, services.requestLog.dropped(), '–', status('neutral', t.system.sinceStart)],
    ],
  );
}

/** Requests that ended with an error of ours, by route. */
function errorTable({ ctx, t }: MemberRequest): Html {
  const failed = ctx.metrics.requests
    .counts()
    .filter(({ status }) => status >= 500)
    .toSorted((left, right) => right.count - left.count)
    .slice(0, ERRORS_SHOWN);
  if (failed.length === 0) return emptyState(t.system.noErrors, t.system.noErrorsText, false, 'check');
  return dataTable(
    t.system.errors,
    [
      { label: t.requests.request, phone: 'main' },
      { label: t.requests.result, phone: 'status' },
      { label: t.system.count, right: true, phone: 'amount' },
    ],
    failed.map(({ route, status, count }) => [html`<code>${route}</code>`, String(status), count]),
  );
}
