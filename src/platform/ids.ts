// Identifiers. Rows that grow without end are keyed by UUIDv7 (time first, so an index grows at its right edge), and the
// public form of such a key is a prefix and the same 128 bits in Crockford's base 32. The last 28 bits of an id that
// belongs to a holder are the number of that holder, so that a reference found alone says where to look; 46 bits are
// random, so it cannot be guessed.

import { hash, randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PUBLIC_LENGTH = 26;
const UUID_LENGTH = 36;
const HEX_LENGTH = 32;
const DASH = 0x2d;
const UNDERSCORE = 0x5f;
const HEX_DIGITS = '0123456789abcdef';
const HEX_CODES = Buffer.from(HEX_DIGITS);
const BASE32_CODES = Buffer.from(ALPHABET);
const DASHES: readonly number[] = [8, 13, 18, 23];
/** Where the 32 digits of a UUID stand in its text, between the dashes. */
const DIGIT_PLACES = Array.from({ length: UUID_LENGTH }, (_, at) => at).filter((at) => !DASHES.includes(at));
const DIGIT_VALUES: readonly number[] = Array.from({ length: 128 }, (_, code) =>
  ALPHABET.indexOf(String.fromCharCode(code).toUpperCase()),
);

/** One prefix for each kind of row. A public id of one kind is never accepted in place of another. */
export type IdPrefix = 'TX' | 'RF' | 'pl' | 'evt' | 'case' | 'dec' | 'req' | 'bat' | 'set';

/**
 * Ids are written here digit by digit and made a text at once: a text that is put together from others takes three times as long.
 * A new id finds the time of the one before.
 */
const newId = { text: Buffer.alloc(UUID_LENGTH, '-'), millis: -1 };
const otherId = Buffer.alloc(UUID_LENGTH, '-');

/** Random bytes in store: asking for a few at a time would cost more than all the rest of an id. */
const random = { bytes: Buffer.alloc(0), used: 0 };
const RANDOM_BYTES = 10;

/** Writes the lowest digits of a number, from the one at `first` of the 32 on. */
function writeDigits(text: Buffer, first: number, count: number, value: number): void {
  for (let index = count - 1; index >= 0; index--, value >>>= 4)
    text[DIGIT_PLACES[first + index] as number] = HEX_CODES[value & 15] as number;
}

function writeNewUuid(millis: number): Buffer {
  const { text } = newId;
  if (millis !== newId.millis) {
    const high = Math.floor(millis / 2 ** 24);
    writeDigits(text, 0, 6, high);
    writeDigits(text, 6, 6, millis - high * 2 ** 24);
    newId.millis = millis;
  }
  if (random.used + RANDOM_BYTES > random.bytes.length) {
    random.bytes = randomBytes(4096);
    random.used = 0;
  }
  const { bytes, used } = random;
  random.used += RANDOM_BYTES;
  writeDigits(text, 12, 4, 0x7000 | (bytes.readUInt16BE(used) & 0xfff));
  // The two highest bits of the fourth part say what kind of UUID it is.
  writeDigits(text, 16, 4, 0x8000 | (bytes.readUInt16BE(used + 2) & 0x3fff));
  writeDigits(text, 20, 6, bytes.readUIntBE(used + 4, 3));
  writeDigits(text, 26, 6, bytes.readUIntBE(used + 7, 3));
  return text;
}

/** A UUIDv7 as PostgreSQL prints it. `millis` comes from the caller's clock. */
export function createUuid(millis: number): string {
  return writeNewUuid(millis).toString('latin1', 0, UUID_LENGTH);
}

/** The two highest bits of a UUID's fourth part say what kind it is; the two others are those of the fourth digit. */
function variantDigit(hex: string): string {
  return HEX_DIGITS.charAt(8 | (HEX_DIGITS.indexOf(hex.charAt(3)) & 3));
}

/** The gateway itself, where a row has no holder: money whose owner is unknown, and its cases. */
export const NO_HOLDER = 0n;
const HOLDER_DIGITS = 7;
const MAX_HOLDER = 16 ** HOLDER_DIGITS - 1;

/** A UUIDv7 that carries its holder. */
export function createHolderUuid(millis: number, holderId: bigint): string {
  const text = writeNewUuid(millis);
  writeDigits(text, HEX_LENGTH - HOLDER_DIGITS, HOLDER_DIGITS, numberOfHolder(holderId));
  return text.toString('latin1', 0, UUID_LENGTH);
}

function numberOfHolder(holderId: bigint): number {
  const number = Number(holderId);
  if (number < 0 || number > MAX_HOLDER) throw new Error(`holder ${holderId} does not fit into an id`);
  return number;
}

const holderDigits = (holderId: bigint) => numberOfHolder(holderId).toString(16).padStart(HOLDER_DIGITS, '0');

/**
 * A UUIDv7 of a fact about a row: the time of the row's id, 46 bits of the SHA-256 of the fact, and the holder. The same
 * fact always has the same id, also when it is written again after a restore.
 */
export function deriveHolderUuid(rowId: string, fact: string, holderId: bigint): string {
  const digest = hash('sha256', `${rowId}|${fact}`, 'hex');
  const own = `7${digest.slice(0, 3)}-${variantDigit(digest)}${digest.slice(4, 7)}-${digest.slice(7, 12)}`;
  return `${rowId.slice(0, 14)}${own}${holderDigits(holderId)}`;
}

const VERSION_DIGIT = 14;
const REFUND_VERSION = '8';

/** The id of a refund: as createHolderUuid, marked by version 8, so that a reference alone says what it names. */
export function createRefundUuid(millis: number, holderId: bigint): string {
  const uuid = createHolderUuid(millis, holderId);
  return uuid.slice(0, VERSION_DIGIT) + REFUND_VERSION + uuid.slice(VERSION_DIGIT + 1);
}

export function isRefundId(uuid: string): boolean {
  return uuid[VERSION_DIGIT] === REFUND_VERSION;
}

/** The holder that an id names. What a stranger sent may name any holder: look the row up under both. */
export function holderOfUuid(uuid: string): bigint {
  return BigInt(`0x${uuid.slice(-HOLDER_DIGITS)}`);
}

/** The moment that a UUIDv7 carries, in milliseconds. */
export function timeOfUuid(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** Whether a text is a UUID as PostgreSQL prints it. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text);
}

/** The smallest UUIDv7 of a moment: its first 48 bits are the milliseconds. */
export function lowestUuid(moment: Date): string {
  const hex = Math.max(0, moment.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** `pl_01JD…`: the public form of a UUID. 128 bits are 26 digits of five bits, the first of which holds three. */
export function publicId(prefix: IdPrefix, uuid: string): string {
  const text = otherId;
  let length = 0;
  for (; length < prefix.length; length++) text[length] = prefix.charCodeAt(length);
  text[length++] = UNDERSCORE;
  // The first two digits come from a byte, whose highest bits have a digit of their own; four come from each twenty bits after it.
  let bits = hexBits(uuid, 0, 2);
  text[length++] = BASE32_CODES[bits >> 5] as number;
  text[length++] = BASE32_CODES[bits & 31] as number;
  for (let digit = 2; digit < HEX_LENGTH; digit += 5) {
    bits = hexBits(uuid, digit, 5);
    text[length++] = BASE32_CODES[bits >> 15] as number;
    text[length++] = BASE32_CODES[(bits >> 10) & 31] as number;
    text[length++] = BASE32_CODES[(bits >> 5) & 31] as number;
    text[length++] = BASE32_CODES[bits & 31] as number;
  }
  return text.toString('latin1', 0, length);
}

/** The value of some digits of a UUID, from the one at `first` of the 32 on. */
function hexBits(uuid: string, first: number, count: number): number {
  let bits = 0;
  for (let digit = first; digit < first + count; digit++) {
    const code = uuid.charCodeAt(DIGIT_PLACES[digit] as number);
    // Letters, of either case, have the bit that figures have not.
    bits = (bits << 4) | ((code & 15) + (code >> 6) * 9);
  }
  return bits;
}

/** Eight digits that tell a public id from others of its holder: its start is the time, and its last digits are the holder. */
export function shortId(id: string): string {
  return id.slice(-14, -6);
}

/** The UUID of a public id, or null if the text is not one of that kind. Upper and lower case are equal. */
export function uuidFromPublicId(prefix: IdPrefix, text: string): string | null {
  if (text.length !== prefix.length + 1 + PUBLIC_LENGTH) return null;
  const start = `${prefix}_`;
  if (!text.startsWith(start) && text.slice(0, start.length).toLowerCase() !== start.toLowerCase()) return null;
  const id = otherId;
  for (const at of DASHES) id[at] = DASH;
  const digitAt = (index: number) => valueOfDigit(text.charCodeAt(index));
  let at = start.length;
  // As in publicId. A digit that is none sets every bit.
  const first = (digitAt(at) << 5) | digitAt(at + 1);
  if (first < 0 || first > 255) return null;
  writeDigits(id, 0, 2, first);
  at += 2;
  for (let digit = 2; digit < HEX_LENGTH; digit += 5, at += 4) {
    const bits = (digitAt(at) << 15) | (digitAt(at + 1) << 10) | (digitAt(at + 2) << 5) | digitAt(at + 3);
    if (bits < 0) return null;
    writeDigits(id, digit, 5, bits);
  }
  return id.toString('latin1', 0, UUID_LENGTH);
}

/** The value of a digit in either case, or -1. Letters outside ASCII have none, whatever their capital is. */
function valueOfDigit(code: number): number {
  return code < DIGIT_VALUES.length ? (DIGIT_VALUES[code] ?? -1) : -1;
}

/** A secret of `bytes` random bytes in URL-safe base 64. */
export function randomSecret(bytes = 32): string {
  return randomBytes(bytes).toString('base64url');
}

/** Random text in lower-case base 32, for names that are copied by hand (client ids, short codes). */
export function randomName(length: number): string {
  return base32Letters(randomBytes(length)).toLowerCase();
}

/** One letter of Crockford's base 32 for the low five bits of each byte. */
export function base32Letters(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => ALPHABET.charAt(byte & 31)).join('');
}
