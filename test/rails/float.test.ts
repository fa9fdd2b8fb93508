// Rails that say that an operator refused a payout for lack of float and kept nothing of it, against simulators that share no code
// with them: after a top-up the same reference is paid, once. The others do not say it, although they name the same reason.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAirtelMoneySimulator } from '../../simulators/airtel-money.ts';
import { type CreateSimulator, type RunningSimulator, startSimulator } from '../../simulators/frame.ts';
import { createPawapaySimulator } from '../../simulators/pawapay.ts';
import { createPaystackSimulator } from '../../simulators/paystack.ts';
import { airtelMoneyRail } from '../../src/rails/airtel-money.ts';
import type { RailDefinition } from '../../src/rails/connection.ts';
import { pawapayRail } from '../../src/rails/pawapay.ts';
import { paystackRail } from '../../src/rails/paystack.ts';
import type { CollectCall, Rail } from '../../src/rails/rail.ts';
import { collectCall } from '../rail-calls.ts';
import { testConnection } from '../rail-connection.ts';
import { endOf, submit } from './rail-steps.ts';

type Parts = { simulator: RunningSimulator; rail: Rail; call: CollectCall };

async function withEmptyAccount(
  create: CreateSimulator,
  definition: RailDefinition,
  [method, msisdn]: readonly [string, string],
  work: (parts: Parts) => Promise<void>,
): Promise<void> {
  const simulator = await startSimulator(create, { openingBalance: 1_00n });
  const rail = definition.open(testConnection(definition, simulator.url));
  try {
    await work({ simulator, rail, call: collectCall(method, { msisdn, amount: 10_00n }) });
  } finally {
    await rail.close();
    await simulator.close();
  }
}

const TAKERS = [
  ['pawaPay', createPawapaySimulator, pawapayRail, ['MTN_MOMO_ZMB', '260763456789'], { country: 'ZMB' }],
  ['Paystack', createPaystackSimulator, paystackRail, ['MTN_MOMO_GHA', '233551234000'], { currency: 'GHS' }],
] as const;

for (const [name, create, definition, to, account] of TAKERS)
  test(`${name}: a payout that was refused for lack of float is paid once under the same reference`, async () => {
    await withEmptyAccount(create, definition, to, async ({ simulator, rail, call }) => {
      for (let tries = 0; tries < 2; tries++) {
        const { observation } = await submit(rail, call, 'payout');
        assert.ok(observation.state === 'failed' && observation.failureCode === 'FLOAT_INSUFFICIENT');
        assert.equal(observation.notTaken, true);
      }
      await simulator.act('top_up', { ...account, amount: '50' });
      assert.equal((await endOf(rail, call, 'payout', await submit(rail, call, 'payout'))).state, 'succeeded');
      await submit(rail, call, 'payout');
      await simulator.idle();
      assert.equal(simulator.book.movements().length, 1);
    });
  });

test('Airtel: the id of a refused payout may be taken, so the refusal ends it', async () => {
  await withEmptyAccount(
    createAirtelMoneySimulator,
    airtelMoneyRail,
    ['AIRTEL_OAPI_UGA', '256752604392'],
    async ({ rail, call }) => {
      const { observation } = await submit(rail, { ...call, amount: 5_000_00n }, 'payout');
      assert.ok(observation.state === 'failed' && observation.failureCode === 'FLOAT_INSUFFICIENT');
      assert.equal(observation.notTaken, undefined);
    },
  );
});
