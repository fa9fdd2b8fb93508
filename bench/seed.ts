// npm run seed -- --payments 10000000 --merchants 1000 --days 365: fills the database of DATA_DIR or DATABASE_URL with past
// payments, to see how the gateway does with years of history. Then start the gateway with the same settings.

import { parseArgs } from 'node:util';
import { createContext, migrateDatabase, openCommandDatabase } from '../src/open-context.ts';
import { readConfig } from '../src/platform/config.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { createLogger } from '../src/platform/log.ts';
import { createMerchants, finishHistory, methodOf, writePaymentRows } from './payment-rows.ts';

const METHOD = 'MTN_MOMO_UGA';
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
const database = await openCommandDatabase(config, say);
await migrateDatabase(database, say);
const ctx = await createContext(config, database.url, createLogger('error'));
const owner = connectDatabase({ url: database.ownerUrl, as: 'owner', poolSize: 2 });
const method = methodOf(METHOD);
const merchants = await createMerchants(ctx, merchantCount);
const started = performance.now();
const seconds = () => (performance.now() - started) / 1_000;
await writePaymentRows(ctx, owner, {
  payments,
  merchants,
  method,
  days,
  until: ctx.clock.now(),
  onProgress(written) {
    if (written % SAY_EVERY === 0 || written === payments) say(`${written} payments in ${seconds().toFixed(0)} s`);
  },
});
say('collecting statistics of the tables and sealing the chain of the ledger');
await finishHistory(ctx, owner);
say(`${payments} payments of ${merchantCount} merchants in ${seconds().toFixed(0)} s`);
await owner.close();
await ctx.db.close();
await database.close();
