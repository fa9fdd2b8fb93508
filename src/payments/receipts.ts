// Receipts of money that payers sent by themselves. An operator tells of it twice, in either order: that money came in, and
// that the transaction succeeded. A receipt is booked once: whoever comes second finds it here.

import { suspenseReturned, type Transfer } from '../ledger/postings.ts';
import type { Tx } from '../platform/db.ts';
import type { Transaction } from './transactions.ts';

/**
 * Books the receipts of collections that have just succeeded. Where the money is in suspense already, because it came
 * before we knew what for, answers by transaction what takes it out again; its case is closed.
 */
export async function claimReceipts(tx: Tx, settled: Transaction[], at: Date): Promise<Map<string, Transfer[]>> {
  const paid = settled.filter((row) => row.verification === 'instructions' && row.receipt !== null);
  if (paid.length === 0) return new Map();
  const rows = await tx.query<{ transaction_id: string; case_id: string | null }>(
    `insert into incoming_payments as known (rail, receipt, amount, currency, transaction_id, outcome, received_at)
     select rail, receipt, amount, currency, id, 'matched', $6
     from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[]) as p (id, rail, receipt, amount, currency)
     order by rail, receipt
     on conflict (rail, receipt) do update set transaction_id = excluded.transaction_id, outcome = 'matched'
       where known.outcome = 'suspense' and known.amount = excluded.amount and known.currency = excluded.currency
         and exists (select from cases c where c.id = known.case_id and c.status = 'open')
     returning transaction_id, case_id`,
    [
      paid.map((row) => row.id),
      paid.map((row) => row.rail),
      paid.map((row) => row.receipt),
      paid.map((row) => row.amount),
      paid.map((row) => row.currency),
      at,
    ],
  );
  const held = rows.flatMap(({ transaction_id, case_id }) =>
    case_id ? [{ id: transaction_id, caseId: case_id }] : [],
  );
  if (held.length > 0)
    await tx.query(
      `update cases set status = 'resolved', resolved_at = $2, resolved_by = 'operator', resolution = 'it belongs to a transaction that succeeded'
       where id = any($1)`,
      [held.map((entry) => entry.caseId), at],
    );
  const byId = new Map(paid.map((row) => [row.id, row]));
  return new Map(
    held.flatMap(({ id, caseId }) => {
      const row = byId.get(id);
      return row ? [[id, suspenseReturned({ ...row, transactionId: caseId })] as const] : [];
    }),
  );
}
