-- What is final stays final, whoever asks: the same rules as src/payments/states.ts, in the database. And money moves by
-- post_transfers alone, which now has the rights to it; the service has none on the rows of transfers and on balances.

create function refuse_transition() returns trigger language plpgsql as $$
begin
  raise exception 'transaction % is % and cannot become %', old.id, old.status, new.status
    using errcode = 'P0001', constraint = 'transaction_final_state', table = 'transactions';
end
$$;

-- The condition is the table of states, so that the function is only called to refuse. One update may go through two states:
-- pending or failed, then success, then reversed.
create trigger transactions_keep_final_states before update of status on transactions
  for each row when (
    old.status <> new.status and not (
      (old.status = 'pending')
      or (old.status = 'processing' and new.status <> 'pending')
      or (old.status in ('failed', 'expired') and new.status in ('success', 'reversed'))
      or (old.status = 'success' and new.status = 'reversed')))
  execute function refuse_transition();

create function refuse_new_terms() returns trigger language plpgsql as $$
begin
  raise exception 'the amount of transaction % was paid and cannot change', old.id
    using errcode = 'P0001', constraint = 'transaction_paid_amount', table = 'transactions';
end
$$;

create trigger transactions_keep_paid_amounts before update of amount, fee, currency, direction on transactions
  for each row when (
    (old.status in ('success', 'reversed') and (old.amount <> new.amount or old.fee <> new.fee))
    or old.currency <> new.currency or old.direction <> new.direction)
  execute function refuse_new_terms();

create trigger transactions_stay before delete or truncate on transactions
  for each statement execute function refuse_change();

-- History: their partitions are dropped whole when they are old, no row is changed.
create trigger events_append_only before update or delete or truncate on events
  for each statement execute function refuse_change();
create trigger callback_attempts_append_only before update or delete or truncate on callback_attempts
  for each statement execute function refuse_change();

create function refuse_reopening() returns trigger language plpgsql as $$
begin
  raise exception '% % was decided and cannot change', tg_table_name, old.id
    using errcode = 'P0001', constraint = tg_table_name || '_final_state', table = tg_table_name;
end
$$;

create trigger decisions_keep_final_states before update on decisions
  for each row when (old.status <> 'proposed') execute function refuse_reopening();
-- Its words may still be completed in the transaction that closed it, which gives the same moment.
create trigger cases_keep_final_states before update on cases
  for each row when (
    old.status = 'resolved' and (
      new.status <> 'resolved' or new.resolved_at <> old.resolved_at
      or new.amount is distinct from old.amount or new.settled <> old.settled))
  execute function refuse_reopening();

alter function post_transfers(bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], uuid[], transfer_kind[], text[], timestamptz)
  security definer set search_path = public, pg_temp;
