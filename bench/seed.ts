// npm run seed -- --payments 10000000 --merchants 1000 --days 365: fills the database of DATA_DIR or DATABASE_URL with past
// payments, to see how the gateway does with years of history. Then start the gateway with the same settings.

import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../src/embedded-postgres/server.ts';
import { createContext, migrateDatabase, openCommandDatabase } from '../src/open-context.ts';
import { dataPath, readConfig } from '../src/platform/config.ts';
import { createLogger } from '../src/platform/log.ts';
import { cpuMs, treeCpuMs } from './gateway-process.ts';
import { createMerchants, SEED_SETTINGS, writePaymentRows } from './payment-rows.ts';

const SAY_EVERY = 500_000;

const { values } = parseArgs({
  options: {
    payments: { type: 'string', default: '1000000' },
    merchants: { type: 'string', default: '100' },
    days: { type: 'string', default: '365' },
  },
});
const [payments, merchantCount, days] = [values.payments, values.merchants, values.days].map(Number) as [
  number,
  number,
  number,
];
if (![payments, merchantCount, days].every((count) => Number.isSafeInteger(count) && count > 0))
  throw new Error('--payments, --merchants and --days must be whole numbers from 1.');

const say = (sentence: string) => process.stderr.write(`  ${sentence}\n`);
const config = readConfig(process.env);
if (config.mode !== 'sandbox') throw new Error('Past payments are invented, so they are written in a sandbox only.');
// Started here with settings for many rows; what opens the database next finds it running.
const embedded = config.databaseUrl
  ? null
  : await startEmbeddedPostgres({ dataDir: dataPath(config, 'postgres'), onProgress: say, settings: SEED_SETTINGS });
const database = await openCommandDatabase(config, say);
await migrateDatabase(database, say);
const ctx = await createContext(config, database.url, createLogger('error'));
const merchants = await createMerchants(ctx, merchantCount);
const started = performance.now();
const seconds = () => (performance.now() - started) / 1_000;
await writePaymentRows(ctx, database.ownerUrl, {
  payments,
  merchants,
  days,
  until: ctx.clock.now(),
  onProgress(written) {
    if (written % SAY_EVERY === 0 || written === payments) say(`${written} payments made in ${seconds().toFixed(0)} s`);
    if (written === payments) say('making the indexes');
  },
});
say(`${payments} payments of ${merchantCount} merchants in ${seconds().toFixed(0)} s`);
if (embedded) {
  const core = (milliseconds: number) => (milliseconds / 1_000).toFixed(0);
  say(`processor seconds: ${core(cpuMs(process.pid))} of Node, ${core(treeCpuMs(embedded.pid))} of PostgreSQL`);
}
await ctx.db.close();
await database.close();
