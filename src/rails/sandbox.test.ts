// What the sandbox rail makes of values that cannot be right, in replies and in callbacks that carry a valid signature.

import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { queryOf } from '../../test/rail-calls.ts';
import { loadCatalog, type Method } from '../catalog/catalog.ts';
import { createVault } from '../platform/secrets.ts';
import type { CallbackReading, Observation, Rail } from './rail.ts';
import { createSandboxRail, SANDBOX_CALLBACK_KEY_PURPOSE } from './sandbox.ts';

const PATH = '/operators/sandbox';
const NUL = String.fromCharCode(0);
const LONE_SURROGATE = '\ud800';
/** Hundredths that no 64-bit column holds. */
const BEYOND_INT8 = '99999999999999999999';

const vault = createVault(randomBytes(32));
let operator: Server;
let answer: string;
let rail: Rail;
let method: Method;

before(async () => {
  operator = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
  await new Promise<void>((resolve) => operator.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(operator.address() as AddressInfo).port}`;
  rail = createSandboxRail({ vault }, { operatorUrl: () => url, timeoutMs: 30_000 });
  const found = loadCatalog().methods.get('MTN_MOMO_UGA');
  assert.ok(found);
  method = found;
});
after(async () => {
  await rail.close();
  operator.close();
});

const SUCCESS = { reference: 'TX_1', status: 'succeeded', amount: '1500', currency: 'UGX', receipt: 'ABC1234567' };

async function query(body: object, direction: 'collection' | 'refund' = 'collection'): Promise<Observation> {
  answer = JSON.stringify(body);
  return (await rail.query(queryOf('TX_1', method, direction))).observation;
}

function readSigned(events: object[]): CallbackReading[] {
  const body = Buffer.from(JSON.stringify({ events }));
  const key = vault.deriveKeys(SANDBOX_CALLBACK_KEY_PURPOSE)[0];
  const signature = createHmac('sha256', key).update(`1.${PATH}.`).update(body).digest('hex');
  const headers = { 'x-operator-signature': `t=1,v1=${signature}` };
  return rail.readCallback({ method: 'POST', host: 'x', path: PATH, remoteAddress: null, headers, body });
}

const IMPOSSIBLE: [string, object][] = [
  ['an amount of zero', { amount: '0' }],
  ['a negative amount', { amount: '-1500' }],
  ['an amount beyond the column', { amount: BEYOND_INT8 }],
  ['an amount with thousandths', { amount: '1500.001' }],
  ['an amount as a number', { amount: 1500 }],
  ['no amount', { amount: null }],
  ['a currency that is none', { currency: 'shillings' }],
  ['a receipt with NUL', { receipt: `ABC${NUL}` }],
  ['a receipt without end', { receipt: 'A'.repeat(201) }],
  ['a receipt that is no Unicode text', { receipt: `ABC${LONE_SURROGATE}` }],
  ['a receipt that is a number', { receipt: 12 }],
];

for (const [what, change] of IMPOSSIBLE)
  test(`money 17: ${what} is not evidence, in a reply or in a callback`, async () => {
    assert.equal((await query(SUCCESS)).state, 'succeeded');
    for (const direction of ['collection', 'refund'] as const)
      assert.deepEqual(await query({ ...SUCCESS, ...change }, direction), {
        state: 'unknown',
        reason: 'the answer is not valid',
      });
    assert.equal((await query({ ...SUCCESS, ...change, status: 'reversed' })).state, 'unknown');
    const received = { type: 'payment.received', account_reference: 'A1', payer: '256772345678' };
    const readings = readSigned([
      { type: 'payment.updated', ...SUCCESS, ...change },
      { type: 'refund.updated', ...SUCCESS, ...change },
      { ...SUCCESS, ...change, ...received },
      { type: 'payment.updated', ...SUCCESS },
    ]);
    assert.deepEqual(
      readings.map((reading) => (reading.kind === 'rejected' ? reading.authenticated : reading.kind)),
      [true, true, true, 'proof'],
      'each on its own: the good one beside them is read',
    );
  });

test('money 17: a reference that cannot be stored rejects its event', () => {
  const events = [NUL, 'A'.repeat(201), LONE_SURROGATE, ''].map((reference) => ({
    type: 'payment.updated',
    ...SUCCESS,
    reference,
  }));
  for (const reading of readSigned(events)) assert.ok(reading.kind === 'rejected' && reading.authenticated);
  const received = { type: 'payment.received', amount: '10', currency: 'UGX', receipt: 'R1', payer: '256772345678' };
  const [reading] = readSigned([{ ...received, account_reference: `A${NUL}` }]);
  assert.equal(reading?.kind, 'rejected');
});

test('money 17: a long or strange message of a failure is cut, and the failure counts', async () => {
  const failed = {
    reference: 'TX_1',
    status: 'failed',
    failure_code: 'WRONG_PIN',
    message: `${NUL}${'x'.repeat(500)}`,
  };
  const observation = await query(failed);
  assert.ok(observation.state === 'failed' && observation.failureCode === 'WRONG_PIN');
  assert.equal(observation.message, ` ${'x'.repeat(199)}`);
  const unlisted = await query({ ...failed, failure_code: 'constructor' });
  assert.ok(unlisted.state === 'failed' && unlisted.failureCode === 'UNSPECIFIED');
});

test('money 17: instructions with a date that cannot be stored are not evidence', async () => {
  const pay = { kind: 'till', number: '1', name: 'Shop', account_reference: 'A1', expires_at: '2026-03-02T10:00:00Z' };
  const pending = { reference: 'TX_1', status: 'pending' };
  assert.equal((await query({ ...pending, pay })).state, 'pending');
  for (const change of [
    { expires_at: '-200000-01-01T00:00:00Z' },
    { expires_at: 'soon' },
    { number: NUL },
    { name: '' },
  ])
    assert.equal((await query({ ...pending, pay: { ...pay, ...change } })).state, 'unknown');
});

test('money 17: whatever JSON the operator sends is read without an exception, and its raw text can be stored', async () => {
  const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.constantFrom(NUL, LONE_SURROGATE));
  const fact = fc.record({
    type: fc.constantFrom('payment.updated', 'refund.updated', 'payment.received'),
    reference: fc.oneof(fc.constant('TX_1'), value),
    status: fc.constantFrom('pending', 'succeeded', 'failed', 'reversed', 'paused'),
    amount: fc.oneof(fc.constant('1500'), value),
    currency: fc.oneof(fc.constant('UGX'), value),
    receipt: value,
    failure_code: value,
    message: value,
    pay: fc.oneof(fc.constant(null), value),
  });
  await fc.assert(
    fc.asyncProperty(fact, async (sent) => {
      answer = JSON.stringify(sent);
      const reply = await rail.query(queryOf('TX_1', method));
      assert.ok(!reply.raw.includes(NUL) && reply.raw.isWellFormed());
      const texts = JSON.stringify([reply.observation, readSigned([sent])], (_, each: unknown) =>
        typeof each === 'bigint' ? each.toString() : each,
      );
      assert.ok(!/\\u(0000|d[89a-f])/.test(texts), texts);
    }),
    { numRuns: 100 },
  );
});

test('a name that cannot be shown is no name', async () => {
  const names = [{ name: NUL }, { name: 'A'.repeat(201) }, { name: 12 }, {}, [], 'x'];
  for (const given of names) {
    answer = JSON.stringify(given);
    assert.equal(await rail.lookUpName?.({ msisdn: '256772345678', method }), null);
  }
  answer = JSON.stringify({ name: 'Amina Okello' });
  assert.equal(await rail.lookUpName?.({ msisdn: '256772345678', method }), 'Amina Okello');
});
