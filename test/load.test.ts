// The generators of `npm run bench`: each request is sent once, and what is refused is told apart.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { type LoadPlan, type LoadResult, runOwnLoad, signRequests } from '../bench/load.ts';
import { findWrk, runWrk } from '../bench/wrk.ts';

const REQUESTS = 500;
const REFUSED = 100;
const CONNECTIONS = 16;
const CLIENT = { clientId: 'client_load', title: 'Load', secretKey: 'sk_load' };

async function offer(generate: (plan: LoadPlan) => Promise<LoadResult>): Promise<LoadResult> {
  const arrived: string[] = [];
  const server = createServer((request, response) => {
    let status = 200;
    request.setEncoding('utf8').on('data', (body: string) => {
      if (arrived.push(body) <= REFUSED) status = 503;
    });
    request.on('end', () => response.writeHead(status, { 'content-length': 2 }).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const requests = signRequests([CLIENT], REQUESTS, '/pay', (index) => ({ index }));
  const plan = {
    host: '127.0.0.1',
    port,
    path: '/pay',
    connections: CONNECTIONS,
    rate: null,
    requests,
    maxSeconds: 60,
  };
  try {
    return await generate(plan);
  } finally {
    server.closeAllConnections();
    server.close();
    assert.equal(arrived.length, REQUESTS);
    assert.equal(new Set(arrived).size, REQUESTS);
  }
}

function assertCounted({ accepted, refused, failed, seconds, latencies }: LoadResult): void {
  assert.deepEqual([accepted, refused, failed], [REQUESTS - REFUSED, REFUSED, 0]);
  assert.ok(seconds > 0 && latencies.every((each, index) => each >= (latencies[index - 1] ?? 0)));
}

test('requests that are signed again in the same second are other requests', () => {
  const signed = [1, 2].flatMap(() => signRequests([CLIENT], 2, '/pay', () => ({ amount: 1000 })).map(String));
  assert.equal(new Set(signed).size, 4);
});

test('our own', async () => assertCounted(await offer(runOwnLoad)));

const wrk = findWrk();
test('wrk', { skip: wrk ? false : 'wrk is not installed' }, async () =>
  assertCounted(await offer((plan) => runWrk(wrk ?? '', plan))),
);
