-- A statement may have a million lines. When it was withdrawn, every line was compared with every other one, because the planner knows
-- nothing yet of rows that were written in the same transaction. Now what each of them counted as is found by its key.

create or replace function require_withdrawn_match() returns trigger language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  withdrawals bigint[] := array(select id from statement_withdrawals where written_in = pg_current_xact_id());
begin
  -- A question for each line, by whole keys only. The planner knows nothing of these rows and would take any other index, or a join.
  if exists (select from gone g where not coalesce((
      select bool_or((w.connection, w.day, w.currency, w.moved, w.fee, w.line_seal, w.seen_at, w.matched_at, w.match_seal)
          is not distinct from (g.connection, g.day, g.currency, g.moved, g.fee, g.line_seal, g.seen_at, g.matched_at, g.match_seal)
        and (select s.file_id from statement_withdrawals s where s.id = w.withdrawal_id)
          = (select l.file_id from statement_lines l where l.connection = g.connection and l.line_key = g.line_key))
      from withdrawn_matches w where w.withdrawal_id = any (withdrawals) and w.line_key = g.line_key), false)) then
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
