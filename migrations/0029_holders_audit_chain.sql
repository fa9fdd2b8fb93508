-- The audit log as a chain: every row is followed by one whose hash contains its own. A row that is changed, removed or put in
-- between later breaks it, whoever did that. Each holder has its own stream, the gateway itself has stream 0, so two holders
-- never wait for each other. The link is made at the end of the transaction: nothing waits for it while work is done.

create table audit_streams (
  stream bigint primary key,
  position bigint not null constraint audit_position_sane check (position > 0),
  hash bytea not null constraint audit_head_length check (octet_length(hash) = 32)
);
comment on table audit_streams is 'The newest link of each stream of the audit log.';
comment on column audit_streams.stream is 'The number of the holder; 0: the gateway itself.';

create table audit_chain (
  stream bigint not null,
  position bigint not null,
  audit_id bigint not null constraint audit_row_linked_once unique,
  hash bytea not null constraint audit_hash_length check (octet_length(hash) = 32),
  constraint audit_chain_pkey primary key (stream, position)
);
comment on table audit_chain is 'The links of the audit log, without gaps in each stream. Rows are only added.';
comment on column audit_chain.audit_id is 'No foreign key: a row of the log that was removed must leave its link behind.';
comment on column audit_chain.hash is
  'SHA-256 of the hash before it (64 hexadecimal digits; zeros for the first), a line feed, and audit_line.';

-- One row as it is exported and as it is hashed: the same text.
create function audit_line(entry audit_log, in_stream bigint, at_position bigint) returns text
  language sql stable set search_path = public, pg_temp as $$
  select jsonb_build_object(
    'stream', in_stream, 'position', at_position, 'id', entry.id,
    'at', to_char(entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'holder_id', entry.holder_id, 'member_id', entry.member_id, 'actor', entry.actor, 'action', entry.action,
    'subject', entry.subject, 'details', entry.details)::text
$$;

create function audit_hash(previous bytea, line text) returns bytea
  language sql immutable set search_path = public, pg_temp
  as $$ select sha256(convert_to(encode(previous, 'hex') || E'\n' || line, 'UTF8')) $$;

create function link_audit_row(entry audit_log) returns void language plpgsql set search_path = public, pg_temp as $$
declare
  own_stream bigint := coalesce(entry.holder_id, 0);
  previous audit_streams;
  own_hash bytea;
begin
  select * into previous from audit_streams where stream = own_stream for update;
  if not found then
    -- Two first rows of a stream at the same moment: the second waits here, then reads what the first wrote.
    insert into audit_streams (stream, position, hash)
    values (own_stream, 1, audit_hash(decode(repeat('00', 32), 'hex'), audit_line(entry, own_stream, 1)))
    on conflict do nothing returning * into previous;
    if found then
      insert into audit_chain (stream, position, audit_id, hash) values (own_stream, 1, entry.id, previous.hash);
      return;
    end if;
    select * into strict previous from audit_streams where stream = own_stream for update;
  end if;
  own_hash := audit_hash(previous.hash, audit_line(entry, own_stream, previous.position + 1));
  insert into audit_chain (stream, position, audit_id, hash) values (own_stream, previous.position + 1, entry.id, own_hash);
  update audit_streams set position = previous.position + 1, hash = own_hash where stream = own_stream;
end
$$;

-- What was written before.
do $$
declare
  entry audit_log;
begin
  for entry in select * from audit_log order by id loop
    perform link_audit_row(entry);
  end loop;
end
$$;

-- With the rights of the owner: the service itself needs none on the links.
create function link_new_audit_row() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform link_audit_row(new);
  return null;
end
$$;
create constraint trigger audit_log_linked after insert on audit_log deferrable initially deferred
  for each row execute function link_new_audit_row();

create trigger audit_chain_append_only before update or delete or truncate on audit_chain
  for each statement execute function refuse_change();

-- Every way of signing in makes a session, so none can forget to record it.
create function record_sign_in() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into audit_log (at, holder_id, member_id, actor, action, details)
  select new.created_at, null, new.member_id, m.email, 'member.signed_in', jsonb_build_object('address', new.address)
  from members m where m.id = new.member_id;
  return null;
end
$$;
create trigger sessions_recorded after insert on sessions for each row execute function record_sign_in();
