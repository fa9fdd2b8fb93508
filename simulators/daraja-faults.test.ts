import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  callbackOf,
  expressPassword,
  expressRequest,
  type Json,
  type Merchant,
  PATHS,
  payoutRequest,
  resultOf,
  reversalRequest,
  startMerchant,
  statusRequest,
  until,
} from './daraja-merchant.ts';
import type { Fault, Operation } from './faults.ts';

const kindsOf = (merchant: Merchant) => merchant.simulator.book.movements().map(({ kind }) => kind);

const plan = (merchant: Merchant, fault: Fault, operation: Operation) =>
  merchant.simulator.faults.add({ fault, operation });

async function push(merchant: Merchant, changes: Json = {}) {
  const { body } = await merchant.post(PATHS.express, expressRequest(merchant, changes));
  const question = { ...expressPassword(merchant), CheckoutRequestID: body.CheckoutRequestID };
  return { body, query: () => merchant.post(PATHS.expressQuery, question) };
}

const itemNames = (merchant: Merchant) =>
  callbackOf(merchant.received('/express').at(-1)).items.map((item) =>
    Object.keys(item).concat(String(item.Name)).join(' '),
  );

const statusOf = async (merchant: Merchant, id: string) => {
  const before = merchant.received('/status').length;
  await merchant.post(PATHS.status, statusRequest(merchant, { OriginalConversationID: id }));
  const result = resultOf(await merchant.waitFor('/status', before + 1));
  return { ...result, state: result.parameters.find(({ Key }) => Key === 'TransactionStatus')?.Value };
};

describe('every call of Daraja', () => {
  test('may meet a token that ended, a gate that is shut, or a system that is busy', async () => {
    await using merchant = await startMerchant();
    plan(merchant, 'token_ended', 'collect');
    const ended = await merchant.post(PATHS.express, expressRequest(merchant));
    assert.deepEqual([ended.status, ended.body.errorCode], [404, '404.001.03']);
    await merchant.newToken();
    await merchant.act('spike_arrest', { operation: 'payout' });
    const shut = await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    assert.equal(shut.status, 429);
    assert.match(
      shut.text,
      /^\{"fault":\{"faultstring":"Spike arrest violation.*policies\.ratelimit\.SpikeArrestViolation/,
    );
    assert.deepEqual(kindsOf(merchant), []);
    await merchant.act('system_busy');
    const busy = await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    assert.deepEqual([busy.status, busy.body.errorCode], [500, '500.003.02']);
    await merchant.waitFor('/payout');
    assert.deepEqual(kindsOf(merchant), ['payout']);
  });

  test('may be done although its answer is an error, a page, or lost', async () => {
    await using merchant = await startMerchant();
    plan(merchant, 'error_while_processing', 'payout');
    assert.equal((await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'))).status, 500);
    plan(merchant, 'html_error', 'payout');
    assert.equal((await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_2'))).status, 502);
    plan(merchant, 'answer_lost', 'payout');
    await assert.rejects(merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_3')));
    plan(merchant, 'error_before_processing', 'payout');
    assert.equal((await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_4'))).status, 500);
    plan(merchant, 'duplicate_id', 'payout');
    const doubled = await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_5'));
    assert.equal(doubled.body.errorMessage, 'Duplicate OriginatorConversationID.');
    await merchant.waitFor('/payout', 4);
    await merchant.simulator.idle();
    const ids = merchant.simulator.book.movements().map(({ id }) => id);
    assert.deepEqual(ids, ['TX_1', 'TX_2', 'TX_3', 'TX_5']);
  });

  test('may send its callback before the answer, twice, never, or again until it is taken', async () => {
    await using merchant = await startMerchant({ callbackTries: '3', sameAmountSeconds: '0' });
    plan(merchant, 'callback_before_answer', 'payout');
    await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    assert.equal(merchant.received('/payout').length, 1);
    plan(merchant, 'callback_doubled', 'other');
    await push(merchant);
    await merchant.waitFor('/express', 2);
    merchant.answer('/express', { status: 500, text: '' });
    await push(merchant);
    await merchant.waitFor('/express', 5);
    await merchant.simulator.idle();
    assert.equal(merchant.received('/express').length, 5);
    merchant.answer('/express', { status: 200, text: '{}' });
    merchant.simulator.faults.add({ fault: 'callback_lost', operation: 'other', times: 3 });
    await push(merchant);
    await until(() => kindsOf(merchant).length === 4);
    await merchant.simulator.idle();
    assert.equal(merchant.received('/express').length, 5);
  });
});

describe('a prompt of Daraja', () => {
  test('that is open is pending in two forms, and may look unreachable', async () => {
    await using merchant = await startMerchant({ promptSeconds: '60' }, { payers: 'manual' });
    const { query } = await push(merchant);
    assert.equal((await query()).status, 500);
    await merchant.act('pending_4999');
    const pending = await query();
    assert.deepEqual([pending.status, pending.body.ResultCode], [200, '4999']);
    await merchant.act('early_1037', { times: 2 });
    assert.equal((await query()).body.ResultCode, '1037');
    assert.equal((await query()).body.ResultCode, '1037');
    merchant.simulator.phones.decide(merchant.simulator.phones.open()[0]?.id ?? '', 'approve');
    assert.equal((await query()).body.ResultCode, '0');
    await merchant.act('query_contradicts');
    assert.equal((await query()).body.ResultCode, '1032');
    assert.equal(callbackOf((await merchant.waitFor('/express'))[0]).ResultCode, 0);
  });

  test('may be paid after every query said that the payer was not reached', async () => {
    let now = Date.now();
    await using merchant = await startMerchant({}, { now: () => now });
    plan(merchant, 'late_success', 'collect');
    const { query } = await push(merchant);
    await until(() => merchant.simulator.phones.open().length === 0);
    assert.equal((await query()).body.ResultCode, '1037');
    assert.deepEqual([merchant.received('/express'), kindsOf(merchant)], [[], []]);
    now += 60_000;
    assert.equal(callbackOf((await merchant.waitFor('/express'))[0]).ResultCode, 0);
    assert.equal((await query()).body.ResultCode, '0');
    assert.deepEqual(kindsOf(merchant), ['collection']);
  });

  test('may end with a code that no document has, or with any code, and then moves nothing', async () => {
    await using merchant = await startMerchant();
    plan(merchant, 'unknown_code', 'collect');
    const { query } = await push(merchant);
    assert.equal(callbackOf((await merchant.waitFor('/express'))[0]).ResultCode, 7777);
    assert.equal((await query()).body.ResultCode, '7777');
    await merchant.act('end_with', { code: '8006' });
    await push(merchant);
    assert.equal(callbackOf((await merchant.waitFor('/express', 2))[1]).ResultCode, 8006);
    await merchant.act('end_with', { code: 'SFC_IC0003', operation: 'collect' });
    await merchant.act('text_codes');
    await push(merchant);
    assert.equal(callbackOf((await merchant.waitFor('/express', 3))[2]).ResultCode, 'SFC_IC0003');
    assert.deepEqual(kindsOf(merchant), []);
  });

  test('has three lists of items, a masked number, and forged callbacks before the true one', async () => {
    await using merchant = await startMerchant({ sameAmountSeconds: '0' });
    const pay = async (...quirks: string[]) => {
      for (const quirk of quirks) await merchant.act(quirk);
      const before = merchant.received('/express').length;
      await push(merchant);
      const sent = 1 + quirks.filter((quirk) => /^forg|^foreign/.test(quirk)).length;
      return (await merchant.waitFor('/express', before + sent)).slice(before);
    };
    await pay('balance_without_value');
    assert.equal(itemNames(merchant)[2], 'Name Balance');
    const [valued] = await pay('balance_with_value', 'masked_phone');
    assert.equal(itemNames(merchant)[2], 'Name Value Balance');
    assert.match(valued?.text ?? '', /"Balance","Value":1000020\.00\}/);
    assert.match(valued?.text ?? '', /"PhoneNumber","Value":"2547\*{5}149"/);
    const [forged, foreign, real] = await pay('forged_amount', 'foreign_callback');
    assert.match(forged?.text ?? '', /"Amount","Value":100\.00/);
    assert.notEqual(callbackOf(foreign).CheckoutRequestID, callbackOf(real).CheckoutRequestID);
    assert.match(real?.text ?? '', /"Amount","Value":10\.00/);
    assert.equal(merchant.simulator.book.net('KES'), 3_000n);
  });

  test('that is unknown has no dependable answer', async () => {
    await using merchant = await startMerchant();
    const question = { ...expressPassword(merchant), CheckoutRequestID: 'ws_CO_1' };
    assert.equal((await merchant.post(PATHS.expressQuery, question)).body.errorCode, '400.002.02');
    await merchant.act('missing_500');
    assert.equal((await merchant.post(PATHS.expressQuery, question)).body.errorCode, '500.001.1001');
  });

  test('may need phone numbers as JSON numbers and an address with https', async () => {
    await using texts = await startMerchant({ textPhones: 'unreachable' });
    await push(texts, { PhoneNumber: '254708374149' });
    assert.equal(callbackOf((await texts.waitFor('/express'))[0]).ResultCode, 1037);
    await using strict = await startMerchant({ strictUrls: 'true' });
    const { body } = await push(strict);
    assert.equal(body.errorMessage, 'Bad Request - Invalid CallBackURL');
  });
});

describe('a result of Daraja', () => {
  test('may be a queue time-out that echoes the request, with nothing or with the money after it', async () => {
    let now = Date.now();
    await using merchant = await startMerchant({}, { now: () => now });
    await merchant.act('queue_timeout');
    const request = payoutRequest(merchant, 'TX_1');
    await merchant.post(PATHS.payout, request);
    assert.deepEqual((await merchant.waitFor('/timeout'))[0]?.body, request);
    await merchant.simulator.idle();
    assert.deepEqual(kindsOf(merchant), []);
    assert.equal((await statusOf(merchant, 'TX_1')).ResultCode, 25);
    plan(merchant, 'late_success', 'payout');
    await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_2'));
    await merchant.waitFor('/timeout', 2);
    assert.equal((await statusOf(merchant, 'TX_2')).state, 'Initiated');
    now += 60_000;
    assert.equal(resultOf(await merchant.waitFor('/payout')).ResultCode, 0);
    assert.equal((await statusOf(merchant, 'TX_2')).state, 'Completed');
    assert.deepEqual(kindsOf(merchant), ['payout']);
  });

  test('may have a first message that is not final, codes as texts and a list of references', async () => {
    await using merchant = await startMerchant();
    for (const quirk of ['result_type_1_first', 'text_codes', 'reference_list']) await merchant.act(quirk);
    await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    const results = (await merchant.waitFor('/payout', 2)).map(({ body }) => body.Result as Json);
    assert.deepEqual(
      results.map(({ ResultType, ResultCode }) => [ResultType, ResultCode]),
      [
        [1, '0'],
        ['0', '0'],
      ],
    );
    assert.equal(results[0]?.ResultParameters, undefined);
    assert.ok(results[1]?.ResultParameters);
    assert.ok(results.some(({ ReferenceData }) => Array.isArray((ReferenceData as Json).ReferenceItem)));
  });

  test('may never come because the acknowledgement refused', async () => {
    await using merchant = await startMerchant();
    await merchant.act('refused_ack');
    assert.equal((await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'))).body.ResponseCode, '1');
    await merchant.simulator.idle();
    assert.deepEqual([merchant.received('/payout'), kindsOf(merchant)], [[], []]);
  });

  test('of a status query may fail by itself, and its acknowledgement may repeat our id', async () => {
    await using merchant = await startMerchant();
    plan(merchant, 'unknown_code', 'payout');
    await merchant.post(PATHS.payout, payoutRequest(merchant, 'TX_1'));
    assert.equal(resultOf(await merchant.waitFor('/payout')).ResultCode, 7777);
    await merchant.act('status_fails');
    assert.equal((await statusOf(merchant, 'TX_1')).ResultCode, 'SFC_IC0003');
    assert.equal((await statusOf(merchant, 'TX_1')).state, 'Declined');
    await merchant.act('status_echoes_id');
    const { body } = await merchant.post(PATHS.status, statusRequest(merchant, { OriginalConversationID: 'TX_1' }));
    assert.equal(body.OriginatorConversationID, 'TX_1');
    assert.deepEqual(kindsOf(merchant), []);
  });

  test('of a reversal may come long after its queue time-out', async () => {
    let now = Date.now();
    await using merchant = await startMerchant({}, { now: () => now });
    await push(merchant);
    const [callback] = await merchant.waitFor('/express');
    const receipt = String(callbackOf(callback).items[1]?.Value);
    plan(merchant, 'unknown_code', 'refund');
    await merchant.post(PATHS.reversal, reversalRequest(merchant, receipt));
    assert.equal(resultOf(await merchant.waitFor('/reversal')).ResultCode, 7777);
    plan(merchant, 'late_success', 'refund');
    await merchant.post(PATHS.reversal, reversalRequest(merchant, receipt));
    await merchant.waitFor('/timeout');
    assert.deepEqual(kindsOf(merchant), ['collection']);
    now += 60_000;
    assert.equal(resultOf(await merchant.waitFor('/reversal', 2)).ResultCode, 0);
    assert.deepEqual(kindsOf(merchant), ['collection', 'refund']);
  });
});
