// The one JSON parser of requests. It reads bytes once, and what it answers is used for the signature,
// for validation and for storage alike, so nobody can make us verify one thing and execute another.
// It refuses what lenient parsers let through: repeated keys (in any spelling), bad UTF-8, a byte order
// mark, lone surrogates, NUL, keys that reach prototypes, deep nesting, too many members, and numbers
// whose digits a double would lose.

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

const MAX_DEPTH = 32;
const MAX_MEMBERS = 256;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** A run of string characters that need no thought: no quote, backslash, control character or surrogate. */
const PLAIN_RUN = /[^"\\\u0000-\u001f\ud800-\udfff]*/y;
const ESCAPES: Record<string, string> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What is wrong with a text and where (a character position, from 0). */
export class JsonError extends Error {
  readonly position: number;
  constructor(message: string, position: number) {
    super(message);
    this.name = 'JsonFault';
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

/** How many characters can be decoded before the first bad byte: halving finds it in a few passes. */
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

function parseText(text: string): JsonValue {
  let at = 0;
  let members = 0;

  function fail(message: string, position = at): never {
    throw new JsonError(message, position);
  }

  function skipSpace(): void {
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      at++;
    }
  }

  function countMember(): void {
    if (++members > MAX_MEMBERS) fail(`more than ${MAX_MEMBERS} members`);
  }

  function parseValue(depth: number): JsonValue {
    skipSpace();
    if (at >= text.length) fail('the text ends too early');
    const character = text.charAt(at);
    if (character === '{') return parseObject(depth + 1);
    if (character === '[') return parseArray(depth + 1);
    if (character === '"') return parseString();
    if (character === '-' || (character >= '0' && character <= '9')) return parseNumber();
    if (text.startsWith('true', at)) return advance(4, true);
    if (text.startsWith('false', at)) return advance(5, false);
    if (text.startsWith('null', at)) return advance(4, null);
    return fail(`unexpected ${JSON.stringify(character)}`);
  }

  function advance<T extends JsonValue>(length: number, value: T): T {
    at += length;
    return value;
  }

  function parseObject(depth: number): JsonObject {
    if (depth > MAX_DEPTH) fail(`nested deeper than ${MAX_DEPTH}`);
    const object: JsonObject = {};
    at++;
    skipSpace();
    if (text.charAt(at) === '}') return advance(1, object);
    for (;;) {
      skipSpace();
      const keyAt = at;
      if (text.charAt(at) !== '"') fail('expected a key in quotes');
      const key = parseString();
      if (FORBIDDEN_KEYS.has(key)) fail(`the key ${JSON.stringify(key)} is not allowed`, keyAt);
      if (Object.hasOwn(object, key)) fail(`the key ${JSON.stringify(key)} stands twice`, keyAt);
      countMember();
      skipSpace();
      if (text.charAt(at) !== ':') fail('expected ":"');
      at++;
      object[key] = parseValue(depth);
      skipSpace();
      const next = text.charAt(at);
      if (next === '}') return advance(1, object);
      if (next !== ',') fail('expected "," or "}"');
      at++;
    }
  }

  function parseArray(depth: number): JsonValue[] {
    if (depth > MAX_DEPTH) fail(`nested deeper than ${MAX_DEPTH}`);
    const array: JsonValue[] = [];
    at++;
    skipSpace();
    if (text.charAt(at) === ']') return advance(1, array);
    for (;;) {
      countMember();
      array.push(parseValue(depth));
      skipSpace();
      const next = text.charAt(at);
      if (next === ']') return advance(1, array);
      if (next !== ',') fail('expected "," or "]"');
      at++;
    }
  }

  function parseString(): string {
    const start = at;
    at++;
    let value = '';
    for (;;) {
      PLAIN_RUN.lastIndex = at;
      const run = PLAIN_RUN.exec(text)?.[0] ?? '';
      value += run;
      at += run.length;
      if (at >= text.length) fail('the text ends inside a string', start);
      const code = text.charCodeAt(at);
      if (code === 0x22) {
        at++;
        return value;
      }
      if (code === 0x5c) value += parseEscape();
      else if (code < 0x20) fail('a control character inside a string must be escaped');
      else {
        // The decoder only lets whole pairs through, so a surrogate here begins a valid pair.
        value += text.slice(at, at + 2);
        at += 2;
      }
    }
  }

  function parseEscape(): string {
    const start = at;
    const letter = text.charAt(at + 1);
    const simple = ESCAPES[letter];
    if (simple !== undefined) return advance(2, simple);
    if (letter !== 'u') fail('unknown escape');
    const first = parseHex(at + 2);
    at += 6;
    if (first === 0) fail('the character NUL is not allowed', start);
    if (first < 0xd800 || first > 0xdfff) return String.fromCharCode(first);
    if (first > 0xdbff || text.slice(at, at + 2) !== '\\u') fail('a lone surrogate is not allowed', start);
    const second = parseHex(at + 2);
    at += 6;
    if (second < 0xdc00 || second > 0xdfff) fail('a lone surrogate is not allowed', start);
    return String.fromCharCode(first, second);
  }

  function parseHex(position: number): number {
    const digits = text.slice(position, position + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) fail('\\u needs four hexadecimal digits', position);
    return Number.parseInt(digits, 16);
  }

  function parseNumber(): number {
    const start = at;
    NUMBER.lastIndex = at;
    const written = NUMBER.exec(text)?.[0];
    if (written === undefined) return fail('not a number');
    at += written.length;
    if (/[0-9.eE+-]/.test(text.charAt(at))) fail('not a number', start);
    const value = Number(written);
    // Up to 15 characters without an exponent are always kept; with one, very small numbers lose digits too.
    const mayLose = written.length > 15 || /[eE]/.test(written);
    if (!Number.isFinite(value) || (mayLose && significantDigits(written) !== significantDigits(String(value))))
      fail('the number has more digits than can be kept exactly; send it as a string', start);
    return value === 0 ? 0 : value;
  }

  const value = parseValue(0);
  skipSpace();
  if (at < text.length) fail('there is more text after the value');
  return value;
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
