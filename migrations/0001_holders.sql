-- Who uses the gateway: holders (businesses), the people who act for them, their integrations, tokens,
-- and the signatures that were already used.
--
-- Every table of a holder's business carries holder_id, first in its keys: one holder is in one place, and two holders
-- never lock the same row. Ids that must be found without their holder carry the holder's number in their last seven
-- hexadecimal digits (src/platform/ids.ts), so a holder's number has at most 28 bits. Holder 0 is the gateway itself.

create table holders (
  id bigint generated always as identity primary key constraint holder_id_fits_ids check (id between 1 and 268435455),
  name text not null constraint holder_name_length check (char_length(name) between 1 and 120),
  status text not null default 'active' constraint holder_status_known check (status in ('active', 'suspended', 'closed')),
  payouts_need_approval boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
comment on table holders is 'A business that uses the gateway.';
comment on column holders.payouts_need_approval is 'A payout ordered by one person waits until another approves it.';

create table members (
  id bigint generated always as identity primary key,
  email text not null constraint member_email_unique unique
    constraint member_email_plain check (email = lower(email) and char_length(email) between 3 and 254),
  name text not null constraint member_name_length check (char_length(name) between 1 and 120),
  password_hash text,
  totp_sealed bytea,
  totp_pending bytea,
  totp_last_step bigint,
  is_admin boolean not null default false,
  created_at timestamptz not null
);
comment on table members is 'A person who signs in to the console.';
comment on column members.totp_sealed is 'The secret of the second factor, sealed under the master key.';
comment on column members.totp_pending is 'A second factor that its owner has not proved yet, sealed in the same way.';
comment on column members.totp_last_step is 'The newest time step whose code was accepted: a code works once.';
comment on column members.is_admin is 'Admins run the gateway and see every holder.';

create table memberships (
  member_id bigint not null references members,
  holder_id bigint not null references holders,
  role text not null constraint membership_role_known check (role in ('owner', 'developer', 'finance', 'viewer')),
  created_at timestamptz not null,
  primary key (member_id, holder_id)
);
create index memberships_by_holder on memberships (holder_id);
comment on table memberships is 'Which person acts for which holder, and in which role.';

create table sessions (
  id bigint generated always as identity primary key,
  member_id bigint not null references members,
  token_hash bytea not null constraint session_token_unique unique,
  user_agent text not null default '',
  address text not null default '',
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  confirmed_until timestamptz,
  revoked_at timestamptz,
  holder_id bigint references holders
);
comment on table sessions is 'A browser that is signed in to the console.';
comment on column sessions.confirmed_until is 'Until then the person has proved the second factor or the password for dangerous actions.';
comment on column sessions.holder_id is 'The holder that the person is looking at.';
create index sessions_by_member on sessions (member_id);

create table login_links (
  token_hash bytea primary key,
  member_id bigint not null references members,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
comment on table login_links is 'Links that sign a person in once, without a password.';

create table invitations (
  id bigint generated always as identity primary key,
  token_hash bytea not null constraint invitation_token_unique unique,
  holder_id bigint not null references holders,
  email text not null constraint invitation_email_plain check (email = lower(email) and char_length(email) between 3 and 254),
  role text not null constraint invitation_role_known check (role in ('owner', 'developer', 'finance', 'viewer')),
  invited_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  withdrawn_at timestamptz
);
create index invitations_by_holder on invitations (holder_id, id desc);
comment on table invitations is 'An offer to join a holder, sent by e-mail.';

create table integrations (
  id bigint generated always as identity primary key,
  holder_id bigint not null references holders,
  client_id text not null constraint integration_client_id_unique unique,
  title text not null constraint integration_title_length check (char_length(title) between 1 and 120),
  status text not null default 'active' constraint integration_status_known check (status in ('active', 'revoked')),
  allowed_addresses text[] not null default '{}',
  default_callback_url text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_used_at timestamptz
);
create index integrations_by_holder on integrations (holder_id);
comment on table integrations is 'A program of a holder that calls the API.';
comment on column integrations.title is 'The sender of the specification, compared exactly.';
comment on column integrations.allowed_addresses is 'Empty: any address may call.';

create table integration_secrets (
  integration_id bigint not null references integrations,
  kind text not null constraint secret_kind_known check (kind in ('api', 'callback')),
  slot smallint not null constraint secret_slot_known check (slot in (1, 2)),
  sealed bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (integration_id, kind, slot)
);
comment on table integration_secrets is
  'Secrets of an integration. Two slots of each kind: there are never more than two live secrets, and a rotation overwrites the older one.';
comment on column integration_secrets.expires_at is 'The end of the overlap after a rotation. Null: valid until it is replaced.';

create table tokens (
  id bigint generated always as identity primary key,
  integration_id bigint not null references integrations,
  secret_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index tokens_by_integration on tokens (integration_id);
comment on table tokens is 'Bearer tokens of the API. Only a hash is stored.';

create table spent_signatures (
  signed_at timestamptz not null,
  signature bytea not null,
  constraint signature_spent_once primary key (signed_at, signature)
) partition by range (signed_at);
comment on table spent_signatures is
  'A signature works once. The signed timestamp is part of what is signed, so the same signature always falls into the same '
  'partition and the key holds over all of them. Partitions older than the tolerance are dropped whole. One space for all holders.';

create table idempotency_keys (
  holder_id bigint not null,
  integration_id bigint not null,
  key text not null constraint idempotency_key_length check (char_length(key) between 1 and 128),
  operation text not null,
  params_hash bytea not null,
  answer json not null,
  created_at timestamptz not null,
  constraint idempotency_key_once primary key (holder_id, integration_id, key)
);
create index idempotency_keys_by_age on idempotency_keys using brin (created_at);
comment on table idempotency_keys is 'What the first request with a key answered. A key is free again after 24 hours.';
comment on column idempotency_keys.answer is 'Repeated as it was: json, unlike jsonb, keeps the order of members.';

create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  holder_id bigint references holders,
  member_id bigint references members,
  actor text not null,
  action text not null,
  subject text not null default '',
  details jsonb not null default '{}'
);
create index audit_log_by_holder on audit_log (holder_id, id desc);
comment on table audit_log is 'What people did. Rows are only added.';
comment on column audit_log.actor is 'The e-mail address of the person, or "command line".';

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'P0001', constraint = tg_table_name || '_append_only';
end
$$;

create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change();

create table change_count (
  single boolean primary key default true constraint change_count_single check (single),
  version bigint not null default 0
);
insert into change_count default values;
comment on table change_count is
  'Every process caches integrations and fees. This number grows with each change, so that each process knows when to clear its cache.';

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

create table request_log (
  at timestamptz not null,
  id uuid not null,
  holder_id bigint not null,
  integration_id bigint not null,
  transaction_id uuid,
  ms real not null,
  status smallint not null,
  route text not null,
  address text not null,
  code text
) partition by range (at);
create index request_log_by_holder on request_log (holder_id, at);
comment on table request_log is
  'One small row for each API request of a known integration, without bodies. Written in batches and dropped day by day after thirty days.';
comment on column request_log.transaction_id is 'The transaction that was made or asked for, where there was one.';
comment on column request_log.code is 'Why the request was refused.';
