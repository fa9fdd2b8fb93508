// Reports: the transfers of one transaction, and the totals of the accounts of all holders.

import type { Reader } from '../platform/db.ts';
import type { AccountKind } from './chart.ts';
import type { TransferKind } from './postings.ts';

const MAX_LINES = 500;

export type TransferLine = {
  id: bigint;
  kind: TransferKind;
  amount: bigint;
  currency: string;
  posted_at: Date;
  debit: string;
  credit: string;
};

/** The transfers of a transaction in the order they were posted, with the keys of both accounts. */
export function transfersOf(reader: Reader, holderId: bigint, transactionId: string): Promise<TransferLine[]> {
  return reader.query<TransferLine>(
    `select t.id, t.kind, t.amount, t.currency, t.posted_at, d.key as debit, c.key as credit
     from ledger_transfers t
     join ledger_accounts d on d.holder_id = t.holder_id and d.id = t.debit_account
     join ledger_accounts c on c.holder_id = t.holder_id and c.id = t.credit_account
     where t.holder_id = $1 and t.transaction_id = $2 order by t.id`,
    [holderId, transactionId],
  );
}

type InternalAccount = { key: string; kind: AccountKind; currency: string; balance: bigint; updated_at: Date };

/** What operators hold, fees and suspense, each the sum over all holders. For admins. */
export function listInternalAccounts(reader: Reader): Promise<InternalAccount[]> {
  return reader.query<InternalAccount>(
    `select concat_ws(':', case kind when 'operator_clearing' then 'clearing' when 'fee_income' then 'fees'
                           when 'sandbox_funding' then 'sandbox' else kind end, rail, currency) as key,
            kind, currency, sum(balance)::bigint as balance, max(updated_at) as updated_at
     from ledger_accounts where wallet_account is null
     group by kind, rail, currency order by kind, currency, rail limit ${MAX_LINES}`,
  );
}
