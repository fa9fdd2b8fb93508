// The commands of finance: reconcile, breaks, close and margin, on the database of a gateway.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { changeCloseRule } from '../src/books/calendar.ts';
import { runCommand } from '../src/cli.ts';
import { EXIT } from '../src/commands/terminal.ts';
import { addStatement, CONNECTION } from './book-lines.ts';
import { type Books, openBooks, paid } from './books.ts';
import { addTwoPeople } from './decisions.ts';
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
    // The rail of the test has no row among the connections, which the command asks for.
    const set = { by: 'test', at: ctx.clock.now() };
    await ctx.db.transaction((tx) => changeCloseRule(tx, CONNECTION, { zone: 'UTC', cutOffMinutes: 0 }, set));
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

  test('a currency that cannot be closed is named, and the others are signed', async () => {
    const lines = [
      { gross: 100n, receipt: 'KES-1', currency: 'KES' },
      { gross: 100n, receipt: 'UGX-1', currency: 'UGX', balance: 100n },
    ];
    await addStatement(ctx, 'pair', lines, 'pair');
    const { first } = await addTwoPeople(ctx);
    await ctx.db.query('update members set is_admin = true where id = $1', [first.actor.memberId]);
    await command('reconcile', 'pair', '--day', DAY, '--dry-run');
    const signed = await command('close', 'pair', '--day', DAY, '--sign', '--as', first.actor.name);
    assert.match(signed.out, /pair, 2026-03-02, UGX.*Signed\./s);
    assert.match(signed.messages, /KES: The day cannot be signed\. The statement names no closing balance/);
    assert.notEqual(signed.code, EXIT.ok);
    const again = await command('close', 'pair', '--day', DAY, '--currency', 'UGX', '--sign', '--as', first.actor.name);
    assert.match(again.messages, /is closed already/);
  });

  test('a day without a statement is refused with a sentence', async () => {
    const { code, messages } = await command('reconcile', CONNECTION, '--day', '2026-01-01');
    assert.notEqual(code, EXIT.ok);
    assert.match(messages, /There is no line of a statement of quiet/);
  });

  test('the zone and the cut-off of an account that never was are not set', async () => {
    const zone = await command('close', 'sandbox', '--zone', 'UTC', '--cut-off', '00:00');
    assert.match(zone.out, /begins at 00:00 in UTC/);
    for (const name of ['sandbx', 'bank.equty']) {
      const wrong = await command('close', name, '--zone', 'UTC', '--cut-off', '00:00');
      assert.equal(wrong.code, EXIT.notFound, wrong.out);
      assert.match(wrong.messages, /There is no (?:connection|bank account) "/);
    }
  });

  test('a day that the calendar does not have, and a zone that nobody knows', async () => {
    for (const args of [
      ['margin', '--from', '2026-02-31'],
      ['reconcile', CONNECTION, '--day', '2026-02-31'],
      ['margin', '--from', DAY, '--zone', 'Africa/Nowhere'],
    ]) {
      const { code, messages } = await command(...args);
      assert.equal(code, EXIT.usage, messages);
      assert.match(messages, /is not a (?:day|time zone)/);
    }
  });

  test('limits and floats: a currency in small letters is meant, one that nothing has is refused', async () => {
    const holder = String(books.shop.holderId);
    const set = await command('limits', 'set', 'collection', 'ugx', '--holder', holder, '--amount', '5000');
    assert.equal(set.code, EXIT.ok, set.messages);
    assert.match((await command('limits', 'list', '--holder', holder)).out, /collection +holder +UGX +gateway +5000/);
    const wrong = await command('limits', 'set', 'collection', 'UGS', '--holder', holder, '--amount', '5000');
    assert.equal(wrong.code, EXIT.usage);
    assert.match(wrong.messages, /No payment method has UGS\. Choose one of .*UGX/);
    const float = await command('float', 'set', 'sandbox', '--currency', 'ugs', '--low', '5000');
    assert.equal(float.code, EXIT.usage, float.messages);
    const watched = await command('float', 'set', 'sandbox', '--currency', 'ugx', '--low', '5000');
    assert.match(watched.out, /The UGX float of sandbox is watched/, watched.messages);
  });
});
