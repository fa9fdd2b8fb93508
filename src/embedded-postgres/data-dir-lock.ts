// One server process per DATA_DIR. The lock is a file that names the process. It is valid only while that same process is
// running, so nothing has to be cleaned up by hand after a crash.

import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, processStartMark } from './processes.ts';

const LOCK_FILE = 'simbi.lock';
const MAX_TRIES = 10;

type LockOwner = { pid: number; startMark: string | null; url: string };

/** Another Simbi process uses this folder. */
export class DataDirInUseError extends Error {
  override readonly name = 'DataDirInUseError';
  readonly pid: number;
  readonly url: string;
  constructor(owner: { pid: number; url: string }) {
    super(`Simbi is already running on this DATA_DIR (process ${owner.pid}${owner.url ? `, ${owner.url}` : ''}).`);
    this.pid = owner.pid;
    this.url = owner.url;
  }
}

export type DataDirLock = {
  /** For a server whose address is known only when it listens. */
  setUrl(url: string): void;
  release(): void;
};

export function lockDataDir(dataDir: string, info: { url: string }): DataDirLock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, LOCK_FILE);
  const draft = `${path}.${process.pid}`;
  const write = (url: string) => {
    const owner: LockOwner = { pid: process.pid, startMark: processStartMark(process.pid), url };
    writeFileSync(draft, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  };
  write(info.url);
  try {
    acquire(path, draft);
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    setUrl(url) {
      write(url);
      renameSync(draft, path);
    },
    release() {
      try {
        if (readOwner(path)?.pid === process.pid) rmSync(path, { force: true });
      } catch {
        // It is not valid once this process has ended.
      }
    },
  };
}

/** The process that uses the folder, if there is one. */
export function dataDirOwner(dataDir: string): { pid: number; url: string } | null {
  const owner = readOwner(join(dataDir, LOCK_FILE));
  return owner && isRunning(owner) ? { pid: owner.pid, url: owner.url } : null;
}

function acquire(path: string, draft: string): void {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    // link() is atomic and fails if the name exists: of several processes that start at once, one succeeds.
    try {
      linkSync(draft, path);
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const owner = readOwner(path);
    if (owner && isRunning(owner)) throw new DataDirInUseError(owner);
    // Left by a process that has ended. It is renamed and read again: if another process has replaced it in the
    // meantime, that lock is restored.
    const removed = `${draft}.stale`;
    try {
      renameSync(path, removed);
    } catch {
      continue;
    }
    const moved = readOwner(removed);
    if (moved && isRunning(moved)) renameSync(removed, path);
    else rmSync(removed, { force: true });
  }
  throw new Error(`The lock ${path} could not be acquired. Remove the file if no Simbi is running.`);
}

function isRunning(owner: LockOwner): boolean {
  return isAlive(owner.pid) && (owner.startMark === null || processStartMark(owner.pid) === owner.startMark);
}

function readOwner(path: string): LockOwner | null {
  try {
    const owner = JSON.parse(readFileSync(path, 'utf8')) as Partial<LockOwner>;
    if (typeof owner.pid !== 'number') return null;
    return { pid: owner.pid, startMark: owner.startMark ?? null, url: owner.url ?? '' };
  } catch {
    return null;
  }
}
