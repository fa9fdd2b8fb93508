-- A statement that was imported to the wrong connection, currency or time zone can be withdrawn: its lines go, in one transaction with
-- the record of who withdrew it and why. What the lines counted as is kept, because days that were signed and reopened have its hash.
-- quick: statement_files: a few files a day
-- quick: statement_lines, statement_matches: only triggers change, no row is read

alter table statement_files
  add column account text,
  add column date_order text,
  drop constraint statement_file_status_known,
  add constraint statement_file_status_known check (status in ('reading', 'read', 'broken_off', 'withdrawn'));
comment on column statement_files.account is 'Our own number, as the person gave it, so that the file can be read again in the same way.';
comment on column statement_files.date_order is 'The order of its dates, as the person gave it.';

create table statement_withdrawals (
  id bigint generated always as identity,
  file_id bigint not null references statement_files (id),
  connection text not null,
  name text not null,
  format text not null,
  zone text not null,
  currency text,
  lines integer not null,
  imported_by text not null,
  imported_at timestamptz not null,
  reason text not null constraint statement_withdrawal_reason_length check (char_length(reason) between 3 and 500),
  withdrawn_by text not null,
  withdrawn_at timestamptz not null,
  written_in xid8 not null default pg_current_xact_id(),
  constraint statement_withdrawal_id primary key (id)
);
create index statement_withdrawals_of_file on statement_withdrawals (file_id, id desc);
comment on table statement_withdrawals is 'Statements that people took back, as they were imported. The same bytes may be imported again.';
comment on column statement_withdrawals.lines is 'How many lines went with it.';
comment on column statement_withdrawals.written_in is 'The transaction in which the lines may be deleted, and in no other.';
create trigger statement_withdrawals_append_only before update or delete or truncate on statement_withdrawals
  for each statement execute function refuse_change();

create table withdrawn_matches (
  withdrawal_id bigint not null references statement_withdrawals (id),
  connection text not null,
  line_key bytea not null,
  day date not null,
  currency text not null,
  moved bigint not null,
  fee bigint not null,
  line_seal bytea not null,
  seen_at timestamptz not null,
  transaction_id uuid,
  case_id uuid,
  matched_at timestamptz,
  match_seal bytea,
  constraint withdrawn_match_once primary key (withdrawal_id, line_key)
);
create index withdrawn_matches_by_day on withdrawn_matches (connection, currency, day);
comment on table withdrawn_matches is 'What the lines of withdrawn statements counted as.';
create trigger withdrawn_matches_append_only before update or delete or truncate on withdrawn_matches
  for each statement execute function refuse_change();

create function require_withdrawal() returns trigger language plpgsql as $$
begin
  if exists (select from gone g where not exists (
      select from statement_withdrawals w where w.file_id = g.file_id and w.written_in = pg_current_xact_id())) then
    raise exception 'lines of a statement go only when it is withdrawn'
      using errcode = 'P0001', constraint = 'statement_lines_append_only';
  end if;
  return null;
end
$$;
drop trigger statement_lines_append_only on statement_lines;
create trigger statement_lines_append_only before update or truncate on statement_lines
  for each statement execute function refuse_change();
create trigger statement_lines_withdrawn after delete on statement_lines referencing old table as gone
  for each statement execute function require_withdrawal();

-- What a line made happen is held by statement_effect_match_exists.
create function require_withdrawn_match() returns trigger language plpgsql as $$
begin
  if exists (select from gone g where not exists (
      select from statement_withdrawals s
      join withdrawn_matches w on w.withdrawal_id = s.id
      join statement_lines l on l.connection = w.connection and l.line_key = w.line_key and l.file_id = s.file_id
      where s.written_in = pg_current_xact_id() and w.connection = g.connection and w.line_key = g.line_key
        and (w.day, w.currency, w.moved, w.fee, w.line_seal, w.seen_at) = (g.day, g.currency, g.moved, g.fee, g.line_seal, g.seen_at)
        and (w.matched_at, w.match_seal) is not distinct from (g.matched_at, g.match_seal))) then
    raise exception 'what a line counted as goes only when its statement is withdrawn'
      using errcode = 'P0001', constraint = 'statement_matches_append_only';
  end if;
  if exists (select from (select distinct connection, currency, day from gone) g
      join closes c on c.connection = g.connection and c.currency = g.currency and c.day = g.day and c.kind = 'close'
      where not exists (select from closes r where r.connection = c.connection and r.currency = c.currency
        and r.kind = 'reopening' and r.day <= c.day and r.number > c.number)) then
    raise exception 'a line of a signed day stays' using errcode = 'P0001', constraint = 'withdrawal_not_of_signed_day';
  end if;
  if exists (select from gone g join breaks b on b.connection = g.connection and b.line_key = g.line_key
      join break_proposal_items i on i.break_id = b.id and i.result is null) then
    raise exception 'a line waits for a decision' using errcode = 'P0001', constraint = 'withdrawal_not_of_proposed_break';
  end if;
  return null;
end
$$;
drop trigger statement_matches_stay on statement_matches;
create trigger statement_matches_stay before truncate on statement_matches
  for each statement execute function refuse_change();
create trigger statement_matches_withdrawn after delete on statement_matches referencing old table as gone
  for each statement execute function require_withdrawn_match();
