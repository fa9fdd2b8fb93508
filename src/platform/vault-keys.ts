// The table of data keys: one for each version, each encrypted by a wrapper (the master key or a key service). A process keeps
// them in memory, looks for new versions twice a second, and at once when it meets a value of a version it does not know.

import { createHmac, randomBytes } from 'node:crypto';
import type { Database, Reader, Tx } from './db.ts';
import { Problem } from './errors.ts';
import { type KeyWrapper, KeyWrapperError } from './key-wrapper.ts';
import { createVault, type DataKey, FIRST_VERSION, KEY_BYTES, type KeyRing, type Vault } from './secrets.ts';

/** A new version is in use everywhere within a second. */
const WATCH_MS = 500;
/** Two reads that requests cause are at least this far apart: anybody can send a value that names a version. */
const RELOAD_SPACING_MS = 100;
/** After a key service refused or did not answer, it is asked again only after this long. */
const WRAPPER_PAUSE_MS = 5_000;
const FINGERPRINT_BYTES = 16;

export type VaultKeyRow = {
  version: number;
  wrapped: Buffer | null;
  wrapper: string;
  fingerprint: Buffer;
  created_at: Date;
  retired_at: Date | null;
  /** Older than five seconds: every process has loaded it. */
  settled: boolean;
  /** Its successor is younger than a day, or it has none. */
  recent: boolean;
};

/** A new key, as it is stored. */
type NewKey = Pick<VaultKeyRow, 'version' | 'wrapped' | 'wrapper' | 'fingerprint'>;

/** Every version, newest first. */
export function readVaultKeys(reader: Reader): Promise<VaultKeyRow[]> {
  return reader.query<VaultKeyRow>({
    name: 'read_vault_keys',
    text: `select version, wrapped, wrapper, fingerprint, created_at, retired_at,
             created_at <= clock_timestamp() - interval '5 seconds' as settled,
             coalesce(lead(created_at) over (order by version) > clock_timestamp() - interval '1 day', true) as recent
           from vault_keys order by version desc`,
  });
}

/** Names of what encrypted the keys that are in use; a backup says which of them it needs. */
export async function readWrapperNames(reader: Reader): Promise<string[]> {
  // A database that was not migrated yet has no such table.
  const [table] = await reader.query<{ present: boolean }>(`select to_regclass('vault_keys') is not null as present`);
  if (!table?.present) return [];
  const rows = await reader.query<{ wrapper: string }>(
    'select distinct wrapper from vault_keys where wrapped is not null order by wrapper',
  );
  return rows.map((row) => row.wrapper);
}

export type VaultOptions = {
  db: Database;
  /** The first one wraps the first keys. Read again when a key names a wrapper that is not among them. */
  wrappers: () => KeyWrapper[];
  /** The key from before versions is one of these: it opens what was sealed before. Empty: there is none. */
  firstKeys: Buffer[];
  /** Whether the stored secrets open. Asked before the first keys are written. */
  opensSecrets: (vault: Vault) => Promise<boolean>;
  /** Told when a new version cannot be loaded; the service goes on with those it has. */
  onProblem: (reason: string) => void;
};

/** The vault of a database: loads its keys, or makes the first ones. Null: it was sealed with another master key. */
export async function openVault(options: VaultOptions): Promise<Vault | null> {
  if ((await readVaultKeys(options.db)).length === 0 && !(await createFirstKeys(options))) return null;
  const ring = createKeyRing(options);
  await ring.reload();
  const vault = createVault(ring);
  return (await options.opensSecrets(vault)) ? vault : null;
}

async function createFirstKeys(options: VaultOptions): Promise<boolean> {
  const { db, wrappers } = options;
  const first = await findFirstKey(options);
  if (!first) return false;
  const [wrapper] = wrappers();
  if (!wrapper) throw new KeyWrapperError('There is no master key.');
  const keys = [await wrapKey(wrapper, FIRST_VERSION, first), await createKey(wrapper, FIRST_VERSION + 1)];
  // Of several processes that start at once, one writes both keys and all read them.
  await db.transaction(async (tx) => {
    for (const key of keys) await insertKey(tx, key);
  });
  return true;
}

/** Checked before anything is written: keys under a wrong master key would lock the right one out. */
async function findFirstKey({ firstKeys, opensSecrets }: VaultOptions): Promise<Buffer | null> {
  const candidates = firstKeys.length > 0 ? firstKeys : [randomBytes(KEY_BYTES)];
  for (const key of candidates) if (await opensSecrets(createVault(key))) return key;
  return null;
}

function createKey(wrapper: KeyWrapper, version: number): Promise<NewKey> {
  return wrapKey(wrapper, version, randomBytes(KEY_BYTES));
}

async function wrapKey(wrapper: KeyWrapper, version: number, key: Buffer): Promise<NewKey> {
  return { version, wrapped: await wrapper.wrap(key), wrapper: wrapper.name, fingerprint: fingerprintOf(version, key) };
}

/** The version is part of it, so the keys of two versions cannot be exchanged. */
function fingerprintOf(version: number, key: Buffer): Buffer {
  return createHmac('sha256', key).update(`simbi vault key ${version}`).digest().subarray(0, FINGERPRINT_BYTES);
}

async function insertKey(tx: Tx, key: NewKey): Promise<boolean> {
  const inserted = await tx.query(
    `insert into vault_keys (version, wrapped, wrapper, fingerprint, created_at)
     values ($1, $2, $3, $4, clock_timestamp()) on conflict (version) do nothing returning 1`,
    [key.version, key.wrapped, key.wrapper, key.fingerprint],
  );
  return inserted.length > 0;
}

type LoadedKey = DataKey & { fingerprint: Buffer };

/** The keys of this process. */
function createKeyRing(options: VaultOptions): KeyRing {
  const { onProblem } = options;
  const loader = createLoader(options);
  const reload = createSpacedCall(() => loader.load());
  let reported: unknown = null;
  const report = (error: KeyWrapperError) => {
    if (error !== reported) onProblem(error.message);
    reported = error;
  };
  return {
    keys: () => loader.keys(),
    async reload() {
      const atStart = loader.keys().length === 0;
      await reload().catch((error: unknown) => {
        if (atStart || !(error instanceof KeyWrapperError)) throw error;
        report(error);
        throw new Problem('database_unavailable', { retryAfterSeconds: 1 });
      });
    },
    watch() {
      let isReading = false;
      const timer = setInterval(() => {
        if (isReading) return;
        isReading = true;
        void reload()
          .catch((error: unknown) => {
            // When the database is away, everything else says so.
            if (error instanceof KeyWrapperError) report(error);
          })
          .finally(() => {
            isReading = false;
          });
      }, WATCH_MS);
      return () => clearInterval(timer);
    },
  };
}

/** Reads the table; unwraps only what this process does not have yet. */
function createLoader({ db, wrappers }: VaultOptions): { keys(): LoadedKey[]; load(): Promise<void> } {
  let loaded: LoadedKey[] = [];
  let refused: { error: unknown; until: number } | null = null;

  async function unwrapOnce(row: VaultKeyRow): Promise<Buffer> {
    if (refused && refused.until > performance.now()) throw refused.error;
    try {
      return await unwrapKey(wrappers(), row);
    } catch (error) {
      refused = { error, until: performance.now() + WRAPPER_PAUSE_MS };
      throw error;
    }
  }

  return {
    keys: () => loaded,
    async load() {
      const next: LoadedKey[] = [];
      let failure: unknown = null;
      for (const row of await readVaultKeys(db)) {
        if (row.wrapped === null) continue;
        const { version, fingerprint, settled, recent } = row;
        const known = loaded.find((key) => key.version === version && key.fingerprint.equals(fingerprint));
        try {
          const key = known?.key ?? (await unwrapOnce(row));
          next.push({ version, fingerprint, settled, recent, key, opens: row.retired_at === null });
        } catch (error) {
          failure = error;
        }
      }
      // What could be loaded counts: the service goes on while the key service is away.
      if (next.length > 0) loaded = next;
      if (failure) throw failure;
    },
  };
}

/** Each call gets a run that begins after it; calls at the same time share one, and runs keep a distance. */
function createSpacedCall(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | null = null;
  let startedAt = Number.NEGATIVE_INFINITY;
  return () => {
    waiting ??= (async () => {
      await running.catch(() => undefined);
      const pause = startedAt + RELOAD_SPACING_MS - performance.now();
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      waiting = null;
      startedAt = performance.now();
      running = run();
      await running;
    })();
    return waiting;
  };
}

async function unwrapKey(wrappers: KeyWrapper[], row: VaultKeyRow): Promise<Buffer> {
  const key = await wrapperOf(wrappers, row.wrapper).unwrap(row.wrapped ?? Buffer.alloc(0));
  if (key.length !== KEY_BYTES || !fingerprintOf(row.version, key).equals(row.fingerprint))
    throw new KeyWrapperError(`Version ${row.version} in the table vault_keys was changed: it is not the key it was.`);
  return key;
}

/** The wrapper that encrypted a key; throws a sentence that says which one is missing. */
function wrapperOf(wrappers: KeyWrapper[], name: string): KeyWrapper {
  const wrapper = wrappers.find((candidate) => candidate.name === name);
  if (wrapper) return wrapper;
  const fix = name.startsWith('local:')
    ? 'Set MASTER_KEY to that key; while the master key is being replaced, set MASTER_KEY_PREVIOUS to the one before.'
    : `Set KEY_PROVIDER to the key service that has it (${name}).`;
  throw new KeyWrapperError(`The secrets in this database are encrypted with another master key. ${fix}`);
}

/** A new version, wrapped as the newest one is. Nothing is stored yet: `storeVersion` does that. */
export async function prepareVersion(reader: Reader, wrappers: KeyWrapper[]): Promise<NewKey> {
  const [newest] = await readVaultKeys(reader);
  if (!newest) throw new Error('there is no key yet');
  return createKey(wrapperOf(wrappers, newest.wrapper), newest.version + 1);
}

/** False: another rotation took this version a moment ago, or the master key was replaced: the old one would be needed for ever. */
export async function storeVersion(tx: Tx, key: NewKey): Promise<boolean> {
  const before = await tx.query('select from vault_keys where version = $1 and wrapper = $2 for update', [
    key.version - 1,
    key.wrapper,
  ]);
  return before.length > 0 && (await insertKey(tx, key));
}

type Rewrapped = { version: number; from: string; key: NewKey };

/** Every key that another wrapper encrypted, encrypted by the first one. `storeRewrapped` stores them. */
export async function prepareRewrap(reader: Reader, wrappers: KeyWrapper[]): Promise<Rewrapped[]> {
  const [target] = wrappers;
  if (!target) throw new KeyWrapperError('There is no master key.');
  const rewrapped: Rewrapped[] = [];
  for (const row of await readVaultKeys(reader)) {
    if (row.wrapped === null || row.wrapper === target.name) continue;
    const key = await wrapKey(target, row.version, await unwrapKey(wrappers, row));
    rewrapped.push({ version: row.version, from: row.wrapper, key });
  }
  return rewrapped;
}

/** False: a version was made meanwhile that another wrapper encrypted. Roll back and prepare again. */
export async function storeRewrapped(tx: Tx, rewrapped: readonly Rewrapped[]): Promise<boolean> {
  for (const { version, from, key } of rewrapped)
    await tx.query('update vault_keys set wrapped = $3, wrapper = $4 where version = $1 and wrapper = $2', [
      version,
      from,
      key.wrapped,
      key.wrapper,
    ]);
  const others = await tx.query('select from vault_keys where wrapped is not null and wrapper <> $1 limit 1', [
    rewrapped[0]?.key.wrapper ?? '',
  ]);
  return others.length === 0;
}

/**
 * Ends a version: its key is destroyed, or for version 0 no longer opens values. The newest version stays, and must be older
 * than `seconds`: until then something sealed or signed with the one before may be on its way. False: nothing was retired.
 */
export async function retireVersion(tx: Tx, version: number, seconds: number): Promise<boolean> {
  const retired = await tx.query(
    `update vault_keys set retired_at = clock_timestamp(), wrapped = case when version = 0 then wrapped end
     where version = $1 and retired_at is null
       and exists (select from vault_keys newer where newer.version > $1
                     and newer.created_at <= clock_timestamp() - make_interval(secs => $2))
     returning 1`,
    [version, seconds],
  );
  return retired.length > 0;
}
