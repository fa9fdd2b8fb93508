import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type CallbackInbox, eventually, openCallbackInbox } from './callback-inbox.ts';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from './frame.ts';
import { createMtnMomoSimulator, MTN_MOMO_SIMULATOR_SETTINGS as KEYS } from './mtn-momo.ts';

const PAYER = '256770000123';

describe('the simulated MTN MoMo', () => {
  let inbox: CallbackInbox;
  const running: RunningSimulator[] = [];

  before(async () => {
    inbox = await openCallbackInbox();
  });

  after(async () => {
    await Promise.all(running.map((simulator) => simulator.close()));
    await inbox.close();
  });

  async function start(options: SimulatorOptions = {}) {
    const simulator = await startSimulator(createMtnMomoSimulator, options);
    running.push(simulator);
    return createClient(simulator, inbox);
  }

  test('a token belongs to one product and ends after its time', async () => {
    let now = Date.now();
    const client = await start({ now: () => now });
    const token = await client.token('collection');
    assert.deepEqual([token.token_type, token.expires_in], ['access_token', 3600]);
    assert.equal((await client.get('collection', 'account/balance')).status, 200);
    assert.equal((await client.get('disbursement', 'account/balance', { token: token.access_token })).status, 401);
    const other = { 'ocp-apim-subscription-key': KEYS.disbursementSubscriptionKey ?? '' };
    assert.deepEqual(await client.get('collection', 'account/balance', { headers: other }), {
      status: 401,
      body: {
        statusCode: 401,
        message:
          'Access denied due to invalid subscription key. Make sure to provide a valid key for an active subscription.',
      },
    });
    now += 3_600_000;
    assert.equal((await client.get('collection', 'account/balance', { token: token.access_token })).status, 401);
  });

  test('a form asking for a token gets a page with status 200; an API user is made and works', async () => {
    const client = await start();
    const page = await fetch(`${client.simulator.url}/collection/token/`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html']);
    assert.match(await page.text(), /Request Rejected/);

    const headers = {
      'ocp-apim-subscription-key': KEYS.collectionSubscriptionKey ?? '',
      'x-reference-id': randomUUID(),
    };
    const post = (path: string, body?: object) =>
      fetch(client.simulator.url + path, { method: 'POST', headers, body: JSON.stringify(body ?? {}) });
    assert.equal((await post('/v1_0/apiuser', { providerCallbackHost: 'shop.example' })).status, 201);
    assert.equal((await post('/v1_0/apiuser', { providerCallbackHost: 'shop.example' })).status, 409);
    const made = await post(`/v1_0/apiuser/${headers['x-reference-id']}/apikey`);
    const { apiKey } = (await made.json()) as { apiKey: string };
    const basic = Buffer.from(`${headers['x-reference-id']}:${apiKey}`).toString('base64');
    const token = await fetch(`${client.simulator.url}/collection/token/`, {
      method: 'POST',
      headers: { ...headers, authorization: `Basic ${basic}` },
    });
    assert.equal(token.status, 200);
  });

  test('a payment: 202, PENDING, SUCCESSFUL with a normalised amount, one callback without the reference', async () => {
    const client = await start({ payers: 'manual' });
    const reference = randomUUID();
    const body = collectionBody({ amount: '5.50', currency: 'ZMW', externalId: 'TX_1' });
    const taken = await client.collect(reference, body, { environment: 'mtnzambia' });
    assert.deepEqual(taken, { status: 202, body: '' });
    const query = () => client.status('collection', 'requesttopay', reference, 'mtnzambia');
    const pending = await query();
    assert.equal(pending.status, 'PENDING');
    assert.ok(!('financialTransactionId' in pending));
    const [prompt] = client.simulator.phones.open();
    assert.equal(prompt?.msisdn, PAYER);
    inbox.statuses.push(500);
    client.simulator.phones.decide(prompt?.id ?? '', 'approve');
    const paid = await query();
    const receipt = String(paid.financialTransactionId);
    assert.match(receipt, /^\d+$/);
    const expected = {
      amount: '5.5',
      currency: 'ZMW',
      financialTransactionId: receipt,
      externalId: 'TX_1',
      payer: { partyIdType: 'MSISDN', partyId: PAYER },
      payerMessage: 'Payment to Shop',
      payeeNote: 'TX_1',
      status: 'SUCCESSFUL',
    };
    assert.deepEqual(paid, expected);
    await client.simulator.idle();
    const callbacks = client.callbacks(reference);
    assert.deepEqual(
      callbacks.map(({ method, text }) => [method, JSON.parse(text)]),
      [['PUT', expected]],
    );
    assert.deepEqual(client.simulator.book.movements(), [
      { kind: 'collection', id: reference, receipt, msisdn: PAYER, amount: 550n, currency: 'ZMW' },
    ]);
  });

  test('a known reference is refused, also after a failure', async () => {
    const client = await start();
    const reference = randomUUID();
    const body = collectionBody({ payer: { partyIdType: 'MSISDN', partyId: '256770000001' } });
    await client.collect(reference, body);
    const failed = await eventually('the failure', async () => {
      const status = await client.status('collection', 'requesttopay', reference);
      return status.status === 'FAILED' && status;
    });
    assert.deepEqual(failed.reason, { code: 'NOT_ENOUGH_FUNDS', message: 'not enough funds.' });
    assert.deepEqual(await client.collect(reference, body), {
      status: 409,
      body: { message: 'Duplicated reference id. Creation of resource failed.', code: 'RESOURCE_ALREADY_EXIST' },
    });
    assert.deepEqual(client.simulator.book.movements(), []);
  });

  test('every decision of the payer has its reason, as a text in the other form', async () => {
    const client = await start({ settings: { promptSeconds: '0.05', reasonForm: 'string' } });
    const reasons = {
      '001': 'NOT_ENOUGH_FUNDS',
      '002': 'PAYMENT_NOT_APPROVED',
      '003': 'PAYER_NOT_FOUND',
      '004': 'PAYER_LIMIT_REACHED',
      '005': 'EXPIRED',
      '011': 'APPROVAL_REJECTED',
    };
    for (const [digits, reason] of Object.entries(reasons)) {
      const reference = randomUUID();
      await client.collect(
        reference,
        collectionBody({ payer: { partyIdType: 'MSISDN', partyId: `256770000${digits}` } }),
      );
      await client.simulator.idle();
      const status = await client.status('collection', 'requesttopay', reference);
      assert.deepEqual([status.status, status.reason], ['FAILED', reason]);
    }
  });

  test('requests with a mistake are refused and take nothing', async () => {
    const client = await start();
    const without = (name: string) => {
      const { [name]: _, ...rest } = collectionBody();
      return rest;
    };
    const cases: [string, number, string, object, CollectOptions][] = [
      ['amount missing', 400, 'BAD_REQUEST', without('amount'), {}],
      ['amount misspelt', 400, 'BAD_REQUEST', { ...without('amount'), Amount: '100' }, {}],
      ['amount a number', 400, 'BAD_REQUEST', collectionBody({ amount: 100 }), {}],
      ['payer misspelt', 400, 'BAD_REQUEST', { ...without('payer'), payee: collectionBody().payer }, {}],
      ['note misspelt', 400, 'BAD_REQUEST', { ...without('payeeNote'), payeenote: 'x' }, {}],
      ['apostrophe', 400, 'BAD_REQUEST', collectionBody({ payerMessage: "Ama's shop" }), {}],
      ['long note', 400, 'BAD_REQUEST', collectionBody({ payeeNote: 'x'.repeat(161) }), {}],
      ['plus', 400, 'BAD_REQUEST', collectionBody({ payer: { partyIdType: 'MSISDN', partyId: `+${PAYER}` } }), {}],
      ['other currency', 500, 'INVALID_CURRENCY', collectionBody({ currency: 'XOF' }), {}],
      ['environment', 500, 'NOT_ALLOWED_TARGET_ENVIRONMENT', collectionBody(), { environment: 'mtnfrance' }],
      ['no environment', 400, 'BAD_REQUEST', collectionBody(), { environment: '' }],
      ['host', 500, 'INVALID_CALLBACK_URL_HOST', collectionBody(), { callbackUrl: 'https://other.example/x' }],
      ['empty callback', 400, 'BAD_REQUEST', collectionBody(), { callbackUrl: '' }],
    ];
    for (const [name, status, code, body, options] of cases) {
      const reference = randomUUID();
      const refused = await client.collect(reference, body, options);
      assert.deepEqual([refused.status, (refused.body as { code: string }).code], [status, code], name);
    }
    const version7 = '0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b';
    assert.equal((await client.collect(version7, collectionBody())).status, 400);
    assert.deepEqual(await client.query('collection', 'requesttopay', randomUUID()), {
      status: 404,
      body: { message: 'Requested resource was not found.', code: 'RESOURCE_NOT_FOUND' },
    });
    await client.simulator.idle();
    assert.deepEqual(client.simulator.book.movements(), []);
  });

  test('transfers end at the float; a refund gives a payment back by its reference', async () => {
    const client = await start({ openingBalance: 1_000_00n });
    const paid = randomUUID();
    await client.collect(paid, collectionBody({ amount: '500' }));
    await client.simulator.idle();
    const transfer = async (amount: string, partyId = PAYER) => {
      const reference = randomUUID();
      const { payer: _, ...body } = collectionBody({ amount });
      const sent = { ...body, payee: { partyIdType: 'MSISDN', partyId } };
      assert.deepEqual(await client.send('disbursement', 'transfer', reference, sent), { status: 202, body: '' });
      await client.simulator.idle();
      return client.status('disbursement', 'transfer', reference);
    };
    const done = await transfer('1200');
    assert.deepEqual([done.status, done.payee], ['SUCCESSFUL', { partyIdType: 'MSISDN', partyId: PAYER }]);
    assert.deepEqual((await transfer('301')).reason, { code: 'NOT_ENOUGH_FUNDS', message: 'not enough funds.' });
    assert.equal(((await transfer('1', '256770000003')).reason as { code: string }).code, 'PAYEE_NOT_FOUND');

    const refund = async (referenceIdToRefund: string, amount: string) => {
      const reference = randomUUID();
      const { payer: _, ...body } = collectionBody({ amount, referenceIdToRefund });
      const answer = await client.send('disbursement', 'refund', reference, body);
      await client.simulator.idle();
      return {
        answer,
        status: answer.status === 202 ? await client.status('disbursement', 'refund', reference) : null,
      };
    };
    assert.equal((await refund(randomUUID(), '100')).answer.status, 404);
    const { status } = await refund(paid, '200');
    assert.deepEqual([status?.status, status?.payee], ['SUCCESSFUL', { partyIdType: 'MSISDN', partyId: PAYER }]);
    const tooMuch = await refund(paid, '501');
    assert.deepEqual(tooMuch.status?.reason, { code: 'NOT_ALLOWED', message: 'not allowed.' });
    const balance = await client.get('disbursement', 'account/balance');
    assert.deepEqual(balance.body, { availableBalance: '100', currency: 'UGX' });
    await client.simulator.act('top_up', { amount: '50', currency: 'UGX' });
    await client.simulator.act('reverse', { id: paid });
    assert.equal(client.simulator.book.net('UGX'), 500_00n - 1200_00n - 200_00n - 500_00n);
    const holder = await client.get('disbursement', `accountholder/msisdn/${PAYER}/active`);
    assert.deepEqual(holder.body, { result: true });
  });

  test('the sandbox knows euros and test numbers, and rings no phone', async () => {
    const client = await start({ payers: 'manual', settings: { delayedSeconds: '0.02' } });
    const outcome = async (partyId: string) => {
      const reference = randomUUID();
      const body = collectionBody({ currency: 'EUR', payer: { partyIdType: 'MSISDN', partyId } });
      await client.collect(reference, body, { environment: 'sandbox' });
      await client.simulator.idle();
      const { status, reason } = await client.status('collection', 'requesttopay', reference, 'sandbox');
      return [status, (reason as { code: string } | undefined)?.code];
    };
    assert.deepEqual(await outcome('46733123451'), ['FAILED', 'APPROVAL_REJECTED']);
    assert.deepEqual(await outcome('46733123453'), ['PENDING', undefined]);
    assert.deepEqual(await outcome('46733123454'), ['SUCCESSFUL', undefined]);
    assert.deepEqual(await outcome('46733123463'), ['FAILED', 'COULD_NOT_PERFORM_TRANSACTION']);
    assert.deepEqual(await outcome('46733999999'), ['SUCCESSFUL', undefined]);
  });

  test('a token that ends early, an unknown reason, a lag of the status', async () => {
    let now = Date.now();
    const client = await start({ now: () => now, settings: { statusLagSeconds: '10' } });
    const { faults } = client.simulator;
    faults.add({ fault: 'token_ended', operation: 'collect' });
    const reference = randomUUID();
    const token = (await client.token('collection')).access_token;
    assert.equal((await client.collect(reference, collectionBody(), { token })).status, 401);
    faults.add({ fault: 'unknown_code', operation: 'collect' });
    assert.equal((await client.collect(reference, collectionBody())).status, 202);
    await client.simulator.idle();
    assert.equal((await client.query('collection', 'requesttopay', reference)).status, 404);
    now += 10_000;
    const { status, reason } = await client.status('collection', 'requesttopay', reference);
    assert.deepEqual([status, (reason as { code: string }).code], ['FAILED', 'WALLET_RULE_VIOLATED']);
    faults.add({ fault: 'unknown_code', operation: 'query' });
    assert.equal((await client.status('collection', 'requesttopay', reference)).status, 'UNDER_REVIEW');
    assert.deepEqual(client.simulator.book.movements(), []);
  });

  test('a late success is TIMEOUT first; callbacks by both methods', async () => {
    const collectLate = async (lateSeconds: string, wanted: string) => {
      const client = await start({ settings: { lateSeconds, callbackMethod: 'both' } });
      client.simulator.faults.add({ fault: 'late_success', operation: 'collect' });
      const reference = randomUUID();
      await client.collect(reference, collectionBody());
      await eventually(wanted, async () => {
        const { status } = await client.status('collection', 'requesttopay', reference);
        return status === wanted;
      });
      return { client, reference };
    };
    const waiting = await collectLate('3600', 'TIMEOUT');
    assert.deepEqual(waiting.client.simulator.book.movements(), []);
    const { client, reference } = await collectLate('0.01', 'SUCCESSFUL');
    await client.simulator.idle();
    const methods = client.callbacks(reference).map(({ method }) => method);
    assert.deepEqual(methods.sort(), ['POST', 'PUT']);
    assert.equal(client.simulator.book.movements().length, 1);
  });

  test('an answer is lost after the payment was taken; a stranger forges a callback', async () => {
    const client = await start({ payers: 'manual' });
    const reference = randomUUID();
    client.simulator.faults.add({ fault: 'answer_lost', operation: 'collect' });
    await assert.rejects(client.collect(reference, collectionBody()));
    assert.equal((await client.collect(reference, collectionBody())).status, 409);
    await client.simulator.act('forge', { id: reference });
    const [forged] = await eventually('the callback', () => {
      const found = client.callbacks(reference);
      return found.length > 0 && found;
    });
    assert.equal((JSON.parse(forged?.text ?? '') as Body).status, 'SUCCESSFUL');
    assert.equal((await client.status('collection', 'requesttopay', reference)).status, 'PENDING');
    assert.deepEqual(client.simulator.book.movements(), []);
  });
});

type Product = 'collection' | 'disbursement';
type Body = Record<string, unknown>;
type CollectOptions = { environment?: string; token?: string; callbackUrl?: string };
type GetOptions = { token?: string; headers?: Record<string, string>; environment?: string };

function collectionBody(changes: Body = {}): Body {
  return {
    amount: '100',
    currency: 'UGX',
    externalId: 'TX_1',
    payer: { partyIdType: 'MSISDN', partyId: PAYER },
    payerMessage: 'Payment to Shop',
    payeeNote: 'TX_1',
    ...changes,
  };
}

function createClient(simulator: RunningSimulator, inbox: CallbackInbox) {
  async function token(product: Product) {
    const basic = Buffer.from(`${KEYS[`${product}ApiUser`]}:${KEYS[`${product}ApiKey`]}`).toString('base64');
    const answer = await fetch(`${simulator.url}/${product}/token/`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${basic}`,
        'ocp-apim-subscription-key': KEYS[`${product}SubscriptionKey`] ?? '',
        'content-type': 'application/json',
      },
      body: '{"grant_type":"client_credentials"}',
    });
    return (await answer.json()) as { access_token: string; token_type: string; expires_in: number };
  }

  async function call(product: Product, path: string, init: RequestInit, options: GetOptions) {
    const access = options.token ?? (await token(product)).access_token;
    const { environment = 'mtnuganda' } = options;
    const answer = await fetch(`${simulator.url}/${product}/v1_0/${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${access}`,
        'ocp-apim-subscription-key': KEYS[`${product}SubscriptionKey`] ?? '',
        'content-type': 'application/json',
        ...(environment === '' ? {} : { 'x-target-environment': environment }),
        ...options.headers,
      },
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? '' : (JSON.parse(text) as Body) };
  }

  const get = (product: Product, path: string, options: GetOptions = {}) => call(product, path, {}, options);
  const send = (product: Product, path: string, reference: string, body: object, options: CollectOptions = {}) => {
    const callbackUrl = options.callbackUrl ?? `${inbox.url}/${reference}`;
    const headers = { 'x-reference-id': reference, 'x-callback-url': callbackUrl };
    return call(product, path, { method: 'POST', body: JSON.stringify(body) }, { ...options, headers });
  };
  const query = (product: Product, path: string, reference: string, environment = 'mtnuganda') =>
    get(product, `${path}/${reference}`, { environment });
  return {
    simulator,
    token,
    get,
    send,
    query,
    collect: (reference: string, body: object, options: CollectOptions = {}) =>
      send('collection', 'requesttopay', reference, body, options),
    status: async (product: Product, path: string, reference: string, environment?: string) =>
      (await query(product, path, reference, environment)).body as Body,
    callbacks: (reference: string) => inbox.received.filter(({ path }) => path === `/${reference}`),
  };
}
