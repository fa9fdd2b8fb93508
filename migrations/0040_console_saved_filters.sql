-- Filters of lists that people keep under a name.

create table saved_filters (
  holder_id bigint not null references holders,
  member_id bigint not null references members,
  name text not null,
  query text not null,
  created_at timestamptz not null,
  constraint saved_filter_once primary key (holder_id, member_id, name),
  constraint saved_filter_name_length check (char_length(name) between 1 and 60),
  constraint saved_filter_query_length check (char_length(query) between 1 and 1000)
);
comment on table saved_filters is 'Filters of the list of transactions that a member keeps under a name.';
comment on column saved_filters.query is 'The query of the address of the list.';
