// PostgreSQL: one pool, and transactions that retry deadlocks. Success is reported only when the commit is certain:
// a doubtful commit becomes `outcome_unknown`, and a transaction refuses statements after its end.
//
// A connection that is ours alone is given its role and time-outs when it opens, and keeps prepared statements. Behind a pooler
// (?pooler=transaction) it is lent for one transaction: then each transaction begins with them, and no statement has a name.

import assert from 'node:assert/strict';
import pg from 'pg';
import { noteCommit } from './commit-tracking.ts';
import { type CommitState, type CommitWatch, createCommitWatch } from './commit-watch.ts';
import { busyAsProblem, lossOf, withRetries } from './database-errors.ts';
import { SERVICE_ROLE, TENANT_ROLE } from './database-roles.ts';
import { clientOf, connectClient, DatabaseServers } from './database-servers.ts';
import { useOwnTypes } from './database-types.ts';
import { asRole, isPooled } from './database-url.ts';
import { Problem } from './errors.ts';
import { type KnownColumns, type Preamble, sendPrepared } from './prepared-query.ts';
import { createReachable } from './reachable.ts';
import { createRowPlaces, placesOfTransaction, type RowPlaces } from './row-places.ts';
import { endWhenSilent } from './silent-servers.ts';

const STATEMENT_TIMEOUT_MS = 8_000;
/**
 * After the statement's own time-out: PostgreSQL's does not reach into a commit that waits for a standby, and no answer comes
 * from a server that was cut off.
 */
const ANSWER_MARGIN_MS = 500;
const LOCK_TIMEOUT_MS = 4_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
/**
 * A connection that nobody has used for so long is closed. Opening one takes both sides milliseconds (a process, the rounds of SCRAM, every
 * statement parsed anew), and a burst opens several at the same moment: it should find those of the last burst. Cloud
 * networks drop a connection after 350 seconds without traffic.
 */
const IDLE_CONNECTION_MS = 300_000;
/** A person who typed a command waits for its answer, and so does what starts: many processes may start on a busy machine. */
export const ACQUIRE_TIMEOUT_MS = 15_000;
/** A request is refused after a second without a connection, and sent again. */
export const REQUEST_ACQUIRE_TIMEOUT_MS = 1_000;
/** A function that `simbi distribute` leaves in the database. */
export const DISTRIBUTED_MARK = 'store_is_distributed';
/** A statement without one of these words changes nothing. */
const CHANGES = /\b(?:insert|update|delete|post_transfers)\b/i;

useOwnTypes();

/**
 * A statement with a name is prepared once per connection; use it for the fixed texts of the hot path. `byIndex`: it is never planned
 * to read a whole table. For queues: one that was empty at its last vacuum seems to have one row, for which the cheapest plan has no
 * index, and PostgreSQL keeps the plan while the queue grows to thousands.
 */
export type Statement = string | { readonly name: string; readonly text: string; readonly byIndex?: true };

/** Runs one statement: the pool itself, or a transaction. Enough for reads. */
export interface Reader {
  query<R extends object = Record<string, unknown>>(statement: Statement, values?: unknown[]): Promise<R[]>;
  /**
   * Whether the rows of holders are on several servers: `simbi distribute` marks the database. Then a statement that locks rows names
   * one holder (platform/one-holder.ts), and none goes from holder to holder by recursion. Asked with the first connection.
   */
  isDistributed?(): boolean;
}

/** An open transaction. Functions that write take one, as their first parameter, never optional. */
export interface Tx extends Reader {
  readonly isTransaction: true;
  readonly places?: RowPlaces;
}

export interface Database extends Reader {
  /** Runs `work` in one transaction. Deadlocks and serialisation failures are tried again, at most five times. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** For work of exactly one statement, which is a transaction by itself: no begin, no commit, one trip. */
  single<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * One statement that commits without waiting for the disk. Only for what is harmless to lose when the database server crashes
   * within the next second: a line of a log, or the record of a call that is then made again under the same id.
   */
  unflushed<R extends object = Record<string, unknown>>(statement: Statement, values?: unknown[]): Promise<R[]>;
  /** Everything that `work` reads is as of one moment, however long it takes. It changes nothing. */
  snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T>;
  /**
   * Does `work` while no other process does any under this key. If one does: waits some seconds for it, or returns what `ifTaken`
   * returns. The lock ends with the work or with the process. It is held by a transaction of its own, in which nothing is done.
   */
  withLock<T>(key: bigint, work: () => Promise<T>, ifTaken?: () => T): Promise<T>;
  /**
   * The same database for what one holder reads: `query` runs under row-level security, so a statement that forgets the holder
   * shows no row of another. What writes, and transactions, have the rights of the service.
   */
  forHolder(holderId: bigint): Database;
  isDistributed(): boolean;
  /** Counted since the start; tests and the benchmark compare them. */
  readonly counters: { statements: number; commits: number };
  readonly waiting: () => number;
  /** Whether the server takes changes and commits them. */
  commitState(): Promise<CommitState>;
  close(): Promise<void>;
}

export type DatabaseOptions = {
  url: string;
  /** `owner`: with the rights of the login itself, for a database that is not migrated yet. The service has fewer. */
  as?: 'service' | 'owner';
  poolSize?: number;
  applicationName?: string;
  statementTimeoutMs?: number;
  lockTimeoutMs?: number;
  /** How long a call may wait for a connection before it is refused. */
  acquireTimeoutMs?: number;
  onConnectionError?: (error: Error) => void;
};

export function connectDatabase(options: DatabaseOptions): Database {
  const shared = openPool(options);
  const db: Database = {
    counters: shared.counters,
    isDistributed: () => shared.isDistributed === true,
    waiting: () => shared.pool.waitingCount,
    query: (statement, values) => busyAsProblem(() => runStatement(shared, statement, values)),
    transaction: (work) => withRetries(() => runTransaction(shared, work)),
    single: (work) => withRetries(() => work(singleStatement(shared))),
    unflushed: (statement, values) => withRetries(() => runStatement(shared, statement, values, UNFLUSHED)),
    snapshot: (work) => busyAsProblem(() => runSnapshot(shared, work)),
    withLock: (key, work, ifTaken) => busyAsProblem(() => runLocked(shared, key, work, ifTaken)),
    forHolder: (holderId) => ({
      ...db,
      query: (statement, values) =>
        busyAsProblem(() =>
          mayChange(statement)
            ? runStatement(shared, statement, values)
            : runStatement(shared, ofHolder(statement), values, forOneHolder(holderId)),
        ),
    }),
    commitState: () => shared.commits.check(),
    async close() {
      await Promise.all([shared.commits.close(), shared.pool.end()]);
    },
  };
  return db;
}

/** What all statements of one database share. */
type Shared = {
  pool: pg.Pool;
  connect: () => Promise<pg.PoolClient>;
  commits: CommitWatch;
  counters: Database['counters'];
  columns: KnownColumns;
  /** What every transaction begins with, because its connection cannot keep it; null: the connection is ours and does. */
  settings: string | null;
  /** Connections whose last commit was acknowledged by this server but not by the standby. */
  doubtful: WeakSet<object>;
  /** Null: there was no connection yet. */
  isDistributed: boolean | null;
  places: RowPlaces;
};

function openPool(options: DatabaseOptions): Shared {
  const role = options.as === 'owner' ? null : SERVICE_ROLE;
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const timeouts = {
    statement_timeout: statementTimeoutMs,
    lock_timeout: options.lockTimeoutMs ?? LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  };
  const pooled = isPooled(options.url);
  const connectionString = role === null || pooled ? options.url : asRole(options.url, role);
  const servers = new DatabaseServers(connectionString);
  const connection = {
    connectionString,
    connectionTimeoutMillis: options.acquireTimeoutMs ?? ACQUIRE_TIMEOUT_MS,
    application_name: options.applicationName ?? 'simbi',
    keepAlive: true,
  };
  const pool = new pg.Pool({
    ...connection,
    ...(pooled ? {} : timeouts),
    Client: clientOf(servers),
    max: options.poolSize ?? 10,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    // Statements issued at the same time are sent together instead of waiting for each other's answers.
    pipeline: true,
  });
  const doubtful = new WeakSet<object>();
  // An idle connection that breaks is reported here; without a listener Node would stop the process.
  pool.on('error', (error) => options.onConnectionError?.(error));
  pool.on('connect', (client) => {
    endWhenSilent(client, statementTimeoutMs + ANSWER_MARGIN_MS);
    client.on('notice', (notice) => {
      if (/synchronous replication/i.test(notice.message ?? '')) doubtful.add(client);
    });
    // A connection that breaks while in use rejects its query; the event itself needs no other handling.
    client.on('error', () => undefined);
  });
  const commits = createCommitWatch(
    (url) => (url ? connectClient({ ...connection, connectionString: url }) : connectClient(connection, servers)),
    servers,
  );
  const settings = pooled ? settingsOf(role, timeouts) : null;
  const counters = { statements: 0, commits: 0 };
  const connect = createReachable(pool, servers);
  const places = createRowPlaces();
  return { pool, connect, commits, doubtful, columns: new WeakMap(), settings, isDistributed: null, places, counters };
}

/** `set local`: they end with the transaction, so the next that is lent the connection has none of them. */
function settingsOf(role: string | null, timeouts: Record<string, number>): string {
  const settings = Object.entries(timeouts).map(([name, value]) => `set local ${name} = ${value}`);
  return [...(role === null ? [] : [`set local role ${role}`]), ...settings].join('; ');
}

/** Begins a transaction, in one message. `more` comes last, so it wins. */
function beginWith({ settings }: Shared, begin = 'begin', more?: string): string {
  return [begin, settings, more].filter(Boolean).join('; ');
}

/** A connection borrowed from the pool, usable until `end`. */
type Session = {
  client: pg.PoolClient;
  query: Reader['query'];
  /** From here on statements are refused: they would run in whatever transaction has the connection next. */
  end(): void;
  /** Whether a statement that may change rows was sent. */
  hasChanged(): boolean;
};

/** Null: the connection failed. The statement that borrowed it says so. */
async function readIsDistributed(client: pg.PoolClient): Promise<boolean | null> {
  const text = `select exists (select from pg_proc where proname = '${DISTRIBUTED_MARK}') as yes`;
  const answer = await client.query<{ yes: boolean }>(text).catch(() => null);
  return answer?.rows[0]?.yes ?? null;
}

async function borrow(shared: Shared): Promise<Session> {
  const client = await shared.connect();
  shared.isDistributed ??= await readIsDistributed(client);
  let hasEnded = false;
  let hasChanged = false;
  return {
    client,
    async query<R extends object>(statement: Statement, values?: unknown[]): Promise<R[]> {
      assert(!hasEnded, 'This transaction has ended: its connection may be in use by another one.');
      if (mayChange(statement)) {
        shared.commits.require();
        hasChanged = true;
      }
      return await send<R>(shared, client, statement, values);
    },
    end: () => {
      hasEnded = true;
    },
    hasChanged: () => hasChanged,
  };
}

function mayChange(statement: Statement): boolean {
  return CHANGES.test(typeof statement === 'string' ? statement : statement.text);
}

async function send<R extends object>(
  shared: Shared,
  client: pg.PoolClient,
  statement: Statement,
  values?: unknown[],
  preamble: Preamble | null = null,
): Promise<R[]> {
  shared.counters.statements++;
  const { name, text, byIndex = false } = typeof statement === 'string' ? { name: '', text: statement } : statement;
  // Several statements in one text have no parameters, and only this way of sending takes them.
  if (shared.settings !== null || (name === '' && !values && !preamble))
    return (await client.query<R>({ text, values })).rows;
  return await sendPrepared<R>(
    shared.columns,
    client,
    { name, text },
    values ?? [],
    preamble ?? (byIndex ? BY_INDEX : null),
  );
}

/** In a transaction it holds for the statements after it too. */
const BY_INDEX: Preamble = { name: 'by_index', text: `select set_config('enable_seqscan', 'off', true)`, values: [] };

function txOf(shared: Shared): Omit<Tx, 'query'> {
  return { isTransaction: true, isDistributed: () => shared.isDistributed === true, places: shared.places };
}

async function runTransaction<T>(shared: Shared, work: (tx: Tx) => Promise<T>): Promise<T> {
  const session = await borrow(shared);
  const { client } = session;
  let broken: Error | undefined;
  let committing = false;
  try {
    const { places, keep } = placesOfTransaction(shared.places);
    const tx: Tx = { ...txOf(shared), places, query: session.query };
    // Sent together with the first statement of the work: one round trip less.
    const [, result] = await Promise.all([client.query(beginWith(shared)), work(tx)]);
    session.end();
    committing = true;
    const { command } = await (session.hasChanged()
      ? shared.commits.watch(client.query('commit'))
      : client.query('commit'));
    // PostgreSQL answers ROLLBACK when a statement has failed and the work went on all the same.
    assert.equal(command, 'COMMIT', 'The transaction was rolled back: one of its statements had failed.');
    refuseDoubt(shared, client);
    shared.counters.commits++;
    keep();
    if (session.hasChanged()) noteCommit();
    return result;
  } catch (error) {
    // Before the rollback is sent: statements sent so far are rolled back with it, and no other can follow it.
    session.end();
    const loss = lossOf(error, committing ? 'outcome_unknown' : 'database_unavailable');
    if (loss) {
      broken = error as Error;
      throw loss;
    }
    if (!committing) await client.query('rollback').catch((failure: Error) => (broken = failure));
    throw error;
  } finally {
    client.release(broken);
  }
}

/** What is special about the transaction of one statement. */
type Manner = {
  /** Its settings. Left out: the statement is a transaction by itself, where the connection keeps its settings. */
  preamble?: Preamble;
  /** The same for a connection that is lent for one transaction, and for a distributed store. */
  begin?: readonly [begin: string, more: string];
  /** Its commit waits for nothing, so it is not watched. */
  isUnflushed?: true;
};

const UNFLUSHED: Manner = {
  preamble: { name: 'unflushed', text: `select set_config('synchronous_commit', 'off', true)`, values: [] },
  begin: ['begin', 'set local synchronous_commit = off'],
  isUnflushed: true,
};

/** One statement, which is a transaction by itself. */
async function runStatement<R extends object>(
  shared: Shared,
  statement: Statement,
  values?: unknown[],
  { preamble, begin, isUnflushed }: Manner = {},
): Promise<R[]> {
  const changes = mayChange(statement);
  const isWatched = changes && !isUnflushed;
  if (isWatched) shared.commits.require();
  const { client } = await borrow(shared);
  let broken: Error | undefined;
  try {
    // To the servers of a distributed store Citus passes on `set local` after a begin, and nothing else.
    const isBetween = shared.settings !== null || (begin !== undefined && shared.isDistributed === true);
    const answer = isBetween
      ? sendBetween<R>(shared, client, beginWith(shared, begin?.[0], begin?.[1]), statement, values)
      : send<R>(shared, client, statement, values, preamble);
    const rows = await (isWatched ? shared.commits.watch(answer) : answer);
    refuseDoubt(shared, client);
    shared.counters.commits++;
    if (changes) noteCommit();
    return rows;
  } catch (error) {
    const loss = lossOf(error, changes ? 'outcome_unknown' : 'database_unavailable');
    if (loss) {
      broken = error as Error;
      throw loss;
    }
    throw error;
  } finally {
    client.release(broken);
  }
}

/** What begins and ends the transaction is sent with the statement: one round trip, as without them. */
async function sendBetween<R extends object>(
  shared: Shared,
  client: pg.PoolClient,
  begin: string,
  statement: Statement,
  values?: unknown[],
): Promise<R[]> {
  const sent = [client.query(begin), send<R>(shared, client, statement, values), client.query('commit')] as const;
  const [begun, answer, ended] = await Promise.allSettled(sent);
  // In this order: an answer that was not given under the settings of the transaction is never used.
  if (begun.status === 'rejected') throw begun.reason;
  if (answer.status === 'rejected') throw answer.reason;
  if (ended.status === 'rejected') throw ended.reason;
  return answer.value;
}

/** The role and the holder end with the transaction, so the connection goes back to the pool as the service's. */
const forOneHolder = (holderId: bigint): Manner => ({
  preamble: { ...AS_HOLDER, values: [String(holderId)] },
  begin: ['begin read only', `set local role ${TENANT_ROLE}; set local simbi.holder_id = '${BigInt(holderId)}'`],
});

const AS_HOLDER = {
  name: 'as_holder',
  text: `select set_config('transaction_read_only', 'on', true), set_config('simbi.holder_id', $1, true),
                set_config('role', '${TENANT_ROLE}', true)`,
};

/** Under a name of its own: a prepared statement is planned again when another role uses it. */
function ofHolder(statement: Statement): Statement {
  return typeof statement === 'string' ? statement : { ...statement, name: `${statement.name}_of_holder` };
}

function singleStatement(shared: Shared): Tx {
  let used = false;
  return {
    ...txOf(shared),
    async query(statement, values) {
      assert(!used, 'single() is for one statement');
      used = true;
      return await runStatement(shared, statement, values);
    },
  };
}

async function runSnapshot<T>(shared: Shared, work: (reader: Reader) => Promise<T>): Promise<T> {
  return await runAndRollBack(shared, async ({ client, query }) => {
    const begun = client.query(beginWith(shared, 'begin isolation level repeatable read read only'));
    const [, result] = await Promise.all([begun, work({ query, isDistributed: () => shared.isDistributed === true })]);
    return result;
  });
}

/** The wait ends with the statement's time-out. The work may take longer than a transaction may be idle. */
const FOR_LOCK = 'set local lock_timeout = 0; set local idle_in_transaction_session_timeout = 0';

async function runLocked<T>(shared: Shared, key: bigint, work: () => Promise<T>, ifTaken?: () => T): Promise<T> {
  return await runAndRollBack(shared, async ({ client, query }) => {
    const take = ifTaken ? 'pg_try_advisory_xact_lock($1)' : 'pg_advisory_xact_lock($1) is not null';
    const [, [lock]] = await Promise.all([
      client.query(beginWith(shared, 'begin', FOR_LOCK)),
      query<{ isOurs: boolean }>(`select ${take} as "isOurs"`, [key]),
    ]);
    return ifTaken && !lock?.isOurs ? ifTaken() : await work();
  });
}

/** For transactions that change nothing. */
async function runAndRollBack<T>(shared: Shared, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await borrow(shared);
  let broken: Error | undefined;
  try {
    return await work(session);
  } catch (error) {
    const loss = lossOf(error, 'database_unavailable');
    if (loss) broken = error as Error;
    throw loss ?? error;
  } finally {
    session.end();
    if (!broken) await session.client.query('rollback').catch((failure: Error) => (broken = failure));
    session.client.release(broken);
  }
}

function refuseDoubt(shared: Shared, client: pg.PoolClient): void {
  if (shared.doubtful.delete(client)) throw new Problem('outcome_unknown', { retryAfterSeconds: 1 });
}

/** The name of the constraint that refused a row, when that is what happened. */
export function violatedConstraint(error: unknown): string | null {
  if (!(error instanceof pg.DatabaseError)) return null;
  // On several servers it is only in the message, with the number of the part that the row is in.
  const said = error.constraint ?? /constraint "(\w+)"/.exec(error.message)?.[1];
  const name = said?.replace(/_\d{6,}(?=_|$)/, '');
  return isViolation(error) ? (name ?? error.code ?? null) : null;
}

/** Citus copies rows to another server, and tells what that server refused with the code of an internal error. */
function isViolation({ code, message }: pg.DatabaseError): boolean {
  return code?.startsWith('23') === true || (code === 'XX000' && /violates \w[\w -]* constraint "/.test(message));
}

/**
 * True for errors in one row's data (class 22 and 23), also where a module has wrapped the error in its own: the other
 * rows of its batch may still succeed.
 */
export function isDataError(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return isViolation(error) || /^(22|P0)/.test(error.code ?? '');
  return error instanceof Error && error.cause instanceof pg.DatabaseError && isDataError(error.cause);
}
