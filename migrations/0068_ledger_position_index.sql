-- Sealing and ledger verify read the transfers of a holder in the order of their positions. Apart from the migration that adds the
-- positions, so that postings go on while the index is built.

create unique index concurrently transfer_position_once on ledger_transfers (holder_id, position) where position is not null;
