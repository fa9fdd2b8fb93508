// A start while the machine is busy: a database that is slow to take its first connection is waited for, one that is away is not.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createContext } from '../src/open-context.ts';
import { REQUEST_ACQUIRE_TIMEOUT_MS } from '../src/platform/db.ts';
import { createLogger } from '../src/platform/log.ts';
import { createTestContext } from './harness.ts';
import { simbi } from './processes.ts';

/** So many of its first connections are never served; a request waits a second for one. */
const LATE = 2;
/** Longer than a request waits for a connection. */
const LATE_MS = 1_500;

/** In front of a database. `onConnection` says whether, and when, the nth connection is served. */
async function startProxy(
  databaseUrl: string,
  onConnection: (taken: number, serve: () => void) => void,
): Promise<{ databaseUrl: string; close(): void }> {
  const url = new URL(databaseUrl);
  const { port, hostname } = url;
  const sockets = new Set<Socket>();
  let taken = 0;
  const proxy = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(++taken, () => {
      const server = connect(Number(port), hostname).on('error', () => undefined);
      socket.pipe(server).pipe(socket);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    databaseUrl: url.href,
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

test('a start waits for a database that takes its first connections late', async () => {
  const base = await createTestContext();
  const proxy = await startProxy(base.databaseUrl, (taken, serve) => {
    if (taken > LATE) serve();
  });
  try {
    const ctx = await createContext(base.config, proxy.databaseUrl, createLogger('silent'), {
      acquireTimeoutMs: REQUEST_ACQUIRE_TIMEOUT_MS,
    });
    assert.deepEqual(await ctx.db.query('select 1 as one'), [{ one: 1 }]);
    await ctx.db.close();
  } finally {
    proxy.close();
    await base.close();
  }
});

test('doctor waits for a database that takes each connection late', async () => {
  const base = await createTestContext();
  const proxy = await startProxy(base.databaseUrl, (_, serve) => setTimeout(serve, LATE_MS));
  try {
    const settings = { DATABASE_URL: proxy.databaseUrl, DATA_DIR: base.config.dataDir };
    const { out } = await simbi(['doctor', '--json'], settings).ended;
    for (const check of ['database', 'migrations', 'mode'])
      assert.match(out, new RegExp(`"check": "${check}",\\s+"ok": true`));
  } finally {
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
