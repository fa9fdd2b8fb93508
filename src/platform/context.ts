// What every operation receives: settings, database, clocks, log, secrets, metrics. Created once at start (and once per
// test); there is no global state.

import type { Logger } from 'pino';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { DatabaseTime } from './database-time.ts';
import type { Database } from './db.ts';
import type { Memory } from './memory.ts';
import type { Metrics } from './metrics.ts';
import type { Vault } from './secrets.ts';

export type Context = {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  /** Whatever deletes rows uses it instead of `clock`. */
  readonly databaseTime: DatabaseTime;
  readonly log: Logger;
  readonly vault: Vault;
  readonly metrics: Metrics;
  /** Read with `perProcess`. */
  readonly memory: Memory;
  /** In the context of a holder: that of the process. Whatever several holders share is made with it. */
  readonly process?: Context;
};

/**
 * The context for a request of one holder, once the caller is known. What it reads with `db.query` is read under row-level
 * security, so it shows no row of another holder; what it does in a transaction has the rights of the service.
 */
export function forHolder<C extends Context>(ctx: C, holderId: bigint): C {
  return { ...ctx, db: ctx.db.forHolder(holderId), process: ctx.process ?? ctx };
}
