// Languages: which one is chosen, how money and times are written, and that every translation is complete.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allTexts } from '../../test/texts.ts';
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

test('money has one spelling: its code before the number, and francs after it, in every language', () => {
  const shown = [...catalog.linkCountries.values()].map(({ country }) => {
    const locale = createLocale(country.languages[0] ?? 'en', country);
    return `${country.iso} ${plain(locale.money(250_000n, country.currency))} | ${plain(locale.money(2_550n, country.currency))}`;
  });
  assert.deepEqual(shown, [
    'KE KES 2 500 | KES 25.50',
    'BJ 2 500 F CFA | 25,50 F CFA',
    'CI 2 500 F CFA | 25,50 F CFA',
    'CM 2 500 FCFA | 25,50 FCFA',
    'SN 2 500 F CFA | 25,50 F CFA',
    'TZ TZS 2 500 | TZS 25.50',
    'UG UGX 2 500 | UGX 25.50',
    'ZM ZMW 2 500 | ZMW 25.50',
    'SL SLE 2 500 | SLE 25.50',
    'GH GHS 2 500 | GHS 25.50',
    'NG NGN 2 500 | NGN 25.50',
  ]);
  const senegal = catalog.countries.get('SN') ?? null;
  assert.equal(plain(createLocale('en', senegal).money(250_000n, 'XOF')), '2 500 F CFA');
  assert.equal(plain(createLocale('sw', senegal).money(250_000n, 'KES')), 'KES 2 500');
  assert.equal(plain(createLocale('pt', senegal).money(250_000n, 'KES')), '2 500 KES');
});

test('the largest amount keeps its last digit', () => {
  const kenya = catalog.countries.get('KE') ?? null;
  assert.equal(plain(createLocale('en', kenya).money(703_687_441_776_639_9n, 'KES')), 'KES 70 368 744 177 663.99');
});

test('times are the country’s own, in one format that names the zone', () => {
  const noon = new Date('2026-03-02T12:00:00Z');
  const locale = (iso: string, language: Language) => createLocale(language, catalog.countries.get(iso) ?? null);
  const at = (iso: string, language: Language) => locale(iso, language).time(noon);
  assert.deepEqual(
    [at('KE', 'en'), at('KE', 'sw'), at('SN', 'fr'), at('NG', 'en'), at('ZM', 'pt')],
    ['15:00 (EAT)', '15:00 (EAT)', '12:00 (GMT)', '13:00 (WAT)', '14:00 (CAT)'],
  );
  assert.equal(locale('KE', 'en').date(noon), '2 March 2026, 15:00 (EAT)');
  assert.equal(locale('KE', 'sw').date(noon), '2 Machi 2026, 15:00 (EAT)');
  assert.equal(locale('SN', 'fr').date(noon), '2 mars 2026, 12:00 (GMT)');
});

test('countries are named in the payer’s language', () => {
  const kenya = catalog.countries.get('KE') ?? null;
  assert.equal(createLocale('en', kenya).country('CI'), 'Côte d’Ivoire');
  assert.equal(createLocale('fr', kenya).country('CM'), 'Cameroun');
  assert.equal(createLocale('sw', kenya).country('CM'), 'Kameruni');
  assert.equal(createLocale('pt', kenya).country('KE'), 'Quénia', 'not Quênia, as in Brazil');
});

test('every language says everything, in its own language', () => {
  const english = new Map(allTexts(LANGUAGES.en.messages));
  for (const code of LANGUAGE_CODES) {
    const own = allTexts(LANGUAGES[code].messages);
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
