// One server process per DATA_DIR. The lock is a file that names the process; it counts only while exactly
// that process lives, so that nothing has to be cleaned by hand after a crash.

import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, processStartMark } from './processes.ts';

const LOCK_FILE = 'simbi.lock';
const MAX_TRIES = 10;

type LockOwner = { pid: number; startMark: string | null; url: string };

/** A server of ours already works on this folder. */
export class DataDirInUseError extends Error {
  override readonly name = 'DataDirInUse';
  readonly pid: number;
  readonly url: string;
  constructor(owner: { pid: number; url: string }) {
    super(`Simbi already runs on this DATA_DIR (process ${owner.pid}${owner.url ? `, ${owner.url}` : ''}).`);
    this.pid = owner.pid;
    this.url = owner.url;
  }
}

export type DataDirLock = {
  /** For a server that learns its address only when it listens. */
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
    take(path, draft);
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    setUrl(url) {
      write(url);
      renameSync(draft, path);
    },
    release() {
      if (readOwner(path)?.pid === process.pid) rmSync(path, { force: true });
    },
  };
}

/** Who holds the folder now, if anybody does. */
export function dataDirOwner(dataDir: string): { pid: number; url: string } | null {
  const owner = readOwner(join(dataDir, LOCK_FILE));
  return owner && lives(owner) ? { pid: owner.pid, url: owner.url } : null;
}

function take(path: string, draft: string): void {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    // A link appears whole or not at all, and refuses when the name exists: of many starters one wins.
    try {
      linkSync(draft, path);
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const owner = readOwner(path);
    if (owner && lives(owner)) throw new DataDirInUseError(owner);
    // Left by a process that is gone. It is moved away under a name of ours and looked at again: should
    // another starter have replaced it in between, its lock is put back.
    const removed = `${draft}.stale`;
    try {
      renameSync(path, removed);
    } catch {
      continue;
    }
    const moved = readOwner(removed);
    if (moved && lives(moved)) renameSync(removed, path);
    else rmSync(removed, { force: true });
  }
  throw new Error(`The lock ${path} could not be taken; remove the file if no Simbi runs.`);
}

function lives(owner: LockOwner): boolean {
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
