-- A settlement is paid or given back, never both: the database holds it, as for payouts. Apart from the migration that adds the kinds,
-- because PostgreSQL uses new values of an enum only after they are committed.

create unique index settlement_concluded_once on ledger_transfers (holder_id, transaction_id)
  where kind in ('settlement_paid', 'settlement_release');
