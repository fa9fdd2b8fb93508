// The OpenAPI document and the guide to errors as files of docs/: the same on every machine. `node scripts/openapi.ts`
// writes them anew; a test fails when they are stale.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createApp } from '../src/app.ts';
import type { ApiDocument } from '../src/docs/openapi.ts';
import { writeErrors } from '../src/docs/reference.ts';
import { systemClock } from '../src/platform/clock.ts';
import { readConfig } from '../src/platform/config.ts';
import { createDatabaseTime } from '../src/platform/database-time.ts';
import { connectDatabase } from '../src/platform/db.ts';
import type { HttpServer } from '../src/platform/http.ts';
import { createLogger } from '../src/platform/log.ts';
import { createMemory } from '../src/platform/memory.ts';
import { createMetrics } from '../src/platform/metrics.ts';
import { createVault } from '../src/platform/secrets.ts';
import { createServices } from '../src/services.ts';

const DOCS = resolve(import.meta.dirname, '../docs');
/** Nothing listens there: describing routes needs no database. */
const NO_DATABASE = 'postgres://nobody@127.0.0.1:1/nothing';

/** The app with every route, on default settings, without a database. */
export async function withApp<T>(use: (app: HttpServer) => T | Promise<T>): Promise<T> {
  const config = readConfig({ LOG_LEVEL: 'silent', DATABASE_URL: NO_DATABASE });
  const db = connectDatabase({ url: NO_DATABASE, poolSize: 2, applicationName: 'simbi-docs' });
  const vault = createVault(randomBytes(32));
  const log = createLogger(config.logLevel);
  const gateway = await createServices({
    config,
    db,
    clock: systemClock,
    databaseTime: createDatabaseTime(db, systemClock),
    log,
    vault,
    metrics: createMetrics(),
    memory: createMemory(),
  });
  const app = createApp(gateway);
  try {
    await app.ready();
    return await use(app);
  } finally {
    await app.close();
    await gateway.stop();
    await db.close();
  }
}

export function readApi(): Promise<ApiDocument> {
  return withApp(async (app) => (await app.inject('/openapi.json')).json<ApiDocument>());
}

export async function generatedFiles(): Promise<{ path: string; text: string }[]> {
  const api = await readApi();
  return [
    { path: resolve(DOCS, 'openapi.json'), text: `${JSON.stringify(api, null, 2)}\n` },
    { path: resolve(DOCS, 'errors.md'), text: writeErrors() },
  ];
}

// Not import.meta.main: `npm run openapi` imports this file from its own start script.
if (process.argv[1] === import.meta.filename) {
  for (const { path, text } of await generatedFiles()) writeFileSync(path, text);
}
