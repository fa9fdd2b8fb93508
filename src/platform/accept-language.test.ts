import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preferredLanguage } from './accept-language.ts';

test('the supported language with the highest quality wins', () => {
  const supported = ['en', 'fr', 'sw'];
  const cases: [header: string | undefined, language: string | null][] = [
    [undefined, null],
    ['', null],
    ['de', null],
    ['fr', 'fr'],
    ['FR-ca, en', 'fr'],
    ['de, sw;q=0.3, en;q=0.7', 'en'],
    ['fr;q=0, en;q=0.1', 'en'],
    ['en;q=0.5, fr', 'fr'],
    ['en, fr', 'en'],
  ];
  for (const [header, language] of cases) assert.equal(preferredLanguage(header, supported), language, header);
});
