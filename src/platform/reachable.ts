// Connections of a pool while its servers come and go. Where none can be reached, one call tries again and all others are refused at
// once: each of them would only wait for the same answer, and a crowd that waits keeps the process from noticing the new server.

import pg from 'pg';
import type { DatabaseServers } from './database-servers.ts';
import { Problem } from './errors.ts';

/** How long nobody tries after none of the servers answered. */
const PAUSE_MS = 100;
/** The class of SQLSTATE codes that "too many connections" belongs to. */
const INSUFFICIENT_RESOURCES = '53';

type Connect = () => Promise<pg.PoolClient>;

export function createReachable(
  pool: Pick<pg.Pool, 'connect' | 'idleCount'>,
  servers: Pick<DatabaseServers, 'count'>,
  now: () => number = () => performance.now(),
): Connect {
  /** Null: the last connection was made. */
  let away: { cause: unknown; triedAt: number; isTried: boolean } | null = null;

  /** A connection that cannot be made to one server is tried with the others. */
  async function tryEach(): Promise<pg.PoolClient> {
    for (let left = servers.count; ; left--)
      try {
        return await pool.connect();
      } catch (error) {
        if (left <= 1 || isBusy(error)) throw error;
      }
  }

  return async () => {
    // A connection that is there is worth a try.
    const isRefused = away && pool.idleCount === 0 && (away.isTried || now() - away.triedAt < PAUSE_MS);
    if (isRefused) throw unavailable(away?.cause);
    if (away) away.isTried = true;
    try {
      const client = await tryEach();
      away = null;
      return client;
    } catch (error) {
      // One that waited too long, or was one too many, says nothing about whether the servers can be reached.
      if (!isBusy(error)) away = { cause: error, triedAt: now(), isTried: false };
      else if (away) away.isTried = false;
      throw unavailable(error);
    }
  };
}

/** All connections of the pool are in use for longer than a call may wait, or the server has no place for another one. */
function isBusy(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code?.startsWith(INSUFFICIENT_RESOURCES) ?? false;
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}

function unavailable(cause: unknown): Problem {
  const problem = new Problem('database_unavailable', { retryAfterSeconds: 1 });
  // For who starts the service; requests are not answered with it.
  problem.cause = cause;
  return problem;
}
