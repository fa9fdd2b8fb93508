// What the gateway opens once on a machine, whatever the number of its processes: the lock of DATA_DIR, the log, the port, the
// database with its migrations, and the process of the simulated operator.

import { mkdir } from 'node:fs/promises';
import type { Logger } from 'pino';
import {
  claimDataDir,
  findPort,
  migrateDatabase,
  type OpenDatabase,
  openDatabase,
  type Progress,
} from './open-context.ts';
import { type Config, dataPath } from './platform/config.ts';
import { createLogger, openLogFile, openStandardLog } from './platform/log.ts';
import { prepareSandbox, type WaitingSandbox } from './sandbox-process.ts';

export type ServerOptions = {
  onProgress?: Progress;
  /** A file for the log; standard output when left out. */
  logTo?: string;
};

export type Foundation = {
  /** The settings, with the port that was found. */
  readonly config: Config;
  readonly database: OpenDatabase;
  readonly log: ServiceLog;
  /** Null where the simulated operator runs in the process that uses it, and in live mode. */
  readonly sandbox: WaitingSandbox | null;
  /** The address that commands find the gateway at. Empty: it starts or stops, and the next one on this DATA_DIR waits. */
  setUrl(url: string): void;
  /** Never fails: a disk that takes nothing must not keep the gateway from stopping. */
  clearUrl(): void;
  close(): Promise<void>;
};

export type ServiceLog = { logger: Logger; write(lines: string): void; flush(): void };

export async function openFoundation(
  settings: Config,
  { onProgress = () => undefined, logTo, hasSandbox }: ServerOptions & { hasSandbox: boolean },
): Promise<Foundation> {
  const lock = await claimDataDir(settings);
  const log = await openLog(settings, logTo);
  let sandbox: WaitingSandbox | null = null;
  let database: OpenDatabase | null = null;
  async function close(): Promise<void> {
    await sandbox?.end();
    await database?.close();
    lock.release();
    log.flush();
  }
  try {
    const config = { ...settings, port: await findPort(settings) };
    if (hasSandbox) sandbox = prepareSandbox();
    database = await openDatabase(config, onProgress, (sentence) => log.logger.error(sentence));
    // Many migrations are shown as one step.
    await migrateDatabase(database, (sentence) =>
      onProgress(sentence.replace(/^Applying migration.*/, 'Applying migrations')),
    );
    const setUrl = (url: string) => lock.setUrl(url);
    const clearUrl = () => {
      try {
        lock.setUrl('');
      } catch (error) {
        log.logger.warn({ err: error }, 'DATA_DIR does not say that the gateway stops');
      }
    };
    return { config, database, log, sandbox, setUrl, clearUrl, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openLog(config: Config, path: string | undefined): Promise<ServiceLog> {
  if (path) await mkdir(dataPath(config), { recursive: true, mode: 0o700 });
  const log = path ? openLogFile(path) : openStandardLog();
  return {
    logger: createLogger(config.logLevel, log),
    write: (lines) => log.write(lines),
    flush: () => log.flushSync(),
  };
}
