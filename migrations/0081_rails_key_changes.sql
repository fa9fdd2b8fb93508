-- A new key of a connection may be that of another account of the operator, which knows none of the payments before it. So it is stored
-- when the key changed: what an account does not find counts only for payments that were made after that.
-- quick: connections: a list that people write by hand

alter table connections add column key_changed_at timestamptz;
comment on column connections.key_changed_at is
  'When the key by which the operator knows the account was replaced. An older payment that it does not find may be in the account before.';
