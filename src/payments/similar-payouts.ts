// Payouts that look like a repetition: the same number is paid the same amount within a week, or twice in one file. That
// can be meant, so it is a warning that a person confirms, not an error.

import { DAY_MS } from '../platform/clock.ts';
import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { lowestUuid } from '../platform/ids.ts';
import { sha256 } from '../platform/secrets.ts';
import type { PayoutOrder } from './payout-requests.ts';
import { refOf } from './transactions.ts';

const COMPARED_MS = 7 * DAY_MS;

export type SimilarPayout = {
  /** Which of the orders. */
  index: number;
  order: PayoutOrder;
  /** The newest payout of before; null when the other one is in the same list. */
  earlier: { ref: string; createdAt: Date; createdBy: string; fileName: string | null } | null;
  /** The first order of the same list that is equal; null when the other one is an earlier payout. */
  sameAs: number | null;
};

/** Some payouts equal others of the last days, and nobody confirmed them; nothing was ordered. */
export class RepeatedPayoutsError extends Problem {
  readonly similar: readonly SimilarPayout[];
  constructor(similar: readonly SimilarPayout[]) {
    super('payouts_repeated', {
      message: `Nothing was ordered: ${similar.length} of these payouts are possible duplicates and must be confirmed.`,
    });
    this.similar = similar;
  }
}

/** In place of a key: a person means every repetition, also those not seen. */
export const ALL_REPEATS = 'all';

/** Names the repetitions that a person was shown; empty where there were none. */
export function repeatsKey(similar: readonly SimilarPayout[]): string {
  if (similar.length === 0) return '';
  const shown = similar.map(({ index, earlier, sameAs }) => [index, earlier?.ref ?? null, sameAs]);
  return sha256(JSON.stringify(shown)).toString('base64url');
}

/**
 * Refuses repetitions other than those that were confirmed. Called after the money is reserved: an order that pays the
 * same at the same moment has then waited for the wallet, and the first one is seen here.
 */
export async function refuseRepeats(
  tx: Tx,
  ctx: Pick<Context, 'clock'>,
  holderId: bigint,
  orders: readonly PayoutOrder[],
  confirmed: string,
): Promise<void> {
  if (confirmed === ALL_REPEATS) return;
  const similar = await findSimilarPayouts(ctx, tx, holderId, orders);
  if (repeatsKey(similar) !== confirmed && similar.length > 0) throw new RepeatedPayoutsError(similar);
}

const WANTED = columns<PayoutOrder>(3, {
  msisdn: 'text',
  amount: 'bigint',
  currency: ['text', (order) => order.method.currency],
});

type EarlierPayout = {
  id: string;
  msisdn: string;
  amount: bigint;
  currency: string;
  created_at: Date;
  created_by: string;
  file_name: string | null;
};

/** The orders that equal, in number and amount, a payout of the last seven days or another order of the list. */
export async function findSimilarPayouts(
  ctx: Pick<Context, 'clock'>,
  reader: Reader,
  holderId: bigint,
  orders: readonly PayoutOrder[],
): Promise<SimilarPayout[]> {
  // What failed or came back was not paid. Ids begin with their time. One look into the index by number for each order: the
  // wallet is locked meanwhile, and a holder may have paid a million others this week.
  const rows = await reader.query<EarlierPayout>(
    `select w.msisdn, w.amount, w.currency, p.id, p.created_at, o.created_by, b.name as file_name
     from (select distinct * from ${WANTED.rows}) w
     cross join lateral (
       select t.id, t.created_at from transactions t
       where t.holder_id = $1 and t.msisdn = w.msisdn and t.id >= $2 and t.direction = 'payout'
         and t.amount = w.amount and t.currency = w.currency and t.status not in ('failed', 'expired', 'reversed')
       order by t.id desc limit 1) p
     join payout_orders o on o.holder_id = $1 and o.transaction_id = p.id
     left join payout_batches b on b.holder_id = o.holder_id and b.id = o.batch_id`,
    [holderId, lowestUuid(new Date(ctx.clock.millis() - COMPARED_MS)), ...WANTED.arrays(orders)],
  );
  const paid = new Map(rows.map((row) => [`${row.msisdn} ${row.amount} ${row.currency}`, row]));
  const first = new Map<string, number>();
  return orders.flatMap((order, index): SimilarPayout[] => {
    const key = `${order.msisdn} ${order.amount} ${order.method.currency}`;
    const row = paid.get(key);
    const sameAs = first.get(key) ?? null;
    first.set(key, sameAs ?? index);
    if (row) {
      const { created_at, created_by, file_name } = row;
      const earlier = { ref: refOf(row), createdAt: created_at, createdBy: created_by, fileName: file_name };
      return [{ index, order, earlier, sameAs: null }];
    }
    return sameAs === null ? [] : [{ index, order, earlier: null, sameAs }];
  });
}
