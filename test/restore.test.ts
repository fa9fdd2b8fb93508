// After a restore: the backup is old, and operators, people and readers went on. Nothing about an open payment is decided,
// sent or expired before its operator was asked; what was issued before the restore is refused; the feed skips nothing.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { writeBackup } from '../src/backup/backup.ts';
import { type RestoreOptions, restoreBackup } from '../src/backup/restore.ts';
import { listEvents } from '../src/callbacks/feed.ts';
import { finishRestore } from '../src/commands/finish-restore.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { authenticateToken } from '../src/holders/tokens.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { createPaymentEngine, type PaymentEngine } from '../src/payments/engine.ts';
import { approvePayout, cancelPayout } from '../src/payments/order-decisions.ts';
import { applyOutcomes } from '../src/payments/outcomes.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { UNANSWERED_MS, VERIFICATION_MS } from '../src/payments/states.ts';
import { findTransaction, refOf, type Transaction } from '../src/payments/transactions.ts';
import { resendToken, verifyToken } from '../src/payments/verification.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { Problem } from '../src/platform/errors.ts';
import { createMemory } from '../src/platform/memory.ts';
import { migrate } from '../src/platform/migrate.ts';
import type { Observation, Rail } from '../src/rails/rail.ts';
import { HOLDER, newEvent, record } from './callback-harness.ts';
import { createClient, PATHS } from './client.ts';
import { addPerson } from './console-harness.ts';
import { createEmptyDatabase, type TestDatabase } from './database.ts';
import { createTestGateway } from './gateway.ts';
import { createTestContext } from './harness.ts';
import { acceptCollection, CAPABILITIES, CURRENCY, collectionOrder, silentRail, withPayments } from './payments.ts';
import { createShop, type Shop, signBody, tokenOf } from './shop.ts';
import { tamper } from './tamper.ts';

const UNKNOWN: Observation = { state: 'unknown', reason: 'time-out' };
const NOT_FOUND: Observation = { state: 'unknown', reason: 'no such payment', definitelyNotFound: true };
/** Before this long after the restore, "not found" proves nothing: what was sent may still be under way. */
const FINAL_AFTER_MS = 60_000;

/** The last migration before a database knew that it was restored. */
const LAST_WITHOUT_RESTORES = 10;

const refused = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;
const nothing = async () => undefined;

type Operator = { rail: Rail; asked: string[]; sent: string[]; tokens: string[]; books: Map<string, Observation> };

/** An operator with its own books, which no restore touches. It takes the same reference twice. */
function createOperator(): Operator {
  const operator = { asked: [] as string[], sent: [] as string[], tokens: [] as string[], books: new Map() };
  const submit = async ({ reference }: { reference: string }) => {
    operator.sent.push(reference);
    const observation: Observation = { state: 'succeeded', receipt: `R-${reference.slice(-12)}` };
    operator.books.set(reference, observation);
    return { observation, raw: '' };
  };
  const rail = silentRail({
    capabilities: { ...CAPABILITIES, idempotentSubmit: false, notFoundIsFinalAfterMs: FINAL_AFTER_MS },
    collect: submit,
    payout: submit,
    async query({ reference }) {
      operator.asked.push(reference);
      return { observation: operator.books.get(reference) ?? NOT_FOUND, raw: '' };
    },
    async sendToken({ text }) {
      operator.tokens.push(text.slice(0, 6));
      return { sent: true, raw: '' };
    },
  });
  return Object.assign(operator, { rail });
}

describe('a gateway that was restored from an old backup', () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-restore-'));
  const operator = createOperator();
  let source: Awaited<ReturnType<typeof createTestContext>>;
  let target: TestDatabase;
  let restored: Database;
  let ctx: ReturnType<typeof withPayments<typeof source>>;
  let engine: PaymentEngine;
  let shop: Shop;
  /** What the backup holds: `paid…` went on after it, `left…` did not. */
  const made = new Map<string, Transaction>();

  before(async () => {
    source = await createTestContext();
    ctx = withPayments(source, operator.rail);
    engine = createPaymentEngine(ctx);
    shop = await createShop(ctx);
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 10_000_000n);
    await fillGateway();
    const path = join(folder, 'old.backup');
    await writeBackup({
      databaseUrl: source.databaseUrl,
      path,
      version: 'test',
      mode: 'sandbox',
      madeAt: source.clock.now(),
      masterKey: null,
      includeMasterKey: false,
    });
    await goOn();
    target = await createEmptyDatabase();
    await restoreBackup({
      databaseUrl: target.url,
      path,
      masterKey: null,
      finish: async (tx, { made_at }) => void (await finishRestore(tx, source.clock.now(), new Date(made_at))),
    });
    restored = connectDatabase({ url: target.url, poolSize: 5 });
    const base = { ...source, db: restored, databaseUrl: target.url, memory: createMemory() };
    ctx = withPayments(base, operator.rail);
    engine = createPaymentEngine(ctx);
    operator.asked.length = 0;
    operator.sent.length = 0;
    operator.tokens.length = 0;
  });

  after(async () => {
    await restored?.close();
    await target?.drop();
    await source?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const row = (name: string) => made.get(name) as Transaction;
  const find = async (name: string) => findTransaction(ctx.db, shop.holderId, row(name).id);
  const pass = async () => {
    await engine.pass();
    await engine.idle();
  };

  async function collect(name: string, verification: 'otp' | 'prompt'): Promise<void> {
    const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet', { verification });
    made.set(name, await acceptCollection(ctx, { ...engine, hasCapacity: () => false }, order));
  }

  async function payOut(name: string): Promise<void> {
    const reading = await readPayout(ctx, shop.holderId, {
      amount: '1000',
      currency: CURRENCY,
      mobile: '256772123456',
    });
    assert.ok(reading.ok);
    const idle = { ...engine, pass: async () => 0, wake: () => undefined };
    const [result] = await orderPayouts(ctx, idle, COMMAND_LINE, shop.holderId, [reading.order]);
    assert.ok(result?.ok);
    made.set(name, result.transaction);
  }

  async function fillGateway(): Promise<void> {
    // One after the other: tokens that are sent together have no order.
    for (const name of ['paid token', 'left token']) {
      await collect(name, 'otp');
      await pass();
    }
    assert.equal(operator.tokens.length, 2);
    await ctx.db.query('update holders set payouts_need_approval = true');
    await payOut('paid approval');
    await payOut('left approval');
    await ctx.db.query('update holders set payouts_need_approval = false');
    await payOut('paid payout');
    await payOut('left payout');
    await collect('left collection', 'prompt');
    await collect('left unsent token', 'otp');
  }

  /** What happens after the backup: the restored gateway knows nothing of it, the operator does. */
  async function goOn(): Promise<void> {
    source.clock.advance(20_000);
    const right = await verifyToken(ctx, shop.holderId, row('paid token').id, operator.tokens[0] ?? '', nothing);
    assert.ok(!(right instanceof Problem));
    await approvePayout(ctx, engine, COMMAND_LINE, shop.holderId, refOf(row('paid approval')));
    await pass();
    for (const name of ['paid token', 'paid approval', 'paid payout'])
      assert.equal((await find(name))?.status, 'success');
    for (const name of made.keys()) if (name.startsWith('left')) operator.books.delete(refOf(row(name)));
    source.clock.advance(20_000);
  }

  test('money 6: every open transaction is asked about first, and keeps what it was about to do', async () => {
    const rows = await restored.query<{ transaction_id: string; kind: string; resume: string | null; due: boolean }>(
      'select transaction_id, kind, resume, due_at <= $1 as due from payment_jobs',
      [source.clock.now()],
    );
    const resumes = Object.fromEntries(
      [...made].map(([name, { id }]) => [name, rows.find((job) => job.transaction_id === id)?.resume]),
    );
    assert.deepEqual(resumes, {
      'paid token': 'expire',
      'left token': 'expire',
      'paid approval': 'approval',
      'left approval': 'approval',
      'paid payout': 'submit',
      'left payout': 'submit',
      'left collection': 'submit',
      'left unsent token': 'send_token',
    });
    assert.ok(rows.every((job) => job.kind === 'query' && job.due));
    await assert.rejects(restored.query(`update payment_jobs set kind = 'submit'`), /payment_job_asks_first/);
  });

  test('money 6: nobody decides before the operator was asked', async () => {
    const { holderId } = shop;
    for (const name of ['paid approval', 'left approval', 'paid payout', 'left payout']) {
      await assert.rejects(
        cancelPayout(ctx, COMMAND_LINE, holderId, refOf(row(name))),
        refused('operator_asked_first'),
        name,
      );
      await assert.rejects(
        approvePayout(ctx, engine, COMMAND_LINE, holderId, refOf(row(name))),
        refused('operator_asked_first'),
        name,
      );
    }
    for (const name of ['paid token', 'left token']) {
      await assert.rejects(
        verifyToken(ctx, holderId, row(name).id, '000000', nothing),
        refused('operator_asked_first'),
      );
      await assert.rejects(resendToken(ctx, holderId, row(name).id, nothing), refused('operator_asked_first'));
    }
  });

  test('money 6: an operator that does not answer leaves everything as the backup has it', async () => {
    const books = new Map(operator.books);
    for (const { id } of made.values()) operator.books.set(refOf({ id }), UNKNOWN);
    await pass();
    assert.equal(new Set(operator.asked).size, made.size);
    for (const name of made.keys()) assert.equal((await find(name))?.status, 'pending', name);
    operator.books = books;
  });

  test('money 6A: a token payment that was paid is paid, and is not expired', async () => {
    source.clock.advance(10_000);
    await pass();
    assert.equal((await find('paid token'))?.status, 'success');
    assert.equal((await find('paid payout'))?.status, 'success');
    source.clock.advance(VERIFICATION_MS + 60_000);
    await pass();
    const types = await restored.query<{ type: string }>('select type from events where transaction_id = $1', [
      row('paid token').id,
    ]);
    assert.deepEqual(types, [{ type: 'collection.success' }]);
  });

  test('money 6B: a payout that was approved and paid is paid once and waits for nobody', async () => {
    assert.equal((await find('paid approval'))?.status, 'success');
    assert.ok(!operator.sent.includes(refOf(row('paid approval'))));
    await assert.rejects(
      cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(row('paid approval'))),
      refused('not_found'),
    );
    const [order] = await restored.query<{ approval: string; approved_by: string }>(
      'select approval, approved_by from payout_orders where transaction_id = $1',
      [row('paid approval').id],
    );
    assert.deepEqual(order, { approval: 'approved', approved_by: 'somebody before the restore' });
  });

  test('money 6: what the operator certainly does not know goes on as the backup says, each once', async () => {
    for (let round = 0; round < 3; round++) await pass();
    assert.deepEqual(operator.sent.toSorted(), [refOf(row('left payout')), refOf(row('left collection'))].toSorted());
    assert.equal((await find('left payout'))?.status, 'success');
    assert.equal((await find('left collection'))?.status, 'success');
    assert.equal((await find('left token'))?.status, 'expired');
    assert.equal(operator.tokens.length, 1, 'the token that was not sent yet');
    const waiting = await restored.query('select from payment_jobs where transaction_id = $1', [
      row('left approval').id,
    ]);
    assert.equal(waiting.length, 0);
    await cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(row('left approval')));
    assert.equal((await find('left approval'))?.status, 'failed');
    assert.deepEqual((await verifyLedger({ db: restored })).differences, []);
  });
});

describe('times after a restore', () => {
  test('money 6: "not found" and "no answer" count from the restore, however old the payment is', async () => {
    const base = await createTestContext();
    try {
      const operator = createOperator();
      const ctx = withPayments(base, operator.rail);
      const engine = createPaymentEngine(ctx);
      const shop = await createShop(ctx);
      const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
      const transaction = await acceptCollection(ctx, { ...engine, hasCapacity: () => false }, order);
      base.clock.advance(2 * UNANSWERED_MS);
      await ctx.db.transaction((tx) => finishRestore(tx, base.clock.now(), null));
      base.clock.advance(1_000);
      await engine.pass();
      await engine.idle();
      assert.deepEqual(operator.asked, [refOf(transaction)]);
      const jobs = await ctx.db.query('select kind, resume from payment_jobs');
      assert.deepEqual(jobs, [{ kind: 'query', resume: 'submit' }], 'too early to believe it');
      assert.deepEqual(await ctx.db.query('select kind from cases'), []);
      base.clock.advance(FINAL_AFTER_MS);
      for (let round = 0; round < 2; round++) {
        await engine.pass();
        await engine.idle();
      }
      assert.deepEqual(operator.sent, [refOf(transaction)]);
    } finally {
      await base.close();
    }
  });

  test('money 6: a callback that knows it ends the asking', async () => {
    const base = await createTestContext({ ROLE: 'api' });
    try {
      const ctx = withPayments(base, createOperator().rail);
      const engine = createPaymentEngine(ctx);
      const shop = await createShop(ctx);
      const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
      const transaction = await acceptCollection(ctx, engine, order);
      await ctx.db.transaction((tx) => finishRestore(tx, base.clock.now(), null));
      const observation: Observation = { state: 'pending', railReference: 'op-1' };
      await ctx.db.transaction((tx) =>
        applyOutcomes(tx, ctx, [{ transactionId: transaction.id, source: 'callback', observation, raw: '' }]),
      );
      assert.deepEqual(await ctx.db.query('select kind, resume from payment_jobs'), [{ kind: 'query', resume: null }]);
    } finally {
      await base.close();
    }
  });
});

describe('a backup of an older version', () => {
  // The second is the last one before people, keys and roles changed: its tables are enough for a restore in one transaction.
  for (const last of [LAST_WITHOUT_RESTORES, 19])
    test(`money 6: of migration ${last} is migrated; its payments are asked about like any other`, () =>
      restoreOlder(last));

  async function restoreOlder(last: number): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'simbi-restore-'));
    const [older, target] = [await createEmptyDatabase(), await createEmptyDatabase()];
    const databases = [older, target].map(({ url }) => connectDatabase({ url, as: 'owner', poolSize: 1 }));
    try {
      await migrate(older.url, undefined, undefined, last);
      await databases[0]?.query(
        `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
         values (1, '019523d5-9a40-7abc-8def-000000000001', 'submit', now(), now())`,
      );
      const path = join(folder, 'older.backup');
      const keys = { masterKey: null, includeMasterKey: false };
      await writeBackup({
        databaseUrl: older.url,
        path,
        version: 'old',
        mode: 'sandbox',
        madeAt: new Date(0),
        ...keys,
      });
      const finish: RestoreOptions['finish'] = async (tx) =>
        void (await finishRestore(tx, new Date(1_000), new Date(0)));
      await restoreBackup({ databaseUrl: target.url, path, masterKey: null, finish });
      const jobs = await databases[1]?.query('select kind, resume from payment_jobs');
      assert.deepEqual(jobs, [{ kind: 'query', resume: 'submit' }]);
      const restores = await databases[1]?.query('select restored_at, backup_taken_at from restores');
      assert.deepEqual(restores, [{ restored_at: new Date(1_000), backup_taken_at: new Date(0) }]);
      const linked = await databases[1]?.query('select action from audit_log join audit_chain on audit_id = id');
      assert.deepEqual(linked, [{ action: 'gateway.restored' }]);
    } finally {
      await Promise.all(databases.map((database) => database.close()));
      await older.drop();
      await target.drop();
      rmSync(folder, { recursive: true, force: true });
    }
  }
});

describe('what was issued before a restore', () => {
  test('money 6: signatures, sessions, tokens and links from before are refused; new ones work', async () => {
    const gateway = await createTestGateway();
    try {
      const { ctx } = gateway;
      const client = await createClient(gateway);
      const owner = await addPerson(gateway, client.shop.holderId, 'owner');
      const token = await tokenOf(ctx, client.shop);
      assert.equal((await owner.get('/console')).status, 200);
      const early = signBody(client.shop, ctx.clock.millis(), {});
      assert.equal((await client.post(PATHS.balance, early)).status, 200);
      ctx.clock.advance(5_000);
      const unused = signBody(client.shop, ctx.clock.millis(), {});
      await ctx.db.transaction((tx) => finishRestore(tx, ctx.clock.now(), null));
      // As a restored database has it: the signature was used after the backup.
      await ctx.ownerDb.query('truncate spent_signatures');
      ctx.clock.advance(1_000);
      for (const body of [early, unused]) {
        const reply = await client.post(PATHS.balance, body);
        assert.equal(reply.status, 403);
        assert.equal(reply.body.code, 'timestamp_out_of_range');
      }
      assert.equal((await client.signed(PATHS.balance)).status, 200);
      await assert.rejects(authenticateToken(ctx, token, '127.0.0.1'), refused('unauthenticated'));
      assert.notEqual((await owner.get('/console')).status, 200);
      const [entry] = await ctx.db.query<{ details: { sessions: number; tokens: number } }>(
        `select details from audit_log where action = 'gateway.restored'`,
      );
      assert.ok(entry && entry.details.sessions >= 1 && entry.details.tokens >= 1);
    } finally {
      await gateway.close();
    }
  });
});

describe('the feed after a restore', () => {
  async function restoreFeed(ctx: Awaited<ReturnType<typeof createTestContext>>, kept: number): Promise<void> {
    await tamper(ctx.ownerDb, 'delete from events where position > $1', [kept]);
    await ctx.db.query('update event_feeds set last_position = $1', [kept]);
    await ctx.db.transaction((tx) => finishRestore(tx, ctx.clock.now(), null));
    ctx.clock.advance(1_000);
  }
  const facts = (ctx: Awaited<ReturnType<typeof createTestContext>>, count: number) =>
    Array.from({ length: count }, () => newEvent(ctx, null));
  const idsOf = (page: { events: { publicId: string }[] }) => page.events.map((event) => event.publicId);

  test('money 6: a reader whose event is lost goes on where the backup ended: nothing skipped, nothing older repeated', async () => {
    const ctx = await createTestContext();
    try {
      const ids = (await record(ctx, facts(ctx, 6))).map((event) => event.publicId);
      ctx.clock.advance(1_000);
      await restoreFeed(ctx, 4);
      const lost = ids[5] ?? '';
      const empty = await listEvents(ctx.db, HOLDER, { after: lost });
      assert.deepEqual([idsOf(empty), empty.nextAfter, empty.restored], [[], lost, true]);
      const fresh = (await record(ctx, facts(ctx, 3))).map((event) => event.publicId);
      const page = await listEvents(ctx.db, HOLDER, { after: lost });
      assert.deepEqual([idsOf(page), page.restored], [fresh, true]);
      const next = await listEvents(ctx.db, HOLDER, { after: page.nextAfter ?? '' });
      assert.deepEqual([idsOf(next), next.restored], [[], false]);
      const kept = await listEvents(ctx.db, HOLDER, { after: ids[2] });
      assert.deepEqual([idsOf(kept), kept.restored], [[ids[3], ...fresh], false]);
      await assert.rejects(
        listEvents(ctx.db, HOLDER, { after: 'evt_7ZZZZZZZZZZZZZZZZZZZZZ0001' }),
        refused('event_not_found'),
      );
      await assert.rejects(listEvents(ctx.db, HOLDER + 1n, { after: lost }), refused('event_not_found'));
    } finally {
      await ctx.close();
    }
  });

  test('money 6: a reader whose event is told again at a later place misses nothing and does not turn in a circle', async () => {
    const ctx = await createTestContext();
    try {
      const [first, seen, unseen] = facts(ctx, 3);
      assert.ok(first && seen && unseen);
      const after = (await record(ctx, [first, seen])).at(-1)?.publicId ?? '';
      ctx.clock.advance(1_000);
      await restoreFeed(ctx, 1);
      await record(ctx, [unseen]);
      const [again] = await record(ctx, [seen]);
      assert.equal(again?.publicId, after, 'the id of an event derives from its fact');
      assert.deepEqual(idsOf(await listEvents(ctx.db, HOLDER, { after })), [], 'nothing new');
      const [last] = await record(ctx, facts(ctx, 1));
      const page = await listEvents(ctx.db, HOLDER, { after });
      assert.equal(page.events.length, 3);
      assert.equal(page.nextAfter, last?.publicId);
      assert.deepEqual(idsOf(await listEvents(ctx.db, HOLDER, { after: page.nextAfter ?? '' })), []);
      const short = await listEvents(ctx.db, HOLDER, { after, limit: 1 });
      assert.deepEqual(idsOf(short), [last?.publicId], 'a page that would end before its own place');
    } finally {
      await ctx.close();
    }
  });

  test('money 6: a feed that began after the backup is read from its beginning', async () => {
    const ctx = await createTestContext();
    try {
      const [lost] = await record(ctx, facts(ctx, 1));
      await tamper(ctx.ownerDb, 'delete from events');
      await ctx.ownerDb.query('delete from event_feeds');
      await ctx.db.transaction((tx) => finishRestore(tx, ctx.clock.now(), null));
      const [fresh] = await record(ctx, facts(ctx, 1));
      const page = await listEvents(ctx.db, HOLDER, { after: lost?.publicId });
      assert.deepEqual([idsOf(page), page.restored], [[fresh?.publicId], true]);
    } finally {
      await ctx.close();
    }
  });
});
