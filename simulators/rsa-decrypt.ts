// Decrypts what a merchant encrypted with the operator's public key.

import { constants, createPrivateKey, privateDecrypt } from 'node:crypto';

export type RsaPadding = 'pkcs1' | 'oaep';

/** The text; null when it was encrypted with another key or another padding. `privateKey` is PKCS #8, DER in base64. */
export function decryptRsa(encrypted: string, privateKey: string, padding: RsaPadding): string | null {
  const key = createPrivateKey({ key: Buffer.from(privateKey, 'base64'), format: 'der', type: 'pkcs8' });
  const bytes = Buffer.from(encrypted, 'base64');
  try {
    if (padding === 'oaep') {
      return privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }, bytes).toString(
        'utf8',
      );
    }
    return stripPkcs1(privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, bytes));
  } catch {
    return null;
  }
}

/** 00 02, at least eight bytes that are not 00, 00, the text. Stripped by hand: Node answers a wrong padding with random bytes. */
function stripPkcs1(padded: Buffer): string | null {
  const end = padded.indexOf(0, 2);
  return padded[0] === 0 && padded[1] === 2 && end >= 10 ? padded.subarray(end + 1).toString('utf8') : null;
}
