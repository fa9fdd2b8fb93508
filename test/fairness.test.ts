// Nobody's load or fault is felt by somebody else: callbacks of two holders at one host, and prompts to one phone number.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createApp } from '../src/app.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { takeGuess } from '../src/holders/guesses.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import type { Database } from '../src/platform/db.ts';
import { flushRefusals } from '../src/platform/held-back.ts';
import { createServices } from '../src/services.ts';
import { openShop } from './browser/shop.ts';
import { type Client, clientOf, createClient, PATHS, type Reply, send, textOf, ugandanCollection } from './client.ts';
import { addPerson } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const CALLBACK_TIMEOUT_MS = 300;
const HANGING = 600;

describe('two holders whose callbacks go to one host', () => {
  let gateway: TestGateway;
  const arrived = { '/hang': 0, '/good': 0 };
  const host = createServer((request, response) => {
    const path = request.url === '/good' ? '/good' : '/hang';
    arrived[path]++;
    request.resume();
    if (path === '/good') response.end();
  });
  const url = (path: string) => `http://127.0.0.1:${(host.address() as AddressInfo).port}${path}`;

  before(async () => {
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    gateway = await createTestGateway({}, { callbackTimeoutMs: CALLBACK_TIMEOUT_MS });
  });
  after(async () => {
    await gateway.close();
    host.closeAllConnections();
    host.close();
  });

  /** Background passes until the condition holds. */
  async function passUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await condition())) {
      await gateway.services.deliverer.pass();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  test('security S9: a holder whose 600 callbacks hang does not delay another one at the same host', async () => {
    const [victim, other] = [await createClient(gateway, 'Victim'), await createClient(gateway, 'Other')];
    const hang = { callback_url: url('/hang') };
    const replies = await Promise.all(
      Array.from({ length: HANGING }, () => other.signed(PATHS.collect, ugandanCollection('000', hang))),
    );
    assert.ok(replies.every((reply) => reply.status === 200));
    await gateway.services.payments.engine.idle();
    // The host counts as failing for the other holder, and most of its callbacks were not tried yet.
    const failing = () => gateway.ctx.db.query('select from callback_receivers');
    await passUntil(async () => (await failing()).length > 0);
    const triedBefore = arrived['/hang'];
    for (let count = 0; count < 6; count++)
      await victim.signed(PATHS.collect, ugandanCollection('000', { callback_url: url('/good') }));
    await gateway.services.payments.engine.idle();
    // One that was not answered in time, because the machine stood still, is due again some seconds later.
    const missed = () =>
      gateway.ctx.db.query('select from callback_attempts where holder_id = $1 and not delivered', [
        victim.shop.holderId,
      ]);
    await passUntil(async () => {
      if ((await missed()).length > 0) gateway.ctx.clock.advance(1_000);
      return arrived['/good'] >= 6 || arrived['/hang'] > triedBefore + HANGING / 2;
    });
    assert.ok(arrived['/good'] >= 6);
    const tried = arrived['/hang'] - triedBefore;
    assert.ok(tried < 32, `the other holder had ${tried} more attempts first`);
  });
});

describe('one phone number', () => {
  let gateway: TestGateway;

  before(async () => {
    gateway = await createTestGateway({
      OPEN_PROMPTS_PER_NUMBER: '3',
      PROMPTS_PER_NUMBER_PER_DAY: '10',
      WRONG_TOKENS_PER_NUMBER_PER_DAY: '20',
    });
  });
  after(() => gateway.close());

  test('security S10: 214 prompts to one number by two holders: three arrive, the rest is 429 with Retry-After', async () => {
    const clients = [await createClient(gateway, 'One'), await createClient(gateway, 'Two')];
    const asked = clients.flatMap((client) =>
      Array.from({ length: 107 }, () => client.signed(PATHS.collect, ugandanCollection('456'))),
    );
    const replies = await Promise.all(asked);
    assert.equal(replies.filter((reply) => reply.status === 200).length, 3);
    for (const reply of replies.filter((each) => each.status !== 200)) {
      assert.equal(reply.status, 429);
      assert.equal(reply.body.code, 'number_limited');
      const seconds = Number(reply.headers['retry-after']);
      assert.ok(seconds > 0 && seconds <= 600, `${seconds}`);
    }
    await gateway.settle();
    const [row] = await gateway.ctx.db.query<{ count: bigint }>(
      `select count(*) from sandbox_payments where msisdn = '256772123456'`,
    );
    assert.equal(row?.count, 3n);
  });

  test('review: a repeat that was sent before the first was written is answered as the first, not as one too many', async () => {
    const client = await createClient(gateway, 'Impatient');
    const { ctx } = gateway;
    const number = '256772124777';
    for (let count = 0; count < 2; count++)
      assert.equal((await client.signed(PATHS.collect, ugandanCollection('', { mobile: number }))).status, 200);
    const services = await createServices({ ...ctx, memory: new Map() });
    const app = createApp(services);
    const order = ugandanCollection('', { mobile: number, amount: 3000 });
    const once = { 'idempotency-key': 'impatient-1' };
    // Both processes have read that the key is unknown; then both wait for the number.
    let sent: Promise<Reply>[] = [];
    await ctx.ownerDb.transaction(async (tx) => {
      await tx.query('select from number_limits where msisdn = $1 for update', [number]);
      sent = [gateway.app, app].map((each) => send(each, 'POST', PATHS.collect, client.envelope(order), once));
      await waitForLocks(ctx.ownerDb, 2);
    });
    const answers = await Promise.all(sent);
    await app.close();
    await services.stop();
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
      JSON.stringify(answers.map(({ body }) => body)),
    );
    assert.equal(answers[0]?.data.ref, answers[1]?.data.ref);
    assert.equal((await client.signed(PATHS.collect, order)).status, 429);
  });

  test('security S10: a repeated request with its idempotency key counts once, and a refused one takes no key', async () => {
    const client = await createClient(gateway, 'Idempotent');
    const params = ugandanCollection('457');
    const send = (key: string) => client.signed(PATHS.collect, params, { 'idempotency-key': key });
    for (let count = 0; count < 5; count++) assert.equal((await send('first')).status, 200);
    assert.equal((await send('second')).status, 200);
    assert.equal((await send('third')).status, 200);
    assert.equal((await send('fourth')).status, 429);
    gateway.ctx.clock.advance(600_000);
    const reply = await send('fourth');
    assert.equal(reply.status, 200);
    assert.equal(reply.headers['idempotent-replayed'], undefined);
  });

  test('security S10: the hosted page and the test payment of the console count with the API', async () => {
    const client = await createClient(gateway, 'Everywhere');
    const collection = { amount: 100, mobile: '254711200555', country_id: 1, currency: 'KES' };
    const person = await addPerson(gateway, client.shop.holderId, 'owner', 'owner@everywhere.example');
    const test = () => person.post('/console/test-payment', { country_id: '1', mobile: '0711200555', amount: '100' });
    assert.equal((await client.signed(PATHS.collect, collection)).status, 200);
    assert.match((await test()).location ?? '', /transactions/);
    const shop = await openShop(gateway);
    const pay = async () => {
      const { url } = await shop.link({ country_id: 1, currency: 'KES', amount: '100', business_name: 'Duka' });
      const path = new URL(url).pathname;
      const page = (await gateway.app.inject({ url: path })).body;
      const form = /name="form" value="([^"]+)"/.exec(page)?.[1] ?? '';
      const fields = { form, country: '1', method: 'MPESA_KEN', phone: '0711200555', confirmed: '1' };
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const payload = new URLSearchParams(fields).toString();
      const answer = await gateway.app.inject({ method: 'POST', url: path, headers, payload });
      return (await gateway.app.inject({ url: textOf(answer.headers.location) })).body;
    };
    assert.match(await pay(), /Check your phone/i);
    // With its day: a limit of a day ends at a time that may have passed today.
    assert.match(await pay(), /several payment requests.* after \d+ \w+ \d{4}, \d\d:\d\d \(EAT\)/);
    assert.equal((await client.signed(PATHS.collect, collection)).status, 429);
    const refused = await test();
    assert.equal(refused.status, 429, refused.text);
  });

  test('security S10: wrong tokens are counted by number, over all its transactions', async () => {
    const client = await createClient(gateway, 'Guesser');
    const guess = async (ref: string) => client.signed(PATHS.verify, { id: ref, token: await wrongToken() });
    const codes: unknown[] = [];
    for (let count = 0; count < 10; count++) {
      const ref = await collectByToken(client);
      for (let tries = 0; tries < 5; tries++) codes.push((await guess(ref)).body.code);
    }
    assert.deepEqual(codes.slice(0, 20), Array(20).fill('verification_failed'));
    assert.deepEqual(codes.slice(20), Array(30).fill('number_limited'));
    const reply = await guess(await collectByToken(client));
    assert.equal(reply.status, 429);
    assert.equal(reply.body.message, 'This phone number has had too many wrong tokens. The token was not checked.');
    const seconds = Number(reply.headers['retry-after']);
    assert.ok(seconds > 0 && seconds <= 86_400, `${seconds}`);
  });

  /** Not the one of the latest SMS. */
  async function wrongToken(): Promise<string> {
    const [sms] = await gateway.ctx.db.query<{ text: string }>(
      'select text from sandbox_messages order by id desc limit 1',
    );
    return sms?.text.includes('123456') ? '654321' : '123456';
  }

  async function collectByToken(client: Client): Promise<string> {
    const reply = await client.signed(PATHS.collect, ugandanCollection('012'));
    assert.equal(reply.status, 200);
    await gateway.settle();
    return textOf(reply.data.ref);
  }
});

test('security S10: the integrations of one holder share a limit, so a further one does not raise it', async (t) => {
  const gateway = await createTestGateway({ RATE_LIMIT_PER_SECOND: '10', HOLDER_RATE_LIMIT_PER_SECOND: '15' });
  t.after(() => gateway.close());
  const first = await createClient(gateway, 'Many keys');
  const { holderId } = first.shop;
  const others = [2, 3, 4].map((number) => createIntegration(gateway.ctx, COMMAND_LINE, holderId, `Key ${number}`));
  const clients = [first, ...(await Promise.all(others)).map((shop) => clientOf(gateway, shop))];
  const other = await createClient(gateway, 'Another holder');
  let allowed = 0;
  for (const client of clients)
    for (let count = 0; count < 20; count++) {
      const reply = await client.signed(PATHS.balance);
      if (reply.status === 200) allowed++;
      else assert.match(textOf(reply.headers.ratelimit), /^"holder"/);
    }
  assert.equal(allowed, 30, 'the burst of the holder');
  assert.equal((await other.signed(PATHS.balance)).status, 200);
});

test('admins see who is held back, and can release a limit of guesses', async (t) => {
  const gateway = await createTestGateway({ OPEN_PROMPTS_PER_NUMBER: '3', RATE_LIMIT_PER_SECOND: '5' });
  t.after(() => gateway.close());
  const client = await createClient(gateway, 'Busy shop');
  const admin = await addPerson(gateway, client.shop.holderId, 'owner', 'admin@example.org', { admin: true });
  for (let count = 0; count < 12; count++) await client.signed(PATHS.balance);
  gateway.ctx.clock.advance(60_000);
  for (let count = 0; count < 5; count++) await client.signed(PATHS.collect, ugandanCollection('456'));
  const guess = { kind: 'password' as const, person: 'ama@example.org', address: '203.0.113.7' };
  for (let count = 0; count < 12; count++) await takeGuess(gateway.ctx, guess);
  assert.equal((await takeGuess(gateway.ctx, guess)).allowed, false);
  await flushRefusals(gateway.ctx);
  const page = await admin.get('/console/admin/limits');
  assert.equal(page.status, 200);
  assert.match(page.text, /Busy shop \(/);
  assert.match(page.text, /\+25677••••56/);
  assert.doesNotMatch(page.text, /256772123456/);
  assert.match(page.text, /Wrong passwords.*203\.0\.113\.7/s);
  assert.match((await admin.get('/console/admin/limits', { 'accept-language': 'fr' })).text, /Mots de passe erronés/);
  const keys = [...page.text.matchAll(/name="key" value="([0-9a-f]{64})"/g)].map(([, key = '']) => key);
  assert.ok(keys.length > 0);
  for (const key of keys) assert.equal((await admin.post('/console/admin/limits/release', { key })).status, 303);
  assert.equal((await takeGuess(gateway.ctx, { ...guess, person: 'kofi@example.org' })).allowed, true);
  assert.doesNotMatch((await admin.get('/console/admin/limits')).text, /203\.0\.113\.7/);
  const owner = await addPerson(gateway, client.shop.holderId, 'owner', 'owner@example.org');
  assert.equal((await owner.get('/console/admin/limits')).status, 403);
});

/** Resolves when this many statements wait for a lock. */
async function waitForLocks(db: Database, count: number): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const [row] = await db.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if ((row?.count ?? 0) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`fewer than ${count} statements wait`);
}
