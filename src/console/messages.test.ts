// The texts of the console: every language says everything, names the same values, and is not English.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allTexts } from '../../test/texts.ts';
import { LANGUAGE_CODES, LANGUAGES } from './messages.ts';

/** Shorter texts may be the same word in two languages: "Console", "Callback URL". */
const MAX_SHARED_CHARACTERS = 14;

const english = new Map(allTexts(LANGUAGES.en.messages));
const valuesOf = (text: string) => [...new Set([...text.matchAll(/‹\w+›/g)].map(([value]) => value))].sort();

for (const code of LANGUAGE_CODES.filter((each) => each !== 'en'))
  describe(`the console in ${LANGUAGES[code].name}`, () => {
    // English has the labels of rails from the rails themselves.
    const own = allTexts(LANGUAGES[code].messages).filter(([path]) => !path.startsWith('.railLabels.'));

    test('says everything, with the same values', () => {
      assert.deepEqual(own.map(([path]) => path).sort(), [...english.keys()].sort());
      for (const [path, text] of own) {
        const expected = english.get(path) ?? '';
        assert.equal(text === '', expected === '', `${path} is empty`);
        assert.deepEqual(valuesOf(text), valuesOf(expected), `${path}: ${text}`);
      }
    });

    test('has no English sentences', () => {
      // What else people call a page may well be English.
      const copied = own.filter(
        ([path, text]) =>
          text.length > MAX_SHARED_CHARACTERS && english.get(path) === text && !path.includes('otherNames'),
      );
      assert.deepEqual(copied, []);
      for (const [path, text] of own) assert.doesNotMatch(text, /\b(?:the|is|of|your|this)\b/i, path);
    });
  });

test('texts have the signs of their language: no-break spaces in French, apostrophes that are no quotes', () => {
  const french = allTexts(LANGUAGES.fr.messages).filter(([, text]) => / [:;!?%»]|« /.test(text));
  assert.deepEqual(french, []);
  for (const code of LANGUAGE_CODES)
    assert.deepEqual(
      allTexts(LANGUAGES[code].messages).filter(([, text]) => /\p{L}'\p{L}/u.test(text)),
      [],
      code,
    );
});
