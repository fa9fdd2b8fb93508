// The rail to Daraja against scripted answers: what it sends, and what it makes of every answer and code of Safaricom's pages.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { type TestConnection, testConnection } from '../../test/rail-connection.ts';
import { loadCatalog } from '../catalog/catalog.ts';
import type { FailureCode } from '../catalog/failures.ts';
import { createVirtualClock } from '../platform/clock.ts';
import { createHolderUuid, createRefundUuid, publicId } from '../platform/ids.ts';
import type { RailConnection } from './connection.ts';
import { darajaRail } from './daraja.ts';
import { maskedNumberOf, promptReferenceOf, typedReferenceOf } from './daraja-references.ts';
import type { Observation, QueryCall, Rail, RailMethod, RefundCall } from './rail.ts';

const START = new Date('2026-01-05T06:15:00Z');
const REFERENCE = publicId('TX', createHolderUuid(START.getTime(), 7n));
const REFUND = publicId('RF', createRefundUuid(START.getTime(), 7n));
const CHECKOUT_ID = 'ws_CO_1007202409152617172396192';
const CONVERSATION_ID = 'AG_20240706_20106e9209f64bebd05b';
const PHONE = '254708374149';
const TOKEN = 'token-of-the-operator-0001';
const PASSWORD = 'Initiator-2026#';
const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SETTINGS = {
  certificate: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  initiator_password: PASSWORD,
  business_name: 'Duka',
  paybill_number: '600638',
  till_number: '600639',
  payout_shortcode: '600992',
  pull_number: '',
};

type Answer = { status: number; body: string | object };
type Received = { method: string; path: string; authorization: string; body: Record<string, unknown> };

const clock = createVirtualClock(START);
let operator: Server;
let url: string;
let answers: Answer[];
let received: Received[];
let rail: Rail;
let connection: TestConnection;

before(async () => {
  operator = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const { method = '', url: path = '', headers } = request;
      const isToken = path.startsWith('/oauth/');
      const body = JSON.parse(text || '{}') as Received['body'];
      received.push({ method, path, authorization: headers.authorization ?? '', body });
      const { status, body: said } = (isToken ? tokenAnswers.shift() : answers.shift()) ?? GRANTED;
      response.writeHead(status).end(typeof said === 'string' ? said : JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => operator.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(operator.address() as AddressInfo).port}`;
});
after(() => operator.close());

const GRANTED: Answer = { status: 200, body: { access_token: TOKEN, expires_in: '3599' } };
let tokenAnswers: Answer[];

beforeEach(async () => {
  await rail?.close();
  answers = [];
  tokenAnswers = [];
  received = [];
  clock.set(START);
  open();
});
after(() => rail.close());

function open(settings: Record<string, string> = {}, changes: Partial<RailConnection> = {}): Rail {
  const all = { ...SETTINGS, ...settings };
  connection = testConnection(darajaRail, url, { clock, settings: all, ...changes });
  rail = darajaRail.open(connection);
  return rail;
}

function method(code: string): RailMethod {
  const found = loadCatalog().methods.get(code);
  assert.ok(found);
  return found;
}

const collectCall = (code = 'MPESA_KEN', amount = 100_00n) => ({
  reference: REFERENCE,
  method: method(code),
  msisdn: PHONE,
  amount,
  currency: 'KES',
  merchantName: 'Shop',
  prepared: null,
  verified: false,
  returnUrl: 'https://pay.example.com',
});
const payoutCall = (amount = 100_00n) => ({ ...collectCall('MPESA_KEN', amount), recipientName: null });

const queryCall = (changes: Partial<QueryCall> = {}): QueryCall => ({
  reference: REFERENCE,
  direction: 'collection',
  method: method('MPESA_KEN'),
  railReference: CHECKOUT_ID,
  receipt: null,
  prepared: null,
  amount: 100_00n,
  currency: 'KES',
  submittedAt: START,
  ...changes,
});

const refundCall = (changes: Partial<RefundCall> = {}): RefundCall => ({
  reference: REFUND,
  collection: { reference: REFERENCE, railReference: CHECKOUT_ID, receipt: 'NEF61H8J60', amount: 100_00n },
  method: method('MPESA_KEN'),
  msisdn: PHONE,
  amount: 100_00n,
  currency: 'KES',
  merchantName: 'Shop',
  ...changes,
});

const ok = (body: object): Answer => ({ status: 200, body });
const error = (status: number, errorCode: string, errorMessage: string): Answer => ({
  status,
  body: { requestId: '1c5b-1', errorCode, errorMessage },
});

const PROMPT_ACCEPTED = ok({
  MerchantRequestID: '2654-4b64-97ff-b827b542881d3130',
  CheckoutRequestID: CHECKOUT_ID,
  ResponseCode: '0',
  ResponseDescription: 'Success. Request accepted for processing',
  CustomerMessage: 'Success. Request accepted for processing',
});
const ACCEPTED = ok({
  ConversationID: CONVERSATION_ID,
  OriginatorConversationID: '1236-7134259-1',
  ResponseCode: '0',
  ResponseDescription: 'Accept the service request successfully.',
});
const PAYOUT_ACCEPTED = ok({
  ConversationID: CONVERSATION_ID,
  OriginatorConversationID: REFERENCE,
  ResponseCode: '0',
  ResponseDescription: 'Accept the service request successfully.',
});

const sentBody = () => received.at(-1)?.body ?? {};

describe('a prompt', () => {
  test('is sent as Safaricom wants it', async () => {
    answers = [PROMPT_ACCEPTED];
    const { observation } = await rail.collect(collectCall());
    assert.deepEqual(observation, {
      state: 'pending',
      railReference: CHECKOUT_ID,
      step: { kind: 'prompt', text: null },
    });
    const [token, push] = received;
    assert.equal(token?.path, '/oauth/v1/generate?grant_type=client_credentials');
    assert.equal(token?.authorization, `Basic ${btoa('simulated-consumer-key:simulated-consumer-secret')}`);
    assert.equal(push?.path, '/mpesa/stkpush/v1/processrequest');
    assert.equal(push?.authorization, `Bearer ${TOKEN}`);
    const { Password, CallBackURL, ...rest } = push?.body ?? {};
    assert.deepEqual(rest, {
      BusinessShortCode: 174379,
      Timestamp: '20260105091500',
      TransactionType: 'CustomerPayBillOnline',
      Amount: '100',
      PartyA: Number(PHONE),
      PartyB: 174379,
      PhoneNumber: Number(PHONE),
      AccountReference: REFERENCE.slice(-12),
      TransactionDesc: 'Payment',
    });
    assert.equal(atob(String(Password)), `174379${connection.settings.passkey}20260105091500`);
    assert.match(String(CallBackURL), /^https:\/\/pay\.example\.com\/operators\/daraja\/prompt/);
  });

  test('to a till names the store and the till', async () => {
    open({ prompt_account: 'till', till_number: '500600' });
    answers = [PROMPT_ACCEPTED];
    const call = collectCall();
    await rail.collect(call);
    const { TransactionType, BusinessShortCode, PartyB, AccountReference } = sentBody();
    assert.deepEqual([TransactionType, BusinessShortCode, PartyB], ['CustomerBuyGoodsOnline', 174379, 500600]);
    assert.equal(AccountReference, promptReferenceOf(call.reference));
  });

  test('is confirmed under the reference that it shows, of a till under the number that pays', () => {
    const call = collectCall();
    assert.equal(rail.accountReferenceOf?.(call), promptReferenceOf(call.reference));
    assert.equal(rail.accountReferenceOf?.(collectCall('MPESA_PAYBILL_KEN')), null);
    open({ prompt_account: 'till', till_number: '500600' });
    assert.equal(rail.accountReferenceOf?.(call), maskedNumberOf(call.msisdn));
  });

  test('of less than a shilling is not sent', async () => {
    const { observation } = await rail.collect(collectCall('MPESA_KEN', 100_50n));
    assert.equal(observation.state === 'failed' && observation.failureCode, 'AMOUNT_OUT_OF_RANGE');
    assert.equal(received.length, 0);
  });

  test('is sent once more when its token was refused', async () => {
    const refusals = [
      error(404, '404.001.03', 'Invalid Access Token'),
      error(400, '400.003.01', 'Invalid Access Token'),
      error(401, '401.002.01', `Error Occurred - Invalid Access Token - ${TOKEN}`),
    ];
    for (const refusal of refusals) {
      answers = [refusal, PROMPT_ACCEPTED];
      const { observation } = await rail.collect(collectCall());
      assert.equal(observation.state, 'pending');
    }
    answers = refusals;
    const { observation } = await rail.collect(collectCall());
    assert.equal(observation.state === 'failed' && observation.rawCode, 'NO_TOKEN', 'twice refused: nothing was sent');
    assert.ok(!JSON.stringify(connection.calls).includes(TOKEN));
  });

  test('is not sent without a token', async () => {
    for (const refusal of [error(400, '400.008.01', 'Invalid Authentication passed'), { status: 400, body: '' }]) {
      tokenAnswers = [refusal];
      const { observation } = await rail.collect(collectCall());
      assert.equal(observation.state === 'failed' && observation.failureCode, 'OPERATOR_UNAVAILABLE');
    }
    assert.equal(received.filter(({ path }) => path.includes('stkpush')).length, 0);
  });
});

/** As the gateway in front of Daraja writes it. */
const gatewayError = (status: number, faultstring: string, errorcode: string): Answer => ({
  status,
  body: `{"fault":${JSON.stringify({ faultstring, detail: { errorcode } })}}`,
});
const SPIKE_ARREST = gatewayError(
  429,
  'Spike arrest violation. Allowed rate : 60pm',
  'policies.ratelimit.SpikeArrestViolation',
);

/** What is answered to a submit, and what follows for a prompt and for a payout. Null: unknown. */
const REFUSALS: [Answer, FailureCode | null, FailureCode | null][] = [
  [error(400, '400.002.02', 'Bad Request - Invalid PhoneNumber'), 'PAYER_NOT_FOUND', 'RECIPIENT_NOT_FOUND'],
  [error(400, '400.002.02', 'Bad Request - Invalid PartyB'), 'REJECTED_BY_OPERATOR', 'RECIPIENT_NOT_FOUND'],
  [error(400, '400.002.02', 'Bad Request - Invalid Amount'), 'AMOUNT_OUT_OF_RANGE', 'AMOUNT_OUT_OF_RANGE'],
  [error(400, '400.002.02', 'Bad Request - Invalid BusinessShortCode'), 'REJECTED_BY_OPERATOR', 'REJECTED_BY_OPERATOR'],
  [error(400, '400.002.05', 'Invalid Request Payload'), 'REJECTED_BY_OPERATOR', 'REJECTED_BY_OPERATOR'],
  [error(404, '404.001.01', 'Resource not found'), 'REJECTED_BY_OPERATOR', 'REJECTED_BY_OPERATOR'],
  [error(405, '405.001', 'Method Not Allowed'), 'REJECTED_BY_OPERATOR', 'REJECTED_BY_OPERATOR'],
  [error(403, '403.002.1001', 'Not allowed'), 'REJECTED_BY_OPERATOR', 'REJECTED_BY_OPERATOR'],
  [
    gatewayError(401, 'Invalid API call as no apiproduct match found', 'keymanagement.service.x'),
    'REJECTED_BY_OPERATOR',
    'REJECTED_BY_OPERATOR',
  ],
  [error(500, '500.001.1001', 'Merchant does not exist'), 'REJECTED_BY_OPERATOR', 'REJECTED_BY_OPERATOR'],
  [
    error(500, '500.001.1001', '[MerchantValidate] - Wrong credentials'),
    'REJECTED_BY_OPERATOR',
    'REJECTED_BY_OPERATOR',
  ],
  [
    error(
      500,
      '500.001.1001',
      'Unable to lock subscriber, a transaction is already in process for the current subscriber',
    ),
    null,
    null,
  ],
  [error(500, '500.001.1001', 'Something new'), null, null],
  [error(500, '500.002.1001', 'Duplicate OriginatorConversationID.'), null, null],
  [error(500, '500.002.1001', 'Service is currently under maintenance'), null, null],
  [error(500, '500.003.02', 'Error Occurred: Spike Arrest Violation'), 'OPERATOR_UNAVAILABLE', 'OPERATOR_UNAVAILABLE'],
  [error(500, '500.003.02', 'System is busy. Please try again in few minutes.'), null, null],
  [error(500, '500.003.03', 'Quota Violation'), null, null],
  [error(500, '500.003.1001', 'Internal Server Error'), null, null],
  [SPIKE_ARREST, 'OPERATOR_UNAVAILABLE', 'OPERATOR_UNAVAILABLE'],
  [error(500, '500.001.1037', 'User cannot be reached'), null, null],
  [ok({ ResponseCode: '1', ResponseDescription: 'The balance is insufficient' }), null, null],
  [ok({ ResponseCode: '2001' }), null, null],
  [ok({}), null, null],
  [{ status: 500, body: '<html>Internal Server Error</html>' }, null, null],
  [{ status: 404, body: '<html>Not Found</html>' }, null, null],
  [{ status: 200, body: 'OK' }, null, null],
  [{ status: 301, body: '' }, null, null],
];

test('a submit is failed only where nothing was sent for certain', async () => {
  for (const [answer, forPrompt, forPayout] of REFUSALS) {
    answers = [answer, answer];
    const outcomes = [await rail.collect(collectCall()), await rail.payout(payoutCall())];
    assert.deepEqual(
      outcomes.map(({ observation }) => (observation.state === 'failed' ? observation.failureCode : null)),
      [forPrompt, forPayout],
      JSON.stringify(answer),
    );
    for (const { observation } of outcomes) assert.ok(['failed', 'unknown'].includes(observation.state));
  }
});

const queryAnswer = (result: object) =>
  ok({
    ResponseCode: '0',
    ResponseDescription: 'The service request has been accepted successfully',
    MerchantRequestID: '22205-34066-1',
    CheckoutRequestID: CHECKOUT_ID,
    ...result,
  });

/** Codes of a prompt and their meaning, once the prompt is over. */
const PROMPT_CODES: [string, FailureCode | 'succeeded' | 'pending' | 'unknown'][] = [
  ['0', 'succeeded'],
  ['1', 'INSUFFICIENT_FUNDS'],
  ['2', 'AMOUNT_OUT_OF_RANGE'],
  ['3', 'AMOUNT_OUT_OF_RANGE'],
  ['4', 'PAYER_LIMIT_REACHED'],
  ['8', 'REJECTED_BY_OPERATOR'],
  ['17', 'DUPLICATE_AT_OPERATOR'],
  ['26', 'OPERATOR_UNAVAILABLE'],
  ['1001', 'DUPLICATE_AT_OPERATOR'],
  ['1019', 'PROMPT_EXPIRED'],
  ['1025', 'OPERATOR_UNAVAILABLE'],
  ['1032', 'PAYER_CANCELLED'],
  ['1037', 'PROMPT_EXPIRED'],
  ['2001', 'WRONG_PIN'],
  ['2028', 'REJECTED_BY_OPERATOR'],
  ['8006', 'PAYER_BLOCKED'],
  ['9999', 'OPERATOR_UNAVAILABLE'],
  ['SFC_IC0003', 'REJECTED_BY_OPERATOR'],
  ['4999', 'pending'],
  ['5000', 'unknown'],
  ['toString', 'unknown'],
];

const wordFor = (observation: Observation) =>
  observation.state === 'failed' ? observation.failureCode : observation.state;

describe('the query of a prompt', () => {
  test('names the prompt', async () => {
    answers = [queryAnswer({ ResultCode: '0' })];
    const { observation } = await rail.query(queryCall());
    assert.deepEqual(observation, { state: 'succeeded', receipt: null, railReference: CHECKOUT_ID });
    const { path, body } = received.at(-1) ?? {};
    assert.equal(path, '/mpesa/stkpushquery/v1/query');
    assert.equal(body?.CheckoutRequestID, CHECKOUT_ID);
    assert.equal(body?.BusinessShortCode, '174379');
  });

  test('is final once the prompt is over', async () => {
    clock.advance(90_000);
    for (const [code, meaning] of PROMPT_CODES)
      for (const ResultCode of [code, /^\d+$/.test(code) ? Number(code) : code]) {
        answers = [queryAnswer({ ResultCode, ResultDesc: 'what Safaricom says' })];
        assert.equal(wordFor((await rail.query(queryCall())).observation), meaning, code);
      }
  });

  test('that says no while the prompt may still be paid is not the end', async () => {
    clock.advance(89_000);
    for (const ResultCode of ['1037', '1032', '2001']) {
      answers = [queryAnswer({ ResultCode })];
      assert.equal((await rail.query(queryCall())).observation.state, 'pending', ResultCode);
    }
  });

  test('of a prompt that is open', async () => {
    answers = [
      error(500, '500.001.1001', 'The transaction is being processed'),
      queryAnswer({}),
      queryAnswer({ ResultCode: '4999', ResultDesc: 'The transaction is still under processing' }),
    ];
    for (let count = 0; count < 3; count++)
      assert.equal((await rail.query(queryCall())).observation.state, 'pending', String(count));
  });

  test('that is not answered says nothing', async () => {
    clock.advance(3_600_000);
    for (const answer of [
      error(400, '400.002.02', 'Bad Request - Invalid CheckoutRequestID'),
      error(500, '500.001.1001', 'The transaction does not exist'),
      error(500, '500.001.1001', 'Wrong credentials'),
      queryAnswer({ CheckoutRequestID: 'ws_CO_another', ResultCode: '0' }),
      SPIKE_ARREST,
    ]) {
      answers = [answer];
      const { observation } = await rail.query(queryCall());
      assert.equal(observation.state, 'unknown');
      assert.ok(!('definitelyNotFound' in observation));
    }
  });

  test('is not possible when the answer to the submit was lost', async () => {
    const { observation } = await rail.query(queryCall({ railReference: null }));
    assert.equal(observation.state, 'unknown');
    assert.equal(received.length, 0);
  });
});

describe('till and pay bill', () => {
  test('nothing is sent: the payer is shown where to pay', async () => {
    const { observation } = await rail.collect(collectCall('MPESA_PAYBILL_KEN'));
    assert.ok(observation.state === 'pending' && observation.step?.kind === 'transfer');
    const { payTo, accountReference, expiresAt } = observation.step;
    assert.deepEqual(payTo, { kind: 'paybill', number: '600638', name: 'Duka', bank: null });
    assert.match(accountReference, /^\d{10}$/);
    assert.equal(expiresAt.toISOString(), '2026-01-05T07:15:00.000Z');
    assert.deepEqual((await rail.collect(collectCall('MPESA_PAYBILL_KEN'))).observation, observation, 'the same again');
    assert.equal(received.length, 0);
  });

  test('a till is paid without a reference', async () => {
    const { observation } = await rail.collect(collectCall('MPESA_TILL_KEN'));
    assert.ok(observation.state === 'pending' && observation.step?.kind === 'transfer');
    assert.equal(observation.step.payTo.kind, 'till');
    assert.equal(observation.step.accountReference, '2547*****149');
  });

  test('a query tells again where to pay: the first answer may not have been stored', async () => {
    for (const code of ['MPESA_PAYBILL_KEN', 'MPESA_TILL_KEN']) {
      const first = await rail.collect(collectCall(code));
      const question = queryCall({
        method: method(code),
        railReference: null,
        msisdn: PHONE,
        submittedAt: clock.now(),
      });
      assert.deepEqual((await rail.query(question)).observation, first.observation);
    }
  });

  test('what nobody paid expires; what was paid is confirmed by its receipt', async () => {
    const call = queryCall({ method: method('MPESA_PAYBILL_KEN'), railReference: null });
    assert.equal((await rail.query(call)).observation.state, 'pending');
    clock.advance(75 * 60_000);
    assert.equal(wordFor((await rail.query(call)).observation), 'PROMPT_EXPIRED');
    answers = [ACCEPTED];
    const { observation } = await rail.query({ ...call, receipt: 'RKTQDM7W6S' });
    assert.ok(observation.state === 'unknown' && observation.asked);
    assert.equal(sentBody().TransactionID, 'RKTQDM7W6S');
    assert.equal(sentBody().PartyA, '600638');
  });
});

describe('the list of payments', () => {
  const PULL_NUMBER = '254722000000';
  const row = (changes: object = {}) => ({
    transactionId: 'LHG31AA5TX',
    trxDate: '2020-08-05T10:13:00Z',
    msisdn: 72200000,
    sender: 'MPESA',
    transactiontype: 'c2b-pay-bill-debit',
    billreference: promptReferenceOf(REFERENCE),
    amount: '100.00',
    organizationname: 'Shop',
    ...changes,
  });
  const list = (...rows: object[]) =>
    ok({ ResponseRefID: '1', ResponseCode: rows.length ? '1000' : '1001', ResponseMessage: 'x', Response: [rows] });
  const transferQuery = (code: string) => queryCall({ method: method(code), railReference: null, msisdn: PHONE });

  test('has the receipt of a prompt that a query says is paid', async () => {
    open({ pull_number: PULL_NUMBER });
    answers = [queryAnswer({ ResultCode: '0' }), list(row({ billreference: 'other' }), row())];
    const { observation, raw } = await rail.query(queryCall());
    assert.deepEqual(observation, {
      state: 'succeeded',
      receipt: 'LHG31AA5TX',
      amount: 100_00n,
      currency: 'KES',
      railReference: CHECKOUT_ID,
    });
    assert.match(raw, /LHG31AA5TX/);
    const { path, body } = received.at(-1) ?? {};
    assert.equal(path, '/pulltransactions/v1/query');
    assert.deepEqual(body, {
      ShortCode: '174379',
      StartDate: '2026-01-05 09:14:00',
      EndDate: '2026-01-05 09:16:00',
      OffSetValue: '0',
    });
    for (const answer of [list(), list(row({ amount: '99' })), SPIKE_ARREST, ok({ ResponseCode: '1000' })]) {
      answers = [queryAnswer({ ResultCode: '0' }), answer];
      const known = (await rail.query(queryCall())).observation;
      assert.ok(known.state === 'succeeded' && known.receipt === null, 'paid all the same');
    }
  });

  test('has a prompt whose answer was lost; that it is not there proves nothing', async () => {
    open({ pull_number: PULL_NUMBER });
    clock.advance(3_600_000);
    const lost = queryCall({ railReference: null });
    answers = [list(row()), list(), SPIKE_ARREST];
    assert.equal((await rail.query(lost)).observation.state, 'succeeded');
    for (let count = 0; count < 2; count++) assert.equal((await rail.query(lost)).observation.state, 'unknown');
    open({ pull_number: PULL_NUMBER, prompt_account: 'till' });
    answers = [list(row())];
    assert.equal((await rail.query(lost)).observation.state, 'unknown');
    assert.equal(answers.length, 1, 'a till has no reference to find it by');
  });

  test('has payments to a till or pay bill whose confirmation was lost', async () => {
    open({ pull_number: PULL_NUMBER });
    answers = [
      list(row({ billreference: ` ${typedReferenceOf(REFERENCE)}` })),
      list(row({ billreference: '', msisdn: Number(PHONE.slice(3)) })),
      list(row({ billreference: '' })),
    ];
    assert.equal((await rail.query(transferQuery('MPESA_PAYBILL_KEN'))).observation.state, 'succeeded');
    assert.equal((await rail.query(transferQuery('MPESA_TILL_KEN'))).observation.state, 'succeeded');
    assert.equal((await rail.query(transferQuery('MPESA_TILL_KEN'))).observation.state, 'pending', 'another payer');
    clock.advance(75 * 60_000);
    answers = [error(500, '500.003.1001', 'Internal Server Error'), list()];
    assert.equal((await rail.query(transferQuery('MPESA_PAYBILL_KEN'))).observation.state, 'unknown');
    assert.equal(wordFor((await rail.query(transferQuery('MPESA_PAYBILL_KEN'))).observation), 'PROMPT_EXPIRED');
  });

  test('of a till may have several payments of a payer: one that belongs to another order is passed over', async () => {
    open({ pull_number: PULL_NUMBER });
    const paid = (transactionId: string) => row({ transactionId, billreference: '', msisdn: Number(PHONE.slice(3)) });
    const used = new Set(['LHG31AA5T1']);
    const usedReceipts = async (receipts: readonly string[]) => new Set(receipts.filter((each) => used.has(each)));
    const ask = async () => (await rail.query({ ...transferQuery('MPESA_TILL_KEN'), usedReceipts })).observation;
    answers = [list(paid('LHG31AA5T1'), paid('LHG31AA5T2'))];
    const found = await ask();
    assert.equal(found.state === 'succeeded' && found.receipt, 'LHG31AA5T2');
    used.add('LHG31AA5T2');
    answers = [list(paid('LHG31AA5T1'), paid('LHG31AA5T2'))];
    assert.equal((await ask()).state, 'pending');
  });

  test('is read page by page', async () => {
    open({ pull_number: PULL_NUMBER });
    const others = Array.from({ length: 100 }, () => row({ billreference: 'other' }));
    answers = [list(...others), list(row({ billreference: typedReferenceOf(REFERENCE) }))];
    assert.equal((await rail.query(transferQuery('MPESA_PAYBILL_KEN'))).observation.state, 'succeeded');
    assert.equal(sentBody().OffSetValue, '100');
    answers = Array.from({ length: 20 }, () => list(...others));
    assert.equal((await rail.query(transferQuery('MPESA_PAYBILL_KEN'))).observation.state, 'unknown');
  });

  test('is registered by the check', async () => {
    open({ pull_number: PULL_NUMBER }, { methods: ['MPESA_PAYBILL_KEN'] });
    answers = [ok({ ResponseCode: '0' }), ok({ ResponseStatus: 1001 })];
    for (const { name, problem } of await rail.check()) assert.equal(problem, null, name);
    assert.deepEqual([sentBody().ShortCode, sentBody().NominatedNumber], ['600638', PULL_NUMBER]);
    answers = [ok({ ResponseCode: '0' }), error(400, '400.002.02', 'Bad Request - Invalid ShortCode')];
    assert.match((await rail.check())[3]?.problem ?? '', /Pull Transactions API: 400.002.02/);
    const looked = (await rail.check('only_look')).map(({ name }) => name);
    assert.ok(!looked.some((name) => /Confirmations|List/.test(name)), 'who only looks registers nothing');
  });
});

describe('a payout', () => {
  test('is sent with our reference and the encrypted password', async () => {
    answers = [PAYOUT_ACCEPTED];
    const { observation } = await rail.payout(payoutCall());
    assert.deepEqual(observation, { state: 'pending', railReference: CONVERSATION_ID });
    const { path, body } = received.at(-1) ?? {};
    assert.equal(path, '/mpesa/b2c/v3/paymentrequest');
    const { SecurityCredential, QueueTimeOutURL, ResultURL, ...rest } = body ?? {};
    assert.deepEqual(rest, {
      OriginatorConversationID: REFERENCE,
      InitiatorName: 'testapi',
      CommandID: 'BusinessPayment',
      Amount: '100',
      PartyA: '600992',
      PartyB: PHONE,
      Remarks: 'Payout',
      Occassion: REFERENCE,
    });
    assert.equal(Buffer.from(String(SecurityCredential), 'base64').length, 256);
    assert.notEqual(QueueTimeOutURL, ResultURL);
  });

  test('is asked about by our reference; the answer comes by callback', async () => {
    answers = [ACCEPTED];
    const { observation } = await rail.query(queryCall({ direction: 'payout', railReference: CONVERSATION_ID }));
    assert.deepEqual(observation, { state: 'unknown', reason: 'the operator answers by callback', asked: true });
    const { path, body } = received.at(-1) ?? {};
    assert.equal(path, '/mpesa/transactionstatus/v1/query');
    assert.deepEqual(
      [
        body?.CommandID,
        body?.OriginalConversationID,
        body?.OriginatorConversationID,
        body?.PartyA,
        body?.IdentifierType,
      ],
      ['TransactionStatusQuery', REFERENCE, REFERENCE, '600992', '4'],
    );
    answers = [error(500, '500.003.1001', 'Internal Server Error')];
    const failed = await rail.query(queryCall({ direction: 'payout' }));
    assert.ok(failed.observation.state === 'unknown' && !failed.observation.asked);
  });

  test('needs an initiator and a certificate', async () => {
    for (const settings of [{ initiator_name: '' }, { certificate: '' }, { payout_shortcode: '' }])
      assert.equal(open(settings).capabilitiesOf(method('MPESA_KEN'), 'payout'), null);
    open({ certificate: 'not a certificate' });
    assert.equal(wordFor((await rail.payout(payoutCall())).observation), 'REJECTED_BY_OPERATOR');
    assert.equal(received.length, 0);
  });
});

describe('a refund', () => {
  test('reverses the whole payment by its receipt', async () => {
    answers = [ACCEPTED];
    const { observation } = (await rail.refund?.(refundCall())) ?? {};
    assert.deepEqual(observation, { state: 'pending', railReference: '1236-7134259-1' });
    const { path, body } = received.at(-1) ?? {};
    assert.equal(path, '/mpesa/reversal/v1/request');
    const { SecurityCredential, QueueTimeOutURL, ResultURL, ...rest } = body ?? {};
    assert.ok(SecurityCredential && QueueTimeOutURL && ResultURL);
    assert.deepEqual(rest, {
      Initiator: 'testapi',
      CommandID: 'TransactionReversal',
      TransactionID: 'NEF61H8J60',
      Amount: '100',
      ReceiverParty: '174379',
      RecieverIdentifierType: '11',
      Remarks: 'Refund',
      Occasion: '',
    });
  });

  test('is not sent without a receipt, or for a part', async () => {
    const withoutReceipt = { ...refundCall().collection, receipt: null };
    for (const call of [refundCall({ collection: withoutReceipt }), refundCall({ amount: 50_00n })]) {
      const reply = await rail.refund?.(call);
      assert.equal(reply?.observation.state, 'failed');
    }
    assert.equal(received.length, 0);
  });

  test('is asked about by the id that the operator gave it', async () => {
    answers = [ACCEPTED];
    const call = queryCall({ reference: REFUND, direction: 'refund', railReference: '1236-7134259-1' });
    assert.ok('asked' in (await rail.query(call)).observation);
    assert.equal(sentBody().OriginalConversationID, '1236-7134259-1');
    const { observation } = await rail.query({ ...call, railReference: null });
    assert.ok(observation.state === 'unknown' && !observation.asked);
  });
});

describe('a connection', () => {
  test('says what it can do', () => {
    const collection = rail.capabilitiesOf(method('MPESA_KEN'), 'collection');
    assert.deepEqual(
      [collection?.idempotentSubmit, collection?.query, collection?.refunds],
      [false, 'answers', 'whole'],
    );
    const payout = rail.capabilitiesOf(method('MPESA_KEN'), 'payout');
    assert.deepEqual([payout?.idempotentSubmit, payout?.query, payout?.decimals], [true, 'by_callback', 0]);
    assert.equal(rail.capabilitiesOf(method('MPESA_TILL_KEN'), 'payout'), null);
    assert.equal(rail.capabilitiesOf(method('PESALINK_KEN'), 'collection'), null);
    open({ till_number: '', passkey: '' }, { methods: ['MPESA_KEN', 'MPESA_TILL_KEN'] });
    for (const code of ['MPESA_KEN', 'MPESA_TILL_KEN', 'MPESA_PAYBILL_KEN'])
      assert.equal(rail.capabilitiesOf(method(code), 'collection'), null, code);
  });

  test('asks for the balance', async () => {
    answers = [ACCEPTED, error(500, '500.003.1001', 'Internal Server Error')];
    assert.deepEqual(await rail.balance?.(), { asked: true });
    assert.equal(received.at(-1)?.path, '/mpesa/accountbalance/v1/query');
    assert.deepEqual([sentBody().CommandID, sentBody().PartyA], ['AccountBalance', '600992']);
    assert.deepEqual(await rail.balance?.(), {
      error: 'the operator answered 500 (500.003.1001 Internal Server Error)',
    });
  });

  test('registers its addresses and says what is missing', async () => {
    const registered = ok({
      OriginatorCoversationID: '7619-37765134-1',
      ResponseCode: '0',
      ResponseDescription: 'success',
    });
    answers = [
      error(400, '400.002.02', 'Bad Request - Invalid CheckoutRequestID'),
      registered,
      error(500, '500.003.1001', 'Urls are already registered'),
    ];
    const checks = await rail.check();
    assert.deepEqual(
      checks.map(({ problem }) => problem),
      [null, null, null, null, null, null, null],
    );
    const sent = received.filter(({ path }) => path === '/mpesa/c2b/v2/registerurl').map(({ body }) => body);
    assert.deepEqual(
      sent.map(({ ShortCode, ResponseType }) => [ShortCode, ResponseType]),
      [
        ['600639', 'Cancelled'],
        ['600638', 'Cancelled'],
      ],
    );
    answers = [error(500, '500.001.1001', 'Wrong credentials'), { status: 503, body: '' }, SPIKE_ARREST];
    open({ certificate: 'none' }, { publicUrl: 'http://mpesa.example.com', environment: 'production' });
    const problems = (await rail.check()).filter(({ problem }) => problem !== null);
    assert.deepEqual(
      problems.map(({ name }) => name),
      [
        'Address of this gateway',
        'Short code and passkey',
        'Confirmations for 600639',
        'Confirmations for 600638',
        'Initiator and certificate',
      ],
    );
    open();
    tokenAnswers = [error(400, '400.008.01', 'Invalid Authentication passed')];
    const [, token] = await rail.check();
    assert.match(token?.problem ?? '', /consumer key/);
  });

  test('says when messages from any address are believed', async () => {
    for (const [ranges, isWarned] of [
      ['', true],
      ['196.201.214.200', false],
    ] as const) {
      open({ callback_ranges: ranges }, { environment: 'production' });
      const check = (await rail.check()).find(({ name }) => name === 'Addresses of Safaricom');
      assert.equal(check?.problem?.includes('callback_ranges') ?? false, isWarned);
    }
  });
});

describe('any answer', () => {
  const garbage = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.json({ maxDepth: 3 }),
    fc
      .record({ ResponseCode: fc.constantFrom('1', 0.5, null, 'x'), ResultCode: fc.string(), errorCode: fc.string() })
      .map((value) => JSON.stringify(value)),
  );

  test('that is not understood is unknown', async () => {
    clock.advance(3_600_000);
    const anyAnswer = fc.tuple(fc.constantFrom(200, 202, 400, 401, 404, 429, 500, 503), garbage);
    await fc.assert(
      fc.asyncProperty(anyAnswer, async ([status, body]) => {
        answers = Array.from({ length: 6 }, () => ({ status, body }));
        const replies = [
          await rail.collect(collectCall()),
          await rail.payout(payoutCall()),
          await rail.refund?.(refundCall()),
          await rail.query(queryCall()),
          await rail.query(queryCall({ direction: 'payout' })),
          await rail.query(queryCall({ direction: 'refund', reference: REFUND })),
        ];
        for (const reply of replies) assert.equal(reply?.observation.state, 'unknown');
      }),
      { numRuns: 60 },
    );
  });

  test('that does not come is unknown', async () => {
    open({}, { baseUrl: 'http://127.0.0.1:1' });
    connection.tokens.withToken = async (_kind, _fetch, call) => call(TOKEN);
    rail = darajaRail.open(connection);
    for (const { observation } of [await rail.collect(collectCall()), await rail.payout(payoutCall())])
      assert.equal(observation.state, 'unknown');
  });

  test('is kept without a secret', async () => {
    const secrets = ['consumer_key', 'consumer_secret', 'passkey', 'initiator_password']
      .map((name) => connection.settings[name] ?? '')
      .concat(TOKEN);
    const echo = { errorCode: '500.003.1001', errorMessage: `Invalid: ${secrets.join(' ')}` };
    answers = Array.from({ length: 6 }, () => ({ status: 500, body: echo }));
    const replies = [
      await rail.collect(collectCall()),
      await rail.payout(payoutCall()),
      await rail.refund?.(refundCall()),
      await rail.query(queryCall()),
    ];
    const credential = String(received.find(({ body }) => body.SecurityCredential)?.body.SecurityCredential);
    const address = String(received.find(({ body }) => body.ResultURL)?.body.ResultURL);
    const kept = JSON.stringify([replies, connection.calls, await rail.balance?.(), await rail.check()]);
    const password = String(received.find(({ body }) => body.Password)?.body.Password);
    for (const secret of [...secrets, credential, password, address.split('/').at(-1) ?? ''])
      assert.ok(secret.length > 5 && !kept.includes(secret), secret);
  });
});
