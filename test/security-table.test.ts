// The threat model of SECURITY.md and the tests: every finding has a test, and every test that the table names exists.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '..');
const FINDINGS = 21;
const THREATS = 27;
const TITLE = /\b(?:test|it|describe)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g;

const titles = globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'sdk/**/*.test.ts'], {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
}).flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(TITLE)].map(([, , title = '']) => title));

const rows = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')
  .split('\n')
  .map((line) => /^\| ([ST]\d+) \|.*\| ([^|]+) \|$/.exec(line))
  .filter((match) => match !== null)
  .map(([, number = '', tests = '']) => ({
    number,
    tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  }));

test('every finding has a test whose title begins with its number', () => {
  const numbers = Array.from({ length: FINDINGS }, (_, index) => `S${index + 1}`);
  assert.deepEqual(
    numbers.filter((number) => !titles.some((title) => title.startsWith(`security ${number}:`))),
    [],
  );
});

test('SECURITY.md has a row for every finding and every threat, each with a test', () => {
  const wanted = [
    ...Array.from({ length: FINDINGS }, (_, index) => `S${index + 1}`),
    ...Array.from({ length: THREATS }, (_, index) => `T${index + 1}`),
  ];
  assert.deepEqual(
    rows.map(({ number }) => number),
    wanted,
  );
  assert.deepEqual(
    rows.filter(({ tests }) => tests.length === 0),
    [],
  );
});

test('SECURITY.md names only tests that exist', () => {
  const isThere = (name: string) =>
    name.endsWith('.test.ts') ? existsSync(join(ROOT, name)) : titles.some((title) => title.startsWith(name));
  assert.deepEqual(
    rows.flatMap(({ number, tests }) => tests.filter((name) => !isThere(name)).map((name) => `${number}: ${name}`)),
    [],
  );
});
