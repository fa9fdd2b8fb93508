// A sample of the matrix of run.ts: every rail and every fault at least once, in directions that the seed chooses.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FAULTS } from '../../simulators/faults.ts';
import {
  type ContractCase,
  describeCase,
  faultCases,
  problemsAtEnd,
  renamedEverywhere,
  renamingCases,
  sampleOf,
  tryCase,
} from './contract.ts';
import { type OperatorGateway, openOperatorGateway } from './operator-gateway.ts';
import { OPERATORS } from './operators.ts';

const SEED = Number(process.env.RAILS_SEED ?? 1);
const RENAMED = 4;

/** One case of each fault, and a payment of each direction without any. */
function sampleFaults(opened: OperatorGateway, seed: number): ContractCase[] {
  const cases = faultCases(opened);
  return [
    ...cases.filter(({ faults, payer }) => faults.length === 0 && payer === undefined),
    ...FAULTS.flatMap((fault, index) =>
      sampleOf(
        cases.filter(({ faults }) => faults[0]?.fault === fault),
        1,
        seed + index,
      ),
    ),
  ];
}

for (const [index, operator] of OPERATORS.entries())
  describe(`the contract of rails: ${operator.name}`, () => {
    let opened: OperatorGateway;
    before(async () => {
      opened = await openOperatorGateway(operator, SEED);
    });
    after(() => opened.close());

    async function tryTruly(each: ContractCase): Promise<string> {
      const { status, problems } = await tryCase(opened, each);
      assert.deepEqual(problems, [], describeCase(each));
      return status;
    }

    test('whatever goes wrong, both books agree', async () => {
      for (const each of sampleFaults(opened, SEED + index * 100)) {
        const status = await tryTruly(each);
        if (each.faults.length > 0 || status === 'success') continue;
        // The machine stood still for longer than the gateway waits here for an answer.
        assert.equal(await tryTruly(each), 'success', describeCase(each));
      }
    });

    test('a field with another name makes nothing succeed or fail', async () => {
      for (const each of sampleOf(renamingCases(opened), RENAMED, SEED + index))
        assert.deepEqual((await tryCase(opened, each)).problems, [], describeCase(each));
      if (operator.statusField === null) return;
      const { status, problems } = await tryCase(opened, renamedEverywhere('collection', operator.statusField));
      assert.deepEqual(problems, []);
      assert.notEqual(status, 'success', `the rail does not need ${operator.statusField}`);
    });

    test('the ledger agrees with itself, and no secret can be read', async () => {
      assert.deepEqual(await problemsAtEnd(opened), []);
    });
  });
