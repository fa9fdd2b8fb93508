// The rows of transactions: their type, and every read of them that more than one operation needs.

import type { Reader } from '../platform/db.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';
import type { VerificationStyle } from '../rails/rail.ts';
import type { Direction, Status } from './states.ts';

export type Transaction = {
  id: string;
  holder_id: bigint;
  integration_id: bigint | null;
  direction: Direction;
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

export const TRANSACTION_COLUMNS = `t.id, t.holder_id, t.integration_id, t.direction, t.status, t.amount, t.fee, t.currency,
  t.country_id, t.method, t.rail, t.msisdn, t.payee, t.invoice_no, t.account_number, t.detail, t.reference_1, t.reference_2,
  t.callback_url, t.link_id, t.verification, t.rail_reference, t.receipt, t.failure_code, t.failure_message, t.balance_after,
  t.created_at, t.updated_at, t.settled_at`;

/** The specification's `ref`. */
export function refOf(transaction: { id: string }): string {
  return publicId('TX', transaction.id);
}

export function idFromRef(ref: string): string | null {
  return uuidFromPublicId('TX', ref);
}

/** A transaction of this holder, or null: another holder's does not exist. */
export async function findTransaction(reader: Reader, holderId: bigint, id: string): Promise<Transaction | null> {
  const [row] = await reader.query<Transaction>(
    {
      name: 'find_transaction',
      text: `select ${TRANSACTION_COLUMNS} from transactions t where t.id = $1 and t.holder_id = $2`,
    },
    [id, holderId],
  );
  return row ?? null;
}

export function readTransactions(reader: Reader, ids: string[]): Promise<Transaction[]> {
  return reader.query<Transaction>(
    { name: 'read_transactions', text: `select ${TRANSACTION_COLUMNS} from transactions t where t.id = any($1)` },
    [ids],
  );
}
