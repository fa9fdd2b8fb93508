// HMAC-SHA256 and random text on Web Crypto, which every runtime with fetch has.

const HMAC = { name: 'HMAC', hash: 'SHA-256' };
const encoder = new TextEncoder();

/** CryptoKey, under the name that every runtime's types have for it. */
export type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

export function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<HmacKey> {
  return crypto.subtle.importKey('raw', bytes, HMAC, false, ['sign', 'verify']);
}

export async function hmac(key: HmacKey, message: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, message));
}

/** Compares in constant time: the runtime does it. */
export function verifyHmac(
  key: HmacKey,
  signature: Uint8Array<ArrayBuffer>,
  message: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return crypto.subtle.verify('HMAC', key, signature, message);
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function randomHex(bytes: number): string {
  return hex(crypto.getRandomValues(new Uint8Array(bytes)));
}
