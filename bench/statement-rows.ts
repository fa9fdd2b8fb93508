// Writes the statement that the operator of past payments (payment-rows.ts) would give of one day, with discrepancies in it whose
// kinds and payments are known. Half of the lines have our reference, half the receipt, and some only a masked
// number, where that with the amount is enough to tell the payment.

import type { BreakKind } from '../src/books/groups.ts';
import type { Database } from '../src/platform/db.ts';
import { addDays } from '../src/platform/time-zones.ts';

const CONNECTION = 'sandbox';
/** Every so many lines one shows nothing but the masked number, if that with the amount is of one payment of the day. */
const NUMBER_ONLY_EVERY = 8;
/** So many payments of the same method and amount tell what the operator usually takes. */
const PEERS = 20;
const KINDS: readonly BreakKind[] = [
  'missing_with_us',
  'missing_with_them',
  'amount',
  'fee',
  'state',
  'twice',
  'other_day',
];

export type StatementDay = {
  readonly connection: string;
  readonly lines: number;
  /** What was put into it: "<kind> <transaction>", or "<kind> <key of the line>" where there is no transaction. */
  readonly injected: string[];
};

/** `day` is one of the days of the payments, in UTC. The tables of the books are written as their owner. */
export async function writeStatement(owner: Database, day: string, perKind: number): Promise<StatementDay> {
  return await owner.transaction(async (tx) => {
    await tx.query('set local statement_timeout = 0');
    await tx.query(planOf(day, perKind));
    const [file] = await tx.query<{ id: bigint }>(
      `insert into statement_files (connection, name, source, format, zone, sha256, bytes, status, imported_by, imported_at)
       values ($1, 'statement.csv', 'command', 'mapped', 'UTC', sha256(convert_to($2, 'UTF8')), 1, 'read', 'bench', $3)
       returning id`,
      [CONNECTION, day, `${day}T00:00:00Z`],
    );
    const [added] = await tx.query<{ lines: number }>(
      `with added as (insert into statement_lines (connection, line_key, file_id, line_number, occurred_at, kind, direction, state,
           gross, fee, currency, receipt, reference, msisdn, raw, read_at)
         select $1, decode(md5(key), 'hex'), $2, row_number() over (order by at, key), at, 'payment', way, state, gross, fee, currency,
           receipt, reference, msisdn, key, $3 from planned returning 1)
       select count(*)::int as lines from added`,
      [CONNECTION, file?.id, `${addDays(day, 1)}T00:00:00Z`],
    );
    const injected = await tx.query<{ text: string }>('select text from injected order by text');
    await tx.query('drop table planned, injected, chosen');
    return { connection: CONNECTION, lines: added?.lines ?? 0, injected: injected.map((row) => row.text) };
  });
}

const number = (kind: BreakKind) => KINDS.indexOf(kind);

/** Payments of the day in a mixed order; the first ones of it carry the discrepancies, `perKind` of each kind. */
function planOf(day: string, perKind: number): string {
  const from = `'${day}T00:00:00Z'::timestamptz`;
  const to = `'${addDays(day, 1)}T00:00:00Z'::timestamptz`;
  return `
  create temporary table chosen on commit drop as
  select t.*, part, case when t.direction = 'collection' then 'in' else 'out' end as way,
    count(*) over (partition by t.amount, right(t.msisdn, 3)) = 1 as is_unique,
    overlay(t.id::text placing '4' from 15 for 1) as reference,
    -- Discrepancies are in collections like many others: what a fee usually is must be known.
    (row_number() over (partition by part order by not (t.direction = 'collection' and t.status <> 'reversed'
      and t.peers >= ${PEERS}), md5(t.id::text))) - 1 as place
  from (
    select holder_id, id, direction, status, amount, currency, receipt, msisdn, coalesce(settled_at, updated_at) as at,
      count(*) over (partition by method, amount, status, coalesce(settled_at, updated_at) >= ${from} and
        coalesce(settled_at, updated_at) < ${to}) as peers
    from transactions where rail = '${CONNECTION}' and updated_at >= ${from} - interval '2 days'
  ) as t
  cross join lateral (select case when t.status not in ('success', 'reversed') then 'failed'
                                  when t.at < ${from} then 'before' when t.at >= ${to} then 'after' else 'paid' end as part) as p
  where t.at >= ${from} - interval '6 hours' and t.at < ${to} + interval '6 hours'
    and (part <> 'failed' or (t.direction = 'collection' and t.at >= ${from} and t.at < ${to}));

  create temporary table planned on commit drop as
  select id::text as key, at, way, gross, gross / 100 + case when kind = ${number('fee')} then 700 else 0 end as fee,
    case when kind = ${number('state')} then 'failed' else 'succeeded' end as state, currency,
    case when place % 2 = 0 and not number_only then receipt end as receipt,
    case when place % 2 = 1 and not number_only then reference end as reference,
    case when number_only then left(msisdn, 5) || '****' || right(msisdn, 3) else msisdn end as msisdn
  from chosen
  cross join lateral (select case when place < 7 * ${perKind} then place / ${perKind} end as kind,
    is_unique and place % ${NUMBER_ONLY_EVERY} = 7 and place >= 7 * ${perKind}
    as number_only) as k
  cross join lateral (select amount + case when kind = ${number('amount')} then 100 else 0 end as gross) as a
  where part = 'paid' and kind is distinct from ${number('missing_with_them')}
  union all
  -- Of nobody.
  select 'unknown ' || id, at, way, amount, amount / 100, 'succeeded', currency, 'U' || receipt, null, '256799999999' from chosen
  where part = 'paid' and place < 7 * ${perKind} and place / ${perKind} = ${number('missing_with_us')}
  union all
  -- The same payment under another receipt.
  select 'again ' || id, at + interval '1 minute', way, amount, amount / 100, 'succeeded', currency, 'A' || receipt, reference, msisdn
  from chosen
  where part = 'paid' and place < 7 * ${perKind} and place / ${perKind} = ${number('twice')}
  union all
  -- Paid there, failed here.
  select id::text, at, way, amount, amount / 100, 'succeeded', currency, 'L' || md5(id::text), reference, msisdn from chosen
  where part = 'failed' and place < ${perKind} / 2
  union all
  -- Of the day before, and of the day after.
  select id::text, case when part = 'before' then ${from} + interval '1 second' else ${to} - interval '1 second' end,
    way, amount, amount / 100, 'succeeded', currency, receipt, null, msisdn from chosen
  where part in ('before', 'after') and place < ${perKind} / 2;

  create temporary table injected on commit drop as
  select name || ' ' || case when kind = ${number('missing_with_us')} then md5('unknown ' || id) else id::text end as text
  from chosen
  cross join lateral (select place / ${perKind} as kind) as k
  join unnest(array['${KINDS.join("','")}']) with ordinality as known (name, number) on known.number - 1 = kind
  where part = 'paid' and place < 7 * ${perKind} and name not in ('other_day')
  union all
  select 'state ' || id from chosen where part = 'failed' and place < ${perKind} / 2
  union all
  select 'other_day ' || id from chosen where part in ('before', 'after') and place < ${perKind} / 2;`;
}
