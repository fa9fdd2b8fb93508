// Real processes, killed: the server at every failpoint and at any moment, and PostgreSQL with all its children, under
// load and with fsync on. Whatever was acknowledged is there afterwards, once. Each strike has two turns; CRASH_CYCLES=300 is
// the long run.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { DemoFile } from '../src/demo-file.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/embedded-postgres/server.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { idFromRef, refOf } from '../src/payments/transactions.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { reservePort } from './ports.ts';
import { signBody } from './shop.ts';
import { createRandom } from './simulation/random.ts';

/** And how often a busy server passes there, at most, before it dies: batches are passed less often than calls. */
const FAILPOINTS: Record<string, number> = {
  'accept-committed': 4,
  'before-submit': 12,
  'after-submit': 12,
  'outcomes-committed': 4,
  'inbox-committed': 2,
  'inbox-applied': 2,
  'after-poll': 1,
};
/** Each cycle ends in one of these. */
const STRIKES = [...Object.keys(FAILPOINTS), 'kill the server', 'kill PostgreSQL'];
const CYCLES = Number(process.env.CRASH_CYCLES ?? 2 * STRIKES.length);
const CLIENTS = 16;
const LOAD_MS = 1_200;
/** Only to end what never happens: a machine that is busy with other things gets to a failpoint much later. */
const PATIENCE_MS = 180_000;
/** Once every strike has had its turn, a slow machine need not go on for longer than this. */
const ENOUGH_MS = 40_000;
const SETTLE_MS = 180_000;
/** Approved at once, refused at once, told by callback (twice), cancelled. */
const ENDINGS = ['000', '000', '001', '006', '006', '011'];
const COLLECTIONS = '/api/v3/service-unified-collections';
const STATUS = '/api/v3/get-unified-transaction-status';

type WantedCollection = { key: string; params: JsonObject; ref: string | null };

const random = createRandom('crash');
const folder = mkdtempSync(join(tmpdir(), 'simbi-crash-'));
const wanted: WantedCollection[] = [];
let postgres: EmbeddedPostgres;
let db: Database;
let port: number;
let shop: { clientId: string; title: string; secretKey: string };
const children = new Set<ChildProcess>();

before(async () => {
  port = await reservePort();
  postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
  db = connectDatabase({ url: postgres.url, acquireTimeoutMs: 30_000, poolSize: 2 });
});
after(async () => {
  for (const child of children) child.kill('SIGKILL');
  await db.close();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

type Standby = {
  child: ChildProcess;
  /** Starts it, to die at this place; resolves when it answers requests, or has died already. */
  go(place: string): Promise<void>;
  hasExited(): boolean;
};

/** A process that has loaded its modules and waits. */
function spawnStandby(): Standby {
  const child = spawn(process.execPath, [resolve(import.meta.dirname, 'crash-server.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: postgres.url,
      PORT: String(port),
      LOG_LEVEL: 'silent',
      // The launcher's. Killed processes write no cache of compiled modules; each flushes it once it has loaded.
      NODE_COMPILE_CACHE: resolve(import.meta.dirname, '../node_modules/.cache/simbi'),
      RATE_LIMIT_PER_SECOND: '0',
      RATE_LIMIT_PER_ADDRESS_PER_SECOND: '0',
    },
  });
  children.add(child);
  const exited = once(child, 'exit').then(() => children.delete(child));
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const said = new Map<string, () => void>();
  const saying = (word: string) => new Promise<void>((tell) => said.set(word, tell));
  const loaded = saying('loaded');
  const ready = saying('ready');
  lines.on('line', (line) => said.get(line)?.());
  return {
    child,
    async go(place) {
      await Promise.race([loaded, exited]);
      child.stdin?.write(`${place}\n`);
      await Promise.race([ready, exited]);
    },
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
  };
}

async function kill(standby: Standby): Promise<void> {
  if (standby.hasExited()) return;
  const exited = once(standby.child, 'exit');
  standby.child.kill('SIGKILL');
  await exited;
}

async function post(path: string, params: JsonObject, key?: string): Promise<{ status: number; body: JsonObject }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) },
    body: JSON.stringify(signBody(shop, Date.now(), params)),
    signal: AbortSignal.timeout(5_000),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

function newCollection(): WantedCollection {
  const number = String(wanted.length).padStart(4, '0').slice(-4);
  const collection: WantedCollection = {
    key: `crash-${wanted.length}`,
    params: {
      amount: random.int(500, 5_000),
      mobile: `25677${number}${random.pick(ENDINGS)}`,
      country_id: 11,
      currency: 'UGX',
      payment_method_type: 'MTN',
      third_party_reference_1: `crash-${wanted.length}`,
    },
    ref: null,
  };
  wanted.push(collection);
  return collection;
}

/** One try. Only a 200 counts; a reset, a time-out and a 503 are tried again later with the same key. */
async function want(collection: WantedCollection): Promise<void> {
  try {
    const { status, body } = await post(COLLECTIONS, collection.params, collection.key);
    if (status === 200) {
      const ref = String((body.data as JsonObject).ref as string);
      assert.ok(
        collection.ref === null || collection.ref === ref,
        `${collection.key} was acknowledged as ${collection.ref} and as ${ref}`,
      );
      collection.ref = ref;
    } else assert.equal(status, 503, JSON.stringify(body));
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
  }
}

/** Clients that go on until the moment, or until the server is gone. */
async function load(server: Standby, untilMs: number): Promise<void> {
  const ends = performance.now() + untilMs;
  const unanswered = wanted.filter((collection) => collection.ref === null);
  async function client(): Promise<void> {
    while (performance.now() < ends && !server.hasExited()) await want(unanswered.pop() ?? newCollection());
  }
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/** Nobody lives who could hold a lease: as if its time had passed. */
async function endLeases(): Promise<void> {
  const now = new Date();
  // In a transaction each: one that meets the server's locks in another order is tried again.
  for (const table of ['payment_jobs', 'operator_inbox'])
    await db.transaction((tx) => tx.query(`update ${table} set due_at = $1 where due_at > $1`, [now]));
}

/** kill -9 of the postmaster and every process it started, then a start that has to recover. */
async function killPostgres(): Promise<void> {
  const backends = readFileSync(`/proc/${postgres.pid}/task/${postgres.pid}/children`, 'utf8').trim().split(/\s+/);
  for (const pid of [postgres.pid, ...backends.filter(Boolean).map(Number)]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself in the meantime.
    }
  }
  for (let tries = 0; ; tries++) {
    await wait(100);
    try {
      postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
      return;
    } catch (error) {
      if (tries >= 100) throw error;
    }
  }
}

async function cycle(number: number, server: Standby): Promise<'struck' | 'not reached'> {
  const strike = STRIKES[number % STRIKES.length] ?? '';
  const passes = FAILPOINTS[strike];
  await server.go(passes === undefined ? '' : `${strike}:${random.int(1, passes)}`);
  if (passes === undefined) {
    const loading = load(server, LOAD_MS);
    await wait(random.int(50, 500));
    if (strike === 'kill PostgreSQL') {
      await killPostgres();
      await loading;
      assert.equal(server.hasExited(), false, 'the server outlives its database');
      assert.ok(await answersAgain(), 'the server found its database again');
    }
    await kill(server);
    await loading;
    return 'struck';
  }
  await load(server, PATIENCE_MS);
  const struck = server.hasExited();
  await kill(server);
  return struck ? 'struck' : 'not reached';
}

/** The same server goes on with the recovered database, by itself. */
async function answersAgain(): Promise<boolean> {
  const known = wanted.find((collection) => collection.ref !== null)?.ref ?? null;
  for (let tries = 0; tries < 200; tries++) {
    const answer = await post(STATUS, { id: known }).catch(() => null);
    if (answer?.status === 200) return true;
    await wait(100);
  }
  return false;
}

async function openWork(): Promise<number> {
  const [row] = await db.query<{ open: bigint }>(
    'select (select count(*) from payment_jobs) + (select count(*) from operator_inbox) as open',
  );
  return Number(row?.open ?? 0n);
}

describe('crashes under load', { skip: process.platform !== 'linux' && 'needs /proc' }, () => {
  test(`${CYCLES} kills: everything acknowledged is there, once, and everything open is resolved`, async (t) => {
    const struck = new Map<string, number>();
    let next = spawnStandby();
    // The first start makes the tables and the account that the clients use.
    await next.go('');
    const demo = JSON.parse(readFileSync(join(folder, 'data', 'demo.json'), 'utf8')) as DemoFile;
    shop = { clientId: demo.client_id, title: demo.sender, secretKey: demo.secret_key };
    await load(next, 300);
    await kill(next);
    next = spawnStandby();
    const started = performance.now();
    const isEnough = (number: number) =>
      process.env.CRASH_CYCLES === undefined && number >= STRIKES.length && performance.now() - started > ENOUGH_MS;
    for (let number = 0; number < CYCLES && !isEnough(number); number++) {
      const server = next;
      next = spawnStandby();
      await endLeases();
      const result = await cycle(number, server);
      const name = `${STRIKES[number % STRIKES.length]}${result === 'struck' ? '' : ' (not reached)'}`;
      struck.set(name, (struck.get(name) ?? 0) + 1);
    }
    await endLeases();
    await next.go('');
    await settle(next);
    t.diagnostic([...struck].map(([name, count]) => `${name} ${count}`).join(', '));
    t.diagnostic(
      `${wanted.length} collections wanted, ${wanted.filter((collection) => collection.ref !== null).length} acknowledged`,
    );
    for (const place of Object.keys(FAILPOINTS))
      assert.ok(CYCLES < STRIKES.length || struck.has(place), `${place} was never reached`);
    await checkReadable();
    await checkBooks();
    await kill(next);
  });

  async function settle(server: Standby): Promise<void> {
    const ends = performance.now() + SETTLE_MS;
    for (const collection of wanted) while (collection.ref === null && performance.now() < ends) await want(collection);
    while ((await openWork()) > 0 && performance.now() < ends) {
      await wait(250);
      await endLeases();
    }
    assert.equal(server.hasExited(), false);
    assert.equal(await openWork(), 0, 'everything open is resolved');
  }

  async function checkReadable(): Promise<void> {
    const unread = [...wanted];
    const missing: string[] = [];
    async function reader(): Promise<void> {
      for (let collection = unread.pop(); collection; collection = unread.pop()) {
        assert.ok(collection.ref, `${collection.key} was never acknowledged`);
        const { status, body } = await readStatus(collection.ref);
        const data = (body.data ?? {}) as JsonObject;
        if (status !== 200 || data.ref !== collection.ref || !/^(success|failed)$/.test(String(data.status as string)))
          missing.push(`${collection.key} ${collection.ref}: ${status} ${JSON.stringify(data.status)}`);
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, reader));
    assert.deepEqual(missing, []);
  }

  /** A busy machine says nothing about what is kept: a reader that is refused, or not answered, asks again. */
  async function readStatus(ref: string): Promise<{ status: number; body: JsonObject }> {
    for (let tries = 0; tries < 100; tries++) {
      const answer = await post(STATUS, { id: ref, type: 'payin' }).catch(() => null);
      if (answer && answer.status !== 503) return answer;
      await wait(100);
    }
    throw new Error(`${ref} cannot be read`);
  }

  async function checkBooks(): Promise<void> {
    const { differences } = await verifyLedger({ db });
    assert.deepEqual(differences, []);
    const rows = await db.query<{
      id: string;
      status: string;
      reference_1: string;
      credits: bigint;
      events: bigint;
    }>(
      `select t.id, t.status, t.reference_1,
         (select count(*) from ledger_transfers l where l.transaction_id = t.id and l.kind = 'collection') as credits,
         (select count(*) from events e where e.transaction_id = t.id) as events
       from transactions t where t.reference_1 like 'crash-%'`,
    );
    assert.equal(rows.length, new Set(rows.map((row) => row.reference_1)).size, 'one transaction for each key');
    const acknowledged = new Set(wanted.map((collection) => idFromRef(collection.ref ?? '')));
    assert.equal(rows.length, acknowledged.size);
    const book = await db.query<{ reference: string; status: string }>(
      'select reference, status from sandbox_payments',
    );
    const truth = new Map(book.map((row) => [row.reference, row.status]));
    const wrong = rows.filter((row) => {
      const succeeded = row.status === 'success';
      const said = truth.get(refOf(row));
      // The simulated operator's book is a toy that a crash of PostgreSQL may empty; ours is not.
      const right = said === undefined || said === (succeeded ? 'succeeded' : 'failed');
      return !right || row.credits !== (succeeded ? 1n : 0n) || row.events !== 1n;
    });
    assert.deepEqual(wrong, []);
  }
});
