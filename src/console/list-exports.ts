// The CSV files of payouts, payment links, callbacks and the audit log: the rows of the list, all of them.

import type { FastifyReply } from 'fastify';
import { listDeliveries } from '../callbacks/resend.ts';
import { type AuditFilter, listAudit } from '../holders/audit.ts';
import { LINK_STATUSES, linkId, linkStatus, linkUrl } from '../links/links.ts';
import { listLinks } from '../links/listing.ts';
import { eachPayout, PAYOUT_GROUPS, readPayoutFileNames } from '../payments/payout-orders.ts';
import { refOf } from '../payments/transactions.ts';
import type { CsvRow } from '../platform/csv.ts';
import { formatAmount } from '../platform/money.ts';
import { auditSentence } from './audit-entries.ts';
import { readAuditFilter } from './audit-filter.ts';
import { type HolderRequest, queryOf } from './console-request.ts';
import { csvTime, sendCsv } from './csv-export.ts';
import { DELIVERY_STATES } from './delivery-details.ts';
import { type ConsoleRoute, EVERYONE, forRoles } from './route.ts';

const PAGE_ROWS = 500;
/** Callbacks come with their attempts, so a page of them is large. */
const CALLBACK_ROWS = 200;

export const listExportRoutes: ConsoleRoute[] = [
  forRoles(EVERYONE, 'GET', '/payouts.csv', exportPayouts),
  forRoles(EVERYONE, 'GET', '/links.csv', exportLinks),
  forRoles(EVERYONE, 'GET', '/callbacks.csv', exportCallbacks),
  forRoles(EVERYONE, 'GET', '/audit.csv', exportAuditLog),
];

async function exportPayouts(request: HolderRequest): Promise<FastifyReply> {
  const head =
    'ref,status,amount,fee,currency,method,mobile,payee,invoice_no,receipt,failure_code,file,created_by,approved_by,created_at';
  return sendCsv(request, 'payouts', head.split(','), payoutRows(request));
}

async function* payoutRows(request: HolderRequest): AsyncGenerator<CsvRow[]> {
  const { ctx, holder } = request;
  const group = PAYOUT_GROUPS.find((each) => each === queryOf(request, 'show'));
  for await (const page of eachPayout(ctx.db, holder.id, { pageRows: PAGE_ROWS, group })) {
    const files = await readPayoutFileNames(
      ctx.db,
      holder.id,
      page.map((row) => row.id),
    );
    yield page.map((row) => [
      refOf(row),
      row.status,
      formatAmount(row.amount),
      // A payout that failed cost nothing.
      formatAmount(row.status === 'failed' ? 0n : row.fee),
      row.currency,
      row.method,
      row.msisdn,
      row.payee,
      row.invoice_no,
      row.receipt,
      row.failure_code,
      files.get(row.id) ?? null,
      row.created_by,
      row.approved_by,
      csvTime(row.created_at),
    ]);
  }
}

async function exportLinks(request: HolderRequest): Promise<FastifyReply> {
  const head = 'id,item,business,amount,currency,status,reusable,payments,url,expires_at,created_at';
  return sendCsv(request, 'payment-links', head.split(','), linkRows(request));
}

async function* linkRows(request: HolderRequest): AsyncGenerator<CsvRow[]> {
  const { ctx, holder } = request;
  const now = ctx.clock.now();
  const status = LINK_STATUSES.find((each) => each === queryOf(request, 'status')) ?? null;
  let before: string | null = null;
  for (;;) {
    const links = await listLinks(ctx.db, holder.id, { before, status, limit: PAGE_ROWS, now });
    yield links.map((link) => [
      linkId(link),
      link.item_name,
      link.business_name,
      link.amount === null ? null : formatAmount(link.amount),
      link.currency,
      linkStatus(link, now),
      link.reusable ? 'yes' : 'no',
      link.payments_count,
      linkUrl(ctx.config, link),
      link.expires_at && csvTime(link.expires_at),
      csvTime(link.created_at),
    ]);
    const last = links.at(-1);
    if (!last || links.length < PAGE_ROWS) return;
    before = last.id;
  }
}

async function exportCallbacks(request: HolderRequest): Promise<FastifyReply> {
  const head = 'event_id,type,ref,status,url,attempts,last_answer,last_error,created_at';
  return sendCsv(request, 'callbacks', head.split(','), callbackRows(request));
}

async function* callbackRows(request: HolderRequest): AsyncGenerator<CsvRow[]> {
  const { ctx, holder } = request;
  const status = DELIVERY_STATES.find((each) => each === queryOf(request, 'status'));
  let before: string | undefined;
  for (;;) {
    const deliveries = await listDeliveries(ctx.db, holder.id, { status, before, limit: CALLBACK_ROWS });
    yield deliveries.map((each) => [
      each.eventId,
      each.type,
      each.transactionRef,
      each.status,
      each.url,
      each.attempts.length,
      each.attempts.at(-1)?.status ?? null,
      each.attempts.at(-1)?.error ?? null,
      csvTime(each.createdAt),
    ]);
    const last = deliveries.at(-1);
    if (!last || deliveries.length < CALLBACK_ROWS) return;
    before = last.eventId;
  }
}

async function exportAuditLog(request: HolderRequest): Promise<FastifyReply> {
  const head = ['at', 'user', 'action', 'subject', 'details', 'sentence'];
  // Read before the file begins: a filter that makes no sense is a page then, not half a file.
  return sendCsv(request, 'audit-log', head, auditRows(request, readAuditFilter(request)));
}

async function* auditRows(request: HolderRequest, all: AuditFilter): AsyncGenerator<CsvRow[]> {
  const { ctx, holder } = request;
  let filter = all;
  for (;;) {
    const rows = await listAudit(ctx.db, holder.id, PAGE_ROWS, filter);
    yield rows.map((row) => [
      csvTime(row.at),
      row.actor,
      row.action,
      row.subject,
      JSON.stringify(row.details),
      auditSentence(request, row),
    ]);
    const last = rows.at(-1);
    if (!last || rows.length < PAGE_ROWS) return;
    filter = { ...filter, before: last.id };
  }
}
