// One process leaves work to others, and they need not look for it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { createTestContext } from '../../test/harness.ts';
import { connectDatabase, type Database } from './db.ts';
import { runLoop } from './jobs.ts';
import { createWorkSignal, listenForWork, REST_MS } from './work-signal.ts';

describe('work for other processes', () => {
  let database: TestDatabase;
  let db: Database;
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    database = await createTestDatabase();
    db = connectDatabase({ url: database.url, as: 'owner', poolSize: 2 });
    ctx = await createTestContext();
  });
  after(async () => {
    await db.close();
    await database.drop();
    await ctx.close();
  });

  /** Hears of work, and answers the next thing that it heard. */
  function hear() {
    const heard: (string | null)[] = [];
    let onNext = () => {};
    const listener = listenForWork(database.url, ctx.log, (job) => {
      heard.push(job);
      onNext();
    });
    const next = async () => {
      while (heard.length === 0) await new Promise<void>((resolve) => (onNext = resolve));
      return heard.shift();
    };
    return { next, stop: () => listener.stop() };
  }

  test('is heard by every process that listens, once it was committed', async () => {
    const [first, second] = [hear(), hear()];
    assert.deepEqual([await first.next(), await second.next()], [null, null], 'what came before was not heard');
    createWorkSignal({ db, log: ctx.log }).tell('payments');
    assert.deepEqual([await first.next(), await second.next()], ['payments', 'payments']);
    await Promise.all([first.stop(), second.stop()]);
  });

  test('many calls at once are few messages, and none is the last to be forgotten', async () => {
    const listener = hear();
    await listener.next();
    const { tell } = createWorkSignal({ db, log: ctx.log });
    const before = db.counters.statements;
    for (let each = 0; each < 100; each++) tell('payments');
    tell('mails');
    const heard = new Set<string | null | undefined>();
    while (!heard.has('mails')) heard.add(await listener.next());
    assert.ok(heard.has('payments'));
    assert.ok(db.counters.statements - before <= 2);
    await listener.stop();
  });

  test('what is told right after a message waits for a moment, and a command that ends sends it at once', async () => {
    const listener = hear();
    await listener.next();
    const signal = createWorkSignal({ db, log: ctx.log });
    const [before, startedAt] = [db.counters.statements, performance.now()];
    for (let each = 0; each < 50; each++) {
      signal.tell('payments');
      await setTimeout(1);
    }
    const most = (performance.now() - startedAt) / REST_MS + 1;
    const sent = db.counters.statements - before;
    assert.ok(sent <= most, `${sent} messages, at most ${most}`);
    signal.tell('mails');
    await signal.idle();
    let heard = await listener.next();
    while (heard === 'payments') heard = await listener.next();
    assert.equal(heard, 'mails');
    await listener.stop();
  });

  test('a listener whose connection breaks listens again, and says that it may have missed something', async () => {
    const listener = hear();
    await listener.next();
    const ended = await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'simbi-listen' and datname = current_database()`,
    );
    assert.equal(ended.length, 1);
    assert.equal(await listener.next(), null);
    createWorkSignal({ db, log: ctx.log }).tell('payments');
    assert.equal(await listener.next(), 'payments');
    await listener.stop();
  });

  test('ends the pause of a job that would look again in an hour', async () => {
    const passes = { count: 0 };
    let onPass = () => {};
    const pass = async () => {
      passes.count++;
      onPass();
      return 0;
    };
    const hour = 3_600_000;
    const loop = runLoop(
      { ...ctx, databaseTime: { ...ctx.databaseTime, skewMs: async () => 0 } },
      {
        name: 'payments',
        pass,
        idleMs: { shortest: hour, longest: hour },
      },
    );
    const listener = listenForWork(database.url, ctx.log, (job) => job === 'payments' && loop.wake());
    const reached = (count: number) =>
      new Promise<void>((resolve) => {
        onPass = () => passes.count >= count && resolve();
        onPass();
      });
    await reached(1);
    const { tell } = createWorkSignal({ db, log: ctx.log });
    // Until it listens nobody hears; then one message is enough.
    const repeated = setInterval(() => tell('payments'), 20);
    await reached(2);
    clearInterval(repeated);
    await listener.stop();
    await loop.stop();
  });
});
