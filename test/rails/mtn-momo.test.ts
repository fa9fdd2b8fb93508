// The rail of MTN against its simulator, which was written from MTN's documents and shares no code with it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startSimulator } from '../../simulators/frame.ts';
import { createMtnMomoSimulator } from '../../simulators/mtn-momo.ts';
import { loadCatalog } from '../../src/catalog/catalog.ts';
import { createUuid, publicId } from '../../src/platform/ids.ts';
import { mtnMomoRail } from '../../src/rails/mtn-momo.ts';
import type { CollectCall, MoneyDirection, Observation, Rail } from '../../src/rails/rail.ts';
import { uuid4Of } from '../../src/rails/wire-ids.ts';
import { testConnection } from '../rail-connection.ts';

const method = loadCatalog().methods.get('MTN_MOMO_UGA') ?? assert.fail();
let simulator: Awaited<ReturnType<typeof startSimulator>>;
let rail: Rail;

before(async () => {
  simulator = await startSimulator(createMtnMomoSimulator, {});
  rail = mtnMomoRail.open(testConnection(mtnMomoRail, simulator.url, { publicUrl: 'http://localhost:1' }));
});
after(async () => {
  await rail.close();
  await simulator.close();
});

const newCall = (msisdn = '256772345678'): CollectCall => ({
  reference: publicId('TX', createUuid(Date.now())),
  method,
  msisdn,
  amount: 5_000_00n,
  currency: 'UGX',
  merchantName: 'Shop',
  prepared: null,
  verified: false,
  returnUrl: 'https://pay.example.com',
});

async function end(call: CollectCall, direction: MoneyDirection = 'collection'): Promise<Observation> {
  for (let tries = 0; tries < 400; tries++) {
    const { observation } = await rail.query({
      ...call,
      direction,
      railReference: null,
      receipt: null,
      submittedAt: new Date(),
    });
    if (observation.state !== 'pending') return observation;
    await pause(10);
  }
  return assert.fail('it did not end');
}

const movements = (reference: string) =>
  simulator.book.movements().filter(({ id }) => id === uuid4Of(reference)).length;

describe('MTN', () => {
  test('check', async () => {
    assert.deepEqual(
      (await rail.check()).map(({ problem }) => problem),
      [null, null, null],
    );
  });

  test('a collection, a payout and a refund reach their end', async () => {
    const call = newCall();
    assert.equal((await rail.collect(call)).observation.state, 'pending');
    const paid = await end(call);
    assert.ok(paid.state === 'succeeded' && paid.amount === call.amount && paid.receipt !== null);
    const payout = newCall();
    assert.equal((await rail.payout({ ...payout, recipientName: null })).observation.state, 'pending');
    assert.equal((await end(payout, 'payout')).state, 'succeeded');
    const refund = { ...newCall(), reference: publicId('RF', createUuid(Date.now()).replace(/(.{14})7/, '$18')) };
    const collection = { reference: call.reference, railReference: null, receipt: paid.receipt, amount: call.amount };
    assert.equal((await rail.refund?.({ ...refund, collection }))?.observation.state, 'pending');
    assert.equal((await end(refund, 'refund')).state, 'succeeded');
  });

  test('a refusal of the payer', async () => {
    const call = newCall('256772345001');
    await rail.collect(call);
    const ended = await end(call);
    assert.ok(ended.state === 'failed');
    assert.equal(ended.failureCode, 'INSUFFICIENT_FUNDS');
  });

  for (const fault of ['answer_lost', 'error_while_processing', 'html_error', 'oversized', 'duplicate_id'] as const)
    test(`${fault}: the query tells, and the money moved once`, async () => {
      const call = newCall();
      simulator.faults.add({ fault, operation: 'collect' });
      const { observation } = await rail.collect(call);
      assert.ok(observation.state === 'unknown' || observation.state === 'pending');
      assert.equal((await end(call)).state, 'succeeded');
      assert.equal((await rail.collect(call)).observation.state, 'pending');
      assert.equal(movements(call.reference), 1);
    });
});
