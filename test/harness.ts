// A context for one test: its own database cloned from the migrated template, a virtual clock, settings that can be
// overridden, a silent log. Close it when done.

import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVirtualClock, type VirtualClock } from '../src/platform/clock.ts';
import { type Environment, readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import type { DatabaseTime } from '../src/platform/database-time.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { createLogger } from '../src/platform/log.ts';
import { createMemory } from '../src/platform/memory.ts';
import { createMetrics } from '../src/platform/metrics.ts';
import { createVault } from '../src/platform/secrets.ts';
import { createTestDatabase } from './database.ts';

/** Most tests ask one number again and again, on a machine that others use too. Those of the limits set them. */
const WITHOUT_LIMITS = { OPEN_PROMPTS_PER_NUMBER: '0', PROMPTS_PER_NUMBER_PER_DAY: '0', MAX_REQUEST_DELAY_MS: '0' };

/** On a machine that stands still for seconds nothing is refused; a test of a limit has connections of its own. */
export const PATIENCE = { lockTimeoutMs: 60_000, statementTimeoutMs: 60_000 } as const;

export const START_TIME = '2026-03-02T09:00:00.000Z';

/** The database's time in a test: the virtual clock, minus what `setSkew` says. */
export type VirtualDatabaseTime = DatabaseTime & {
  /** The clock of the process is this far ahead of the database's. */
  setSkew(milliseconds: number): void;
};

export type TestContext = Context & {
  readonly clock: VirtualClock;
  readonly databaseTime: VirtualDatabaseTime;
  readonly databaseUrl: string;
  /** With the rights of the tables' owner: for what a test does that the service itself may not. */
  readonly ownerDb: Database;
};

/** A context on a fresh database. `settings` are environment variables, as an operator would set them. */
export async function createTestContext(settings: Environment = {}): Promise<TestContext & { close(): Promise<void> }> {
  const database = await createTestDatabase();
  // Of its own, made when something is written to it: the newest heads of the ledger are noted down there.
  const folder = join(tmpdir(), `simbi-data-${randomBytes(6).toString('hex')}`);
  const fixed = { LOG_LEVEL: 'silent', DATABASE_URL: database.url, DATA_DIR: folder };
  const config = readConfig({ ...fixed, ...WITHOUT_LIMITS, ...settings });
  const { url } = database;
  const db = connectDatabase({ ...PATIENCE, url, poolSize: config.databasePoolSize, applicationName: 'simbi-test' });
  const ownerDb = connectDatabase({ ...PATIENCE, url, as: 'owner', poolSize: 2 });
  const clock = createVirtualClock(START_TIME);
  return {
    config,
    db,
    clock,
    databaseTime: createVirtualDatabaseTime(clock),
    log: createLogger(config.logLevel),
    vault: createVault(randomBytes(32)),
    metrics: createMetrics(),
    memory: createMemory(),
    databaseUrl: database.url,
    ownerDb,
    async close() {
      await ownerDb.close();
      await db.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function createVirtualDatabaseTime(clock: VirtualClock): VirtualDatabaseTime {
  let skewMs = 0;
  return {
    now: async () => new Date(clock.millis() - skewMs),
    skewMs: async () => skewMs,
    setSkew: (milliseconds) => {
      skewMs = milliseconds;
    },
  };
}
