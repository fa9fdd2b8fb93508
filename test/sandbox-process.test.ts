// The simulated operator and the built-in receiver in a process of their own: used like those in the process of the gateway,
// started again when it ends, and gone with the gateway.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { isAlive } from '../src/embedded-postgres/processes.ts';
import { readConfig } from '../src/platform/config.ts';
import { type Server, startServer } from '../src/server.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { reservePort } from './ports.ts';
import { signBody } from './shop.ts';

const PAYER = '256772123456';
/** Only to end a test that waits for nothing, and to say what it saw. */
const PATIENCE_MS = 120_000;

/** Those that this process started and that are still there. */
function children(): number[] {
  const text = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');
  const pids = text.trim().split(' ').filter(Boolean);
  return pids.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('sandbox-child')).map(Number);
}

/** What `look` finds; it rejects, with what it saw, while there is nothing. */
async function until<T>(what: string, look: () => Promise<T>): Promise<T> {
  const latest = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await look();
    } catch (seen) {
      if (performance.now() > latest) throw new Error(`no ${what} after ${PATIENCE_MS} ms: ${String(seen)}`);
      await setTimeout(100);
    }
  }
}

describe('the process of the sandbox', () => {
  let folder: string;
  let database: TestDatabase;
  let server: Server;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'simbi-sandbox-'));
    database = await createTestDatabase();
    const PORT = String(await reservePort());
    const settings = { DATABASE_URL: database.url, DATA_DIR: folder, LOG_LEVEL: 'silent', PORT };
    server = await startServer(readConfig(settings));
  });
  after(async () => {
    await server.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const address = (path: string) => `http://127.0.0.1:${server.ctx.config.port}${path}`;

  async function read<T>(path: string): Promise<T> {
    const answer = await fetch(address(path), { headers: { accept: 'application/json' } });
    assert.equal(answer.status, 200, path);
    return (await answer.json()) as T;
  }

  /** Pays as the demo's program and its customer do, and returns the callback that the demo's receiver took. */
  async function pay(): Promise<{ verdict: { verified: boolean }; headers: Record<string, string> }> {
    const file = server.demo?.file;
    assert.ok(file);
    const shop = { clientId: file.client_id, title: file.sender, secretKey: file.secret_key ?? '' };
    const params = { amount: 1_000, mobile: PAYER, country_id: 11, currency: 'UGX' };
    // A machine that is busy with other tests may answer 503.
    const ref = await until('collection', async () => {
      const answer = await fetch(address('/api/v3/service-unified-collections'), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(signBody(shop, Date.now(), params)),
      });
      const text = await answer.text();
      return answer.ok ? (JSON.parse(text) as { data: { ref: string } }).data.ref : Promise.reject(text);
    });
    const prompt = await until(`prompt for ${ref}`, async () => {
      const { prompts } = await read<{ prompts: { id: string; state: string }[] }>(`/sandbox/phone/${PAYER}`);
      return (
        prompts.find(({ id, state }) => id === ref && state === 'prompt') ?? Promise.reject(JSON.stringify(prompts))
      );
    });
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ prompt: prompt.id, pin: '1234' });
    const done = await fetch(address(`/sandbox/phone/${PAYER}/answer`), { method: 'POST', headers, body });
    assert.deepEqual(await done.json(), { ok: true, message: 'Paid.' });
    return until(`callback for ${ref}`, async () => {
      const list = await read<{ data: Awaited<ReturnType<typeof pay>>[] }>(`/sandbox/callbacks?q=${ref}`);
      return list.data[0] ?? Promise.reject(JSON.stringify(list));
    });
  }

  test('a payment goes from the prompt on the phone to the verified callback', async () => {
    const { verdict, headers } = await pay();
    assert.equal(verdict.verified, true);
    // The address that the merchant set, although another process took it.
    assert.equal(headers.host, `localhost:${server.ctx.config.port}`);
  });

  test('what others send to the address of the receiver is kept too', async () => {
    const answer = await fetch(address('/sandbox/callbacks'), {
      method: 'POST',
      body: 'by-hand',
      headers: { 'x-a': 'b' },
    });
    const { number } = (await answer.json()) as { number: number };
    const { data } = await read<{ data: { number: number; body: string; headers: Record<string, string> }[] }>(
      `/sandbox/callbacks?after=${number - 1}`,
    );
    assert.deepEqual([data[0]?.body, data[0]?.headers['x-a']], ['by-hand', 'b']);
  });

  test('it is started again when it ends, and payments go on', async () => {
    const [pid = 0] = children();
    process.kill(pid, 'SIGKILL');
    while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await pay()).verdict.verified, true);
    assert.notEqual(children()[0], pid);
  });

  test('it ends with the gateway', async () => {
    const [pid = 0] = children();
    assert.ok(isAlive(pid));
    await server.stop();
    assert.deepEqual(children(), []);
  });
});
