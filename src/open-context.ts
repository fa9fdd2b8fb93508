// One opened gateway: the database (an outside one, or the embedded one of DATA_DIR), the master key and the
// context that operations are given. The server opens it for good, a command for the moment.

import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { DataDirInUseError, type DataDirLock, dataDirOwner, lockDataDir } from './embedded-postgres/data-dir-lock.ts';
import { findEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres/server.ts';
import { canOpenSecrets } from './holders/integrations.ts';
import { systemClock } from './platform/clock.ts';
import { type Config, dataPath, masterKeyBytes } from './platform/config.ts';
import type { Context } from './platform/context.ts';
import { connectDatabase } from './platform/db.ts';
import { createMemory } from './platform/memory.ts';
import { createMetrics } from './platform/metrics.ts';
import { migrate } from './platform/migrate.ts';
import { createVault } from './platform/secrets.ts';

const OWNER_WAIT_MS = 15_000;
const OWNER_POLL_MS = 50;

export type Progress = (sentence: string) => void;

/** Why the gateway cannot be opened, for the person who typed the command. */
export class StartError extends Error {
  override readonly name = 'StartFault';
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

export type OpenDatabase = { readonly url: string; close(): Promise<void> };

const NO_LOCK: DataDirLock = { setUrl: () => undefined, release: () => undefined };

/** A server alone owns its DATA_DIR, unless the database is an outside one, which may have many servers. */
export function claimDataDir(config: Config): Promise<DataDirLock> {
  return config.databaseUrl ? Promise.resolve(NO_LOCK) : lockWhenSettled(config);
}

/** The database of DATABASE_URL, or the embedded one, started. Only for the owner of DATA_DIR. */
export async function openDatabase(config: Config, onProgress: Progress): Promise<OpenDatabase> {
  if (config.databaseUrl) return { url: config.databaseUrl, close: async () => undefined };
  const postgres = await startEmbeddedPostgres({ dataDir: dataPath(config, 'postgres'), onProgress });
  return { url: postgres.url, close: () => postgres.stop() };
}

/** The database for a command: that of the running server, or our own for as long as the command takes. */
export async function openCommandDatabase(config: Config, onProgress: Progress): Promise<OpenDatabase> {
  let lock: DataDirLock;
  try {
    lock = await claimDataDir(config);
  } catch (error) {
    if (!(error instanceof DataDirInUseError)) throw error;
    const running = await findEmbeddedPostgres(dataPath(config, 'postgres'));
    if (!running) throw new StartError(`${error.message} Its database does not answer, though; restart it.`, 6);
    return { url: running.url, close: async () => undefined };
  }
  try {
    const database = await openDatabase(config, onProgress);
    return {
      url: database.url,
      async close() {
        await database.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** An owner without an address is just starting, just stopping or a short command: its end is worth waiting for. */
async function lockWhenSettled(config: Config): Promise<DataDirLock> {
  const started = performance.now();
  for (;;) {
    try {
      return lockDataDir(dataPath(config), { url: '' });
    } catch (error) {
      const passing = error instanceof DataDirInUseError && error.url === '';
      if (!passing || performance.now() - started > OWNER_WAIT_MS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, OWNER_POLL_MS));
  }
}

/** The address of the server that owns DATA_DIR, if one runs. */
export function runningServer(config: Config): { pid: number; url: string } | null {
  const owner = dataDirOwner(dataPath(config));
  return owner?.url ? owner : null;
}

export type Instance = { ctx: Context; close(): Promise<void> };

/** Everything a command needs to call operations. Close it when done. */
export async function openInstance(config: Config, log: Logger, onProgress: Progress): Promise<Instance> {
  const database = await openCommandDatabase(config, onProgress);
  try {
    await migrate(database.url, onProgress);
    const ctx = await createContext(config, database.url, log);
    return {
      ctx,
      async close() {
        await ctx.db.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

export async function createContext(config: Config, databaseUrl: string, log: Logger): Promise<Context> {
  const vault = createVault(openMasterKey(config));
  const db = connectDatabase({
    url: databaseUrl,
    poolSize: config.databasePoolSize,
    applicationName: `simbi-${config.role}`,
    // Only its words: the error carries the whole client with it.
    onConnectionError: (error) => log.warn({ reason: error.message }, 'a database connection broke'),
  });
  const ctx: Context = { config, db, clock: systemClock, log, vault, metrics: createMetrics(), memory: createMemory() };
  if (await canOpenSecrets(ctx)) return ctx;
  await db.close();
  throw new StartError(
    `The secrets in this database were sealed under another master key. Set MASTER_KEY to the one it was made with${
      config.masterKey ? '' : `, or bring back the file ${dataPath(config, 'master.key')}`
    }.`,
    2,
  );
}

/** The master key of this instance as it is written down, if it has one yet. */
export function findMasterKey(config: Config): Buffer | null {
  const text = config.masterKey || readKeyFile(dataPath(config, 'master.key'));
  return text ? masterKeyBytes(text) : null;
}

/** In sandbox mode the key is made once and kept in DATA_DIR; settings have seen to it that live mode has one. */
function openMasterKey(config: Config): Buffer {
  const path = dataPath(config, 'master.key');
  const text = config.masterKey || readKeyFile(path) || createKeyFile(config, path);
  const key = masterKeyBytes(text);
  if (!key) throw new StartError(`${path} does not hold a master key: 64 hexadecimal characters.`, 2);
  return key;
}

function readKeyFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

function createKeyFile(config: Config, path: string): string {
  mkdirSync(dataPath(config), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true });
  // A link refuses to replace: of several processes that start at once, one makes the key and all use it.
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(path, 'utf8').trim();
}
