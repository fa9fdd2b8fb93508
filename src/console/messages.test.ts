import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LANGUAGE_CODES, LANGUAGES } from './messages.ts';

/** What messages that take an object are given. */
const FACTS = {
  by: '‹1›',
  holder: '‹2›',
  role: '‹3›',
  url: '‹4›',
  email: '‹5›',
  kind: 'daily_summary',
  lines: ['‹6›'],
  day: '‹7›',
  succeeded: 8,
  failed: 9,
  money: [],
};
const TAKES_FACTS = /\.(mails\.(invitation|roleWaits)|notifications\.(mail|summary))$/;

/** Every sentence of a language, with values where it takes some. */
function sentences(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') {
    const given = TAKES_FACTS.test(path) ? [FACTS] : ['‹1›', '‹2›', '‹3›'];
    return sentences((value as (...given: unknown[]) => unknown)(...given), path);
  }
  return Object.entries(value as Record<string, unknown>).flatMap(([key, inner]) => sentences(inner, `${path}.${key}`));
}

test('every language of the console says everything, in its own language and with the same values', () => {
  const english = new Map(sentences(LANGUAGES.en.messages));
  const values = (text: string) => [...new Set(text.match(/‹\d›|npx simbi \w+|[A-Z]+_[A-Z_]+/g))].sort();
  for (const code of LANGUAGE_CODES) {
    const own = sentences(LANGUAGES[code].messages);
    const wrong = own.filter(([path, text]) => {
      const original = english.get(path) ?? '';
      const isCopied = code !== 'en' && text.length > 14 && text === original;
      const isEmpty = text.trim() === '' && original !== '';
      return isCopied || isEmpty || values(text).join() !== values(original).join();
    });
    assert.deepEqual(wrong, [], code);
    assert.deepEqual(own.map(([path]) => path).sort(), [...english.keys()].sort(), code);
  }
});

test('texts have the signs of their language: no-break spaces in French, apostrophes that are no quotes', () => {
  const french = sentences(LANGUAGES.fr.messages).filter(([, text]) => / [:;!?%»]|« /.test(text));
  assert.deepEqual(french, []);
  for (const code of LANGUAGE_CODES)
    assert.deepEqual(
      sentences(LANGUAGES[code].messages).filter(([, text]) => /\p{L}'\p{L}/u.test(text)),
      [],
      code,
    );
});
