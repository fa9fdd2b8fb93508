// Several processes at once on one database: outcomes of overlapping sets of holders in any order give no deadlock, and
// the feed of each holder has no gap and is read in order while it is written.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { differencesOf } from '../../test/books.ts';
import { createTestContext, PATIENCE } from '../../test/harness.ts';
import {
  acceptCollection,
  COUNTRY_ID,
  CURRENCY,
  collectionOrder,
  silentRail,
  withPayments,
} from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { listEvents } from '../callbacks/feed.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { createLink, settleLinks } from '../links/links.ts';
import { connectDatabase } from '../platform/db.ts';
import { publicId, randomSecret } from '../platform/ids.ts';
import type { Observation } from '../rails/rail.ts';
import { createPaymentEngine } from './engine.ts';
import { type IncomingPayment, receivePayments } from './incoming-payments.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import type { Outcome } from './states.ts';
import type { Transaction } from './transactions.ts';

/** More by hand: OUTCOME_ROUNDS=50. */
const ROUNDS = Number(process.env.OUTCOME_ROUNDS ?? 4);
const PROCESSES = 3;
const SHOPS = 5;
const COLLECTIONS_PER_SHOP = 12;
const PAYOUTS_PER_SHOP = 4;

let base: Awaited<ReturnType<typeof createTestContext>>;
let processes: ReturnType<typeof withPayments<typeof base>>[];
let shops: (Shop & { links: string[] })[];

before(async () => {
  base = await createTestContext({ ROLE: 'api', DATABASE_POOL_SIZE: '8' });
  processes = Array.from({ length: PROCESSES }, () => ({
    ...withPayments(
      { ...base, db: connectDatabase({ ...PATIENCE, url: base.databaseUrl, poolSize: 8 }) },
      silentRail(),
    ),
    onCollectionsSettled: [settleLinks(base)],
  }));
  const [first] = processes;
  assert.ok(first);
  shops = [];
  for (let index = 0; index < SHOPS; index++) {
    const shop = await createShop(first);
    await topUpSandbox(first, COMMAND_LINE, shop.holderId, CURRENCY, 1_000_000n);
    const links: string[] = [];
    for (let count = 0; count < 2; count++) {
      const owner = { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null };
      const params = { country_id: COUNTRY_ID, currency: CURRENCY, amount: '1000', reusable: true };
      const link = await createLink(first, owner, params);
      links.push(link.id);
    }
    shops.push({ ...shop, links });
  }
});
after(async () => {
  for (const { db } of processes) await db.close();
  await base.close();
});

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((item) => [Math.random(), item] as const)
    .toSorted(([left], [right]) => left - right)
    .map(([, item]) => item);
}

async function makeTransactions(): Promise<Transaction[]> {
  const [ctx] = processes;
  assert.ok(ctx);
  const engine = createPaymentEngine(ctx);
  const perShop = shops.map(async (shop) => {
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const made: Transaction[] = [];
    for (let index = 0; index < COLLECTIONS_PER_SHOP; index++)
      made.push(
        await acceptCollection(
          ctx,
          engine,
          collectionOrder(owner, 'quiet', { linkId: index % 3 === 0 ? (shop.links[index % 2] ?? null) : null }),
        ),
      );
    const reading = await readPayout(ctx, shop.holderId, {
      amount: '1000',
      currency: CURRENCY,
      mobile: '256772123456',
    });
    assert.ok(reading.ok);
    const results = await orderPayouts(
      ctx,
      { wake: () => undefined },
      COMMAND_LINE,
      shop.holderId,
      Array.from({ length: PAYOUTS_PER_SHOP }, () => reading.order),
    );
    return [...made, ...results.flatMap((result) => (result.ok ? [result.transaction] : []))];
  });
  return (await Promise.all(perShop)).flat();
}

function observe(transaction: Transaction): Observation {
  const receipt = `R${transaction.id}`;
  const { amount, currency } = transaction;
  const roll = Math.random();
  if (roll < 0.6) return { state: 'succeeded', receipt, amount, currency };
  if (roll < 0.75) return { state: 'reversed', receipt, rawCode: '', message: '' };
  if (roll < 0.9) return { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '', message: '' };
  return { state: 'pending' };
}

/** Money for a transaction, or for one that nobody knows; sometimes not the amount that was asked for. */
function payInto({ id, amount, currency }: Transaction): IncomingPayment {
  return {
    kind: 'payment_received',
    receipt: randomSecret(9),
    amount: Math.random() < 0.5 ? amount : 77n,
    currency,
    payer: null,
    accountReference: Math.random() < 0.3 ? 'unknown' : id,
    rail: 'quiet',
    raw: '',
  };
}

test('outcomes of many holders applied by several processes give no deadlock, and every feed is whole', async () => {
  let transactions = 0;
  let attempts = 0;
  let writing = true;
  const seen = shops.map((): string[] => []);
  const readers = shops.map(async ({ holderId }, index) => {
    for (;;) {
      const last = !writing;
      const page = await listEvents(base.db, holderId, { after: seen[index]?.at(-1), limit: 7 });
      seen[index]?.push(...page.events.map((event) => event.publicId));
      if (last && page.events.length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  });
  for (let round = 0; round < ROUNDS; round++) {
    const rows = await makeTransactions();
    await base.db.query(
      `insert into payment_instructions (account_reference, holder_id, transaction_id, rail, pay_to, expires_at)
       select id, holder_id, id, rail, '{}', created_at from transactions where direction = 'collection'
       on conflict do nothing`,
    );
    await Promise.all(
      processes.flatMap((ctx) =>
        Array.from({ length: 4 }, async () => {
          const mixed = shuffled(rows);
          for (let from = 0; from < mixed.length; from += 20) {
            const outcomes = mixed
              .slice(from, from + 20)
              .map((row): Outcome => ({ transactionId: row.id, source: 'poll', observation: observe(row), raw: '' }));
            transactions++;
            const incoming = shuffled(rows).slice(0, 2).map(payInto);
            const gaveUp = new Error('given up on purpose');
            await ctx.db
              .transaction(async (tx) => {
                attempts++;
                const ids = outcomes.map((outcome) => outcome.transactionId);
                const received = await receivePayments(tx, ctx, incoming, ids);
                await applyOutcomes(tx, ctx, [...received.outcomes, ...outcomes], received.held);
                if (Math.random() < 0.1) throw gaveUp;
              })
              .catch((error: unknown) => assert.equal(error, gaveUp));
          }
        }),
      ),
    );
  }
  writing = false;
  await Promise.all(readers);
  assert.equal(attempts, transactions, 'a deadlock was tried again');
  for (const [index, { holderId }] of shops.entries()) {
    const rows = await base.db.query<{ id: string; position: bigint }>(
      'select id, position from events where holder_id = $1 order by position',
      [holderId],
    );
    assert.deepEqual(
      rows.map((row) => Number(row.position)),
      rows.map((_, place) => place + 1),
    );
    assert.deepEqual(
      seen[index],
      rows.map((row) => publicId('evt', row.id)),
    );
    const [feed] = await base.db.query<{ last_position: bigint }>(
      'select last_position from event_feeds where holder_id = $1',
      [holderId],
    );
    assert.equal(Number(feed?.last_position), rows.length);
  }
  assert.deepEqual(await differencesOf(base), []);
});

test('a holder in the batch of another process does not hold up the others of a batch', async () => {
  const [slow, other] = processes;
  const [busy, free] = shops;
  assert.ok(slow && other && busy && free);
  const writing = Promise.withResolvers<void>();
  const mayCommit = Promise.withResolvers<void>();
  // Called in the transaction that settles, so the batch is held open as long as the test likes.
  const held = createPaymentEngine({
    ...slow,
    onCollectionsSettled: [
      async () => {
        writing.resolve();
        await mayCommit.promise;
      },
    ],
  });
  const engine = createPaymentEngine(other);
  const collect = (shop: Shop) =>
    acceptCollection(slow, engine, collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet'));
  const succeed = ({ id, amount, currency }: Transaction): Outcome => {
    const observation = { state: 'succeeded', receipt: `R${id}`, amount, currency } as const;
    return { transactionId: id, source: 'callback', observation, raw: '' };
  };
  const [first, second, third] = [await collect(busy), await collect(busy), await collect(free)];
  const firstApplied = held.apply(succeed(first));
  await writing.promise;
  let isSecondApplied = false;
  const secondApplied = engine.apply(succeed(second)).then((applied) => {
    isSecondApplied = true;
    return applied;
  });
  const thirdApplied = engine.apply(succeed(third));
  assert.equal((await thirdApplied).effect, 'applied');
  assert.equal(isSecondApplied, false, 'its wallet is locked by the batch of the other process');
  mayCommit.resolve();
  assert.deepEqual(
    (await Promise.all([firstApplied, secondApplied])).map(({ effect }) => effect),
    ['applied', 'applied'],
  );
  assert.deepEqual(await differencesOf(base), []);
});
