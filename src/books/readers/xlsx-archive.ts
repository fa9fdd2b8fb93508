// An XLSX file as an archive of XML entries, each read as a stream. What the archive claims, what it unpacks to and what the XML makes
// a parser hold are limited, each limit by its name: a file of a few kilobytes can otherwise fill any memory.

import type { Readable } from 'node:stream';
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import yauzl from 'yauzl';
import { Problem } from '../../platform/errors.ts';
import { MAX_COLUMNS, MAX_ROW_CHARACTERS } from './csv-rows.ts';

export const XLSX_LIMITS = {
  entries: 1_000,
  /** Of one entry, unpacked: a sheet of a million rows has about 800 MB. */
  inflatedBytes: 2 * 1024 ** 3,
  /** How many times larger than packed. Statements have less than 40. */
  ratio: 200,
  /** Below this size a ratio says nothing: a sheet of empty cells is small anyway. */
  ratioMattersFrom: 16 * 1024 * 1024,
  rows: 1_048_576,
  columns: MAX_COLUMNS,
  rowCharacters: MAX_ROW_CHARACTERS,
  sharedStrings: 4_000_000,
  sharedStringBytes: 64 * 1024 * 1024,
  cellCharacters: 4_096,
  smallEntryBytes: 4 * 1024 * 1024,
  /** Elements within each other. A sheet has about eight. */
  depth: 64,
  /** Of one text, tag or comment, which the parser holds whole. The longest text of a spreadsheet, escaped, has a fifth of it. */
  pieceCharacters: 1024 * 1024,
} as const;
export type XlsxLimits = { readonly [name in keyof typeof XLSX_LIMITS]: number };

export type XlsxArchive = {
  readonly zip: yauzl.ZipFile;
  readonly limits: XlsxLimits;
  readonly entries: ReadonlyMap<string, yauzl.Entry>;
};

export const refuseXlsx = (sentence: string) => new Problem('invalid_params', { message: sentence });
export const overLimit = (what: string, limit: string) =>
  refuseXlsx(`The spreadsheet is refused: ${what} (limit: ${limit}). Save it as CSV and import that.`);

/** Opens the archive and checks what it claims of itself. */
export async function openArchive(path: string, limits: XlsxLimits): Promise<XlsxArchive> {
  const zip = await openZip(path);
  try {
    return { zip, limits, entries: await listEntries(zip, limits) };
  } catch (error) {
    zip.close();
    throw error;
  }
}

function openZip(path: string): Promise<yauzl.ZipFile> {
  return new Promise((resolve, reject) => {
    yauzl.open(path, { lazyEntries: true, autoClose: false, validateEntrySizes: true }, (error, zip) => {
      if (error) reject(refuseXlsx(`The spreadsheet cannot be opened: ${error.message}.`));
      else resolve(zip);
    });
  });
}

/** Every entry by its name. The sizes are what the archive claims; more than that is refused while it is unpacked. */
function listEntries(zip: yauzl.ZipFile, limits: XlsxLimits): Promise<Map<string, yauzl.Entry>> {
  const entries = new Map<string, yauzl.Entry>();
  const names = new Set<string>();
  return new Promise((resolve, reject) => {
    if (zip.entryCount > limits.entries)
      return reject(overLimit(`it has ${zip.entryCount} entries`, `${limits.entries} entries`));
    zip.on('error', (error: Error) => reject(refuseXlsx(`The spreadsheet cannot be read: ${error.message}.`)));
    zip.on('end', () => resolve(entries));
    zip.on('entry', (entry: yauzl.Entry) => {
      const problem = problemOf(entry, names, limits);
      if (problem) return reject(problem);
      entries.set(entry.fileName, entry);
      zip.readEntry();
    });
    zip.readEntry();
  });
}

function problemOf(entry: yauzl.Entry, names: Set<string>, limits: XlsxLimits): Problem | null {
  const { fileName, compressedSize, uncompressedSize } = entry;
  const { inflatedBytes, ratio, ratioMattersFrom } = limits;
  // Another program may take the other one, and show a person what we do not read. Names differ by more than capital letters.
  const name = fileName.toLowerCase();
  if (names.has(name)) return refuseXlsx(`The spreadsheet is refused: it has two entries named ${fileName}.`);
  names.add(name);
  if (uncompressedSize > inflatedBytes)
    return overLimit(`${fileName} unpacks to ${uncompressedSize} bytes`, `${inflatedBytes} unpacked bytes`);
  if (uncompressedSize > ratioMattersFrom && uncompressedSize > compressedSize * ratio)
    return overLimit(`${fileName} unpacks to more than ${ratio} times its size`, `ratio ${ratio}`);
  return null;
}

function openEntry(zip: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error) reject(refuseXlsx(`${entry.fileName} cannot be unpacked: ${error.message}.`));
      else resolve(stream);
    });
  });
}

export type Handlers = { open(tag: SaxesTagPlain): void; close(name: string): void; text(text: string): void };

export const localName = (name: string) => name.slice(name.indexOf(':') + 1);
export const attribute = (tag: SaxesTagPlain, name: string) => tag.attributes[name];
const NOTHING = () => [];

/** Reads an entry as XML; after each chunk `drain` may hand on what was found. */
export async function* parseEntry<T>(
  { zip, limits }: XlsxArchive,
  entry: yauzl.Entry,
  handlers: Handlers,
  drain: () => Iterable<T>,
): AsyncGenerator<T> {
  const parser = new LimitedParser(entry.fileName, handlers, limits);
  const decoder = new TextDecoder();
  const stream = await openEntry(zip, entry);
  try {
    for await (const chunk of stream) {
      parser.write(decoder.decode(chunk as Buffer, { stream: true }));
      yield* drain();
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw refuseXlsx(`${entry.fileName} cannot be unpacked: ${message}.`);
  } finally {
    stream.destroy();
  }
  parser.end();
  yield* drain();
}

/** Reads an entry for its tags only. */
export async function parseSmall(
  archive: XlsxArchive,
  name: string,
  open: (tag: SaxesTagPlain) => void,
): Promise<void> {
  const entry = archive.entries.get(name);
  if (!entry) return;
  const { smallEntryBytes } = archive.limits;
  if (entry.uncompressedSize > smallEntryBytes)
    throw overLimit(`${entry.fileName} is large`, `${smallEntryBytes} bytes`);
  await parseWhole(archive, entry, { open, close: () => undefined, text: () => undefined });
}

export async function parseWhole(archive: XlsxArchive, entry: yauzl.Entry, handlers: Handlers): Promise<void> {
  for await (const _ of parseEntry(archive, entry, handlers, NOTHING));
}

/** The parser itself has no limits: it holds the tags that are open, and each text, tag and comment until its end. */
class LimitedParser {
  readonly #parser = new SaxesParser();
  readonly #name: string;
  readonly #limits: XlsxLimits;
  #depth = 0;
  /** Whether a piece ended in this chunk, and how many characters came since the chunk in which the last one did. */
  #hasEnded = false;
  #sinceEnd = 0;

  constructor(name: string, handlers: Handlers, limits: XlsxLimits) {
    this.#name = name;
    this.#limits = limits;
    const ended = () => {
      this.#hasEnded = true;
    };
    this.#parser.on('error', (error) => this.#fail(error.message));
    // A document type can define texts that grow without end, and no spreadsheet has one.
    this.#parser.on('doctype', () => this.#fail('it has a document type.'));
    this.#parser.on('comment', ended);
    this.#parser.on('processinginstruction', ended);
    this.#parser.on('opentag', (tag) => {
      ended();
      if (++this.#depth > limits.depth)
        throw overLimit(`${name} has elements within elements`, `depth ${limits.depth}`);
      handlers.open(tag);
    });
    this.#parser.on('closetag', (tag) => {
      ended();
      this.#depth--;
      handlers.close(localName(tag.name));
    });
    const onText = (text: string) => {
      ended();
      handlers.text(text);
    };
    this.#parser.on('text', onText);
    this.#parser.on('cdata', onText);
  }

  write(chunk: string): void {
    this.#hasEnded = false;
    this.#parser.write(chunk);
    this.#sinceEnd = this.#hasEnded ? chunk.length : this.#sinceEnd + chunk.length;
    const { pieceCharacters } = this.#limits;
    if (this.#sinceEnd > pieceCharacters)
      throw overLimit(`a text or tag of ${this.#name} does not end`, `${pieceCharacters} characters`);
  }

  end(): void {
    this.#parser.close();
  }

  #fail(message: string): never {
    throw refuseXlsx(`${this.#name} is not valid XML: ${message}`);
  }
}
