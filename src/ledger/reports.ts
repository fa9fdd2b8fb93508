// Reads of the ledger for people: the transfers of one transaction, and the accounts of the house.

import type { Reader } from '../platform/db.ts';
import type { AccountKind } from './chart.ts';
import type { TransferKind } from './postings.ts';

const MAX_ACCOUNTS = 500;

export type JournalLine = {
  id: bigint;
  kind: TransferKind;
  amount: bigint;
  currency: string;
  posted_at: Date;
  debit: string;
  credit: string;
};

/** The transfers of a transaction in the order they were posted, with the keys of both accounts. */
export function transfersOf(reader: Reader, transactionId: string): Promise<JournalLine[]> {
  return reader.query<JournalLine>(
    `select t.id, t.kind, t.amount, t.currency, t.posted_at, d.key as debit, c.key as credit
     from ledger_transfers t join ledger_accounts d on d.id = t.debit_account join ledger_accounts c on c.id = t.credit_account
     where t.transaction_id = $1 order by t.id`,
    [transactionId],
  );
}

export type InternalAccount = { key: string; kind: AccountKind; currency: string; balance: bigint; updated_at: Date };

/** Accounts that belong to no holder: what operators hold, fees, suspense. For whoever runs the gateway. */
export function listInternalAccounts(reader: Reader): Promise<InternalAccount[]> {
  return reader.query<InternalAccount>(
    `select key, kind, currency, balance, updated_at from ledger_accounts
     where wallet_account is null order by kind, currency, key limit ${MAX_ACCOUNTS}`,
  );
}
