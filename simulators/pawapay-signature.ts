// HTTP message signatures (RFC 9421) as pawaPay makes them for callbacks and demands them of requests.

import { constants, createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';

const LIFETIME_SECONDS = 60;
const COMPONENTS = ['@method', '@authority', '@path', 'signature-date', 'content-digest', 'content-type'];
const CONTENT_TYPE = 'application/json; charset=UTF-8';

export type PawapayKey = { id: string; privateKey: KeyObject; publicPem: string };

export function createPawapayKey(number: number): PawapayKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return {
    id: `HTTP_EC_P256_KEY:${number}`,
    privateKey,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  };
}

export type SigningOptions = {
  key: PawapayKey;
  /** The clock of the simulator, in milliseconds. */
  now: number;
  encoding: 'der' | 'raw';
  digest: 'sha-256' | 'sha-512';
};

/** The headers of a signed callback to this address. */
export function signCallback(url: string, text: string, options: SigningOptions): Record<string, string> {
  const { host, pathname } = new URL(url);
  const created = Math.floor(options.now / 1000);
  const values: Record<string, string> = {
    '@method': 'POST',
    '@authority': host,
    '@path': pathname,
    'signature-date': new Date(options.now).toISOString().replace('Z', '000Z'),
    'content-digest': digestOf(options.digest, text),
    'content-type': CONTENT_TYPE,
  };
  const list = COMPONENTS.map((name) => `"${name}"`).join(' ');
  const times = `created=${created};expires=${created + LIFETIME_SECONDS}`;
  const params = `(${list});alg="ecdsa-p256-sha256";keyid="${options.key.id}";${times}`;
  const signature = sign('sha256', Buffer.from(baseOf(COMPONENTS, values, params)), {
    key: options.key.privateKey,
    dsaEncoding: options.encoding === 'raw' ? 'ieee-p1363' : 'der',
  });
  return {
    'content-type': CONTENT_TYPE,
    'content-digest': values['content-digest'] ?? '',
    'signature-date': values['signature-date'] ?? '',
    'signature-input': `sig-pp=${params}`,
    signature: `sig-pp=:${signature.toString('base64')}:`,
    'accept-signature': 'ecdsa-p256-sha256,ecdsa-p384-sha384,rsa-pss-sha512,rsa-v1_5-sha256',
    'accept-digest': 'sha-256,sha-512',
  };
}

const digestOf = (name: 'sha-256' | 'sha-512', text: string) =>
  `${name}=:${createHash(name.replace('-', '')).update(text).digest('base64')}:`;

const baseOf = (components: string[], values: Readonly<Record<string, string | undefined>>, params: string) =>
  [...components.map((name) => `"${name}": ${values[name] ?? ''}`), `"@signature-params": ${params}`].join('\n');

export type SignedRequest = {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | undefined>>;
  text: string;
};

/** Why the signature of a request is refused; null when it is right. */
export function checkRequestSignature(
  request: SignedRequest,
  merchant: { keyId: string; publicPem: string },
  now: number,
): string | null {
  const { headers } = request;
  const input = /^([\w-]+)=(\(([^)]*)\)(.*))$/.exec(headers['signature-input'] ?? '');
  const signature = /^[\w-]+=:([A-Za-z0-9+/=]+):$/.exec(headers.signature ?? '')?.[1];
  if (input === null || signature === undefined) return 'The request is not signed.';
  const [, , params = '', list = '', rest = ''] = input;
  const components = Array.from(list.matchAll(/"([^"]+)"/g), ([, name = '']) => name);
  const uncovered = ['@method', '@authority', '@path', 'content-digest'].find((name) => !components.includes(name));
  if (uncovered !== undefined) return `The signature does not cover ${uncovered}.`;
  if (!digestMatches(headers['content-digest'] ?? '', request.text)) return 'The digest does not fit the content.';
  if (parameterOf(rest, 'keyid') !== merchant.keyId) return 'The key is not known.';
  if (Number(parameterOf(rest, 'expires') ?? 0) * 1000 < now) return 'The signature has expired.';
  const values = { ...headers, '@method': request.method, '@authority': headers.host, '@path': request.path };
  const base = Buffer.from(baseOf(components, values, params));
  return isSigned(base, Buffer.from(signature, 'base64'), parameterOf(rest, 'alg'), merchant.publicPem)
    ? null
    : 'The signature does not fit.';
}

const parameterOf = (rest: string, name: string) => new RegExp(`;${name}="?([^";]+)"?`).exec(rest)?.[1];

/** Every digest of the header that is known must match, and there must be one. */
function digestMatches(header: string, text: string): boolean {
  const digests = header.split(',').map((digest) => digest.trim());
  const known = digests.filter((digest) => /^sha-(256|512)=:/.test(digest));
  return (
    known.length > 0 &&
    known.every((digest) => digest === digestOf(digest.startsWith('sha-256') ? 'sha-256' : 'sha-512', text))
  );
}

/** ECDSA only in DER: pawaPay refuses the raw form in requests. */
function isSigned(base: Buffer, signature: Buffer, algorithm: string | undefined, publicPem: string): boolean {
  const key = createPublicKey(publicPem);
  const isEc = key.asymmetricKeyType === 'ec';
  switch (algorithm) {
    case 'ecdsa-p256-sha256':
      return isEc && verify('sha256', base, { key, dsaEncoding: 'der' }, signature);
    case 'ecdsa-p384-sha384':
      return isEc && verify('sha384', base, { key, dsaEncoding: 'der' }, signature);
    case 'rsa-v1_5-sha256':
      return !isEc && verify('sha256', base, key, signature);
    case 'rsa-pss-sha512':
      return (
        !isEc && verify('sha512', base, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 }, signature)
      );
    default:
      return false;
  }
}
