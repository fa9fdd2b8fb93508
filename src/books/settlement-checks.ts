// What `ledger verify` compares of settlements: that each has exactly its transfers, and that each transfer has its settlement.

import { TRANSFERS_WITH_ACCOUNTS } from '../ledger/reports.ts';
import type { CheckStage } from '../payments/cross-check-pages.ts';
import { type CrossCheck, compareWithAccounts } from '../payments/cross-check-parts.ts';

const ROWS_PER_PAGE = 500;
const NO_ID = '00000000-0000-0000-0000-000000000000';
const shownAmount = (amount: string) => `trim_scale(coalesce(${amount}, 0) / 100.0)`;

export const SETTLEMENTS: CheckStage = {
  name: 'settlements',
  async next(reader, after) {
    const keys = await reader.query<{ holder_id: bigint; id: string }>(
      'select holder_id, id from settlements where (holder_id, id) > ($1, $2) order by holder_id, id limit $3',
      [after?.[0] ?? 0, after?.[1] ?? NO_ID, ROWS_PER_PAGE],
    );
    const last = keys.at(-1);
    if (!last) return null;
    const values = [keys.map((each) => each.holder_id), keys.map((each) => each.id)];
    return { subject: 'settlements', values, rows: keys.length, last: [String(last.holder_id), last.id] };
  },
};

export const OPERATOR_SETTLEMENTS: CheckStage = {
  name: 'operator_settlements',
  async next(reader, after) {
    const keys = await reader.query<{ id: string }>(
      'select id from operator_settlements where id > $1 order by id limit $2',
      [after?.[0] ?? NO_ID, ROWS_PER_PAGE],
    );
    const last = keys.at(-1);
    if (!last) return null;
    return { subject: 'operator_settlements', values: [keys.map(({ id }) => id)], rows: keys.length, last: [last.id] };
  },
};

const placeOf = ({ id }: { id: string }) => id;

/** Those to a phone are payouts, which have checks of their own. */
const SETTLEMENT_IS_POSTED: CrossCheck = {
  name: 'settlements',
  subject: 'settlements',
  rule: 'A settlement to a bank is taken once, and once paid or given back, as its state says.',
  sql: `
    select s.holder_id, s.id, format('%s %s %s', s.status, ${shownAmount('s.amount')}, s.currency) as expected,
      format('taken %s, paid %s, given back %s', ${shownAmount('p.taken')}, ${shownAmount('p.paid')}, ${shownAmount('p.returned')}) as found
    from unnest($1::bigint[], $2::uuid[]) as key (holder_id, id) join settlements s using (holder_id, id)
    cross join lateral (
      select sum(t.amount) filter (where t.kind = 'settlement')::bigint as taken,
        sum(t.amount) filter (where t.kind = 'settlement_paid' and t.rail = 'bank.' || s.bank)::bigint as paid,
        sum(t.amount) filter (where t.kind = 'settlement_release')::bigint as returned
      from ${TRANSFERS_WITH_ACCOUNTS} as t
      where t.holder_id = s.holder_id and t.transaction_id = s.id and t.currency = s.currency) as p
    where (p.taken, p.paid, p.returned) is distinct from (
      case when s.status <> 'payout' then s.amount end, case when s.status = 'paid' then s.amount end,
      case when s.status = 'cancelled' then s.amount end)`,
};

const OPERATOR_SETTLEMENT_IS_POSTED: CrossCheck = {
  name: 'operator_settlements',
  subject: 'operator_settlements',
  rule: 'What went between an operator and our bank is posted as it was booked.',
  place: placeOf,
  sql: `
    select 0::bigint as holder_id, format('%s, %s', s.connection, s.reference) as id,
      format('%s %s, %s at the bank', ${shownAmount('s.amount')}, s.currency, ${shownAmount('s.received')}) as expected,
      format('%s, %s at the bank', ${shownAmount('p.sent')}, ${shownAmount('p.arrived')}) as found
    from unnest($1::uuid[]) as key (id) join operator_settlements s using (id)
    cross join lateral (
      select coalesce(sum(t.amount) filter (where t.kind in ('operator_settlement', 'operator_settlement_fee')), 0)::bigint as settled,
        coalesce(sum(t.amount) filter (where t.kind = 'operator_funding'), 0)::bigint as funded,
        coalesce(sum(case t.kind when 'operator_settlement' then t.amount when 'operator_settlement_short' then -t.amount end), 0)::bigint
          as reached
      from ${TRANSFERS_WITH_ACCOUNTS} as t
      where t.holder_id = 0 and t.transaction_id = s.id and t.currency = s.currency) as t
    cross join lateral (
      select case s.direction when 'to_bank' then t.settled else t.funded end as sent,
        case s.direction when 'to_bank' then t.reached else t.funded end as arrived) as p
    where p.sent <> s.amount or p.arrived <> s.received
      or case s.direction when 'to_bank' then t.funded else t.settled end <> 0`,
};

const TRANSFER_HAS_SETTLEMENT: CrossCheck = {
  name: 'settlement_owner',
  subject: 'transfers',
  rule: 'Every transfer of a settlement belongs to one.',
  sql: `
    select p.holder_id, p.transaction_id as id, 'a settlement' as expected, 'none' as found
    from ${TRANSFERS_WITH_ACCOUNTS} as p
    where p.id > $1::bigint and p.id <= $2::bigint
      and case
        when p.kind in ('settlement', 'settlement_paid', 'settlement_release')
          then not exists (select from settlements s where s.holder_id = p.holder_id and s.id = p.transaction_id)
        when p.kind in ('operator_settlement', 'operator_settlement_fee', 'operator_settlement_short', 'operator_funding')
          then not exists (select from operator_settlements o where o.id = p.transaction_id)
        else false
      end`,
};

const PAYABLE_BALANCE: CrossCheck = {
  name: 'settlement_payable',
  subject: 'holders',
  rule: 'What is on its way to the banks of a holder is what its open settlements say.',
  sql: `
    with needed as (
      select s.holder_id, s.currency, sum(s.amount)::bigint as balance
      from unnest($1::bigint[]) as key (holder_id) join settlements s using (holder_id)
      where s.status in ('waiting', 'proposed') group by s.holder_id, s.currency
    )
    ${compareWithAccounts('needed', 'settlement_payable', 1)}`,
};

export const SETTLEMENT_CHECKS: readonly CrossCheck[] = [
  SETTLEMENT_IS_POSTED,
  OPERATOR_SETTLEMENT_IS_POSTED,
  TRANSFER_HAS_SETTLEMENT,
  PAYABLE_BALANCE,
];
