// docs/conformance.md tells the truth about itself: rows are numbered without gaps, each names a file and a test that
// exist, and the tables of countries in the documents are the catalogue's.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { type CollectionCountry, type LinkCountry, loadCatalog } from '../src/catalog/catalog.ts';
import { listCollectionCountries, listLinkCountries } from '../src/catalog/countries.ts';

const ROOT = resolve(import.meta.dirname, '..');
const LEAST_ROWS = 150;
const TITLE = /\btest\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

const read = (path: string) => readFileSync(resolve(ROOT, path), 'utf8');
const conformance = read('docs/conformance.md');
const catalog = loadCatalog();

/** The cells of a row of a table in Markdown. A bar within a cell is written \\|. */
const splitRow = (line: string) =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

/** The names of the tests of a file, as its source writes them. */
const titles = new Map<string, Set<string>>();
function titlesOf(path: string): Set<string> {
  let known = titles.get(path);
  if (!known) {
    known = new Set([...read(path).matchAll(TITLE)].map(([, , title = '']) => title.replaceAll(/\\(['"`])/g, '$1')));
    titles.set(path, known);
  }
  return known;
}

type Row = { number: number; statement: string; where: string; file: string; proof: string };

const rows: Row[] = conformance.split('\n').flatMap((line) => {
  if (!/^\| \d+ \| .* \| `[^`]+` \| /.test(line)) return [];
  const [number = '', statement = '', where = '', proof = ''] = splitRow(line);
  const [, file = '', name = ''] = /^`([^`]+)`: (.+)$/.exec(proof) ?? [];
  return [{ number: Number(number), statement, where: where.replaceAll('`', ''), file, proof: name }];
});

test('statements are numbered without a gap', () => {
  assert.ok(rows.length >= LEAST_ROWS, String(rows.length));
  assert.deepEqual(
    rows.map(({ number }) => number),
    rows.map((_, index) => index + 1),
  );
});

test('every row names a place that exists and a test that exists', () => {
  const faults = rows.flatMap(({ number, where, file, proof }) => [
    ...(existsSync(resolve(ROOT, where)) ? [] : [`${number}: there is no ${where}`]),
    ...(file !== '' && existsSync(resolve(ROOT, file)) ? [] : [`${number}: there is no test file "${file}"`]),
    ...(file !== '' && titlesOf(file).has(proof) ? [] : [`${number}: ${file} has no test "${proof}"`]),
  ]);
  assert.deepEqual(faults, []);
});

/** The rows of the table under the first heading of this name. */
function tableUnder(text: string, heading: string): string[][] {
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? assert.fail(heading);
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map(splitRow);
}

const linkCells = (row: LinkCountry) => [
  String(row.countryId),
  row.name,
  row.dialCode,
  row.currency,
  row.paymentMethodTypes,
];
const collectionCells = (row: CollectionCountry, empty: string) => [...linkCells(row), row.extraColumn || empty];

test('the tables of countries in the documents are the catalogue', () => {
  const links = listLinkCountries(catalog).map(linkCells);
  const collections = (empty: string) => listCollectionCountries(catalog).map((row) => collectionCells(row, empty));
  assert.deepEqual(tableUnder(conformance, 'Supported countries for payment links'), links);
  assert.deepEqual(tableUnder(conformance, 'Supported countries for collections'), collections('empty'));
  assert.deepEqual(tableUnder(read('docs/payment-links.md'), 'Countries'), links);
  assert.deepEqual(tableUnder(read('docs/collections.md'), 'Countries and methods'), collections(''));
});

test('each row of the two tables has a statement of its own', () => {
  for (const row of listLinkCountries(catalog))
    assertStated(linkCells(row).join(', ').replace(`${row.currency},`, `${row.currency}:`));
  for (const row of listCollectionCountries(catalog))
    assertStated(
      `${linkCells(row).join(', ').replace(`${row.currency},`, `${row.currency}:`)}; extra column: ${row.extraColumn || 'empty'}`,
    );
});

function assertStated(statement: string): void {
  assert.ok(
    rows.some((row) => row.statement === `${statement}.`),
    statement,
  );
}
