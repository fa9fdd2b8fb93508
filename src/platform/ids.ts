// Identifiers. Rows that grow without end are keyed by UUIDv7 (time first, so an index grows at its right edge), and the
// public form of such a key is a prefix and the same 128 bits in Crockford's base 32. The last 28 bits of an id that
// belongs to a holder are the number of that holder, so that a reference found alone says where to look; 46 bits are
// random, so it cannot be guessed.

import { hash, randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PUBLIC_LENGTH = 26;
const DIGIT_NINE = 0x39;
const DASH = 0x2d;
const HEX_DIGITS = '0123456789abcdef';
const EIGHT_BITS = Array.from({ length: 256 }, (_, bits) => bits.toString(16).padStart(2, '0'));
const TWELVE_BITS = Array.from({ length: 4096 }, (_, bits) => bits.toString(16).padStart(3, '0'));
const DIGIT_VALUES: readonly number[] = Array.from({ length: 128 }, (_, code) =>
  ALPHABET.indexOf(String.fromCharCode(code).toUpperCase()),
);

/** One prefix for each kind of row. A public id of one kind is never accepted in place of another. */
export type IdPrefix = 'TX' | 'RF' | 'pl' | 'evt' | 'case' | 'dec' | 'req' | 'bat' | 'set';

/** Random digits in store: asking for a few at a time would cost more than all the rest of an id. */
let pool = '';
let used = 0;

function randomHex(digits: number): string {
  if (used + digits > pool.length) {
    pool = randomBytes(4096).toString('hex');
    used = 0;
  }
  used += digits;
  return pool.slice(used - digits, used);
}

/** A UUIDv7 as PostgreSQL prints it. `millis` comes from the caller's clock. */
export function createUuid(millis: number): string {
  const time = millis.toString(16).padStart(12, '0');
  const random = randomHex(19);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variantDigit(random)}${random.slice(4, 7)}-${random.slice(7)}`;
}

/** The two highest bits of a UUID's fourth part say what kind it is; the two others are those of the fourth digit. */
function variantDigit(hex: string): string {
  return HEX_DIGITS.charAt(8 | (HEX_DIGITS.indexOf(hex.charAt(3)) & 3));
}

/** The gateway itself, where a row has no holder: money whose owner is unknown, and its cases. */
export const NO_HOLDER = 0n;
const HOLDER_DIGITS = 7;
const MAX_HOLDER = 16n ** BigInt(HOLDER_DIGITS) - 1n;

/** A UUIDv7 that carries its holder. */
export function createHolderUuid(millis: number, holderId: bigint): string {
  return createUuid(millis).slice(0, -HOLDER_DIGITS) + holderDigits(holderId);
}

function holderDigits(holderId: bigint): string {
  if (holderId < 0n || holderId > MAX_HOLDER) throw new Error(`holder ${holderId} does not fit into an id`);
  return holderId.toString(16).padStart(HOLDER_DIGITS, '0');
}

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

/** Two digits for each value of ten bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => ALPHABET.charAt(bits >> 5) + ALPHABET.charAt(bits & 31));

/** `pl_01JD…`: the public form of a UUID. 128 bits are 26 digits of five bits, the first of which holds three. */
export function publicId(prefix: IdPrefix, uuid: string): string {
  let text = `${prefix}_`;
  let bits = 0;
  let held = 2;
  // Four bits come in, ten go out; two zero bits in front fill the first digit.
  for (let index = 0; index < uuid.length; index++) {
    const code = uuid.charCodeAt(index);
    if (code === DASH) continue;
    bits = (bits << 4) | (code <= DIGIT_NINE ? code & 15 : (code & 15) + 9);
    held += 4;
    if (held < 10) continue;
    held -= 10;
    text += PAIRS[bits >> held] as string;
    bits &= (1 << held) - 1;
  }
  return text;
}

/** Eight digits that tell a public id from others of its holder: its start is the time, and its last digits are the holder. */
export function shortId(id: string): string {
  return id.slice(-14, -6);
}

/** The UUID of a public id, or null if the text is not one of that kind. Upper and lower case are equal. */
export function uuidFromPublicId(prefix: IdPrefix, text: string): string | null {
  if (text.length !== prefix.length + 1 + PUBLIC_LENGTH) return null;
  if (text.slice(0, prefix.length + 1).toLowerCase() !== `${prefix}_`.toLowerCase()) return null;
  const digitAt = (index: number) => valueOfDigit(text.charCodeAt(index));
  let at = prefix.length + 1;
  // Two digits are a byte, because the first holds three bits; then four digits are twenty bits. A digit that is none sets every bit.
  const first = (digitAt(at) << 5) | digitAt(at + 1);
  if (first < 0 || first > 255) return null;
  let hex = EIGHT_BITS[first] as string;
  for (at += 2; at < text.length; at += 4) {
    const bits = (digitAt(at) << 15) | (digitAt(at + 1) << 10) | (digitAt(at + 2) << 5) | digitAt(at + 3);
    if (bits < 0) return null;
    hex += `${EIGHT_BITS[bits >> 12]}${TWELVE_BITS[bits & 4095]}`;
  }
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
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
