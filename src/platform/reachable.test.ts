import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { createReachable } from './reachable.ts';

const REFUSED = new Error('connect ECONNREFUSED');
const CLIENT = {} as pg.PoolClient;

/** A pool that counts how often a connection is asked for, and answers with what `answer` gives. */
function poolOf(answer: () => Promise<pg.PoolClient>) {
  let calls = 0;
  const pool = {
    idleCount: 0,
    connect() {
      calls++;
      return answer();
    },
  } as unknown as pg.Pool;
  return { pool, calls: () => calls };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'connected',
    (error: { code: string }) => error.code,
  );

describe('connections while servers come and go', () => {
  test('a server that does not answer is left for the next', async () => {
    let left = 2;
    const { pool, calls } = poolOf(() => (left-- > 0 ? Promise.reject(REFUSED) : Promise.resolve(CLIENT)));
    assert.equal(await createReachable(pool, { count: 3 })(), CLIENT);
    assert.equal(calls(), 3);
  });

  test('where none answers, a thousand calls make one try, and all are told that the database is away', async () => {
    const { pool, calls } = poolOf(() => Promise.reject(REFUSED));
    const connect = createReachable(pool, { count: 3 }, () => 0);
    assert.equal(await codeOf(connect()), 'database_unavailable');
    const codes = await Promise.all(Array.from({ length: 1_000 }, () => codeOf(connect())));
    assert.deepEqual([...new Set(codes)], ['database_unavailable']);
    assert.equal(calls(), 3);
  });

  test('one call tries again, and after its success all connect', async () => {
    let isBack = false;
    let time = 0;
    const { pool } = poolOf(() => (isBack ? wait(20, CLIENT) : Promise.reject(REFUSED)));
    const connect = createReachable(pool, { count: 1 }, () => time);
    await codeOf(connect());
    isBack = true;
    time = 100;
    const first = codeOf(connect());
    assert.equal(await codeOf(connect()), 'database_unavailable');
    assert.equal(await first, 'connected');
    assert.deepEqual(await Promise.all([codeOf(connect()), codeOf(connect())]), ['connected', 'connected']);
  });

  test('a busy pool, or a server without a place, is no reason to refuse others', async () => {
    const tooMany = new pg.DatabaseError('sorry, too many clients already', 0, 'error');
    tooMany.code = '53300';
    for (const error of [new Error('timeout exceeded when trying to connect'), tooMany]) {
      const answers = [() => Promise.reject(error), () => Promise.resolve(CLIENT)];
      const { pool } = poolOf(() => answers.shift()?.() ?? Promise.reject(REFUSED));
      const connect = createReachable(pool, { count: 1 });
      assert.equal(await codeOf(connect()), 'database_unavailable');
      assert.equal(await codeOf(connect()), 'connected');
    }
  });

  test('a connection that is there is tried, although no other can be made', async () => {
    const answers = [() => Promise.reject(REFUSED), () => Promise.resolve(CLIENT)];
    const { pool } = poolOf(() => answers.shift()?.() ?? Promise.reject(REFUSED));
    const connect = createReachable(pool, { count: 1 });
    assert.equal(await codeOf(connect()), 'database_unavailable');
    Object.assign(pool, { idleCount: 1 });
    assert.equal(await codeOf(connect()), 'connected');
  });
});
