import assert from 'node:assert/strict';
import { constants, createHmac, createPublicKey, publicEncrypt } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type CallbackInbox, eventually, openCallbackInbox } from './callback-inbox.ts';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from './frame.ts';
import { createOrangeMoneySimulator, ORANGE_MONEY_SIMULATOR_SETTINGS as KEYS } from './orange-money.ts';

type Body = Record<string, unknown>;

const PAYER = '771234567';
const XOF = (value: number) => ({ unit: 'XOF', value });

describe('the simulated Sonatel', () => {
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
    const simulator = await startSimulator(createOrangeMoneySimulator, options);
    running.push(simulator);
    const path = `/${running.length}`;
    const callbackUrl = inbox.url + path;
    const callbacks = () => inbox.received.filter((each) => each.path === path);
    return { ...createClient(simulator, callbackUrl), callbackUrl, callbacks };
  }

  test('a token of 299 seconds, then a problem', async () => {
    let now = Date.now();
    const client = await start({ now: () => now });
    const { access_token, expires_in } = await client.token();
    assert.equal(expires_in, 299);
    now += 299_000;
    const ended = await fetch(`${client.simulator.url}/api/eWallet/v1/account/retailer/balance`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    assert.deepEqual([ended.status, ended.headers.get('content-type')], [401, 'application/problem+json']);
    assert.equal(((await ended.json()) as Body).code, '10');
    assert.deepEqual((await client.get('/api/eWallet/v1/account/retailer/balance')).body, {
      value: 1_000_000,
      unit: 'XOF',
    });
  });

  test('a QR code is paid; the webhook is signed and repeated after a 500, not after a 400', async () => {
    const client = await start({ payers: 'manual', settings: { sonatelRetrySeconds: '0.02' } });
    const { http, body } = await client.qr('TX1');
    const { qrId, deepLink } = body;
    assert.equal(http, 200);
    assert.deepEqual(Object.keys(body), [
      'qrCode',
      'deepLink',
      'deepLinks',
      'shortLink',
      'qrId',
      'validity',
      'validFor',
    ]);
    assert.equal((await fetch(String(deepLink))).status, 200);
    assert.deepEqual(await client.list('TX1'), []);
    inbox.statuses.push(500, 400);
    const [prompt] = client.simulator.phones.open();
    client.simulator.phones.decide(prompt?.id ?? '', 'approve');
    await client.simulator.idle();
    const [row] = await client.list('TX1');
    const transactionId = String(row?.transactionId);
    assert.match(transactionId, /^MP\d{6}\.\d{4}\.[A-Z]\d{5}$/);
    const [first, second, ...others] = client.callbacks();
    assert.deepEqual(others, []);
    assert.equal(first?.headers['x-sonatel-idempotency-key'], second?.headers['x-sonatel-idempotency-key']);
    assert.deepEqual(JSON.parse(first?.text ?? ''), {
      amount: { value: 1000, unit: 'XOF' },
      partner: { idType: 'CODE', id: '123456' },
      customer: { idType: 'MSISDN', id: '770000000' },
      reference: 'TX1',
      type: 'MERCHANT_PAYMENT',
      channel: 'MAXIT',
      transactionId,
      paymentMethod: 'QRCODE',
      metadata: { ref: 'TX1' },
      status: 'SUCCESS',
    });
    assert.deepEqual(signaturesOf(first), [true]);
    assert.deepEqual((await client.get(`/api/eWallet/v1/transactions/${transactionId}/status`)).body, {
      status: 'SUCCESS',
    });
    const used = await client.simulator.act('pay_qr', { id: qrId, msisdn: PAYER });
    assert.equal((used.body as Body).code, '4099');
    assert.equal(client.simulator.book.net('XOF'), 1000_00n);
    await client.simulator.act('reverse', { id: 'TX1' });
    assert.equal(client.simulator.book.net('XOF'), 0n);
  });

  test('two rows with one reference, a code paid twice, and one that expired', async () => {
    let now = Date.now();
    const client = await start({ payers: 'manual', now: () => now });
    await client.qr('TX1', { isSingleUse: false });
    await client.simulator.act('pay_qr', { id: 'TX1', msisdn: '771234001' });
    await client.simulator.act('pay_qr', { id: 'TX1', msisdn: PAYER });
    await client.simulator.act('pay_qr', { id: 'TX1', msisdn: PAYER });
    const statuses = (await client.list('TX1')).map(({ status }) => status);
    assert.deepEqual(statuses, ['FAILED', 'SUCCESS', 'SUCCESS']);
    const { body: byType } = await client.get('/api/eWallet/v1/transactions?reference=TX1&type=MERCHANT_PAYMENT');
    assert.deepEqual(byType, []);
    const from = new Date(now).toISOString();
    const { body: fromNow } = await client.get(`/api/eWallet/v1/transactions?reference=TX1&fromDateTime=${from}`);
    assert.deepEqual(fromNow, []);
    now += 900_000;
    const expired = await client.simulator.act('pay_qr', { id: 'TX1', msisdn: PAYER });
    assert.equal((expired.body as Body).code, '4004');
    assert.equal(client.simulator.book.net('XOF'), 2000_00n);
  });

  test('mistakes are problems with the field', async () => {
    const client = await start({ payers: 'manual' });
    const refused = async (changes: Body) => {
      const { http, body } = await client.qr('TX1', changes);
      return [http, body.code, (body.violations as { field: string }[])[0]?.field];
    };
    assert.deepEqual(await refused({ validity: undefined }), [400, '24', 'validity']);
    assert.deepEqual(await refused({ single: true }), [400, '24', 'single']);
    assert.deepEqual(await refused({ amount: { unit: 'XOF', value: '1000' } }), [400, '24', 'amount.value']);
    assert.deepEqual(await refused({ amount: XOF(9) }), [400, '24', undefined]);
    assert.deepEqual(await refused({ code: '654321' }), [403, '2041', undefined]);
    assert.deepEqual(client.simulator.phones.open(), []);
  });

  test('a payment with the code of the payer, good once', async () => {
    let now = Date.now();
    const client = await start({ now: () => now });
    const codeFor = async (msisdn: string) =>
      ((await client.simulator.act('dial_for_code', { msisdn })).body as { otp: string }).otp;
    const otp = await codeFor(PAYER);
    const paid = await client.oneStep('TX1', PAYER, otp);
    const { transactionId } = paid.body;
    assert.deepEqual(paid.body, {
      reference: 'TX1',
      transactionId,
      status: 'SUCCESS',
      description: 'Transaction effectuee',
    });
    const code = async (...given: Parameters<typeof client.oneStep>) => (await client.oneStep(...given)).body.code;
    assert.equal(await code('TX2', PAYER, otp), '4099');
    assert.equal(await code('TX2', `221${PAYER}`, otp), '2001');
    assert.equal(await code('TX2', '771234003', otp), '2000');
    assert.equal(await code('TX2', '771234001', await codeFor('771234001')), '2020');
    assert.deepEqual(
      (await client.list('TX2')).map(({ status }) => status),
      ['FAILED'],
    );
    const old = await codeFor(PAYER);
    now += 900_000;
    const answer = await client.oneStep('TX3', PAYER, old);
    assert.equal(answer.body.detail, 'The OTP has expired');
    assert.equal(client.simulator.book.net('XOF'), 1000_00n);
  });

  test('cash-ins: the PIN with the newest key, the float, a repeat that pays again', async () => {
    const client = await start({ openingBalance: 3000_00n });
    const pin = await client.encryptPin('2222');
    const paid = await client.cashIn('TX1', pin);
    const { transactionId, requestId } = paid.body;
    assert.match(String(transactionId), /^CI\d{6}\.\d{4}\.[A-Z]\d{5}$/);
    assert.deepEqual(paid.body, { status: 'SUCCESS', transactionId, requestId });
    assert.equal((await client.cashIn('TX1', pin)).body.status, 'SUCCESS');
    assert.equal((await client.cashIn('TX2', await client.encryptPin('0000'))).body.code, '2041');
    await client.simulator.act('rotate_key', {});
    assert.equal((await client.cashIn('TX2', pin)).body.code, '4003');
    const newPin = await client.encryptPin('2222');
    assert.equal((await client.cashIn('TX2', newPin)).body.status, 'SUCCESS');
    assert.equal((await client.cashIn('TX3', newPin)).body.code, '2020');
    await client.simulator.act('top_up', { amount: '1000', currency: 'XOF' });
    assert.equal((await client.cashIn('TX4', newPin, '771234003')).body.code, '2000');
    assert.equal((await client.cashIn('TX4', newPin)).body.status, 'SUCCESS');
    assert.equal(client.simulator.book.net('XOF'), -4000_00n);
  });

  test('a registered address is looked at; two secrets while they change; a forged event', async () => {
    const client = await start({ payers: 'manual' });
    const registered = await client.post('/api/notification/v1/merchantcallback', {
      code: '123456',
      name: 'Shop',
      callbackUrl: client.callbackUrl,
      apiKey: 'c2hvcDprZXk=',
    });
    assert.equal(registered.http, 200);
    assert.deepEqual(
      client.callbacks().map(({ method }) => method),
      ['OPTIONS', 'HEAD'],
    );
    await client.simulator.act('rotate_secret', { secret: 'new secret' });
    await client.qr('TX1');
    await client.simulator.act('pay_qr', { id: 'TX1', msisdn: PAYER });
    const event = await eventually('the event', () => client.callbacks()[2]);
    assert.equal(event.headers.authorization, 'Basic c2hvcDprZXk=');
    assert.deepEqual(signaturesOf(event), [true, false]);
    assert.deepEqual(signaturesOf(event, 'new secret'), [false, true]);
    await client.qr('TX2');
    await client.simulator.act('forge', { id: 'TX2' });
    const forged = await eventually('the forged event', () => client.callbacks()[3]);
    assert.deepEqual(signaturesOf(forged), [false]);
    assert.deepEqual(await client.list('TX2'), []);
  });

  test('late successes, unknown codes, a lag of the list', async () => {
    let now = Date.now();
    const client = await start({ now: () => now, settings: { lateSeconds: '0.01', sonatelLagSeconds: '10' } });
    const { faults } = client.simulator;
    const statuses = async (reference: string) => (await client.list(reference)).map(({ status }) => status).join(' ');
    faults.add({ fault: 'late_success', operation: 'collect' });
    await client.qr('TX1');
    const pin = await client.encryptPin('2222');
    faults.add({ fault: 'late_success', operation: 'payout' });
    assert.equal((await client.cashIn('TX2', pin)).body.code, '50');
    await client.simulator.idle();
    assert.equal(await statuses('TX1'), '');
    now += 10_000;
    assert.deepEqual([await statuses('TX1'), await statuses('TX2')], ['FAILED SUCCESS', 'SUCCESS']);
    faults.add({ fault: 'unknown_code', operation: 'payout' });
    assert.equal((await client.cashIn('TX3', pin)).body.code, '7777');
    faults.add({ fault: 'token_ended', operation: 'payout' });
    assert.equal((await client.cashIn('TX3', pin)).http, 401);
    faults.add({ fault: 'unknown_code', operation: 'collect' });
    await client.qr('TX4');
    await client.simulator.idle();
    now += 10_000;
    assert.deepEqual([await statuses('TX3'), await statuses('TX4')], ['FAILED', 'ON_HOLD']);
    assert.equal(client.simulator.book.movements().length, 2);
  });
});

/** For each v1 of the signature, whether it was made with this secret. */
function signaturesOf(
  callback: { headers: Record<string, unknown>; text: string } | undefined,
  secret = KEYS.sonatelWebhookSecret ?? '',
): boolean[] {
  const [t, ...hashes] = String(callback?.headers['x-sonatel-signature']).split(',');
  const expected = createHmac('sha256', secret)
    .update(`${t?.slice(2)},${callback?.text}`)
    .digest('hex');
  return hashes.map((hash) => hash === `v1=${expected}`);
}

function createClient(simulator: RunningSimulator, callbackUrl: string) {
  async function token() {
    const answer = await fetch(`${simulator.url}/oauth/v1/token`, {
      method: 'POST',
      body: new URLSearchParams({
        client_id: KEYS.sonatelClientId ?? '',
        client_secret: KEYS.sonatelClientSecret ?? '',
        grant_type: 'client_credentials',
      }),
    });
    return (await answer.json()) as { access_token: string; expires_in: number };
  }

  async function call(path: string, init: RequestInit, headers: Record<string, string> = {}) {
    const { access_token } = await token();
    const answer = await fetch(simulator.url + path, {
      ...init,
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json', ...headers },
    });
    return { http: answer.status, body: (await answer.json()) as Body };
  }

  const get = (path: string) => call(path, {});
  const post = (path: string, body: object, headers?: Record<string, string>) =>
    call(path, { method: 'POST', body: JSON.stringify(body) }, headers);
  return {
    simulator,
    token,
    get,
    post,
    qr: (reference: string, changes: Body = {}) =>
      post(
        '/api/eWallet/v4/qrcode',
        {
          amount: XOF(1000),
          code: '123456',
          name: 'Shop',
          reference,
          metadata: { ref: reference },
          validity: 900,
          callbackSuccessUrl: 'https://shop.example/back',
          callbackCancelUrl: 'https://shop.example/cancelled',
          isSingleUse: true,
          ...changes,
        },
        { 'x-callback-url': callbackUrl },
      ),
    list: async (reference: string) =>
      (await get(`/api/eWallet/v1/transactions?reference=${reference}&size=10`)).body as unknown as Body[],
    oneStep: (reference: string, id: string, otp: string) =>
      post('/api/eWallet/v1/payments/onestep', {
        customer: { idType: 'MSISDN', id, otp },
        partner: { idType: 'CODE', id: '123456' },
        amount: XOF(1000),
        reference,
        metadata: {},
      }),
    cashIn: (reference: string, encryptedPinCode: string, id = PAYER) =>
      post('/api/eWallet/v1/cashins', {
        partner: { idType: 'MSISDN', id: KEYS.sonatelRetailerMsisdn, encryptedPinCode },
        customer: { idType: 'MSISDN', id },
        amount: XOF(1000),
        reference,
        receiveNotification: true,
      }),
    async encryptPin(pin: string) {
      const { body } = await get('/api/account/v1/publicKeys');
      const key = createPublicKey({ key: Buffer.from(String(body.key), 'base64'), format: 'der', type: 'spki' });
      return publicEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, Buffer.from(pin)).toString('base64');
    },
  };
}
