// The only JSON parser for requests. It reads the bytes once, and its result is used for the signature, for validation and
// for storage, so that what is verified is what is executed. It rejects what lenient parsers accept: repeated keys (in any
// spelling), bad UTF-8, a byte order mark, lone surrogates, NUL, keys that reach prototypes, deep nesting, too many members,
// and numbers whose digits a double would lose.
//
// The canonical text of RFC 8785, which is what callers sign, is made on the way: most strings are canonical as they were sent.

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
const MINUS = 0x2d;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const ZERO = 0x30;
const NINE = 0x39;
/** Up to here a loop is faster than a regular expression. */
const SHORT_STRING = 64;
/** So many digits are exact as a double. */
const EXACT_DIGITS = 15;
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

/** A value, and the canonical texts of its members where it is an object: `["amount", '"amount":1000']`, in canonical order. */
export type CanonicalReading = { value: JsonValue; members: readonly CanonicalMember[] };
export type CanonicalMember = readonly [name: string, text: string];

export function parseStrictJson(bytes: Uint8Array): JsonValue {
  return readStrictJson(bytes).value;
}

export function readStrictJson(bytes: Uint8Array): CanonicalReading {
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

/**
 * The keys of texts before, in the order in which they stood there, quotes included. Programs send the same ones in the same order, so a
 * key is compared with the one that stood in its place before it is read. Each was read once and found good, and is canonical as written.
 */
const usualKeys: { readonly key: string; readonly written: string }[] = [];
const MOST_USUAL_KEYS = 32;
/** A key that is kept may keep the text that it is a part of. */
const LONGEST_USUAL_TEXT = 4_096;

/** The text, how far it has been read, and the canonical text of the value that was read last. */
type JsonSource = {
  readonly text: string;
  at: number;
  members: number;
  /** Keys so far. */
  keys: number;
  canonical: string;
  /** Of the outermost object, once it has been read. */
  outermost: readonly CanonicalMember[];
};

function parseText(text: string): CanonicalReading {
  const source: JsonSource = { text, at: 0, members: 0, keys: 0, canonical: '', outermost: [] };
  const value = parseValue(source, 0);
  skipSpace(source);
  if (source.at < text.length) fail(source, 'there is more text after the value');
  return { value, members: source.outermost };
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

/** A value that is written in one way only; `left`: how much of it is still to be read. */
function literal<T extends JsonValue>(source: JsonSource, written: string, value: T, left = written.length): T {
  source.at += left;
  source.canonical = written;
  return value;
}

function countMember(source: JsonSource): void {
  if (++source.members > MAX_MEMBERS) fail(source, `more than ${MAX_MEMBERS} members`);
}

function parseValue(source: JsonSource, depth: number): JsonValue {
  skipSpace(source);
  const { text, at } = source;
  if (at >= text.length) fail(source, 'the text ends too early');
  const code = text.charCodeAt(at);
  if (code === QUOTE) return parseString(source);
  if (code === MINUS || isDigit(code)) return parseNumber(source);
  if (code === OPEN_OBJECT) return parseObject(source, depth + 1);
  if (code === OPEN_ARRAY) return parseArray(source, depth + 1);
  if (text.startsWith('true', at)) return literal(source, 'true', true);
  if (text.startsWith('false', at)) return literal(source, 'false', false);
  if (text.startsWith('null', at)) return literal(source, 'null', null);
  return fail(source, `unexpected ${JSON.stringify(text.charAt(at))}`);
}

function parseObject(source: JsonSource, depth: number): JsonObject {
  if (depth > MAX_DEPTH) fail(source, `nested deeper than ${MAX_DEPTH}`);
  const { text } = source;
  const object: JsonObject = {};
  const members: CanonicalMember[] = [];
  source.at++;
  skipSpace(source);
  if (text.charCodeAt(source.at) === CLOSE_OBJECT) return literal(source, '{}', object, 1);
  for (;;) {
    const key = parseKey(source, object);
    const canonicalKey = source.canonical;
    skipSpace(source);
    if (text.charCodeAt(source.at) !== COLON) fail(source, 'expected ":"');
    source.at++;
    object[key] = parseValue(source, depth);
    members.push([key, `${canonicalKey}:${source.canonical}`]);
    skipSpace(source);
    const next = text.charCodeAt(source.at);
    if (next !== COMMA && next !== CLOSE_OBJECT) fail(source, 'expected "," or "}"');
    source.at++;
    if (next === CLOSE_OBJECT) break;
  }
  sortMembers(members);
  source.canonical = joinMembers(members);
  if (depth === 1) source.outermost = members;
  return object;
}

/** By the UTF-16 code units of their names. A few members, often sorted already: inserting beats the general sort. */
function sortMembers(members: CanonicalMember[]): void {
  for (let index = 1; index < members.length; index++) {
    const member = members[index] as CanonicalMember;
    let place = index;
    for (let before = members[place - 1]; before && before[0] > member[0]; before = members[place - 1])
      members[place--] = before;
    members[place] = member;
  }
}

/** The canonical text of the object with these members, or with some of them. */
export function joinMembers(members: readonly CanonicalMember[], without?: string): string {
  let text = '';
  for (const [name, member] of members) if (name !== without) text += text === '' ? member : `,${member}`;
  return `{${text}}`;
}

function parseKey(source: JsonSource, object: JsonObject): string {
  skipSpace(source);
  const start = source.at;
  if (source.text.charCodeAt(start) !== QUOTE) fail(source, 'expected a key in quotes');
  const key = readUsualKey(source) ?? readKey(source);
  source.keys++;
  if (Object.hasOwn(object, key)) fail(source, `the key ${JSON.stringify(key)} appears twice`, start);
  countMember(source);
  return key;
}

/** The key that stood in this place before, if it stands there again. */
function readUsualKey(source: JsonSource): string | null {
  const usual = usualKeys[source.keys];
  if (usual === undefined || !source.text.startsWith(usual.written, source.at)) return null;
  source.at += usual.written.length;
  source.canonical = usual.written;
  return usual.key;
}

function readKey(source: JsonSource): string {
  const { text, at: start } = source;
  const key = parseString(source);
  if (FORBIDDEN_KEYS.has(key)) fail(source, `the key ${JSON.stringify(key)} is not allowed`, start);
  const isUsual = source.keys <= usualKeys.length && source.keys < MOST_USUAL_KEYS && text.length <= LONGEST_USUAL_TEXT;
  // One without escapes: its end is the first quote.
  if (isUsual && source.at === start + key.length + 2) usualKeys[source.keys] = { key, written: source.canonical };
  return key;
}

function parseArray(source: JsonSource, depth: number): JsonValue[] {
  if (depth > MAX_DEPTH) fail(source, `nested deeper than ${MAX_DEPTH}`);
  const { text } = source;
  const array: JsonValue[] = [];
  const elements: string[] = [];
  source.at++;
  skipSpace(source);
  if (text.charCodeAt(source.at) === CLOSE_ARRAY) return literal(source, '[]', array, 1);
  for (;;) {
    countMember(source);
    array.push(parseValue(source, depth));
    elements.push(source.canonical);
    skipSpace(source);
    const next = text.charCodeAt(source.at);
    if (next !== COMMA && next !== CLOSE_ARRAY) fail(source, 'expected "," or "]"');
    source.at++;
    if (next === CLOSE_ARRAY) break;
  }
  source.canonical = `[${elements.join(',')}]`;
  return array;
}

/** Finds the end of the string and checks every escape on the way; the text is copied once, not piece by piece. */
function parseString(source: JsonSource): string {
  const { text } = source;
  const start = source.at;
  let hasEscapes = false;
  for (let at = plainEnd(text, start + 1); at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      source.at = at + 1;
      if (!hasEscapes) {
        source.canonical = text.slice(start, at + 1);
        return text.slice(start + 1, at);
      }
      // Every escape was checked, so the built-in parser only has to replace them, and writes them in the canonical way.
      const value = JSON.parse(text.slice(start, at + 1)) as string;
      source.canonical = JSON.stringify(value);
      return value;
    }
    if (code < 0x20) fail(source, 'a control character inside a string must be escaped', at);
    if (code === BACKSLASH) {
      hasEscapes = true;
      at += escapeLength(source, at) - 1;
    }
  }
  return fail(source, 'the text ends inside a string', start);
}

/** Where the first character is that does not stand for itself. Short strings are read here, the rest of a long one by the expression. */
function plainEnd(text: string, start: number): number {
  const end = Math.min(text.length, start + SHORT_STRING);
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE || code === BACKSLASH || code < 0x20) return at;
  }
  PLAIN_RUN.lastIndex = end;
  PLAIN_RUN.test(text);
  return PLAIN_RUN.lastIndex;
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

const isDigit = (code: number) => code >= ZERO && code <= NINE;

function parseNumber(source: JsonSource): number {
  const value = parseShortInteger(source) ?? parseAnyNumber(source);
  source.canonical = String(value);
  return value;
}

/** What most numbers are: digits without a sign, a point or an exponent. Null: it is something else. */
function parseShortInteger(source: JsonSource): number | null {
  const { text, at: start } = source;
  let value = 0;
  let at = start;
  for (let code = text.charCodeAt(at); isDigit(code); code = text.charCodeAt(++at)) value = value * 10 + (code - ZERO);
  const digits = at - start;
  const next = text.charCodeAt(at);
  const ends = next === COMMA || next === CLOSE_OBJECT || next === CLOSE_ARRAY;
  if (!ends || digits === 0 || digits > EXACT_DIGITS || (digits > 1 && text.charCodeAt(start) === ZERO)) return null;
  source.at = at;
  return value;
}

function parseAnyNumber(source: JsonSource): number {
  const start = source.at;
  NUMBER.lastIndex = start;
  const written = NUMBER.exec(source.text)?.[0];
  if (written === undefined) return fail(source, 'not a number');
  source.at += written.length;
  if (/[0-9.eE+-]/.test(source.text.charAt(source.at))) fail(source, 'not a number', start);
  const value = Number(written);
  // Up to 15 characters without an exponent are always exact; with one, very small numbers lose digits too.
  const mayLose = written.length > EXACT_DIGITS || /[eE]/.test(written);
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
  // No expression: one that looks for zeros at the end begins anew at every zero, and a stranger may send thousands.
  let end = withoutLeading.length;
  while (withoutLeading.charCodeAt(end - 1) === ZERO) end--;
  return `${withoutLeading.slice(0, end)}@${point}`;
}
