// Statements that the simulators print, which share no code with the gateway: our readers find in them what really moved.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDarajaSimulator, DARAJA_SIMULATOR_SETTINGS } from '../simulators/daraja.ts';
import { startSimulator } from '../simulators/frame.ts';
import { createStatementFolder, readStatement } from './statements.ts';

test('Safaricom: lines and balances of the statement are those of the book', async () => {
  const simulator = await startSimulator(createDarajaSimulator, { settings: { ...DARAJA_SIMULATOR_SETTINGS } });
  const folder = await createStatementFolder();
  try {
    const common = { msisdn: '254708374149', currency: 'KES' };
    simulator.book.enter({ ...common, kind: 'collection', id: 'INV7', receipt: 'SKE1AAAAA1', amount: 1_234_500n });
    simulator.book.enter({ ...common, kind: 'payout', id: 'PO1', receipt: 'SKE1AAAAA2', amount: 50_000n });
    simulator.book.enter({
      ...common,
      kind: 'collection_reversed',
      id: 'INV7',
      receipt: 'SKE1AAAAA3',
      amount: 1_234_500n,
    });
    const answer = await fetch(`${simulator.url}/_simulator/statement`, { method: 'POST', body: '{}' });
    const { format, lines, problems, openingBalance, closingBalance } = await readStatement(
      await folder.write('org.csv', await answer.text()),
    );
    assert.deepEqual([format, problems], ['safaricom', []]);
    assert.deepEqual(
      lines.map(({ receipt, kind, direction, gross, reference, msisdn }) => [
        receipt,
        kind,
        direction,
        gross,
        reference,
        msisdn,
      ]),
      [
        ['SKE1AAAAA3', 'reversal', 'out', 1_234_500n, 'SKE1AAAAA1', '2547****149'],
        ['SKE1AAAAA2', 'payment', 'out', 50_000n, null, '2547****149'],
        ['SKE1AAAAA1', 'payment', 'in', 1_234_500n, 'INV7', '2547****149'],
      ],
    );
    // Lines of one second: only their balances show that the newest is first.
    assert.deepEqual([openingBalance, closingBalance], [1_000_000_00n, simulator.book.balance('KES')]);
  } finally {
    await folder.close();
    await simulator.close();
  }
});
