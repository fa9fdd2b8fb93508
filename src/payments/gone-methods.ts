// Open transactions whose rail or method is no longer in the configuration. The operator cannot be asked about them, so
// their outcome stays unknown: a case is opened after a day, and until then the administrators must know.

import type { PaymentsContext } from './context.ts';

export type GoneMethod = { rail: string; method: string; transactions: number };

/** Rails and methods of open transactions that this gateway does not have any more. */
export async function listGoneMethods(ctx: Pick<PaymentsContext, 'db' | 'rails' | 'catalog'>): Promise<GoneMethod[]> {
  const rows = await ctx.db.query<Omit<GoneMethod, 'transactions'> & { transactions: bigint }>(
    `select t.rail, t.method, count(*) as transactions
     from payment_jobs j join transactions t on t.holder_id = j.holder_id and t.id = j.transaction_id
     group by t.rail, t.method order by t.rail, t.method`,
  );
  return rows
    .filter(({ rail, method }) => ctx.rails.byName(rail) === null || !ctx.catalog.methods.has(method))
    .map((row) => ({ ...row, transactions: Number(row.transactions) }));
}
