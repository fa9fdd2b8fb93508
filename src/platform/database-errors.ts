// What errors of PostgreSQL and of its connections mean: try again, busy, lost.

import pg from 'pg';
import { Problem } from './errors.ts';

const MAX_TRIES = 5;
/** Each try waits for its lock until its time-out; more of them would take longer than a caller waits. */
const MAX_LOCK_TRIES = 2;

/** Another transaction wrote at the same moment what this one found to be free. The next try sees it. */
export class OvertakenError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OvertakenError';
  }
}

/**
 * Deadlocks, serialisation failures, locks that took too long and what another transaction overtook, tried again with a growing
 * pause: the transaction was rolled back, so nothing was done.
 */
export async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries >= maxTries(error)) throw problemOfBusy(error);
      await new Promise((resolve) => setTimeout(resolve, 5 * tries + Math.random() * 20));
    }
  }
}

function maxTries(error: unknown): number {
  if (error instanceof OvertakenError) return MAX_TRIES;
  if (!(error instanceof pg.DatabaseError)) return 1;
  if (error.code === '40001' || error.code === '40P01') return MAX_TRIES;
  return error.code === '55P03' ? MAX_LOCK_TRIES : 1;
}

export async function busyAsProblem<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw problemOfBusy(error);
  }
}

/** What PostgreSQL refused for lack of time or room, as a problem that the caller can wait out; other errors unchanged. */
function problemOfBusy(error: unknown): unknown {
  if (error instanceof OvertakenError) return new Problem('overloaded', { retryAfterSeconds: 1 });
  if (!(error instanceof pg.DatabaseError)) return error;
  const code = error.code ?? '';
  // Deadlocks, time-outs of locks and statements.
  if (/^(?:40001|40P01|55P03|57014)$/.test(code)) return new Problem('overloaded', { retryAfterSeconds: 1 });
  // Disk full, out of memory, too many connections.
  if (code.startsWith('53')) return new Problem('database_unavailable', { retryAfterSeconds: 1 });
  return error;
}

/** An error after which the connection is not used again, as a problem for the caller. Null: the connection is in order. */
export function lossOf(error: unknown, whenLost: 'database_unavailable' | 'outcome_unknown'): Problem | null {
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
    /Connection terminated|Client has encountered a connection error|not queryable/i.test(error.message)
  );
}
