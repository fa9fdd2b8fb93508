// Time that passes at once in a sandbox: what waits has waited longer, and no clock has changed.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { forwardTime } from '../src/sandbox-time.ts';
import { startReceiver } from './callback-harness.ts';
import { type Client, createClient, PATHS, textOf } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const TEN_MINUTES = 600;
let gateway: TestGateway;
let client: Client;

before(async () => {
  gateway = await createTestGateway();
  client = await createClient(gateway);
});
after(() => gateway.close());

/** A collection in Uganda; what happens to it depends on the number. Returns its reference. */
async function collect(mobile: string, params: object = {}): Promise<string> {
  const { data } = await client.signed(PATHS.collect, {
    amount: 2500,
    country_id: 11,
    currency: 'UGX',
    mobile,
    ...params,
  });
  return textOf(data.ref);
}

async function forward(seconds: number | string, headers: Record<string, string> = { accept: 'application/json' }) {
  return await fetch(`${gateway.url}/sandbox/clock/forward?n=256772123456`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: `seconds=${seconds}`,
  });
}

test('a prompt expires, a late answer arrives, a token by SMS ends; signatures go on working', async () => {
  const refs = [];
  for (const mobile of ['256772123456', '256772123007', '256772123012']) refs.push(await collect(mobile));
  await gateway.settle();
  const { payments, seconds } = (await (await forward(TEN_MINUTES)).json()) as { payments: number; seconds: number };
  assert.deepEqual([payments, seconds], [3, TEN_MINUTES]);
  await gateway.settle();
  const statuses = [];
  for (const id of refs) statuses.push((await client.signed(PATHS.statusV3, { id })).data.status);
  assert.deepEqual(statuses, ['expired', 'success', 'expired']);
});

test('a callback that failed is tried again', async () => {
  const receiver = await startReceiver((_, response) => void response.writeHead(500).end());
  await collect('256772123000', { callback_url: receiver.url });
  await gateway.settle();
  const tries = receiver.received.length;
  assert.ok(tries > 0);
  receiver.answer = (_, response) => void response.writeHead(204).end();
  await forward(TEN_MINUTES);
  await gateway.settle();
  assert.equal(receiver.received.length, tries + 1);
  await receiver.close();
});

test('the page of the phones has a button, and comes back with a notice; no time, too much of it and other sites are refused', async () => {
  const page = await (await fetch(`${gateway.url}/sandbox/phone?n=256772123456`)).text();
  assert.ok(page.includes('action="/sandbox/clock/forward?n&#61;256772123456"'));
  const answered = await forward(1, {});
  assert.equal(answered.status, 303);
  assert.match(String(answered.headers.get('location')), /^\/sandbox\/phone\?n=256772123456&notice=/);
  for (const seconds of ['', '0', '-5', '1.5', '99999999']) assert.equal((await forward(seconds)).status, 400, seconds);
  assert.equal((await forward(1, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })).status, 403);
  const { now } = (await (await fetch(`${gateway.url}/sandbox/clock`)).json()) as { now: string };
  assert.equal(now, gateway.ctx.clock.now().toISOString());
});

test('never in live mode', () => {
  const live = { ...gateway.ctx, config: { ...gateway.ctx.config, mode: 'live' as const } };
  assert.throws(() => forwardTime(live, 1_000), /in a sandbox only/);
});
