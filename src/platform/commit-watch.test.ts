// A primary whose synchronous standby is away, one that became a standby, and several servers of which one takes changes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded-postgres/server.ts';
import { isTrustedConnection, serversOf } from './database-url.ts';
import { connectDatabase, type Database } from './db.ts';

const FAST = { fsync: 'off', max_connections: '40' };
/** Shorter than the service's, so that nobody waits long for this file. */
const SHORT = { statementTimeoutMs: 6_000 } as const;

let folder: string;
let postgres: EmbeddedPostgres;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'simbi-commits-'));
  postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), settings: FAST });
});
after(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  );

/** The server reads its settings again. With this name it waits for a standby that does not exist. */
async function waitForStandby(names: string): Promise<void> {
  appendFileSync(join(folder, 'postgres/cluster/postgresql.conf'), `synchronous_standby_names = '${names}'\n`);
  process.kill(postgres.pid, 'SIGHUP');
  const reader = connectDatabase({ url: postgres.url, as: 'owner', poolSize: 1 });
  for (;;) {
    const [row] = await reader.query<{ names: string }>(`select current_setting('synchronous_standby_names') as names`);
    if (row?.names === names) break;
  }
  await reader.close();
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(what);
}

describe('a primary whose synchronous standby is away', () => {
  let db: Database;
  before(async () => {
    db = connectDatabase({ url: postgres.url, as: 'owner', poolSize: 3, ...SHORT });
    await db.query('create table kept (n int primary key)');
    // On a busy machine a connection may take longer than it may.
    await until('it commits', async () => (await db.commitState()) === 'commits');
    await waitForStandby('nobody');
  });
  after(() => db.close());

  test('a commit that does not end is in doubt, others are refused at once, and reads go on', async () => {
    const doubtful = [
      codeOf(db.query('insert into kept values (1)')),
      codeOf(db.transaction((tx) => tx.query('insert into kept values (2)'))),
    ];
    assert.equal(await db.commitState(), 'stalled', 'who asks whether it is ready learns it without waiting for them');
    assert.equal(await codeOf(db.query('insert into kept values (3)')), 'database_unavailable');
    assert.equal(await codeOf(db.transaction((tx) => tx.query('insert into kept values (4)'))), 'database_unavailable');
    assert.deepEqual(await Promise.all(doubtful), ['outcome_unknown', 'outcome_unknown']);
    assert.deepEqual(await db.query('select n from kept'), [], 'nothing that no standby has is shown');
    assert.equal(await codeOf(db.query('insert into kept values (5)')), 'database_unavailable', 'as long as it lasts');
  });

  test('when the standby is back changes are taken again, and what was in doubt is there', async () => {
    await waitForStandby('');
    await until('it commits', async () => (await db.commitState()) === 'commits');
    await db.query('insert into kept values (6)');
    await until('the waiting commits end', async () => (await db.query('select n from kept')).length === 3);
    assert.deepEqual(
      (await db.query<{ n: number }>('select n from kept order by n')).map(({ n }) => n),
      [1, 2, 6],
    );
  });
});

describe('several servers', () => {
  let standby: EmbeddedPostgres;
  let silent: Server;
  before(async () => {
    // A copy that never hears from its primary: it answers, and takes no changes.
    await postgres.stop();
    const copy = join(folder, 'standby');
    // With owners and rights, which PostgreSQL insists on.
    execFileSync('cp', ['-a', join(folder, 'postgres'), copy]);
    writeFileSync(join(copy, 'cluster/standby.signal'), '');
    standby = await startEmbeddedPostgres({ dataDir: copy, settings: { ...FAST, hot_standby: 'on' } });
    postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), settings: FAST });
    silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    silent.close();
    await standby.stop();
  });

  const addressOf = (url: string) => new URL(url).host;
  const together = (...servers: string[]) => postgres.url.replace(addressOf(postgres.url), servers.join(','));

  test('a standby is not ready, and answers a change with 503', async () => {
    const db = connectDatabase({ url: standby.url, as: 'owner', poolSize: 1 });
    assert.equal(await db.commitState(), 'standby');
    assert.equal(await codeOf(db.query('insert into kept values (10)')), 'database_unavailable');
    assert.equal(await codeOf(db.transaction((tx) => tx.query('delete from kept'))), 'database_unavailable');
    await db.close();
  });

  test('the one that takes changes is found, behind one that is away, one that is silent and a standby', async () => {
    const { port } = silent.address() as { port: number };
    const url = together('127.0.0.1:1', `127.0.0.1:${port}`, addressOf(standby.url), addressOf(postgres.url));
    const db = connectDatabase({ url, as: 'owner', poolSize: 2, ...SHORT, acquireTimeoutMs: 1_000 });
    const insert = () => codeOf(db.query('insert into kept values (20) on conflict do nothing'));
    await until('it was found', async () => (await insert()) === 'done');
    assert.equal(await db.commitState(), 'commits');
    await db.close();
  });

  test('and found again when it has moved', async () => {
    // Known by the same two addresses, which change places.
    const first = await relay(addressOf(postgres.url));
    const second = await relay(addressOf(standby.url));
    const db = connectDatabase({ url: together(first.address, second.address), as: 'owner', poolSize: 2, ...SHORT });
    await db.query('insert into kept values (30)');
    first.to(addressOf(standby.url));
    second.to(addressOf(postgres.url));
    await until('it was found', async () => (await codeOf(db.query('insert into kept values (31)'))) === 'done');
    await db.close();
    first.close();
    second.close();
  });

  test('one that ends the connection while it is asked is left for the next', async () => {
    const first = await relay(addressOf(postgres.url), 'pg_is_in_recovery');
    const url = together(first.address, addressOf(postgres.url));
    const db = connectDatabase({ url, as: 'owner', poolSize: 2, ...SHORT });
    await db.query('insert into kept values (40)');
    await db.close();
    first.close();
  });

  test('the cause of a failed connection is kept for who starts the service', async () => {
    const db = connectDatabase({ url: together('127.0.0.1:1'), as: 'owner', poolSize: 1 });
    await assert.rejects(db.query('select 1'), (error: Error) => /ECONNREFUSED/.test(String(error.cause)));
    await db.close();
  });

  test('a URL of several servers is safe only if each of them is', () => {
    assert.deepEqual(serversOf('postgres://u:p@a:1,b/x?y=1'), ['postgres://u:p@a:1/x?y=1', 'postgres://u:p@b/x?y=1']);
    assert.equal(isTrustedConnection('postgres://u@localhost,127.0.0.1:5433/x'), true);
    assert.equal(isTrustedConnection('postgres://u@localhost,db.example.org/x'), false);
    assert.equal(isTrustedConnection('postgres://u@a,b/x?sslmode=verify-full'), true);
  });

  test('a former primary that cannot commit any more is left for the one that can', async () => {
    const url = together(addressOf(postgres.url), addressOf(standby.url));
    const db = connectDatabase({ url, as: 'owner', poolSize: 2, ...SHORT });
    await db.query('insert into kept values (50)');
    // Nobody has told it: it still takes changes, and its standbys follow another.
    await waitForStandby('nobody');
    const promoted = connectDatabase({ url: standby.url, as: 'owner', poolSize: 1 });
    writeFileSync(join(folder, 'standby/cluster/promote'), '');
    process.kill(standby.pid, 'SIGUSR1');
    await until('it is promoted', async () => (await promoted.commitState()) === 'commits');
    assert.equal(await codeOf(db.query('insert into kept values (51)')), 'outcome_unknown');
    await until('the other is used', async () => (await codeOf(db.query('insert into kept values (52)'))) === 'done');
    assert.equal((await promoted.query('select from kept where n = 52')).length, 1);
    await until('it commits', async () => (await db.commitState()) === 'commits');
    await Promise.all([db.close(), promoted.close()]);
    await waitForStandby('');
  });
});

/** A place that connections go through; moved, it ends those it has. `refused`: a statement at which it ends the connection. */
async function relay(target: string, refused = '') {
  let current = target;
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    const [host, port] = current.split(':');
    const other = connect(Number(port), host);
    for (const each of [socket, other]) {
      sockets.add(each);
      each.on('error', () => undefined);
    }
    socket.pipe(other).pipe(socket);
    socket.on('data', (sent: Buffer) => {
      if (refused !== '' && sent.includes(refused)) socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    address: `127.0.0.1:${(server.address() as { port: number }).port}`,
    to(next: string) {
      current = next;
      endAll();
    },
    close() {
      endAll();
      server.close();
    },
  };
}
