// Values that no client sends by accident: they are answered, never with 500.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Client, createClient, PATHS, textOf, ugandanCollection } from './client.ts';
import { addPerson } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

describe('odd values', () => {
  let gateway: TestGateway;
  let client: Client;
  before(async () => {
    gateway = await createTestGateway();
    client = await createClient(gateway);
  });
  after(() => gateway.close());

  test('security S17: a wallet_account that no column can hold is a wallet that nobody has', async () => {
    for (const wallet of [2 ** 53, 2 ** 63, -(2 ** 63), 1e300, 9_007_199_254_740_994]) {
      const { status, body } = await client.signed(PATHS.balance, { wallet_account: wallet });
      assert.deepEqual([status, body.success, body.data], [200, 'true', []], String(wallet));
    }
  });

  test('an optional text that is empty counts as left out', async () => {
    const paid = await client.signed(
      PATHS.collect,
      ugandanCollection('000', { payment_method_type: '', callback_url: '' }),
    );
    assert.deepEqual([paid.status, paid.data.payment_method_type], [200, 'MTN_MOMO_UGA'], JSON.stringify(paid.body));
    await gateway.settle();
    const all = await client.signed(PATHS.balance);
    const empty = await client.signed(PATHS.balance, { currency: '' });
    assert.deepEqual(empty.body.data, all.body.data);
    // An amount is never guessed: a form that lost it must not refund all there is.
    assert.equal((await client.signed(PATHS.refund, { id: textOf(paid.data.ref), amount: '' })).status, 400);
  });

  test('a part of a path that contains NUL, which no column can hold, is not found', async () => {
    const { cookie } = await addPerson(gateway, client.shop.holderId, 'owner', 'owner@shop.example');
    for (const url of ['/console/balances/%00/statement.csv', '/console/balances/UGX%00', '/pay/%00']) {
      const answer = await gateway.app.inject({ method: 'GET', url, headers: { cookie } });
      assert.equal(answer.statusCode, 404, url);
    }
  });
});
