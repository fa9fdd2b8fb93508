// CSV of any origin as rows, streamed. A quote that is never closed costs one line, not the rest of the file: that is why this is
// not the parser of platform/csv.ts.

import { createReadStream } from 'node:fs';
import type { BrokenRow, CellRow } from './format.ts';

export type TextEncodingName = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';
export type Delimiter = ',' | ';' | '\t' | '|';

export const MAX_ROW_CHARACTERS = 64 * 1024;
export const MAX_COLUMNS = 200;
/** A cell in quotes may have line breaks, but not this many. */
const MAX_LINES_OF_ROW = 20;
const CHUNK_BYTES = 256 * 1024;

/** The characters of a file, decoded. */
export async function* fileText(path: string, encoding: TextEncodingName): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }))
    yield decoder.decode(chunk as Buffer, { stream: true });
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

type Line = { number: number; text: string; isEnded: boolean; isCut: boolean };

/** Lines that end with CR LF, LF or CR. One that is too long is cut, so that it is never held whole. */
async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<Line> {
  let number = 0;
  let held = '';
  let isCut = false;
  let afterReturn = false;
  for await (const text of texts) {
    let start = 0;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code !== 10 && code !== 13) {
        afterReturn = false;
        continue;
      }
      const isSecondOfPair = code === 10 && afterReturn;
      afterReturn = code === 13;
      if (!isSecondOfPair) {
        const whole = held + text.slice(start, index);
        const cut = isCut || whole.length > MAX_ROW_CHARACTERS;
        yield { number: ++number, text: whole.slice(0, MAX_ROW_CHARACTERS), isEnded: true, isCut: cut };
        held = '';
        isCut = false;
      }
      start = index + 1;
    }
    held += text.slice(start);
    if (held.length > MAX_ROW_CHARACTERS) {
      isCut = true;
      held = held.slice(0, MAX_ROW_CHARACTERS);
    }
  }
  if (held !== '') yield { number: ++number, text: held, isEnded: false, isCut };
}

/** The rows of a file that are not empty. */
export async function* csvRows(
  texts: AsyncIterable<string>,
  delimiter: Delimiter,
): AsyncGenerator<CellRow | BrokenRow> {
  let waiting: Line[] = [];
  let widest = 0;
  const take = (isEnd: boolean): (CellRow | BrokenRow)[] => {
    const rows: (CellRow | BrokenRow)[] = [];
    while (waiting.length > 0) {
      const { row, used } = firstRow(waiting, delimiter, isEnd, widest);
      if (used === 0) break;
      if (row && 'cells' in row) widest = Math.max(widest, row.cells.length);
      if (row) rows.push(row);
      waiting = waiting.slice(used);
    }
    return rows;
  };
  for await (const line of linesOf(texts)) {
    waiting.push(line);
    yield* take(false);
  }
  yield* take(true);
}

/** The row that begins with the first line, and how many lines it has; none where it needs lines that are still to come. */
function firstRow(
  lines: readonly Line[],
  delimiter: Delimiter,
  isEnd: boolean,
  widest: number,
): { row: CellRow | BrokenRow | null; used: number } {
  const [first] = lines;
  if (!first) return { row: null, used: 0 };
  const { number } = first;
  const broken = (reason: string) => ({ row: { number, reason, raw: first.text }, used: 1 });
  if (first.isCut) return broken(`The line is longer than ${MAX_ROW_CHARACTERS} characters.`);
  if (first.text.trim() === '') return { row: null, used: 1 };
  let raw = '';
  for (const [index, line] of lines.entries()) {
    raw = index === 0 ? line.text : `${raw}\n${line.text}`;
    const cells = splitCells(raw, delimiter, index > 0);
    if (cells === null) continue;
    if (cells.length > MAX_COLUMNS) return broken(`The line has more than ${MAX_COLUMNS} columns.`);
    // A file that was cut somewhere ends within a line; what is left of that line is not what the operator wrote.
    if (!line.isEnded && cells.length < widest) return broken('The file ends within this line.');
    return { row: cells.every((cell) => cell === '') ? null : { number, cells, raw }, used: index + 1 };
  }
  if (isEnd || lines.length >= MAX_LINES_OF_ROW || raw.length > MAX_ROW_CHARACTERS)
    return broken('A quote in this line is never closed.');
  return { row: null, used: 0 };
}

/**
 * The cells of a row, trimmed; null where a quote is open. A quote within a cell that does not begin with one is a character. With
 * `strict`, nothing may follow a closing quote: so a quote that opens by mistake does not take the lines up to the next one.
 */
export function splitCells(text: string, delimiter: Delimiter, strict = false): string[] | null {
  if (!text.includes('"')) return text.split(delimiter).map((cell) => cell.trim());
  const cells: string[] = [];
  let index = 0;
  while (index <= text.length) {
    const start = index + (/^[ \u00a0]*/.exec(text.slice(index, index + 20))?.[0].length ?? 0);
    if (text[start] === '"') {
      let cell = '';
      let from = start + 1;
      for (;;) {
        const quote = text.indexOf('"', from);
        if (quote === -1) return null;
        cell += text.slice(from, quote);
        from = quote + 1;
        if (text[from] !== '"') break;
        cell += '"';
        from++;
      }
      const end = text.indexOf(delimiter, from);
      const after = text.slice(from, end === -1 ? text.length : end);
      if (strict && after.trim() !== '') return null;
      cells.push((cell + after).trim());
      index = end === -1 ? text.length + 1 : end + 1;
    } else {
      const end = text.indexOf(delimiter, index);
      cells.push(text.slice(index, end === -1 ? text.length : end).trim());
      index = end === -1 ? text.length + 1 : end + 1;
    }
  }
  return cells;
}

/** The sign that splits most of the first lines into the same number of cells, two at least. */
export function findDelimiter(head: string): Delimiter {
  const lines = head
    .split(/\r\n|\n|\r/)
    .slice(0, 50)
    .filter((line) => line.trim() !== '');
  const scored = ([',', ';', '\t', '|'] as const).map((delimiter) => {
    const counts = new Map<number, number>();
    for (const line of lines) {
      const cells = splitCells(line, delimiter)?.length ?? 1;
      if (cells > 1) counts.set(cells, (counts.get(cells) ?? 0) + 1);
    }
    const best = Math.max(0, ...[...counts].map(([cells, count]) => count * 100 + cells));
    return { delimiter, best };
  });
  return scored.reduce((left, right) => (right.best > left.best ? right : left)).delimiter;
}
