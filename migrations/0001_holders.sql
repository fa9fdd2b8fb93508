-- Who uses the gateway: holders (businesses), the people who act for them, their integrations, tokens,
-- and the signatures that were already used.

create table holders (
  id bigint generated always as identity primary key,
  name text not null constraint holder_name_length check (char_length(name) between 1 and 120),
  status text not null default 'active' constraint holder_status_known check (status in ('active', 'suspended', 'closed')),
  -- When true a payout made by one person waits for another.
  payouts_need_approval boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create table members (
  id bigint generated always as identity primary key,
  email text not null constraint member_email_unique unique
    constraint member_email_plain check (email = lower(email) and char_length(email) between 3 and 254),
  name text not null constraint member_name_length check (char_length(name) between 1 and 120),
  password_hash text,
  -- The second factor's secret, sealed under the master key.
  totp_sealed bytea,
  -- People of the ops team see every holder.
  is_admin boolean not null default false,
  created_at timestamptz not null
);

create table memberships (
  member_id bigint not null references members,
  holder_id bigint not null references holders,
  role text not null constraint membership_role_known check (role in ('owner', 'developer', 'finance', 'viewer')),
  created_at timestamptz not null,
  primary key (member_id, holder_id)
);
create index memberships_by_holder on memberships (holder_id);

create table sessions (
  id bigint generated always as identity primary key,
  member_id bigint not null references members,
  token_hash bytea not null constraint session_token_unique unique,
  user_agent text not null default '',
  address text not null default '',
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  -- Until then the person has proved the second factor (or the password) for dangerous actions.
  confirmed_until timestamptz,
  revoked_at timestamptz
);
create index sessions_by_member on sessions (member_id);

create table login_links (
  token_hash bytea primary key,
  member_id bigint not null references members,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);

create table integrations (
  id bigint generated always as identity primary key,
  holder_id bigint not null references holders,
  client_id text not null constraint integration_client_id_unique unique,
  -- The specification's `sender`, compared exactly.
  title text not null constraint integration_title_length check (char_length(title) between 1 and 120),
  status text not null default 'active' constraint integration_status_known check (status in ('active', 'revoked')),
  -- Empty: any address may call.
  allowed_addresses text[] not null default '{}',
  default_callback_url text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_used_at timestamptz
);
create index integrations_by_holder on integrations (holder_id);

-- Two slots of each kind: so there are never more than two live secrets, and rotating overwrites the older one.
create table integration_secrets (
  integration_id bigint not null references integrations,
  kind text not null constraint secret_kind_known check (kind in ('api', 'callback')),
  slot smallint not null constraint secret_slot_known check (slot in (1, 2)),
  sealed bytea not null,
  created_at timestamptz not null,
  -- Null: lives until it is replaced. Otherwise the end of the overlap after a rotation.
  expires_at timestamptz,
  primary key (integration_id, kind, slot)
);

create table tokens (
  id bigint generated always as identity primary key,
  integration_id bigint not null references integrations,
  secret_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index tokens_by_integration on tokens (integration_id);

-- A signature works once. The signed timestamp is covered by the signature, so the same signature always
-- falls into the same partition and the key holds over all of them; partitions older than the tolerance are dropped whole.
create table spent_signatures (
  signed_at timestamptz not null,
  signature bytea not null,
  constraint signature_spent_once primary key (signed_at, signature)
) partition by range (signed_at);

create table idempotency_keys (
  integration_id bigint not null references integrations,
  key text not null constraint idempotency_key_length check (char_length(key) between 1 and 128),
  operation text not null,
  params_hash bytea not null,
  -- What the first request answered, told again to every repetition in the same words: json keeps the order of members.
  answer json not null,
  created_at timestamptz not null,
  constraint idempotency_key_once primary key (integration_id, key)
);
create index idempotency_keys_by_age on idempotency_keys using brin (created_at);

-- What people did. Rows are only ever added.
create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  holder_id bigint references holders,
  member_id bigint references members,
  -- The person's address, or "command line", in words.
  actor text not null,
  action text not null,
  subject text not null default '',
  details jsonb not null default '{}'
);
create index audit_log_by_holder on audit_log (holder_id, id desc);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'P0001', constraint = tg_table_name || '_append_only';
end
$$;

create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change();

-- Processes remember integrations and fees. One number counts the changes, so that each of them knows when to forget.
create table change_count (
  single boolean primary key default true constraint change_count_single check (single),
  version bigint not null default 0
);
insert into change_count default values;

create function count_change() returns trigger language plpgsql as $$
begin
  update change_count set version = version + 1;
  return null;
end
$$;

create trigger holders_counted after insert or delete or update of status, name on holders
  for each statement execute function count_change();
create trigger integrations_counted after insert or delete or update of title, status, allowed_addresses, default_callback_url
  on integrations for each statement execute function count_change();
create trigger integration_secrets_counted after insert or delete or update on integration_secrets
  for each statement execute function count_change();
