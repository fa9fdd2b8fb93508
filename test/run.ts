// Runs the tests: one PostgreSQL for all of them, a migrated template to clone from, then Node's own test
// runner over every *.test.ts or over the files named on the command line. Flags are passed to it.

import { type ChildProcess, spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { EmbeddedPostgresError } from '../src/embedded-postgres/installation.ts';
import { MigrationError } from '../src/platform/migrate.ts';
import { createTemplate, dropDatabase, startTestPostgres, type TestServer } from './database.ts';

const ROOT = resolve(import.meta.dirname, '..');
const ALL_TESTS = ['src/**/*.test.ts', 'test/**/*.test.ts', 'sdk/**/*.test.ts'];
const CONCURRENT_FILES = 2;
const FILE_TIMEOUT_MS = 180_000;

/** Flags of Node's runner that may take their value as the next argument. */
const TAKES_VALUE = /^--test-(name-pattern|skip-pattern|reporter|reporter-destination|concurrency|timeout|shard)$/;

let runner: ChildProcess | undefined;
let interrupted = false;

// Installed first, so that an early Ctrl-C never leaves a PostgreSQL running.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupted = true;
    runner?.kill('SIGTERM');
  });
}

process.exitCode = await run(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof MigrationError || error instanceof EmbeddedPostgresError ? error.message : error);
  return 1;
});

async function run(args: string[]): Promise<number> {
  const isFlag = (index: number) => args[index]?.startsWith('-') || TAKES_VALUE.test(args[index - 1] ?? '');
  const flags = args.filter((_, index) => isFlag(index));
  const named = args.filter((_, index) => !isFlag(index));
  const patterns = named.length > 0 ? named : ALL_TESTS;
  const files = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules/**'] }).sort();
  if (files.length === 0) {
    console.error(`No test files match ${patterns.join(' ')}.`);
    return 1;
  }
  const server = await openServer();
  try {
    const template = await createTemplate(server.url);
    try {
      return interrupted ? 1 : await runNode(flags, files, { url: server.url, template });
    } finally {
      await dropDatabase(server.url, template);
    }
  } finally {
    await server.stop();
  }
}

async function openServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const outside = process.env.DATABASE_URL;
  if (outside) {
    const { host, pathname } = new URL(outside);
    console.error(`Tests run on the PostgreSQL of DATABASE_URL (${host}${pathname}), in databases of their own.`);
    return { url: outside, stop: async () => undefined };
  }
  const server = await startTestPostgres();
  console.error(`Tests run on a private PostgreSQL at 127.0.0.1:${server.port}.`);
  return server;
}

/** Runs Node's test runner over the files and returns its exit code. */
async function runNode(flags: string[], files: string[], server: TestServer): Promise<number> {
  // No --test-force-exit: a file that leaves something open must show up, and ends by the time-out.
  const limits = [`--test-concurrency=${CONCURRENT_FILES}`, `--test-timeout=${FILE_TIMEOUT_MS}`];
  const child = spawn(process.execPath, ['--test', ...limits, '--test-reporter=spec', ...flags, ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    // Tests name their own database; DATABASE_URL of the caller must not leak in.
    env: { ...process.env, DATABASE_URL: '', TEST_POSTGRES_URL: server.url, TEST_POSTGRES_TEMPLATE: server.template },
  });
  runner = child;
  return await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
