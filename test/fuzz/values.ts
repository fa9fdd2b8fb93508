// Values that break programs, and documents of JSON that can say what JSON.stringify cannot: the same key twice, 1e400, -0.

import type { Random } from '../simulation/random.ts';

/** Numbers as they are written, so that a parser sees these digits. */
export const NUMBERS: readonly string[] = [
  '0',
  '-0',
  '-1',
  '1',
  '0.1',
  '-0.01',
  '1e2',
  '1E+2',
  '100.0',
  '0.1000000000000000055',
  '1e-400',
  '2147483647',
  '2147483648',
  '4294967296',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '99999999999999999999999999999999',
  '1e308',
  '1e400',
  '-1e400',
  'NaN',
  'Infinity',
  '0x10',
  '01',
  '+1',
  '1_000',
  '.5',
  '5.',
];

const DATES: readonly string[] = [
  '2026-02-30',
  '2026-13-01T00:00:00Z',
  '2026-03-02T25:61:00Z',
  '9999-12-31T23:59:60Z',
  '+275760-09-13T00:00:00.000Z',
  '-271821-04-20T00:00:00.000Z',
  '0000-00-00',
  '0001-01-01',
  '1900-01-01',
  '2026-03-02T09:00:00+99:99',
  '-1',
  '1e400',
];

const TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00',
  '\u202eabc\u2066',
  '\u200b',
  '\ufeff',
  '\ufffe',
  'e\u0301',
  '﷽',
  '🇰🇪👩‍👩‍👧',
  '１００',
  '٣٤',
  "'; drop table holders; --",
  '<script>alert(1)</script>',
  '"><img src=x>',
  '#{7*7}',
  '{{7*7}}',
  '../../etc/passwd',
  '..',
  '.',
  '%',
  '%00',
  '%zz',
  '%c0%ae',
  'a\r\nSet-Cookie: a=b',
  '\t',
  '\\',
  '/',
  '//',
  '?',
  '#',
  '&',
  '=',
  '*',
  ';',
  ',',
  '|',
  'null',
  'undefined',
  'true',
  '[object Object]',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'inf',
  'nan',
  'http://127.0.0.1:1/',
  'https://[::1]/',
  'javascript:alert(1)',
  'http://\u0000',
  'ftp://x',
  'https://a@b:99999/',
  'http://[',
  '//evil',
  'a@b',
  '@',
  'a@b.c',
  `${'a'.repeat(250)}@example.org`,
  'UGX',
  'ugx',
  'XXX',
  '11',
  '1,5',
  '1.500,00',
  '1 000',
  '-5',
  '1e3',
];

const LENGTHS = [31, 64, 120, 121, 128, 129, 255, 256, 2_048, 2_049, 9_000];

export function hostileText(random: Random): string {
  const kind = random.int(0, 9);
  if (kind === 0) return random.pick(['a', 'é', '😀', '٣', '\u0301', '"', '\\', ' ']).repeat(random.pick(LENGTHS));
  if (kind === 1) return random.pick(NUMBERS);
  if (kind === 2) return random.pick(DATES);
  if (kind === 3) return random.pick(TEXTS) + random.pick(TEXTS);
  return random.pick(TEXTS);
}

/** A part of a path or a query. Text is encoded as UTF-8, some of it wrongly on purpose. */
export function encodePart(random: Random, text: string): string {
  if (random.chance(0.04))
    return random.pick(['%', '%zz', '%00', '%ed%a0%80', '%ff', '%2e%2e', '%2f', '..', '%252f', '']);
  return encodeURIComponent(text.toWellFormed());
}

/** A document of JSON: `raw` is written as it is, members may repeat. */
export type Document =
  | { readonly raw: string }
  | { readonly items: readonly Document[] }
  | { readonly members: readonly (readonly [string, Document])[] };

export function documentOf(value: unknown): Document {
  if (Array.isArray(value)) return { items: value.map(documentOf) };
  if (typeof value === 'object' && value !== null)
    return { members: Object.entries(value).map(([key, each]) => [key, documentOf(each)] as const) };
  return { raw: JSON.stringify(value ?? null) };
}

export function writeDocument(document: Document): string {
  if ('raw' in document) return document.raw;
  if ('items' in document) return `[${document.items.map(writeDocument).join(',')}]`;
  return `{${document.members.map(([key, value]) => `${JSON.stringify(key)}:${writeDocument(value)}`).join(',')}}`;
}

function hostileValue(random: Random): Document {
  const kind = random.int(0, 11);
  if (kind === 0) return { raw: random.pick(['null', 'true', 'false']) };
  if (kind === 1) return { items: [] };
  if (kind === 2) return { members: [] };
  if (kind === 3) return { raw: `${'['.repeat(random.pick([5, 31, 33, 200]))}${']'.repeat(5)}` };
  if (kind === 4) return { members: [[random.pick(['__proto__', 'constructor', 'length', '']), { raw: '1' }]] };
  if (kind === 5) return { raw: random.pick(['"\\ud800"', '"\\u0000"', '"\\x"', '"\t"', '""', '"\\u202e"']) };
  return kind < 9 ? { raw: random.pick(NUMBERS) } : { raw: JSON.stringify(hostileText(random)) };
}

/** One change somewhere in the document. */
export function mutate(random: Random, document: Document): Document {
  if ('raw' in document || random.chance(0.12)) return hostileValue(random);
  if ('items' in document) {
    const at = random.int(0, document.items.length);
    return { items: document.items.toSpliced(at, 1, mutate(random, document.items[at] ?? { raw: '1' })) };
  }
  if (document.members.length === 0) return { members: [[hostileText(random), hostileValue(random)]] };
  const at = random.int(0, document.members.length - 1);
  const [key, value] = document.members[at] ?? ['', { raw: '1' }];
  const { members } = document;
  switch (random.int(0, 9)) {
    case 0:
      return { members: members.toSpliced(at, 1) };
    case 1:
      return { members: [...members, [key, random.chance(0.5) ? value : hostileValue(random)]] };
    case 2:
      return { members: members.toSpliced(at, 1, [random.pick([key.toUpperCase(), ` ${key}`, `${key}\0`]), value]) };
    case 3:
      return { members: [...members, [hostileText(random), hostileValue(random)]] };
    case 4:
      return { members: members.toSpliced(at, 1, [key, { items: [value] }]) };
    default:
      return { members: members.toSpliced(at, 1, [key, mutate(random, value)]) };
  }
}

/** Changes of the text itself: what is no longer JSON, or no longer UTF-8. */
export function damage(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text);
  const at = random.int(0, bytes.length);
  switch (random.int(0, 4)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([Buffer.from('\ufeff'), bytes]);
    case 2:
      return Buffer.concat([bytes, Buffer.from(random.pick([',', '}', ' {}', '\0', '//']))]);
    case 3:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from([random.pick([0xff, 0xc0, 0x00, 0x80])]),
        bytes.subarray(at),
      ]);
    default:
      return Buffer.from(text, random.chance(0.5) ? 'utf16le' : 'latin1');
  }
}
