// Retries on a real database: however often something is tried, and whichever try is repeated, it is paid once.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { differencesOf } from '../../test/books.ts';
import { createTestContext } from '../../test/harness.ts';
import { acceptCollection, CURRENCY, collectionOrder, METHOD, silentRail, withPayments } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { linkStates } from '../console/retry-links.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { createLink, disableLink, findLink, linkId, lockLink, type PaymentLink, settleLinks } from '../links/links.ts';
import { isoMicroseconds } from '../platform/clock.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import type { Observation } from '../rails/rail.ts';
import { createPaymentEngine, type PaymentEngine } from './engine.ts';
import { approvePayout, cancelPayout } from './order-decisions.ts';
import { OrderRefusal } from './order-refusals.ts';
import { applyOutcomes } from './outcomes.ts';
import { readPayout } from './payout-requests.ts';
import { orderPayouts } from './payouts.ts';
import { RetryRefusedError, recordRetry, retryCollection } from './retries.ts';
import { topUpSandbox } from './sandbox-top-up.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';
import { lockTries, wasPaidByAnotherTry } from './tries.ts';

const FAILED: Observation = { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: '' };
const PAID: Observation = { state: 'succeeded', receipt: null };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
/** The references of what the operator was sent. */
let sent: string[];

before(async () => {
  base = await createTestContext();
});
beforeEach(async () => {
  await base.db.query(`update payment_jobs set due_at = 'infinity'`);
  sent = [];
  const silence = { observation: { state: 'unknown', reason: 'no answer' }, raw: '' } as const;
  const note = async ({ reference }: { reference: string }) => {
    sent.push(reference);
    return silence;
  };
  ctx = withPayments(base, silentRail({ payout: note, collect: note }));
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
});
after(async () => {
  const differences = await differencesOf(ctx);
  await base.close();
  assert.deepEqual(differences, []);
});

const noLinks = { findLinkState: () => Promise.resolve('closed' as const), within: () => Promise.resolve() };

async function apply({ id }: Transaction, observation: Observation): Promise<Transaction> {
  await ctx.db.transaction((tx) =>
    applyOutcomes(tx, ctx, [{ transactionId: id, source: 'callback', observation, raw: '' }]),
  );
  return (await findTransaction(ctx.db, shop.holderId, id)) ?? assert.fail();
}

const wasRefused = (reason: string) => (error: unknown) =>
  error instanceof RetryRefusedError && error.refusal === reason;

describe('a collection that was tried several times', () => {
  async function collect(): Promise<Transaction> {
    const owner = { holderId: shop.holderId, integrationId: shop.id };
    const made = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet'));
    await engine.idle();
    return made;
  }
  async function retry(failed: Transaction): Promise<Transaction> {
    const made = await retryCollection(ctx, engine, COMMAND_LINE, failed, noLinks);
    await engine.idle();
    return made;
  }

  test('is not asked for again while, or after, the retry of a retry has it', async () => {
    const first = await apply(await collect(), FAILED);
    const second = await apply(await retry(first), FAILED);
    const third = await retry(second);
    await assert.rejects(retry(first), wasRefused('open'));
    await apply(third, PAID);
    await assert.rejects(retry(first), wasRefused('paid'));
    await assert.rejects(retry(second), wasRefused('paid'));
  });

  test('is not asked for again after the first try succeeded late', async () => {
    const first = await apply(await collect(), FAILED);
    const second = await apply(await retry(first), FAILED);
    await apply(first, PAID);
    await assert.rejects(retry(second), wasRefused('paid'));
  });

  test('is not paid by a link that asks for it again, once the first try succeeded late', async () => {
    ctx = { ...ctx, onCollectionsSettled: [settleLinks(ctx)] };
    const first = await apply(await collect(), FAILED);
    const second = await apply(await retry(first), FAILED);
    const owner = { holderId: shop.holderId, integrationId: null, defaultCallbackUrl: null };
    const params = { country_id: 11, currency: CURRENCY, amount: '1000' };
    const other = await createLink(ctx, owner, params);
    const link = await createLink(ctx, owner, params, (tx, { id }) =>
      recordRetry(tx, ctx, COMMAND_LINE, second, { linkId: id }, noLinks.findLinkState),
    );
    await apply(first, PAID);
    const statuses = [link, other].map(async ({ id }) => (await findLink(ctx.db, id))?.status);
    assert.deepEqual(await Promise.all(statuses), ['disabled', 'active']);
  });

  test('is not asked for again while the payer of an expired link, which asks for it, enters the PIN', async () => {
    const first = await apply(await collect(), FAILED);
    const owner = { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null };
    const params = { country_id: 11, currency: CURRENCY, amount: '1000' };
    const link = await createLink(ctx, owner, params, (tx, { id }) =>
      recordRetry(tx, ctx, COMMAND_LINE, first, { linkId: id }, noLinks.findLinkState),
    );
    const paying = await acceptCollection(
      ctx,
      engine,
      collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet', { linkId: link.id }),
    );
    await engine.idle();
    await assert.rejects(retry(first), wasRefused('open'));
    await apply(paying, FAILED);
    await retry(first);
  });

  describe('and whose payer paid by a link that asks for it again', () => {
    const states = () => linkStates({ ctx });
    const linkFor = (failed: Transaction, params: JsonObject = {}) =>
      createLink(
        ctx,
        { holderId: shop.holderId, integrationId: shop.id, defaultCallbackUrl: null },
        { country_id: 11, currency: CURRENCY, amount: '1000', ...params },
        (tx, { id }) => recordRetry(tx, ctx, COMMAND_LINE, failed, { linkId: id }, states()),
      );
    const disable = ({ id }: PaymentLink) => disableLink(ctx, COMMAND_LINE, shop.holderId, id);
    const statusesOf = (...links: PaymentLink[]) =>
      Promise.all(links.map(async ({ id }) => (await findLink(ctx.db, id))?.status));
    const retryWithLinks = (failed: Transaction) =>
      retryCollection(ctx, engine, COMMAND_LINE, failed, { ...noLinks, findLinkState: states() });

    async function payBy({ id }: PaymentLink): Promise<Transaction> {
      const owner = { holderId: shop.holderId, integrationId: shop.id };
      const made = await acceptCollection(ctx, engine, collectionOrder(owner, 'quiet', { linkId: id }));
      await engine.idle();
      return made;
    }
    async function disabledLinks(): Promise<string[]> {
      const rows = await ctx.db.query<{ subject: string }>(
        `select subject from audit_log where holder_id = $1 and action = 'payment_link.disabled' and actor = 'operator'`,
        [shop.holderId],
      );
      return rows.map(({ subject }) => subject).toSorted();
    }

    beforeEach(() => {
      ctx = { ...ctx, onCollectionsSettled: [settleLinks(ctx)] };
    });

    test('is not paid by a second link, once the payment by the first one succeeded late', async () => {
      const first = await apply(await collect(), FAILED);
      const one = await linkFor(first);
      const paying = await apply(await payBy(one), FAILED);
      await disable(one);
      const two = await linkFor(first);
      await apply(paying, PAID);
      assert.deepEqual(await statusesOf(one, two), ['paid', 'disabled']);
      assert.deepEqual(await disabledLinks(), [linkId(two)], 'the link that was paid was not disabled');
    });

    test('is not paid by any of its links, once the first try succeeded late', async () => {
      const first = await apply(await collect(), FAILED);
      const one = await linkFor(first);
      await apply(await payBy(one), FAILED);
      await disable(one);
      const second = await apply(await retryWithLinks(first), FAILED);
      const two = await linkFor(second);
      await apply(first, PAID);
      assert.deepEqual(await statusesOf(one, two), ['disabled', 'disabled']);
      assert.deepEqual(await disabledLinks(), [linkId(two)]);
    });

    test('two of them that succeed late in one batch: both links are paid, the third is disabled', async () => {
      const first = await apply(await collect(), FAILED);
      const one = await linkFor(first);
      const byOne = await apply(await payBy(one), FAILED);
      await disable(one);
      const two = await linkFor(first);
      const byTwo = await apply(await payBy(two), FAILED);
      await disable(two);
      const three = await linkFor(byTwo);
      await ctx.db.transaction((tx) =>
        applyOutcomes(
          tx,
          ctx,
          [byTwo, byOne].map(({ id }) => ({ transactionId: id, source: 'callback', observation: PAID, raw: '' })),
        ),
      );
      assert.deepEqual(await statusesOf(one, two, three), ['paid', 'paid', 'disabled']);
      assert.deepEqual(await disabledLinks(), [linkId(three)]);
    });

    test('is not asked for again, whichever try is repeated, while a link is open or after it was paid', async () => {
      const first = await apply(await collect(), FAILED);
      const one = await linkFor(first);
      const paying = await apply(await payBy(one), FAILED);
      for (const failed of [first, paying]) await assert.rejects(retryWithLinks(failed), wasRefused('open'));
      await disable(one);
      const second = await retryWithLinks(first);
      await engine.idle();
      await assert.rejects(retryWithLinks(paying), wasRefused('open'));
      await apply(await apply(second, FAILED), PAID);
      for (const failed of [first, paying]) await assert.rejects(retryWithLinks(failed), wasRefused('paid'));
    });

    test('is not asked for again while a payment through a link that has just expired is being written', async () => {
      const first = await apply(await collect(), FAILED);
      const one = await linkFor(first, { expires_at: isoMicroseconds(new Date(ctx.clock.millis() + 60_000)) });
      base.clock.advance(60_000);
      const asked = await ctx.db.transaction(async (tx) => {
        await lockLink(tx, one.id);
        let isDone = false;
        const refusal = retryWithLinks(first).then(
          () => assert.fail(),
          (error: unknown) => error,
        );
        void refusal.finally(() => {
          isDone = true;
        });
        const waits = 'select from pg_locks where not granted and transactionid = pg_current_xact_id()::xid';
        while (!isDone && (await tx.query(waits)).length === 0) await setImmediate();
        await payBy(one);
        return { refusal };
      });
      assert.ok(wasRefused('open')(await asked.refusal));
    });

    test('is one of the tries that wait for each other', async () => {
      const first = await apply(await collect(), FAILED);
      const one = await linkFor(first);
      const paying = await apply(await payBy(one), FAILED);
      await disable(one);
      const made = await Promise.allSettled([first, paying].map(retryWithLinks));
      assert.deepEqual(made.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
      await ctx.db.transaction(async (tx) => {
        const locked = await lockTries(tx, first);
        assert.ok(locked.some(({ id }) => id === paying.id));
        assert.deepEqual(
          locked.map(({ id }) => id),
          (await lockTries(tx, paying)).map(({ id }) => id),
        );
      });
      await apply(paying, PAID);
      assert.ok(await wasPaidByAnotherTry(ctx.db, first));
      assert.ok(!(await wasPaidByAnotherTry(ctx.db, paying)));
    });
  });

  describe('while its operator does not answer', () => {
    /** It stops answering when the retry is written. */
    async function within(): Promise<void> {
      for (let call = 1; call <= 5; call++) ctx.rails.health.record('quiet', METHOD, 'unknown', 1);
    }
    async function retryHeldBack(failed: Transaction): Promise<Transaction> {
      const made = await retryCollection(ctx, engine, COMMAND_LINE, failed, { ...noLinks, within });
      await engine.idle();
      assert.ok(!sent.includes(refOf(made)));
      return made;
    }
    async function sendDue(): Promise<void> {
      base.clock.advance(10_000);
      await engine.pass();
      await engine.idle();
    }
    const statusOf = async ({ id }: Transaction) => (await findTransaction(ctx.db, shop.holderId, id))?.status;

    test('its retry is sent later, unless the first try succeeded meanwhile', async () => {
      const first = await apply(await collect(), FAILED);
      const overtaken = await retryHeldBack(first);
      await apply(first, PAID);
      await sendDue();
      ctx.rails.health.record('quiet', METHOD, 'succeeded', 1);
      const repeated = await retryHeldBack(await apply(await collect(), FAILED));
      await sendDue();
      assert.ok(sent.includes(refOf(repeated)));
      assert.ok(!sent.includes(refOf(overtaken)), 'its payer is not asked');
      assert.deepEqual(await Promise.all([repeated, overtaken].map(statusOf)), ['processing', 'failed']);
      const jobs = 'select from payment_jobs where holder_id = $1 and transaction_id = $2';
      assert.deepEqual(await ctx.db.query(jobs, [shop.holderId, overtaken.id]), []);
    });
  });

  test('two people who repeat different tries at once: one is asked for', async () => {
    const first = await apply(await collect(), FAILED);
    const second = await apply(await retry(first), FAILED);
    const made = await Promise.allSettled([first, second].map(retry));
    assert.deepEqual(made.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  });
});

describe('a payout that repeats one which failed', () => {
  async function payOut(retryOf: Transaction | null): Promise<Transaction> {
    const request = { amount: '500', currency: CURRENCY, mobile: '256772123456' };
    const reading = await readPayout(ctx, shop.holderId, request);
    assert.ok(reading.ok);
    const quiet = { wake: () => undefined };
    const [result] = await orderPayouts(ctx, quiet, COMMAND_LINE, shop.holderId, [reading.order], {
      async written(tx, [payout]) {
        if (retryOf && payout)
          await recordRetry(tx, ctx, COMMAND_LINE, retryOf, { transactionId: payout.id }, noLinks.findLinkState);
      },
    });
    return result?.ok ? result.transaction : assert.fail();
  }

  test('that is to be sent again is asked about instead once that one succeeded late: it cannot be cancelled', async () => {
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 500_000n);
    const first = await apply(await payOut(null), FAILED);
    const second = await payOut(first);
    await apply(second, { state: 'unknown', reason: 'no answer' });
    await apply(first, PAID);
    // As two people decide where the operator does not know it.
    const job = [shop.holderId, second.id];
    await ctx.db.query(
      `update payment_jobs set kind = 'submit', due_at = $3 where holder_id = $1 and transaction_id = $2`,
      [...job, base.clock.now()],
    );
    await engine.pass();
    await engine.idle();
    assert.deepEqual(sent, []);
    const jobs = await ctx.db.query('select kind from payment_jobs where holder_id = $1 and transaction_id = $2', job);
    assert.deepEqual(jobs, [{ kind: 'query' }], 'so its silence becomes a case');
  });

  test('is neither approved nor sent once that one succeeded late, and can be cancelled', async () => {
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 500_000n);
    const first = await apply(await payOut(null), FAILED);
    const second = await payOut(first);
    await apply(first, PAID);
    await engine.pass();
    await engine.idle();
    assert.deepEqual(sent, []);
    await cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(second));

    const other = await apply(await payOut(null), FAILED);
    await ctx.db.query('update holders set payouts_need_approval = true where id = $1', [shop.holderId]);
    const waiting = await payOut(other);
    await apply(other, PAID);
    const approving = approvePayout(ctx, engine, COMMAND_LINE, shop.holderId, refOf(waiting));
    await assert.rejects(approving, (error) => error instanceof OrderRefusal && error.reason === 'overtaken');
    await cancelPayout(ctx, COMMAND_LINE, shop.holderId, refOf(waiting));
  });
});
