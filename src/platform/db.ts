// PostgreSQL. One pool, transactions that retry what may be retried, and the rule that an answer is
// only "yes" when the commit is certain: a doubtful commit becomes `outcome_unknown`, never success.

import pg from 'pg';
import { Problem } from './errors.ts';

const STATEMENT_TIMEOUT_MS = 8_000;
const LOCK_TIMEOUT_MS = 4_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
const ACQUIRE_TIMEOUT_MS = 1_000;
const MAX_TRIES = 5;

pg.types.setTypeParser(pg.types.builtins.INT8, BigInt);

/** A statement with a name is prepared once per connection; use it for the fixed texts of the hot path. */
export type Statement = string | { readonly name: string; readonly text: string };

/** Something that answers one statement: the pool itself, or a transaction. Enough for reads. */
export interface Reader {
  query<R extends object = Record<string, unknown>>(statement: Statement, values?: unknown[]): Promise<R[]>;
}

/** An open transaction. Functions that write take one, as their first parameter, never optional. */
export interface Tx extends Reader {
  readonly isTransaction: true;
}

export interface Database extends Reader {
  /** Runs `work` in one transaction. Deadlocks and serialisation failures are tried again, at most five times. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** For work of exactly one statement, which is a transaction by itself: no begin, no commit, one trip. */
  single<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** One connection for work that must stay on it (advisory locks, cursors); given back afterwards. */
  withConnection<T>(work: (connection: Reader) => Promise<T>): Promise<T>;
  /** Counted since the start: what tests and the benchmark gate on. */
  readonly counters: { statements: number; commits: number };
  readonly waiting: () => number;
  close(): Promise<void>;
}

export type DatabaseOptions = {
  url: string;
  poolSize?: number;
  applicationName?: string;
  statementTimeoutMs?: number;
  /** How long a call may wait for a connection before it is refused. */
  acquireTimeoutMs?: number;
  onConnectionError?: (error: Error) => void;
};

export function connectDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: options.acquireTimeoutMs ?? ACQUIRE_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    application_name: options.applicationName ?? 'simbi',
    statement_timeout: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
    // Statements given at the same time leave together instead of waiting for each other's answers.
    pipeline: true,
  });
  // An idle connection that breaks is reported here; without a listener Node would stop the process.
  pool.on('error', (error) => options.onConnectionError?.(error));
  pool.on('connect', (client) => {
    client.on('notice', (notice) => {
      if (/synchronous replication/i.test(notice.message ?? '')) doubtful.add(client);
    });
    // A connection that breaks while it is lent out rejects its query; the event itself needs no other care.
    client.on('error', () => undefined);
  });
  const counters = { statements: 0, commits: 0 };
  /** Connections whose last commit was acknowledged locally but not by the standby. */
  const doubtful = new WeakSet<object>();

  async function run<R extends object>(client: pg.PoolClient, statement: Statement, values?: unknown[]): Promise<R[]> {
    counters.statements++;
    const query = typeof statement === 'string' ? { text: statement } : { name: statement.name, text: statement.text };
    const result = await client.query<R>(values ? { ...query, values } : query);
    return result.rows;
  }

  async function borrow(): Promise<pg.PoolClient> {
    try {
      return await pool.connect();
    } catch {
      throw new Problem('database_unavailable', { retryAfterSeconds: 1 });
    }
  }

  function refuseDoubt(client: pg.PoolClient): void {
    if (!doubtful.delete(client)) return;
    throw new Problem('outcome_unknown', { retryAfterSeconds: 1 });
  }

  async function attempt<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await borrow();
    let broken: Error | undefined;
    let committing = false;
    try {
      const tx: Tx = { isTransaction: true, query: (statement, values) => run(client, statement, values) };
      // Leaves together with the first statement of the work: one trip less.
      const [, result] = await Promise.all([client.query('begin'), work(tx)]);
      committing = true;
      await client.query('commit');
      refuseDoubt(client);
      counters.commits++;
      return result;
    } catch (error) {
      if (isConnectionLoss(error)) {
        broken = error as Error;
        throw new Problem(committing ? 'outcome_unknown' : 'database_unavailable', { retryAfterSeconds: 1 });
      }
      if (!committing) await client.query('rollback').catch((failure: Error) => (broken = failure));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async function query<R extends object>(statement: Statement, values?: unknown[]): Promise<R[]> {
    const client = await borrow();
    let broken: Error | undefined;
    try {
      const rows = await run<R>(client, statement, values);
      refuseDoubt(client);
      counters.commits++;
      return rows;
    } catch (error) {
      if (isConnectionLoss(error)) {
        broken = error as Error;
        throw new Problem('outcome_unknown', { retryAfterSeconds: 1 });
      }
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async function retrying<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!isRetryable(error)) throw error;
        if (tries >= MAX_TRIES) throw new Problem('overloaded', { retryAfterSeconds: 1 });
        await new Promise((resolve) => setTimeout(resolve, 5 * tries + Math.random() * 20));
      }
    }
  }

  return {
    counters,
    waiting: () => pool.waitingCount,
    query,
    transaction: (work) => retrying(() => attempt(work)),
    single: (work) =>
      retrying(() => {
        let used = false;
        return work({
          isTransaction: true,
          query: (statement, values) => {
            if (used) throw new Error('single() is for one statement');
            used = true;
            return query(statement, values);
          },
        });
      }),
    async withConnection(work) {
      const client = await borrow();
      let broken: Error | undefined;
      try {
        return await work({ query: (statement, values) => run(client, statement, values) });
      } catch (error) {
        if (isConnectionLoss(error)) broken = error as Error;
        throw error;
      } finally {
        client.release(broken);
      }
    },
    close: () => pool.end(),
  };
}

/** The name of the constraint that refused a row, when that is what happened. */
export function violatedConstraint(error: unknown): string | null {
  if (!(error instanceof pg.DatabaseError)) return null;
  return error.code?.startsWith('23') ? (error.constraint ?? error.code) : null;
}

/**
 * True for faults of one row's data (class 22 and 23), also where a module has put them into its own words: the neighbours
 * in its batch may still succeed.
 */
export function isDataError(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return /^(22|23|P0)/.test(error.code ?? '');
  return error instanceof Error && error.cause instanceof pg.DatabaseError && isDataError(error.cause);
}

function isRetryable(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01');
}

/** The connection ended under us: shutdown, crash, network. What was sent last may or may not have happened. */
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
