// Payments of a month, for an archive: transactions and their evidence, by the month in which a transaction was created. And the
// removal of evidence that an archive has.

import { EVERY_HOLDER } from '../holders/holders.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { timeOfUuid } from '../platform/ids.ts';
import { type ArchivedRows, idInMonth, type Month, monthOf } from '../platform/months.ts';

/** Each holder has its own range of the key. */
export const TRANSACTION_ROWS: ArchivedRows = {
  name: 'transactions',
  query: (month) => `
    select t.* from ${EVERY_HOLDER} as holder join transactions t on t.holder_id = holder.id and ${idInMonth('t.id', month)}
    order by t.holder_id, t.id`,
};

/** The columns by name: what was archived is compared with the database years later. */
const EVIDENCE_COLUMNS = 'holder_id, transaction_id, id, at, source, state, receipt, failure_code, effect, raw';

export const EVIDENCE_ROWS: ArchivedRows = {
  name: 'evidence',
  query: (month) => evidenceUpTo(month, null),
};

/** The evidence of a month, up to an id: what came later was not archived with it. */
export function evidenceUpTo(month: Month, lastId: bigint | null): string {
  return `
    select ${EVIDENCE_COLUMNS} from evidence
    where ${idInMonth('transaction_id', month)} ${lastId === null ? '' : `and id <= ${lastId}`}
    order by holder_id, transaction_id, id`;
}

/** The id of the newest evidence of a month; 0: it has none. */
export async function newestEvidence(reader: Reader, month: Month): Promise<bigint> {
  const [row] = await reader.query<{ id: bigint }>(
    `select coalesce(max(id), 0)::bigint as id from evidence where ${idInMonth('transaction_id', month)}`,
  );
  return row?.id ?? 0n;
}

/** When the oldest transaction was created; null: there is none. */
export async function oldestTransaction(reader: Reader): Promise<Date | null> {
  const rows = await reader.query<{ id: string }>(
    `select first.id from ${EVERY_HOLDER} as holder
     cross join lateral (select t.id from transactions t where t.holder_id = holder.id order by t.id limit 1) as first
     order by first.id limit 1`,
  );
  return rows[0] ? new Date(timeOfUuid(rows[0].id)) : null;
}

/** Evidence is kept this long after the end of its month; the database refuses to remove younger evidence. */
const REMOVABLE_AFTER_MS = 180 * DAY_MS;

export type ArchivedMonth = { archived_at: Date; rows_removed: bigint; rows_kept: bigint };
const ARCHIVED_MONTH = 'archived_at, rows_removed, rows_kept';

/** The month of a moment, if evidence of it was removed from the database. */
export async function findArchivedMonth(reader: Reader, moment: Date): Promise<ArchivedMonth | null> {
  const [row] = await reader.query<ArchivedMonth>(
    `select ${ARCHIVED_MONTH} from archived_months where month = $1::date`,
    [`${monthOf(moment).name}-01`],
  );
  return row ?? null;
}

/** Whether reports about a payment are not in `evidence`, which has all that the database has, because they were archived. */
export async function isEvidenceArchived(
  reader: Reader,
  transactionId: string,
  evidence: readonly { at: Date }[],
  now: Date,
): Promise<boolean> {
  const moment = new Date(timeOfUuid(transactionId));
  if (now.getTime() - moment.getTime() < REMOVABLE_AFTER_MS) return false;
  const month = await findArchivedMonth(reader, moment);
  return month !== null && !evidence.some(({ at }) => at < month.archived_at);
}

/**
 * Removes the evidence that an archive has: only of payments that have ended for good, and of a month that ended 180 days
 * ago. `tx` must have the rights of the owner of the tables; the service may not do this.
 */
export async function removeArchivedEvidence(
  tx: Tx,
  month: Month,
  archive: { rows: number; lastId: bigint; writtenAt: Date; manifestSha256: string },
): Promise<ArchivedMonth> {
  const [row] = await tx.query<ArchivedMonth>(
    `select ${ARCHIVED_MONTH} from remove_archived_evidence($1, $2, $3, $4, $5)`,
    [month.from, archive.rows, archive.lastId, archive.writtenAt, archive.manifestSha256],
  );
  if (!row) throw new Error('the removal returned no row');
  return row;
}
