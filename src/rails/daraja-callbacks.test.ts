// What the rail to Daraja makes of Safaricom's messages, and what it answers. The bodies are those of Safaricom's pages.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { testConnection } from '../../test/rail-connection.ts';
import { createHolderUuid, createRefundUuid, publicId } from '../platform/ids.ts';
import { createCallbackAddresses } from './callback-addresses.ts';
import { darajaRail } from './daraja.ts';
import { createDarajaAddresses, type DarajaTopic, forbiddenWordIn } from './daraja-addresses.ts';
import { maskedNumberOf, promptReferenceOf, typedReferenceOf } from './daraja-references.ts';
import type { CallbackDecision, CallbackReading, CallbackRequest } from './rail.ts';

const NOW = Date.parse('2026-01-05T06:15:00Z');
const REFERENCE = publicId('TX', createHolderUuid(NOW, 7n));
const REFUND = publicId('RF', createRefundUuid(NOW, 7n));
const OPERATOR = '127.0.0.1';
const STRANGER = '203.0.113.9';

const connection = testConnection(darajaRail, 'http://127.0.0.1:1', {
  settings: { paybill_number: '600638', till_number: '600639' },
});
const addresses = createDarajaAddresses(connection.addresses);
const rail = darajaRail.open(connection);
after(() => rail.close());

function request(topic: DarajaTopic, message: unknown, changes: Partial<CallbackRequest> = {}): CallbackRequest {
  const isAboutOne = !['confirmation', 'validation', 'balance', 'late'].includes(topic);
  const reference = topic.startsWith('reversal') ? REFUND : REFERENCE;
  return {
    method: 'POST',
    host: 'pay.example.com',
    path: new URL(addresses.url(topic, isAboutOne ? reference : null)).pathname,
    remoteAddress: OPERATOR,
    headers: {},
    body: Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)),
    ...changes,
  };
}

function read(topic: DarajaTopic, message: unknown, changes: Partial<CallbackRequest> = {}): CallbackReading {
  const [reading, ...others] = rail.readCallback(request(topic, message, changes));
  assert.ok(reading && others.length === 0);
  return reading;
}

const PROMPT_PAID = `{"Body":{"stkCallback":{"MerchantRequestID":"29115-34620561-1","CheckoutRequestID":"ws_CO_191220191020363925",
  "ResultCode":0,"ResultDesc":"The service request is processed successfully.","CallbackMetadata":{"Item":[
  {"Name":"Amount","Value":1.00},{"Name":"MpesaReceiptNumber","Value":"NLJ7RT61SV"},BALANCE
  {"Name":"TransactionDate","Value":20191219102115},{"Name":"PhoneNumber","Value":254708374149}]}}}}`;

const promptResult = (ResultCode: unknown) => ({
  Body: {
    stkCallback: {
      MerchantRequestID: 'f1e2-1',
      CheckoutRequestID: 'ws_CO_2107',
      ResultCode,
      ResultDesc: 'Request cancelled by user',
    },
  },
});

describe('the result of a prompt', () => {
  test('that was paid, in its three forms', () => {
    for (const balance of ['', '{"Name":"Balance"},', '{"Name":"Balance","Value":32009.9},'])
      assert.deepEqual(read('prompt', PROMPT_PAID.replace('BALANCE', balance)), {
        kind: 'matched',
        reference: REFERENCE,
        direction: 'collection',
        observation: {
          state: 'succeeded',
          receipt: 'NLJ7RT61SV',
          amount: 1_00n,
          currency: 'KES',
          railReference: 'ws_CO_191220191020363925',
        },
      });
  });

  test('that was not paid; a code that is not known is only a reason to ask', () => {
    for (const code of [1032, '1032'])
      assert.deepEqual(read('prompt', promptResult(code)), {
        kind: 'matched',
        reference: REFERENCE,
        direction: 'collection',
        observation: {
          state: 'failed',
          failureCode: 'PAYER_CANCELLED',
          rawCode: '1032',
          message: 'Request cancelled by user',
          railReference: 'ws_CO_2107',
        },
      });
    for (const code of [4999, 777, 'constructor', -1])
      assert.deepEqual(read('prompt', promptResult(code)), { kind: 'hint', reference: REFERENCE });
  });

  test('that says paid without receipt or amount is a reason to ask', () => {
    assert.deepEqual(read('prompt', promptResult(0)), { kind: 'hint', reference: REFERENCE });
  });

  test('from another address is a hint, at another path it is nothing of ours', () => {
    const paid = PROMPT_PAID.replace('BALANCE', '');
    for (const remoteAddress of [STRANGER, null])
      assert.deepEqual(read('prompt', paid, { remoteAddress }), { kind: 'hint', reference: REFERENCE });
    const { path } = request('prompt', paid);
    for (const changes of [{ path: `${path}x` }, { path: path.replace('prompt', 'payout') }, { method: 'PUT' }]) {
      const reading = read('prompt', paid, changes);
      assert.ok(reading.kind === 'rejected' && !reading.authenticated);
    }
  });
});

const payoutResult = (changes: object = {}) => ({
  Result: {
    ResultType: 0,
    ResultCode: 0,
    ResultDesc: 'The service request is processed successfully.',
    OriginatorConversationID: REFERENCE,
    ConversationID: 'AG_20240706_1',
    TransactionID: 'SG632NMUAB',
    ResultParameters: {
      ResultParameter: [
        { Key: 'TransactionAmount', Value: 10 },
        { Key: 'TransactionReceipt', Value: 'SG632NMUAB' },
        { Key: 'ReceiverPartyPublicName', Value: '254705912645 - JOHN DOE' },
        { Key: 'B2CUtilityAccountAvailableFunds', Value: 8959269.6 },
      ],
    },
    ReferenceData: { ReferenceItem: { Key: 'QueueTimeoutURL', Value: 'https://internalsandbox' } },
    ...changes,
  },
});

describe('the result of a payout', () => {
  test('that was paid', () => {
    const observation = {
      state: 'succeeded',
      receipt: 'SG632NMUAB',
      amount: 10_00n,
      currency: 'KES',
      railReference: 'AG_20240706_1',
    };
    const expected = { kind: 'matched', reference: REFERENCE, direction: 'payout', observation };
    assert.deepEqual(read('payout', payoutResult()), expected);
    assert.deepEqual(read('payout', payoutResult({ ResultCode: '0', ResultType: '0' })), expected);
  });

  test('that was not paid', () => {
    const codes: [unknown, string | null][] = [
      [1, 'FLOAT_INSUFFICIENT'],
      [2, 'AMOUNT_OUT_OF_RANGE'],
      [3, 'AMOUNT_OUT_OF_RANGE'],
      [4, 'PAYER_LIMIT_REACHED'],
      [8, 'PAYER_LIMIT_REACHED'],
      [11, 'REJECTED_BY_OPERATOR'],
      [21, 'REJECTED_BY_OPERATOR'],
      ['2001', 'REJECTED_BY_OPERATOR'],
      [2006, 'REJECTED_BY_OPERATOR'],
      [2028, 'REJECTED_BY_OPERATOR'],
      [2040, 'RECIPIENT_NOT_FOUND'],
      ['SFC_IC0003', 'RECIPIENT_NOT_FOUND'],
      [8006, 'REJECTED_BY_OPERATOR'],
      // The first request exists, or the operator is busy: nobody knows.
      [15, null],
      [17, null],
      [26, null],
      [1000000001, null],
      ['X1', null],
    ];
    for (const [ResultCode, failureCode] of codes) {
      const reading = read('payout', payoutResult({ ResultCode, TransactionID: 'NLJ0000000' }));
      if (failureCode === null) assert.deepEqual(reading, { kind: 'hint', reference: REFERENCE }, String(ResultCode));
      else
        assert.equal(
          reading.kind === 'matched' && reading.observation.state === 'failed' && reading.observation.failureCode,
          failureCode,
          String(ResultCode),
        );
    }
  });

  test('that is not the last message, or about another payout', () => {
    assert.equal(read('payout', payoutResult({ ResultType: 1 })).kind, 'nothing');
    const other = read('payout', payoutResult({ OriginatorConversationID: 'TX_OTHER' }));
    assert.ok(other.kind === 'rejected' && other.authenticated);
  });

  test('a request that waited too long is a reason to ask, whatever the message contains', () => {
    for (const message of [{ SecurityCredential: 'x', OriginatorConversationID: 'y' }, 'not JSON'])
      assert.deepEqual(read('timeout', message), { kind: 'hint', reference: REFERENCE });
    assert.equal(read('late', {}).kind, 'nothing');
  });
});

/** The sample of Safaricom's page: a key stands in it twice, a value is missing, numbers are texts. */
const statusResult = (status: string, changes: object = {}, originator = REFERENCE) => ({
  Result: {
    ResultType: 0,
    ResultCode: 0,
    ResultDesc: 'The service request is processed successfully.',
    OriginatorConversationID: '3213-416199-2',
    ConversationID: 'AG_20180223_0000493344ae97d86f75',
    TransactionID: 'MBN0000000',
    ResultParameters: {
      ResultParameter: [
        { Key: 'DebitPartyName', Value: '600310 - Safaricom333' },
        { Key: 'DebitPartyName', Value: '254708374149 - John Doe' },
        { Key: 'OriginatorConversationID', Value: originator },
        { Key: 'DebitPartyCharges', Value: 'Fee For B2C Payment|KES|22.40' },
        { Key: 'TransactionReason' },
        { Key: 'TransactionStatus', Value: status },
        { Key: 'Amount', Value: '300' },
        { Key: 'ConversationID', Value: 'AG_20180223_000041b09c22e613d6c9' },
        { Key: 'ReceiptNo', Value: 'MBN31H462N' },
      ],
    },
    ReferenceData: { ReferenceItem: { Key: 'Occasion' } },
    ...changes,
  },
});

describe('the answer to a question', () => {
  test('tells the state of a payout', () => {
    const railReference = 'AG_20180223_000041b09c22e613d6c9';
    const stateOf = (status: string) => {
      const reading = read('payout-status', statusResult(status));
      return reading.kind === 'matched' ? reading.observation : reading.kind;
    };
    assert.deepEqual(stateOf('Completed'), {
      state: 'succeeded',
      receipt: 'MBN31H462N',
      amount: 300_00n,
      currency: 'KES',
      railReference,
    });
    for (const status of ['Initiated', 'Authorized', 'Pending Authorized'])
      assert.deepEqual(stateOf(status), { state: 'pending', railReference });
    for (const status of ['Cancelled', 'Declined', 'Expired'])
      assert.deepEqual(stateOf(status), {
        state: 'failed',
        failureCode: 'REJECTED_BY_OPERATOR',
        rawCode: status,
        message: `The operator says: ${status}.`,
        railReference,
      });
    assert.equal(stateOf('Something new'), 'nothing');
  });

  test('that failed itself says nothing about the payment', () => {
    for (const ResultCode of ['SFC_IC0003', 25, 2001, 21, 1])
      assert.equal(read('payout-status', statusResult('Declined', { ResultCode })).kind, 'nothing');
    assert.equal(read('payout-status', statusResult('Completed', { ResultType: '1' })).kind, 'nothing');
    // Asking again would get the same answer from the same address.
    assert.equal(read('payout-status', statusResult('Completed'), { remoteAddress: STRANGER }).kind, 'nothing');
  });

  test('about another payout is not believed', () => {
    const reading = read('payout-status', statusResult('Completed', {}, 'TX_OTHER'));
    assert.ok(reading.kind === 'rejected' && reading.authenticated);
  });

  test('tells the state of a reversal and of a payment', () => {
    const reversal = read('reversal-status', statusResult('Completed', {}, '3211-416020-3'));
    assert.ok(reversal.kind === 'matched' && reversal.observation.state === 'succeeded');
    assert.deepEqual(
      [reversal.reference, reversal.direction, reversal.observation.railReference],
      [REFUND, 'refund', '3211-416020-3'],
    );
    const payment = read('payment-status', statusResult('Completed', {}, '3211-416020-3'));
    assert.ok(payment.kind === 'matched' && payment.direction === 'collection');
    assert.ok(payment.observation.state === 'succeeded' && payment.observation.railReference === undefined);
  });
});

const reversalResult = (changes: object = {}) => ({
  Result: {
    ResultType: 0,
    ResultCode: 0,
    ResultDesc: 'The service request is processed successfully.',
    OriginatorConversationID: 'dad6-1',
    ConversationID: 'AG_20211114_201018edbbf9f1582eaa',
    TransactionID: 'SKE52PAWR9',
    ResultParameters: {
      ResultParameter: [
        { Key: 'DebitAccountBalance', Value: 'Utility Account|KES|7722179.62|7722179.62|0.00|0.00' },
        { Key: 'Amount', Value: 1.0 },
        { Key: 'OriginalTransactionID', Value: 'SKC82PACB8' },
      ],
    },
    ...changes,
  },
});

test('the result of a reversal', () => {
  assert.deepEqual(read('reversal', reversalResult()), {
    kind: 'matched',
    reference: REFUND,
    direction: 'refund',
    observation: { state: 'succeeded', receipt: 'SKE52PAWR9', amount: 1_00n, currency: 'KES', railReference: 'dad6-1' },
  });
  const failed = { ResultDesc: 'The OriginalTransactionID is invalid.', ResultParameters: undefined };
  const codes: [unknown, string][] = [
    ['R000002', 'REJECTED_BY_OPERATOR'],
    [1, 'FLOAT_INSUFFICIENT'],
    [11, 'REJECTED_BY_OPERATOR'],
    [21, 'REJECTED_BY_OPERATOR'],
    [2001, 'REJECTED_BY_OPERATOR'],
    [2006, 'REJECTED_BY_OPERATOR'],
    [2028, 'REJECTED_BY_OPERATOR'],
    [8006, 'REJECTED_BY_OPERATOR'],
  ];
  for (const [ResultCode, failureCode] of codes) {
    const reading = read('reversal', reversalResult({ ...failed, ResultCode }));
    assert.ok(reading.kind === 'matched' && reading.observation.state === 'failed', String(ResultCode));
    assert.equal(reading.observation.failureCode, failureCode);
  }
  const again = read('reversal', reversalResult({ ...failed, ResultCode: 'R000001' }));
  assert.deepEqual(again.kind === 'matched' && again.observation, { state: 'succeeded', receipt: null });
  assert.deepEqual(read('reversal', reversalResult({ ...failed, ResultCode: 'R000009' })), {
    kind: 'hint',
    reference: REFUND,
  });
});

test('balances', () => {
  const text =
    'Working Account|KES|700000.00|700000.00|0.00|0.00&Utility Account|KES|228037.00|228000.50|36.50|0.00' +
    '&Charges Paid Account|KES|-1540.00|-1540.00|0.00|0.00&broken';
  const message = (code: unknown, type: unknown = 0) => ({
    Result: {
      ResultType: type,
      ResultCode: code,
      ResultParameters: { ResultParameter: { Key: 'AccountBalance', Value: text } },
    },
  });
  assert.deepEqual(read('balance', message('0')), {
    kind: 'balance',
    balances: [
      { account: 'Working Account', currency: 'KES', available: 700_000_00n },
      { account: 'Utility Account', currency: 'KES', available: 228_000_50n },
      { account: 'Charges Paid Account', currency: 'KES', available: -1_540_00n },
    ],
  });
  for (const code of [15, 17, 18, 20, 21, 22, 24, 25, 26, 29])
    assert.equal(read('balance', message(code)).kind, 'nothing');
  assert.equal(read('balance', message('0', 1)).kind, 'nothing');
  assert.equal(read('balance', message('0'), { remoteAddress: STRANGER }).kind, 'rejected');
});

const transfer = (changes: object = {}) => ({
  TransactionType: 'Pay Bill',
  TransID: 'RKTQDM7W6S',
  TransTime: '20191122063845',
  TransAmount: '10',
  BusinessShortCode: '600638',
  BillRefNumber: 'invoice008',
  InvoiceNumber: '',
  OrgAccountBalance: '',
  ThirdPartyTransID: '',
  MSISDN: '25470****149',
  FirstName: 'John',
  MiddleName: '',
  LastName: 'Doe',
  ...changes,
});

describe('a payment to the till or pay bill', () => {
  test('is confirmed', () => {
    const typed = typedReferenceOf(REFERENCE);
    const received = (changes: object) => {
      const reading = read('confirmation', transfer(changes));
      assert.ok(reading.kind === 'payment_received');
      return reading;
    };
    assert.deepEqual(received({ BillRefNumber: typed, TransAmount: '5.00' }), {
      kind: 'payment_received',
      accountReference: typed,
      amount: 5_00n,
      currency: 'KES',
      payer: null,
      receipt: 'RKTQDM7W6S',
    });
    for (const [written, means] of [
      [`${typed.slice(0, 5)} ${typed.slice(5)}`, typed],
      ['O123456789', '0123456789'],
      ['1-o-3-4-5-6-7-8-9-l', '1034567891'],
      ['invoice008', 'invoice008'],
      [' INV 8 ', 'INV 8'],
      [promptReferenceOf(REFERENCE).toLowerCase(), promptReferenceOf(REFERENCE)],
      ['', '2547*****149'],
    ])
      assert.equal(received({ BillRefNumber: written }).accountReference, means, written);
  });

  test('to a till is told by the number that pays', () => {
    for (const MSISDN of ['25470****149', '2547 ***** 149', '254708374149', 254708374149]) {
      const reading = read(
        'confirmation',
        transfer({ TransactionType: 'Buy Goods', BusinessShortCode: '600639', BillRefNumber: '', MSISDN }),
      );
      assert.equal(reading.kind === 'payment_received' && reading.accountReference, maskedNumberOf('254708374149'));
    }
    // The hash of the first version of the API shows no digit.
    const hashed = read('confirmation', transfer({ BillRefNumber: '', MSISDN: 'ab'.repeat(32) }));
    assert.equal(hashed.kind === 'payment_received' && hashed.accountReference, '');
  });

  test('that cannot be right is kept as unreadable', () => {
    for (const changes of [
      { TransAmount: '0' },
      { TransAmount: '-5' },
      { TransAmount: 'ten' },
      { TransID: '' },
      { BusinessShortCode: '999999' },
    ]) {
      const reading = read('confirmation', transfer(changes));
      assert.ok(reading.kind === 'rejected' && reading.authenticated, JSON.stringify(changes));
    }
    const stranger = read('confirmation', transfer(), { remoteAddress: STRANGER });
    assert.ok(stranger.kind === 'rejected' && stranger.authenticated);
  });

  test('is validated before it is made', () => {
    const typed = typedReferenceOf(REFERENCE);
    assert.deepEqual(read('validation', transfer({ BillRefNumber: typed })), {
      kind: 'validation',
      accountReference: typed,
      amount: 10_00n,
      currency: 'KES',
      payer: null,
    });
    // The payer of a prompt has agreed already.
    assert.equal(read('validation', transfer({ BillRefNumber: promptReferenceOf(REFERENCE) })).kind, 'nothing');
  });
});

test('every message is answered in the form of the operator', () => {
  const answer = (topic: DarajaTopic, decision: CallbackDecision, changes: Partial<CallbackRequest> = {}) => {
    const said = rail.answerCallback?.(request(topic, {}, changes), decision);
    return [said?.status, JSON.parse(said?.body ?? '')];
  };
  const accepted = { ResultCode: 0, ResultDesc: 'Accepted' };
  assert.deepEqual(answer('prompt', { kind: 'kept' }), [200, accepted]);
  assert.deepEqual(answer('timeout', { kind: 'kept' }), [200, accepted]);
  assert.deepEqual(answer('confirmation', { kind: 'kept' }), [200, { ResultCode: 0, ResultDesc: 'Success' }]);
  assert.deepEqual(answer('prompt', { kind: 'rejected' }, { path: '/operators/daraja/x' }), [
    401,
    { ResultCode: 1, ResultDesc: 'Rejected' },
  ]);
  assert.deepEqual(answer('validation', { kind: 'take_payment', reference: REFERENCE }), [
    200,
    { ResultCode: '0', ResultDesc: 'Accepted', ThirdPartyTransID: REFERENCE },
  ]);
  const refusals = [
    ['unknown_account', 'C2B00012'],
    ['wrong_amount', 'C2B00013'],
    ['not_now', 'C2B00016'],
  ] as const;
  for (const [reason, code] of refusals)
    assert.deepEqual(answer('validation', { kind: 'refuse_payment', reason }), [
      200,
      { ResultCode: code, ResultDesc: 'Rejected' },
    ]);
  assert.deepEqual(answer('validation', { kind: 'rejected' }), [
    200,
    { ResultCode: 'C2B00016', ResultDesc: 'Rejected' },
  ]);
});

describe('addresses', () => {
  test('contain no word that Safaricom refuses, and lead back', () => {
    for (let key = 0; key < 40; key++) {
      const own = createDarajaAddresses(
        createCallbackAddresses({
          connection: 'kenya',
          publicUrl: 'https://pay.example.com',
          keys: () => [Buffer.alloc(32, key)],
        }),
      );
      for (let count = 0; count < 50; count++) {
        const uuid = count % 2 ? createRefundUuid(NOW + count, 9n) : createHolderUuid(NOW + count, 9n);
        const reference = publicId(count % 2 ? 'RF' : 'TX', uuid);
        const url = own.url('payout-status', reference);
        assert.equal(forbiddenWordIn(url), null, url);
        assert.deepEqual(own.read(new URL(url).pathname), { topic: 'payout-status', reference });
      }
    }
    assert.equal(forbiddenWordIn('https://pay.example.com/EXEC'), 'exe');
  });

  test('of a token with such a word are made anew', () => {
    const variants: string[] = [];
    const own = createDarajaAddresses({
      url(topic) {
        variants.push(topic);
        return `https://pay.example.com/operators/kenya/${topic}/-/${variants.length < 3 ? 'aSqLb' : 'abcde'}`;
      },
      read: () => null,
    });
    assert.match(own.url('prompt', null), /prompt-2\/-\/abcde$/);
    assert.deepEqual(variants, ['prompt', 'prompt-1', 'prompt-2']);
  });
});

test('no message throws, and garbage moves no money', () => {
  const topics: DarajaTopic[] = [
    'prompt',
    'payout',
    'reversal',
    'payout-status',
    'balance',
    'confirmation',
    'validation',
  ];
  fc.assert(
    fc.property(fc.constantFrom(...topics), fc.oneof(fc.json(), fc.string()), (topic, message) => {
      assert.ok(['rejected', 'hint', 'nothing'].includes(read(topic, message).kind));
    }),
  );
  const values = fc.oneof(fc.json(), fc.constantFrom('0', '1', 0, null, {}, []));
  fc.assert(
    fc.property(fc.constantFrom(...topics), values, values, values, (topic, code, type, list) => {
      const result = { ResultCode: code, ResultType: type, ResultParameters: { ResultParameter: list } };
      const body = { Result: result, Body: { stkCallback: { ...result, CheckoutRequestID: code } } };
      const reading = read(topic, body);
      assert.ok(reading.kind !== 'payment_received' && reading.kind !== 'validation');
      assert.ok(reading.kind !== 'matched' || reading.observation.state === 'failed');
    }),
  );
});
