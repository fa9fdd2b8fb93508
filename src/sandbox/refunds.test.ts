// Refunds, names and the book of the simulated operator, by the tables of docs/sandbox.md and by scripts.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type CallbackReceiver, createCallbackReceiver } from '../../test/callback-receiver.ts';
import { createTestContext } from '../../test/harness.ts';
import { NO_STEPS, queryOf } from '../../test/rail-calls.ts';
import { loadCatalog, type Method } from '../catalog/catalog.ts';
import type { CallbackReading, Observation, Rail } from '../rails/rail.ts';
import { createRails, type RailRegistry } from '../rails/registry.ts';
import { createSimulatedOperator, type SimulatedOperator } from './simulated-operator.ts';

const AMOUNT = 150_000n;

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let gateway: CallbackReceiver;
let operator: SimulatedOperator;
let rails: RailRegistry;
let rail: Rail;
let method: Method;
let sequence = 0;

before(async () => {
  ctx = await createTestContext();
  gateway = await createCallbackReceiver();
  operator = createSimulatedOperator(ctx, { gatewayUrl: gateway.url, silenceMs: 200 });
  await operator.listen();
  rails = createRails(ctx, { sandboxOperatorUrl: operator.url });
  const found = loadCatalog().methods.get('MTN_MOMO_UGA');
  assert.ok(found);
  method = found;
  const railOfMethod = rails.railFor(method, 'collection', 1n);
  assert.ok(railOfMethod);
  rail = railOfMethod;
});
after(async () => {
  await rails.close();
  await operator.close();
  await gateway.close();
  await ctx.close();
});
beforeEach(async () => {
  operator.scripts.clear();
  ctx.clock.advance(3_600_000);
  await settle();
});

/** A collection that succeeded, whatever its number does otherwise. */
async function collect(msisdn: string, amount = AMOUNT): Promise<{ reference: string; msisdn: string }> {
  const reference = `TX_REFUNDS${String(++sequence).padStart(10, '0')}`;
  operator.scripts.add({ scenario: '000', times: 1 });
  const call = { ...NO_STEPS, reference, method, msisdn, amount, currency: 'UGX', merchantName: 'Kampala Books' };
  assert.equal((await rail.collect({ ...call, verified: false })).observation.state, 'succeeded');
  return { reference, msisdn };
}

async function refund(collection: { reference: string; msisdn: string }, amount = AMOUNT) {
  const reference = `RF_REFUNDS${String(++sequence).padStart(10, '0')}`;
  const paid = { reference: collection.reference, railReference: null, receipt: null, amount: AMOUNT };
  const call = {
    reference,
    collection: paid,
    method,
    msisdn: collection.msisdn,
    amount,
    currency: 'UGX',
    merchantName: '',
  };
  const reply = await rail.refund?.(call);
  assert.ok(reply);
  return { reference, observation: reply.observation };
}

async function query(reference: string, direction: 'collection' | 'refund' = 'refund'): Promise<Observation> {
  return (await rail.query(queryOf(reference, method, direction))).observation;
}

async function settle(): Promise<CallbackReading[]> {
  while ((await operator.runDueOutcomes()) > 0);
  return gateway.received.splice(0).flatMap((request) => rail.readCallback(request));
}

const word = (observation: Observation) =>
  observation.state === 'failed' ? observation.failureCode : observation.state;
const summaries = (readings: CallbackReading[]) =>
  readings.map((reading) => (reading.kind === 'proof' ? word(reading.observation) : reading.kind));

async function readBook() {
  const response = await fetch(`${operator.url()}/v1/book`);
  const { book } = (await response.json()) as { book: Record<string, string>[] };
  return book.find(({ currency }) => currency === 'UGX');
}

// digits; reply; callbacks at once; status query afterwards
const REFUNDS: [string, string, string[], string][] = [
  ['000', 'succeeded', [], 'succeeded'],
  ['001', 'FLOAT_INSUFFICIENT', [], 'FLOAT_INSUFFICIENT'],
  ['002', 'pending', ['REJECTED_BY_OPERATOR'], 'REJECTED_BY_OPERATOR'],
  ['005', 'pending', [], 'pending'],
  ['006', 'pending', ['succeeded', 'succeeded'], 'succeeded'],
  ['007', 'pending', [], 'pending'],
  ['009', 'unknown', [], 'succeeded'],
  ['010', 'pending', ['succeeded'], 'UNSPECIFIED'],
  ['021', 'FLOAT_INSUFFICIENT', [], 'FLOAT_INSUFFICIENT'],
  ['022', 'pending', ['REJECTED_BY_OPERATOR'], 'REJECTED_BY_OPERATOR'],
  ['025', 'pending', [], 'pending'],
  ['027', 'pending', [], 'pending'],
  ['029', 'unknown', [], 'succeeded'],
  ['678', 'pending', ['succeeded'], 'succeeded'],
];

for (const [digits, reply, callbacks, after] of REFUNDS)
  test(`refund ${digits}: reply ${reply}, callbacks [${callbacks.join(', ')}], then ${after}`, async () => {
    const { reference, observation } = await refund(await collect(`256772345${digits}`));
    assert.equal(word(observation), reply);
    const readings = await settle();
    assert.deepEqual(summaries(readings), callbacks);
    for (const reading of readings) assert.ok(reading.kind === 'proof' && reading.reference === reference);
    assert.equal(word(await query(reference)), after);
  });

test('numbers 02x are approved at once, so that their refund can be tried', async () => {
  for (const digits of ['021', '022', '025', '027', '029']) {
    const reference = `TX_APPROVED_${digits}`;
    const call = {
      ...NO_STEPS,
      reference,
      method,
      msisdn: `256772345${digits}`,
      amount: AMOUNT,
      currency: 'UGX',
      merchantName: 'K',
    };
    assert.equal((await rail.collect({ ...call, verified: false })).observation.state, 'succeeded');
  }
});

test('027 is given back after 90 s, not before', async () => {
  const { reference } = await refund(await collect('256772345027'));
  ctx.clock.advance(89_999);
  assert.deepEqual(await settle(), []);
  assert.equal((await query(reference)).state, 'pending');
  ctx.clock.advance(1);
  assert.deepEqual(summaries(await settle()), ['succeeded']);
});

test('a refund that is under way counts; one that failed is free again', async () => {
  const paid = await collect('256772345022');
  assert.equal(word((await refund(paid)).observation), 'pending');
  assert.equal(word((await refund(paid, 1n)).observation), 'REJECTED_BY_OPERATOR', 'all of it is under way');
  assert.deepEqual(summaries(await settle()), ['REJECTED_BY_OPERATOR']);
  operator.scripts.add({ refund: '000', times: 1 });
  assert.equal((await refund(paid)).observation.state, 'succeeded');
});

test('scripts: faults of the call, its callbacks and its result, for one number', async () => {
  const paid = await collect('256772345678');
  operator.scripts.add({ call: 'refund', fault: 'reset_after', msisdn: '256772345678', times: 1 });
  const lost = await refund(paid, 100n);
  assert.equal(lost.observation.state, 'unknown');
  assert.equal((await query(lost.reference)).state, 'pending');
  operator.scripts.add({ call: 'refund', fault: 'reset', times: 1 });
  const never = await refund(paid, 100n);
  const asked = await query(never.reference);
  assert.ok(asked.state === 'unknown' && asked.definitelyNotFound);
  operator.scripts.add({ callback: 'contradict', times: 1 });
  assert.deepEqual(summaries(await settle()), ['UNSPECIFIED']);
  for (const [callback, expected] of [
    ['lose', []],
    ['double', ['succeeded', 'succeeded']],
    ['stale', ['succeeded', 'pending']],
  ] as const) {
    operator.scripts.add({ callback, times: 1 });
    await refund(paid, 100n);
    assert.deepEqual(summaries(await settle()), expected);
  }
  operator.scripts.add({ refund: '001', msisdn: '256772345678', times: 1 });
  assert.equal(word((await refund(paid, 100n)).observation), 'FLOAT_INSUFFICIENT');
});

test('the payer gets an SMS about money that came back', async () => {
  await refund(await collect('256772345678'), 25_050n);
  await settle();
  const { messages } = await operator.phone.view('256772345678');
  assert.match(
    messages[0]?.text ?? '',
    /^[A-Z0-9]{14} confirmed\. You received UGX.250\.50 back from Kampala Books\.$/,
  );
  await refund(await collect('221771234567'));
  await settle();
  assert.match(
    (await operator.phone.view('221771234567')).messages[0]?.text ?? '',
    /Kampala Books vous a remboursé 1.500.UGX\./,
  );
});

test('money 2: a reversal by the operator takes back what refunds have left, and ends those that are pending', async () => {
  const before = await readBook();
  const paid = await collect('256772345000');
  assert.equal((await refund(paid, 50_000n)).observation.state, 'succeeded');
  operator.scripts.add({ refund: '005', times: 1 });
  const pending = await refund(paid, 20_000n);
  await operator.reverse(paid.reference);
  // Two payments are told of side by side, in any order.
  const proofs = await settle();
  assert.equal(proofs.length, 2);
  const proofOf = ({ reference }: { reference: string }) => {
    const proof = proofs.find((each) => each.kind === 'proof' && each.reference === reference);
    return proof?.kind === 'proof' ? proof.observation : null;
  };
  assert.equal(proofOf(pending)?.state, 'failed');
  const reversal = proofOf(paid);
  assert.ok(reversal?.state === 'reversed' && reversal.amount === AMOUNT);
  assert.equal(word(await query(pending.reference)), 'REJECTED_BY_OPERATOR');
  assert.equal(word((await refund(paid, 1n)).observation), 'REJECTED_BY_OPERATOR', 'nothing is left');
  const after = await readBook();
  assert.equal(Number(after?.refunded) - Number(before?.refunded ?? 0), 500);
  assert.equal(Number(after?.collections_reversed) - Number(before?.collections_reversed ?? 0), 1000);
  assert.equal(after?.balance, before?.balance);
});

test('what was given back wholly is not reversed as well', async () => {
  const paid = await collect('256772345000');
  await refund(paid);
  await operator.reverse(paid.reference);
  assert.deepEqual(await settle(), []);
  assert.equal((await query(paid.reference, 'collection')).state, 'succeeded');
});

test('the book is what came in less what went out', async () => {
  const before = (await operator.book()).find(({ currency }) => currency === 'KES');
  assert.equal(before, undefined);
  const call = { ...NO_STEPS, method, msisdn: '254712345000', currency: 'KES', merchantName: 'Shop' };
  await rail.collect({ ...call, reference: 'TX_BOOK_1', amount: 10_000n, verified: false });
  await rail.collect({ ...call, reference: 'TX_BOOK_2', amount: 700n, msisdn: '254712345001', verified: false });
  await rail.payout({ ...call, reference: 'TX_BOOK_3', amount: 3_000n });
  await rail.payout({ ...call, reference: 'TX_BOOK_4', amount: 2_000n, msisdn: '254712345008' });
  await operator.phone.pay('254712345678', { to: '1', accountReference: 'X', amount: 550n, currency: 'KES' });
  const collection = { reference: 'TX_BOOK_1', railReference: null, receipt: null, amount: 10_000n };
  await rail.refund?.({ ...call, reference: 'RF_BOOK_1', collection, amount: 1_000n });
  await settle();
  ctx.clock.advance(60_000);
  await settle();
  assert.deepEqual(
    (await operator.book()).find(({ currency }) => currency === 'KES'),
    {
      currency: 'KES',
      collected: 10_000n,
      unmatched: 550n,
      paidOut: 5_000n,
      refunded: 1_000n,
      collectionsReversed: 0n,
      payoutsReversed: 2_000n,
      balance: 6_550n,
    },
  );
});

test('a number has one name for ever; numbers ending in 003 have none', async () => {
  const nameOf = (msisdn: string) => rail.lookUpName?.({ msisdn, method });
  assert.match((await nameOf('256772345678')) ?? '', /^\p{L}+ \p{L}+$/u);
  assert.equal(await nameOf('256772345678'), await nameOf('256772345678'));
  assert.notEqual(await nameOf('256772345678'), await nameOf('256772345679'));
  assert.equal(await nameOf('256772345003'), null);
  assert.equal(await nameOf('not a number'), null);
  operator.scripts.add({ call: 'name', fault: 'timeout', times: 1 });
  assert.equal(await nameOf('256772345678'), null);
});

test('invalid refunds are refused, and the old address is gone', async () => {
  const post = async (path: string, body: object) =>
    (await fetch(`${operator.url()}${path}`, { method: 'POST', body: JSON.stringify(body) })).status;
  const { reference } = await collect('256772345000');
  const good = { reference: 'RF_HTTP', payment_reference: reference, amount: '10', currency: 'UGX' };
  for (const wrong of [
    { amount: '0' },
    { amount: '-1' },
    { reference: '' },
    { payment_reference: 1 },
    { currency: '' },
  ])
    assert.equal(await post('/v1/refunds', { ...good, ...wrong }), 400);
  assert.equal(await post('/v1/refunds', good), 200);
  assert.equal(await post('/v1/refunds', { ...good, amount: '11' }), 409);
  assert.equal(await post(`/v1/payments/${reference}/refund`, { amount: '1500', currency: 'UGX' }), 404);
});
