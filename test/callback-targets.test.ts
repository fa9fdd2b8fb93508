// Where callbacks may go in sandbox mode: a tenant must not reach the services of the gateway's machine.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { createClient, PATHS, textOf } from './client.ts';
import { addPerson } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const COLLECTION = {
  amount: 1_000,
  mobile: '256772000000',
  country_id: 11,
  currency: 'UGX',
  payment_method_type: 'MTN',
};

async function withGateway(settings: Record<string, string>, work: (gateway: TestGateway) => Promise<void>) {
  const gateway = await createTestGateway(settings);
  try {
    await work(gateway);
  } finally {
    await gateway.close();
  }
}

describe('callback targets in sandbox mode', () => {
  test('security S15: never a port of the gateway, its database or its operator, but for the built-in receiver', () =>
    withGateway({}, async (gateway) => {
      const client = await createClient(gateway);
      const own = new URL(gateway.url).port;
      const database = new URL(gateway.ctx.databaseUrl).port;
      const operator = new URL(gateway.services.operator?.url() ?? '').port;
      const collect = (url: string) => client.signed(PATHS.collect, { ...COLLECTION, callback_url: url });
      for (const host of ['127.0.0.1', 'localhost', '[::1]', '127.9.9.9'])
        for (const port of [own, database, operator])
          assert.equal((await collect(`http://${host}:${port}/console`)).status, 400, `${host}:${port}`);
      assert.equal((await collect(`http://127.0.0.1:${own}/sandbox/callbacks/../../metrics`)).status, 400);
      assert.equal((await collect(`http://localhost:${own}/sandbox/callbacks`)).status, 200);
      assert.equal((await collect('http://localhost:3000/hook')).status, 200, 'the receiver of a developer');
    }));

  test('security S15: no service of this machine while others can reach the gateway or sign up', async () => {
    for (const settings of [{ HOST: '0.0.0.0' }, { ALLOW_SIGN_UP: 'true' }])
      await withGateway(settings, async (gateway) => {
        const client = await createClient(gateway);
        const collect = (url: string) => client.signed(PATHS.collect, { ...COLLECTION, callback_url: url });
        for (const url of ['http://127.0.0.1:3000/hook', 'http://localhost:3000/', 'http://[::1]:3000/'])
          assert.equal((await collect(url)).status, 400, url);
        assert.equal((await collect(`${gateway.url}/sandbox/callbacks`)).status, 200);
      });
    await withGateway({ HOST: '0.0.0.0', CALLBACK_ALLOWED_RANGES: '127.0.0.0/8' }, async (gateway) => {
      const client = await createClient(gateway);
      const order = { ...COLLECTION, callback_url: 'http://127.0.0.1:3000/hook' };
      assert.equal((await client.signed(PATHS.collect, order)).status, 200, 'unless the administrator allows it');
    });
  });

  test('security S15: the console shows 256 bytes of an answer', async () => {
    const answer = `secret-start ${'x'.repeat(300)} secret-end`;
    const server = createServer((_request, response) => void response.writeHead(500).end(answer));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await withGateway({}, async (gateway) => {
        const client = await createClient(gateway);
        const owner = await addPerson(gateway, client.shop.holderId, 'owner');
        const order = { ...COLLECTION, callback_url: `http://127.0.0.1:${port}/` };
        const { data } = await client.signed(PATHS.collect, order);
        await gateway.settle();
        const { text } = await owner.get(`/console/transactions/${textOf(data.ref)}`);
        assert.match(text, /secret-start x{243}</);
        assert.doesNotMatch(text, /secret-end/);
      });
    } finally {
      server.close();
    }
  });
});
