// What `ledger verify` compares of the books: that no line, match or close was edited, and that the fees of operators in the ledger
// are those of the lines.

import { TRANSFERS_WITH_ACCOUNTS } from '../ledger/reports.ts';
import type { CheckStage } from '../payments/cross-check-pages.ts';
import type { CrossCheck } from '../payments/cross-check-parts.ts';
import { CLOSE_HASH, closeItems, contentHash, FIRST_HASH } from './close-chain.ts';
import { OPERATOR_SETTLEMENTS, SETTLEMENT_CHECKS, SETTLEMENTS } from './settlement-checks.ts';
import { LINE_SEAL, MATCH_SEAL } from './statement-matches.ts';

const LINES_PER_PAGE = 2_000;
/** A close is compared with every line of its day. */
const CLOSES_PER_PAGE = 10;
const BOOKINGS_PER_PAGE = 1_000;

const placeOf = ({ id }: { id: string }) => id;
const hex = (bytes: string) => `encode(${bytes}, 'hex')`;

const LINES: CheckStage = {
  name: 'statement_matches',
  async next(reader, after) {
    const keys = await reader.query<{ connection: string; key: string }>(
      `select connection, encode(line_key, 'hex') as key from statement_matches
       where (connection, line_key) > ($1, decode($2, 'hex')) order by connection, line_key limit $3`,
      [after?.[0] ?? '', after?.[1] ?? '', LINES_PER_PAGE],
    );
    const last = keys.at(-1);
    if (!last) return null;
    const values = [keys.map((each) => each.connection), keys.map((each) => each.key)];
    return { subject: 'statement_matches', values, rows: keys.length, last: [last.connection, last.key] };
  },
};

const CLOSES: CheckStage = {
  name: 'closes',
  async next(reader, after) {
    const keys = await reader.query<{ connection: string; currency: string; number: bigint }>(
      `select connection, currency, number from closes
       where (connection, currency, number) > ($1, $2, $3::bigint) order by connection, currency, number limit $4`,
      [after?.[0] ?? '', after?.[1] ?? '', after?.[2] ?? '0', CLOSES_PER_PAGE],
    );
    const last = keys.at(-1);
    if (!last) return null;
    const values = [
      keys.map((each) => each.connection),
      keys.map((each) => each.currency),
      keys.map((each) => each.number),
    ];
    return {
      subject: 'closes',
      values,
      rows: keys.length,
      last: [last.connection, last.currency, String(last.number)],
    };
  },
};

const BOOKINGS: CheckStage = {
  name: 'fee_bookings',
  async next(reader, after) {
    const keys = await reader.query<{ id: string }>('select id from fee_bookings where id > $1 order by id limit $2', [
      after?.[0] ?? '00000000-0000-0000-0000-000000000000',
      BOOKINGS_PER_PAGE,
    ]);
    const last = keys.at(-1);
    if (!last) return null;
    return { subject: 'fee_bookings', values: [keys.map((each) => each.id)], rows: keys.length, last: [last.id] };
  },
};

const LINE_UNCHANGED: CrossCheck = {
  name: 'statement_lines',
  subject: 'statement_matches',
  rule: 'A line of a statement is as it was when it was matched.',
  place: placeOf,
  sql: `
    select 0::bigint as holder_id, format('%s, line %s of file %s', m.connection, l.line_number, l.file_id) as id,
      ${hex('m.line_seal')} as expected, ${hex(LINE_SEAL)} as found
    from unnest($1::text[], $2::text[]) as key (connection, line_key)
    join statement_matches m on m.connection = key.connection and m.line_key = decode(key.line_key, 'hex')
    join statement_lines l on l.connection = m.connection and l.line_key = m.line_key
    where m.line_seal <> ${LINE_SEAL}`,
};

const MATCH_UNCHANGED: CrossCheck = {
  name: 'statement_matches',
  subject: 'statement_matches',
  rule: 'What a line was matched with is what it was matched with first.',
  place: placeOf,
  sql: `
    select 0::bigint as holder_id, format('%s, match of line %s of file %s', m.connection, l.line_number, l.file_id) as id,
      coalesce(${hex('m.match_seal')}, 'no match') as expected, ${hex(MATCH_SEAL)} as found
    from unnest($1::text[], $2::text[]) as key (connection, line_key)
    join statement_matches m on m.connection = key.connection and m.line_key = decode(key.line_key, 'hex')
    join statement_lines l on l.connection = m.connection and l.line_key = m.line_key
    where m.rule is not null and m.match_seal is distinct from ${MATCH_SEAL}`,
};

const CLOSE_KEYS = `unnest($1::text[], $2::text[], $3::bigint[]) as key (connection, currency, number)
  join closes k using (connection, currency, number)`;
const CLOSE_PLACE = `format('%s, %s of %s in %s', k.connection, k.kind, k.day, k.currency)`;

const CLOSE_UNCHANGED: CrossCheck = {
  name: 'closes',
  subject: 'closes',
  rule: 'A close has the hash it was signed with, and names the hash of the row before it.',
  place: placeOf,
  sql: `
    with c as (select k.*, ${closeItems('k')} as items, ${CLOSE_PLACE} as id,
        coalesce((select b.hash from closes b where b.connection = k.connection and b.currency = k.currency
                  and b.number = k.number - 1), ${FIRST_HASH}) as hash_before
      from ${CLOSE_KEYS})
    select 0::bigint as holder_id, id, ${hex('hash')} as expected, ${hex(CLOSE_HASH)} as found from c where c.hash <> ${CLOSE_HASH}
    union all
    select 0::bigint, id, 'after ' || ${hex('hash_before')}, 'after ' || ${hex('previous_hash')} from c
    where previous_hash <> hash_before`,
};

const CLOSE_CONTENT: CrossCheck = {
  name: 'close_content',
  subject: 'closes',
  rule: 'The lines of a closed day, and what they were matched with, are those that were signed.',
  place: placeOf,
  sql: `
    select 0::bigint as holder_id, ${CLOSE_PLACE} as id, ${hex('k.content_hash')} as expected,
      ${hex(contentHash('k'))} as found
    from ${CLOSE_KEYS} where k.kind = 'close' and k.content_hash <> ${contentHash('k')}`,
};

const BOOKING_IS_POSTED: CrossCheck = {
  name: 'fee_bookings',
  subject: 'fee_bookings',
  rule: 'Fees of an operator are posted once, with the sum of their lines.',
  place: placeOf,
  sql: `
    select 0::bigint as holder_id, format('%s, fees of %s', b.connection, b.day) as id,
      format('%s lines, %s %s', b.lines, trim_scale(b.amount / 100.0), b.currency) as expected,
      format('%s lines, %s; posted %s', sum_of.lines, trim_scale(coalesce(sum_of.fee, 0) / 100.0),
        trim_scale(coalesce(posted.amount, 0) / 100.0)) as found
    from unnest($1::uuid[]) as key (id) join fee_bookings b using (id)
    cross join lateral (
      select count(*) as lines, sum(m.fee)::bigint as fee from statement_effects e
      join statement_matches m on m.connection = e.connection and m.line_key = e.line_key where e.fee_booking = b.id) as sum_of
    left join lateral (
      select sum(case when p.kind in ('operator_fee', 'bank_fee') then p.amount else -p.amount end)::bigint as amount
      from ${TRANSFERS_WITH_ACCOUNTS} as p
      where p.holder_id = 0 and p.transaction_id = b.id and p.currency = b.currency and p.rail = b.connection) as posted on true
    where sum_of.lines <> b.lines or sum_of.fee is distinct from b.amount or posted.amount is distinct from b.amount`,
};

const FEE_HAS_BOOKING: CrossCheck = {
  name: 'operator_fees',
  subject: 'transfers',
  rule: 'Every transfer of an operator\u2019s fee belongs to a booking of fees.',
  sql: `
    select p.holder_id, p.transaction_id as id, 'a booking of fees' as expected, 'none' as found
    from ${TRANSFERS_WITH_ACCOUNTS} as p left join fee_bookings b on b.id = p.transaction_id
    where p.id > $1::bigint and p.id <= $2::bigint and b.id is null
      and p.kind in ('operator_fee', 'operator_fee_return', 'bank_fee', 'bank_fee_return')`,
};

/** Given to `verifyBooks`. A run since a moment compares the chain of closes and the fees, and trusts older lines. */
export const BOOKS_CHECKS = {
  whole: [LINES, BOOKINGS, CLOSES, SETTLEMENTS, OPERATOR_SETTLEMENTS],
  since: [BOOKINGS, CLOSES, SETTLEMENTS, OPERATOR_SETTLEMENTS],
  checks: [
    LINE_UNCHANGED,
    MATCH_UNCHANGED,
    CLOSE_UNCHANGED,
    CLOSE_CONTENT,
    BOOKING_IS_POSTED,
    FEE_HAS_BOOKING,
    ...SETTLEMENT_CHECKS,
  ],
} as const;
