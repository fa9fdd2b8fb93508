// Wrong clocks, and errors that come after a commit: what is destroyed follows the database's time, background work waits for
// the right time, postings do not run ahead, and "Nothing was done." is only said when it is true.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { listEvents } from '../src/callbacks/feed.ts';
import { createCallbackHousekeeping } from '../src/callbacks/housekeeping.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { purgeExpired } from '../src/holders/housekeeping.ts';
import { maintainSignatures } from '../src/holders/signatures.ts';
import { balanceAt, balancesOf } from '../src/ledger/ledger.ts';
import { createPaymentEngine } from '../src/payments/engine.ts';
import { approvePayout } from '../src/payments/order-decisions.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { purgeRejectedCallbacks } from '../src/payments/rejected-callbacks.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { refOf } from '../src/payments/transactions.ts';
import { createBatch } from '../src/platform/batch.ts';
import { createVirtualClock, DAY_MS, HOUR_MS, systemClock } from '../src/platform/clock.ts';
import { createDatabaseTime } from '../src/platform/database-time.ts';
import { connectDatabase } from '../src/platform/db.ts';
import { Problem } from '../src/platform/errors.ts';
import { createHttpServer } from '../src/platform/http.ts';
import { type Job, runLoop } from '../src/platform/jobs.ts';
import { createClient, PATHS } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createTestContext } from './harness.ts';
import { CURRENCY, silentRail, withPayments } from './payments.ts';
import { createShop } from './shop.ts';

const PARAMS = { amount: 2500, mobile: '256772123000', country_id: 11, currency: 'UGX', reference_1: 'time' };
const refused = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;
const unavailable = () => Promise.reject(new Problem('database_unavailable', { retryAfterSeconds: 1 }));

describe('a process whose clock is ahead', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
    await maintainSignatures(gateway.ctx);
  });
  after(() => gateway.close());

  /** Does the work with a clock that is ahead, and sets the clock right again. */
  async function ahead(milliseconds: number, work: () => Promise<unknown>): Promise<void> {
    const { clock, databaseTime } = gateway.ctx;
    clock.advance(milliseconds);
    databaseTime.setSkew(milliseconds);
    await work();
    clock.advance(-milliseconds);
    databaseTime.setSkew(0);
  }

  const countTransactions = async () => {
    const [row] = await gateway.ctx.db.query<{ count: bigint }>('select count(*) from transactions');
    return row?.count;
  };

  test('money 16: five hours ahead, it does not forget the signatures of the present hour', async () => {
    const client = await createClient(gateway, 'Signatures');
    const before = await countTransactions();
    const body = client.envelope(PARAMS);
    assert.equal((await client.post(PATHS.collect, body)).status, 200);
    await ahead(5 * HOUR_MS, () => maintainSignatures(gateway.ctx));
    assert.equal((await client.post(PATHS.collect, body)).body.code, 'signature_reused');
    assert.equal(await countTransactions(), (before ?? 0n) + 1n);
  });

  test('money 16: 26 hours ahead, it does not forget idempotency keys', async () => {
    const client = await createClient(gateway, 'Keys');
    const before = await countTransactions();
    const order = () => client.signed(PATHS.collect, PARAMS, { 'idempotency-key': 'order-1' });
    const first = await order();
    await ahead(26 * HOUR_MS, () => purgeExpired(gateway.ctx));
    const second = await order();
    assert.deepEqual([second.status, second.data.ref], [200, first.data.ref]);
    assert.equal(await countTransactions(), (before ?? 0n) + 1n);
  });

  test('money 16: 130 days ahead, it deletes no event and no rejected message', async () => {
    const client = await createClient(gateway, 'Events');
    await client.signed(PATHS.collect, PARAMS);
    await gateway.settle();
    const { ctx } = gateway;
    const events = async () => (await listEvents(ctx.db, client.shop.holderId)).events.length;
    const known = await events();
    assert.ok(known > 0);
    const housekeeping = createCallbackHousekeeping(ctx);
    await housekeeping.pass();
    await ctx.db.query(
      `insert into rejected_callbacks (rail, received_at, reason, headers, body) values ('sandbox', $1, 'test', '{}', '')`,
      [ctx.clock.now()],
    );
    await ahead(130 * DAY_MS, async () => {
      await housekeeping.pass();
      assert.equal(await purgeRejectedCallbacks(ctx), 0);
    });
    assert.equal(await events(), known);
    ctx.clock.advance(130 * DAY_MS);
    await housekeeping.pass();
    assert.equal(await events(), 0, 'when the time has really come they go');
    assert.equal(await purgeRejectedCallbacks(ctx), 1);
  });
});

describe('background work', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  const runs = async (result: string) => {
    const { values } = await ctx.metrics.jobRuns.get();
    return values.find((value) => value.labels.job === 'timed' && value.labels.result === result)?.value ?? 0;
  };

  for (const skewMs of [31_000, -31_000])
    test(`money 16: a pass waits while the clock is ${skewMs} ms off, from the first one on`, async () => {
      ctx.metrics.jobRuns.reset();
      ctx.databaseTime.setSkew(skewMs);
      let passes = 0;
      const passed = Promise.withResolvers<void>();
      const job: Job = {
        name: 'timed',
        idleMs: { shortest: 1, longest: 1 },
        pass: async () => {
          passes++;
          passed.resolve();
          return 0;
        },
      };
      const loop = runLoop(ctx, job);
      while ((await runs('skipped')) < 3) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(passes, 0);
      assert.equal((await ctx.metrics.clockSkew.get()).values[0]?.value, skewMs / 1000);
      ctx.databaseTime.setSkew(29_000);
      await passed.promise;
      await loop.stop();
      assert.ok((await runs('ok')) > 0, 'it goes on by itself');
      ctx.databaseTime.setSkew(0);
    });

  test('money 16: work that a request wakes waits too', async () => {
    let calls = 0;
    const payments = withPayments(
      ctx,
      silentRail({
        payout: async () => {
          calls++;
          return { observation: { state: 'unknown', reason: 'test' }, raw: '' };
        },
      }),
    );
    const engine = createPaymentEngine(payments);
    const shop = await createShop(payments);
    await topUpSandbox(payments, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
    const reading = await readPayout(payments, shop.holderId, {
      amount: '1000',
      currency: CURRENCY,
      mobile: '256772123456',
    });
    assert.ok(reading.ok);
    ctx.databaseTime.setSkew(60_000);
    await orderPayouts(payments, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    await engine.idle();
    assert.equal(calls, 0);
    ctx.databaseTime.setSkew(0);
    engine.wake();
    await engine.idle();
    assert.equal(calls, 1);
  });

  test('money 16: the real database time is that of PostgreSQL, and a changed clock is noticed at once', async () => {
    const time = createDatabaseTime(ctx.db, systemClock);
    const [before] = await ctx.db.query<{ at: Date }>('select clock_timestamp() as at');
    const between = await time.now();
    const [later] = await ctx.db.query<{ at: Date }>('select clock_timestamp() as at');
    assert.ok(before && later && between >= before.at && between <= later.at);

    const clock = createVirtualClock(await time.now());
    const skewed = createDatabaseTime(ctx.db, clock);
    const statements = ctx.db.counters.statements;
    assert.ok(Math.abs(await skewed.skewMs()) < 5_000);
    clock.advance(3 * HOUR_MS);
    assert.ok(Math.abs((await skewed.skewMs()) - 3 * HOUR_MS) < 5_000);
    assert.equal(ctx.db.counters.statements, statements + 1, 'measured once');
  });
});

describe('postings', () => {
  let ctx: ReturnType<typeof withPayments<Awaited<ReturnType<typeof createTestContext>>>>;
  let close: () => Promise<void>;
  before(async () => {
    const base = await createTestContext();
    ctx = withPayments(base, silentRail());
    close = () => base.close();
  });
  after(() => close());

  test('money 16: a posting ahead of the database is refused and takes nobody with it', async () => {
    const shop = await createShop(ctx);
    const topUp = () => topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 500_000n);
    const now = Date.now();
    ctx.clock.set(new Date(now + 2 * DAY_MS));
    await assert.rejects(topUp, refused('clock_skewed'));
    await assert.rejects(topUp, { status: 503 });
    assert.deepEqual(await balancesOf(ctx.db, shop.holderId), []);
    ctx.clock.set(new Date(now - HOUR_MS));
    await topUp();
    const available = { kind: 'wallet_available', holderId: shop.holderId, currency: CURRENCY } as const;
    assert.equal(await balanceAt(ctx.db, available, ctx.clock.now()), 500_000n);
  });

  test('money 16: accounts that were ahead before the rule can still be posted to', async () => {
    const shop = await createShop(ctx);
    const topUp = () => topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 500_000n);
    ctx.clock.set(new Date(Date.now() - HOUR_MS));
    await topUp();
    await ctx.ownerDb.transaction(async (tx) => {
      for (const table of ['ledger_transfers', 'ledger_accounts'])
        await tx.query(`alter table ${table} disable trigger user`);
      await tx.query(`update ledger_transfers set posted_at = '2099-01-01' where holder_id = $1`, [shop.holderId]);
      await tx.query(
        `update ledger_accounts set updated_at = '2099-01-01' where id in
           (select unnest(array[debit_account, credit_account]) from ledger_transfers where holder_id = $1)`,
        [shop.holderId],
      );
      for (const table of ['ledger_transfers', 'ledger_accounts'])
        await tx.query(`alter table ${table} enable trigger user`);
    });
    await topUp();
    assert.equal((await balancesOf(ctx.db, shop.holderId))[0]?.available, 1_000_000n);
  });
});

describe('after a commit', () => {
  let base: Awaited<ReturnType<typeof createTestContext>>;
  let ctx: ReturnType<typeof withPayments<typeof base>>;
  before(async () => {
    base = await createTestContext();
  });
  after(() => base.close());
  beforeEach(() => {
    ctx = withPayments(base, silentRail());
  });

  /** An engine that finds no connection. */
  const lostEngine = () =>
    createPaymentEngine({
      ...ctx,
      db: { ...ctx.db, query: unavailable, transaction: unavailable, single: unavailable },
    });

  async function shopWithMoney() {
    const shop = await createShop(ctx);
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
    const reading = await readPayout(ctx, shop.holderId, {
      amount: '1000',
      currency: CURRENCY,
      mobile: '256772123456',
    });
    assert.ok(reading.ok);
    return { shop, order: reading.order };
  }

  test('money 3: a payout that is ordered is told as ordered, although the engine finds no connection', async () => {
    const { shop, order } = await shopWithMoney();
    const engine = lostEngine();
    const [result] = await orderPayouts(ctx, engine, COMMAND_LINE, shop.holderId, [order]);
    assert.ok(result?.ok);
    await engine.idle();
    const jobs = await ctx.db.query('select from payment_jobs where transaction_id = $1', [result.transaction.id]);
    assert.equal(jobs.length, 1, 'the loop finds it');
  });

  test('money 3: so is an approval', async () => {
    const { shop, order } = await shopWithMoney();
    await ctx.db.query('update holders set payouts_need_approval = true where id = $1', [shop.holderId]);
    const [result] = await orderPayouts(ctx, lostEngine(), COMMAND_LINE, shop.holderId, [order]);
    assert.ok(result?.ok);
    const engine = lostEngine();
    const other = { memberId: null, name: 'second' };
    await approvePayout(ctx, engine, other, shop.holderId, refOf(result.transaction));
    await engine.idle();
  });

  test('money 3: "Nothing was done." is not said once the request has committed something', async () => {
    const app = createHttpServer(ctx);
    await ctx.ownerDb.query('create table notes (text text); grant select, insert on notes to simbi_service');
    const write = createBatch<string, null>({
      run: (texts) =>
        ctx.db.transaction(async (tx) => {
          await tx.query('insert into notes select unnest($1::text[])', [texts]);
          return texts.map(() => null);
        }),
    });
    app.post('/nothing', unavailable);
    app.post('/read', async () => {
      await ctx.db.query('select 1');
      await ctx.db.transaction((tx) => tx.query('select 1'));
      return await unavailable();
    });
    app.post('/rolled-back', async () => {
      await ctx.db.transaction(async (tx) => {
        await tx.query(`insert into notes values ('x')`);
        return await unavailable();
      });
    });
    app.post('/statement', async () => {
      await ctx.db.query(`insert into notes values ('x')`);
      return await unavailable();
    });
    app.post('/transaction', async () => {
      await ctx.db.transaction((tx) => tx.query(`insert into notes values ('x')`));
      return await unavailable();
    });
    app.post('/batch', async () => {
      await write.add('x');
      return await unavailable();
    });
    app.post('/overloaded', async () => {
      await write.add('x');
      throw new Problem('overloaded');
    });
    const codeOf = async (url: string) =>
      (await app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: '{}' })).json()
        .code;
    for (const url of ['/nothing', '/read', '/rolled-back'])
      assert.equal(await codeOf(url), 'database_unavailable', url);
    for (const url of ['/statement', '/transaction', '/batch', '/overloaded'])
      assert.equal(await codeOf(url), 'outcome_unknown', url);
    const all = ['/batch', '/nothing', '/batch', '/nothing', '/batch', '/nothing'];
    assert.deepEqual(
      await Promise.all(all.map(codeOf)),
      all.map((url) => (url === '/batch' ? 'outcome_unknown' : 'database_unavailable')),
      'each request counts its own',
    );
    await app.close();
  });
});

describe('what the database refuses', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
  });
  after(() => gateway.close());

  test('money 23: an integer beyond every column is refused or unknown, never an internal error', async () => {
    const client = await createClient(gateway);
    for (const wallet of [1e20, -1e20, 2 ** 53 - 1, 0, -1, 9_223_372_036_854_775_000]) {
      const answer = await client.signed(PATHS.balance, { wallet_account: wallet });
      assert.deepEqual([answer.status, answer.body.data], [200, []], String(wallet));
    }
    const collection = await client.signed(PATHS.collect, { ...PARAMS, country_id: 1e20 });
    assert.equal(collection.status, 400);
    const link = await client.signed(PATHS.createLink, { country_id: 1e20, amount: 100, title: 'x' });
    assert.equal(link.status, 400);
    const preflight = await client.postWithToken(PATHS.preflight, { ...PARAMS, amount: '2500', country_id: 1e20 });
    assert.ok(preflight.status < 500);
    assert.equal((await client.get(`${PATHS.events}?limit=99999999999999999999`)).status, 400);
    assert.ok((await client.get(`${PATHS.events}?after=99999999999999999999`)).status < 500);
    assert.ok((await client.signed(PATHS.listLinks, { limit: 1e20 })).status < 500);
  });

  test('money 23: time-outs of locks and statements are told as busy; a lock is waited for twice', async () => {
    const url = gateway.ctx.databaseUrl;
    const db = connectDatabase({ url, as: 'owner', lockTimeoutMs: 20 });
    const holder = connectDatabase({ url, as: 'owner' });
    await holder.query('create table kept (n int)');
    const released = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holding = holder.transaction(async (tx) => {
      await tx.query('lock table kept');
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    let tries = 0;
    const insert = () =>
      db.transaction((tx) => {
        tries++;
        return tx.query('insert into kept values (1)');
      });
    const busy = (error: unknown) => {
      assert.ok(error instanceof Problem);
      assert.deepEqual([error.code, error.status, error.details.retryAfterSeconds], ['overloaded', 503, 1]);
      return true;
    };
    await assert.rejects(insert, busy);
    assert.equal(tries, 2);
    await assert.rejects(db.query('insert into kept values (1)'), busy);
    const sleep = db.transaction(async (tx) => {
      await tx.query('set local statement_timeout = 300');
      await tx.query('select pg_sleep(60)');
    });
    await assert.rejects(sleep, busy);
    released.resolve();
    await holding;
    await insert();
    await assert.rejects(
      db.transaction(async (tx) => {
        await tx.query('set transaction read only');
        await tx.query('insert into kept values (1)');
      }),
      refused('database_unavailable'),
    );
    await db.close();
    await holder.close();
  });
});
