import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { testConnection } from '../../test/rail-connection.ts';
import { type ScriptedAnswer, type ScriptedOperator, startScriptedOperator } from '../../test/scripted-operator.ts';
import { loadCatalog } from '../catalog/catalog.ts';
import { mtnMomoRail } from './mtn-momo.ts';
import type { CollectCall, MoneyDirection, Observation, Rail, RailMethod } from './rail.ts';
import { uuid4Of } from './wire-ids.ts';

const REFERENCE = 'TX_01JCR4Z0XE7Q8RX3V5S0000002';
const REFUND = 'RF_01JCR4Z0XE8Q8RX3V5S0000002';
const found = loadCatalog().methods.get('MTN_MOMO_CMR');
assert.ok(found);
const method: RailMethod = found;
const SECRETS = {
  collection_subscription_key: 'collect-subscription-key',
  collection_api_key: 'collect-api-key',
  disbursement_subscription_key: 'disburse-subscription-key',
  disbursement_api_key: 'disburse-api-key',
};

const call: CollectCall = {
  reference: REFERENCE,
  method,
  msisdn: '237670000000',
  amount: 5_000_00n,
  currency: 'XAF',
  merchantName: "Amina's Shop & Café",
  prepared: null,
  verified: false,
  returnUrl: 'https://pay.example.com',
};

let operator: ScriptedOperator;
let rail: Rail;
let connection: ReturnType<typeof testConnection>;
let answer: ScriptedAnswer | 'cut';

before(async () => {
  operator = await startScriptedOperator();
  operator.answer(({ path, headers }) => {
    if (path.endsWith('/token/')) return { status: 200, body: { access_token: 'secret-token', expires_in: 3600 } };
    if (headers.authorization !== 'Bearer secret-token') return { status: 401, body: {} };
    return answer;
  });
});
after(() => operator[Symbol.asyncDispose]());
beforeEach(() => {
  operator.requests.length = 0;
  connection = testConnection(mtnMomoRail, operator.url, {
    settings: {
      target_environment: 'mtncameroon',
      collection_api_user: '6b3f8c7e-0b1a-4c3e-9f60-0c1f7d1f0001',
      disbursement_api_user: '6b3f8c7e-0b1a-4c3e-9f60-0c1f7d1f0002',
      ...SECRETS,
    },
  });
  rail = mtnMomoRail.open(connection);
});

const status = (changes: object) => ({
  amount: '5000',
  currency: 'XAF',
  externalId: REFERENCE,
  payer: { partyIdType: 'MSISDN', partyId: '237670000000' },
  payerMessage: 'Aminas Shop',
  payeeNote: 'Aminas Shop',
  ...changes,
});

async function ask(body: object | string, code = 200, direction: MoneyDirection = 'collection'): Promise<Observation> {
  answer = { status: code, body };
  const { observation } = await rail.query({
    reference: direction === 'refund' ? REFUND : REFERENCE,
    direction,
    method,
    railReference: null,
    receipt: null,
    prepared: null,
    amount: call.amount,
    currency: call.currency,
    submittedAt: new Date(),
  });
  return observation;
}

describe('requests', () => {
  test('a collection names our reference once, as a UUID of version 4, and the address for its callback', async () => {
    answer = { status: 202, body: '' };
    const { observation } = await rail.collect(call);
    const sent = operator.requests.at(-1);
    const id = uuid4Of(REFERENCE);
    assert.deepEqual(observation, { state: 'pending', railReference: id });
    assert.equal(sent?.path, '/collection/v1_0/requesttopay');
    assert.equal(sent.headers['x-reference-id'], id);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    assert.equal(sent.headers['x-target-environment'], 'mtncameroon');
    assert.equal(sent.headers['ocp-apim-subscription-key'], SECRETS.collection_subscription_key);
    assert.equal(sent.headers['x-callback-url'], connection.addresses.url('collection', REFERENCE));
    assert.deepEqual(JSON.parse(sent.text), {
      amount: '5000',
      currency: 'XAF',
      externalId: REFERENCE,
      payer: { partyIdType: 'MSISDN', partyId: '237670000000' },
      payerMessage: 'Aminas Shop  Cafe',
      payeeNote: 'Aminas Shop  Cafe',
    });
  });

  test('a payout and a refund use the keys of disbursements', async () => {
    answer = { status: 202, body: '' };
    await rail.payout({ ...call, recipientName: null });
    assert.equal(operator.requests.at(-1)?.path, '/disbursement/v1_0/transfer');
    assert.equal(operator.requests.at(-1)?.headers['ocp-apim-subscription-key'], SECRETS.disbursement_subscription_key);
    const collection = { reference: REFERENCE, railReference: null, receipt: '23503452', amount: call.amount };
    await rail.refund?.({ ...call, reference: REFUND, collection });
    const sent = JSON.parse(operator.requests.at(-1)?.text ?? '') as Record<string, unknown>;
    assert.equal(sent.referenceIdToRefund, uuid4Of(REFERENCE));
    assert.equal(operator.requests.at(-1)?.headers['x-reference-id'], uuid4Of(REFUND));
  });

  test('without keys for disbursements there are no payouts and no refunds', () => {
    const settings = { ...connection.settings, disbursement_subscription_key: '', disbursement_api_key: '' };
    const poor = mtnMomoRail.open({ ...connection, settings });
    assert.equal(poor.capabilitiesOf(method, 'payout'), null);
    assert.equal(poor.capabilitiesOf(method, 'collection')?.refunds, 'none');
    assert.ok(!('refund' in poor));
  });
});

describe('answers to a submit', () => {
  const cases: [string, number, object | string, Observation['state'], string?][] = [
    ['a known reference', 409, { message: 'Duplicated reference id.', code: 'RESOURCE_ALREADY_EXIST' }, 'pending'],
    ['a bad body', 400, '<html>Bad request</html>', 'failed', 'REJECTED_BY_OPERATOR'],
    ['a wrong key', 401, { statusCode: 401, message: 'Access denied' }, 'failed', 'OPERATOR_UNAVAILABLE'],
    ['an address that is not allowed', 403, { code: 'FORBIDDEN IP' }, 'failed', 'OPERATOR_UNAVAILABLE'],
    [
      'a currency as 500',
      500,
      { message: 'Currency not supported.', code: 'INVALID_CURRENCY' },
      'failed',
      'REJECTED_BY_OPERATOR',
    ],
    ['an error inside', 500, { code: 'INTERNAL_PROCESSING_ERROR' }, 'unknown'],
    ['an error page', 500, '<html>Oops</html>', 'unknown'],
    ['down', 503, { code: 'SERVICE_UNAVAILABLE' }, 'unknown'],
    ['a page with 200', 200, '<html>Request Rejected</html>', 'unknown'],
  ];
  for (const [name, code, body, state, failureCode] of cases)
    test(name, async () => {
      answer = { status: code, body };
      const { observation } = await rail.collect(call);
      assert.equal(observation.state, state);
      if (observation.state === 'failed') assert.equal(observation.failureCode, failureCode);
    });

  test('a cut connection is unknown', async () => {
    answer = 'cut';
    assert.equal((await rail.collect(call)).observation.state, 'unknown');
  });

  test('a token that ended is renewed once, and the call is made again', async () => {
    answer = { status: 202, body: '' };
    await rail.collect(call);
    let refused = 0;
    operator.answer(({ path, headers }) => {
      if (path.endsWith('/token/')) return { status: 200, body: { access_token: 'new-token', expires_in: '3600' } };
      if (headers.authorization !== 'Bearer new-token' && ++refused) return { status: 401, body: {} };
      return answer;
    });
    assert.equal((await rail.collect(call)).observation.state, 'pending');
    assert.equal(refused, 1);
  });
});

describe('status', () => {
  beforeEach(() => {
    operator.answer(({ path }) =>
      path.endsWith('/token/') ? { status: 200, body: { access_token: 'secret-token' } } : answer,
    );
  });

  test('a success carries receipt and money; the receipt may be a number', async () => {
    const success = { state: 'succeeded', receipt: '23503452', amount: 5_000_00n, currency: 'XAF' };
    assert.deepEqual(await ask(status({ status: 'SUCCESSFUL', financialTransactionId: '23503452' })), success);
    assert.deepEqual(
      await ask(status({ status: 'SUCCESSFUL', financialTransactionId: 23503452, amount: '5000.0' })),
      success,
    );
  });

  test('only the three words of MTN end or keep open a payment', async () => {
    for (const word of ['PENDING', 'CREATED', 'ONGOING'])
      assert.equal((await ask(status({ status: word }))).state, 'pending');
    for (const word of ['TIMEOUT', 'DONE', '', undefined])
      assert.equal((await ask(status({ status: word }))).state, 'unknown');
  });

  const reasons: [string, MoneyDirection, string][] = [
    ['PAYER_NOT_FOUND', 'collection', 'PAYER_NOT_FOUND'],
    ['NOT_ENOUGH_FUNDS', 'collection', 'INSUFFICIENT_FUNDS'],
    ['APPROVAL_REJECTED', 'collection', 'PAYER_CANCELLED'],
    ['EXPIRED', 'collection', 'PROMPT_EXPIRED'],
    ['COULD_NOT_PERFORM_TRANSACTION', 'collection', 'PROMPT_EXPIRED'],
    ['INTERNAL_PROCESSING_ERROR', 'collection', 'UNSPECIFIED'],
    ['A_WORD_OF_TOMORROW', 'collection', 'UNSPECIFIED'],
    ['NOT_ENOUGH_FUNDS', 'payout', 'FLOAT_INSUFFICIENT'],
    ['PAYEE_NOT_FOUND', 'payout', 'RECIPIENT_NOT_FOUND'],
  ];
  for (const [reason, direction, failureCode] of reasons)
    test(`${direction} failed: ${reason}, as a word and as an object`, async () => {
      for (const form of [reason, { code: reason, message: 'Sorry' }]) {
        const observation = await ask(status({ status: 'FAILED', reason: form }), 200, direction);
        assert.ok(observation.state === 'failed');
        assert.equal(observation.failureCode, failureCode);
        assert.equal(observation.rawCode, reason);
      }
    });

  test('not found counts only in the words of MTN', async () => {
    const observation = await ask({ message: 'Requested resource was not found.', code: 'RESOURCE_NOT_FOUND' }, 404);
    assert.ok(observation.state === 'unknown' && observation.definitelyNotFound);
    const page = await ask('<html>404</html>', 404);
    assert.ok(page.state === 'unknown' && !page.definitelyNotFound);
  });

  test('an answer about another reference, or without an amount, says nothing', async () => {
    assert.equal((await ask(status({ status: 'SUCCESSFUL', externalId: 'TX_OTHER' }))).state, 'unknown');
    assert.equal((await ask(status({ status: 'SUCCESSFUL', amount: undefined }))).state, 'unknown');
  });

  test('whatever else comes is unknown, and no secret is kept', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string()), fc.integer({ min: 200, max: 599 }), async (text, code) => {
        answer = { status: code, body: text };
        const { observation } = await rail.query({
          ...call,
          direction: 'collection',
          railReference: null,
          receipt: null,
          submittedAt: new Date(),
        });
        assert.ok(observation.state === 'unknown' || observation.state === 'pending');
      }),
      { numRuns: 50 },
    );
    const kept = JSON.stringify(connection.calls);
    for (const secret of [...Object.values(SECRETS), 'secret-token']) assert.ok(!kept.includes(secret), secret);
  });
});

describe('callbacks', () => {
  const read = (path: string, body: object) =>
    rail.readCallback({
      method: 'PUT',
      host: 'pay.example.com',
      path,
      remoteAddress: '203.0.113.9',
      headers: {},
      body: Buffer.from(JSON.stringify(body)),
    });

  test('a success that nobody signed is a reason to ask', () => {
    const { pathname } = new URL(connection.addresses.url('collection', REFERENCE));
    const body = status({ status: 'SUCCESSFUL', financialTransactionId: '1' });
    assert.deepEqual(read(pathname, body), [{ kind: 'hint', reference: REFERENCE }]);
    assert.deepEqual(read('/operators/mtn-momo', body), [{ kind: 'hint', reference: REFERENCE }]);
    assert.equal(read('/operators/mtn-momo', { status: 'SUCCESSFUL' })[0]?.kind, 'rejected');
  });
});

test('the balances of both products, and a name', async () => {
  operator.answer(({ path }) => {
    if (path.endsWith('/token/')) return { status: 200, body: { access_token: 'secret-token' } };
    if (path.endsWith('/basicuserinfo')) return { status: 200, body: { given_name: 'Amina', family_name: 'Njoya' } };
    return { status: 200, body: { availableBalance: path.startsWith('/collection') ? '1000' : '0', currency: 'XAF' } };
  });
  assert.deepEqual(await rail.balance?.(), {
    balances: [
      { account: 'collection', currency: 'XAF', available: 1_000_00n },
      { account: 'disbursement', currency: 'XAF', available: 0n },
    ],
  });
  assert.equal(await rail.lookUpName?.({ msisdn: '237670000000', method }), 'Amina Njoya');
  assert.ok((await rail.check()).every(({ problem }) => problem === null));
});
