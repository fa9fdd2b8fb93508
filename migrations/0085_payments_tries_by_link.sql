-- A payment of a payment link asks what the link repeats, when it succeeds late or is to be repeated itself.

create index concurrently if not exists transaction_retries_by_link on transaction_retries (holder_id, link_id) where link_id is not null;
