// The shops of examples/ as real processes against a real gateway, each where its language is on the machine: a customer
// buys, the callback arrives, the order is paid once; forged, stale, repeated and too small callbacks change nothing.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createClient } from '../sdk/src/client.ts';
import type { SimbiEvent } from '../sdk/src/types.ts';
import { webhooks } from '../sdk/src/webhooks.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { reservePort } from './ports.ts';
import { createShop, type Shop } from './shop.ts';

const ROOT = resolve(import.meta.dirname, '..');
const PATIENCE_MS = 30_000;
const KNOCK_MS = 50;

type Example = {
  language: string;
  tool: string;
  command: (port: number) => string[];
  /** Whether the customer pays on our page (a payment link) or on the phone (a collection). */
  hosted: boolean;
  /** The event that makes an order paid. */
  paidBy: SimbiEvent['type'];
  /** Whether it gets its credentials as variables; else from a file like data/demo.json. */
  variables: boolean;
};

const EXAMPLES: Example[] = [
  {
    language: 'typescript',
    tool: process.execPath,
    command: () => ['examples/typescript/shop.ts'],
    hosted: false,
    paidBy: 'collection.success',
    variables: true,
  },
  {
    language: 'python',
    tool: 'python3',
    command: () => ['-B', 'examples/python/shop.py'],
    hosted: false,
    paidBy: 'collection.success',
    variables: false,
  },
  {
    language: 'php',
    tool: 'php',
    command: (port) => ['-S', `localhost:${port}`, 'examples/php/shop.php'],
    hosted: true,
    paidBy: 'payment_link.paid',
    variables: false,
  },
];

let gateway: TestGateway;
const home = mkdtempSync(join(tmpdir(), 'simbi-examples-'));

before(async () => {
  gateway = await createTestGateway({ OPEN_PROMPTS_PER_NUMBER: '3' });
});
after(async () => {
  await gateway.close();
  rmSync(home, { recursive: true, force: true });
});

for (const example of EXAMPLES) {
  describe(`the ${example.language} shop`, { skip: !isOnMachine(example.tool) && `${example.tool} is missing` }, () => {
    let shop: Shop;
    let child: ChildProcess;
    let url: string;
    let feed: ReturnType<typeof createClient>;

    before(async () => {
      shop = await createShop(gateway.ctx, `Café ${example.language}`);
      const port = await reservePort();
      url = `http://localhost:${port}`;
      child = spawn(example.tool, example.command(port), {
        cwd: ROOT,
        stdio: ['ignore', 'ignore', 'pipe'],
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          PORT: String(port),
          SHOP_URL: url,
          SHOP_DATA: join(home, `${example.language}.json`),
          ...(example.variables ? variablesOf(shop) : { DEMO: demoFileOf(shop, example.language) }),
        },
      });
      feed = createClient({
        baseUrl: gateway.url,
        clientId: shop.clientId,
        secretKey: shop.secretKey,
        sender: shop.title,
        runtime: { now: () => gateway.ctx.clock.millis() },
      });
      await opened(child, url);
    });
    after(async () => {
      const gone = new Promise((done) => child.once('exit', done));
      if (child.kill()) await gone;
    });

    /** Buys as a customer does and answers the order's page, after everything has happened. */
    async function buy(product: string, mobile: string): Promise<string> {
      // Programs sign with the time of the machine.
      gateway.ctx.clock.set(new Date());
      const bought = await postForm(`${url}/buy`, { product, mobile });
      assert.equal(bought.status, 303);
      const place = new URL(bought.headers.get('location') ?? '', url).href;
      const order = example.hosted ? await payOnPage(place, mobile) : place;
      await gateway.settle();
      return order;
    }
    const page = async (place: string) => (await fetch(place)).text();
    const left = async (product: string) =>
      Number(new RegExp(`${product}.*?, (\\d+) left`).exec(await page(url))?.[1] ?? Number.NaN);
    const lastPaid = async () => {
      const events = await feed.events.list().toArray({ limit: 1000 });
      const found = events.findLast((event) => event.type === example.paidBy);
      assert.ok(found, 'no such event');
      return found;
    };
    const tell = (body: string, headers: Record<string, string>) =>
      fetch(`${url}/callbacks`, { method: 'POST', headers, body });

    test('sells: the callback arrives and the order is paid', async () => {
      assert.equal(await left('Coffee'), 10);
      assert.equal(await left('Woven basket'), 10);
      const order = await buy('coffee', '0772123000');
      assert.match(await page(order), /Order: paid/);
      assert.equal(await left('Coffee'), 9);
      assert.equal(await left('Woven basket'), 10);
    });

    test('counts an event once, however often it comes', async () => {
      const event = await lastPaid();
      const { token } = await feed.tokens.get();
      const again = await fetch(`${gateway.url}/api/v3/events/${event.id}/resend`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal(again.status, 200);
      await gateway.settle();
      const { rawBody, headers } = await webhooks.sign(event, shop.callbackSecret);
      for (let time = 0; time < 3; time++) assert.equal((await tell(rawBody, headers)).status, 204);
      assert.equal(await left('Coffee'), 9);
    });

    test('refuses what is forged, changed or old', async () => {
      const order = example.hosted ? null : await buy('basket', '0772123001');
      const event = { ...(await lastPaid()), id: 'evt_forged' } as SimbiEvent;
      const right = await webhooks.sign(event, shop.callbackSecret);
      const other = await webhooks.sign(event, `whsec_${Buffer.from('somebody else').toString('base64')}`);
      const old = await webhooks.sign(event, shop.callbackSecret, { now: Date.now() - 301_000 });
      const early = await webhooks.sign(event, shop.callbackSecret, { now: Date.now() + 330_000 });
      for (const [name, body, headers] of [
        ['another secret', other.rawBody, other.headers],
        ['too old', old.rawBody, old.headers],
        ['too early', early.rawBody, early.headers],
        ['a changed body', right.rawBody.replace('evt_forged', 'evt_forgot'), right.headers],
        ['another id', right.rawBody, { ...right.headers, 'webhook-id': 'evt_other' }],
        ['no signature', right.rawBody, { 'content-type': 'application/json' }],
        ['a timestamp that is no number', right.rawBody, { ...right.headers, 'webhook-timestamp': '1e9' }],
      ] as const)
        assert.equal((await tell(body, headers)).status, 400, name);
      assert.equal(await left('Coffee'), 9);
      if (order) assert.match(await page(order), /Order: not paid/);
    });

    test('does not take less for more, nor pay an order it does not know', async () => {
      const paid = await lastPaid();
      gateway.ctx.clock.set(new Date());
      // A number that nobody answers: the order waits. A hosted page says which link, the others which order.
      const begun = await postForm(`${url}/buy`, { product: 'basket', mobile: '0772123456' });
      const mark = begun.headers.get('location')?.split('/').at(-1) ?? '';
      const before = await left('Woven basket');
      const sell = async (id: string, amount: number, to: string) => {
        const data = { ...paid.data, amount, third_party_reference_1: to, payment_link_id: to };
        const { rawBody, headers } = await webhooks.sign({ ...paid, id, data } as SimbiEvent, shop.callbackSecret);
        assert.equal((await tell(rawBody, headers)).status, 204);
        return before - (await left('Woven basket'));
      };
      assert.equal(await sell('evt_small', 1, mark), 0);
      assert.equal(await sell('evt_foreign', 60_000, 'nobody'), 0);
      assert.equal(await sell('evt_right', 60_000, mark), 1);
      assert.equal(await sell('evt_right', 60_000, mark), 1);
    });

    test('a failure that is told after the success does not undo it', { skip: example.hosted }, async () => {
      const order = await buy('coffee', '0772123000');
      const failed = { ...(await lastPaid()), id: 'evt_failed_before', type: 'collection.failed' } as SimbiEvent;
      const { rawBody, headers } = await webhooks.sign(failed, shop.callbackSecret);
      assert.equal((await tell(rawBody, headers)).status, 204);
      assert.match(await page(order), /Order: paid/);
    });

    test('says so when a number has too many prompts, instead of waiting', { skip: example.hosted }, async () => {
      gateway.ctx.clock.set(new Date());
      const mobile = example.language === 'python' ? '0772555502' : '0772555501';
      const orders: string[] = [];
      for (let time = 0; time < 4; time++) {
        const bought = await postForm(`${url}/buy`, { product: 'coffee', mobile });
        orders.push(new URL(bought.headers.get('location') ?? '', url).href);
      }
      assert.match(await page(orders[2] ?? ''), /Order: waiting/);
      assert.match(await page(orders[3] ?? ''), /Order: refused: This phone number has had too many payment requests/);
    });

    test('shows what was refused, and knows nothing of other addresses', async () => {
      if (!example.hosted) assert.match(await page(await buy('coffee', '12')), /Order: refused: ./);
      assert.equal((await postForm(`${url}/buy`, { product: 'yacht', mobile: '0772123000' })).status, 404);
      assert.equal((await fetch(`${url}/orders/none`)).status, 404);
      assert.equal((await fetch(`${url}/secrets`)).status, 404);
    });
  });
}

for (const { language, tool, command } of EXAMPLES)
  test(`without its callback secret the ${language} shop believes nobody`, {
    skip: !isOnMachine(tool) && `${tool} is missing`,
  }, async (t) => {
    const shop = await createShop(gateway.ctx, `Careless ${language}`);
    const port = await reservePort();
    const { SIMBI_CALLBACK_SECRET: _, ...variables } = variablesOf(shop);
    const { PATH, HOME } = process.env;
    const data = { SHOP_DATA: join(home, `careless-${language}.json`) };
    const child = spawn(tool, command(port), {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH, HOME, PORT: String(port), ...data, ...variables },
    });
    t.after(() => child.kill());
    const body = JSON.stringify({ id: 'evt_forged', type: 'payment_link.paid', data: {} });
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', '').update(`evt_forged.${timestamp}.${body}`).digest('base64');
    const headers = {
      'webhook-id': 'evt_forged',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
    const tell = () => fetch(`http://localhost:${port}/callbacks`, { method: 'POST', headers, body }).catch(() => null);
    let answer = await tell();
    // One that does not start believes nobody either.
    for (; answer === null && child.exitCode === null; answer = await tell())
      await new Promise((done) => setTimeout(done, KNOCK_MS));
    if (answer) assert.ok(answer.status >= 400, `${answer.status} ${await answer.text()}`);
  });

test('every folder of examples is run here and named in its README', () => {
  const readme = readFileSync(join(ROOT, 'examples/README.md'), 'utf8');
  for (const { language, command } of EXAMPLES) {
    assert.ok(readme.includes(`\`${language}/\``), language);
    assert.ok(readme.includes(command(3000).at(-1) ?? ''), `${language}: how it is started`);
  }
});

function variablesOf(shop: Shop): Record<string, string> {
  return {
    SIMBI_URL: gateway.url,
    SIMBI_CLIENT_ID: shop.clientId,
    SIMBI_SECRET_KEY: shop.secretKey,
    SIMBI_SENDER: shop.title,
    SIMBI_CALLBACK_SECRET: shop.callbackSecret,
  };
}

function demoFileOf(shop: Shop, name: string): string {
  const path = join(home, `${name}-demo.json`);
  const { clientId, secretKey, title, callbackSecret } = shop;
  const demo = { base_url: gateway.url, client_id: clientId, secret_key: secretKey, sender: title };
  writeFileSync(path, JSON.stringify({ ...demo, callback_secret: callbackSecret }));
  return path;
}

/** Pays as a customer without scripts does: fills the form of the hosted page, and confirms when asked. */
async function payOnPage(place: string, mobile: string): Promise<string> {
  let at = place.replace('//localhost', '//127.0.0.1');
  let redirection = '';
  for (let step = 0; step < 4; step++) {
    const text = await (await fetch(at)).text();
    const form = /<form class="card" method="post"[^>]*>[\s\S]*?<\/form>/.exec(text)?.[0];
    if (form === undefined) break;
    const values: Record<string, string> = {};
    for (const [input] of form.matchAll(/<input[^>]*>/g)) {
      const [name = '', value = '', type = ''] = ['name', 'value', 'type'].map(
        (attribute) => new RegExp(` ${attribute}="([^"]*)"`).exec(input)?.[1] ?? '',
      );
      if (type !== 'radio' || values[name] === undefined || input.includes(' checked')) values[name] = value;
      if (name === 'phone' && type === 'tel') values[name] = mobile;
    }
    const answer = await postForm(at, values);
    assert.equal(answer.status, 303);
    at = new URL(answer.headers.get('location') ?? '', at).href;
  }
  await gateway.settle();
  const done = await (await fetch(at)).text();
  redirection = /href="([^"]*\/orders\/[^"]*)"/.exec(done)?.[1] ?? '';
  assert.ok(redirection, `the page does not lead back to the shop:\n${done}`);
  return redirection.replaceAll('&amp;', '&');
}

function postForm(place: string, values: Record<string, string>): Promise<Response> {
  return fetch(place, { method: 'POST', body: new URLSearchParams(values), redirect: 'manual' });
}

function isOnMachine(tool: string): boolean {
  const places = tool.includes('/') ? [tool] : (process.env.PATH ?? '').split(delimiter).map((at) => join(at, tool));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Knocks until the shop answers; fails with its stderr when it ended. */
async function opened(child: ChildProcess, url: string): Promise<void> {
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end && child.exitCode === null) {
    const open = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    if (open) return;
    await new Promise((done) => setTimeout(done, KNOCK_MS));
  }
  throw new Error(`the shop did not open:\n${stderr}`);
}
