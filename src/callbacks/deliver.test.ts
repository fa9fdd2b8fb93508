// Deliveries: signed so that the standard library verifies them, retried by the array, the same bytes for ever, fair.

import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import {
  createCallbackSecret,
  HOLDER,
  newEvent,
  record,
  startDeliverer,
  startReceiver,
  type TestReceiver,
} from '../../test/callback-harness.ts';
import { clearEvents } from '../../test/events.ts';
import { createTestContext } from '../../test/harness.ts';
import { reservePort } from '../../test/ports.ts';
import { createOutbound } from '../platform/outbound.ts';
import { resumeAddresses } from './endpoints.ts';
import { LEASE_MS } from './events.ts';
import { GIVE_UP_AFTER_MS, JITTER, LATER_DELAY_MS, RETRY_DELAYS_MS } from './schedule.ts';

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let receiver: TestReceiver;

before(async () => {
  ctx = await createTestContext();
  receiver = await startReceiver();
});
after(async () => {
  await receiver.close();
  await ctx.close();
});
beforeEach(async () => {
  await clearEvents(ctx.ownerDb);
  receiver.received = [];
  receiver.mostAtOnce = 0;
  receiver.answer = (_, response) => void response.end('ok');
});

const waiting = async () =>
  (await ctx.db.query<{ n: number }>('select count(*)::int as n from callback_deliveries'))[0]?.n ?? -1;

describe('signature', () => {
  test('the standardwebhooks package verifies what is sent, with either secret while one is being changed', async () => {
    ctx.clock.set(new Date());
    const secrets = [createCallbackSecret(), createCallbackSecret()];
    const deliverer = startDeliverer(ctx, { secrets });
    deliverer.deliverFresh(await record(ctx, [newEvent(ctx, receiver.url)]));
    await deliverer.idle();
    const [arrival] = receiver.received;
    assert.ok(arrival);
    const text = arrival.body.toString();
    for (const secret of secrets) {
      const event = new Webhook(secret).verify(text, arrival.headers) as Record<string, unknown>;
      assert.equal(event.id, arrival.headers['webhook-id']);
      assert.deepEqual(Object.keys(event), ['id', 'type', 'created_at', 'data']);
    }
    const webhook = new Webhook(secrets[0] ?? '');
    const tampered = (headers: Record<string, string>, body = text) =>
      assert.throws(() => webhook.verify(body, { ...arrival.headers, ...headers }));
    tampered({}, text.replace('25.5', '95.5'));
    tampered({ 'webhook-id': `${arrival.id.slice(0, -1)}${arrival.id.endsWith('0') ? 1 : 0}` });
    tampered({ 'webhook-timestamp': String(Number(arrival.headers['webhook-timestamp']) + 1) });
    assert.throws(() => new Webhook(createCallbackSecret()).verify(text, arrival.headers));
    await deliverer.close();
  });

  test('the newest head of the ledger is a header beside it, once there is one', async () => {
    let head: string | null = null;
    const deliverer = startDeliverer(ctx, { ledgerHead: () => head });
    for (const newest of [null, '7.ab12']) {
      head = newest;
      deliverer.deliverFresh(await record(ctx, [newEvent(ctx, receiver.url)]));
      await deliverer.idle();
    }
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['simbi-ledger-head']),
      [undefined, '7.ab12'],
    );
    await deliverer.close();
  });
});

describe('retries', () => {
  test('thirty days of a dead receiver give exactly the attempts of the array, through a restart at every step', async () => {
    const [event] = await record(ctx, [newEvent(ctx, `http://127.0.0.1:${await reservePort()}/`)]);
    assert.ok(event);
    const started = ctx.clock.millis();
    const first = startDeliverer(ctx);
    first.deliverFresh([event]);
    await first.idle();
    await first.close();
    for (;;) {
      const [row] = await ctx.db.query<{ due_at: Date }>('select due_at from callback_deliveries');
      if (!row) break;
      ctx.clock.set(new Date(row.due_at.getTime() - 1));
      const early = startDeliverer(ctx);
      assert.equal(await early.drain(), 0, 'an attempt came before its time');
      await early.close();
      ctx.clock.advance(1);
      // Every step is made by a new process, as it were.
      const next = startDeliverer(ctx);
      assert.equal(await next.drain(), 1);
      await next.close();
    }
    const attempts = await ctx.db.query<{ at: Date; number: number; error: string }>(
      'select at, number, error from callback_attempts order by at',
    );
    let least = 0;
    for (const [index, attempt] of attempts.entries()) {
      assert.equal(attempt.number, index + 1);
      assert.equal(attempt.error, 'The receiver refused the connection.');
      const before = attempts[index - 1];
      if (!before) continue;
      const planned = RETRY_DELAYS_MS[index - 1] ?? LATER_DELAY_MS;
      const delay = attempt.at.getTime() - before.at.getTime();
      assert.ok(Math.abs(delay - planned) <= planned * JITTER + 1, `attempt ${index + 1} came after ${delay} ms`);
      least++;
    }
    assert.ok(least > RETRY_DELAYS_MS.length + 45, `${least} retries`);
    const last = attempts.at(-1)?.at.getTime() ?? 0;
    assert.ok(last <= started + GIVE_UP_AFTER_MS && last > started + GIVE_UP_AFTER_MS - LATER_DELAY_MS * (1 + JITTER));
  });

  test('probes once a minute do not disturb the schedule, and a receiver that recovers is served within a minute', async () => {
    receiver.answer = (_, response) => void response.writeHead(500).end();
    const deliverer = startDeliverer(ctx);
    const [event] = await record(ctx, [newEvent(ctx, receiver.url)]);
    assert.ok(event);
    deliverer.deliverFresh([event]);
    await deliverer.idle();
    const stepMs = 5_000;
    for (let passed = 0; passed < 3_600_000; passed += stepMs) {
      ctx.clock.advance(stepMs);
      if ((await deliverer.pass()) > 0) await deliverer.idle();
    }
    const attempts = await ctx.db.query<{ at: Date; number: number }>(
      'select at, number from callback_attempts order by at',
    );
    assert.deepEqual(
      attempts.map((attempt) => attempt.number),
      attempts.map((_, index) => index + 1),
    );
    for (const [index, attempt] of attempts.entries()) {
      const before = attempts[index - 1];
      if (!before) continue;
      const planned = RETRY_DELAYS_MS[index - 1] ?? LATER_DELAY_MS;
      const delay = attempt.at.getTime() - before.at.getTime();
      assert.ok(
        delay >= planned * (1 - JITTER) && delay <= planned * (1 + JITTER) + stepMs,
        `attempt ${index + 1}: ${delay} ms`,
      );
    }
    const probes = receiver.received.length - attempts.length;
    assert.ok(probes >= 45 && probes <= 65, `${probes} probes in an hour`);
    receiver.answer = (_, response) => void response.end();
    ctx.clock.advance(60_000);
    await deliverer.pass();
    await deliverer.idle();
    assert.equal(await waiting(), 0);
    await deliverer.close();
  });

  test('a crash after the receiver answered 200 sends the same id and the same bytes once more', async () => {
    const outbound = createOutbound({ mode: 'sandbox' });
    // This process gets its 200 and dies before it can write that down.
    let answered = () => {};
    const died = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const crashing = startDeliverer(ctx, {
      outbound: {
        request: async (request) => {
          await outbound.request(request);
          answered();
          return new Promise(() => undefined);
        },
      },
    });
    crashing.deliverFresh(await record(ctx, [newEvent(ctx, receiver.url)]));
    await died;
    assert.equal(receiver.received.length, 1);
    const next = startDeliverer(ctx);
    assert.equal(await next.drain(), 0, 'the lease still holds');
    ctx.clock.advance(LEASE_MS);
    assert.equal(await next.drain(), 1);
    assert.equal(receiver.received.length, 2);
    assert.equal(receiver.received[0]?.id, receiver.received[1]?.id);
    assert.deepEqual(receiver.received[0]?.body, receiver.received[1]?.body);
    assert.equal(await waiting(), 0);
    await Promise.all([outbound.close(), next.close()]);
  });

  test('every kind of failure is retried and described, with the request and the answer', async () => {
    receiver.answer = (_, response) =>
      void response.writeHead(302, { location: 'http://169.254.169.254/', 'x-note': 'moved' }).end('x'.repeat(9_000));
    const deliverer = startDeliverer(ctx);
    deliverer.deliverFresh(await record(ctx, [newEvent(ctx, receiver.url)]));
    await deliverer.idle();
    const [attempt] = await ctx.db.query<{
      status: number;
      error: string;
      signature: string;
      answer_headers: Record<string, string>;
      answer_start: Buffer;
    }>('select * from callback_attempts');
    assert.ok(attempt);
    assert.equal(attempt.status, 302);
    assert.equal(attempt.error, 'The receiver answered 302, a redirect; redirects are not followed.');
    assert.equal(attempt.answer_headers['x-note'], 'moved');
    assert.equal(attempt.answer_start.length, 4_096);
    assert.match(attempt.signature, /^v1,[A-Za-z0-9+/=]{44}$/);
    assert.equal(receiver.received.length, 1);
    await deliverer.close();
  });

  test('Retry-After is honoured within its bounds', async () => {
    const deliverer = startDeliverer(ctx);
    const cases: [string, number, number][] = [
      ['1', 1_000, 1_000],
      ['120', 120_000, 120_000],
      ['31536000', 6 * 3_600_000, 6 * 3_600_000],
      ['-5', 1_000, 1_000],
      ['0', 1_000, 1_000],
      [new Date(ctx.clock.millis() + 90_000).toUTCString(), 89_000, 91_000],
      ['soon', 4_000, 6_000],
    ];
    for (const [header, least, most] of cases) {
      receiver.answer = (_, response) => void response.writeHead(429, { 'retry-after': header }).end();
      const at = ctx.clock.millis();
      const [event] = await record(ctx, [newEvent(ctx, receiver.url)]);
      assert.ok(event);
      deliverer.deliverFresh([event]);
      await deliverer.idle();
      // One good answer in between, so that the receiver does not count as failing here.
      receiver.answer = (_, response) => void response.end();
      deliverer.deliverFresh(await record(ctx, [newEvent(ctx, receiver.url)]));
      await deliverer.idle();
      const [row] = await ctx.db.query<{ due_at: Date }>('select due_at from callback_deliveries where event_id = $1', [
        event.id,
      ]);
      const delay = (row?.due_at.getTime() ?? 0) - at;
      assert.ok(delay >= least && delay <= most, `${header}: ${delay} ms`);
    }
    await deliverer.close();
  });

  test('410 stops the address: its events are kept, others of the same receiver go on', async () => {
    receiver.answer = (callback, response) =>
      void response
        .writeHead(callback.headers['x-path'] === undefined && callback.body.includes('gone') ? 410 : 200)
        .end();
    const gone = `${receiver.url}/gone`;
    const deliverer = startDeliverer(ctx);
    const toGone = () => newEvent(ctx, gone, { data: { note: 'gone' } });
    deliverer.deliverFresh(await record(ctx, [toGone()]));
    await deliverer.idle();
    deliverer.deliverFresh(await record(ctx, [toGone(), newEvent(ctx, receiver.url)]));
    await deliverer.drain();
    ctx.clock.advance(3_600_000);
    await deliverer.drain();
    assert.equal(receiver.received.filter((callback) => callback.body.includes('gone')).length, 1);
    assert.equal(receiver.received.length, 2);
    assert.equal(await waiting(), 2);
    await deliverer.close();
  });

  test('410 also stops what was claimed for the address before, and what fails meanwhile is not tried again', async () => {
    const held: (() => void)[] = [];
    let answered = 0;
    receiver.answer = (_, response) => {
      answered++;
      if (answered === 1) held.push(() => void response.writeHead(500).end());
      else if (answered === 2) response.writeHead(410).end();
      else held.push(() => void response.writeHead(410).end());
    };
    const deliverer = startDeliverer(ctx);
    await record(
      ctx,
      Array.from({ length: 60 }, () => newEvent(ctx, receiver.url)),
      false,
    );
    await deliverer.pass();
    while (answered < 16) await nextTurn();
    // All that were under way when the address was found gone.
    for (const answer of held.splice(0)) answer();
    receiver.answer = (_, response) => void response.writeHead(410).end();
    await deliverer.idle();
    assert.ok(receiver.received.length <= 17, `${receiver.received.length} requests`);
    const sent = receiver.received.length;
    ctx.clock.advance(3_600_000);
    await deliverer.drain();
    assert.equal(receiver.received.length, sent);
    assert.equal(await waiting(), 60);
    // Resumed, everything that waits is sent.
    receiver.answer = (_, response) => void response.end();
    await ctx.db.transaction((tx) => resumeAddresses(tx, HOLDER, [receiver.url], ctx.clock.now()));
    await deliverer.drain();
    assert.equal(await waiting(), 0);
    await deliverer.close();
  });

  test('an integration without a live secret sends nothing unsigned', async () => {
    const deliverer = startDeliverer(ctx, { secrets: [] });
    deliverer.deliverFresh(await record(ctx, [newEvent(ctx, receiver.url)]));
    await deliverer.idle();
    assert.equal(receiver.received.length, 0);
    assert.equal(await waiting(), 1);
    await deliverer.close();
  });
});

describe('order', () => {
  const typesOf = () => receiver.received.map((callback) => JSON.parse(callback.body.toString()).type as string);
  const TYPES = ['collection.success', 'payment_link.paid', 'collection.reversed'] as const;

  /** The first event of each transaction is answered last, so what is sent at once overtakes it. */
  function answerFirstLate(): void {
    const held: (() => void)[] = [];
    receiver.answer = (callback, response) => {
      const answer = () => void response.end();
      if (JSON.parse(callback.body.toString()).type === TYPES[0]) held.push(answer);
      else answer();
      setImmediate(() => {
        for (const each of held.splice(0)) each();
      });
    };
  }

  test('money 14: the events of one transaction are first sent one after the other, fresh and claimed', async () => {
    for (const fresh of [true, false]) {
      receiver.received = [];
      receiver.mostAtOnce = 0;
      answerFirstLate();
      const deliverer = startDeliverer(ctx);
      const first = newEvent(ctx, receiver.url);
      const events = await record(
        ctx,
        TYPES.map((type) => ({ ...first, type })),
        fresh,
      );
      if (fresh) deliverer.deliverFresh(events);
      else await deliverer.pass();
      await deliverer.idle();
      assert.deepEqual(typesOf(), TYPES);
      assert.equal(receiver.mostAtOnce, 1);
      assert.equal(await waiting(), 0);
      await deliverer.close();
    }
  });

  test('money 14: a failed success does not hold back the reversal', async () => {
    receiver.answer = (callback, response) =>
      void response.writeHead(JSON.parse(callback.body.toString()).type === TYPES[0] ? 500 : 200).end();
    const deliverer = startDeliverer(ctx);
    const first = newEvent(ctx, receiver.url);
    deliverer.deliverFresh(await record(ctx, [first, { ...first, type: 'collection.reversed' }]));
    await deliverer.idle();
    assert.deepEqual(typesOf(), ['collection.success', 'collection.reversed']);
    assert.equal(await waiting(), 1);
    await deliverer.close();
  });
});

describe('fairness', () => {
  test('200 hanging receivers do not delay a healthy one', async (t) => {
    const hanging = createServer((socket) => void socket.on('error', () => undefined));
    await new Promise<void>((resolve) => hanging.listen(0, '0.0.0.0', resolve));
    const { port } = hanging.address() as AddressInfo;
    // One listener stands for 200 receivers: every loopback address is an origin of its own.
    const urls = Array.from(
      { length: 200 },
      (_, index) => `http://127.0.${1 + Math.floor(index / 100)}.${1 + (index % 100)}:${port}/`,
    );
    const outbound = createOutbound({ mode: 'sandbox' });
    const deliverer = startDeliverer(ctx, { timeoutMs: 10_000, outbound });
    t.after(async () => {
      const stopped = deliverer.stop();
      await outbound.close();
      await stopped;
      hanging.close();
    });
    // Each of them has a backlog, fresh and old, before the healthy one gets its first.
    await record(
      ctx,
      urls.flatMap((url) => Array.from({ length: 10 }, () => newEvent(ctx, url))),
      false,
    );
    deliverer.deliverFresh(
      await record(
        ctx,
        urls.flatMap((url) => Array.from({ length: 20 }, () => newEvent(ctx, url))),
      ),
    );
    await deliverer.pass();
    let arrived = 0;
    receiver.answer = (_, response) => {
      arrived++;
      response.end();
    };
    for (let count = 0; count < 100; count++) {
      const fresh = count % 2 === 0;
      const events = await record(ctx, [newEvent(ctx, receiver.url)], fresh);
      if (fresh) deliverer.deliverFresh(events);
      else await deliverer.pass();
      while (arrived <= count) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(outbound.poolCount() > 200, `${outbound.poolCount()} receivers`);
    assert.ok((await waiting()) >= urls.length * 30, 'the others still hang');
  });

  test('a receiver that recovers after ten minutes is probed within one and gets 5,000 events at its cap', async () => {
    receiver.answer = (_, response) => void response.writeHead(500).end();
    const deliverer = startDeliverer(ctx);
    const all = 5_000;
    await record(
      ctx,
      Array.from({ length: all }, () => newEvent(ctx, receiver.url)),
      false,
    );
    // They all failed many times already: nothing is due for hours.
    await ctx.db.query('update callback_deliveries set attempts = 9, due_at = $1, tried_at = $2', [
      new Date(ctx.clock.millis() + 3_600_000),
      ctx.clock.now(),
    ]);
    for (let count = 0; count < 3; count++) {
      deliverer.deliverFresh(await record(ctx, [newEvent(ctx, receiver.url)]));
      await deliverer.idle();
    }
    const [failing] = await ctx.db.query<{ recovered_at: Date | null }>('select recovered_at from callback_receivers');
    assert.equal(failing?.recovered_at, null);
    // While it fails, a minute brings a probe, and the probe is neither history nor counted.
    ctx.clock.advance(60_000);
    const before = receiver.received.length;
    await deliverer.pass();
    await deliverer.idle();
    assert.ok(receiver.received.length > before);
    receiver.answer = (_, response) => void response.end();
    receiver.mostAtOnce = 0;
    receiver.received = [];
    ctx.clock.advance(60_000);
    // A new process finds the state in the database.
    const next = startDeliverer(ctx);
    await next.drain();
    assert.equal(await waiting(), 0);
    assert.equal(new Set(receiver.received.map((callback) => callback.id)).size, all + 3);
    assert.ok(receiver.mostAtOnce <= 16, `${receiver.mostAtOnce} at once`);
    ctx.clock.advance(10_000);
    await next.pass();
    assert.deepEqual(await ctx.db.query('select origin from callback_receivers'), []);
    await Promise.all([deliverer.close(), next.close()]);
  });
});
