// JSON lists and JSON lines as records, streamed: one record is held at a time, however long the list.

import { Problem } from '../../platform/errors.ts';
import type { BrokenRow, JsonRecord, RecordRow } from './format.ts';

export const MAX_RECORD_CHARACTERS = 256 * 1024;
/** Lists and objects within each other. Operators have about six. */
const MAX_DEPTH = 64;
/** Where operators have the list: at the top, or in one of these members. */
const LISTS: ReadonlySet<string> = new Set([
  '',
  'data',
  'items',
  'transactions',
  'results',
  'content',
  'data.transactions',
  'data.items',
]);

/** The objects of a list, or of lines. Numbers are texts, as they were written. `number` counts the records. */
export async function* jsonRecords(texts: AsyncIterable<string>): AsyncGenerator<RecordRow | BrokenRow> {
  const splitter = new RecordSplitter();
  let number = 0;
  for await (const text of texts) for (const found of splitter.push(text)) yield readRecord(++number, found);
  const rest = splitter.rest();
  if (rest !== null) yield { number: ++number, reason: 'The file ends within this record.', raw: rest };
}

type Found = { text: string; isCut: boolean };

function readRecord(number: number, { text, isCut }: Found): RecordRow | BrokenRow {
  if (isCut) return { number, reason: `The record is longer than ${MAX_RECORD_CHARACTERS} characters.`, raw: text };
  try {
    return { number, record: parseRecord(text), raw: text };
  } catch {
    return { number, reason: 'The record is not JSON.', raw: text };
  }
}

/** The third argument of a reviver has the text of a number, which a double may not hold; the library does not know it yet. */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

function parseRecord(text: string): JsonRecord {
  const exact: Reviver = (_, value, { source }) => (typeof value === 'number' ? source : value);
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as JsonRecord;
}

type Frame = { isList: boolean; path: string; key: string };

/** Finds where records begin and end, without reading what is in them. */
class RecordSplitter {
  #frames: Frame[] = [];
  #isInText = false;
  #isEscaped = false;
  #lastText = '';
  /** The record that is being read, and how deep it began; null outside of records. */
  #record: { text: string; depth: number; isCut: boolean } | null = null;

  push(text: string): Found[] {
    const found: Found[] = [];
    let start = 0;
    for (let index = 0; index < text.length; index++) {
      const character = text[index] ?? '';
      if (this.#isInText) this.#readText(character);
      else if (character === '"') {
        this.#isInText = true;
        this.#lastText = '';
      } else if (character === ':') this.#nameMember();
      else if (character === '{' || character === '[') {
        if (this.#begins(character)) start = index;
        this.#open(character);
      } else if (character === '}' || character === ']') {
        this.#frames.pop();
        if (this.#record?.depth === this.#frames.length) {
          this.#append(text.slice(start, index + 1));
          found.push({ text: this.#record.text, isCut: this.#record.isCut });
          this.#record = null;
        }
      }
    }
    if (this.#record) this.#append(text.slice(start));
    return found;
  }

  /** What is left of a record that did not end. */
  rest(): string | null {
    return this.#record?.text ?? null;
  }

  #readText(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInText = false;
    else if (this.#lastText.length < 32) this.#lastText += character;
  }

  #nameMember(): void {
    const frame = this.#frames.at(-1);
    if (frame && !frame.isList) frame.key = this.#lastText;
  }

  /** Whether a record begins here. A list in an object at the top shows that the object is no record, but has some. */
  #begins(character: string): boolean {
    const parent = this.#frames.at(-1);
    const isElement = parent?.isList === true && LISTS.has(parent.path) && (this.#record?.depth ?? 0) === 0;
    if (character !== '{' || (parent !== undefined && !isElement)) return false;
    this.#record = { text: '', depth: this.#frames.length, isCut: false };
    return true;
  }

  #open(character: string): void {
    if (this.#frames.length >= MAX_DEPTH)
      throw new Problem('invalid_params', {
        message: `The file is refused: it has lists within lists (limit: depth ${MAX_DEPTH}).`,
      });
    const parent = this.#frames.at(-1);
    const path = parent === undefined || parent.isList ? (parent?.path ?? '') : joined(parent.path, parent.key);
    this.#frames.push({ isList: character === '[', path, key: '' });
  }

  #append(text: string): void {
    if (!this.#record) return;
    this.#record.text += text;
    if (this.#record.text.length <= MAX_RECORD_CHARACTERS) return;
    this.#record.isCut = true;
    this.#record.text = this.#record.text.slice(0, MAX_RECORD_CHARACTERS);
  }
}

const joined = (path: string, key: string) => (path === '' ? key : `${path}.${key}`);
