-- Accounts at operators, which methods go over them, their access tokens, and their last calls.

create table connections (
  name text primary key constraint connections_name check (name ~ '^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$' and name <> 'sandbox'),
  rail text not null,
  environment text not null constraint connections_environment check (environment in ('simulator', 'sandbox', 'production')),
  base_url text,
  settings jsonb not null,
  sealed bytea not null,
  sealed_names text[] not null,
  methods text[] not null constraint connections_methods check (cardinality(methods) > 0),
  holder_id bigint references holders (id),
  matched_callbacks text not null default 'apply' constraint connections_matched check (matched_callbacks in ('apply', 'ask')),
  version integer not null default 1,
  paused_at timestamptz,
  removed_at timestamptz,
  created_at timestamptz not null,
  created_by text not null,
  -- Whatever a row says, a simulator is a program on this machine.
  constraint connections_simulator_url check ((environment = 'simulator') = (base_url is not null)
    and (base_url is null or base_url ~ '^http://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(/|$)'))
);
comment on table connections is
  'Accounts at operators. A row is never deleted: its name is in transactions, and late callbacks still name it.';
comment on column connections.sealed is 'JSON of the secret settings, encrypted by the vault.';
comment on column connections.sealed_names is 'Which settings are in sealed, for people who may not read it.';
comment on column connections.holder_id is 'The holder whose own account it is; null: an account of the gateway.';
comment on column connections.matched_callbacks is
  'apply: an unsigned callback that matches what we stored counts as evidence. ask: it is only a reason to ask the operator.';
comment on column connections.version is 'Grows with each change of settings, secrets, address or methods: the rail is opened anew.';
create trigger connections_counted after insert or delete or update on connections
  for each statement execute function count_change();

create table routes (
  holder_id bigint references holders (id),
  method text not null,
  direction text not null constraint routes_direction check (direction in ('collection', 'payout')),
  position smallint not null constraint routes_position check (position >= 1),
  connection text not null references connections (name),
  constraint routes_one_position unique nulls not distinct (holder_id, method, direction, position),
  constraint routes_once unique nulls not distinct (holder_id, method, direction, connection)
);
create index routes_by_connection on routes (connection);
comment on table routes is
  'The connections of a method and direction, in the order in which they are tried. Without a holder: for everybody who has no own route.';
create trigger routes_counted after insert or delete or update on routes
  for each statement execute function count_change();

create table connection_tokens (
  connection text not null references connections (name),
  kind text not null,
  connection_version integer not null,
  version bigint not null default 0,
  sealed bytea,
  valid_from timestamptz,
  valid_until timestamptz,
  fetching_until timestamptz,
  primary key (connection, kind)
);
comment on table connection_tokens is 'The live access token of each connection and kind, shared by every process.';
comment on column connection_tokens.connection_version is 'The settings that it was fetched with; it is not used with others.';
comment on column connection_tokens.fetching_until is 'One process is fetching a new one; the others wait until then at most.';

create table operator_calls (
  connection text not null references connections (name),
  id bigint generated always as identity,
  at timestamptz not null,
  method text not null,
  path text not null,
  status smallint,
  ms real not null,
  request text not null,
  answer text not null,
  primary key (connection, id)
);
comment on table operator_calls is
  'The last calls of each connection without secrets, for people: every call that failed, and some of the others.';
comment on column operator_calls.status is 'The HTTP status; null: no answer, and answer says why.';
