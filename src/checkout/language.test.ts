// Languages: which one is chosen, how money and times are written, and that every translation is complete.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Language, loadCatalog } from '../catalog/catalog.ts';
import { FAILURE_CODES } from '../catalog/failures.ts';
import { preferredLanguage } from '../platform/accept-language.ts';
import { createLocale, LANGUAGE_CODES, LANGUAGES } from './language.ts';

const catalog = loadCatalog();
/** Non-breaking spaces as plain ones. */
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

describe('the language of a payer', () => {
  const headers: [string | undefined, Language | null][] = [
    [undefined, null],
    ['', null],
    ['fr', 'fr'],
    ['fr-SN,fr;q=0.9,en;q=0.8', 'fr'],
    ['de,sw;q=0.5,en;q=0.4', 'sw'],
    ['en;q=0.2,pt-MZ;q=0.9', 'pt'],
    ['en;q=0,fr;q=0.1', 'fr'],
    ['zh-CN,zh', null],
    [`${'x,'.repeat(5_000)}fr`, null],
  ];
  for (const [header, language] of headers)
    test(`Accept-Language "${(header ?? 'none').slice(0, 40)}" is read as ${language ?? 'nothing we speak'}`, () =>
      assert.equal(preferredLanguage(header, LANGUAGE_CODES), language));
});

test('money is written as its country writes it', () => {
  const shown = [...catalog.linkCountries.values()].map(({ country }) => {
    const locale = createLocale(country.languages[0] ?? 'en', country);
    return `${country.iso} ${plain(locale.money(250_000n, country.currency))} | ${plain(locale.money(2_550n, country.currency))}`;
  });
  assert.deepEqual(shown, [
    'KE Ksh 2 500 | Ksh 25.50',
    'BJ 2 500 F CFA | 25,50 F CFA',
    'CI 2 500 F CFA | 25,50 F CFA',
    'CM 2 500 FCFA | 25,50 FCFA',
    'SN 2 500 F CFA | 25,50 F CFA',
    'TZ TSh 2 500 | TSh 25.50',
    'UG USh 2 500 | USh 25.50',
    'ZM K 2 500 | K 25.50',
    'SL Le 2 500 | Le 25.50',
    'GH GH₵2 500 | GH₵25.50',
    'NG ₦2 500 | ₦25.50',
  ]);
});

test('the largest amount keeps its last digit', () => {
  const kenya = catalog.countries.get('KE') ?? null;
  assert.equal(plain(createLocale('en', kenya).money(703_687_441_776_639_9n, 'KES')), 'Ksh 70 368 744 177 663.99');
});

test('times are the country’s own', () => {
  const noon = new Date('2026-03-02T12:00:00Z');
  const at = (iso: string, language: Language) =>
    plain(createLocale(language, catalog.countries.get(iso) ?? null).time(noon));
  assert.deepEqual([at('KE', 'en'), at('SN', 'fr'), at('NG', 'en')], ['15:00', '12:00', '13:00']);
});

/** Every sentence of a language, with values where it takes some. */
function sentences(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function')
    return sentences((value as (...given: unknown[]) => unknown)('‹1›', '‹2›', '‹3›'), path);
  return Object.entries(value as Record<string, unknown>).flatMap(([key, inner]) => sentences(inner, `${path}.${key}`));
}

test('every language says everything, in its own language', () => {
  const english = new Map(sentences(LANGUAGES.en.messages));
  for (const code of LANGUAGE_CODES) {
    const own = sentences(LANGUAGES[code].messages);
    assert.deepEqual(own.map(([path]) => path).sort(), [...english.keys()].sort());
    for (const [path, text] of own) {
      assert.ok(text.trim().length > 0, `${code}${path} is empty`);
      const values = (of: string) => [...of.matchAll(/‹\d›/g)].map(([value]) => value).sort();
      assert.deepEqual(values(text), values(english.get(path) ?? ''), `${code}${path} names the same values`);
    }
    if (code === 'en') continue;
    const copied = own.filter(([path, text]) => text.length > 14 && english.get(path) === text);
    assert.deepEqual(copied, [], `${code} has English sentences`);
  }
});

test('every failure has a cause and what to do, in every language', () => {
  for (const code of LANGUAGE_CODES)
    for (const failure of FAILURE_CODES) {
      const text = LANGUAGES[code].messages.failures[failure];
      assert.ok((text.match(/[.!?](?:\s|$)/g) ?? []).length >= 2, `${code} ${failure}: "${text}" is not two sentences`);
      assert.doesNotMatch(text, /[A-Z]{2,}_[A-Z]+/, 'no codes');
    }
});
