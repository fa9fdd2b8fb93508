// The first sheet of an XLSX file as rows, streamed.

import type { SaxesTagPlain } from 'saxes';
import type yauzl from 'yauzl';
import type { BrokenRow, CellRow } from './format.ts';
import {
  attribute,
  type Handlers,
  localName,
  openArchive,
  overLimit,
  parseEntry,
  parseSmall,
  parseWhole,
  refuseXlsx,
  XLSX_LIMITS,
  type XlsxArchive,
  type XlsxLimits,
} from './xlsx-archive.ts';

export type XlsxRows = {
  serialDates: 1900 | 1904;
  rows(): AsyncGenerator<CellRow | BrokenRow>;
  close(): void;
};

/** Opens the archive, checks its limits, and reads everything but the sheet. */
export async function openXlsx(path: string, limits: XlsxLimits = XLSX_LIMITS): Promise<XlsxRows> {
  const archive = await openArchive(path, limits);
  try {
    const { sheet, serialDates } = await readWorkbook(archive);
    const strings = await readSharedStrings(archive);
    return { serialDates, rows: () => sheetRows(archive, sheet, strings), close: () => archive.zip.close() };
  } catch (error) {
    archive.zip.close();
    throw error;
  }
}

/** The first sheet that is shown, and how the workbook counts days. */
async function readWorkbook(archive: XlsxArchive): Promise<{ sheet: yauzl.Entry; serialDates: 1900 | 1904 }> {
  let serialDates: 1900 | 1904 = 1900;
  const sheetIds: string[] = [];
  const targets = new Map<string, string>();
  await parseSmall(archive, 'xl/workbook.xml', (tag) => {
    const name = localName(tag.name);
    if (name === 'workbookPr' && /^(?:1|true)$/.test(attribute(tag, 'date1904') ?? '')) serialDates = 1904;
    if (name === 'sheet' && !/hidden/i.test(attribute(tag, 'state') ?? '')) sheetIds.push(attribute(tag, 'r:id') ?? '');
  });
  await parseSmall(archive, 'xl/_rels/workbook.xml.rels', (tag) => {
    if (localName(tag.name) === 'Relationship') targets.set(attribute(tag, 'Id') ?? '', attribute(tag, 'Target') ?? '');
  });
  const target = targets.get(sheetIds[0] ?? '') ?? 'worksheets/sheet1.xml';
  const sheet = archive.entries.get(target.startsWith('/') ? target.slice(1) : `xl/${target}`);
  if (!sheet) throw refuseXlsx('The file is an archive, but has no sheet. Import an XLSX or a CSV file.');
  return { sheet, serialDates };
}

/** Texts that cells share, in one buffer outside the heap: as single strings they would take several times as much. */
class SharedStrings {
  #bytes = Buffer.alloc(64 * 1024);
  #ends: Uint32Array = new Uint32Array(1024);
  #used = 0;
  #count = 0;
  readonly #limits: XlsxLimits;

  constructor(limits: XlsxLimits) {
    this.#limits = limits;
  }

  add(text: string): void {
    const size = Buffer.byteLength(text);
    const { sharedStrings, sharedStringBytes } = this.#limits;
    if (this.#count >= sharedStrings) throw overLimit('it has more shared texts', `${sharedStrings} shared texts`);
    if (this.#used + size > sharedStringBytes)
      throw overLimit('its shared texts are longer', `${sharedStringBytes} bytes of shared texts`);
    if (this.#used + size > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#used + size));
      this.#bytes.copy(larger, 0, 0, this.#used);
      this.#bytes = larger;
    }
    if (this.#count >= this.#ends.length) {
      const more = new Uint32Array(this.#ends.length * 2);
      more.set(this.#ends);
      this.#ends = more;
    }
    this.#used += this.#bytes.write(text, this.#used);
    this.#ends[this.#count++] = this.#used;
  }

  get(index: number): string {
    if (!(index >= 0 && index < this.#count)) return '';
    return this.#bytes.toString('utf8', index === 0 ? 0 : this.#ends[index - 1], this.#ends[index]);
  }
}

async function readSharedStrings(archive: XlsxArchive): Promise<SharedStrings> {
  const strings = new SharedStrings(archive.limits);
  const entry = archive.entries.get('xl/sharedStrings.xml');
  if (!entry) return strings;
  const collector = textCollector(archive.limits);
  const handlers: Handlers = {
    ...collector.handlers,
    close(name) {
      collector.handlers.close(name);
      if (name === 'si') strings.add(collector.take());
    },
  };
  await parseWhole(archive, entry, handlers);
  return strings;
}

/** The text of <t> elements; that of phonetic hints is left out. */
function textCollector({ cellCharacters }: XlsxLimits): { handlers: Handlers; take(): string } {
  let text = '';
  let isIn = false;
  let isHint = false;
  return {
    handlers: {
      open(tag) {
        const name = localName(tag.name);
        if (name === 'rPh') isHint = true;
        isIn = name === 't' && !isHint;
      },
      close(name) {
        if (name === 'rPh') isHint = false;
        if (name === 't') isIn = false;
      },
      text(part) {
        // One character more than is allowed, so that the row can say that it was too long.
        if (isIn && text.length <= cellCharacters) text = (text + part).slice(0, cellCharacters + 1);
      },
    },
    take() {
      const taken = text;
      text = '';
      return taken;
    },
  };
}

type OpenRow = { number: number; cells: string[]; characters: number; problem: string | null };
type OpenCell = { column: number; type: string; value: string };

function sheetRows(
  archive: XlsxArchive,
  sheet: yauzl.Entry,
  strings: SharedStrings,
): AsyncGenerator<CellRow | BrokenRow> {
  let ready: (CellRow | BrokenRow)[] = [];
  let row: OpenRow = { number: 0, cells: [], characters: 0, problem: null };
  let cell: OpenCell = { column: 0, type: '', value: '' };
  let isValue = false;
  const { limits } = archive;
  const inline = textCollector(limits);
  const handlers: Handlers = {
    open(tag) {
      inline.handlers.open(tag);
      const name = localName(tag.name);
      if (name === 'row') {
        row = { number: nextRow(row.number, tag, limits), cells: [], characters: 0, problem: null };
        cell = { column: 0, type: '', value: '' };
      } else if (name === 'c') {
        const column = columnOf(attribute(tag, 'r')) ?? cell.column + 1;
        cell = { column, type: attribute(tag, 't') ?? 'n', value: '' };
      } else if (name === 'v') isValue = true;
    },
    text(text) {
      inline.handlers.text(text);
      if (isValue && cell.value.length <= limits.cellCharacters)
        cell.value = (cell.value + text).slice(0, limits.cellCharacters + 1);
    },
    close(name) {
      inline.handlers.close(name);
      if (name === 'v') isValue = false;
      else if (name === 'c') putCell(row, cell.column, cellText(cell, inline.take(), strings), limits);
      else if (name === 'row') {
        const found = finished(row);
        if (found) ready.push(found);
      }
    },
  };
  return parseEntry(archive, sheet, handlers, () => {
    const taken = ready;
    ready = [];
    return taken;
  });
}

/** The rows of a sheet ascend. A number that does not would hide lines behind the header, or never reach the limit. */
function nextRow(before: number, tag: SaxesTagPlain, { rows }: XlsxLimits): number {
  const given = attribute(tag, 'r');
  const number = given === undefined ? before + 1 : Number(given);
  if (number > rows) throw overLimit('it has more rows', `${rows} rows`);
  if (!Number.isInteger(number) || number <= before)
    throw refuseXlsx(
      `The spreadsheet is refused: after row ${before} it has a row with the number "${given?.slice(0, 20)}".`,
    );
  return number;
}

function cellText({ type, value }: OpenCell, inline: string, strings: SharedStrings): string {
  if (type === 's') return strings.get(Number(value)).trim();
  if (type === 'inlineStr') return inline.trim();
  return type === 'n' ? numberText(value.trim()) : value.trim();
}

/** A number as the spreadsheet shows it, with at most fifteen digits: 0.30000000000000004 was typed as 0.3. */
function numberText(value: string): string {
  if (!/[.eE]/.test(value)) return value;
  const shown = Number(value).toPrecision(15);
  const plain = shown.includes('e') ? String(Number(shown)) : shown;
  return plain.includes('.') ? plain.replace(/0+$/, '').replace(/\.$/, '') : plain;
}

function putCell(row: OpenRow, column: number, text: string, limits: XlsxLimits): void {
  if (column > limits.columns) {
    if (text !== '') row.problem = `The row has more than ${limits.columns} columns.`;
    return;
  }
  if (text.length > limits.cellCharacters) row.problem = `A cell has more than ${limits.cellCharacters} characters.`;
  row.characters += text.length;
  // One text that cells share can fill a row that has a few bytes of its own for each.
  if (row.characters > limits.rowCharacters) {
    row.problem = `The row has more than ${limits.rowCharacters} characters.`;
    return;
  }
  while (row.cells.length < column) row.cells.push('');
  row.cells[column - 1] = text.slice(0, limits.cellCharacters);
}

function finished({ number, cells, problem }: OpenRow): CellRow | BrokenRow | null {
  if (problem === null && cells.every((text) => text === '')) return null;
  const raw = cells.join('\t');
  return problem === null ? { number, cells, raw } : { number, reason: problem, raw };
}

/** "B7" is column 2. */
function columnOf(reference: string | undefined): number | null {
  const letters = /^([A-Z]{1,3})\d+$/.exec(reference ?? '')?.[1];
  if (letters === undefined) return null;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column;
}
