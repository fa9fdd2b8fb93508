// The outbox and the feed under concurrent commits and kills: every committed event is delivered and listed, in order and
// once; an event that was not committed is never sent.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  createCallbackSecret,
  HOLDER,
  newEvent,
  record,
  startDeliverer,
  startReceiver,
} from '../../test/callback-harness.ts';
import { isRepeatedEvent } from '../../test/events.ts';
import { createTestContext } from '../../test/harness.ts';
import { Problem } from '../platform/errors.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { LEASE_MS, recordEvents } from './events.ts';
import { listEvents } from './feed.ts';
import { unpackBody } from './packed-body.ts';

/** More for a long run by hand: SIMBI_KILL_TEST_EVENTS=20000. */
const KILL_TEST_EVENTS = Number(process.env.SIMBI_KILL_TEST_EVENTS ?? 2_000);

let ctx: Awaited<ReturnType<typeof createTestContext>>;
before(async () => {
  ctx = await createTestContext();
});
after(() => ctx.close());

async function readAll(after?: string, limit = 100): Promise<string[]> {
  const ids: string[] = [];
  let place = after;
  for (;;) {
    const page = await listEvents(ctx.db, HOLDER, { after: place, limit });
    if (page.events.length === 0) return ids;
    ids.push(...page.events.map((event) => event.publicId));
    place = page.nextAfter ?? undefined;
  }
}

describe('outbox', () => {
  test('a transition gives one event, however often it is reported; a later transition gives its own', async () => {
    const first = newEvent(ctx, null);
    await record(ctx, [first]);
    await assert.rejects(record(ctx, [first]), isRepeatedEvent);
    await record(ctx, [
      { ...first, type: 'collection.reversed' },
      { ...first, type: 'payment_link.paid' },
    ]);
    const { events } = await listEvents(ctx.db, HOLDER);
    assert.equal(events.length, 3);
    assert.deepEqual(
      events.map((event) => JSON.parse(event.body.toString()).type),
      ['collection.success', 'collection.reversed', 'payment_link.paid'],
    );
  });

  test('an event that is rolled back with its fact leaves nothing behind', async () => {
    const before = await readAll();
    const url = 'http://127.0.0.1:1/never';
    await assert.rejects(
      ctx.db.transaction(async (tx) => {
        await recordEvents(tx, [newEvent(ctx, url)], ctx.clock.now());
        throw new Error('the fact failed');
      }),
    );
    assert.deepEqual(await readAll(), before);
    assert.deepEqual(await ctx.db.query('select 1 from callback_deliveries where url = $1', [url]), []);
  });

  test('money 15: a fact that is lost and told again has the same id; another fact has another', async () => {
    const fact = newEvent(ctx, null);
    const ids: string[] = [];
    const lost = ctx.db.transaction(async (tx) => {
      ids.push(...(await recordEvents(tx, [fact], ctx.clock.now())).map((event) => event.publicId));
      throw new Error('lost');
    });
    await assert.rejects(lost, /lost/);
    ctx.clock.advance(3_600_000);
    const [again] = await record(ctx, [fact]);
    assert.deepEqual(ids, [again?.publicId]);
    const others = await record(ctx, [
      { ...fact, type: 'collection.reversed' },
      { ...fact, type: 'payment_link.paid' },
      newEvent(ctx, null, {
        transactionId: `${fact.transactionId.slice(0, -1)}${fact.transactionId.endsWith('0') ? 1 : 0}`,
      }),
      newEvent(ctx, null, { transactionId: fact.transactionId, holderId: 96n }),
    ]);
    assert.equal(new Set([...ids, ...others.map((event) => event.publicId)]).size, 5);
  });

  test('money 15: the id of an event is fixed by its transaction and type, byte for byte', async () => {
    const transactionId = '019523d5-9a40-7abc-8def-0123456789ab';
    const [event] = await record(ctx, [newEvent(ctx, null, { transactionId, holderId: 5n })]);
    assert.equal(event?.id, '019523d5-9a40-7387-8063-6fe2c0000005');
    assert.equal(event.id.slice(0, 13), transactionId.slice(0, 13));
    assert.equal(holderOfUuid(event.id), 5n);
  });

  test('any number of events is one statement', async () => {
    await ctx.db.transaction(async (tx) => {
      const before = ctx.db.counters.statements;
      await recordEvents(
        tx,
        Array.from({ length: 300 }, () => newEvent(ctx, 'http://127.0.0.1:1/')),
        ctx.clock.now(),
      );
      assert.equal(ctx.db.counters.statements - before, 1);
      await tx.query('delete from callback_deliveries');
    });
  });
});

describe('feed', () => {
  test('an event is held back while an older transaction could still commit one before it', async () => {
    const place = (await readAll()).at(-1);
    let letCommit = () => {};
    const held = new Promise<void>((go) => {
      letCommit = go;
    });
    let written = () => {};
    const slowIsOpen = new Promise<void>((go) => {
      written = go;
    });
    const slow = ctx.db.transaction(async (tx) => {
      const recorded = await recordEvents(tx, [newEvent(ctx, null)], ctx.clock.now());
      written();
      await held;
      return recorded;
    });
    await slowIsOpen;
    const fast = record(ctx, [newEvent(ctx, null)]);
    const now = await listEvents(ctx.db, HOLDER, { after: place });
    assert.deepEqual(now.events, [], 'showing the later one now would hide the earlier one for ever');
    letCommit();
    const order = [...(await slow), ...(await fast)].map((event) => event.publicId);
    assert.deepEqual(await readAll(place), order);
  });

  test("another holder's events and positions are not found", async () => {
    const [foreign] = await record(ctx, [newEvent(ctx, null, { holderId: 99n })]);
    assert.ok(foreign);
    assert.ok(!(await readAll()).includes(foreign.publicId));
    for (const after of [foreign.publicId, 'evt_nonsense', ''])
      await assert.rejects(
        listEvents(ctx.db, HOLDER, { after }),
        (error) => error instanceof Problem && error.code === 'event_not_found',
      );
  });

  test('waits only for its own holder: not for another holder, not for another database', async () => {
    const place = (await readAll()).at(-1);
    const other = await createTestContext();
    try {
      await other.db.transaction((busy) =>
        ctx.db.transaction(async (tx) => {
          await busy.query('select pg_current_xact_id()');
          await recordEvents(tx, [newEvent(ctx, null, { holderId: 98n })], ctx.clock.now());
          const [event] = await record(ctx, [newEvent(ctx, null)]);
          const { events } = await listEvents(ctx.db, HOLDER, { after: place });
          assert.deepEqual(
            events.map((each) => each.publicId),
            [event?.publicId],
          );
        }),
      );
    } finally {
      await other.close();
    }
  });

  test('positions of a holder have no gaps, also when a transaction that took one was rolled back', async () => {
    const undone = ctx.db.transaction(async (tx) => {
      await recordEvents(tx, [newEvent(ctx, null)], ctx.clock.now());
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    await record(ctx, [newEvent(ctx, null), newEvent(ctx, null, { holderId: 97n }), newEvent(ctx, null)]);
    const rows = await ctx.db.query<{ position: bigint }>(
      'select position from events where holder_id = $1 order by position',
      [HOLDER],
    );
    assert.deepEqual(
      rows.map((row) => row.position),
      rows.map((_, index) => BigInt(index + 1)),
    );
  });
});

describe('kills', () => {
  const title = 'all delivered with the same bytes, none uncommitted, the feed complete';
  test(`${KILL_TEST_EVENTS} events with processes killed at random: ${title}`, async () => {
    const killTest = await createTestContext();
    const secret = createCallbackSecret();
    const receiver = await startReceiver();
    const seen: string[] = [];
    const follow = async (): Promise<number> => {
      const page = await listEvents(killTest.db, HOLDER, { after: seen.at(-1), limit: 200 });
      seen.push(...page.events.map((event) => event.publicId));
      return page.events.length;
    };
    try {
      for (let kills = 0; ; kills++) {
        const [row] = await killTest.db.query<{ n: number }>('select count(*)::int as n from events');
        if ((row?.n ?? 0) >= KILL_TEST_EVENTS && kills >= 3) break;
        const worker = spawn(process.execPath, [
          resolve(import.meta.dirname, '../../test/callback-worker.ts'),
          killTest.databaseUrl,
          receiver.url,
          secret,
        ]);
        const arrived = receiver.received.length;
        while (receiver.received.length === arrived && worker.exitCode === null) await pause(5);
        const end = performance.now() + 100 + Math.random() * 500;
        while (performance.now() < end) {
          await follow();
          await pause(5);
        }
        const gone = once(worker, 'exit');
        worker.kill('SIGKILL');
        await gone;
      }
      killTest.clock.set(new Date(Date.now() + LEASE_MS * 2));
      const last = startDeliverer(killTest, { secrets: [secret] });
      await last.drain();
      await last.close();
      while ((await follow()) > 0);
      const stored = await killTest.db.query<{ id: string; body: Buffer }>(
        'select id, body from events order by position',
      );
      const sent = stored.map((event) => unpackBody(event.body));
      const bodies = new Map(sent.map((body) => [JSON.parse(body.toString()).id as string, body]));
      assert.deepEqual(seen, [...bodies.keys()], 'the feed shows each event once, in one order');
      for (const callback of receiver.received) {
        const body = bodies.get(callback.id);
        assert.ok(body, `${callback.id} was never committed`);
        assert.ok(body.equals(callback.body), `${callback.id} changed its bytes`);
      }
      assert.equal(
        new Set(receiver.received.map((callback) => callback.id)).size,
        bodies.size,
        'an event was not delivered',
      );
      assert.deepEqual(await killTest.db.query('select 1 from callback_deliveries'), []);
    } finally {
      await receiver.close();
      await killTest.close();
    }
  });
});
