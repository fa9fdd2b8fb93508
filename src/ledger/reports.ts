// Reports: the transfers of one transaction, the totals of the accounts of all holders, and what other modules compare with
// their own rows.

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

/**
 * For statements of other modules that compare their rows with the ledger: `from ${TRANSFERS_WITH_ACCOUNTS} as posted`.
 * `debit` and `credit` are the kinds of the accounts, `rail` is that of the clearing or bank account if there is one.
 */
export const TRANSFERS_WITH_ACCOUNTS = `(
  select x.id, x.holder_id, x.transaction_id, x.kind::text as kind, x.amount, x.currency, d.kind as debit, c.kind as credit,
         coalesce(d.rail, c.rail) as rail
  from ledger_transfers x
  join ledger_accounts d on d.holder_id = x.holder_id and d.id = x.debit_account
  join ledger_accounts c on c.holder_id = x.holder_id and c.id = x.credit_account)`;

/** As TRANSFERS_WITH_ACCOUNTS: the balance of every account. */
export const ACCOUNT_BALANCES = '(select holder_id, kind, currency, balance from ledger_accounts)';

/** The holders that have accounts, in order, after one of them. */
export async function listAccountHolders(reader: Reader, after: bigint, limit: number): Promise<bigint[]> {
  // Along the primary key; a holder has some tens of accounts at most.
  const rows = await reader.query<{ holder_id: bigint }>(
    'select distinct holder_id from ledger_accounts where holder_id > $1 order by holder_id limit $2',
    [after, limit],
  );
  return rows.map((row) => row.holder_id);
}

/** The transactions (or cases) of the transfers with ids in a range. */
export function listTransferOwners(
  reader: Reader,
  after: bigint,
  upTo: bigint,
): Promise<{ holder_id: bigint; id: string }[]> {
  return reader.query(
    `select distinct holder_id, transaction_id as id from ledger_transfers where id > $1 and id <= $2`,
    [after, upTo],
  );
}

type AccountTotal = { kind: AccountKind; rail: string | null; currency: string; balance: bigint; below_zero: bigint };

/** Clearing, suspense and debts over all holders, and how many of the accounts are below zero. For the metrics. */
export function totalsForMetrics(reader: Reader): Promise<AccountTotal[]> {
  return reader.query<AccountTotal>(
    `select kind, rail, currency, sum(balance)::bigint as balance, count(*) filter (where balance < 0) as below_zero
     from ledger_accounts where kind in ('operator_clearing', 'suspense', 'holder_receivable')
     group by kind, rail, currency order by kind, currency, rail limit ${MAX_LINES}`,
  );
}

/** What the operator of a connection holds for us, over all holders; below zero: what we owe it. */
export function clearingOf(reader: Reader, rail: string): Promise<{ currency: string; amount: bigint }[]> {
  return reader.query(
    `select currency, (-sum(balance))::bigint as amount from ledger_accounts
     where kind = 'operator_clearing' and rail = $1 group by currency order by currency`,
    [rail],
  );
}

/** Whether money was given out of nothing, or moved by the pretend operator: such a ledger is not of real money. */
export async function hasSandboxMoney(reader: Reader, rail: string): Promise<boolean> {
  const rows = await reader.query(`select from ledger_accounts where kind = 'sandbox_funding' or rail = $1 limit 1`, [
    rail,
  ]);
  return rows.length > 0;
}

/** As TRANSFERS_WITH_ACCOUNTS: what went into fee income, and below zero what left it. Read by time, account by account. */
export const FEES_POSTED = `(
  select x.holder_id, x.transaction_id, x.currency, x.amount, x.posted_at
  from ledger_accounts a join ledger_transfers x on x.holder_id = a.holder_id and x.credit_account = a.id where a.kind = 'fee_income'
  union all
  select x.holder_id, x.transaction_id, x.currency, -x.amount, x.posted_at
  from ledger_accounts a join ledger_transfers x on x.holder_id = a.holder_id and x.debit_account = a.id where a.kind = 'fee_income')`;
