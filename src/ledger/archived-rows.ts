// The ledger of a month, for an archive: transfers by the time they were posted, with the names of their accounts, and the blocks
// and heads of the hash chain that were sealed in it.

import { type ArchivedRows, inMonth } from '../platform/months.ts';

/** By the index of debits: every transfer has exactly one. */
export const TRANSFER_ROWS: ArchivedRows = {
  name: 'ledger_transfers',
  query: (month) => `
    select t.id, t.holder_id, t.posted_at, t.transaction_id, t.kind, t.currency, t.amount,
      t.debit_account, debit.key as debit_key, t.debit_balance, t.credit_account, credit.key as credit_key, t.credit_balance,
      t.batch, t.position
    from ledger_accounts debit
    join ledger_transfers t on t.holder_id = debit.holder_id and t.debit_account = debit.id and ${inMonth('t.posted_at', month)}
    join ledger_accounts credit on credit.holder_id = t.holder_id and credit.id = t.credit_account
    order by t.id`,
};

export const BLOCK_ROWS: ArchivedRows = {
  name: 'ledger_blocks',
  query: (month) => `
    select number, after_id, last_id, transfers, encode(previous_hash, 'hex') as previous_hash, encode(hash, 'hex') as hash, sealed_at
    from ledger_blocks where ${inMonth('sealed_at', month)} order by number`,
};

export const PARTITION_BLOCK_ROWS: ArchivedRows = {
  name: 'ledger_partition_blocks',
  query: (month) => `
    select partition, number, last_id, transfers, holders, after_positions, positions, encode(previous_hash, 'hex') as previous_hash,
      encode(hash, 'hex') as hash, sealed_at
    from ledger_partition_blocks where ${inMonth('sealed_at', month)} order by partition, number`,
};

export const HEAD_ROWS: ArchivedRows = {
  name: 'ledger_heads',
  query: (month) => `
    select number, blocks, last_id, encode(previous_hash, 'hex') as previous_hash, encode(hash, 'hex') as hash, sealed_at
    from ledger_heads where ${inMonth('sealed_at', month)} order by number`,
};
