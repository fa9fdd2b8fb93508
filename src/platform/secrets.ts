// Secrets: encrypting what must be read again (API secrets that verify HMACs, callback secrets that sign), and hashing what
// is only compared (tokens). A sealed value names the version of the key that sealed it, so that keys can be replaced while
// old values stay readable. No key encrypts directly: each purpose has a key of its own, derived from the version's key.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** Before versions: the master key itself, with the purpose as authenticated data. Only opened, never written. */
const FORMAT_WITHOUT_VERSION = 1;
const FORMAT = 2;
const VERSION_BYTES = 4;
const PREFIX_BYTES = 1 + VERSION_BYTES;
const IV_BYTES = 12;
const TAG_BYTES = 16;
export const KEY_BYTES = 32;
/** The version of values and derived keys from before versions. */
export const FIRST_VERSION = 0;

export interface Vault {
  /** Encrypts with AES-256-GCM. `purpose` is bound to the result: a value sealed for one use or row does not open for another. */
  seal(plaintext: string, purpose: string): Buffer;
  /** `formerPurpose` is what values from before versions were bound to, where that was something else. */
  open(sealed: Buffer, purpose: string, formerPurpose?: string): Promise<string>;
  /** Keys for signing something short-lived: sign with the first, accept all. They follow the versions. */
  deriveKeys(purpose: string): [Buffer, ...Buffer[]];
  /** One key that stays the same for ever, for what is stored or printed. */
  deriveKey(purpose: string): Buffer;
  /** The first bytes of every value that is sealed now. Stored values that begin otherwise can be sealed again. */
  sealedPrefix(): Buffer;
  /** Whether stored values may exist that an older version sealed. */
  hasOlderVersions(): boolean;
  /** Looks for new versions until the returned function is called. */
  watch(): () => void;
}

export type DataKey = {
  version: number;
  key: Buffer;
  /** It may open values; false for version 0 once it is retired. */
  opens: boolean;
  /** Every process has had time to load it, so what it signs is accepted everywhere. */
  settled: boolean;
  /** It is the newest, or was until a day ago: what it signed may still be on its way. */
  recent: boolean;
};

/** Where a vault has its keys. */
export interface KeyRing {
  /** Newest first; version 0 is always among them. */
  keys(): readonly DataKey[];
  /** Reads the keys anew: somebody may have made a version that this process has not seen. */
  reload(): Promise<void>;
  watch(): () => void;
}

/** A vault with one key, or with the versions of a ring. */
export function createVault(source: Buffer | KeyRing): Vault {
  const ring = Buffer.isBuffer(source) ? singleKey(source) : source;
  const derived = createDeriver();
  const keyOf = (version: number) => ring.keys().find((key) => key.version === version && key.opens)?.key;

  async function requireKey(version: number): Promise<Buffer> {
    const known = keyOf(version);
    if (known) return known;
    // Rotated a moment ago by another process. Versions follow each other, so no other number is worth a query.
    if (version > newest(ring).version && version <= newest(ring).version + 100) await ring.reload();
    const key = keyOf(version);
    if (!key) throw new Error(`sealed with version ${version} of the key, which is retired or does not exist`);
    return key;
  }

  return {
    seal(plaintext, purpose) {
      const { version, key } = newest(ring);
      const iv = randomBytes(IV_BYTES);
      const prefix = prefixOf(version);
      const cipher = createCipheriv('aes-256-gcm', subKey(key, purpose), iv).setAAD(boundTo(prefix, purpose));
      const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return Buffer.concat([prefix, iv, cipher.getAuthTag(), body]);
    },
    async open(sealed, purpose, formerPurpose = purpose) {
      if (sealed[0] === FORMAT_WITHOUT_VERSION)
        return decrypt(sealed.subarray(1), await requireKey(FIRST_VERSION), Buffer.from(formerPurpose));
      if (sealed[0] !== FORMAT || sealed.length < PREFIX_BYTES)
        throw new Error('sealed by an unknown version of Simbi');
      const key = await requireKey(sealed.readUInt32BE(1));
      const prefix = sealed.subarray(0, PREFIX_BYTES);
      return decrypt(sealed.subarray(PREFIX_BYTES), subKey(key, purpose), boundTo(prefix, purpose));
    },
    deriveKeys(purpose) {
      const usable = ring.keys().filter((key) => key.opens && key.recent);
      // What a process signs must be known to all: a version that was made a moment ago is accepted before it signs.
      const [signing, ...others] = usable.toSorted((left, right) => Number(right.settled) - Number(left.settled));
      if (!signing) throw new Error('the vault has no key');
      return [derived(signing, purpose), ...others.map((key) => derived(key, purpose))];
    },
    deriveKey: (purpose) => derived(firstKey(ring), purpose),
    sealedPrefix: () => prefixOf(newest(ring).version),
    hasOlderVersions: () => ring.keys().filter((key) => key.opens).length > 1,
    watch: () => ring.watch(),
  };
}

function singleKey(key: Buffer): KeyRing {
  requireLength(key);
  const only = { version: FIRST_VERSION, key, opens: true, settled: true, recent: true };
  return { keys: () => [only], reload: async () => undefined, watch: () => () => undefined };
}

export function requireLength(key: Buffer): void {
  if (key.length !== KEY_BYTES) throw new Error('the master key must be 32 bytes');
}

function newest(ring: KeyRing): DataKey {
  const key = ring.keys().find((candidate) => candidate.opens);
  if (!key) throw new Error('the vault has no key');
  return key;
}

function firstKey(ring: KeyRing): DataKey {
  const key = ring.keys().find(({ version }) => version === FIRST_VERSION);
  if (!key) throw new Error('the vault has no first key');
  return key;
}

function prefixOf(version: number): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt8(FORMAT, 0);
  prefix.writeUInt32BE(version, 1);
  return prefix;
}

const boundTo = (prefix: Buffer, purpose: string) => Buffer.concat([prefix, Buffer.from(purpose)]);

const hkdf = (key: Buffer, info: string) => Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), info, KEY_BYTES));
const subKey = (key: Buffer, purpose: string) => hkdf(key, `seal ${purpose}`);

/** Keeps what it derived: purposes are few, and deriving a key takes longer than signing with it. */
function createDeriver(): (from: DataKey, purpose: string) => Buffer {
  const kept = new WeakMap<Buffer, Map<string, Buffer>>();
  return ({ version, key }, purpose) => {
    const ofKey = kept.get(key) ?? new Map<string, Buffer>();
    kept.set(key, ofKey);
    // As before versions for version 0: receipts that were printed then are still checked with it.
    const derived = ofKey.get(purpose) ?? hkdf(key, version === FIRST_VERSION ? purpose : `derive ${purpose}`);
    ofKey.set(purpose, derived);
    return derived;
  };
}

function decrypt(bytes: Buffer, key: Buffer, authenticated: Buffer): string {
  const tagEnd = IV_BYTES + TAG_BYTES;
  if (bytes.length < tagEnd) throw new Error('a sealed value is too short');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(authenticated)
    .setAuthTag(bytes.subarray(IV_BYTES, tagEnd));
  return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]).toString('utf8');
}

export function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** Equality that takes the same time wherever the first difference is. */
export function constantTimeEqual(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
