// The log of API requests: one row a request, collected in memory and written some times a second, so no request waits for its
// row. When the database is too slow, rows are dropped and counted. The same pass notes when integrations, keys and tokens were
// last used, at most once a minute each. A request whose caller is not verified goes elsewhere (unverified-requests.ts).

import { DAY_MS } from '../platform/clock.ts';
import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { addressOf, type HttpServer } from '../platform/http.ts';
import { timeOfUuid, uuidFromPublicId } from '../platform/ids.ts';
import { type ArchivedRows, inMonth } from '../platform/months.ts';
import { type AnsweredRequest, whenAnswered } from '../platform/operations.ts';
import { maintainPartitions, type PartitionPlan, withPartitions } from '../platform/partitions.ts';
import { noteKeyUse } from './integration-secrets.ts';
import { findLiveIntegration, type Integration, noteUse } from './integrations.ts';
import { noteTokenUse } from './tokens.ts';
import { createSampler, writeUnverified } from './unverified-requests.ts';

/** Few rows at a time: a second of them would hold up the requests of that moment, and be old for the garbage collector. */
const FLUSH_EVERY_MS = 200;
const ENOUGH_ROWS = 256;
const MAX_BUFFERED = 20_000;
const ROWS_PER_STATEMENT = 5_000;
/** A program that goes on after it was told to wait is refused without end: so many of an integration are kept each time. */
const MAX_REFUSED = 20;
const USE_NOTED_EVERY_MS = 60_000;
const MAX_USES_REMEMBERED = 20_000;
export const KEPT_DAYS = 30;
/** Pages and pictures are not logged. */
const LOGGED = '/api/';

export const PARTITIONS: PartitionPlan = { table: 'request_log', span: 'day', ahead: 2, keepMs: KEPT_DAYS * DAY_MS };

type Entry = {
  at: Date;
  id: string;
  clientId: string;
  ref: string | null;
  ms: number;
  status: number;
  route: string;
  address: string;
  code: string | null;
  /** Whether the request proved that it comes from the integration. */
  verified: boolean;
  keyId: string | null;
  tokenId: string | null;
};

type LogRow = { readonly entry: Entry; readonly integration: Integration };

export interface RequestLog {
  /** Rows that were dropped because the database was slower than the traffic, or because too many were refused. */
  readonly dropped: () => number;
  /** Writes what is collected. Runs every second; tests call it. */
  flush(): Promise<number>;
}

/** Starts to log the app's requests. */
export function keepRequestLog(app: HttpServer, ctx: Context): RequestLog {
  let entries: Entry[] = [];
  let dropped = 0;
  let writing: Promise<number> | null = null;
  const writeRows = createWriter(ctx);
  const isSampled = createSampler(ctx.clock);

  whenAnswered(app, (answered) => {
    const entry = entryOf(ctx, answered);
    if (entry && !entry.verified) ctx.metrics.unverifiedRequests.inc({ code: entry.code ?? 'none' });
    const kept = entry && (entry.verified || isSampled(entry.clientId, entry.address));
    if (kept && entries.length >= MAX_BUFFERED) dropped++;
    else if (kept) entries.push(entry);
    if (entries.length >= ENOUGH_ROWS) writeNow();
  });

  async function write(): Promise<number> {
    const taken = entries;
    entries = [];
    const kept = withoutExcessRefusals(taken);
    dropped += taken.length - kept.length;
    try {
      return await writeRows(kept);
    } catch (error) {
      dropped += kept.length;
      throw error;
    }
  }

  /** Writes all that came before, also what came while other rows were being written. */
  async function flush(): Promise<number> {
    while (writing) await writing.catch(() => undefined);
    writing = write().finally(() => {
      writing = null;
    });
    return await writing;
  }

  function writeNow(): void {
    if (entries.length === 0 || writing) return;
    flush().catch((error: unknown) => ctx.log.warn({ err: error }, 'the request log could not be written'));
  }

  const timer = setInterval(writeNow, FLUSH_EVERY_MS).unref();
  app.addHook('onClose', async () => {
    clearInterval(timer);
    await flush().catch(() => 0);
  });
  return { dropped: () => dropped, flush };
}

function entryOf(ctx: Context, answered: AnsweredRequest): Entry | null {
  const { route } = answered;
  const { client_id, claimed_client_id, key_id, token_id, ref, code } = answered.logged;
  const clientId = client_id ?? claimed_client_id;
  if (route === undefined || !route.startsWith(LOGGED) || typeof clientId !== 'string') return null;
  return {
    at: ctx.clock.now(),
    id: answered.id,
    clientId,
    ref: typeof ref === 'string' ? ref : null,
    ms: answered.ms,
    status: answered.status,
    route: `${answered.method} ${route}`,
    address: addressOf(answered),
    code: typeof code === 'string' ? code : null,
    verified: client_id !== undefined,
    keyId: typeof key_id === 'string' ? key_id : null,
    tokenId: typeof token_id === 'string' ? token_id : null,
  };
}

function withoutExcessRefusals(entries: readonly Entry[]): Entry[] {
  const refused = new Map<string, number>();
  return entries.filter((entry) => {
    if (entry.status < 400 || !entry.verified) return true;
    const count = (refused.get(entry.clientId) ?? 0) + 1;
    refused.set(entry.clientId, count);
    return count <= MAX_REFUSED;
  });
}

/** Notes the last use of integrations, keys and tokens, each at most once a minute. */
function createUseNotes(ctx: Context): (rows: readonly LogRow[]) => Promise<void> {
  /** Of integrations, keys or tokens, by their ids as text: when each was noted. */
  type Noted = Map<string, number>;
  const noted = { integrations: new Map(), keys: new Map(), tokens: new Map() } satisfies Record<string, Noted>;

  /** The last row of each id, without those that were noted a moment ago. */
  function dueOf(known: Noted, rows: readonly LogRow[], idOf: (row: LogRow) => string | null): Map<string, LogRow> {
    const now = ctx.clock.millis();
    const due = new Map<string, LogRow>();
    for (const row of rows) {
      const id = idOf(row);
      if (id !== null && now - (known.get(id) ?? Number.NEGATIVE_INFINITY) >= USE_NOTED_EVERY_MS) due.set(id, row);
    }
    if (known.size > MAX_USES_REMEMBERED) known.clear();
    for (const id of due.keys()) known.set(id, now);
    return due;
  }

  return async (rows) => {
    const now = ctx.clock.now();
    const accepted = rows.filter(({ entry }) => entry.status < 400);
    const integrations = dueOf(noted.integrations, accepted, ({ entry }) => entry.clientId);
    const used = [...integrations.values()].map(({ integration }) => integration.id);
    if (used.length > 0) await noteUse(ctx.db, used, now);
    // Whether a key or a token is still in use does not depend on the answer.
    const keys = dueOf(noted.keys, rows, ({ entry }) => entry.keyId);
    if (keys.size > 0) await noteKeyUse(ctx.db, [...keys.keys()].map(BigInt), now);
    const tokens = dueOf(noted.tokens, rows, ({ entry }) => entry.tokenId);
    const uses = [...tokens].map(([id, { entry }]) => ({ tokenId: BigInt(id), at: entry.at, address: entry.address }));
    if (uses.length > 0) await noteTokenUse(ctx.db, uses);
  };
}

/** Writes rows, makes the partitions of days to come, drops old ones, and notes last uses. */
function createWriter(ctx: Context): (entries: readonly Entry[]) => Promise<number> {
  const noteUses = createUseNotes(ctx);
  let maintainedDay = -1;

  async function writeLog(rows: readonly LogRow[]): Promise<void> {
    // A day at a time: each has a partition of its own.
    for (const ofDay of Object.values(Object.groupBy(rows, (row) => Math.floor(row.entry.at.getTime() / DAY_MS))))
      for (let from = 0; ofDay && from < ofDay.length; from += ROWS_PER_STATEMENT) {
        const part = ofDay.slice(from, from + ROWS_PER_STATEMENT);
        await withPartitions(ctx, PARTITIONS, part[0]?.entry.at ?? ctx.clock.now(), () => insert(ctx, part));
      }
    const day = Math.floor(ctx.clock.millis() / DAY_MS);
    if (day !== maintainedDay) await maintainPartitions(ctx, PARTITIONS);
    maintainedDay = day;
  }

  return async (entries) => {
    const rows = await withIntegrations(ctx, entries);
    const verified = rows.filter(({ entry }) => entry.verified);
    if (ctx.config.requestLog === 'on') {
      await writeLog(verified);
      await writeUnverified(ctx, rows.filter(({ entry }) => !entry.verified).map(unverifiedOf));
    }
    await noteUses(verified);
    return rows.length;
  };
}

function unverifiedOf({ entry, integration }: LogRow) {
  return { ...entry, id: uuidOf(entry), integrationId: integration.id, holderId: integration.holderId };
}

function uuidOf({ id }: Entry): string {
  return uuidFromPublicId('req', id) ?? '00000000-0000-0000-0000-000000000000';
}

/** Entries with their integration and holder; entries of an unknown client_id are left out. */
async function withIntegrations(ctx: Context, entries: readonly Entry[]): Promise<LogRow[]> {
  const integrations = new Map<string, Integration | null>();
  // Answered from memory: the requests have just used these integrations.
  for (const clientId of new Set(entries.map((entry) => entry.clientId)))
    integrations.set(clientId, await findLiveIntegration(ctx, { clientId }));
  return entries.flatMap((entry) => {
    const integration = integrations.get(entry.clientId);
    return integration ? { entry, integration } : [];
  });
}

const LOG_COLUMNS = columns<LogRow>(1, {
  at: ['timestamptz', ({ entry }) => entry.at],
  id: ['uuid', ({ entry }) => uuidOf(entry)],
  holder_id: ['bigint', ({ integration }) => integration.holderId],
  integration_id: ['bigint', ({ integration }) => integration.id],
  transaction_id: ['uuid', ({ entry: { ref } }) => (ref === null ? null : uuidFromPublicId('TX', ref))],
  ms: ['real', ({ entry }) => entry.ms],
  status: ['smallint', ({ entry }) => entry.status],
  route: ['text', ({ entry }) => entry.route],
  address: ['text', ({ entry }) => entry.address],
  code: ['text', ({ entry }) => entry.code],
});

async function insert({ db }: Context, rows: readonly LogRow[]): Promise<void> {
  await db.unflushed(
    {
      name: 'write_request_log',
      text: `insert into request_log (${LOG_COLUMNS.names}) select ${LOG_COLUMNS.names} from ${LOG_COLUMNS.rows}`,
    },
    LOG_COLUMNS.arrays(rows),
  );
}

export type LoggedRequest = {
  at: Date;
  id: string;
  integration_id: bigint;
  transaction_id: string | null;
  ms: number;
  status: number;
  route: string;
  address: string;
  code: string | null;
};

export type RequestFilter = {
  integrationId?: bigint | undefined;
  /** 2, 4 or 5: the hundreds of the status. */
  family?: number | undefined;
  code?: string | undefined;
  route?: string | undefined;
  id?: string | undefined;
  transactionId?: string | undefined;
  since: Date;
  before?: Date | undefined;
  /** Only what stands after this place of the list. */
  after?: RequestPlace | undefined;
};

/** A row of the list, newest first. Many requests have the same moment, so their ids decide. */
export type RequestPlace = { at: Date; id: string };

/** For an archive: what is left of a month after thirty days. */
export const REQUEST_ROWS: ArchivedRows = {
  name: 'request_log',
  query: (month) => `
    select at, id, holder_id, integration_id, transaction_id, ms, status, route, address, code
    from request_log where ${inMonth('at', month)} order by at, id, holder_id, route, status, ms, address`,
};

/** At most so many rows are read for one page. */
const SCAN_ROWS = 20_000;
/** An id contains the moment of its request; the row has that of the answer. */
const LONGEST_REQUEST_MS = 10 * 60_000;
const FIRST_PLACE: RequestPlace = { at: new Date('9999-12-31T00:00:00Z'), id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

type RequestSpan = { since: Date; before: Date; after: RequestPlace };

function spanOf({ since, before, after = FIRST_PLACE, id }: RequestFilter): RequestSpan {
  const starts = [since.getTime()];
  const ends = [after.at.getTime() + 1, before?.getTime() ?? Number.POSITIVE_INFINITY];
  if (id !== undefined) {
    starts.push(timeOfUuid(id) - 1_000);
    ends.push(timeOfUuid(id) + LONGEST_REQUEST_MS);
  }
  return { since: new Date(Math.max(...starts)), before: new Date(Math.min(...ends)), after };
}

/** $1 holder, $2 to $5 the span. */
const IN_SPAN = `holder_id = $1 and at >= $2 and at < $3 and (at, id) < ($4, $5::uuid) order by at desc, id desc`;

/** The newest requests of a holder that match the filter. */
export function listRequests(
  reader: Reader,
  holderId: bigint,
  filter: RequestFilter,
  limit: number,
): Promise<LoggedRequest[]> {
  // No index has ids. But the span of one is short, so all of it is read.
  const rows = filter.id === undefined ? String(SCAN_ROWS) : 'all';
  return reader.query<LoggedRequest>(
    `select at, id, integration_id, transaction_id, ms, status, route, address, code
     from (select * from request_log where ${IN_SPAN} limit ${rows}) r
     where ($6::bigint is null or integration_id = $6) and ($7::int is null or status / 100 = $7)
       and ($8::text is null or code = $8) and ($9::text is null or route = $9)
       and ($10::uuid is null or id = $10) and ($11::uuid is null or transaction_id = $11)
     order by at desc, id desc limit $12`,
    [
      ...spanValues(holderId, filter),
      filter.integrationId ?? null,
      filter.family ?? null,
      filter.code ?? null,
      filter.route ?? null,
      filter.id ?? null,
      filter.transactionId ?? null,
      limit,
    ],
  );
}

function spanValues(holderId: bigint, filter: RequestFilter): unknown[] {
  const { since, before, after } = spanOf(filter);
  return [holderId, since, before, after.at, after.id];
}

/** `lookedBackTo`: how far rows were read, where not all of them were. */
export type RequestPage = { rows: LoggedRequest[]; next: RequestPlace | null; lookedBackTo: Date | null };

/** One page of them, and the place that the next one follows. */
export async function listRequestPage(
  reader: Reader,
  holderId: bigint,
  filter: RequestFilter,
  limit: number,
): Promise<RequestPage> {
  const rows = await listRequests(reader, holderId, filter, limit + 1);
  const shown = rows.slice(0, limit);
  if (rows.length > limit) return { rows: shown, next: shown.at(-1) ?? null, lookedBackTo: null };
  const [edge] = await reader.query<RequestPlace>(
    `select at, id from request_log where ${IN_SPAN} offset ${SCAN_ROWS - 1} limit 1`,
    spanValues(holderId, filter),
  );
  const isCut = edge !== undefined && filter.id === undefined;
  return { rows: shown, next: isCut ? edge : null, lookedBackTo: isCut ? edge.at : null };
}
