// A world for one test: its own database cloned from the migrated template, a clock that stands still,
// settings that can be overridden, a silent log. Close it when done.

import { randomBytes } from 'node:crypto';
import { createVirtualClock, type VirtualClock } from '../src/platform/clock.ts';
import { type Environment, readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { createLogger } from '../src/platform/log.ts';
import { createMemory } from '../src/platform/memory.ts';
import { createMetrics } from '../src/platform/metrics.ts';
import { createVault } from '../src/platform/secrets.ts';
import { createTestDatabase } from './database.ts';

export const WORLD_START = '2026-03-02T09:00:00.000Z';

export type TestContext = Context & { readonly clock: VirtualClock; readonly databaseUrl: string };

/** A context on a fresh database. `settings` are environment variables, as an operator would set them. */
export async function createTestContext(settings: Environment = {}): Promise<TestContext & { close(): Promise<void> }> {
  const database = await createTestDatabase();
  const config = readConfig({ LOG_LEVEL: 'silent', DATABASE_URL: database.url, ...settings });
  const db = connectDatabase({
    url: database.url,
    poolSize: config.databasePoolSize,
    applicationName: 'simbi-test',
    // Tests share two cores with other tests; only the test of an exhausted pool is about impatience.
    acquireTimeoutMs: 15_000,
  });
  return {
    config,
    db,
    clock: createVirtualClock(WORLD_START),
    log: createLogger(config.logLevel),
    vault: createVault(randomBytes(32)),
    metrics: createMetrics(),
    memory: createMemory(),
    databaseUrl: database.url,
    async close() {
      await db.close();
      await database.drop();
    },
  };
}
