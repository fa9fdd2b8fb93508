// A process to be killed: it records events in concurrent transactions (one in five is rolled back), hands them to its
// deliverer, and never stops by itself. Arguments: database, receiver's URL, callback secret.

import { randomBytes } from 'node:crypto';
import { createDeliverer } from '../src/callbacks/deliver.ts';
import { recordEvents } from '../src/callbacks/events.ts';
import { systemClock } from '../src/platform/clock.ts';
import { readConfig } from '../src/platform/config.ts';
import type { Context } from '../src/platform/context.ts';
import { createDatabaseTime } from '../src/platform/database-time.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { runLoop } from '../src/platform/jobs.ts';
import { createLogger } from '../src/platform/log.ts';
import { createMemory } from '../src/platform/memory.ts';
import { createMetrics } from '../src/platform/metrics.ts';
import { createOutbound } from '../src/platform/outbound.ts';
import { createVault } from '../src/platform/secrets.ts';
import { newEvent } from './callback-harness.ts';

const WRITERS = 6;
const MOST_EVENTS_AT_ONCE = 100;

const [databaseUrl = '', receiverUrl = '', secret = ''] = process.argv.slice(2);
const db = connectDatabase({ url: databaseUrl });
const ctx: Context = {
  config: readConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' }),
  db,
  clock: systemClock,
  databaseTime: createDatabaseTime(db, systemClock),
  log: createLogger('silent'),
  vault: createVault(randomBytes(32)),
  metrics: createMetrics(),
  memory: createMemory(),
};
const outbound = createOutbound({ mode: 'sandbox' });
const deliverer = createDeliverer(ctx, { outbound, secretsOf: () => Promise.resolve([secret]) });
runLoop(ctx, deliverer);

async function write(): Promise<never> {
  for (;;) {
    const count = 1 + Math.floor(Math.random() * MOST_EVENTS_AT_ONCE);
    const events = Array.from({ length: count }, () => newEvent(ctx, receiverUrl));
    const recorded = await ctx.db
      .transaction(async (tx) => {
        const written = await recordEvents(tx, events, ctx.clock.now());
        // Transactions overlap, and end in another order than they began.
        await tx.query('select pg_sleep(0.005 * random())');
        if (Math.random() < 0.2) throw new Error('rolled back');
        return written;
      })
      .catch(() => []);
    deliverer.deliverFresh(recorded);
  }
}

await Promise.all(Array.from({ length: WRITERS }, write));
