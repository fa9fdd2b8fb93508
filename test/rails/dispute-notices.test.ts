// Paystack tells of a dispute, reminds, and tells how it ended: the amount is held at once, each notice counts once, and what the
// operator took back is what the ledger says.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { listCasesOf } from '../../src/payments/cases.ts';
import { applyDisputeNotice } from '../../src/payments/dispute-notices.ts';
import { type Dispute, listDisputeEvidence, listDisputes, openDispute } from '../../src/payments/disputes.ts';
import { refOf, type Transaction } from '../../src/payments/transactions.ts';
import { DAY_MS } from '../../src/platform/clock.ts';
import type { DisputeNotice } from '../../src/rails/rail.ts';
import { differencesOf } from '../books.ts';
import { type OperatorGateway, openOperatorGateway } from './operator-gateway.ts';
import { OPERATORS } from './operators.ts';

const PAYSTACK = OPERATORS.find(({ name }) => name === 'paystack') ?? assert.fail();
const AMOUNT = 1_000_00n;

let opened: OperatorGateway;
before(async () => {
  opened = await openOperatorGateway({ ...PAYSTACK, registerAction: 'register_callback' });
});
after(async () => {
  const differences = await differencesOf(opened.gateway.ctx);
  await opened.close();
  assert.deepEqual(differences, []);
});

const wireId = (collection: Transaction) => refOf(collection).replace('_', '-');

async function paid(): Promise<Transaction> {
  const collection = await opened.untilEnded(await opened.collect(AMOUNT));
  assert.equal(collection.status, 'success');
  return collection;
}

/** The operator's side does something about the charge, and everything arrives. */
async function act(action: string, collection: Transaction, more: Record<string, unknown> = {}): Promise<void> {
  const { status } = await opened.simulator.act(action, { id: wireId(collection), ...more });
  assert.equal(status, 200, action);
  opened.gateway.ctx.clock.advance(1_000);
  await opened.simulator.idle();
  await opened.settle();
  await opened.settle();
}

async function disputesOf(collection: Transaction): Promise<Dispute[]> {
  const all = await listDisputes(opened.gateway.ctx.db, collection.holder_id);
  return all.filter(({ transaction_id: id }) => id === collection.id);
}

const heldNow = async () => {
  const [row] = await opened.gateway.ctx.ownerDb.query<{ balance: bigint }>(
    `select coalesce(sum(balance), 0)::bigint as balance from ledger_accounts where kind = 'wallet_disputed'`,
  );
  return row?.balance ?? 0n;
};

test('a notice opens a dispute once, with its reason, deadline and hold; a reminder moves the deadline', async () => {
  const collection = await paid();
  await act('dispute', collection, { amount: '400.00', message: 'I never received the goods' });
  const [dispute, ...others] = await disputesOf(collection);
  assert.ok(dispute && others.length === 0);
  const now = opened.gateway.ctx.clock.millis();
  assert.deepEqual(
    [dispute.status, dispute.source, dispute.amount, dispute.reason, dispute.opened_by],
    ['open', 'operator', 400_00n, 'I never received the goods', 'operator'],
  );
  assert.ok(dispute.answer_by.getTime() > now + DAY_MS && dispute.answer_by.getTime() <= now + 2 * DAY_MS);
  assert.equal(await heldNow(), dispute.amount - dispute.fee_returned);

  await act('remind_dispute', collection);
  assert.deepEqual(await disputesOf(collection), [dispute], 'the same facts again change nothing');
  await act('remind_dispute', collection, { moreDays: 3 });
  const [reminded] = await disputesOf(collection);
  assert.equal(reminded?.answer_by.getTime(), dispute.answer_by.getTime() + 3 * DAY_MS);

  // The operator leaves the money; two people decide, with what it said before them.
  await act('resolve_dispute', collection, { resolution: 'declined' });
  const [ended] = await disputesOf(collection);
  assert.equal(ended?.status, 'open');
  const evidence = await listDisputeEvidence(opened.gateway.ctx.db, dispute.case_id);
  const day = reminded?.answer_by.toISOString().slice(0, 10);
  assert.deepEqual(
    evidence.map(({ note, added_by: by }) => [note, by]),
    [
      [`Paystack: awaiting-merchant-feedback. Answer by ${day}.`, 'operator'],
      ['Paystack: resolved, declined.', 'operator'],
    ],
  );
  assert.equal(await heldNow(), dispute.amount - dispute.fee_returned);
});

test('a dispute that the operator decides against us gives the held money back, once', async () => {
  const collection = await paid();
  const before = await heldNow();
  await act('dispute', collection);
  assert.equal((await disputesOf(collection)).length, 1);
  await act('resolve_dispute', collection, { resolution: 'merchant-accepted' });
  const [dispute] = await disputesOf(collection);
  assert.equal(dispute?.status, 'lost');
  assert.equal((await opened.read(collection)).status, 'reversed');
  assert.equal(await heldNow(), before);
  const cases = await listCasesOf(opened.gateway.ctx.db, collection.holder_id, collection.id);
  assert.deepEqual(
    cases.map(({ kind, status }) => [kind, status]),
    [['dispute', 'resolved']],
  );
  const [clearing] = await opened.gateway.ctx.ownerDb.query<{ balance: bigint }>(
    `select sum(balance)::bigint as balance from ledger_accounts where kind = 'operator_clearing' and rail = 'paystack'`,
  );
  assert.equal(-(clearing?.balance ?? 0n), opened.simulator.book.net('GHS'));
});

test('a notice with a wrong signature opens nothing; sent again with the right one, it does', async () => {
  const collection = await paid();
  await opened.simulator.act('plan_webhook', {});
  await act('dispute', collection);
  // The simulator sends what was refused again after a fifth of a second.
  await opened.simulator.idle();
  await opened.settle();
  const rejected = await opened.gateway.ctx.ownerDb.query<{ reason: string }>(
    `select reason from rejected_callbacks where rail = 'paystack'`,
  );
  assert.deepEqual(
    rejected.map(({ reason }) => reason),
    ['the signature is wrong'],
  );
  assert.equal((await disputesOf(collection)).length, 1);
});

test('notices come in any order, and about a dispute that a person opened before', async () => {
  const { ctx } = opened.gateway;
  const apply = (collection: Transaction, changes: Partial<DisputeNotice>) => {
    const notice: DisputeNotice = {
      id: '77',
      state: 'open',
      amount: null,
      currency: 'GHS',
      reason: '',
      message: 'Paystack: resolved.',
      answerBy: null,
      ...changes,
    };
    const report = { rail: 'paystack', transactionId: collection.id, notice, raw: '' };
    return ctx.db.transaction((tx) => applyDisputeNotice(tx, ctx, report));
  };

  const lostFirst = await paid();
  await act('reverse', lostFirst);
  assert.equal((await opened.read(lostFirst)).status, 'reversed');
  const before = await disputesOf(lostFirst);
  await apply(lostFirst, { id: 'late' });
  assert.deepEqual(await disputesOf(lostFirst), before, 'nothing is left to hold');

  const known = await paid();
  const request = { collection: refOf(known), amount: null, reason: 'a call', reference: null, answerBy: null };
  await openDispute(ctx, COMMAND_LINE, request);
  await apply(known, {});
  await apply(known, {});
  assert.deepEqual(
    (await disputesOf(known)).map(({ reference, source, status }) => [reference, source, status]),
    [['77', 'person', 'open']],
  );

  const part = await paid();
  await openDispute(ctx, COMMAND_LINE, { ...request, collection: refOf(part), amount: 400_00n });
  for (const state of ['open', 'lost'] as const)
    await assert.rejects(
      apply(part, { id: '78', state, amount: 500_00n }),
      /another amount than the one that a person opened/,
    );
  assert.equal((await disputesOf(part))[0]?.reference, null, 'people look at both');
  await apply(part, { id: '78', amount: 400_00n });
  assert.deepEqual(
    (await disputesOf(part)).map(({ reference, amount }) => [reference, amount]),
    [['78', 400_00n]],
  );

  const wrong = await paid();
  await assert.rejects(apply(wrong, { currency: 'KES' }), /a dispute in KES about a payment in GHS/);
  await assert.rejects(apply({ ...wrong, id: known.id.replace(/^./, 'f') }, {}), /no payment of this connection/);
  assert.deepEqual(await disputesOf(wrong), []);
});

test('a notice about a payment that is none of ours is set aside, with a case', async () => {
  const data = { id: 5, refund_amount: 100, currency: 'GHS', domain: 'test', status: 'pending', category: 'fraud' };
  await opened.simulator.act('send_event', {
    event: 'charge.dispute.create',
    data: { ...data, transaction: { reference: 'SHOP-17', status: 'success' } },
  });
  await opened.simulator.idle();
  await opened.settle();
  const set = await opened.gateway.ctx.ownerDb.query<{ error: string }>(
    `select error from quarantined_reports where rail = 'paystack'`,
  );
  assert.deepEqual(
    set.map(({ error }) => error),
    ['a dispute about no payment of ours'],
  );
});
