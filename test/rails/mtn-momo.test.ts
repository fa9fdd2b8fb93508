// The rail of MTN against its simulator, which was written from MTN's documents and shares no code with it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type RunningSimulator, startSimulator } from '../../simulators/frame.ts';
import { createMtnMomoSimulator } from '../../simulators/mtn-momo.ts';
import { mtnMomoRail } from '../../src/rails/mtn-momo.ts';
import type { Rail } from '../../src/rails/rail.ts';
import { uuid4Of } from '../../src/rails/wire-ids.ts';
import { newRefundReference, queryOf } from '../rail-calls.ts';
import { testConnection } from '../rail-connection.ts';
import { endOf, movementsOf, newCall, submit } from './rail-steps.ts';

const METHOD = 'MTN_MOMO_UGA';
const PAYER = '256772345678';
let simulator: RunningSimulator;
let rail: Rail;

before(async () => {
  simulator = await startSimulator(createMtnMomoSimulator, {});
  rail = mtnMomoRail.open(testConnection(mtnMomoRail, simulator.url, { publicUrl: 'http://localhost:1' }));
});
after(async () => {
  await rail.close();
  await simulator.close();
});

describe('MTN', () => {
  test('check', async () => {
    assert.deepEqual(
      (await rail.check()).map(({ problem }) => problem),
      [null, null, null],
    );
  });

  test('a collection, a payout and a refund reach their end', async () => {
    const call = newCall(METHOD, PAYER);
    const paid = await endOf(rail, call, 'collection', await submit(rail, call, 'collection'));
    assert.ok(paid.state === 'succeeded' && paid.amount === call.amount && paid.receipt !== null);
    const payout = newCall(METHOD, PAYER);
    assert.equal((await endOf(rail, payout, 'payout', await submit(rail, payout, 'payout'))).state, 'succeeded');
    const refund = { ...newCall(METHOD, PAYER), reference: newRefundReference() };
    const collection = { reference: call.reference, railReference: null, receipt: paid.receipt, amount: call.amount };
    const reply = await rail.refund?.({ ...refund, collection });
    assert.ok(reply?.observation.state === 'pending');
    const ended = await endOf(rail, refund, 'refund', { prepared: null, observation: reply.observation });
    assert.equal(ended.state, 'succeeded');
  });

  test('a payer without money', async () => {
    const call = newCall(METHOD, '256772345001');
    const ended = await endOf(rail, call, 'collection', await submit(rail, call, 'collection'));
    assert.ok(ended.state === 'failed');
    assert.equal(ended.failureCode, 'INSUFFICIENT_FUNDS');
  });

  test('a text to the payer: sent, refused, or not known; never an exception', async () => {
    const call = newCall(METHOD, PAYER);
    await endOf(rail, call, 'collection', await submit(rail, call, 'collection'));
    const text = { ...call, railReference: null, text: 'UGX 5,000 paid to Café “Zoé”. Receipt: https://x.org/r/7K3' };
    const send = async (changes = {}) => (await rail.sendPayerText?.({ ...text, ...changes }))?.state;
    assert.equal(await send(), 'sent');
    const arrived = { reference: uuid4Of(call.reference), msisdn: PAYER };
    const said = 'UGX 5,000 paid to Cafe Zoe. Receipt: https://x.org/r/7K3';
    assert.deepEqual((await simulator.act('texts', {})).body, [{ ...arrived, text: said }]);
    assert.equal(await send({ reference: newCall(METHOD, PAYER).reference }), 'refused');
    for (const fault of ['answer_lost', 'error_while_processing', 'error_before_processing', 'html_error'] as const) {
      simulator.faults.add({ fault, operation: 'other' });
      assert.equal(await send(), 'unknown', fault);
    }
    const observed = await rail.query(queryOf(call.reference, call.method));
    assert.equal(observed.observation.state, 'succeeded', 'the payment is as it was');
  });

  for (const direction of ['collection', 'payout'] as const)
    for (const fault of ['answer_lost', 'error_while_processing', 'html_error', 'oversized', 'duplicate_id'] as const)
      test(`${direction}, ${fault}: the query tells, and the money moved once`, async () => {
        const call = newCall(METHOD, PAYER);
        simulator.faults.add({ fault, operation: direction === 'payout' ? 'payout' : 'collect' });
        const first = await submit(rail, call, direction);
        assert.ok(first.observation.state === 'unknown' || first.observation.state === 'pending');
        assert.equal((await endOf(rail, call, direction, first)).state, 'succeeded');
        assert.equal((await submit(rail, call, direction)).observation.state, 'pending');
        assert.equal(movementsOf(simulator, uuid4Of(call.reference)), 1);
      });
});
