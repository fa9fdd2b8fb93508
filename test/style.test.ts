// Rules of style that hold for every file. What breaks them today stands in exceptions.json, and may only become less.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ROOT } from '../scripts/tree.ts';
import {
  allowedBreaks,
  BANNED_IN_NAMES,
  BANNED_IN_PROSE,
  MAX_FUNCTION_LINES,
  MAX_LINE_LENGTH,
  MEASURES,
  type Rule,
  readExceptions,
  readTableOwners,
} from './rules.ts';
import { splitSource } from './source-text.ts';

const exceptions = readExceptions();

const RULES: Record<Rule, string> = {
  timeGates: 'no test asserts how long something took',
  duplicateTypes: 'the name of an exported type is unique over src',
  longLines: `no line is longer than ${MAX_LINE_LENGTH} characters`,
  longFunctions: `no function is longer than ${MAX_FUNCTION_LINES} lines`,
  moduleState: 'no module holds state at its top level',
  bannedNames: `no name contains ${BANNED_IN_NAMES.join(', ')} or ends in Fault`,
  bannedProse: `no comment or text contains ${BANNED_IN_PROSE.join(', ')}`,
  foreignTables: 'SQL names only tables of its own module',
};

describe('style', () => {
  for (const rule of Object.keys(RULES) as Rule[])
    test(RULES[rule], () => {
      const allowed = (name: string) => allowedBreaks(exceptions[rule][name]);
      const more = Object.entries(MEASURES[rule]()).filter(([name, number]) => number > allowed(name));
      assert.deepEqual(
        more.map(([name, number]) => `${name}: ${number}, allowed ${allowed(name)}`),
        [],
      );
    });

  test('every table has an owner, and the owner is a module', () => {
    const owners = readTableOwners();
    const schema = readFileSync(join(ROOT, 'migrations/schema.sql'), 'utf8');
    const tables = [...schema.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, table = '']) => table);
    assert.deepEqual([...owners.keys()], tables);
    for (const module of owners.values()) assert.ok(existsSync(join(ROOT, 'src', module)), module);
  });
});

describe('source text', () => {
  test('is split into code, texts and comments', () => {
    const source = [
      "const a = 'it''s'; // 'quoted'",
      'const b = `from \u0024{list.map((one) => `\u0024{one.name} of {x}`)} end`; /* last */',
      "const c = a / 2 / 3; const d = /['`]\\/[/]/u.test('x');",
    ].join('\n');
    assert.deepEqual(splitSource(source), {
      code: [
        "const a = ''''; ",
        'const b = `\u0024{list.map((one) => `\u0024{one.name}`)}`; ',
        "const c = a / 2 / 3; const d = /./.test('');",
      ].join('\n'),
      texts: ['it', 's', 'from ', '', ' of {x}', ' end', 'x'].join('\n'),
      comments: "// 'quoted'\n/* last */",
    });
  });
});
