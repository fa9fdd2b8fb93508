// A report or a backup holds a snapshot open while payments go on: rows that queues have deleted cannot be cleaned away. What a pass
// over a queue reads must not grow with them. Counted in pages, not timed.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { tidyDeliveries } from '../src/callbacks/claim.ts';
import { type DeliveryResult, recordDeliveryResults } from '../src/callbacks/delivery-results.ts';
import type { PaymentsContext } from '../src/payments/context.ts';
import { scheduleNext } from '../src/payments/next-job.ts';
import { lockSubjects } from '../src/payments/outcome-subjects.ts';
import { claimDue } from '../src/payments/payment-jobs.ts';
import type { Outcome } from '../src/payments/states.ts';
import type { Transaction } from '../src/payments/transactions.ts';
import type { Database, Statement, Tx } from '../src/platform/db.ts';
import { createUuid, holderOfUuid } from '../src/platform/ids.ts';
import { createTestContext, type TestContext } from './harness.ts';
import { silentRail, withPayments } from './payments.ts';

const ROUNDS = 20;
const ROWS_A_ROUND = 1_000;
const ROUND_MS = 15_000;
const LEASE_MS = 30_000;

type Plan = { Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } };

describe('queues under a snapshot that is held open', () => {
  let base: TestContext & { close(): Promise<void> };
  let endSnapshot = () => {};
  let holding: Promise<void>;

  before(async () => {
    base = await createTestContext();
    const opened = Promise.withResolvers<void>();
    holding = base.ownerDb.snapshot(async (reader) => {
      await reader.query('set local idle_in_transaction_session_timeout = 0');
      await reader.query('select count(*) from transactions');
      opened.resolve();
      await new Promise<void>((resolve) => {
        endSnapshot = resolve;
      });
    });
    await opened.promise;
  });
  after(async () => {
    endSnapshot();
    await holding;
    await base.close();
  });

  /** The pages that a statement reads, without its effect. */
  async function pagesOf(text: string, values: unknown[]): Promise<number> {
    const undo = new Error('rolled back on purpose');
    let plan: Plan['Plan'] | undefined;
    const tried = base.db.transaction(async (tx) => {
      const [row] = await tx.query<{ 'QUERY PLAN': Plan[] }>(
        `explain (analyze, buffers, costs off, timing off, format json) ${text}`,
        values,
      );
      plan = row?.['QUERY PLAN'][0]?.Plan;
      throw undo;
    });
    await assert.rejects(tried, undo);
    assert.ok(plan);
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  }

  /** A context that notes the statements it runs. */
  function watched(): { ctx: PaymentsContext; statements: { text: string; values: unknown[] }[] } {
    const statements: { text: string; values: unknown[] }[] = [];
    const query: Database['query'] = (statement: Statement, values: unknown[] = []) => {
      statements.push({ text: typeof statement === 'string' ? statement : statement.text, values });
      return base.db.query(statement, values);
    };
    return { ctx: withPayments({ ...base, db: { ...base.db, query } }, silentRail()), statements };
  }

  /** What a pass reads that begins where the last one ended, and what one reads that begins at the oldest moment. */
  async function passes(run: (ctx: PaymentsContext) => Promise<unknown>, queue: RegExp, floor: number) {
    const { ctx, statements } = watched();
    await run(ctx);
    base.clock.advance(1_000);
    await run(ctx);
    const [whole, next] = statements.filter(({ text }) => queue.test(text));
    assert.ok(whole && next);
    assert.deepEqual([whole.values[floor], next.values[floor] instanceof Date], ['-infinity', true]);
    return {
      whole: await pagesOf(next.text, next.values.with(floor, '-infinity')),
      next: await pagesOf(next.text, next.values),
    };
  }

  test('payment jobs: a pass reads the dead rows of seconds, not those of the whole time', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const now = base.clock.now();
      await base.db.query(
        `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
         select 1, gen_random_uuid(), 'query', $1, $2 from generate_series(1, ${ROWS_A_ROUND})`,
        [new Date(now.getTime() + LEASE_MS), now],
      );
      await base.db.query('delete from payment_jobs');
      base.clock.advance(ROUND_MS);
    }
    await base.ownerDb.query('analyze payment_jobs');
    const { whole, next } = await passes((ctx) => claimDue(ctx, 200), /update payment_jobs/, 3);
    assert.ok(whole > 150, `the snapshot is not held: a whole pass read ${whole} pages`);
    assert.ok(next * 4 < whole, `a pass read ${next} pages, a whole one ${whole}`);
  });

  test('deliveries: ended leases are found without reading all that was delivered', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const now = base.clock.now();
      await base.db.query(
        `insert into callback_deliveries
           (holder_id, event_id, transaction_id, integration_id, origin, url, leased, due_at, started_at)
         select 1, gen_random_uuid(), gen_random_uuid(), 1, 'https://shop.example', 'https://shop.example/callbacks', true, $1, $2
         from generate_series(1, ${ROWS_A_ROUND})`,
        [new Date(now.getTime() + LEASE_MS), now],
      );
      await base.db.query('delete from callback_deliveries');
      base.clock.advance(ROUND_MS);
    }
    // As autovacuum does after two thousand changes.
    await base.ownerDb.query('vacuum (analyze) callback_deliveries');
    const tidy = (ctx: PaymentsContext) => tidyDeliveries(ctx, ctx.clock.now());
    const { whole, next } = await passes(tidy, /^update callback_deliveries set leased/, 1);
    assert.ok(whole > 300, `the snapshot is not held: a whole pass read ${whole} pages`);
    assert.ok(next * 4 < whole, `a pass read ${next} pages, a whole one ${whole}`);
  });

  test('one job and one delivery are found by their keys, also if the queue was empty when it was last looked at', async () => {
    await base.ownerDb.query('vacuum (analyze) payment_jobs, callback_deliveries');
    const statements: { text: string; values: unknown[] }[] = [];
    const noted = (statement: Statement, values: unknown[] = []) => {
      statements.push({ text: typeof statement === 'string' ? statement : statement.text, values });
      return Promise.resolve([]);
    };
    const [id, eventId] = [createUuid(base.clock.millis()), createUuid(base.clock.millis())];
    const recorded: Tx = { isTransaction: true, query: noted };
    const observation: Outcome['observation'] = { state: 'unknown', reason: 'no answer' };
    const outcome: Outcome = { transactionId: id, source: 'poll', observation, raw: '' };
    await lockSubjects(recorded, [outcome]);
    const row = { id, holder_id: holderOfUuid(id), status: 'success' } as Transaction;
    const job = { kind: 'query', attempts: 1, since: base.clock.now(), submittedAt: null, resume: null } as const;
    await scheduleNext(recorded, [{ row, job, next: null, refund: null }], base.clock.now());
    const delivered: DeliveryResult = {
      eventId,
      holderId: 1n,
      integrationId: 1n,
      origin: 'https://shop.example',
      url: 'https://shop.example/callbacks',
      at: base.clock.now(),
      number: 1,
      delivered: true,
      signature: 'v1,signed',
      status: 200,
      answerHeaders: null,
      answerStart: null,
      latencyMs: 1,
      error: null,
      attempts: 1,
      nextAt: null,
      gone: false,
      receiver: 'unchanged',
      retryAfterMs: null,
    };
    await recordDeliveryResults({ ...base, db: { ...base.db, unflushed: noted } }, [delivered]);
    const about = statements.filter(({ text }) => /payment_jobs|callback_deliveries/.test(text));
    assert.equal(about.length, 3);
    for (const { text, values } of about) {
      const pages = await pagesOf(text, values);
      assert.ok(pages < 100, `${pages} pages were read by ${text}`);
    }
  });
});
