// What the one JSON parser refuses (with the position), what it keeps, and that on everything else
// it agrees with the platform's own parser.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { JsonError, type JsonValue, parseStrictJson, readStrictJson } from './strict-json.ts';

const parse = (text: string): JsonValue => parseStrictJson(Buffer.from(text));
const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
const members = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}`;

function assertRefused(bytes: Uint8Array, message: RegExp, position: number): void {
  assert.throws(
    () => parseStrictJson(bytes),
    (error) => {
      assert.ok(error instanceof JsonError, String(error));
      assert.match(error.message, message);
      assert.equal(error.position, position, `position of "${error.message}"`);
      return true;
    },
  );
}

const REFUSED: [name: string, text: string, message: RegExp, position: number][] = [
  ['a key twice', '{"amount":1,"amount":2}', /"amount" appears twice/, 12],
  ['a key twice, once escaped', '{"amount":1,"\\u0061mount":2}', /"amount" appears twice/, 12],
  ['a key twice, deep inside', '{"p":[{"a":1,"b":{"x":1,"\\u0078":1}}]}', /"x" appears twice/, 24],
  ['the empty key twice', '{"":1,"":2}', /"" appears twice/, 6],
  ['a byte order mark', '\ufeff{}', /byte order mark/, 0],
  ['a byte order mark inside', '{\ufeff}', /expected a key/, 1],
  ['a lone high surrogate', '["a\\ud800"]', /lone surrogate/, 3],
  ['a lone low surrogate', '["\\udc00"]', /lone surrogate/, 2],
  ['a high surrogate before a character', '["\\ud800x"]', /lone surrogate/, 2],
  ['a high surrogate before another escape', '["\\ud800\\u0041"]', /lone surrogate/, 2],
  ['two high surrogates', '["\\ud83d\\ud83d"]', /lone surrogate/, 2],
  ['a lone surrogate in a key', '{"\\udfff":1}', /lone surrogate/, 2],
  ['an escaped NUL', '["\\u0000"]', /NUL/, 2],
  ['a raw NUL in a string', '["\u0000"]', /control character/, 2],
  ['a raw NUL outside', '\u0000', /unexpected/, 0],
  ['a raw line break in a string', '["a\nb"]', /control character/, 3],
  ['__proto__', '{"__proto__":{}}', /"__proto__" is not allowed/, 1],
  ['__proto__, escaped', '{"a":{"\\u005f_proto__":1}}', /"__proto__" is not allowed/, 6],
  ['constructor', '{"constructor":{"prototype":1}}', /"constructor" is not allowed/, 1],
  ['prototype', '{"a":{"prototype":1}}', /"prototype" is not allowed/, 6],
  ['33 arrays deep', nested(33, '[', ']'), /nested deeper than 32/, 32],
  ['100,000 arrays deep', nested(100_000, '[', ']'), /nested deeper than 32/, 32],
  ['33 objects deep', '{"a":'.repeat(33), /nested deeper than 32/, 160],
  ['257 members', members(257), /more than 256 members/, members(256).length - 1 + ',"k256"'.length],
  ['90,000 members', members(90_000), /more than 256 members/, members(256).length - 1 + ',"k256"'.length],
  ['257 elements', `[${'0,'.repeat(256)}0]`, /more than 256 members/, 513],
  ['2^53 + 1', '[9007199254740993]', /more digits/, 1],
  ['1e400', '{"n":1e400}', /more digits/, 5],
  ['-1e400', '[-1e400]', /more digits/, 1],
  ['1e-400, which would vanish', '[1e-400]', /more digits/, 1],
  ['digits beyond a double', '[0.1000000000000000055]', /more digits/, 1],
  ['short, yet a subnormal rounds it', '[1.23e-322]', /more digits/, 1],
  ['leading zero', '[01]', /not a number/, 1],
  ['leading plus', '[+1]', /unexpected "\+"/, 1],
  ['a bare minus', '[-]', /not a number/, 1],
  ['a bare point', '[1.]', /not a number/, 1],
  ['no whole part', '[.5]', /unexpected "\."/, 1],
  ['hexadecimal', '[0x10]', /expected "," or "\]"/, 2],
  ['NaN', '[NaN]', /unexpected "N"/, 1],
  ['Infinity', '[Infinity]', /unexpected "I"/, 1],
  ['-Infinity', '[-Infinity]', /not a number/, 1],
  ['full-width digits', '[１００]', /unexpected "１"/, 1],
  ['a comma in a number', '{"a":1,000}', /expected a key/, 7],
  ['nothing', '', /ends too early/, 0],
  ['only spaces', '  ', /ends too early/, 2],
  ['an open object', '{"a":1', /expected "," or "}"/, 6],
  ['an open string', '{"a', /ends inside a string/, 1],
  ['a trailing backslash', '["\\', /unknown escape/, 2],
  ['a trailing comma', '[1,]', /unexpected "\]"/, 3],
  ['a trailing comma in an object', '{"a":1,}', /expected a key/, 7],
  ['single quotes', "{'a':1}", /expected a key/, 1],
  ['a comment', '{}//', /more text after/, 2],
  ['two values', '{}{}', /more text after/, 2],
  ['an unknown escape', '["\\x41"]', /unknown escape/, 2],
  ['a short \\u', '["\\u12"]', /four hexadecimal/, 4],
  ['a word cut short', '[tru]', /unexpected "t"/, 1],
  ['a no-break space', '\u00a0{}', /unexpected/, 0],
];

const BAD_BYTES: [name: string, bytes: number[], position: number][] = [
  ['a stray continuation byte', [0x22, 0x61, 0x80, 0x22], 2],
  ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22], 1],
  ['an overlong NUL', [0x22, 0xc0, 0x80, 0x22], 1],
  ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22], 1],
  ['a character above U+10FFFF', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], 1],
  ['a character cut off at the end', [0x22, 0xc3, 0xa9, 0xe2, 0x82], 2],
  ['UTF-16', [...Buffer.from('\ufeff{"a":1}', 'utf16le')], 0],
  ['Latin-1', [...Buffer.from('{"name":"José"}', 'latin1')], 12],
];

describe('strict JSON', () => {
  for (const [name, text, message, position] of REFUSED)
    test(`refuses ${name}`, () => assertRefused(Buffer.from(text), message, position));

  for (const [name, bytes, position] of BAD_BYTES)
    test(`refuses bytes that are not UTF-8: ${name}`, () =>
      assertRefused(Uint8Array.from(bytes), /not valid UTF-8/, position));

  test('takes what stands just inside the limits', () => {
    assert.doesNotThrow(() => parse(nested(32, '[', ']')));
    assert.equal(Object.keys(parse(members(256)) as object).length, 256);
    for (const text of ['{"toString":1}', '{"hasOwnProperty":1}', '{"proto":1}', '"\\ud83d\\ude00"', '"\u007f\u2028"'])
      assert.deepEqual(parse(text), JSON.parse(text));
  });

  test('every spelling of zero is plain zero', () => {
    for (const text of ['0', '-0', '-0.0', '0e5', '0E-999', '0.00000000000000000000', '-0.0000000000000000e+400'])
      assert.ok(Object.is(parse(text), 0), text);
  });

  test('agrees with JSON.parse on every valid text, however it is spaced and escaped', () => {
    const key = fc
      .string({ unit: 'grapheme', maxLength: 8 })
      .filter((text) => !/\0|^(__proto__|constructor|prototype)$/.test(text));
    const string = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !text.includes('\0'));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 5, withCrossShrink: true }, tie('leaf'), tie('array'), tie('object')),
      leaf: fc.oneof(
        string,
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
      ),
      array: fc.array(tie('value'), { maxLength: 4 }),
      object: fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(value, fc.integer({ min: 0, max: 4 }), fc.boolean(), (input, indent, escaped) => {
        const plain = JSON.stringify(input, null, indent);
        const text = escaped ? plain.replace(/[^\x00-\x7f]/g, toEscape) : plain;
        const parsed = parse(` ${text}\t`);
        assert.deepEqual(JSON.stringify(parsed), JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  test('a key means the same whatever stood in its place in the text before', () => {
    const spelling = fc.constantFrom(
      'a',
      'ab',
      'abc',
      '\\u0061',
      'a\\"',
      '\\u0062',
      'b',
      '',
      'é',
      '\\u00e9',
      'a"b',
      'prototyp',
      'prototype',
    );
    const object = fc
      .array(spelling, { maxLength: 4 })
      .map((keys) => `{${keys.map((key, index) => `"${key}":{"${key}":${index}}`).join(',')}}`);
    const reading = (text: string): unknown => {
      try {
        const { value, members } = readStrictJson(Buffer.from(text));
        return { value, members };
      } catch (error) {
        return (error as Error).message;
      }
    };
    fc.assert(
      fc.property(object, object, (before, text) => {
        reading(members(8));
        const afterOthers = reading(text);
        reading(before);
        assert.deepEqual(reading(text), afterOthers);
      }),
      { numRuns: 500 },
    );
  });

  test('any bytes at all give a value or a error with a position inside the text', () => {
    const text = fc.string({
      unit: fc.constantFrom(...Array.from('{}[]":,\\u0d8e1.-+ \ntruefalsn\u0000é😀')),
      maxLength: 30,
    });
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 30 }),
      text.map((value) => Buffer.from(value)),
    );
    fc.assert(
      fc.property(bytes, (input) => {
        try {
          const value = parseStrictJson(input);
          assert.deepEqual(JSON.stringify(value), JSON.stringify(JSON.parse(Buffer.from(input).toString())));
        } catch (error) {
          assert.ok(error instanceof JsonError, String(error));
          assert.ok(error.position >= 0 && error.position <= input.length);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('a number with millions of digits is read to its end, in time that grows with its length alone', () => {
    const zeros = `'0'.repeat(3_000_000)`;
    const program = `
      import { parseStrictJson } from ${JSON.stringify(new URL('./strict-json.ts', import.meta.url))};
      for (const text of [\`[0.1\${${zeros}}1]\`, \`[0.1\${${zeros}}]\`])
        try {
          process.stdout.write(JSON.stringify(parseStrictJson(Buffer.from(text))));
        } catch (error) {
          process.stdout.write(error.message);
        }
    `;
    // In a process that is given up: the square of this length would be hours.
    const read = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 60_000 });
    assert.match(String(read.stdout), /^the number has more digits than can be kept exactly.*\[0\.1\]$/);
  });

  test('digits are never lost: a number is kept exactly or refused', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), minLength: 1, maxLength: 22 });
    const written = fc
      .tuple(fc.boolean(), digits, fc.option(digits), fc.option(fc.integer({ min: -340, max: 330 })))
      .map(([minus, whole, fraction, exponent]) => {
        const start = whole.replace(/^0+(?=\d)/, '');
        return `${minus ? '-' : ''}${start}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : `e${exponent}`}`;
      });
    fc.assert(
      fc.property(written, (text) => {
        const kept = sameDecimal(text, String(Number(text)));
        try {
          assert.equal(parse(text), Number(text) + 0);
          assert.ok(kept, `${text} was taken although a double holds ${Number(text)}`);
        } catch (error) {
          if (!(error instanceof JsonError)) throw error;
          assert.ok(!kept, `${text} was refused although a double holds it`);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Exact comparison of two decimal texts as integers scaled by the same power of ten. */
function sameDecimal(left: string, right: string): boolean {
  const scaled = (text: string): bigint | null => {
    const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text);
    if (!match) return null;
    const [, minus = '', whole = '', fraction = '', exponent = '0'] = match;
    return BigInt(`${whole}${fraction}`) * (minus ? -1n : 1n) * 10n ** BigInt(400 + Number(exponent) - fraction.length);
  };
  const exact = scaled(left);
  return exact !== null && exact === scaled(right);
}
