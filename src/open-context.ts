// Opens the database (DATABASE_URL, or the embedded one of DATA_DIR) and the master key, and creates the context that
// operations receive. The server keeps it open; a command closes it when it is done.

import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Logger } from 'pino';
import { requireMode } from './database-mode.ts';
import { DataDirInUseError, type DataDirLock, dataDirOwner, lockDataDir } from './embedded-postgres/data-dir-lock.ts';
import { findEmbeddedPostgres, keepEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres/server.ts';
import { canOpenSecrets } from './holders/integration-secrets.ts';
import { systemClock } from './platform/clock.ts';
import { type Config, dataPath } from './platform/config.ts';
import type { Context } from './platform/context.ts';
import { SERVICE_ROLE } from './platform/database-roles.ts';
import { createDatabaseTime } from './platform/database-time.ts';
import { ACQUIRE_TIMEOUT_MS, connectDatabase, type Database } from './platform/db.ts';
import { KeyWrapperError } from './platform/key-wrapper.ts';
import { ensureMasterKey, findMasterKey, findPreviousMasterKey, listKeyWrappers } from './platform/master-key.ts';
import { createMemory } from './platform/memory.ts';
import { createMetrics } from './platform/metrics.ts';
import { admitServiceLogin, migrate, pendingMigrations } from './platform/migrate.ts';
import type { Vault } from './platform/secrets.ts';
import { openVault } from './platform/vault-keys.ts';

const OWNER_WAIT_MS = 15_000;
const OWNER_POLL_MS = 50;

/** Longer than every call is refused after a connection could not be made (platform/reachable.ts). */
const FIRST_CONNECTION_PAUSE_MS = 200;

export type Progress = (sentence: string) => void;

/** Why the gateway cannot start; the command line prints the message and exits with the code. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

export type OpenDatabase = {
  /** For the service, whose login should own nothing. */
  readonly url: string;
  /** For migrations and restores: the login that owns the tables. */
  readonly ownerUrl: string;
  close(): Promise<void>;
};

const NO_LOCK: DataDirLock = { setUrl: () => undefined, release: () => undefined };

/** A server locks its DATA_DIR, unless the database is external: that may have several servers. */
export function claimDataDir(config: Config): Promise<DataDirLock> {
  return config.databaseUrl ? Promise.resolve(NO_LOCK) : lockWhenSettled(config);
}

/** The database of DATABASE_URL, or the embedded one, started. Requires the lock of DATA_DIR. `onProblem`: it is kept running. */
export async function openDatabase(
  config: Config,
  onProgress: Progress,
  onProblem?: (sentence: string) => void,
): Promise<OpenDatabase> {
  if (config.databaseUrl) {
    const ownerUrl = config.migrationDatabaseUrl || config.databaseUrl;
    return { url: config.databaseUrl, ownerUrl, close: async () => undefined };
  }
  const embedded = { dataDir: dataPath(config, 'postgres'), onProgress };
  const postgres = await (onProblem ? keepEmbeddedPostgres(embedded, onProblem) : startEmbeddedPostgres(embedded));
  return { url: postgres.serviceUrl, ownerUrl: postgres.url, close: () => postgres.stop() };
}

const hasDatabase = (config: Config) =>
  config.databaseUrl !== '' || existsSync(dataPath(config, 'postgres', 'cluster', 'PG_VERSION'));

/** Only a start and a restore make a database. A command in a wrong folder would make an empty one, and call it right. */
function requireDatabase(config: Config): void {
  if (hasDatabase(config)) return;
  throw new StartError(
    `There is no gateway in ${dataPath(config)}. Set DATA_DIR to its folder, or DATABASE_URL to its database; ` +
      'the file .env is read in the folder in which you run the command. For a new gateway: npx simbi up',
    4,
  );
}

/**
 * The database for a command: that of the running server, or the embedded one, started until the command ends. One that is not
 * there is made with `mayCreate`.
 */
export async function openCommandDatabase(
  config: Config,
  onProgress: Progress,
  mayCreate?: 'mayCreate',
): Promise<OpenDatabase> {
  // Before the lock, which makes the folder. Who holds it may be about to make the database.
  if (!mayCreate && !dataDirOwner(dataPath(config))) requireDatabase(config);
  let lock: DataDirLock;
  try {
    lock = await claimDataDir(config);
  } catch (error) {
    if (!(error instanceof DataDirInUseError)) throw error;
    const running = await findEmbeddedPostgres(dataPath(config, 'postgres'));
    if (!running) throw new StartError(`${error.message} Its database does not answer; restart it.`, 6);
    return { url: running.serviceUrl, ownerUrl: running.url, close: async () => undefined };
  }
  try {
    if (!mayCreate) requireDatabase(config);
    const database = await openDatabase(config, onProgress);
    return {
      ...database,
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

/** A lock without an address belongs to a server that is starting or stopping, or to a command: wait for it to end. */
async function lockWhenSettled(config: Config): Promise<DataDirLock> {
  const started = performance.now();
  for (;;) {
    try {
      return lockDataDir(dataPath(config), { url: '' });
    } catch (error) {
      const isTemporary = error instanceof DataDirInUseError && error.url === '';
      if (!isTemporary || performance.now() - started > OWNER_WAIT_MS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, OWNER_POLL_MS));
  }
}

export type Instance = { ctx: Context; close(): Promise<void> };

/** Everything a command needs to call operations. Close it when done. With `asItIs` the database is not migrated. */
export async function openInstance(
  config: Config,
  log: Logger,
  onProgress: Progress,
  asItIs?: 'asItIs',
): Promise<Instance> {
  const database = await openCommandDatabase(config, onProgress);
  try {
    await (asItIs ? requireMigrated(database) : migrateDatabase(database, onProgress));
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

/** Lets the service's login in, and applies what is missing. */
export async function migrateDatabase({ url, ownerUrl }: OpenDatabase, onProgress: Progress): Promise<string[]> {
  await admitServiceLogin(ownerUrl, url);
  return await migrate(ownerUrl, onProgress);
}

/** A version that is still running may not be able to go on after a migration: who only reads does not decide about that. */
async function requireMigrated({ url, ownerUrl }: OpenDatabase): Promise<void> {
  const pending = await listMissing(ownerUrl);
  const names = pending.length > 1 ? `${pending.length} migrations, ${pending[0]} and later` : pending[0];
  if (names) throw new StartError(`The database lacks ${names}. Run first: npx simbi migrate.`, 1);
  await admitServiceLogin(ownerUrl, url);
}

async function listMissing(ownerUrl: string): Promise<string[]> {
  const db = connectDatabase({ url: ownerUrl, as: 'owner', poolSize: 1 });
  try {
    return await pendingMigrations(db);
  } finally {
    await db.close();
  }
}

export async function createContext(
  config: Config,
  databaseUrl: string,
  log: Logger,
  patience: { acquireTimeoutMs?: number } = {},
): Promise<Context> {
  const db = connectDatabase({
    ...patience,
    url: databaseUrl,
    poolSize: config.databasePoolSize,
    applicationName: `simbi-${config.role}`,
    // Only the message: the error object contains the whole client.
    onConnectionError: (error) => log.warn({ reason: error.message }, 'database connection lost'),
  });
  try {
    await requireOwnSettings(db);
    await requireMode(db, config.mode, systemClock.now());
    return {
      config,
      db,
      clock: systemClock,
      databaseTime: createDatabaseTime(db, systemClock),
      log,
      vault: await openVaultOf(config, db, log),
      metrics: createMetrics(),
      memory: createMemory(),
    };
  } catch (error) {
    await db.close();
    throw error instanceof KeyWrapperError ? new StartError(error.message, error.isAway ? 6 : 2) : error;
  }
}

const ADD_POOLER =
  'A connection pooler stands before PostgreSQL: add pooler=transaction to DATABASE_URL (…/simbi?pooler=transaction), ' +
  'or connect to PostgreSQL itself.';

/**
 * Whether the role and the time-outs that we ask for are in force. A pooler may refuse what is asked for when a connection opens, or
 * drop it: then the service would have the rights of its login, and statements would wait for ever.
 */
async function requireOwnSettings(db: Database): Promise<void> {
  const facts = await readSettings(db).catch((error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
    // In the words of PgBouncer.
    if (/startup parameter/i.test(cause)) throw new StartError(`${ADD_POOLER} (It says: ${cause})`, 2);
    if (error instanceof Error && 'code' in error && error.code === '42501')
      throw new StartError(
        `The pooler must use the login of DATABASE_URL, which may become the service: ${error.message}.`,
        2,
      );
    throw error;
  });
  if (facts?.role !== SERVICE_ROLE || facts.timeout === '0')
    throw new StartError(`${ADD_POOLER} (It drops the role and the time-outs that a connection asks for.)`, 2);
}

/** By the first connection. A server that is only slow is waited for; one that refuses is not. */
async function readSettings(db: Database): Promise<{ role: string; timeout: string } | undefined> {
  const started = performance.now();
  for (;;)
    try {
      const [facts] = await db.query<{ role: string; timeout: string }>(
        `select current_user::text as role, current_setting('statement_timeout') as timeout`,
      );
      return facts;
    } catch (error) {
      if (!tookTooLong(error) || performance.now() - started > ACQUIRE_TIMEOUT_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, FIRST_CONNECTION_PAUSE_MS));
    }
}

function tookTooLong(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && /timeout/.test(error.cause.message);
}

/** The keys of the database, opened by the master key or the key service of the settings. */
async function openVaultOf(config: Config, db: Database, log: Logger): Promise<Vault> {
  ensureMasterKey(config);
  const vault = await openVault({
    db,
    wrappers: () => listKeyWrappers(config),
    firstKeys: [findMasterKey(config), findPreviousMasterKey(config)].filter((key) => key !== null),
    opensSecrets: (candidate) => canOpenSecrets({ db, vault: candidate }),
    onProblem: (reason) => log.warn({ reason }, 'a new version of the keys cannot be loaded'),
  });
  if (vault) return vault;
  throw new StartError(
    `The secrets in this database are encrypted with another master key. Set MASTER_KEY to that key${
      config.masterKey ? '' : `, or restore the file ${dataPath(config, 'master.key')}`
    }.`,
    2,
  );
}

/** The port, found before anything is started: an occupied one fails early, and 0 becomes a number for links. */
export function findPort(config: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, config)));
    probe.listen(config.port, config.host, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : config.port));
    });
  });
}

export function listenError(error: NodeJS.ErrnoException, config: Config): Error {
  if (error.code === 'EADDRINUSE')
    return new StartError(
      `Port ${config.port} of ${config.host} is used by another program. ` +
        `Choose another with PORT, for instance: PORT=${config.port + 1} npm start`,
      5,
    );
  if (error.code === 'EACCES')
    return new StartError(`This user may not listen on port ${config.port}. Choose one above 1023 with PORT.`, 2);
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new StartError(
      `HOST is an address that this machine does not have ("${config.host}"). Use 127.0.0.1, or 0.0.0.0 for every address.`,
      2,
    );
  return error;
}
