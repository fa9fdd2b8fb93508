// The simulators fit the gateway as somebody on a laptop uses them: credentials, ports, callback addresses, the test phone.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { type RunningSimulator, startSimulator } from '../simulators/frame.ts';
import { credentialsOf, SIMULATORS } from '../simulators/index.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createConnection, routeConnection } from '../src/payments/connection-changes.ts';
import { callbackAddressesOf, dashboardAddress } from '../src/rails/callback-addresses.ts';
import { initialValues } from '../src/rails/connection-settings.ts';
import { RAILS } from '../src/rails/registry.ts';
import { registerCallbackAddresses } from '../src/rails/simulators.ts';
import { collectInKenya } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

const MOST_TRIES = 5;

describe('simulators', () => {
  for (const definition of RAILS)
    test(`a connection to the simulator of ${definition.name} has its credentials by default`, () => {
      const entry = SIMULATORS[definition.name];
      assert.ok(entry);
      assert.equal(entry.port, definition.simulatorPort);
      const values = initialValues(definition, 'simulator');
      const fitting = Object.fromEntries(Object.keys(entry.credentials).map((name) => [name, values[name]?.trim()]));
      const expected = Object.entries(credentialsOf(entry)).map(([name, value]) => [name, value.trim()]);
      assert.deepEqual(fitting, Object.fromEntries(expected));
    });

  test('every simulator has a rail and a port of its own', () => {
    assert.deepEqual(Object.keys(SIMULATORS).sort(), RAILS.map(({ name }) => name).sort());
    assert.equal(new Set(Object.values(SIMULATORS).map(({ port }) => port)).size, RAILS.length);
  });

  test('run.ts prints where it listens, and ends with its standard input', async () => {
    const program = resolve(import.meta.dirname, '../simulators/run.ts');
    const child = spawn(process.execPath, [program, 'pawapay', '--port', '0'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const started = JSON.parse(line) as { url: string; credentials: Record<string, string> };
    assert.equal(started.credentials.api_token, 'pawapay-simulator-token');
    assert.equal((await fetch(`${started.url}/_simulator/prompts`)).status, 200);
    child.stdin.end();
    assert.deepEqual((await ended)[0], 0);
  });
});

describe('a sandbox that is connected to a simulator', () => {
  let gateway: TestGateway;
  let shop: Shop;
  let simulator: RunningSimulator;

  before(async () => {
    const entry = SIMULATORS.daraja;
    assert.ok(entry);
    simulator = await startSimulator(entry.create, { settings: { ...entry.settings }, payers: 'manual' });
    gateway = await createTestGateway();
    shop = await createShop(gateway.ctx);
    const draft = { rail: 'daraja', environment: 'simulator', baseUrl: simulator.url, values: {} };
    await createConnection(gateway.ctx, COMMAND_LINE, draft);
    await routeConnection(gateway.ctx, COMMAND_LINE, 'daraja');
  });
  after(async () => {
    await gateway.close();
    await simulator.close();
  });

  const openPrompts = async () => {
    const { text } = await page('/sandbox/phone');
    return [...text.matchAll(/name="prompt" value="(prompt-\d+)"/g)].map(([, id]) => id ?? '');
  };
  const page = async (path: string, form?: Record<string, string>) => {
    const answer = await fetch(gateway.url + path, {
      redirect: 'manual',
      ...(form && { method: 'POST', body: new URLSearchParams(form), headers: { accept: 'application/json' } }),
    });
    return { status: answer.status, text: await answer.text() };
  };

  test('the test phone shows its prompts, and hands on the decision', async () => {
    await collectInKenya(gateway, shop, { mobile: '254708374149' });
    // A simulator that does not answer within a second is not shown: on a busy machine the page is opened again.
    let prompts = await openPrompts();
    for (let tries = 0; tries < MOST_TRIES && prompts.length === 0; tries++) prompts = await openPrompts();
    assert.equal(prompts.length, 1);
    const [prompt = ''] = prompts;
    const poll = async () =>
      JSON.parse((await page('/sandbox/phone/simulators')).text) as { count: number; html: string };
    let polled = await poll();
    for (let tries = 0; tries < MOST_TRIES && polled.count === 0; tries++) polled = await poll();
    assert.deepEqual([polled.count, polled.html.includes(prompt)], [1, true]);
    const wrong = await page('/sandbox/phone/simulators/other', { prompt, decision: 'approve' });
    assert.match(wrong.text, /not open any more/);
    const sent = await page('/sandbox/phone/simulators/daraja', { prompt, decision: 'approve' });
    assert.deepEqual(JSON.parse(sent.text), { ok: true, message: 'The PIN was sent.' });
    assert.deepEqual(await openPrompts(), []);
    await simulator.idle();
    assert.equal(simulator.book.movements().length, 1);
  });

  test('a form of another page is refused', async () => {
    const answer = await fetch(`${gateway.url}/sandbox/phone/simulators/daraja`, {
      method: 'POST',
      body: new URLSearchParams({ prompt: 'prompt-1', decision: 'approve' }),
      headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    });
    assert.equal(answer.status, 403);
  });
});

test('a simulator is told where callbacks go', async () => {
  const received: string[] = [];
  const simulator = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => received.push(`${request.url} ${text}`));
    request.on('end', () => response.end('{}'));
  });
  await new Promise<void>((listening) => simulator.listen(0, '127.0.0.1', listening));
  const baseUrl = `http://127.0.0.1:${(simulator.address() as AddressInfo).port}`;
  const gateway = await createTestGateway({ PUBLIC_URL: 'https://pay.example.org' });
  try {
    const draft = { rail: 'pawapay', environment: 'simulator', baseUrl, values: {} };
    await createConnection(gateway.ctx, COMMAND_LINE, draft);
    await registerCallbackAddresses(gateway.ctx);
    const url = dashboardAddress(callbackAddressesOf(gateway.ctx, 'pawapay'));
    assert.deepEqual(received, [`/_simulator/register_callback {"url":"${url}"}`]);
  } finally {
    await gateway.close();
    simulator.close();
  }
});
