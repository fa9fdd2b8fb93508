// The rail to Daraja against the simulated Daraja, over HTTP in both directions: money moves once, what the rail says agrees with
// the operator's own book, and no fault makes it say "failed" about money that moved, or "succeeded" about money that did not.

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createDarajaSimulator, DARAJA_SIMULATOR_SETTINGS } from '../../simulators/daraja.ts';
import { FAULTS, type Fault, type Operation } from '../../simulators/faults.ts';
import { type RunningSimulator, startSimulator } from '../../simulators/frame.ts';
import { loadCatalog } from '../../src/catalog/catalog.ts';
import { createHolderUuid, createRefundUuid, publicId } from '../../src/platform/ids.ts';
import { darajaRail } from '../../src/rails/daraja.ts';
import { promptReferenceOf } from '../../src/rails/daraja-references.ts';
import type {
  CallbackDecision,
  CallbackReading,
  Observation,
  QueryCall,
  Rail,
  RailMethod,
  RailReply,
} from '../../src/rails/rail.ts';
import { type TestConnection, testConnection } from '../rail-connection.ts';

const MINUTE_MS = 60_000;
/** Longer than a busy machine stands still. */
const TIMEOUT_MS = 30_000;
/** Of the rail whose operator is slow. */
const SHORT_TIMEOUT_MS = 1_000;
const SOON_MS = 300;

let ahead = 0;
const clock = { now: () => new Date(Date.now() + ahead), millis: () => Date.now() + ahead };
let simulator: RunningSimulator;
let receiver: Server;
let connection: TestConnection;
let rail: Rail;
let impatient: Rail;
const readings: CallbackReading[] = [];
let decide: (reading: CallbackReading & { kind: 'validation' }) => CallbackDecision;
let count = 0;

before(async () => {
  receiver = createServer((incoming, response) => {
    receive(incoming).then(
      ({ status, body }) => response.writeHead(status).end(body),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const publicUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  simulator = await startSimulator(createDarajaSimulator, {
    now: () => clock.millis(),
    automaticAfterMs: 20,
    slowMs: SHORT_TIMEOUT_MS + 500,
    callbackLateMs: 50,
    settings: { sameAmountSeconds: '0', textPhones: 'unreachable' },
  });
  connection = testConnection(darajaRail, simulator.url, { clock, publicUrl, timeoutMs: TIMEOUT_MS });
  rail = darajaRail.open(connection);
  impatient = darajaRail.open({ ...connection, timeoutMs: SHORT_TIMEOUT_MS });
  decide = () => ({ kind: 'refuse_payment', reason: 'unknown_account' });
});
after(async () => {
  await rail.close();
  await impatient.close();
  await simulator.close();
  receiver.close();
});

/** What the gateway does with a callback, without its database. */
async function receive(incoming: IncomingMessage): Promise<{ status: number; body: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { method = '', url: path = '', headers } = incoming;
  const body = Buffer.concat(chunks);
  const remoteAddress = incoming.socket.remoteAddress ?? null;
  const request = { method, host: headers.host ?? '', path, remoteAddress, headers, body };
  const read = rail.readCallback(request);
  readings.push(...read);
  const [first] = read;
  const decision: CallbackDecision =
    first?.kind === 'validation' ? decide(first) : { kind: first?.kind === 'rejected' ? 'rejected' : 'kept' };
  const answer = rail.answerCallback?.(request, decision);
  assert.ok(answer);
  return answer;
}

function method(code: string): RailMethod {
  const found = loadCatalog().methods.get(code);
  assert.ok(found);
  return found;
}

const newReference = () => publicId('TX', createHolderUuid(clock.millis(), 7n));
const newPhone = () => `2547${String(10_000_100 + ++count * 1_000)}`;

type Call = ReturnType<typeof newCall>;
const newCall = (code = 'MPESA_KEN', msisdn = newPhone()) => ({
  reference: newReference(),
  method: method(code),
  msisdn,
  amount: 100_00n,
  currency: 'KES',
  merchantName: 'Shop',
  recipientName: null,
  prepared: null,
  verified: false,
  returnUrl: 'https://pay.example.com',
});

function queryOf(
  call: Call,
  direction: QueryCall['direction'],
  reply: RailReply,
  reference = call.reference,
): QueryCall {
  const { observation } = reply;
  const railReference = 'railReference' in observation ? (observation.railReference ?? null) : null;
  const { method: railMethod, amount, currency } = call;
  const submittedAt = clock.now();
  return {
    reference,
    direction,
    method: railMethod,
    railReference,
    receipt: null,
    prepared: null,
    amount,
    currency,
    submittedAt,
  };
}

const matchedFor = (reference: string): Observation[] =>
  readings.flatMap((reading) =>
    reading.kind === 'matched' && reading.reference === reference ? [reading.observation] : [],
  );
const received = () => readings.filter((reading) => reading.kind === 'payment_received');

async function act(name: string, body: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  const { status, body: said } = await simulator.act(name, body);
  assert.equal(status, 200, JSON.stringify(said));
  return said as Record<string, unknown>;
}

/** Submits, lets everything happen, waits until no prompt can be open and asks. Returns all that was said. */
async function run(direction: 'collection' | 'payout', call = newCall(), asked = rail): Promise<Observation[]> {
  const reply = await (direction === 'collection' ? asked.collect(call) : asked.payout(call));
  const question = queryOf(call, direction, reply);
  // Not until it is idle: money that is late moves when the clock runs ahead.
  await Promise.race([simulator.idle(), pause(SOON_MS)]);
  ahead += 3 * MINUTE_MS;
  await simulator.idle();
  const answer = await rail.query(question);
  await simulator.idle();
  return [reply.observation, answer.observation, ...matchedFor(call.reference)];
}

const movedFor = (id: string) => simulator.book.movements().filter((movement) => movement.id === id);

/** What was said agrees with what moved. */
function assertTrue(said: Observation[], moved: number, label: string): void {
  assert.ok(moved <= 1, `${label}: moved twice`);
  const states = said.map(({ state }) => state);
  assert.ok(!states.includes(moved === 1 ? 'failed' : 'succeeded'), `${label}: ${states.join(', ')}`);
}

test('the settings of a connection to the simulator are those of the simulator', () => {
  const { settings } = connection;
  const own = DARAJA_SIMULATOR_SETTINGS;
  assert.deepEqual(
    [settings.consumer_key, settings.consumer_secret, settings.shortcode, settings.passkey, settings.paybill_number],
    [own.consumerKey, own.consumerSecret, own.shortCode, own.passkey, own.shortCode],
  );
  assert.deepEqual(
    [settings.till_number, settings.payout_shortcode, settings.initiator_name, settings.initiator_password],
    [own.tillNumber, own.b2cShortCode, own.initiatorName, own.initiatorPassword],
  );
  assert.equal(settings.certificate, own.certificate);
});

test('the check finds nothing missing and registers the addresses', async () => {
  for (const check of [...(await rail.check()), ...(await rail.check())]) assert.equal(check.problem, null, check.name);
});

describe('money', () => {
  test('a prompt is paid, told by callback and query, and confirmed under the same receipt', async () => {
    const call = newCall();
    const said = await run('collection', call);
    const [movement] = movedFor(promptReferenceOf(call.reference));
    const [pending, asked, reported] = said;
    assert.ok(pending?.state === 'pending' && asked?.state === 'succeeded' && reported?.state === 'succeeded');
    assert.deepEqual([reported.receipt, reported.amount, reported.currency], [movement?.receipt, 100_00n, 'KES']);
    assert.equal(reported.railReference, pending.railReference);
    const confirmed = received().find(({ receipt }) => receipt === movement?.receipt);
    assert.equal(confirmed?.accountReference, promptReferenceOf(call.reference));
  });

  test('a prompt that is not paid', async () => {
    for (const [digits, code] of [
      ['001', 'INSUFFICIENT_FUNDS'],
      ['002', 'WRONG_PIN'],
      ['004', 'PAYER_LIMIT_REACHED'],
      ['005', 'PROMPT_EXPIRED'],
      ['011', 'PAYER_CANCELLED'],
    ]) {
      const call = newCall('MPESA_KEN', `${newPhone().slice(0, 9)}${digits}`);
      const { observation } = await rail.collect(call);
      assert.equal(observation.state, 'pending');
      ahead += digits === '005' ? 2 * MINUTE_MS : 0;
      await simulator.idle();
      const [reported] = matchedFor(call.reference);
      assert.equal(reported?.state === 'failed' && reported.failureCode, code, digits);
    }
  });

  test('a phone with an open prompt is locked: that prompt may be this one, sent twice on the way', async () => {
    const phone = `${newPhone().slice(0, 9)}005`;
    assert.equal((await rail.collect(newCall('MPESA_KEN', phone))).observation.state, 'pending');
    const { observation } = await rail.collect(newCall('MPESA_KEN', phone));
    assert.equal(observation.state, 'unknown');
    ahead += 2 * MINUTE_MS;
    await simulator.idle();
  });

  test('a payout is paid, and its state is told on question', async () => {
    const call = newCall();
    const said = await run('payout', call);
    const [movement] = movedFor(call.reference);
    assert.equal(said[0]?.state, 'pending');
    assert.ok(said[1]?.state === 'unknown' && said[1].asked);
    assert.equal(said.length, 4, 'its own result, and the answer to the question');
    for (const reported of said.slice(2)) {
      assert.ok(reported.state === 'succeeded');
      assert.deepEqual([reported.receipt, reported.amount], [movement?.receipt, 100_00n]);
      assert.equal(reported.railReference, said[0]?.state === 'pending' && said[0].railReference);
    }
  });

  test('a payout that is not paid', async () => {
    for (const [digits, code] of [
      ['003', 'RECIPIENT_NOT_FOUND'],
      ['004', 'PAYER_LIMIT_REACHED'],
    ]) {
      const call = newCall('MPESA_KEN', `${newPhone().slice(0, 9)}${digits}`);
      await rail.payout(call);
      await simulator.idle();
      const [reported] = matchedFor(call.reference);
      assert.equal(reported?.state === 'failed' && reported.failureCode, code, digits);
    }
    const large = { ...newCall(), amount: 999_999_00n };
    assert.equal((await run('payout', large)).findLast(({ state }) => state === 'failed')?.state, 'failed');
    assert.equal(movedFor(large.reference).length, 0);
  });

  test('a refund gives the whole payment back, once', async () => {
    const call = newCall();
    await run('collection', call);
    const paid = matchedFor(call.reference).find((reported) => reported.state === 'succeeded');
    const collection = {
      reference: call.reference,
      railReference: null,
      receipt: paid?.receipt ?? '',
      amount: call.amount,
    };
    const refund = async (reference: string) => {
      const reply = await rail.refund?.({ ...call, reference, collection });
      assert.ok(reply?.observation.state === 'pending');
      await simulator.idle();
      await rail.query(queryOf(call, 'refund', reply, reference));
      await simulator.idle();
      return matchedFor(reference);
    };
    const first = await refund(publicId('RF', createRefundUuid(clock.millis(), 7n)));
    const [movement] = movedFor(collection.receipt);
    assert.equal(first.length, 2);
    for (const reported of first)
      assert.deepEqual(reported.state === 'succeeded' && [reported.receipt, reported.amount], [
        movement?.receipt,
        100_00n,
      ]);
    const second = await refund(publicId('RF', createRefundUuid(clock.millis(), 7n)));
    assert.deepEqual(second, [{ state: 'succeeded', receipt: null }], 'reversed before');
    assert.equal(movedFor(collection.receipt).length, 1);
  });

  test('the balance is told', async () => {
    assert.deepEqual(await rail.balance?.(), { asked: true });
    await simulator.idle();
    const reported = readings.findLast((reading) => reading.kind === 'balance');
    const utility = reported?.balances.find(({ account }) => account === 'Utility Account');
    assert.equal(utility?.available, simulator.book.balance('KES'));
  });
});

describe('till and pay bill', () => {
  test('a payment is validated, made and confirmed', async () => {
    for (const code of ['MPESA_PAYBILL_KEN', 'MPESA_TILL_KEN']) {
      const call = newCall(code);
      const { observation } = await rail.collect(call);
      assert.ok(observation.state === 'pending' && observation.step?.kind === 'transfer');
      const { accountReference } = observation.step;
      decide = (reading) => {
        if (reading.accountReference !== accountReference) return { kind: 'refuse_payment', reason: 'unknown_account' };
        if (reading.amount !== call.amount) return { kind: 'refuse_payment', reason: 'wrong_amount' };
        return { kind: 'take_payment', reference: call.reference };
      };
      const pay = (amount: string, reference = accountReference, msisdn = call.msisdn) =>
        act(code === 'MPESA_TILL_KEN' ? 'pay_till' : 'pay_bill', { msisdn, amount, reference });
      assert.equal((await pay('99')).reason, 'C2B00013');
      const wrong =
        code === 'MPESA_TILL_KEN' ? await pay('100', '', newPhone().replace(/\d$/, '9')) : await pay('100', '77');
      assert.equal(wrong.reason, 'C2B00012');
      const paid = await pay('100');
      await simulator.idle();
      const confirmed = received().find(({ receipt }) => receipt === paid.receipt);
      assert.deepEqual(
        [confirmed?.accountReference, confirmed?.amount, confirmed?.currency],
        [accountReference, 100_00n, 'KES'],
      );
    }
  });

  test('a payment whose confirmation was lost is found in the list', async () => {
    for (const code of ['MPESA_PAYBILL_KEN', 'MPESA_TILL_KEN']) {
      const call = newCall(code);
      const reply = await rail.collect(call);
      assert.ok(reply.observation.state === 'pending' && reply.observation.step?.kind === 'transfer');
      const question = { ...queryOf(call, 'collection', reply), msisdn: call.msisdn };
      assert.equal((await rail.query(question)).observation.state, 'pending');
      decide = () => {
        simulator.faults.add({ fault: 'callback_lost', operation: 'other' });
        return { kind: 'take_payment', reference: call.reference };
      };
      const reference = reply.observation.step.accountReference;
      const paid = await act(code === 'MPESA_TILL_KEN' ? 'pay_till' : 'pay_bill', {
        msisdn: call.msisdn,
        amount: '100',
        reference,
      });
      await simulator.idle();
      assert.equal(received().filter(({ receipt }) => receipt === paid.receipt).length, 0);
      const { observation } = await rail.query(question);
      assert.deepEqual(observation.state === 'succeeded' && [observation.receipt, observation.amount], [
        paid.receipt,
        100_00n,
      ]);
    }
  });

  test('what cannot be validated is not paid', async () => {
    decide = () => ({ kind: 'refuse_payment', reason: 'not_now' });
    const refused = await act('pay_bill', { msisdn: newPhone(), amount: '100', reference: '1' });
    assert.deepEqual([refused.paid, refused.reason], [false, 'C2B00016']);
  });
});

/** Faults of the answer belong to the operation, faults of callbacks to the callback. */
const operationOf = (fault: Fault, operation: Operation): Operation =>
  /^callback_(lost|doubled|late)$/.test(fault) ? 'other' : operation;

describe('faults', () => {
  const RENAMED = { rename: { CheckoutRequestID: 'checkoutRequestId', ResponseCode: 'responseCode' } };

  const railFor = (fault: Fault) => (fault === 'slow' ? impatient : rail);

  for (const fault of FAULTS)
    test(`${fault}: what is said of prompts and payouts is true`, async () => {
      for (const direction of ['collection', 'payout'] as const) {
        const call = newCall();
        const operation = direction === 'collection' ? 'collect' : 'payout';
        simulator.faults.add({
          fault,
          operation: operationOf(fault, operation),
          ...(fault === 'field_renamed' ? RENAMED : {}),
        });
        const said = await run(direction, call, railFor(fault));
        simulator.faults.clear();
        const moved = movedFor(direction === 'collection' ? promptReferenceOf(call.reference) : call.reference);
        assertTrue(said, moved.length, `${fault} ${direction}`);
        if (fault === 'token_ended' || fault.startsWith('callback_'))
          assert.ok(moved.length === 1 && said.some(({ state }) => state === 'succeeded'), fault);
      }
    });

  /** Those of the answer: the operator did what it was asked, or not, and we cannot know. */
  const OF_ANSWERS = FAULTS.filter((fault) => !/^(callback_|late_|unknown_)/.test(fault));

  test('of refunds: what is said is true', async () => {
    for (const fault of FAULTS.filter((each) => each !== 'slow')) {
      const call = newCall();
      await run('collection', call);
      const paid = matchedFor(call.reference).find((said) => said.state === 'succeeded');
      const receipt = paid?.receipt ?? '';
      const reference = publicId('RF', createRefundUuid(clock.millis(), 7n));
      const collection = { reference: call.reference, railReference: null, receipt, amount: call.amount };
      simulator.faults.add({
        fault,
        operation: operationOf(fault, 'refund'),
        ...(fault === 'field_renamed' ? RENAMED : {}),
      });
      const reply = await rail.refund?.({ ...call, reference, collection });
      await Promise.race([simulator.idle(), pause(SOON_MS)]);
      ahead += 3 * MINUTE_MS;
      await simulator.idle();
      simulator.faults.clear();
      assert.ok(reply);
      await rail.query(queryOf(call, 'refund', reply, reference));
      await simulator.idle();
      assertTrue([reply.observation, ...matchedFor(reference)], movedFor(receipt).length, fault);
    }
  });

  test('a prompt of which no message arrived is found in the list', async () => {
    const call = newCall();
    simulator.faults.add({ fault: 'answer_lost', operation: 'collect' });
    simulator.faults.add({ fault: 'callback_lost', operation: 'other', times: 2 });
    const said = await run('collection', call);
    simulator.faults.clear();
    const [movement] = movedFor(promptReferenceOf(call.reference));
    assert.deepEqual(
      said.map((each) => (each.state === 'succeeded' ? each.receipt : each.state)),
      ['unknown', movement?.receipt],
    );
  });

  for (const operation of ['query', 'token'] as const)
    test(`of the ${operation}: nothing is said about money`, async () => {
      const call = newCall();
      const reply = await rail.payout(call);
      await simulator.idle();
      for (const fault of OF_ANSWERS) {
        if (operation === 'token') simulator.faults.add({ fault: 'token_ended', operation: 'query' });
        simulator.faults.add({ fault, operation, ...(fault === 'field_renamed' ? RENAMED : {}) });
        const { observation } = await railFor(fault).query(queryOf(call, 'payout', reply));
        assert.equal(observation.state, 'unknown', fault);
        simulator.faults.clear();
        await simulator.idle();
      }
      assert.ok(matchedFor(call.reference).every(({ state }) => state === 'succeeded'));
    });

  test('of the balance: it is an error, or comes by callback', async () => {
    for (const fault of OF_ANSWERS.filter((each) => each !== 'slow')) {
      simulator.faults.add({ fault, operation: 'balance', ...(fault === 'field_renamed' ? RENAMED : {}) });
      const reply = await rail.balance?.();
      assert.ok(reply && ('asked' in reply || 'error' in reply), fault);
      simulator.faults.clear();
    }
    await simulator.idle();
  });
});

describe('quirks of Safaricom', () => {
  const QUIRKS: [string, object, 'collection' | 'payout'][] = [
    ['spike_arrest', { operation: 'collect' }, 'collection'],
    ['spike_arrest', { operation: 'payout' }, 'payout'],
    ['system_busy', { operation: 'collect' }, 'collection'],
    ['system_busy', { operation: 'payout' }, 'payout'],
    ['pending_4999', {}, 'collection'],
    ['early_1037', {}, 'collection'],
    ['missing_500', {}, 'collection'],
    ['balance_without_value', {}, 'collection'],
    ['balance_with_value', {}, 'collection'],
    ['masked_phone', {}, 'collection'],
    ['decimal_amount', {}, 'collection'],
    ['result_type_1_first', {}, 'payout'],
    ['text_codes', {}, 'payout'],
    ['text_codes', {}, 'collection'],
    ['reference_list', {}, 'payout'],
    ['queue_timeout', {}, 'payout'],
    ['refused_ack', {}, 'payout'],
    ['status_fails', {}, 'payout'],
    ['status_echoes_id', {}, 'payout'],
    ['end_with', { code: '17', operation: 'payout' }, 'payout'],
    ['end_with', { code: '1', operation: 'collect' }, 'collection'],
  ];
  for (const [quirk, options, direction] of QUIRKS)
    test(`${quirk} ${JSON.stringify(options)} of a ${direction}`, async () => {
      const call = newCall();
      await act(quirk, { ...options });
      const said = await run(direction, call);
      const moved = movedFor(direction === 'collection' ? promptReferenceOf(call.reference) : call.reference);
      assertTrue(said, moved.length, quirk);
    });

  test('a query that says 1037 while the money is late is not the end', async () => {
    const call = newCall();
    simulator.faults.add({ fault: 'late_success', operation: 'collect' });
    const reply = await rail.collect(call);
    await pause(SOON_MS);
    const { observation } = await rail.query(queryOf(call, 'collection', reply));
    assert.equal(observation.state, 'pending');
    ahead += 2 * MINUTE_MS;
    await simulator.idle();
    assert.equal(matchedFor(call.reference)[0]?.state, 'succeeded');
  });

  test('a query that says 1037 while the prompt is open is not the end', async () => {
    for (const quirk of ['early_1037', 'pending_4999', null]) {
      const call = newCall('MPESA_KEN', `${newPhone().slice(0, 9)}005`);
      if (quirk !== null) await act(quirk);
      const reply = await rail.collect(call);
      const { observation } = await rail.query(queryOf(call, 'collection', reply));
      assert.equal(observation.state, 'pending', String(quirk));
      ahead += 2 * MINUTE_MS;
      await simulator.idle();
    }
  });

  test('a forged amount and a foreign id are told apart by what the gateway stored', async () => {
    for (const quirk of ['forged_amount', 'foreign_callback']) {
      const call = newCall();
      await act(quirk);
      const [pending, , ...reported] = await run('collection', call);
      const railReference = pending?.state === 'pending' ? pending.railReference : '';
      const equal = reported.filter(
        (each) => each.state === 'succeeded' && each.amount === call.amount && each.railReference === railReference,
      );
      assert.equal(reported.length, 2);
      assert.equal(equal.length, 1, quirk);
    }
  });

  test('a payout that waited too long is asked about', async () => {
    const call = newCall();
    await act('queue_timeout');
    await rail.payout(call);
    await simulator.idle();
    assert.ok(readings.some((reading) => reading.kind === 'hint' && reading.reference === call.reference));
  });
});

test('no secret is in what is kept', () => {
  const kept = JSON.stringify(connection.calls);
  for (const name of ['consumer_key', 'consumer_secret', 'passkey', 'initiator_password'])
    assert.ok(!kept.includes(connection.settings[name] ?? ''), name);
  assert.ok(!/"access_token":"(?!\[hidden\])/.test(kept.replaceAll('\\', '')));
});
