// An operator that signs nothing and answers questions about payouts and reversals by callback only, under both rules that a
// connection can have for such messages.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { changeConnection } from '../../src/payments/connection-changes.ts';
import type { Transaction } from '../../src/payments/transactions.ts';
import { type OperatorGateway, openOperatorGateway } from './operator-gateway.ts';
import { OPERATORS } from './operators.ts';

const AMOUNT = 1_000_00n;
const DARAJA = OPERATORS.find(({ name }) => name === 'daraja') ?? assert.fail();

/** How often the operator was asked about it. */
async function questions({ gateway }: OperatorGateway, { id }: Transaction): Promise<number> {
  const rows = await gateway.ctx.ownerDb.query(`select from evidence where transaction_id = $1 and source = 'poll'`, [
    id,
  ]);
  return rows.length;
}

test('where results only give a reason to ask, the answers end payouts and reversals', async (t) => {
  const opened = await openOperatorGateway(DARAJA);
  t.after(() => opened.close());
  await changeConnection(opened.gateway.ctx, COMMAND_LINE, DARAJA.name, { matchedCallbacks: 'ask' });
  const payout = await opened.untilEnded(await opened.payOut(AMOUNT));
  assert.equal(payout.status, 'success');
  assert.ok((await questions(opened, payout)) > 0);
  const collection = await opened.untilEnded(await opened.collect(AMOUNT));
  await opened.settle();
  const refund = await opened.untilEnded(await opened.refund(collection, AMOUNT));
  assert.equal(refund.status, 'success');
  assert.ok((await questions(opened, refund)) > 0);
});

test('where results count, the end of a reversal is not asked about', async (t) => {
  const opened = await openOperatorGateway(DARAJA);
  t.after(() => opened.close());
  const collection = await opened.untilEnded(await opened.collect(AMOUNT));
  await opened.settle();
  const asked = await opened.refund(collection, AMOUNT);
  // Its result is there before the clock moves on.
  await opened.settle();
  await opened.simulator.idle();
  const refund = await opened.untilEnded(asked);
  assert.equal(refund.status, 'success');
  await opened.settle();
  assert.equal(await questions(opened, refund), 0);
});
