-- What operators charge us has an account of its own, so that what a method earns is a number: fee income less these costs. It is
-- of the gateway itself (holder 0), because an operator charges us and no holder; booking it locks no account of a holder.

alter type transfer_kind add value 'operator_fee';
alter type transfer_kind add value 'operator_fee_return';

alter table ledger_accounts
  drop constraint account_kind_known,
  drop constraint account_floor_fixed,
  add constraint account_kind_known check (kind in (
    'wallet_available', 'wallet_reserved', 'operator_clearing', 'fee_income', 'suspense', 'sandbox_funding',
    'holder_receivable', 'write_offs', 'operator_fees')),
  add constraint account_floor_fixed check (
    may_go_negative = (kind in ('operator_clearing', 'sandbox_funding', 'holder_receivable', 'write_offs', 'operator_fees')));
