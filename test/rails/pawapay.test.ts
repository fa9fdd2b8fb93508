// The pawaPay rail and the pawaPay simulator, which share no code: every fault, and what really moved.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault, Operation } from '../../simulators/faults.ts';
import { type RunningSimulator, startSimulator } from '../../simulators/frame.ts';
import { createPawapaySimulator } from '../../simulators/pawapay.ts';
import { dashboardAddress } from '../../src/rails/callback-addresses.ts';
import { pawapayRail } from '../../src/rails/pawapay.ts';
import type { MoneyDirection, Observation, Rail } from '../../src/rails/rail.ts';
import { uuid4Of } from '../../src/rails/wire-ids.ts';
import { collectCall, methodOf, payoutCall, queryCall, refundCall } from '../rail-calls.ts';
import { testConnection } from '../rail-connection.ts';
import { type CallbackListener, startCallbackListener } from './callback-listener.ts';

/** Longer than a busy machine stands still. */
const TIME_LIMIT_MS = 30_000;
/** Of the rail whose operator is slow. */
const SHORT_LIMIT_MS = 1_000;
let simulator: RunningSimulator;
let listener: CallbackListener;
let rail: Rail;
let impatient: Rail;

before(async () => {
  listener = await startCallbackListener();
  simulator = await startSimulator(createPawapaySimulator, {
    slowMs: SHORT_LIMIT_MS + 500,
    callbackLateMs: 50,
    settings: {
      callbackUrl: dashboardAddress(
        testConnection(pawapayRail, 'http://127.0.0.1', { publicUrl: listener.publicUrl }).addresses,
      ),
      lateSuccessSeconds: '0.2',
      callbackRetrySeconds: '0.2',
    },
  });
  const open = (timeoutMs: number) =>
    pawapayRail.open(testConnection(pawapayRail, simulator.url, { publicUrl: listener.publicUrl, timeoutMs }));
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

type Sent = { reference: string; direction: MoneyDirection; first: Observation; query: ReturnType<typeof queryCall> };

const PAYER = '260763456780';

async function send(direction: MoneyDirection, faults: readonly Fault[] = []): Promise<Sent> {
  const collection = collectCall('MTN_MOMO_ZMB', { amount: 1_550n, msisdn: PAYER });
  if (direction === 'refund') {
    await rail.collect(collection);
    await simulator.idle();
    listener.readings.length = 0;
  }
  for (const fault of faults) simulator.faults.add(callbackOrOwn(fault, direction));
  const refund = refundCall(collection, { amount: 550n });
  const payout = payoutCall('MTN_MOMO_ZMB', { amount: 1_550n, msisdn: PAYER });
  const call = { collection, payout, refund }[direction];
  const asked = faults.includes('slow') ? impatient : rail;
  const reply =
    direction === 'collection'
      ? await asked.collect(collection)
      : direction === 'payout'
        ? await asked.payout(payout)
        : await asked.refund?.(refund);
  assert.ok(reply);
  const query = queryCall(call, { direction });
  return { reference: call.reference, direction, first: reply.observation, query };
}

function callbackOrOwn(fault: Fault, direction: MoneyDirection): { fault: Fault; operation: Operation } {
  const own = ({ collection: 'collect', payout: 'payout', refund: 'refund' } as const)[direction];
  const isCallback = fault.startsWith('callback_') && fault !== 'callback_before_answer';
  return { fault, operation: isCallback ? 'other' : own };
}

async function endOf({ query }: Sent): Promise<Observation> {
  for (let tries = 0; ; tries += 1) {
    const { observation } = await rail.query(query);
    const isOpen = observation.state === 'pending' || observation.state === 'unknown';
    if (!isOpen || tries === 200) return observation;
    await pause(20);
  }
}

const movementsOf = (reference: string) => simulator.book.movements().filter(({ id }) => id === uuid4Of(reference));
const DIRECTIONS = ['collection', 'payout', 'refund'] as const;

describe('pawapay and its simulator', () => {
  for (const direction of DIRECTIONS) {
    test(`a ${direction} moves money once, and its callback is proof`, async () => {
      const sent = await send(direction);
      assert.equal(sent.first.state, 'pending');
      const end = await endOf(sent);
      assert.equal(end.state, 'succeeded');
      await simulator.idle();
      const [movement, ...others] = movementsOf(sent.reference);
      assert.equal(others.length, 0);
      assert.ok(end.state === 'succeeded' && movement);
      assert.deepEqual([end.amount, end.currency, end.receipt], [movement.amount, 'ZMW', movement.receipt]);
      const expected = { kind: 'proof', reference: sent.reference, direction, observation: end };
      assert.deepEqual(listener.readings, [expected]);
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
        await simulator.idle();
        assert.equal(movementsOf(sent.reference).length, 1);
        assert.ok(listener.readings.every(({ kind }) => kind === 'proof'));
      });

    test(`a ${direction} that never arrived is not found`, async () => {
      const sent = await send(direction, ['error_before_processing']);
      assert.equal(sent.first.state, 'unknown');
      const { observation } = await rail.query(sent.query);
      assert.equal(observation.state === 'unknown' && observation.definitelyNotFound, true);
    });

    test(`a ${direction} whose token ended was refused, and nothing moved`, async () => {
      const sent = await send(direction, ['token_ended']);
      assert.equal(sent.first.state === 'failed' && sent.first.failureCode, 'OPERATOR_UNAVAILABLE');
      const twice = await send(direction, ['duplicate_id', 'token_ended']);
      assert.notEqual(twice.first.state, 'failed', 'one of the two requests was taken');
      assert.equal((await endOf(twice)).state, 'succeeded');
      assert.equal(movementsOf(twice.reference).length, 1);
      assert.equal(movementsOf(sent.reference).length, 0);
    });

    test(`a ${direction} with a code that nobody knows has failed, and nothing moved`, async () => {
      const sent = await send(direction, ['unknown_code']);
      const end = await endOf(sent);
      assert.equal(end.state === 'failed' && end.failureCode, 'UNSPECIFIED');
      assert.equal(movementsOf(sent.reference).length, 0);
    });

    test(`a ${direction} whose fields have other names is never an end`, async () => {
      const names = { collection: 'depositId', payout: 'payoutId', refund: 'refundId' };
      for (const renamed of ['status', names[direction], 'amount', 'currency', 'data']) {
        const sent = await send(direction);
        await simulator.idle();
        simulator.faults.add({ fault: 'field_renamed', operation: 'query', times: 1, rename: { [renamed]: 'other' } });
        assert.equal((await rail.query(sent.query)).observation.state, 'unknown', renamed);
      }
    });
  }

  const endings: [MoneyDirection, string, string][] = [
    ['collection', '260763456019', 'PAYER_LIMIT_REACHED'],
    ['collection', '260763456029', 'PAYER_NOT_FOUND'],
    ['collection', '260763456039', 'PAYER_CANCELLED'],
    ['collection', '260763456049', 'INSUFFICIENT_FUNDS'],
    ['collection', '260763456069', 'UNSPECIFIED'],
    ['payout', '260763456089', 'RECIPIENT_NOT_FOUND'],
    ['payout', '260763456099', 'PAYER_LIMIT_REACHED'],
    ['payout', '260763456119', 'UNSPECIFIED'],
  ];
  for (const [direction, msisdn, failureCode] of endings)
    test(`the ${direction} of ${msisdn} ends with ${failureCode}`, async () => {
      const call = payoutCall('MTN_MOMO_ZMB', { amount: 1_550n, msisdn });
      const collect = { ...collectCall('MTN_MOMO_ZMB'), ...call };
      await (direction === 'payout' ? rail.payout(call) : rail.collect(collect));
      const end = await endOf({
        ...call,
        direction,
        first: { state: 'pending' },
        query: queryCall(call, { direction }),
      });
      assert.equal(end.state === 'failed' && end.failureCode, failureCode);
    });

  test('every method is taken in both directions', async () => {
    for (const code of pawapayRail.methods) {
      const amount = methodOf(code).collection.min > 100_000n ? methodOf(code).collection.min : 100_000n;
      const collected = await rail.collect(collectCall(code, { amount }));
      assert.equal(collected.observation.state, 'pending', `${code}: ${collected.raw}`);
      const paid = await rail.payout(payoutCall(code, { amount }));
      assert.equal(paid.observation.state, 'pending', `${code}: ${paid.raw}`);
    }
    await simulator.idle();
  });

  test('refusals of amounts and of an empty wallet', async () => {
    const large = await rail.collect(collectCall('MTN_MOMO_ZMB', { amount: 900_000_000_00n, msisdn: PAYER }));
    assert.equal(large.observation.state === 'failed' && large.observation.failureCode, 'AMOUNT_OUT_OF_RANGE');
    const collection = collectCall('MTN_MOMO_ZMB', { amount: 1_550n, msisdn: PAYER });
    await rail.collect(collection);
    await simulator.idle();
    const more = await rail.refund?.(refundCall(collection, { amount: 1_551n }));
    assert.equal(more?.observation.state, 'failed');
    const whole = refundCall(collection);
    assert.equal((await rail.refund?.(whole))?.observation.state, 'pending');
    await simulator.idle();
    assert.equal((await rail.refund?.(refundCall(collection)))?.observation.state, 'failed', 'nothing is left');
    assert.equal((await rail.refund?.(whole))?.observation.state, 'unknown', 'a repeat is asked for');
  });

  test('a payout that waits for its operator can be cancelled', async () => {
    await simulator.act('set_status', { provider: 'MTN_MOMO_ZMB', operation: 'payout', status: 'DELAYED' });
    const sent = await send('payout');
    await simulator.idle();
    assert.equal((await rail.query(sent.query)).observation.state, 'pending');
    await rail.cancel?.(sent.query);
    const end = await endOf(sent);
    assert.equal(end.state === 'failed' && end.rawCode, 'MANUALLY_CANCELLED');
    await simulator.act('set_status', { provider: 'MTN_MOMO_ZMB', operation: 'payout', status: 'OPERATIONAL' });
  });

  test('signatures that prove nothing', async () => {
    for (const [fault, kinds] of [
      ['wrong_digest', ['rejected', 'proof']],
      ['expired_signature', ['hint']],
      ['stripped_signature', ['rejected', 'proof']],
      ['processing_after_final', ['proof', 'nothing']],
    ] as const) {
      listener.readings.length = 0;
      await simulator.act('plan_callback', { fault });
      await endOf(await send('collection'));
      await simulator.idle();
      assert.deepEqual(
        listener.readings.map(({ kind }) => kind),
        kinds,
        fault,
      );
    }
  });

  test('a new key is learned from the repeats', async () => {
    await simulator.act('rotate_key', {});
    const fresh = pawapayRail.open(testConnection(pawapayRail, simulator.url, { publicUrl: listener.publicUrl }));
    listener.rail = fresh;
    await endOf(await send('collection'));
    await simulator.idle();
    assert.equal(listener.readings.at(-1)?.kind, 'proof');
    listener.rail = rail;
    await fresh.close();
  });

  test('check and balance', async () => {
    assert.deepEqual(
      (await rail.check()).filter(({ problem }) => problem !== null),
      [],
    );
    const reply = await rail.balance?.();
    assert.ok(reply && 'balances' in reply && reply.balances.some(({ account }) => account === 'ZMB'));
    await simulator.act('set_token', { token: 'another' });
    assert.deepEqual(await rail.check(), [{ name: 'API token', problem: 'pawaPay refuses the API token.' }]);
    await simulator.act('set_token', { token: 'pawapay-simulator-token' });
  });
});
