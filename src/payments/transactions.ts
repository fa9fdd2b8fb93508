// The rows of transactions: their columns, and the reads that more than one operation needs.

import type { VerificationStyle } from '../catalog/catalog.ts';
import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { holderOfUuid, isRefundId, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { byHolder, queryByHolder } from '../platform/one-holder.ts';
import type { Status, TransactionDirection } from './states.ts';

export type Transaction = {
  id: string;
  holder_id: bigint;
  integration_id: bigint | null;
  direction: TransactionDirection;
  status: Status;
  amount: bigint;
  fee: bigint;
  currency: string;
  country_id: number;
  method: string;
  rail: string;
  msisdn: string | null;
  payee: string | null;
  invoice_no: string | null;
  account_number: string | null;
  detail: string;
  reference_1: string | null;
  reference_2: string | null;
  callback_url: string | null;
  link_id: string | null;
  verification: VerificationStyle | 'none';
  rail_reference: string | null;
  receipt: string | null;
  failure_code: string | null;
  failure_message: string | null;
  balance_after: bigint | null;
  created_at: Date;
  updated_at: Date;
  settled_at: Date | null;
};

/** Every column with its type. A new column is added to the migration, to the type above, and here. */
export const TRANSACTION_TYPES: Readonly<Record<keyof Transaction, string>> = {
  id: 'uuid',
  holder_id: 'bigint',
  integration_id: 'bigint',
  direction: 'text',
  status: 'text',
  amount: 'bigint',
  fee: 'bigint',
  currency: 'text',
  country_id: 'smallint',
  method: 'text',
  rail: 'text',
  msisdn: 'text',
  payee: 'text',
  invoice_no: 'text',
  account_number: 'text',
  detail: 'text',
  reference_1: 'text',
  reference_2: 'text',
  callback_url: 'text',
  link_id: 'uuid',
  verification: 'text',
  rail_reference: 'text',
  receipt: 'text',
  failure_code: 'text',
  failure_message: 'text',
  balance_after: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  settled_at: 'timestamptz',
};

/** For `select … from transactions t`. */
export const TRANSACTION_COLUMNS = Object.keys(TRANSACTION_TYPES)
  .map((name) => `t.${name}`)
  .join(', ');

/** Fields that only an outcome or a payout sets. All others are set when the transaction is created. */
type Later =
  | 'status'
  | 'payee'
  | 'invoice_no'
  | 'account_number'
  | 'rail_reference'
  | 'receipt'
  | 'failure_code'
  | 'failure_message'
  | 'balance_after'
  | 'created_at'
  | 'updated_at'
  | 'settled_at';

/** A transaction that is not written yet. Every field is named: copying an object into another takes several times as long. */
export function newTransaction(given: Omit<Transaction, Later> & Partial<Transaction>, at: Date): Transaction {
  return {
    id: given.id,
    holder_id: given.holder_id,
    integration_id: given.integration_id,
    direction: given.direction,
    status: given.status ?? 'pending',
    amount: given.amount,
    fee: given.fee,
    currency: given.currency,
    country_id: given.country_id,
    method: given.method,
    rail: given.rail,
    msisdn: given.msisdn,
    payee: given.payee ?? null,
    invoice_no: given.invoice_no ?? null,
    account_number: given.account_number ?? null,
    detail: given.detail,
    reference_1: given.reference_1,
    reference_2: given.reference_2,
    callback_url: given.callback_url,
    link_id: given.link_id,
    verification: given.verification,
    rail_reference: given.rail_reference ?? null,
    receipt: given.receipt ?? null,
    failure_code: given.failure_code ?? null,
    failure_message: given.failure_message ?? null,
    balance_after: given.balance_after ?? null,
    created_at: given.created_at ?? at,
    updated_at: given.updated_at ?? at,
    settled_at: given.settled_at ?? null,
  };
}

/** The specification's `ref`; a refund has a prefix of its own. */
export function refOf(transaction: { id: string }): string {
  return publicId(isRefundId(transaction.id) ? 'RF' : 'TX', transaction.id);
}

/** Reads both kinds. The prefix must be the one that the id has by itself, so that one transaction has one reference. */
export function idFromRef(ref: string): string | null {
  const id = uuidFromPublicId('TX', ref);
  if (id !== null) return isRefundId(id) ? null : id;
  const refundId = uuidFromPublicId('RF', ref);
  return refundId !== null && isRefundId(refundId) ? refundId : null;
}

/** A transaction of this holder; null when there is none, also when another holder has it. */
export async function findTransaction(reader: Reader, holderId: bigint, id: string): Promise<Transaction | null> {
  const [row] = await reader.query<Transaction>(
    {
      name: 'find_transaction',
      text: `select ${TRANSACTION_COLUMNS} from transactions t where t.holder_id = $1 and t.id = $2`,
    },
    [holderId, id],
  );
  return row ?? null;
}

/** Keys of transactions of any holders: each id contains its holder. */
export const TRANSACTION_KEYS = columns<string>(1, {
  holder_id: ['bigint', holderOfUuid],
  id: ['uuid', (id) => id],
});

export function readTransactions(reader: Reader, ids: string[]): Promise<Transaction[]> {
  return reader.query<Transaction>(
    {
      name: 'read_transactions',
      text: `select ${TRANSACTION_COLUMNS} from ${TRANSACTION_KEYS.rows} join transactions t using (holder_id, id)`,
    },
    TRANSACTION_KEYS.arrays(ids),
  );
}

const LOCK_TRANSACTIONS = byHolder(
  'lock_transactions',
  3,
  (ofOne) => `
    select ${TRANSACTION_COLUMNS} from ${TRANSACTION_KEYS.rows} join transactions t using (holder_id, id)
    where ${ofOne('t')} order by t.holder_id, t.id for no key update of t`,
);

/** In the order of their keys, so that two batches over the same transactions cannot deadlock. */
export function lockTransactions(tx: Tx, ids: string[]): Promise<Transaction[]> {
  return queryByHolder<Transaction, string>(tx, LOCK_TRANSACTIONS, TRANSACTION_KEYS, ids, holderOfUuid);
}

export async function hasTransactionsOfRail(reader: Reader, rail: string): Promise<boolean> {
  return (await reader.query('select from transactions where rail = $1 limit 1', [rail])).length > 0;
}
