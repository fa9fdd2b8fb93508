// Files that are made to fill the memory, to hide lines or to break the reader: each is refused by the name of its limit, or its bad
// lines are named, and never more than a few rows are held.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { readInSmallHeap } from '../../../test/small-heap.ts';
import {
  createStatementFolder,
  readStatement,
  type StatementFolder,
  safaricomLines,
  safaricomStatement,
} from '../../../test/statements.ts';
import { csvRows, MAX_ROW_CHARACTERS } from './csv-rows.ts';
import { createLocalTimes, findDateOrder, readFileAmount } from './values.ts';
import { XLSX_LIMITS, type XlsxLimits } from './xlsx-archive.ts';
import { openXlsx } from './xlsx-rows.ts';

let folder: StatementFolder;
before(async () => {
  folder = await createStatementFolder();
});
after(() => folder.close());

const SHEET = 'xl/worksheets/sheet1.xml';
const STRINGS = 'xl/sharedStrings.xml';
const WORKBOOK = { 'xl/workbook.xml': '<workbook/>' };
const sheetOf = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
const MEGABYTE = 1024 * 1024;

async function rowsOf(path: string, limits: Partial<XlsxLimits> = {}) {
  const xlsx = await openXlsx(path, { ...XLSX_LIMITS, ...limits });
  try {
    return await allOf(xlsx.rows());
  } finally {
    xlsx.close();
  }
}

async function allOf<T>(found: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of found) all.push(each);
  return all;
}

let files = 0;
async function rowsOfSheet(rows: string, limits: Partial<XlsxLimits> = {}, strings = '<sst/>') {
  const entries = { ...WORKBOOK, [STRINGS]: strings, [SHEET]: sheetOf(rows) };
  return rowsOf(await folder.writeZip(`sheet${++files}.xlsx`, entries), limits);
}

describe('the archive of a spreadsheet', () => {
  /** Changes a number in the directory of an archive, where its sizes are claimed. */
  async function claim(name: string, entry: string, offset: number, value: number): Promise<string> {
    const sheet = sheetOf('<row><c><v>1</v></c></row>'.repeat(2_000));
    const bytes = await readFile(await folder.writeZip(name, { ...WORKBOOK, [SHEET]: sheet }));
    const at = bytes.lastIndexOf(entry) - 46;
    assert.equal(bytes.readUInt32LE(at), 0x02014b50, 'a record of the directory');
    bytes.writeUInt32LE(value, at + offset);
    return folder.write(name, bytes);
  }
  const COMPRESSED = 20;
  const UNCOMPRESSED = 24;

  test('that unpacks to more, or to less, than it claims is refused', async () => {
    await assert.rejects(rowsOf(await claim('more.xlsx', SHEET, UNCOMPRESSED, 100)), {
      message: /sheet1\.xml cannot be unpacked: too many bytes/,
    });
    await assert.rejects(rowsOf(await claim('less.xlsx', SHEET, UNCOMPRESSED, 1_000_000)), {
      message: /sheet1\.xml cannot be unpacked: not enough bytes/,
    });
    await assert.rejects(rowsOf(await claim('beyond.xlsx', SHEET, COMPRESSED, 1_000_000)), {
      message: /sheet1\.xml cannot be unpacked/,
    });
  });

  test('that claims more than may be unpacked is refused before it is unpacked', async () => {
    const path = await claim('huge.xlsx', SHEET, UNCOMPRESSED, 0xf000_0000);
    await assert.rejects(rowsOf(path), { message: /limit: 2147483648 unpacked bytes/ });
    await assert.rejects(rowsOf(await claim('small.xlsx', 'xl/workbook.xml', UNCOMPRESSED, 5_000_000)), {
      message: /workbook\.xml is large \(limit: 4194304 bytes\)/,
    });
  });

  test('with two entries of one name is refused: another program may show the other one', async () => {
    for (const [second, name] of [
      ['sheet1.xml', 'same'],
      ['SHEET1.xml', 'capitals'],
    ] as const) {
      const entries = { ...WORKBOOK, [SHEET]: sheetOf(''), 'xl/worksheets/sheet2.xml': sheetOf('') };
      const bytes = await readFile(await folder.writeZip(`${name}.xlsx`, entries));
      const text = bytes.toString('latin1').replaceAll('sheet2.xml', second);
      await assert.rejects(rowsOf(await folder.write(`${name}.xlsx`, Buffer.from(text, 'latin1'))), {
        message: /two entries named xl\/worksheets\/sheet1\.xml/i,
      });
    }
  });

  test('within an archive is not opened', async () => {
    const inner = await readFile(await folder.writeZip('inner.zip', { [SHEET]: Buffer.alloc(MEGABYTE) }));
    const nested = await folder.writeZip('nested.xlsx', { 'xl/workbook.xml': '<workbook/>', 'inner.zip': inner });
    await assert.rejects(rowsOf(nested), { message: /has no sheet/ });
    const asSheet = await folder.writeZip('as-sheet.xlsx', { ...WORKBOOK, [SHEET]: inner });
    await assert.rejects(rowsOf(asSheet), { message: /is not valid XML/ });
  });
});

describe('the XML of a spreadsheet', () => {
  test('rows beyond the limit, or whose numbers do not ascend, are refused', async () => {
    await assert.rejects(rowsOfSheet('<row r="1048577"/>'), { message: /more rows \(limit: 1048576 rows\)/ });
    await assert.rejects(rowsOfSheet('<row/>'.repeat(11), { rows: 10 }), { message: /limit: 10 rows/ });
    const cell = '<c t="inlineStr"><is><t>line</t></is></c>';
    for (const number of ['1', '0.5', '-3', 'NaN', ''])
      await assert.rejects(rowsOfSheet(`<row r="1">${cell}</row><row r="${number}">${cell}</row>`), {
        message: /after row 1 it has a row with the number/,
      });
  });

  test('a row with too many columns, or with too long a cell, is named and stops nothing', async () => {
    const inline = (place: string, text: string) => `<c r="${place}" t="inlineStr"><is><t>${text}</t></is></c>`;
    const rows = await rowsOfSheet(
      `<row r="1">${inline('GS1', 'far')}</row><row r="2">${inline('A2', 'x'.repeat(5_000))}</row>` +
        `<row r="3">${inline('A3', 'fine')}${inline('ZZZ3', '')}</row><row r="4">${'<c><v>1</v></c>'.repeat(100_000)}</row>`,
    );
    assert.deepEqual(
      rows.map((row) => ('reason' in row ? row.reason : row.cells)),
      [
        'The row has more than 200 columns.',
        'A cell has more than 4096 characters.',
        ['fine'],
        'The row has more than 200 columns.',
      ],
    );
    assert.ok(rows.every(({ raw }) => raw.length <= MAX_ROW_CHARACTERS));
  });

  test('one long text that every cell shares does not make long rows of it', async () => {
    const strings = `<sst><si><t>${'x'.repeat(4_000)}</t></si></sst>`;
    const sheet = sheetOf(`<row>${'<c t="s"><v>0</v></c>'.repeat(200)}</row>`.repeat(600));
    const path = await folder.writeZip('shared.xlsx', { ...WORKBOOK, [STRINGS]: strings, [SHEET]: sheet });
    const { refused } = await readInSmallHeap(path);
    assert.match(refused ?? '', /The row has more than 65536 characters/);
  });

  test('shared texts are limited by their number and by their size', async () => {
    const strings = (count: number) => `<sst>${'<si><t>text</t></si>'.repeat(count)}</sst>`;
    assert.deepEqual(await rowsOfSheet('', { sharedStrings: 10, sharedStringBytes: 40 }, strings(10)), []);
    await assert.rejects(rowsOfSheet('', { sharedStrings: 10 }, strings(11)), { message: /limit: 10 shared texts/ });
    await assert.rejects(rowsOfSheet('', { sharedStringBytes: 40 }, strings(11)), {
      message: /limit: 40 bytes of shared texts/,
    });
  });

  test('a text, a tag or a comment that does not end is refused before it is held', async () => {
    const filler = 'x'.repeat(MEGABYTE);
    const bombs = {
      text: ['<row><c><v>', filler, ''],
      attribute: ['<row><c r="', filler, ''],
      attributes: ['<row><c ', '', Array.from({ length: 200_000 }, (_, at) => `a${at}=""`).join(' ')],
      comment: ['<!-- ', filler, ''],
      instruction: ['<?page ', filler, ''],
    };
    for (const [name, [begin = '', repeated = '', once = '']] of Object.entries(bombs)) {
      const content = `<worksheet><sheetData>${begin}${once}${repeated.repeat(4)}`;
      const path = await folder.writeZip(`${name}.xlsx`, { ...WORKBOOK, [SHEET]: content }, true);
      const { refused } = await readInSmallHeap(path);
      assert.match(refused ?? '', /does not end \(limit: 1048576 characters\)/, name);
    }
  });

  test('elements within elements without end are refused', async () => {
    const path = await folder.writeZip('deep.xlsx', { ...WORKBOOK, [SHEET]: Buffer.alloc(12 * MEGABYTE, '<a>') }, true);
    assert.match((await readInSmallHeap(path)).refused ?? '', /limit: depth 64/);
  });

  test('a text in a CDATA section is read like any other', async () => {
    const [row] = await rowsOfSheet('<row><c t="inlineStr"><is><t><![CDATA[A & B]]></t></is></c></row>');
    assert.deepEqual(row, { number: 1, cells: ['A & B'], raw: 'A & B' });
  });
});

describe('a CSV file', () => {
  const CHUNK = 256 * 1024;
  async function* repeated(chunk: string, times: number, end = '') {
    for (let count = 0; count < times; count++) yield chunk;
    yield end;
  }

  test('with a line that does not end has one bad line, and what follows is read', async () => {
    const rows = await allOf(csvRows(repeated('x'.repeat(CHUNK), 400, '\na,b\n'), ','));
    assert.deepEqual(
      rows.map((row) => ('reason' in row ? [row.number, row.reason, row.raw.length] : [row.number, ...row.cells])),
      [
        [1, 'The line is longer than 65536 characters.', MAX_ROW_CHARACTERS],
        [2, 'a', 'b'],
      ],
    );
  });

  test('with millions of columns has one bad line', async () => {
    const rows = await allOf(csvRows(repeated(','.repeat(CHUNK), 40, `\n${'a,'.repeat(200)}\n1,2\n`), ','));
    assert.deepEqual(
      rows.map((row) => ('reason' in row ? row.reason : row.cells)),
      ['The line is longer than 65536 characters.', 'The line has more than 200 columns.', ['1', '2']],
    );
  });

  test('whose quotes are never closed has each of its lines named once, and the next good one is read', async () => {
    const open = Array.from(
      { length: 200 },
      (_, at) => `SKX${at},2026-11-14 10:00:00,,"Pay Bill,Completed,10.00,,,,,,,,`,
    );
    const [good = ''] = safaricomLines(1);
    const text = safaricomStatement([...open, good]);
    const { lines, problems } = await readStatement(await folder.write('open.csv', text));
    assert.deepEqual(
      problems.map(({ lineNumber }) => lineNumber),
      open.map((_, at) => at + 6),
    );
    assert.deepEqual(new Set(problems.map(({ reason }) => reason)), new Set(['A quote in this line is never closed.']));
    assert.deepEqual(
      lines.map(({ receipt }) => receipt),
      ['SK00000000'],
    );
  });

  test('of long lines in UTF-16 is read a few lines at a time', async () => {
    const long = safaricomLines(400).map((line) => line.replace('JANE DOE', '₦'.repeat(60_000)));
    const path = await folder.write('long.csv', Buffer.from(`\ufeff${safaricomStatement(long)}`, 'utf16le'));
    assert.deepEqual(await readInSmallHeap(path), { lines: 400, bad: 0, reasons: [], refused: null });
  });

  test('with NUL bytes is no text, and one behind the first lines is shown in its place', async () => {
    const [first = '', ...rest] = safaricomLines(600);
    const early = safaricomStatement([first.replace('JANE', 'JA\0NE')]);
    await assert.rejects(readStatement(await folder.write('early.csv', early)), { message: /not text/ });
    const text = safaricomStatement([...rest, first.replace('INV0', 'IN\0V0').replace('JANE', 'JA\0NE')]);
    assert.ok(text.indexOf('\0') > 64 * 1024);
    const { lines, problems } = await readStatement(await folder.write('late.csv', text));
    assert.deepEqual(problems, []);
    const line = lines.at(-1);
    assert.equal(lines.length, 600);
    assert.match(line?.raw ?? '', /JA␀NE/);
    const stored = JSON.stringify(lines, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    assert.ok(!stored.includes('\\u0000'), 'nothing that PostgreSQL refuses');
  });

  test('in UTF-16 of either order, cut within a character, or with half a character, loses no line', async () => {
    const text = safaricomStatement(safaricomLines(5));
    const little = Buffer.from(text, 'utf16le');
    const big = Buffer.from(little).swap16();
    const half = Buffer.from(text.replace('JANE', 'J\ud800E'), 'utf16le');
    const variants = {
      little: Buffer.concat([Buffer.from([0xff, 0xfe]), little]),
      big: Buffer.concat([Buffer.from([0xfe, 0xff]), big]),
      bigWithoutMark: big,
      odd: Buffer.concat([little, Buffer.from([0x41])]),
      half,
    };
    for (const [name, content] of Object.entries(variants)) {
      const { lines } = await readStatement(await folder.write(`${name}.csv`, content));
      assert.equal(lines.length, 5, name);
      assert.ok(
        lines.every(({ raw, description }) => raw.isWellFormed() && description.isWellFormed()),
        name,
      );
    }
  });
});

test('amounts and times as long as a row are refused by their length: to read them would take half a minute', () => {
  const long = (text: string) => text.repeat(MAX_ROW_CHARACTERS / 2);
  const times = createLocalTimes({ zone: 'Africa/Kampala', dateOrder: 'dmy', serialDates: 1900 });
  assert.throws(() => times.read(`2026-03-02 12:00${long(' ')}x`), /too long to be a time/);
  assert.throws(() => times.readAs(`02/03/2026${long(' ')}12:00`, 'dd/MM/yyyy HH:mm'), /too long to be a time/);
  assert.throws(() => readFileAmount(`1.${long('0')}1`, '.'), /too long to be an amount/);
  assert.equal(findDateOrder([`13/2/2026 ${long(' ')}`, '2/13/2026'], new Date()), 'mdy');
});

test('lists within lists without end are refused, and a record that does not end is one bad line', async () => {
  const deep = await folder.write('deep.json', Buffer.alloc(4 * MEGABYTE, '['));
  assert.match((await readInSmallHeap(deep)).refused ?? '', /lists within lists \(limit: depth 64\)/);
  const endless = await folder.write('endless.json', `[{"a":"${'x'.repeat(16 * MEGABYTE)}`);
  assert.match((await readInSmallHeap(endless)).refused ?? '', /The file ends within this record/);
});
