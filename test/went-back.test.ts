// A database that went back in time: an older copy was started, or a standby took over that lacked the newest transactions. The
// gateway notices it by what it knows outside, pays nothing out until a person has looked, and takes collections meanwhile.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { finishRestore } from '../src/commands/finish-restore.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { extendChain, newestHead } from '../src/ledger/chain.ts';
import { createHeadKeeper, type HeadKeeper, listShipped } from '../src/ledger/head-keeper.ts';
import { readLostHead } from '../src/ledger/lost-history.ts';
import { compareOutside, createHeadSigner } from '../src/ledger/outside-heads.ts';
import { createPaymentEngine, type PaymentEngine } from '../src/payments/engine.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { createRefund } from '../src/payments/refunds.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { refOf, type Transaction } from '../src/payments/transactions.ts';
import type { Context } from '../src/platform/context.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { Problem } from '../src/platform/errors.ts';
import { createMemory } from '../src/platform/memory.ts';
import type { OutboundRequest, OutboundResult } from '../src/platform/outbound.ts';
import { copyTestDatabase, dropTestDatabase, type TestDatabase } from './database.ts';
import { createTestGateway } from './gateway.ts';
import { createTestContext, type TestContext } from './harness.ts';
import { acceptCollection, CAPABILITIES, CURRENCY, collectionOrder, silentRail, withPayments } from './payments.ts';
import { createShop, type Shop } from './shop.ts';
import { tamper } from './tamper.ts';

const stopped = (error: unknown) => error instanceof Problem && error.code === 'payouts_stopped';

/** A rail that keeps what was sent. */
function createOperator() {
  const sent: string[] = [];
  const submit = async ({ reference }: { reference: string }) => {
    sent.push(reference);
    return { observation: { state: 'succeeded' as const, receipt: `R-${reference}` }, raw: '' };
  };
  const rail = silentRail({
    capabilities: { ...CAPABILITIES, refunds: 'partial', notFoundIsFinalAfterMs: 0 },
    collect: submit,
    payout: submit,
    refund: submit,
  });
  return { sent, rail };
}

const NO_ANSWER: OutboundResult = { error: 'unreachable', reason: 'nobody listens', latencyMs: 1 };

function keeperOf(ctx: Context, request: (asked: OutboundRequest) => Promise<OutboundResult> = async () => NO_ANSWER) {
  const lost: bigint[] = [];
  const keeper = createHeadKeeper(ctx, {
    outbound: { request },
    queueMail: null,
    recordLost: async (_, { number }) => void lost.push(number),
  });
  return Object.assign(keeper, { lost });
}

async function seal(ctx: TestContext): Promise<void> {
  ctx.clock.advance(1_000);
  while ((await extendChain(ctx, { partial: true })) > 0);
}

describe('a database that went back in time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-went-back-'));
  const operator = createOperator();
  let source: Awaited<ReturnType<typeof createTestContext>>;
  let copy: TestDatabase;
  /** The database that goes on, and the old copy of it. */
  let newer: Database;
  let older: Database;
  let shop: Shop;
  let collection: Transaction;
  /** Leaves all work in the table. */
  let idle: PaymentEngine;
  let running: TestContext;
  let keeper: HeadKeeper & { lost: bigint[] };

  const on = (db: Database): TestContext => ({ ...source, db, memory: createMemory() });
  const payOut = async (ctx: TestContext) => {
    const payments = withPayments(ctx, operator.rail);
    const reading = await readPayout(payments, shop.holderId, {
      amount: '500',
      currency: CURRENCY,
      mobile: '256772123456',
    });
    assert.ok(reading.ok);
    const engine = { wake: () => undefined };
    const [result] = await orderPayouts(payments, engine, COMMAND_LINE, shop.holderId, [reading.order]);
    assert.ok(result?.ok);
    return result.transaction;
  };
  const collect = (ctx: TestContext) =>
    acceptCollection(
      withPayments(ctx, operator.rail),
      idle,
      collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet'),
    );
  const work = async (ctx: TestContext) => {
    const engine = createPaymentEngine(withPayments(ctx, operator.rail));
    while ((await engine.pass()) > 0) await engine.idle();
    await engine.idle();
  };

  before(async () => {
    source = await createTestContext({ DATA_DIR: folder });
    idle = {
      ...createPaymentEngine(withPayments(source, operator.rail)),
      hasCapacity: () => false,
      leaveToOthers: () => undefined,
    };
    shop = await createShop(source);
    await topUpSandbox(withPayments(source, operator.rail), COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
    collection = await collect(source);
    await work(source);
    // Ordered before the copy, and not sent yet.
    await payOut(source);
    await seal(source);
    await keeperOf(source).pass();
    await source.db.close();
    await source.ownerDb.close();
    copy = await copyTestDatabase(source.databaseUrl);
    newer = connectDatabase({ url: source.databaseUrl, poolSize: 4 });
    older = connectDatabase({ url: copy.url, poolSize: 4 });
    running = on(newer);
    keeper = keeperOf(running);
    await topUpSandbox(withPayments(running, operator.rail), COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
    await seal(running);
    await keeper.pass();
    operator.sent.length = 0;
  });
  after(async () => {
    await newer?.close();
    await older?.close();
    await copy?.drop();
    await dropTestDatabase(source.databaseUrl);
    rmSync(folder, { recursive: true, force: true });
  });

  test('the database that went on is whole', async () => {
    await keeperOf(on(newer)).compare();
    assert.equal(await readLostHead(newer), null);
  });

  test('an older copy is noticed at the start, and pays nothing out; collections go on', async () => {
    const ctx = on(older);
    const starting = keeperOf(ctx);
    await starting.compare();
    const head = await newestHead(newer);
    assert.deepEqual(starting.lost, [head?.number]);
    assert.equal((await readLostHead(older))?.source, 'DATA_DIR');
    // Another process has no such file, and finds it in the database.
    const payments = withPayments(on(older), operator.rail);
    await assert.rejects(payOut(on(older)), stopped);
    const refund = { collection: refOf(collection), amount: 100n };
    await assert.rejects(createRefund(payments, idle, COMMAND_LINE, shop.holderId, refund), stopped);
    const taken = await collect(on(older));
    await work(on(older));
    assert.deepEqual(operator.sent, [refOf(taken)]);
    // Once noticed, it stays so, although the file in DATA_DIR goes on with this copy.
    await seal(ctx);
    await starting.pass();
    await starting.pass();
    assert.deepEqual(starting.lost, [head?.number]);
    await assert.rejects(payOut(on(older)), stopped);
  });

  test('a person who has looked records it as a restore, and it goes on', async () => {
    source.clock.advance(60_000);
    operator.sent.length = 0;
    await older.transaction((tx) => finishRestore(tx, source.clock.now(), null));
    assert.equal(await readLostHead(older), null);
    const payout = await payOut(on(older));
    await work(on(older));
    assert.ok(operator.sent.includes(refOf(payout)));
    const again = keeperOf(on(older));
    await again.compare();
    assert.deepEqual(again.lost, []);
  });

  test('a standby that took over without the newest transactions is noticed while the process runs', async () => {
    const late = await copyOf(source.databaseUrl, newer);
    newer = connectDatabase({ url: source.databaseUrl, poolSize: 4 });
    Object.assign(running, { db: newer });
    await topUpSandbox(withPayments(running, operator.rail), COMMAND_LINE, shop.holderId, CURRENCY, 1_000n);
    await seal(running);
    await keeper.pass();
    const standby = connectDatabase({ url: late.url, poolSize: 4 });
    try {
      Object.assign(running, { db: standby });
      await keeper.pass();
      assert.equal(keeper.lost.length, 1);
      assert.equal((await readLostHead(standby))?.source, 'a running process');
      await assert.rejects(payOut(on(standby)), stopped);
    } finally {
      await standby.close();
      await late.drop();
    }
  });
});

/** The database as it is now, under another name. Its connections must be closed for that. */
async function copyOf(url: string, db: Database): Promise<TestDatabase> {
  await db.close();
  return await copyTestDatabase(url);
}

describe('heads outside the database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-heads-'));
  const file = join(folder, 'heads.log');
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  let shop: Shop;
  before(async () => {
    const settings = { DATA_DIR: folder, LEDGER_HEAD_FILE: file, LEDGER_HEAD_URL: 'https://safe.example.org/heads' };
    ctx = await createTestContext(settings);
    shop = await createShop(ctx);
  });
  after(async () => {
    await ctx.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const pay = async () => {
    await topUpSandbox(withPayments(ctx, silentRail()), COMMAND_LINE, shop.holderId, CURRENCY, 1_000n);
    await seal(ctx);
  };
  const linesOf = () => readFileSync(file, 'utf8').trimEnd().split('\n');

  test('go to a file and to an address once a minute, signed, and a failure is counted and tried again', async () => {
    let answer: OutboundResult = NO_ANSWER;
    const posted: string[] = [];
    const keeper = keeperOf(ctx, async ({ method, body }) => {
      if (method === 'POST' && answer.error === null) posted.push(String(body).trimEnd());
      return answer;
    });
    await pay();
    await keeper.pass();
    await keeper.pass();
    assert.equal(linesOf().length, 1);
    assert.deepEqual(
      (await listShipped(ctx.db)).map(({ place, number, error }) => [place, number, error]),
      [
        ['file', 1n, null],
        ['url', null, 'nobody listens'],
      ],
    );
    assert.match(await ctx.metrics.registry.metrics(), /simbi_ledger_heads_not_shipped_total\{place="url"\} 1/);
    answer = { error: null, status: 204, headers: {}, bodyStart: Buffer.alloc(0), truncated: false, latencyMs: 1 };
    await pay();
    await keeper.pass();
    assert.equal(linesOf().length, 1, 'a minute is not over');
    ctx.clock.advance(60_000);
    await keeper.pass();
    assert.equal(linesOf().length, 2);
    assert.deepEqual(posted, [linesOf()[1]]);
    const signer = await createHeadSigner(ctx);
    assert.equal(signer.read(linesOf()[1] ?? '')?.signed, true);
    assert.equal(signer.read((linesOf()[1] ?? '').replace('"number":"2"', '"number":"3"'))?.signed, false);
  });

  test('ledger verify compares with every one of them', async () => {
    const answered = linesOf().join('\n');
    const ask = async (): Promise<OutboundResult> => ({
      error: null,
      status: 200,
      headers: {},
      bodyStart: Buffer.from(answered),
      truncated: false,
      latencyMs: 1,
    });
    assert.deepEqual(await compareOutside(ctx, { request: ask }), { differences: [], compared: 5, lostByRestores: 0 });
    // The past is rewritten as a whole, with blocks and heads that fit: only what is outside shows it.
    await tamper(ctx.ownerDb, `update ledger_transfers set transaction_id = gen_random_uuid() where position = 1`);
    for (const table of ['ledger_partition_blocks', 'ledger_heads']) await tamper(ctx.ownerDb, `delete from ${table}`);
    await ctx.ownerDb.query('delete from ledger_sealed');
    await seal(ctx);
    const { differences } = await compareOutside(ctx, { request: ask });
    const places = differences.map(({ where }) => where.replace(/^block \d+ in /, ''));
    assert.deepEqual(places, [
      'DATA_DIR',
      'LEDGER_HEAD_FILE',
      'LEDGER_HEAD_FILE',
      'LEDGER_HEAD_URL',
      'LEDGER_HEAD_URL',
    ]);
  });
});

test('/readyz says so, and the gateway stays ready', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-ready-'));
  const gateway = await createTestGateway({ DATA_DIR: folder });
  await gateway.ctx.ownerDb.query(
    `insert into ledger_lost_heads (number, hash, sealed_at, source, noticed_at) values (7, '\\x00', $1, 'DATA_DIR', $1)`,
    [gateway.ctx.clock.now()],
  );
  const reply = await gateway.app.inject('/readyz');
  assert.equal(reply.statusCode, 200);
  assert.match(reply.json<{ message: string }>().message, /^Ready\. .*payouts, refunds and settlements are stopped/);
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});
