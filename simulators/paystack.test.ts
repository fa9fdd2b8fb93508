import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from './frame.ts';
import { createPaystackSimulator, PAYSTACK_SIMULATOR_SETTINGS } from './paystack.ts';

type Json = Record<string, unknown>;
type Received = { path: string; signature: string; text: string; event: string; data: Json };

const KEY = PAYSTACK_SIMULATOR_SETTINGS.secretKey ?? '';
const EMAIL = '233551000111@payer.example';

/** Waits until the condition gives something. */
async function until<T>(condition: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (let tries = 0; tries < 500; tries++) {
    const found = await condition();
    if (found) return found;
    await pause(10);
  }
  throw new Error('the condition never came true');
}

const hmac = (text: string, key = KEY) => createHmac('sha512', key).update(text).digest('hex');

describe('paystack simulator', () => {
  let simulator: RunningSimulator;
  const received: Received[] = [];
  /** Answers of the receiver, one for each request; then 200. */
  const answers: number[] = [];
  const receiver = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const signature = String(incoming.headers['x-paystack-signature']);
      received.push({
        path: incoming.url ?? '',
        signature,
        text,
        ...(JSON.parse(text) as { event: string; data: Json }),
      });
      response.writeHead(answers.shift() ?? 200).end();
    });
  });
  const receiverUrl = (path: string) => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

  async function start(settings: Record<string, string> = {}, options: SimulatorOptions = {}): Promise<void> {
    simulator = await startSimulator(createPaystackSimulator, {
      ...options,
      settings: {
        webhookUrl: receiverUrl('/paystack'),
        promptSeconds: '0.1',
        lateSuccessSeconds: '0.1',
        reversalSeconds: '0.05',
        webhookRetrySeconds: '0.05',
        webhookRetryHourSeconds: '0.05',
        ...settings,
      },
    });
  }

  beforeEach(async () => {
    received.splice(0);
    answers.splice(0);
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', () => listening()));
  });
  afterEach(async () => {
    await simulator.close();
    receiver.closeAllConnections();
    await new Promise((closed) => receiver.close(closed));
  });

  async function call(method: string, path: string, body?: unknown, key = KEY) {
    const answer = await fetch(`${simulator.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as { status: boolean; message: string; code?: string; data: Json; meta?: Json };
    return { http: answer.status, ...json };
  }
  const newReference = () => `TX-${randomUUID()}`;
  const charge = (more: Json = {}) => ({
    email: EMAIL,
    amount: 10_000,
    currency: 'GHS',
    reference: newReference(),
    mobile_money: { phone: '0551000111', provider: 'mtn' },
    ...more,
  });
  const verify = async (reference: string) => (await call('GET', `/transaction/verify/${reference}`)).data;
  const verified = (reference: string, status: string) =>
    until(async () => {
      const data = await verify(reference);
      return data.status === status ? data : null;
    });
  const event = (name: string) => until(() => received.find((each) => each.event === name));

  async function paidCharge(more: Json = {}): Promise<string> {
    const body = charge(more);
    await call('POST', '/charge', body);
    await verified(body.reference, 'success');
    return body.reference;
  }

  async function recipient(more: Json = {}): Promise<string> {
    const body = {
      type: 'mobile_money',
      name: 'Abina Nana',
      account_number: '0551234987',
      bank_code: 'MTN',
      currency: 'GHS',
    };
    return String((await call('POST', '/transferrecipient', { ...body, ...more })).data.recipient_code);
  }
  const transfer = (recipient_code: string, more: Json = {}) => ({
    source: 'balance',
    amount: 10_000,
    recipient: recipient_code,
    reference: `tx_${randomUUID()}`,
    reason: 'Payout',
    currency: 'GHS',
    ...more,
  });
  const transferred = (reference: string, status: string) =>
    until(async () => {
      const { data } = await call('GET', `/transfer/verify/${reference}`);
      return data.status === status ? data : null;
    });

  test('refuses a wrong key, one that ended and one that was rolled', async () => {
    await start();
    const wrong = await call('POST', '/charge', charge(), 'sk_test_other');
    assert.deepEqual([wrong.http, wrong.status, wrong.message, wrong.code], [401, false, 'Invalid key', 'invalid_Key']);
    simulator.faults.add({ fault: 'token_ended', operation: 'balance' });
    assert.equal((await call('GET', '/balance')).http, 401);
    assert.equal((await call('GET', '/balance')).http, 200);
    await simulator.act('roll_key', { secretKey: 'sk_test_new' });
    assert.equal((await call('GET', '/balance')).http, 401);
    await call('POST', '/charge', charge(), 'sk_test_new');
    const { text, signature } = await event('charge.success');
    assert.equal(signature, hmac(text, 'sk_test_new'));
  });

  test('charges a phone and tells the success in a signed webhook', async () => {
    await start();
    const body = charge({ metadata: { ref: 'TX_1' } });
    assert.deepEqual(await call('POST', '/charge', body), {
      http: 200,
      status: true,
      message: 'Charge attempted',
      data: {
        reference: body.reference,
        status: 'pay_offline',
        display_text: 'Please complete authorization process on your mobile phone',
      },
    });
    const data = await verified(body.reference, 'success');
    assert.deepEqual(
      [
        data.amount,
        data.currency,
        data.channel,
        data.gateway_response,
        data.domain,
        data.metadata,
        data.receipt_number,
      ],
      [10_000, 'GHS', 'mobile_money', 'Approved', 'test', { ref: 'TX_1' }, null],
    );
    const { text, signature, data: notified } = await event('charge.success');
    assert.equal(signature, hmac(text));
    assert.deepEqual(
      [notified.id, notified.reference, notified.status, notified.paidAt],
      [data.id, body.reference, 'success', data.paid_at],
    );
    const repeated = await call('POST', '/charge', body);
    assert.deepEqual([repeated.http, repeated.message], [400, 'Duplicate Transaction Reference']);
    assert.deepEqual(
      simulator.book.movements().map(({ kind, id, msisdn, amount }) => [kind, id, msisdn, amount]),
      [['collection', body.reference, '233551000111', 100_00n]],
    );
  });

  test('refuses fields that are missing, misspelt or of the wrong type', async () => {
    await start();
    const cases: Json[] = [
      { email: undefined },
      { email: 'nobody' },
      { amount: 100.5 },
      { amount: '100.50' },
      { amount: 0 },
      { refrence: 'x' },
      { reference: 'TX_1' },
      { mobile_money: undefined },
      { mobile_money: { phone: '233551000111', provider: 'mtn' } },
      { mobile_money: { phone: '0551000111', provider: 'mpesa' } },
      { mobile_money: { number: '0551000111', provider: 'mtn' } },
      { mobile_money: undefined, bank_transfer: { expires_at: '2030-01-01' } },
      { mobile_money: undefined, bank_transfer: {}, currency: 'GHS' },
    ];
    for (const more of cases) {
      const { http, status, code } = await call('POST', '/charge', charge(more));
      assert.deepEqual([http, status, typeof code], [400, false, 'string'], JSON.stringify(more));
    }
    assert.equal((await call('POST', '/charge', charge({ amount: '10000' }))).http, 200);
    const unknown = await call('GET', `/transaction/verify/${newReference()}`);
    assert.deepEqual([unknown.http, unknown.message], [400, 'Transaction reference not found.']);
    const unknownCharge = await call('GET', `/charge/${newReference()}`);
    assert.deepEqual([unknownCharge.http, unknownCharge.message], [400, 'Transaction reference is invalid']);
    assert.equal((await call('GET', '/nothing')).http, 404);
  });

  test('gives each decision of the payer in the words of verify, without a webhook', async () => {
    await start();
    const responses: Record<string, [string, string]> = {
      '001': ['failed', 'Insufficient funds'],
      '002': ['failed', 'Incorrect PIN'],
      '003': ['failed', 'Customer account not found'],
      '004': ['failed', 'Transaction limit exceeded'],
      '005': ['failed', 'Transaction timed out'],
      '011': ['failed', 'Transaction rejected by customer'],
    };
    for (const [ending, [status, response]] of Object.entries(responses)) {
      const body = charge({ mobile_money: { phone: `0551000${ending}`, provider: 'atl' } });
      await call('POST', '/charge', body);
      assert.match(String((await verify(body.reference)).status), /ongoing|failed/);
      assert.equal((await verified(body.reference, status)).gateway_response, response);
      const { data, message } = await call('GET', `/charge/${body.reference}`);
      assert.equal(message, 'Reference check successful');
      assert.deepEqual(data, {
        reference: body.reference,
        status: ending === '005' ? 'timeout' : 'failed',
        message: response,
      });
    }
    await simulator.idle();
    assert.deepEqual(received, []);
    assert.deepEqual(simulator.book.movements(), []);
  });

  test('waits for the code of the payer where the provider wants one', async () => {
    await start({ xofFactor: '1', promptSeconds: '60' });
    const body = charge({ mobile_money: { phone: '0201000111', provider: 'VOD' } });
    const { data } = await call('POST', '/charge', body);
    assert.equal(data.status, 'send_otp');
    assert.match(String(data.display_text), /\*110#/);
    const submit = (otp: string, reference = body.reference) => call('POST', '/charge/submit_otp', { otp, reference });
    assert.equal((await submit('123456', newReference())).message, 'Transaction reference is invalid');
    assert.equal((await submit('000000')).data.status, 'send_otp');
    assert.equal((await submit('123456')).data.status, 'pending');
    await verified(body.reference, 'success');
    const orange = charge({ currency: 'XOF', amount: 500, mobile_money: { phone: '0700000000', provider: 'orange' } });
    await call('POST', '/charge', orange);
    await submit('1234', orange.reference);
    assert.equal((await verified(orange.reference, 'success')).amount, 500);
    assert.equal(simulator.book.net('XOF'), 500_00n);
    await simulator.close();
    await start({ xofFactor: '1' });
    const silent = charge({ mobile_money: { phone: '0201000111', provider: 'vod' } });
    await call('POST', '/charge', silent);
    await verified(silent.reference, 'abandoned');
    const wave = charge({ currency: 'XOF', mobile_money: { phone: '0700000000', provider: 'wave' } });
    assert.match(String((await call('POST', '/charge', wave)).data.url), /\/pay\//);
  });

  test('gives a pay bill number, a till and an M-PESA receipt in Kenya', async () => {
    await start();
    const kenya = (mobile_money: Json) => charge({ currency: 'KES', mobile_money });
    const bill = kenya({ phone: '254700000123', provider: 'mpesa_offline' });
    const { data } = await call('POST', '/charge', bill);
    assert.deepEqual([data.account_number, typeof data.account_reference], ['4084333', 'number']);
    assert.match(String((await verified(bill.reference, 'success')).receipt_number), /^[A-Z0-9]{10}$/);
    const till = kenya({ account: '1234567', provider: 'mptill' });
    assert.equal((await call('POST', '/charge', till)).data.status, 'pay_offline');
    await verified(till.reference, 'success');
    const prompt = kenya({ phone: '+254710000000', provider: 'mpesa' });
    await call('POST', '/charge', prompt);
    await verified(prompt.reference, 'success');
    assert.equal(simulator.book.net('KES'), 300_00n);
  });

  test('takes one bank transfer of the right amount before the account ends', async () => {
    const now = Date.now();
    await start({}, { payers: 'manual', now: () => now });
    const pay = (account_number: unknown, amount: string) => simulator.act('bank_transfer', { account_number, amount });
    const bank = (more: Json = {}) => charge({ currency: 'KES', mobile_money: undefined, bank_transfer: {}, ...more });
    const body = bank();
    const { data } = await call('POST', '/charge', body);
    assert.equal(data.status, 'pending_bank_transfer');
    assert.equal(data.account_name, 'Paystack Payments Kenya Limited');
    assert.deepEqual(data.bank, { slug: 'dtbk-bank', name: 'Diamond Trust Bank Kenya Ltd', id: 225 });
    await pay(data.account_number, '99');
    assert.deepEqual((await event('bank.transfer.rejected')).data.bank_transfer, {
      amount: '9900',
      message: 'incorrect amount sent',
      message_type: 'INCORRECT_AMOUNT',
      transaction_id: String((await verify(body.reference)).id),
    });
    assert.equal((await verify(body.reference)).status, 'ongoing');
    await pay(data.account_number, '100');
    await pay(data.account_number, '100');
    const { data: notified } = await event('charge.success');
    assert.deepEqual([notified.channel, notified.metadata, notified.reference], ['bank_transfer', 0, body.reference]);
    const soon = new Date(now + 50).toISOString();
    const late = bank({ currency: 'NGN', bank_transfer: { account_expires_at: soon } });
    const { data: account } = await call('POST', '/charge', late);
    assert.equal(account.account_name, 'TEST-MANAGED-ACCOUNT');
    await verified(late.reference, 'abandoned');
    await pay(account.account_number, '100');
    await simulator.idle();
    assert.deepEqual([simulator.book.net('KES'), simulator.book.net('NGN')], [100_00n, 0n]);
  });

  test('pays out to a recipient and refuses a reference twice', async () => {
    await start({}, { openingBalance: 150_00n });
    const code = await recipient();
    assert.match(code, /^RCP_[a-z0-9]{15}$/);
    assert.equal(await recipient(), code);
    const body = transfer(code);
    const { data, message } = await call('POST', '/transfer', body);
    assert.deepEqual([message, data.status, typeof data.recipient], ['Transfer has been queued', 'pending', 'number']);
    const poor = await call('POST', '/transfer', transfer(code));
    assert.deepEqual(
      [poor.http, poor.code, poor.message],
      [400, 'insufficient_balance', 'Your balance is not enough to fulfil this request'],
    );
    await transferred(body.reference, 'success');
    const { data: notified } = await event('transfer.success');
    assert.deepEqual([notified.reference, notified.amount, notified.status], [body.reference, 10_000, 'success']);
    assert.ok('createdAt' in notified);
    const repeated = await call('POST', '/transfer', body);
    assert.deepEqual([repeated.http, repeated.code], [400, 'duplicate_transfer_reference']);
    const unknown = await call('GET', `/transfer/verify/tx_${randomUUID()}`);
    assert.deepEqual([unknown.http, unknown.message], [404, 'Transfer not found']);
    for (const more of [
      { reference: 'TX_UPPER_CASE_01234' },
      { recipient: 'RCP_x' },
      { source: 'bank' },
      { amount: '1.5' },
    ])
      assert.equal((await call('POST', '/transfer', transfer(code, more))).http, 400);
    assert.equal((await call('POST', '/transferrecipient', { type: 'mobile_money', name: 'A' })).http, 400);
    assert.deepEqual((await call('GET', '/bank?currency=KES&type=mobile_money')).data, [
      { name: 'M-PESA', code: 'MPESA', currency: 'KES', type: 'mobile_money', active: true },
    ]);
    await simulator.act('top_up', { currency: 'GHS', amount: '50' });
    const balances = (await call('GET', '/balance')).data as unknown as Json[];
    assert.deepEqual(balances[1], { currency: 'GHS', balance: 10_000 });
    assert.equal(simulator.book.net('GHS'), -100_00n);
  });

  test('fails, reverses and blocks transfers', async () => {
    await start({ approvalUrl: receiverUrl('/approve'), duplicateTransferStatus: '404' });
    const code = await recipient();
    const send = async (more: Json = {}) => {
      const body = transfer(code, more);
      await call('POST', '/transfer', body);
      return body.reference;
    };
    await simulator.act('plan_transfer', { outcome: 'failed' });
    const failed = await send();
    await transferred(failed, 'failed');
    const { data } = await event('transfer.failed');
    assert.deepEqual([data.reference, data.failures, 'created_at' in data], [failed, null, true]);
    await simulator.act('plan_transfer', { outcome: 'reversed' });
    const reversed = await send();
    await transferred(reversed, 'reversed');
    assert.ok((await event('transfer.reversed')).data.transferred_at);
    const unknown = await send({ recipient: await recipient({ account_number: '0551234003' }) });
    assert.match(String((await transferred(unknown, 'failed')).gateway_response), /not be found/);
    await simulator.idle();
    answers.push(400, 500);
    await transferred(await send(), 'rejected');
    await transferred(await send(), 'blocked');
    const paid = await send();
    await transferred(paid, 'success');
    assert.equal((await call('POST', '/transfer', transfer(code, { reference: paid }))).http, 404);
    await simulator.act('reverse', { id: paid });
    assert.deepEqual(
      simulator.book.movements().map(({ kind }) => kind),
      ['payout', 'payout_returned', 'payout', 'payout_returned'],
    );
  });

  test('holds transfers until their code is given, where codes are on', async () => {
    await start({ otpForTransfers: 'true', otpSeconds: '60' });
    const code = await recipient();
    const body = transfer(code);
    const { data, message } = await call('POST', '/transfer', body);
    assert.deepEqual([message, data.status], ['Transfer requires OTP to continue', 'otp']);
    const finalize = { transfer_code: data.transfer_code, otp: '928783' };
    assert.equal((await call('POST', '/transfer/finalize_transfer', finalize)).http, 200);
    await transferred(body.reference, 'success');
    await simulator.close();
    await start({ otpForTransfers: 'true', otpSeconds: '0.1' });
    const next = await recipient();
    const forgotten = transfer(next);
    await call('POST', '/transfer', forgotten);
    await transferred(forgotten.reference, 'abandoned');
    await call('POST', '/transfer/disable_otp');
    await call('POST', '/transfer/disable_otp_finalize', { otp: '928783' });
    assert.equal((await call('POST', '/transfer', transfer(next))).data.status, 'pending');
  });

  test('refunds in parts and moves the status of the transaction', async () => {
    // Long enough that a busy machine still sees what a refund is while it is under way.
    await start({ refundListLagMs: '50', processingMs: '500' });
    const reference = await paidCharge();
    const refund = (more: Json = {}) => call('POST', '/refund', { transaction: reference, ...more });
    const status = (id: unknown, expected: string) =>
      until(async () => {
        const { data } = await call('GET', `/refund/${String(id)}`);
        return data.status === expected ? data : null;
      });
    const first = await refund({ amount: 4_000, currency: 'GHS', merchant_note: 'RF_1' });
    assert.deepEqual(
      [first.http, first.data.status, (first.data.transaction as Json).reference],
      [200, 'pending', reference],
    );
    const fetched = await status(first.data.id, 'processed');
    assert.deepEqual(
      [typeof fetched.transaction, fetched.fully_deducted, fetched.merchant_note],
      ['number', 1, 'RF_1'],
    );
    assert.equal((await event('refund.processed')).data.amount, '4000');
    assert.equal((await verify(reference)).status, 'success');
    assert.equal((await refund({ amount: 7_000 })).http, 400);
    await simulator.act('plan_refund', { outcome: 'failed' });
    const failing = await refund();
    assert.equal((await verify(reference)).status, 'reversal pending');
    await status(failing.data.id, 'failed');
    assert.equal((await event('refund.failed')).data.amount, 6_000);
    assert.equal((await verify(reference)).status, 'success');
    await simulator.act('plan_refund', { outcome: 'needs-attention' });
    const held = await refund();
    await status(held.data.id, 'needs-attention');
    assert.equal((await event('refund.needs-attention')).data.id, String(held.data.id));
    const details = { refund_account_details: { currency: 'GHS', account_number: '0551234987', bank_id: '9' } };
    const retry = () => call('POST', `/refund/retry_with_customer_details/${String(held.data.id)}`, details);
    assert.equal((await retry()).http, 200);
    await status(held.data.id, 'processed');
    assert.equal((await retry()).http, 422);
    assert.equal((await verify(reference)).status, 'reversed');
    const list = await until(async () => {
      const answer = await call('GET', '/refund?transaction=1&perPage=2');
      return answer.meta?.total === 3 ? answer : null;
    });
    assert.equal((list.data as unknown as Json[]).length, 2);
    assert.equal(simulator.book.net('GHS'), 0n);
  });

  test('repeats webhooks until they are answered with 200, and signs wrongly on demand', async () => {
    await start();
    answers.push(500, 202);
    await paidCharge();
    await until(() => received.length === 3);
    await simulator.idle();
    assert.equal(received.length, 3);
    await simulator.act('plan_webhook', {});
    await simulator.act('send_event', { event: 'invoice.create', data: { domain: 'test' } });
    const { text, signature } = await event('invoice.create');
    assert.notEqual(signature, hmac(text));
    simulator.faults.add({ fault: 'field_renamed', operation: 'other', rename: { reference: 'ref' } });
    received.splice(0);
    await paidCharge();
    const renamed = await event('charge.success');
    assert.deepEqual([renamed.signature, 'ref' in renamed.data], [hmac(renamed.text), true]);
  });

  test('does the faults of the protocol on demand', async () => {
    let now = Date.now();
    // Long enough that a busy machine still sees what comes before the late success.
    await start({ verifyLagMs: '50', lateSuccessSeconds: '2', metadataForm: 'string' }, { now: () => now });
    const late = charge({ metadata: { ref: 1 } });
    simulator.faults.add({ fault: 'late_success', operation: 'collect' });
    await call('POST', '/charge', late);
    assert.equal((await call('GET', `/transaction/verify/${late.reference}`)).http, 400);
    now += 50;
    const found = (status: string) =>
      until(async () => {
        const { data } = await call('GET', `/transaction/verify/${late.reference}`);
        return (data as Json | undefined)?.status === status ? data : null;
      });
    await found('abandoned');
    assert.equal((await found('success')).metadata, '{"ref":1}');
    const planned = async (outcome: string) => {
      await simulator.act('plan_charge', { outcome });
      return call('POST', '/charge', charge({ mobile_money: { phone: '0201000111', provider: 'vod' } }));
    };
    assert.equal((await planned('success')).data.status, 'success');
    assert.deepEqual((await planned('failed_outside')).data, { status: 'failed', message: 'Insufficient funds' });
    assert.equal((await planned('pending')).data.status, 'pending');
    assert.equal('reference' in (await planned('otp_without_reference')).data, false);
    simulator.faults.add({ fault: 'late_success', operation: 'payout' });
    const body = transfer(await recipient());
    await call('POST', '/transfer', body);
    await transferred(body.reference, 'queued');
    await transferred(body.reference, 'success');
    await simulator.idle();
    simulator.faults.add({ fault: 'callback_before_answer', operation: 'collect' });
    received.splice(0);
    await call('POST', '/charge', charge({ mobile_money: { phone: '0551234987', provider: 'mtn' } }));
    assert.equal(received.length, 1);
  });

  test('lists settlements, the ledger of the balance, and what a chargeback took', async () => {
    await start();
    const reference = await paidCharge();
    const settled = (await simulator.act('settle', { currency: 'GHS' })).body as Json;
    const [settlement] = (await call('GET', '/settlement')).data as unknown as Json[];
    assert.deepEqual([settlement?.id, settlement?.total_amount, settlement?.total_fees], [settled.id, 10_000, 0]);
    const rows = (await call('GET', `/settlement/${String(settled.id)}/transactions`)).data as unknown as Json[];
    assert.equal(rows[0]?.reference, reference);
    await simulator.act('reverse', { id: reference });
    const { data } = await event('charge.dispute.resolve');
    assert.equal((data.transaction as Json).status, 'reversed');
    const ledger = (await call('GET', '/balance/ledger')).data as unknown as Json[];
    assert.deepEqual(
      ledger.map(({ difference, model_responsible }) => [difference, model_responsible]),
      [
        [-10_000, 'Transaction'],
        [10_000, 'Transaction'],
      ],
    );
    assert.equal(simulator.book.net('GHS'), 0n);
  });
});
