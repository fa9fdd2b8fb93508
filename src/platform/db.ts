// PostgreSQL: one pool, and transactions that retry deadlocks. Success is reported only when the commit is certain:
// a doubtful commit becomes `outcome_unknown`, and a transaction refuses statements after its end.

import assert from 'node:assert/strict';
import pg from 'pg';
import { noteCommit } from './commit-tracking.ts';
import { type CommitState, type CommitWatch, createCommitWatch } from './commit-watch.ts';
import { SERVICE_ROLE, TENANT_ROLE } from './database-roles.ts';
import { clientOf, connectClient, DatabaseServers } from './database-servers.ts';
import { asRole } from './database-url.ts';
import { Problem } from './errors.ts';

const STATEMENT_TIMEOUT_MS = 8_000;
/**
 * After the statement's own time-out: PostgreSQL's does not reach into a commit that waits for a standby, and no answer comes
 * from a server that was cut off.
 */
const ANSWER_MARGIN_MS = 500;
const LOCK_TIMEOUT_MS = 4_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
const ACQUIRE_TIMEOUT_MS = 1_000;
const MAX_TRIES = 5;
/** Each try waits for its lock until LOCK_TIMEOUT_MS; more of them would take longer than a caller waits. */
const MAX_LOCK_TRIES = 2;
/** A function that `simbi distribute` leaves in the database. */
export const DISTRIBUTED_MARK = 'store_is_distributed';
/** A statement without one of these words changes nothing. */
const CHANGES = /\b(?:insert|update|delete|post_transfers)\b/i;

pg.types.setTypeParser(pg.types.builtins.INT8, BigInt);

/** A statement with a name is prepared once per connection; use it for the fixed texts of the hot path. */
export type Statement = string | { readonly name: string; readonly text: string };

/** Runs one statement: the pool itself, or a transaction. Enough for reads. */
export interface Reader {
  query<R extends object = Record<string, unknown>>(statement: Statement, values?: unknown[]): Promise<R[]>;
}

/** An open transaction. Functions that write take one, as their first parameter, never optional. */
export interface Tx extends Reader {
  readonly isTransaction: true;
  /** As of its database. */
  readonly isDistributed?: boolean;
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
  /** One connection for work that must stay on it (advisory locks, cursors); returned to the pool afterwards. */
  withConnection<T>(work: (connection: Reader) => Promise<T>): Promise<T>;
  /**
   * The same database for what one holder reads: `query` runs under row-level security, so a statement that forgets the holder
   * shows no row of another. What writes, and transactions, have the rights of the service.
   */
  forHolder(holderId: bigint): Database;
  /**
   * Whether the rows of holders are on several servers: `simbi distribute` marks the database. Then a statement that locks
   * rows names one holder (platform/one-holder.ts). Asked with the first connection.
   */
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
    unflushed: (statement, values) => withRetries(() => runUnflushed(shared, statement, values)),
    withConnection: (work) => busyAsProblem(() => runOnConnection(shared, work)),
    forHolder: (holderId) => ({
      ...db,
      query: (statement, values) =>
        busyAsProblem(() =>
          mayChange(statement)
            ? runStatement(shared, statement, values)
            : readForHolder(shared, holderId, statement, values),
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
  servers: DatabaseServers;
  commits: CommitWatch;
  counters: Database['counters'];
  /** Connections whose last commit was acknowledged by this server but not by the standby. */
  doubtful: WeakSet<object>;
  /** Null: there was no connection yet. */
  isDistributed: boolean | null;
};

function openPool(options: DatabaseOptions): Shared {
  const connectionString = options.as === 'owner' ? options.url : asRole(options.url, SERVICE_ROLE);
  const servers = new DatabaseServers(connectionString);
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const connection = {
    connectionString,
    connectionTimeoutMillis: options.acquireTimeoutMs ?? ACQUIRE_TIMEOUT_MS,
    application_name: options.applicationName ?? 'simbi',
    keepAlive: true,
  };
  const pool = new pg.Pool({
    ...connection,
    Client: clientOf(servers),
    max: options.poolSize ?? 10,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + ANSWER_MARGIN_MS,
    lock_timeout: options.lockTimeoutMs ?? LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    // Statements issued at the same time are sent together instead of waiting for each other's answers.
    pipeline: true,
  });
  const doubtful = new WeakSet<object>();
  // An idle connection that breaks is reported here; without a listener Node would stop the process.
  pool.on('error', (error) => options.onConnectionError?.(error));
  pool.on('connect', (client) => {
    client.on('notice', (notice) => {
      if (/synchronous replication/i.test(notice.message ?? '')) doubtful.add(client);
    });
    // A connection that breaks while in use rejects its query; the event itself needs no other handling.
    client.on('error', () => undefined);
  });
  const commits = createCommitWatch(() => connectClient(connection));
  return { pool, servers, commits, doubtful, isDistributed: null, counters: { statements: 0, commits: 0 } };
}

/** A connection borrowed from the pool, usable until `end`. */
type Session = {
  client: pg.PoolClient;
  query: Reader['query'];
  /** From here on statements are refused: they would run in whatever transaction has the connection next. */
  end(): void;
  /** Whether a statement that may change rows was sent. */
  hasChanged(): boolean;
  /** The answer of every statement sent so far. Answers come in the order of the statements, so the last is enough. */
  drained(): Promise<unknown>;
};

/** A connection that cannot be made to one server is tried with the others. */
async function connectFrom({ pool, servers }: Shared): Promise<pg.PoolClient> {
  for (let left = servers.count; ; left--)
    try {
      return await pool.connect();
    } catch (error) {
      if (left > 1) continue;
      const problem = new Problem('database_unavailable', { retryAfterSeconds: 1 });
      // For who starts the service; requests are not answered with it.
      problem.cause = error;
      throw problem;
    }
}

/** Null: the connection failed. The statement that borrowed it says so. */
async function readIsDistributed(client: pg.PoolClient): Promise<boolean | null> {
  const text = `select exists (select from pg_proc where proname = '${DISTRIBUTED_MARK}') as yes`;
  const answer = await client.query<{ yes: boolean }>(text).catch(() => null);
  return answer?.rows[0]?.yes ?? null;
}

async function borrow(shared: Shared): Promise<Session> {
  const client = await connectFrom(shared);
  shared.isDistributed ??= await readIsDistributed(client);
  let hasEnded = false;
  let hasChanged = false;
  let last: Promise<unknown> = Promise.resolve();
  return {
    client,
    async query<R extends object>(statement: Statement, values?: unknown[]): Promise<R[]> {
      assert(!hasEnded, 'This transaction has ended: its connection may be in use by another one.');
      if (mayChange(statement)) {
        shared.commits.require();
        hasChanged = true;
      }
      const answer = send<R>(shared, client, statement, values);
      last = answer;
      return (await answer).rows;
    },
    end: () => {
      hasEnded = true;
    },
    hasChanged: () => hasChanged,
    drained: () => last.catch(() => undefined),
  };
}

function mayChange(statement: Statement): boolean {
  return CHANGES.test(typeof statement === 'string' ? statement : statement.text);
}

function send<R extends object>(shared: Shared, client: pg.PoolClient, statement: Statement, values?: unknown[]) {
  shared.counters.statements++;
  const query = typeof statement === 'string' ? { text: statement } : { name: statement.name, text: statement.text };
  return client.query<R>(values ? { ...query, values } : query);
}

async function runTransaction<T>(shared: Shared, work: (tx: Tx) => Promise<T>): Promise<T> {
  const session = await borrow(shared);
  const { client } = session;
  let broken: Error | undefined;
  let committing = false;
  try {
    const tx: Tx = { isTransaction: true, isDistributed: shared.isDistributed === true, query: session.query };
    // Sent together with the first statement of the work: one round trip less.
    const [, result] = await Promise.all([client.query('begin'), work(tx)]);
    session.end();
    committing = true;
    const { command } = await (session.hasChanged()
      ? shared.commits.watch(client.query('commit'))
      : client.query('commit'));
    // PostgreSQL answers ROLLBACK when a statement has failed and the work went on all the same.
    assert.equal(command, 'COMMIT', 'The transaction was rolled back: one of its statements had failed.');
    refuseDoubt(shared, client);
    shared.counters.commits++;
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

/** One statement outside any transaction: it commits by itself. */
async function runStatement<R extends object>(shared: Shared, statement: Statement, values?: unknown[]): Promise<R[]> {
  const changes = mayChange(statement);
  if (changes) shared.commits.require();
  const { client } = await borrow(shared);
  let broken: Error | undefined;
  try {
    const answer = send<R>(shared, client, statement, values);
    const { rows } = await (changes ? shared.commits.watch(answer) : answer);
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

/** Both settings end with the transaction, so the connection goes back to the pool as the service's. */
const beginForHolder = (holderId: bigint) =>
  `begin read only; set local role ${TENANT_ROLE}; set local simbi.holder_id = '${BigInt(holderId)}'`;

/** Under a name of its own: a prepared statement is planned again when another role uses it. */
function ofHolder(statement: Statement): Statement {
  return typeof statement === 'string' ? statement : { ...statement, name: `${statement.name}_of_holder` };
}

/** One statement of a holder. */
function readForHolder<R extends object>(
  shared: Shared,
  holderId: bigint,
  statement: Statement,
  values?: unknown[],
): Promise<R[]> {
  return runBetween<R>(shared, beginForHolder(holderId), ofHolder(statement), values, 'database_unavailable');
}

async function runUnflushed<R extends object>(shared: Shared, statement: Statement, values?: unknown[]): Promise<R[]> {
  const begin = 'begin; set local synchronous_commit = off';
  const rows = await runBetween<R>(shared, begin, statement, values, 'outcome_unknown');
  if (mayChange(statement)) noteCommit();
  return rows;
}

/** One statement in a transaction of its own. What begins and ends it is sent with it: one round trip, as without them. */
async function runBetween<R extends object>(
  shared: Shared,
  begin: string,
  statement: Statement,
  values: unknown[] | undefined,
  whenLost: 'database_unavailable' | 'outcome_unknown',
): Promise<R[]> {
  const { client } = await borrow(shared);
  let broken: Error | undefined;
  try {
    const sent = [client.query(begin), send<R>(shared, client, statement, values), client.query('commit')] as const;
    const [begun, answer, ended] = await Promise.allSettled(sent);
    // In this order: an answer that was not read under the holder's rules is never used.
    for (const each of [begun, answer, ended]) if (each.status === 'rejected') throw each.reason;
    shared.counters.commits++;
    return answer.status === 'fulfilled' ? answer.value.rows : [];
  } catch (error) {
    const loss = lossOf(error, whenLost);
    if (loss) {
      broken = error as Error;
      throw loss;
    }
    throw error;
  } finally {
    client.release(broken);
  }
}

function singleStatement(shared: Shared): Tx {
  let used = false;
  return {
    isTransaction: true,
    isDistributed: shared.isDistributed === true,
    async query(statement, values) {
      assert(!used, 'single() is for one statement');
      used = true;
      return await runStatement(shared, statement, values);
    },
  };
}

async function runOnConnection<T>(shared: Shared, work: (connection: Reader) => Promise<T>): Promise<T> {
  const session = await borrow(shared);
  let broken: Error | undefined;
  try {
    return await work({ query: session.query });
  } catch (error) {
    if (lossOf(error, 'database_unavailable')) broken = error as Error;
    throw error;
  } finally {
    session.end();
    await session.drained();
    session.client.release(broken);
  }
}

function refuseDoubt(shared: Shared, client: pg.PoolClient): void {
  if (shared.doubtful.delete(client)) throw new Problem('outcome_unknown', { retryAfterSeconds: 1 });
}

/**
 * Deadlocks, serialisation failures and locks that took too long, tried again with a growing pause: the transaction was
 * rolled back, so nothing was done.
 */
async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries >= maxTries(error)) throw problemOfBusy(error);
      await new Promise((resolve) => setTimeout(resolve, 5 * tries + Math.random() * 20));
    }
  }
}

/** The name of the constraint that refused a row, when that is what happened. */
export function violatedConstraint(error: unknown): string | null {
  if (!(error instanceof pg.DatabaseError)) return null;
  // On several servers it is only in the message, with the number of the part that the row is in.
  const said = error.constraint ?? /constraint "(\w+)"/.exec(error.message)?.[1];
  const name = said?.replace(/_\d{6,}(?=_|$)/, '');
  return error.code?.startsWith('23') ? (name ?? error.code) : null;
}

/**
 * True for errors in one row's data (class 22 and 23), also where a module has wrapped the error in its own: the other
 * rows of its batch may still succeed.
 */
export function isDataError(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return /^(22|23|P0)/.test(error.code ?? '');
  return error instanceof Error && error.cause instanceof pg.DatabaseError && isDataError(error.cause);
}

function maxTries(error: unknown): number {
  if (!(error instanceof pg.DatabaseError)) return 1;
  if (error.code === '40001' || error.code === '40P01') return MAX_TRIES;
  return error.code === '55P03' ? MAX_LOCK_TRIES : 1;
}

async function busyAsProblem<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw problemOfBusy(error);
  }
}

/** What PostgreSQL refused for lack of time or room, as a problem that the caller can wait out; other errors unchanged. */
function problemOfBusy(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const code = error.code ?? '';
  // Deadlocks, time-outs of locks and statements.
  if (/^(?:40001|40P01|55P03|57014)$/.test(code)) return new Problem('overloaded', { retryAfterSeconds: 1 });
  // Disk full, out of memory, too many connections.
  if (code.startsWith('53')) return new Problem('database_unavailable', { retryAfterSeconds: 1 });
  return error;
}

/** An error after which the connection is not used again, as a problem for the caller. Null: the connection is in order. */
function lossOf(error: unknown, whenLost: 'database_unavailable' | 'outcome_unknown'): Problem | null {
  if (isOfStandby(error)) return new Problem('database_unavailable', { retryAfterSeconds: 1 });
  return isConnectionLoss(error) ? new Problem(whenLost, { retryAfterSeconds: 1 }) : null;
}

/** The server became a standby and changed nothing. Its connections stay open where nobody ends them. */
function isOfStandby(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code === '25006' || /\b(?:in|during) recovery\b|recovery is in progress/.test(error.message);
}

/** The connection ended: shutdown, crash, network. The statement sent last may or may not have taken effect. */
function isConnectionLoss(error: unknown): boolean {
  if (error instanceof Problem) return false;
  if (error instanceof pg.DatabaseError) return /^(08|57P0)/.test(error.code ?? '');
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|ENOENT)$/.test(code) ||
    /Connection terminated|Client has encountered a connection error|not queryable|Query read timeout/i.test(
      error.message,
    )
  );
}
