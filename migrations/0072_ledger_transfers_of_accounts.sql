-- The transfers of an account are looked for with their holder. With an index of the account alone, PostgreSQL combined it with that
-- of the holder, and read all transfers of a large merchant to find one balance: 32 seconds among ten million payments.

create index concurrently if not exists ledger_transfers_of_debit on ledger_transfers (holder_id, debit_account, posted_at);
create index concurrently if not exists ledger_transfers_of_credit on ledger_transfers (holder_id, credit_account, posted_at);
drop index concurrently if exists ledger_transfers_by_debit;
drop index concurrently if exists ledger_transfers_by_credit;
