// The signatures of pawaPay: RFC 9421 with the digest of RFC 9530, over its callbacks and over our requests.

import { constants, createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { CallbackRequest } from './rail.ts';

/** A clock may run ahead by this much. */
const MAX_AHEAD_SECONDS = 300;
const LIFE_SECONDS = 60;
const LABEL = 'sig-pp';
/** A signature over less proves too little: another body, address or call could carry it. */
const MUST_COVER = ['content-digest', '@method', '@authority', '@path'];
const SIGNED = ['@method', '@authority', '@path', 'signature-date', 'content-digest', 'content-type'];
/** "label=(components);parameters", one or several. */
const BETWEEN_SIGNATURES = /,\s*(?=[a-z*][a-z0-9_.*-]*=\()/;
const INPUT = /^\s*([a-z*][a-z0-9_.*-]*)=(\(((?:"[^"]*")(?: "[^"]*")*)\)((?:;[a-z]+=(?:"[^"]*"|\d{1,15}))+))\s*$/;
const DIGEST = /^\s*([a-z0-9-]+)=:([A-Za-z0-9+/=]+):\s*$/;

export type SignatureAlgorithm = 'ecdsa-p256-sha256' | 'ecdsa-p384-sha384' | 'rsa-pss-sha512' | 'rsa-v1_5-sha256';
/** Public keys by the id that signatures name. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** expired: rightly signed, but too long ago or for another host. unknown_key: nobody can tell yet. */
export type SignatureResult = 'unsigned' | 'valid' | 'expired' | 'unknown_key' | 'wrong';

type Algorithm = { hash: string; keyType: 'ec' | 'rsa'; curve?: string; rawBytes?: number; pss?: true };

const ALGORITHMS: Record<SignatureAlgorithm, Algorithm> = {
  'ecdsa-p256-sha256': { hash: 'sha256', keyType: 'ec', curve: 'prime256v1', rawBytes: 64 },
  'ecdsa-p384-sha384': { hash: 'sha384', keyType: 'ec', curve: 'secp384r1', rawBytes: 96 },
  'rsa-pss-sha512': { hash: 'sha512', keyType: 'rsa', pss: true },
  'rsa-v1_5-sha256': { hash: 'sha256', keyType: 'rsa' },
};

const isAlgorithm = (name: string | undefined): name is SignatureAlgorithm =>
  name !== undefined && Object.hasOwn(ALGORITHMS, name);

/** What a signature covers: the call as its sender addressed it. */
type SignedMessage = {
  method: string;
  authority: string;
  /** Percent-encoded as sent, without the query. */
  path: string;
  header(name: string): string | null;
};

/** `authorities`: the hosts that it may be signed for. */
export function checkSignature(
  request: CallbackRequest,
  authorities: readonly string[],
  keys: PublicKeys,
  nowMs: number,
): SignatureResult {
  const header = (name: string) => headerOf(request, name);
  if (header('signature-input') === null && header('signature') === null) return 'unsigned';
  const input = readInput(header('signature-input') ?? '');
  const signature = input && readSignature(header('signature') ?? '', input.label);
  if (!input || !signature || !MUST_COVER.every((name) => input.components.includes(name))) return 'wrong';
  if (!isDigestRight(header('content-digest') ?? '', request.body)) return 'wrong';
  const { keyid = '', alg, created, expires } = input.parameters;
  const createdAt = Number(created);
  if (!isAlgorithm(alg) || !(createdAt * 1_000 <= nowMs + MAX_AHEAD_SECONDS * 1_000)) return 'wrong';
  const key = keys.get(keyid);
  if (key === undefined) return 'unknown_key';
  if (!fits(key, alg)) return 'wrong';
  const path = request.path.replace(/\?.*$/s, '');
  const isRight = [...new Set(authorities)].some((authority) => {
    const base = signatureBase({ method: request.method.toUpperCase(), authority, path, header }, input);
    return base !== null && isSignatureRight(key, alg, base, signature);
  });
  if (!isRight) return 'wrong';
  return Number(expires ?? createdAt + LIFE_SECONDS) * 1_000 < nowMs ? 'expired' : 'valid';
}

type SignatureInput = {
  label: string;
  components: string[];
  parameters: Record<string, string>;
  /** Components and parameters as written: the last line of the signature base. */
  written: string;
};

function readInput(text: string): SignatureInput | null {
  const inputs = text.split(BETWEEN_SIGNATURES).map((member) => INPUT.exec(member));
  const match = inputs.find((found) => found?.[1] === LABEL) ?? inputs[0];
  if (!match) return null;
  const [, label = '', written = '', components = '', parameters = ''] = match;
  const pairs = parameters
    .split(';')
    .slice(1)
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1).replaceAll('"', '')] as const);
  return {
    label,
    written,
    components: components.split(' ').map((name) => name.slice(1, -1).toLowerCase()),
    parameters: Object.fromEntries(pairs),
  };
}

function readSignature(text: string, label: string): Buffer | null {
  for (const member of text.split(',')) {
    const match = DIGEST.exec(member);
    if (match?.[1] === label) return Buffer.from(match[2] ?? '', 'base64');
  }
  return null;
}

/** Every digest that we can compute must be that of the body, and there must be one. */
function isDigestRight(text: string, body: Buffer): boolean {
  const known = text.split(',').flatMap((member) => {
    const [, name = '', digest = ''] = DIGEST.exec(member) ?? [];
    const hash = name === 'sha-512' ? 'sha512' : name === 'sha-256' ? 'sha256' : null;
    return hash === null ? [] : [createHash(hash).update(body).digest('base64') === digest];
  });
  return known.length > 0 && known.every(Boolean);
}

/** Null when a component is none that we can know, or its header is missing. */
function signatureBase(message: SignedMessage, { components, written }: SignatureBaseInput): string | null {
  const lines = components.map((name) => {
    const value = componentOf(message, name);
    return value === null ? null : `"${name}": ${value}`;
  });
  if (lines.includes(null)) return null;
  return [...lines, `"@signature-params": ${written}`].join('\n');
}

type SignatureBaseInput = Pick<SignatureInput, 'components' | 'written'>;

function componentOf(message: SignedMessage, name: string): string | null {
  switch (name) {
    case '@method':
      return message.method;
    case '@authority':
      return message.authority;
    case '@path':
      return message.path;
    default:
      return name.startsWith('@') ? null : message.header(name);
  }
}

function isSignatureRight(key: KeyObject, name: SignatureAlgorithm, base: string, signature: Buffer): boolean {
  const algorithm = ALGORITHMS[name];
  try {
    return verify(algorithm.hash, Buffer.from(base), optionsOf(key, algorithm, signature.length), signature);
  } catch {
    return false;
  }
}

/** RFC 9421 wants r and s in a row; pawaPay's own examples write DER. The length tells them apart. */
function optionsOf(key: KeyObject, { rawBytes, pss }: Algorithm, length: number) {
  if (pss) return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 };
  if (rawBytes === undefined) return { key };
  return { key, dsaEncoding: length === rawBytes ? ('ieee-p1363' as const) : ('der' as const) };
}

function fits(key: KeyObject, name: SignatureAlgorithm): boolean {
  const { keyType, curve } = ALGORITHMS[name];
  if (key.asymmetricKeyType !== keyType) return false;
  return curve === undefined || key.asymmetricKeyDetails?.namedCurve === curve;
}

function headerOf({ headers }: CallbackRequest, name: string): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  return Array.isArray(value) ? value.map((part) => part.trim()).join(', ') : value.trim();
}

/** Null when the text is not a public key. */
export function readPublicKey(pem: string): KeyObject | null {
  try {
    return createPublicKey(pem);
  } catch {
    return null;
  }
}

export type RequestSigner = {
  keyId: string;
  key: KeyObject;
  algorithm: SignatureAlgorithm;
  /** How an ECDSA signature is written. */
  encoding: 'der' | 'ieee-p1363';
};

/** Null when the key is none of a kind that pawaPay takes. */
export function readSigner(keyId: string, pem: string, encoding: RequestSigner['encoding']): RequestSigner | null {
  try {
    const key = createPrivateKey(pem);
    const name = (['ecdsa-p256-sha256', 'ecdsa-p384-sha384', 'rsa-v1_5-sha256'] as const).find((each) =>
      fits(key, each),
    );
    return name === undefined ? null : { keyId, key, algorithm: name, encoding };
  } catch {
    return null;
  }
}

/** The headers of a signed request, for exactly these bytes. */
export function signRequest(
  signer: RequestSigner,
  { authority, path, body, now }: { authority: string; path: string; body: string; now: Date },
): Record<string, string> {
  const created = Math.floor(now.getTime() / 1_000);
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=UTF-8',
    'content-digest': `sha-512=:${createHash('sha512').update(body).digest('base64')}:`,
    'signature-date': now.toISOString(),
  };
  const parameters = `;alg="${signer.algorithm}";keyid="${signer.keyId}";created=${created};expires=${created + LIFE_SECONDS}`;
  const written = `(${SIGNED.map((name) => `"${name}"`).join(' ')})${parameters}`;
  const message: SignedMessage = { method: 'POST', authority, path, header: (name) => headers[name] ?? null };
  const base = signatureBase(message, { components: SIGNED, written }) ?? '';
  const { hash } = ALGORITHMS[signer.algorithm];
  const signature = sign(hash, Buffer.from(base), { key: signer.key, dsaEncoding: signer.encoding });
  return {
    ...headers,
    'signature-input': `${LABEL}=${written}`,
    signature: `${LABEL}=:${signature.toString('base64')}:`,
    'accept-signature': Object.keys(ALGORITHMS).join(','),
    'accept-digest': 'sha-256,sha-512',
  };
}
