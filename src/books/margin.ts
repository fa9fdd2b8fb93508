// What a method earns: the fees that merchants paid for its payments, less what its operator charged us for them.

import { feesByMethod } from '../payments/fee-income.ts';
import type { Reader } from '../platform/db.ts';

export type Margin = {
  connection: string;
  /** Empty: fees that no payment explains. */
  method: string;
  currency: string;
  payments: number;
  earned: bigint;
  charged: bigint;
  margin: bigint;
};

type Charged = { connection: string; method: string; currency: string; charged: bigint };

/** By what was posted from one moment, inclusive, to another, exclusive. */
export async function listMargins(reader: Reader, span: { from: Date; to: Date }): Promise<Margin[]> {
  const earned = await feesByMethod(reader, span);
  const charged = await reader.query<Charged>(
    `select connection, method, currency, sum(amount)::bigint as charged from fee_bookings
     where posted_at >= $1 and posted_at < $2 group by 1, 2, 3`,
    [span.from, span.to],
  );
  const keyOf = (row: { connection: string; method: string; currency: string }) =>
    [row.connection, row.method, row.currency].join(' ');
  const margins = new Map<string, Margin>();
  for (const row of earned) margins.set(keyOf(row), { ...row, charged: 0n, margin: row.earned });
  for (const { charged: cost, ...row } of charged) {
    const known = margins.get(keyOf(row)) ?? { ...row, payments: 0, earned: 0n, charged: 0n, margin: 0n };
    margins.set(keyOf(row), { ...known, charged: cost, margin: known.earned - cost });
  }
  return [...margins.entries()].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, margin]) => margin);
}
