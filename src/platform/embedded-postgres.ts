// A private PostgreSQL 18 in a folder of ours: made at the first start, adopted when it outlived a killed
// server, stopped with us. It listens on loopback only, behind a random password that never leaves the folder.
//
// The folder holds: cluster/ (PostgreSQL's own data directory), password, port, postgres.log.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, renameSync, statSync } from 'node:fs';
import { chmod, chown, mkdir, open, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Installation, locateInstallation, runAsOwner } from './postgres-installation.ts';
import { commandLine, isAlive, workingFolder } from './processes.ts';

const MAJOR_VERSION = '18';
const POLL_MS = 20;
const START_TIMEOUT_MS = 300_000;
const PATIENCE_MS = 3_000;
const STOP_TIMEOUT_MS = 10_000;
const MAX_PORT_TRIES = 3;
const LAST_WORDS_LINES = 15;
const MAX_LOG_BYTES = 10 * 1024 * 1024;

/** The embedded database cannot be made or started. The message says why and what to do. */
export class EmbeddedPostgresFault extends Error {
  override readonly name = 'EmbeddedPostgresFault';
}

export type EmbeddedPostgres = {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** True when it was already running, left behind by a server that was killed. */
  readonly adopted: boolean;
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  dataDir: string;
  onProgress?: (sentence: string) => void;
  /** Settings of PostgreSQL that replace the file's, for instance `{ fsync: 'off' }` in tests. */
  settings?: Record<string, string>;
};

type Folder = { root: string; cluster: string; password: string; port: string; log: string };

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const onProgress = options.onProgress ?? (() => undefined);
  const folder = await openFolder(options.dataDir);
  const adopted = await adopt(folder, onProgress);
  if (adopted) return adopted;
  const installation = await locateInstallation(folder.cluster, onProgress);
  await removeStalePidFile(folder);
  await requireSameMajorVersion(folder, installation, options.settings, onProgress);
  for (let tries = 1; ; tries++) {
    const port = await choosePort(folder);
    const child = launch(folder, installation, port, options.settings ?? {});
    try {
      await waitUntilReady(folder, child.pid ?? 0, child, onProgress);
      await writeFile(folder.port, `${port}\n`, { mode: 0o600 });
      return await handle(folder, child.pid ?? 0, port, child);
    } catch (error) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGQUIT');
      // Somebody took the port between our look and PostgreSQL's.
      const portTaken = error instanceof EmbeddedPostgresFault && /Address already in use/i.test(error.message);
      if (!portTaken || tries >= MAX_PORT_TRIES) throw error;
      await rm(folder.port, { force: true });
    }
  }
}

async function adopt(folder: Folder, onProgress: (sentence: string) => void): Promise<EmbeddedPostgres | null> {
  const running = await findRunning(folder);
  if (!running) return null;
  // It may also be on its way out, stopped by a server that did not wait; then its end is awaited.
  const ready = await waitUntilReady(folder, running.pid, null, onProgress).then(
    () => true,
    (error: unknown) => {
      if (isAlive(running.pid)) throw error;
      return false;
    },
  );
  return ready ? await handle(folder, running.pid, running.port, null) : null;
}

/** The embedded database of this folder when it runs now: what commands use beside a running server. */
export async function findEmbeddedPostgres(dataDir: string): Promise<{ url: string; pid: number } | null> {
  const folder = describeFolder(dataDir);
  const running = await findRunning(folder);
  return running ? { url: await connectionUrl(folder, running.port), pid: running.pid } : null;
}

function describeFolder(root: string): Folder {
  const at = (name: string) => join(root, name);
  return { root, cluster: at('cluster'), password: at('password'), port: at('port'), log: at('postgres.log') };
}

async function openFolder(dataDir: string): Promise<Folder> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  return describeFolder(await realpath(dataDir));
}

// --- The cluster ---

async function requireSameMajorVersion(
  folder: Folder,
  installation: Installation,
  settings: Record<string, string> | undefined,
  onProgress: (sentence: string) => void,
): Promise<void> {
  const version = await readText(join(folder.cluster, 'PG_VERSION'));
  if (version === null) return await createCluster(folder, installation, settings?.fsync !== 'off', onProgress);
  if (version.trim() !== MAJOR_VERSION)
    throw new EmbeddedPostgresFault(
      `The database in ${folder.cluster} was made by PostgreSQL ${version.trim()}; this version of Simbi brings PostgreSQL ${MAJOR_VERSION}. ` +
        'Make a backup with the Simbi that made it (simbi backup), then restore it into an empty DATA_DIR (simbi restore).',
    );
}

/** Built under another name and renamed when complete: a kill in the middle leaves nothing half made. */
async function createCluster(
  folder: Folder,
  installation: Installation,
  durable: boolean,
  onProgress: (sentence: string) => void,
): Promise<void> {
  onProgress(`Making a private PostgreSQL ${MAJOR_VERSION} in ${folder.root}`);
  for (const name of await readdir(folder.root))
    if (name.startsWith('cluster.new')) await rm(join(folder.root, name), { recursive: true, force: true });
  // A name of its own: an initdb that outlived a killed process must not write into this one.
  const draft = `${folder.cluster}.new-${process.pid}`;
  await mkdir(draft, { mode: 0o700 });
  if (installation.owner) await chown(draft, installation.owner.uid, installation.owner.gid);
  // `trust` holds for initdb's own moments only: no port is open yet, and pg_hba.conf is replaced below.
  await runTool(
    installation,
    draft,
    'initdb',
    '--username=postgres --auth=trust --encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8 --no-instructions'
      .split(' ')
      .concat(durable ? [] : ['--no-sync']),
  );
  const lz4 = await runTool(installation, draft, 'postgres', ['-c', 'wal_compression=lz4', '-C', 'wal_compression'])
    .then(() => true)
    .catch(() => false);
  await writeOwned(installation, join(draft, 'postgresql.conf'), clusterSettings(lz4));
  await writeOwned(installation, join(draft, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  const password = randomBytes(24).toString('base64url');
  // In single-user mode, so that the superuser never needs a password and nobody can log in as it.
  const output = await runTool(
    installation,
    draft,
    'postgres',
    ['--single', '-c', `fsync=${durable ? 'on' : 'off'}`, '-c', 'log_checkpoints=off', 'postgres'],
    `create role simbi login createdb password '${password}' in role pg_monitor, pg_checkpoint\n` +
      'create database simbi owner simbi\n',
  );
  if (/ERROR|FATAL/.test(output)) throw new EmbeddedPostgresFault(`The database could not be made:\n${output.trim()}`);
  await writeFile(folder.password, `${password}\n`, { mode: 0o600 });
  await chmod(folder.password, 0o600);
  await sync(folder.password);
  await rename(draft, folder.cluster);
  await sync(folder.root);
}

/** Brings a file, or the names in a folder, to the disk: a lost password would lock everybody out. */
async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function clusterSettings(lz4: boolean): string {
  return `# Written once, when Simbi made this database. Change it as you like; the port and the address are Simbi's.
max_connections = 100
shared_buffers = 128MB
effective_io_concurrency = 16
random_page_cost = 1.1
jit = off

# An answer is given only for what is on the disk.
fsync = on
synchronous_commit = on
full_page_writes = on
wal_compression = ${lz4 ? 'lz4' : 'off'}
max_wal_size = 2GB
min_wal_size = 128MB
checkpoint_timeout = 15min
max_replication_slots = 0
max_wal_senders = 0
wal_level = minimal

password_encryption = scram-sha-256
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
log_line_prefix = '%m [%p] '
log_min_duration_statement = 2s
log_lock_waits = on
log_checkpoints = off
# Statements may hold people's numbers: they stay out of the log.
log_min_error_statement = panic
log_parameter_max_length = 0
log_parameter_max_length_on_error = 0
`;
}

async function writeOwned(installation: Installation, path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600 });
  if (installation.owner) await chown(path, installation.owner.uid, installation.owner.gid);
}

async function runTool(
  installation: Installation,
  cluster: string,
  tool: 'initdb' | 'postgres',
  args: string[],
  input = '',
): Promise<string> {
  const single = args[0] === '--single' ? ['--single'] : [];
  const rest = args.slice(single.length);
  const run = runAsOwner(installation, cluster);
  const child = spawn(join(installation.bin, tool), [...single, '-D', run.path, ...rest], {
    ...run.options,
    stdio: ['pipe', 'pipe', 'pipe', run.folderFd],
  });
  closeSync(run.folderFd);
  const output: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => output.push(chunk));
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const text = Buffer.concat(output).toString('utf8');
  if (code !== 0) throw new EmbeddedPostgresFault(`${tool} failed with code ${code}. Its last words:\n${text.trim()}`);
  return text;
}

// --- The server process ---

function launch(
  folder: Folder,
  installation: Installation,
  port: number,
  settings: Record<string, string>,
): ChildProcess {
  if ((statSync(folder.log, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES)
    renameSync(folder.log, `${folder.log}.old`);
  const log = openSync(folder.log, 'a', 0o600);
  const run = runAsOwner(installation, folder.cluster);
  const fixed = { port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const args = Object.entries({ ...settings, ...fixed }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // A process group of its own: Ctrl-C in the terminal reaches us and not PostgreSQL, which we stop last.
  const child = spawn(join(installation.bin, 'postgres'), ['-D', run.path, ...args], {
    ...run.options,
    detached: true,
    stdio: ['ignore', log, log, run.folderFd],
  });
  child.on('error', () => undefined);
  child.unref();
  closeSync(log);
  closeSync(run.folderFd);
  return child;
}

async function waitUntilReady(
  folder: Folder,
  pid: number,
  child: ChildProcess | null,
  onProgress: (sentence: string) => void,
): Promise<void> {
  const started = performance.now();
  let told = false;
  for (;;) {
    const waited = performance.now() - started;
    const ended = child
      ? child.pid === undefined || child.exitCode !== null || child.signalCode !== null
      : !isAlive(pid);
    if (ended) throw new EmbeddedPostgresFault(`PostgreSQL did not start. Its last words:\n${await lastWords(folder)}`);
    const file = await readPidFile(folder);
    if (file?.pid === pid && file.status === 'ready') return;
    if (waited > START_TIMEOUT_MS)
      throw new EmbeddedPostgresFault(
        `PostgreSQL is not ready after 5 minutes. Its last words:\n${await lastWords(folder)}`,
      );
    if (!told && waited > PATIENCE_MS) {
      told = true;
      onProgress('PostgreSQL is repairing itself after an unclean stop; this can take a while');
    }
    await pause();
  }
}

async function handle(
  folder: Folder,
  pid: number,
  port: number,
  child: ChildProcess | null,
): Promise<EmbeddedPostgres> {
  // The last chance on a way out that forgot to stop it: a request that needs no waiting.
  const onExit = () => signal(pid, 'SIGINT');
  process.once('exit', onExit);
  let stopping: Promise<void> | null = null;
  return {
    url: await connectionUrl(folder, port),
    port,
    pid,
    adopted: child === null,
    stop() {
      stopping ??= stopServer(pid).finally(() => process.off('exit', onExit));
      return stopping;
    },
  };
}

/** Fast shutdown: open transactions are rolled back, everything committed is on the disk. */
async function stopServer(pid: number): Promise<void> {
  const started = performance.now();
  signal(pid, 'SIGINT');
  while (isAlive(pid)) {
    if (performance.now() - started > STOP_TIMEOUT_MS) {
      // Immediate shutdown loses nothing either: the next start replays the write-ahead log.
      signal(pid, 'SIGQUIT');
      return;
    }
    await pause();
  }
}

function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended already, which is what we wanted.
  }
}

// --- What an earlier process left ---

type PidFile = { pid: number; port: number; status: string; lines: string[] };

async function readPidFile(folder: Folder): Promise<PidFile | null> {
  const text = await readText(join(folder.cluster, 'postmaster.pid'));
  if (!text) return null;
  const lines = text.split('\n');
  return { pid: Number(lines[0]), port: Number(lines[3]), status: (lines[7] ?? '').trim(), lines };
}

/** The postmaster of this very cluster, when it lives. */
async function findRunning(folder: Folder): Promise<{ pid: number; port: number } | null> {
  const file = await readPidFile(folder);
  if (!file || !isAlive(file.pid)) return null;
  return (await isPostgresOf(folder, file.pid)) ? { pid: file.pid, port: file.port } : null;
}

async function isPostgresOf(folder: Folder, pid: number): Promise<boolean> {
  const cluster = await realpath(folder.cluster).catch(() => folder.cluster);
  // PostgreSQL changes into its data directory, and nothing else of ours does.
  if (process.platform === 'linux') return workingFolder(pid) === cluster;
  return commandLine(pid).includes(cluster);
}

/**
 * PostgreSQL itself discards the pid file of a process that is gone. It refuses when the number was given to
 * another program since. Writing our own number there makes it discard that one as well (a parent is never the
 * server), and unlike removing the file it keeps PostgreSQL's check for left-over children on the shared memory.
 */
async function removeStalePidFile(folder: Folder): Promise<void> {
  const file = await readPidFile(folder);
  if (!file || !isAlive(file.pid)) return;
  await writeFile(join(folder.cluster, 'postmaster.pid'), [String(process.pid), ...file.lines.slice(1)].join('\n'));
}

// --- Small things ---

async function connectionUrl(folder: Folder, port: number): Promise<string> {
  const password = (await readText(folder.password))?.trim();
  if (!password)
    throw new EmbeddedPostgresFault(`The file ${folder.password} is missing: without it nobody can open the database.`);
  return `postgres://simbi:${password}@127.0.0.1:${port}/simbi`;
}

/** The port of the last start when it is free, so that an address copied somewhere keeps working. */
async function choosePort(folder: Folder): Promise<number> {
  const last = Number((await readText(folder.port)) ?? 0);
  return (last > 0 && (await tryPort(last))) || (await tryPort(0)) || 0;
}

async function tryPort(port: number): Promise<number | null> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : null));
    });
  });
}

async function lastWords(folder: Folder): Promise<string> {
  const lines = ((await readText(folder.log)) ?? '').trimEnd().split('\n').slice(-LAST_WORDS_LINES);
  return lines.map((line) => `  ${line}`).join('\n');
}

async function readText(path: string): Promise<string | null> {
  return await readFile(path, 'utf8').catch(() => null);
}

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
