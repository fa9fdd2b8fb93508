// Group commit: each caller hears its own outcome, after the commit and never before; a lone call does
// not wait for company; a full queue refuses; one refused item does not fail its neighbours.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import pg from 'pg';
import { type Batch, createBatch } from './batch.ts';
import { Problem } from './errors.ts';

function duplicateKey(): pg.DatabaseError {
  const refusal = new pg.DatabaseError('duplicate key', 0, 'error');
  refusal.code = '23505';
  return refusal;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Runs that wait until the test lets them commit. */
function createGate() {
  const runs: { items: number[]; commit(): void; fail(error: Error): void }[] = [];
  const run = (items: number[]) =>
    new Promise<number[]>((resolve, reject) => {
      runs.push({ items, commit: () => resolve(items.map((item) => item * 10)), fail: reject });
    });
  return { runs, run };
}

describe('group commit', () => {
  test('what waits is sent before the callers of the batch before go on', async () => {
    const { runs, run } = createGate();
    const sent: number[][] = [];
    const batch = createBatch<number, number>({
      concurrency: 1,
      async run(items) {
        // As a pool of connections: it hands one out in the next tick, after all that is ready now.
        await new Promise<void>((resolve) => process.nextTick(resolve));
        sent.push(items);
        return run(items);
      },
    });
    const first = batch.add(1);
    await turn();
    const second = batch.add(2);
    let isIdle = false;
    const idle = batch.idle().then(() => {
      isIdle = true;
    });
    runs[0]?.commit();
    assert.equal(await first, 10);
    assert.deepEqual(sent, [[1], [2]]);
    assert.equal(isIdle, false);
    runs[1]?.commit();
    assert.equal(await second, 20);
    await idle;
  });

  test('exactly the right calls settle, after their commit only, whatever fails', async () => {
    const kinds = fc.constantFrom('good', 'good', 'good', 'refused by the database');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(kinds, fc.nat({ max: 3 })), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.nat({ max: 12 }), { maxLength: 3 }),
        async (calls, maxItems, concurrency, outages) => {
          const committed = new Set<number>();
          const lost = new Set<number>();
          let running = 0;
          let runs = 0;
          const batch = createBatch<number, string>({
            maxItems,
            concurrency,
            async run(items) {
              assert.ok(++running <= concurrency, 'no more transactions at once than allowed');
              assert.ok(items.length >= 1 && items.length <= maxItems);
              const outage = outages.includes(runs++);
              try {
                await turn();
                if (outage) {
                  for (const item of items) lost.add(item);
                  throw new Error('connection lost');
                }
                if (items.some((item) => calls[item]?.[0] !== 'good')) throw duplicateKey();
                for (const item of items) {
                  assert.ok(!committed.has(item), 'nothing is written twice');
                  committed.add(item);
                }
                return items.map((item) => `result ${item}`);
              } finally {
                running--;
              }
            },
          });
          const settled = calls.map(async ([kind, delay], item) => {
            for (let turns = 0; turns < delay; turns++) await turn();
            try {
              assert.equal(await batch.add(item), `result ${item}`);
              assert.ok(committed.has(item), 'a success is told after its commit');
            } catch (error) {
              if (error instanceof assert.AssertionError) throw error;
              assert.ok(!committed.has(item), 'a failure is told of what was not written');
              if (error instanceof pg.DatabaseError)
                assert.notEqual(kind, 'good', 'a neighbour of a bad item succeeds');
              else assert.ok(lost.has(item), String(error));
            }
          });
          await Promise.all(settled);
          await batch.idle();
          assert.equal(batch.waiting(), 0);
          for (const [item, [kind]] of calls.entries())
            assert.equal(committed.has(item), kind === 'good' && !lost.has(item));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a lone call goes at once; what comes meanwhile gathers, in order', async () => {
    const { runs, run } = createGate();
    const sizes: number[] = [];
    const batch = createBatch<number, number>({ run, concurrency: 1, observe: (size) => sizes.push(size) });
    const first = batch.add(1);
    await turn();
    assert.deepEqual(runs[0]?.items, [1]);
    const rest = [2, 3, 4].map((item) => batch.add(item));
    await turn();
    assert.equal(runs.length, 1);
    assert.equal(batch.waiting(), 3);
    runs[0]?.commit();
    assert.equal(await first, 10);
    await turn();
    assert.deepEqual(runs[1]?.items, [2, 3, 4]);
    runs[1]?.commit();
    assert.deepEqual(await Promise.all(rest), [20, 30, 40]);
    assert.deepEqual(sizes, [1, 3]);
  });

  test('calls of one turn share a batch, and a second transaction runs beside the first', async () => {
    const { runs, run } = createGate();
    const batch = createBatch<number, number>({ run, concurrency: 2, maxItems: 2 });
    const results = [1, 2, 3, 4, 5].map((item) => batch.add(item));
    await turn();
    assert.deepEqual(
      runs.map(({ items }) => items),
      [
        [1, 2],
        [3, 4],
      ],
    );
    runs[1]?.commit();
    assert.deepEqual(await Promise.all([results[2], results[3]]), [30, 40]);
    await turn();
    runs[2]?.commit();
    assert.equal(await results[4], 50);
    runs[0]?.commit();
    assert.deepEqual(await Promise.all([results[0], results[1]]), [10, 20]);
  });

  test('a full batch does not wait for the transaction under way, a part of one does', async () => {
    const { runs, run } = createGate();
    const batch = createBatch<number, number>({ run, concurrency: 1, concurrencyWhenFull: 2, maxItems: 2 });
    const results = [1, 2, 3].map((item) => batch.add(item));
    await turn();
    assert.deepEqual(runs[0]?.items, [1, 2]);
    assert.equal(runs.length, 1);
    results.push(batch.add(4));
    await turn();
    assert.deepEqual(runs[1]?.items, [3, 4]);
    results.push(...[5, 6].map((item) => batch.add(item)));
    await turn();
    assert.equal(runs.length, 2, 'two at most');
    runs[0]?.commit();
    await turn();
    assert.deepEqual(runs[2]?.items, [5, 6]);
    for (const each of runs) each.commit();
    assert.deepEqual(await Promise.all(results), [10, 20, 30, 40, 50, 60]);
  });

  test('nothing settles before the commit', async () => {
    const { runs, run } = createGate();
    const batch = createBatch<number, number>({ run });
    let settled = false;
    const call = batch.add(1).then(() => (settled = true));
    for (let turns = 0; turns < 5; turns++) await turn();
    assert.equal(settled, false);
    runs[0]?.commit();
    assert.equal(await call, true);
  });

  test('a full queue refuses at once with 503 and takes calls again when there is room', async () => {
    const { runs, run } = createGate();
    const batch = createBatch<number, number>({ run, concurrency: 1, maxWaiting: 2 });
    const calls = [batch.add(1)];
    await turn();
    calls.push(batch.add(2), batch.add(3));
    await assert.rejects(batch.add(4), (error) => {
      assert.ok(error instanceof Problem);
      assert.deepEqual([error.code, error.status, error.details.retryAfterSeconds], ['overloaded', 503, 1]);
      return true;
    });
    runs[0]?.commit();
    await turn();
    calls.push(batch.add(5));
    runs[1]?.commit();
    await turn();
    runs[2]?.commit();
    assert.deepEqual(await Promise.all(calls), [10, 20, 30, 50]);
  });

  const reworded = new Error('already posted', { cause: duplicateKey() });
  for (const refusal of [duplicateKey(), reworded, new Problem('invalid_params')])
    test(`one item refused (${refusal.message}) fails alone; its neighbours are written one by one`, async () => {
      const runs: number[][] = [];
      const batch = createBatch<number, number>({
        async run(items) {
          runs.push(items);
          if (items.includes(2)) throw refusal;
          return items;
        },
      });
      const results = await Promise.allSettled([1, 2, 3].map((item) => batch.add(item)));
      assert.deepEqual(results, [
        { status: 'fulfilled', value: 1 },
        { status: 'rejected', reason: refusal },
        { status: 'fulfilled', value: 3 },
      ]);
      assert.deepEqual(runs, [[1, 2, 3], [1], [2], [3]]);
    });

  const COMMON_FAULTS: [name: string, run: (items: number[]) => Promise<number[]>, message: RegExp][] = [
    ['a lost connection', () => Promise.reject(new Error('connection lost')), /connection lost/],
    ['a doubtful commit', () => Promise.reject(new Problem('outcome_unknown')), /outcome is not known/],
    [
      'a throw before the first await',
      () => {
        throw new Error('mistake');
      },
      /mistake/,
    ],
    ['too few results', (items) => Promise.resolve(items.slice(1)), /1 results for 2 items/],
  ];
  for (const [name, run, message] of COMMON_FAULTS)
    test(`${name} fails every call of the batch, is not tried again, and the next batch is not touched`, async () => {
      let runs = 0;
      const batch: Batch<number, number> = createBatch({
        run: (items: number[]) => (runs++ === 0 ? run(items) : Promise.resolve(items)),
      });
      const calls = [batch.add(1), batch.add(2)];
      for (const call of calls) await assert.rejects(call, message);
      assert.equal(runs, 1);
      assert.equal(await batch.add(3), 3);
    });

  test('idle waits for everything, and not when there is nothing', async () => {
    const { runs, run } = createGate();
    const batch = createBatch<number, number>({ run, maxItems: 1, concurrency: 1 });
    await batch.idle();
    const calls = [batch.add(1), batch.add(2)];
    let idle = false;
    const quiet = batch.idle().then(() => (idle = true));
    await turn();
    runs[0]?.commit();
    await turn();
    assert.equal(idle, false);
    runs[1]?.commit();
    await quiet;
    await Promise.all(calls);
  });

  test('after a batch the next one rests until enough wait; a call that comes alone never waits', async () => {
    const { runs, run } = createGate();
    const batch = createBatch<number, number>({
      run,
      maxItems: 100,
      concurrency: 1,
      rest: { times: 1_000_000, longestMs: 60_000, enough: 3 },
    });
    for (const [index, item] of [1, 2].entries()) {
      const alone = batch.add(item);
      await turn();
      await turn();
      assert.deepEqual(runs[index]?.items, [item], 'a call after a batch of one is written at once');
      runs[index]?.commit();
      await alone;
    }
    const together = [batch.add(3), batch.add(4)];
    await turn();
    await turn();
    runs[2]?.commit();
    await Promise.all(together);
    const resting = [batch.add(5), batch.add(6)];
    await turn();
    await turn();
    assert.equal(runs.length, 3, 'two calls wait for the rest to end');
    resting.push(batch.add(7));
    await turn();
    await turn();
    assert.deepEqual(runs[3]?.items, [5, 6, 7], 'three are enough');
    runs[3]?.commit();
    assert.deepEqual(await Promise.all(resting), [50, 60, 70]);
  });

  test('a batch goes with half of its callers, in the middle of a turn, and takes no more than half', async () => {
    const { runs, run } = createGate();
    const batch = createBatch<number, number>({
      run,
      maxItems: 100,
      concurrency: 1,
      rest: { times: 1, longestMs: 1, enough: 2 },
    });
    const add = (count: number) => Array.from({ length: count }, (_, item) => batch.add(item));
    const commitNext = async () => {
      runs.at(-1)?.commit();
      await turn();
      await turn();
    };
    const sizes = () => runs.map(({ items }) => items.length);
    const first = add(2);
    assert.deepEqual(sizes(), [2], 'nothing is known of the callers yet: enough are enough');
    const others = add(10);
    await commitNext();
    await Promise.all(first);
    assert.deepEqual(sizes(), [2, 6], 'two came back and ten waited: half of twelve');
    const more = add(2);
    await commitNext();
    assert.deepEqual(sizes(), [2, 6, 6]);
    await commitNext();
    await Promise.all([...others, ...more]);
    const fewer = add(5);
    assert.deepEqual(sizes(), [2, 6, 6, 3], 'nobody waited at the end of the last six, so three are half');
    await commitNext();
    await commitNext();
    await Promise.all(fewer);
  });

  test('without another number a full batch is enough', async () => {
    const { runs, run } = createGate();
    const batch = createBatch<number, number>({
      run,
      maxItems: 2,
      concurrency: 1,
      rest: { times: 1_000_000, longestMs: 60_000 },
    });
    const full = [batch.add(1), batch.add(2), batch.add(3), batch.add(4)];
    for (const index of [0, 1]) {
      await turn();
      await turn();
      assert.equal(runs[index]?.items.length, 2);
      runs[index]?.commit();
    }
    assert.deepEqual(await Promise.all(full), [10, 20, 30, 40]);
  });

  test('what waits for the end of a rest is written when it ends', async () => {
    const sizes: number[] = [];
    const batch = createBatch<number, number>({
      concurrency: 1,
      rest: { times: 1_000_000, longestMs: 5 },
      run: async (items) => {
        sizes.push(items.length);
        return items;
      },
    });
    await Promise.all([batch.add(1), batch.add(2)]);
    assert.deepEqual(await Promise.all([batch.add(3), batch.add(4)]), [3, 4]);
    assert.deepEqual(sizes, [2, 2]);
    await batch.idle();
  });

  test('with several processes the rest is as many times longer, four times at most', async (t) => {
    for (const [processes, restMs] of [
      [1, 10],
      [3, 30],
      [64, 40],
    ] as const) {
      let now = 0;
      t.mock.method(performance, 'now', () => now);
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const pass = async (ms: number) => {
        now += ms;
        t.mock.timers.tick(ms);
        await turn();
        await turn();
      };
      const { runs, run } = createGate();
      const rest = { times: 1_000_000, longestMs: 10 };
      const batch = createBatch<number, number>({ run, concurrency: 1, rest, processes });
      const first = [batch.add(1), batch.add(2)];
      await pass(0);
      await pass(1);
      runs[0]?.commit();
      await Promise.all(first);
      const next = batch.add(3);
      await pass(restMs - 1);
      assert.equal(runs.length, 1, `${processes} processes rest ${restMs} ms`);
      await pass(1);
      assert.deepEqual(runs[1]?.items, [3]);
      runs[1]?.commit();
      await next;
      t.mock.reset();
    }
  });
});
