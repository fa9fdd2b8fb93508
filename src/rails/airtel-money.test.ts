import assert from 'node:assert/strict';
import { constants, createDecipheriv, createHmac, generateKeyPairSync, privateDecrypt } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { testConnection } from '../../test/rail-connection.ts';
import { type ScriptedAnswer, type ScriptedOperator, startScriptedOperator } from '../../test/scripted-operator.ts';
import { loadCatalog } from '../catalog/catalog.ts';
import { airtelMoneyRail } from './airtel-money.ts';
import { callResult } from './breakers.ts';
import type { CollectCall, MoneyDirection, Observation, Rail, RailMethod } from './rail.ts';

const REFERENCE = 'TX_01JCR4Z0XE7Q8RX3V5S0000002';
const ID = 'TX01JCR4Z0XE7Q8RX3V5S0000002';
const found = loadCatalog().methods.get('AIRTEL_OAPI_UGA');
assert.ok(found);
const method: RailMethod = found;
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SECRETS = { client_secret: 'very-secret-value', callback_key: 'callback-private-key', pin: '482913' };

const call: CollectCall = {
  reference: REFERENCE,
  method,
  msisdn: '256752604392',
  amount: 1_000_00n,
  currency: 'UGX',
  merchantName: "Amina's Shop",
  prepared: null,
  verified: false,
  returnUrl: 'https://pay.example.com',
};

let operator: ScriptedOperator;
let connection: ReturnType<typeof testConnection>;
let rail: Rail;
let answer: ScriptedAnswer | 'cut';

function script(path: string): ScriptedAnswer | 'cut' {
  if (path === '/auth/oauth2/token') return { status: 200, body: { access_token: 'secret-token', expires_in: '180' } };
  if (path === '/v1/rsa/encryption-keys') {
    const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    return { status: 200, body: { data: { key_id: 100, key }, status: { success: true } } };
  }
  return answer;
}

before(async () => {
  operator = await startScriptedOperator();
});
after(() => operator[Symbol.asyncDispose]());
beforeEach(() => open());

function open(settings: Record<string, string> = {}): void {
  operator.requests.length = 0;
  operator.answer(({ path }) => script(path));
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  connection = testConnection(airtelMoneyRail, operator.url, {
    settings: { ...SECRETS, pin_public_key: pem, ...settings },
  });
  rail = airtelMoneyRail.open(connection);
}

const envelope = (transaction: object | null, status: object) => ({
  ...(transaction === null ? {} : { data: { transaction } }),
  status: { code: '200', success: true, result_code: 'ESB000010', message: 'SUCCESS', ...status },
});

async function ask(body: object | string, code = 200, direction: MoneyDirection = 'collection'): Promise<Observation> {
  answer = { status: code, body };
  const { observation } = await rail.query({
    reference: REFERENCE,
    direction,
    method,
    railReference: direction === 'refund' ? 'CI2500029' : null,
    receipt: null,
    prepared: null,
    amount: call.amount,
    currency: call.currency,
    submittedAt: new Date(),
  });
  return observation;
}

describe('collections', () => {
  test('the push: nine digits, a number as amount, an id without underscore; taken is not paid', async () => {
    answer = {
      status: 200,
      body: envelope({ id: ID, status: 'Success.' }, { response_code: 'DP00800001006', message: 'Success.' }),
    };
    assert.deepEqual((await rail.collect(call)).observation, { state: 'pending', railReference: ID });
    const sent = operator.requests.at(-1);
    assert.equal(sent?.path, '/merchant/v1/payments/');
    assert.equal(sent.headers['x-country'], 'UG');
    assert.equal(sent.headers['x-currency'], 'UGX');
    assert.equal(
      sent.text,
      '{"reference":"AminasShop","subscriber":{"country":"UG","currency":"UGX","msisdn":"752604392"},' +
        `"transaction":{"amount":1000,"country":"UG","currency":"UGX","id":"${ID}"}}`,
    );
  });

  const refusals: [string, number, object | string, Observation['state'], string?][] = [
    [
      'a number that is not found',
      400,
      envelope(null, { response_code: 'DP00800001005', success: false }),
      'failed',
      'PAYER_NOT_FOUND',
    ],
    ['the same code as 500', 500, envelope(null, { response_code: 'DP00800001005', success: false }), 'unknown'],
    [
      'a number of the wrong length',
      200,
      envelope(null, { result_code: 'ESB000033', success: false }),
      'failed',
      'PAYER_NOT_FOUND',
    ],
    ['a duplicate', 200, envelope(null, { result_code: 'ESB000041', success: false }), 'unknown'],
    ['something went wrong', 200, envelope(null, { result_code: 'ESB000001', success: false }), 'unknown'],
    [
      'no partner',
      400,
      { status_message: 'Partner not found', status_code: 'ROUTER110' },
      'failed',
      'OPERATOR_UNAVAILABLE',
    ],
    ['a time-out behind the router', 200, { status_message: 'Timed out', status_code: 'ROUTER117' }, 'unknown'],
    ['a page', 200, '<html></html>', 'unknown'],
    ['a gateway time-out', 504, '', 'unknown'],
  ];
  for (const [name, code, body, state, failureCode] of refusals)
    test(`push: ${name}`, async () => {
      answer = { status: code, body };
      const { observation } = await rail.collect(call);
      assert.equal(observation.state, state);
      if (observation.state === 'failed') assert.equal(observation.failureCode, failureCode);
    });

  test('only the status of the transaction ends it, whatever the envelope says', async () => {
    const paid = { airtel_money_id: '127106716542', id: ID, message: 'Transaction success.', status: 'TS' };
    const success = { state: 'succeeded', receipt: '127106716542' };
    assert.deepEqual(await ask(envelope(paid, { response_code: 'DP00800001001' })), success);
    assert.deepEqual(await ask(envelope(paid, { success: false, response_code: 'DP00800001006' })), success);
    assert.equal((await ask(envelope({ ...paid, status: 'TIP' }, {}))).state, 'pending');
    assert.equal((await ask(envelope({ ...paid, status: 'TA' }, {}))).state, 'unknown');
    assert.equal((await ask(envelope({ ...paid, status: 'SUCCESS' }, {}))).state, 'unknown');
    assert.equal((await ask(envelope({ ...paid, status: 'TR' }, {}))).state, 'reversed');
    assert.equal((await ask(envelope({ ...paid, id: 'TXOTHER' }, {}))).state, 'unknown');
    const expired = await ask(envelope({ ...paid, status: 'TE' }, {}));
    assert.ok(expired.state === 'failed' && expired.failureCode === 'PROMPT_EXPIRED');
  });

  test('a failure names a reason only where both tables of Airtel agree', async () => {
    const failure = async (code: string) => {
      const observation = await ask(
        envelope({ airtel_money_id: 'C36', id: ID, status: 'TF' }, { success: false, response_code: code }),
      );
      assert.ok(observation.state === 'failed');
      return observation.failureCode;
    };
    assert.equal(await failure('DP00800001004'), 'AMOUNT_OUT_OF_RANGE');
    assert.equal(await failure('DP00800001008'), 'PAYER_CANCELLED');
    assert.equal(await failure('DP00800001003'), 'UNSPECIFIED');
    assert.equal(await failure('DP99999999999'), 'UNSPECIFIED');
  });

  test('not found, by either code', async () => {
    for (const status of [{ result_code: 'ESB000045' }, { response_code: 'DP00800001025' }]) {
      const observation = await ask(envelope(null, { success: false, ...status }));
      assert.ok(observation.state === 'unknown' && observation.definitelyNotFound);
    }
    const other = await ask(envelope(null, { success: false, response_code: 'DP00800001010' }));
    assert.ok(other.state === 'unknown' && !other.definitelyNotFound);
  });
});

describe('payouts', () => {
  const NOT_FOUND = envelope(null, { code: '400', success: false, response_code: 'DP00900001015' });
  /** `enquiry`: what Airtel answers when it is asked about the payout. */
  const payout = async (body: object | string, status = 200, enquiry: object = NOT_FOUND) => {
    answer = { status, body };
    operator.answer(({ path }) => (path.includes('/disbursements/TX') ? { status: 200, body: enquiry } : script(path)));
    return (await rail.payout({ ...call, recipientName: null })).observation;
  };

  test('the answer says whether money moved; the PIN is encrypted', async () => {
    const observation = await payout(
      envelope(
        { reference_id: 'CI250506.1824.H00006', airtel_money_id: `disbursement-X-${ID}`, id: ID, status: 'TS' },
        { response_code: 'DP00900001001' },
      ),
    );
    assert.deepEqual(observation, { state: 'succeeded', receipt: 'CI250506.1824.H00006', railReference: ID });
    const sent = JSON.parse(operator.requests.at(-1)?.text ?? '') as { pin: string; payee: object };
    assert.deepEqual(sent.payee, { currency: 'UGX', msisdn: '752604392' });
    const padded = privateDecrypt(
      { key: privateKey, padding: constants.RSA_NO_PADDING },
      Buffer.from(sent.pin, 'base64'),
    );
    assert.ok(padded.toString('latin1').endsWith(`\u0000${SECRETS.pin}`));
  });

  const answers: [string, string, Observation['state'], string?][] = [
    ['a duplicate', 'DP00900001011', 'unknown'],
    ['an ambiguous one', 'DP00900001000', 'unknown'],
    ['a plain failure', 'DP00900001005', 'unknown'],
    ['a time-out', 'DP00900001014', 'unknown'],
    ['no float', 'DP00900001007', 'failed', 'FLOAT_INSUFFICIENT'],
    ['no such number', 'DP00900001012', 'failed', 'RECIPIENT_NOT_FOUND'],
    ['a wrong amount', 'DP00900001004', 'failed', 'AMOUNT_OUT_OF_RANGE'],
  ];
  for (const [name, code, state, failureCode] of answers)
    test(`${name} with HTTP 200`, async () => {
      const observation = await payout(
        envelope(null, { code: '400', success: false, result_code: '521050', response_code: code }),
      );
      assert.equal(observation.state, state);
      if (observation.state === 'failed') assert.equal(observation.failureCode, failureCode);
    });

  test('a refusal by a code alone is believed when Airtel does not know the payout', async () => {
    const refused = envelope(null, { code: '400', success: false, response_code: 'DP00900001013' });
    assert.equal((await payout(refused)).state, 'failed');
    const paid = envelope({ id: ID, status: 'TS', reference_id: 'CI1' }, { response_code: 'DP00900001001' });
    assert.deepEqual(await payout(refused, 200, paid), { state: 'succeeded', receipt: 'CI1' });
    assert.equal((await payout(refused, 200, {})).state, 'unknown');
    const router = { status_message: 'Wrong PIN', status_code: 'ROUTER115' };
    assert.equal((await payout(router, 400, {})).state, 'failed', 'it sent nothing on');
  });

  test('without a PIN there are no payouts', () => {
    open({ pin: '' });
    assert.equal(rail.capabilitiesOf(method, 'payout'), null);
    assert.notEqual(rail.capabilitiesOf(method, 'collection'), null);
  });

  test('a key that cannot encrypt the PIN stops payouts only, and the check says so', async () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey;
    open({ pin_public_key: ec.export({ type: 'spki', format: 'pem' }).toString() });
    assert.equal(rail.capabilitiesOf(method, 'payout'), null);
    assert.notEqual(rail.capabilitiesOf(method, 'collection'), null);
    answer = { status: 200, body: { data: { balance: '10', currency: 'UGX' } } };
    const problems = (await rail.check()).flatMap(({ problem }) => problem ?? []);
    assert.match(problems.join(' '), /not an RSA key/);
  });

  test('a bare key may have empty lines in it', () => {
    const lines =
      publicKey
        .export({ type: 'spki', format: 'der' })
        .toString('base64')
        .match(/.{1,64}/g) ?? [];
    open({ pin_public_key: lines.join('\n\n') });
    assert.notEqual(rail.capabilitiesOf(method, 'payout'), null);
  });
});

describe('refunds', () => {
  const refund = async (receipt: string | null) => {
    const collection = { reference: REFERENCE, railReference: ID, receipt, amount: call.amount };
    const reply = await rail.refund?.({ ...call, reference: 'RF_01JCR4Z0XE8Q8RX3V5S0000002', collection });
    return reply?.observation;
  };

  test('by the receipt; accepted is not refunded; the list of transactions shows the end', async () => {
    answer = {
      status: 200,
      body: envelope({ airtel_money_id: 'CI2500029', status: 'SUCCESS' }, { response_code: 'DP00800001006' }),
    };
    assert.deepEqual(await refund('127106716542'), { state: 'pending', railReference: 'CI2500029' });
    assert.deepEqual(JSON.parse(operator.requests.at(-1)?.text ?? ''), {
      transaction: { airtel_money_id: '127106716542' },
    });
    const waiting = await ask({ data: { transactions: [] } }, 200, 'refund');
    assert.deepEqual([waiting.state, callResult(waiting)], ['unknown', 'answered']);
    assert.equal(callResult(await ask({ status: { success: false } }, 200, 'refund')), 'unknown', 'no list');
    const listed = { data: { transactions: [{ transaction: { airtel_money_id: 'CI2500029', status: 'TS' } }] } };
    assert.deepEqual(await ask(listed, 200, 'refund'), { state: 'succeeded', receipt: 'CI2500029' });
  });

  test('the list is read to its end, page by page', async () => {
    const row = (id: string, status = 'TS') => ({ transaction: { airtel_money_id: id, status } });
    const list = (count: number) => [
      ...Array.from({ length: count }, (_, index) => row(`MP${index}`)),
      row('CI2500029'),
    ];
    const listing = (count: number) =>
      operator.answer(({ path }) => {
        if (!path.startsWith('/merchant/v1/transactions')) return script(path);
        const query = new URL(path, 'http://airtel').searchParams;
        const [offset, limit] = [Number(query.get('offset')), Number(query.get('limit'))];
        return { body: { data: { transactions: list(count).slice(offset, offset + limit) } } };
      });
    for (const count of [99, 100, 250]) {
      listing(count);
      assert.deepEqual(await ask({}, 200, 'refund'), { state: 'succeeded', receipt: 'CI2500029' }, String(count));
    }
    listing(100_000);
    assert.equal((await ask({}, 200, 'refund')).state, 'unknown');
  });

  test('without the receipt nothing is sent', async () => {
    assert.equal((await refund(null))?.state, 'failed');
    const query = {
      ...call,
      direction: 'refund',
      railReference: null,
      receipt: null,
      submittedAt: new Date(),
    } as const;
    assert.equal((await rail.query(query)).notCalled, true);
    assert.equal(operator.requests.length, 0);
  });
});

test('signing: Airtel can read the body out of the signature', async () => {
  open({ signing: 'collections' });
  answer = { status: 200, body: envelope({ id: ID, status: 'Success.' }, {}) };
  await rail.collect(call);
  const sent = operator.requests.at(-1);
  const wrapped = Buffer.from(String(sent?.headers['x-key']), 'base64');
  const padded = privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, wrapped);
  const [key = '', iv = ''] = padded
    .subarray(padded.indexOf(0, 2) + 1)
    .toString()
    .split(':');
  const decipher = createDecipheriv('aes-256-cbc', Buffer.from(key, 'base64'), Buffer.from(iv, 'base64'));
  const text = decipher.update(String(sent?.headers['x-signature']), 'base64', 'utf8') + decipher.final('utf8');
  assert.equal(text, sent?.text);
});

test('signing: refunds too where everything is signed', async () => {
  open({ signing: 'everything' });
  answer = { status: 200, body: envelope({ airtel_money_id: 'CI2500029', status: 'SUCCESS' }, {}) };
  const collection = { reference: REFERENCE, railReference: ID, receipt: '127106716542', amount: call.amount };
  await rail.refund?.({ ...call, reference: 'RF_01JCR4Z0XE8Q8RX3V5S0000002', collection });
  const sent = operator.requests.at(-1);
  assert.deepEqual(sent?.json, { transaction: { airtel_money_id: '127106716542' } });
  assert.equal(typeof sent?.headers['x-signature'], 'string');
});

test('signing: without a usable key nothing is sent, and nothing is believed to be', async () => {
  for (const data of [{}, { key: 'A'.repeat(100) }]) {
    open({ signing: 'collections' });
    operator.answer(({ path }) =>
      path === '/v1/rsa/encryption-keys' ? { body: { data, status: { success: true, code: '200' } } } : script(path),
    );
    assert.equal((await rail.collect(call)).observation.state, 'unknown');
    assert.ok(!operator.requests.some(({ path }) => path.startsWith('/merchant')));
  }
});

describe('callbacks', () => {
  const transaction = { id: ID, message: 'Paid UGX 1,000 {to} Shop', status_code: 'TS', airtel_money_id: 'MP210603.1' };
  const hmac = (text: string) => createHmac('sha256', SECRETS.callback_key).update(text).digest('base64');
  const read = (text: string) =>
    rail.readCallback({
      method: 'POST',
      host: 'pay.example.com',
      path: '/operators/airtel-money',
      remoteAddress: null,
      headers: {},
      body: Buffer.from(text),
    })[0];

  test('with the hash of any country it is proof; without, or with a wrong one, a reason to ask', () => {
    const inner = JSON.stringify(transaction);
    for (const payload of [inner, JSON.stringify({ transaction })])
      assert.deepEqual(read(`{"transaction": ${inner}, "hash":"${hmac(payload)}"}`), {
        kind: 'proof',
        reference: REFERENCE,
        direction: 'collection',
        observation: { state: 'succeeded', receipt: 'MP210603.1' },
      });
    // The hash of another payment, which stands somewhere else in the message.
    const other = inner.replace('{', '{ ').replace(/"airtel_money_id"\s*:\s*"[^"]*"/, '"airtel_money_id":"OTHER"');
    assert.notEqual(other, inner);
    for (const forged of [
      `{"x":{"transaction":${other}},"transaction":${inner}`,
      `{"transaction":${other},"transaction":${inner}`,
    ])
      assert.equal(read(`${forged},"hash":"${hmac(other)}"}`)?.kind, 'hint', forged);
    assert.equal(read(`{"transaction":${inner},"hash":"${hmac('other')}"}`)?.kind, 'hint');
    assert.equal(read(`{"transaction":${inner}}`)?.kind, 'hint');
  });

  test('a failure or a progress report is asked about', () => {
    const failed = JSON.stringify({ ...transaction, status_code: 'TF' });
    assert.equal(read(`{"transaction":${failed},"hash":"${hmac(failed)}"}`)?.kind, 'hint');
  });

  test('any text is read without an error', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        assert.equal(read(text)?.kind, 'rejected');
      }),
      { numRuns: 100 },
    );
  });
});

test('whatever else comes is unknown, and no secret is kept', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.json(), fc.string()), fc.integer({ min: 200, max: 599 }), async (text, code) => {
      answer = { status: code, body: text };
      assert.equal((await rail.collect(call)).observation.state, 'unknown');
      assert.equal((await rail.payout({ ...call, recipientName: null })).observation.state, 'unknown');
      assert.equal((await ask(text, code)).state, 'unknown');
    }),
    { numRuns: 40 },
  );
  const kept = JSON.stringify(connection.calls);
  for (const secret of [...Object.values(SECRETS), 'secret-token']) assert.ok(!kept.includes(secret), secret);
});
