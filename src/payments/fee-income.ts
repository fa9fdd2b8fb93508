// What the payments of each method earned in fees, by the ledger: charged less given back.

import { FEES_POSTED } from '../ledger/reports.ts';
import type { Reader } from '../platform/db.ts';

export type FeeIncome = { connection: string; method: string; currency: string; payments: number; earned: bigint };

/** Fees posted from one moment, inclusive, to another, exclusive. */
export function feesByMethod(reader: Reader, { from, to }: { from: Date; to: Date }): Promise<FeeIncome[]> {
  return reader.query<FeeIncome>(
    `select t.rail as connection, t.method, p.currency, count(distinct t.id)::int as payments, sum(p.amount)::bigint as earned
     from ${FEES_POSTED} as p
     -- What a lost dispute gave back is posted under its case.
     left join disputes d on d.holder_id = p.holder_id and d.case_id = p.transaction_id
     join transactions t on t.holder_id = p.holder_id and t.id = coalesce(d.transaction_id, p.transaction_id)
     where p.posted_at >= $1 and p.posted_at < $2
     group by 1, 2, 3 order by 1, 2, 3`,
    [from, to],
  );
}
