// What the lists of cross-checks share: the form of a check, and pieces of its SQL.

import { ACCOUNT_BALANCES } from '../ledger/reports.ts';

/** What a page of keys is: of transactions, of transfers (two ids: after, up to), of collections with refunds, and so on. */
export type Subject =
  | 'transactions'
  | 'transfers'
  | 'refund_totals'
  | 'events'
  | 'cases'
  | 'incoming_payments'
  | 'holders'
  /** Of the books of operators, which have checks of their own. */
  | 'statement_matches'
  | 'closes'
  | 'fee_bookings'
  | 'settlements'
  | 'operator_settlements';

export type CrossCheck = {
  readonly name: string;
  readonly subject: Subject;
  /** How people are shown which row differs, where its id is not that of a transaction. */
  readonly place?: (row: CrossCheckRow) => string;
  /** What must hold. */
  readonly rule: string;
  /**
   * Returns `holder_id`, `id`, `expected` and `found` of each row that differs. $1 and $2 are the arrays of keys; for transfers
   * the ids between which they are. $3 is the lowest transaction id whose events are certainly kept, where it is used.
   */
  readonly sql: string;
  readonly usesEventFloor?: boolean;
};

/** A row that a check returned. */
export type CrossCheckRow = { holder_id: bigint; id: string; expected: string; found: string };

export const KEYS = 'unnest($1::bigint[], $2::uuid[]) as key (holder_id, id)';
/** An amount as people read it. */
export const shown = (amount: string) => `trim_scale(${amount} / 100.0)`;

/** Differences between what `needed` (holder_id, currency, balance) says and the accounts of this kind. */
export function compareWithAccounts(needed: string, kind: string, sign: 1 | -1): string {
  return `select coalesce(a.holder_id, n.holder_id) as holder_id, coalesce(a.currency, n.currency) as id,
      ${shown(`${sign} * coalesce(n.balance, 0)`)}::text as expected, ${shown('coalesce(a.balance, 0)')}::text as found
    from ${needed} n
    full join (
      select b.* from unnest($1::bigint[]) as key (holder_id) join ${ACCOUNT_BALANCES} as b using (holder_id) where b.kind = '${kind}'
    ) as a on a.holder_id = n.holder_id and a.currency = n.currency
    where coalesce(a.balance, 0) <> ${sign} * coalesce(n.balance, 0)`;
}
