// Values that no client sends by accident: they are answered, never with 500.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Client, createClient, PATHS } from './client.ts';
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
});
