// Databases for tests: each is cloned in milliseconds from a template that has every migration. The server is
// the one test/run.ts started; a test file that is run alone gets a private one that ends with it.

import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { markDistributed } from '../src/distribution/distribute.ts';
import { isAlive } from '../src/embedded-postgres/processes.ts';
import { type EmbeddedPostgres, findEmbeddedPostgres, startEmbeddedPostgres } from '../src/embedded-postgres/server.ts';
import { admitServiceLogin, migrate } from '../src/platform/migrate.ts';
import { cloneClusterDatabase, createClusterDatabase, distributeTemplate, dropClusterDatabase } from './citus.ts';

const EXIT_WAIT_MS = 5_000;
const FOLDER_PREFIX = 'simbi-test-';
/** A new database is eight hundred files: in memory they take a fraction of the time that a disk needs for them. */
const MEMORY_FOLDER = '/dev/shm';
/** The databases of a whole run, and the processes that use them. */
const NEEDED_BYTES = 4 * 1024 ** 3;
const FOLDER_OF_RUN = new RegExp(`^${FOLDER_PREFIX}(\\d+)-`);
/** Fast rather than durable: these databases live for seconds. Tests about crashes start their own server. */
const FAST_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  // A vacuum worker connected to a short-lived database would delay dropping it.
  autovacuum: 'off',
  // Also what the log of changes may take of the memory.
  max_wal_size: '1GB',
};

export type TestDatabase = { url: string; drop(): Promise<void> };
export type TestServer = { url: string; template: string };

/** A database with every migration applied. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { url, template } = await testServer();
  return await createDatabase(url, template);
}

/** Drops a database that outlived its context. */
export async function dropTestDatabase(url: string): Promise<void> {
  await dropDatabase((await testServer()).url, new URL(url).pathname.slice(1));
}

/** A copy of a database that nobody is connected to any more. */
export async function copyTestDatabase(url: string): Promise<TestDatabase> {
  const server = await testServer();
  return await createDatabase(server.url, new URL(url).pathname.slice(1));
}

/** A database without any table. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const { url } = await testServer();
  return await createDatabase(url, 'template1');
}

/** A PostgreSQL for tests in a temporary folder; `stop` also removes the folder. */
export async function startTestPostgres(): Promise<EmbeddedPostgres & { folder: string }> {
  await removeLeftovers();
  const folder = mkdtempSync(join(hasMemory() ? MEMORY_FOLDER : tmpdir(), `${FOLDER_PREFIX}${process.pid}-`));
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), settings: FAST_SETTINGS });
  await makeLoginsQuick(server.url);
  return {
    ...server,
    folder,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A password is hashed thousands of times for every connection, so that nobody can guess it; here nobody tries. */
async function makeLoginsQuick(url: string): Promise<void> {
  const { username, password } = new URL(url);
  const role = pg.escapeIdentifier(decodeURIComponent(username));
  const hashedOnce = `set scram_iterations = 1; alter role ${role} password ${pg.escapeLiteral(decodeURIComponent(password))}`;
  await onServer(url, (client) => client.query(hashedOnce));
}

function hasMemory(): boolean {
  if (!existsSync(MEMORY_FOLDER)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
  return Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_BYTES;
}

/** Removes servers of test runs that were killed. The folder's name contains the process id of its run. */
export async function removeLeftovers(): Promise<void> {
  for (const parent of [tmpdir(), MEMORY_FOLDER].filter(existsSync)) await removeLeftoversIn(parent);
}

async function removeLeftoversIn(parent: string): Promise<void> {
  for (const name of readdirSync(parent)) {
    const owner = FOLDER_OF_RUN.exec(name)?.[1];
    // Other folders with this prefix, such as that of reserved ports, belong to every run.
    if (owner === undefined || isAlive(Number(owner))) continue;
    const folder = join(parent, name);
    const running = await findEmbeddedPostgres(join(folder, 'postgres')).catch(() => null);
    if (running) process.kill(running.pid, 'SIGQUIT');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Makes the migrated database that all test databases are copies of, and returns its name. */
export async function createTemplate(serverUrl: string): Promise<string> {
  const template = `simbi_template_${randomBytes(4).toString('hex')}`;
  await (isCluster(serverUrl)
    ? createClusterDatabase(serverUrl, template)
    : onServer(serverUrl, (client) => client.query(`create database ${template} template template1`)));
  const url = databaseUrl(serverUrl, template);
  await migrate(url);
  await admitServiceLogin(url, url);
  // Tests have clocks of their own, which the database does not follow: what is old is for the code under test to say.
  await onServer(url, (client) => client.query(`update partition_rules set keep = interval '-99 years'`));
  if (isCluster(serverUrl)) await distributeTemplate(url);
  return template;
}

const isCluster = (serverUrl: string) => serverUrl === process.env.CITUS_URL;

export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  if (isCluster(serverUrl)) return dropClusterDatabase(serverUrl, name);
  await onServer(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`));
}

let server: Promise<TestServer> | undefined;

function testServer(): Promise<TestServer> {
  server ??= findServer();
  return server;
}

async function findServer(): Promise<TestServer> {
  const { TEST_POSTGRES_URL, TEST_POSTGRES_TEMPLATE: template, CITUS_URL } = process.env;
  const url = TEST_POSTGRES_URL ?? CITUS_URL;
  if (url) return { url, template: template ?? (await createTemplate(url)) };
  const postgres = await startTestPostgres();
  // The process may end at any moment after its last test; this needs no turn of the event loop.
  process.once('exit', () => {
    const waiting = new Int32Array(new SharedArrayBuffer(4));
    process.kill(postgres.pid, 'SIGINT');
    for (let waited = 0; waited < EXIT_WAIT_MS && isAlive(postgres.pid); waited += 20) Atomics.wait(waiting, 0, 0, 20);
    rmSync(postgres.folder, { recursive: true, force: true });
  });
  return { url: postgres.url, template: await createTemplate(postgres.url) };
}

async function createDatabase(serverUrl: string, template: string): Promise<TestDatabase> {
  const name = `simbi_test_${randomBytes(6).toString('hex')}`;
  const database = { url: databaseUrl(serverUrl, name), drop: () => dropDatabase(serverUrl, name) };
  if (isCluster(serverUrl)) {
    await cloneClusterDatabase(serverUrl, name, template);
    return database;
  }
  // The files as they are, with the caches that a first connection would have to build; nothing goes through the log.
  const copy = `create database ${name} template ${template} strategy file_copy`;
  await onServer(serverUrl, (client) => client.query(copy));
  // Statements as they are sent to several servers, on one: they must do the same.
  if (process.env.TEST_DISTRIBUTED === '1') await onServer(database.url, markDistributed);
  return database;
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.toString();
}

async function onServer(serverUrl: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl, application_name: 'simbi-test-databases' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
