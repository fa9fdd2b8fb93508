-- An integration has several API keys: each has a name, scopes and an allow-list of its own. A token ends with the secret
-- that made it. Requests that were refused before anybody had proved who sent them are kept apart, and few of them.

alter table integration_secrets
  add column id bigint generated always as identity,
  add column name text not null default 'default' constraint secret_name_form check (name ~ '^[a-z0-9][a-z0-9._-]{0,39}$'),
  add column scopes text[] not null default '{collect,read,refund,links}'
    constraint secret_scopes_known check (scopes <@ '{collect,read,refund,links}' and cardinality(scopes) > 0),
  add column allowed_addresses text[] not null default '{}',
  add column last_used_at timestamptz,
  drop constraint secret_slot_known,
  alter column slot type integer,
  add constraint secret_slot_sane check (slot > 0),
  add constraint secret_id_unique unique (id);
create unique index secret_current_once on integration_secrets (integration_id, kind, name) where expires_at is null;
comment on table integration_secrets is
  'Secrets of an integration. An API key is a name: a rotation adds a secret with the same name and sets the end of the one before it.';
comment on column integration_secrets.slot is 'Numbers the secrets of a kind.';
comment on column integration_secrets.id is 'Tokens name the secret that made them by it. A secret that replaces another has its own.';
comment on column integration_secrets.name is 'The key that the secret belongs to. Callback secrets have one name.';
comment on column integration_secrets.scopes is 'What an API key may do. Callback secrets do not use it.';
comment on column integration_secrets.allowed_addresses is
  'Empty: any address that the integration allows. Otherwise a request must come from an address that both lists allow.';
comment on column integration_secrets.expires_at is
  'When it stops working: the end of the overlap after a rotation, or the moment it was revoked.';
comment on column integration_secrets.last_used_at is 'Written at most once a minute.';

alter table tokens
  add column secret_id bigint,
  add column address text not null default '',
  add column last_used_at timestamptz,
  add column last_address text;
-- Which secret made an older token was not written down. It gets the oldest live secret that existed then, so it ends no later
-- than it should. A token that is older than every live secret was made by one that has ended.
update tokens t
set secret_id = (
  select s.id from integration_secrets s
  where s.integration_id = t.integration_id and s.kind = 'api' and s.created_at <= t.created_at
    and (s.expires_at is null or s.expires_at > now())
  order by s.created_at, s.slot limit 1);
delete from tokens where secret_id is null;
alter table tokens
  alter column secret_id set not null,
  add constraint token_secret foreign key (secret_id) references integration_secrets (id);
create index tokens_by_secret on tokens (secret_id, id);
comment on column tokens.secret_id is 'The secret that it was bought with. It ends with it, has its scopes and signs with it.';
comment on column tokens.address is 'Where it was asked for from.';
comment on column tokens.last_used_at is 'Written at most once a minute.';

alter table integrations
  add column redirect_hosts text[] not null default '{}'
    constraint integration_redirect_hosts_few check (cardinality(redirect_hosts) <= 50);
comment on column integrations.redirect_hosts is
  'Hosts that a payment link may send the payer to; *.example.org stands for every host below it. Empty: any.';

-- The last use is written often and is in no cache, so it must not clear them.
drop trigger integrations_counted on integrations;
create trigger integrations_counted
  after insert or delete or update of title, status, allowed_addresses, default_callback_url, redirect_hosts
  on integrations for each statement execute function count_change();
drop trigger integration_secrets_counted on integration_secrets;
create trigger integration_secrets_counted
  after insert or delete or update of integration_id, kind, slot, sealed, expires_at, name, scopes, allowed_addresses
  on integration_secrets for each statement execute function count_change();

create table unverified_requests (
  holder_id bigint not null,
  integration_id bigint not null,
  at timestamptz not null,
  id uuid not null,
  status smallint not null,
  route text not null,
  address text not null,
  network text not null,
  code text,
  constraint unverified_request_id primary key (holder_id, integration_id, at, id)
);
comment on column unverified_requests.network is 'What limits are counted by: the IPv4 address, or the /64 of an IPv6 address.';
create index unverified_requests_by_age on unverified_requests using brin (at);
comment on table unverified_requests is
  'Requests that named an integration and were refused before its signature or secret was verified. Everybody who knows a '
  'client_id can send them, so they are not in request_log: few are kept for each integration and address, for a week.';
