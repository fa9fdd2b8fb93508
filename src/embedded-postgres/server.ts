// The embedded PostgreSQL 18: created at the first start, adopted when it is still running after the gateway was killed,
// stopped with the gateway. It listens on loopback only, with a random password that never leaves its folder.

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, closeSync, openSync, renameSync, statSync } from 'node:fs';
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { type DataFolder, describeDataFolder, prepareCluster, readText } from './cluster.ts';
import { EmbeddedPostgresError, type Installation, locateInstallation, runAsPostgresUser } from './installation.ts';
import { commandLine, isAlive, workingFolder } from './processes.ts';

const POLL_MS = 20;
const START_TIMEOUT_MS = 300_000;
/** A start that takes longer than this is explained. */
const SLOW_START_MS = 3_000;
const STOP_TIMEOUT_MS = 10_000;
const WATCH_MS = 1_000;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_PORT_TRIES = 3;
/** A statement under way in a server that was killed notices it late. Until it does, its process keeps the shared memory. */
const OLD_MEMORY_TIMEOUT_MS = 30_000;
const OLD_MEMORY_POLL_MS = 250;
const LOG_LINES_SHOWN = 15;
const MAX_LOG_BYTES = 10 * 1024 * 1024;

export type EmbeddedPostgres = {
  /** For the login that owns the tables: migrations and restores. */
  readonly url: string;
  /** For the login of the service, which owns nothing. */
  readonly serviceUrl: string;
  readonly port: number;
  readonly pid: number;
  /** True when it was already running because the gateway that started it was killed. */
  readonly adopted: boolean;
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  dataDir: string;
  onProgress?: (sentence: string) => void;
  /** PostgreSQL settings that override those in the file, for instance `{ fsync: 'off' }` in tests. */
  settings?: Record<string, string>;
};

/**
 * The same for as long as a gateway runs: when PostgreSQL ends by itself (a full disk ends it, and the system when memory is
 * short), it is started again at the same address. `onProblem` is told of it, and of starts that failed.
 */
export async function keepEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
  onProblem: (sentence: string) => void,
): Promise<EmbeddedPostgres> {
  const first = await startEmbeddedPostgres(options);
  let current = first;
  let starting: Promise<void> | null = null;
  async function startAgain(): Promise<void> {
    onProblem('PostgreSQL has ended; it is started again');
    await current.stop();
    current = await startEmbeddedPostgres(options);
    if (current.port === first.port) return;
    await current.stop();
    await writeFile(describeDataFolder(options.dataDir).port, `${first.port}\n`, { mode: 0o600 });
    throw new EmbeddedPostgresError(`Another program uses port ${first.port}, where PostgreSQL was.`);
  }
  const timer = setInterval(() => {
    if (isAlive(current.pid)) return;
    starting ??= startAgain()
      .catch((error: unknown) => onProblem(error instanceof Error ? error.message : String(error)))
      .finally(() => {
        starting = null;
      });
  }, WATCH_MS).unref();
  return {
    ...first,
    get pid() {
      return current.pid;
    },
    async stop() {
      clearInterval(timer);
      // One that recovers for longer is found by the next start.
      await Promise.race([starting, new Promise((resolve) => setTimeout(resolve, STOP_TIMEOUT_MS).unref())]);
      await current.stop();
    },
  };
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const onProgress = options.onProgress ?? (() => undefined);
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const folder = describeDataFolder(await realpath(options.dataDir));
  const adopted = await adopt(folder, onProgress);
  if (adopted && (await readText(folder.servicePassword)) !== null) return adopted;
  // Left running by a version that had one role for everything: the service's role is added while it is stopped.
  await adopted?.stop();
  const installation = await locateInstallation(folder.cluster, onProgress);
  await removeStalePidFile(folder);
  await prepareCluster(folder, installation, options.settings?.fsync !== 'off', onProgress);
  let portTries = 0;
  let waitsSince: number | null = null;
  for (;;) {
    const port = await choosePort(folder);
    const child = launch(folder, installation, port, options.settings ?? {});
    try {
      await waitUntilReady(folder, child.pid ?? 0, child, onProgress);
      await writeFile(folder.port, `${port}\n`, { mode: 0o600 });
      return await handle(folder, child.pid ?? 0, port, child);
    } catch (error) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGQUIT');
      const reason = error instanceof EmbeddedPostgresError ? error.message : '';
      if (/shared memory block .* is still in use/i.test(reason)) {
        if (waitsSince === null)
          onProgress('PostgreSQL was killed, and a statement in it has not ended yet; waiting for it');
        waitsSince ??= performance.now();
        if (performance.now() - waitsSince > OLD_MEMORY_TIMEOUT_MS) throw error;
        await new Promise((resolve) => setTimeout(resolve, OLD_MEMORY_POLL_MS));
      } else {
        // Another program took the port between our check and PostgreSQL's start.
        if (!/Address already in use/i.test(reason) || ++portTries >= MAX_PORT_TRIES) throw error;
        await rm(folder.port, { force: true });
      }
    }
  }
}

async function adopt(folder: DataFolder, onProgress: (sentence: string) => void): Promise<EmbeddedPostgres | null> {
  const running = await findRunning(folder);
  if (!running) return null;
  // It may also be shutting down, because a gateway stopped it without waiting; then this waits for its end.
  const ready = await waitUntilReady(folder, running.pid, null, onProgress).then(
    () => true,
    (error: unknown) => {
      if (isAlive(running.pid)) throw error;
      return false;
    },
  );
  return ready ? await handle(folder, running.pid, running.port, null) : null;
}

/**
 * Whether the server answers a new connection. The pid file says "ready" until PostgreSQL has read the signal that stops
 * it; a connection is answered after that signal, with an error of class 57P. Any other error comes from a server that runs.
 */
async function acceptsConnections(folder: DataFolder, port: number): Promise<boolean> {
  const client = new pg.Client({
    connectionString: await connectionUrl(folder, 'simbi', port),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The server may end while the connection is open.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    return error instanceof pg.DatabaseError && !error.code?.startsWith('57P');
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The embedded database of this folder, if it is running: used by commands while a gateway runs. */
export async function findEmbeddedPostgres(
  dataDir: string,
): Promise<{ url: string; serviceUrl: string; pid: number } | null> {
  const folder = describeDataFolder(dataDir);
  const running = await findRunning(folder);
  return running ? { ...(await connectionUrls(folder, running.port)), pid: running.pid } : null;
}

// --- The server process ---

function launch(
  folder: DataFolder,
  installation: Installation,
  port: number,
  settings: Record<string, string>,
): ChildProcess {
  if ((statSync(folder.log, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES)
    renameSync(folder.log, `${folder.log}.old`);
  const log = openSync(folder.log, 'a', 0o600);
  const run = runAsPostgresUser(installation, folder.cluster);
  const fixed = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // The detail of an error shows the whole row, with e-mail addresses and phone numbers.
    log_error_verbosity: 'terse',
  };
  const args = Object.entries({ ...settings, ...fixed }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // Its own process group: Ctrl-C in the terminal reaches the gateway but not PostgreSQL, which is stopped last.
  const child = spawn(join(installation.bin, 'postgres'), ['-D', run.path, ...args], {
    ...run.options,
    detached: true,
    stdio: ['ignore', log, log, run.folderFd],
  });
  // If spawn itself fails there is no PostgreSQL log; write the error there, where lastLogLines reads it.
  child.on('error', (error) => appendFileSync(folder.log, `${error.message}\n`));
  child.unref();
  closeSync(log);
  closeSync(run.folderFd);
  return child;
}

async function waitUntilReady(
  folder: DataFolder,
  pid: number,
  child: ChildProcess | null,
  onProgress: (sentence: string) => void,
): Promise<void> {
  const started = performance.now();
  let explained = false;
  for (;;) {
    const waited = performance.now() - started;
    const ended = child
      ? child.pid === undefined || child.exitCode !== null || child.signalCode !== null
      : !isAlive(pid);
    if (ended)
      throw new EmbeddedPostgresError(`PostgreSQL failed to start. Last log lines:\n${await lastLogLines(folder)}`);
    const file = await readPidFile(folder);
    const isReady = file?.pid === pid && file.status === 'ready';
    // Nobody stops a server that this process has just launched; a server that was found may be stopping already.
    if (isReady && (child || (await acceptsConnections(folder, file.port)))) return;
    if (waited > START_TIMEOUT_MS)
      throw new EmbeddedPostgresError(
        `PostgreSQL is not ready after 5 minutes. Last log lines:\n${await lastLogLines(folder)}`,
      );
    if (!explained && waited > SLOW_START_MS) {
      explained = true;
      onProgress('PostgreSQL is recovering from an unclean shutdown; this can take a while');
    }
    await pause();
  }
}

async function handle(
  folder: DataFolder,
  pid: number,
  port: number,
  child: ChildProcess | null,
): Promise<EmbeddedPostgres> {
  // For an exit that did not call stop(): a signal needs no waiting.
  const onExit = () => signal(pid, 'SIGINT');
  process.once('exit', onExit);
  let stopping: Promise<void> | null = null;
  return {
    ...(await connectionUrls(folder, port)),
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
  signal(pid, 'SIGINT');
  if (await waitForEnd(pid)) return;
  // Immediate shutdown loses nothing either: the next start replays the write-ahead log.
  signal(pid, 'SIGQUIT');
  await waitForEnd(pid);
}

async function waitForEnd(pid: number): Promise<boolean> {
  for (const started = performance.now(); isAlive(pid); await pause())
    if (performance.now() - started > STOP_TIMEOUT_MS) return false;
  return true;
}

function signal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended already.
  }
}

// --- What an earlier process left behind ---

type PidFile = { pid: number; port: number; status: string; lines: string[] };

async function readPidFile(folder: DataFolder): Promise<PidFile | null> {
  const text = await readText(join(folder.cluster, 'postmaster.pid'));
  if (!text) return null;
  const lines = text.split('\n');
  return { pid: Number(lines[0]), port: Number(lines[3]), status: (lines[7] ?? '').trim(), lines };
}

/** The postmaster of this cluster, if it is running. */
async function findRunning(folder: DataFolder): Promise<{ pid: number; port: number } | null> {
  const file = await readPidFile(folder);
  if (!file || !isAlive(file.pid)) return null;
  return (await isPostgresOf(folder, file.pid)) ? { pid: file.pid, port: file.port } : null;
}

async function isPostgresOf(folder: DataFolder, pid: number): Promise<boolean> {
  const cluster = await realpath(folder.cluster).catch(() => folder.cluster);
  // PostgreSQL changes to its data directory; no other process of Simbi does.
  if (process.platform === 'linux') return workingFolder(pid) === cluster;
  return commandLine(pid).includes(cluster);
}

/**
 * PostgreSQL itself discards the pid file of a process that has ended, but not when another program has that process id
 * now. Writing our own id there makes it discard the file (a parent is never the server), and unlike removing the file it
 * keeps PostgreSQL's check for child processes that still use the shared memory.
 */
async function removeStalePidFile(folder: DataFolder): Promise<void> {
  const file = await readPidFile(folder);
  if (!file || !isAlive(file.pid)) return;
  await writeFile(join(folder.cluster, 'postmaster.pid'), [String(process.pid), ...file.lines.slice(1)].join('\n'));
}

// --- Helpers ---

async function connectionUrls(folder: DataFolder, port: number): Promise<{ url: string; serviceUrl: string }> {
  const isOlder = (await readText(folder.servicePassword)) === null;
  const url = await connectionUrl(folder, 'simbi', port);
  return { url, serviceUrl: isOlder ? url : await connectionUrl(folder, 'simbi_service', port) };
}

async function connectionUrl(folder: DataFolder, login: 'simbi' | 'simbi_service', port: number): Promise<string> {
  const path = login === 'simbi' ? folder.password : folder.servicePassword;
  const password = (await readText(path))?.trim();
  if (!password)
    throw new EmbeddedPostgresError(
      `The file ${path} is missing: the database cannot be opened without it. Restore the file or a backup.`,
    );
  return `postgres://${login}:${password}@127.0.0.1:${port}/simbi`;
}

/** The port of the last start if it is free, so that a copied connection URL keeps working. */
async function choosePort(folder: DataFolder): Promise<number> {
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

async function lastLogLines(folder: DataFolder): Promise<string> {
  const lines = ((await readText(folder.log)) ?? '').trimEnd().split('\n').slice(-LOG_LINES_SHOWN);
  return lines.map((line) => `  ${line}`).join('\n');
}

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
