-- Settlement: money of operators that reaches our bank, and money of holders that reaches theirs.

-- Ledger. A bank account is stored per holder, as clearing is: a posting locks accounts of one holder, and the account at the bank is
-- the sum over all of them. settlement_payable is what left a wallet and has not reached its holder's bank yet.

alter type transfer_kind add value 'bank_fee';
alter type transfer_kind add value 'bank_fee_return';
alter type transfer_kind add value 'operator_settlement';
alter type transfer_kind add value 'operator_settlement_fee';
alter type transfer_kind add value 'operator_settlement_short';
alter type transfer_kind add value 'operator_funding';
alter type transfer_kind add value 'settlement';
alter type transfer_kind add value 'settlement_paid';
alter type transfer_kind add value 'settlement_release';

alter table ledger_accounts
  drop constraint account_kind_known,
  drop constraint account_floor_fixed,
  drop constraint account_rail_named,
  add constraint account_kind_known check (kind in (
    'wallet_available', 'wallet_reserved', 'wallet_held', 'wallet_disputed', 'settlement_payable', 'operator_clearing', 'bank',
    'fee_income', 'suspense', 'sandbox_funding', 'holder_receivable', 'dispute_shortfall', 'write_offs', 'operator_fees')),
  add constraint account_floor_fixed check (
    may_go_negative = (kind in ('operator_clearing', 'bank', 'sandbox_funding', 'holder_receivable', 'dispute_shortfall',
      'write_offs', 'operator_fees'))),
  add constraint account_rail_named check ((rail is not null) = (kind in ('operator_clearing', 'bank')));
create index ledger_accounts_at_banks on ledger_accounts (rail, currency) where kind = 'bank';
comment on column ledger_accounts.rail is
  'The rail whose operator holds the money of a clearing account; or the name of our account at a bank.';

-- Our own accounts at banks.

create table bank_accounts (
  name text not null constraint bank_account_name_form check (name ~ '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$'),
  currency text not null,
  bank text not null constraint bank_account_bank_length check (char_length(bank) between 1 and 120),
  account_number text not null constraint bank_account_number_length check (char_length(account_number) between 4 and 40),
  zone text not null,
  added_by text not null,
  added_at timestamptz not null,
  constraint bank_account_name primary key (name)
);
comment on table bank_accounts is 'Accounts of ours at banks. In statements, days and the ledger such an account is called bank.<name>.';
comment on column bank_accounts.zone is 'Of the times in its statements.';
create trigger bank_accounts_append_only before update or delete or truncate on bank_accounts
  for each statement execute function refuse_change();

-- Between operators and our bank.

create table operator_settlements (
  id uuid not null,
  connection text not null,
  bank text not null references bank_accounts,
  currency text not null,
  direction text not null constraint operator_settlement_direction_known check (direction in ('to_bank', 'to_operator')),
  amount bigint not null constraint operator_settlement_amount_positive check (amount > 0),
  received bigint not null,
  reference text not null constraint operator_settlement_reference_length check (char_length(reference) between 1 and 120),
  booked_by text not null,
  posted_at timestamptz not null,
  constraint operator_settlement_id primary key (id),
  constraint operator_settlement_once unique (connection, direction, reference),
  constraint operator_settlement_received_bounded check (
    received between 1 and amount and (direction = 'to_bank' or received = amount))
);
create index operator_settlements_of_bank on operator_settlements (bank, posted_at);
create index operator_settlements_of_connection on operator_settlements (connection, posted_at);
comment on table operator_settlements is
  'Money that went from our account with an operator to our bank, or the other way. Posted under this id, once for each reference.';
comment on column operator_settlements.amount is 'By how much the account with the operator changed.';
comment on column operator_settlements.received is 'By how much the account at the bank changed; the rest is a cost.';
create trigger operator_settlements_stay before delete or truncate on operator_settlements
  for each statement execute function refuse_change();
create trigger operator_settlements_fixed before update on operator_settlements for each row
  when ((old.id, old.connection, old.bank, old.currency, old.direction, old.amount, old.reference, old.booked_by, old.posted_at)
    is distinct from (new.id, new.connection, new.bank, new.currency, new.direction, new.amount, new.reference, new.booked_by,
      new.posted_at) or new.received > old.received)
  execute function refuse_change();

-- Between wallets and the banks or phones of their holders.

create table settlement_rules (
  holder_id bigint not null references holders,
  currency text not null,
  destination jsonb not null,
  schedule text not null constraint settlement_schedule_known check (schedule in ('none', 'daily', 'weekly', 'monthly')),
  weekday integer constraint settlement_weekday_known check (weekday between 1 and 7),
  minimum bigint not null constraint settlement_minimum_sane check (minimum >= 0),
  usable_from timestamptz not null,
  next_at timestamptz,
  updated_by text not null,
  updated_at timestamptz not null,
  constraint settlement_rule_once primary key (holder_id, currency),
  constraint settlement_weekday_named check ((weekday is not null) = (schedule = 'weekly')),
  constraint settlement_next_known check ((next_at is not null) = (schedule <> 'none'))
);
create index settlement_rules_due on settlement_rules (next_at) where next_at is not null;
comment on table settlement_rules is 'Where the money of a wallet goes, and when.';
comment on column settlement_rules.destination is 'An account at a bank, or a number of mobile money.';
comment on column settlement_rules.usable_from is 'A destination that was changed takes no money before this.';
comment on column settlement_rules.next_at is 'When the next settlement is due by the schedule.';

create table settlements (
  holder_id bigint not null references holders,
  id uuid not null,
  currency text not null,
  period text not null constraint settlement_period_length check (char_length(period) between 1 and 40),
  amount bigint not null constraint settlement_amount_positive check (amount > 0),
  owed bigint not null constraint settlement_owed_sane check (owed >= 0),
  destination jsonb not null,
  transaction_id uuid,
  status text not null constraint settlement_status_known check (status in ('waiting', 'proposed', 'paid', 'cancelled', 'payout')),
  since timestamptz not null,
  taken_by text not null,
  taken_at timestamptz not null,
  bank text references bank_accounts,
  bank_reference text constraint settlement_reference_length check (char_length(bank_reference) between 1 and 120),
  proposed_by text,
  proposed_by_member bigint references members,
  proposed_at timestamptz,
  ended_by text,
  ended_by_member bigint references members,
  ended_at timestamptz,
  reason text constraint settlement_reason_length check (char_length(reason) between 3 and 500),
  constraint settlement_id primary key (holder_id, id),
  constraint settlement_once unique (holder_id, currency, period),
  constraint settlement_payout_named check ((transaction_id is not null) = (status = 'payout')),
  constraint settlement_proposal_whole check (
    num_nulls(bank, bank_reference, proposed_by, proposed_by_member, proposed_at)
      = case when status in ('proposed', 'paid') then 0 else 5 end),
  constraint settlement_end_dated check (
    num_nulls(ended_by, ended_at) = case when status in ('paid', 'cancelled') then 0 else 2 end
    and (reason is not null) = (status = 'cancelled')),
  constraint settlement_by_two_people check (
    status <> 'paid' or (ended_by_member is not null and ended_by_member <> proposed_by_member))
);
create index settlements_open on settlements (taken_at) where status in ('waiting', 'proposed');
create index settlements_of_bank on settlements (bank, ended_at) where bank is not null;
create unique index settlement_payout_once on settlements (holder_id, transaction_id) where transaction_id is not null;
comment on table settlements is
  'Money of a wallet on its way to its holder. To a bank: taken from the wallet, transferred by staff, confirmed by two of them. To a
  phone: an ordinary payout.';
comment on column settlements.period is 'What it is for: a day of the schedule, or the day on which a person asked for it. Once each.';
comment on column settlements.owed is 'What the holder owed when it was taken: it stayed in the wallet.';
comment on column settlements.since is 'When the one before it was taken; the report begins there.';
create trigger settlements_stay before delete or truncate on settlements
  for each statement execute function refuse_change();
create trigger settlements_keep_final_states before update on settlements for each row
  when (old.status in ('paid', 'cancelled', 'payout') or (old.id, old.holder_id, old.currency, old.period, old.amount, old.owed,
      old.destination, old.taken_by, old.taken_at)
    is distinct from (new.id, new.holder_id, new.currency, new.period, new.amount, new.owed, new.destination, new.taken_by,
      new.taken_at))
  execute function refuse_change();

-- Lines of statements are matched with all of these.

alter table statement_matches
  drop constraint statement_match_rule_known,
  add constraint statement_match_rule_known
    check (rule in ('reference', 'account_reference', 'receipt', 'operator_reference', 'refund_of', 'number', 'settlement'));
