// The Paystack rail and the Paystack simulator, which share no code: every fault, and what really moved.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault, Operation } from '../../simulators/faults.ts';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from '../../simulators/frame.ts';
import { createPaystackSimulator } from '../../simulators/paystack.ts';
import { paystackRail } from '../../src/rails/paystack.ts';
import type { CollectCall, MoneyDirection, Observation, PayoutCall, QueryCall, Rail } from '../../src/rails/rail.ts';
import { collectCall, methodOf, payoutCall, queryCall, refundCall } from '../rail-calls.ts';
import { testConnection } from '../rail-connection.ts';
import { type CallbackListener, startCallbackListener } from './callback-listener.ts';

/** Longer than a busy machine stands still. */
const TIME_LIMIT_MS = 30_000;
/** Of the rail whose operator is slow. */
const SHORT_LIMIT_MS = 1_000;
const PAYER = '233551234000';
let simulator: RunningSimulator;
let listener: CallbackListener;
let rail: Rail;
let impatient: Rail;

before(async () => {
  listener = await startCallbackListener();
  simulator = await startSimulator(createPaystackSimulator, {
    slowMs: SHORT_LIMIT_MS + 500,
    callbackLateMs: 50,
    settings: {
      webhookUrl: `${listener.publicUrl}/operators/paystack`,
      lateSuccessSeconds: '0.2',
      reversalSeconds: '0.1',
      promptSeconds: '0.3',
      webhookRetryHourSeconds: '0.2',
    },
  });
  const open = (timeoutMs: number) =>
    paystackRail.open(testConnection(paystackRail, simulator.url, { publicUrl: listener.publicUrl, timeoutMs }));
  rail = open(TIME_LIMIT_MS);
  impatient = open(SHORT_LIMIT_MS);
  listener.rail = rail;
});
after(async () => {
  await rail.close();
  await impatient.close();
  await simulator.close();
  await listener[Symbol.asyncDispose]();
});
beforeEach(() => {
  simulator.faults.clear();
  listener.readings.length = 0;
});

/** `wireId`: what the operator's book names the movement by. */
type Sent = { reference: string; first: Observation; query: QueryCall; wireId: string };

const charged = (code = 'MTN_MOMO_GHA', changes: Partial<CollectCall> = {}) =>
  collectCall(code, { amount: 1_550n, ...(code.endsWith('_GHA') ? { msisdn: PAYER } : {}), ...changes });

/** No callback or work is left. */
const settled = () => simulator.idle();

/** With an operator of its own, for accounts that wait half an hour for a transfer: it would not be idle for so long. */
async function withOwnOperator(
  options: SimulatorOptions,
  work: (own: Rail, operator: RunningSimulator) => Promise<void>,
): Promise<void> {
  const operator = await startSimulator(createPaystackSimulator, options);
  const own = paystackRail.open(testConnection(paystackRail, operator.url));
  await work(own, operator);
  await own.close();
  await operator.close();
}

async function payOut(call: PayoutCall, asked = rail): Promise<Observation> {
  const ready = await asked.prepare?.(call, 'payout');
  assert.ok(ready);
  if (!('prepared' in ready)) return ready.observation;
  return (await asked.payout({ ...call, prepared: ready.prepared })).observation;
}

async function send(direction: MoneyDirection, faults: readonly Fault[] = []): Promise<Sent> {
  const collection = charged();
  if (direction === 'refund') {
    await rail.collect(collection);
    await settled();
    listener.readings.length = 0;
  }
  const payout = payoutCall('MTN_MOMO_GHA', { amount: 1_550n, msisdn: PAYER });
  const ready = direction === 'payout' ? await rail.prepare?.(payout, 'payout') : null;
  for (const fault of faults) simulator.faults.add({ fault, operation: operationOf(fault, direction) });
  const asked = faults.includes('slow') ? impatient : rail;
  if (direction === 'collection') {
    const first = (await asked.collect(collection)).observation;
    return sentOf(collection, direction, first, collection.reference.replace('_', '-'));
  }
  if (direction === 'payout') {
    assert.ok(ready && 'prepared' in ready);
    const first = (await asked.payout({ ...payout, prepared: ready.prepared })).observation;
    return sentOf(payout, direction, first, payout.reference.toLowerCase());
  }
  const refund = refundCall(collection);
  const first = (await asked.refund?.(refund))?.observation;
  assert.ok(first);
  return sentOf(refund, direction, first, collection.reference.replace('_', '-'));
}

function sentOf(
  call: Parameters<typeof queryCall>[0],
  direction: MoneyDirection,
  first: Observation,
  wireId: string,
): Sent {
  const railReference = direction === 'refund' && 'railReference' in first ? (first.railReference ?? null) : null;
  return { reference: call.reference, first, wireId, query: queryCall(call, { direction, railReference }) };
}

function operationOf(fault: Fault, direction: MoneyDirection): Operation {
  if (fault.startsWith('callback_') && fault !== 'callback_before_answer') return 'other';
  return ({ collection: 'collect', payout: 'payout', refund: 'refund' } as const)[direction];
}

async function endOf({ query }: Pick<Sent, 'query'>): Promise<Observation> {
  for (let tries = 0; ; tries += 1) {
    const { observation } = await rail.query(query);
    const isOpen = observation.state === 'pending' || observation.state === 'unknown';
    if (!isOpen || tries === 200) return observation;
    await pause(20);
  }
}

const movementsOf = ({ wireId, query }: Sent) =>
  simulator.book.movements().filter(({ id, kind }) => id === wireId && kind === query.direction);
const DIRECTIONS = ['collection', 'payout', 'refund'] as const;

describe('paystack and its simulator', () => {
  for (const direction of DIRECTIONS) {
    test(`a ${direction} moves money once`, async () => {
      const sent = await send(direction);
      assert.notEqual(sent.first.state, 'failed');
      const end = await endOf(sent);
      await settled();
      const [movement, ...others] = movementsOf(sent);
      assert.equal(others.length, 0);
      assert.ok(end.state === 'succeeded' && movement);
      assert.deepEqual([end.amount, end.currency], [movement.amount, 'GHS']);
      assert.ok(listener.readings.every(({ kind }) => kind === (direction === 'refund' ? 'hint' : 'proof')));
      const [reading] = listener.readings;
      if (reading?.kind === 'proof')
        assert.deepEqual(reading, { kind: 'proof', reference: sent.reference, direction, observation: end });
    });

    const processed: Fault[] = [
      'answer_lost',
      'error_while_processing',
      'html_error',
      'slow',
      'oversized',
      'duplicate_id',
      'callback_lost',
      'callback_doubled',
      'callback_before_answer',
      'callback_late',
      'late_success',
    ];
    for (const fault of processed)
      test(`a ${direction} with ${fault} is found and moves money once`, async () => {
        const sent = await send(direction, [fault]);
        assert.notEqual(sent.first.state, 'failed');
        assert.equal((await endOf(sent)).state, 'succeeded');
        await settled();
        assert.equal(movementsOf(sent).length, 1);
      });

    test(`a ${direction} that never arrived is not found`, async () => {
      const sent = await send(direction, ['error_before_processing']);
      assert.equal(sent.first.state, 'unknown');
      const { observation } = await rail.query(sent.query);
      assert.ok(observation.state === 'unknown');
      // The list of refunds may lag, so its silence is believed a day later.
      assert.equal(observation.definitelyNotFound, direction === 'refund' ? undefined : true);
      if (direction !== 'refund') return;
      const yesterday = new Date(Date.now() - 25 * 3_600_000);
      const later = (await rail.query({ ...sent.query, submittedAt: yesterday })).observation;
      assert.equal(later.state === 'unknown' && later.definitelyNotFound, true);
    });

    test(`a ${direction} whose key ended was refused, and nothing moved`, async () => {
      const sent = await send(direction, ['token_ended']);
      assert.equal(sent.first.state === 'failed' && sent.first.failureCode, 'OPERATOR_UNAVAILABLE');
      assert.equal(movementsOf(sent).length, 0);
    });

    test(`a ${direction} with a code that nobody knows has failed, and nothing moved`, async () => {
      const sent = await send(direction, ['unknown_code']);
      assert.equal((await endOf(sent)).state, 'failed');
      assert.equal(movementsOf(sent).length, 0);
    });

    test(`a ${direction} whose fields have other names is never an end`, async () => {
      const fields = { collection: ['reference', 'id'], payout: ['reference', 'transfer_code'], refund: ['id'] }[
        direction
      ];
      for (const renamed of ['status', 'data', 'amount', 'currency', ...fields]) {
        const sent = await send(direction);
        await settled();
        simulator.faults.add({ fault: 'field_renamed', operation: 'query', times: 1, rename: { [renamed]: 'other' } });
        assert.equal((await rail.query(sent.query)).observation.state, 'unknown', renamed);
        simulator.faults.clear();
      }
    });
  }

  test('every method is taken in every direction that it has', () =>
    withOwnOperator({}, async (own) => {
      for (const code of paystackRail.methods) {
        const method = methodOf(code);
        const amount = method.collection.min > 100_000n ? method.collection.min : 100_000n;
        const collected = await own.collect(charged(code, { amount }));
        assert.equal(collected.observation.state, 'pending', `${code}: ${collected.raw}`);
        if (own.capabilitiesOf(method, 'payout') === null) continue;
        assert.notEqual((await payOut(payoutCall(code, { amount }), own)).state, 'failed', code);
      }
    }));

  test('a voucher is handed over; a wrong one is asked for again', async () => {
    const call = charged('VODAFONE_GHA');
    const first = (await rail.collect(call)).observation;
    assert.equal(first.state === 'pending' && first.step?.kind, 'code');
    const query = queryCall(call);
    const { direction: _d, receipt: _r, ...code } = query;
    const wrong = await rail.submitCode?.({ ...code, msisdn: call.msisdn, code: '000000' });
    assert.ok(wrong?.observation.state === 'pending' && wrong.observation.step?.kind === 'code', wrong?.raw);
    const right = await rail.submitCode?.({ ...code, msisdn: call.msisdn, code: '123456' });
    assert.notEqual(right?.observation.state, 'failed');
    assert.equal((await endOf({ query })).state, 'succeeded');
  });

  test('a bank transfer is paid in the right amount only', () =>
    withOwnOperator({ payers: 'manual' }, async (own, operator) => {
      const call = charged('BANK_NGA');
      const first = (await own.collect(call)).observation;
      const step = first.state === 'pending' ? first.step : undefined;
      assert.ok(step?.kind === 'transfer' && step.payTo.kind === 'bank_account');
      const query = async () => (await own.query(queryCall(call))).observation;
      await operator.act('bank_transfer', { account_number: step.payTo.number, amount: '15.00' });
      assert.equal((await query()).state, 'pending');
      await operator.act('bank_transfer', { account_number: step.payTo.number, amount: '15.50' });
      const end = await query();
      assert.ok(end.state === 'succeeded' && end.amount === 1_550n && end.currency === 'NGN');
    }));

  test('a pay bill and a till show where to pay', () =>
    withOwnOperator({}, async (own) => {
      for (const [code, kind] of [
        ['MPESA_PAYBILL_KEN', 'paybill'],
        ['MPESA_TILL_KEN', 'till'],
      ] as const) {
        const { observation } = await own.collect(charged(code, { msisdn: '254710000123' }));
        const step = observation.state === 'pending' ? observation.step : undefined;
        assert.equal(step?.kind === 'transfer' && step.payTo.kind, kind);
      }
    }));

  test('the receipt of M-PESA is the same from every source', async () => {
    const call = charged('MPESA_KEN', { msisdn: '254710000123' });
    await rail.collect(call);
    const end = await endOf({ query: queryCall(call) });
    await settled();
    assert.ok(end.state === 'succeeded' && /^[A-Z0-9]{10}$/.test(end.receipt ?? ''));
    const reading = listener.readings.find((each) => 'reference' in each && each.reference === call.reference);
    assert.ok(reading?.kind === 'proof' && reading.observation.state === 'succeeded');
    assert.ok(reading.observation.receipt === null || reading.observation.receipt === end.receipt);
  });

  test('a payout comes back', async () => {
    await simulator.act('plan_transfer', { outcome: 'reversed' });
    const sent = await send('payout');
    await settled();
    const { observation } = await rail.query(sent.query);
    assert.equal(observation.state, 'reversed');
    const states = listener.readings.map((reading) => reading.kind === 'proof' && reading.observation.state);
    assert.deepEqual(states, ['succeeded', 'reversed']);
  });

  test('refunds in parts leave the collection paid; a chargeback takes it back', async () => {
    const call = charged();
    const submittedAt = new Date();
    await rail.collect(call);
    await settled();
    for (const amount of [500n, 1_050n]) {
      const refund = refundCall(call, { amount });
      assert.equal((await rail.refund?.(refund))?.observation.state, 'pending');
      await settled();
      assert.equal((await rail.refund?.(refund))?.observation.state, 'succeeded', 'a repeat finds the first');
      assert.equal((await rail.query(queryCall(call, { submittedAt }))).observation.state, 'succeeded');
    }
    assert.equal(
      (await rail.refund?.(refundCall(call, { amount: 1n })))?.observation.state,
      'failed',
      'nothing is left',
    );
    const refunds = simulator.book.movements().filter(({ id }) => id === call.reference.replace('_', '-'));
    assert.deepEqual(
      refunds.map(({ kind, amount }) => [kind, amount]),
      [
        ['collection', 1_550n],
        ['refund', 500n],
        ['refund', 1_050n],
      ],
    );
    const other = charged();
    await rail.collect(other);
    await settled();
    await simulator.act('reverse', { id: other.reference.replace('_', '-') });
    assert.equal((await rail.query(queryCall(other))).observation.state, 'reversed');
  });

  test('a chargeback of what a refund has left takes the collection back', async () => {
    const call = charged();
    await rail.collect(call);
    await settled();
    await rail.refund?.(refundCall(call, { amount: 500n }));
    await settled();
    assert.equal((await rail.query(queryCall(call))).observation.state, 'succeeded');
    await simulator.act('reverse', { id: call.reference.replace('_', '-') });
    assert.equal((await rail.query(queryCall(call))).observation.state, 'reversed');
    assert.equal(simulator.book.movements().at(-1)?.amount, 1_050n);
  });

  test('a refund that fails or waits for people', async () => {
    await simulator.act('plan_refund', { outcome: 'failed' });
    assert.equal((await endOf(await send('refund'))).state, 'failed');
    await simulator.act('plan_refund', { outcome: 'needs-attention' });
    const sent = await send('refund');
    await settled();
    assert.equal((await rail.query(sent.query)).observation.state, 'pending');
  });

  test('a webhook with another signature is refused, and comes again', async () => {
    await simulator.act('plan_webhook', {});
    const { reference } = await send('collection');
    const isProof = () => listener.readings.some((each) => each.kind === 'proof' && each.reference === reference);
    for (let tries = 0; tries < 100 && !isProof(); tries += 1) await pause(20);
    assert.ok(isProof());
    assert.ok(listener.readings.some(({ kind }) => kind === 'rejected'));
  });

  test('check and balance', async () => {
    assert.deepEqual(
      (await rail.check()).filter(({ problem }) => problem !== null),
      [],
    );
    const reply = await rail.balance?.();
    assert.ok(reply && 'balances' in reply && reply.balances.some(({ currency }) => currency === 'NGN'));
    await simulator.act('roll_key', { secretKey: 'sk_test_another' });
    assert.match((await rail.check())[0]?.problem ?? '', /refuses the secret key/);
    await simulator.act('roll_key', { secretKey: 'sk_test_simulator' });
  });
});
