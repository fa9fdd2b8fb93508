// Statements that rails fetch from the simulators, which share no code with them: our readers find what really moved, once.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAirtelMoneySimulator } from '../../simulators/airtel-money.ts';
import { createDarajaSimulator } from '../../simulators/daraja.ts';
import { type CreateSimulator, startSimulator } from '../../simulators/frame.ts';
import { createOrangeMoneySimulator } from '../../simulators/orange-money.ts';
import { createPaystackSimulator } from '../../simulators/paystack.ts';
import { airtelMoneyRail } from '../../src/rails/airtel-money.ts';
import type { RailDefinition } from '../../src/rails/connection.ts';
import { darajaRail } from '../../src/rails/daraja.ts';
import { orangeMoneyRail } from '../../src/rails/orange-money.ts';
import { paystackRail } from '../../src/rails/paystack.ts';
import type { Rail, StatementPart } from '../../src/rails/rail.ts';
import { testConnection } from '../rail-connection.ts';
import { createStatementFolder, readStatement } from '../statements.ts';
import { endOf, newCall, submit } from './rail-steps.ts';

const HOUR_MS = 3_600_000;
const PAYMENTS = 3;

type Operator = {
  name: string;
  create: CreateSimulator;
  definition: RailDefinition;
  settings?: Record<string, string>;
  method: string;
  payer: string;
  format: string;
};

const OPERATORS: Operator[] = [
  {
    name: 'Airtel',
    create: createAirtelMoneySimulator,
    definition: airtelMoneyRail,
    method: 'AIRTEL_OAPI_UGA',
    payer: '256752604392',
    format: 'airtel',
  },
  {
    name: 'Orange in Senegal',
    create: createOrangeMoneySimulator,
    definition: orangeMoneyRail,
    settings: { interface: 'sonatel' },
    method: 'ORANGE_SEN',
    payer: '221773456789',
    format: 'sonatel',
  },
  {
    name: 'Paystack',
    create: createPaystackSimulator,
    definition: paystackRail,
    method: 'MTN_MOMO_GHA',
    payer: '233551234000',
    format: 'paystack',
  },
  {
    name: 'Safaricom',
    create: createDarajaSimulator,
    definition: darajaRail,
    method: 'MPESA_KEN',
    payer: '254708374149',
    format: 'safaricom',
  },
];

async function allRecords(rail: Rail, span: { from: Date; to: Date }): Promise<object[]> {
  const records: object[] = [];
  for (let part: string | null = null, number = 0; number < 20; number++) {
    const reply: StatementPart | undefined = await rail.fetchStatement?.(span, part);
    assert.ok(reply && 'records' in reply, JSON.stringify(reply));
    records.push(...reply.records);
    part = reply.next;
    if (part === null) return records;
  }
  return assert.fail('the statement has no end');
}

for (const { name, create, definition, settings = {}, method, payer, format } of OPERATORS)
  describe(name, () => {
    test('a fetched statement has what was paid, once, with its receipt', async () => {
      const simulator = await startSimulator(create, { settings: { sameAmountSeconds: '0' } });
      const rail = definition.open(testConnection(definition, simulator.url, { settings }));
      const folder = await createStatementFolder();
      try {
        // Safaricom lists only numbers that were registered for it.
        await rail.check();
        const receipts = [];
        for (let each = 0; each < PAYMENTS; each++) {
          const call = newCall(method, payer);
          const paid = await endOf(rail, call, 'collection', await submit(rail, call, 'collection'));
          assert.ok(paid.state === 'succeeded');
          receipts.push(paid.receipt ?? simulator.book.movements().at(-1)?.receipt ?? null);
        }
        const span = { from: new Date(Date.now() - HOUR_MS), to: new Date(Date.now() + HOUR_MS) };
        const text = JSON.stringify(await allRecords(rail, span));
        const read = await readStatement(await folder.write('statement.json', text));
        assert.deepEqual([read.format, read.problems], [format, []]);
        assert.deepEqual(new Set(read.lines.map(({ receipt }) => receipt)), new Set(receipts));
        assert.equal(read.lines.length, PAYMENTS);
        for (const { direction, state, gross } of read.lines)
          assert.deepEqual([direction, state, gross], ['in', 'succeeded', 5_000_00n]);
        const before = { from: new Date(Date.now() - 5 * HOUR_MS), to: new Date(Date.now() - 4 * HOUR_MS) };
        assert.deepEqual(await allRecords(rail, before), []);
      } finally {
        await folder.close();
        await rail.close();
        await simulator.close();
      }
    });

    test('an operator that does not answer gives no statement, and no empty one', async () => {
      const rail = definition.open(testConnection(definition, 'http://127.0.0.1:1', { settings }));
      const reply = await rail.fetchStatement?.({ from: new Date(Date.now() - HOUR_MS), to: new Date() }, null);
      assert.ok(reply && 'error' in reply);
      await rail.close();
    });
  });
