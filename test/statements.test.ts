// simbi statement: files in, lines once, originals out; files that come twice, in halves, broken off, and large.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../src/cli.ts';
import { connectDatabase, type Database } from '../src/platform/db.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createStatementFolder, type StatementFolder, safaricomLines, safaricomStatement } from './statements.ts';

/** Many batches. STATEMENT_LINES=1000000 is the long run, which the heap of 96 MB could not hold at once. */
const MANY_LINES = Number(process.env.STATEMENT_LINES ?? 40_000);

const ROOT = resolve(import.meta.dirname, '..');

type FileData = {
  outcome: string;
  id: number;
  status: string;
  lines: number;
  lines_new: number;
  lines_known: number;
  lines_bad: number;
};

let database: TestDatabase;
let db: Database;
let folder: StatementFolder;
before(async () => {
  database = await createTestDatabase();
  db = connectDatabase({ url: database.url, as: 'owner' });
  folder = await createStatementFolder();
});
after(async () => {
  await db.close();
  await database.drop();
  await folder.close();
});

const settings = async () => ({ DATABASE_URL: database.url, DATA_DIR: await folder.dataDir(), LOG_LEVEL: 'silent' });

async function statement(args: string[]) {
  const printed = { out: '', messages: '' };
  process.exitCode = 0;
  const code = await runCommand(
    {
      environment: await settings(),
      interactive: false,
      out: (text) => {
        printed.out += `${text}\n`;
      },
      say: (text) => {
        printed.messages += `${text}\n`;
      },
      bold: (text) => text,
      readInput: async () => null,
    },
    ['statement', ...args],
  );
  process.exitCode = 0;
  return { code, ...printed };
}

async function statementJson<T>(args: string[]): Promise<T> {
  const ran = await statement([...args, '--json']);
  assert.equal(ran.code, 0, ran.messages);
  return JSON.parse(ran.out) as T;
}

const importFile = (path: string, connection = 'sandbox') =>
  statementJson<FileData>(['import', path, '--connection', connection]);

const counts = ({ outcome, lines, lines_new, lines_known, lines_bad }: FileData) => [
  outcome,
  lines,
  lines_new,
  lines_known,
  lines_bad,
];

describe('a statement', () => {
  test('cut in half, then whole, then once more: each line is there once, and the original comes back', async () => {
    const text = safaricomStatement(safaricomLines(2_500)).replaceAll('\n', '\r\n');
    const half = await folder.write('half.csv', text.slice(0, text.length / 2));
    const whole = await folder.write('whole.csv', text);
    const first = await importFile(half);
    assert.equal(first.lines_new + first.lines_bad, first.lines);
    assert.ok(first.lines_new > 1_000 && first.lines_bad <= 1, JSON.stringify(first));
    const second = await importFile(whole);
    assert.deepEqual(counts(second), ['read', 2_500, 2_500 - first.lines_new, first.lines_new, 0]);
    assert.deepEqual(counts(await importFile(whole)), ['known', ...counts(second).slice(1)]);
    const repeated = await statement(['import', whole, '--connection', 'sandbox']);
    assert.match(repeated.out, /Nothing was added: this file was imported .* as statement \d+/);
    const back = `${whole}.back`;
    await statementJson(['original', String(second.id), '--to', back]);
    assert.deepEqual(await readFile(back), Buffer.from(text));
  });

  test('withdrawn: lines that another file has too stay, and the same file may be imported again', async () => {
    const lines = safaricomLines(5).map((line) => line.replace('SK', 'WD'));
    const [part, whole] = [
      await folder.write('wrong.csv', safaricomStatement(lines.slice(0, 3))),
      await folder.write('whole.csv', safaricomStatement(lines)),
    ];
    const first = await importFile(part);
    const second = await importFile(whole);
    assert.deepEqual([first.lines_new, second.lines_new, second.lines_known], [3, 2, 3]);
    assert.match((await statement(['withdraw', String(first.id), ' '])).messages, /Say in a few words why/);
    const withdrawn = await statementJson<{ outcome: string; lines: number }>([
      'withdraw',
      String(first.id),
      'wrong time zone',
    ]);
    assert.deepEqual([withdrawn.outcome, withdrawn.lines], ['withdrawn', 3]);
    const left = await statementJson<FileData>(['show', String(second.id)]);
    assert.deepEqual([left.status, left.lines_new, left.lines_known], ['read', 5, 0]);
    const shown = await statement(['show', String(first.id)]);
    assert.match(shown.out, /status +withdrawn.*Withdrawn .* by .* with 3 lines: wrong time zone/s);
    const original = await statement(['original', String(first.id), '--to', `${part}.back`]);
    assert.equal(original.code, 0, original.messages);
    assert.deepEqual(await readFile(`${part}.back`), await readFile(part));
    const again = await statementJson<FileData>(['import', part, '--connection', 'sandbox', '--zone', 'Africa/Lagos']);
    assert.deepEqual([again.outcome, again.id, again.status, again.lines_new], ['read', first.id, 'read', 3]);
  });

  test('with bad lines: they are listed, the others are there, and importing it again reads them again', async () => {
    const [good = '', bad = ''] = safaricomLines(2);
    const path = await folder.write('bad.csv', safaricomStatement([good, bad.replace('Completed', 'Lost')]));
    const file = await importFile(path, 'sandbox');
    assert.deepEqual(counts(file), ['read', 2, 0, 1, 1]);
    const { problems } = await statementJson<{ problems: { line: number; reason: string; raw: string }[] }>([
      'problems',
      String(file.id),
    ]);
    assert.deepEqual(
      problems.map(({ line, reason }) => [line, reason]),
      [[7, 'The status "Lost" is not known.']],
    );
    assert.match(problems[0]?.raw ?? '', /^SK00000001,/);
    const again = await importFile(path, 'sandbox');
    assert.deepEqual([again.id, ...counts(again)], [file.id, 'read', 2, 0, 1, 1]);
  });

  test('shown before it is stored, with a mapping, saved or from a file', async () => {
    const mapping = await folder.write('map.json', JSON.stringify({ date: 'when', amount: 'sum', receipt: 'id' }));
    const path = await folder.write('mine.csv', 'id;when;sum\nA1;2026-11-14 10:00:00;-12.50\n');
    const args = ['import', path, '--connection', 'sandbox', '--currency', 'KES', '--mapping'];
    const preview = await statement([...args, mapping, '--dry-run']);
    assert.match(
      preview.out,
      /Format mapped, times in UTC, 1 lines, 0 bad. Nothing was stored.[\s\S]*out.*12.50 KES +unknown +A1/,
    );
    await statementJson(['map', 'mine', mapping]);
    assert.equal((await statementJson<FileData>([...args, 'mine'])).lines_new, 1);
    const refused = await statement([
      'map',
      'mine',
      await folder.write('no.json', '{"date":"when","dateFormat":"dd"}'),
    ]);
    assert.equal(refused.code, 1);
    assert.match(refused.messages, /amount: .*dateFormat: /s);
  });

  test('of a connection or in a form that is not known is refused, and nothing is stored', async () => {
    const path = await folder.write('strange.csv', 'a,b\n1,2\n');
    const before = await statementJson<{ statements: unknown[] }>(['list']);
    assert.equal((await statement(['import', path, '--connection', 'nobody'])).code, 4);
    assert.equal((await statement(['import', path, '--connection', 'sandbox'])).code, 1);
    assert.deepEqual(await statementJson(['list']), before);
  });
});

/** The command in a process of its own, with a heap that a few thousand lines would fill if they were kept. */
async function startImport(path: string) {
  const args = ['src/cli.ts', 'statement', 'import', path, '--connection', 'sandbox', '--json'];
  return spawn(process.execPath, ['--max-old-space-size=96', ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ...(await settings()) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

test('200,000 lines in a heap of 96 MB; killed in the middle, the same file finishes the import', async () => {
  const path = await folder.write('large.csv', safaricomStatement(safaricomLines(MANY_LINES)).replaceAll('SK0', 'LG0'));
  const killed = await startImport(path);
  const isReading = async () => {
    const [row] = await db.query<{ lines: number }>(`select lines from statement_files where name = 'large.csv'`);
    return (row?.lines ?? 0) > 0;
  };
  while (!(await isReading())) assert.equal(killed.exitCode, null, 'the import ended before it could be killed');
  killed.kill('SIGKILL');
  await once(killed, 'close');
  const [left] = await db.query<{ status: string; lines: number }>(
    `select status, lines from statement_files where name = 'large.csv'`,
  );
  assert.equal(left?.status, 'reading');
  assert.ok((left?.lines ?? 0) < MANY_LINES);

  const child = await startImport(path);
  let out = '';
  child.stdout?.on('data', (chunk) => {
    out += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0);
  assert.deepEqual(counts(JSON.parse(out) as FileData), ['read', MANY_LINES, MANY_LINES, 0, 0]);
  const [stored] = await db.query<{ lines: bigint }>(
    `select count(*) as lines from statement_lines where receipt like 'LG0%'`,
  );
  assert.equal(stored?.lines, BigInt(MANY_LINES));
});
