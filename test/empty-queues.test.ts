// Queues are empty most of the time, and PostgreSQL looks at them then. What it plans for an empty table must do for a full one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createPaymentEngine } from '../src/payments/engine.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { createTestContext, PATIENCE } from './harness.ts';
import { acceptCollection, collectionOrder, silentRail, withPayments } from './payments.ts';
import { createShop } from './shop.ts';

const NAME = 'simbi-burst';
const BURST = 300;
/** PostgreSQL plans a statement anew five times before it keeps a plan. */
const ONE_BY_ONE = 12;

let base: Awaited<ReturnType<typeof createTestContext>>;
before(async () => {
  base = await createTestContext();
});
after(() => base.close());

/** Rows of the queue that connections read without an index. What they count is told to the others when they have ended. */
async function rowsScanned(): Promise<bigint> {
  const open = () => base.ownerDb.query('select from pg_stat_activity where application_name = $1', [NAME]);
  while ((await open()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const [row] = await base.ownerDb.query<{ scanned: bigint }>(
    `select seq_tup_read as scanned from pg_stat_user_tables where relname = 'payment_jobs'`,
  );
  return row?.scanned ?? 0n;
}

test('a burst after quiet hours is worked off by the indexes', async (t) => {
  if (base.db.isDistributed()) return t.skip('the queues are on several servers');
  const db = connectDatabase({ ...PATIENCE, url: base.databaseUrl, poolSize: 1, applicationName: NAME });
  const rail = silentRail({
    collect: async ({ reference }) => ({ observation: { state: 'succeeded', receipt: `R-${reference}` }, raw: '' }),
  });
  const ctx = withPayments({ ...base, db }, rail);
  const engine = createPaymentEngine(ctx);
  // What it accepts stays in the queue, and is claimed from there.
  const busy = { ...engine, hasCapacity: () => false, leaveToOthers: () => undefined };
  const shop = await createShop(ctx);
  const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
  const accept = () => acceptCollection(ctx, busy, order);
  const workOff = async () => {
    base.clock.advance(1);
    await engine.pass();
    await engine.idle();
  };
  const open = () => db.query('select from payment_jobs');

  for (let few = 0; few < 3; few++) await accept();
  await base.ownerDb.query('vacuum (analyze) payment_jobs');
  for (let payment = 0; payment < ONE_BY_ONE; payment++) {
    await accept();
    await workOff();
  }
  await Promise.all(Array.from({ length: BURST }, accept));
  assert.equal((await open()).length, BURST);
  for (let pass = 0; pass < BURST && (await open()).length > 0; pass++) await workOff();
  assert.deepEqual(await open(), []);
  await db.close();
  const scanned = await rowsScanned();
  // `open` reads all rows; claims, answers and ends would read them for each of the burst.
  assert.ok(scanned < 20n * BigInt(BURST), `${scanned} rows were read without an index`);
});
