// The rail of Orange against its simulator, which was written from Orange's documents and shares no code with it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type RunningSimulator, startSimulator } from '../../simulators/frame.ts';
import { createOrangeMoneySimulator } from '../../simulators/orange-money.ts';
import { orangeMoneyRail } from '../../src/rails/orange-money.ts';
import type { Rail } from '../../src/rails/rail.ts';
import { testConnection } from '../rail-connection.ts';
import { endOf, newCall, submit } from './rail-steps.ts';

const METHODS = { web_payment: 'ORANGE_CIV', cameroon: 'ORANGE_CMR', sonatel: 'ORANGE_SEN' } as const;
const PAYERS = { web_payment: '2250734567890', cameroon: '237693456789', sonatel: '221773456789' } as const;
type Interface = keyof typeof METHODS;
let simulator: RunningSimulator;
const rails = new Map<Interface, Rail>();

before(async () => {
  simulator = await startSimulator(createOrangeMoneySimulator, {});
  for (const name of Object.keys(METHODS) as Interface[])
    rails.set(
      name,
      orangeMoneyRail.open(testConnection(orangeMoneyRail, simulator.url, { settings: { interface: name } })),
    );
});
after(async () => {
  for (const rail of rails.values()) await rail.close();
  await simulator.close();
});

const railOf = (name: Interface) => rails.get(name) ?? assert.fail();

for (const name of Object.keys(METHODS) as Interface[])
  describe(`Orange ${name}`, () => {
    test('check', async () => {
      const problems = (await railOf(name).check()).flatMap(({ problem }) => problem ?? []);
      assert.deepEqual(problems, []);
    });

    test('a collection reaches its end, and the money moved once', async () => {
      const call = newCall(METHODS[name], PAYERS[name]);
      const before = simulator.book.movements().length;
      const ended = await endOf(railOf(name), call, 'collection', await submit(railOf(name), call, 'collection'));
      assert.ok(
        ended.state === 'succeeded' && ended.receipt !== null,
        JSON.stringify(ended, (_, v) => String(v)),
      );
      assert.equal(simulator.book.movements().length, before + 1);
    });
  });

test('Sonatel: a cash-in is paid once, and found again after a lost answer', async () => {
  const rail = railOf('sonatel');
  for (const fault of [null, 'answer_lost', 'error_while_processing', 'html_error'] as const) {
    const call = newCall('ORANGE_SEN', PAYERS.sonatel);
    if (fault !== null) simulator.faults.add({ fault, operation: 'payout' });
    const before = simulator.book.movements().length;
    const first = await submit(rail, call, 'payout');
    assert.notEqual(first.observation.state, 'failed');
    assert.equal((await endOf(rail, call, 'payout', first)).state, 'succeeded');
    assert.equal(simulator.book.movements().length, before + 1);
  }
});
