// The quickstart works as it stands: its blocks, and those of the guide to payment links, are run one after the other by
// bash with curl, jq and openssl against a real process.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { createTestDatabase } from './database.ts';
import { freePort, simbi } from './processes.ts';

const DOCS = resolve(import.meta.dirname, '../docs');
const TOOLS = ['bash', 'curl', 'jq', 'openssl'];
const SCRIPT_TIMEOUT_MS = 60_000;

type Results = [
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
    execFile(command, args, options, (error, out, words) =>
      done({ out, failed: error ? `${error.message}\n${out}\n${words}` : null }),
    );
  });
}

const found = await Promise.all(TOOLS.map((tool) => run('sh', ['-c', `command -v ${tool}`], {})));
const missing = TOOLS.filter((_, index) => found[index]?.failed !== null);

test('a newcomer makes a collection, approves it, reads status and balance, and creates and lists a link', {
  skip: missing.length > 0 && `this machine has no ${missing.join(', ')}`,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-quickstart-'));
  const database = await createTestDatabase();
  const server = simbi(['serve'], { DATA_DIR: folder, DATABASE_URL: database.url, PORT: String(await freePort()) });
  try {
    await server.printed(/Listening/);
    const results = 'printf "\\n%s\\n%s\\n%s\\n" "$STATUS" "$BALANCE" "$LINK" | tail -n 3 | jq -cs .';
    const script = ['set -euo pipefail', blocksOf('quickstart.md'), blocksOf('payment-links.md'), results].join('\n');
    const { out, failed } = await run('bash', ['-c', script], { DEMO: join(folder, 'demo.json') });
    assert.equal(failed, null);
    const [status, balance, link] = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Results;
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
