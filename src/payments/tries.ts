// All tries of one payment: the first one, its retries (retries.ts), and theirs. Whichever of them is paid, the others are not.

import type { Reader, Tx } from '../platform/db.ts';
import type { Status } from './states.ts';
import type { Transaction } from './transactions.ts';

export type LockedTry = Pick<
  Transaction,
  'id' | 'holder_id' | 'direction' | 'status' | 'amount' | 'currency' | 'reference_1' | 'created_at'
>;

type TryKey = Pick<Transaction, 'id' | 'holder_id'>;

/** Named, because it is asked before each payout. */
const NEXT_TO = {
  name: 'tries_next_to',
  text: `select retry_of as id from transaction_retries where holder_id = $1 and transaction_id = any ($2::uuid[])
    union
    select transaction_id from transaction_retries
    where holder_id = $1 and retry_of = any ($2::uuid[]) and transaction_id is not null`,
};

/**
 * This one and what was tried before and after it for the same money: the first try, its retries, and theirs. Step by step, because a
 * store over several servers runs no recursive query.
 */
async function findTries(reader: Reader, { holder_id: holderId, id }: TryKey): Promise<string[]> {
  const known = new Set([id]);
  for (let newest = [id]; newest.length > 0; ) {
    const found = await reader.query<{ id: string }>(NEXT_TO, [holderId, newest]);
    newest = found.map((each) => each.id).filter((each) => !known.has(each));
    for (const each of newest) known.add(each);
  }
  return [...known];
}

/** Two people who retry different tries wait for each other: both lock the first one. Sorted, as outcomes lock them. */
export async function lockTries(tx: Tx, key: TryKey): Promise<LockedTry[]> {
  return tx.query<LockedTry>(
    `select id, holder_id, direction, status, amount, currency, reference_1, created_at from transactions
     where holder_id = $1 and id = any ($2::uuid[]) order by id for update`,
    [key.holder_id, await findTries(tx, key)],
  );
}

/** How each of them stands: a transaction, or (status null) a payment link. */
export async function listTries(
  reader: Reader,
  key: TryKey,
): Promise<{ status: Status | null; link_id: string | null }[]> {
  return reader.query(
    `select status, null::uuid as link_id from transactions where holder_id = $1 and id = any ($2::uuid[])
     union all
     select null, link_id from transaction_retries
     where holder_id = $1 and retry_of = any ($2::uuid[]) and link_id is not null
     union all
     -- A link may have expired, or been disabled, while its payer was paying.
     select t.status, null from transaction_retries r join transactions t on t.holder_id = r.holder_id and t.link_id = r.link_id
     where r.holder_id = $1 and r.retry_of = any ($2::uuid[])`,
    [key.holder_id, await findTries(reader, key)],
  );
}

/** The payment links that ask for the same money as this one. */
export async function listRetryLinks(reader: Reader, key: TryKey): Promise<string[]> {
  const rows = await reader.query<{ link_id: string }>(
    `select link_id from transaction_retries
     where holder_id = $1 and retry_of = any ($2::uuid[]) and link_id is not null`,
    [key.holder_id, await findTries(reader, key)],
  );
  return rows.map((row) => row.link_id);
}

/** Whether this is one of several tries, and another one succeeded: an operator may report that late. */
export async function wasPaidByAnotherTry(reader: Reader, key: TryKey): Promise<boolean> {
  const others = (await findTries(reader, key)).filter((id) => id !== key.id);
  if (others.length === 0) return false;
  const paid = await reader.query(
    `select id from transactions where holder_id = $1 and id = any ($2::uuid[]) and status = 'success' limit 1`,
    [key.holder_id, others],
  );
  return paid.length > 0;
}
