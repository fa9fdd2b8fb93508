// Backups: consistent while payments run, restored into an empty database with everything as it was, refused when they
// are not whole.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type WrittenBackup, writeBackup } from '../src/backup/backup.ts';
import { BackupError } from '../src/backup/backup-file.ts';
import { checkBackup, restoreBackup } from '../src/backup/restore.ts';
import { listEvents } from '../src/callbacks/feed.ts';
import { listDeliveries } from '../src/callbacks/resend.ts';
import { extendChain } from '../src/ledger/chain.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { requeryAfterRestore } from '../src/payments/requery-after-restore.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { createMemory } from '../src/platform/memory.ts';
import { createServices } from '../src/services.ts';
import { type Client, createClient, PATHS, ugandanCollection } from './client.ts';
import { createEmptyDatabase, type TestDatabase } from './database.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'simbi-backup-'));
const path = join(folder, 'all.backup');
const masterKey = randomBytes(32);

let gateway: TestGateway;
let shop: Client;
let receiver: { server: Server; url: string; arrived: string[] };
let made: WrittenBackup;
let target: TestDatabase;
let restored: Database;
let restoredOwner: Database;

before(async () => {
  receiver = await startReceiver();
  gateway = await createTestGateway();
  shop = await createClient(gateway);
  await collect('000', '/good', 30);
  await collect('000', '/bad', 1);
  // Left open: nobody answers the phone.
  await collect('005', '/good', 2);
  // A transaction that is open in another database of the server puts the sealing of a block off.
  for (let sealed = 0; sealed === 0; ) sealed = await extendChain(gateway.ctx, { partial: true });
  made = await backUpUnderLoad();
  target = await createEmptyDatabase();
  await restore(path, target.url);
  restored = connectDatabase({ url: target.url, poolSize: 5 });
  restoredOwner = connectDatabase({ url: target.url, as: 'owner', poolSize: 1 });
});

after(async () => {
  await restored?.close();
  await restoredOwner?.close();
  await target?.drop();
  await gateway?.close();
  receiver?.server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startReceiver() {
  const arrived: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    arrived.push(String(request.headers['webhook-id']));
    response.writeHead(request.url === '/bad' ? 500 : 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, arrived, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function collect(digits: string, place: string, count: number): Promise<void> {
  const params = ugandanCollection(digits, { callback_url: `${receiver.url}${place}` });
  const replies = await Promise.all(Array.from({ length: count }, () => shop.signed(PATHS.collect, params)));
  for (const reply of replies) assert.equal(reply.status, 200);
  await gateway.settle();
}

/** Payments go on from before the first table is copied until after the last. */
async function backUpUnderLoad(): Promise<WrittenBackup> {
  let over = false;
  let rounds = 0;
  const load = (async () => {
    for (; !over; rounds++) await collect('000', '/good', 10);
  })();
  while (rounds === 0) await new Promise((resolve) => setImmediate(resolve));
  const from = await countTransactions();
  const written = await writeBackup({ ...options(path), onProgress: () => undefined });
  over = true;
  await load;
  assert.ok((await countTransactions()) > from, 'payments were taken meanwhile');
  return written;
}

async function countTransactions(): Promise<number> {
  const [row] = await gateway.ctx.db.query<{ count: number }>('select count(*)::int as count from transactions');
  return row?.count ?? 0;
}

const options = (file: string) => ({
  databaseUrl: gateway.ctx.databaseUrl,
  path: file,
  version: 'test',
  mode: 'sandbox',
  madeAt: gateway.ctx.clock.now(),
  masterKey,
  includeMasterKey: false,
});

const restore = (file: string, databaseUrl: string, key: Buffer | null = masterKey) =>
  restoreBackup({
    databaseUrl,
    path: file,
    masterKey: key,
    async finish(tx) {
      await requeryAfterRestore(tx, gateway.ctx.clock.now());
    },
  });

describe('a backup that was made while payments ran', () => {
  test('is one moment: what belongs together in several tables is there, or none of it', async () => {
    const [row] = await restored.query<{ broken: number; without: number; early: number }>(
      `select
         (select count(*)::int from transactions t where t.status = 'success'
            and not exists (select from ledger_transfers l where l.transaction_id = t.id and l.kind = 'collection')) as broken,
         (select count(*)::int from transactions t where t.status = 'success'
            and not exists (select from events e where e.transaction_id = t.id)) as without,
         (select count(*)::int from ledger_transfers l where l.kind = 'collection'
            and not exists (select from transactions t where t.id = l.transaction_id and t.status = 'success')) as early`,
    );
    assert.deepEqual(row, { broken: 0, without: 0, early: 0 });
  });

  test('has every row of every table, counted on the other side', async () => {
    const counted: Record<string, number> = {};
    for (const name of Object.keys(made.rows)) {
      const [row] = await restored.query<{ count: number }>(`select count(*)::int as count from ${name}`);
      counted[name] = row?.count ?? -1;
    }
    assert.deepEqual(counted, made.rows);
    assert.ok((made.rows.transactions ?? 0) >= 33 && (made.rows.ledger_transfers ?? 0) >= 62);
    assert.ok(!Object.keys(made.rows).some((name) => name.startsWith('sandbox_')), 'a toy does not travel');
  });

  test('keeps the books: balances, running balances, hash chain', async () => {
    const verification = await verifyLedger({ db: restored });
    assert.deepEqual(verification.differences, []);
    assert.ok(verification.checked.blocks > 0);
    await assert.rejects(
      restoredOwner.query('update ledger_accounts set balance = balance + 1'),
      /ledger accounts change only by transfers/,
      'the guards are on again',
    );
    await assert.rejects(restoredOwner.query('delete from audit_log'), /append-only/);
    await assert.rejects(restored.query('delete from audit_log'), /permission denied/, 'and so are the rights');
  });

  test('goes on counting where it stood, also where the last rows are gone', async () => {
    const [id] = await restoredOwner.query<{ next: bigint; highest: bigint }>(
      `select nextval(pg_get_serial_sequence('ledger_transfers', 'id')) as next, (select max(id) from ledger_transfers) as highest`,
    );
    assert.ok(id && id.next > id.highest);
  });

  test('is for its owner only, and leaves no draft behind', () => {
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.partial')),
      [],
    );
  });
});

describe('callbacks after a restore', () => {
  test('delivered ones stay delivered, a due one stays due under its id, and the feed goes on', async () => {
    const holderId = shop.shop.holderId;
    const failing = await listDeliveries(restored, holderId, { status: 'retrying' });
    const source = await listDeliveries(gateway.ctx.db, holderId, { status: 'retrying' });
    assert.equal(failing.length, 1);
    assert.deepEqual(failing[0], source[0]);
    const before = receiver.arrived.length;
    const base = { ...gateway.ctx, db: restored, memory: createMemory() };
    const second = await createServices(base);
    try {
      for (let round = 0; round < 5; round++) {
        await second.deliverer.pass();
        await second.deliverer.idle();
      }
    } finally {
      await second.stop();
    }
    const again = receiver.arrived.slice(before);
    // Under load some were still on their way at that moment: those come again, under the ids they had.
    const due = await restored.query<{ count: number }>('select count(*)::int as count from callback_deliveries');
    assert.ok(again.length <= (made.rows.callback_deliveries ?? 0), `${again.length} sent again`);
    assert.ok((due[0]?.count ?? 0) >= 1);
    const page = await listEvents(restored, holderId, { limit: 1000 });
    assert.equal(page.events.length, made.rows.events);
  });

  test('a payment that was not sent yet is asked about, not sent', async () => {
    const kinds = await restored.query<{ kind: string }>('select distinct kind from payment_jobs');
    assert.ok(!kinds.some(({ kind }) => kind === 'submit'));
  });
});

describe('what is refused', () => {
  const copy = (name: string, change: (bytes: Buffer) => Buffer) => {
    const file = join(folder, name);
    writeFileSync(file, change(readFileSync(path)));
    return file;
  };
  const refused = (file: string, message: RegExp, url = target.url) =>
    assert.rejects(restore(file, url), (error: Error) => error instanceof BackupError && message.test(error.message));

  test('a file that was cut anywhere, or changed anywhere', async () => {
    const empty = await createEmptyDatabase();
    try {
      const size = statSync(path).size;
      for (const length of [20, 500, Math.floor(size / 2), size - 40, size - 1]) {
        const file = copy(`cut-${length}`, (bytes) => bytes);
        truncateSync(file, length);
        await assert.rejects(checkBackup(file), BackupError, `cut to ${length}`);
      }
      for (const at of [200, Math.floor(size / 2), size - 60]) {
        const file = copy(`changed-${at}`, (bytes) => {
          bytes[at] = (bytes[at] ?? 0) ^ 0x40;
          return bytes;
        });
        await assert.rejects(checkBackup(file), BackupError, `changed at ${at}`);
      }
      // Noticed only at its end, when every row has been loaded.
      await refused(join(folder, `changed-${size - 60}`), /damaged/, empty.url);
      await refused(join(folder, `changed-${Math.floor(size / 2)}`), /damaged/, empty.url);
      const db = connectDatabase({ url: empty.url, as: 'owner', poolSize: 1 });
      const [left] = await db.query<{ count: number }>('select count(*)::int as count from holders');
      await db.close();
      assert.equal(left?.count, 0, 'nothing of it was kept');
      // The same database still takes the right file: a failure does not use it up.
      await restore(path, empty.url);
    } finally {
      await empty.drop();
    }
  });

  test('another file, another key, a database that is in use, a schema we do not know', async () => {
    await refused(
      copy('other', () => Buffer.from('PGDMP something else')),
      /not a Simbi backup/,
    );
    await refused(join(folder, 'missing'), /cannot be read/);
    await refused(path, /not empty: \w+ has rows/);
    await assert.rejects(restore(path, target.url, randomBytes(32)), /another master key/);
    await assert.rejects(restore(path, target.url, null), /not in this backup/);
  });
});
