-- The rows that one transaction adds to a stream are linked together. Linked one by one, each left a dead version of the stream's
-- head for the next to step over: the five thousand payouts of a file took seconds to commit, and more for every row.

-- With the rights of the owner: the service itself needs none on the links.
create or replace function link_new_audit_row() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
declare
  own_stream bigint := coalesce(new.holder_id, 0);
  entry audit_log;
  head audit_streams;
begin
  -- By the first row of this transaction.
  if exists (select from audit_chain where audit_id = new.id) then
    return null;
  end if;
  perform link_audit_row(new);
  select * into strict head from audit_streams where stream = own_stream;
  -- A row of a savepoint has another xmin; it is linked by its own trigger.
  for entry in
    select * from audit_log l
    where id > new.id and xmin = pg_current_xact_id()::xid and coalesce(holder_id, 0) = own_stream
      and not exists (select from audit_chain where audit_id = l.id)
    order by id
  loop
    head.position := head.position + 1;
    head.hash := audit_hash(head.hash, audit_line(entry, own_stream, head.position));
    insert into audit_chain (stream, position, audit_id, hash) values (own_stream, head.position, entry.id, head.hash);
  end loop;
  if entry.id is not null then
    update audit_streams set position = head.position, hash = head.hash where stream = own_stream;
  end if;
  return null;
end
$$;
