-- Who may do what with which table. Applied after the migrations, again whenever this file or the schema has changed; the
-- functions and triggers that it relies on are in the migrations. test/privileges.test.ts compares it with the code.
--
--   simbi_service   what the running service is. It owns nothing: no DDL, no change of history.
--   simbi_tenant    what pages and API routes of a holder read with, while simbi.holder_id names the holder: row-level security
--                   shows the rows of that holder and no others, whatever the statement asks for.
--
-- The columns of `wanted`: the table; what the service may do; which rows a holder may read (own: those with its holder_id; an
-- expression; null: none); which columns of them are hidden. A table that is missing here can be used in full by the service and is
-- read by its holder_id: a test refuses that.

create temporary table wanted (name text primary key, service text not null, rows text, hidden text[]) on commit drop;
insert into wanted (name, service, rows, hidden) values
  -- platform
  ('applied_privileges', 'select', null, null),
  ('gateway_mode', 'select, insert', null, null),
  ('limit_buckets', 'select, insert, update, delete', null, null),
  ('limit_refusals', 'select, insert, update, delete', null, null),
  ('limit_sharers', 'select, insert, update, delete', null, null),
  ('partition_rules', 'select', null, null),
  ('restores', 'select, insert', 'true', null),
  ('schema_migrations', 'select', null, null),
  ('vault_keys', 'select, insert, update', null, null),
  -- holders
  ('approval_rule_changes', 'select, insert, update', 'own', null),
  ('audit_chain', 'select', null, null),
  ('audit_log', 'select, insert', 'own', null),
  ('audit_streams', 'select', null, null),
  ('change_count', 'select, update', 'true', null),
  ('guesses', 'select, insert, update, delete', null, null),
  ('holders', 'select, insert, update', 'id = (select simbi_holder())', null),
  ('idempotency_keys', 'select, insert, update, delete', 'own', null),
  ('integration_secrets', 'select, insert, update, delete', 'integration_id in (select id from integrations)', '{sealed}'),
  ('integrations', 'select, insert, update', 'own', null),
  ('invitations', 'select, insert, update', 'own', null),
  ('known_browsers', 'select, insert, update, delete', null, null),
  ('login_links', 'select, insert, update, delete', null, null),
  ('mails', 'select, insert, update, delete', null, null),
  ('members', 'select, insert, update', 'id in (select member_id from memberships)',
    '{password_hash, totp_pending, totp_last_step, passkey_user_id, credentials_version}'),
  ('memberships', 'select, insert, update, delete', 'own', null),
  ('passkey_challenges', 'select, insert, delete', null, null),
  ('passkeys', 'select, insert, update, delete', 'member_id in (select member_id from memberships)',
    '{credential_id, public_key, counter, transports, name, created_at, last_used_at}'),
  ('recovery_codes', 'select, insert, update, delete', null, null),
  ('refund_limits', 'select, insert, update', 'own', null),
  ('request_log', 'select, insert', 'own', null),
  ('role_changes', 'select, insert, update', 'own', null),
  ('security_notices', 'select, insert, update, delete', null, null),
  ('sessions', 'select, insert, update, delete', 'member_id in (select member_id from memberships)',
    '{token_hash, user_agent, address, confirmed_until, enrol_until, credentials_version, holder_id}'),
  ('sign_ups', 'select, insert, update, delete', null, null),
  ('spent_signatures', 'select, insert, delete', null, null),
  ('tokens', 'select, insert, update, delete', 'integration_id in (select id from integrations)', '{secret_hash}'),
  ('unverified_requests', 'select, insert, delete', 'own', null),
  -- ledger: balances and transfers change by post_transfers only; a lock needs the right to change one column
  ('ledger_accounts', 'select, insert, update (updated_at)', 'own', null),
  ('ledger_blocks', 'select, insert', null, null),
  ('ledger_heads', 'select, insert', null, null),
  ('ledger_identity', 'select', null, null),
  ('ledger_lost_heads', 'select, insert', null, null),
  ('ledger_partition_blocks', 'select, insert', null, null),
  ('ledger_positions', 'select', 'own', null),
  ('ledger_sealed', 'select, insert, update', 'own', null),
  ('ledger_shipped', 'select, insert, update', null, null),
  ('ledger_transfers', 'select', 'own', null),
  ('wallets', 'select, insert', 'own', null),
  -- payments
  ('archived_months', 'select', 'true', null),
  ('balance_reads', 'select, insert, update', null, null),
  ('blocked_numbers', 'select, insert, update, delete', 'own', null),
  ('cases', 'select, insert, update', 'own', null),
  ('decisions', 'select, insert, update', 'own', null),
  ('dispute_evidence', 'select, insert', 'own', null),
  ('disputes', 'select, insert, update', 'own', null),
  ('evidence', 'select, insert', 'own', null),
  ('fee_overrides', 'select, insert, update, delete', 'own', null),
  ('float_hours', 'select, insert, delete', null, null),
  ('float_settings', 'select, insert, update, delete', null, null),
  ('float_states', 'select, insert, update, delete', null, null),
  ('float_waits', 'select, insert, update, delete', 'own', null),
  ('held_parts', 'select, insert, update', 'own', null),
  ('incoming_payments', 'select, insert, update', 'own', null),
  ('limit_parts', 'select, insert, delete', 'own', null),
  ('limit_uses', 'select, insert, update, delete', 'own', null),
  ('number_limits', 'select, insert, update, delete', null, null),
  ('operator_balances', 'select, insert, update', null, null),
  ('operator_hints', 'select, insert, update, delete', 'own', null),
  ('operator_inbox', 'select, insert, update, delete', null, null),
  ('operator_receipts', 'select, insert, update', 'own', null),
  ('payer_steps', 'select, insert, update', 'own', null),
  ('payment_instructions', 'select, insert', 'own', null),
  ('payment_jobs', 'select, insert, update, delete', 'own', null),
  ('payment_limits', 'select, insert, update, delete', 'own', null),
  ('payout_batches', 'select, insert, update', 'own', null),
  ('payout_orders', 'select, insert, update', 'own', null),
  ('prepared_calls', 'select, insert, update', null, null),
  ('quarantined_reports', 'select, insert, update', 'own', null),
  ('refund_orders', 'select, insert, update', 'own', null),
  ('refund_totals', 'select, insert, update', 'own', null),
  ('rejected_callbacks', 'select, insert, update, delete', null, null),
  ('reserve_rules', 'select, insert, update, delete', 'own', null),
  ('transaction_notes', 'select, insert', 'own', null),
  ('transaction_retries', 'select, insert', 'own', null),
  ('transactions', 'select, insert, update (status, rail_reference, receipt, failure_code, failure_message, balance_after, '
    'updated_at, settled_at, amount, fee)', 'own', null),
  ('unmatched_reports', 'select, insert, update', 'own', null),
  ('verification_tokens', 'select, insert, update, delete', null, null),
  ('verify_runs', 'select, insert, update, delete', null, null),
  -- rails: what the gateway itself has with operators
  ('connection_tokens', 'select, insert, update, delete', null, null),
  ('connections', 'select, insert, update', null, null),
  ('open_breakers', 'select, insert, update, delete', null, null),
  ('operator_calls', 'select, insert, delete', null, null),
  ('routes', 'select, insert, delete', null, null),
  -- books: the gateway's own accounts with operators, no holder's
  ('break_proposal_items', 'select, insert, update', null, null),
  ('break_proposals', 'select, insert, update', null, null),
  ('bank_accounts', 'select, insert', null, null),
  ('breaks', 'select, insert, update', null, null),
  ('close_items', 'select, insert', null, null),
  ('close_rules', 'select, insert, update', null, null),
  ('closes', 'select, insert', null, null),
  ('fee_bookings', 'select, insert', null, null),
  ('operator_settlements', 'select, insert, update', null, null),
  ('statement_effects', 'select, insert', null, null),
  ('statement_matches', 'select, insert, update, delete', null, null),
  ('statement_file_parts', 'select, insert', null, null),
  ('statement_fetches', 'select, insert, update, delete', null, null),
  ('statement_files', 'select, insert, update', null, null),
  ('statement_lines', 'select, insert, delete', null, null),
  ('statement_mappings', 'select, insert, update', null, null),
  ('statement_problems', 'select, insert, delete', null, null),
  ('statement_withdrawals', 'select, insert', null, null),
  ('withdrawn_matches', 'select, insert', null, null),
  -- links and checkout
  ('checkout_attempts', 'select, insert, update', 'own', null),
  ('link_visits', 'select, insert, update', 'own', null),
  ('logos', 'select, insert', 'true', null),
  ('payment_links', 'select, insert, update', 'own', null),
  ('receipt_text_settings', 'select, insert, update', 'own', null),
  ('receipt_texts', 'select, insert, update', 'own', null),
  ('receipts', 'select, insert', 'own', null),
  -- books
  ('monthly_statement_parts', 'select, insert', 'own', null),
  ('monthly_statements', 'select, insert', 'own', null),
  ('settlement_rules', 'select, insert, update', 'own', null),
  ('settlements', 'select, insert, update', 'own', null),
  -- callbacks
  ('callback_attempts', 'select, insert', 'own', null),
  ('callback_deliveries', 'select, insert, update, delete', 'own', null),
  ('callback_pauses', 'select, insert, delete', 'own', null),
  ('callback_receivers', 'select, insert, update, delete', 'own', null),
  ('event_feeds', 'select, insert, update', 'own', null),
  ('events', 'select, insert', 'own', null),
  -- console
  ('daily_figures', 'select, insert, update', 'own', null),
  ('notification_choices', 'select, insert, update', 'own', null),
  ('notifications_sent', 'select, insert, delete', 'own', null),
  ('saved_filters', 'select, insert, update, delete', 'own', null),
  ('used_forms', 'select, insert, delete', 'own', null),
  -- sandbox
  ('sandbox_announcements', 'select, insert, update, delete', null, null),
  ('sandbox_mails', 'select, insert, delete', null, null),
  ('sandbox_messages', 'select, insert, delete', null, null),
  ('sandbox_payments', 'select, insert, update, delete', null, null),
  ('sandbox_phones', 'select, insert, update', null, null),
  ('sandbox_refunds', 'select, insert, update, delete', null, null),
  ('sandbox_unmatched_money', 'select, insert, delete', null, null);

-- The holder that a statement reads for. Without one there is no row.
create or replace function simbi_holder() returns bigint language sql stable parallel safe
  as $$ select nullif(current_setting('simbi.holder_id', true), '')::bigint $$;

do $$
declare
  each record;
begin
  for each in
    select c.oid::regclass as name, coalesce(w.service, 'select, insert, update, delete') as service,
      (select string_agg(quote_ident(a.attname), ', ') from pg_attribute a
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname <> all (w.hidden)) as shown,
      case when w.rows = 'own' or (w.name is null and h.attnum is not null)
        then 'holder_id = simbi_holder()' else w.rows end as rows,
      h.attnum is not null or w.rows is not null as guarded,
      c.relrowsecurity as was_guarded,
      exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'of_service') as has_service,
      (select coalesce(obj_description(p.oid, 'pg_policy'),
         -- Policies from before they had comments.
         case pg_get_expr(p.polqual, p.polrelid) when 'true' then 'true'
           when '(holder_id = ( SELECT simbi_holder() AS simbi_holder))' then 'holder_id = (select simbi_holder())' else '' end)
       from pg_policy p where p.polrelid = c.oid and p.polname = 'of_tenant') as had_rows
    from pg_class c
    left join wanted w on w.name = c.relname
    left join pg_attribute h on h.attrelid = c.oid and h.attname = 'holder_id' and not h.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname
  loop
    execute format('revoke all on %s from public, simbi_service, simbi_tenant', each.name);
    execute format('grant %s on %s to simbi_service', each.service, each.name);
    if each.guarded and each.rows is not null then
      execute format('grant select %s on %s to simbi_tenant', coalesce('(' || each.shown || ')', ''), each.name);
    end if;
    -- Grants lock nothing, policies lock the table: only what is different is changed, because the service may be running. The
    -- comment of a policy is its condition as written here; the database would give it back in another form.
    if each.had_rows is not null and (not each.guarded or each.rows is distinct from each.had_rows) then
      execute format('drop policy of_tenant on %s', each.name);
    end if;
    if each.has_service and not each.guarded then
      execute format('drop policy of_service on %s', each.name);
    end if;
    -- Row-level security does not hold for the owner, which migrates, backs up and restores.
    if each.guarded <> each.was_guarded then
      execute format('alter table %s %s row level security', each.name, case when each.guarded then 'enable' else 'disable' end);
    end if;
    continue when not each.guarded;
    if not each.has_service then
      execute format('create policy of_service on %s to simbi_service using (true) with check (true)', each.name);
    end if;
    continue when each.rows is null or each.rows = each.had_rows;
    execute format('create policy of_tenant on %s for select to simbi_tenant using (%s)', each.name, each.rows);
    execute format('comment on policy of_tenant on %s is %L', each.name, each.rows);
  end loop;
  -- A backup reads where each sequence stands.
  for each in select c.oid::regclass as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'S' loop
    execute format('grant select on sequence %s to simbi_service', each.name);
  end loop;
  -- A view shows what the reader may see, not what its owner may.
  for each in select c.oid::regclass as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'v' loop
    execute format('alter view %s set (security_invoker = true)', each.name);
    execute format('grant select on %s to simbi_service, simbi_tenant', each.name);
  end loop;
  -- Functions with the rights of the owner are for the service only.
  for each in select p.oid::regprocedure as name from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef loop
    execute format('revoke all on function %s from public, simbi_tenant', each.name);
    execute format('grant execute on function %s to simbi_service', each.name);
  end loop;
end
$$;

-- On several servers (`simbi distribute`) one role writes in a transaction, so the service posts with its own rights; triggers
-- refuse what does not come from post_transfers.
do $$
declare
  each record;
begin
  if to_regproc('store_is_distributed') is not null then
    grant insert on ledger_transfers to simbi_service;
    grant insert, update (position) on ledger_positions to simbi_service;
    grant update (balance, updated_at) on ledger_accounts to simbi_service;
    for each in select oid::regprocedure as name from pg_proc where proname = 'post_transfers' loop
      execute format('alter function %s security invoker', each.name);
    end loop;
  end if;
end
$$;

revoke create on schema public from public;
grant usage on schema public to simbi_service, simbi_tenant;
