// What a payment costs the database when many are under way: counted, not timed, so that it is the same on every
// machine. From the signed request to the callback that was delivered, the simulated operator's own tables included.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { startReceiver, type TestReceiver } from './callback-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { type Shop, signBody } from './shop.ts';

// The write-ahead log is counted for a whole server, so this test has one to itself.
delete process.env.TEST_POSTGRES_URL;

/** A completed payment. On a busy machine batches are smaller, and statements and commits nearly twice as many as on a quiet one. */
const MOST_STATEMENTS = 0.24;
const MOST_COMMITS = 0.13;
const MOST_WAL_BYTES = 5_500;

const PAYMENTS = 3_000;
const IN_FLIGHT = 1_500;

describe('counters at saturation', () => {
  let gateway: TestGateway;
  let receiver: TestReceiver;
  let shop: Shop;

  before(async () => {
    gateway = await createTestGateway({ MAX_IN_FLIGHT: '10000' });
    receiver = await startReceiver();
    const holder = await createHolder(gateway.ctx, COMMAND_LINE, 'Busy shop');
    shop = await createIntegration(gateway.ctx, COMMAND_LINE, holder.id, 'Busy shop', {
      defaultCallbackUrl: receiver.url,
    });
  });
  after(async () => {
    await gateway.close();
    await receiver.close();
  });

  async function pay(index: number): Promise<void> {
    const mobile = `25677${String(index % 10_000).padStart(4, '0')}000`;
    const params = { amount: 1_000, mobile, country_id: 11, currency: 'UGX', payment_method_type: 'MTN' };
    const payload = JSON.stringify(signBody(shop, gateway.ctx.clock.millis(), params));
    const reply = await gateway.app.inject({
      method: 'POST',
      url: '/api/v3/service-unified-collections',
      headers: { 'content-type': 'application/json' },
      payload,
    });
    // On a busy machine the connections may be in use for seconds. Nothing was done then, and the client tries again.
    if (reply.statusCode === 503) return pay(index);
    assert.equal(reply.statusCode, 200, reply.body);
  }

  async function payMany(count: number): Promise<void> {
    let next = 0;
    const lane = async () => {
      while (next < count) await pay(next++);
    };
    await Promise.all(Array.from({ length: Math.min(count, IN_FLIGHT) }, lane));
    // While its own queue is long the engine leaves the table alone.
    await gateway.services.payments.engine.idle();
    await gateway.settle();
  }

  async function counters(): Promise<{ statements: number; commits: number; wal: bigint }> {
    const [row] = await gateway.ctx.db.query<{ wal: bigint }>(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as wal`,
    );
    const { statements, commits } = gateway.ctx.db.counters;
    return { statements, commits, wal: row?.wal ?? 0n };
  }

  test(`${PAYMENTS} payments, ${IN_FLIGHT} at a time, stay within the floors`, async (t) => {
    // The first ones make partitions, ledger accounts and prepared statements.
    await payMany(300);
    const before = await counters();
    await payMany(PAYMENTS);
    const spent = await counters();
    const statements = (spent.statements - before.statements) / PAYMENTS;
    const commits = (spent.commits - before.commits) / PAYMENTS;
    const wal = Number(spent.wal - before.wal) / PAYMENTS;
    t.diagnostic(
      `a payment: ${statements.toFixed(3)} statements, ${commits.toFixed(3)} commits, ${wal.toFixed(0)} bytes of WAL`,
    );
    const [ended] = await gateway.ctx.db.query<{ settled: bigint; events: bigint; waiting: bigint }>(
      `select (select count(*) from transactions where status = 'success') as settled,
              (select count(*) from events) as events, (select count(*) from callback_deliveries) as waiting`,
    );
    assert.deepEqual(ended, { settled: BigInt(PAYMENTS + 300), events: BigInt(PAYMENTS + 300), waiting: 0n });
    assert.equal(new Set(receiver.received.map((callback) => callback.id)).size, PAYMENTS + 300);
    assert.deepEqual((await verifyLedger(gateway.ctx)).differences, []);
    assert.ok(statements <= MOST_STATEMENTS, `${statements} statements a payment`);
    assert.ok(commits <= MOST_COMMITS, `${commits} commits a payment`);
    assert.ok(wal <= MOST_WAL_BYTES, `${wal} bytes of WAL a payment`);
  });
});
