// Deliveries: every attempt is listed, one is sent again, an outage is replayed, an address is resumed, the built-in receiver
// verifies; and monthly partitions are created and dropped.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  createCallbackSecret,
  HOLDER,
  newEvent,
  record,
  startDeliverer,
  startReceiver,
  type TestDeliverer,
  type TestReceiver,
} from '../../test/callback-harness.ts';
import { clearEvents, isRepeatedEvent, replaceBody } from '../../test/events.ts';
import { createTestContext } from '../../test/harness.ts';
import { COMMAND_LINE, listAudit } from '../holders/audit.ts';
import { DAY_MS } from '../platform/clock.ts';
import { Problem } from '../platform/errors.ts';
import { createUuid } from '../platform/ids.ts';
import { checkReceived } from './check-received.ts';
import { listFailingReceivers, listPausedAddresses, resumeAddress } from './endpoints.ts';
import { recordEvents } from './events.ts';
import { listEvents } from './feed.ts';
import { createCallbackHousekeeping } from './housekeeping.ts';
import { packBody } from './packed-body.ts';
import { listDeliveries, replayFailed, resendEvent } from './resend.ts';

const secret = createCallbackSecret();
let ctx: Awaited<ReturnType<typeof createTestContext>>;
let receiver: TestReceiver;
let deliverer: TestDeliverer;

before(async () => {
  ctx = await createTestContext();
  await ctx.db.query(
    `insert into holders (name, created_at, updated_at) values ('One', now(), now()), ('Two', now(), now())`,
  );
  receiver = await startReceiver();
});
after(async () => {
  await deliverer.close();
  await receiver.close();
  await ctx.close();
});
beforeEach(async () => {
  await deliverer?.close();
  deliverer = startDeliverer(ctx, { secrets: [secret] });
  await clearEvents(ctx.ownerDb);
  receiver.received = [];
  answerWith(200);
});

function answerWith(status: number): void {
  receiver.answer = (_, response) => void response.writeHead(status, { 'x-served-by': 'test' }).end('said');
}

async function feedLength(): Promise<number> {
  return (await listEvents(ctx.db, HOLDER)).events.length;
}

async function send(...events: Parameters<typeof record>[1]): Promise<string[]> {
  const recorded = await record(ctx, events);
  deliverer.deliverFresh(recorded);
  await deliverer.idle();
  return recorded.map((event) => event.publicId);
}

describe('deliveries', () => {
  test('each is listed with its status and every attempt: request, answer, time, error', async () => {
    const [good] = await send(newEvent(ctx, receiver.url));
    answerWith(503);
    const [bad] = await send(newEvent(ctx, receiver.url));
    const [silent] = await send(newEvent(ctx, null));
    const all = await listDeliveries(ctx.db, HOLDER);
    assert.deepEqual(
      new Map(all.map((delivery) => [delivery.eventId, delivery.status])),
      new Map([
        [good, 'delivered'],
        [bad, 'retrying'],
        [silent, 'feed_only'],
      ]),
    );
    const retrying = all.find((delivery) => delivery.status === 'retrying');
    const attempt = retrying?.attempts[0];
    assert.equal(attempt?.number, 1);
    assert.equal(attempt?.status, 503);
    assert.equal(attempt?.error, 'The receiver answered 503.');
    assert.equal(attempt?.answerHeaders?.['x-served-by'], 'test');
    assert.equal(attempt?.answerStart, 'said');
    const sent = receiver.received.find((callback) => callback.id === bad);
    for (const [name, value] of Object.entries(attempt?.requestHeaders ?? {}))
      assert.equal(sent?.headers[name], value, name);
    assert.deepEqual(
      (await listDeliveries(ctx.db, HOLDER, { status: 'retrying' })).map((each) => each.eventId),
      [bad],
    );
    assert.deepEqual(
      (await listDeliveries(ctx.db, HOLDER, { eventId: good })).map((each) => each.status),
      ['delivered'],
    );
    assert.deepEqual(await listDeliveries(ctx.db, 2n), []);
    const pages: string[] = [];
    for (let before: string | undefined; ; ) {
      const [next] = await listDeliveries(ctx.db, HOLDER, { before, limit: 1 });
      if (!next) break;
      pages.push(next.eventId);
      before = next.eventId;
    }
    assert.deepEqual(
      pages,
      all.map((delivery) => delivery.eventId),
    );
  });

  test('a body is listed, sent and checked as it was, whether it is stored as it is or packed', async () => {
    for (const stored of [(body: Buffer) => body, packBody]) {
      const [id = ''] = await send(newEvent(ctx, receiver.url));
      const first = receiver.received.at(-1);
      assert.ok(first);
      await replaceBody(ctx.ownerDb, id, stored(first.body));
      const { events } = await listEvents(ctx.db, HOLDER);
      assert.deepEqual(events.at(-1), { publicId: id, body: first.body });
      const [listed] = await listDeliveries(ctx.db, HOLDER, { eventId: id });
      assert.equal(listed?.body, first.body.toString());
      await resendEvent(ctx, HOLDER, id);
      await deliverer.drain();
      assert.deepEqual(receiver.received.at(-1)?.body, first.body);
      const check = await checkReceived(ctx, () => Promise.resolve([secret]), first);
      assert.deepEqual(check, { verified: true });
    }
  });

  test('one event is sent again with the same id and bytes, delivered or given up; not by another holder', async () => {
    const [id = ''] = await send(newEvent(ctx, receiver.url));
    await assert.rejects(
      resendEvent(ctx, 2n, id),
      (error) => error instanceof Problem && error.code === 'event_not_found',
    );
    await resendEvent(ctx, HOLDER, id);
    await deliverer.drain();
    assert.equal(receiver.received.length, 2);
    assert.deepEqual(receiver.received[0]?.body, receiver.received[1]?.body);
    const [delivery] = await listDeliveries(ctx.db, HOLDER, { eventId: id });
    assert.equal(delivery?.attempts.length, 2);
    const [silent = ''] = await send(newEvent(ctx, null));
    await assert.rejects(resendEvent(ctx, HOLDER, silent), /no callback address/);
  });

  test('a replay sends what failed since a time, and of a transaction only its latest state', async () => {
    answerWith(500);
    const [old = ''] = await send(newEvent(ctx, receiver.url));
    ctx.clock.advance(3_600_000);
    const since = ctx.clock.now();
    const paid = newEvent(ctx, receiver.url);
    await send(paid);
    const [reversed = ''] = await send({ ...paid, type: 'collection.reversed' });
    const [lost = ''] = await send(newEvent(ctx, receiver.url));
    answerWith(200);
    // As if all of them had been given up.
    await ctx.db.query('delete from callback_deliveries');
    await send(newEvent(ctx, receiver.url));
    receiver.received = [];
    assert.equal(await replayFailed(ctx, HOLDER, since), 2);
    await deliverer.drain();
    assert.deepEqual(receiver.received.map((callback) => callback.id).sort(), [reversed, lost].sort());
    assert.equal(await replayFailed(ctx, HOLDER, since), 0);
    assert.equal((await listDeliveries(ctx.db, HOLDER, { eventId: old }))[0]?.status, 'given_up');
  });

  test('money 14: of reversed collections a replay sends the reversal, not the success nor the paid link', async () => {
    answerWith(500);
    const facts = Array.from({ length: 20 }, () => newEvent(ctx, receiver.url));
    const reversals: string[] = [];
    for (const fact of facts) {
      const all = [
        fact,
        { ...fact, type: 'payment_link.paid' as const },
        { ...fact, type: 'collection.reversed' as const },
      ];
      reversals.push((await record(ctx, all)).at(-1)?.publicId ?? '');
    }
    const paid = newEvent(ctx, receiver.url);
    const [success, link] = await record(ctx, [paid, { ...paid, type: 'payment_link.paid' }]);
    const listed = await listDeliveries(ctx.db, HOLDER, { transactionId: facts[0]?.transactionId });
    assert.deepEqual(
      listed.map((each) => each.type),
      ['collection.reversed', 'payment_link.paid', 'collection.success'],
    );
    await ctx.db.query('delete from callback_deliveries');
    answerWith(200);
    assert.equal(await replayFailed(ctx, HOLDER, new Date(ctx.clock.millis() - 1_000)), 22);
    await deliverer.drain();
    const expected = new Set([...reversals, success?.publicId, link?.publicId]);
    assert.deepEqual(new Set(receiver.received.map((callback) => callback.id)), expected);
    assert.equal(receiver.received.length, expected.size);
  });

  test('money 15: a replay and a list begin at the time of the event, not of its transaction', async () => {
    const old = newEvent(ctx, receiver.url);
    answerWith(500);
    const days: Date[] = [];
    const reversals: string[] = [];
    for (let day = 0; day < 30; day++) {
      days.push(ctx.clock.now());
      const transactionId = createUuid(ctx.clock.millis() - 40 * DAY_MS);
      const [event] = await record(ctx, [newEvent(ctx, receiver.url, { transactionId, type: 'collection.reversed' })]);
      reversals.push(event?.publicId ?? '');
      ctx.clock.advance(DAY_MS);
    }
    const [late] = await record(ctx, [{ ...old, type: 'collection.reversed' }]);
    const newest = [...reversals, late?.publicId ?? ''].reverse();
    await ctx.db.query('delete from callback_deliveries');
    // As after a restore: positions go on far from where they were.
    await ctx.db.query('update event_feeds set last_position = last_position + 1000000 where holder_id = $1', [HOLDER]);
    for (const [day, since] of days.entries()) {
      const listed = await listDeliveries(ctx.db, HOLDER, { since });
      assert.deepEqual(
        listed.map((each) => each.eventId),
        newest.slice(0, 31 - day),
      );
    }
    assert.equal(await replayFailed(ctx, HOLDER, days[29] ?? new Date()), 2);
  });

  test('an address that answered 410 is shown as paused and gets what waited when it is resumed', async () => {
    answerWith(410);
    const [first = ''] = await send(newEvent(ctx, receiver.url));
    answerWith(200);
    const [second = ''] = await send(newEvent(ctx, receiver.url));
    ctx.clock.advance(DAY_MS);
    await deliverer.drain();
    assert.deepEqual(
      (await listDeliveries(ctx.db, HOLDER, { status: 'paused' })).map((each) => each.eventId).sort(),
      [first, second].sort(),
    );
    assert.deepEqual(
      (await listPausedAddresses(ctx.db, HOLDER)).map((each) => each.url),
      [receiver.url],
    );
    assert.equal(await resumeAddress(ctx, COMMAND_LINE, 2n, receiver.url), 0);
    assert.equal(await resumeAddress(ctx, COMMAND_LINE, HOLDER, receiver.url), 2);
    await deliverer.drain();
    assert.equal(receiver.received.length, 3);
    assert.deepEqual(await listPausedAddresses(ctx.db, HOLDER), []);
    const [entry] = await listAudit(ctx.db, HOLDER, 1);
    assert.deepEqual([entry?.action, entry?.subject], ['callback.resumed', receiver.url]);
  });

  test('a failing receiver is shown to the holder whose deliveries wait for it', async () => {
    answerWith(500);
    for (let count = 0; count < 3; count++) await send(newEvent(ctx, receiver.url));
    const [failing] = await listFailingReceivers(ctx.db, HOLDER);
    assert.equal(failing?.lastError, 'The receiver answered 500.');
    assert.equal(failing?.waiting, 3);
    assert.deepEqual(await listFailingReceivers(ctx.db, 2n), []);
  });
});

describe('built-in receiver', () => {
  test('it verifies what arrives and says why when it does not', async () => {
    await send(newEvent(ctx, receiver.url));
    const [sent] = receiver.received;
    assert.ok(sent);
    const arrive = async (headers: Record<string, string>, body = sent.body, secrets = [secret]) => {
      const given = { ...sent.headers, ...headers } as Record<string, string>;
      const check = await checkReceived(ctx, () => Promise.resolve(secrets), { headers: given, body });
      return check.verified ? 'verified' : check.why;
    };
    assert.equal(await arrive({}), 'verified');
    assert.match(
      await arrive({}, Buffer.from(sent.body.toString().replace('25.5', '95.5'))),
      /^The body is not the one that was signed/,
    );
    assert.match(await arrive({}, sent.body, [createCallbackSecret()]), /^The body is right, but the signature is not/);
    assert.match(await arrive({ 'webhook-signature': '' }), /^The request has no webhook-signature header/);
    assert.match(await arrive({ 'webhook-timestamp': 'yesterday' }), /not a whole number/);
    assert.match(
      await arrive({ 'webhook-timestamp': String(Math.floor(ctx.clock.millis() / 1000) - 900) }),
      /900 s old/,
    );
    assert.match(
      await arrive({ 'webhook-timestamp': String(Math.floor(ctx.clock.millis() / 1000) + 900) }),
      /900 s in the future/,
    );
    assert.match(await arrive({ 'webhook-signature': 'v2,abc' }), /no v1 signature/);
    assert.match(await arrive({ 'webhook-id': 'evt_unknown' }), /names no event/);
  });
});

describe('months', () => {
  test('early rows move into their month, old months go, and nothing younger than ninety days is lost', async () => {
    await send(newEvent(ctx, receiver.url));
    const housekeeping = createCallbackHousekeeping(ctx);
    // Last month, this one and two ahead, of two tables.
    assert.equal(await housekeeping.pass(), 8);
    assert.equal(await housekeeping.pass(), 0);
    assert.deepEqual(
      await ctx.ownerDb.query('select 1 from events_default union all select 1 from callback_attempts_default'),
      [],
    );
    const late = newEvent(ctx, receiver.url);
    await send(late);
    await assert.rejects(record(ctx, [late]), isRepeatedEvent);
    assert.equal((await listDeliveries(ctx.db, HOLDER)).length, 2);
    ctx.clock.advance(85 * DAY_MS);
    await send({ ...late, type: 'collection.reversed' });
    await housekeeping.pass();
    assert.equal(await feedLength(), 3);
    ctx.clock.advance(60 * DAY_MS);
    await housekeeping.pass();
    // The reversal is 60 days old: it keeps its month, the attempts of the first month are gone.
    assert.equal(await feedLength(), 3);
    assert.equal((await listDeliveries(ctx.db, HOLDER)).flatMap((each) => each.attempts).length, 1);
    ctx.clock.advance(60 * DAY_MS);
    await housekeeping.pass();
    assert.equal(await feedLength(), 0);
  });

  test('money 16: a reversal recorded while its month is being dropped keeps its event', async () => {
    const old = newEvent(ctx, null);
    await send(old);
    const housekeeping = createCallbackHousekeeping(ctx);
    await housekeeping.pass();
    // The month before goes first, so that only the month of the event is left to be dropped.
    ctx.clock.advance(95 * DAY_MS);
    await housekeeping.pass();
    ctx.clock.advance(35 * DAY_MS);
    const written = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const writing = ctx.db.transaction(async (tx) => {
      await recordEvents(tx, [{ ...old, type: 'collection.reversed' }], ctx.clock.now());
      written.resolve();
      await mayCommit.promise;
    });
    await written.promise;
    const cleaning = housekeeping.pass();
    const isWaiting = async () =>
      (await ctx.db.query(`select from pg_locks where not granted and relation::regclass::text like 'events%'`))
        .length > 0;
    while (!(await isWaiting())) await new Promise((resolve) => setImmediate(resolve));
    mayCommit.resolve();
    await Promise.all([writing, cleaning]);
    assert.equal(await feedLength(), 2);
  });
});
