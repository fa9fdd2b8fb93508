import assert from 'node:assert/strict';
import { createHash, createPublicKey, generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from './frame.ts';
import { createPawapaySimulator, PAWAPAY_SIMULATOR_SETTINGS } from './pawapay.ts';

type Json = Record<string, unknown>;
type Received = { headers: Record<string, string>; text: string; body: Json };

const TOKEN = PAWAPAY_SIMULATOR_SETTINGS.apiToken ?? '';
const PHONE = '260763456789';

/** Waits until the condition gives something. */
async function until<T>(condition: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (let tries = 0; tries < 500; tries++) {
    const found = await condition();
    if (found) return found;
    await pause(10);
  }
  throw new Error('the condition never came true');
}

const compareTexts = (one: unknown, other: unknown) => String(one).localeCompare(String(other));

describe('pawapay simulator', () => {
  let simulator: RunningSimulator;
  const received: Received[] = [];
  /** Answers of the receiver, one for each callback; then 200. */
  const answers: number[] = [];
  const receiver = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      received.push({ headers: incoming.headers as Record<string, string>, text, body: JSON.parse(text) as Json });
      response.writeHead(answers.shift() ?? 200).end();
    });
  });
  const receiverUrl = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/pawapay`;

  async function start(settings: Record<string, string> = {}, options: SimulatorOptions = {}): Promise<void> {
    simulator = await startSimulator(createPawapaySimulator, {
      ...options,
      settings: {
        callbackUrl: receiverUrl(),
        promptSeconds: '0.1',
        lateSuccessSeconds: '0.1',
        callbackRetrySeconds: '0.05',
        statementSeconds: '0.01',
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

  async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(`${simulator.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, text, body: (text.startsWith('{') ? JSON.parse(text) : {}) as Json };
  }
  const details = (phoneNumber = PHONE, provider = 'MTN_MOMO_ZMB') => ({
    type: 'MMO',
    accountDetails: { phoneNumber, provider },
  });
  const deposit = (more: Json = {}) => ({
    depositId: randomUUID(),
    amount: '15.5',
    currency: 'ZMW',
    payer: details(),
    ...more,
  });
  const payout = (more: Json = {}) => ({
    payoutId: randomUUID(),
    amount: '10',
    currency: 'ZMW',
    recipient: details(),
    ...more,
  });
  const find = async (kind: string, id: string) => {
    const { body } = await call('GET', `/v2/${kind}s/${id}`);
    return (body.data ?? null) as Json | null;
  };
  const end = (kind: string, id: string) =>
    until(async () => {
      const data = await find(kind, id);
      return data?.status === 'COMPLETED' || data?.status === 'FAILED' ? data : null;
    });
  const codeOf = (body: Json) => (body.failureReason as Json | undefined)?.failureCode;

  async function paidDeposit(more: Json = {}): Promise<string> {
    const body = deposit(more);
    await call('POST', '/v2/deposits', body);
    await end('deposit', body.depositId);
    return body.depositId;
  }

  test('refuses a request without a token, with a wrong one and with one that ended', async () => {
    await start();
    const missing = await fetch(`${simulator.url}/v2/deposits/${randomUUID()}`);
    assert.equal(missing.status, 401);
    assert.deepEqual(codeOf((await missing.json()) as Json), 'NO_AUTHENTICATION');
    const wrong = await call('POST', '/v2/deposits', deposit(), { authorization: 'Bearer other' });
    assert.deepEqual([wrong.status, codeOf(wrong.body)], [401, 'AUTHENTICATION_ERROR']);
    simulator.faults.add({ fault: 'token_ended', operation: 'collect' });
    assert.equal((await call('POST', '/v2/deposits', deposit())).status, 401);
    assert.equal((await call('POST', '/v2/deposits', deposit())).status, 200);
    await simulator.act('set_token', { token: 'new' });
    assert.equal((await call('GET', '/v2/wallet-balances')).status, 401);
  });

  test('completes a deposit and tells it in a signed callback without clientReferenceId', async () => {
    await start();
    const metadata = [{ ref: 'TX_1' }, { customerId: 'a@b.c', isPII: true }];
    const body = deposit({ clientReferenceId: 'REF-1', customerMessage: 'To ACME', metadata });
    const { body: accepted } = await call('POST', '/v2/deposits', body);
    assert.match(String(accepted.created), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(accepted, {
      depositId: body.depositId,
      status: 'ACCEPTED',
      nextStep: 'FINAL_STATUS',
      created: accepted.created,
    });
    const data = await end('deposit', body.depositId);
    assert.deepEqual(data, {
      depositId: body.depositId,
      status: 'COMPLETED',
      amount: '15.50',
      currency: 'ZMW',
      country: 'ZMB',
      payer: body.payer,
      customerMessage: 'To ACME',
      clientReferenceId: 'REF-1',
      created: accepted.created,
      providerTransactionId: data.providerTransactionId,
      metadata: { ref: 'TX_1', customerId: 'a@b.c' },
    });
    const callback = await until(() => received[0]);
    const { clientReferenceId: _, ...shown } = data;
    assert.deepEqual(callback.body, { ...shown, failureReason: null });
    await assertSigned(callback);
    assert.deepEqual(
      simulator.book.movements().map(({ kind, id, amount, receipt }) => [kind, id, amount, receipt]),
      [['collection', body.depositId, 15_50n, data.providerTransactionId]],
    );
    assert.deepEqual((await call('POST', '/v2/deposits', { ...body, amount: '1' })).body, {
      depositId: body.depositId,
      status: 'DUPLICATE_IGNORED',
      created: accepted.created,
    });
    assert.equal(simulator.book.net('ZMW'), 15_50n);
  });

  /** The check that a merchant makes, by the key that the public-key route shows. */
  async function assertSigned({ headers, text }: Received, encoding: 'der' | 'ieee-p1363' = 'der'): Promise<void> {
    assert.equal(isSigned({ headers, text }, await publicKeys(), encoding), true);
  }
  const publicKeys = async () =>
    JSON.parse((await call('GET', '/v2/public-key/http', undefined, { authorization: '' })).text) as {
      id: string;
      key: string;
    }[];

  function isSigned(
    { headers, text }: Pick<Received, 'headers' | 'text'>,
    keys: { id: string; key: string }[],
    dsaEncoding: 'der' | 'ieee-p1363',
  ): boolean {
    const params = headers['signature-input']?.slice('sig-pp='.length) ?? '';
    const values: Record<string, string | undefined> = {
      ...headers,
      '@method': 'POST',
      '@authority': new URL(receiverUrl()).host,
      '@path': '/pawapay',
    };
    const lines = Array.from(
      /\(([^)]*)\)/.exec(params)?.[1]?.matchAll(/"([^"]+)"/g) ?? [],
      ([, name = '']) => name,
    ).map((name) => `"${name}": ${values[name]}`);
    const base = [...lines, `"@signature-params": ${params}`].join('\n');
    const key = keys.find(({ id }) => params.includes(`keyid="${id}"`))?.key ?? '';
    const signature = Buffer.from(headers.signature?.slice('sig-pp=:'.length, -1) ?? '', 'base64');
    const algorithm = headers['content-digest']?.slice(0, 7) ?? '';
    const digest = createHash(algorithm.replace('-', '')).update(text).digest('base64');
    return (
      verify('sha256', Buffer.from(base), { key: createPublicKey(key), dsaEncoding }, signature) &&
      headers['content-digest'] === `${algorithm}=:${digest}:`
    );
  }

  test('answers 400 for fields that are missing, misspelt or of the wrong type', async () => {
    await start();
    const cases: [Json, string][] = [
      [{ amount: undefined }, 'MISSING_PARAMETER'],
      [{ ammount: '1' }, 'UNSUPPORTED_PARAMETER'],
      [{ amount: 15 }, 'INVALID_PARAMETER'],
      [{ amount: '15.50' }, 'INVALID_PARAMETER'],
      [{ depositId: '018f3b1c-7b5a-7cc3-98c4-dc0c0c07398f' }, 'INVALID_PARAMETER'],
      [{ customerMessage: 'Hi!' }, 'INVALID_PARAMETER'],
      [
        { payer: { type: 'MMO', accountDetails: { phoneNUmber: PHONE, provider: 'MTN_MOMO_ZMB' } } },
        'MISSING_PARAMETER',
      ],
      [{ payer: details('+260763456789') }, 'INVALID_PARAMETER'],
      [{ metadata: { ref: 'TX_1' } }, 'INVALID_PARAMETER'],
      [{ metadata: [{ ref: '1' }, { ref: '2' }] }, 'DUPLICATE_METADATA_FIELD'],
    ];
    for (const [more, code] of cases) {
      const { status, body } = await call('POST', '/v2/deposits', deposit(more));
      assert.deepEqual([status, body.status, codeOf(body)], [400, 'REJECTED', code], JSON.stringify(more));
    }
    const { status, body } = await call('POST', '/v2/deposits', 'amount=15');
    assert.deepEqual([status, codeOf(body)], [400, 'INVALID_INPUT']);
    assert.equal((await call('POST', '/v2/payouts', { ...payout(), payer: details() })).status, 400);
    assert.deepEqual(simulator.book.movements(), []);
  });

  test('answers 200 with REJECTED for what breaks a rule of business, and forgets the id', async () => {
    await start();
    const id = randomUUID();
    const cases: [Json, string][] = [
      [{ payer: details(PHONE, 'WAVE_ZMB') }, 'INVALID_PROVIDER'],
      [{ currency: 'KES' }, 'INVALID_CURRENCY'],
      [{ payer: details('2607634') }, 'INVALID_PHONE_NUMBER'],
      [{ amount: '15.123' }, 'INVALID_AMOUNT'],
      [{ amount: '1.5', currency: 'XAF', payer: details('237653456789', 'MTN_MOMO_CMR') }, 'INVALID_AMOUNT'],
    ];
    for (const [more, code] of cases) {
      const { status, body } = await call('POST', '/v2/deposits', deposit({ depositId: id, ...more }));
      assert.deepEqual([status, body.depositId, body.status, codeOf(body)], [200, id, 'REJECTED', code]);
    }
    assert.deepEqual((await call('POST', '/v2/deposits', deposit({ depositId: id, amount: '20001' }))).body, {
      depositId: null,
      status: 'REJECTED',
      failureReason: {
        failureCode: 'AMOUNT_OUT_OF_BOUNDS',
        failureMessage: "The amount needs to be more than '1' and less than '20000' for provider 'MTN_MOMO_ZMB'.",
      },
    });
    assert.equal((await call('GET', `/v2/deposits/${id}`)).text, '{"status":"NOT_FOUND"}');
    assert.equal((await call('POST', '/v2/deposits', deposit({ depositId: id }))).body.status, 'ACCEPTED');
    await end('deposit', id);
    await simulator.idle();
    assert.equal(received.length, 1);
  });

  test('remembers rejected ids, shows payments late and gives four decimals, where settings say so', async () => {
    let now = Date.now();
    await start(
      { rememberRejected: 'true', notFoundMs: '100', amountDecimals: '4', disabledOperations: 'PAYOUT' },
      { now: () => now },
    );
    const rejected = deposit({ amount: '20001' });
    await call('POST', '/v2/deposits', rejected);
    assert.equal((await call('POST', '/v2/deposits', rejected)).body.status, 'DUPLICATE_IGNORED');
    const body = deposit();
    await call('POST', '/v2/deposits', body);
    assert.equal(await find('deposit', body.depositId), null);
    now += 100;
    assert.equal((await end('deposit', body.depositId)).amount, '15.5000');
    const { status, body: refused } = await call('POST', '/v2/payouts', payout());
    assert.deepEqual([status, codeOf(refused)], [403, 'PAYOUTS_NOT_ALLOWED']);
  });

  test('gives the code for each decision of the payer, and no reason for silence', async () => {
    await start();
    const codes = { '001': 'INSUFFICIENT_BALANCE', '002': 'PAYMENT_NOT_APPROVED', '003': 'PAYER_NOT_FOUND' };
    const more = { '004': 'PAYER_LIMIT_REACHED', '005': 'PAYMENT_NOT_APPROVED', '011': 'PAYMENT_NOT_APPROVED' };
    const sandbox = { '019': 'PAYER_LIMIT_REACHED', '049': 'INSUFFICIENT_BALANCE', '069': 'UNSPECIFIED_FAILURE' };
    for (const [ending, code] of Object.entries({ ...codes, ...more, ...sandbox })) {
      const body = deposit({ payer: details(`260763456${ending}`) });
      await call('POST', '/v2/deposits', body);
      const data = await end('deposit', body.depositId);
      assert.deepEqual([data.status, codeOf(data)], ['FAILED', code], ending);
      const callback = await until(() => received.find((each) => each.body.depositId === body.depositId));
      assert.equal(codeOf(callback.body), code);
      assert.equal((await call('POST', '/v2/deposits', body)).body.status, 'DUPLICATE_IGNORED');
    }
    assert.deepEqual(simulator.phones.open(), []);
    assert.deepEqual(simulator.book.movements(), []);
  });

  test('pays out of the wallet of the country, and rejects when it is empty', async () => {
    await start({}, { openingBalance: 15_00n });
    const body = payout();
    const { body: accepted } = await call('POST', '/v2/payouts', body);
    assert.deepEqual(accepted, { payoutId: body.payoutId, status: 'ACCEPTED', created: accepted.created });
    const { body: refused } = await call('POST', '/v2/payouts', payout());
    assert.deepEqual([refused.status, codeOf(refused)], ['REJECTED', 'PAWAPAY_WALLET_OUT_OF_FUNDS']);
    const data = await end('payout', body.payoutId);
    assert.deepEqual(data.recipient, body.recipient);
    assert.deepEqual((await until(() => received[0])).body, data);
    const balance = async () => (await call('GET', '/v2/wallet-balances?country=ZMB')).text;
    assert.equal(await balance(), '{"balances":[{"country":"ZMB","balance":"5.00","currency":"ZMW","provider":""}]}');
    await simulator.act('top_up', { country: 'ZMB', amount: '10' });
    const unknown = payout({ recipient: details('260763456089') });
    await call('POST', '/v2/payouts', unknown);
    assert.equal(codeOf(await end('payout', unknown.payoutId)), 'RECIPIENT_NOT_FOUND');
    assert.match(await balance(), /"15.00"/);
    const bulk = JSON.parse((await call('POST', '/v2/payouts/bulk', [payout(), payout({ amount: 1 })])).text) as Json[];
    assert.deepEqual(
      bulk.map(({ status }) => status),
      ['ACCEPTED', 'REJECTED'],
    );
    await simulator.idle();
    assert.equal(simulator.book.net('ZMW'), -20_00n);
  });

  test('keeps payouts in a queue while the provider is delayed, and lets them be cancelled', async () => {
    await start();
    const set = (status: string) => simulator.act('set_status', { provider: 'MTN_MOMO_ZMB', status });
    await set('CLOSED');
    const { body: closed } = await call('POST', '/v2/deposits', deposit());
    assert.equal(codeOf(closed), 'PROVIDER_TEMPORARILY_UNAVAILABLE');
    await set('DELAYED');
    const [first, second] = [payout(), payout()];
    for (const body of [first, second]) {
      await call('POST', '/v2/payouts', body);
      await until(async () => (await find('payout', body.payoutId))?.status === 'ENQUEUED');
    }
    assert.match((await call('GET', '/v2/availability?country=ZMB&operationType=PAYOUT')).text, /DELAYED/);
    const cancelled = await call('POST', `/v2/payouts/fail-enqueued/${first.payoutId}`);
    assert.deepEqual(cancelled.body, { payoutId: first.payoutId, status: 'ACCEPTED' });
    assert.equal(codeOf(await end('payout', first.payoutId)), 'MANUALLY_CANCELLED');
    await set('OPERATIONAL');
    assert.equal((await end('payout', second.payoutId)).status, 'COMPLETED');
    const late = await call('POST', `/v2/payouts/fail-enqueued/${second.payoutId}`);
    assert.equal(codeOf(late.body), 'INVALID_STATE');
    assert.equal(simulator.book.movements().length, 1);
  });

  test('refunds in parts, one at a time, up to the deposit', async () => {
    await start();
    const depositId = await paidDeposit();
    const refund = (more: Json = {}) => ({ refundId: randomUUID(), depositId, amount: '10', currency: 'ZMW', ...more });
    const code = async (body: Json) => codeOf((await call('POST', '/v2/refunds', body)).body);
    assert.equal(await code(refund({ depositId: randomUUID() })), 'NOT_FOUND');
    assert.equal(await code(refund({ amount: '15.6' })), 'AMOUNT_TOO_LARGE');
    const set = (status: string) =>
      simulator.act('set_status', { provider: 'MTN_MOMO_ZMB', operation: 'refund', status });
    await set('DELAYED');
    const first = refund();
    assert.equal((await call('POST', '/v2/refunds', first)).body.status, 'ACCEPTED');
    assert.equal(await code(refund({ amount: '1' })), 'REFUND_IN_PROGRESS');
    await set('OPERATIONAL');
    const data = await end('refund', first.refundId);
    assert.equal('depositId' in data, false);
    assert.deepEqual(data.recipient, details());
    const { amount: _, currency: __, ...rest } = refund();
    await call('POST', '/v2/refunds', rest);
    assert.equal((await end('refund', rest.refundId)).amount, '5.50');
    assert.equal(await code(refund({ amount: '1' })), 'DEPOSIT_ALREADY_REFUNDED');
    assert.equal((await call('POST', '/v2/refunds', first)).body.status, 'DUPLICATE_IGNORED');
    await until(() => received.some(({ body }) => body.refundId === rest.refundId));
    assert.equal(simulator.book.net('ZMW'), 0n);
    const unpaid = deposit({ payer: details('260763456129') });
    await call('POST', '/v2/deposits', unpaid);
    assert.equal(await code(refund({ depositId: unpaid.depositId })), 'INVALID_STATE');
    const other = await paidDeposit();
    await simulator.act('dashboard_refund', { depositId: other });
    await simulator.idle();
    assert.equal(await code(refund({ depositId: other })), 'DEPOSIT_ALREADY_REFUNDED');
  });

  test('repeats a callback until it is answered with 200, and sends it again when asked', async () => {
    await start();
    answers.push(500, 202);
    const depositId = await paidDeposit();
    await until(() => received.length === 3);
    await simulator.idle();
    assert.equal(received.length, 3);
    const resent = await call('POST', `/v2/deposits/resend-callback/${depositId}`);
    assert.deepEqual(resent.body, { payoutId: depositId, status: 'ACCEPTED' });
    await until(() => received.length === 4);
    assert.equal(new Set(received.map(({ text }) => text)).size, 1);
    const pending = deposit({ payer: details('260763456129') });
    await call('POST', '/v2/deposits', pending);
    const refused = await call('POST', `/v2/deposits/resend-callback/${pending.depositId}`);
    assert.equal(codeOf(refused.body), 'INVALID_STATE');
    await simulator.act('finish', { id: pending.depositId });
    assert.equal((await end('deposit', pending.depositId)).status, 'COMPLETED');
  });

  test('signs with raw signatures, SHA-256 and new keys, and wrongly on demand', async () => {
    await start({ signatureEncoding: 'raw', digest: 'sha-256' });
    const next = async () => {
      received.splice(0);
      await paidDeposit();
      return until(() => received[0]);
    };
    const valid = await next();
    await assertSigned(valid, 'ieee-p1363');
    assert.match(valid.headers['content-digest'] ?? '', /^sha-256=/);
    await simulator.act('rotate_key', {});
    const rotated = await next();
    assert.match(rotated.headers['signature-input'] ?? '', /keyid="HTTP_EC_P256_KEY:2"/);
    await assertSigned(rotated, 'ieee-p1363');
    await simulator.act('plan_callback', { fault: 'wrong_digest' });
    assert.equal(isSigned(await next(), await publicKeys(), 'ieee-p1363'), false);
    await simulator.act('plan_callback', { fault: 'expired_signature' });
    const expires = /expires=(\d+)/.exec((await next()).headers['signature-input'] ?? '')?.[1];
    assert.ok(Number(expires) * 1000 < Date.now());
    await simulator.act('plan_callback', { fault: 'stripped_signature' });
    assert.equal((await next()).headers.signature, undefined);
    await simulator.act('plan_callback', { fault: 'processing_after_final' });
    await next();
    await until(() => received[1]);
    assert.deepEqual(received.map(({ body }) => body.status).toSorted(compareTexts), ['COMPLETED', 'PROCESSING']);
    simulator.faults.add({ fault: 'field_renamed', operation: 'other', rename: { status: 'state' } });
    const renamed = await next();
    assert.equal(renamed.body.state, 'COMPLETED');
    await assertSigned(renamed, 'ieee-p1363');
  });

  test('does the faults of the protocol on demand', async () => {
    await start();
    const body = deposit();
    await simulator.act('answer_unknown_error', {});
    const lost = await call('POST', '/v2/deposits', body);
    assert.deepEqual([lost.status, Object.keys(lost.body)], [500, ['failureReason']]);
    assert.equal((await end('deposit', body.depositId)).status, 'COMPLETED');
    simulator.faults.add({ fault: 'unknown_code', operation: 'payout' });
    const unknown = payout();
    await call('POST', '/v2/payouts', unknown);
    assert.equal(codeOf(await end('payout', unknown.payoutId)), 'PROVIDER_SETTLEMENT_MISMATCH');
    simulator.faults.add({ fault: 'late_success', operation: 'collect' });
    const late = deposit();
    await call('POST', '/v2/deposits', late);
    await until(async () => (await find('deposit', late.depositId))?.status === 'IN_RECONCILIATION');
    assert.equal((await end('deposit', late.depositId)).status, 'COMPLETED');
    await simulator.idle();
    simulator.faults.add({ fault: 'callback_before_answer', operation: 'collect' });
    received.splice(0);
    await call('POST', '/v2/deposits', deposit());
    assert.equal(received.length, 1);
    assert.equal(simulator.book.net('ZMW'), 46_50n);
  });

  test('takes only signed requests where the account says so', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const merchantPublicKey = publicKey.export({ type: 'spki', format: 'pem' }) as string;
    await start({ signedRequestsOnly: 'true', merchantKeyId: 'OUR_KEY:1', merchantPublicKey });
    const unsigned = await call('POST', '/v2/deposits', deposit());
    assert.deepEqual([unsigned.status, codeOf(unsigned.body)], [403, 'HTTP_SIGNATURE_ERROR']);
    const text = JSON.stringify(deposit());
    const digest = `sha-512=:${createHash('sha512').update(text).digest('base64')}:`;
    const created = Math.floor(Date.now() / 1000);
    const times = `created=${created};expires=${created + 60}`;
    const covered = '"@method" "@authority" "@path" "content-digest"';
    const params = `(${covered});alg="ecdsa-p256-sha256";keyid="OUR_KEY:1";${times}`;
    const base = [
      '"@method": POST',
      `"@authority": ${new URL(simulator.url).host}`,
      '"@path": /v2/deposits',
      `"content-digest": ${digest}`,
      `"@signature-params": ${params}`,
    ].join('\n');
    const headers = {
      'content-digest': digest,
      'signature-input': `sig-pp=${params}`,
      signature: `sig-pp=:${sign('sha256', Buffer.from(base), privateKey).toString('base64')}:`,
    };
    assert.equal((await call('POST', '/v2/deposits', text, headers)).body.status, 'ACCEPTED');
    assert.equal((await call('POST', '/v2/deposits', `${text} `, headers)).status, 403);
    assert.equal((await call('GET', '/v2/wallet-balances')).status, 200);
  });

  test('shows the configuration in both forms, predicts providers and writes a statement', async () => {
    await start({ operationTypes: 'array' });
    const { text } = await call('GET', '/v2/active-conf?country=CIV&operationType=DEPOSIT');
    assert.match(text, /"operationTypes":\[\{"DEPOSIT":\{"authType":"PROVIDER_AUTH","pinPrompt":"MANUAL"/);
    const predicted = await call('POST', '/v2/predict-provider', { phoneNumber: '+260 76 345 6789' });
    assert.deepEqual(predicted.body, { country: 'ZMB', provider: 'MTN_MOMO_ZMB', phoneNumber: PHONE });
    assert.equal((await call('POST', '/v2/predict-provider', { phoneNumber: '123' })).status, 400);
    const depositId = await paidDeposit();
    const dates = { startDate: '2020-01-01T00:00:00', endDate: '2020-01-31T00:00:00' };
    const wallet = { country: 'ZMB', currency: 'ZMW' };
    const order = async (more: Json) => (await call('POST', '/v2/statements', { wallet, ...dates, ...more })).body;
    assert.equal(codeOf(await order({ wallet: { country: 'ZMB', currency: 'KES' } })), 'WALLET_NOT_FOUND');
    assert.equal(codeOf(await order({ endDate: '2020-03-31T00:00:00' })), 'INVALID_DATE_RANGE');
    const time = (ms: number) => new Date(Date.now() + ms).toISOString().slice(0, 19);
    const { statementId } = await order({ startDate: time(-86_400_000), endDate: time(86_400_000) });
    const data = await until(async () => {
      const { body } = await call('GET', `/v2/statements/${String(statementId)}`);
      return (body.data as Json).status === 'COMPLETED' ? (body.data as Json) : null;
    });
    const file = await (await fetch(String(data.downloadUrl))).text();
    const [header, row] = file.split('\n');
    assert.equal(header, 'Creation Date,MSISDN,Transaction ID,Amount,Currency,Country,MNO,Type');
    assert.match(row ?? '', new RegExp(`,${PHONE},${depositId},15.50,ZMW,ZMB,MTN_MOMO_ZMB,DEPOSIT$`));
  });
});
