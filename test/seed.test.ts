// The specification, statement by statement, against a whole gateway. docs/conformance.md numbers the statements and
// names the test here that proves each; what the specification leaves open is tested as our contract closes it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { updateIntegration } from '../src/holders/integrations.ts';
import { completeOrder, readPayment } from '../src/payments/collections.ts';
import { setHolderStatus } from '../src/payments/holder-status.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { refOf } from '../src/payments/transactions.ts';
import type { JsonObject, JsonValue } from '../src/platform/strict-json.ts';
import { type Client, createClient, PATHS, type Reply, send, textOf, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const SIGNED = [PATHS.createLink, PATHS.collect, PATHS.statusV2, PATHS.statusV3, PATHS.balance];
const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const DATE_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
/** What a process may remember of an integration or an account. */
const FORGOTTEN_MS = 1_000;
const UNKNOWN_REF = 'TX_01JNAFQ7M0E9SRC45Y6Z8XKBDT';

let gateway: TestGateway;
let client: Client;

before(async () => {
  gateway = await createTestGateway();
  client = await createClient(gateway, 'Seed shop');
});
after(() => gateway.close());

/** Params that the operation at this path takes. */
const goodParams: Record<string, () => Promise<JsonObject>> = {
  [PATHS.createLink]: async () => ({ country_id: 11, currency: 'UGX' }),
  [PATHS.collect]: async () => ugandanCollection(),
  [PATHS.statusV2]: async () => ({ id: await paidCollection() }),
  [PATHS.statusV3]: async () => ({ id: await paidCollection(), type: 'payin' }),
  [PATHS.balance]: async () => ({}),
};

const paramsFor = (path: string) => goodParams[path]?.() ?? Promise.resolve({});

let paid: string | null = null;
async function paidCollection(): Promise<string> {
  paid ??= await collect();
  return paid;
}

async function collect(lastDigits = '000', changes: JsonObject = {}): Promise<string> {
  const reply = await client.signed(PATHS.collect, ugandanCollection(lastDigits, changes));
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  await gateway.settle();
  return textOf(reply.data.ref);
}

/** `success` of the balance operation is a string. */
const refused = (path: string) => (path === PATHS.balance ? 'false' : false);
const accepted = (path: string) => (path === PATHS.balance ? 'true' : true);

function assertRefused(reply: Reply, path: string, status: number, message: string, code?: string): void {
  assert.deepEqual(
    { status: reply.status, success: reply.body.success, message: reply.body.message },
    { status, success: refused(path), message },
  );
  if (code !== undefined) assert.equal(reply.body.code, code);
  if (path === PATHS.balance) assert.deepEqual(reply.body.data, []);
}

async function payOut(): Promise<string> {
  await topUpSandbox(gateway.ctx, COMMAND_LINE, client.shop.holderId, 'UGX', 10_000_000n);
  const reading = await readPayout(gateway.ctx, client.shop.holderId, {
    amount: '1000',
    currency: 'UGX',
    mobile: '256772123000',
    payee: 'Jane Doe',
    invoiceNo: 'INV-7',
  });
  assert.ok(reading.ok);
  const [result] = await orderPayouts(
    gateway.ctx,
    gateway.services.payments.engine,
    COMMAND_LINE,
    client.shop.holderId,
    [reading.order],
  );
  assert.ok(result?.ok);
  await gateway.settle();
  return refOf(result.transaction);
}

describe('the service', () => {
  test('an integration has a public client_id and a title that is used as sender', async () => {
    assert.match(client.shop.clientId, /^client_/);
    assert.equal(client.shop.title, 'Seed shop');
    assert.equal((await client.signed(PATHS.balance)).status, 200);
  });

  test('no endpoint creates a payout', () => {
    const routes = gateway.app.printRoutes({ commonPrefix: false });
    assert.ok(!/api.*payout/i.test(routes), routes);
  });

  test('all bodies are JSON, both ways, errors included', async () => {
    const text = await gateway.app.inject({
      method: 'POST',
      url: PATHS.balance,
      payload: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    assert.equal(text.statusCode, 415);
    const paths = [
      await client.signed(PATHS.balance),
      await client.post(PATHS.balance, [1]),
      await send(gateway.app, 'GET', '/api/nothing'),
      await send(gateway.app, 'GET', PATHS.balance),
    ];
    for (const { headers, body } of paths) {
      assert.match(textOf(headers['content-type']), /^application\/json/);
      assert.equal(typeof body.message, 'string');
      assert.ok('success' in body);
    }
  });

  test('a client-supplied callback_url is told about results', async () => {
    const url = 'http://127.0.0.1:9/results';
    const ref = await collect('000', { callback_url: url });
    const record = (await client.signed(PATHS.statusV3, { id: ref })).data;
    assert.equal(record.callback_url, url);
    const events = await gateway.ctx.db.query<{ type: string; url: string }>(
      `select e.type, d.url from events e join callback_deliveries d on d.event_id = e.id where d.url = $1`,
      [url],
    );
    assert.deepEqual(
      events.map(({ type }) => type),
      ['collection.success'],
    );
  });
});

describe('the envelope', () => {
  const broken: [string, JsonObject][] = [
    ['client_id', { client_id: 7 }],
    ['sender', { sender: null }],
    ['timestamp', { timestamp: '1772442000' }],
    ['timestamp', { timestamp: 1772442000.5 }],
    ['salt', { salt: 5 }],
    ['params', { params: [] }],
    ['params', { params: 'x' }],
  ];

  for (const path of SIGNED) {
    test(`is the same on ${path}: six members with their types`, async () => {
      const body = client.envelope(await paramsFor(path));
      for (const member of ['client_id', 'sender', 'timestamp', 'salt', 'signature', 'params']) {
        const { [member]: _, ...rest } = body;
        const reply = await client.post(path, rest as JsonObject);
        assert.equal(reply.status, 400, member);
        assert.equal(reply.body.code, 'invalid_envelope');
        assert.ok(member in (reply.body.errors as JsonObject), member);
      }
      for (const [member, changes] of broken) {
        const reply = await client.post(path, { ...body, ...changes });
        assert.equal(reply.body.code, 'invalid_envelope', member);
        assert.ok(member in (reply.body.errors as JsonObject), member);
      }
      const reply = await client.post(path, { ...body });
      assert.deepEqual([reply.status, reply.body.success], [200, accepted(path)], JSON.stringify(reply.body));
    });

    test(`needs a new signature for each request on ${path}`, async () => {
      const body = client.envelope(await paramsFor(path));
      assert.equal((await client.post(path, body)).status, 200);
      const again = await client.post(path, body);
      assert.equal(again.status, 403);
      assert.equal(again.body.code, 'signature_reused');
    });
  }

  test('the salt may differ per request or stay the same', async () => {
    for (let turn = 0; turn < 2; turn++) {
      assert.equal((await client.signed(PATHS.balance, {}, {}, { salt: 'always the same' })).status, 200);
      gateway.ctx.clock.advance(1_000);
    }
    assert.equal((await client.signed(PATHS.balance, {}, {}, { salt: 'another' })).status, 200);
  });

  test('the signature is a lower-case hexadecimal string of 64 characters', async () => {
    const body = client.envelope();
    assert.match(body.signature, /^[0-9a-f]{64}$/);
    const upper = await client.post(PATHS.balance, { ...body, signature: body.signature.toUpperCase() });
    assert.equal(upper.body.code, 'signature_mismatch');
  });

  test('the signature is an HMAC over every member: a changed body is not verified', async () => {
    const body = client.envelope({ currency: 'UGX' });
    for (const changed of [{ params: { currency: 'KES' } }, { salt: 'other' }, { extra: 1 }] as JsonObject[]) {
      const reply = await client.post(PATHS.balance, { ...body, ...changed });
      assert.equal(reply.body.code, 'signature_mismatch');
    }
  });

  test('the timestamp may be 300 seconds from our clock, either side, not more', async () => {
    const now = Math.floor(gateway.ctx.clock.millis() / 1000);
    for (const [shift, status] of [
      [300, 200],
      [-300, 200],
      [301, 403],
      [-301, 403],
    ] as const) {
      const reply = await client.signed(PATHS.balance, {}, {}, { timestamp: now + shift });
      assert.equal(reply.status, status, textOf(shift));
    }
  });
});

describe('the transaction record', () => {
  const text = (value: JsonValue | undefined) => typeof value === 'string';
  const number = (value: JsonValue | undefined) => typeof value === 'number';
  const textOrNull = (value: JsonValue | undefined) => value === null || text(value);
  const FIELDS: Record<string, (value: JsonValue | undefined) => boolean> = {
    amount: number,
    fee: number,
    currency: text,
    status: text,
    payee: textOrNull,
    invoice_no: textOrNull,
    mobile: textOrNull,
    account_number: textOrNull,
    ref: text,
    balance: (value) => value === null || number(value),
    transaction_detail: text,
    payment_channel: text,
    transaction_date: (value) => DATE_TIME.test(textOf(value)),
    created_at: (value) => MICROSECONDS.test(textOf(value)),
    updated_at: (value) => MICROSECONDS.test(textOf(value)),
    callback_url: textOrNull,
  };
  const V3_ONLY = ['status_code', 'failureReason', 'third_party_reference_1', 'third_party_reference_2'];

  function assertRecord(record: JsonObject, extra: string[]): void {
    assert.deepEqual(Object.keys(record).sort(), [...Object.keys(FIELDS), ...extra].sort());
    for (const [name, holds] of Object.entries(FIELDS))
      assert.ok(holds(record[name]), `${name}: ${textOf(record[name])}`);
  }

  test('has every field of the table with its type and format, in v2', async () => {
    const ref = await collect('000', { callback_url: 'https://shop.example/cb' });
    const { data } = await client.signed(PATHS.statusV2, { id: ref });
    assertRecord(data, []);
    const { transaction_date, created_at, updated_at, balance, ...rest } = data;
    assert.deepEqual(rest, {
      amount: 2500,
      fee: 25,
      currency: 'UGX',
      status: 'success',
      payee: null,
      invoice_no: null,
      mobile: '256772123000',
      account_number: null,
      ref,
      transaction_detail: 'Collection from 256772123000 by MTN MoMo',
      payment_channel: 'MTN MoMo',
      callback_url: 'https://shop.example/cb',
    });
    assert.equal(typeof balance, 'number');
    assert.equal(textOf(created_at).slice(0, 10), textOf(transaction_date).slice(0, 10));
    assert.ok(textOf(updated_at) >= textOf(created_at));
  });

  test('has status_code and failureReason in v3 only; both members are null without a failure', async () => {
    const { data } = await client.signed(PATHS.statusV3, { id: await paidCollection() });
    assertRecord(data, V3_ONLY);
    assert.equal(data.status_code, '200');
    assert.deepEqual(data.failureReason, { failureCode: null, failureMessage: null });
  });

  test('names the failure in v3 when there is one', async () => {
    const { data } = await client.signed(PATHS.statusV3, { id: await collect('001') });
    assert.deepEqual([data.status, data.status_code], ['failed', '400']);
    assert.deepEqual(data.failureReason, {
      failureCode: 'INSUFFICIENT_FUNDS',
      failureMessage: 'The payer does not have enough money.',
    });
  });

  test('amount, fee and balance are numbers in v3 too', async () => {
    const { data } = await client.signed(PATHS.statusV3, { id: await paidCollection() });
    assert.deepEqual([typeof data.amount, typeof data.fee, typeof data.balance], ['number', 'number', 'number']);
  });

  test('shows payee and invoice number of a payout, read with type payout', async () => {
    const ref = await payOut();
    const { data } = await client.signed(PATHS.statusV3, { id: ref, type: 'payout' });
    assertRecord(data, V3_ONLY);
    assert.deepEqual(
      [data.payee, data.invoice_no, data.mobile, data.status],
      ['Jane Doe', 'INV-7', '256772123000', 'success'],
    );
    const wrong = await client.signed(PATHS.statusV3, { id: ref, type: 'payin' });
    assertRefused(wrong, PATHS.statusV3, 404, 'Transaction was not created!', 'transaction_not_found');
  });

  test('ref is the value sent as params.id', async () => {
    const ref = await paidCollection();
    assert.equal((await client.signed(PATHS.statusV2, { id: ref })).data.ref, ref);
    assert.equal((await client.signed(PATHS.statusV3, { id: ref })).data.ref, ref);
  });

  test('status is one of the values of the contract, each with its code', async () => {
    const expected = [
      ['005', 'processing', '102'],
      ['000', 'success', '200'],
      ['011', 'failed', '400'],
      ['012', 'pending', '100'],
    ] as const;
    for (const [digits, status, code] of expected) {
      const { data } = await client.signed(PATHS.statusV3, { id: await collect(digits) });
      assert.deepEqual([data.status, data.status_code], [status, code], digits);
    }
  });
});

describe('countries', () => {
  /** The two tables of the specification, cell by cell. */
  const PAYMENT_LINKS = [
    [1, 'Kenya', '254', 'KES', 'till number, pay bill, bank transfer, send money'],
    [2, 'Benin', '229', 'XOF', '1 mobile operator'],
    [3, "Cote D'Ivoire", '225', 'XOF', '2 mobile operators'],
    [4, 'Cameroon', '237', 'XAF', '2 mobile operators'],
    [9, 'Senegal', '221', 'XOF', '2 mobile operators'],
    [10, 'Tanzania', '255', 'TZS', '3 mobile operators'],
    [11, 'Uganda', '256', 'UGX', '2 mobile operators'],
    [12, 'Zambia', '260', 'ZMW', '2 mobile operators'],
    [13, 'Sierra Leone', '232', 'SLE', '1 mobile operator'],
    [16, 'Ghana', '233', 'GHS', '3 mobile operators'],
    [17, 'Nigeria', '234', 'NGN', 'bank'],
  ];
  const COLLECTIONS = [
    [1, 'Kenya', '254', 'KES', 'send money', ''],
    [2, 'Benin', '229', 'XOF', '2 mobile operators', 'Not Supported'],
    [3, "Cote D'Ivoire", '225', 'XOF', '2 mobile operators', 'Not Supported'],
    [4, 'Cameroon', '237', 'XAF', '2 mobile operators', 'Not Supported'],
    [9, 'Senegal', '221', 'XOF', '2 mobile operators', 'Not Supported'],
    [10, 'Tanzania', '255', 'TZS', '4 mobile operators', '2 dp for one named operator'],
    [11, 'Uganda', '256', 'UGX', '2 mobile operators', '2 dp for one named operator'],
    [12, 'Zambia', '260', 'ZMW', '2 mobile operators', '2 dp'],
    [13, 'Sierra Leone', '232', 'SLE', '1 mobile operator', '2 dp'],
  ];
  const cells = (row: JsonObject) => [
    row.country_id,
    row.country,
    row.dial_code,
    row.currency,
    row.payment_method_types,
  ];

  test('the payment-link table is the table of the specification, cell by cell', async () => {
    const { data } = await client.get(PATHS.countries);
    assert.deepEqual((data.payment_links as JsonObject[]).map(cells), PAYMENT_LINKS);
    for (const row of data.payment_links as JsonObject[]) assertMethodCount(row);
  });

  test('the collections table is the table of the specification, cell by cell, extra column included', async () => {
    const { data } = await client.get(PATHS.countries);
    const rows = data.collections as JsonObject[];
    assert.deepEqual(
      rows.map((row) => [...cells(row), row.extra_column]),
      COLLECTIONS,
    );
    for (const row of rows) assertMethodCount(row);
  });

  function assertMethodCount(row: JsonObject): void {
    const types = textOf(row.payment_method_types);
    const counted = Number(/^\d+/.exec(types)?.[0] ?? types.split(', ').length);
    assert.equal((row.methods as JsonValue[]).length, counted, textOf(row.country));
  }

  test('country_id and currency are the required fields of every payment-link country', async () => {
    for (const [countryId, , , currency] of PAYMENT_LINKS) {
      const both = { country_id: Number(countryId), currency: textOf(currency) };
      assert.equal((await client.signed(PATHS.createLink, both)).status, 200, textOf(countryId));
      for (const field of ['country_id', 'currency'] as const) {
        const { [field]: _, ...rest } = both;
        const reply = await client.signed(PATHS.createLink, rest as JsonObject);
        assertRefused(reply, PATHS.createLink, 400, 'Payment link was not created.', 'invalid_params');
        assert.ok(field in (reply.body.errors as JsonObject));
      }
    }
  });

  test('country_id and currency are required for a collection, and must belong together', async () => {
    for (const field of ['country_id', 'currency', 'amount', 'mobile'] as const) {
      const { [field]: _, ...rest } = ugandanCollection();
      const reply = await client.signed(PATHS.collect, rest as JsonObject);
      assertRefused(reply, PATHS.collect, 400, 'Transaction was not created!', 'invalid_params');
      assert.ok(field in (reply.body.errors as JsonObject), field);
    }
    const wrong = await client.signed(PATHS.collect, ugandanCollection('000', { currency: 'KES' }));
    assert.deepEqual(wrong.body.errors, { currency: ['Uganda uses UGX.'] });
  });

  test('the Senegal operator sends a short code by SMS; dialling it brings the prompt where the PIN approves', async () => {
    const { ctx, services } = gateway;
    const row = ctx.catalog.linkCountries.get(9);
    assert.ok(row && services.operator);
    const msisdn = '221771234567';
    const payment = readPayment(
      row,
      { amount: 5000, mobile: msisdn, payment_method_type: 'Orange Money' },
      assert.fail,
      { lenient: false },
    );
    assert.ok(payment);
    const order = await completeOrder(ctx, payment, {
      holderId: client.shop.holderId,
      integrationId: client.shop.id,
      countryId: 9,
      detail: 'Short code',
      reference1: null,
      reference2: null,
      callbackUrl: null,
      linkId: null,
    });
    assert.equal(order.verification, 'shortcode');
    const acceptance = await services.payments.collections.accept(order, null);
    assert.equal(acceptance.kind, 'accepted');
    await gateway.settle();
    const { phone } = services.operator;
    const waiting = await phone.view(msisdn);
    assert.match(textOf(waiting.messages[0]?.text), /#144#/);
    assert.equal(waiting.prompts[0]?.state, 'dial');
    assert.ok((await phone.dial(msisdn, '#144#')).ok);
    const prompted = (await phone.view(msisdn)).prompts[0];
    assert.equal(prompted?.state, 'prompt');
    assert.ok((await phone.answer(msisdn, prompted?.id ?? '', '1234')).ok);
    await gateway.settle();
    assert.equal((await client.signed(PATHS.statusV3, { id: prompted?.id ?? '' })).data.status, 'success');
  });
});

describe('get token', () => {
  test('exchanges client_id and secret_key for a token: numeric id, separator, opaque secret', async () => {
    const { clientId, secretKey } = client.shop;
    const reply = await client.post(PATHS.token, { client_id: clientId, secret_key: secretKey });
    assert.deepEqual([reply.status, reply.body.success, reply.body.message], [200, true, 'Credentials verified.']);
    assert.match(textOf(reply.data.token), /^\d+\|[A-Za-z0-9_-]{40,}$/);
    assert.equal(reply.data.token_type, 'Bearer');
    assert.match(textOf(reply.data.expires_at), MICROSECONDS);
  });

  test('requires both fields, as strings', async () => {
    const good: JsonObject = { client_id: client.shop.clientId, secret_key: client.shop.secretKey };
    for (const field of ['client_id', 'secret_key'])
      for (const value of [undefined, 5, null, '']) {
        const reply = await client.post(
          PATHS.token,
          JSON.parse(JSON.stringify({ ...good, [field]: value })) as JsonObject,
        );
        assert.equal(reply.status, 400);
        assert.ok(field in (reply.body.errors as JsonObject));
      }
  });

  test('answers an unknown client and a wrong secret alike', async () => {
    const wrong = await client.post(PATHS.token, { client_id: client.shop.clientId, secret_key: 'no' });
    const unknown = await client.post(PATHS.token, { client_id: 'client_nobody', secret_key: 'no' });
    for (const reply of [wrong, unknown]) {
      assertRefused(reply, PATHS.token, 401, 'Credentials were not verified.', 'credentials_not_verified');
      assert.equal(reply.body.data, undefined);
    }
  });

  test('the token is presented as a bearer token, and lives 24 hours', async () => {
    const token = await client.token();
    const ask = () => send(gateway.app, 'GET', PATHS.countries, undefined, { authorization: `Bearer ${token}` });
    assert.equal((await ask()).status, 200);
    const later = await createTestGateway();
    try {
      const guest = await createClient(later);
      await guest.token();
      later.ctx.clock.advance(24 * 3_600_000 - 1);
      assert.equal((await guest.get(PATHS.countries)).status, 200);
      later.ctx.clock.advance(1);
      assertRefused(await guest.get(PATHS.countries), PATHS.countries, 401, 'Unauthenticated.');
    } finally {
      await later.close();
    }
  });
});

describe('the signing endpoint', () => {
  test('answers a signature that the service takes', async () => {
    const unsigned = { client_id: client.shop.clientId, sender: client.shop.title, params: { currency: 'UGX' } };
    const reply = await client.postWithToken(PATHS.sign, unsigned);
    assert.deepEqual([reply.status, reply.body.message], [200, 'Signature generated.']);
    assert.deepEqual(Object.keys(reply.data).sort(), ['envelope', 'salt', 'signature', 'timestamp']);
    const used = await client.post(PATHS.balance, reply.data.envelope as JsonObject);
    assert.equal(used.status, 200, JSON.stringify(used.body));
  });

  test('signs only for the integration of its token', async () => {
    const stranger = await createClient(gateway, 'Stranger');
    const unsigned = { client_id: client.shop.clientId, sender: client.shop.title, params: {} };
    assertRefused(
      await stranger.postWithToken(PATHS.sign, unsigned),
      PATHS.sign,
      403,
      'Entity integration record not found',
    );
  });
});

describe('payment links', () => {
  const ALL = {
    business_name: 'Café Ngozi',
    item_name: 'Lunch',
    callback_url: 'https://shop.example/cb',
    redirection_url: 'https://shop.example/thanks',
    currency: 'XOF',
    amount: '2500',
    country_id: 2,
    currency_country_id: 9,
    first_name: 'Awa',
    last_name: 'Diop',
    email: 'awa@example.org',
    phone: '221771234567',
  };

  test('create takes every param of the table and answers the stored link', async () => {
    const reply = await client.signed(PATHS.createLink, ALL);
    assert.deepEqual([reply.status, reply.body.success], [200, true], JSON.stringify(reply.body));
    assert.equal(typeof reply.body.message, 'string');
    for (const [name, value] of Object.entries(ALL)) assert.equal(reply.data[name], value, name);
    assert.match(textOf(reply.data.payment_link), /^http.*\/pay\/pl_/);
  });

  test('create takes a logo as base64', async () => {
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const reply = await client.signed(PATHS.createLink, { country_id: 11, currency: 'UGX', logo: pixel });
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    assert.match(textOf(reply.data.logo_url), /^http/);
  });

  test('a logo of 2 MiB is taken, one byte more is refused', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const padded = (bytes: number) => Buffer.concat([png, Buffer.alloc(bytes - png.length)]).toString('base64');
    const atLimit = await client.signed(PATHS.createLink, {
      country_id: 11,
      currency: 'UGX',
      logo: padded(2 * 1024 * 1024),
    });
    assert.equal(atLimit.status, 200, JSON.stringify(atLimit.body));
    const over = await client.signed(PATHS.createLink, {
      country_id: 11,
      currency: 'UGX',
      logo: padded(2 * 1024 * 1024 + 1),
    });
    assertRefused(over, PATHS.createLink, 400, 'Payment link was not created.');
    assert.ok('logo' in (over.body.errors as JsonObject));
  });

  test('currency_country_id is optional: the country is inferred from currency and country_id where possible', async () => {
    const inferred = async (params: JsonObject) =>
      (await client.signed(PATHS.createLink, params)).data.currency_country_id;
    assert.equal(await inferred({ country_id: 2, currency: 'XOF' }), 2);
    assert.equal(await inferred({ country_id: 2, currency: 'KES' }), 1);
    assert.equal(await inferred({ country_id: 1, currency: 'XOF' }), null);
    assert.equal(await inferred({ country_id: 1, currency: 'XOF', currency_country_id: 3 }), 3);
    const wrong = await client.signed(PATHS.createLink, { country_id: 1, currency: 'XOF', currency_country_id: 11 });
    assertRefused(wrong, PATHS.createLink, 400, 'Payment link was not created.');
    assert.deepEqual(wrong.body.errors, { currency_country_id: ['Uganda uses UGX, not XOF.'] });
  });

  test('list answers all payment links of the account, newest first', async () => {
    const owner = await createClient(gateway, 'Lister');
    const ids: JsonValue[] = [];
    for (let index = 0; index < 3; index++) {
      ids.unshift(
        (await owner.signed(PATHS.createLink, { country_id: 11, currency: 'UGX', item_name: `${index}` })).data.id ??
          null,
      );
      gateway.ctx.clock.advance(1_000);
    }
    const reply = await owner.get(PATHS.listLinks);
    assert.deepEqual([reply.status, reply.body.success, typeof reply.body.message], [200, true, 'string']);
    assert.ok(Array.isArray(reply.body.data));
    assert.deepEqual(
      (reply.body.data as JsonObject[]).map(({ id }) => id),
      ids,
    );
  });

  test('list needs a live token', async () => {
    assertRefused(
      await send(gateway.app, 'GET', PATHS.listLinks),
      PATHS.listLinks,
      401,
      'Unauthenticated.',
      'unauthenticated',
    );
  });
});

describe('collections', () => {
  test('takes every param of the table and says that a verification token was sent', async () => {
    const params = {
      ...ugandanCollection('456'),
      payment_method_type: 'MTN MoMo',
      callback_url: 'https://shop.example/cb',
      third_party_reference_1: 'order-1',
      third_party_reference_2: 'till-9',
    };
    const reply = await client.signed(PATHS.collect, params);
    assert.equal(reply.status, 200);
    assert.equal(reply.body.success, true);
    assert.equal(
      reply.body.message,
      "A verification token has been sent to the customer's mobile number. Please verify to proceed with the payment.",
    );
    const { ref, verification, ...rest } = reply.data;
    assert.match(textOf(ref), /^TX_/);
    assert.deepEqual(rest, {
      status: 'pending',
      amount: 2500,
      fee: 25,
      currency: 'UGX',
      mobile: '256772123456',
      country_id: 11,
      payment_method_type: 'MTN_MOMO_UGA',
      third_party_reference_1: 'order-1',
      third_party_reference_2: 'till-9',
    });
    assert.equal((verification as JsonObject).method, 'prompt');
  });

  test('the references and the callback address are in the record', async () => {
    const ref = await collect('000', {
      third_party_reference_1: 'a',
      third_party_reference_2: 'b',
      callback_url: 'https://shop.example/x',
    });
    const { data } = await client.signed(PATHS.statusV3, { id: ref });
    assert.deepEqual(
      [data.third_party_reference_1, data.third_party_reference_2, data.callback_url],
      ['a', 'b', 'https://shop.example/x'],
    );
  });

  test('types are those of the table: amount a number, mobile and the rest strings, country_id an integer', async () => {
    const wrong: JsonObject[] = [
      { amount: true },
      { amount: [1] },
      { mobile: 256772123456 },
      { country_id: '11' },
      { country_id: 11.5 },
      { currency: 5 },
      { payment_method_type: 5 },
      { callback_url: 5 },
      { third_party_reference_1: 5 },
      { third_party_reference_2: {} },
    ];
    for (const changes of wrong) {
      const reply = await client.signed(PATHS.collect, ugandanCollection('000', changes));
      assertRefused(reply, PATHS.collect, 400, 'Transaction was not created!', 'invalid_params');
      assert.deepEqual(Object.keys(reply.body.errors as JsonObject), Object.keys(changes));
    }
  });

  test('verification by token: the token of the SMS lets the payment proceed', async () => {
    const ref = await collect('012');
    const sms = (await gateway.services.operator?.phone.view('256772123012'))?.messages[0];
    const token = /\d{6}/.exec(textOf(sms?.text))?.[0] ?? '';
    const reply = await client.signed(PATHS.verify, { id: ref, token });
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    await gateway.settle();
    assert.equal((await client.signed(PATHS.statusV3, { id: ref })).data.status, 'success');
  });

  for (const countryId of [2, 3, 4, 9])
    test(`are not supported for country ${countryId}, as the table marks it`, async () => {
      const row = gateway.ctx.catalog.collectionCountries.get(countryId);
      const params = {
        amount: 1000,
        mobile: row?.country.example ?? '',
        country_id: countryId,
        currency: row?.currency ?? '',
      };
      const reply = await client.signed(PATHS.collect, params);
      assertRefused(reply, PATHS.collect, 400, 'Transaction was not created!', 'country_not_supported');
      assert.ok('country_id' in (reply.body.errors as JsonObject));
    });

  test('amounts carry two decimal places where the table says 2 dp, and nowhere else', async () => {
    const marked = [
      [10, 'AIRTEL_TZA'],
      [11, 'MTN_MOMO_UGA'],
      [12, 'MTN_MOMO_ZMB'],
      [12, 'AIRTEL_OAPI_ZMB'],
      [13, 'ORANGE_SLE'],
    ];
    for (const row of gateway.ctx.catalog.collectionCountries.values()) {
      if (!row.apiCollections) continue;
      for (const method of row.methods) {
        const reply = await client.signed(PATHS.collect, {
          amount: 1000.25,
          mobile: method.example ?? row.country.example,
          country_id: row.countryId,
          currency: row.currency,
          payment_method_type: method.code,
        });
        const isMarked = marked.some(([id, code]) => id === row.countryId && code === method.code);
        assert.equal(reply.status, isMarked ? 200 : 400, method.code);
      }
    }
  });
});

describe('status', () => {
  test('v2 answers 200 with success, message and the record', async () => {
    const reply = await client.signed(PATHS.statusV2, { id: await paidCollection() });
    assert.deepEqual([reply.status, reply.body.success, reply.body.message], [200, true, 'Transaction retrieved.']);
    assert.deepEqual(Object.keys(reply.body).sort(), ['data', 'message', 'success']);
  });

  test('v2 requires params.id, a string', async () => {
    for (const params of [{}, { id: 7 }, { id: null }] as JsonObject[]) {
      const reply = await client.signed(PATHS.statusV2, params);
      assertRefused(reply, PATHS.statusV2, 400, 'Transaction was not created!', 'invalid_params');
      assert.ok('id' in (reply.body.errors as JsonObject));
    }
  });

  test('v2 says that v3 supersedes it', async () => {
    const { headers } = await client.signed(PATHS.statusV2, { id: await paidCollection() });
    assert.match(textOf(headers.deprecation), /^@\d+$/);
    assert.match(textOf(headers.link), /\/api\/v3\/get-unified-transaction-status>; rel="successor-version"$/);
    const broken = await gateway.app.inject({
      method: 'POST',
      url: PATHS.statusV2,
      headers: { 'content-type': 'application/json' },
      payload: '{',
    });
    assert.equal(broken.statusCode, 400);
    assert.equal(broken.headers.deprecation, headers.deprecation);
    assert.match(String(broken.headers.link), /rel="successor-version".*rel="help"/);
  });

  test('v2 takes an optional X-API-Key, which must be a live token of the same integration', async () => {
    const id = await paidCollection();
    const withKey = (key: string) => client.signed(PATHS.statusV2, { id }, { 'x-api-key': key });
    assert.equal((await withKey(await client.token())).status, 200);
    const other = await createClient(gateway, 'Other');
    for (const key of ['nonsense', await other.token()])
      assertRefused(await withKey(key), PATHS.statusV2, 403, 'Request was not verified.');
  });

  test('v2 does not call a token wrong that it could not look up', async () => {
    const id = await paidCollection();
    const key = { 'x-api-key': await client.token() };
    await gateway.ctx.ownerDb.query('alter table tokens rename to tokens_away');
    const failed = await client.signed(PATHS.statusV2, { id }, key);
    await gateway.ctx.ownerDb.query('alter table tokens_away rename to tokens');
    assert.equal(failed.body.code, 'internal');
    assert.equal((await client.signed(PATHS.statusV2, { id }, key)).status, 200);
  });

  test('v3 takes type payin or payout and nothing else', async () => {
    const id = await paidCollection();
    assert.equal((await client.signed(PATHS.statusV3, { id, type: 'payin' })).status, 200);
    assert.equal((await client.signed(PATHS.statusV3, { id })).status, 200);
    assertRefused(
      await client.signed(PATHS.statusV3, { id, type: 'payout' }),
      PATHS.statusV3,
      404,
      'Transaction was not created!',
    );
    const wrong = await client.signed(PATHS.statusV3, { id, type: 'deposit' });
    assertRefused(wrong, PATHS.statusV3, 400, 'Transaction was not created!', 'invalid_params');
    assert.ok('type' in (wrong.body.errors as JsonObject));
  });

  test('v3 answers success, message and data', async () => {
    const reply = await client.signed(PATHS.statusV3, { id: await paidCollection() });
    assert.deepEqual(Object.keys(reply.body).sort(), ['data', 'message', 'success']);
    assert.equal(reply.body.message, 'Transaction retrieved.');
  });
});

describe('balance', () => {
  test('answers an array of entries; success is the string "true"', async () => {
    await paidCollection();
    const reply = await client.signed(PATHS.balance);
    assert.deepEqual([reply.status, reply.body.success, reply.body.message], [200, 'true', 'Balance retrieved.']);
    const [entry] = reply.body.data as JsonObject[];
    assert.deepEqual(Object.keys(entry ?? {}).sort(), [
      'available',
      'balance',
      'currency',
      'pending',
      'reserved',
      'updated_at',
      'wallet_account',
    ]);
    assert.ok(Number.isInteger(entry?.wallet_account));
    for (const name of ['balance', 'available', 'pending', 'reserved']) assert.equal(typeof entry?.[name], 'number');
  });

  test('wallet_account (an integer) and currency (a string) filter', async () => {
    await paidCollection();
    const [entry] = (await client.signed(PATHS.balance)).body.data as JsonObject[];
    const wallet = entry?.wallet_account ?? 0;
    const count = async (params: JsonObject) =>
      ((await client.signed(PATHS.balance, params)).body.data as JsonValue[]).length;
    assert.equal(await count({ wallet_account: wallet }), 1);
    assert.equal(await count({ wallet_account: wallet, currency: 'UGX' }), 1);
    assert.equal(await count({ wallet_account: wallet, currency: 'KES' }), 0);
    assert.equal(await count({ wallet_account: 999_999 }), 0);
    for (const params of [{ wallet_account: '1' }, { wallet_account: 1.5 }, { currency: 5 }] as JsonObject[])
      assertRefused(
        await client.signed(PATHS.balance, params),
        PATHS.balance,
        400,
        'Balance was not retrieved.',
        'invalid_params',
      );
  });
});

describe('errors: each message of the table, to the letter, in its own operation', () => {
  const NOT_VERIFIED: Record<string, string> = { [PATHS.balance]: 'Request was not verified..' };
  const NOT_FOUND: Record<string, string> = { [PATHS.createLink]: 'Entity integration record not found.' };

  for (const path of SIGNED) {
    const notFound = NOT_FOUND[path] ?? 'Entity integration record not found';
    test(`${path}: ${notFound}`, async () => {
      const params = await paramsFor(path);
      const unknown = await client.signed(path, params, {}, { client_id: 'client_nobody' });
      assertRefused(unknown, path, 403, notFound, 'integration_not_found');
      const { shop, ...revoked } = await createClient(gateway, 'Revoked');
      await updateIntegration(gateway.ctx, COMMAND_LINE, shop.holderId, shop.id, { status: 'revoked' });
      assertRefused(await revoked.signed(path, params), path, 403, notFound, 'integration_not_found');
    });

    test(`${path}: Client id not matched`, async () => {
      const reply = await client.signed(path, await paramsFor(path), {}, { sender: 'Somebody else' });
      assertRefused(reply, path, 403, 'Client id not matched', 'client_mismatch');
    });

    const notVerified = NOT_VERIFIED[path] ?? 'Request was not verified.';
    test(`${path}: ${notVerified}`, async () => {
      const body = client.envelope(await paramsFor(path));
      const reply = await client.post(path, { ...body, signature: '0'.repeat(64) });
      assertRefused(reply, path, 403, notVerified, 'signature_mismatch');
      const old = await client.signed(path, await paramsFor(path), {}, { timestamp: 1 });
      assertRefused(old, path, 403, notVerified, 'timestamp_out_of_range');
    });
  }

  const GONE: [path: string, closed: string, suspended: string][] = [
    [PATHS.statusV2, 'Service user not found', 'Service user not found'],
    [PATHS.statusV3, 'Service user not found', 'Service user not found'],
    [PATHS.collect, 'User not found!', 'Service user not found'],
    [PATHS.createLink, 'Payment link was not created.', 'Payment link was not created.'],
    [PATHS.balance, 'User not found.', 'User not found.'],
  ];
  for (const [path, closed, suspended] of GONE)
    test(`${path}: ${closed} when the account is gone`, async () => {
      const leaving = await createClient(gateway, 'Leaving');
      const params = await paramsFor(path);
      await setHolderStatus(gateway.ctx, COMMAND_LINE, leaving.shop.holderId, 'suspended');
      assertRefused(await leaving.signed(path, params), path, 400, suspended, 'account_suspended');
      await setHolderStatus(gateway.ctx, COMMAND_LINE, leaving.shop.holderId, 'closed');
      gateway.ctx.clock.advance(FORGOTTEN_MS);
      assertRefused(await leaving.signed(path, params), path, 400, closed, 'account_not_found');
    });

  test('status v2: Transaction was not created!', async () => {
    const reply = await client.signed(PATHS.statusV2, { id: UNKNOWN_REF });
    assertRefused(reply, PATHS.statusV2, 400, 'Transaction was not created!', 'transaction_not_found');
  });

  test('status v3: Transaction was not created!', async () => {
    const reply = await client.signed(PATHS.statusV3, { id: UNKNOWN_REF });
    assertRefused(reply, PATHS.statusV3, 404, 'Transaction was not created!', 'transaction_not_found');
  });

  test('collections: Country was not found', async () => {
    for (const countryId of [0, 5, 16, 17, -1, 999]) {
      const reply = await client.signed(PATHS.collect, ugandanCollection('000', { country_id: countryId }));
      assertRefused(reply, PATHS.collect, 400, 'Country was not found', 'country_not_found');
    }
  });

  test('collections: Transaction was not created!', async () => {
    const reply = await client.signed(PATHS.collect, ugandanCollection('000', { amount: -1 }));
    assertRefused(reply, PATHS.collect, 400, 'Transaction was not created!', 'invalid_params');
  });

  test('payment link create: Payment link was not created.', async () => {
    const reply = await client.signed(PATHS.createLink, { country_id: 99, currency: 'UGX' });
    assertRefused(reply, PATHS.createLink, 400, 'Payment link was not created.');
  });

  test('payment link list: User not found', async () => {
    const leaving = await createClient(gateway, 'Leaving the list');
    await leaving.token();
    await setHolderStatus(gateway.ctx, COMMAND_LINE, leaving.shop.holderId, 'closed');
    gateway.ctx.clock.advance(FORGOTTEN_MS);
    assertRefused(await leaving.get(PATHS.listLinks), PATHS.listLinks, 404, 'User not found', 'account_not_found');
  });

  test('the brand stands where the specification writes Service', async () => {
    const branded = await createTestGateway({ BRAND_NAME: 'Simbi' });
    try {
      const leaving = await createClient(branded);
      await setHolderStatus(branded.ctx, COMMAND_LINE, leaving.shop.holderId, 'suspended');
      const reply = await leaving.signed(PATHS.statusV2, { id: UNKNOWN_REF });
      assertRefused(reply, PATHS.statusV2, 400, 'Simbi user not found');
      const { clientId, secretKey } = leaving.shop;
      const token = await leaving.post(PATHS.token, { client_id: clientId, secret_key: secretKey });
      assertRefused(token, PATHS.token, 400, 'Simbi user not found');
      await setHolderStatus(branded.ctx, COMMAND_LINE, leaving.shop.holderId, 'active');
      await leaving.token();
      await setHolderStatus(branded.ctx, COMMAND_LINE, leaving.shop.holderId, 'suspended');
      assertRefused(await leaving.get(PATHS.events), PATHS.events, 400, 'Simbi user not found');
      const document = JSON.stringify((await send(branded.app, 'GET', '/openapi.json')).body);
      assert.ok(!document.includes('Service user not found'));
    } finally {
      await branded.close();
    }
  });

  test('every refusal has success false, a message, a code and a request_id', async () => {
    for (const path of SIGNED) {
      const { body } = await client.post(path, {});
      assert.equal(body.success, refused(path));
      for (const name of ['message', 'code', 'request_id']) assert.equal(typeof body[name], 'string', name);
    }
  });
});

describe('versions', () => {
  test('are part of the path; list and token carry none', async () => {
    const paths = Object.keys((await send(gateway.app, 'GET', '/openapi.json')).body.paths as JsonObject);
    for (const path of [...SIGNED, PATHS.listLinks, PATHS.token]) assert.ok(paths.includes(path), path);
    assert.deepEqual(
      [PATHS.statusV2, PATHS.statusV3, PATHS.createLink, PATHS.collect, PATHS.balance].map(
        (path) => path.split('/')[2],
      ),
      ['v2', 'v3', 'v3', 'v3', 'v3'],
    );
    assert.ok(![PATHS.listLinks, PATHS.token].some((path) => /\/v\d\//.test(path)));
  });
});
