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
/** A run of ordinary characters of a string: no quote, backslash, control character or surrogate. */
const PLAIN_RUN = /[^"\\\u0000-\u001f\ud800-\udfff]*/y;
const ESCAPES: Record<string, string> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

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

function parseString(source: JsonSource): string {
  const { text } = source;
  const start = source.at;
  source.at++;
  let value = '';
  for (;;) {
    PLAIN_RUN.lastIndex = source.at;
    const run = PLAIN_RUN.exec(text)?.[0] ?? '';
    value += run;
    source.at += run.length;
    if (source.at >= text.length) fail(source, 'the text ends inside a string', start);
    const code = text.charCodeAt(source.at);
    if (code === 0x22) return advance(source, 1, value);
    if (code === 0x5c) value += parseEscape(source);
    else if (code < 0x20) fail(source, 'a control character inside a string must be escaped');
    else {
      // The decoder only accepts whole pairs, so a surrogate here begins a valid pair.
      value += text.slice(source.at, source.at + 2);
      source.at += 2;
    }
  }
}

function parseEscape(source: JsonSource): string {
  const { text } = source;
  const start = source.at;
  const letter = text.charAt(start + 1);
  const simple = ESCAPES[letter];
  if (simple !== undefined) return advance(source, 2, simple);
  if (letter !== 'u') fail(source, 'unknown escape');
  const first = parseCodeUnit(source);
  if (first === 0) fail(source, 'the character NUL is not allowed', start);
  if (first < 0xd800 || first > 0xdfff) return String.fromCharCode(first);
  if (first > 0xdbff || !text.startsWith('\\u', source.at)) fail(source, 'a lone surrogate is not allowed', start);
  const second = parseCodeUnit(source);
  if (second < 0xdc00 || second > 0xdfff) fail(source, 'a lone surrogate is not allowed', start);
  return String.fromCharCode(first, second);
}

/** The four hexadecimal digits after `\u`. */
function parseCodeUnit(source: JsonSource): number {
  const digits = source.text.slice(source.at + 2, source.at + 6);
  if (!/^[0-9a-fA-F]{4}$/.test(digits)) fail(source, '\\u needs four hexadecimal digits', source.at + 2);
  return advance(source, 6, Number.parseInt(digits, 16));
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
