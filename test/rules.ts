// What the style rules measure, and the exceptions that remain. An exception in exceptions.json is `{ allowed, why }`, or a
// number for what is still to be cleaned up. Both may only fall: `node test/rules.ts` lowers them to what is left.

import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ROOT } from '../scripts/tree.ts';
import { splitSource } from './source-text.ts';

export const MAX_LINE_LENGTH = 140;
export const MAX_FUNCTION_LINES = 70;

/** Words that may not be part of a name: private words for things that have a usual name. */
export const BANNED_IN_NAMES = [
  'belongings',
  'bearing',
  'borne',
  'desk',
  'furnish',
  'house',
  'hungry',
  'judge',
  'judged',
  'news',
  'parcel',
  'pieces',
  'pretend',
  'purse',
  'told',
  'watching',
  'wish',
  'words',
  'world',
];

/** Only the sandbox, simulators and their tests inject faults; an error that is thrown is called …Error. */
const FAULT_FOLDERS = ['src/sandbox/', 'src/rails/contract.test.ts', 'test/simulation/', 'test/rails/', 'simulators/'];

/** Words that may not be in comments or texts. */
export const BANNED_IN_PROSE = [
  'himself',
  'in vain',
  'last words',
  'of the house',
  'the house',
  'whoever',
  'whosoever',
];

/** How often each file breaks a rule; files that keep it are absent. For `duplicateTypes` a type stands for the file. */
export type RuleBreaks = Record<string, number>;

/** What a file may break: a number is still to be cleaned up, `why` says why the rest stays. */
export type Exception = number | { allowed: number; why: string };

export type Exceptions = Record<Rule, Record<string, Exception>>;

export type Rule =
  | 'timeGates'
  | 'duplicateTypes'
  | 'longLines'
  | 'longFunctions'
  | 'moduleState'
  | 'bannedNames'
  | 'bannedProse'
  | 'foreignTables';

const EXCEPTIONS = join(import.meta.dirname, 'exceptions.json');
const excluded = ['**/node_modules/**', 'sdk/dist/**'];
const list = (pattern: string) => globSync(pattern, { cwd: ROOT, exclude: excluded }).sort();

/** Everything that people write and read; the dump of the schema is generated. */
const written = list('{src,test,scripts,bench,sdk,migrations,bin,examples,simulators}/**/*.{ts,js,mjs,css,sql}').filter(
  (file) => file !== 'migrations/schema.sql',
);
const sources = list('{src,test,scripts,bench,sdk,simulators}/**/*.ts');
const product = list('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'));
const tests = sources.filter((file) => file.endsWith('.test.ts'));
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/**
 * The module that owns each table: the first word in the name of the migration that made it, as the sections of schema.sql
 * say. Only its files may name the table in SQL.
 */
export function readTableOwners(): Map<string, string> {
  const owners = new Map<string, string>();
  for (const section of read('migrations/schema.sql')
    .split(/^-- (?=\d{4}_|$)/m)
    .slice(1)) {
    // The table of the migrations themselves stands in a section without a name.
    const module = /^\d{4}_([a-z]+)\w*\.sql/.exec(section)?.[1] ?? 'platform';
    for (const [, table = ''] of section.matchAll(/^create (?:unlogged )?table (\w+)/gm)) owners.set(table, module);
  }
  return owners;
}

const owners = readTableOwners();

function count(files: string[], breaksIn: (file: string) => number): RuleBreaks {
  return Object.fromEntries(files.map((file) => [file, breaksIn(file)] as const).filter(([, number]) => number > 0));
}

/** `createPaymentDesk` → create, payment, desk. */
const partsOf = (name: string) => name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)?.map((part) => part.toLowerCase()) ?? [];

function isBannedName(name: string, file: string): boolean {
  const parts = partsOf(name);
  return (
    parts.some((part) => BANNED_IN_NAMES.includes(part)) ||
    (parts.at(-1) === 'fault' && !FAULT_FOLDERS.some((folder) => file.startsWith(folder)))
  );
}

function bannedNamesIn(file: string): number {
  const { code } = splitSource(read(file));
  const names = new Set([basename(file, '.ts'), ...(code.match(/[A-Za-z_$][\w$]*/g) ?? [])]);
  return [...names].filter((name) => isBannedName(name, file)).length;
}

function bannedProseIn(file: string): number {
  const { texts, comments } = splitSource(read(file));
  const pattern = new RegExp(`\\b(?:${BANNED_IN_PROSE.join('|')})\\b`, 'gi');
  return `${texts}\n${comments}`.match(pattern)?.length ?? 0;
}

/** How many tables of other modules the SQL of a file names. */
function foreignTablesIn(file: string): number {
  const module = file.split('/')[1]?.replace(/\.ts$/, '') ?? '';
  const named = splitSource(read(file)).texts.matchAll(/\b(?:from|into|update|join)\s+(?:only\s+)?(\w+)/g);
  const tables = [...new Set(Array.from(named, ([, table = '']) => table))];
  return tables.filter((table) => owners.has(table) && owners.get(table) !== module).length;
}

/** Empty collections and variables at the top of a module: state that every user of the process shares. */
function moduleStateIn(file: string): number {
  const { code } = splitSource(read(file));
  const collections = code.match(/^(?:export )?const \w+(?:: [^=\n]+)? = new (?:WeakMap|Map|Set)(?:<.*>)?\(\)/gm);
  const variables = code.match(/^(?:export )?let \w+/gm);
  return (collections?.length ?? 0) + (variables?.length ?? 0);
}

/** Assertions about time that passed. A poll with a deadline is one too, and stands among the exceptions. */
function timeGatesIn(file: string): number {
  const { code } = splitSource(read(file));
  const clocks = String.raw`(?:performance\.now\(|Date\.now\(\) -|cpuUsage\()`;
  const variables = code.matchAll(new RegExp(`const (\\w+) = ${clocks}`, 'g'));
  const names = Array.from(variables, ([, name]) => name);
  const measured = [clocks, ...names.map((name) => `\\b${name}\\b`)].join('|');
  return code.match(new RegExp(`assert\\.\\w+\\([^;\\n]*(?:${measured})`, 'g'))?.length ?? 0;
}

/** Counted by oxlint, which parses TypeScript. */
function longFunctions(): RuleBreaks {
  const folder = mkdtempSync(join(tmpdir(), 'simbi-rules-'));
  try {
    const config = join(folder, 'oxlint.json');
    const rule = ['error', { max: MAX_FUNCTION_LINES, skipBlankLines: true, skipComments: true }];
    const rules = { 'max-lines-per-function': rule };
    writeFileSync(config, JSON.stringify({ plugins: ['eslint'], categories: { correctness: 'off' }, rules }));
    const args = ['-c', config, '--format', 'json', 'src', 'scripts', 'sdk/src'];
    const found = JSON.parse(runOxlint(args)) as { diagnostics: { filename: string }[] };
    const files = found.diagnostics.map(({ filename }) => filename).filter((file) => !file.endsWith('.test.ts'));
    return count([...new Set(files)].sort(), (file) => files.filter((each) => each === file).length);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Its exit code says that something was found; the output is the same JSON either way. */
function runOxlint(args: string[]): string {
  try {
    return execFileSync(join(ROOT, 'node_modules/.bin/oxlint'), args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { stdout = '' } = error as { stdout?: string };
    if (!stdout.startsWith('{')) throw error;
    return stdout;
  }
}

/** Exported types whose name another file of src exports too. */
function duplicateTypes(): RuleBreaks {
  const declared = product.flatMap((file) =>
    Array.from(read(file).matchAll(/^export (?:type|interface|(?:abstract )?class) (\w+)/gm), ([, name = '']) => name),
  );
  const total = (name: string) => declared.filter((each) => each === name).length;
  return count([...new Set(declared.filter((name) => total(name) > 1))].sort(), total);
}

export const MEASURES: Record<Rule, () => RuleBreaks> = {
  duplicateTypes,
  timeGates: () => count(tests, timeGatesIn),
  longLines: () =>
    count(
      written,
      (file) =>
        read(file)
          .split('\n')
          .filter((line) => line.length > MAX_LINE_LENGTH).length,
    ),
  longFunctions,
  moduleState: () => count(product, moduleStateIn),
  bannedNames: () => count(sources, bannedNamesIn),
  bannedProse: () =>
    count(
      sources.filter((file) => file !== 'test/rules.ts'),
      bannedProseIn,
    ),
  foreignTables: () => count(product, foreignTablesIn),
};

export function readExceptions(): Exceptions {
  return JSON.parse(readFileSync(EXCEPTIONS, 'utf8')) as Exceptions;
}

export function allowedBreaks(exception: Exception | undefined): number {
  return typeof exception === 'object' ? exception.allowed : (exception ?? 0);
}

/** Lowers every number to what is left. A number never rises this way. */
function lowerExceptions(): void {
  const exceptions = readExceptions();
  for (const rule of Object.keys(MEASURES) as Rule[]) {
    const now = MEASURES[rule]();
    exceptions[rule] = Object.fromEntries(
      Object.entries(exceptions[rule])
        .map(([file, exception]) => [file, lower(exception, now[file] ?? 0)] as const)
        .filter(([, exception]) => allowedBreaks(exception) > 0),
    );
  }
  writeFileSync(EXCEPTIONS, `${JSON.stringify(exceptions, null, 2)}\n`);
}

function lower(exception: Exception, left: number): Exception {
  const allowed = Math.min(allowedBreaks(exception), left);
  return typeof exception === 'object' ? { ...exception, allowed } : allowed;
}

if (import.meta.main) lowerExceptions();
