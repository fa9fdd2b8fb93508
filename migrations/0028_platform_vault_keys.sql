-- The keys that seal secrets, one for each version. The master key only wraps them, so that both can be replaced while the
-- service runs.

create table vault_keys (
  version integer primary key constraint vault_key_version_sane check (version >= 0),
  wrapped bytea,
  wrapper text not null,
  fingerprint bytea not null constraint vault_key_fingerprint_length check (octet_length(fingerprint) = 16),
  created_at timestamptz not null,
  retired_at timestamptz,
  constraint vault_key_destroyed_when_retired check (wrapped is not null or (retired_at is not null and version > 0))
);
comment on table vault_keys is
  'Keys that seal secrets; the newest seals. Version 0 opens values from before versions, and derives the keys that never change.';
comment on column vault_keys.wrapped is 'The data key, encrypted by the wrapper. Null: retired and destroyed.';
comment on column vault_keys.wrapper is 'What encrypted the key: local:<check of the master key>, aws-kms:<key> or vault-transit:<key>.';
comment on column vault_keys.fingerprint is 'Shows that a key is the right one for this version; reveals nothing about it.';
