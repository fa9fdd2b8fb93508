// Whole payments through the API, from the request to the wallet and the callback: every scenario of the simulated
// operator, what a person does on the test phone, and verification by token. Time is moved, never waited for.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { verifyLedger } from '../src/ledger/verify.ts';
import { linkUuid } from '../src/links/links.ts';
import { listOpenCases } from '../src/payments/case-list.ts';
import { completeOrder, readPayment } from '../src/payments/collections.ts';
import { idFromRef } from '../src/payments/transactions.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { startReceiver, type TestReceiver } from './callback-harness.ts';
import { type Client, createClient, PATHS, readFeed, textOf, ugandanCollection } from './client.ts';
import { eventsOfTransaction } from './events.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

/** The operator ends a call that it does not answer: the gateway itself would wait for 15 seconds. */
const SILENCE_MS = 250;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** 2,500 less one percent. */
const CREDITED = 2475;

let gateway: TestGateway;
let receiver: TestReceiver;
let shops = 0;

before(async () => {
  gateway = await createTestGateway({}, { operator: { silenceMs: SILENCE_MS } });
  receiver = await startReceiver();
});
after(async () => {
  await gateway.close();
  await receiver.close();
});

type Journey = { client: Client; ref: string; mobile: string };

/** A shop of its own, so that wallet, events and cases are those of this payment alone. */
async function begin(lastDigits: string): Promise<Journey> {
  shops++;
  const client = await createClient(gateway, `Shop ${shops}`);
  const mobile = `2567${String(72_000 + shops)}${lastDigits}`;
  const reply = await client.signed(PATHS.collect, ugandanCollection('000', { mobile, callback_url: receiver.url }));
  assert.equal(reply.status, 200, JSON.stringify(reply.body));
  assert.equal(reply.data.status, 'pending');
  return { client, ref: textOf(reply.data.ref), mobile };
}

async function statusOf({ client, ref }: Journey): Promise<JsonObject> {
  return (await client.signed(PATHS.statusV3, { id: ref, type: 'payin' })).data;
}

async function walletOf({ client }: Journey): Promise<number> {
  const entries = (await client.signed(PATHS.balance, { currency: 'UGX' })).body.data as JsonObject[];
  return Number(entries[0]?.balance ?? 0);
}

async function eventsOf({ ref }: Journey): Promise<string[]> {
  const events = await eventsOfTransaction(gateway.ctx.db, idFromRef(ref) ?? assert.fail());
  return events.map(({ type }) => type);
}

async function casesOf({ client }: Journey): Promise<string[]> {
  return (await listOpenCases(gateway.ctx.db, { holderId: client.shop.holderId }, { limit: 10 })).map(
    ({ kind }) => kind,
  );
}

type Ending = {
  status: string;
  code: string;
  wallet: number;
  events: string[];
  cases?: string[];
  failure?: string | null;
};

async function assertEnds(journey: Journey, ending: Ending): Promise<void> {
  const record = await statusOf(journey);
  assert.deepEqual(
    {
      status: record.status,
      code: record.status_code,
      wallet: await walletOf(journey),
      events: await eventsOf(journey),
      cases: await casesOf(journey),
      failure: (record.failureReason as JsonObject).failureCode,
    },
    { cases: [], failure: null, ...ending },
  );
  await untilReceived(journey, ending.events.length);
  assertCallbacks(journey, ending.events);
}

const receivedOf = ({ ref }: Journey) => receiver.received.filter(({ body }) => body.includes(ref));

/** An answer of the operator that came late may have ended the payment after the last pass; then its callback is still to be sent. */
async function untilReceived(journey: Journey, count: number): Promise<void> {
  for (let tries = 0; tries < 100 && receivedOf(journey).length < count; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await gateway.settle();
  }
}

/** The receiver got each event once, signed with the shop's callback secret, with the record that status shows. */
function assertCallbacks(journey: Journey, types: string[]): void {
  const key = Buffer.from(journey.client.shop.callbackSecret.replace('whsec_', ''), 'base64');
  const own = receivedOf(journey);
  assert.deepEqual(
    own.map(({ body }) => (JSON.parse(body.toString()) as JsonObject).type),
    types,
  );
  for (const { headers, body } of own) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body.toString()}`;
    assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  }
}

const SUCCESS: Ending = { status: 'success', code: '200', wallet: CREDITED, events: ['collection.success'] };
const failed = (failure: string): Ending => ({
  status: 'failed',
  code: '400',
  wallet: 0,
  events: ['collection.failed'],
  failure,
});
const EXPIRED: Ending = {
  status: 'expired',
  code: '408',
  wallet: 0,
  events: ['collection.expired'],
  failure: 'PROMPT_EXPIRED',
};
const OPEN: Ending = { status: 'processing', code: '102', wallet: 0, events: [] };

function phone() {
  const { operator } = gateway.services;
  assert.ok(operator);
  return operator.phone;
}

describe('numbers that decide by themselves', () => {
  const AT_ONCE: [digits: string, about: string, ending: Ending][] = [
    ['000', 'approved at once', SUCCESS],
    ['001', 'insufficient funds', failed('INSUFFICIENT_FUNDS')],
    ['002', 'wrong PIN', failed('WRONG_PIN')],
    ['003', 'payer not found', failed('PAYER_NOT_FOUND')],
    ['004', 'limit reached', failed('PAYER_LIMIT_REACHED')],
    ['006', 'approved, and reported twice by the operator', SUCCESS],
    ['011', 'cancelled by the payer', failed('PAYER_CANCELLED')],
  ];
  for (const [digits, about, ending] of AT_ONCE)
    test(`${digits}: ${about}`, async () => {
      const journey = await begin(digits);
      await gateway.settle();
      await assertEnds(journey, ending);
      // Nothing follows, however long one waits.
      await gateway.advance(10 * MINUTE_MS);
      await assertEnds(journey, ending);
    });

  test('006: the second operator callback is kept as evidence and changes nothing', async () => {
    const journey = await begin('006');
    await gateway.settle();
    await gateway.advance(MINUTE_MS);
    const [row] = await gateway.ctx.db.query<{ count: bigint }>(
      `select count(*) from evidence e join transactions t on t.id = e.transaction_id
       where t.msisdn = $1 and e.source = 'callback'`,
      [journey.mobile],
    );
    assert.equal(row?.count, 2n);
    await assertEnds(journey, SUCCESS);
  });

  test('005: never answers; stays processing, is asked again, and a case is opened after a day', async () => {
    const journey = await begin('005');
    await gateway.settle();
    await assertEnds(journey, OPEN);
    for (let hour = 0; hour < 23; hour++) await gateway.advance(HOUR_MS);
    await assertEnds(journey, OPEN);
    await gateway.advance(2 * HOUR_MS);
    await assertEnds(journey, { ...OPEN, cases: ['no_answer'] });
  });

  test('007: approved after 90 seconds', async () => {
    const journey = await begin('007');
    await gateway.settle();
    await assertEnds(journey, OPEN);
    await gateway.advance(89_000);
    await assertEnds(journey, OPEN);
    await gateway.advance(1_000);
    await assertEnds(journey, SUCCESS);
  });

  test('008: approved, then reversed after 60 seconds: the wallet gives it back', async () => {
    const journey = await begin('008');
    await gateway.settle();
    await assertEnds(journey, SUCCESS);
    await gateway.advance(MINUTE_MS);
    const events = ['collection.success', 'collection.reversed'];
    await assertEnds(journey, { status: 'reversed', code: '205', wallet: 0, events });
  });

  test('009: the submit times out, which is not a failure; asking tells that it was accepted', async () => {
    const journey = await begin('009');
    await gateway.services.payments.engine.idle();
    const [row] = await gateway.ctx.db.query<{ status: string }>('select status from transactions where msisdn = $1', [
      journey.mobile,
    ]);
    assert.equal(row?.status, 'processing');
    await gateway.advance(MINUTE_MS);
    await assertEnds(journey, SUCCESS);
  });

  test('010: the callback says approved first: a success, which the contrary answer to a question cannot undo', async () => {
    const journey = await begin('010');
    await gateway.settle();
    await assertEnds(journey, SUCCESS);
    await gateway.advance(HOUR_MS);
    await assertEnds(journey, SUCCESS);
  });

  test('010: the question says failed first: the later approval is booked once, as late, and a case is opened', async () => {
    const { operator } = gateway.services;
    operator?.setGatewayUrl(null);
    const journey = await begin('010');
    await gateway.settle();
    await gateway.advance(MINUTE_MS);
    assert.equal((await statusOf(journey)).status, 'failed');
    operator?.setGatewayUrl(gateway.url);
    await gateway.advance(HOUR_MS);
    const events = ['collection.failed', 'collection.success'];
    await assertEnds(journey, { ...SUCCESS, events, cases: ['late_success'] });
    const [, late] = await readFeed(journey.client, 2);
    assert.equal((late?.data as JsonObject | undefined)?.late, true);
  });
});

describe('a person at the test phone', () => {
  async function ringing(): Promise<Journey> {
    const journey = await begin('456');
    await gateway.settle();
    await assertEnds(journey, OPEN);
    const view = await phone().view(journey.mobile);
    assert.deepEqual([view.prompts[0]?.id, view.prompts[0]?.state], [journey.ref, 'prompt']);
    return journey;
  }

  test('enters the PIN: success, the wallet is credited, the callback arrives signed with the whole record', async () => {
    const journey = await ringing();
    assert.ok((await phone().answer(journey.mobile, journey.ref, '1234')).ok);
    await gateway.settle();
    await assertEnds(journey, SUCCESS);
    const callback = receiver.received.find(({ body }) => body.includes(journey.ref));
    const event = JSON.parse(callback?.body.toString() ?? '{}') as JsonObject;
    assert.deepEqual(event.data, await statusOf(journey));
    assert.equal((await statusOf(journey)).balance, CREDITED);
    assert.equal(callback?.id, event.id);
  });

  test('enters a wrong PIN: failed', async () => {
    const journey = await ringing();
    await phone().answer(journey.mobile, journey.ref, '0000');
    await gateway.settle();
    await assertEnds(journey, failed('WRONG_PIN'));
  });

  test('cancels: failed', async () => {
    const journey = await ringing();
    await phone().cancel(journey.mobile, journey.ref);
    await gateway.settle();
    await assertEnds(journey, failed('PAYER_CANCELLED'));
  });

  test('ignores it: expired, and nothing was taken', async () => {
    const journey = await ringing();
    await phone().ignore(journey.mobile, journey.ref);
    await gateway.advance(MINUTE_MS);
    await assertEnds(journey, OPEN);
    await gateway.advance(2 * MINUTE_MS);
    await assertEnds(journey, EXPIRED);
  });

  test('the wallet shows what open collections would bring', async () => {
    const { client } = await begin('000');
    await gateway.settle();
    await client.signed(PATHS.collect, ugandanCollection('457'));
    await gateway.settle();
    const [entry] = (await client.signed(PATHS.balance)).body.data as JsonObject[];
    assert.deepEqual([entry?.balance, entry?.available, entry?.pending], [CREDITED, CREDITED, CREDITED]);
  });
});

describe('012: verification by token', () => {
  async function tokenSent(): Promise<Journey & { token: string }> {
    const journey = await begin('012');
    await gateway.settle();
    assert.equal((await statusOf(journey)).status, 'pending');
    return { ...journey, token: await newestToken(journey) };
  }

  async function newestToken({ mobile }: Journey): Promise<string> {
    const { messages } = await phone().view(mobile);
    return /\b\d{6}\b/.exec(messages[0]?.text ?? '')?.[0] ?? assert.fail('no SMS with a token');
  }

  const verify = ({ client, ref }: Journey, token: string) => client.signed(PATHS.verify, { id: ref, token });
  const wrong = (token: string) => (token === '000000' ? '000001' : '000000');

  test('the right token lets the payment proceed', async () => {
    const journey = await tokenSent();
    const reply = await verify(journey, journey.token);
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    await gateway.settle();
    await assertEnds(journey, SUCCESS);
    assert.equal((await verify(journey, journey.token)).body.code, 'verification_failed');
  });

  test('four wrong tokens are forgiven, with a count of the tries left', async () => {
    const journey = await tokenSent();
    for (let left = 4; left > 0; left--) {
      const reply = await verify(journey, wrong(journey.token));
      assert.deepEqual([reply.status, reply.body.code], [400, 'verification_failed']);
      assert.match(textOf(reply.body.errors), new RegExp(`${left} (tries are|try is) left`));
    }
    assert.equal((await verify(journey, journey.token)).status, 200);
    await gateway.settle();
    await assertEnds(journey, SUCCESS);
  });

  test('five wrong tokens fail the transaction, and the right one comes too late', async () => {
    const journey = await tokenSent();
    for (let tries = 0; tries < 5; tries++) assert.equal((await verify(journey, wrong(journey.token))).status, 400);
    assert.equal((await verify(journey, journey.token)).status, 400);
    await gateway.settle();
    await assertEnds(journey, failed('VERIFICATION_FAILED'));
  });

  test('after ten minutes it is expired', async () => {
    const journey = await tokenSent();
    await gateway.advance(10 * MINUTE_MS);
    assert.equal((await verify(journey, journey.token)).status, 400);
    await assertEnds(journey, EXPIRED);
  });

  test('the token is sent again at most once in 30 seconds; then only the new one works', async () => {
    const journey = await tokenSent();
    const resend = () => journey.client.signed(PATHS.resend, { id: journey.ref });
    const early = await resend();
    assert.deepEqual([early.status, early.body.code, early.headers['retry-after']], [429, 'resend_too_soon', '30']);
    await gateway.advance(30_000);
    assert.equal((await resend()).status, 200);
    await gateway.settle();
    const token = await newestToken(journey);
    if (token !== journey.token) assert.equal((await verify(journey, journey.token)).status, 400);
    assert.equal((await verify(journey, token)).status, 200);
    await gateway.settle();
    await assertEnds(journey, SUCCESS);
  });
});

describe('retries and links', () => {
  test('the same Idempotency-Key makes one payment, however often it is sent', async () => {
    const client = await createClient(gateway, 'Retrier');
    const ask = (changes: JsonObject = {}) =>
      client.signed(PATHS.collect, ugandanCollection('000', changes), { 'idempotency-key': 'order-1' });
    const replies = await Promise.all([ask(), ask(), ask()]);
    await gateway.settle();
    const refs = new Set([...replies, await ask()].filter(({ status }) => status === 200).map(({ data }) => data.ref));
    assert.equal(refs.size, 1);
    assert.equal((await ask()).headers['idempotent-replayed'], 'true');
    assert.deepEqual(
      [(await ask({ amount: 3000 })).status, (await ask({ amount: 3000 })).body.code],
      [409, 'idempotency_conflict'],
    );
    const entries = (await client.signed(PATHS.balance)).body.data as JsonObject[];
    assert.equal(entries[0]?.balance, CREDITED);
  });

  test('two Idempotency-Keys in one request are refused, also where they are equal', async () => {
    const client = await createClient(gateway, 'Repeats its header');
    const body = JSON.stringify(client.envelope(ugandanCollection('000')));
    for (const keys of [
      ['order-1', 'order-1'],
      ['order-1', 'order-2'],
    ]) {
      const headers = { 'content-type': 'application/json', 'idempotency-key': keys };
      const sent = request(`${gateway.url}${PATHS.collect}`, { method: 'POST', headers }).end(body);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      const { code } = JSON.parse(await text(answer)) as JsonObject;
      assert.deepEqual([answer.statusCode, code], [400, 'invalid_params']);
    }
  });

  test('a payment through a link closes the link and tells both events', async () => {
    const client = await createClient(gateway, 'Link shop');
    const link = (await client.signed(PATHS.createLink, { country_id: 11, currency: 'UGX', amount: '2500' })).data;
    const { ctx, services } = gateway;
    const row = ctx.catalog.linkCountries.get(11) ?? assert.fail();
    const payment = readPayment(row, { amount: 2500, mobile: '256772123000' }, assert.fail, { lenient: false });
    const order = await completeOrder(ctx, payment ?? assert.fail(), {
      holderId: client.shop.holderId,
      integrationId: client.shop.id,
      countryId: 11,
      detail: 'Link',
      reference1: null,
      reference2: null,
      callbackUrl: null,
      linkId: linkUuid(textOf(link.id)),
    });
    assert.equal((await services.payments.collections.accept(order, null)).kind, 'accepted');
    await gateway.settle();
    const [listed] = (await client.get(PATHS.listLinks)).body.data as JsonObject[];
    assert.deepEqual([listed?.id, listed?.status, listed?.payments_count], [link.id, 'paid', 1]);
    const events = await readFeed(client, 2);
    assert.deepEqual(events.map(({ type }) => textOf(type)).sort(), ['collection.success', 'payment_link.paid']);
    for (const { data } of events) assert.equal((data as JsonObject).payment_link_id, link.id);
  });
});

test('after all of this the ledger adds up', async () => {
  const verification = await verifyLedger(gateway.ctx);
  assert.ok(
    verification.ok,
    JSON.stringify(verification, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  );
});
