// The test phone: everything a person can do with it, by function and over HTTP.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type CallbackReceiver, createCallbackReceiver } from '../../test/callback-receiver.ts';
import { createTestContext } from '../../test/harness.ts';
import { NO_STEPS, queryOf } from '../../test/rail-calls.ts';
import { loadCatalog, type Method } from '../catalog/catalog.ts';
import type { CallbackReading, Observation, Rail } from '../rails/rail.ts';
import { createRails, type RailRegistry } from '../rails/registry.ts';
import { createSimulatedOperator, type SimulatedOperator } from './simulated-operator.ts';

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let gateway: CallbackReceiver;
let operator: SimulatedOperator;
let rails: RailRegistry;
let rail: Rail;
let sequence = 0;
/** A number of its own for each test. */
let msisdn: string;

before(async () => {
  ctx = await createTestContext();
  gateway = await createCallbackReceiver();
  operator = createSimulatedOperator(ctx, { gatewayUrl: gateway.url });
  await operator.listen();
  rails = createRails(ctx, { sandboxOperatorUrl: () => operator.url() });
  const found = rails.railFor(methodOf('MPESA_KEN'), 'collection', 1n);
  assert.ok(found);
  rail = found;
});
after(async () => {
  await rails.close();
  await operator.close();
  await gateway.close();
  await ctx.close();
});
beforeEach(() => {
  msisdn = `25471${String(1000 + sequence++)}555`;
});

function methodOf(code: string): Method {
  const method = loadCatalog().methods.get(code);
  assert.ok(method, code);
  return method;
}

function methodOfType(type: string): Method {
  const method = [...loadCatalog().methods.values()].find((candidate) => candidate.type === type);
  assert.ok(method, type);
  return method;
}

async function collect(method = methodOf('MPESA_KEN'), payer = msisdn) {
  const reference = `TX_PHONE${String(++sequence).padStart(12, '0')}`;
  const { observation } = await rail.collect({
    ...NO_STEPS,
    reference,
    method,
    msisdn: payer,
    amount: 250_000n,
    currency: method.currency,
    merchantName: 'Nairobi Books',
    verified: false,
  });
  return { reference, observation };
}

async function outcome(reference: string): Promise<string> {
  return word((await rail.query(queryOf(reference, methodOf('MPESA_KEN')))).observation);
}

async function settle(): Promise<CallbackReading[]> {
  while ((await operator.runDueOutcomes()) > 0);
  return gateway.received.splice(0).flatMap((request) => rail.readCallback(request));
}

const word = (observation: Observation) =>
  observation.state === 'failed' ? observation.failureCode : observation.state;
const summaries = (readings: CallbackReading[]) =>
  readings.map((reading) => (reading.kind === 'proof' ? word(reading.observation) : reading.kind));
const promptState = async (payer = msisdn) => (await operator.phone.view(payer)).prompts[0]?.state;

describe('a prompt', () => {
  test('rings with amount and business; four digits approve it; a callback and an SMS report it', async () => {
    const { reference, observation } = await collect();
    assert.equal(observation.state, 'pending');
    const view = await operator.phone.view(msisdn);
    const [prompt] = view.prompts;
    assert.equal(prompt?.id, reference);
    assert.equal(prompt?.state, 'prompt');
    assert.match(prompt?.text ?? '', /KES\s2\s500 to Nairobi Books/);
    assert.deepEqual(await operator.phone.answer(msisdn, reference, '1234'), { ok: true, message: 'Paid.' });
    assert.deepEqual(summaries(await settle()), ['succeeded']);
    assert.equal(await outcome(reference), 'succeeded');
    const { messages } = await operator.phone.view(msisdn);
    assert.match(messages[0]?.text ?? '', /^[0-9A-Z]{14} confirmed\. You paid KES\s2\s500 to Nairobi Books\.$/);
    ctx.clock.advance(600_000);
    assert.deepEqual(await settle(), [], 'what is paid does not expire');
  });

  test('0000 is wrong and ends it; other than four digits is not a PIN and changes nothing', async () => {
    const { reference } = await collect();
    for (const pin of ['', '12', '12345', 'abcd', '１２３４'])
      assert.equal((await operator.phone.answer(msisdn, reference, pin)).ok, false);
    assert.equal(await promptState(), 'prompt');
    assert.equal((await operator.phone.answer(msisdn, reference, '0000')).ok, false);
    assert.deepEqual(summaries(await settle()), ['WRONG_PIN']);
    assert.equal(await promptState(), 'wrong_pin');
    assert.equal((await operator.phone.answer(msisdn, reference, '1234')).ok, false, 'too late for the right one');
    assert.equal(await outcome(reference), 'WRONG_PIN');
  });

  test('can be cancelled', async () => {
    const { reference } = await collect();
    assert.equal((await operator.phone.cancel(msisdn, reference)).ok, true);
    assert.deepEqual(summaries(await settle()), ['PAYER_CANCELLED']);
    assert.equal(await promptState(), 'cancelled');
  });

  test('can expire at once, for whom does not want to wait', async () => {
    const { reference } = await collect();
    assert.equal((await operator.phone.expire(msisdn, reference)).ok, true);
    assert.deepEqual(summaries(await settle()), ['PROMPT_EXPIRED']);
    assert.equal(await promptState(), 'expired');
    assert.equal((await operator.phone.answer(msisdn, reference, '1234')).ok, false);
  });

  test('ignored or not, expires after 120 s: the payer was never charged', async () => {
    const ignored = await collect();
    await operator.phone.ignore(msisdn, ignored.reference);
    assert.equal(await promptState(), 'ignored');
    const unseen = await collect();
    ctx.clock.advance(119_999);
    assert.deepEqual(await settle(), []);
    ctx.clock.advance(1);
    assert.equal((await operator.phone.answer(msisdn, unseen.reference, '1234')).ok, false, 'the time is over');
    assert.deepEqual(summaries(await settle()), ['PROMPT_EXPIRED', 'PROMPT_EXPIRED']);
    assert.equal(await outcome(ignored.reference), 'PROMPT_EXPIRED');
    assert.equal(await promptState(), 'expired');
  });

  test('is answered once, by its own phone', async () => {
    const { reference } = await collect();
    assert.equal((await operator.phone.answer('254712345678', reference, '1234')).ok, false);
    const results = await Promise.all([
      operator.phone.answer(msisdn, reference, '1234'),
      operator.phone.answer(msisdn, reference, '0000'),
      operator.phone.cancel(msisdn, reference),
    ]);
    const readings = await settle();
    assert.equal(readings.length, 1);
    assert.equal(summaries(readings)[0], await outcome(reference));
    assert.ok(results.filter(({ message }) => message === 'This prompt is no longer there.').length === 2);
  });
});

describe('a phone that is off', () => {
  test('gets no prompt, and the one on its screen is lost; both expire', async () => {
    const shown = await collect();
    await operator.phone.switchTo(msisdn, false);
    const missed = await collect();
    assert.equal(missed.observation.state, 'pending');
    const view = await operator.phone.view(msisdn);
    assert.equal(view.isOn, false);
    assert.deepEqual(
      view.prompts.map(({ state }) => state),
      ['undelivered', 'undelivered'],
    );
    assert.equal((await operator.phone.dial(msisdn, '#144#')).ok, false);
    await operator.phone.switchTo(msisdn, true);
    assert.equal((await operator.phone.answer(msisdn, missed.reference, '1234')).ok, false);
    ctx.clock.advance(120_000);
    assert.deepEqual(summaries(await settle()), ['PROMPT_EXPIRED', 'PROMPT_EXPIRED']);
    assert.equal(await outcome(shown.reference), 'PROMPT_EXPIRED');
  });
});

describe('a short code', () => {
  test('Senegal: the SMS says what to dial, in French; dialling opens the prompt; the PIN pays', async () => {
    const orange = methodOf('ORANGE_SEN');
    const payer = '221771234567';
    const { reference } = await collect(orange, payer);
    const { messages, prompts } = await operator.phone.view(payer);
    assert.match(messages[0]?.text ?? '', /Composez le #144#/);
    assert.equal(prompts[0]?.state, 'dial');
    assert.equal((await operator.phone.answer(payer, reference, '1234')).ok, false, 'nothing on the screen yet');
    assert.equal((await operator.phone.dial(payer, '#999#')).ok, false);
    const dialled = await operator.phone.dial(payer, '#144#');
    assert.equal(dialled.ok, true);
    assert.match(dialled.message, /2\s500\sF\sCFA/);
    assert.equal((await operator.phone.answer(payer, reference, '4321')).ok, true);
    assert.deepEqual(summaries(await settle()), ['succeeded']);
    assert.equal((await operator.phone.dial(payer, '#144#')).ok, false, 'nothing left to confirm');
  });

  test('nobody dials: it expires after five minutes', async () => {
    const { reference } = await collect(methodOf('ORANGE_SEN'), '221771234568');
    ctx.clock.advance(300_000);
    assert.deepEqual(summaries(await settle()), ['PROMPT_EXPIRED']);
    assert.equal(await outcome(reference), 'PROMPT_EXPIRED');
  });

  test('dialling brings back a prompt that was missed', async () => {
    const mtn = methodOf('MTN_MOMO_UGA');
    const payer = '256772345556';
    const { reference } = await collect(mtn, payer);
    await operator.phone.ignore(payer, reference);
    assert.equal((await operator.phone.dial(payer, mtn.shortCode ?? '')).ok, true);
    assert.equal((await operator.phone.answer(payer, reference, '1234')).ok, true);
    assert.deepEqual(summaries(await settle()), ['succeeded']);
  });
});

describe('instructions', () => {
  for (const [type, kind] of [
    ['till number', 'till'],
    ['pay bill', 'paybill'],
    ['bank transfer', 'bank_account'],
    ['bank', 'bank_account'],
  ] as const)
    test(`${type}: the payer gets instructions, pays, and a callback reports the incoming payment`, async () => {
      const method = methodOfType(type);
      const { reference, observation } = await collect(method);
      assert.ok(observation.state === 'pending' && observation.step?.kind === 'transfer');
      const { payTo, accountReference, expiresAt } = observation.step;
      assert.equal(payTo.kind, kind);
      assert.ok(accountReference.length <= 12);
      assert.ok(expiresAt > ctx.clock.now());
      const payment = { to: payTo.number, accountReference, amount: 250_000n, currency: method.currency };
      const { receipt } = await operator.phone.pay(msisdn, payment);
      assert.deepEqual(await settle(), [
        {
          kind: 'payment_received',
          accountReference,
          amount: 250_000n,
          currency: method.currency,
          receipt,
          payer: msisdn,
        },
      ]);
      assert.equal(await outcome(reference), 'succeeded', 'a lost callback is found by asking');
    });

  test('a wrong amount or an unknown reference settles nothing, but a callback reports the money', async () => {
    const method = methodOfType('till number');
    const { reference, observation } = await collect(method);
    assert.ok(observation.state === 'pending' && observation.step?.kind === 'transfer');
    const { payTo, accountReference } = observation.step;
    const payment = { to: payTo.number, accountReference, amount: 250_000n, currency: 'KES' };
    await operator.phone.pay(msisdn, { ...payment, amount: 249_999n });
    await operator.phone.pay(msisdn, { ...payment, accountReference: 'nonsense' });
    const readings = await settle();
    const heard = readings.map(
      (reading) => reading.kind === 'payment_received' && `${reading.accountReference} ${reading.amount}`,
    );
    assert.deepEqual(new Set(heard), new Set(['NONSENSE 250000', `${accountReference} 249999`]));
    assert.equal(await outcome(reference), 'pending');
    ctx.clock.advance(30 * 60_000);
    assert.deepEqual(summaries(await settle()), ['PROMPT_EXPIRED']);
    await operator.phone.pay(msisdn, payment);
    assert.deepEqual(summaries(await settle()), ['payment_received'], 'late money is reported too');
    assert.equal(await outcome(reference), 'PROMPT_EXPIRED');
  });

  test('a number ending 000 pays by itself, 006 is reported twice, 001 never pays', async () => {
    const till = methodOfType('till number');
    const paying = await collect(till, '254712345000');
    assert.equal(paying.observation.state, 'pending');
    assert.deepEqual(summaries(await settle()), ['payment_received']);
    assert.equal(await outcome(paying.reference), 'succeeded');
    await collect(till, '254712345006');
    const twice = await settle();
    assert.equal(twice.length, 2);
    assert.deepEqual(twice[0], twice[1]);
    const never = await collect(till, '254712345001');
    ctx.clock.advance(30 * 60_000);
    assert.deepEqual(summaries(await settle()), ['PROMPT_EXPIRED']);
    assert.equal(await outcome(never.reference), 'PROMPT_EXPIRED');
  });
});

test('the payee of a payout gets an SMS', async () => {
  const call = { reference: 'TX_PAYOUT_SMS', method: methodOf('MPESA_KEN'), msisdn, amount: 50n, currency: 'KES' };
  await rail.payout({ ...NO_STEPS, ...call, merchantName: 'Nairobi Books' });
  await settle();
  const { messages } = await operator.phone.view(msisdn);
  assert.match(messages[0]?.text ?? '', /You received KES\s0\.50 from Nairobi Books/);
});

describe('over HTTP', () => {
  const at = (path = '') => `${operator.url()}/phones/${msisdn}${path}`;
  const post = async (path: string, body: object) => {
    const response = await fetch(at(path), { method: 'POST', body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as { ok: boolean; message: string } };
  };
  type Printed = { is_on: boolean; version: number; prompts: { id: string; state: string; amount: string }[] };
  const get = async (path = '') => (await (await fetch(at(path))).json()) as Printed;

  test('the phone can be seen and used', async () => {
    const { reference } = await collect();
    const view = await get();
    assert.equal(view.prompts[0]?.amount, '2500');
    assert.equal((await post('/switch', { on: false })).status, 200);
    assert.equal((await get()).is_on, false);
    await post('/switch', { on: true });
    assert.equal((await post(`/answer/${reference}`, { pin: '1234' })).status, 409, 'the prompt was lost');
    const second = await collect();
    assert.deepEqual((await post(`/answer/${second.reference}`, { pin: '1234' })).body, { ok: true, message: 'Paid.' });
    const third = await collect();
    assert.equal((await post(`/cancel/${third.reference}`, {})).status, 200);
    assert.equal((await post('/dial', { code: '#1#' })).status, 409);
    assert.equal((await post('/pay', { to: '1', account_reference: 'X', amount: '10', currency: 'KES' })).status, 200);
    assert.equal((await post('/pay', { to: '1', amount: 10 })).status, 400);
    await settle();
  });

  test('a page waits for changes: a prompt ends the wait, silence ends with it', async () => {
    const before = await get();
    const quiet = await get(`/news?version=${before.version}&wait_ms=20`);
    assert.equal(quiet.version, before.version);
    const waiting = get(`/news?version=${before.version}&wait_ms=20000`);
    const { reference } = await collect();
    const changes = await waiting;
    assert.notEqual(changes.version, before.version);
    assert.equal(changes.prompts[0]?.id, reference);
    const next = get(`/news?version=${changes.version}&wait_ms=20000`);
    ctx.clock.advance(120_000);
    await settle();
    assert.equal((await next).prompts[0]?.state, 'expired');
  });
});

test('a restart keeps prompts, switches and what is due', async () => {
  const { reference } = await collect();
  await operator.phone.switchTo('254712345999', false);
  await operator.close();
  operator = createSimulatedOperator(ctx, { gatewayUrl: gateway.url });
  await operator.listen();
  assert.equal((await operator.phone.view(msisdn)).prompts[0]?.id, reference);
  assert.equal((await operator.phone.view('254712345999')).isOn, false);
  const other = createSimulatedOperator(ctx, {});
  assert.equal((await other.phone.answer(msisdn, reference, '1234')).ok, true, 'another process sees the same phone');
  await other.close();
  assert.deepEqual(summaries(await settle()), ['succeeded']);
});
