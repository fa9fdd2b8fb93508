import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  balanceRequest,
  callbackOf,
  expressPassword,
  expressRequest,
  type Json,
  type Merchant,
  PATHS,
  PHONE_NUMBER,
  payoutRequest,
  post,
  resultOf,
  reversalRequest,
  startMerchant,
  statusRequest,
  until,
} from './daraja-merchant.ts';

const RECEIPT = /^[A-Z]{2}[0-9A-Z]{8}$/;

const errorOf = ({ status, body }: { status: number; body: Json }) => [status, body.errorCode, body.errorMessage];

/** Pays a prompt to its end and returns the receipt. */
async function collect(merchant: Merchant, changes: Json = {}): Promise<string> {
  const { body } = await merchant.post(PATHS.express, expressRequest(merchant, changes));
  assert.equal(body.ResponseCode, '0');
  await until(() => callbacksOf(merchant, body.CheckoutRequestID).length > 0);
  const { items } = callbackOf(callbacksOf(merchant, body.CheckoutRequestID)[0]);
  return String(items.find(({ Name }) => Name === 'MpesaReceiptNumber')?.Value);
}

const callbacksOf = (merchant: Merchant, id: unknown) =>
  merchant.received('/express').filter((each) => callbackOf(each).CheckoutRequestID === id);

const movementsOf = (merchant: Merchant) =>
  merchant.simulator.book.movements().map(({ kind, id, amount }) => [kind, id, amount]);

describe('the gateway of Daraja', () => {
  test('gives a token whose life is a text, and refuses wrong keys and grant types', async () => {
    await using merchant = await startMerchant();
    const ask = async (keys: string, grant = 'client_credentials') => {
      const authorization = `Basic ${Buffer.from(keys).toString('base64')}`;
      return fetch(`${merchant.simulator.url}/oauth/v1/generate?grant_type=${grant}`, { headers: { authorization } });
    };
    const { consumerKey, consumerSecret } = merchant.account;
    const given = (await (await ask(`${consumerKey}:${consumerSecret}`)).json()) as Json;
    assert.deepEqual(Object.keys(given), ['access_token', 'expires_in']);
    assert.equal(given.expires_in, '3599');
    const wrongKeys = await ask('a:b');
    const refused = { status: wrongKeys.status, body: (await wrongKeys.json()) as Json };
    assert.deepEqual(errorOf(refused), [400, '400.008.01', 'Invalid Authentication passed']);
    assert.deepEqual(Object.keys(refused.body), ['requestId', 'errorCode', 'errorMessage']);
    const wrongGrant = (await (await ask(`${consumerKey}:${consumerSecret}`, 'password')).json()) as Json;
    assert.equal(wrongGrant.errorCode, '400.008.02');
    await merchant.act('empty_token_error');
    const empty = await ask('a:b');
    assert.deepEqual([empty.status, await empty.text()], [400, '']);
  });

  test('ends a token by its time and by a new one, and each product says so in its own way', async () => {
    let now = Date.now();
    await using merchant = await startMerchant({}, { now: () => now });
    const old = await merchant.newToken();
    const current = await merchant.newToken();
    const codes: [string, Json, unknown[]][] = [
      [PATHS.express, expressRequest(merchant), [404, '404.001.03', 'Invalid Access Token']],
      [PATHS.reversal, reversalRequest(merchant, 'X'), [404, '404.001.03', 'Invalid Access Token']],
      [PATHS.status, statusRequest(merchant, {}), [400, '400.003.01', 'Invalid Access Token']],
      [
        PATHS.payout,
        payoutRequest(merchant, 'TX_1'),
        [401, '401.002.01', `Error Occurred - Invalid Access Token - ${old}`],
      ],
    ];
    for (const [path, body, error] of codes) {
      assert.deepEqual(errorOf(await post(`${merchant.simulator.url}${path}`, body, old)), error);
    }
    const url = `${merchant.simulator.url}${PATHS.balance}`;
    assert.equal((await post(url, balanceRequest(merchant), current)).status, 200);
    now += 3_599_000;
    assert.equal((await post(url, balanceRequest(merchant), current)).body.errorCode, '401.002.01');
    assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 404);
    assert.equal((await fetch(url)).status, 405);
    assert.equal((await fetch(`${merchant.simulator.url}/mpesa/nothing`)).status, 404);
  });

  test('refuses a request with a field that is missing, misspelt or of the wrong type', async () => {
    await using merchant = await startMerchant();
    const requests: [string, Json, string[]][] = [
      [PATHS.express, expressRequest(merchant), ['TransactionDesc']],
      [PATHS.expressQuery, { ...expressPassword(merchant), CheckoutRequestID: 'ws_CO_1' }, []],
      [
        PATHS.register,
        { ShortCode: '174379', ResponseType: 'Completed', ConfirmationURL: 'http://a/', ValidationURL: 'http://a/' },
        [],
      ],
      [PATHS.payout, payoutRequest(merchant, 'TX_1'), ['Occassion']],
      [PATHS.reversal, reversalRequest(merchant, 'SKE52PAWR9'), ['Occasion']],
      [PATHS.balance, balanceRequest(merchant), []],
    ];
    for (const [path, request, optional] of requests) {
      for (const name of Object.keys(request)) {
        const { [name]: value, ...rest } = request;
        const expected = [400, '400.002.02', `Bad Request - Invalid ${name}`];
        assert.deepEqual(errorOf(await merchant.post(path, { ...request, [name]: { value } })), expected);
        if (optional.includes(name)) continue;
        assert.deepEqual(errorOf(await merchant.post(path, rest)), expected);
      }
      assert.equal(
        (await merchant.post(path, { ...request, Extra: 'x' })).body.errorMessage,
        'Bad Request - Invalid Extra',
      );
    }
    const { Occassion, ...payout } = payoutRequest(merchant, 'TX_1');
    assert.equal((await merchant.post(PATHS.payout, { ...payout, Occasion: Occassion })).status, 400);
    const broken = await fetch(`${merchant.simulator.url}${PATHS.balance}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await merchant.newToken()}` },
      body: '{',
    });
    assert.equal(((await broken.json()) as Json).errorCode, '400.002.05');
    assert.deepEqual(movementsOf(merchant), []);
  });

  test('says which product the app does not have', async () => {
    await using merchant = await startMerchant({ enabledProducts: 'express' });
    const refused = await merchant.post(PATHS.balance, balanceRequest(merchant));
    assert.equal(refused.status, 401);
    assert.match(refused.text, /no apiproduct match found/);
  });
});

describe('a prompt', () => {
  test('is paid: acknowledgement, callback, query and book', async () => {
    await using merchant = await startMerchant();
    const { status, body } = await merchant.post(PATHS.express, expressRequest(merchant));
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), [
      'MerchantRequestID',
      'CheckoutRequestID',
      'ResponseCode',
      'ResponseDescription',
      'CustomerMessage',
    ]);
    assert.match(String(body.CheckoutRequestID), /^ws_CO_\d{20,}$/);
    const [received] = await merchant.waitFor('/express');
    const { items, CallbackMetadata, ...callback } = callbackOf(received);
    assert.ok(CallbackMetadata);
    assert.deepEqual(callback, {
      MerchantRequestID: body.MerchantRequestID,
      CheckoutRequestID: body.CheckoutRequestID,
      ResultCode: 0,
      ResultDesc: 'The service request is processed successfully.',
    });
    const names = items.map(({ Name }) => Name);
    assert.deepEqual(names, ['Amount', 'MpesaReceiptNumber', 'TransactionDate', 'PhoneNumber']);
    const [amount, receipt, date, phone] = items.map(({ Value }) => Value);
    assert.match(received?.text ?? '', /\{"Name":"Amount","Value":10\.00\}/);
    assert.equal(amount, 10);
    assert.match(String(receipt), RECEIPT);
    assert.match(String(date), /^20\d{12}$/);
    assert.equal(typeof date, 'number');
    assert.equal(phone, PHONE_NUMBER);
    const CheckoutRequestID = body.CheckoutRequestID;
    const query = await merchant.post(PATHS.expressQuery, { ...expressPassword(merchant), CheckoutRequestID });
    assert.deepEqual(query.body, {
      ResponseCode: '0',
      ResponseDescription: 'The service request has been accepted successfully',
      MerchantRequestID: body.MerchantRequestID,
      CheckoutRequestID,
      ResultCode: '0',
      ResultDesc: 'The service request is processed successfully.',
    });
    assert.deepEqual(movementsOf(merchant), [['collection', 'TX8K2J4M', 1_000n]]);
    assert.equal(merchant.simulator.book.movements()[0]?.receipt, receipt);
  });

  test('ends with the code of what the payer did, and without CallbackMetadata', async () => {
    await using merchant = await startMerchant();
    const codes = { '001': 1, '002': 2001, '004': 4, '005': 1037, '011': 1032 };
    for (const [ending, code] of Object.entries(codes)) {
      const PhoneNumber = Number(`254708374${ending}`);
      const request = expressRequest(merchant, { PhoneNumber, CallBackURL: merchant.address(`/express/${ending}`) });
      const { body } = await merchant.post(PATHS.express, request);
      const [received] = await merchant.waitFor(`/express/${ending}`);
      const { ResultCode, CallbackMetadata } = callbackOf(received);
      assert.deepEqual([ending, ResultCode, CallbackMetadata], [ending, code, undefined]);
      const { CheckoutRequestID } = body;
      const query = await merchant.post(PATHS.expressQuery, { ...expressPassword(merchant), CheckoutRequestID });
      assert.equal(query.body.ResultCode, String(code));
    }
    const unknown = await merchant.post(PATHS.express, expressRequest(merchant, { PhoneNumber: 254708374003 }));
    assert.equal(unknown.body.errorMessage, 'Bad Request - Invalid PhoneNumber');
    assert.deepEqual(movementsOf(merchant), []);
    assert.deepEqual(merchant.simulator.phones.open(), []);
  });

  test('waits for the payer: the query answers 500, and a second prompt cannot lock the phone', async () => {
    await using merchant = await startMerchant({ promptSeconds: '60' }, { payers: 'manual' });
    const { body } = await merchant.post(PATHS.express, expressRequest(merchant));
    const question = { ...expressPassword(merchant), CheckoutRequestID: body.CheckoutRequestID };
    const pending = [500, '500.001.1001', 'The transaction is being processed'];
    assert.deepEqual(errorOf(await merchant.post(PATHS.expressQuery, question)), pending);
    const second = await merchant.post(PATHS.express, expressRequest(merchant));
    assert.equal(second.status, 500);
    assert.match(second.text, /500\.001\.1001.*Unable to lock subscriber/);
    const [prompt] = merchant.simulator.phones.open();
    assert.match(prompt?.text ?? '', /KES 10\.00 .* TX8K2J4M/);
    merchant.simulator.phones.decide(prompt?.id ?? '', 'approve');
    await merchant.waitFor('/express');
    await merchant.simulator.idle();
  });

  test('of the same amount within two minutes ends with 17', async () => {
    let now = Date.now();
    await using merchant = await startMerchant({}, { now: () => now });
    await collect(merchant);
    await merchant.post(PATHS.express, expressRequest(merchant));
    assert.equal(callbackOf((await merchant.waitFor('/express', 2))[1]).ResultCode, 17);
    now += 120_000;
    assert.match(await collect(merchant), RECEIPT);
    assert.equal(movementsOf(merchant).length, 2);
  });

  test('needs the right shortcode, password, pair of numbers and amount', async () => {
    await using merchant = await startMerchant();
    const { storeNumber, tillNumber } = merchant.account;
    const refusal = async (changes: Json) =>
      errorOf(await merchant.post(PATHS.express, expressRequest(merchant, changes)));
    const wrongPassword = [500, '500.001.1001', '[MerchantValidate] - Wrong credentials'];
    assert.deepEqual(await refusal({ Password: 'eA==' }), wrongPassword);
    assert.deepEqual(await refusal({ BusinessShortCode: 999999 }), [500, '500.001.1001', 'Merchant does not exist']);
    for (const Amount of ['0', '1.50', 1.5, -1]) assert.match(String((await refusal({ Amount }))[2]), /Invalid Amount/);
    assert.match(String((await refusal({ AccountReference: 'TX8K2J4M12345' }))[2]), /Invalid AccountReference/);
    const till = {
      ...expressPassword(merchant, storeNumber),
      TransactionType: 'CustomerBuyGoodsOnline',
      PartyB: tillNumber,
    };
    assert.match(await collect(merchant, till), RECEIPT);
    const codeOf = async (path: string, changes: Json) => {
      await merchant.post(PATHS.express, expressRequest(merchant, { CallBackURL: merchant.address(path), ...changes }));
      return callbackOf((await merchant.waitFor(path))[0]).ResultCode;
    };
    assert.equal(await codeOf('/pair', { PartyB: tillNumber }), 2028);
    assert.equal(await codeOf('/amount', { Amount: 250_001 }), 3);
  });
});

describe('a payer who pays alone', () => {
  const register = (merchant: Merchant, changes: Json = {}) =>
    merchant.post(PATHS.register, {
      ShortCode: merchant.account.shortCode,
      ResponseType: 'Cancelled',
      ConfirmationURL: merchant.address('/confirmation'),
      ValidationURL: merchant.address('/validation'),
      ...changes,
    });
  const payment = { msisdn: '254708374149', amount: '10', reference: 'invoice008' };

  test('is told to nobody, then to the addresses that were registered once', async () => {
    // One moment: both messages have the second in which they were written.
    const now = Date.now();
    await using merchant = await startMerchant({}, { now: () => now });
    assert.equal((await merchant.act('pay_bill', payment)).paid, true);
    const { body } = await register(merchant);
    assert.deepEqual(Object.keys(body), ['OriginatorCoversationID', 'ResponseCode', 'ResponseDescription']);
    assert.deepEqual([body.ResponseCode, body.ResponseDescription], ['0', 'success']);
    assert.deepEqual(errorOf(await register(merchant)), [500, '500.003.1001', 'Urls are already registered']);
    const wrongCase = await register(merchant, { ResponseType: 'completed' });
    assert.equal(wrongCase.body.errorMessage, 'Bad Request - Invalid ResponseType');
    const forbidden = await register(merchant, { ConfirmationURL: merchant.address('/Mpesa') });
    assert.equal(forbidden.body.errorMessage, 'Bad Request - Invalid ConfirmationURL');
    const answer = { ResultCode: '0', ResultDesc: 'Accepted', ThirdPartyTransID: 'OURS1' };
    merchant.answer('/validation', { status: 200, text: JSON.stringify(answer) });
    const { receipt } = await merchant.act('pay_bill', payment);
    const [confirmation] = await merchant.waitFor('/confirmation');
    const { TransTime, ...fields } = confirmation?.body ?? {};
    assert.match(String(TransTime), /^20\d{12}$/);
    assert.deepEqual(fields, {
      TransactionType: 'Pay Bill',
      TransID: receipt,
      TransAmount: '10',
      BusinessShortCode: merchant.account.shortCode,
      BillRefNumber: 'invoice008',
      InvoiceNumber: '',
      OrgAccountBalance: '1000020.00',
      ThirdPartyTransID: 'OURS1',
      MSISDN: '25470****149',
      FirstName: 'John',
      MiddleName: '',
      LastName: 'Doe',
    });
    const asked = { ...confirmation?.body, OrgAccountBalance: '', ThirdPartyTransID: '' };
    assert.deepEqual(merchant.received('/validation')[0]?.body, asked);
    assert.equal(merchant.received('/confirmation').length, 1);
    assert.equal(merchant.simulator.book.net('KES'), 2_000n);
  });

  test('is refused by the merchant, or by ResponseType when the merchant does not answer', async () => {
    await using merchant = await startMerchant({ validationSeconds: '60' });
    await using impatient = await startMerchant({ validationSeconds: '0.2' });
    for (const each of [merchant, impatient]) await register(each);
    const reasonOf = async (reply: { status: number; text: string } | null, asked = merchant) => {
      asked.answer('/validation', reply);
      return (await asked.act('pay_bill', payment)).reason;
    };
    assert.equal(
      await reasonOf({ status: 200, text: '{"ResultCode":"C2B00012","ResultDesc":"Rejected"}' }),
      'C2B00012',
    );
    assert.equal(await reasonOf({ status: 200, text: '{"success":true}' }), 'undefined');
    assert.equal(await reasonOf({ status: 502, text: '<html>' }), 'NO_ANSWER');
    assert.equal(await reasonOf(null, impatient), 'NO_ANSWER');
    for (const each of [merchant, impatient]) assert.deepEqual(movementsOf(each), []);
    await merchant.act('unregister');
    await register(merchant, { ResponseType: 'Completed' });
    assert.equal(await reasonOf({ status: 502, text: '<html>' }), undefined);
    await merchant.waitFor('/confirmation');
    assert.deepEqual(movementsOf(merchant), [['collection', 'invoice008', 1_000n]]);
  });

  test('pays a till without a reference; version 1 sends a hash of the number', async () => {
    await using merchant = await startMerchant();
    const { tillNumber } = merchant.account;
    await merchant.post('/mpesa/c2b/v1/registerurl', {
      ShortCode: tillNumber,
      ResponseType: 'Completed',
      ConfirmationURL: merchant.address('/confirmation'),
      ValidationURL: merchant.address('/validation'),
    });
    await merchant.act('decimal_amount', { times: 2 });
    await merchant.act('pay_till', payment);
    const [confirmation] = await merchant.waitFor('/confirmation');
    const hash = createHash('sha256').update('254708374149').digest('hex');
    const { TransactionType, BusinessShortCode, BillRefNumber, MSISDN, TransAmount } = confirmation?.body ?? {};
    const shown = [TransactionType, BusinessShortCode, BillRefNumber, MSISDN, TransAmount];
    assert.deepEqual(shown, ['Buy Goods', tillNumber, '', hash, '10.00']);
  });

  test('by prompt is confirmed as well, with the same receipt; the Pull API lists all of them', async () => {
    await using merchant = await startMerchant();
    const { shortCode } = merchant.account;
    await register(merchant);
    const receipt = await collect(merchant);
    const [confirmation] = await merchant.waitFor('/confirmation');
    assert.equal(confirmation?.body.TransID, receipt);
    assert.equal(confirmation?.body.BillRefNumber, 'TX8K2J4M');
    assert.equal(merchant.received('/validation').length, 0);
    const simulated = await merchant.post('/mpesa/c2b/v2/simulate', {
      ShortCode: shortCode,
      CommandID: 'CustomerPayBillOnline',
      Amount: '5',
      Msisdn: '254708374149',
      BillRefNumber: 'a b',
    });
    assert.equal(simulated.body.ResponseCode, '0');
    await merchant.waitFor('/confirmation', 2);
    const pull = { ShortCode: shortCode, RequestType: 'Pull', NominatedNumber: '254708374149' };
    const url = { CallBackURL: merchant.address('/pull') };
    for (const status of ['1000', '1001']) {
      const { body } = await merchant.post('/pulltransactions/v1/register', { ...pull, ...url });
      assert.equal(body.ResponseStatus, status);
    }
    const window = { StartDate: '2020-08-04 08:36:00', EndDate: '2090-08-04 08:36:00', OffSetValue: '0' };
    const { body } = await merchant.post('/pulltransactions/v1/query', { ShortCode: shortCode, ...window });
    const [rows] = body.Response as [Json[]];
    assert.deepEqual([body.ResponseCode, rows.map(({ amount }) => amount)], ['1000', ['10', '5']]);
    assert.equal(rows[0]?.transactionId, receipt);
    const none = { ShortCode: shortCode, ...window, OffSetValue: '2' };
    const empty = (await merchant.post('/pulltransactions/v1/query', none)).body;
    assert.deepEqual([empty.ResponseCode, empty.Response], ['1001', [[]]]);
  });
});

describe('a payout', () => {
  test('is done: acknowledgement, result, status and book', async () => {
    await using merchant = await startMerchant();
    const { status, body } = await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    assert.equal(status, 200);
    const { ConversationID } = body;
    assert.match(String(ConversationID), /^AG_\d{8}_[0-9a-f]{20}$/);
    assert.deepEqual(body, {
      ConversationID,
      OriginatorConversationID: 'TX_1',
      ResponseCode: '0',
      ResponseDescription: 'Accept the service request successfully.',
    });
    const received = await merchant.waitFor('/payout');
    const { parameters, ResultParameters, TransactionID, ...result } = resultOf(received);
    assert.ok(ResultParameters);
    assert.match(String(TransactionID), RECEIPT);
    assert.deepEqual(result, {
      ResultType: 0,
      ResultCode: 0,
      ResultDesc: 'The service request is processed successfully.',
      OriginatorConversationID: 'TX_1',
      ConversationID,
      ReferenceData: {
        ReferenceItem: {
          Key: 'QueueTimeoutURL',
          Value: 'https://internalsandbox.safaricom.co.ke/mpesa/b2cresults/v1/submit',
        },
      },
    });
    const completed = parameters.find(({ Key }) => Key === 'TransactionCompletedDateTime')?.Value;
    assert.match(String(completed), /^\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d$/);
    assert.deepEqual(
      parameters.map(({ Key, Value }) => [Key, Value]),
      [
        ['TransactionAmount', 10],
        ['TransactionReceipt', TransactionID],
        ['ReceiverPartyPublicName', '254705912645 - JOHN DOE'],
        ['TransactionCompletedDateTime', completed],
        ['B2CUtilityAccountAvailableFunds', 999_990],
        ['B2CWorkingAccountAvailableFunds', 0],
        ['B2CRecipientIsRegisteredCustomer', 'Y'],
        ['B2CChargesPaidAccountAvailableFunds', 0],
      ],
    );
    assert.match(received[0]?.text ?? '', /"Value":999990\.00\}/);
    assert.deepEqual(movementsOf(merchant), [['payout', 'TX_1', 1_000n]]);
    const again = await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    assert.deepEqual(errorOf(again), [500, '500.002.1001', 'Duplicate OriginatorConversationID.']);
  });

  test('fails with the code of its reason, and its TransactionID means nothing', async () => {
    await using merchant = await startMerchant({}, { openingBalance: 5_00n });
    const cases: [Json, number][] = [
      [{ Amount: '6' }, 1],
      [{ Amount: 250_001 }, 3],
      [{ PartyB: '254705912003' }, 2040],
      [{ PartyB: '254705912004' }, 8],
      [{ InitiatorName: 'somebody' }, 2001],
      [{ SecurityCredential: merchant.credential('wrong') }, 2001],
      [{ SecurityCredential: 'aGVsbG8=' }, 2001],
      [{ PartyA: '600999' }, 2028],
    ];
    for (const [index, [changes, code]] of cases.entries()) {
      const ResultURL = merchant.address(`/payout/${index}`);
      await merchant.post(PATHS.payout, payoutRequest(merchant, `TX_${index}`, { Amount: '1', ResultURL, ...changes }));
      const { ResultCode, ResultParameters, TransactionID } = resultOf(await merchant.waitFor(`/payout/${index}`));
      assert.deepEqual([changes, ResultCode, ResultParameters], [changes, code, undefined]);
      assert.match(String(TransactionID), RECEIPT);
    }
    assert.deepEqual(movementsOf(merchant), []);
    assert.equal((await merchant.act('top_up', { amount: '1' })).available, '6.00');
    await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_float', { Amount: '6' }));
    assert.equal(resultOf(await merchant.waitFor('/payout')).ResultCode, 0);
    assert.equal(merchant.simulator.book.net('KES'), -6_00n);
  });

  test('of version 1 has no id of the merchant; a short code may be allowed one version only', async () => {
    await using merchant = await startMerchant({ payoutVersions: 'v1' });
    const { OriginatorConversationID, ...request } = payoutRequest(merchant, 'TX_1');
    const refused = await merchant.post(PATHS.payout, { ...request, OriginatorConversationID });
    assert.deepEqual([refused.status, refused.body.errorCode], [403, '403.002.1001']);
    const { body } = await merchant.post('/mpesa/b2c/v1/paymentrequest', request);
    const result = resultOf(await merchant.waitFor('/payout'));
    assert.equal(result.OriginatorConversationID, body.OriginatorConversationID);
    assert.deepEqual(movementsOf(merchant), [['payout', body.OriginatorConversationID, 1_000n]]);
  });
});

describe('status, reversal and balance', () => {
  test('a status names both parties with one key, and the receipt only among the parameters', async () => {
    await using merchant = await startMerchant();
    await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1', { Amount: '300' }));
    const payout = resultOf(await merchant.waitFor('/payout'));
    const question = statusRequest(merchant, { OriginalConversationID: 'TX_1', OriginatorConversationID: 'TX_1' });
    const { body } = await merchant.post(PATHS.status, question);
    const { parameters, ...result } = resultOf(await merchant.waitFor('/status'));
    assert.deepEqual([result.ResultType, result.ResultCode], [0, 0]);
    assert.equal(result.OriginatorConversationID, body.OriginatorConversationID);
    assert.match(String(result.TransactionID), /^[A-Z]{2}[0-9A-Z]0000000$/);
    assert.deepEqual(result.ReferenceData, { ReferenceItem: { Key: 'Occasion', Value: 'OK' } });
    const times = parameters.filter(({ Key }) => String(Key).endsWith('Time'));
    for (const { Value } of times) assert.match(String(Value), /^20\d{12}$/);
    assert.deepEqual(
      parameters.filter((each) => !times.includes(each)).map((each) => Object.values(each)),
      [
        ['DebitPartyName', '174379 - SIMULATED SHOP'],
        ['DebitPartyName', '254705912645 - John Doe'],
        ['OriginatorConversationID', 'TX_1'],
        ['DebitAccountType', 'Utility Account'],
        ['DebitPartyCharges', 'Fee For B2C Payment|KES|0.00'],
        ['TransactionReason'],
        ['ReasonType', 'Business Payment to Customer via API'],
        ['TransactionStatus', 'Completed'],
        ['Amount', '300'],
        ['ConversationID', payout.ConversationID],
        ['ReceiptNo', payout.TransactionID],
      ],
    );
    await merchant.post(PATHS.status, statusRequest(merchant, { TransactionID: 'NOSUCHONE1' }));
    assert.equal(resultOf(await merchant.waitFor('/status', 2)).ResultCode, 25);
    const neither = await merchant.post(PATHS.status, statusRequest(merchant, {}));
    assert.equal(neither.body.errorMessage, 'Bad Request - Invalid TransactionID');
  });

  test('a reversal gives the whole payment back, once', async () => {
    await using merchant = await startMerchant();
    const receipt = await collect(merchant);
    const part = await merchant.post(PATHS.reversal, reversalRequest(merchant, receipt, { Amount: '5' }));
    assert.equal(part.body.errorMessage, 'Bad Request - Invalid Amount');
    await merchant.post(PATHS.reversal, reversalRequest(merchant, receipt));
    const received = await merchant.waitFor('/reversal');
    const { parameters, ResultCode, TransactionID } = resultOf(received);
    assert.equal(ResultCode, 0);
    assert.match(String(TransactionID), RECEIPT);
    const completed = parameters.find(({ Key }) => Key === 'TransCompletedTime')?.Value;
    assert.equal(typeof completed, 'number');
    assert.deepEqual(
      parameters.map(({ Key, Value }) => [Key, Value]),
      [
        ['DebitAccountBalance', 'Utility Account|KES|1000000.00|1000000.00|0.00|0.00'],
        ['Amount', 10],
        ['TransCompletedTime', completed],
        ['OriginalTransactionID', receipt],
        ['Charge', 0],
        ['CreditPartyPublicName', `${PHONE_NUMBER} - John Doe`],
        ['DebitPartyPublicName', '174379 - SIMULATED SHOP'],
      ],
    );
    assert.match(received[0]?.text ?? '', /"Key":"Amount","Value":10\.00\}/);
    await merchant.post(PATHS.reversal, reversalRequest(merchant, receipt));
    assert.equal(resultOf(await merchant.waitFor('/reversal', 2)).ResultCode, 'R000001');
    await merchant.post(PATHS.reversal, reversalRequest(merchant, 'NOSUCHONE1'));
    const unknown = resultOf(await merchant.waitFor('/reversal', 3));
    assert.equal(unknown.ResultCode, 'R000002');
    assert.match(String(unknown.TransactionID), /0000000$/);
    const moved = [
      ['collection', 'TX8K2J4M', 1_000n],
      ['refund', receipt, 1_000n],
    ];
    assert.deepEqual(movementsOf(merchant), moved);
  });

  test('a reversal needs money on the account, and is never of a payout', async () => {
    await using merchant = await startMerchant({}, { openingBalance: 0n });
    const receipt = await collect(merchant);
    await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    const payout = resultOf(await merchant.waitFor('/payout'));
    await merchant.post(PATHS.reversal, reversalRequest(merchant, receipt));
    assert.equal(resultOf(await merchant.waitFor('/reversal')).ResultCode, 1);
    await merchant.post(PATHS.reversal, reversalRequest(merchant, String(payout.TransactionID)));
    assert.equal(resultOf(await merchant.waitFor('/reversal', 2)).ResultCode, 'R000002');
    assert.equal(merchant.simulator.book.net('KES'), 0n);
  });

  test('the operator can take back a collection and give back a payout', async () => {
    await using merchant = await startMerchant();
    const receipt = await collect(merchant);
    await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    await merchant.waitFor('/payout');
    assert.deepEqual(await merchant.act('reverse', { id: receipt }), { reversed: receipt });
    await merchant.act('reverse', { id: 'TX_1' });
    const kinds = movementsOf(merchant).map(([kind]) => kind);
    assert.deepEqual(kinds, ['collection', 'payout', 'collection_reversed', 'payout_returned']);
    assert.equal(merchant.simulator.book.net('KES'), 0n);
    assert.equal((await merchant.simulator.act('reverse', { id: receipt })).status, 400);
  });

  test('a balance has its code as a text and every account in one line', async () => {
    await using merchant = await startMerchant();
    await merchant.post(PATHS.balance, balanceRequest(merchant));
    const { ResultCode, parameters } = resultOf(await merchant.waitFor('/balance'));
    assert.equal(ResultCode, '0');
    const accounts = String(parameters[0]?.Value).split('&');
    assert.equal(parameters[0]?.Key, 'AccountBalance');
    assert.equal(accounts.length, 5);
    assert.equal(accounts[2], 'Utility Account|KES|1000000.00|1000000.00|0.00|0.00');
    assert.equal(parameters[1]?.Key, 'BOCompletedTime');
    await merchant.post(PATHS.balance, balanceRequest(merchant, { Initiator: 'somebody' }));
    assert.equal(resultOf(await merchant.waitFor('/balance', 2)).ResultCode, 20);
  });
});
