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
};
