// HMAC-SHA256 (RFC 2104) as two hashes of one call each. The one of node:crypto makes a native object for every signature, which the
// garbage collector has to end: a twentieth of what Node does for an accepted payment (decision 63).

import { hash, timingSafeEqual } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Most signed requests fit: their bytes are written to the same place one after the other. */
const PLACE = Buffer.alloc(4_096);
const HEX_SIGNATURE = /^[0-9a-f]{64}$/;
/** Two signatures that are compared, as text. */
const [GIVEN, RIGHT] = [Buffer.alloc(2 * DIGEST_BYTES), Buffer.alloc(2 * DIGEST_BYTES)];

/** A secret that is ready to sign. Nothing that prints an object shows it. */
export class HmacKey {
  readonly #secret: Buffer;
  readonly #inner: Buffer;
  /** With room for the inner hash behind it. */
  readonly #outer: Buffer;

  constructor(secret: string | Uint8Array) {
    const given = Buffer.from(secret);
    const key = given.length > BLOCK_BYTES ? hash('sha256', given, 'buffer') : given;
    // Memory of its own: in Node's pool a key that is kept keeps the 64 kB around it.
    const own = Buffer.alloc(2 * BLOCK_BYTES + DIGEST_BYTES + given.length);
    this.#inner = own.subarray(0, BLOCK_BYTES);
    this.#outer = own.subarray(BLOCK_BYTES, 2 * BLOCK_BYTES + DIGEST_BYTES);
    this.#secret = own.subarray(2 * BLOCK_BYTES + DIGEST_BYTES);
    this.#secret.set(given);
    for (let index = 0; index < BLOCK_BYTES; index++) {
      const byte = key[index] ?? 0;
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    }
  }

  // Hashes are asked for as text: one that comes as a buffer has memory of its own, which takes longer to allocate than the hash to make.
  sign(encoding: 'hex' | 'base64', ...message: readonly (string | Uint8Array)[]): string {
    const inner = hash('sha256', withBlock(this.#inner, message), 'binary');
    this.#outer.write(inner, BLOCK_BYTES, 'binary');
    return hash('sha256', this.#outer, encoding);
  }

  /** Whether `signature`, in lower-case hexadecimal digits, is that of the message. Takes as long wherever the first wrong digit is. */
  matches(signature: string, message: string): boolean {
    const right = this.sign('hex', message);
    // Digits alone: of any other character only the lowest byte would be written.
    if (!HEX_SIGNATURE.test(signature)) return false;
    GIVEN.write(signature, 'latin1');
    RIGHT.write(right, 'latin1');
    return timingSafeEqual(GIVEN, RIGHT);
  }

  /** The secret itself, for its owner. */
  export(): Buffer {
    return Buffer.from(this.#secret);
  }
}

/** Valid until the next call. */
function withBlock(block: Buffer, message: readonly (string | Uint8Array)[]): Buffer {
  let length = BLOCK_BYTES;
  for (const part of message) length += Buffer.byteLength(part);
  const bytes = length <= PLACE.length ? PLACE.subarray(0, length) : Buffer.alloc(length);
  bytes.set(block);
  let at = BLOCK_BYTES;
  for (const part of message) {
    if (typeof part === 'string') {
      at += bytes.write(part, at);
    } else {
      bytes.set(part, at);
      at += part.length;
    }
  }
  return bytes;
}
