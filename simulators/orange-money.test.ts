import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CallbackInbox, eventually, openCallbackInbox } from './callback-inbox.ts';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from './frame.ts';
import { createOrangeMoneySimulator, ORANGE_MONEY_SIMULATOR_SETTINGS as KEYS } from './orange-money.ts';

type Body = Record<string, unknown>;

const basic = (user = '', password = '') => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

describe('the simulated Orange Money', () => {
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
    const notifUrl = `${inbox.url}/${running.length}`;
    const callbacks = () =>
      inbox.received
        .filter(({ path }) => path === `/${running.indexOf(simulator) + 1}`)
        .map(({ text }) => JSON.parse(text) as Body);
    return { simulator, notifUrl, callbacks };
  }

  describe('web payment', () => {
    async function startWeb(options: SimulatorOptions = {}) {
      const started = await start(options);
      const { url } = started.simulator;
      const token = async () => {
        const answer = await fetch(`${url}/oauth/v3/token`, {
          method: 'POST',
          headers: { authorization: basic(KEYS.webClientId, KEYS.webClientSecret) },
          body: new URLSearchParams({ grant_type: 'client_credentials' }),
        });
        return (await answer.json()) as { access_token: string; expires_in: number };
      };
      const { access_token } = await token();
      const post = async (path: string, body: object, environment = 'ci') => {
        const answer = await fetch(`${url}/orange-money-webpay/${environment}/v1/${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        return { http: answer.status, body: (await answer.json()) as Body };
      };
      const order = (changes: Body = {}) => ({
        merchant_key: KEYS.webMerchantKey,
        currency: 'XOF',
        order_id: 'TX1',
        amount: 5000,
        return_url: 'https://shop.example/back',
        cancel_url: 'https://shop.example/cancelled',
        notif_url: started.notifUrl,
        lang: 'fr',
        reference: 'Shop',
        ...changes,
      });
      const pay = async (changes: Body = {}) => {
        const { http, body } = await post('webpayment', order(changes));
        assert.equal(http, 201);
        return body as { pay_token: string; payment_url: string; notif_token: string };
      };
      const status = async (pay_token: string, order_id = 'TX1') =>
        (await post('transactionstatus', { order_id, amount: 5000, pay_token })).body;
      return { ...started, token, post, order, pay, status };
    }

    test('a token of ninety days; a page, a notification without the order', async () => {
      const client = await startWeb({ payers: 'manual' });
      assert.equal((await client.token()).expires_in, 7_776_000);
      const { http, body } = await client.post('webpayment', client.order());
      const { pay_token, payment_url, notif_token } = body as Record<string, string>;
      assert.deepEqual([http, body], [201, { status: 201, message: 'OK', pay_token, payment_url, notif_token }]);
      assert.deepEqual(await client.status(pay_token ?? ''), { status: 'INITIATED', order_id: 'TX1' });
      assert.match(await (await fetch(payment_url ?? '')).text(), /Pay 5000\.00 XOF/);
      const form = new URLSearchParams({ msisdn: '0707070707', choice: 'pay' });
      const back = await fetch(payment_url ?? '', { method: 'POST', body: form, redirect: 'manual' });
      assert.deepEqual([back.status, back.headers.get('location')], [302, 'https://shop.example/back']);
      await client.simulator.idle();
      const { txnid } = await client.status(pay_token ?? '');
      assert.match(String(txnid), /^MP\d{6}\.\d{4}\.[A-Z]\d{5}$/);
      assert.deepEqual(await client.status(pay_token ?? ''), { status: 'SUCCESS', order_id: 'TX1', txnid });
      assert.deepEqual(client.callbacks(), [{ status: 'SUCCESS', notif_token, txnid }]);
      assert.deepEqual(client.simulator.book.movements(), [
        { kind: 'collection', id: 'TX1', receipt: txnid, msisdn: '0707070707', amount: 5000_00n, currency: 'XOF' },
      ]);
      await client.simulator.act('reverse', { id: 'TX1' });
      assert.equal(client.simulator.book.net('XOF'), 0n);
    });

    test('mistakes are refused, and a query needs all three fields', async () => {
      const client = await startWeb({ payers: 'manual' });
      const refused = async (changes: Body, environment = 'ci') => {
        const { http, body } = await client.post('webpayment', client.order(changes), environment);
        return [http, body.code];
      };
      assert.deepEqual(await refused({ order_id: undefined }), [400, 23]);
      assert.deepEqual(await refused({ notif_url: undefined, notifUrl: client.notifUrl }), [400, 23]);
      assert.deepEqual(await refused({ amount: '5000' }), [400, 24]);
      assert.deepEqual(await refused({ amount: 50.5 }), [400, 24]);
      assert.deepEqual(await refused({ order_id: 'TX_1' }), [400, 24]);
      assert.deepEqual(await refused({ merchant_key: 'other' }), [400, 24]);
      assert.deepEqual(await refused({ currency: 'OUV' }), [400, 24]);
      assert.deepEqual(await refused({ currency: 'XOF' }, 'dev'), [400, 24]);
      assert.deepEqual(await refused({ language: 'fr' }), [400, 24]);
      const { pay_token } = await client.pay();
      assert.deepEqual(await refused({}), [400, 24]);
      const query = { order_id: 'TX1', amount: 5001, pay_token };
      assert.equal((await client.post('transactionstatus', query)).http, 404);
      const bad = await fetch(`${client.simulator.url}/oauth/v3/token`, { method: 'POST' });
      assert.equal(bad.status, 401);
    });

    test('cancelled and unanswered pages expire; a failure has no reason', async () => {
      const client = await startWeb({ payers: 'manual' });
      const { pay_token, payment_url } = await client.pay();
      const choose = (url: string, form: Record<string, string>) =>
        fetch(url, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' });
      const cancelled = await choose(payment_url, { choice: 'cancel' });
      assert.equal(cancelled.headers.get('location'), 'https://shop.example/cancelled');
      assert.equal((await client.status(pay_token)).status, 'EXPIRED');
      const failed = await client.pay({ order_id: 'TX3' });
      await choose(failed.payment_url, { msisdn: '0707000001', choice: 'pay' });
      await client.simulator.idle();
      assert.deepEqual(await client.status(failed.pay_token, 'TX3'), { status: 'FAILED', order_id: 'TX3' });
      assert.deepEqual(client.callbacks(), [{ status: 'FAILED', notif_token: failed.notif_token, txnid: '' }]);
      assert.deepEqual(client.simulator.book.movements(), []);

      const impatient = await startWeb({ payers: 'manual', settings: { promptSeconds: '0.01' } });
      const ignored = await impatient.pay();
      await eventually('the end', async () => (await impatient.status(ignored.pay_token)).status === 'EXPIRED');
      const slow = await startWeb({ settings: { processingSeconds: '3600' } });
      const working = await slow.pay();
      await eventually('the work', async () => (await slow.status(working.pay_token)).status === 'PENDING');
    });

    test('a page that nobody was sent is not paid; late, unknown and forged ends', async () => {
      const client = await startWeb({ settings: { payerOpensPage: 'when_opened', lateSeconds: '0.01' } });
      const { faults } = client.simulator;
      faults.add({ fault: 'answer_lost', operation: 'collect' });
      await assert.rejects(client.pay({ order_id: 'TX0' }));
      faults.add({ fault: 'late_success', operation: 'collect' });
      const late = await client.pay();
      await fetch(late.payment_url);
      await eventually('the late success', async () => (await client.status(late.pay_token)).status === 'SUCCESS');
      faults.add({ fault: 'unknown_code', operation: 'collect' });
      const unknown = await client.pay({ order_id: 'TX2' });
      await fetch(unknown.payment_url);
      await client.simulator.idle();
      assert.equal((await client.status(unknown.pay_token, 'TX2')).status, 'SUSPENDED');
      await client.simulator.act('forge', { id: 'TX2' });
      await client.simulator.idle();
      const forged = client.callbacks().at(-1);
      assert.equal(forged?.status, 'SUCCESS');
      assert.notEqual(forged?.notif_token, unknown.notif_token);
      faults.add({ fault: 'token_ended', operation: 'query' });
      assert.equal((await client.status(late.pay_token)).code, 42);
      assert.equal(client.simulator.book.net('XOF'), 5000_00n);

      const waiting = await startWeb({ settings: { lateSeconds: '3600' } });
      waiting.simulator.faults.add({ fault: 'late_success', operation: 'collect' });
      const { pay_token } = await waiting.pay();
      await eventually('the expiry', async () => (await waiting.status(pay_token)).status === 'EXPIRED');
      assert.deepEqual(waiting.simulator.book.movements(), []);
    });
  });

  describe('Cameroon', () => {
    const PAYER = '691234567';

    async function startCameroon(options: SimulatorOptions = {}) {
      const started = await start(options);
      const { url } = started.simulator;
      const token = async () => {
        const answer = await fetch(`${url}/token`, {
          method: 'POST',
          headers: { authorization: basic(KEYS.cameroonConsumerKey, KEYS.cameroonConsumerSecret) },
          body: new URLSearchParams({ grant_type: 'client_credentials' }),
        });
        return (await answer.json()) as { access_token: string; expires_in: number };
      };
      const auth = Buffer.from(`${KEYS.cameroonApiUser}:${KEYS.cameroonApiPassword}`).toString('base64');
      const raw = async (method: string, path: string, body?: object) => {
        const { access_token } = await token();
        return fetch(`${url}/omcoreapis/1.0.2/mp/${path}`, {
          method,
          headers: { authorization: `Bearer ${access_token}`, 'x-auth-token': auth },
          ...(body ? { body: JSON.stringify(body) } : {}),
        });
      };
      const call = async (method: string, path: string, body?: object) => {
        const answer = await raw(method, path, body);
        return { http: answer.status, body: (await answer.json()) as { message: string; data: Body } };
      };
      const init = async () => String((await call('POST', 'init')).body.data.payToken);
      const payment = (payToken: string, changes: Body = {}) => ({
        notifUrl: started.notifUrl,
        channelUserMsisdn: KEYS.cameroonChannelMsisdn,
        amount: '100',
        subscriberMsisdn: PAYER,
        pin: KEYS.cameroonPin,
        orderId: 'ORDER1',
        description: 'Payment to Shop',
        payToken,
        ...changes,
      });
      const pay = (payToken: string, changes: Body = {}) => call('POST', 'pay', payment(payToken, changes));
      const status = async (payToken: string) => (await call('GET', `paymentstatus/${payToken}`)).body.data;
      return { ...started, token, raw, call, init, pay, status };
    }

    test('two calls, a prompt, SUCCESSFULL with the balance in its message', async () => {
      const client = await startCameroon({ payers: 'manual' });
      const payToken = await client.init();
      assert.match(payToken, /^MP\d{6}[0-9A-F]{20}$/);
      const { http, body } = await client.pay(payToken);
      assert.deepEqual([http, body.message], [200, 'Merchant payment successfully initiated']);
      const { id, createtime, txnid, inittxnmessage } = body.data;
      assert.match(String(txnid), /^MP\d{6}\.\d{4}\.[A-Z]\d{5}$/);
      const expected = {
        id,
        createtime,
        subscriberMsisdn: PAYER,
        amount: 100,
        payToken,
        txnid,
        txnmode: 'ORDER1',
        inittxnmessage,
        inittxnstatus: '200',
        confirmtxnstatus: null,
        confirmtxnmessage: null,
        status: 'PENDING',
        notifUrl: client.notifUrl,
        description: 'Payment to Shop',
        channelUserMsisdn: KEYS.cameroonChannelMsisdn,
      };
      assert.deepEqual(body.data, expected);
      assert.equal((await client.call('GET', `push/${payToken}`)).body.message, 'Push sent to customer');
      const [first, second] = client.simulator.phones.open();
      client.simulator.phones.decide(second?.id ?? '', 'approve');
      client.simulator.phones.decide(first?.id ?? '', 'cancel');
      const paid = await client.status(payToken);
      assert.match(String(paid.confirmtxnmessage), /New balance:\d+\.\d\d\.$/);
      const { confirmtxnmessage } = paid;
      assert.deepEqual(paid, { ...expected, status: 'SUCCESSFULL', confirmtxnstatus: '200', confirmtxnmessage });
      await client.simulator.idle();
      assert.deepEqual(client.callbacks(), [{ payToken, status: 'SUCCESSFULL' }]);
      const again = await client.pay(payToken);
      assert.deepEqual([again.http, again.body.data.status], [417, 'SUCCESSFULL']);
      assert.deepEqual(client.simulator.book.movements(), [
        { kind: 'collection', id: 'ORDER1', receipt: txnid, msisdn: PAYER, amount: 100_00n, currency: 'XAF' },
      ]);
    });

    test('not enough money is told by the answer; a token that is never used expires with nulls', async () => {
      let now = Date.now();
      const client = await startCameroon({ now: () => now });
      const { access_token, expires_in } = await client.token();
      assert.equal(expires_in, 2496);
      const poor = await client.pay(await client.init(), { subscriberMsisdn: '691234001' });
      assert.equal(poor.http, 417);
      assert.equal(poor.body.message, '60019 :: Le solde du compte du payeur est insuffisant');
      const { inittxnstatus, status, txnid } = poor.body.data;
      assert.deepEqual([inittxnstatus, status, txnid], ['60019', 'FAILED', null]);
      const unused = await client.init();
      now += 600_000;
      const left = await client.token();
      assert.deepEqual([left.access_token, left.expires_in], [access_token, 1896]);
      const expired = Object.entries(await client.status(unused)).filter(([, value]) => value !== null);
      assert.deepEqual(
        expired.map(([name]) => name),
        ['id', 'createtime', 'payToken', 'status'],
      );
      assert.deepEqual(expired.at(-1), ['status', 'EXPIRED']);
      now += 1_896_000;
      assert.notEqual((await client.token()).access_token, access_token);
    });

    test('mistakes are refused', async () => {
      const client = await startCameroon({ payers: 'manual' });
      const payToken = await client.init();
      const refused = async (changes: Body) => (await client.pay(payToken, changes)).http;
      assert.equal(await refused({ subscriberMsisdn: `237${PAYER}` }), 400);
      assert.equal(await refused({ amount: '10.5' }), 400);
      assert.equal(await refused({ orderId: 'X'.repeat(21) }), 400);
      assert.equal(await refused({ orderId: undefined, order_id: 'ORDER1' }), 400);
      assert.equal(await refused({ pin: '0000' }), 417);
      assert.equal(await refused({ payToken: 'MP1' }), 404);
      assert.deepEqual(client.simulator.phones.open(), []);
      const missing = await fetch(`${client.simulator.url}/omcoreapis/1.0.2/mp/init`, { method: 'POST' });
      assert.equal(((await missing.json()) as { fault: Body }).fault.code, 900902);
    });

    test('a token that ends early is told in XML; late, unknown and cancelled payments', async () => {
      const client = await startCameroon({ settings: { lateSeconds: '0.01' } });
      const { faults } = client.simulator;
      faults.add({ fault: 'token_ended', operation: 'query' });
      const ended = await client.raw('GET', 'paymentstatus/MP1');
      assert.equal(ended.status, 401);
      assert.match(await ended.text(), /<ams:code>900901<\/ams:code>/);
      faults.add({ fault: 'late_success', operation: 'collect' });
      const late = await client.init();
      await client.pay(late);
      await eventually('the late success', async () => (await client.status(late)).status === 'SUCCESSFULL');
      faults.add({ fault: 'unknown_code', operation: 'collect' });
      const unknown = await client.init();
      await client.pay(unknown, { orderId: 'ORDER2' });
      const cancelled = await client.init();
      await client.pay(cancelled, { orderId: 'ORDER3', subscriberMsisdn: '691234011' });
      await client.simulator.idle();
      const { status, confirmtxnstatus } = await client.status(unknown);
      assert.deepEqual([status, confirmtxnstatus], ['FAILED', '77777']);
      assert.equal((await client.status(cancelled)).status, 'CANCELLED');
      await client.simulator.act('forge', { id: 'ORDER3' });
      await client.simulator.idle();
      assert.deepEqual(client.callbacks().at(-1), { payToken: cancelled, status: 'SUCCESSFULL' });
      assert.equal(client.simulator.book.net('XAF'), 100_00n);

      const waiting = await startCameroon({ settings: { lateSeconds: '3600' } });
      waiting.simulator.faults.add({ fault: 'late_success', operation: 'collect' });
      const payToken = await waiting.init();
      await waiting.pay(payToken);
      await eventually('the expiry', async () => (await waiting.status(payToken)).status === 'EXPIRED');
      assert.deepEqual(waiting.simulator.book.movements(), []);
    });
  });
});
