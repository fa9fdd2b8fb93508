// A new key may be that of another account of the same operator, and nobody can tell: it opens, and knows none of the payments
// that the account before has. That says nothing about them, so they are neither sent again nor given up.

import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { type RunningSimulator, startSimulator } from '../../simulators/frame.ts';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { countOpenCases } from '../../src/payments/case-list.ts';
import { changeConnection } from '../../src/payments/connection-changes.ts';
import type { Transaction } from '../../src/payments/transactions.ts';
import { type OperatorGateway, openOperatorGateway } from './operator-gateway.ts';
import { OPERATORS } from './operators.ts';

/** The setting that is the key of the account, the key of the simulator, and that of another one. */
const KEYS = {
  pawapay: {
    setting: 'api_token',
    simulatorSetting: 'apiToken',
    own: 'pawapay-simulator-token',
    other: 'another-token',
  },
  paystack: { setting: 'secret_key', simulatorSetting: 'secretKey', own: 'sk_test_simulator', other: 'sk_test_other' },
} as const;
const AMOUNT = 500_000n;
const HOUR_MS = 3_600_000;

let opened: OperatorGateway;
let other: RunningSimulator;
afterEach(async () => {
  await opened.close();
  await other.close();
});

async function open(name: keyof typeof KEYS): Promise<void> {
  // Without callbacks: the operator is known by asking only.
  const { registerAction: _, ...operator } = OPERATORS.find((each) => each.name === name) ?? assert.fail(name);
  opened = await openOperatorGateway(operator);
  other = await startSimulator(operator.createSimulator, {
    settings: { ...operator.simulatorSettings, [KEYS[name].simulatorSetting]: KEYS[name].other },
    now: () => opened.gateway.ctx.clock.millis(),
    openingBalance: AMOUNT * 100n,
  });
}

const useKey = (name: keyof typeof KEYS, value: string, baseUrl: string) =>
  changeConnection(opened.gateway.ctx, COMMAND_LINE, opened.operator.name, {
    values: { [KEYS[name].setting]: value },
    baseUrl,
  });

async function passHours(hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    opened.gateway.ctx.clock.advance(HOUR_MS);
    await opened.settle();
  }
}

for (const name of ['pawapay', 'paystack'] as const)
  describe(name, () => {
    for (const direction of ['collection', 'payout'] as const)
      test(`a ${direction} of the account before is not sent in the other account`, async () => {
        await open(name);
        const { simulator } = opened;
        const operation = direction === 'collection' ? 'collect' : 'payout';
        simulator.faults.add({ fault: 'answer_lost', operation });
        const sent: Transaction = await (direction === 'collection' ? opened.collect(AMOUNT) : opened.payOut(AMOUNT));
        await opened.settle();
        assert.equal((await opened.read(sent)).status, 'processing');

        await useKey(name, KEYS[name].other, other.url);
        await passHours(3);
        assert.equal((await opened.read(sent)).status, 'processing');
        assert.deepEqual(other.book.movements(), [], 'no money moved in the other account');
        const cases = await countOpenCases(opened.gateway.ctx.db);
        assert.deepEqual([...cases], [], 'nobody is asked to send it again or give it up');

        await useKey(name, KEYS[name].own, simulator.url);
        await passHours(1);
        assert.equal((await opened.read(sent)).status, 'success');
        assert.equal(simulator.book.movements().length, 1);
      });

    test('what is sent with the new key is sent again when it never arrived', async () => {
      await open(name);
      await useKey(name, KEYS[name].other, other.url);
      await passHours(1);
      other.faults.add({ fault: 'error_before_processing', operation: 'collect' });
      const sent = await opened.collect(AMOUNT);
      await opened.settle();
      await passHours(2);
      assert.equal((await opened.read(sent)).status, 'success');
      assert.equal(other.book.movements().length, 1);
    });
  });
