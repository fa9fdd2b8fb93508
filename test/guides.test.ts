// The guides name things that exist: scenarios of the sandbox, failure codes, pages of the console. They keep the rules of
// style. (docs.test.ts runs their commands, readme.test.ts checks the files they name.)

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../scripts/tree.ts';
import { isFailureCode } from '../src/catalog/failures.ts';
import { english } from '../src/console/messages/en.ts';
import { SETTINGS } from '../src/platform/config.ts';
import { CALL_TIMEOUT_MS } from '../src/rails/rail.ts';
import { COLLECTION_SCENARIOS, PAYOUT_SCENARIOS, REFUND_SCENARIOS, type Scenario } from '../src/sandbox/scenarios.ts';
import { BANNED_IN_PROSE } from './rules.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const GUIDES = [
  ...globSync(['docs/*.md', 'docs/merchants/*.md'], { cwd: ROOT }),
  'README.md',
  'sdk/README.md',
  'ops/alerts.yml',
];

const MAX_DECISION_LINES = 40;

/** Names in capitals that are neither settings nor failure codes. */
const OTHER_NAMES = ['FAILPOINT', 'SHOP'];

/** What the shop sees of a scenario, as far as the table of the guide must name it. */
function shownResult(digits: string, scenario: Scenario): string {
  if (digits === '012') return '`verify`';
  if (scenario.outcome !== 'succeed') return `\`failed\`, \`${scenario.outcome}\``;
  if (scenario.silentSubmit) return `\`pending\` until the time-out of ${CALL_TIMEOUT_MS / 1_000} s`;
  return scenario.decides === 'never' ? '`processing`' : '`success`';
}

function describeScenarios(scenarios: Readonly<Record<string, Scenario>>): [string, string, string][] {
  return Object.entries(scenarios)
    .sort(([left], [right]) => left.localeCompare(right))
    .map(([digits, scenario]) => [digits, scenario.about, shownResult(digits, scenario)]);
}

test('the tables of sandbox.md are the scenarios of the simulated operator', () => {
  const rows = [...read('docs/sandbox.md').matchAll(/^\| (\d{3}) \| (.*) \| (.*) \|$/gm)];
  const payouts = describeScenarios(PAYOUT_SCENARIOS).filter(
    ([digits, about]) => COLLECTION_SCENARIOS[digits]?.about !== about,
  );
  const expected = [...describeScenarios(COLLECTION_SCENARIOS), ...payouts, ...describeScenarios(REFUND_SCENARIOS)];
  assert.deepEqual(
    rows.map(([, digits, about]) => [digits, about]),
    expected.map(([digits, about]) => [digits, about]),
  );
  rows.forEach(([row, , , shown = ''], index) => {
    assert.ok(shown.includes(expected[index]?.[2] ?? '?'), `${row} must name ${expected[index]?.[2]}`);
  });
});

test('every name in capitals is a setting or a failure code', () => {
  const unknown = GUIDES.flatMap((guide) =>
    [...read(guide).matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)]
      .map(([, name = '']) => name)
      .filter((name) => !isFailureCode(name) && !Object.hasOwn(SETTINGS, name) && !OTHER_NAMES.includes(name))
      .map((name) => `${guide}: ${name}`),
  );
  assert.deepEqual(unknown, []);
});

test('the limits of a logo are those that are refused', () => {
  const source = read('src/links/logo-process.ts');
  const numberOf = (name: string) =>
    new RegExp(`const ${name} = ([\\d_ *]+);`).exec(source)?.[1]?.replaceAll('_', '') ?? '';
  const written = (name: string) =>
    numberOf(name)
      .split('*')
      .map(Number)
      .reduce((left, right) => left * right)
      .toLocaleString('en');
  for (const guide of ['docs/payment-links.md', 'docs/operating.md', 'docs/openapi.json'])
    assert.match(
      read(guide),
      new RegExp(`2 MiB[^|]*${written('MAX_SIDE')} pixels on a side(,| and) ${written('MAX_PIXELS')} in all`),
      guide,
    );
});

test('every page of the console that a guide names is in its menu', () => {
  const pages: string[] = Object.values(english.menu);
  const places = GUIDES.flatMap((guide) =>
    [...read(guide).matchAll(/console, \*([^*]+)\*|in the console under ([A-Z][\w ]*)/gi)].map((match) => ({
      guide,
      page: match[1] ?? match[2] ?? '',
    })),
  );
  assert.ok(places.length >= 4);
  assert.deepEqual(
    places.filter(({ page }) => !pages.includes(page)),
    [],
  );
});

test('a decision has at most forty lines, and no document uses a banned expression', () => {
  const decisions = globSync('docs/decisions/*.md', { cwd: ROOT });
  const long = decisions.filter((file) => read(file).trimEnd().split('\n').length > MAX_DECISION_LINES);
  assert.deepEqual(long, []);
  const banned = new RegExp(`\\b(?:${BANNED_IN_PROSE.join('|')})\\b`, 'i');
  const pages = [...GUIDES, ...decisions, ...globSync('*.md', { cwd: ROOT })];
  assert.deepEqual(
    pages.filter((file) => banned.test(read(file))),
    [],
  );
});
