// Connections of a pool while its servers come and go. Where none can be reached, one call tries again and all others are refused at
// once: each of them would only wait for the same answer, and a crowd that waits keeps the process from noticing the new server.

import type pg from 'pg';
import type { DatabaseServers } from './database-servers.ts';
import { Problem } from './errors.ts';

/** How long nobody tries after none of the servers answered. */
const PAUSE_MS = 100;

type Connect = () => Promise<pg.PoolClient>;

export function createReachable(pool: Pick<pg.Pool, 'connect'>, servers: Pick<DatabaseServers, 'count'>): Connect {
  /** Null: the last connection was made. */
  let away: { cause: unknown; triedAt: number; isTried: boolean } | null = null;

  /** A connection that cannot be made to one server is tried with the others. */
  async function tryEach(): Promise<pg.PoolClient> {
    for (let left = servers.count; ; left--)
      try {
        return await pool.connect();
      } catch (error) {
        if (left <= 1 || isPoolBusy(error)) throw error;
      }
  }

  return async () => {
    if (away && (away.isTried || performance.now() - away.triedAt < PAUSE_MS)) throw unavailable(away.cause);
    if (away) away.isTried = true;
    try {
      const client = await tryEach();
      away = null;
      return client;
    } catch (error) {
      // One that was waiting for a connection while others were made says nothing about the servers.
      if (!isPoolBusy(error)) away = { cause: error, triedAt: performance.now(), isTried: false };
      else if (away) away.isTried = false;
      throw unavailable(error);
    }
  };
}

/** All connections of the pool are in use, for longer than a call may wait. */
function isPoolBusy(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}

function unavailable(cause: unknown): Problem {
  const problem = new Problem('database_unavailable', { retryAfterSeconds: 1 });
  // For who starts the service; requests are not answered with it.
  problem.cause = cause;
  return problem;
}
