// The operator's own book against our clearing accounts (I35), on a whole gateway: refunds through the simulated operator,
// with what can go wrong on the way, and reversals.

import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { acceptCollection, CURRENCY, collectionOrder } from '../../test/payments.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { createRefund } from '../payments/refunds.ts';
import { findTransaction, refOf, type Transaction } from '../payments/transactions.ts';
import type { Script } from './scripts.ts';
import type { SimulatedOperator } from './simulated-operator.ts';

const AMOUNT = 100_000n;
const DAY_MS = 24 * 3_600_000;

let gateway: TestGateway;
let operator: SimulatedOperator;
let shop: Shop;

before(async () => {
  gateway = await createTestGateway();
  assert.ok(gateway.services.operator);
  operator = gateway.services.operator;
  shop = await createShop(gateway.ctx);
});
after(() => gateway.close());

afterEach(async () => {
  operator.scripts.clear();
  await gateway.advance(DAY_MS);
  const [book] = await operator.book();
  const [ours] = await gateway.ctx.db.query<{ held: bigint }>(
    `select -coalesce(sum(balance), 0)::bigint as held from ledger_accounts where kind = 'operator_clearing' and currency = $1`,
    [CURRENCY],
  );
  assert.equal(book?.currency, CURRENCY);
  assert.equal(ours?.held, book.balance, 'clearing equals the operator’s own book');
});

async function collect(digits: string): Promise<Transaction> {
  const order = collectionOrder({ holderId: shop.holderId, integrationId: shop.id }, 'sandbox', {
    amount: AMOUNT,
    msisdn: `256772345${digits}`,
  });
  const collection = await acceptCollection(gateway.ctx, gateway.services.payments.engine, order);
  await gateway.settle();
  return collection;
}

async function refund(collection: Transaction, amount: bigint): Promise<Transaction> {
  const request = { collection: refOf(collection), amount };
  const { engine } = gateway.services.payments;
  const created = await createRefund(gateway.ctx, engine, COMMAND_LINE, shop.holderId, request);
  await gateway.settle();
  return created;
}

const read = ({ id }: { id: string }) => findTransaction(gateway.ctx.db, shop.holderId, id);

const SPOILT_CALLS: Script[] = [
  { call: 'refund', fault: 'reset_after', times: 1 },
  { call: 'refund', fault: 'reset', times: 1 },
  { call: 'refund', fault: 'error_after', times: 1 },
  { call: 'refund', fault: 'garbage_after', times: 1 },
  { call: 'refund', fault: 'down', times: 2 },
];
for (const script of SPOILT_CALLS)
  test(`money 2: a refund whose call fails (${'fault' in script ? script.fault : ''}) is found out and booked once`, async () => {
    const collection = await collect('000');
    operator.scripts.add(script);
    const given = await refund(collection, 40_000n);
    assert.equal((await read(given))?.status, 'processing');
    // A call that fails twice needs a second round of query and submit.
    for (let round = 0; round < 2; round++) await gateway.advance(600_000);
    const booked = await read(given);
    assert.equal(booked?.status, 'success');
    assert.ok(booked.receipt);
    const paid = await read(collection);
    assert.equal(paid?.status, 'success');
    assert.notEqual(paid.receipt, booked.receipt);
  });

for (const [digits, status] of [
  ['021', 'failed'],
  ['022', 'failed'],
  ['027', 'success'],
  ['025', 'processing'],
  ['678', 'success'],
] as const)
  test(`money 2: a refund of a number ending in ${digits} ends as ${status}`, async () => {
    operator.scripts.add({ scenario: '000', times: 1 });
    const given = await refund(await collect(digits), 40_000n);
    await gateway.advance(90_000);
    assert.equal((await read(given))?.status, status);
  });

test('money 2: parts up to all of it reverse the collection here, and the operator reverses nothing more', async () => {
  const collection = await collect('000');
  for (const part of [30_000n, 30_000n, 40_000n])
    assert.equal((await read(await refund(collection, part)))?.status, 'success');
  assert.equal((await read(collection))?.status, 'reversed');
  await operator.reverse(refOf(collection));
  await gateway.settle();
  assert.equal((await read(collection))?.status, 'reversed');
});

test('money 2: a reversal by the operator after a partial refund takes back the rest', async () => {
  const collection = await collect('000');
  const given = await refund(collection, 30_000n);
  await operator.reverse(refOf(collection));
  await gateway.settle();
  assert.equal((await read(collection))?.status, 'reversed');
  assert.equal((await read(given))?.status, 'success');
});

test('money 2: a reversal by the operator ends a refund that is under way', async () => {
  const collection = await collect('025');
  const given = await refund(collection, 30_000n);
  assert.equal((await read(given))?.status, 'processing');
  await operator.reverse(refOf(collection));
  await gateway.settle();
  assert.equal((await read(given))?.status, 'failed');
  assert.equal((await read(collection))?.status, 'reversed');
});
