// The rows behind matching: each line that was looked at, the day it counts on, what it moved, and what it was matched with. A line
// is matched once; its seals tell whether the line or the match was edited later.

import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { addDays } from '../platform/time-zones.ts';
import type { Calendar } from './calendar.ts';
import { lockDays, readClosedDays } from './closed-days.ts';
import type { GroupLine } from './groups.ts';
import { endingOf, type LineMatch } from './match-rules.ts';
import { LINE_COLUMNS, type LinePosition, type OperatorLine } from './statement-lines.ts';

/** Two unmatched lines with the same clues within this time are not told apart. */
const RIVALS_WITHIN_MS = 30 * 60_000;

const text = (column: string) => `coalesce(${column}::text, '')`;
const micros = (column: string) => `(extract(epoch from ${column}) * 1000000)::bigint`;
const seal = (parts: readonly string[]) =>
  `substr(sha256(convert_to(concat_ws('|', ${parts.join(', ')}), 'UTF8')), 1, 16)`;

/** The hash of line `l`. It must never change: signed days depend on it. */
export const LINE_SEAL = seal([
  'l.connection',
  `encode(l.line_key, 'hex')`,
  'l.file_id',
  'l.line_number',
  micros('l.occurred_at'),
  'l.kind',
  'l.direction',
  'l.state',
  'l.gross',
  ...['l.fee', 'l.currency', 'l.receipt', 'l.reference', 'l.msisdn', 'l.balance', 'l.description', 'l.raw'].map(text),
]);

/** The hash of a match, from the columns of a row named `m`. It must never change either. */
export const MATCH_SEAL = seal([
  `encode(m.line_seal, 'hex')`,
  ...['m.leg', 'm.holder_id', 'm.transaction_id', 'm.case_id', 'm.method', 'm.rule'].map(text),
  micros('m.matched_at'),
]);

/** A line that is not matched yet. `seen`: it was looked at before. */
export type OpenLine = OperatorLine & { seen: boolean };

type LineSpan = { connection: string; from: Date; to: Date };

/** Lines of a span that are not matched, oldest first, page by page. */
export function pageOpenLines(
  reader: Reader,
  { connection, from, to }: LineSpan,
  after: LinePosition | null,
  limit: number,
): Promise<OpenLine[]> {
  return reader.query<OpenLine>(
    `select ${LINE_COLUMNS}, exists (select from statement_matches m
        where m.connection = l.connection and m.line_key = l.line_key) as seen
     from statement_lines l
     where connection = $1 and occurred_at >= $2 and occurred_at < $3
       and ($4::timestamptz is null or (occurred_at, line_key) > ($4, $5::bytea))
       and not exists (select from statement_matches m
         where m.connection = l.connection and m.line_key = l.line_key and m.rule is not null)
     order by connection, occurred_at, line_key limit $6`,
    [connection, from, to, after?.occurredAt ?? null, after?.lineKey ?? null, limit],
  );
}

/** Those of some lines that are not matched. */
export function openLinesOf(reader: Reader, connection: string, keys: readonly Buffer[]): Promise<OpenLine[]> {
  return reader.query<OpenLine>(
    `select ${LINE_COLUMNS}, true as seen from statement_lines l
     where connection = $1 and line_key = any ($2::bytea[])
       and exists (select from statement_matches m where m.connection = l.connection and m.line_key = l.line_key and m.rule is null)
     order by occurred_at, line_key`,
    [connection, keys],
  );
}

/** Lines of files that were read to their end since a moment, and are older than a span: their own day may be closed. */
export function pageLateLines(
  reader: Reader,
  connection: string,
  { before, since, limit }: { before: Date; since: Date; limit: number },
): Promise<OpenLine[]> {
  return reader.query<OpenLine>(
    `select ${LINE_COLUMNS}, false as seen from statement_lines l
     where file_id = any (array(select id from statement_files where connection = $1 and coalesce(finished_at, imported_at) >= $2))
       and occurred_at < $3
       and not exists (select from statement_matches m where m.connection = l.connection and m.line_key = l.line_key)
     order by occurred_at, line_key limit $4`,
    [connection, since, before, limit],
  );
}

/** What a line added to our account, and what the operator took beside it. Nothing moved unless it succeeded. */
export function movedBy({ state, kind, direction, gross, fee }: OperatorLine): { moved: bigint; fee: bigint } {
  if (state !== 'succeeded') return { moved: 0n, fee: 0n };
  if (kind === 'fee') return { moved: 0n, fee: direction === 'out' ? gross : -gross };
  return { moved: direction === 'in' ? gross : -gross, fee: fee ?? 0n };
}

type NewMatch = { line: OperatorLine; match: LineMatch | null; day: string; late: boolean };

const MATCHES = columns<NewMatch>(3, {
  line_key: ['bytea', ({ line }) => line.lineKey],
  day: ['date', ({ day }) => day],
  late: 'boolean',
  currency: ['text', ({ line }) => line.currency],
  moved: ['bigint', ({ line }) => movedBy(line).moved],
  fee: ['bigint', ({ line }) => movedBy(line).fee],
  leg: ['text', ({ match }) => match?.leg ?? null],
  holder_id: ['bigint', ({ match }) => match?.holderId ?? null],
  transaction_id: ['uuid', ({ match }) => match?.transactionId ?? null],
  case_id: ['uuid', ({ match }) => match?.caseId ?? null],
  method: ['text', ({ match }) => match?.method ?? null],
  rule: ['text', ({ match }) => match?.rule ?? null],
});

/** Keeps what was found about lines. A line that was matched before keeps its match. */
export async function keepMatches(
  tx: Tx,
  connection: string,
  lines: readonly OperatorLine[],
  matches: readonly LineMatch[],
  { calendar, at }: { calendar: Calendar; at: Date },
): Promise<void> {
  if (lines.length === 0) return;
  await lockDays(tx, connection, 'lines');
  const { days: closed } = await readClosedDays(tx, connection);
  const matchOf = new Map(matches.map((match) => [match.line, match]));
  const rows = lines.map((line): NewMatch => {
    const own = calendar.dayOf(line.occurredAt);
    const last = closed.get(line.currency) ?? '';
    const late = own <= last;
    return { line, match: matchOf.get(line) ?? null, day: late ? addDays(last, 1) : own, late };
  });
  await tx.query(
    `insert into statement_matches as known (connection, ${MATCHES.names}, matched_at, seen_at, line_seal, match_seal)
     select $1, m.line_key, m.day, m.late, m.currency, m.moved, m.fee, m.leg, m.holder_id, m.transaction_id, m.case_id, m.method, m.rule,
            m.matched_at, $2, m.line_seal, case when m.rule is not null then ${MATCH_SEAL} end
     from (select input.*, ${LINE_SEAL} as line_seal, case when rule is not null then $2::timestamptz end as matched_at
           from ${MATCHES.rows}
           join statement_lines l on l.connection = $1 and l.line_key = input.line_key) as m
     order by m.line_key
     on conflict (connection, line_key) do update set leg = excluded.leg, holder_id = excluded.holder_id,
       transaction_id = excluded.transaction_id, case_id = excluded.case_id, method = excluded.method, rule = excluded.rule,
       matched_at = excluded.matched_at, match_seal = excluded.match_seal
     where known.rule is null and excluded.rule is not null`,
    [connection, at, ...MATCHES.arrays(rows)],
  );
}

export type MatchedLine = GroupLine & {
  transactionId: string | null;
  caseId: string | null;
  receipt: string | null;
};

const GROUP_COLUMNS = `m.line_key as "lineKey", coalesce(m.leg, case when l.kind = 'fee' then 'fee' else 'payment' end) as leg, l.state,
  m.moved, m.day::text as day, m.currency, m.transaction_id as "transactionId", m.case_id as "caseId", l.receipt`;

/** Every line that was matched with one of these transactions or cases, oldest first. */
export function linesOfGroups(reader: Reader, connection: string, ids: readonly string[]): Promise<MatchedLine[]> {
  if (ids.length === 0) return Promise.resolve([]);
  return reader.query<MatchedLine>(
    `select ${GROUP_COLUMNS} from (
       select * from statement_matches where transaction_id = any ($2::uuid[])
       union all
       select * from statement_matches where case_id = any ($2::uuid[])
     ) m join statement_lines l on l.connection = m.connection and l.line_key = m.line_key
     where m.connection = $1 order by l.occurred_at, l.line_key`,
    [connection, ids],
  );
}

/** Lines with these receipts that were matched with a case: their money may have left suspense since. */
export function heldLines(reader: Reader, connection: string, receipts: readonly string[]): Promise<MatchedLine[]> {
  if (receipts.length === 0) return Promise.resolve([]);
  return reader.query<MatchedLine>(
    `select ${GROUP_COLUMNS} from unnest($2::text[]) as said (receipt)
     join statement_lines l on l.connection = $1 and l.receipt = said.receipt
     join statement_matches m on m.connection = l.connection and m.line_key = l.line_key
     where m.case_id is not null order by l.occurred_at, l.line_key`,
    [connection, receipts],
  );
}

/** The lines that count on some days, matched or not, page by page. */
export function pageCountedLines(
  reader: Reader,
  connection: string,
  days: { first: string; last: string },
  after: { day: string; lineKey: Buffer } | null,
  limit: number,
): Promise<MatchedLine[]> {
  return reader.query<MatchedLine>(
    `select ${GROUP_COLUMNS} from (
       select * from statement_matches
       where connection = $1 and day >= $2 and day <= $3
         and ($4::date is null or (day, line_key) > ($4, $5::bytea))
       order by connection, day, line_key limit $6
     ) m join statement_lines l on l.connection = m.connection and l.line_key = m.line_key
     order by m.day, m.line_key`,
    [connection, days.first, days.last, after?.day ?? null, after?.lineKey ?? null, limit],
  );
}

/** Some lines that count, matched or not. */
export function countedLinesOf(reader: Reader, connection: string, keys: readonly Buffer[]): Promise<MatchedLine[]> {
  return reader.query<MatchedLine>(
    `select ${GROUP_COLUMNS} from statement_matches m join statement_lines l on l.connection = m.connection and l.line_key = m.line_key
     where m.connection = $1 and m.line_key = any ($2::bytea[]) order by m.day, m.line_key`,
    [connection, keys],
  );
}

const RIVALS = columns<OperatorLine>(4, {
  line_key: ['bytea', (line) => line.lineKey],
  gross: 'bigint',
  currency: 'text',
  direction: 'text',
  ending: ['text', (line) => endingOf(line.msisdn)],
  msisdn: 'text',
  occurred_at: ['timestamptz', (line) => line.occurredAt],
});

/** The keys (in hexadecimal) of lines beside which another unmatched one has the same amount and ending, near in time. */
export async function findRivals(
  reader: Reader,
  connection: string,
  lines: readonly OperatorLine[],
): Promise<Set<string>> {
  const [first, last] = [lines[0], lines.at(-1)];
  if (!first || !last) return new Set();
  const rows = await reader.query<{ key: string }>(
    `with other as materialized (
       select l.line_key, l.gross, l.currency, l.direction, right(l.msisdn, 3) as ending, l.msisdn as number, l.occurred_at
       from statement_lines l left join statement_matches m on m.connection = l.connection and m.line_key = l.line_key
       where l.connection = $1 and l.occurred_at between $2 and $3 and l.state = 'succeeded' and l.kind in ('payment', 'reversal')
         and m.rule is null
     )
     select distinct encode(input.line_key, 'hex') as key from ${RIVALS.rows}
     join other using (gross, currency, direction, ending)
     where other.line_key <> input.line_key
       -- Two whole numbers that differ are no rivals; a masked one may be either.
       and (other.number = input.msisdn or other.number ~ '\\D' or input.msisdn ~ '\\D')
       and other.occurred_at between input.occurred_at - interval '30 minutes' and input.occurred_at + interval '30 minutes'`,
    [
      connection,
      new Date(first.occurredAt.getTime() - RIVALS_WITHIN_MS),
      new Date(last.occurredAt.getTime() + RIVALS_WITHIN_MS),
      ...RIVALS.arrays(lines),
    ],
  );
  return new Set(rows.map((row) => row.key));
}

/** Which legs of these transactions have a line already: "<id> <leg>". */
export async function takenLegs(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
  const rows = await reader.query<{ taken: string }>(
    `select transaction_id || ' ' || leg as taken from statement_matches where transaction_id = any ($1::uuid[])`,
    [ids],
  );
  return new Set(rows.map((row) => row.taken));
}
