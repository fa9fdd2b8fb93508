// The client against a real gateway: what it signs, what it repeats, what it refuses to repeat, and what it says when
// something is wrong. Its clock and its waiting are the gateway's virtual ones, so nothing here sleeps.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { canonicalJson, type Json } from '../sdk/src/canonical-json.ts';
import { type Client, type ClientOptions, createClient } from '../sdk/src/client.ts';
import { COUNTRY_IDS } from '../sdk/src/countries.ts';
import { SimbiError } from '../sdk/src/error.ts';
import { hex, hmac, importKey, utf8 } from '../sdk/src/hmac.ts';
import type { Runtime } from '../sdk/src/transport.ts';
import { canonicalJson as ourCanonicalJson } from '../src/platform/canonical-json.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

const UGANDA = { amount: 2500, country_id: 11, currency: 'UGX' } as const;

let gateway: TestGateway;
let shop: Shop;

before(async () => {
  gateway = await createTestGateway();
  shop = await createShop(gateway.ctx, 'SDK shop');
});
after(() => gateway.close());

type Seen = { url: string; headers: Record<string, string>; body: Record<string, unknown> };
type Bench = { client: Client; sent: Seen[]; slept: number[] };

/** What the wire does to a request; `go` lets it through. */
type Wire = (go: () => Promise<Response>, attempt: number, request: RequestInit) => Promise<Response>;

/** A client on virtual time that remembers what it sent and how long it rested. */
function bench(wire: Wire = (go) => go(), changes: Partial<ClientOptions> = {}, runtime: Partial<Runtime> = {}): Bench {
  const sent: Seen[] = [];
  const slept: number[] = [];
  const client = createClient({
    baseUrl: `${gateway.url}/`,
    clientId: shop.clientId,
    secretKey: shop.secretKey,
    sender: shop.title,
    ...changes,
    runtime: {
      now: () => gateway.ctx.clock.millis(),
      random: () => 1,
      sleep: async (milliseconds) => {
        slept.push(milliseconds);
        await gateway.advance(milliseconds);
      },
      fetch: (url, request) => {
        const body = request.body ? JSON.parse(request.body as string) : {};
        sent.push({ url, headers: request.headers as Record<string, string>, body: body as Seen['body'] });
        return wire(() => fetch(url, request), sent.length, request);
      },
      ...runtime,
    },
  });
  return { client, sent, slept };
}

function refusal(status: number, code: string, headers: Record<string, string> = {}, more: object = {}): Response {
  const body = { success: false, message: 'No.', code, request_id: 'req_1', ...more };
  return new Response(JSON.stringify(body), { status, headers });
}

async function failing(promise: Promise<unknown>): Promise<SimbiError> {
  const error = await promise.then(
    () => assert.fail('nothing was refused'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SimbiError, String(error));
  return error;
}

async function countTransactions(): Promise<bigint> {
  const [row] = await gateway.ctx.db.query<{ count: bigint }>('select count(*) from transactions');
  return row?.count ?? 0n;
}

describe('signing', () => {
  type Vector = { name: string; secret_key: string; body: string; canonical: string; signature: string };
  type Wrong = { wrong: { body?: string; signature?: string; why: string } };
  const { cases } = JSON.parse(readFileSync(new URL('../docs/signing-vectors.json', import.meta.url), 'utf8')) as {
    cases: (Vector & Wrong)[];
  };

  async function sign(secret: string, body: string): Promise<{ canonical: string; signature: string }> {
    const { signature: _, ...unsigned } = JSON.parse(body) as { [key: string]: Json };
    const canonical = canonicalJson(unsigned);
    return { canonical, signature: hex(await hmac(await importKey(utf8(secret)), utf8(canonical))) };
  }

  test('agrees with every published vector, and with none of the wrong ones', async () => {
    assert.ok(cases.length >= 50);
    for (const each of cases) {
      const { canonical, signature } = await sign(each.secret_key, each.body);
      assert.deepEqual({ canonical, signature }, { canonical: each.canonical, signature: each.signature }, each.name);
      const other =
        each.wrong.body === undefined ? signature : (await sign(each.secret_key, each.wrong.body)).signature;
      assert.notEqual(other, each.wrong.signature ?? each.signature, each.wrong.why);
    }
  });

  test('writes the same canonical text as the gateway for any JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        assert.equal(canonicalJson(plain), ourCanonicalJson(plain));
      }),
    );
  });

  test('leaves out undefined members and signs what is sent', async () => {
    const { client } = bench();
    const created = await client.collections.create({
      ...UGANDA,
      mobile: '256772123000',
      third_party_reference_1: 'Café 🎉 "</script>"\u2028',
      ...({ callback_url: undefined } as object),
    });
    assert.equal(created.third_party_reference_1, 'Café 🎉 "</script>"\u2028');
  });
});

describe('the journey', () => {
  test('a collection is made, waited for, reported, and in the balance', async () => {
    const { client, sent } = bench();
    const created = await client.collections.create({ ...UGANDA, mobile: '0772123000' });
    assert.equal(created.status, 'pending');
    assert.equal(created.verification.method, 'prompt');
    assert.equal(created.lastResponse.status, 200);
    assert.match(created.lastResponse.requestId ?? '', /^req_/);
    assert.equal(created.lastResponse.replayed, false);
    assert.ok(!Object.keys(created).includes('lastResponse'));
    assert.match(sent[0]?.headers['idempotency-key'] ?? '', /^[0-9a-f]{32}$/);
    const done = await client.transactions.waitFor(created.ref);
    assert.equal(done.status, 'success');
    assert.equal(done.status_code, '200');
    const old = await client.transactions.get(created.ref, { version: 2 });
    assert.equal(old.status, 'success');
    assert.ok(!('status_code' in old));
    assert.ok(old.lastResponse.headers.deprecation);
    assert.equal((await client.transactions.get(created.ref, { type: 'payin' })).ref, created.ref);
    const [wallet] = await client.balances.get({ currency: 'UGX' });
    assert.ok(wallet && wallet.available >= 2475);
    const events = await client.events.list().toArray({ limit: 1000 });
    const event = events.find((each) => each.data.ref === created.ref);
    assert.equal(event?.type, 'collection.success');
  });

  test('a token by SMS is given back, a wrong one is an error with its field', async () => {
    const { client } = bench();
    const { ref, verification } = await client.collections.create({ ...UGANDA, mobile: '256772123012' });
    assert.equal(verification.method, 'otp');
    await gateway.settle();
    const wrong = await failing(client.collections.verify(ref, 'twelve'));
    assert.deepEqual([wrong.code, Object.keys(wrong.fields)], ['invalid_params', ['token']]);
    await gateway.advance(31_000);
    assert.equal((await client.collections.resend(ref)).status, 'pending');
    const early = await failing(client.collections.resend(ref));
    assert.deepEqual([early.code, early.retryable], ['resend_too_soon', true]);
    await gateway.settle();
    const sms = (await gateway.services.operator?.phone.view('256772123012'))?.messages[0];
    const token = /\d{6}/.exec(JSON.stringify(sms?.text))?.[0] ?? '';
    assert.equal((await client.collections.verify(ref, token)).status, 'processing');
    assert.equal((await client.transactions.waitFor(ref)).status, 'success');
  });

  test('payment links are made and listed page by page, newest first', async () => {
    const { client, sent } = bench();
    const made: string[] = [];
    for (const item of ['One', 'Two', 'Three', 'Four', 'Five']) {
      const link = await client.paymentLinks.create({ country_id: 11, currency: 'UGX', item_name: item });
      made.unshift(link.id);
      gateway.ctx.clock.advance(1000);
    }
    sent.length = 0;
    const listed: string[] = [];
    for await (const link of client.paymentLinks.list({ pageSize: 2 })) listed.push(link.id);
    assert.deepEqual(listed, made);
    const lists = sent.filter((request) => request.url.includes('/list?'));
    assert.equal(lists.length, 3);
    sent.length = 0;
    const list = client.paymentLinks.list({ pageSize: 2, status: 'active' });
    assert.deepEqual(
      (await list.toArray({ limit: 3 })).map((link) => link.id),
      made.slice(0, 3),
    );
    assert.equal(sent.length, 2, 'no page is read that nobody asked for');
    assert.deepEqual(await list.toArray({ limit: 0 }), []);
    assert.deepEqual(await client.paymentLinks.list({ status: 'paid' }).toArray({ limit: 9 }), []);
  });

  test('countries and preflight answer without creating anything', async () => {
    const { client } = bench();
    const { collections, payment_links } = await client.countries();
    assert.ok(collections.some((row) => row.country === 'Uganda' && row.supported));
    assert.ok(payment_links.length > 0);
    const plan = await client.preflight({ mobile: '0772123456', amount: '2500', currency: 'UGX', country_id: 11 });
    assert.equal(plan.would_be_accepted, true);
    assert.equal(plan.operator?.code, 'MTN_MOMO_UGA');
  });

  test('a country by its code: the number goes over the wire, and the codes are those of the catalogue', async () => {
    const { client, sent } = bench();
    const link = await client.paymentLinks.create({ country: 'UG', currency: 'UGX' });
    assert.deepEqual(sent.at(-1)?.body.params, { currency: 'UGX', country_id: 11 });
    assert.match(link.short_url, /\/p\/.{11}$/);
    const { collectionCountries, linkCountries } = gateway.ctx.catalog;
    const rows = [...linkCountries, ...collectionCountries].map(([id, row]) => [row.country.iso, id] as const);
    assert.deepEqual(Object.fromEntries(rows), COUNTRY_IDS);
    const unknown = { country: 'XX', currency: 'UGX' } as unknown as { country: 'UG'; currency: string };
    assert.throws(() => client.paymentLinks.create(unknown), /country must be one of KE, /);
  });

  test('the feed goes on from a place, without gaps', async () => {
    const { client } = bench();
    const refs = [];
    for (const digits of ['000', '001', '011'])
      refs.push((await client.collections.create({ ...UGANDA, mobile: `256772123${digits}` })).ref);
    for (const ref of refs) await client.transactions.waitFor(ref);
    const all = await client.events.list({ pageSize: 1 }).toArray({ limit: 1000 });
    const middle = all.at(-3)?.id ?? '';
    const rest = await client.events.list({ after: middle, pageSize: 1 }).toArray({ limit: 1000 });
    assert.deepEqual(rest, all.slice(-2));
    const last = all.at(-1);
    assert.deepEqual(await client.events.list(last ? { after: last.id } : {}).toArray({ limit: 5 }), []);
  });
});

describe('waiting', () => {
  test('gives up politely: undecided is not failed', async () => {
    const { client, slept } = bench();
    const { ref } = await client.collections.create({ ...UGANDA, mobile: '256772123005' });
    const error = await failing(client.transactions.waitFor(ref, { timeoutMs: 20_000 }));
    assert.deepEqual([error.code, error.retryable], ['wait_timed_out', true]);
    assert.match(error.message, /not a failure/);
    assert.equal(Math.round(slept.reduce((sum, each) => sum + each, 0)), 20_000);
    assert.ok(slept.length < 10, 'questions become rarer');
  });

  test('outlasts a gateway that is away for a moment, and tells when it stays away', async () => {
    const { client, sent } = bench((go, attempt) =>
      attempt > 1 && attempt < 5 ? Promise.resolve(refusal(503, 'database_unavailable')) : go(),
    );
    const { ref } = await client.collections.create({ ...UGANDA, mobile: '256772123000' });
    assert.equal((await client.transactions.waitFor(ref)).status, 'success');
    assert.ok(sent.length >= 5);
    const gone = bench(() => Promise.reject(new TypeError('fetch failed')));
    assert.equal((await failing(gone.client.transactions.waitFor(ref, { timeoutMs: 9_000 }))).code, 'network_error');
    const nobody = await failing(client.transactions.waitFor('TX_01JNAFQ7M0E9SRC45Y6Z8XKBDT'));
    assert.deepEqual([nobody.code, nobody.status], ['transaction_not_found', 404]);
  });

  test('stops at once when it is asked to', async () => {
    const stop = new AbortController();
    const { client, slept } = bench(undefined, {}, { sleep: async () => stop.abort(new Error('enough')) });
    const { ref } = await client.collections.create({ ...UGANDA, mobile: '256772123005' });
    const error = await failing(client.transactions.waitFor(ref, { signal: stop.signal }));
    assert.equal(error.code, 'aborted');
    assert.match(String(error.cause), /enough/);
    assert.deepEqual(slept, []);
  });

  test('really rests, and really wakes, on the clock of the machine', async () => {
    const { machine } = await import('../sdk/src/transport.ts');
    const stop = new AbortController();
    const rest = machine.sleep(3_600_000, stop.signal);
    stop.abort();
    await rest;
    await machine.sleep(1);
    await machine.sleep(3_600_000, stop.signal);
  });
});

describe('repeating', () => {
  test('an answer that was lost is asked for again: same key, new signature, one payment', async () => {
    const before = await countTransactions();
    const { client, sent, slept } = bench(async (go, attempt) => {
      const answer = await go();
      if (attempt < 3) throw new TypeError('fetch failed', { cause: new Error('socket hang up') });
      return answer;
    });
    const created = await client.collections.create({ ...UGANDA, mobile: '256772123000' });
    assert.equal(created.lastResponse.replayed, true);
    assert.equal(created.lastResponse.attempts, 3);
    assert.equal(new Set(sent.map((request) => request.headers['idempotency-key'])).size, 1);
    assert.equal(new Set(sent.map((request) => request.body.signature)).size, 3);
    assert.equal(new Set(sent.map((request) => request.body.salt)).size, 3);
    assert.deepEqual(slept, [500, 1000]);
    assert.equal(await countTransactions(), before + 1n);
    await client.collections.create({ ...UGANDA, mobile: '256772123000' });
    assert.equal(await countTransactions(), before + 2n, 'a second create has a key of its own');
  });

  test('a key of the caller works across programs', async () => {
    const params = { ...UGANDA, mobile: '256772123000' };
    const first = await bench().client.collections.create(params, { idempotencyKey: 'order-77' });
    const second = await bench().client.collections.create(params, { idempotencyKey: 'order-77' });
    assert.equal(second.ref, first.ref);
    assert.equal(second.lastResponse.replayed, true);
    const other = await failing(
      bench().client.collections.create({ ...params, amount: 2600 }, { idempotencyKey: 'order-77' }),
    );
    assert.deepEqual([other.code, other.status, other.retryable], ['idempotency_conflict', 409, false]);
    assert.equal(other.idempotencyKey, 'order-77');
  });

  test('Retry-After is waited for, at most a minute; jitter otherwise', async () => {
    const busy: [string, number][] = [
      ['7', 7_000],
      ['3600', 60_000],
      ['0', 500],
      ['nonsense', 500],
    ];
    for (const [header, wanted] of busy) {
      const { client, slept } = bench((go, attempt) =>
        attempt === 1 ? Promise.resolve(refusal(503, 'overloaded', { 'retry-after': header })) : go(),
      );
      await client.balances.get();
      assert.deepEqual(slept, [wanted], header);
    }
    const low = bench(
      (go, attempt) => (attempt === 1 ? Promise.resolve(refusal(500, 'internal')) : go()),
      {},
      {
        random: () => 0,
      },
    );
    await low.client.balances.get();
    assert.deepEqual(low.slept, [250]);
  });

  test('two retries, then the error; none when none are wanted', async () => {
    const down: Wire = () =>
      Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }));
    const patient = bench(down);
    const error = await failing(patient.client.collections.create({ ...UGANDA, mobile: '256772123000' }));
    assert.equal(patient.sent.length, 3);
    assert.deepEqual([error.code, error.status, error.retryable], ['network_error', null, true]);
    assert.match(error.message, /could not be reached: connect ECONNREFUSED/);
    assert.equal(error.idempotencyKey, patient.sent[0]?.headers['idempotency-key'], 'so that the caller can go on');
    const hasty = bench(down, { maxRetries: 0 });
    await failing(hasty.client.balances.get());
    assert.equal(hasty.sent.length, 1);
    const tokenless = bench(down);
    await failing(tokenless.client.countries());
    assert.equal(tokenless.sent.length, 3, 'retries for the token are not multiplied by those of the call');
    const unkeyed = bench();
    await unkeyed.client.collections.create({ ...UGANDA, mobile: '256772123000' }, { idempotencyKey: '' });
    assert.ok(unkeyed.sent[0]?.headers['idempotency-key'], 'a create always has a key');
    const once = bench(down);
    await failing(once.client.balances.get({}, { maxRetries: 1 }));
    assert.equal(once.sent.length, 2);
  });

  test('what the caller must mend is not repeated', async () => {
    const { client, sent } = bench();
    const error = await failing(client.collections.create({ ...UGANDA, mobile: '12', amount: 0 }));
    assert.equal(sent.length, 1);
    assert.deepEqual([error.code, error.status, error.retryable], ['invalid_params', 400, false]);
    assert.match(error.requestId ?? '', /^req_/);
    assert.equal(error.docs, `${gateway.url}/docs/errors/invalid_params`);
    assert.ok(error.fields.mobile);
    assert.match(error.message, /^Transaction was not created! \(invalid_params\) ./);
    assert.equal((await fetch(error.docs ?? '')).status, 200);
  });

  test('a token of the customer is not sent twice, unless the gateway did nothing', async () => {
    const { ref } = await bench().client.collections.create({ ...UGANDA, mobile: '256772123012' });
    for (const answer of [() => refusal(503, 'outcome_unknown'), () => refusal(500, 'internal')]) {
      const { client, sent } = bench(() => Promise.resolve(answer()));
      await failing(client.collections.verify(ref, '123456'));
      assert.equal(sent.length, 1);
    }
    const lost = bench(() => Promise.reject(new TypeError('fetch failed')));
    await failing(lost.client.collections.resend(ref));
    assert.equal(lost.sent.length, 1);
    const busy = bench((go, attempt) => (attempt === 1 ? Promise.resolve(refusal(429, 'rate_limited')) : go()));
    await failing(busy.client.collections.verify(ref, '123456'));
    assert.equal(busy.sent.length, 2);
  });

  test('no answer in time is an error that may be repeated', async () => {
    const silent: Wire = (_go, _attempt, request) =>
      new Promise((_resolve, reject) => {
        request.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
      });
    const { client, sent } = bench(silent, { timeoutMs: 5 });
    const error = await failing(client.balances.get());
    assert.deepEqual([error.code, error.retryable, sent.length], ['timeout', true, 3]);
    const stop = new AbortController();
    const asked = failing(bench(silent).client.balances.get({}, { signal: stop.signal }));
    setImmediate(() => stop.abort());
    assert.equal((await asked).code, 'aborted');
    const before = bench(silent);
    assert.equal((await failing(before.client.balances.get({}, { signal: stop.signal }))).code, 'aborted');
    assert.equal(before.sent.length, 0);
  });

  test('an answer of somebody else is not taken for ours', async () => {
    for (const strange of ['<html>login</html>', '[]', '{"success":true', '{"ok":1}']) {
      const error = await failing(bench(() => Promise.resolve(new Response(strange))).client.balances.get());
      assert.deepEqual([error.code, error.status, error.retryable], ['invalid_response', 200, false], strange);
    }
    const moved = new Response(null, { status: 302, headers: { location: 'https://elsewhere.example' } });
    const { client, sent } = bench(() => Promise.resolve(moved));
    assert.equal((await failing(client.balances.get())).code, 'invalid_response');
    assert.equal(sent.length, 1);
    const gateway = bench((go, attempt) =>
      attempt === 1 ? Promise.resolve(new Response('bad', { status: 502 })) : go(),
    );
    assert.ok(Array.isArray(await gateway.client.balances.get()));
  });
});

describe('clocks and tokens', () => {
  test('a clock that is hours wrong is corrected once, when the gateway tells the time', async () => {
    for (const wrong of [-7_200_000, 86_400_000]) {
      const now = () => gateway.ctx.clock.millis() + wrong;
      const { client, sent } = bench(undefined, {}, { now });
      assert.ok(Array.isArray(await client.balances.get()));
      assert.equal(sent.length, 2);
      await client.balances.get();
      assert.equal(sent.length, 3, 'it remembers');
    }
  });

  test('in live mode the Date header tells the time; without any there is no second try', async () => {
    const wrong = 7_200_000;
    const now = () => gateway.ctx.clock.millis() + wrong;
    const date = new Date(gateway.ctx.clock.millis()).toUTCString();
    const opened = bench(
      (go, attempt) => (attempt === 1 ? Promise.resolve(refusal(403, 'timestamp_out_of_range', { date })) : go()),
      {},
      { now },
    );
    assert.ok(Array.isArray(await opened.client.balances.get()));
    const untold = bench(() => Promise.resolve(refusal(403, 'timestamp_out_of_range')), {}, { now });
    assert.equal((await failing(untold.client.balances.get())).code, 'timestamp_out_of_range');
    assert.equal(untold.sent.length, 1);
    const always = bench(() => Promise.resolve(refusal(403, 'timestamp_out_of_range', { date })), {}, { now });
    await failing(always.client.balances.get());
    assert.equal(always.sent.length, 2);
  });

  test('a wrong secret shows what the sandbox built, and is not repeated', async () => {
    const { client, sent } = bench(undefined, { secretKey: 'sk_wrong' });
    const error = await failing(client.balances.get());
    assert.deepEqual([error.code, error.status, sent.length], ['signature_mismatch', 403, 1]);
    assert.match(String(error.debug?.canonical), /^\{"client_id"/);
    assert.equal((await failing(client.tokens.get())).code, 'credentials_not_verified');
    assert.doesNotMatch(JSON.stringify(error), /sk_wrong/);
  });

  test('one token serves everybody until shortly before its end', async () => {
    const { client, sent } = bench();
    await Promise.all([client.countries(), client.countries(), client.tokens.get()]);
    const asked = () => sent.filter((request) => request.url.endsWith('/get-token')).length;
    assert.equal(asked(), 1);
    const first = await client.tokens.get();
    gateway.ctx.clock.set(new Date(Date.parse(first.expires_at) - 61_000));
    assert.equal((await client.tokens.get()).token, first.token);
    gateway.ctx.clock.advance(2_000);
    assert.notEqual((await client.tokens.get()).token, first.token);
    assert.equal(asked(), 2);
  });

  test('a token that was revoked is replaced, once', async () => {
    const { client, sent } = bench();
    await client.countries();
    await gateway.ctx.db.query('delete from tokens');
    assert.ok((await client.countries()).collections.length > 0);
    assert.equal(sent.length, 5);
    const refused = bench((go, attempt) => (attempt === 1 ? go() : Promise.resolve(refusal(401, 'unauthenticated'))));
    assert.equal((await failing(refused.client.countries())).code, 'unauthenticated');
  });

  test('options that cannot work are refused when the client is made', () => {
    const right = { baseUrl: gateway.url, clientId: 'a', secretKey: 'b', sender: 'c' };
    for (const name of ['baseUrl', 'clientId', 'secretKey', 'sender'])
      assert.throws(() => createClient({ ...right, [name]: '' }), new RegExp(`needs ${name}`));
    assert.throws(() => createClient({ ...right, baseUrl: 'localhost:8080' }), /must begin with http/);
  });
});
