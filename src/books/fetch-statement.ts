// Statements that the operator gives over its protocol: fetched part by part into a file, which is imported as any other. By hand
// for a day, or every day where that is on.

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Actor, recordAudit } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { HOUR_MS } from '../platform/clock.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { addDays } from '../platform/time-zones.ts';
import type { Rail, StatementSpan } from '../rails/rail.ts';
import { openCalendar } from './calendar.ts';
import { type ImportResult, importStatement } from './import-statement.ts';

/** Parts of one day; of a hundred records each, more than any account has. */
const MAX_PARTS = 10_000;
/** Operators' lists lag behind: a day is fetched this long after its end. */
const AFTER_THE_DAY_MS = HOUR_MS;
const TRY_AGAIN_MS = HOUR_MS / 4;
/** A day that cannot be fetched for so long is left to people, and the next one is tried. */
const GIVEN_UP_AFTER_DAYS = 3;
const MAX_PROBLEM = 500;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const FETCHER: Actor = { name: 'the daily fetch', memberId: null };

/** `nothing`: the operator lists no movement of that day. */
export type FetchResult = ImportResult | { outcome: 'nothing' };

const refuse = (message: string) => new Problem('invalid_params', { message });

/** Fetches a day of a connection, in its calendar, and imports it. The same day again adds what is new. */
export async function fetchStatement(
  ctx: PaymentsContext,
  actor: Actor,
  connection: string,
  day: string,
): Promise<FetchResult> {
  const rail = requireFetching(ctx, connection);
  if (!DAY.test(day) || Number.isNaN(Date.parse(day))) throw refuse(`"${day}" is not a day such as 2026-11-14.`);
  const span = (await openCalendar(ctx.db, connection)).spanOf(day);
  if (span.from > ctx.clock.now()) throw refuse(`${day} has not begun.`);
  const folder = await mkdtemp(join(tmpdir(), 'simbi-statement-'));
  try {
    const path = join(folder, 'statement.json');
    let records = 0;
    const lines = partsOf(rail, span, (count) => {
      records += count;
    });
    await pipeline(Readable.from(lines), createWriteStream(path, { mode: 0o600 }));
    if (records === 0) return { outcome: 'nothing' };
    return await importStatement(ctx, actor, { connection, path, name: `${connection} ${day}.json`, source: 'rail' });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type FetchingRail = Rail & Required<Pick<Rail, 'fetchStatement'>>;

function requireFetching({ rails }: PaymentsContext, connection: string): FetchingRail {
  const rail = rails.byName(connection);
  if (!rail) throw new Problem('not_found', { message: `There is no connection "${connection}" that can be opened.` });
  if (!canFetch(rail))
    throw refuse(
      `The operator of "${connection}" gives no statement over its protocol, or the connection lacks a setting for it. ` +
        'Download the file from its portal, and use npx simbi statement import.',
    );
  return rail;
}

const canFetch = (rail: Rail): rail is FetchingRail => typeof rail.fetchStatement === 'function';

/** A list of records, one in a line. */
async function* partsOf(rail: FetchingRail, span: StatementSpan, count: (records: number) => void) {
  let separator = '[\n';
  let part: string | null = null;
  for (let number = 0; number < MAX_PARTS; number++) {
    const reply = await rail.fetchStatement(span, part);
    if ('error' in reply) throw refuse(`The statement could not be fetched: ${reply.error}.`);
    count(reply.records.length);
    for (const record of reply.records) {
      yield separator + JSON.stringify(record);
      separator = ',\n';
    }
    part = reply.next;
    if (part === null) {
      yield separator === '[\n' ? '[]\n' : '\n]\n';
      return;
    }
  }
  throw refuse('The statement has too many parts. Download it from the portal of the operator.');
}

export type DailyFetch = { connection: string; nextDay: string; triedAt: Date | null; problem: string | null };

export function listDailyFetches(reader: Reader): Promise<DailyFetch[]> {
  return reader.query<DailyFetch>(
    `select connection, to_char(next_day, 'YYYY-MM-DD') as "nextDay", tried_at as "triedAt", problem
     from statement_fetches order by connection`,
  );
}

/** From today on, every day is fetched after its end; or it is not any more. */
export async function setDailyFetch(
  ctx: PaymentsContext,
  actor: Actor,
  connection: string,
  isOn: boolean,
): Promise<void> {
  if (isOn) requireFetching(ctx, connection);
  const at = ctx.clock.now();
  const today = (await openCalendar(ctx.db, connection)).dayOf(at);
  await ctx.db.transaction(async (tx) => {
    if (isOn)
      await tx.query(
        `insert into statement_fetches (connection, next_day, set_by, set_at) values ($1, $2, $3, $4)
         on conflict (connection) do nothing`,
        [connection, today, actor.name, at],
      );
    else if (
      (await tx.query('delete from statement_fetches where connection = $1 returning 1', [connection])).length === 0
    )
      throw new Problem('not_found', { message: `No statement of "${connection}" is fetched every day.` });
    const action = isOn ? 'statement.fetch_on' : 'statement.fetch_off';
    await recordAudit(tx, { holderId: null, actor, action, subject: connection }, at);
  });
}

/** One pass: a day of each connection that is due. Returns how many were fetched. */
export async function fetchDailyStatements(ctx: PaymentsContext): Promise<number> {
  let fetched = 0;
  for (const { connection, nextDay } of await listDailyFetches(ctx.db)) {
    const { to } = (await openCalendar(ctx.db, connection)).spanOf(nextDay);
    if (ctx.clock.millis() < to.getTime() + AFTER_THE_DAY_MS || !(await claim(ctx, connection, nextDay))) continue;
    const problem = await tryDay(ctx, connection, nextDay);
    if (problem === null) fetched++;
    const limit = (await openCalendar(ctx.db, connection)).dayOf(ctx.clock.now());
    const isDone = problem === null || addDays(nextDay, GIVEN_UP_AFTER_DAYS) < limit;
    await ctx.db.query(
      `update statement_fetches set problem = $3, next_day = $4, tried_at = case when $5 then null else tried_at end
       where connection = $1 and next_day = $2`,
      [connection, nextDay, problem, isDone ? addDays(nextDay, 1) : nextDay, isDone],
    );
  }
  return fetched;
}

async function claim(ctx: PaymentsContext, connection: string, day: string): Promise<boolean> {
  const now = ctx.clock.now();
  const rows = await ctx.db.query(
    `update statement_fetches set tried_at = $3
     where connection = $1 and next_day = $2 and (tried_at is null or tried_at <= $4) returning 1`,
    [connection, day, now, new Date(now.getTime() - TRY_AGAIN_MS)],
  );
  return rows.length > 0;
}

async function tryDay(ctx: PaymentsContext, connection: string, day: string): Promise<string | null> {
  try {
    await fetchStatement(ctx, FETCHER, connection, day);
    return null;
  } catch (error) {
    ctx.log.warn({ err: error, connection, day }, 'a statement was not fetched');
    const said = error instanceof Problem ? error.message : 'An error of this gateway; the log has it.';
    return `${day}: ${said}`.slice(0, MAX_PROBLEM);
  }
}
