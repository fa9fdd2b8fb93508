import assert from 'node:assert/strict';
import { constants, createCipheriv, createHmac, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createAirtelMoneySimulator, AIRTEL_MONEY_SIMULATOR_SETTINGS as KEYS } from './airtel-money.ts';
import { type CallbackInbox, eventually, openCallbackInbox } from './callback-inbox.ts';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from './frame.ts';

const PAYER = '752604392';
const OK = { code: '200', success: true, result_code: 'ESB000010' };

describe('the simulated Airtel Money', () => {
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
    const simulator = await startSimulator(createAirtelMoneySimulator, options);
    running.push(simulator);
    await simulator.act('register_callback', { url: `${inbox.url}/${running.length}` });
    const path = `/${running.length}`;
    return { ...createClient(simulator), callbacks: () => inbox.received.filter((each) => each.path === path) };
  }

  test('a token of 180 seconds, then 403; bad credentials are 400', async () => {
    let now = Date.now();
    const client = await start({ now: () => now });
    const { expires_in, access_token, token_type } = await client.token();
    assert.deepEqual([expires_in, token_type], ['180', 'bearer']);
    assert.equal((await client.get('/standard/v1/users/balance', { token: access_token })).http, 200);
    now += 180_000;
    assert.deepEqual(await client.get('/standard/v1/users/balance', { token: access_token }), {
      http: 403,
      body: { error_description: 'The access token is invalid or has expired', error: 'invalid_token' },
    });
    assert.deepEqual(await client.post('/auth/oauth2/token', { client_id: KEYS.clientId, grant_type: 'x' }), {
      http: 400,
      body: { error_description: 'Invalid client authentication', error: 'invalid_client' },
    });
  });

  test('headers that are missing have odd answers', async () => {
    const client = await start();
    const balance = (headers: Record<string, string>) => client.get('/standard/v1/users/balance', { headers });
    const noCountry = await balance({ 'x-country': '' });
    assert.deepEqual([noCountry.http, noCountry.body.status_code], [400, 'ROUTER110']);
    const long = await balance({ 'x-country': 'UGA' });
    assert.deepEqual(
      [long.http, long.body.status],
      [400, { code: '400', success: false, response_code: 'DP00900001013', message: 'Invalid Country Code' }],
    );
    const noCurrency = await balance({ 'x-currency': '' });
    assert.deepEqual([noCurrency.http, noCurrency.body.status?.result_code], [200, 'ESB000008']);
    assert.equal((await balance({ 'x-currency': 'ZMW' })).body.status_code, 'ROUTER112');
  });

  test('a push: sent, TIP, TS, and a callback whose hash covers the transaction', async () => {
    const client = await start({ payers: 'manual' });
    assert.deepEqual(await client.push('TX1'), {
      http: 200,
      body: {
        data: { transaction: { id: 'TX1', status: 'Success.' } },
        status: { ...OK, response_code: 'DP00800001006', message: 'Success.' },
      },
    });
    assert.deepEqual((await client.enquire('TX1')).body, {
      data: { transaction: { id: 'TX1', message: 'Transaction in process.', status: 'TIP' } },
      status: { ...OK, response_code: 'DP00800001006', message: 'SUCCESS' },
    });
    const [prompt] = client.simulator.phones.open();
    client.simulator.phones.decide(prompt?.id ?? '', 'approve');
    const { body } = await client.enquire('TX1');
    const receipt = String(body.data?.transaction?.airtel_money_id);
    assert.match(receipt, /^MP\d{6}\.\d{4}\.[A-Z]\d{5}$/);
    assert.deepEqual(body, {
      data: { transaction: { airtel_money_id: receipt, id: 'TX1', message: 'Transaction success.', status: 'TS' } },
      status: { ...OK, response_code: 'DP00800001001', message: 'SUCCESS' },
    });
    await client.simulator.idle();
    const [callback, ...others] = client.callbacks();
    const transaction = { id: 'TX1', message: 'Paid UGX 1000.00', status_code: 'TS', airtel_money_id: receipt };
    const hash = createHmac('sha256', KEYS.callbackKey ?? '')
      .update(JSON.stringify(transaction))
      .digest('base64');
    assert.deepEqual(JSON.parse(callback?.text ?? ''), { transaction, hash });
    assert.deepEqual(others, []);
    assert.deepEqual(client.simulator.book.movements(), [
      { kind: 'collection', id: 'TX1', receipt, msisdn: PAYER, amount: 1000_00n, currency: 'UGX' },
    ]);
    const again = await client.push('TX1');
    assert.deepEqual([again.http, again.body.status?.result_code], [400, 'ESB000041']);
  });

  test('a push with a mistake is refused and rings nobody', async () => {
    const client = await start({ payers: 'manual' });
    const cases: [string, Body, Body, string][] = [
      ['with the dial code', { msisdn: `256${PAYER}` }, {}, 'ESB000033'],
      ['amount as text', {}, { amount: '1000' }, 'ESB000008'],
      ['amount zero', {}, { amount: 0 }, 'ESB000008'],
      ['amount with four decimals', {}, { amount: 1.0001 }, 'ESB000008'],
      ['underscore in the id', {}, { id: 'TX_1' }, 'ESB000008'],
      ['a misspelt field', {}, { Id: 'TX1' }, 'ESB000008'],
      ['country of the subscriber', { country: 'ZM' }, {}, 'ESB000034'],
      ['currency of the transaction', {}, { currency: 'ZMW' }, 'ESB000035'],
    ];
    for (const [name, subscriber, transaction, code] of cases) {
      const refused = await client.push('TX1', { subscriber, transaction });
      assert.deepEqual([refused.http, refused.body.status?.result_code], [400, code], name);
    }
    const unknown = await client.push('TX2', { subscriber: { msisdn: '752600003' } });
    assert.deepEqual([unknown.http, unknown.body.status?.message], [400, 'Msisdn Not Found']);
    assert.deepEqual(client.simulator.phones.open(), []);
    const missing = await client.enquire('TX1');
    assert.deepEqual([missing.http, missing.body.status?.result_code], [200, 'ESB000045']);
  });

  test('failures by both tables of codes, an expiry, an id on a failure', async () => {
    const common = await start({ settings: { promptSeconds: '0.05' } });
    const outcome = async (client: typeof common, digits: string) => {
      await client.push(`TX${digits}`, { subscriber: { msisdn: `752600${digits}` } });
      await client.simulator.idle();
      const { data, status } = (await client.enquire(`TX${digits}`)).body;
      return [data?.transaction?.status, status?.response_code, status?.success];
    };
    assert.deepEqual(await outcome(common, '001'), ['TF', 'DP00800001007', false]);
    assert.deepEqual(await outcome(common, '002'), ['TF', 'DP00800001002', false]);
    assert.deepEqual(await outcome(common, '004'), ['TF', 'DP00800001003', false]);
    assert.deepEqual(await outcome(common, '005'), ['TE', 'DP00800001029', false]);
    assert.deepEqual(await outcome(common, '011'), ['TF', 'DP00800001008', false]);
    const zambian = await start({
      settings: { codeTable: 'zambia', failedReceipt: 'yes', paidEnquiry: 'contradictory', callbackHash: 'none' },
    });
    assert.deepEqual(await outcome(zambian, '011'), ['TF', 'DP00800001007', false]);
    assert.match(String((await zambian.enquire('TX011')).body.data?.transaction?.airtel_money_id), /^MP/);
    assert.deepEqual(await outcome(zambian, '000'), ['TS', 'DP00800001006', false]);
    assert.ok(zambian.callbacks().every(({ text }) => !('hash' in (JSON.parse(text) as Body))));
    assert.equal(zambian.simulator.book.movements().length, 1);
  });

  test('a callback with spaces and a first word that is no end', async () => {
    const client = await start({ settings: { callbackSpacing: 'spaced', callbackIntermediate: 'yes' } });
    await client.push('TX1');
    await client.simulator.idle();
    const texts = client.callbacks().map(({ text }) => text);
    const codes = texts.map((text) => String((JSON.parse(text) as { transaction: Body }).transaction.status_code));
    assert.deepEqual(codes.sort(), ['TIP', 'TS']);
    for (const text of texts) {
      const { hash } = JSON.parse(text) as { hash: string };
      const raw = text.slice(text.indexOf('{', 1), text.indexOf('}') + 1);
      assert.equal(
        createHmac('sha256', KEYS.callbackKey ?? '')
          .update(raw)
          .digest('base64'),
        hash,
      );
    }
  });

  test('payouts answer at once and end at the float', async () => {
    const client = await start({ openingBalance: 100_00n });
    const done = await client.pay('TX1', 60);
    const receipt = String(done.body.data?.transaction?.reference_id);
    assert.match(receipt, /^CI\d{6}\.\d{4}\.[A-Z]\d{5}$/);
    assert.deepEqual(done.body.data?.transaction, {
      reference_id: receipt,
      airtel_money_id: `disbursement-${receipt.slice(-6)}-TX1`,
      id: 'TX1',
      status: 'TS',
    });
    assert.deepEqual([done.body.status?.response_code, done.body.status?.success], ['DP00900001001', true]);
    const code = async (id: string, amount: unknown, changes?: Parameters<typeof client.pay>[2]) => {
      const { http, body } = await client.pay(id, amount, changes);
      assert.equal(http, body.status_code === undefined ? 200 : 400);
      return body.status?.response_code ?? body.status_code;
    };
    assert.equal(await code('TX1', 60), 'DP00900001011');
    assert.equal(await code('TX2', 41), 'DP00900001007');
    assert.equal(await code('TX3', '1'), 'DP00900001004');
    assert.equal(await code('TX4', 1, { msisdn: '752600003' }), 'DP00900001012');
    assert.equal(await code('TX5', 1, { msisdn: `0${PAYER}` }), 'DP00900001013');
    assert.equal(await code('TX6', 1, { pin: encrypt('4321') }), 'ROUTER115');
    assert.equal(await code('TX7', 1, { pin: 'bm90IGVuY3J5cHRlZA==' }), 'DP00900001013');
    assert.equal((await client.enquirePayout('TX1')).body.data?.transaction?.status, 'TS');
    assert.equal((await client.enquirePayout('TX2')).body.data?.transaction?.status, 'TF');
    assert.equal((await client.enquirePayout('TX9')).body.status?.response_code, 'DP00900001015');
    await client.simulator.act('top_up', { amount: '1', currency: 'UGX' });
    assert.equal(await code('TX8', 41), 'DP00900001001');
    await client.simulator.act('reverse', { id: 'TX8' });
    const balance = await client.get('/standard/v1/users/balance');
    assert.deepEqual(balance.body.data, { balance: '41.00', currency: 'UGX', account_status: 'Active' });
    assert.equal(client.simulator.book.net('UGX'), -60_00n);
  });

  test('a payout that nobody is sure about: paid, not paid, paid later; another padding of the PIN', async () => {
    const startLate = async (lateSeconds: string) => {
      const client = await start({ settings: { lateSeconds, pinPadding: 'oaep' } });
      const pay = async (id: string) => {
        const { body } = await client.pay(id, 10, { pin: encrypt('1234', constants.RSA_PKCS1_OAEP_PADDING) });
        assert.equal(body.status?.response_code, 'DP00900001000');
      };
      const state = async (id: string) => (await client.enquirePayout(id)).body.data?.transaction?.status;
      return { client, pay, state };
    };
    const { client, pay, state } = await startLate('3600');
    await client.simulator.act('ambiguous_payout', { paid: true });
    await client.simulator.act('ambiguous_payout', { paid: false });
    client.simulator.faults.add({ fault: 'late_success', operation: 'payout' });
    for (const id of ['TX1', 'TX2', 'TX3']) await pay(id);
    assert.deepEqual([await state('TX1'), await state('TX2'), await state('TX3')], ['TS', 'TF', 'TA']);
    const paid = client.simulator.book.movements().map(({ id }) => id);
    assert.deepEqual(paid, ['TX1']);
    const late = await startLate('0.01');
    late.client.simulator.faults.add({ fault: 'late_success', operation: 'payout' });
    await late.pay('TX1');
    await eventually('the late success', async () => (await late.state('TX1')) === 'TS');
    assert.equal(late.client.simulator.book.net('UGX'), -10_00n);
  });

  test('a refund by the id of Airtel, once', async () => {
    const client = await start();
    await client.push('TX1');
    await client.simulator.idle();
    const { airtel_money_id } = (await client.enquire('TX1')).body.data?.transaction ?? {};
    const refund = () => client.post('/standard/v1/payments/refund', { transaction: { airtel_money_id } });
    const accepted = await refund();
    const own = accepted.body.data?.transaction?.airtel_money_id;
    assert.deepEqual(accepted.body, {
      data: { transaction: { airtel_money_id: own, status: 'SUCCESS' } },
      status: { ...OK, response_code: 'DP00800001006', message: 'SUCCESS' },
    });
    assert.equal((await refund()).body.status?.success, false);
    await client.simulator.idle();
    assert.equal((await client.enquire('TX1')).body.data?.transaction?.status, 'TR');
    assert.equal(client.simulator.book.net('UGX'), 0n);
    const summary = await client.get('/merchant/v1/transactions?from=0&limit=10&offset=0');
    const rows = (summary.body.data?.transactions ?? []) as { transaction: Body }[];
    assert.deepEqual(
      rows.map(({ transaction }) => transaction.airtel_money_id),
      [airtel_money_id, own],
    );
  });

  test('signed messages, where they are wanted', async () => {
    const client = await start({ settings: { signedProducts: 'collection' } });
    const unsigned = await client.push('TX1');
    assert.equal(unsigned.body.status?.response_code, 'DP00800001026');
    const { body } = await client.get('/v1/rsa/encryption-keys');
    assert.deepEqual([body.data?.key, body.status?.response_code], [KEYS.publicKey, 'DP02010001001']);
    assert.equal((await client.push('TX1', { sign: true })).http, 200);
    assert.equal((await client.enquire('TX1')).body.data?.transaction?.id, 'TX1');
  });

  test('a token that ends early, odd answers, unknown codes, a late success, a forged callback', async () => {
    const client = await start({ settings: { lateSeconds: '0.01' } });
    const { faults } = client.simulator;
    faults.add({ fault: 'token_ended', operation: 'collect' });
    assert.equal((await client.push('TX1')).http, 403);
    await client.simulator.act('odd_answer', { operation: 'collect', answer: 'router117' });
    assert.equal((await client.push('TX1')).body.status_code, 'ROUTER117');
    await client.simulator.idle();
    const state = async (id: string) => (await client.enquire(id)).body.data?.transaction?.status;
    assert.equal(await state('TX1'), 'TS');
    faults.add({ fault: 'unknown_code', operation: 'collect' });
    await client.push('TX2');
    await client.simulator.idle();
    assert.equal((await client.enquire('TX2')).body.status?.response_code, 'DP00800001777');
    faults.add({ fault: 'unknown_code', operation: 'query' });
    assert.deepEqual([await state('TX2'), await state('TX2')], ['TQ', 'TF']);
    faults.add({ fault: 'late_success', operation: 'collect' });
    await client.push('TX3');
    await eventually('the late success', async () => (await state('TX3')) === 'TS');
    await client.simulator.act('forge', { id: 'TX2' });
    await client.simulator.idle();
    assert.equal(await state('TX2'), 'TF');
    const forged = client.callbacks().filter(({ text }) => text.includes('"TX2"') && text.includes('"TS"'));
    assert.equal(forged.length, 1);
    assert.equal(client.simulator.book.net('UGX'), 2000_00n);

    const doubtful = await start({ settings: { lateSeconds: '3600' } });
    doubtful.simulator.faults.add({ fault: 'late_success', operation: 'collect' });
    await doubtful.push('TX1');
    await eventually('the doubt', async () => {
      const { data } = (await doubtful.enquire('TX1')).body;
      return data?.transaction?.status === 'TA';
    });
    assert.deepEqual(doubtful.simulator.book.movements(), []);
  });
});

type Body = Record<string, unknown>;
type Answer = {
  data?: { transaction?: Body } & Body;
  status?: { response_code?: string; result_code?: string; success: boolean; message: string };
  status_code?: string;
};
type PushChanges = { subscriber?: Body; transaction?: Body; sign?: boolean };

function encrypt(text: string, padding: number = constants.RSA_PKCS1_PADDING): string {
  const key = createPublicKey({ key: Buffer.from(KEYS.publicKey ?? '', 'base64'), format: 'der', type: 'spki' });
  return publicEncrypt({ key, padding }, Buffer.from(text)).toString('base64');
}

function sign(body: string): Record<string, string> {
  const [key, iv] = [randomBytes(32), randomBytes(16)];
  const cipher = createCipheriv('aes-256-cbc', key, iv);
  return {
    'x-signature': Buffer.concat([cipher.update(body), cipher.final()]).toString('base64'),
    'x-key': encrypt(`${key.toString('base64')}:${iv.toString('base64')}`),
  };
}

function createClient(simulator: RunningSimulator) {
  async function token() {
    const { clientId: client_id, clientSecret: client_secret } = KEYS;
    const answer = await fetch(`${simulator.url}/auth/oauth2/token`, {
      method: 'POST',
      body: JSON.stringify({ client_id, client_secret, grant_type: 'client_credentials' }),
    });
    return (await answer.json()) as { token_type: string; access_token: string; expires_in: string };
  }

  async function call(path: string, init: RequestInit, options: { token?: string; headers?: Record<string, string> }) {
    const access = options.token ?? (await token()).access_token;
    const given = { authorization: `Bearer ${access}`, 'x-country': 'UG', 'x-currency': 'UGX', ...options.headers };
    const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
    const answer = await fetch(simulator.url + path, { ...init, headers });
    return { http: answer.status, body: (await answer.json()) as Answer };
  }

  const get = (path: string, options: { token?: string; headers?: Record<string, string> } = {}) =>
    call(path, {}, options);
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    call(path, { method: 'POST', body: JSON.stringify(body) }, { headers });
  return {
    simulator,
    token,
    get,
    post,
    push(id: string, changes: PushChanges = {}) {
      const body = {
        reference: 'Payment to Shop',
        subscriber: { country: 'UG', currency: 'UGX', msisdn: PAYER, ...changes.subscriber },
        transaction: { amount: 1000, country: 'UG', currency: 'UGX', id, ...changes.transaction },
      };
      return post('/merchant/v1/payments/', body, changes.sign ? sign(JSON.stringify(body)) : {});
    },
    enquire: (id: string) => get(`/standard/v1/payments/${id}`),
    pay: (id: string, amount: unknown, { msisdn = PAYER, pin = encrypt('1234') } = {}) =>
      post('/standard/v2/disbursements/', {
        payee: { currency: 'UGX', msisdn },
        reference: '1234',
        pin,
        transaction: { amount, id, type: 'B2C' },
      }),
    enquirePayout: (id: string) => get(`/standard/v2/disbursements/${id}?transactionType=B2C`),
  };
}
