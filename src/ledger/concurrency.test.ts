import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { connectDatabase, type Database } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createUuid } from '../platform/ids.ts';
import { extendChain } from './chain.ts';
import { balancesOf, post } from './ledger.ts';
import { collectionReversed, collectionSucceeded, payoutReserved, sandboxTopUp } from './postings.ts';
import { verifyLedger } from './verify.ts';

/** More by hand: LEDGER_ROUNDS=500. */
const ROUNDS = Number(process.env.LEDGER_ROUNDS ?? 40);
const PAYOUTS = 64;
const COVERED = 10;

let ctx: Awaited<ReturnType<typeof createTestContext>>;
before(async () => {
  ctx = await createTestContext({ DATABASE_POOL_SIZE: '16' });
});
after(() => ctx.close());

async function createHolder(): Promise<bigint> {
  const [row] = await ctx.db.query<{ id: bigint }>(
    `insert into holders (name, created_at, updated_at) values ('Shop', $1, $1) returning id`,
    [ctx.clock.now()],
  );
  assert.ok(row);
  return row.id;
}

const uuid = () => createUuid(ctx.clock.millis());

/** A small generator with a seed, so that a failing order can be run again. */
function createDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

describe('many at once', () => {
  test(`${PAYOUTS} payouts against money for ${COVERED}: exactly ${COVERED} succeed, ${ROUNDS} rounds`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const holderId = await createHolder();
      const fact = { holderId, currency: 'XOF', amount: 95n, fee: 5n };
      await ctx.db.transaction((tx) =>
        post(
          tx,
          sandboxTopUp({ ...fact, amount: 100n * BigInt(COVERED) + 99n, transactionId: uuid() }),
          ctx.clock.now(),
        ),
      );
      const outcomes = await Promise.allSettled(
        Array.from({ length: PAYOUTS }, () =>
          ctx.db.transaction((tx) => post(tx, payoutReserved({ ...fact, transactionId: uuid() }), ctx.clock.now())),
        ),
      );
      for (const outcome of outcomes)
        if (outcome.status === 'rejected')
          assert.ok(outcome.reason instanceof Problem && outcome.reason.code === 'overdraft', String(outcome.reason));
      assert.equal(outcomes.filter((outcome) => outcome.status === 'fulfilled').length, COVERED);
      const [wallet] = await balancesOf(ctx.db, holderId);
      assert.deepEqual([wallet?.available, wallet?.reserved], [99n, 100n * BigInt(COVERED)]);
    }
  });

  test('a posting that waits too long for a lock is told as busy, whether or not its process knows where the accounts are', async (t) => {
    const holderId = await createHolder();
    const other = connectDatabase({ url: ctx.databaseUrl, lockTimeoutMs: 100 });
    t.after(() => other.close());
    const fact = () => ({ holderId, currency: 'XOF', rail: 'mtn_bj', amount: 10n, fee: 1n, transactionId: uuid() });
    const postBy = (db: Database) =>
      db.transaction((tx) => post(tx, collectionSucceeded(fact()), ctx.clock.now())).catch((error: unknown) => error);
    await postBy(ctx.db);
    const refused = () =>
      ctx.db.transaction(async (tx) => {
        await post(tx, collectionSucceeded(fact()), ctx.clock.now());
        const error = await postBy(other);
        assert.ok(error instanceof Problem && error.code === 'overloaded', String(error));
      });
    await refused();
    await postBy(other);
    await refused();
  });

  test('batches of two processes over the same accounts never deadlock, and the chain misses none of them', async (t) => {
    const dice = createDice(20_260_302);
    // Each has its own knowledge of where rows are, and moves those of the other.
    const other = connectDatabase({ url: ctx.databaseUrl, poolSize: 8 });
    t.after(() => other.close());
    const holders = await Promise.all(Array.from({ length: 6 }, createHolder));
    // A deadlock is retried silently, so it shows as an additional attempt.
    let transactions = 0;
    let attempts = 0;
    const gaveUp = new Error('given up on purpose');
    let working = true;
    const sealing = (async () => {
      while (working) await extendChain(ctx, { partial: true });
    })();
    // Wallets, clearing and fee accounts are created by the first posting that needs them.
    const writers = Array.from({ length: 12 }, async (_, writer) => {
      const db = writer % 2 === 0 ? ctx.db : other;
      for (let turn = 0; turn < 25; turn++) {
        const transfers = Array.from({ length: 1 + dice(12) }, () => {
          const fact = {
            holderId: holders[dice(holders.length)] ?? 0n,
            currency: ['XOF', 'UGX', 'KES'][dice(3)] ?? 'XOF',
            rail: `rail${dice(4)}`,
            amount: BigInt(2 + dice(500)),
            fee: 1n,
            transactionId: uuid(),
          };
          return dice(4) === 0 ? collectionReversed(fact) : collectionSucceeded(fact);
        });
        const fails = dice(6) === 0;
        transactions++;
        const work = db.transaction(async (tx) => {
          attempts++;
          await post(tx, transfers.flat(), ctx.clock.now());
          if (fails) throw gaveUp;
        });
        await work.catch((error: unknown) => {
          if (error !== gaveUp && !(error instanceof Problem && error.code === 'overdraft')) throw error;
        });
      }
    });
    await Promise.all(writers);
    working = false;
    await sealing;
    // Servers take their parts of a posting in any order, so two postings over several holders may meet; each is tried again.
    assert.ok(attempts - transactions <= (ctx.db.isDistributed() ? 5 : 0), `${attempts} attempts of ${transactions}`);
    for (let unsealed = 1; unsealed > 0; ) {
      await extendChain(ctx, { partial: true });
      ({ unsealed } = (await verifyLedger(ctx)).checked);
    }
    const { ok, differences, checked } = await verifyLedger(ctx);
    assert.deepEqual(differences, []);
    assert.ok(ok && checked.blocks > 1 && checked.transfers > PAYOUTS);
  });
});
