// The texts of the console: every language says everything, names the same values, and is not English.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allTexts, CONSOLE_TEXTS } from '../../test/texts.ts';
import { LANGUAGE_CODES, LANGUAGES } from './messages.ts';

/** Shorter texts may be the same word in two languages: "Console", "Callback URL". */
const MAX_SHARED_CHARACTERS = 14;

const english = new Map(allTexts(CONSOLE_TEXTS.en));
const valuesOf = (text: string) => [...new Set([...text.matchAll(/‹\w+›/g)].map(([value]) => value))].sort();

for (const code of LANGUAGE_CODES.filter((each) => each !== 'en'))
  describe(`the console in ${LANGUAGES[code].name}`, () => {
    // English has the labels and hints of rails from the rails themselves.
    const own = allTexts(CONSOLE_TEXTS[code]).filter(([path]) => !/^\.rail(?:Labels|Hints)\./.test(path));

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
  const french = allTexts(CONSOLE_TEXTS.fr).filter(([, text]) => / [:;!?%»]|« /.test(text));
  assert.deepEqual(french, []);
  for (const code of LANGUAGE_CODES)
    assert.deepEqual(
      allTexts(CONSOLE_TEXTS[code]).filter(([, text]) => /\p{L}'\p{L}/u.test(text)),
      [],
      code,
    );
});

test('payouts have one name in each language, which is not that of payments or settlements', () => {
  const textsOf = (code: 'fr' | 'pt' | 'sw', paths: RegExp) =>
    allTexts(CONSOLE_TEXTS[code]).filter(([path]) => paths.test(path));
  const payouts = /^\.float\.(?:stopHint|waiting|watchText|waits|payoutWaitsText)|\.payoutsStopped|audit.*payout/;
  for (const [path, text] of textsOf('fr', payouts)) {
    assert.match(text, /virement/i, path);
    assert.doesNotMatch(text.replace(/et versements/, ''), /versement|envoi\b/i, path);
  }
  for (const [path, text] of textsOf('pt', payouts)) assert.match(text, /envio/i, path);
  for (const [path, text] of textsOf('pt', payouts)) assert.doesNotMatch(text, /pagamento/i, path);
});

test('who won a dispute is clear in Swahili: the merchant, not the dispute', () => {
  const { decisions, transfers, settlements } = CONSOLE_TEXTS.sw;
  assert.equal(decisions.labels.dispute_won, 'Mfanyabiashara ameshinda mzozo');
  assert.equal(decisions.labels.dispute_lost, 'Mfanyabiashara ameshindwa katika mzozo');
  for (const text of [transfers.dispute_release, settlements.lines.dispute_won]) assert.equal(text, 'Umeshinda mzozo');
  for (const text of [transfers.dispute_loss, transfers.dispute_loss_short, settlements.lines.dispute_lost])
    assert.equal(text, 'Umeshindwa katika mzozo');
});
