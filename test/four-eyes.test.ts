// Two people: loosening a rule needs both and a day. And what a suspension stops, and what closing requires.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import {
  applyRuleChanges,
  confirmRuleChange,
  listRuleChanges,
  refundNeedsApproval,
  setPayoutApproval,
  setRefundLimit,
  withdrawRuleChange,
} from '../src/holders/approval-rules.ts';
import { type Actor, COMMAND_LINE } from '../src/holders/audit.ts';
import { findHolder, type Holder } from '../src/holders/holders.ts';
import { addMember } from '../src/holders/members.ts';
import { changeMembership } from '../src/holders/role-changes.ts';
import { balancesOf } from '../src/ledger/ledger.ts';
import { createPaymentEngine, type PaymentEngine } from '../src/payments/engine.ts';
import { setHolderStatus } from '../src/payments/holder-status.ts';
import { approvePayout, cancelPayout } from '../src/payments/payout-decisions.ts';
import { approvePayoutFile } from '../src/payments/payout-file-decisions.ts';
import { orderPayoutFile } from '../src/payments/payout-files.ts';
import { type PayoutOrder, readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { approveRefund, cancelRefund, createRefund } from '../src/payments/refunds.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { ALL_REPEATS } from '../src/payments/similar-payouts.ts';
import { refOf, type Transaction } from '../src/payments/transactions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { Problem } from '../src/platform/errors.ts';
import { createTestContext } from './harness.ts';
import { NOT_FOUND, SUCCEEDED, statusOf } from './inspect.ts';
import { acceptCollection, CAPABILITIES, CURRENCY, collectionOrder, silentRail, withPayments } from './payments.ts';
import { createShop, type Shop } from './shop.ts';

const TAKES = 101_000n;
const ASLEEP = { wake: () => undefined };

let base: Awaited<ReturnType<typeof createTestContext>>;
let ctx: ReturnType<typeof withPayments<typeof base>>;
let engine: PaymentEngine;
let shop: Shop;
let ama: Actor;
let kofi: Actor;
let sent: string[];

before(async () => {
  base = await createTestContext();
});
after(() => base.close());

// What a test has woken must not go on in the next one.
afterEach(() => engine.idle());

beforeEach(async () => {
  await base.db.query('delete from payment_jobs');
  sent = [];
  const rail = silentRail({
    capabilities: { ...CAPABILITIES, refunds: 'partial' },
    async refund({ reference }) {
      sent.push(reference);
      return { observation: { state: 'succeeded', receipt: null }, raw: '' };
    },
    async payout({ reference }) {
      sent.push(reference);
      return { observation: SUCCEEDED, raw: '' };
    },
    query: async () => ({ observation: NOT_FOUND, raw: '' }),
  });
  ctx = withPayments(base, rail);
  engine = createPaymentEngine(ctx);
  shop = await createShop(ctx);
  [ama, kofi] = [await addOwner('ama'), await addOwner('kofi')];
  await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 2n * TAKES);
});

async function addOwner(name: string): Promise<Actor> {
  const email = `${name}.${shop.holderId}@example.org`;
  const member = await addMember(ctx, COMMAND_LINE, { email, name, holderId: shop.holderId, role: 'owner' });
  return { memberId: member.id, name };
}

async function holder(): Promise<Holder> {
  const found = await findHolder(ctx.db, shop.holderId);
  assert.ok(found);
  return found;
}

async function openChange(): Promise<string> {
  const [change] = await listRuleChanges(ctx.db, shop.holderId);
  assert.ok(change);
  return change.id;
}

async function orderOf(): Promise<PayoutOrder> {
  const reading = await readPayout(ctx, shop.holderId, { amount: '1000', currency: CURRENCY, mobile: '256772123456' });
  assert.ok(reading.ok);
  return reading.order;
}

async function order(actor: Actor, target: Pick<PaymentEngine, 'wake'> = ASLEEP): Promise<Transaction> {
  const [result] = await orderPayouts(ctx, target, actor, shop.holderId, [await orderOf()]);
  assert.ok(result?.ok);
  return result.transaction;
}

async function pass(): Promise<void> {
  await engine.pass();
  await engine.idle();
}

const refused = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

describe('the rule', () => {
  test('money 20: one owner cannot switch it off; another confirms, and it ends a day later', async () => {
    assert.equal(await setPayoutApproval(ctx, ama, shop.holderId, true), 'saved');
    assert.equal((await holder()).payouts_need_approval, true);
    assert.equal(await setPayoutApproval(ctx, ama, shop.holderId, false), 'requested');
    await assert.rejects(setPayoutApproval(ctx, ama, shop.holderId, false), refused('forbidden'));
    const id = await openChange();
    await assert.rejects(confirmRuleChange(ctx, ama, shop.holderId, id), refused('forbidden'));
    base.clock.advance(2 * DAY_MS);
    await applyRuleChanges(ctx);
    assert.equal((await holder()).payouts_need_approval, true, 'without a confirmation it never ends');
    await confirmRuleChange(ctx, kofi, shop.holderId, id);
    await assert.rejects(confirmRuleChange(ctx, kofi, shop.holderId, id), refused('not_found'));
    base.clock.advance(DAY_MS - 1_000);
    await applyRuleChanges(ctx);
    assert.equal((await holder()).payouts_need_approval, true);
    const [change] = await listRuleChanges(ctx.db, shop.holderId);
    assert.equal(change?.confirmed_by, 'kofi');
    base.clock.advance(1_000);
    await applyRuleChanges(ctx);
    assert.equal((await holder()).payouts_need_approval, false);
    assert.deepEqual(await listRuleChanges(ctx.db, shop.holderId), []);
    assert.equal(await setPayoutApproval(ctx, ama, shop.holderId, true), 'saved');
    assert.equal((await holder()).payouts_need_approval, true);
  });

  test('money 20: a loosening can be withdrawn until it holds, and a tightening withdraws it', async () => {
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    for (const withdraw of [
      async () => withdrawRuleChange(ctx, kofi, shop.holderId, await openChange()),
      () => setPayoutApproval(ctx, kofi, shop.holderId, true),
    ]) {
      await setPayoutApproval(ctx, ama, shop.holderId, false);
      await confirmRuleChange(ctx, kofi, shop.holderId, await openChange());
      await withdraw();
      base.clock.advance(2 * DAY_MS);
      await applyRuleChanges(ctx);
      assert.equal((await holder()).payouts_need_approval, true);
    }
    const stranger = await createShop(ctx);
    await setPayoutApproval(ctx, ama, shop.holderId, false);
    const id = await openChange();
    await assert.rejects(confirmRuleChange(ctx, kofi, stranger.holderId, id), refused('not_found'));
    await assert.rejects(withdrawRuleChange(ctx, kofi, stranger.holderId, id), refused('not_found'));
  });

  test('money 20: the database itself refuses one person, and less than a day', async () => {
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    await setPayoutApproval(ctx, ama, shop.holderId, false);
    const confirm = (member: bigint | null, hours: number) =>
      ctx.db.query(
        `update approval_rule_changes set confirmed_by = 'x', confirmed_by_member = $2, confirmed_at = requested_at,
           effective_at = requested_at + make_interval(hours => $3) where holder_id = $1`,
        [shop.holderId, member, hours],
      );
    await assert.rejects(confirm(ama.memberId, 24), /rule_change_by_two_people/);
    await assert.rejects(confirm(kofi.memberId, 23), /rule_change_effective_later/);
  });

  test('review: the day is one of the database, also when the process has another clock', async () => {
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    await setPayoutApproval(ctx, ama, shop.holderId, false);
    // This process is two days late.
    base.databaseTime.setSkew(-2 * DAY_MS);
    try {
      await confirmRuleChange(ctx, kofi, shop.holderId, await openChange());
      await applyRuleChanges(ctx);
      assert.equal((await holder()).payouts_need_approval, true);
      base.databaseTime.setSkew(-3 * DAY_MS);
      await applyRuleChanges(ctx);
      assert.equal((await holder()).payouts_need_approval, false);
    } finally {
      base.databaseTime.setSkew(0);
    }
  });

  test('review: a loosening ends with the role of the owner who asked for it or confirmed it', async () => {
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    const esi = await addOwner('esi');
    for (const [gone, role] of [
      [ama, null],
      [kofi, 'finance'],
    ] as const) {
      await setPayoutApproval(ctx, gone === ama ? ama : esi, shop.holderId, false);
      await confirmRuleChange(ctx, kofi, shop.holderId, await openChange());
      await changeMembership(ctx, esi, shop.holderId, gone.memberId ?? 0n, role);
      assert.deepEqual(await listRuleChanges(ctx.db, shop.holderId), []);
      base.clock.advance(2 * DAY_MS);
      await applyRuleChanges(ctx);
      assert.equal((await holder()).payouts_need_approval, true);
    }
    await assert.rejects(setPayoutApproval(ctx, kofi, shop.holderId, false), refused('forbidden'));
  });

  test('money 20: refunds above the limit of their currency need the second person; a higher limit needs one too', async () => {
    const needs = async (amount: bigint, currency = CURRENCY) =>
      refundNeedsApproval(ctx.db, await holder(), currency, amount);
    assert.equal(await needs(100n), false);
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    assert.equal(await needs(1n), true);
    const limit = { currency: CURRENCY, without_approval: 5_000n };
    assert.equal(await setRefundLimit(ctx, ama, shop.holderId, limit), 'requested');
    assert.equal(await needs(1n), true);
    await confirmRuleChange(ctx, kofi, shop.holderId, await openChange());
    base.clock.advance(DAY_MS);
    await applyRuleChanges(ctx);
    assert.deepEqual([await needs(5_000n), await needs(5_001n), await needs(1n, 'KES')], [false, true, true]);
    assert.equal(await setRefundLimit(ctx, ama, shop.holderId, { ...limit, without_approval: 1_000n }), 'saved');
    assert.deepEqual([await needs(1_000n), await needs(1_001n)], [false, true]);
  });
});

describe('suspended', () => {
  test('money 18: nothing is ordered, approved or sent again; cancelling stays possible', async () => {
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    const waiting = await order(ama);
    const file = { name: 'file', rows: [{ line: 2, order: await orderOf() }] };
    const confirmed = { confirmedRepeats: ALL_REPEATS };
    const { ref } = await orderPayoutFile(ctx, ASLEEP, ama, shop.holderId, file, confirmed);
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'suspended');
    const again = { ...file, rows: [{ line: 2, order: { ...(await orderOf()), detail: 'again' } }] };
    for (const attempt of [
      () =>
        orderPayouts(
          ctx,
          engine,
          ama,
          shop.holderId,
          file.rows.map((row) => row.order),
        ),
      () => orderPayoutFile(ctx, engine, ama, shop.holderId, again, confirmed),
      () => approvePayout(ctx, engine, kofi, shop.holderId, refOf(waiting)),
      () => approvePayoutFile(ctx, engine, kofi, shop.holderId, ref),
    ])
      await assert.rejects(attempt(), refused('account_suspended'));
    await pass();
    assert.deepEqual(sent, []);
    await cancelPayout(ctx, ama, shop.holderId, refOf(waiting));
    assert.equal(await statusOf(ctx.db, waiting), 'failed');
  });

  test('money 18: a payout that is queued waits for the end of the suspension, and goes on then', async () => {
    const payout = await order(ama);
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'suspended');
    for (let minute = 0; minute < 3; minute++) {
      await pass();
      base.clock.advance(62_000);
    }
    assert.deepEqual([sent, await statusOf(ctx.db, payout)], [[], 'pending']);
    await pass();
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'active');
    await pass();
    assert.deepEqual([sent, await statusOf(ctx.db, payout)], [[refOf(payout)], 'success']);
  });

  test('money 18: a suspension waits for an order that is being written, and the order is not sent', async () => {
    let suspended: Promise<unknown> = Promise.resolve();
    const [result] = await orderPayouts(ctx, ASLEEP, ama, shop.holderId, [await orderOf()], {
      async within(tx) {
        suspended = setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'suspended');
        for (let waiting = 0n; waiting === 0n; ) {
          const [row] = await tx.query<{ waiting: bigint }>(
            'select count(*) as waiting from pg_locks where not granted and transactionid = pg_current_xact_id()::xid',
          );
          waiting = row?.waiting ?? 0n;
        }
      },
    });
    await suspended;
    await pass();
    assert.deepEqual([result?.ok, sent], [true, []]);
  });
});

describe('refunds', () => {
  async function collected(): Promise<Transaction> {
    const given = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'quiet');
    const collection = await acceptCollection(ctx, engine, given);
    await engine.idle();
    const observation = { state: 'succeeded', receipt: `C-${collection.id}` } as const;
    await engine.apply({ transactionId: collection.id, source: 'callback', observation, raw: '' });
    return collection;
  }

  test('money 20: a person refunds alone up to the limit, also when it is made in parts', async () => {
    const collection = await collected();
    await setRefundLimit(ctx, ama, shop.holderId, { currency: CURRENCY, without_approval: 50_000n });
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    const refund = (actor: Actor, amount: bigint) =>
      createRefund(ctx, ASLEEP, actor, shop.holderId, { collection: refOf(collection), amount });
    assert.equal((await refund(ama, 40_000n)).approval, 'not_needed');
    assert.equal((await refund(ama, 20_000n)).approval, 'waiting');
    assert.equal((await refund(COMMAND_LINE, 10_000n)).approval, 'waiting', 'the command line is not an exception');
    const byApi = { integrationId: shop.id };
    const request = { collection: refOf(collection), amount: 10_000n };
    assert.equal((await createRefund(ctx, ASLEEP, COMMAND_LINE, shop.holderId, request, byApi)).approval, 'not_needed');
  });

  test('review: a refund that waits is not approved once the operator has said that it reversed the payment', async () => {
    const collection = await collected();
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    const request = { collection: refOf(collection), amount: 10_000n };
    const refund = await createRefund(ctx, ASLEEP, ama, shop.holderId, request);
    const observation = { state: 'reversed', receipt: `C-${collection.id}`, rawCode: '', message: '' } as const;
    await engine.apply({ transactionId: collection.id, source: 'callback', observation, raw: '' });
    await assert.rejects(
      approveRefund(ctx, engine, kofi, shop.holderId, refOf(refund)),
      refused('refund_not_possible'),
    );
    await assert.rejects(createRefund(ctx, ASLEEP, kofi, shop.holderId, request), refused('refund_not_possible'));
    await pass();
    assert.deepEqual(sent, []);
    await cancelRefund(ctx, kofi, shop.holderId, refOf(refund));
    assert.equal(await statusOf(ctx.db, refund), 'failed');
  });

  test('review: of a cancellation and an approval at the same moment one counts, whatever is approved', async () => {
    await setPayoutApproval(ctx, ama, shop.holderId, true);
    for (let turn = 0; turn < 5; turn++) {
      const collection = await collected();
      const request = { collection: refOf(collection), amount: 10_000n };
      const refund = await createRefund(ctx, ASLEEP, ama, shop.holderId, request);
      const results = await Promise.allSettled([
        approveRefund(ctx, ASLEEP, kofi, shop.holderId, refOf(refund)),
        cancelRefund(ctx, ama, shop.holderId, refOf(refund)),
      ]);
      await pass();
      // An approved refund can be cancelled until it is sent, so both may succeed; sent and cancelled it cannot be.
      const cancelled = results[1]?.status === 'fulfilled';
      assert.equal(sent.includes(refOf(refund)), !cancelled);
      assert.equal(await statusOf(ctx.db, refund), cancelled ? 'failed' : 'success');
    }
  });

  test('money 18: a refund that is queued waits for the end of the suspension, and none is made', async () => {
    const collection = await collected();
    const request = { collection: refOf(collection), amount: 10_000n };
    const refund = await createRefund(ctx, ASLEEP, COMMAND_LINE, shop.holderId, request);
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'suspended');
    await assert.rejects(createRefund(ctx, ASLEEP, COMMAND_LINE, shop.holderId, request), refused('account_suspended'));
    await pass();
    assert.deepEqual([sent, await statusOf(ctx.db, refund)], [[], 'pending']);
    await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'active');
    await pass();
    assert.deepEqual([sent, await statusOf(ctx.db, refund)], [[refOf(refund)], 'success']);
  });

  test('money 18: a holder that owes money is not closed', async () => {
    const collection = await collected();
    await topUpSandbox(ctx, COMMAND_LINE, shop.holderId, CURRENCY, 2_000n);
    for (let turn = 0; turn < 3; turn++) await order(ama, engine);
    await engine.idle();
    await pass();
    assert.equal((await balancesOf(ctx.db, shop.holderId))[0]?.balance, 0n);
    // The operator takes the collection back when the money is gone.
    const observation = { state: 'reversed', receipt: `C-${collection.id}`, rawCode: '', message: '' } as const;
    await engine.apply({ transactionId: collection.id, source: 'callback', observation, raw: '' });
    await assert.rejects(
      setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'closed'),
      /cannot be closed: it owes 990 UGX\./,
    );
  });
});

describe('closing', () => {
  test('money 18: refused with what is left: wallets, reserves, debts and open transactions', async () => {
    const payout = await order(ama);
    const sentence = async (): Promise<string> => {
      try {
        await setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'closed');
        return 'closed';
      } catch (error) {
        assert.ok(error instanceof Problem && error.code === 'holder_not_empty', String(error));
        return error.message;
      }
    };
    assert.equal(
      await sentence(),
      'The holder cannot be closed: the wallet holds 1010 UGX, 1010 UGX is reserved, 1 transaction is open.',
    );
    await cancelPayout(ctx, ama, shop.holderId, refOf(payout));
    assert.equal(await sentence(), 'The holder cannot be closed: the wallet holds 2020 UGX.');
    await order(ama, engine);
    await order(ama, engine);
    await engine.idle();
    await pass();
    assert.deepEqual(
      (await balancesOf(ctx.db, shop.holderId)).map(({ balance }) => balance),
      [0n],
    );
    assert.equal(await sentence(), 'closed');
    assert.equal((await holder()).status, 'closed');
    await assert.rejects(setHolderStatus(ctx, COMMAND_LINE, shop.holderId, 'active'), refused('not_found'));
  });
});
