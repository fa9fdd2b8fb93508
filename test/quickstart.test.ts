// The quickstart works as it stands: its blocks, and those of the guide to payment links, are run one after the other by
// bash with the command line, curl, jq and openssl against a real process.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { createTestDatabase } from './database.ts';
import { reservePort } from './ports.ts';
import { simbi } from './processes.ts';

const SIMBI = resolve(import.meta.dirname, '../bin/simbi.mjs');
const DOCS = resolve(import.meta.dirname, '../docs');
const TOOLS = ['bash', 'curl', 'jq', 'openssl'];
const SCRIPT_TIMEOUT_MS = 300_000;
/** What the blocks left behind, as JSON on the last line. */
const RESULTS = '{ npx simbi callbacks list --json; printf "%s\\n" "$STATUS" "$BALANCE" "$LINK"; } | jq -cs .';

type Results = [
  callbacks: { status: string; body: string; attempts: { answerStart: string }[] }[],
  status: { data: Record<string, unknown> },
  balance: { success: string; data: Record<string, unknown>[] },
  link: { data: { payment_link: string } },
];

function blocksOf(guide: string): string {
  const text = readFileSync(join(DOCS, guide), 'utf8');
  return [...text.matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code).join('\n');
}

function run(
  command: string,
  args: string[],
  environment: NodeJS.ProcessEnv,
): Promise<{ out: string; failed: string | null }> {
  return new Promise((done) => {
    const options = { env: { ...process.env, ...environment }, timeout: SCRIPT_TIMEOUT_MS };
    execFile(command, args, options, (error, out, stderr) =>
      done({ out, failed: error ? `${error.message}\n${out}\n${stderr}` : null }),
    );
  });
}

const found = await Promise.all(TOOLS.map((tool) => run('sh', ['-c', `command -v ${tool}`], {})));
const missing = TOOLS.filter((_, index) => found[index]?.failed !== null);

test('a newcomer makes payments with the command line and with curl, sees a verified callback, and lists a link', {
  skip: missing.length > 0 && `this machine has no ${missing.join(', ')}`,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-quickstart-'));
  const database = await createTestDatabase();
  const server = simbi(['serve'], { DATA_DIR: folder, DATABASE_URL: database.url, PORT: String(await reservePort()) });
  try {
    await server.printed(/Listening/);
    const script = ['set -euo pipefail', blocksOf('quickstart.md'), blocksOf('payment-links.md'), RESULTS].join('\n');
    // npx asks the whole folder of packages every time; the command itself is what is tested here.
    const npx = join(folder, 'npx');
    writeFileSync(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${SIMBI}" "$@"\n`, { mode: 0o755 });
    const PATH = `${folder}:${process.env.PATH ?? ''}`;
    const settings = { PATH, DEMO: join(folder, 'demo.json'), DATA_DIR: folder, DATABASE_URL: database.url };
    const { out, failed } = await run('bash', ['-c', script], settings);
    assert.equal(failed, null);
    const [callbacks, status, balance, link] = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Results;
    // Newest first: the payment with curl, then the one with the command line.
    assert.equal(callbacks.length, 2);
    for (const { status: state, attempts } of callbacks) {
      assert.equal(state, 'delivered');
      assert.match(attempts[0]?.answerStart ?? '', /"verified":true/);
    }
    const event = JSON.parse(callbacks[1]?.body ?? '') as { type: string; data: { amount: number; currency: string } };
    assert.deepEqual([event.type, event.data.amount, event.data.currency], ['collection.success', 2500, 'KES']);
    assert.match(out, /^status +success$/m);
    const { status: ended, amount, third_party_reference_1: reference } = status.data;
    assert.deepEqual([ended, amount, reference], ['success', 2500, 'order-1042']);
    const [wallet] = balance.data;
    assert.deepEqual([balance.success, wallet?.currency, wallet?.balance], ['true', 'UGX', 2475]);
    const { payment_link: address } = link.data;
    assert.equal((await fetch(address)).status, 200);
    assert.ok(out.includes(address), 'the list shows the new link first');
  } finally {
    server.child.kill('SIGTERM');
    await server.ended;
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }
});
