// The pawaPay rail against a scripted server, with the bodies that pawaPay documents.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import {
  collectCall,
  methodOf,
  newReference,
  newRefundReference,
  payoutCall,
  queryCall,
  refundCall,
} from '../../test/rail-calls.ts';
import { type TestConnection, testConnection } from '../../test/rail-connection.ts';
import { type ScriptedAnswer, type ScriptedOperator, startScriptedOperator } from '../../test/scripted-operator.ts';
import { createVirtualClock } from '../platform/clock.ts';
import { createCallbackAddresses, dashboardAddress } from './callback-addresses.ts';
import { pawapayRail } from './pawapay.ts';
import { checkSignature, readSigner, signRequest } from './pawapay-signatures.ts';
import type { CallbackReading, CallbackRequest, MoneyDirection, Rail } from './rail.ts';
import { uuid4Of } from './wire-ids.ts';

const TOKEN = 'pawapay-token-of-the-test';
const KEY_ID = 'HTTP_EC_P256_KEY:1';
const NOW = '2026-11-15T12:00:00.000Z';
const PATH = new URL(
  dashboardAddress(
    createCallbackAddresses({
      connection: 'pawapay',
      publicUrl: 'https://pay.example.com',
      keys: () => [Buffer.alloc(32, 7)],
    }),
  ),
).pathname;
const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const ec384 = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pemOf = (key: typeof ec.privateKey) =>
  key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }).toString();

let operator: ScriptedOperator;
let connection: TestConnection;
let rail: Rail;
const clock = createVirtualClock(NOW);

before(async () => {
  operator = await startScriptedOperator();
});
after(async () => {
  await rail.close();
  await operator[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await open({});
});

async function open(settings: Record<string, string>): Promise<void> {
  await rail?.close();
  clock.set(new Date(NOW));
  connection = testConnection(pawapayRail, operator.url, {
    clock,
    settings: { api_token: TOKEN, signed_callbacks: 'no', ...settings },
  });
  rail = pawapayRail.open(connection);
}

const collection = collectCall('MTN_MOMO_ZMB', { amount: 1_550n, msisdn: '260763456789' });
const uuid = uuid4Of(collection.reference);
const lastRequest = () => operator.requests.at(-1);
/** The answer to a request, whose id pawaPay does not know afterwards. */
const refuse = (answer: ScriptedAnswer) =>
  operator.answer(({ method }) => (method === 'POST' ? answer : { body: { status: 'NOT_FOUND' } }));

/** A deposit, payout or refund as a query shows it. */
function resource(direction: MoneyDirection, reference: string, changes: object): object {
  const id = { collection: 'depositId', payout: 'payoutId', refund: 'refundId' }[direction];
  const party = { type: 'MMO', accountDetails: { phoneNumber: '260763456789', provider: 'MTN_MOMO_ZMB' } };
  return {
    [id]: uuid4Of(reference),
    amount: '15.50',
    currency: 'ZMW',
    country: 'ZMB',
    [direction === 'collection' ? 'payer' : 'recipient']: party,
    customerMessage: 'To ACME company',
    created: '2020-10-19T08:17:01Z',
    metadata: { orderId: 'ORD-123456789' },
    ...changes,
  };
}

describe('pawapay: submits', () => {
  test('a deposit is sent as documented', async () => {
    operator.answer({
      body: { depositId: uuid, status: 'ACCEPTED', nextStep: 'FINAL_STATUS', created: '2020-10-19T11:17:01Z' },
    });
    const { observation } = await rail.collect({ ...collection, merchantName: 'Café "Le Palmier" du Plateau' });
    assert.deepEqual(observation, { state: 'pending', railReference: uuid, step: { kind: 'prompt', text: null } });
    const sent = lastRequest();
    assert.equal(`${sent?.method} ${sent?.path}`, 'POST /v2/deposits');
    assert.equal(sent?.headers.authorization, `Bearer ${TOKEN}`);
    assert.deepEqual(sent?.json, {
      depositId: uuid,
      amount: '15.5',
      currency: 'ZMW',
      payer: { type: 'MMO', accountDetails: { phoneNumber: '260763456789', provider: 'MTN_MOMO_ZMB' } },
      clientReferenceId: collection.reference,
      customerMessage: 'Cafe Le Palmier du Pla',
      metadata: [{ ref: collection.reference }],
    });
  });

  test('a payout names its recipient; a name too short for the message is left out', async () => {
    const call = payoutCall('MTN_MOMO_ZMB', { amount: 100_000n, merchantName: 'A&B' });
    operator.answer({
      body: { payoutId: uuid4Of(call.reference), status: 'ACCEPTED', created: '2020-10-19T11:17:01Z' },
    });
    assert.deepEqual((await rail.payout(call)).observation, {
      state: 'pending',
      railReference: uuid4Of(call.reference),
    });
    const { json, path } = operator.requests.at(-1) ?? {};
    assert.equal(path, '/v2/payouts');
    assert.equal(json.recipient.accountDetails.provider, 'MTN_MOMO_ZMB');
    assert.equal(json.amount, '1000');
    assert.ok(!('customerMessage' in json));
  });

  test('where the operator sends no prompt the payer dials', async () => {
    const call = collectCall('ORANGE_SEN');
    operator.answer({ body: { depositId: uuid4Of(call.reference), status: 'ACCEPTED' } });
    const { observation } = await rail.collect(call);
    assert.deepEqual(observation.state === 'pending' && observation.step, { kind: 'dial', code: '#144#', text: null });
    assert.equal(rail.verificationFor(methodOf('ORANGE_SEN'), '221773456789'), 'shortcode');
    assert.equal(rail.verificationFor(methodOf('MTN_MOMO_ZMB'), '260763456789'), 'prompt');
  });

  const refusals: [number, string, string][] = [
    [401, 'NO_AUTHENTICATION', 'OPERATOR_UNAVAILABLE'],
    [403, 'AUTHENTICATION_ERROR', 'OPERATOR_UNAVAILABLE'],
    [403, 'AUTHORISATION_ERROR', 'OPERATOR_UNAVAILABLE'],
    [403, 'HTTP_SIGNATURE_ERROR', 'OPERATOR_UNAVAILABLE'],
    [400, 'INVALID_INPUT', 'REJECTED_BY_OPERATOR'],
    [400, 'MISSING_PARAMETER', 'REJECTED_BY_OPERATOR'],
    [400, 'UNSUPPORTED_PARAMETER', 'REJECTED_BY_OPERATOR'],
    [400, 'INVALID_PARAMETER', 'REJECTED_BY_OPERATOR'],
    [400, 'DUPLICATE_METADATA_FIELD', 'REJECTED_BY_OPERATOR'],
    [403, 'DEPOSITS_NOT_ALLOWED', 'REJECTED_BY_OPERATOR'],
    [200, 'AMOUNT_OUT_OF_BOUNDS', 'AMOUNT_OUT_OF_RANGE'],
    [200, 'INVALID_AMOUNT', 'AMOUNT_OUT_OF_RANGE'],
    [200, 'INVALID_PHONE_NUMBER', 'PAYER_NOT_FOUND'],
    [200, 'INVALID_CURRENCY', 'REJECTED_BY_OPERATOR'],
    [200, 'INVALID_PROVIDER', 'REJECTED_BY_OPERATOR'],
    [200, 'PROVIDER_TEMPORARILY_UNAVAILABLE', 'OPERATOR_UNAVAILABLE'],
    [200, 'PAWAPAY_WALLET_OUT_OF_FUNDS', 'FLOAT_INSUFFICIENT'],
    [200, 'CORRESPONDENT_TEMPORARILY_UNAVAILABLE', 'OPERATOR_UNAVAILABLE'],
  ];
  for (const [status, code, failureCode] of refusals)
    test(`${code} is refused as ${failureCode}`, async () => {
      const failureReason = { failureCode: code, failureMessage: 'The operator says no.' };
      // With AMOUNT_OUT_OF_BOUNDS the id is null.
      refuse({ status, body: { depositId: null, status: 'REJECTED', failureReason } });
      assert.deepEqual((await rail.collect(collection)).observation, {
        state: 'failed',
        failureCode,
        rawCode: code,
        message: 'The operator says no.',
      });
    });

  test('a phone number that a payout cannot reach is the recipient', async () => {
    const failureReason = { failureCode: 'INVALID_PHONE_NUMBER', failureMessage: '' };
    refuse({ body: { payoutId: null, status: 'REJECTED', failureReason } });
    const { observation } = await rail.payout(payoutCall('MTN_MOMO_ZMB'));
    assert.equal(observation.state === 'failed' && observation.failureCode, 'RECIPIENT_NOT_FOUND');
  });

  test('a refusal ends nothing that pawaPay has taken before', async () => {
    const failureReason = { failureCode: 'AUTHENTICATION_ERROR', failureMessage: '' };
    const refused = { status: 403, body: { status: 'REJECTED', failureReason } };
    const data = resource('collection', collection.reference, { status: 'PROCESSING' });
    const state = async (found: ScriptedAnswer | 'cut') => {
      operator.answer(({ method }) => (method === 'POST' ? refused : found));
      return (await rail.collect(collection)).observation.state;
    };
    assert.equal(await state({ body: { status: 'FOUND', data } }), 'pending');
    assert.equal(await state('cut'), 'unknown');
    assert.equal(await state({ body: { status: 'NOT_FOUND' } }), 'failed');
    assert.equal(await state(refused), 'failed', 'a wrong token takes nothing');
  });

  const unknowns: [string, Parameters<ScriptedOperator['answer']>[0]][] = [
    ['a repeated id', { body: { depositId: uuid, status: 'DUPLICATE_IGNORED', created: '2020-10-19T11:17:01Z' } }],
    ['an error inside pawaPay', { status: 500, body: { failureReason: { failureCode: 'UNKNOWN_ERROR' } } }],
    ['a refusal with UNKNOWN_ERROR', { body: { status: 'REJECTED', failureReason: { failureCode: 'UNKNOWN_ERROR' } } }],
    ['a refusal with a code of tomorrow', { body: { status: 'REJECTED', failureReason: { failureCode: 'NEW' } } }],
    ['a refusal of another id', { body: { depositId: uuid4Of(newReference()), status: 'REJECTED' } }],
    ['an acceptance of another id', { body: { depositId: uuid4Of(newReference()), status: 'ACCEPTED' } }],
    ['an acceptance without id', { body: { status: 'ACCEPTED' } }],
    ['a misspelt status', { body: { depositId: uuid, Status: 'ACCEPTED' } }],
    ["a proxy's refusal", { status: 403, body: '<html>Forbidden</html>' }],
    ["a proxy's error", { status: 502, body: '<html>Bad gateway</html>' }],
    ['a redirect', { status: 302, body: '', headers: { location: 'https://elsewhere.example' } }],
    ['a closed connection', 'cut'],
  ];
  for (const [what, answer] of unknowns)
    test(`${what} is unknown`, async () => {
      operator.answer(answer);
      const { observation } = await rail.collect(collection);
      assert.equal(observation.state, 'unknown');
      assert.ok(!('definitelyNotFound' in observation));
    });
});

describe('pawapay: queries', () => {
  test('a completed deposit, with any number of zeros', async () => {
    for (const amount of ['15.5', '15.50', '15.5000']) {
      const data = resource('collection', collection.reference, {
        status: 'COMPLETED',
        amount,
        providerTransactionId: '12356789',
      });
      operator.answer({ body: { status: 'FOUND', data } });
      assert.deepEqual((await rail.query(queryCall(collection))).observation, {
        state: 'succeeded',
        receipt: '12356789',
        railReference: uuid,
        amount: 1_550n,
        currency: 'ZMW',
      });
    }
    assert.equal(lastRequest()?.path, `/v2/deposits/${uuid}`);
  });

  test('a success without the operator’s id has no receipt yet', async () => {
    const data = resource('collection', collection.reference, { status: 'COMPLETED' });
    operator.answer({ body: { status: 'FOUND', data } });
    const { observation } = await rail.query(queryCall(collection));
    assert.equal(observation.state === 'succeeded' && observation.receipt, null);
  });

  for (const status of ['ACCEPTED', 'ENQUEUED', 'PROCESSING', 'SUBMITTED', 'IN_RECONCILIATION'])
    test(`${status} is pending`, async () => {
      const refund = newRefundReference();
      operator.answer({ body: { status: 'FOUND', data: resource('refund', refund, { status }) } });
      const { observation } = await rail.query(
        queryCall({ ...collection, reference: refund }, { direction: 'refund' }),
      );
      assert.equal(observation.state, 'pending');
      assert.equal(lastRequest()?.path, `/v2/refunds/${uuid4Of(refund)}`);
    });

  const failures: [string, string][] = [
    ['PAYER_NOT_FOUND', 'PAYER_NOT_FOUND'],
    ['PAYMENT_NOT_APPROVED', 'PAYER_CANCELLED'],
    ['INSUFFICIENT_BALANCE', 'INSUFFICIENT_FUNDS'],
    ['PAYER_LIMIT_REACHED', 'PAYER_LIMIT_REACHED'],
    ['WALLET_LIMIT_REACHED', 'PAYER_LIMIT_REACHED'],
    ['RECIPIENT_LIMIT_REACHED', 'PAYER_LIMIT_REACHED'],
    ['PAYMENT_IN_PROGRESS', 'DUPLICATE_AT_OPERATOR'],
    ['TRANSACTION_ALREADY_IN_PROCESS', 'DUPLICATE_AT_OPERATOR'],
    ['RECIPIENT_NOT_FOUND', 'RECIPIENT_NOT_FOUND'],
    ['MANUALLY_CANCELLED', 'REJECTED_BY_OPERATOR'],
    ['PAWAPAY_WALLET_OUT_OF_FUNDS', 'FLOAT_INSUFFICIENT'],
    ['UNSPECIFIED_FAILURE', 'UNSPECIFIED'],
    ['OTHER_ERROR', 'UNSPECIFIED'],
    ['UNKNOWN_ERROR', 'UNSPECIFIED'],
    ['A_CODE_OF_TOMORROW', 'UNSPECIFIED'],
    ['AMOUNT_TOO_LARGE', 'AMOUNT_OUT_OF_RANGE'],
    ['REFUND_IN_PROGRESS', 'DUPLICATE_AT_OPERATOR'],
  ];
  for (const [code, failureCode] of failures)
    test(`FAILED with ${code} is ${failureCode}`, async () => {
      const call = payoutCall('MTN_MOMO_ZMB');
      const failureReason = { failureCode: code, failureMessage: 'Recipient not found' };
      const data = resource('payout', call.reference, { status: 'FAILED', failureReason });
      operator.answer({ body: { status: 'FOUND', data } });
      const { observation } = await rail.query(queryCall(call, { direction: 'payout' }));
      assert.deepEqual(observation, {
        state: 'failed',
        failureCode,
        rawCode: code,
        message: 'Recipient not found',
        railReference: uuid4Of(call.reference),
      });
    });

  test('only pawaPay itself says that it knows no id', async () => {
    for (const status of [200, 404]) {
      operator.answer({ status, body: { status: 'NOT_FOUND' } });
      const { observation } = await rail.query(queryCall(collection));
      assert.equal(observation.state === 'unknown' && observation.definitelyNotFound, true);
    }
    const others: [number, object | string][] = [
      [404, '<html>Not found</html>'],
      [404, { message: 'no route' }],
      [500, { status: 'NOT_FOUND' }],
      [401, { status: 'REJECTED', failureReason: { failureCode: 'NO_AUTHENTICATION' } }],
      [403, { failureReason: { failureCode: 'AUTHENTICATION_ERROR' } }],
      [200, { status: 'FOUND' }],
      [200, { status: 'ELSEWHERE' }],
      [200, { status: 'FOUND', data: resource('collection', newReference(), { status: 'COMPLETED' }) }],
      [200, { status: 'FOUND', data: resource('collection', collection.reference, { status: 'PAID' }) }],
      [
        200,
        { status: 'FOUND', data: resource('collection', collection.reference, { status: 'COMPLETED', amount: 'x' }) },
      ],
      [200, { status: 'FOUND', data: resource('collection', collection.reference, { state: 'COMPLETED' }) }],
    ];
    for (const [status, body] of others) {
      operator.answer({ status, body });
      const { observation } = await rail.query(queryCall(collection));
      assert.equal(observation.state, 'unknown', JSON.stringify(body));
      assert.ok(!('definitelyNotFound' in observation));
    }
  });

  test('no answer is ever read as an end that it does not say', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.constant('{"status":"FOUND","data":null}')),
        fc.constantFrom(200, 201, 204, 400, 401, 403, 404, 409, 429, 500, 503),
        async (body, status) => {
          operator.answer({ status, body: status === 204 ? '' : body });
          for (const reply of [
            await rail.collect(collection),
            await rail.query(queryCall(collection)),
            await rail.refund?.(refundCall(collection)),
          ])
            assert.equal(reply?.observation.state, 'unknown');
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('pawapay: refunds and cancels', () => {
  test('a refund has its own id and names the deposit', async () => {
    const call = refundCall(collection, { amount: 500n });
    operator.answer({
      body: { refundId: uuid4Of(call.reference), status: 'ACCEPTED', created: '2020-10-19T11:17:01Z' },
    });
    assert.equal((await rail.refund?.(call))?.observation.state, 'pending');
    assert.deepEqual(lastRequest()?.json, {
      refundId: uuid4Of(call.reference),
      depositId: uuid,
      amount: '5',
      currency: 'ZMW',
      metadata: [{ ref: call.reference }],
    });
  });

  const rejections: [string, string][] = [
    ['NOT_FOUND', 'failed'],
    ['INVALID_STATE', 'failed'],
    ['AMOUNT_TOO_LARGE', 'failed'],
    ['REFUNDS_NOT_ALLOWED', 'failed'],
    // Another refund is under way; this one is sent again later.
    ['REFUND_IN_PROGRESS', 'unknown'],
  ];
  for (const [code, state] of rejections)
    test(`a refund refused with ${code} is ${state}`, async () => {
      refuse({ body: { status: 'REJECTED', failureReason: { failureCode: code, failureMessage: '' } } });
      assert.equal((await rail.refund?.(refundCall(collection)))?.observation.state, state);
    });

  test('already given back: by this refund, or by another', async () => {
    const call = refundCall(collection);
    const refused = { status: 'REJECTED', failureReason: { failureCode: 'DEPOSIT_ALREADY_REFUNDED' } };
    const found = { status: 'FOUND', data: resource('refund', call.reference, { status: 'COMPLETED' }) };
    operator.answer(({ method }) => ({ body: method === 'POST' ? refused : found }));
    assert.equal((await rail.refund?.(call))?.observation.state, 'succeeded');
    operator.answer(({ method }) => ({ body: method === 'POST' ? refused : { status: 'NOT_FOUND' } }));
    const other = (await rail.refund?.(call))?.observation;
    assert.equal(other?.state === 'failed' && other.rawCode, 'DEPOSIT_ALREADY_REFUNDED');
    operator.answer(({ method }) => (method === 'POST' ? { body: refused } : 'cut'));
    assert.equal((await rail.refund?.(call))?.observation.state, 'unknown');
  });

  test('a payout that waits is cancelled, and its end is read', async () => {
    const call = payoutCall('MTN_MOMO_ZMB');
    const failureReason = { failureCode: 'MANUALLY_CANCELLED', failureMessage: '' };
    const data = resource('payout', call.reference, { status: 'FAILED', failureReason });
    operator.requests.length = 0;
    operator.answer(({ method }) => ({ body: method === 'POST' ? { status: 'ACCEPTED' } : { status: 'FOUND', data } }));
    const reply = await rail.cancel?.(queryCall(call, { direction: 'payout' }));
    assert.equal(reply?.observation.state, 'failed');
    assert.deepEqual(
      operator.requests.map(({ path }) => path),
      [`/v2/payouts/fail-enqueued/${uuid4Of(call.reference)}`, `/v2/payouts/${uuid4Of(call.reference)}`],
    );
  });
});

function callbackOf(body: object, changes: Partial<CallbackRequest> = {}): CallbackRequest {
  return {
    method: 'POST',
    host: 'pay.example.com',
    path: PATH,
    remoteAddress: '3.64.89.224',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
    ...changes,
  };
}

type SignOptions = {
  key?: typeof ec;
  encoding?: 'der' | 'ieee-p1363';
  keyId?: string;
  authority?: string;
  path?: string;
};

function signed(body: object, options: SignOptions = {}): CallbackRequest {
  const signer = readSigner(options.keyId ?? KEY_ID, pemOf((options.key ?? ec).privateKey), options.encoding ?? 'der');
  assert.ok(signer);
  const request = callbackOf(body);
  const headers = signRequest(signer, {
    authority: options.authority ?? 'pay.example.com',
    path: options.path ?? PATH,
    body: request.body.toString(),
    now: clock.now(),
  });
  return { ...request, headers };
}

const completed = () =>
  resource('collection', collection.reference, {
    status: 'COMPLETED',
    amount: '15.5000',
    providerTransactionId: '12356789',
    failureReason: null,
    metadata: { ref: collection.reference },
  });
const read = (request: CallbackRequest): CallbackReading | undefined => rail.readCallback(request)[0];

async function openSigned(keys: object[] = [{ id: KEY_ID, key: pemOf(ec.publicKey) }]): Promise<void> {
  operator.answer({ body: keys });
  await open({ signed_callbacks: 'yes' });
  while (connection.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}

describe('pawapay: callbacks', () => {
  test('without signatures a callback is a reason to ask', () => {
    assert.deepEqual(read(callbackOf(completed())), { kind: 'hint', reference: collection.reference });
    const refund = newRefundReference();
    const failed = resource('refund', refund, {
      status: 'FAILED',
      failureReason: { failureCode: 'RECIPIENT_NOT_FOUND', failureMessage: '…' },
      metadata: {},
    });
    assert.deepEqual(read(callbackOf(failed)), { kind: 'hint', reference: refund });
    assert.equal(read(callbackOf({ hello: 'you' }))?.kind, 'rejected');
    assert.equal(read(callbackOf({ depositId: 'not-a-uuid', status: 'COMPLETED' }))?.kind, 'rejected');
    const progress = resource('collection', collection.reference, { status: 'PROCESSING' });
    assert.equal(read(callbackOf(progress))?.kind, 'nothing');
  });

  test('a signed callback is proof, in both forms of the signature', async () => {
    await openSigned();
    for (const encoding of ['der', 'ieee-p1363'] as const)
      assert.deepEqual(read(signed(completed(), { encoding })), {
        kind: 'proof',
        reference: collection.reference,
        direction: 'collection',
        observation: {
          state: 'succeeded',
          receipt: '12356789',
          railReference: uuid,
          amount: 1_550n,
          currency: 'ZMW',
        },
      });
  });

  test('a refund that was sent as a payout is found by its metadata', async () => {
    await openSigned();
    const refund = newRefundReference();
    const body = resource('payout', refund, {
      status: 'FAILED',
      failureReason: { failureCode: 'RECIPIENT_NOT_FOUND' },
      metadata: { ref: refund },
    });
    const reading = read(signed(body));
    assert.equal(reading?.kind === 'proof' && reading.reference, refund);
    const payout = newReference();
    const done = resource('payout', payout, { status: 'COMPLETED', metadata: {}, providerTransactionId: 'P1' });
    const other = read(signed(done));
    assert.equal(other?.kind === 'proof' && other.reference, payout);
    assert.equal(other?.kind === 'proof' && other.direction, 'payout');
  });

  test('other keys and algorithms', async () => {
    await openSigned([
      { id: 'EC384', key: pemOf(ec384.publicKey) },
      { id: 'RSA', key: pemOf(rsa.publicKey) },
      { id: 'BAD', key: 'no key' },
    ]);
    assert.equal(read(signed(completed(), { key: ec384, keyId: 'EC384' }))?.kind, 'proof');
    assert.equal(read(signed(completed(), { key: ec384, keyId: 'EC384', encoding: 'ieee-p1363' }))?.kind, 'proof');
    assert.equal(read(signed(completed(), { key: rsa, keyId: 'RSA' }))?.kind, 'proof');
    assert.equal(read(signed(completed(), { keyId: 'RSA' }))?.kind, 'rejected', 'the algorithm does not fit the key');
  });

  test('a signature that proves nothing is rejected', async () => {
    await openSigned();
    const good = signed(completed());
    const input = String(good.headers['signature-input']);
    const wrong: [string, CallbackRequest][] = [
      ['no signature', callbackOf(completed())],
      ['another body', { ...good, body: Buffer.from(JSON.stringify({ ...completed(), amount: '16' })) }],
      ['another path', { ...good, path: '/operators/other' }],
      ['another method', { ...good, method: 'PUT' }],
      ['another host', signed(completed(), { authority: 'elsewhere.example' })],
      ['another date', { ...good, headers: { ...good.headers, 'signature-date': NOW.replace('2026', '2025') } }],
      ['no digest', { ...good, headers: { ...good.headers, 'content-digest': undefined } }],
      ['an unknown digest', { ...good, headers: { ...good.headers, 'content-digest': 'md5=:AAAA:' } }],
      ['no input', { ...good, headers: { ...good.headers, 'signature-input': undefined } }],
      ['no signature value', { ...good, headers: { ...good.headers, signature: undefined } }],
      ['less covered', { ...good, headers: { ...good.headers, 'signature-input': input.replace('"@path" ', '') } }],
      [
        'later',
        {
          ...good,
          headers: { ...good.headers, 'signature-input': input.replace(/expires=\d+/, 'expires=9999999999') },
        },
      ],
      ['no algorithm', { ...good, headers: { ...good.headers, 'signature-input': input.replace(/;alg="[^"]*"/, '') } }],
      ['another key', signed(completed(), { key: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }) })],
    ];
    for (const [what, request] of wrong) {
      const reading = read(request);
      assert.equal(reading?.kind, 'rejected', what);
      assert.ok(reading?.kind === 'rejected' && !reading.authenticated, what);
    }
  });

  test('what is signed for another host than the public one is only a hint; the query is no part of the path', async () => {
    await openSigned();
    const request = signed(completed(), { authority: 'behind.example:8443' });
    assert.equal(read(request)?.kind, 'rejected');
    assert.equal(read({ ...request, host: 'behind.example:8443' })?.kind, 'hint');
    assert.equal(read({ ...signed(completed()), path: `${PATH}?a=1` })?.kind, 'proof');
  });

  test('what pawaPay signed for another of its customers, who knows our name and ids, is only a hint', async () => {
    await openSigned();
    const path = '/operators/pawapay';
    assert.equal(read({ ...signed(completed(), { path }), path })?.kind, 'hint');
  });

  test('an old signature is a reason to ask; one of the future is wrong', async () => {
    await openSigned();
    const request = signed(completed());
    clock.advance(61_000);
    assert.deepEqual(read(request), { kind: 'hint', reference: collection.reference });
    clock.advance(-3_600_000);
    assert.equal(read(request)?.kind, 'rejected');
  });

  test('a new key is fetched, at most once a minute', async () => {
    await openSigned();
    const next = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const request = () => signed(completed(), { key: next, keyId: 'HTTP_EC_P256_KEY:2' });
    operator.answer({ body: [{ id: 'HTTP_EC_P256_KEY:2', key: pemOf(next.publicKey) }] });
    const callsBefore = connection.calls.length;
    assert.equal(read(request())?.kind, 'rejected');
    assert.equal(connection.calls.length, callsBefore, 'the last fetch was less than a minute ago');
    clock.advance(60_000);
    for (let i = 0; i < 5; i += 1) assert.equal(read(request())?.kind, 'rejected');
    while (connection.calls.length === callsBefore) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(read(request())?.kind, 'proof');
    assert.equal(connection.calls.length, callsBefore + 1);
  });

  test('values that cannot be right are kept as such', async () => {
    await openSigned();
    for (const changes of [{ amount: '0' }, { amount: 'many' }, { currency: 'zmw' }, { depositId: 'TX' }]) {
      const reading = read(signed({ ...completed(), ...changes }));
      assert.ok(reading?.kind === 'rejected' && reading.authenticated, JSON.stringify(changes));
    }
    assert.deepEqual(read(signed({ ...completed(), status: 'PAID' })), {
      kind: 'hint',
      reference: collection.reference,
    });
  });

  test('no callback makes the rail throw', () => {
    const parts = fc.option(fc.string({ unit: 'binary' }), { nil: undefined });
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), parts, parts, parts, (body, input, signature, digest) => {
        const headers = { 'signature-input': input, signature, 'content-digest': digest };
        const readings = rail.readCallback(callbackOf({}, { headers, body: Buffer.from(body) }));
        assert.ok(readings.every(({ kind }) => kind !== 'proof' && kind !== 'matched'));
      }),
    );
  });
});

describe('pawapay: account', () => {
  test('capabilities follow the provider and the direction', () => {
    const decimals = (code: string, direction: 'collection' | 'payout') =>
      rail.capabilitiesOf(methodOf(code), direction)?.decimals;
    assert.deepEqual([decimals('MPESA_KEN', 'collection'), decimals('MPESA_KEN', 'payout')], [0, 2]);
    assert.deepEqual([decimals('MTN_MOMO_UGA', 'collection'), decimals('AIRTEL_OAPI_UGA', 'collection')], [2, 0]);
    assert.equal(rail.capabilitiesOf(methodOf('BANK_NGA'), 'collection'), null);
    assert.equal(rail.capabilitiesOf(methodOf('MTN_MOMO_ZMB'), 'collection')?.notFoundIsFinalAfterMs, 900_000);
    for (const code of pawapayRail.methods) assert.ok(rail.capabilitiesOf(methodOf(code), 'payout'));
    assert.equal(rail.receiptsPerMethod, true, "receipts are the operators' own");
  });

  test('balances', async () => {
    const balances = [
      { country: 'ZMB', balance: '1150.50', currency: 'ZMW', provider: '' },
      { country: 'SEN', balance: '0', currency: 'XOF', provider: 'ORANGE_SEN' },
    ];
    operator.answer({ body: { balances } });
    assert.deepEqual(await rail.balance?.(), {
      balances: [
        { account: 'ZMB', currency: 'ZMW', available: 115_050n },
        { account: 'SEN ORANGE_SEN', currency: 'XOF', available: 0n },
      ],
    });
    operator.answer({ status: 401, body: {} });
    assert.deepEqual(await rail.balance?.(), { error: 'the operator answered 401' });
  });

  const account = (operationTypes: unknown, signatures = {}) => ({
    companyName: 'Shop',
    signatureConfiguration: { signedRequestsOnly: false, signedCallbacks: false, ...signatures },
    countries: [
      {
        country: 'ZMB',
        providers: [{ provider: 'MTN_MOMO_ZMB', currencies: [{ currency: 'ZMW', operationTypes }] }],
      },
    ],
  });
  const all = { DEPOSIT: { callbackUrl: `https://pay.example.com${PATH}` }, PAYOUT: {}, REFUND: {} };
  const shapes: unknown[] = [
    all,
    [{ DEPOSIT: {} }, { PAYOUT: {} }, { REFUND: {} }],
    [{ operationType: 'DEPOSIT' }, { operationType: 'PAYOUT' }, { operationType: 'REFUND' }],
  ];

  test('the check compares the account with the connection', async () => {
    const zambia = () =>
      pawapayRail.open(
        testConnection(pawapayRail, operator.url, {
          methods: ['MTN_MOMO_ZMB'],
          settings: { api_token: TOKEN, signed_callbacks: 'no' },
        }),
      );
    const problems = async () => (await zambia().check()).flatMap(({ problem }) => (problem === null ? [] : [problem]));
    for (const shape of shapes) {
      operator.answer({ body: account(shape) });
      assert.deepEqual(await problems(), []);
    }
    operator.answer({
      body: account(
        { DEPOSIT: { callbackUrl: 'https://old.example/x' } },
        { signedCallbacks: true, signedRequestsOnly: true },
      ),
    });
    const found = (await problems()).join(' ');
    for (const part of ['no payout, refund', 'https://old.example/x', 'signed_callbacks', 'signed_requests'])
      assert.match(found, new RegExp(part));
    operator.answer({ status: 401, body: { failureReason: { failureCode: 'AUTHENTICATION_ERROR' } } });
    assert.deepEqual(await problems(), ['pawaPay refuses the API token.']);
    operator.answer('cut');
    assert.match((await problems())[0] ?? '', /cannot be reached/);
  });

  test('requests are signed over the bytes that are sent', async () => {
    for (const [encoding, key] of [
      ['der', ec],
      ['raw', ec384],
      ['der', rsa],
    ] as const) {
      await open({
        signed_requests: 'yes',
        request_key_id: 'OURS',
        request_key: pemOf(key.privateKey),
        signature_encoding: encoding,
      });
      operator.answer({ body: { depositId: uuid, status: 'ACCEPTED' } });
      await rail.collect(collection);
      const sent = lastRequest();
      assert.ok(sent);
      const request = callbackOf({}, { path: sent.path, headers: sent.headers, body: Buffer.from(sent.text) });
      const keys = new Map([['OURS', key.publicKey]]);
      const { host } = new URL(operator.url);
      assert.equal(checkSignature(request, [host], keys, clock.millis()), 'valid');
    }
  });

  test('no secret is kept in evidence', async () => {
    const secret = pemOf(ec.privateKey);
    await open({ signed_requests: 'yes', request_key_id: 'OURS', request_key: secret });
    operator.answer(({ text, headers }) => ({
      status: 500,
      body: `${text} ${String(headers.authorization)} ${secret}`,
    }));
    const replies = [await rail.collect(collection), await rail.query(queryCall(collection))];
    const kept = JSON.stringify([replies.map(({ raw }) => raw), connection.calls]);
    assert.ok(connection.calls.length >= 2);
    assert.ok(!kept.includes(TOKEN));
    assert.ok(!kept.includes(secret.slice(40, 80)));
  });
});
