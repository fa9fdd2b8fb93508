// Runs the tests: one PostgreSQL for all of them, a migrated template to clone from, then Node's own test
// runner over every *.test.ts or over the files named on the command line. Flags are passed on.

import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { createTemplate, dropDatabase, startTestPostgres } from './database.ts';

const ROOT = resolve(import.meta.dirname, '..');
const ALL_TESTS = ['src/**/*.test.ts', 'test/**/*.test.ts', 'sdk/**/*.test.ts'];
const CONCURRENT_FILES = 2;
const FILE_TIMEOUT_MS = 180_000;

process.exitCode = await run(process.argv.slice(2));

async function run(args: string[]): Promise<number> {
  const flags = args.filter((argument) => argument.startsWith('-'));
  const named = args.filter((argument) => !argument.startsWith('-'));
  const files = globSync(named.length > 0 ? named : ALL_TESTS, { cwd: ROOT, exclude: ['**/node_modules/**'] }).sort();
  if (files.length === 0) {
    console.error(`No test files match ${(named.length > 0 ? named : ALL_TESTS).join(' ')}.`);
    return 1;
  }
  const server = await openServer();
  try {
    const template = await createTemplate(server.url);
    try {
      return await runNode(flags, files, {
        TEST_POSTGRES_URL: server.url,
        TEST_POSTGRES_TEMPLATE: template,
        DATABASE_URL: '',
      });
    } finally {
      await dropDatabase(server.url, template);
    }
  } finally {
    await server.stop();
  }
}

async function openServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const outside = process.env['DATABASE_URL'];
  if (outside) {
    const { host, pathname } = new URL(outside);
    console.error(`Tests run on the PostgreSQL of DATABASE_URL (${host}${pathname}), in databases of their own.`);
    return { url: outside, stop: async () => undefined };
  }
  const server = await startTestPostgres();
  console.error(`Tests run on a private PostgreSQL at 127.0.0.1:${server.port}.`);
  return server;
}

/** The runner is stopped with us and its code is ours. */
async function runNode(flags: string[], files: string[], settings: Record<string, string>): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${CONCURRENT_FILES}`,
      `--test-timeout=${FILE_TIMEOUT_MS}`,
      '--test-reporter=spec',
      ...flags,
      ...files,
    ],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...settings } },
  );
  const stop = () => child.kill('SIGTERM');
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
