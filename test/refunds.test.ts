// Refunds through the API, as section 15 of the contract says: whole and in parts, once each, with their events.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { type Client, collectInKenya, createClient, PATHS, textOf, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

let gateway: TestGateway;
let client: Client;

before(async () => {
  gateway = await createTestGateway();
  client = await createClient(gateway);
});
after(() => gateway.close());

async function paid(amount = 2_500): Promise<string> {
  const created = await client.signed(PATHS.collect, ugandanCollection('000', { amount }));
  await gateway.settle();
  return textOf(created.data.ref);
}

function refund(params: JsonObject, key?: string) {
  return client.signed(PATHS.refund, params, key === undefined ? {} : { 'Idempotency-Key': key });
}

async function statusOf(ref: string): Promise<JsonObject> {
  return (await client.signed(PATHS.refundStatus, { id: ref })).data;
}

async function collectionStatus(ref: string): Promise<unknown> {
  return (await client.signed(PATHS.statusV3, { id: ref })).data.status;
}

describe('a refund through the API', () => {
  test('of a whole collection returns the fee, and the collection is reversed', async () => {
    const ref = await paid();
    const { status, body, data } = await refund({ id: ref, reason: 'The parcel came back.' });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.message, 'Refund was created.');
    assert.match(textOf(data.ref), /^RF_/);
    assert.deepEqual(
      { ...data, ref: null, created_at: null },
      {
        ref: null,
        collection_ref: ref,
        status: 'pending',
        amount: 2500,
        fee_returned: 25,
        currency: 'UGX',
        mobile: '256772123000',
        created_at: null,
      },
    );
    await gateway.settle();
    const record = await statusOf(textOf(data.ref));
    assert.deepEqual([record.status, record.status_code, record.sent_as], ['success', '200', 'refund']);
    assert.equal(await collectionStatus(ref), 'reversed');
    const events = (await client.get(PATHS.events)).body.data as unknown as { type: string; data: JsonObject }[];
    assert.deepEqual(
      events.map((event) => event.type),
      ['collection.success', 'refund.success', 'collection.reversed'],
    );
    assert.equal(events[1]?.data.collection_ref, ref);
  });

  test('in parts: several up to what was collected, then no more', async () => {
    const ref = await paid(3_000);
    await paid(3_000);
    for (const amount of [1_000, '500.50']) {
      const { status, data } = await refund({ id: ref, amount });
      assert.equal(status, 200);
      assert.equal(data.fee_returned, 0);
      await gateway.settle();
    }
    const tooMuch = await refund({ id: ref, amount: 1_500 });
    assert.equal(tooMuch.status, 400);
    assert.equal(tooMuch.body.message, 'Refund was not created!');
    assert.equal(tooMuch.body.code, 'refund_too_large');
    assert.match(JSON.stringify(tooMuch.body.errors), /1499\.50 UGX/);
    const rest = await refund({ id: ref });
    assert.equal(rest.data.amount, 1499.5);
    await gateway.settle();
    assert.equal(await collectionStatus(ref), 'reversed');
    assert.equal((await refund({ id: ref })).body.code, 'refund_not_possible');
  });

  test('with an Idempotency-Key happens once, and a second answer is the first', async () => {
    const ref = await paid();
    await paid();
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => refund({ id: ref, amount: 100 }, 'order-7')));
    for (const reply of others) assert.deepEqual(reply.data, first?.data);
    const again = await refund({ id: ref, amount: 100 }, 'order-7');
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal((await refund({ id: ref, amount: 200 }, 'order-7')).body.code, 'idempotency_conflict');
    const [row] = await gateway.ctx.db.query<{ count: bigint }>(
      `select count(*) from refund_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
       where t.amount = 10000`,
    );
    assert.equal(row?.count, 1n);
  });

  test('with an Idempotency-Key is answered as the first, also where the first one took all there was', async () => {
    const ref = await paid();
    const replies = await Promise.all(Array.from({ length: 5 }, () => refund({ id: ref }, 'order-8')));
    for (const { status, body } of replies) assert.equal(status, 200, JSON.stringify(body));
    assert.equal(new Set(replies.map(({ data }) => data.ref)).size, 1);
  });

  test('of what is not there, not paid, or another account’s is refused and reserves nothing', async () => {
    const unpaid = await client.signed(PATHS.collect, ugandanCollection('001'));
    await gateway.settle();
    const stranger = await createClient(gateway, 'Another shop');
    const ref = await paid();
    const refusals = [
      [await refund({ id: 'TX_nothing' }), 'transaction_not_found'],
      [await refund({ id: textOf(unpaid.data.ref) }), 'refund_not_possible'],
      [await stranger.signed(PATHS.refund, { id: ref }), 'transaction_not_found'],
      [await refund({ id: ref, amount: 0 }), 'invalid_params'],
      [await refund({ id: ref, amount: '1.234' }), 'invalid_params'],
      [await refund({ id: ref, reason: 'x'.repeat(501) }), 'invalid_params'],
      [await refund({}), 'invalid_params'],
    ] as const;
    for (const [reply, code] of refusals) {
      assert.equal(reply.status, 400, JSON.stringify(reply.body));
      assert.equal(reply.body.code, code);
      assert.equal(reply.body.message, 'Refund was not created!');
    }
    const [wallet] = (await client.signed(PATHS.balance, { currency: 'UGX' })).body.data as unknown as JsonObject[];
    assert.equal(wallet?.reserved, 0);
  });

  test('of an amount that cannot be says why', async () => {
    const uganda = await paid();
    const kenya = await collectInKenya(gateway, client.shop);
    const sentences = [
      [uganda, '0.00', 'The amount must be more than zero.'],
      [uganda, '1.234', 'The amount may have at most two decimals.'],
      [uganda, '9'.repeat(30), 'The amount is too large.'],
      [uganda, 2_500.01, '2500 UGX of this payment can still be refunded.'],
      [kenya, '10.50', 'M-PESA takes whole amounts of KES, without decimals.'],
    ] as const;
    for (const [id, amount, sentence] of sentences) {
      const { status, body } = await refund({ id, amount });
      assert.deepEqual([status, body.errors], [400, { amount: [sentence] }], String(amount));
    }
  });

  test('its status is asked with its own operation; the operations of the specification do not know it', async () => {
    const { data } = await refund({ id: await paid() });
    assert.equal((await client.signed(PATHS.statusV3, { id: textOf(data.ref) })).status, 404);
    assert.equal((await client.signed(PATHS.refundStatus, { id: textOf(data.collection_ref) })).status, 404);
    const stranger = await createClient(gateway, 'A third shop');
    assert.equal((await stranger.signed(PATHS.refundStatus, { id: textOf(data.ref) })).status, 404);
  });

  test('that the operator refuses is told as refund.failed, and the money is back in the wallet', async () => {
    const created = await client.signed(PATHS.collect, ugandanCollection('021', { amount: 700 }));
    await gateway.settle();
    const { data } = await refund({ id: textOf(created.data.ref) });
    assert.equal(data.fee_returned, 7);
    await gateway.settle();
    const record = await statusOf(textOf(data.ref));
    assert.deepEqual([record.status, record.fee_returned], ['failed', 0], 'no fee was returned');
    assert.equal(await collectionStatus(textOf(created.data.ref)), 'success');
    const events = (await client.get(`${PATHS.events}?limit=1000`)).body.data as unknown as {
      type: string;
      data: JsonObject;
    }[];
    assert.deepEqual([events.at(-1)?.type, events.at(-1)?.data.fee_returned], ['refund.failed', 0]);
  });
});
