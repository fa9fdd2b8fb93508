// The master key of this machine: MASTER_KEY, or the file master.key in DATA_DIR, which sandbox mode makes by itself. And the
// list of wrappers that the settings give: what wraps the data keys now, and what wrapped them before.

import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createKmsWrapper } from './aws-kms.ts';
import { type Config, dataPath, type KeyProvider, masterKeyBytes } from './config.ts';
import { createLocalWrapper, type KeyWrapper, KeyWrapperError } from './key-wrapper.ts';
import { createTransitWrapper } from './vault-transit.ts';

const keyPath = (config: Config) => dataPath(config, 'master.key');
const previousPath = (config: Config) => dataPath(config, 'master.key.previous');

/** The master key of this instance, if it has one yet. */
export function findMasterKey(config: Config): Buffer | null {
  return readKey(config.masterKey || readKeyFile(keyPath(config)), keyPath(config));
}

/** The one before it, while it is being replaced. */
export function findPreviousMasterKey(config: Config): Buffer | null {
  return readKey(config.masterKeyPrevious || readKeyFile(previousPath(config)), previousPath(config));
}

/** What can open the data keys; the first one wraps new ones. Files are read anew, so that a running process sees a new key. */
export function listKeyWrappers(config: Config): KeyWrapper[] {
  const previous = findPreviousMasterKey(config);
  const local = [findMasterKey(config), previous].filter((key) => key !== null).map(createLocalWrapper);
  return [
    ...serviceWrappers(config, config.keyProvider),
    ...local,
    ...serviceWrappers(config, config.keyProviderPrevious),
  ];
}

function serviceWrappers(config: Config, provider: KeyProvider | null): KeyWrapper[] {
  if (!provider) return [];
  const create = provider.service === 'aws-kms' ? createKmsWrapper : createTransitWrapper;
  return [create(config, provider)];
}

/** In sandbox mode the key is generated once and kept in DATA_DIR; in live mode the settings require MASTER_KEY. */
export function ensureMasterKey(config: Config): void {
  if (config.keyProvider || config.masterKey || existsSync(keyPath(config))) return;
  mkdirSync(dataPath(config), { recursive: true, mode: 0o700 });
  const draft = writeNewKey(keyPath(config));
  // link() fails if the file exists: of several processes that start at once, one creates the key and all use it.
  try {
    linkSync(draft, keyPath(config));
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Puts a new key into master.key and keeps the old one beside it, so that a process that starts meanwhile has both. Repeated
 * after a crash, it goes on with the new key that is there.
 */
export function replaceKeyFile(config: Config): void {
  const previous = readKeyFile(previousPath(config));
  if (previous !== null && previous !== readKeyFile(keyPath(config))) return;
  const draft = writeNewKey(keyPath(config));
  if (previous === null) linkSync(keyPath(config), previousPath(config));
  renameSync(draft, keyPath(config));
}

/** When no data key needs it any more. */
export function deletePreviousKeyFile(config: Config): void {
  rmSync(previousPath(config), { force: true });
}

function writeNewKey(path: string): string {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flush: true });
  return draft;
}

function readKey(text: string | null, path: string): Buffer | null {
  if (!text) return null;
  const key = masterKeyBytes(text);
  if (!key) throw new KeyWrapperError(`${path} is not a master key (64 hexadecimal characters).`);
  return key;
}

function readKeyFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return null;
    throw error;
  }
}

const isSystemError = (error: unknown, code: string) =>
  error instanceof Error && 'code' in error && error.code === code;
