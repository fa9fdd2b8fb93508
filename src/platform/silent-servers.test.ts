// A database behind a line that goes dead: what was asked fails in time, and nothing else ends.

import assert from 'node:assert/strict';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { connectDatabase, type Database } from './db.ts';
import { Problem } from './errors.ts';

/** With what db.ts adds to it, the limit is 600 ms. */
const STATEMENT_TIMEOUT_MS = 100;
const LONGER_THAN_THE_LIMIT_MS = 900;

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe('a server that says nothing', () => {
  let database: TestDatabase;
  let line: Server;
  let db: Database;
  let isDead = false;
  let opened = 0;
  const sockets = new Set<Socket>();

  before(async () => {
    database = await createTestDatabase();
    const url = new URL(database.url);
    const server = { host: url.hostname, port: Number(url.port) };
    line = createServer((here) => {
      opened++;
      const there = connect(server);
      for (const socket of [here, there]) {
        sockets.add(socket);
        socket.on('error', () => undefined);
      }
      here.on('data', (data) => isDead || there.write(data));
      there.on('data', (data) => isDead || here.write(data));
      here.on('close', () => there.destroy());
      there.on('close', () => here.destroy());
    });
    await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
    url.port = String((line.address() as { port: number }).port);
    db = connectDatabase({ url: url.toString(), as: 'owner', poolSize: 1, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    await db.query('create table heard (n int)');
  });
  after(async () => {
    isDead = false;
    await db.close();
    for (const socket of sockets) socket.destroy();
    line.close();
    await database.drop();
  });

  const isLost = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

  test('is not one that nobody asks: a connection may rest, also in a transaction', async () => {
    const before = opened;
    await pause(LONGER_THAN_THE_LIMIT_MS);
    await db.query('select 1');
    await db.transaction(async (tx) => {
      await tx.query('insert into heard values (0)');
      await pause(LONGER_THAN_THE_LIMIT_MS);
      await tx.query('insert into heard values (0)');
    });
    assert.equal(opened, before);
  });

  test('is given up: what was read is unavailable, whether a change took effect is not known', async () => {
    for (const [statement, code] of [
      ['select n from heard', 'database_unavailable'],
      ['insert into heard values (1)', 'outcome_unknown'],
    ] as const) {
      isDead = true;
      await assert.rejects(db.query(statement), isLost(code), statement);
      isDead = false;
      await db.query('select 1');
    }
  });

  test('is given up in the middle of a transaction, and in a statement that is sent in pieces', async () => {
    const cut = db.transaction(async (tx) => {
      await tx.query('insert into heard values (2)');
      isDead = true;
      await tx.query('insert into heard values (2)');
    });
    await assert.rejects(cut, isLost('database_unavailable'));
    isDead = false;
    assert.deepEqual(await db.query('select n from heard where n = 2'), []);
    isDead = true;
    await assert.rejects(db.query('select 1; select 2'), isLost('database_unavailable'));
    isDead = false;
    await db.query('select 1');
  });
});
