// Runs of ledger verify: beside a gateway at work, broken off and resumed, since a moment, and in the background.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type Books, openBooks, paid, writePast } from '../../test/books.ts';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { tamper } from '../../test/tamper.ts';
import { extendChain } from '../ledger/chain.ts';
import { DAY_MS } from '../platform/clock.ts';
import { verifyBooks, verifyInBackground } from './verify-books.ts';
import { addVerifyRun, newestVerifyRun, resumeVerifyRun, type VerifyRun } from './verify-runs.ts';

let ctx: TestContext & { close(): Promise<void> };
let books: Books;
before(async () => {
  ctx = await createTestContext({ ROLE: 'api', DATABASE_POOL_SIZE: '12' });
  books = await openBooks(ctx);
  await writePast(ctx, books);
});
after(() => ctx.close());
beforeEach(async () => {
  await ctx.db.query(`delete from verify_runs`);
});

function newRun(since: Date | null = null, inBackground = false): Promise<VerifyRun> {
  return addVerifyRun(ctx.db, { by: 'test', since, inBackground }, ctx.clock.now());
}

async function sealAll(): Promise<void> {
  while ((await extendChain(ctx, { partial: true })) > 0);
}

describe('money 30: runs of ledger verify', () => {
  test('money 30: a gateway at work gives no false alarm', async () => {
    let working = true;
    const payOnce = async () => {
      const collection = await books.collect();
      await books.see(collection, paid(collection));
      const refund = await books.refund(collection, 30_000n);
      await books.see(refund, paid(refund));
      await books.see(await books.payOut('500'), { state: 'unknown', reason: 'time-out' });
    };
    // On a busy machine a row may be locked, or a page take, longer than a statement may.
    const unlessBusy = (error: Error & { code?: string }) => {
      assert.equal(error.code, 'overloaded', error.stack);
      return null;
    };
    const work = async () => {
      for (; working; await setTimeout(20)) await payOnce().catch(unlessBusy);
    };
    const workers = Promise.all(Array.from({ length: 3 }, work));
    try {
      for (let rounds = 0; rounds < 6; ) {
        const since = rounds % 2 === 0 ? null : ctx.clock.now();
        const run = await newRun(since)
          .then((asked) => verifyBooks(ctx, asked))
          .catch(unlessBusy);
        if (run === null) continue;
        assert.deepEqual(run.findings, []);
        rounds++;
      }
    } finally {
      working = false;
      await workers;
    }
  });

  test('money 30: a run that pauses after every page finds the same, once each', async () => {
    const wrong = await books.collect();
    await books.see(wrong, paid(wrong));
    await sealAll();
    await tamper(
      ctx.ownerDb,
      `update ledger_transfers set amount = amount + 5 where transaction_id = $1 and kind = 'collection'`,
      [wrong.id],
    );
    try {
      const whole = await verifyBooks(ctx, await newRun());
      assert.ok(whole.differences > 0n);
      let run = await newRun();
      let pauses = 0;
      for (; run.status === 'running'; pauses++) {
        await verifyBooks(ctx, run, { keepGoing: () => false });
        run = (await resumeVerifyRun(ctx.db, ctx.clock.now())) ?? ((await newestVerifyRun(ctx.db)) as VerifyRun);
      }
      assert.ok(pauses > 5);
      assert.deepEqual(run.findings, whole.findings);
      assert.equal(run.differences, whole.differences);
      assert.deepEqual(run.checked, whole.checked);
    } finally {
      await tamper(
        ctx.ownerDb,
        `update ledger_transfers set amount = amount - 5 where transaction_id = $1 and kind = 'collection'`,
        [wrong.id],
      );
    }
  });

  test('money 30: there is nothing to resume when every run reached its end', async () => {
    await verifyBooks(ctx, await newRun());
    assert.equal(await resumeVerifyRun(ctx.db, ctx.clock.now()), null);
  });

  test('money 30: since a moment, only what came after is read, and a wrong row among it is found', async () => {
    const old = await books.collect();
    await books.see(old, paid(old));
    ctx.clock.advance(1_000);
    await sealAll();
    ctx.clock.advance(5 * DAY_MS);
    const since = ctx.clock.now();
    const fresh = await books.collect();
    await books.see(fresh, paid(fresh));
    const whole = await verifyBooks(ctx, await newRun());
    assert.deepEqual(whole.findings, []);
    const run = await verifyBooks(ctx, await newRun(since));
    assert.deepEqual(run.findings, []);
    assert.ok(Number(run.checked.ledger_transfers) < Number(whole.checked.ledger_transfers));
    assert.equal(run.checked.transactions_created, 1);
    await tamper(ctx.ownerDb, `update transactions set fee = fee + 1 where id = any($1)`, [[old.id, fresh.id]]);
    const found = await verifyBooks(ctx, await newRun(since));
    assert.deepEqual([...new Set(found.findings.map((finding) => finding.what))], ['postings']);
    assert.deepEqual(new Set(found.findings.map((finding) => finding.where)).size, 1);
    await tamper(ctx.ownerDb, `update transactions set fee = fee - 1 where id = any($1)`, [[old.id, fresh.id]]);
  });

  test('money 30: since a moment, a transaction that was created long before and changed after it is compared', async () => {
    const old = await books.collect();
    ctx.clock.advance(5 * DAY_MS);
    await sealAll();
    const since = ctx.clock.now();
    await books.see(old, paid(old));
    assert.deepEqual((await verifyBooks(ctx, await newRun(since))).findings, []);
    await tamper(ctx.ownerDb, 'update transactions set amount = amount + 1 where id = $1', [old.id]);
    const run = await verifyBooks(ctx, await newRun(since));
    await tamper(ctx.ownerDb, 'update transactions set amount = amount - 1 where id = $1', [old.id]);
    assert.ok(run.findings.some((finding) => finding.what === 'postings'));
  });

  test('money 30: since a moment, every balance is compared with the transfers', async () => {
    await sealAll();
    const since = ctx.clock.now();
    await tamper(ctx.ownerDb, `update ledger_accounts set balance = balance + 100 where kind = 'fee_income'`);
    const run = await verifyBooks(ctx, await newRun(since));
    await tamper(ctx.ownerDb, `update ledger_accounts set balance = balance - 100 where kind = 'fee_income'`);
    assert.ok(run.findings.some((finding) => finding.what === 'balance'));
  });

  test('money 30: in the background one run at a time, in pieces, taken over when its process died', async () => {
    const asked = await newRun(null, true);
    assert.equal((await newRun(null, true)).id, asked.id);
    for (let passes = 0; (await newestVerifyRun(ctx.db))?.status === 'waiting'; passes++) {
      assert.equal(await verifyInBackground(ctx, 0), 1);
      assert.ok(passes < 1_000);
    }
    const done = await newestVerifyRun(ctx.db);
    assert.equal(done?.status, 'done');
    assert.deepEqual(done.findings, []);
    assert.equal(await verifyInBackground(ctx), 0);
    const left = await newRun(null, true);
    await ctx.db.query(`update verify_runs set status = 'running' where id = $1`, [left.id]);
    assert.equal(await verifyInBackground(ctx), 0);
    ctx.clock.advance(121_000);
    assert.equal(await verifyInBackground(ctx), 1);
    assert.equal((await newestVerifyRun(ctx.db))?.status, 'done');
  });

  test('money 30: in the background a run that takes too long is stopped', async () => {
    await newRun(null, true);
    ctx.clock.advance(7 * 3_600_000);
    assert.equal(await verifyInBackground(ctx, 0), 1);
    assert.equal((await newestVerifyRun(ctx.db))?.status, 'stopped');
  });

  test('review: a run in the background that fails at the same page again and again ends, and the next can begin', async () => {
    const run = await newRun(null, true);
    const broken = { ...ctx, db: { ...ctx.db, snapshot: () => Promise.reject(new Error('too slow')) } };
    for (let hours = 0; hours < 7; hours++) {
      await verifyInBackground(broken).catch(() => undefined);
      ctx.clock.advance(3_600_000);
    }
    await verifyInBackground(broken).catch(() => undefined);
    assert.equal((await newestVerifyRun(ctx.db))?.status, 'stopped');
    assert.notEqual((await newRun(null, true)).id, run.id);
  });
});
