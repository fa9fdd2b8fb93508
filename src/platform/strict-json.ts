// The only JSON parser for requests. It reads the bytes once, and its result is used for the signature, for validation and
// for storage, so that what is verified is what is executed. It rejects what lenient parsers accept: repeated keys (in any
// spelling), bad UTF-8, a byte order mark, lone surrogates, NUL, keys that reach prototypes, deep nesting, too many members,
// and numbers whose digits a double would lose.

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

const MAX_DEPTH = 32;
const MAX_MEMBERS = 256;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** Characters of a string that stand for themselves. Surrogates are among them: the decoder only accepts whole pairs. */
const PLAIN_RUN = /[^"\\\u0000-\u001f]*/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** The letters after a backslash that stand for one character. */
const SIMPLE_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What is wrong with the text, and where (a character position, from 0). */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  readonly position: number;
  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

export function parseStrictJson(bytes: Uint8Array): JsonValue {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new JsonError('the bytes are not valid UTF-8', countValidCharacters(bytes));
  }
  if (text.startsWith('\ufeff')) throw new JsonError('a byte order mark is not allowed', 0);
  return parseText(text);
}

/** How many characters can be decoded before the first bad byte, by binary search. */
function countValidCharacters(bytes: Uint8Array): number {
  let good = 0;
  let bad = bytes.length + 1;
  let characters = 0;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    try {
      // A stream may end inside a character, so only a byte that is wrong in itself throws.
      const prefix = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
      characters = prefix.decode(bytes.subarray(0, middle), { stream: true }).length;
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return characters;
}

/** The text and how far it has been read. */
type JsonSource = { readonly text: string; at: number; members: number };

function parseText(text: string): JsonValue {
  const source: JsonSource = { text, at: 0, members: 0 };
  const value = parseValue(source, 0);
  skipSpace(source);
  if (source.at < text.length) fail(source, 'there is more text after the value');
  return value;
}

function fail(source: JsonSource, message: string, position = source.at): never {
  throw new JsonError(message, position);
}

function skipSpace(source: JsonSource): void {
  for (;;) {
    const code = source.text.charCodeAt(source.at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    source.at++;
  }
}

function advance<T extends JsonValue>(source: JsonSource, length: number, value: T): T {
  source.at += length;
  return value;
}

function countMember(source: JsonSource): void {
  if (++source.members > MAX_MEMBERS) fail(source, `more than ${MAX_MEMBERS} members`);
}

function parseValue(source: JsonSource, depth: number): JsonValue {
  skipSpace(source);
  const { text, at } = source;
  if (at >= text.length) fail(source, 'the text ends too early');
  const character = text.charAt(at);
  if (character === '{') return parseObject(source, depth + 1);
  if (character === '[') return parseArray(source, depth + 1);
  if (character === '"') return parseString(source);
  if (character === '-' || (character >= '0' && character <= '9')) return parseNumber(source);
  if (text.startsWith('true', at)) return advance(source, 4, true);
  if (text.startsWith('false', at)) return advance(source, 5, false);
  if (text.startsWith('null', at)) return advance(source, 4, null);
  return fail(source, `unexpected ${JSON.stringify(character)}`);
}

function parseObject(source: JsonSource, depth: number): JsonObject {
  if (depth > MAX_DEPTH) fail(source, `nested deeper than ${MAX_DEPTH}`);
  const { text } = source;
  const object: JsonObject = {};
  source.at++;
  skipSpace(source);
  if (text.charAt(source.at) === '}') return advance(source, 1, object);
  for (;;) {
    const key = parseKey(source, object);
    skipSpace(source);
    if (text.charAt(source.at) !== ':') fail(source, 'expected ":"');
    source.at++;
    object[key] = parseValue(source, depth);
    skipSpace(source);
    const next = text.charAt(source.at);
    if (next === '}') return advance(source, 1, object);
    if (next !== ',') fail(source, 'expected "," or "}"');
    source.at++;
  }
}

function parseKey(source: JsonSource, object: JsonObject): string {
  skipSpace(source);
  const start = source.at;
  if (source.text.charAt(start) !== '"') fail(source, 'expected a key in quotes');
  const key = parseString(source);
  if (FORBIDDEN_KEYS.has(key)) fail(source, `the key ${JSON.stringify(key)} is not allowed`, start);
  if (Object.hasOwn(object, key)) fail(source, `the key ${JSON.stringify(key)} appears twice`, start);
  countMember(source);
  return key;
}

function parseArray(source: JsonSource, depth: number): JsonValue[] {
  if (depth > MAX_DEPTH) fail(source, `nested deeper than ${MAX_DEPTH}`);
  const { text } = source;
  const array: JsonValue[] = [];
  source.at++;
  skipSpace(source);
  if (text.charAt(source.at) === ']') return advance(source, 1, array);
  for (;;) {
    countMember(source);
    array.push(parseValue(source, depth));
    skipSpace(source);
    const next = text.charAt(source.at);
    if (next === ']') return advance(source, 1, array);
    if (next !== ',') fail(source, 'expected "," or "]"');
    source.at++;
  }
}

/** Finds the end of the string and checks every escape on the way; the text is copied once, not piece by piece. */
function parseString(source: JsonSource): string {
  const { text } = source;
  const start = source.at;
  let hasEscapes = false;
  // Most strings are one run; only what follows an escape is read character by character.
  PLAIN_RUN.lastIndex = start + 1;
  PLAIN_RUN.test(text);
  for (let at = PLAIN_RUN.lastIndex; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      source.at = at + 1;
      // Every escape was checked, so the built-in parser only has to replace them.
      return hasEscapes ? (JSON.parse(text.slice(start, at + 1)) as string) : text.slice(start + 1, at);
    }
    if (code < 0x20) fail(source, 'a control character inside a string must be escaped', at);
    if (code === BACKSLASH) {
      hasEscapes = true;
      at += escapeLength(source, at) - 1;
    }
  }
  return fail(source, 'the text ends inside a string', start);
}

/** The length of the escape at this position. */
function escapeLength(source: JsonSource, at: number): number {
  const { text } = source;
  const letter = text.charCodeAt(at + 1);
  if (letter !== LETTER_U) {
    if (!SIMPLE_ESCAPES.has(letter)) fail(source, 'unknown escape', at);
    return 2;
  }
  const first = codeUnitAt(source, at);
  if (first === 0) fail(source, 'the character NUL is not allowed', at);
  if (first < 0xd800 || first > 0xdfff) return 6;
  if (first > 0xdbff || !text.startsWith('\\u', at + 6)) fail(source, 'a lone surrogate is not allowed', at);
  const second = codeUnitAt(source, at + 6);
  if (second < 0xdc00 || second > 0xdfff) fail(source, 'a lone surrogate is not allowed', at);
  return 12;
}

/** The four hexadecimal digits of the `\u` at this position. */
function codeUnitAt(source: JsonSource, at: number): number {
  let value = 0;
  for (let index = at + 2; index < at + 6; index++) {
    const digit = hexDigit(source.text.charCodeAt(index));
    if (digit < 0) fail(source, '\\u needs four hexadecimal digits', at + 2);
    value = value * 16 + digit;
  }
  return value;
}

/** The value of a hexadecimal digit, or -1. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  // Upper case becomes lower case.
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function parseNumber(source: JsonSource): number {
  const start = source.at;
  NUMBER.lastIndex = start;
  const written = NUMBER.exec(source.text)?.[0];
  if (written === undefined) return fail(source, 'not a number');
  source.at += written.length;
  if (/[0-9.eE+-]/.test(source.text.charAt(source.at))) fail(source, 'not a number', start);
  const value = Number(written);
  // Up to 15 characters without an exponent are always exact; with one, very small numbers lose digits too.
  const mayLose = written.length > 15 || /[eE]/.test(written);
  if (!Number.isFinite(value) || (mayLose && significantDigits(written) !== significantDigits(String(value))))
    fail(source, 'the number has more digits than can be kept exactly; send it as a string', start);
  return value === 0 ? 0 : value;
}

/** A decimal number as its bare digits and the place of the point: equal texts mean equal values. */
function significantDigits(written: string): string {
  const match = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(written);
  const whole = match?.[1] ?? '';
  const digits = whole + (match?.[2] ?? '');
  const withoutLeading = digits.replace(/^0+/, '');
  if (withoutLeading === '') return '0';
  const point = whole.length + Number(match?.[3] ?? 0) - (digits.length - withoutLeading.length);
  return `${withoutLeading.replace(/0+$/, '')}@${point}`;
}
