// Runs the tests: one PostgreSQL for all of them, a migrated template to clone from, then Node's own test runner over
// every *.test.ts but the long ones, over all of them (`--all`), or over the files named on the command line.
// `--test-name-pattern` selects tests by name, `--times` prints where the time went. Files that are named have a process each;
// otherwise short ones share some.

import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { run as runFiles } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { EmbeddedPostgresError } from '../src/embedded-postgres/installation.ts';
import { MigrationError } from '../src/platform/migration-files.ts';
import { createTemplate, dropDatabase, startTestPostgres, type TestServer } from './database.ts';
import { groupFiles } from './groups.ts';
import { watchTimes } from './times.ts';

const ROOT = resolve(import.meta.dirname, '..');
const ALL_TESTS = ['src/**/*.test.ts', 'test/**/*.test.ts', 'sdk/**/*.test.ts', 'simulators/**/*.test.ts'];
/**
 * One more than there are processors: files also wait, for their database, a browser, another process or a moment. With two more,
 * tests of several processes missed seconds on a machine that others use too, and the whole was no sooner done.
 */
const CONCURRENT_FILES = availableParallelism() + 1;
/** The same as the launcher's. Without it every file strips the types of some hundred modules again. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/simbi');
/** The flag of Node's runner for running only some tests. */
const NAME_PATTERN = 'test-name-pattern';
/** Only to end a file, or a test in it, that hangs: on a machine that is busy with other things the longest take many minutes. */
const FILE_TIMEOUT_MS = 1_800_000;

/** Minutes each, and of what the others try a part of: only with `--all`, or when they are named. */
const LONG = [
  'test/browser/accessibility.test.ts',
  'test/money-crash.test.ts',
  'test/several-processes.test.ts',
  'test/simulation/more-seeds.test.ts',
  'test/transaction-pooling.test.ts',
  'test/vault-rotation-load.test.ts',
];

/** Started first, in a process each, so that the end is not one long file and idle processors: see `--times`. */
const LONGEST_FIRST = [
  ...LONG,
  'test/process.test.ts',
  'test/browser/checkout.test.ts',
  'test/browser/console.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/simulation.test.ts',
  'test/browser/journeys.test.ts',
  'test/rails/contract.test.ts',
  'test/browser/states.test.ts',
  'test/browser/money.test.ts',
  'test/crash.test.ts',
  'test/docs.test.ts',
  'test/rails/journey.test.ts',
  'test/signing.test.ts',
  'src/embedded-postgres/server.test.ts',
  'test/console.test.ts',
  'test/backup.test.ts',
  'test/commands.test.ts',
  'test/payouts.test.ts',
];

const interruption = new AbortController();

// Installed first, so that an early Ctrl-C never leaves a PostgreSQL running.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interruption.abort());
}

process.exitCode = await run(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof MigrationError || error instanceof EmbeddedPostgresError ? error.message : error);
  return 1;
});

async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { [NAME_PATTERN]: { type: 'string' }, times: { type: 'boolean' }, all: { type: 'boolean' } },
  });
  const patterns = positionals.length > 0 ? positionals : ALL_TESTS;
  const leftOut = positionals.length > 0 || values.all ? [] : LONG;
  const found = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules/**', ...leftOut] }).sort();
  const longest = LONGEST_FIRST.filter((file) => found.includes(file));
  const others = found.filter((file) => !longest.includes(file));
  if (found.length === 0) {
    console.error(`No test files match ${patterns.join(' ')}.`);
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), 'simbi-groups-'));
  const times = values.times ? watchTimes(ROOT) : null;
  try {
    const { groups, alone } = positionals.length > 0 ? { groups: [], alone: others } : groupFiles(others, folder);
    return await runOnServer([...longest, ...groups, ...alone], values[NAME_PATTERN]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    if (times) console.log(times.stop());
    if (leftOut.length > 0)
      console.log(`${leftOut.length} long files of tests were left out: npm run test:all runs them too.`);
  }
}

async function runOnServer(files: string[], name: string | undefined): Promise<number> {
  const server = await openServer();
  try {
    const template = await createTemplate(server.url);
    try {
      return interruption.signal.aborted ? 1 : await runNode(files, name, { url: server.url, template });
    } finally {
      await dropDatabase(server.url, template);
    }
  } finally {
    await server.stop();
  }
}

async function openServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const outside = process.env.CITUS_URL ?? process.env.DATABASE_URL;
  if (outside) {
    const { host, pathname } = new URL(outside);
    const name = process.env.CITUS_URL ? 'the Citus cluster of CITUS_URL' : 'the PostgreSQL of DATABASE_URL';
    console.error(`Tests run on ${name} (${host}${pathname}), in databases of their own.`);
    return { url: outside, stop: async () => undefined };
  }
  const server = await startTestPostgres();
  console.error(`Tests run on a private PostgreSQL at 127.0.0.1:${server.port}.`);
  return server;
}

/** Runs Node's test runner over the files, in their order, and returns the exit code. */
async function runNode(files: string[], name: string | undefined, server: TestServer): Promise<number> {
  // Tests name their own database; DATABASE_URL of the caller must not leak in.
  Object.assign(process.env, {
    DATABASE_URL: '',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    TEST_POSTGRES_URL: server.url,
    TEST_POSTGRES_TEMPLATE: server.template,
  });
  // Without forceExit: a file that leaves something open must show up, and ends by the time-out.
  const events = runFiles({
    files: files.map((file) => resolve(ROOT, file)),
    concurrency: CONCURRENT_FILES,
    timeout: FILE_TIMEOUT_MS,
    signal: interruption.signal,
    ...(name === undefined ? {} : { testNamePatterns: name }),
  });
  let failed = false;
  events.on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) failed = true;
  });
  const report = events.compose(new spec());
  report.pipe(process.stdout);
  await new Promise((resolve) => report.on('end', resolve));
  return failed || interruption.signal.aborted ? 1 : 0;
}
