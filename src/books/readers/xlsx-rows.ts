// The first sheet of an XLSX file as rows, streamed. What an archive claims and what it inflates to are limited, each limit by its
// name: a file of a few kilobytes can otherwise fill any memory.

import type { Readable } from 'node:stream';
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import yauzl from 'yauzl';
import { Problem } from '../../platform/errors.ts';
import { MAX_COLUMNS } from './csv-rows.ts';
import type { BrokenRow, CellRow } from './format.ts';

export const XLSX_LIMITS = {
  entries: 1_000,
  /** Of one entry, unpacked: a sheet of a million rows has about 800 MB. */
  inflatedBytes: 2 * 1024 ** 3,
  /** How many times larger than packed. Statements have less than 40. */
  ratio: 200,
  rows: 1_048_576,
  sharedStrings: 4_000_000,
  sharedStringBytes: 64 * 1024 * 1024,
  cellCharacters: 4_096,
  smallEntryBytes: 4 * 1024 * 1024,
} as const;
/** Below this size a ratio says nothing: a sheet of empty cells is small anyway. */
const RATIO_MATTERS_FROM = 16 * 1024 * 1024;

export type XlsxRows = {
  serialDates: 1900 | 1904;
  rows(): AsyncGenerator<CellRow | BrokenRow>;
  close(): void;
};

const refuse = (sentence: string) => new Problem('invalid_params', { message: sentence });
const overLimit = (what: string, limit: string) =>
  refuse(`The spreadsheet is refused: ${what} (limit: ${limit}). Save it as CSV and import that.`);

/** Opens the archive, checks its limits, and reads everything but the sheet. */
export async function openXlsx(path: string): Promise<XlsxRows> {
  const zip = await openZip(path);
  try {
    const entries = await listEntries(zip);
    const { sheet, serialDates } = await readWorkbook(zip, entries);
    const strings = await readSharedStrings(zip, entries.get('xl/sharedStrings.xml'));
    return { serialDates, rows: () => sheetRows(zip, sheet, strings), close: () => zip.close() };
  } catch (error) {
    zip.close();
    throw error;
  }
}

function openZip(path: string): Promise<yauzl.ZipFile> {
  return new Promise((resolve, reject) => {
    yauzl.open(path, { lazyEntries: true, autoClose: false, validateEntrySizes: true }, (error, zip) => {
      if (error) reject(refuse(`The spreadsheet cannot be opened: ${error.message}.`));
      else resolve(zip);
    });
  });
}

/** Every entry by its name. The sizes are what the archive claims; more than that is refused while it is unpacked. */
function listEntries(zip: yauzl.ZipFile): Promise<Map<string, yauzl.Entry>> {
  const entries = new Map<string, yauzl.Entry>();
  return new Promise((resolve, reject) => {
    if (zip.entryCount > XLSX_LIMITS.entries)
      reject(overLimit(`it has ${zip.entryCount} entries`, `${XLSX_LIMITS.entries} entries`));
    zip.on('error', (error: Error) => reject(refuse(`The spreadsheet cannot be read: ${error.message}.`)));
    zip.on('end', () => resolve(entries));
    zip.on('entry', (entry: yauzl.Entry) => {
      const problem = problemOf(entry);
      if (problem) return reject(problem);
      entries.set(entry.fileName, entry);
      zip.readEntry();
    });
    zip.readEntry();
  });
}

function problemOf({ fileName, compressedSize, uncompressedSize }: yauzl.Entry): Problem | null {
  const { inflatedBytes, ratio } = XLSX_LIMITS;
  if (uncompressedSize > inflatedBytes)
    return overLimit(`${fileName} unpacks to ${uncompressedSize} bytes`, `${inflatedBytes} unpacked bytes`);
  if (uncompressedSize > RATIO_MATTERS_FROM && uncompressedSize > compressedSize * ratio)
    return overLimit(`${fileName} unpacks to more than ${ratio} times its size`, `ratio ${ratio}`);
  return null;
}

function openEntry(zip: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) reject(refuse(`${entry.fileName} cannot be unpacked: ${error.message}.`));
      else resolve(stream);
    });
  });
}

type Handlers = { open(tag: SaxesTagPlain): void; close(name: string): void; text(text: string): void };

/** Reads an entry as XML; after each chunk `drain` may hand on what was found. */
async function* parseEntry<T>(
  zip: yauzl.ZipFile,
  entry: yauzl.Entry,
  handlers: Handlers,
  drain: () => Iterable<T>,
): AsyncGenerator<T> {
  const parser = new SaxesParser();
  const fail = (error: Error) => {
    throw refuse(`${entry.fileName} is not valid XML: ${error.message}`);
  };
  parser.on('error', fail);
  // A document type can define texts that grow without end, and no spreadsheet has one.
  parser.on('doctype', () => fail(new Error('it has a document type.')));
  parser.on('opentag', (tag) => handlers.open(tag));
  parser.on('closetag', (tag) => handlers.close(localName(tag.name)));
  parser.on('text', (text) => handlers.text(text));
  const decoder = new TextDecoder();
  const stream = await openEntry(zip, entry);
  try {
    for await (const chunk of stream) {
      parser.write(decoder.decode(chunk as Buffer, { stream: true }));
      yield* drain();
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw refuse(`${entry.fileName} cannot be unpacked: ${error instanceof Error ? error.message : String(error)}.`);
  } finally {
    stream.destroy();
  }
  parser.close();
  yield* drain();
}

const localName = (name: string) => name.slice(name.indexOf(':') + 1);
const attribute = (tag: SaxesTagPlain, name: string) => tag.attributes[name];
const NOTHING = () => [];

async function parseSmall(
  zip: yauzl.ZipFile,
  entry: yauzl.Entry | undefined,
  open: (tag: SaxesTagPlain) => void,
): Promise<void> {
  if (!entry) return;
  if (entry.uncompressedSize > XLSX_LIMITS.smallEntryBytes)
    throw overLimit(`${entry.fileName} is large`, `${XLSX_LIMITS.smallEntryBytes} bytes`);
  const handlers = { open, close: () => undefined, text: () => undefined };
  for await (const _ of parseEntry(zip, entry, handlers, NOTHING));
}

/** The first sheet that is shown, and how the workbook counts days. */
async function readWorkbook(
  zip: yauzl.ZipFile,
  entries: ReadonlyMap<string, yauzl.Entry>,
): Promise<{ sheet: yauzl.Entry; serialDates: 1900 | 1904 }> {
  let serialDates: 1900 | 1904 = 1900;
  const sheetIds: string[] = [];
  const targets = new Map<string, string>();
  await parseSmall(zip, entries.get('xl/workbook.xml'), (tag) => {
    const name = localName(tag.name);
    if (name === 'workbookPr' && /^(?:1|true)$/.test(attribute(tag, 'date1904') ?? '')) serialDates = 1904;
    if (name === 'sheet' && !/hidden/i.test(attribute(tag, 'state') ?? '')) sheetIds.push(attribute(tag, 'r:id') ?? '');
  });
  await parseSmall(zip, entries.get('xl/_rels/workbook.xml.rels'), (tag) => {
    if (localName(tag.name) === 'Relationship') targets.set(attribute(tag, 'Id') ?? '', attribute(tag, 'Target') ?? '');
  });
  const target = targets.get(sheetIds[0] ?? '') ?? 'worksheets/sheet1.xml';
  const sheet = entries.get(target.startsWith('/') ? target.slice(1) : `xl/${target}`);
  if (!sheet) throw refuse('The file is an archive, but has no sheet. Import an XLSX or a CSV file.');
  return { sheet, serialDates };
}

/** Texts that cells share, in one buffer outside the heap: as single strings they would take several times as much. */
class SharedStrings {
  #bytes = Buffer.alloc(64 * 1024);
  #ends: Uint32Array = new Uint32Array(1024);
  #used = 0;
  #count = 0;

  add(text: string): void {
    const size = Buffer.byteLength(text);
    const { sharedStrings, sharedStringBytes } = XLSX_LIMITS;
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

async function readSharedStrings(zip: yauzl.ZipFile, entry: yauzl.Entry | undefined): Promise<SharedStrings> {
  const strings = new SharedStrings();
  if (!entry) return strings;
  const collector = textCollector();
  const handlers: Handlers = {
    ...collector.handlers,
    close(name) {
      collector.handlers.close(name);
      if (name === 'si') strings.add(collector.take());
    },
  };
  for await (const _ of parseEntry(zip, entry, handlers, NOTHING));
  return strings;
}

/** The text of <t> elements; that of phonetic hints is left out. */
function textCollector(): { handlers: Handlers; take(): string } {
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
        if (isIn && text.length <= XLSX_LIMITS.cellCharacters) text += part;
      },
    },
    take() {
      const taken = text;
      text = '';
      return taken;
    },
  };
}

type OpenRow = { number: number; cells: string[]; problem: string | null };

function sheetRows(
  zip: yauzl.ZipFile,
  sheet: yauzl.Entry,
  strings: SharedStrings,
): AsyncGenerator<CellRow | BrokenRow> {
  let ready: (CellRow | BrokenRow)[] = [];
  let row: OpenRow = { number: 0, cells: [], problem: null };
  let cell = { column: 0, type: '', value: '' };
  let isValue = false;
  const inline = textCollector();
  const handlers: Handlers = {
    open(tag) {
      inline.handlers.open(tag);
      const name = localName(tag.name);
      if (name === 'row') {
        const number = Number(attribute(tag, 'r') ?? row.number + 1);
        if (!(number <= XLSX_LIMITS.rows)) throw overLimit('it has more rows', `${XLSX_LIMITS.rows} rows`);
        row = { number, cells: [], problem: null };
        cell = { column: 0, type: '', value: '' };
      } else if (name === 'c') {
        const column = columnOf(attribute(tag, 'r')) ?? cell.column + 1;
        cell = { column, type: attribute(tag, 't') ?? 'n', value: '' };
      } else if (name === 'v') isValue = true;
    },
    text(text) {
      inline.handlers.text(text);
      if (isValue && cell.value.length <= XLSX_LIMITS.cellCharacters) cell.value += text;
    },
    close(name) {
      inline.handlers.close(name);
      if (name === 'v') isValue = false;
      else if (name === 'c') putCell(row, cell.column, cellText(cell, inline.take(), strings));
      else if (name === 'row') {
        const found = finished(row);
        if (found) ready.push(found);
      }
    },
  };
  return parseEntry(zip, sheet, handlers, () => {
    const taken = ready;
    ready = [];
    return taken;
  });
}

function cellText({ type, value }: { type: string; value: string }, inline: string, strings: SharedStrings): string {
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

function putCell(row: OpenRow, column: number, text: string): void {
  if (column > MAX_COLUMNS) {
    if (text !== '') row.problem = `The row has more than ${MAX_COLUMNS} columns.`;
    return;
  }
  if (text.length > XLSX_LIMITS.cellCharacters)
    row.problem = `A cell has more than ${XLSX_LIMITS.cellCharacters} characters.`;
  while (row.cells.length < column) row.cells.push('');
  row.cells[column - 1] = text.slice(0, XLSX_LIMITS.cellCharacters);
}

function finished({ number, cells, problem }: OpenRow): CellRow | BrokenRow | null {
  if (cells.every((text) => text === '')) return null;
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
