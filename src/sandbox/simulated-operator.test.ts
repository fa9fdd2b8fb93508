// The simulated operator by the table of section 14: what its reply, its callbacks and its status query say, by a clock
// that moves only when the test says so.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type CallbackReceiver, createCallbackReceiver } from '../../test/callback-receiver.ts';
import { createTestContext } from '../../test/harness.ts';
import { NO_STEPS, queryOf } from '../../test/rail-calls.ts';
import { loadCatalog, type Method } from '../catalog/catalog.ts';
import type { CallbackReading, Observation, Rail } from '../rails/rail.ts';
import { createRails, type RailRegistry } from '../rails/registry.ts';
import { createReceipt } from './outcomes.ts';
import { createSimulatedOperator, type SimulatedOperator } from './simulated-operator.ts';

type Direction = 'collection' | 'payout';

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let gateway: CallbackReceiver;
let operator: SimulatedOperator;
let rails: RailRegistry;
let rail: Rail;
let mtn: Method;
let sequence = 0;

before(async () => {
  ctx = await createTestContext();
  gateway = await createCallbackReceiver();
  operator = createSimulatedOperator(ctx, { gatewayUrl: gateway.url, silenceMs: 200 });
  await operator.listen();
  rails = createRails(ctx, { sandboxOperatorUrl: operator.url });
  mtn = methodOf('MTN_MOMO_UGA');
  const found = rails.railFor(mtn, 'collection', 1n);
  assert.ok(found);
  rail = found;
});
after(async () => {
  await rails.close();
  await operator.close();
  await gateway.close();
  await ctx.close();
});
beforeEach(async () => {
  operator.scripts.clear();
  gateway.answerWith(200);
  ctx.clock.advance(3_600_000);
  await settle();
});

function methodOf(code: string): Method {
  const method = loadCatalog().methods.get(code);
  assert.ok(method, code);
  return method;
}

async function submit(msisdn: string, direction: Direction = 'collection', changes: object = {}) {
  const reference = `TX_SCENARIO${String(++sequence).padStart(10, '0')}`;
  const payment = { ...NO_STEPS, amount: 150_000n, currency: 'UGX', merchantName: 'Kampala Books' };
  const call = { ...payment, reference, method: mtn, msisdn };
  const reply =
    direction === 'payout'
      ? await rail.payout({ ...call, ...changes })
      : await rail.collect({ ...call, verified: false, ...changes });
  return { reference, observation: reply.observation };
}

async function query(reference: string, direction: Direction = 'collection'): Promise<Observation> {
  return (await rail.query(queryOf(reference, mtn, direction))).observation;
}

/** Lets everything that is due happen, and answers what the gateway received. */
async function settle(): Promise<CallbackReading[]> {
  while ((await operator.runDueOutcomes()) > 0);
  return gateway.received.splice(0).flatMap((request) => rail.readCallback(request));
}

const word = (observation: Observation) =>
  observation.state === 'failed' ? observation.failureCode : observation.state;
const summaries = (readings: CallbackReading[]) =>
  readings.map((reading) => (reading.kind === 'proof' ? word(reading.observation) : reading.kind));

// digits; reply; callbacks at once; status query afterwards
const COLLECTIONS: [string, string, string[], string][] = [
  ['000', 'succeeded', [], 'succeeded'],
  ['001', 'INSUFFICIENT_FUNDS', [], 'INSUFFICIENT_FUNDS'],
  ['002', 'pending', ['WRONG_PIN'], 'WRONG_PIN'],
  ['003', 'PAYER_NOT_FOUND', [], 'PAYER_NOT_FOUND'],
  ['004', 'PAYER_LIMIT_REACHED', [], 'PAYER_LIMIT_REACHED'],
  ['005', 'pending', [], 'pending'],
  ['006', 'pending', ['succeeded', 'succeeded'], 'succeeded'],
  ['007', 'pending', [], 'pending'],
  ['008', 'pending', ['succeeded'], 'succeeded'],
  ['009', 'unknown', [], 'succeeded'],
  ['010', 'pending', ['succeeded'], 'UNSPECIFIED'],
  ['011', 'pending', ['PAYER_CANCELLED'], 'PAYER_CANCELLED'],
  ['012', 'VERIFICATION_FAILED', [], 'VERIFICATION_FAILED'],
];
const PAYOUTS: [string, string, string[], string][] = [
  ['000', 'succeeded', [], 'succeeded'],
  ['001', 'FLOAT_INSUFFICIENT', [], 'FLOAT_INSUFFICIENT'],
  ['002', 'pending', ['REJECTED_BY_OPERATOR'], 'REJECTED_BY_OPERATOR'],
  ['003', 'RECIPIENT_NOT_FOUND', [], 'RECIPIENT_NOT_FOUND'],
  ['004', 'PAYER_LIMIT_REACHED', [], 'PAYER_LIMIT_REACHED'],
  ['005', 'pending', [], 'pending'],
  ['006', 'pending', ['succeeded', 'succeeded'], 'succeeded'],
  ['007', 'pending', [], 'pending'],
  ['008', 'pending', ['succeeded'], 'succeeded'],
  ['009', 'unknown', [], 'succeeded'],
  ['010', 'pending', ['succeeded'], 'UNSPECIFIED'],
  ['011', 'pending', ['PAYER_BLOCKED'], 'PAYER_BLOCKED'],
  ['012', 'pending', ['succeeded'], 'succeeded'],
  ['013', 'FLOAT_INSUFFICIENT', [], 'unknown'],
  ['678', 'pending', ['succeeded'], 'succeeded'],
];

for (const [direction, table] of [
  ['collection', COLLECTIONS],
  ['payout', PAYOUTS],
] as const)
  for (const [digits, reply, callbacks, after] of table)
    test(`${direction} ${digits}: reply ${reply}, callbacks [${callbacks.join(', ')}], then ${after}`, async () => {
      const { reference, observation } = await submit(`256772345${digits}`, direction);
      assert.equal(word(observation), reply);
      const readings = await settle();
      assert.deepEqual(summaries(readings), callbacks);
      for (const reading of readings) assert.ok(reading.kind === 'proof' && reading.reference === reference);
      assert.equal(word(await query(reference, direction)), after);
    });

describe('as time passes', () => {
  test('013 is not taken for two minutes, and paid once when it is sent again', async () => {
    const { reference, observation } = await submit('256772345013', 'payout');
    assert.ok(observation.state === 'failed' && observation.notTaken);
    const again = async () => word((await submit('256772345013', 'payout', { reference })).observation);
    ctx.clock.advance(119_999);
    assert.equal(await again(), 'FLOAT_INSUFFICIENT');
    ctx.clock.advance(1);
    assert.equal(await again(), 'succeeded');
    assert.equal(await again(), 'succeeded');
    assert.equal(word(await query(reference, 'payout')), 'succeeded');
  });

  test('007 is approved after 90 s, not before', async () => {
    const { reference } = await submit('256772345007');
    ctx.clock.advance(89_999);
    assert.deepEqual(await settle(), []);
    assert.equal(word(await query(reference)), 'pending');
    ctx.clock.advance(1);
    assert.deepEqual(summaries(await settle()), ['succeeded']);
    assert.equal(word(await query(reference)), 'succeeded');
  });

  test('008 is reversed 60 s after the success', async () => {
    const { reference } = await submit('256772345008');
    const [approved] = await settle();
    ctx.clock.advance(59_999);
    assert.deepEqual(await settle(), []);
    ctx.clock.advance(1);
    const [returned] = await settle();
    assert.ok(approved?.kind === 'proof' && approved.observation.state === 'succeeded');
    assert.ok(returned?.kind === 'proof' && returned.observation.state === 'reversed');
    assert.equal(returned.observation.receipt, approved.observation.receipt);
    assert.equal(word(await query(reference)), 'reversed');
  });

  test('005 is still pending after a day', async () => {
    const { reference } = await submit('256772345005');
    ctx.clock.advance(24 * 3_600_000);
    assert.deepEqual(await settle(), []);
    assert.equal(word(await query(reference)), 'pending');
  });

  test('010 does not contradict before it is decided', async () => {
    const { reference } = await submit('256772345010');
    assert.equal(word(await query(reference)), 'pending');
  });
});

describe('012 and tokens', () => {
  test('the number confirms by token, whatever the method; instructions stay instructions', () => {
    assert.equal(rail.verificationFor(mtn, '256772345012'), 'otp');
    assert.equal(rail.verificationFor(mtn, '256772345678'), 'prompt');
    assert.equal(rail.verificationFor(methodOf('ORANGE_SEN'), '221771234567'), 'shortcode');
  });

  test('the token arrives by SMS; the collection that follows succeeds without a prompt', async () => {
    await rail.sendToken?.({ msisdn: '256772345012', text: 'Your code is 123456.', method: mtn });
    const { messages } = await operator.phone.view('256772345012');
    assert.equal(messages[0]?.text, 'Your code is 123456.');
    assert.equal(messages[0]?.sender, mtn.name);
    assert.equal(word((await submit('256772345012', 'collection', { verified: true })).observation), 'succeeded');
    assert.equal(word((await submit('256772345678', 'collection', { verified: true })).observation), 'succeeded');
    assert.equal(
      word((await submit('256772345001', 'collection', { verified: true })).observation),
      'INSUFFICIENT_FUNDS',
      'a right token does not fill the wallet',
    );
  });
});

describe('callbacks', () => {
  test('a gateway that refuses is tried three times more, then has to query', async () => {
    gateway.answerWith(500);
    await submit('256772345011');
    await operator.runDueOutcomes();
    for (const delay of [5_000, 30_000, 120_000]) {
      assert.equal(gateway.received.length, 1);
      gateway.received.length = 0;
      ctx.clock.advance(delay - 1);
      await operator.runDueOutcomes();
      assert.equal(gateway.received.length, 0);
      ctx.clock.advance(1);
      await operator.runDueOutcomes();
    }
    assert.equal(gateway.received.length, 1);
    gateway.received.length = 0;
    ctx.clock.advance(24 * 3_600_000);
    await operator.runDueOutcomes();
    assert.equal(gateway.received.length, 0);
  });

  test('they wait until the gateway has an address', async () => {
    operator.setGatewayUrl(null);
    await submit('256772345011');
    assert.equal(await operator.runDueOutcomes(), 1);
    assert.equal(await operator.runDueOutcomes(), 0);
    operator.setGatewayUrl(gateway.url);
    assert.deepEqual(summaries(await settle()), ['PAYER_CANCELLED']);
  });
});

describe('receipts', () => {
  test('every one has a digit, by which a payer’s SMS is read', () => {
    const receipts = Array.from({ length: 2_000 }, () => createReceipt(new Date('2026-10-11T12:00:00Z')));
    assert.deepEqual(
      receipts.filter((receipt) => !/^(?=.*\d)[A-Z0-9]{14}$/.test(receipt)),
      [],
    );
  });

  test('they grow with time, as those of operators do', () => {
    const times = [
      '2026-09-30T23:59:59',
      '2026-10-01T00:00:00',
      '2026-10-01T00:00:02',
      '2026-10-31T23:59:59',
      '2027-01-01T00:00:00',
    ];
    const receipts = times.map((time) => createReceipt(new Date(`${time}Z`)));
    assert.deepEqual(receipts.toSorted(), receipts);
  });
});

describe('scripts', () => {
  const script = async (body: object, method = 'POST') => {
    const response = await fetch(`${operator.url()}/script`, {
      method,
      ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: (await response.json()) as { scripts?: object[]; message?: string } };
  };

  for (const [callback, expected] of [
    ['lose', []],
    ['double', ['PAYER_CANCELLED', 'PAYER_CANCELLED']],
    ['stale', ['PAYER_CANCELLED', 'pending']],
    ['contradict', ['succeeded']],
  ] as const)
    test(`callbacks: ${callback}, over HTTP, for one number and one time`, async () => {
      assert.equal((await script({ callback, msisdn: '256772345011', times: 1 })).status, 200);
      const { reference } = await submit('256772345011');
      await submit('256752345011');
      const readings = await settle();
      const ofFirst = readings.filter((reading) => reading.kind === 'proof' && reading.reference === reference);
      assert.deepEqual(summaries(ofFirst), expected);
      assert.equal(readings.length - ofFirst.length, 1, 'another number is as ever');
      assert.equal(word(await query(reference)), 'PAYER_CANCELLED', 'the status query tells the truth');
      await submit('256772345011');
      assert.deepEqual(summaries(await settle()), ['PAYER_CANCELLED'], 'used up');
    });

  test('callbacks: a delayed one arrives late', async () => {
    operator.scripts.add({ callback: 'delay', delay_ms: 61_000, times: 1 });
    await submit('256772345008');
    assert.deepEqual(await settle(), []);
    ctx.clock.advance(60_000);
    assert.deepEqual(summaries(await settle()), ['reversed'], 'the reversal came first');
    ctx.clock.advance(1_000);
    assert.deepEqual(summaries(await settle()), ['succeeded']);
  });

  test('callbacks: a wrong amount, an unknown reference', async () => {
    operator.scripts.add({ callback: 'wrong_amount', times: 1 });
    await submit('256772345008');
    const [wrong] = await settle();
    assert.ok(wrong?.kind === 'proof' && wrong.observation.state === 'succeeded');
    assert.equal(wrong.observation.amount, 150_001n);
    operator.scripts.add({ callback: 'unknown_reference', times: 1 });
    const { reference } = await submit('256772345011');
    const [unknown] = await settle();
    assert.ok(unknown?.kind === 'proof' && unknown.reference !== reference);
  });

  test('any number can follow any line of the table, and the query can contradict', async () => {
    operator.scripts.add({ scenario: '003', msisdn: '256772345000', times: 1 });
    assert.equal(word((await submit('256772345000')).observation), 'PAYER_NOT_FOUND');
    operator.scripts.add({ query: 'contradict', times: 1 });
    const { reference } = await submit('256772345000');
    assert.equal(word(await query(reference)), 'UNSPECIFIED');
  });

  test('down stays down until the script is cleared', async () => {
    await script({ call: 'any', fault: 'down' });
    const { reference, observation } = await submit('256772345000');
    assert.equal(observation.state, 'unknown');
    assert.equal((await query(reference)).state, 'unknown');
    const { body } = await script({}, 'DELETE');
    assert.deepEqual(body.scripts, []);
    const found = await query(reference);
    assert.ok(found.state === 'unknown' && found.definitelyNotFound);
  });

  test('an invalid script is refused with a reason, and the number of scripts is limited', async () => {
    for (const wrong of [
      {},
      { fault: 'fire' },
      { callback: 'lose', times: 0 },
      { scenario: '999' },
      { fault: 'down', msisdn: 'x' },
    ]) {
      const { status, body } = await script(wrong);
      assert.equal(status, 400);
      assert.ok(body.message);
    }
    for (let index = 0; index < 100; index++) operator.scripts.add({ callback: 'lose', msisdn: '256772345099' });
    assert.equal((await script({ callback: 'lose' })).status, 400);
  });
});

test('numbers ending 000 cost one statement for many, and none afterwards', async () => {
  const submitMany = () => Promise.all(Array.from({ length: 60 }, () => submit('256772345000')));
  // The first round opens the connections.
  await submitMany();
  const before = ctx.db.counters.statements;
  await submitMany();
  const statements = ctx.db.counters.statements - before;
  assert.ok(statements <= 12, `${statements} statements for 60 submits`);
  assert.deepEqual(await settle(), []);
});

test('two operators on one database share the payments', async () => {
  const other = createSimulatedOperator(ctx, { silenceMs: 200 });
  const otherRails = createRails(ctx, { sandboxOperatorUrl: other.url });
  await other.listen();
  const otherRail = otherRails.railFor(mtn, 'collection', 1n);
  assert.ok(otherRail);
  const payer = { method: mtn, msisdn: '256772345000', amount: 1n, currency: 'UGX' };
  const call = { ...NO_STEPS, ...payer, reference: 'TX_TWO_OPERATORS' };
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      (index % 2 ? rail : otherRail).collect({ ...call, merchantName: 'Kampala Books', verified: false }),
    ),
  );
  const receipts = new Set(replies.map(({ observation }) => observation.state === 'succeeded' && observation.receipt));
  assert.equal(receipts.size, 1);
  assert.ok(!receipts.has(false));
  await otherRails.close();
  await other.close();
});

test('invalid requests are refused', async () => {
  const post = async (path: string, body: string) =>
    (await fetch(`${operator.url()}${path}`, { method: 'POST', body })).status;
  assert.equal(await post('/v1/payments', '{'), 400);
  assert.equal(await post('/v1/payments', '{"reference":"x"}'), 400);
  assert.equal(await post('/v1/payments', 'x'.repeat(70_000)), 413);
  assert.equal(await post('/v1/nothing', '{}'), 404);
  assert.equal(await post('/phones/abc/dial', '{}'), 400);
  assert.equal((await fetch(`${operator.url()}/nothing`)).status, 404);
  const foreign = { headers: { origin: 'https://evil.example' } };
  assert.equal((await fetch(`${operator.url()}/phones/256772345678`, foreign)).status, 403);
});
