// What must agree between transactions, refunds, transfers, events, jobs, incoming payments and cases: a list of named checks.
// Each is one statement over a page of keys that returns the rows that differ. One statement sees one moment of the
// database, and every fact is committed whole, so a gateway that is at work gives no false alarm.

import { EVENT_TYPES } from '../callbacks/events.ts';
import { TRANSFERS_WITH_ACCOUNTS } from '../ledger/reports.ts';
import { type CrossCheck, compareWithAccounts, KEYS, shown } from './cross-check-parts.ts';
import { HELD_MONEY_CHECKS } from './held-money-checks.ts';

const OPEN = `('pending', 'processing')`;
const PAID = `('success', 'reversed')`;
/** The holder that an id carries in its last 28 bits. */
const holderOf = (id: string) => `('x' || right(${id}::text, 7))::bit(28)::integer`;
/**
 * Transfers that follow a debt, the rolling reserve or a dispute that lacks money. They are added to whichever transaction moved the
 * wallet, so the postings of a state leave them out.
 */
const BESIDE_STATES = `('debt', 'debt_recovery', 'debt_recovery_reversal', 'debt_recovery_release', 'reserve_hold', 'reserve_release',
  'reserve_use', 'reserve_cover', 'dispute_cover', 'dispute_cover_reversal', 'dispute_cover_release')`;

/** A payout or refund whose money was given back and that was then paid after all is paid from the wallet, not from the reserve. */
const POSTINGS_OF_STATE: CrossCheck = {
  name: 'postings',
  subject: 'transactions',
  rule: 'Every transaction has exactly the transfers of its state, with its amounts, between the right accounts.',
  sql: `
    with known as materialized (
      select t.holder_id, t.id, t.direction, t.status, t.amount, t.fee, t.currency, t.rail, t.status in ${PAID} as paid,
        coalesce(o.fee_returned, 0) as fee_returned, coalesce(r.refunded + r.dispute_lost, 0) as refunded,
        coalesce(r.refunded_late, 0) as refunded_late, t.fee - coalesce(r.fee_refunded, 0) as fee_left
      from ${KEYS} join transactions t using (holder_id, id)
      left join refund_orders o on o.holder_id = t.holder_id and o.transaction_id = t.id
      left join refund_totals r on r.holder_id = t.holder_id and r.collection_id = t.id
    ), posted as materialized (
      select p.* from known k join ${TRANSFERS_WITH_ACCOUNTS} as p on p.holder_id = k.holder_id and p.transaction_id = k.id
      where p.kind not in ${BESIDE_STATES}
    ), given as (
      select holder_id, transaction_id as id,
        (sum(amount) filter (where kind in ('payout_release', 'refund_release')))::bigint as released,
        (sum(amount) filter (where kind in ('collection_reversal', 'collection_fee_reversal')))::bigint as reversed
      from posted group by holder_id, transaction_id
    ), state as (
      select k.*, g.released is not null as released,
        -- A refund that succeeds late returns no fee, whatever was planned when its money was reserved.
        case when k.status = 'success' and g.released is not null then g.released else k.amount - k.fee_returned end as refund_reserved,
        -- Refunds that succeeded late may have come before the reversal or after it.
        case when k.status = 'reversed'
          then greatest(least(coalesce(g.reversed, 0), k.amount - k.refunded), k.amount - k.refunded - k.refunded_late, 0)
          else 0 end as taken_back
      from known k left join given g using (holder_id, id)
    ), expected as (
      select s.holder_id, s.id as transaction_id, s.currency, s.rail, rule.*
      from state s
      cross join lateral (select case when s.released then 'wallet_available' else 'wallet_reserved' end as source) as paid_from
      cross join lateral (values
        ('collection', 'collection', s.amount - s.fee, s.paid, 'operator_clearing', 'wallet_available'),
        ('collection', 'collection_fee', s.fee, s.paid, 'operator_clearing', 'fee_income'),
        ('collection', 'collection_reversal', s.taken_back - least(s.fee_left, s.taken_back), true,
          'wallet_available', 'operator_clearing'),
        ('collection', 'collection_fee_reversal', least(s.fee_left, s.taken_back), true, 'fee_income', 'operator_clearing'),
        ('payout', 'payout_reserve', s.amount + s.fee, true, 'wallet_available', 'wallet_reserved'),
        ('payout', 'payout', s.amount, s.paid, source, 'operator_clearing'),
        ('payout', 'payout_fee', s.fee, s.paid, source, 'fee_income'),
        ('payout', 'payout_release', s.amount + s.fee, s.status = 'failed' or (s.paid and s.released),
          'wallet_reserved', 'wallet_available'),
        ('payout', 'payout_reversal', s.amount, s.status = 'reversed', 'operator_clearing', 'wallet_available'),
        ('payout', 'payout_fee_reversal', s.fee, s.status = 'reversed', 'fee_income', 'wallet_available'),
        ('refund', 'refund_reserve', s.refund_reserved, true, 'wallet_available', 'wallet_reserved'),
        ('refund', 'refund', s.amount - s.fee_returned, s.paid, source, 'operator_clearing'),
        ('refund', 'refund_fee', s.fee_returned, s.paid, 'fee_income', 'operator_clearing'),
        ('refund', 'refund_release', s.refund_reserved, s.status = 'failed' or (s.paid and s.released),
          'wallet_reserved', 'wallet_available')
      ) as rule (direction, kind, amount, holds, debit, credit)
      where rule.direction = s.direction and rule.holds and rule.amount > 0
    )
    select coalesce(e.holder_id, p.holder_id) as holder_id, coalesce(e.transaction_id, p.transaction_id) as id,
      case when e.kind is null then 'no ' || p.kind else
        format('%s of %s %s from %s to %s', e.kind, ${shown('e.amount')}, e.currency, e.debit, e.credit) end as expected,
      case when p.kind is null then 'no ' || e.kind else
        format('%s of %s %s from %s to %s', p.kind, ${shown('p.amount')}, p.currency, p.debit, p.credit) end as found
    from expected e full join posted p
      on p.holder_id = e.holder_id and p.transaction_id = e.transaction_id and p.kind = e.kind
    where e.kind is null or p.kind is null or e.amount <> p.amount or e.currency <> p.currency or e.credit <> p.credit
      or p.rail is distinct from case when 'operator_clearing' in (e.debit, e.credit) then e.rail end
      -- Before debts had accounts, money that the wallet no longer held was taken from suspense.
      or (e.debit <> p.debit and not (p.debit = 'suspense' and e.debit = 'wallet_available'))`,
};

const EVENTS_OF_STATE: CrossCheck = {
  name: 'events',
  subject: 'transactions',
  rule: 'Every final state has exactly its event, a success of a payment link one more, and no other state has one.',
  usesEventFloor: true,
  sql: `
    with state as materialized (
      select t.holder_id, t.id, t.direction, t.status, t.link_id, t.status in ${PAID} as paid, case when t.status in ${PAID} then (
        select case when t.direction = 'collection' and v.failure_code = 'PROMPT_EXPIRED' then 'expired' else 'failed' end
        from evidence v where v.holder_id = t.holder_id and v.transaction_id = t.id
          and v.state = 'failed' and v.effect = 'applied' limit 1) end as ended_before
      from ${KEYS} join transactions t using (holder_id, id)
    ), told as materialized (
      select e.* from state s join ${EVENT_TYPES} as e on e.holder_id = s.holder_id and e.transaction_id = s.id
    ), expected as (
      select s.holder_id, s.id as transaction_id, rule.type
      from state s
      cross join lateral (values
        (s.direction || '.success', s.paid),
        (s.direction || '.reversed', s.status = 'reversed'),
        (s.direction || '.failed', s.status = 'failed' or (s.paid and s.ended_before = 'failed')),
        (s.direction || '.expired', s.status = 'expired' or (s.paid and s.ended_before = 'expired')),
        ('payment_link.paid', s.paid and s.link_id is not null and s.direction = 'collection')
      ) as rule (type, holds)
      where rule.holds
    )
    select coalesce(e.holder_id, o.holder_id) as holder_id, coalesce(e.transaction_id, o.transaction_id) as id,
      coalesce(e.type, 'no ' || o.type) as expected,
      coalesce(o.type || case when o.sequence > 1 then ' a second time' else '' end, 'no ' || e.type) as found
    from expected e full join told o
      on o.holder_id = e.holder_id and o.transaction_id = e.transaction_id and o.type = e.type and o.sequence = 1
    where e.type is null or (o.type is null and e.transaction_id >= $3::uuid)`,
};

const OPEN_HAS_WORK: CrossCheck = {
  name: 'jobs',
  subject: 'transactions',
  rule: 'Every open transaction has a job or waits for approval, and no final one has a job.',
  sql: `
    select t.holder_id, t.id,
      case when t.status in ${OPEN} then 'a job, or a wait for approval' else 'no job' end as expected,
      format('%s, %s', t.status, coalesce('a job to ' || j.kind, 'no job')) as found
    from ${KEYS} join transactions t using (holder_id, id)
    left join payment_jobs j on j.holder_id = t.holder_id and j.transaction_id = t.id
    where (t.status not in ${OPEN} and j.kind is not null)
      or (t.status in ${OPEN} and j.kind is null
        and not exists (select from payout_orders o where o.holder_id = t.holder_id and o.transaction_id = t.id
                        and o.approval = 'waiting' and o.cancelled_at is null)
        and not exists (select from refund_orders o where o.holder_id = t.holder_id and o.transaction_id = t.id
                        and o.approval = 'waiting' and o.cancelled_at is null))`,
};

const REFUND_HAS_COLLECTION: CrossCheck = {
  name: 'refund_orders',
  subject: 'transactions',
  rule: 'Every refund gives back a collection that was paid, of the same holder, currency and rail, and is counted in its totals.',
  sql: `
    select t.holder_id, t.id, 'the order of a refund, its paid collection and the totals of that' as expected,
      case when o.transaction_id is null then 'no order'
           when c.id is null then 'no collection ' || o.collection_id
           when r.collection_id is null then 'no totals of collection ' || c.id
           else format('%s %s of %s %s, in %s', c.status, c.direction, c.currency, c.id, c.rail) end as found
    from ${KEYS} join transactions t using (holder_id, id)
    left join refund_orders o on o.holder_id = t.holder_id and o.transaction_id = t.id
    left join transactions c on c.holder_id = o.holder_id and c.id = o.collection_id
    left join refund_totals r on r.holder_id = o.holder_id and r.collection_id = o.collection_id
    where t.direction = 'refund'
      and (r.collection_id is null or c.direction is distinct from 'collection' or c.status not in ${PAID}
        or c.currency <> t.currency or c.rail <> t.rail)`,
};

const REFUND_TOTALS: CrossCheck = {
  name: 'refund_totals',
  subject: 'refund_totals',
  rule: 'The totals of a collection are the sums of its refunds and disputes: under way, given back, and given back after a failure.',
  sql: `
    with kept as (
      select r.holder_id, r.collection_id, array[r.collected, r.fee, r.under_way, r.fee_under_way, r.refunded, r.fee_refunded,
        r.refunded_late, r.disputed, r.dispute_lost] as sums
      from ${KEYS} join refund_totals r on r.holder_id = key.holder_id and r.collection_id = key.id
    ), counted as (
      select k.holder_id, k.collection_id, array[c.amount, c.fee, s.under_way, s.fee_under_way + d.fee_open, s.refunded,
        s.fee_refunded + d.fee_lost, s.refunded_late, d.disputed, d.lost] as sums
      from kept k
      left join transactions c on c.holder_id = k.holder_id and c.id = k.collection_id
      cross join lateral (
        select coalesce(sum(t.amount) filter (where t.status in ${OPEN}), 0)::bigint as under_way,
          coalesce(sum(o.fee_returned) filter (where t.status in ${OPEN}), 0)::bigint as fee_under_way,
          coalesce(sum(t.amount) filter (where t.status = 'success' and not l.late), 0)::bigint as refunded,
          coalesce(sum(o.fee_returned) filter (where t.status = 'success' and not l.late), 0)::bigint as fee_refunded,
          coalesce(sum(t.amount) filter (where t.status = 'success' and l.late), 0)::bigint as refunded_late
        from refund_orders o
        join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
        cross join lateral (
          select exists (select from ${TRANSFERS_WITH_ACCOUNTS} as p where p.holder_id = t.holder_id and p.transaction_id = t.id
                         and p.kind = 'refund_release') as late) as l
        where o.holder_id = k.holder_id and o.collection_id = k.collection_id) as s
      cross join lateral (
        select coalesce(sum(amount) filter (where status = 'open'), 0)::bigint as disputed,
          coalesce(sum(fee_returned) filter (where status = 'open'), 0)::bigint as fee_open,
          coalesce(sum(amount) filter (where status = 'lost'), 0)::bigint as lost,
          coalesce(sum(fee_returned) filter (where status = 'lost'), 0)::bigint as fee_lost
        from disputes where holder_id = k.holder_id and transaction_id = k.collection_id) as d
    )
    select k.holder_id, k.collection_id as id,
      'collected, fee, under way (fee), given back (fee), late, disputed, lost: '
        || array(select ${shown('sum')} from unnest(c.sums) sum)::text as expected,
      array(select ${shown('sum')} from unnest(k.sums) sum)::text as found
    from kept k join counted c using (holder_id, collection_id)
    where k.sums is distinct from c.sums`,
};

const GIVEN_BACK = '(r.refunded + r.refunded_late + r.dispute_lost)';

const GIVEN_BACK_IS_REVERSED: CrossCheck = {
  name: 'given_back',
  subject: 'refund_totals',
  rule: 'A collection is reversed when all of it was given back, and not before unless its operator reversed it.',
  sql: `
    select c.holder_id, c.id, case when c.status = 'success' then 'reversed' else 'success' end as expected,
      format('%s, with %s of %s given back', c.status, ${shown(GIVEN_BACK)}, ${shown('c.amount')}) as found
    from ${KEYS} join refund_totals r on r.holder_id = key.holder_id and r.collection_id = key.id
    join transactions c on c.holder_id = r.holder_id and c.id = r.collection_id
    where (c.status = 'success' and ${GIVEN_BACK} >= c.amount)
      or (c.status = 'reversed' and ${GIVEN_BACK} < c.amount
        and not exists (select from ${TRANSFERS_WITH_ACCOUNTS} as p where p.holder_id = c.holder_id and p.transaction_id = c.id
                        and p.kind in ('collection_reversal', 'collection_fee_reversal')))`,
};

/** These belong to rows of the books, which have checks of their own. */
const BOOKED_BY_THE_BOOKS = `'operator_fee', 'operator_fee_return', 'bank_fee', 'bank_fee_return', 'operator_settlement',
  'operator_settlement_fee', 'operator_settlement_short', 'operator_funding', 'settlement', 'settlement_paid', 'settlement_release'`;

/** Which accounts each kind of transfer moves money between. */
const TRANSFER_ACCOUNTS: CrossCheck = {
  name: 'transfer_accounts',
  subject: 'transfers',
  rule: 'Every transfer of money that no transaction explains moves it between the accounts of its kind.',
  sql: `
    select p.holder_id, p.transaction_id as id, format('%s from %s to %s', p.kind, rule.debit, rule.credit) as expected,
      format('from %s to %s', p.debit, p.credit) as found
    from ${TRANSFERS_WITH_ACCOUNTS} as p
    join (values
      ('suspense', 'operator_clearing', 'suspense'),
      ('suspense_return', 'suspense', 'operator_clearing'),
      ('suspense_credit', 'operator_clearing', 'wallet_available'),
      ('suspense_income', 'suspense', 'fee_income'),
      ('suspense_credit_reversal', 'wallet_available', 'operator_clearing'),
      ('suspense_income_reversal', 'fee_income', 'operator_clearing'),
      ('debt', 'holder_receivable', 'wallet_available'),
      ('debt_recovery', 'wallet_available', 'holder_receivable'),
      ('debt_recovery_reversal', 'wallet_available', 'holder_receivable'),
      ('debt_recovery_release', 'wallet_available', 'holder_receivable'),
      ('debt_write_off', 'write_offs', 'holder_receivable'),
      ('operator_fee', 'operator_fees', 'operator_clearing'),
      ('operator_fee_return', 'operator_clearing', 'operator_fees'),
      ('bank_fee', 'operator_fees', 'bank'),
      ('bank_fee_return', 'bank', 'operator_fees'),
      ('operator_settlement', 'bank', 'operator_clearing'),
      ('operator_settlement_fee', 'operator_fees', 'operator_clearing'),
      ('operator_settlement_short', 'operator_fees', 'bank'),
      ('operator_funding', 'operator_clearing', 'bank'),
      ('settlement', 'wallet_available', 'settlement_payable'),
      ('settlement_paid', 'settlement_payable', 'bank'),
      ('settlement_release', 'settlement_payable', 'wallet_available'),
      ('reserve_hold', 'wallet_available', 'wallet_held'),
      ('reserve_release', 'wallet_held', 'wallet_available'),
      ('reserve_use', 'wallet_held', 'wallet_available'),
      ('reserve_cover', 'wallet_held', 'wallet_available'),
      ('dispute_hold', 'wallet_available', 'wallet_disputed'),
      ('dispute_shortfall', 'dispute_shortfall', 'wallet_disputed'),
      ('dispute_cover', 'wallet_available', 'dispute_shortfall'),
      ('dispute_cover_reversal', 'wallet_available', 'dispute_shortfall'),
      ('dispute_cover_release', 'wallet_available', 'dispute_shortfall'),
      ('dispute_shortfall_end', 'wallet_disputed', 'dispute_shortfall'),
      ('dispute_release', 'wallet_disputed', 'wallet_available'),
      ('dispute_loss', 'wallet_disputed', 'operator_clearing'),
      ('dispute_loss_short', 'wallet_available', 'operator_clearing'),
      ('dispute_loss_fee', 'fee_income', 'operator_clearing'),
      ('sandbox_top_up', 'sandbox_funding', 'wallet_available')
    ) as rule (kind, debit, credit) on rule.kind = p.kind
    where p.id > $1::bigint and p.id <= $2::bigint
      and (p.debit <> rule.debit or p.credit <> rule.credit)
      -- A debt that was kept as negative suspense before it had an account of its own.
      and not (p.kind = 'debt' and p.credit = 'suspense')`,
};

const TRANSFER_HAS_OWNER: CrossCheck = {
  name: 'transfer_owner',
  subject: 'transfers',
  rule: 'Every transfer belongs to a transaction of its direction, or to a case, or is test money, a fee of an operator or a settlement.',
  sql: `
    select p.holder_id, p.transaction_id as id, 'a transaction or a case of ' || p.kind as expected,
      coalesce('a ' || t.direction, 'neither') as found
    from ${TRANSFERS_WITH_ACCOUNTS} as p
    left join transactions t on t.holder_id = p.holder_id and t.id = p.transaction_id
    where p.id > $1::bigint and p.id <= $2::bigint
      and p.kind not in ('sandbox_top_up', ${BOOKED_BY_THE_BOOKS})
      and case
        when split_part(p.kind, '_', 1) in ('collection', 'payout', 'refund')
          then t.direction is distinct from split_part(p.kind, '_', 1)
        else t.id is null
          -- Money of a case may be credited to a holder other than the one of the case.
          and not exists (select from cases c where c.holder_id = ${holderOf('p.transaction_id')} and c.id = p.transaction_id)
          -- Test money, and a settlement that comes back, pay a debt back as all money does.
          and not (p.kind in ('debt_recovery', 'dispute_cover') and exists (
            select from ${TRANSFERS_WITH_ACCOUNTS} as other where other.holder_id = p.holder_id
              and other.transaction_id = p.transaction_id and other.kind in ('sandbox_top_up', 'settlement_release')))
      end`,
};

const EVENT_HAS_TRANSACTION: CrossCheck = {
  name: 'event_owner',
  subject: 'events',
  rule: 'Every event belongs to a transaction.',
  sql: `
    select key.holder_id, key.id, 'a transaction' as expected, 'events of none' as found
    from ${KEYS} left join transactions t using (holder_id, id) where t.id is null`,
};

const CASE_MONEY: CrossCheck = {
  name: 'case_money',
  subject: 'cases',
  rule: 'A case about money in suspense has that amount posted under its id, and what is settled was moved on.',
  sql: `
    select c.holder_id, c.id, format('%s %s in suspense, %s moved on', ${shown('c.amount')}, c.currency, ${shown('c.settled')}) as expected,
      format('%s in, %s out', ${shown(`coalesce(sum(p.amount) filter (where p.kind = 'suspense'), 0)`)},
                              ${shown(`coalesce(sum(p.amount) filter (where p.kind <> 'suspense'), 0)`)}) as found
    from ${KEYS} join cases c using (holder_id, id)
    left join ${TRANSFERS_WITH_ACCOUNTS} as p on p.holder_id = c.holder_id and p.transaction_id = c.id and p.currency = c.currency
      and p.kind in ('suspense', 'suspense_return', 'suspense_income')
    where c.kind in ('wrong_amount', 'second_payment', 'unknown_reference') and c.amount is not null
    group by c.holder_id, c.id
    having coalesce(sum(p.amount) filter (where p.kind = 'suspense'), 0) <> c.amount
      or coalesce(sum(p.amount) filter (where p.kind <> 'suspense'), 0) <> c.settled`,
};

const CASE_HAS_TRANSACTION: CrossCheck = {
  name: 'case_transaction',
  subject: 'cases',
  rule: 'The transaction that a case names exists.',
  sql: `
    select c.holder_id, c.id, 'transaction ' || c.transaction_id as expected, 'no such transaction' as found
    from ${KEYS} join cases c using (holder_id, id)
    left join transactions t on t.holder_id = c.holder_id and t.id = c.transaction_id
    where c.transaction_id is not null and t.id is null`,
};

const INCOMING_POINTS_TO: CrossCheck = {
  name: 'incoming_payments',
  subject: 'incoming_payments',
  rule: 'A receipt that was matched is that of its paid transaction, of the same rail and money; one in suspense has its case.',
  sql: `
    select i.holder_id, coalesce(i.transaction_id, i.case_id)::text as id,
      format('%s %s of receipt %s, %s', ${shown('i.amount')}, i.currency, i.receipt, i.outcome) as expected,
      case when i.outcome = 'suspense' then 'no case' when t.id is null then 'no transaction'
           else format('%s %s of receipt %s, %s', ${shown('t.amount')}, t.currency, t.receipt, t.status) end as found
    from unnest($1::text[], $2::text[]) as key (rail, receipt) join incoming_payments i using (rail, receipt)
    left join transactions t on i.outcome = 'matched'
      and t.holder_id = ${holderOf('i.transaction_id')} and t.id = i.transaction_id
    where (i.outcome = 'matched' and (t.id is null or t.status not in ${PAID} or t.receipt is distinct from i.receipt
             or t.rail <> i.rail
             -- Said after the success, with another amount: people decide about it.
             or ((t.amount <> i.amount or t.currency <> i.currency) and not exists (
               select from cases c where c.holder_id = t.holder_id and c.transaction_id = t.id and c.kind = 'amount_mismatch'))))
      or (i.outcome = 'suspense' and not exists (select from cases c where c.holder_id = i.holder_id and c.id = i.case_id))`,
};

const RECEIPT_USED_ONCE: CrossCheck = {
  name: 'receipts',
  subject: 'transactions',
  rule: 'The receipt of a transaction that succeeded is recorded for this transaction and for no other.',
  sql: `
    select t.holder_id, t.id, format('receipt %s of rail %s, recorded for this transaction', t.receipt, t.rail) as expected,
      case when i.receipt is null then 'not recorded'
           else format('recorded for %s', coalesce(i.transaction_id::text, 'none')) end as found
    from ${KEYS} join transactions t using (holder_id, id)
    left join lateral (
      -- Another operator behind the same connection may have given the same receipt.
      select r.receipt, r.transaction_id from operator_receipts r where r.rail = t.rail and r.receipt = t.receipt
      order by r.transaction_id = t.id desc nulls last limit 1) i on true
    where t.status in ${PAID} and t.receipt is not null and i.transaction_id is distinct from t.id`,
};

/** Open payouts and refunds are found by their jobs and by those that wait; `jobs` finds any that have neither. */
const RESERVED_BALANCE: CrossCheck = {
  name: 'reserved',
  subject: 'holders',
  rule: 'What is reserved in a wallet is what its open payouts and refunds need.',
  sql: `
    with needed as (
      select t.holder_id, t.currency,
        sum(case t.direction when 'payout' then t.amount + t.fee else t.amount - coalesce(r.fee_returned, 0) end)::bigint as balance
      from unnest($1::bigint[]) as key (holder_id)
      cross join lateral (
        select j.transaction_id from payment_jobs j where j.holder_id = key.holder_id
        union select o.transaction_id from payout_orders o
          where o.holder_id = key.holder_id and o.approval = 'waiting' and o.cancelled_at is null
        union select o.transaction_id from refund_orders o
          where o.holder_id = key.holder_id and o.approval = 'waiting' and o.cancelled_at is null
      ) as open
      join transactions t on t.holder_id = key.holder_id and t.id = open.transaction_id
      left join refund_orders r on r.holder_id = t.holder_id and r.transaction_id = t.id
      where t.direction in ('payout', 'refund') and t.status in ${OPEN}
      group by t.holder_id, t.currency
    )
    ${compareWithAccounts('needed', 'wallet_reserved', 1)}`,
};

const SUSPENSE_BALANCE: CrossCheck = {
  name: 'suspense',
  subject: 'holders',
  rule: 'What is in suspense is what the open cases about such money have not settled yet.',
  sql: `
    with needed as (${openMoney(`'wrong_amount', 'second_payment', 'unknown_reference'`)})
    ${compareWithAccounts('needed', 'suspense', 1)}`,
};

const DEBT_BALANCE: CrossCheck = {
  name: 'debts',
  subject: 'holders',
  rule: 'What a holder owes is what its open debts have not settled yet.',
  sql: `
    with needed as (${openMoney(`'debt'`)})
    ${compareWithAccounts('needed', 'holder_receivable', -1)}`,
};

function openMoney(kinds: string): string {
  return `
      select c.holder_id, c.currency, sum(c.amount - c.settled)::bigint as balance
      from unnest($1::bigint[]) as key (holder_id) join cases c using (holder_id)
      where c.status = 'open' and c.kind in (${kinds}) and c.amount is not null
      group by c.holder_id, c.currency`;
}

export const CROSS_CHECKS: readonly CrossCheck[] = [
  TRANSFER_ACCOUNTS,
  TRANSFER_HAS_OWNER,
  POSTINGS_OF_STATE,
  EVENTS_OF_STATE,
  OPEN_HAS_WORK,
  REFUND_HAS_COLLECTION,
  RECEIPT_USED_ONCE,
  REFUND_TOTALS,
  GIVEN_BACK_IS_REVERSED,
  EVENT_HAS_TRANSACTION,
  CASE_MONEY,
  CASE_HAS_TRANSACTION,
  INCOMING_POINTS_TO,
  RESERVED_BALANCE,
  SUSPENSE_BALANCE,
  DEBT_BALANCE,
  ...HELD_MONEY_CHECKS,
];
