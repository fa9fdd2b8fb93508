// The commands of finance: reconcile, breaks, close and margin, on the database of a gateway.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../src/cli.ts';
import { EXIT } from '../src/commands/terminal.ts';
import { addStatement, CONNECTION } from './book-lines.ts';
import { type Books, openBooks, paid } from './books.ts';
import { createTestContext, type TestContext } from './harness.ts';

const DAY = '2026-03-02';

let ctx: TestContext & { close(): Promise<void> };
let books: Books;
let dataDir: string;
before(async () => {
  ctx = await createTestContext({ ROLE: 'api' });
  books = await openBooks(ctx);
  // The command has a key of its own, which could not open them.
  await ctx.db.query('delete from integration_secrets');
  dataDir = mkdtempSync(join(tmpdir(), 'simbi-books-'));
});
after(async () => {
  await ctx.close();
  rmSync(dataDir, { recursive: true });
});

async function command(...args: string[]): Promise<{ code: number; out: string; messages: string }> {
  const printed = { out: '', messages: '' };
  process.exitCode = 0;
  const code = await runCommand(
    {
      environment: { DATABASE_URL: ctx.databaseUrl, DATA_DIR: dataDir, LOG_LEVEL: 'silent' },
      interactive: false,
      out: (text) => {
        printed.out += `${text}\n`;
      },
      say: (text) => {
        printed.messages += `${text}\n`;
      },
      bold: (text) => text,
      readInput: () => Promise.resolve(null),
    },
    args,
  );
  process.exitCode = 0;
  return { code, ...printed };
}

describe('commands of finance', () => {
  test('a day from the statement to its breaks', async () => {
    const zone = await command('close', CONNECTION, '--zone', 'UTC', '--cut-off', '00:00');
    assert.match(zone.out, /begins at 00:00 in UTC/);
    const [known, open] = [await books.collect(), await books.collect()];
    await books.see(known, paid(known));
    await books.see(open, { state: 'unknown', reason: 'time-out' });
    await addStatement(ctx, 'monday', [
      { gross: known.amount, receipt: `R-${known.id}`, fee: 500n },
      { gross: 5_000n, receipt: 'nobody' },
    ]);
    const dry = await command('reconcile', CONNECTION, '--day', DAY, '--dry-run');
    assert.match(dry.out, /2 lines, 1 of them not matched\.\n {2}1 by receipt/);
    assert.match(dry.out, /Would settle 0, reverse 0, hold 1 payments in suspense\.\nWould book 5 UGX of fees/);
    const listed = await command('breaks', 'list', '--connection', CONNECTION, '--json');
    const { breaks } = JSON.parse(listed.out) as { breaks: { id: string; kind: string }[] };
    assert.deepEqual(
      breaks.map(({ kind }) => kind),
      ['missing_with_us'],
    );
    const resolved = await command('breaks', 'resolve', breaks[0]?.id ?? '', 'of the other shop');
    assert.equal(resolved.code, EXIT.ok, resolved.messages);
    assert.match((await command('breaks', 'list')).out, /No breaks/);
    const close = await command('close', CONNECTION, '--day', DAY, '--balance', '100000');
    assert.match(close.out, /fees of the operator are not booked/);
    const unsigned = await command('close', CONNECTION, '--day', DAY, '--sign');
    assert.match(unsigned.messages, /Say who signs/);
    assert.match((await command('margin', '--from', DAY)).out, /quiet +MTN_MOMO_UGA +UGX +1 /);
  });

  test('a day without a statement is refused with a sentence', async () => {
    const { code, messages } = await command('reconcile', CONNECTION, '--day', '2026-01-01');
    assert.notEqual(code, EXIT.ok);
    assert.match(messages, /There is no line of a statement of quiet/);
  });
});
