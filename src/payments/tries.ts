// All tries of one payment: the first one, its retries (retries.ts), and theirs. Whichever of them is paid, the others are not.

import type { Reader, Tx } from '../platform/db.ts';
import type { Status } from './states.ts';
import type { Transaction } from './transactions.ts';

export type LockedTry = Pick<
  Transaction,
  'id' | 'holder_id' | 'direction' | 'status' | 'amount' | 'currency' | 'reference_1' | 'created_at'
>;

type TryKey = Pick<Transaction, 'id' | 'holder_id'>;

/** $2 and what was tried before and after it for the same money: the first try, its retries, and theirs. */
const TRIES = `with recursive tries (id) as (
    select $2::uuid
    union
    select other.id from tries
    join transaction_retries r on r.holder_id = $1 and (r.retry_of = tries.id or r.transaction_id = tries.id)
    cross join lateral (values (r.retry_of), (r.transaction_id)) as other (id)
    where other.id is not null
  )`;

/** Two people who retry different tries wait for each other: both lock the first one. Sorted, as outcomes lock them. */
export function lockTries(tx: Tx, { holder_id: holderId, id }: TryKey): Promise<LockedTry[]> {
  return tx.query<LockedTry>(
    `${TRIES}
     select t.id, t.holder_id, t.direction, t.status, t.amount, t.currency, t.reference_1, t.created_at from transactions t
     where t.holder_id = $1 and t.id in (select id from tries) order by t.id for update`,
    [holderId, id],
  );
}

/** How each of them stands: a transaction, or (status null) a payment link. */
export function listTries(
  reader: Reader,
  { holder_id: holderId, id }: TryKey,
): Promise<{ status: Status | null; link_id: string | null }[]> {
  return reader.query(
    `${TRIES}
     select t.status, null::uuid as link_id from tries join transactions t on t.holder_id = $1 and t.id = tries.id
     union all
     select null, r.link_id from tries
     join transaction_retries r on r.holder_id = $1 and r.retry_of = tries.id and r.link_id is not null
     union all
     -- A link may have expired, or been disabled, while its payer was paying.
     select t.status, null from tries
     join transaction_retries r on r.holder_id = $1 and r.retry_of = tries.id and r.link_id is not null
     join transactions t on t.holder_id = $1 and t.link_id = r.link_id`,
    [holderId, id],
  );
}

/** The payment links that ask for the same money as this one. */
export async function listRetryLinks(reader: Reader, { holder_id: holderId, id }: TryKey): Promise<string[]> {
  const rows = await reader.query<{ link_id: string }>(
    `${TRIES}
     select r.link_id from tries
     join transaction_retries r on r.holder_id = $1 and r.retry_of = tries.id and r.link_id is not null`,
    [holderId, id],
  );
  return rows.map((row) => row.link_id);
}

/** Named, because it is asked before each payout. */
const WAS_PAID = {
  name: 'was_paid_by_another_try',
  text: `${TRIES}
    select t.id from tries join transactions t on t.holder_id = $1 and t.id = tries.id
    where tries.id <> $2 and t.status = 'success' limit 1`,
};

/** Whether this is one of several tries, and another one succeeded: an operator may report that late. */
export async function wasPaidByAnotherTry(reader: Reader, { holder_id: holderId, id }: TryKey): Promise<boolean> {
  const rows = await reader.query(WAS_PAID, [holderId, id]);
  return rows.length > 0;
}
