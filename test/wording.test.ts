// What people read is plain English: the phrases that a review found stilted stay away, and so do names of our own for what
// Stripe and M-PESA have a word for. The texts are compared as they stand in the source.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const ROOT = join(import.meta.dirname, '..');
const CONSOLE = ['src/console/messages/en/*.ts'];
const PAYERS = ['src/checkout/messages-en.ts'];
const SANDBOX = ['src/sandbox/*.ts'];
const COMMANDS = ['src/commands/*.ts'];
const GUIDES = ['README.md', 'docs/*.md', 'docs/merchants/*.md', 'docs/rails/*.md'];
const FRENCH = [
  'src/console/messages/fr/*.ts',
  'src/checkout/messages-fr.ts',
  'src/front/messages.ts',
  'src/sandbox/*.ts',
];
const EVERYWHERE = [...CONSOLE, ...PAYERS, ...SANDBOX, ...COMMANDS, ...GUIDES];

/** Each phrase, and where it may not stand. */
const PHRASES: readonly (readonly [phrase: string, files: readonly string[]])[] = [
  ['Everything runs by itself', EVERYWHERE],
  ['Today (UTC)', CONSOLE],
  ['Collections a day', EVERYWHERE],
  ['Ask for this payment', EVERYWHERE],
  ['succeed by themselves', EVERYWHERE],
  ['Empty: an example number', EVERYWHERE],
  ['does not take callbacks', EVERYWHERE],
  ['wait for approval', CONSOLE],
  ['The numbers behind the charts', EVERYWHERE],
  ['To the first page', EVERYWHERE],
  ['Your role does not reach this', EVERYWHERE],
  ['This form is not yours', EVERYWHERE],
  ['Nothing was done twice', EVERYWHERE],
  ['do not belong together', EVERYWHERE],
  ['Is it you?', EVERYWHERE],
  ['nothing asks for ten minutes', EVERYWHERE],
  ['With the operator', CONSOLE],
  ['Given back', EVERYWHERE],
  ['given back', EVERYWHERE],
  ['Give it back', EVERYWHERE],
  ['Nothing fits these filters', EVERYWHERE],
  ['At least / At most', EVERYWHERE],
  ['Looked back to', EVERYWHERE],
  ['Accepted from your program', EVERYWHERE],
  ['it has it', EVERYWHERE],
  ['This changed nothing', EVERYWHERE],
  ['This decided the state', EVERYWHERE],
  ['The operator’s own words', EVERYWHERE],
  ['Your receiver took', EVERYWHERE],
  ['Your receiver did not', EVERYWHERE],
  ['Booked in the ledger', EVERYWHERE],
  ['Wallet after it', EVERYWHERE],
  ['has the last word', EVERYWHERE],
  ['Nothing to tell yet', EVERYWHERE],
  ['A person decided', EVERYWHERE],
  ['What is paid for', EVERYWHERE],
  ['The payer reads this', EVERYWHERE],
  ['Empty: the payer types it', EVERYWHERE],
  ['the payer decides', EVERYWHERE],
  ['Afterwards the payer goes to', EVERYWHERE],
  ['It is made small', EVERYWHERE],
  ['One wallet a currency', EVERYWHERE],
  ['On its way', CONSOLE],
  ['pretend money', EVERYWHERE],
  ['pretend phone', EVERYWHERE],
  ['by the number', CONSOLE],
  ['lines to mend', EVERYWHERE],
  ['mend, then paste', EVERYWHERE],
  ['All receivers are well', EVERYWHERE],
  ['It works again', EVERYWHERE],
  ['our fault', EVERYWHERE],
  ['What only a person can decide', EVERYWHERE],
  ['Money came that fits nothing', EVERYWHERE],
  ['Put aside', EVERYWHERE],
  ['put aside', CONSOLE],
  ['how a program of yours speaks', EVERYWHERE],
  ['I have stored them', EVERYWHERE],
  ['at once, and for ever', EVERYWHERE],
  ['where your text and ours part', EVERYWHERE],
  ['The signature fits', EVERYWHERE],
  ['calls go through', EVERYWHERE],
  ['Everything that people did, for ever', EVERYWHERE],
  ['No extra fee for you', EVERYWHERE],
  ['The time is over', EVERYWHERE],
  ['looks like a number of', PAYERS],
  ['There is nothing to pay here', EVERYWHERE],
  ['Payment given back', EVERYWHERE],
  ['This is not a receipt of ours', EVERYWHERE],
  ['Open another beside', EVERYWHERE],
  ['decide by themselves', EVERYWHERE],
  ['Callbacks that arrived', EVERYWHERE],
  ['The signature is right', EVERYWHERE],
  ['They are sent by the running gateway', EVERYWHERE],
  ['A refusal is JSON', EVERYWHERE],
  ['What became of it', EVERYWHERE],
  ['was told from the number', EVERYWHERE],
  ['All the corners of signing', EVERYWHERE],
  ['fictif', FRENCH],
  ['faux', FRENCH],
  ['fausse', FRENCH],
  [' rendu', FRENCH],
  ['Rendu', FRENCH],
  ['bac à sable', FRENCH],
];

/** Names that the code may have and pages may not. */
const NAMES = /\b(holders?|rails?|breakers?|receivers are)\b/i;
/** The text of a message, without code: what stands between quotes or in a template. */
const TEXT = /'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g;

function textsOf(files: readonly string[]): Map<string, string> {
  const paths = files
    .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
    .filter((path) => !path.endsWith('.test.ts'));
  assert.ok(paths.length > 0, `${files.join(', ')} names no file`);
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
}

describe('wording', () => {
  test('no phrase that a review found stilted is left', () => {
    const found = PHRASES.flatMap(([phrase, files]) =>
      [...textsOf(files)].filter(([, text]) => text.includes(phrase)).map(([path]) => `${path}: ${phrase}`),
    );
    assert.deepEqual(found, []);
  });

  test('the console says merchant and operator, not the names that the code has for them', () => {
    const found = [...textsOf(CONSOLE)].flatMap(([path, source]) => {
      const texts = [...source.matchAll(TEXT)].map(([, quoted, template]) => quoted ?? template ?? '');
      const read = texts.filter((text) => text.includes(' ') || /^[A-Z]/.test(text));
      return read.filter((text) => NAMES.test(text.replace(/\$\{[^}]*\}/g, ''))).map((text) => `${path}: ${text}`);
    });
    assert.deepEqual(found, []);
  });
});
