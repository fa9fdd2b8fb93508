// A start while the machine is busy: a database that is slow to take its first connection is waited for, one that is away is not.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createContext } from '../src/open-context.ts';
import { createLogger } from '../src/platform/log.ts';
import { createTestContext } from './harness.ts';

/** So many of its first connections are never served; a request waits a second for one. */
const LATE = 2;

test('a start waits for a database that takes its first connections late', async () => {
  const base = await createTestContext();
  const { port, hostname } = new URL(base.databaseUrl);
  const sockets = new Set<Socket>();
  let taken = 0;
  const proxy = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    if (++taken <= LATE) return;
    const server = connect(Number(port), hostname).on('error', () => undefined);
    socket.pipe(server).pipe(socket);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const database = new URL(base.databaseUrl);
  database.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  try {
    const ctx = await createContext(base.config, database.href, createLogger('silent'));
    assert.deepEqual(await ctx.db.query('select 1 as one'), [{ one: 1 }]);
    await ctx.db.close();
  } finally {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await base.close();
  }
});

test('a start does not wait for a database that refuses', async () => {
  const base = await createTestContext();
  const database = new URL(base.databaseUrl);
  const closed = createServer();
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  database.host = `127.0.0.1:${(closed.address() as AddressInfo).port}`;
  closed.close();
  await once(closed, 'close');
  await assert.rejects(createContext(base.config, database.href, createLogger('silent')), {
    code: 'database_unavailable',
  });
  await base.close();
});
