// The Paystack rail against a scripted server, with the bodies that Paystack documents.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { collectCall, methodOf, newReference, payoutCall, queryCall, refundCall } from '../../test/rail-calls.ts';
import { type TestConnection, testConnection } from '../../test/rail-connection.ts';
import { type ScriptedAnswer, type ScriptedOperator, startScriptedOperator } from '../../test/scripted-operator.ts';
import { createVirtualClock } from '../platform/clock.ts';
import { paystackRail } from './paystack.ts';
import type { CallbackReading, Observation, Rail } from './rail.ts';

const KEY = 'sk_test_0123456789abcdef';
const NOW = '2026-11-15T12:00:00.000Z';
const clock = createVirtualClock(NOW);

let operator: ScriptedOperator;
let connection: TestConnection;
let rail: Rail;

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
  operator.requests.length = 0;
  connection = testConnection(paystackRail, operator.url, { clock, settings: { secret_key: KEY, ...settings } });
  rail = paystackRail.open(connection);
}

const lastRequest = () => operator.requests.at(-1);
const wireOf = (reference: string) => reference.replace('_', '-');
const charge = (data: object) => ({ status: true, message: 'Charge attempted', data });
const collection = collectCall('MTN_MOMO_GHA', { amount: 10_000n, msisdn: '233551234987' });

async function collect(body: object, call = collection): Promise<Observation> {
  operator.answer({ body });
  return (await rail.collect(call)).observation;
}

describe('paystack: charges', () => {
  const text = 'Please complete authorization process on your mobile phone';

  test('a charge is sent as documented', async () => {
    const data = { reference: wireOf(collection.reference), status: 'pay_offline', display_text: text };
    assert.deepEqual(await collect(charge(data)), { state: 'pending', step: { kind: 'prompt', text } });
    const sent = lastRequest();
    assert.equal(`${sent?.method} ${sent?.path}`, 'POST /charge');
    assert.equal(sent?.headers.authorization, `Bearer ${KEY}`);
    assert.deepEqual(sent?.json, {
      email: '233551234987@payer.example.com',
      amount: 10_000,
      currency: 'GHS',
      reference: wireOf(collection.reference),
      metadata: { ref: collection.reference },
      mobile_money: { phone: '0551234987', provider: 'mtn' },
    });
  });

  const parts: [string, string, object, Record<string, string>][] = [
    ['VODAFONE_GHA', '233201234567', { mobile_money: { phone: '0201234567', provider: 'vod' } }, {}],
    ['AIRTELTIGO_GHA', '233271234567', { mobile_money: { phone: '0271234567', provider: 'atl' } }, {}],
    ['MPESA_KEN', '254710000000', { mobile_money: { phone: '+254710000000', provider: 'mpesa' } }, {}],
    [
      'MPESA_KEN',
      '254710000000',
      { mobile_money: { phone: '254710000000', provider: 'mpesa' } },
      { kenyan_numbers: 'digits' },
    ],
    ['MPESA_PAYBILL_KEN', '254710000000', { mobile_money: { phone: '+254710000000', provider: 'mpesa_offline' } }, {}],
    ['MPESA_TILL_KEN', '254710000000', { mobile_money: { account: '1234567', provider: 'mptill' } }, {}],
    ['PESALINK_KEN', '254710000000', { bank_transfer: { account_expires_at: '2026-11-15T12:30:00.000Z' } }, {}],
    [
      'BANK_NGA',
      '2348012345678',
      { bank_transfer: { account_expires_at: '2026-11-15T13:00:00.000Z' } },
      { transfer_minutes: '60' },
    ],
    ['ORANGE_CIV', '2250700000000', { mobile_money: { phone: '0700000000', provider: 'orange' } }, {}],
    ['MTN_MOMO_CIV', '2250500000000', { mobile_money: { phone: '0500000000', provider: 'mtn' } }, {}],
  ];
  for (const [code, msisdn, part, settings] of parts)
    test(`${code} is named as Paystack names it ${JSON.stringify(settings)}`, async () => {
      await open(settings);
      const call = collectCall(code, { msisdn, amount: 10_000n });
      await collect(charge({ reference: wireOf(call.reference), status: 'pending' }), call);
      const { email: _e, amount, currency, reference: _r, metadata: _m, ...rest } = lastRequest()?.json ?? {};
      assert.deepEqual(rest, part);
      assert.equal(currency, call.currency);
      assert.equal(amount, 10_000);
    });

  test('XOF has the factor of the setting, and none without one', async () => {
    const call = collectCall('ORANGE_CIV', { amount: 10_000n });
    await open({ xof_factor: '1' });
    await collect(charge({ status: 'pending' }), call);
    assert.equal(lastRequest()?.json.amount, 100);
    assert.equal(rail.capabilitiesOf(methodOf('ORANGE_CIV'), 'collection')?.decimals, 0);
    await open({ xof_factor: '' });
    assert.equal(rail.capabilitiesOf(methodOf('ORANGE_CIV'), 'collection'), null);
  });

  const ref = () => wireOf(collection.reference);
  const steps: [string, string, object, object | null][] = [
    [
      'a voucher code',
      'VODAFONE_GHA',
      { status: 'send_otp', display_text: 'Please dial *110# to generate a voucher code. Then input the voucher' },
      { kind: 'code', text: 'Please dial *110# to generate a voucher code. Then input the voucher' },
    ],
    [
      'a pay bill',
      'MPESA_PAYBILL_KEN',
      {
        reference: ref(),
        status: 'pay_offline',
        display_text: text,
        account_number: '4084333',
        account_reference: 1234567,
      },
      {
        kind: 'transfer',
        payTo: { kind: 'paybill', number: '4084333', name: 'Paystack', bank: null },
        accountReference: '1234567',
        expiresAt: new Date('2026-11-15T12:30:00.000Z'),
      },
    ],
    [
      'an account at a bank',
      'PESALINK_KEN',
      {
        reference: ref(),
        status: 'pending_bank_transfer',
        display_text: '…',
        account_name: 'Paystack Payments Kenya Limited',
        account_number: '1234567891',
        bank: { slug: 'dtbk-bank', name: 'Diamond Trust Bank Kenya Ltd', id: 225 },
        account_expires_at: '2026-11-15T16:55:57.954Z',
        amount: 10000,
        transaction_reference: '1234567',
      },
      {
        kind: 'transfer',
        payTo: {
          kind: 'bank_account',
          number: '1234567891',
          name: 'Paystack Payments Kenya Limited',
          bank: 'Diamond Trust Bank Kenya Ltd',
        },
        accountReference: '1234567',
        expiresAt: new Date('2026-11-15T16:55:57.954Z'),
      },
    ],
    [
      'a page',
      'ORANGE_CIV',
      { reference: ref(), url: 'https://standard.paystack.co/close', status: 'open_url' },
      {
        kind: 'redirect',
        url: 'https://standard.paystack.co/close',
        expiresAt: null,
      },
    ],
    ['no page', 'ORANGE_CIV', { reference: ref(), url: 'javascript:alert(1)', status: 'open_url' }, null],
    ['nothing yet', 'MTN_MOMO_GHA', { reference: ref(), status: 'pending' }, null],
    ['a birthday', 'BANK_NGA', { status: 'send_birthday', display_text: 'Please send your birthday' }, null],
    ['an address', 'BANK_NGA', { status: 'send_address', display_text: '…', country_code: 'CA' }, null],
  ];
  for (const [what, code, data, step] of steps)
    test(`the payer is asked for ${what}`, async () => {
      const call = { ...collectCall(code), reference: collection.reference };
      assert.deepEqual(await collect(charge(data), call), { state: 'pending', ...(step ? { step } : {}) });
    });

  test('a till without an account in the answer is that of the setting', async () => {
    const call = collectCall('MPESA_TILL_KEN');
    const observation = await collect(charge({ status: 'pay_offline', display_text: text }), call);
    const step = observation.state === 'pending' ? observation.step : undefined;
    assert.deepEqual(step?.kind === 'transfer' && step.payTo, {
      kind: 'till',
      number: '1234567',
      name: 'Paystack',
      bank: null,
    });
  });

  test('a charge may be paid at once', async () => {
    const data = transaction(collection.reference, { status: 'success' });
    assert.deepEqual(await collect(charge(data)), {
      state: 'succeeded',
      receipt: '59214',
      railReference: '59214',
      amount: 10_000n,
      currency: 'GHS',
    });
  });

  const failures: [object, string, string][] = [
    [charge({ status: 'failed', message: 'Error occured while enrolling you for OTP!' }), 'UNSPECIFIED', 'failed'],
    [
      { status: false, message: 'Charge attempted', data: { status: 'failed', message: 'Insufficient funds' } },
      'INSUFFICIENT_FUNDS',
      'failed',
    ],
    [charge({ status: 'timeout', message: '' }), 'PROMPT_EXPIRED', 'timeout'],
  ];
  for (const [body, failureCode, rawCode] of failures)
    test(`${JSON.stringify(body)} is ${failureCode}`, async () => {
      const observation = await collect(body);
      assert.ok(observation.state === 'failed');
      assert.deepEqual([observation.failureCode, observation.rawCode], [failureCode, rawCode]);
    });

  const refusals: [number, object, string][] = [
    [401, { status: false, message: 'Invalid key', code: 'invalid_Key' }, 'OPERATOR_UNAVAILABLE'],
    [401, { status: false, message: 'Invalid key' }, 'OPERATOR_UNAVAILABLE'],
    [400, { status: false, message: 'Email address is required for association with card' }, 'REJECTED_BY_OPERATOR'],
    [400, { status: false, message: 'no', type: 'validation_error', code: 'invalid_params' }, 'REJECTED_BY_OPERATOR'],
  ];
  for (const [status, body, failureCode] of refusals)
    test(`the refusal ${JSON.stringify(body)} is ${failureCode}`, async () => {
      const notFound = { status: 400, body: { status: false, message: 'Transaction reference not found.' } };
      operator.answer(({ method }) => (method === 'POST' ? { status, body } : notFound));
      const { observation } = await rail.collect(collection);
      assert.equal(observation.state === 'failed' && observation.failureCode, failureCode);
    });

  test('a refusal ends nothing that Paystack has taken before', async () => {
    const body = { status: false, message: 'Invalid key' };
    const data = transaction(collection.reference, { status: 'ongoing' });
    operator.answer(({ method }) => (method === 'POST' ? { status: 401, body } : { body: { status: true, data } }));
    assert.equal((await rail.collect(collection)).observation.state, 'pending');
    operator.answer({ status: 401, body });
    assert.equal((await rail.collect(collection)).observation.state, 'failed', 'a wrong key takes nothing');
  });

  const unknowns: [string, ScriptedAnswer | 'cut'][] = [
    ['a repeated reference', { status: 400, body: { status: false, message: 'Duplicate Transaction Reference' } }],
    ['a refusal of tomorrow', { status: 400, body: { status: false, message: 'The moon is full' } }],
    ['too many calls', { status: 429, body: { status: false, message: 'Invalid key' } }],
    ['an error', { status: 500, body: { status: false, message: 'Invalid key' } }],
    ["a proxy's page", { status: 401, body: '<html>' }],
    ['an answer about another charge', { body: charge({ reference: wireOf(newReference()), status: 'failed' }) }],
    ['a status of tomorrow', { body: charge({ reference: ref(), status: 'send_blood' }) }],
    ['a success without its reference', { body: charge({ status: 'success', amount: 10000, currency: 'GHS', id: 1 }) }],
    ['a success of no amount', { body: charge({ ...transaction(collection.reference), amount: '1.5' }) }],
    ['a closed connection', 'cut'],
  ];
  for (const [what, answer] of unknowns)
    test(`${what} is unknown`, async () => {
      operator.answer(answer);
      assert.equal((await rail.collect(collection)).observation.state, 'unknown');
    });
});

function transaction(reference: string, changes: object = {}): object {
  return {
    id: 59214,
    domain: 'test',
    status: 'success',
    reference: wireOf(reference),
    receipt_number: null,
    amount: 10_000,
    message: 'madePayment',
    gateway_response: 'Approved',
    paid_at: '2018-11-15T06:10:54.000Z',
    channel: 'mobile_money',
    currency: 'GHS',
    metadata: '',
    fees: 153,
    ...changes,
  };
}

describe('paystack: queries of collections', () => {
  async function verify(data: object, changes: Parameters<typeof queryCall>[1] = {}): Promise<Observation> {
    operator.answer({ body: { status: true, message: 'Verification successful', data } });
    return (await rail.query(queryCall(collection, { submittedAt: clock.now(), ...changes }))).observation;
  }

  test('success, with amounts as text or number', async () => {
    for (const amount of [10_000, '10000'])
      assert.deepEqual(await verify(transaction(collection.reference, { amount })), {
        state: 'succeeded',
        receipt: '59214',
        railReference: '59214',
        amount: 10_000n,
        currency: 'GHS',
      });
    assert.equal(lastRequest()?.path, `/transaction/verify/${wireOf(collection.reference)}`);
  });

  test('the receipt of M-PESA is its own code', async () => {
    const kes = { currency: 'KES', receipt_number: 'SKE1ABC234' };
    const observation = await verify(transaction(collection.reference, kes));
    assert.equal(observation.state === 'succeeded' && observation.receipt, 'SKE1ABC234');
    const without = await verify(transaction(collection.reference, { currency: 'KES' }));
    assert.equal(without.state === 'succeeded' && without.receipt, '59214');
  });

  for (const status of ['ongoing', 'pending', 'processing', 'queued', 'abandoned'])
    test(`${status} is pending`, async () => {
      assert.deepEqual(await verify(transaction(collection.reference, { status })), { state: 'pending' });
    });

  test('abandoned becomes expired when nobody would pay any more', async () => {
    const data = transaction(collection.reference, {
      status: 'abandoned',
      gateway_response: 'The transaction was not completed',
    });
    const hoursAgo = (hours: number) => new Date(clock.millis() - hours * 3_600_000);
    const observation = await verify(data, { submittedAt: hoursAgo(2) });
    assert.equal(observation.state === 'failed' && observation.failureCode, 'PROMPT_EXPIRED');
    const method = methodOf('BANK_NGA');
    assert.equal((await verify(data, { method, submittedAt: hoursAgo(2) })).state, 'pending');
    assert.equal((await verify(data, { method, submittedAt: hoursAgo(13) })).state, 'failed');
  });

  const reasons: [object, string][] = [
    [{ gateway_response: 'Insufficient funds' }, 'INSUFFICIENT_FUNDS'],
    [{ gateway_response: 'x', gateway_response_code: 'insufficient_funds' }, 'INSUFFICIENT_FUNDS'],
    [{ gateway_response: 'Declined' }, 'REJECTED_BY_OPERATOR'],
    [{ gateway_response: 'Transaction rejected by customer' }, 'PAYER_CANCELLED'],
    [{ gateway_response: '', gateway_response_code: 'customer_cancellation' }, 'PAYER_CANCELLED'],
    [{ gateway_response: 'Transaction timed out' }, 'PROMPT_EXPIRED'],
    [{ gateway_response: 'Wrong PIN entered' }, 'WRONG_PIN'],
    [{ gateway_response: '', gateway_response_code: 'issuer_or_switch_inoperative' }, 'OPERATOR_UNAVAILABLE'],
    [{ gateway_response: '', gateway_response_code: 'processing_error' }, 'UNSPECIFIED'],
    [{ gateway_response: null }, 'UNSPECIFIED'],
  ];
  for (const [reason, failureCode] of reasons)
    test(`failed with ${JSON.stringify(reason)} is ${failureCode}`, async () => {
      const observation = await verify(
        transaction(collection.reference, { status: 'failed', ...reason, message: null }),
      );
      assert.equal(observation.state === 'failed' && observation.failureCode, failureCode);
    });

  test('only Paystack itself says that it knows no reference', async () => {
    const body = { status: false, message: 'Transaction reference not found.' };
    for (const status of [200, 400, 404]) {
      operator.answer({ status, body });
      const { observation } = await rail.query(queryCall(collection));
      assert.equal(observation.state === 'unknown' && observation.definitelyNotFound, true);
    }
    const others: ScriptedAnswer[] = [
      { status: 404, body: '<html>' },
      { status: 500, body },
      { status: 401, body: { status: false, message: 'Invalid key' } },
      { status: 400, body: { status: false, message: 'Invalid key' } },
      { body: { status: true, data: transaction(newReference()) } },
      { body: { status: true, data: transaction(collection.reference, { status: 'paid' }) } },
      { body: { status: true, data: transaction(collection.reference, { domain: 'live' }) } },
      { body: { status: true, data: transaction(collection.reference, { amount: 0 }) } },
      { body: { status: true, data: transaction(collection.reference, { currency: 'cedi' }) } },
    ];
    for (const answer of others) {
      operator.answer(answer);
      const { observation } = await rail.query(queryCall(collection));
      assert.equal(observation.state, 'unknown', JSON.stringify(answer.body));
      assert.ok(!('definitelyNotFound' in observation));
    }
  });

  test('a refund of ours never takes back the collection; a chargeback does', async () => {
    assert.equal((await verify(transaction(collection.reference, { status: 'reversal pending' }))).state, 'succeeded');
    const reversed = { status: true, data: transaction(collection.reference, { status: 'reversed' }) };
    let disputes: ScriptedAnswer = { status: 500, body: '' };
    const state = async (refunds: ScriptedAnswer) => {
      operator.answer(({ path }) => {
        if (path.startsWith('/refund')) return refunds;
        return path === '/dispute/transaction/59214' ? disputes : { body: reversed };
      });
      return (await rail.query(queryCall(collection))).observation.state;
    };
    const ours = {
      id: 1,
      transaction: 59214,
      status: 'processed',
      merchant_note: 'RF_01J00000000000000000000000',
      amount: 10_000,
      currency: 'GHS',
    };
    const listed = (...data: object[]) => state({ body: { status: true, data } });
    assert.equal(await listed(ours), 'succeeded');
    assert.equal(await listed({ ...ours, transaction: { id: 59214 } }), 'succeeded');
    assert.equal(await listed({ ...ours, transaction: 1 }), 'reversed');
    assert.equal(await listed({ ...ours, merchant_note: 'by hand' }), 'reversed');
    assert.equal(await listed({ ...ours, status: 'failed' }), 'reversed', 'nothing was given back');
    assert.equal(await listed({ ...ours, amount: 'all' }), 'unknown');
    // Refunds explain a part; the disputes tell about the rest.
    const part = { ...ours, amount: 4_000 };
    assert.equal(await listed(part, { ...part, id: 2, amount: 6_000 }), 'succeeded');
    const dispute = (status: string, resolution: string | null) => ({ status: true, data: [{ status, resolution }] });
    disputes = { body: dispute('resolved', 'merchant-accepted') };
    assert.equal(await listed(part), 'reversed');
    disputes = { body: dispute('resolved', 'declined') };
    assert.equal(await listed(part), 'succeeded');
    disputes = { body: { status: true, data: [] } };
    assert.equal(await listed(part), 'succeeded');
    disputes = { status: 404, body: { status: false, message: 'not found' } };
    assert.equal(await listed(part), 'unknown');
    assert.equal(await state({ status: 500, body: '' }), 'unknown');
  });
});

describe('paystack: codes of the payer', () => {
  const voucher = collectCall('VODAFONE_GHA', { reference: collection.reference });
  const submitCode = async (answer: ScriptedAnswer) => {
    operator.answer(answer);
    const { direction: _d, receipt: _r, ...call } = queryCall(voucher);
    return (await rail.submitCode?.({ ...call, msisdn: voucher.msisdn, code: '123456' }))?.observation;
  };

  test('the code is handed over', async () => {
    const data = { reference: wireOf(collection.reference), status: 'pay_offline', display_text: 'Wait' };
    assert.equal((await submitCode({ body: charge(data) }))?.state, 'pending');
    assert.equal(lastRequest()?.path, '/charge/submit_otp');
    assert.deepEqual(lastRequest()?.json, { otp: '123456', reference: wireOf(collection.reference) });
  });

  test('a wrong code is asked for again', async () => {
    const again = { reference: wireOf(collection.reference), status: 'send_otp', display_text: 'Wrong voucher' };
    for (const answer of [{ body: charge(again) }, { status: 400, body: { status: false, message: 'Invalid OTP' } }]) {
      const observation = await submitCode(answer);
      assert.equal(observation?.state === 'pending' && observation.step?.kind, 'code');
    }
  });

  const refusals: [number, object][] = [
    [400, { status: false, message: 'Transaction reference is invalid' }],
    [400, { status: false, message: 'Charge is already completed', code: 'invalid_params' }],
    [401, { status: false, message: 'Invalid key', code: 'invalid_Key' }],
  ];
  for (const [status, body] of refusals)
    test(`${status} ${JSON.stringify(body)} refuses the call and says nothing about the charge`, async () => {
      assert.equal((await submitCode({ status, body }))?.state, 'unknown');
    });
});

describe('paystack: payouts', () => {
  const payout = payoutCall('MTN_MOMO_GHA', { amount: 100_000n, msisdn: '233551234987', recipientName: 'Abina Nana' });
  const transfer = (changes: object = {}) => ({
    id: 860703114,
    domain: 'test',
    amount: 100_000,
    currency: 'GHS',
    reference: payout.reference.toLowerCase(),
    status: 'pending',
    transfer_code: 'TRF_1aqrqhoomp0rjro',
    failures: null,
    gateway_response: null,
    session: { provider: null, id: null },
    ...changes,
  });

  test('a recipient is made first, and kept', async () => {
    operator.answer({ status: 201, body: { status: true, message: 'created', data: { recipient_code: 'RCP_1' } } });
    assert.deepEqual(await rail.prepare?.(payout, 'payout'), { prepared: { recipient: 'RCP_1' } });
    assert.equal(lastRequest()?.path, '/transferrecipient');
    assert.deepEqual(lastRequest()?.json, {
      type: 'mobile_money',
      name: 'Abina Nana',
      account_number: '0551234987',
      bank_code: 'MTN',
      currency: 'GHS',
    });
    assert.deepEqual(await rail.prepare?.(collection, 'collection'), { prepared: {} });
  });

  const recipients: [string, string, object][] = [
    [
      'MPESA_KEN',
      '254710000000',
      { type: 'mobile_money', account_number: '0710000000', bank_code: 'MPESA', currency: 'KES' },
    ],
    [
      'VODAFONE_GHA',
      '233201234567',
      { type: 'mobile_money', account_number: '0201234567', bank_code: 'VOD', currency: 'GHS' },
    ],
    [
      'AIRTELTIGO_GHA',
      '233271234567',
      { type: 'mobile_money', account_number: '0271234567', bank_code: 'ATL', currency: 'GHS' },
    ],
    [
      'BANK_NGA',
      '2348012345678',
      { type: 'nuban', account_number: '8012345678', bank_code: '999992', currency: 'NGN' },
    ],
    ['BANK_NGA', '0123456789', { type: 'nuban', account_number: '0123456789', bank_code: '999992', currency: 'NGN' }],
    ['PESALINK_KEN', '0123456789', { type: 'kepss', account_number: '0123456789', bank_code: '68', currency: 'KES' }],
  ];
  for (const [code, msisdn, body] of recipients)
    test(`${code} is paid to ${JSON.stringify(body)}`, async () => {
      operator.answer({ body: { status: true, data: { recipient_code: 'RCP_1' } } });
      await rail.prepare?.(payoutCall(code, { msisdn, recipientName: null }), 'payout');
      const { name, ...rest } = lastRequest()?.json ?? {};
      assert.deepEqual(rest, body);
      assert.match(name, /^Customer \d+$/);
    });

  test('a recipient that Paystack refuses ends the payout; no answer does not', async () => {
    const prepare = async (answer: ScriptedAnswer | 'cut') => {
      operator.answer(answer);
      const reply = await rail.prepare?.(payout, 'payout');
      assert.ok(reply && 'observation' in reply);
      return reply.observation;
    };
    const refused = await prepare({ status: 400, body: { status: false, message: 'Cannot resolve account' } });
    assert.equal(refused.state === 'failed' && refused.failureCode, 'RECIPIENT_NOT_FOUND');
    const locked = await prepare({ status: 401, body: { status: false, message: 'Invalid key' } });
    assert.equal(locked.state === 'failed' && locked.failureCode, 'OPERATOR_UNAVAILABLE');
    for (const answer of [
      'cut',
      { status: 500, body: 'x' },
      { status: 429, body: { status: false } },
      { body: '{}' },
    ] as const)
      assert.equal((await prepare(answer)).state, 'unknown');
  });

  const send = async (answer: ScriptedAnswer | 'cut') => {
    operator.answer(answer);
    return (await rail.payout({ ...payout, prepared: { recipient: 'RCP_1' } })).observation;
  };

  test('a transfer is sent as documented', async () => {
    const observation = await send({ body: { status: true, message: 'Transfer has been queued', data: transfer() } });
    assert.deepEqual(observation, { state: 'pending', railReference: 'TRF_1aqrqhoomp0rjro' });
    assert.equal(lastRequest()?.path, '/transfer');
    assert.deepEqual(lastRequest()?.json, {
      source: 'balance',
      amount: 100_000,
      recipient: 'RCP_1',
      reference: payout.reference.toLowerCase(),
      reason: 'Shop',
      currency: 'GHS',
    });
  });

  test('without a stored recipient one is made', async () => {
    operator.answer(({ path }) => ({
      body: { status: true, data: path === '/transferrecipient' ? { recipient_code: 'RCP_9' } : transfer() },
    }));
    assert.equal((await rail.payout(payout)).observation.state, 'pending');
    assert.equal(lastRequest()?.json.recipient, 'RCP_9');
  });

  const statuses: [string, string, string | null][] = [
    ['otp', 'pending', null],
    ['received', 'pending', null],
    ['success', 'succeeded', null],
    ['failed', 'failed', 'UNSPECIFIED'],
    ['reversed', 'reversed', null],
    ['abandoned', 'failed', 'REJECTED_BY_OPERATOR'],
    ['blocked', 'failed', 'REJECTED_BY_OPERATOR'],
    ['rejected', 'failed', 'REJECTED_BY_OPERATOR'],
    ['queued', 'unknown', null],
    ['tomorrow', 'unknown', null],
  ];
  for (const [status, state, failureCode] of statuses)
    test(`a transfer that is ${status} is ${state}`, async () => {
      const body = { status: true, message: 'Transfer retrieved', data: transfer({ status }) };
      const started = await send({ body });
      const { observation } = await rail.query(queryCall(payout, { direction: 'payout' }));
      assert.equal(lastRequest()?.path, `/transfer/verify/${payout.reference.toLowerCase()}`);
      for (const each of [started, observation]) {
        assert.equal(each.state, state);
        if (each.state === 'failed') assert.equal(each.failureCode, failureCode);
        if (each.state === 'succeeded' || each.state === 'reversed') {
          assert.deepEqual([each.receipt, each.amount, each.currency], ['TRF_1aqrqhoomp0rjro', 100_000n, 'GHS']);
        }
      }
    });

  const duplicate = {
    status: false,
    message: 'Please provide a unique reference. Reference already exists on a transfer',
    meta: { nextStep: 'Create a new reference for the new transfer' },
    type: 'validation_error',
    code: 'duplicate_transfer_reference',
  };
  const refusals: [number, object, string, string | null][] = [
    [400, duplicate, 'unknown', null],
    [404, duplicate, 'unknown', null],
    [
      400,
      { status: false, message: 'Your balance is not enough to fulfil this request' },
      'failed',
      'FLOAT_INSUFFICIENT',
    ],
    [400, { status: false, message: 'no', code: 'insufficient_balance' }, 'failed', 'FLOAT_INSUFFICIENT'],
    [400, { status: false, message: 'no', code: 'invalid_transfer_recipient' }, 'failed', 'RECIPIENT_NOT_FOUND'],
    [
      400,
      { status: false, message: 'You cannot initiate third party payouts as a starter business' },
      'failed',
      'REJECTED_BY_OPERATOR',
    ],
    [401, { status: false, message: 'Invalid key', code: 'invalid_Key' }, 'failed', 'OPERATOR_UNAVAILABLE'],
    [404, { status: false, message: 'Something else' }, 'unknown', null],
    [503, { status: false, message: 'Invalid key' }, 'unknown', null],
  ];
  for (const [status, body, state, failureCode] of refusals)
    test(`a transfer refused with ${status} ${JSON.stringify(body)} is ${failureCode ?? state}`, async () => {
      const notFound = { status: 404, body: { status: false, message: 'Transfer not found' } };
      operator.answer(({ method }) => (method === 'POST' ? { status, body } : notFound));
      const { observation } = await rail.payout({ ...payout, prepared: { recipient: 'RCP_1' } });
      assert.equal(observation.state, state);
      if (observation.state === 'failed') assert.equal(observation.failureCode, failureCode);
    });

  test('404 is not found only in the words of Paystack', async () => {
    operator.answer({ status: 404, body: { status: false, message: 'Transfer not found' } });
    const { observation } = await rail.query(queryCall(payout, { direction: 'payout' }));
    assert.equal(observation.state === 'unknown' && observation.definitelyNotFound, true);
    operator.answer({ status: 404, body: '<html>' });
    assert.ok(!('definitelyNotFound' in (await rail.query(queryCall(payout, { direction: 'payout' }))).observation));
  });
});

describe('paystack: refunds', () => {
  const refund = refundCall(collection, { amount: 5_000n });
  const row = (changes: object = {}) => ({
    id: 3018284,
    status: 'pending',
    amount: 5_000,
    currency: 'GHS',
    transaction: 59214,
    merchant_note: refund.reference,
    ...changes,
  });
  const answerWith = (rows: object[], created: ScriptedAnswer | 'cut') => {
    operator.requests.length = 0;
    operator.answer(({ method }) => (method === 'GET' ? { body: { status: true, data: rows } } : created));
  };
  const posts = () => operator.requests.filter(({ method }) => method === 'POST');

  test('a refund is sent once, and found again by its note', async () => {
    answerWith([row({ id: 1, merchant_note: 'another' })], {
      body: { status: true, data: row({ transaction: { id: 59214 } }) },
    });
    assert.deepEqual((await rail.refund?.(refund))?.observation, { state: 'pending', railReference: '3018284' });
    assert.deepEqual(posts()[0]?.json, {
      transaction: wireOf(collection.reference),
      amount: 5_000,
      currency: 'GHS',
      merchant_note: refund.reference,
      customer_note: 'Shop',
    });
    answerWith([row()], { body: {} });
    assert.deepEqual((await rail.refund?.(refund))?.observation, { state: 'pending', railReference: '3018284' });
    assert.equal(posts().length, 0, 'nothing is sent again');
  });

  test('it is searched for since it was made, however long ago that was', async () => {
    const made = Date.now();
    clock.set(new Date(made + 60 * 86_400_000));
    answerWith([row()], 'cut');
    await rail.refund?.(refund);
    const query = queryCall({ ...collection, reference: refund.reference }, { direction: 'refund' });
    await rail.query({ ...query, submittedAt: clock.now() });
    for (const { path } of operator.requests)
      assert.ok(new Date(new URLSearchParams(path.split('?')[1]).get('from') ?? '').getTime() < made, path);
    assert.equal(operator.requests.length, 2);
  });

  test('nothing is sent while the list cannot be read', async () => {
    operator.answer({ status: 500, body: '' });
    operator.requests.length = 0;
    assert.equal((await rail.refund?.(refund))?.observation.state, 'unknown');
    assert.equal(posts().length, 0);
  });

  test('every page of the list is read', async () => {
    const page = Array.from({ length: 100 }, (_, i) => row({ id: i + 1, merchant_note: `other ${i}` }));
    operator.requests.length = 0;
    operator.answer(({ path }) => ({ body: { status: true, data: path.includes('page=3') ? [row()] : page } }));
    assert.equal((await rail.refund?.(refund))?.observation.state, 'pending');
    assert.equal(operator.requests.length, 3);
    assert.equal(posts().length, 0);
  });

  const ends: [object, string][] = [
    [{ status: 'pending' }, 'pending'],
    [{ status: 'processing' }, 'pending'],
    [{ status: 'needs-attention' }, 'pending'],
    [{ status: 'processed', amount: '5000' }, 'succeeded'],
    [{ status: 'failed' }, 'failed'],
    [{ status: 'tomorrow' }, 'unknown'],
    [{ status: 'processed', amount: null }, 'unknown'],
  ];
  for (const [changes, state] of ends)
    test(`a refund with ${JSON.stringify(changes)} is ${state}`, async () => {
      answerWith([row(changes)], 'cut');
      const query = queryCall({ ...collection, reference: refund.reference, amount: 5_000n }, { direction: 'refund' });
      const listed = (await rail.query(query)).observation;
      operator.answer({ body: { status: true, data: row(changes) } });
      const fetched = (await rail.query({ ...query, railReference: '3018284' })).observation;
      assert.equal(lastRequest()?.path, '/refund/3018284');
      for (const observation of [listed, fetched]) {
        assert.equal(observation.state, state);
        if (observation.state === 'succeeded')
          assert.deepEqual([observation.receipt, observation.amount, observation.currency], ['3018284', 5_000n, 'GHS']);
      }
    });

  test('a lost answer is unknown for a day, because the list may lag', async () => {
    answerWith([], 'cut');
    assert.equal((await rail.refund?.(refund))?.observation.state, 'unknown');
    const query = queryCall(
      { ...collection, reference: refund.reference },
      { direction: 'refund', submittedAt: clock.now() },
    );
    assert.ok(!('definitelyNotFound' in (await rail.query(query)).observation));
    clock.advance(25 * 3_600_000);
    const { observation } = await rail.query(query);
    assert.equal(observation.state === 'unknown' && observation.definitelyNotFound, true);
  });

  const refusals: [number, string, string][] = [
    [400, 'Transaction has been fully reversed', 'failed'],
    [400, 'Refund amount cannot be more than transaction amount', 'failed'],
    [404, 'Transaction not found', 'failed'],
    [400, 'The moon is full', 'unknown'],
    [500, 'Transaction has been fully reversed', 'unknown'],
  ];
  for (const [status, message, state] of refusals)
    test(`a refund refused with ${status} "${message}" is ${state}`, async () => {
      answerWith([], { status, body: { status: false, message } });
      assert.equal((await rail.refund?.(refund))?.observation.state, state);
    });
});

function webhook(event: object, key = KEY): CallbackReading[] {
  const body = Buffer.from(JSON.stringify(event));
  const signature = createHmac('sha512', key).update(body).digest('hex');
  return rail.readCallback({
    method: 'POST',
    host: 'pay.example.com',
    path: '/operators/paystack',
    remoteAddress: '52.31.139.75',
    headers: { 'x-paystack-signature': signature },
    body,
  });
}

describe('paystack: webhooks', () => {
  test('charge.success is proof', () => {
    assert.deepEqual(webhook({ event: 'charge.success', data: transaction(collection.reference) }), [
      {
        kind: 'proof',
        reference: collection.reference,
        direction: 'collection',
        observation: { state: 'succeeded', receipt: '59214', railReference: '59214', amount: 10_000n, currency: 'GHS' },
      },
    ]);
    const bank = transaction(collection.reference, { channel: 'bank_transfer', currency: 'KES', metadata: 0 });
    const [reading] = webhook({ event: 'charge.success', data: bank });
    assert.ok(reading?.kind === 'proof' && reading.observation.state === 'succeeded');
    assert.equal(reading.observation.receipt, '59214');
  });

  test('the code of M-PESA is asked for when the event lacks it', () => {
    const kes = (changes: object) => transaction(collection.reference, { currency: 'KES', ...changes });
    const readings = webhook({ event: 'charge.success', data: kes({}) });
    assert.deepEqual(
      readings.map(({ kind }) => kind),
      ['proof', 'hint'],
    );
    const [reading] = webhook({ event: 'charge.success', data: kes({ receipt_number: 'SKE1ABC234' }) });
    assert.ok(reading?.kind === 'proof' && reading.observation.state === 'succeeded');
    assert.equal(reading.observation.receipt, 'SKE1ABC234');
  });

  const transferEvent = (status: string, changes: object = {}) => {
    const reference = newReference();
    const data = {
      amount: 100_000,
      currency: 'NGN',
      domain: 'test',
      failures: null,
      id: 860703114,
      reference: reference.toLowerCase(),
      status,
      transfer_code: 'TRF_v5tip3zx8nna9o78',
      session: { provider: 'nip', id: '74849400998877667' },
      gateway_response: null,
      ...changes,
    };
    return { reference, readings: webhook({ event: `transfer.${status}`, data }) };
  };

  test('transfers succeed, fail and are reversed', () => {
    const success = transferEvent('success');
    const money = { amount: 100_000n, currency: 'NGN' };
    assert.deepEqual(success.readings, [
      {
        kind: 'proof',
        reference: success.reference,
        direction: 'payout',
        observation: {
          state: 'succeeded',
          receipt: 'TRF_v5tip3zx8nna9o78',
          railReference: 'TRF_v5tip3zx8nna9o78',
          ...money,
        },
      },
    ]);
    const [reversed] = transferEvent('reversed').readings;
    assert.equal(reversed?.kind === 'proof' && reversed.observation.state, 'reversed');
    // The event gives no reason, so verify is asked for one.
    const failed = transferEvent('failed');
    assert.deepEqual(failed.readings, [{ kind: 'hint', reference: failed.reference }]);
    const [withReason] = transferEvent('failed', { gateway_response: 'Account blocked' }).readings;
    assert.equal(withReason?.kind === 'proof' && withReason.observation.state, 'failed');
  });

  test('refunds and disputes are a reason to ask', () => {
    const event = (changes: object) => ({
      event: 'refund.processed',
      data: {
        status: 'processed',
        transaction_reference: wireOf(collection.reference),
        amount: '5000',
        domain: 'test',
        ...changes,
      },
    });
    const refund = refundCall(collection).reference;
    assert.deepEqual(webhook(event({})), [{ kind: 'hint', reference: collection.reference }]);
    assert.deepEqual(webhook(event({ merchant_note: refund })), [{ kind: 'hint', reference: refund }]);
    const transactionOf = { transaction: { reference: wireOf(collection.reference), status: 'reversed' } };
    assert.deepEqual(webhook({ event: 'charge.dispute.resolve', data: transactionOf }), [
      { kind: 'hint', reference: collection.reference },
    ]);
  });

  test('disputes have their number, amount, reason and deadline; only a reversed charge is a loss', () => {
    const event = (name: string, changes: object = {}) => ({
      event: `charge.dispute.${name}`,
      data: {
        id: 358950,
        refund_amount: 5_800,
        currency: 'GHS',
        status: 'awaiting-merchant-feedback',
        resolution: null,
        domain: 'test',
        transaction: { reference: wireOf(collection.reference), status: 'success' },
        transaction_reference: null,
        category: 'chargeback',
        dueAt: '2026-11-25T18:00:00.000Z',
        messages: [{ sender: 'payer@example.com', body: 'Never delivered' }],
        ...changes,
      },
    });
    const notice = {
      id: '358950',
      state: 'open',
      amount: 5_800n,
      currency: 'GHS',
      reason: 'Never delivered',
      message: 'Paystack: awaiting-merchant-feedback.',
      answerBy: new Date('2026-11-25T18:00:00.000Z'),
    };
    const { reference } = collection;
    for (const name of ['create', 'remind'])
      assert.deepEqual(webhook(event(name)), [{ kind: 'dispute', reference, notice }]);
    const stateOf = (changes: object) => {
      const [reading] = webhook(event('resolve', { status: 'resolved', ...changes }));
      return reading?.kind === 'dispute' ? [reading.notice.state, reading.notice.message] : reading?.kind;
    };
    assert.deepEqual(stateOf({ resolution: 'declined' }), ['ended', 'Paystack: resolved, declined.']);
    const reversed = { transaction: { reference: wireOf(reference), status: 'reversed' } };
    assert.deepEqual(stateOf({ resolution: 'auto-accepted', ...reversed })?.[0], 'lost');
    const whole = webhook(event('create', { refund_amount: null, messages: [], dueAt: 'soon' }))[0];
    assert.deepEqual(whole?.kind === 'dispute' && whole.notice, {
      ...notice,
      amount: null,
      currency: null,
      reason: 'chargeback',
      answerBy: null,
    });
    for (const wrong of [{ id: null }, { refund_amount: -1 }, { currency: 'shillings' }])
      assert.deepEqual(webhook(event('create', wrong)), [{ kind: 'hint', reference }], JSON.stringify(wrong));
  });

  test('other events are nothing', () => {
    const rejectedTransfer = { amount: '1000', message: 'incorrect amount sent', message_type: 'INCORRECT_AMOUNT' };
    for (const event of [
      {
        event: 'bank.transfer.rejected',
        data: { bank_transfer: rejectedTransfer, customer: { email: 'user@example.com' } },
      },
      { event: 'customeridentification.success', data: {} },
      { event: 'subscription.create', data: {} },
    ])
      assert.equal(webhook(event)[0]?.kind, 'nothing');
  });

  test('events that cannot be right', () => {
    const wrong = [{ domain: 'live' }, { amount: -1 }, { currency: null }, { reference: '' }, { id: null }];
    for (const changes of wrong) {
      const [reading] = webhook({ event: 'charge.success', data: transaction(collection.reference, changes) });
      assert.ok(reading?.kind === 'rejected' && reading.authenticated, JSON.stringify(changes));
    }
    const [other] = webhook({
      event: 'charge.success',
      data: transaction(collection.reference, { reference: 'gf4n3ykzj6a7u89' }),
    });
    assert.equal(other?.kind === 'proof' && other.reference, 'gf4n3ykzj6a7u89', 'money that we do not know is kept');
  });

  test('only the secret key signs, and the one before it', async () => {
    const event = { event: 'charge.success', data: transaction(collection.reference) };
    assert.equal(webhook(event, 'sk_test_other')[0]?.kind, 'rejected');
    assert.equal(webhook(event, '')[0]?.kind, 'rejected');
    await open({ previous_secret_key: 'sk_test_other' });
    assert.equal(webhook(event, 'sk_test_other')[0]?.kind, 'proof');
    const request = {
      method: 'POST',
      host: 'x',
      path: '/operators/paystack',
      remoteAddress: null,
      body: Buffer.from('{}'),
    };
    assert.deepEqual(rail.readCallback({ ...request, headers: {} }), [
      { kind: 'rejected', reason: 'the callback is not signed' },
    ]);
  });

  test('no event makes the rail throw, and no unsigned one counts', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.constantFrom('charge.success', 'transfer.failed', 'refund.processed', 'x'),
        (json, event) => {
          const readings = webhook({ event, data: JSON.parse(json) });
          assert.ok(readings.length > 0);
        },
      ),
    );
  });
});

describe('paystack: account', () => {
  test('capabilities follow the method, the direction and the settings', async () => {
    const of = (code: string, direction: 'collection' | 'payout') => rail.capabilitiesOf(methodOf(code), direction);
    assert.equal(of('MTN_MOMO_GHA', 'collection')?.refunds, 'partial');
    assert.equal(of('ORANGE_CIV', 'collection')?.refunds, 'none');
    assert.equal(of('ORANGE_CIV', 'payout'), null);
    assert.equal(of('MPESA_TILL_KEN', 'payout'), null);
    assert.ok(of('BANK_NGA', 'payout'));
    assert.equal(of('MTN_MOMO_UGA', 'collection'), null);
    await open({ nigerian_bank_code: '', till_number: '' });
    assert.equal(of('BANK_NGA', 'payout'), null);
    assert.equal(of('MPESA_TILL_KEN', 'collection'), null);
    assert.equal(rail.verificationFor(methodOf('BANK_NGA'), ''), 'instructions');
    assert.equal(rail.verificationFor(methodOf('VODAFONE_GHA'), ''), 'prompt');
  });

  test('balances and the name of a number', async () => {
    operator.answer({
      body: {
        status: true,
        data: [
          { currency: 'NGN', balance: 1700000 },
          { currency: 'KES', balance: -5 },
        ],
      },
    });
    assert.deepEqual(await rail.balance?.(), {
      balances: [
        { account: 'balance', currency: 'NGN', available: 1_700_000n },
        { account: 'balance', currency: 'KES', available: -5n },
      ],
    });
    operator.answer({ status: 401, body: { status: false, message: 'Invalid key' } });
    assert.deepEqual(await rail.balance?.(), { error: 'Invalid key' });
    operator.answer({ body: { status: true, data: { account_name: 'ABINA NANA' } } });
    const name = (code: string) => rail.lookUpName?.({ msisdn: '233551234987', method: methodOf(code) });
    assert.equal(await name('MTN_MOMO_GHA'), 'ABINA NANA');
    assert.equal(lastRequest()?.path, '/bank/resolve?account_number=0551234987&bank_code=MTN');
    assert.equal(await name('BANK_NGA'), null);
    operator.answer('cut');
    assert.equal(await name('MTN_MOMO_GHA'), null);
  });

  test('the check names what is missing', async () => {
    const problems = async () => (await rail.check()).flatMap(({ problem }) => (problem === null ? [] : [problem]));
    operator.answer({ body: { status: true, data: [] } });
    assert.deepEqual(await problems(), []);
    await open({ till_number: '', xof_factor: '', nigerian_bank_code: '', kenyan_bank_code: '' });
    const found = (await problems()).join(' ');
    for (const setting of ['till_number', 'xof_factor', 'nigerian_bank_code', 'kenyan_bank_code'])
      assert.match(found, new RegExp(setting));
    await open({ secret_key: 'sk_live_0123456789' });
    assert.match((await problems())[0] ?? '', /production/);
    await open({});
    operator.answer({ status: 401, body: { status: false, message: 'Invalid key' } });
    assert.match((await problems())[0] ?? '', /refuses the secret key/);
  });

  test('no answer is ever read as an end that it does not say', async () => {
    const query = queryCall(collection);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.constant('{"status":true,"data":{"status":null}}')),
        fc.constantFrom(200, 201, 400, 401, 403, 404, 409, 429, 500, 503),
        async (body, status) => {
          operator.answer({ status, body });
          for (const reply of [
            await rail.collect(collection),
            await rail.payout(payoutCall('MTN_MOMO_GHA', { prepared: { recipient: 'RCP_1' } })),
            await rail.refund?.(refundCall(collection)),
            await rail.query(query),
            await rail.query({ ...query, direction: 'payout' }),
            await rail.query({ ...query, direction: 'refund' }),
          ])
            assert.equal(reply?.observation.state, 'unknown');
        },
      ),
      { numRuns: 15 },
    );
  });

  test('no secret is kept in evidence', async () => {
    await open({ previous_secret_key: 'sk_test_the_one_before' });
    operator.answer(({ headers }) => ({
      status: 500,
      body: `${String(headers.authorization)} sk_test_the_one_before`,
    }));
    const replies = [await rail.collect(collection), await rail.query(queryCall(collection))];
    const kept = JSON.stringify([replies.map(({ raw }) => raw), connection.calls]);
    assert.ok(connection.calls.length >= 2);
    assert.ok(!kept.includes(KEY) && !kept.includes('the_one_before'));
  });
});
