// CSV in and out: what a spreadsheet wrote is read, and what we write it does not run.

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { changeColumns, parseCsv, writeCsv } from './csv.ts';

const cellsOf = (text: string, maxRows: number) => parseCsv(text, maxRows)?.map(({ cells }) => cells) ?? null;

describe('CSV', () => {
  test('quotes, line ends of every kind, a byte order mark and empty lines', () => {
    const expected = [
      ['a', 'b'],
      ['1, "one"', 'x'],
    ];
    assert.deepEqual(cellsOf('\uFEFFa,b\r\n\r\n"1, ""one"""\t, x \r\n,\n', 10), expected);
  });

  test('semicolons and tabs separate where the heading has no comma', () => {
    assert.deepEqual(cellsOf('amount;currency\n1500,00;XOF', 10), [
      ['amount', 'currency'],
      ['1500,00', 'XOF'],
    ]);
    assert.deepEqual(cellsOf('amount\tcurrency\n1500,00\t\t XOF', 10), [
      ['amount', 'currency'],
      ['1500,00', '', 'XOF'],
    ]);
  });

  test('a quote that never ends and too many rows are refused, not cut off', () => {
    assert.equal(parseCsv('a,"b', 10), null);
    assert.equal(parseCsv('a\nb\nc', 2), null);
    assert.equal(parseCsv('a\nb', 2)?.length, 2);
  });

  test('empty rows are counted like any, and too many of them are refused', () => {
    const rowsOf = (text: string) => parseCsv(text, 10)?.map(({ row }) => row) ?? null;
    assert.deepEqual(rowsOf('\n\na,b\r\n \n\n1,2\n,\n"x\ny",4\n\n'), [3, 6, 8]);
    assert.deepEqual(rowsOf(`a,b\n${'\n'.repeat(60_000)}1,2`), [1, 60_002], 'lines without anything cost nothing');
    assert.deepEqual(rowsOf(`a,b\n${',\n'.repeat(10_000)}1,2`), [1, 10_002]);
    assert.equal(rowsOf(`a,b\n${',\n'.repeat(60_000)}1,2`), null);
    // Each row of another width costs as much as hundreds of others.
    assert.equal(rowsOf(`a,b\n${',,\n'.repeat(11)}1,2`), null);
    assert.deepEqual(rowsOf(`a,b\n${',,\n'.repeat(10)}1,2`), [1, 12]);
  });

  test('formulas become text; numbers stay as they are', () => {
    assert.equal(
      writeCsv([['=1+1', '@x', '-cmd', '+254 712', '-12.50', 7n, 8, null, '']]),
      `"'=1+1","'@x","'-cmd","+254 712","-12.50",7,8,,\r\n`,
    );
  });

  test('security S20: every text is quoted, and no spelling of a formula is run', () => {
    assert.equal(writeCsv([['a', 'a;=1+1;b']]), `"a","a;'=1+1;b"\r\n`);
    for (const text of ['\n=1+1', '\t=1+1', '\r@x', '  =1+1', '＝1+1', '＋1+1', '－cmd', '＠x', '\n＝1', '-1\n=2'])
      assert.match(writeCsv([[text]]), /^"'/, JSON.stringify(text));
    assert.equal(writeCsv([['-12.50', 'plain - text', 'x=1']]), '"-12.50","plain - text","x=1"\r\n');
  });

  test('columns of a stream are changed by their name, wherever it is cut', async () => {
    const file = 'id,text,id\n1,"a ""b"",\nc",x\n2,,y\n';
    const changes = { text: (cell: string) => cell.toUpperCase() };
    for (let at = 0; at < file.length; at++) {
      const parts = [file.slice(0, at), file.slice(at)].map((part) => Buffer.from(part));
      const changed = await Readable.from(changeColumns(Readable.from(parts), changes)).toArray();
      assert.equal(Buffer.concat(changed).toString(), 'id,text,id\n1,"A ""B"",\nC",x\n2,,y\n');
    }
  });

  test('a stream that breaks off is an error', async () => {
    const broken = Readable.from(
      (async function* () {
        yield Buffer.from('id\n1\n');
        throw new Error('the connection broke');
      })(),
    );
    await assert.rejects(Readable.from(changeColumns(broken, {})).toArray(), /the connection broke/);
  });

  test('what is written reads back as itself', () => {
    // Space around a cell is trimmed, so the cells here begin and end with a letter.
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', 'é') }).map((text) => `a${text}a`);
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 }), (rows) => {
        const table = [['x', 'y'], ...rows];
        assert.deepEqual(cellsOf(writeCsv(table), 100), table);
      }),
    );
  });
});
