-- What the migrations make together, for reading and for review. Written by: npm run schema
-- Partitions are left out: the service makes and drops them while it runs.

create type transfer_kind as enum ('collection', 'collection_fee', 'collection_reversal', 'collection_fee_reversal', 'payout_reserve', 'payout', 'payout_fee', 'payout_release', 'payout_reversal', 'payout_fee_reversal', 'suspense', 'suspense_resolution', 'suspense_resolution_fee', 'suspense_return', 'sandbox_top_up');

CREATE OR REPLACE FUNCTION public.apply_transfers()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
declare
  touched bigint;
  moved bigint;
begin
  with side as (
    select debit_account as account, currency, -amount as change, debit_balance as balance, posted_at, id from posted
    union all
    select credit_account, currency, amount, credit_balance, posted_at, id from posted
  ), net as (
    select account, currency, sum(change)::bigint as change, min(posted_at) as first_at, max(posted_at) as last_at,
      (array_agg(balance order by id desc))[1] as balance
    from side group by account, currency
  ), change as (
    update ledger_accounts set balance = net.balance, updated_at = net.last_at
    from net
    where ledger_accounts.id = net.account and ledger_accounts.currency = net.currency
      and ledger_accounts.balance + net.change = net.balance and ledger_accounts.updated_at <= net.first_at
    returning 1
  )
  select (select count(*) from net), (select count(*) from change) into touched, moved;
  if touched <> moved then
    raise exception 'a transfer does not fit its accounts: unknown account, other currency, or stale balance'
      using errcode = '23514', constraint = 'transfer_fits_accounts', table = 'ledger_transfers';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.count_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update change_count set version = version + 1;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_account_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'ledger accounts change only by transfers' using errcode = 'P0001', constraint = 'account_follows_transfers';
end
$function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'P0001', constraint = tg_table_name || '_append_only';
end
$function$;

create table audit_log (
  id bigint not null generated always as identity,
  at timestamp with time zone not null,
  holder_id bigint,
  member_id bigint,
  actor text not null,
  action text not null,
  subject text not null default ''::text,
  details jsonb not null default '{}'::jsonb,
  constraint audit_log_pkey PRIMARY KEY (id),
  constraint audit_log_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint audit_log_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
CREATE INDEX audit_log_by_holder ON public.audit_log USING btree (holder_id, id DESC);
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table callback_attempts (
  at timestamp with time zone not null,
  event_id uuid not null,
  number integer not null,
  delivered boolean not null,
  signature text not null,
  status smallint,
  answer_headers jsonb,
  answer_start bytea,
  latency_ms integer not null,
  error text
) partition by RANGE (at);
CREATE INDEX callback_attempts_by_event ON ONLY public.callback_attempts USING btree (event_id);

create table callback_deliveries (
  event_id uuid not null,
  transaction_id uuid not null,
  holder_id bigint not null,
  integration_id bigint not null,
  origin text not null,
  url text not null,
  attempts integer not null default 0,
  leased boolean not null,
  due_at timestamp with time zone not null,
  tried_at timestamp with time zone,
  started_at timestamp with time zone not null,
  constraint delivery_once PRIMARY KEY (event_id)
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=2000, fillfactor=80);
CREATE INDEX callback_deliveries_waiting ON public.callback_deliveries USING btree (origin, due_at) WHERE (NOT leased);

create table callback_pauses (
  holder_id bigint not null,
  integration_id bigint not null,
  url text not null,
  paused_at timestamp with time zone not null,
  constraint callback_pause_once PRIMARY KEY (integration_id, url)
);

create table callback_receivers (
  origin text not null,
  failing_since timestamp with time zone not null,
  last_error text not null,
  probe_at timestamp with time zone not null,
  recovered_at timestamp with time zone,
  constraint callback_receivers_pkey PRIMARY KEY (origin)
);

create table cases (
  id uuid not null,
  holder_id bigint,
  transaction_id uuid,
  kind text not null,
  detail jsonb not null default '{}'::jsonb,
  status text not null default 'open'::text,
  opened_at timestamp with time zone not null,
  resolved_at timestamp with time zone,
  resolved_by text,
  resolution text,
  constraint cases_pkey PRIMARY KEY (id),
  constraint case_status_known CHECK ((status = ANY (ARRAY['open'::text, 'resolved'::text])))
);
CREATE UNIQUE INDEX case_open_once ON public.cases USING btree (transaction_id, kind) WHERE ((status = 'open'::text) AND (kind <> ALL (ARRAY['wrong_amount'::text, 'second_payment'::text])));
CREATE INDEX cases_open_by_holder ON public.cases USING btree (holder_id, opened_at DESC) WHERE (status = 'open'::text);

create table change_count (
  single boolean not null default true,
  version bigint not null default 0,
  constraint change_count_pkey PRIMARY KEY (single),
  constraint change_count_single CHECK (single)
);

create table checkout_attempts (
  transaction_id uuid not null,
  link_id uuid not null,
  form_id bytea not null,
  single_use boolean not null,
  live boolean not null default true,
  msisdn text not null,
  first_name text,
  last_name text,
  email text,
  created_at timestamp with time zone not null,
  constraint checkout_attempts_pkey PRIMARY KEY (transaction_id),
  constraint attempt_once_per_form UNIQUE (link_id, form_id),
  constraint attempt_email_length CHECK ((char_length(email) <= 254)),
  constraint attempt_first_name_length CHECK ((char_length(first_name) <= 120)),
  constraint attempt_form_id_length CHECK ((octet_length(form_id) = 15)),
  constraint attempt_last_name_length CHECK ((char_length(last_name) <= 120)),
  constraint checkout_attempts_link_id_fkey FOREIGN KEY (link_id) REFERENCES payment_links(id)
);
CREATE UNIQUE INDEX attempt_one_live ON public.checkout_attempts USING btree (link_id) WHERE (live AND single_use);
CREATE INDEX checkout_attempts_by_number ON public.checkout_attempts USING btree (msisdn, created_at DESC);

create table daily_figures (
  holder_id bigint not null,
  day date not null,
  counted_at timestamp with time zone not null,
  figures jsonb not null,
  constraint daily_figures_once PRIMARY KEY (holder_id, day),
  constraint daily_figures_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);

create table event_feed (
  single boolean not null default true,
  position_offset bigint not null default 0,
  constraint event_feed_pkey PRIMARY KEY (single),
  constraint event_feed_single CHECK (single)
);

create table events (
  transaction_id uuid not null,
  type text not null,
  sequence smallint not null,
  id uuid not null,
  position bigint not null,
  holder_id bigint not null,
  integration_id bigint,
  url text,
  body bytea not null,
  created_at timestamp with time zone not null,
  constraint event_once_per_transition PRIMARY KEY (transaction_id, type, sequence)
) partition by RANGE (transaction_id);
CREATE INDEX events_by_holder ON ONLY public.events USING btree (holder_id, "position", id);
CREATE INDEX events_by_id ON ONLY public.events USING btree (id);

create table evidence (
  transaction_id uuid not null,
  at timestamp with time zone not null,
  source text not null,
  state text not null,
  receipt text,
  failure_code text,
  effect text not null,
  raw text not null default ''::text,
  constraint evidence_source_known CHECK ((source = ANY (ARRAY['submit'::text, 'callback'::text, 'poll'::text, 'verification'::text, 'statement'::text, 'person'::text])))
);
CREATE INDEX evidence_by_transaction ON public.evidence USING btree (transaction_id);
CREATE TRIGGER evidence_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON evidence FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table fee_overrides (
  holder_id bigint not null,
  method text not null,
  direction text not null,
  basis_points bigint not null,
  fixed bigint not null,
  least bigint not null,
  most bigint,
  updated_at timestamp with time zone not null,
  constraint fee_overrides_pkey PRIMARY KEY (holder_id, method, direction),
  constraint fee_override_direction_known CHECK ((direction = ANY (ARRAY['collection'::text, 'payout'::text]))),
  constraint fee_override_fixed_sane CHECK ((fixed >= 0)),
  constraint fee_override_least_sane CHECK (("least" >= 0)),
  constraint fee_override_most_sane CHECK ((most >= 0)),
  constraint fee_override_share_sane CHECK (((basis_points >= 0) AND (basis_points <= 10000))),
  constraint fee_overrides_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
CREATE TRIGGER fee_overrides_counted AFTER INSERT OR DELETE OR UPDATE ON fee_overrides FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table holders (
  id bigint not null generated always as identity,
  name text not null,
  status text not null default 'active'::text,
  payouts_need_approval boolean not null default false,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint holders_pkey PRIMARY KEY (id),
  constraint holder_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120))),
  constraint holder_status_known CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text, 'closed'::text])))
);
CREATE TRIGGER holders_counted AFTER INSERT OR DELETE OR UPDATE OF status, name ON holders FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table idempotency_keys (
  integration_id bigint not null,
  key text not null,
  operation text not null,
  params_hash bytea not null,
  answer json not null,
  created_at timestamp with time zone not null,
  constraint idempotency_key_once PRIMARY KEY (integration_id, key),
  constraint idempotency_key_length CHECK (((char_length(key) >= 1) AND (char_length(key) <= 128))),
  constraint idempotency_keys_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id)
);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING brin (created_at);

create table incoming_payments (
  rail text not null,
  receipt text not null,
  account_reference text,
  amount bigint not null,
  currency text not null,
  payer text,
  transaction_id uuid,
  outcome text not null,
  case_id uuid,
  received_at timestamp with time zone not null,
  constraint incoming_payment_once PRIMARY KEY (rail, receipt),
  constraint incoming_amount_positive CHECK ((amount > 0)),
  constraint incoming_outcome_known CHECK ((outcome = ANY (ARRAY['matched'::text, 'suspense'::text])))
);

create table integration_secrets (
  integration_id bigint not null,
  kind text not null,
  slot smallint not null,
  sealed bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  constraint integration_secrets_pkey PRIMARY KEY (integration_id, kind, slot),
  constraint secret_kind_known CHECK ((kind = ANY (ARRAY['api'::text, 'callback'::text]))),
  constraint secret_slot_known CHECK ((slot = ANY (ARRAY[1, 2]))),
  constraint integration_secrets_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id)
);
CREATE TRIGGER integration_secrets_counted AFTER INSERT OR DELETE OR UPDATE ON integration_secrets FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table integrations (
  id bigint not null generated always as identity,
  holder_id bigint not null,
  client_id text not null,
  title text not null,
  status text not null default 'active'::text,
  allowed_addresses text[] not null default '{}'::text[],
  default_callback_url text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  constraint integrations_pkey PRIMARY KEY (id),
  constraint integration_client_id_unique UNIQUE (client_id),
  constraint integration_status_known CHECK ((status = ANY (ARRAY['active'::text, 'revoked'::text]))),
  constraint integration_title_length CHECK (((char_length(title) >= 1) AND (char_length(title) <= 120))),
  constraint integrations_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
CREATE INDEX integrations_by_holder ON public.integrations USING btree (holder_id);
CREATE TRIGGER integrations_counted AFTER INSERT OR DELETE OR UPDATE OF title, status, allowed_addresses, default_callback_url ON integrations FOR EACH STATEMENT EXECUTE FUNCTION count_change();

create table invitations (
  id bigint not null generated always as identity,
  token_hash bytea not null,
  holder_id bigint not null,
  email text not null,
  role text not null,
  invited_by text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  withdrawn_at timestamp with time zone,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitation_token_unique UNIQUE (token_hash),
  constraint invitation_email_plain CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
  constraint invitation_role_known CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'finance'::text, 'viewer'::text]))),
  constraint invitations_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
CREATE INDEX invitations_by_holder ON public.invitations USING btree (holder_id, id DESC);

create table ledger_accounts (
  id bigint not null generated always as identity,
  balance bigint not null default 0,
  updated_at timestamp with time zone not null,
  may_go_negative boolean not null,
  wallet_account integer,
  currency text not null,
  kind text not null,
  key text collate "C" not null,
  constraint ledger_accounts_pkey PRIMARY KEY (id),
  constraint account_key_unique UNIQUE (key),
  constraint account_once_per_wallet UNIQUE (wallet_account, kind),
  constraint account_floor_fixed CHECK ((may_go_negative = (kind = ANY (ARRAY['operator_clearing'::text, 'suspense'::text, 'sandbox_funding'::text])))),
  constraint account_kind_known CHECK ((kind = ANY (ARRAY['wallet_available'::text, 'wallet_reserved'::text, 'operator_clearing'::text, 'fee_income'::text, 'suspense'::text, 'sandbox_funding'::text]))),
  constraint account_not_overdrawn CHECK (((balance >= 0) OR may_go_negative)),
  constraint account_wallet_named CHECK (((wallet_account IS NOT NULL) = (kind = ANY (ARRAY['wallet_available'::text, 'wallet_reserved'::text])))),
  constraint ledger_accounts_wallet_account_fkey FOREIGN KEY (wallet_account) REFERENCES wallets(wallet_account)
) with (fillfactor=25);
CREATE TRIGGER ledger_accounts_follow_transfers BEFORE UPDATE ON ledger_accounts FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_account_change();
CREATE TRIGGER ledger_accounts_stay BEFORE DELETE OR TRUNCATE ON ledger_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_account_change();

create table ledger_blocks (
  number bigint not null,
  after_id bigint not null,
  last_id bigint not null,
  transfers integer not null,
  previous_hash bytea not null,
  hash bytea not null,
  sealed_at timestamp with time zone not null,
  constraint block_number_once PRIMARY KEY (number),
  constraint block_follows_once UNIQUE (after_id),
  constraint block_goes_forward CHECK ((last_id > after_id)),
  constraint block_not_empty CHECK ((transfers > 0))
);
CREATE TRIGGER ledger_blocks_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_blocks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table ledger_transfers (
  batch xid8 not null default pg_current_xact_id(),
  id bigint not null generated always as identity,
  debit_account bigint not null,
  credit_account bigint not null,
  amount bigint not null,
  debit_balance bigint not null,
  credit_balance bigint not null,
  posted_at timestamp with time zone not null,
  transaction_id uuid not null,
  kind transfer_kind not null,
  currency text not null,
  constraint ledger_transfers_pkey PRIMARY KEY (id),
  constraint transfer_posted_once UNIQUE (transaction_id, kind),
  constraint transfer_amount_positive CHECK ((amount > 0)),
  constraint transfer_between_two CHECK ((debit_account <> credit_account))
);
CREATE INDEX ledger_transfers_by_credit ON public.ledger_transfers USING btree (credit_account, posted_at);
CREATE INDEX ledger_transfers_by_debit ON public.ledger_transfers USING btree (debit_account, posted_at);
CREATE UNIQUE INDEX reserve_concluded_once ON public.ledger_transfers USING btree (transaction_id, debit_account) WHERE (kind = ANY (ARRAY['payout'::transfer_kind, 'payout_release'::transfer_kind]));
CREATE TRIGGER ledger_transfers_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_transfers_move_money AFTER INSERT ON ledger_transfers REFERENCING NEW TABLE AS posted FOR EACH STATEMENT EXECUTE FUNCTION apply_transfers();

create table login_links (
  token_hash bytea not null,
  member_id bigint not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint login_links_pkey PRIMARY KEY (token_hash),
  constraint login_links_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);

create table logos (
  hash bytea not null,
  webp bytea not null,
  created_at timestamp with time zone not null,
  constraint logos_pkey PRIMARY KEY (hash),
  constraint logo_hash_length CHECK ((octet_length(hash) = 32)),
  constraint logo_size_bounded CHECK (((octet_length(webp) >= 1) AND (octet_length(webp) <= 65536)))
);

create table members (
  id bigint not null generated always as identity,
  email text not null,
  name text not null,
  password_hash text,
  totp_sealed bytea,
  is_admin boolean not null default false,
  created_at timestamp with time zone not null,
  totp_pending bytea,
  totp_last_step bigint,
  constraint members_pkey PRIMARY KEY (id),
  constraint member_email_unique UNIQUE (email),
  constraint member_email_plain CHECK (((email = lower(email)) AND ((char_length(email) >= 3) AND (char_length(email) <= 254)))),
  constraint member_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 120)))
);

create table memberships (
  member_id bigint not null,
  holder_id bigint not null,
  role text not null,
  created_at timestamp with time zone not null,
  constraint memberships_pkey PRIMARY KEY (member_id, holder_id),
  constraint membership_role_known CHECK ((role = ANY (ARRAY['owner'::text, 'developer'::text, 'finance'::text, 'viewer'::text]))),
  constraint memberships_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint memberships_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
CREATE INDEX memberships_by_holder ON public.memberships USING btree (holder_id);

create table operator_inbox (
  id bigint not null generated always as identity,
  rail text not null,
  path text not null,
  headers jsonb not null,
  body bytea not null,
  received_at timestamp with time zone not null,
  due_at timestamp with time zone not null,
  constraint operator_inbox_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, fillfactor=50);
CREATE INDEX operator_inbox_due ON public.operator_inbox USING btree (due_at);

create table payment_instructions (
  account_reference text not null,
  transaction_id uuid not null,
  rail text not null,
  pay_to jsonb not null,
  expires_at timestamp with time zone not null,
  constraint payment_instructions_pkey PRIMARY KEY (account_reference)
);
CREATE INDEX payment_instructions_by_transaction ON public.payment_instructions USING btree (transaction_id);

create table payment_jobs (
  transaction_id uuid not null,
  kind text not null,
  due_at timestamp with time zone not null,
  attempts integer not null default 0,
  since timestamp with time zone not null,
  submitted_at timestamp with time zone,
  constraint payment_jobs_pkey PRIMARY KEY (transaction_id),
  constraint payment_job_kind_known CHECK ((kind = ANY (ARRAY['send_token'::text, 'submit'::text, 'query'::text, 'expire'::text, 'approval'::text])))
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, fillfactor=50);
CREATE INDEX payment_jobs_due ON public.payment_jobs USING btree (due_at);

create table payment_links (
  id uuid not null,
  holder_id bigint not null,
  integration_id bigint,
  business_name text,
  item_name text,
  callback_url text,
  redirection_url text,
  currency text not null,
  amount bigint,
  logo_hash bytea,
  country_id smallint not null,
  currency_country_id smallint,
  first_name text,
  last_name text,
  email text,
  phone text,
  accent_colour text,
  expires_at timestamp with time zone,
  reusable boolean not null default false,
  status text not null default 'active'::text,
  payments_count bigint not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint payment_links_pkey PRIMARY KEY (id),
  constraint link_accent_colour_form CHECK ((accent_colour ~ '^#[0-9a-f]{6}$'::text)),
  constraint link_amount_positive CHECK ((amount > 0)),
  constraint link_business_name_length CHECK (((char_length(business_name) >= 1) AND (char_length(business_name) <= 120))),
  constraint link_callback_url_http CHECK (((callback_url ~* '^https?://'::text) AND (char_length(callback_url) <= 2048))),
  constraint link_currency_form CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint link_email_length CHECK (((char_length(email) >= 3) AND (char_length(email) <= 254))),
  constraint link_first_name_length CHECK (((char_length(first_name) >= 1) AND (char_length(first_name) <= 120))),
  constraint link_item_name_length CHECK (((char_length(item_name) >= 1) AND (char_length(item_name) <= 120))),
  constraint link_last_name_length CHECK (((char_length(last_name) >= 1) AND (char_length(last_name) <= 120))),
  constraint link_payments_counted CHECK ((payments_count >= 0)),
  constraint link_phone_digits CHECK ((phone ~ '^[0-9]{7,15}$'::text)),
  constraint link_redirection_url_http CHECK (((redirection_url ~* '^https?://'::text) AND (char_length(redirection_url) <= 2048))),
  constraint link_status_known CHECK ((status = ANY (ARRAY['active'::text, 'paid'::text, 'expired'::text, 'disabled'::text]))),
  constraint payment_links_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint payment_links_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id),
  constraint payment_links_logo_hash_fkey FOREIGN KEY (logo_hash) REFERENCES logos(hash)
);
CREATE INDEX payment_links_by_holder ON public.payment_links USING btree (holder_id, id DESC);

create table payout_batches (
  id uuid not null,
  holder_id bigint not null,
  name text not null,
  created_by text not null,
  created_at timestamp with time zone not null,
  constraint payout_batches_pkey PRIMARY KEY (id)
);

create table payout_orders (
  transaction_id uuid not null,
  holder_id bigint not null,
  batch_id uuid,
  created_by text not null,
  created_by_member bigint,
  approved_by text,
  approved_by_member bigint,
  approved_at timestamp with time zone,
  cancelled_by text,
  cancelled_at timestamp with time zone,
  constraint payout_orders_pkey PRIMARY KEY (transaction_id),
  constraint payout_approved_by_another CHECK (((created_by_member IS NULL) OR (approved_by_member IS NULL) OR (approved_by_member <> created_by_member))),
  constraint payout_orders_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES payout_batches(id)
);
CREATE INDEX payout_orders_by_batch ON public.payout_orders USING btree (batch_id) WHERE (batch_id IS NOT NULL);
CREATE INDEX payout_orders_by_holder ON public.payout_orders USING btree (holder_id, transaction_id DESC);

create table receipts (
  code text not null,
  transaction_id uuid not null,
  created_at timestamp with time zone not null,
  constraint receipts_pkey PRIMARY KEY (code),
  constraint receipt_once UNIQUE (transaction_id),
  constraint receipt_code_form CHECK ((code ~ '^[0-9A-HJKMNP-TV-Z]{10}$'::text))
);

create table rejected_callbacks (
  id bigint not null generated always as identity,
  rail text not null,
  reason text not null,
  headers jsonb not null,
  body bytea not null,
  received_at timestamp with time zone not null,
  constraint rejected_callbacks_pkey PRIMARY KEY (id)
);

create table request_log (
  at timestamp with time zone not null,
  id uuid not null,
  holder_id bigint not null,
  integration_id bigint not null,
  transaction_id uuid,
  ms real not null,
  status smallint not null,
  route text not null,
  address text not null,
  code text
) partition by RANGE (at);
CREATE INDEX request_log_by_holder ON ONLY public.request_log USING btree (holder_id, at);

create table sandbox_announcements (
  id bigint not null generated always as identity,
  subject text not null,
  event jsonb not null,
  attempts integer not null default 0,
  due_at timestamp with time zone not null,
  constraint sandbox_announcement_id PRIMARY KEY (id)
);
CREATE INDEX sandbox_announcements_due ON public.sandbox_announcements USING btree (due_at, id);

create table sandbox_messages (
  id bigint not null generated always as identity,
  msisdn text not null,
  sender text not null,
  text text not null,
  created_at timestamp with time zone not null,
  constraint sandbox_message_id PRIMARY KEY (id)
);
CREATE INDEX sandbox_messages_by_phone ON public.sandbox_messages USING btree (msisdn, id DESC);

create table sandbox_payments (
  reference text not null,
  direction text not null,
  method text not null,
  operator text not null default ''::text,
  msisdn text not null,
  amount bigint not null,
  currency text not null,
  label text not null default ''::text,
  scenario text not null,
  status text not null,
  receipt text,
  failure_code text,
  handset text,
  dial_code text,
  account_reference text,
  pay_to jsonb,
  expires_at timestamp with time zone,
  query_contradicts boolean not null default false,
  next_step text,
  due_at timestamp with time zone,
  created_at timestamp with time zone not null,
  constraint sandbox_payment_once PRIMARY KEY (reference),
  constraint sandbox_payment_amount_positive CHECK ((amount > 0)),
  constraint sandbox_payment_direction_known CHECK ((direction = ANY (ARRAY['collection'::text, 'payout'::text]))),
  constraint sandbox_payment_handset_known CHECK ((handset = ANY (ARRAY['dial'::text, 'prompt'::text, 'undelivered'::text, 'ignored'::text, 'instructions'::text, 'approved'::text, 'wrong_pin'::text, 'cancelled'::text, 'expired'::text]))),
  constraint sandbox_payment_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text, 'reversed'::text]))),
  constraint sandbox_payment_step_known CHECK ((next_step = ANY (ARRAY['succeed'::text, 'fail'::text, 'reverse'::text, 'expire'::text])))
);
CREATE INDEX sandbox_payments_by_account ON public.sandbox_payments USING btree (account_reference) WHERE (account_reference IS NOT NULL);
CREATE INDEX sandbox_payments_by_age ON public.sandbox_payments USING brin (created_at);
CREATE INDEX sandbox_payments_by_phone ON public.sandbox_payments USING btree (msisdn, created_at DESC) WHERE (handset IS NOT NULL);
CREATE INDEX sandbox_payments_due ON public.sandbox_payments USING btree (due_at) WHERE (due_at IS NOT NULL);

create table sandbox_phones (
  msisdn text not null,
  is_on boolean not null default true,
  version bigint not null default 0,
  constraint sandbox_phone_once PRIMARY KEY (msisdn)
);

create table schema_migrations (
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null,
  constraint schema_migrations_pkey PRIMARY KEY (version)
);

create table sessions (
  id bigint not null generated always as identity,
  member_id bigint not null,
  token_hash bytea not null,
  user_agent text not null default ''::text,
  address text not null default ''::text,
  created_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  confirmed_until timestamp with time zone,
  revoked_at timestamp with time zone,
  holder_id bigint,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint session_token_unique UNIQUE (token_hash),
  constraint sessions_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id),
  constraint sessions_member_id_fkey FOREIGN KEY (member_id) REFERENCES members(id)
);
CREATE INDEX sessions_by_member ON public.sessions USING btree (member_id);

create table spent_signatures (
  signed_at timestamp with time zone not null,
  signature bytea not null,
  constraint signature_spent_once PRIMARY KEY (signed_at, signature)
) partition by RANGE (signed_at);

create table tokens (
  id bigint not null generated always as identity,
  integration_id bigint not null,
  secret_hash bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  constraint tokens_pkey PRIMARY KEY (id),
  constraint tokens_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id)
);
CREATE INDEX tokens_by_integration ON public.tokens USING btree (integration_id);

create table transactions (
  id uuid not null,
  holder_id bigint not null,
  integration_id bigint,
  direction text not null,
  status text not null,
  amount bigint not null,
  fee bigint not null,
  currency text not null,
  country_id smallint not null,
  method text not null,
  rail text not null,
  msisdn text,
  payee text,
  invoice_no text,
  account_number text,
  detail text not null default ''::text,
  reference_1 text,
  reference_2 text,
  callback_url text,
  link_id uuid,
  verification text not null,
  rail_reference text,
  receipt text,
  failure_code text,
  failure_message text,
  balance_after bigint,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  settled_at timestamp with time zone,
  constraint transactions_pkey PRIMARY KEY (id),
  constraint transaction_amount_positive CHECK ((amount > 0)),
  constraint transaction_direction_known CHECK ((direction = ANY (ARRAY['payin'::text, 'payout'::text]))),
  constraint transaction_fee_sane CHECK (((fee >= 0) AND ((direction = 'payout'::text) OR (fee <= amount)))),
  constraint transaction_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'success'::text, 'failed'::text, 'expired'::text, 'reversed'::text]))),
  constraint transaction_success_settled CHECK (((status <> ALL (ARRAY['success'::text, 'reversed'::text])) OR (settled_at IS NOT NULL))),
  constraint transaction_verification_known CHECK ((verification = ANY (ARRAY['prompt'::text, 'shortcode'::text, 'otp'::text, 'instructions'::text, 'none'::text])))
) with (fillfactor=70);
CREATE INDEX transactions_by_holder ON public.transactions USING btree (holder_id, id DESC);
CREATE INDEX transactions_by_link ON public.transactions USING btree (link_id, id DESC) WHERE (link_id IS NOT NULL);
CREATE INDEX transactions_by_number ON public.transactions USING btree (holder_id, msisdn, id DESC);
CREATE INDEX transactions_by_reference_1 ON public.transactions USING btree (holder_id, reference_1, id DESC) WHERE (reference_1 IS NOT NULL);
CREATE INDEX transactions_by_reference_2 ON public.transactions USING btree (holder_id, reference_2, id DESC) WHERE (reference_2 IS NOT NULL);

create table used_forms (
  id uuid not null,
  used_at timestamp with time zone not null,
  constraint used_forms_pkey PRIMARY KEY (id)
);

create table verification_tokens (
  transaction_id uuid not null,
  token_hash bytea not null,
  wrong_tries smallint not null default 0,
  sent_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint verification_tokens_pkey PRIMARY KEY (transaction_id),
  constraint verification_tries_bounded CHECK (((wrong_tries >= 0) AND (wrong_tries <= 5)))
);

create table wallets (
  wallet_account integer not null generated always as identity,
  holder_id bigint not null,
  currency text not null,
  created_at timestamp with time zone not null,
  constraint wallets_pkey PRIMARY KEY (wallet_account),
  constraint wallet_once_per_currency UNIQUE (holder_id, currency),
  constraint wallet_currency_form CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint wallets_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES holders(id)
);
