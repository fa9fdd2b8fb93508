import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { collectCall, payoutCall, queryCall } from '../../test/rail-calls.ts';
import { testConnection } from '../../test/rail-connection.ts';
import { type ScriptedAnswer, type ScriptedOperator, startScriptedOperator } from '../../test/scripted-operator.ts';
import { callResult } from './breakers.ts';
import { orangeMoneyRail } from './orange-money.ts';
import type { Observation, Prepared, Rail } from './rail.ts';
import { compactOf } from './wire-ids.ts';

const MINUTE_MS = 60_000;
const SECRETS = {
  client_secret: 'very-secret-value',
  merchant_key: 'merchant-key-value',
  api_password: 'api-password-value',
  channel_pin: '482913',
  callback_secret: 'callback-secret-value',
};
let operator: ScriptedOperator;

before(async () => {
  operator = await startScriptedOperator();
});
after(() => operator[Symbol.asyncDispose]());

/** A rail for one interface, and an operator that gives tokens and otherwise the answers of the test. */
function open(name: string, settings: Record<string, string> = {}) {
  const connection = testConnection(orangeMoneyRail, operator.url, {
    settings: { interface: name, ...SECRETS, ...settings },
  });
  const rail = orangeMoneyRail.open(connection);
  operator.requests.length = 0;
  return { connection, rail };
}

function say(answer: ScriptedAnswer | 'cut', others: Record<string, ScriptedAnswer> = {}): void {
  operator.answer(({ path }) => {
    if (path.endsWith('/token')) return { body: { access_token: 'secret-token', expires_in: 299 } };
    return others[path] ?? answer;
  });
}

const lastBody = () => operator.requests.at(-1)?.json as Record<string, unknown>;

describe('web payment', () => {
  const call = collectCall('ORANGE_CIV');
  const page = {
    status: 201,
    message: 'OK',
    pay_token: 'pay-token-1',
    payment_url: 'https://webpayment.orange-money.com/payment/pay_token/1',
    notif_token: 'dd497bda3b250e536186fc0663f32f40',
  };

  async function prepare(rail: Rail): Promise<Prepared> {
    say({ status: 201, body: page });
    const reply = await rail.prepare?.(call, 'collection');
    assert.ok(reply && 'prepared' in reply);
    return reply.prepared;
  }

  test('the page is made first; the payer is sent there', async () => {
    const { rail, connection } = open('web_payment', { country_path: 'ci' });
    const prepared = await prepare(rail);
    const sent = lastBody();
    assert.equal(operator.requests.at(-1)?.path, '/orange-money-webpay/ci/v1/webpayment');
    assert.equal(sent.amount, 1_500);
    assert.equal(sent.notif_url, connection.addresses.url('page', call.reference));
    assert.match(String(sent.order_id), new RegExp(`^${compactOf(call.reference)}.{2}$`));
    const { observation } = await rail.collect({ ...call, prepared });
    assert.deepEqual(observation, {
      state: 'pending',
      railReference: 'pay-token-1',
      step: { kind: 'redirect', url: page.payment_url, expiresAt: null },
    });
  });

  test('a page that was lost is made again under another order', async () => {
    const { rail } = open('web_payment');
    say('cut');
    const lost = await rail.prepare?.(call, 'collection');
    assert.ok(lost && 'observation' in lost && lost.observation.state === 'unknown');
    const orders = [await prepare(rail), await prepare(rail)].map((prepared) => prepared.order_id);
    assert.notEqual(orders[0], orders[1]);
  });

  const statuses: [string, Observation['state'], string?][] = [
    ['INITIATED', 'pending'],
    ['PENDING', 'pending'],
    ['SUCCESS', 'succeeded'],
    ['EXPIRED', 'failed', 'PROMPT_EXPIRED'],
    ['FAILED', 'failed', 'UNSPECIFIED'],
    ['TOMORROW', 'unknown'],
  ];
  for (const [status, state, failureCode] of statuses)
    test(`status ${status}`, async () => {
      const { rail } = open('web_payment');
      const prepared = await prepare(rail);
      say({ body: { status, order_id: prepared.order_id, txnid: 'MP150709.1341.A00073' } });
      const { observation } = await rail.query(queryCall(call, { prepared }));
      assert.equal(observation.state, state);
      if (observation.state === 'failed') assert.equal(observation.failureCode, failureCode);
      if (observation.state === 'succeeded') assert.equal(observation.receipt, 'MP150709.1341.A00073');
      // After a crash between the page and the word of it, this is how the payer gets there.
      if (observation.state === 'pending') assert.ok(observation.step?.kind === 'redirect' && observation.step.url);
      assert.deepEqual(lastBody(), { order_id: prepared.order_id, amount: 1_500, pay_token: 'pay-token-1' });
    });

  test('a success of another order, or an error, says nothing', async () => {
    const { rail } = open('web_payment');
    const prepared = await prepare(rail);
    say({ body: { status: 'SUCCESS', order_id: 'other' } });
    assert.equal((await rail.query(queryCall(call, { prepared }))).observation.state, 'unknown');
    say({ status: 400, body: { code: 23, message: 'Missing body field' } });
    assert.equal((await rail.query(queryCall(call, { prepared }))).observation.state, 'unknown');
  });

  test('no page, no payment: a refusal is final', async () => {
    const { rail } = open('web_payment');
    say({ status: 400, body: { code: 23, message: 'Missing body field', description: 'merchant_key' } });
    const reply = await rail.prepare?.(call, 'collection');
    assert.ok(reply && 'observation' in reply && reply.observation.state === 'failed');
    assert.equal(rail.capabilitiesOf(call.method, 'payout'), null);
  });

  test('a notification is a reason to ask, and only at its own address', () => {
    const { rail, connection } = open('web_payment');
    const read = (path: string) =>
      rail.readCallback({
        method: 'POST',
        host: 'pay.example.com',
        path,
        remoteAddress: null,
        headers: {},
        body: Buffer.from(JSON.stringify({ status: 'SUCCESS', notif_token: page.notif_token })),
      })[0];
    const { pathname } = new URL(connection.addresses.url('page', call.reference));
    assert.deepEqual(read(pathname), { kind: 'hint', reference: call.reference });
    assert.equal(read('/operators/orange-money')?.kind, 'rejected');
  });
});

describe('Cameroon', () => {
  const call = collectCall('ORANGE_CMR', { amount: 100_00n });
  const PREPARED = { pay_token: 'MP22120771FEB7B21FD2381C3786' };
  const data = (changes: object) => ({
    message: 'Transaction retrieved successfully',
    data: {
      id: 48463325,
      createtime: '1670442691',
      subscriberMsisdn: '69XXXXXXX',
      amount: 100,
      payToken: PREPARED.pay_token,
      txnid: 'MP221207.2051.B56929',
      txnmode: call.reference.slice(-20),
      inittxnmessage: '…',
      inittxnstatus: '200',
      confirmtxnstatus: null,
      confirmtxnmessage: null,
      status: 'PENDING',
      ...changes,
    },
  });

  test('a token first, then the payment with it; the PIN is in no evidence', async () => {
    const { rail, connection } = open('cameroon');
    say({ body: { message: 'Payment request successfully initiated', data: { payToken: PREPARED.pay_token } } });
    const reply = await rail.prepare?.(call, 'collection');
    assert.deepEqual(reply, { prepared: PREPARED });
    say({ body: data({}) });
    const { observation } = await rail.collect({ ...call, prepared: PREPARED });
    assert.deepEqual(observation, { state: 'pending', railReference: PREPARED.pay_token });
    const sent = lastBody();
    assert.equal(sent.subscriberMsisdn, call.msisdn.slice(-9));
    assert.equal(sent.pin, SECRETS.channel_pin);
    assert.equal(String(sent.orderId).length, 20);
    assert.ok(!JSON.stringify(connection.calls).includes(SECRETS.channel_pin));
  });

  const answers: [string, object, Observation['state'], string?][] = [
    ['a success with the double L', { status: 'SUCCESSFULL', confirmtxnstatus: '200' }, 'succeeded'],
    ['not enough money', { status: 'FAILED', inittxnstatus: '60019', txnid: null }, 'failed', 'INSUFFICIENT_FUNDS'],
    ['a failure without a code', { status: 'FAILED' }, 'failed', 'UNSPECIFIED'],
    ['cancelled', { status: 'CANCELLED' }, 'failed', 'PAYER_CANCELLED'],
    ['another word', { status: 'SUCCESS' }, 'unknown'],
    ['another order', { status: 'SUCCESSFULL', txnmode: 'other' }, 'unknown'],
    ['a success without an amount', { status: 'SUCCESSFULL', amount: null }, 'unknown'],
  ];
  for (const [name, changes, state, failureCode] of answers)
    test(name, async () => {
      const { rail } = open('cameroon');
      say({ body: data(changes) });
      const { observation } = await rail.query(queryCall(call, { prepared: PREPARED }));
      assert.equal(observation.state, state);
      if (observation.state === 'failed') assert.equal(observation.failureCode, failureCode);
    });

  test('expired is believed ten minutes later', async () => {
    const { rail } = open('cameroon');
    say({ body: data({ status: 'EXPIRED', txnid: null, txnmode: null, amount: null }) });
    const ask = async (age: number) => {
      const submittedAt = new Date(Date.now() - age);
      return (await rail.query(queryCall(call, { prepared: PREPARED, submittedAt }))).observation;
    };
    assert.equal((await ask(MINUTE_MS)).state, 'unknown');
    const late = await ask(11 * MINUTE_MS);
    assert.ok(late.state === 'failed' && late.failureCode === 'PROMPT_EXPIRED');
  });
});

describe('Sonatel', () => {
  const call = collectCall('ORANGE_SEN', { amount: 1_000_00n });
  const reference = compactOf(call.reference);
  const row = (changes: object) => ({
    amount: { value: 1000.0, unit: 'XOF' },
    reference,
    type: 'MERCHANT_PAYMENT',
    transactionId: 'MP260909.1002.A34169',
    status: 'SUCCESS',
    ...changes,
  });
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const KEY = {
    '/api/account/v1/publicKeys': {
      body: { keyId: '1', keyType: 'RSA', key: publicKey.export({ type: 'spki', format: 'der' }).toString('base64') },
    },
  };

  test('a QR code with links to the apps', async () => {
    const { rail } = open('sonatel');
    say({
      body: {
        qrCode: 'iVBORw0KGgo=',
        deepLink: 'https://sugu.orange-sonatel.com/1',
        deepLinks: { MAXIT: 'https://maxit.example/1', OM: 'https://om.example/1' },
        shortLink: 'https://s.example/1',
        qrId: 'qr-1',
        validity: 900,
      },
    });
    const reply = await rail.prepare?.(call, 'collection');
    assert.ok(reply && 'prepared' in reply);
    const { observation } = await rail.collect({ ...call, prepared: reply.prepared });
    assert.ok(observation.state === 'pending' && observation.step?.kind === 'qr');
    assert.equal(observation.step.content, 'https://s.example/1');
    assert.equal(observation.step.links.length, 2);
    assert.deepEqual(lastBody().amount, { unit: 'XOF', value: 1000 });
    // A failed try does not end what can still be paid.
    say({ body: [row({ status: 'FAILED' })] });
    assert.equal((await rail.query(queryCall(call, { prepared: reply.prepared }))).observation.state, 'pending');
    // Nobody has paid yet. After a crash before it was shown, this is how the payer gets the code.
    say({ body: [] });
    const waiting = (await rail.query(queryCall(call, { prepared: reply.prepared }))).observation;
    assert.deepEqual(waiting, { state: 'pending', step: observation.step });
  });

  test('a QR code that ended without a payment expires when the list is complete', async () => {
    const { rail } = open('sonatel');
    const hourAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    const ended = (hours: number) => ({ qr_id: 'qr-1', expires_at: hourAgo(hours) });
    say({ body: [] });
    const lagging = (await rail.query(queryCall(call, { prepared: ended(0.5) }))).observation;
    assert.equal(lagging.state, 'unknown');
    const { observation } = await rail.query(queryCall(call, { prepared: ended(2) }));
    assert.equal(observation.state === 'failed' && observation.failureCode, 'PROMPT_EXPIRED');
    const { reference: _, ...unnamed } = row({});
    say({ body: [unnamed] });
    const unclear = await rail.query(queryCall(call, { prepared: ended(2) }));
    assert.equal(unclear.observation.state, 'unknown', 'a payment without its reference may be this one');
    const from = new URLSearchParams(operator.requests.at(-1)?.path.split('?')[1]).get('fromDateTime') ?? '';
    assert.ok(from < hourAgo(2), 'it is searched for since the code was made');
  });

  test('what no payer has paid yet does not make Sonatel look silent', async () => {
    const { rail } = open('sonatel');
    say({ body: [] });
    const expires_at = new Date(Date.now() - 5 * MINUTE_MS).toISOString();
    for (const prepared of [{ qr_id: 'qr-1', expires_at }, {}]) {
      const { observation } = await rail.query(queryCall(call, { prepared }));
      assert.equal(observation.state, 'unknown');
      assert.equal(callResult(observation), 'answered');
    }
    say({ status: 502, body: '<html></html>' });
    const { observation } = await rail.query(queryCall(call, { prepared: {} }));
    assert.equal(callResult(observation), 'unknown');
  });

  test('a code that no payer gave ends the payment when the list is complete; a later one is not sent', async () => {
    const { rail } = open('sonatel', { collect_with: 'code' });
    const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS);
    const ask = async (minutes: number, direction: 'collection' | 'payout' = 'collection') =>
      (await rail.query(queryCall(call, { prepared: {}, direction, submittedAt: ago(minutes) }))).observation;
    say({ body: [] });
    assert.equal((await ask(70)).state, 'unknown', 'a payment of the last minutes may not be listed yet');
    const ended = await ask(80);
    assert.ok(ended.state === 'failed' && ended.failureCode === 'PROMPT_EXPIRED');
    assert.equal((await ask(80, 'payout')).state, 'unknown', 'nobody knows of a payout');
    operator.requests.length = 0;
    const code = { ...queryCall(call, { prepared: {}, submittedAt: ago(16) }), msisdn: call.msisdn, code: '123456' };
    const late = (await rail.submitCode?.(code))?.observation;
    assert.ok(late?.state === 'failed' && late.failureCode === 'PROMPT_EXPIRED');
    assert.deepEqual(operator.requests, []);
  });

  test('a cash-in: a key that is none is no answer, and nothing is sent', async () => {
    const { rail } = open('sonatel');
    say({ body: {} }, { '/api/account/v1/publicKeys': { body: { keyId: '1', key: 'A'.repeat(100) } } });
    const { observation } = await rail.payout(payoutCall('ORANGE_SEN', { amount: call.amount }));
    assert.equal(observation.state, 'unknown');
    assert.equal(operator.requests.filter(({ path }) => path.endsWith('/cashins')).length, 0);
  });

  test("the payer's code is handed over once; a lost answer asks for no second one", async () => {
    const { rail } = open('sonatel', { collect_with: 'code' });
    const first = await rail.collect({ ...call, prepared: {} });
    assert.ok(first.observation.state === 'pending');
    assert.deepEqual(first.observation.step, { kind: 'code', text: null, dial: '#144#391*PIN#' });
    const code = { ...queryCall(call), msisdn: call.msisdn, code: '123456' };
    say({ body: { reference, transactionId: 'MP260909.1002.A34169', status: 'SUCCESS', description: 'ok' } });
    assert.deepEqual((await rail.submitCode?.(code))?.observation, {
      state: 'succeeded',
      receipt: 'MP260909.1002.A34169',
    });
    assert.deepEqual(lastBody().customer, { idType: 'MSISDN', id: call.msisdn.slice(-9), otp: '123456' });
    // A code that was used already may have been used by this very payment.
    for (const answer of ['cut', { status: 400, body: { code: '4099', detail: 'bad request' } }] as const) {
      say(answer);
      const lost = await rail.submitCode?.(code);
      assert.ok(lost?.observation.state === 'pending' && lost.observation.step?.kind === 'prompt');
    }
  });

  test('of several rows with one reference, the success wins; an empty list says nothing', async () => {
    const { rail } = open('sonatel');
    say({ body: [row({ status: 'FAILED' }), row({}), row({ reference: 'other' })] });
    assert.deepEqual((await rail.query(queryCall(call))).observation, {
      state: 'succeeded',
      receipt: 'MP260909.1002.A34169',
      amount: 1_000_00n,
      currency: 'XOF',
    });
    say({ body: [] });
    const empty = (await rail.query(queryCall(call))).observation;
    assert.ok(empty.state === 'unknown' && !empty.definitelyNotFound);
  });

  const problems: [string, number, string, Observation['state'], string?][] = [
    ['no such customer', 400, '2000', 'failed', 'RECIPIENT_NOT_FOUND'],
    ['no float', 400, '2020', 'failed', 'FLOAT_INSUFFICIENT'],
    ['a bad request, as one may be that arrived twice', 400, '24', 'unknown'],
    ['an error inside', 500, '50', 'unknown'],
    ['a code of tomorrow', 400, '9999', 'unknown'],
    ['a known code with 500', 500, '2000', 'unknown'],
  ];
  for (const [name, status, code, state, failureCode] of problems)
    test(`a cash-in: ${name}`, async () => {
      const { rail } = open('sonatel');
      say({ status, body: { title: 'Problem', code, detail: 'no' } }, KEY);
      const { observation } = await rail.payout(
        payoutCall('ORANGE_SEN', { reference: call.reference, amount: call.amount }),
      );
      assert.equal(observation.state, state);
      if (observation.state === 'failed') assert.equal(observation.failureCode, failureCode);
    });

  test('a cash-in: after a revoked key, once more with the new one', async () => {
    const { rail } = open('sonatel');
    say({ status: 400, body: { code: '4003', detail: 'revoked' } }, KEY);
    const { observation } = await rail.payout(payoutCall('ORANGE_SEN', { amount: call.amount }));
    assert.equal(observation.state, 'failed');
    assert.equal(operator.requests.filter(({ path }) => path.endsWith('/cashins')).length, 2);
  });

  test('callbacks: proof with a fresh signature, otherwise a question', () => {
    const { rail } = open('sonatel');
    let body = JSON.stringify(row({}));
    const read = (headers: Record<string, string>) =>
      rail.readCallback({
        method: 'POST',
        host: 'pay.example.com',
        path: '/operators/orange-money',
        remoteAddress: null,
        headers,
        body: Buffer.from(body),
      })[0];
    const signed = (seconds: number, key = SECRETS.callback_secret) => ({
      'x-sonatel-signature': `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds},${body}`).digest('hex')}`,
    });
    const now = Math.floor(Date.now() / 1000);
    assert.deepEqual(read(signed(now)), {
      kind: 'proof',
      reference: call.reference,
      direction: 'collection',
      observation: { state: 'succeeded', receipt: 'MP260909.1002.A34169', amount: 1_000_00n, currency: 'XOF' },
    });
    body = JSON.stringify(row({ status: 'FAILED' }));
    assert.equal(read(signed(now))?.kind, 'hint', 'the payer can try again');
    body = JSON.stringify(row({ status: 'FAILED', type: 'CASHIN' }));
    assert.equal(read(signed(now))?.kind, 'proof');
    assert.equal(read(signed(now - 3_600))?.kind, 'hint');
    assert.equal(read({})?.kind, 'hint');
    assert.equal(read(signed(now, 'other'))?.kind, 'rejected');
  });
});

test('only the prompt of Cameroon comes to the phone by itself: nobody is told to wait for one elsewhere', () => {
  const styles = ['web_payment', 'cameroon', 'sonatel'].map((name) => {
    const { method, msisdn } = collectCall(name === 'sonatel' ? 'ORANGE_SEN' : 'ORANGE_CMR');
    return open(name).rail.verificationFor(method, msisdn);
  });
  assert.deepEqual(styles, ['instructions', 'prompt', 'instructions']);
});

for (const name of ['web_payment', 'cameroon', 'sonatel'])
  test(`${name}: whatever comes is unknown, and no secret is kept`, async () => {
    const { rail, connection } = open(name);
    const call = collectCall(name === 'sonatel' ? 'ORANGE_SEN' : 'ORANGE_CMR');
    const prepared = { pay_token: 'pay-token-1', order_id: 'order-1', payment_url: 'https://example.com' };
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string()), fc.integer({ min: 200, max: 599 }), async (text, status) => {
        fc.pre(status !== 401);
        say({ status, body: text });
        assert.equal((await rail.query(queryCall(call, { prepared }))).observation.state, 'unknown');
      }),
      { numRuns: 40 },
    );
    const kept = JSON.stringify(connection.calls);
    for (const secret of [...Object.values(SECRETS), 'secret-token']) assert.ok(!kept.includes(secret), secret);
  });
