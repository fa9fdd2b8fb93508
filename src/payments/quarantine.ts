// Quarantine: reports of operators that cannot be applied, because a value cannot be read or the database refuses it. Each is
// kept as it arrived and opens a case; the transaction that it is about stays as it is, and goes on being asked about.

import { createHash } from 'node:crypto';
import { isDataError, type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createHolderUuid, NO_HOLDER } from '../platform/ids.ts';
import { MAX_RAW_CHARACTERS } from '../rails/rail.ts';
import { openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { recordEvidence } from './evidence.ts';
import { visibleText } from './observations.ts';
import type { EvidenceSource } from './states.ts';
import { readTransactions, type Transaction } from './transactions.ts';

const MAX_REFERENCE = 160;
const MAX_ERROR = 500;
const MAX_COUNTED = 10_000;
/** Different reports about one reference that are kept; more are only counted. */
const KEPT_PER_REFERENCE = 20;

export type BadReport = {
  rail: string;
  source: EvidenceSource;
  /** Our reference, or the account reference of an incoming payment. */
  reference: string;
  /** Null where the reference is none of ours. */
  transactionId: string | null;
  /** What is wrong with it. */
  error: string;
  raw: string;
};

/** Sets reports aside. The same report again is counted, and opens no second case. */
export async function quarantine(tx: Tx, ctx: PaymentsContext, reports: BadReport[]): Promise<void> {
  if (reports.length === 0) return;
  const ids = reports.flatMap(({ transactionId }) => (transactionId === null ? [] : [transactionId]));
  const rows = await readTransactions(tx, [...new Set(ids)]);
  const known = new Map(rows.map((row) => [row.id, row]));
  for (const report of reports.toSorted(byReference)) {
    const transaction = known.get(report.transactionId ?? '') ?? null;
    // A rail can only speak of its own transactions.
    await setAside(tx, ctx, report, transaction?.rail === report.rail ? transaction : null);
    ctx.metrics.reportsQuarantined.inc({ rail: report.rail });
  }
}

async function setAside(
  tx: Tx,
  ctx: PaymentsContext,
  report: BadReport,
  transaction: Transaction | null,
): Promise<void> {
  const at = ctx.clock.now();
  const reference = visibleText(report.reference.slice(0, MAX_REFERENCE));
  const error = visibleText(report.error.slice(0, MAX_ERROR));
  const raw = visibleText(report.raw.slice(0, MAX_RAW_CHARACTERS));
  const holderId = transaction?.holder_id ?? NO_HOLDER;
  await lockReference(tx, report.rail, reference);
  const openCase = await openCaseOf(tx, report.rail, reference);
  const caseId = openCase ?? createHolderUuid(at.getTime(), holderId);
  if (openCase === null) {
    const detail = { reference, rail: report.rail, source: report.source, error };
    const transactionId = transaction?.id ?? null;
    await openCases(tx, ctx, [{ id: caseId, holderId, transactionId, kind: 'unreadable_report', detail }]);
  }
  await keepReport(tx, { ...report, reference, error, raw }, holderId, caseId, at);
  // An answer to our own question has its evidence where it is applied as unknown.
  if (transaction && report.source === 'callback')
    await recordEvidence(
      tx,
      [
        {
          transactionId: transaction.id,
          source: report.source,
          observation: { state: 'unknown', reason: error },
          raw,
          effect: 'case',
        },
      ],
      at,
    );
}

async function keepReport(tx: Tx, report: BadReport, holderId: bigint, caseId: string, at: Date): Promise<void> {
  const { rail, source, reference, error, raw } = report;
  const same = `rail = $1 and reference = $2 and source = $3 and md5(error) = md5($4) and md5(raw) = md5($5)`;
  const newest = `id = (select id from quarantined_reports where rail = $1 and reference = $2 order by received_at desc, id desc limit 1)
    and $3::text is not null and $4::text is not null and $5::text is not null
    and (select count(*) from quarantined_reports where rail = $1 and reference = $2) >= ${KEPT_PER_REFERENCE}`;
  for (const which of [same, newest]) {
    const counted = await tx.query(
      `update quarantined_reports set times = times + 1, last_received_at = $6, case_id = $7 where ${which} returning 1`,
      [rail, reference, source, error, raw, at, caseId],
    );
    if (counted.length > 0) return;
  }
  await tx.query(
    `insert into quarantined_reports (holder_id, id, rail, source, reference, error, raw, received_at, last_received_at, case_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)`,
    [holderId, createHolderUuid(at.getTime(), holderId), rail, source, reference, error, raw, at, caseId],
  );
}

async function openCaseOf(tx: Tx, rail: string, reference: string): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(
    `select c.id from quarantined_reports q join cases c on c.holder_id = q.holder_id and c.id = q.case_id
     where q.rail = $1 and q.reference = $2 and c.status = 'open' limit 1`,
    [rail, reference],
  );
  return row?.id ?? null;
}

/** In the order of locks; reports about one reference stay in the order in which they came. */
export function byReference(left: { reference: string }, right: { reference: string }): number {
  if (left.reference === right.reference) return 0;
  return left.reference < right.reference ? -1 : 1;
}

/** Reports about one reference wait for each other, in every process: so that each opens its case once. */
export async function lockReference(tx: Tx, rail: string, reference: string): Promise<void> {
  const key = createHash('sha256').update(`report ${rail} ${reference}`).digest().readBigInt64BE();
  await tx.query('select pg_advisory_xact_lock($1)', [key]);
}

/**
 * Whether trying again may succeed: the database is away, a lock was not given, two transactions met, or this process' clock
 * differs from another's. Everything else fails the same way each time.
 */
export function mayPass(error: unknown): boolean {
  if (error instanceof Problem) return error.status >= 500;
  if (violatedConstraint(error) === 'transfer_fits_accounts') return true;
  // The database's own errors have a severity; an error of this code fails again.
  return !isDataError(error) && error instanceof Error && 'severity' in error;
}

/** Whether it concerns every message: the database is away, or this process may not post. Others may still be applied after a lock. */
export function concernsAll(error: unknown): boolean {
  return error instanceof Problem && error.status >= 500 && error.code !== 'overloaded';
}

/** Quarantined reports whose case is open, counted up to a limit. */
export async function countQuarantined(reader: Reader): Promise<number> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(*) from (select from cases where status = 'open' and kind = 'unreadable_report' limit ${MAX_COUNTED}) as open`,
  );
  return Number(row?.count ?? 0n);
}
