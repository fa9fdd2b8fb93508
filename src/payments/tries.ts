// All tries of one payment: the first one, its retries (retries.ts), and theirs. A retry may be a payment link: then each payment that was
// made through the link is a try. Whichever of them is paid, the others are not.

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
    where holder_id = $1 and retry_of = any ($2::uuid[]) and transaction_id is not null
    union
    -- What was paid through a link belongs to what the link repeats, also when it had expired, or was disabled, before its payer was done.
    select r.retry_of from transactions t join transaction_retries r on r.holder_id = t.holder_id and r.link_id = t.link_id
    where t.holder_id = $1 and t.id = any ($2::uuid[])
    union
    select t.id from transaction_retries r join transactions t on t.holder_id = r.holder_id and t.link_id = r.link_id
    where r.holder_id = $1 and r.retry_of = any ($2::uuid[])`,
};

/**
 * This one and what was tried before and after it for the same money: the first try, its retries, what was paid through those that are
 * links, and theirs. Step by step, because a store over several servers runs no recursive query.
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

/** How each of them stands. */
export async function listTries(reader: Reader, key: TryKey): Promise<Status[]> {
  const rows = await reader.query<{ status: Status }>(
    'select status from transactions where holder_id = $1 and id = any ($2::uuid[])',
    [key.holder_id, await findTries(reader, key)],
  );
  return rows.map(({ status }) => status);
}

/** The payment links that ask for the same money as this one, in the order in which links are locked. */
export async function listRetryLinks(reader: Reader, key: TryKey): Promise<string[]> {
  const rows = await reader.query<{ link_id: string }>(
    `select link_id from transaction_retries
     where holder_id = $1 and retry_of = any ($2::uuid[]) and link_id is not null order by link_id`,
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
