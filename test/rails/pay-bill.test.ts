// Payers who pay a pay bill from their own menu, wrongly: too little, twice, with a wrong reference, before the order exists.
// Validation refuses it; where Safaricom does not ask first, suspense holds the money with a case.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatAmount } from '../../src/platform/money.ts';
import { type OperatorGateway, openOperatorGateway } from './operator-gateway.ts';
import { OPERATORS } from './operators.ts';

const AMOUNT = 1_000_00n;
const PAYER = '254712345678';
const DARAJA = OPERATORS.find(({ name }) => name === 'daraja') ?? assert.fail();

async function openPayBill(validation: 'true' | 'false'): Promise<OperatorGateway> {
  const simulatorSettings = { ...DARAJA.simulatorSettings, validation };
  return openOperatorGateway({ ...DARAJA, method: 'MPESA_PAYBILL_KEN', simulatorSettings });
}

async function pay(opened: OperatorGateway, reference: string, amount: bigint): Promise<boolean> {
  const payment = { msisdn: PAYER, amount: formatAmount(amount), reference };
  const { body } = await opened.simulator.act('pay_bill', payment);
  await opened.simulator.idle();
  await opened.settle();
  await opened.settle();
  return (body as { paid: boolean }).paid;
}

/** An order, and what its payer has to type. */
async function order(opened: OperatorGateway) {
  const collection = await opened.collect(AMOUNT);
  await opened.settle();
  const [row] = await opened.gateway.ctx.ownerDb.query<{ reference: string }>(
    'select account_reference as reference from payment_instructions where transaction_id = $1',
    [collection.id],
  );
  return { collection, reference: row?.reference ?? assert.fail('no instructions') };
}

/** In suspense, and the kinds of the open cases. */
async function held({ gateway }: OperatorGateway): Promise<{ suspense: bigint; cases: string[] }> {
  const { ownerDb } = gateway.ctx;
  const [row] = await ownerDb.query<{ sum: bigint }>(
    "select coalesce(sum(balance), 0)::bigint as sum from ledger_accounts where kind = 'suspense'",
  );
  const cases = await ownerDb.query<{ kind: string }>("select kind from cases where status = 'open' order by kind");
  return { suspense: row?.sum ?? 0n, cases: cases.map(({ kind }) => kind) };
}

describe('a pay bill with validation', () => {
  test('what is not expected is refused before money moves, and the right payment is taken once', async (t) => {
    const opened = await openPayBill('true');
    t.after(() => opened.close());
    assert.equal(await pay(opened, 'NOORDER1', AMOUNT), false, 'before the order exists');
    const { collection, reference } = await order(opened);
    assert.equal(await pay(opened, reference, AMOUNT - 100n), false, 'too little');
    assert.equal(await pay(opened, `${reference}9`, AMOUNT), false, 'a wrong reference');
    assert.equal(await pay(opened, reference, AMOUNT), true);
    assert.equal((await opened.read(collection)).status, 'success');
    assert.equal(await pay(opened, reference, AMOUNT), false, 'twice');
    assert.deepEqual(await held(opened), { suspense: 0n, cases: [] });
    assert.equal(opened.simulator.book.net('KES'), AMOUNT);
  });
});

describe('a pay bill without validation', () => {
  test('money that nobody expects is held in suspense with a case', async (t) => {
    const opened = await openPayBill('false');
    t.after(() => opened.close());
    assert.equal(await pay(opened, 'NOORDER1', AMOUNT), true);
    assert.deepEqual(await held(opened), { suspense: AMOUNT, cases: ['unknown_reference'] });
    const { collection, reference } = await order(opened);
    assert.equal(await pay(opened, reference, AMOUNT - 100n), true);
    assert.notEqual((await opened.read(collection)).status, 'success');
    assert.deepEqual(await held(opened), {
      suspense: 2n * AMOUNT - 100n,
      cases: ['unknown_reference', 'wrong_amount'],
    });
    assert.equal(await pay(opened, reference, AMOUNT), true);
    assert.equal((await opened.read(collection)).status, 'success');
    assert.equal(await pay(opened, reference, AMOUNT), true);
    const { suspense, cases } = await held(opened);
    assert.equal(suspense, 3n * AMOUNT - 100n);
    assert.deepEqual(cases, ['second_payment', 'unknown_reference', 'wrong_amount']);
  });
});

test('confirmations from addresses that Safaricom has not announced yet: people are told that money may be there', async (t) => {
  const simulatorSettings = { ...DARAJA.simulatorSettings, validation: 'false' };
  const connectionValues = { ...DARAJA.connectionValues, callback_ranges: '203.0.113.7', pull_number: '' };
  const opened = await openOperatorGateway({
    ...DARAJA,
    method: 'MPESA_PAYBILL_KEN',
    simulatorSettings,
    connectionValues,
  });
  t.after(() => opened.close());
  const { reference } = await order(opened);
  assert.equal(await pay(opened, reference, AMOUNT), true);
  assert.equal(await pay(opened, reference, AMOUNT), true);
  assert.deepEqual(await held(opened), { suspense: 0n, cases: ['unreadable_report'] });
});
