// A passkey in software: what a device and its browser answer, including wrong answers.

import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 };

export type AuthenticatorAnswer = {
  origin?: string;
  host?: string;
  counter?: number;
  verified?: boolean;
  userHandle?: string;
  /** A format of attestation that names certificates. */
  certified?: boolean;
};

export type Authenticator = {
  /** Answers the options of a registration; returns what the page would send. */
  create(options: { challenge: string; user: { id: string } }, answer?: AuthenticatorAnswer): string;
  /** Answers the options of a sign-in. */
  get(options: { challenge: string }, answer?: AuthenticatorAnswer): string;
};

export function createAuthenticator(origin: string): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const credentialId = randomBytes(32);
  const own = { origin, host: new URL(origin).hostname, counter: 0, verified: true };
  let owner = '';

  const clientData = (type: string, challenge: string, at: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: at, crossOrigin: false }));

  const authenticatorData = (
    answer: Required<Pick<AuthenticatorAnswer, 'host' | 'counter' | 'verified'>>,
    more = 0,
  ) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(answer.counter);
    const flags = FLAGS.present | (answer.verified ? FLAGS.verified : 0) | more;
    return Buffer.concat([createHash('sha256').update(answer.host).digest(), Buffer.of(flags), counter]);
  };

  const write = (response: Record<string, unknown>) => {
    const id = credentialId.toString('base64url');
    return JSON.stringify({ id, rawId: id, type: 'public-key', response, clientExtensionResults: {} });
  };

  return {
    create(options, answer = {}) {
      const all = { ...own, ...answer };
      owner = options.user.id;
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
      const key = new Map<number, number | Uint8Array<ArrayBuffer>>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Uint8Array.from(Buffer.from(x, 'base64url'))],
        [-3, Uint8Array.from(Buffer.from(y, 'base64url'))],
      ]);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const data = Buffer.concat([
        authenticatorData(all, FLAGS.attested),
        Buffer.alloc(16),
        length,
        credentialId,
        isoCBOR.encode(key),
      ]);
      const statement = all.certified ? new Map([['x5c', [Uint8Array.from(randomBytes(20))]]]) : new Map();
      const attestation = new Map<string, unknown>([
        ['fmt', all.certified ? 'packed' : 'none'],
        ['attStmt', statement],
        ['authData', Uint8Array.from(data)],
      ]);
      return write({
        clientDataJSON: clientData('webauthn.create', options.challenge, all.origin).toString('base64url'),
        attestationObject: Buffer.from(isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0])).toString(
          'base64url',
        ),
        transports: ['internal'],
      });
    },
    get(options, answer = {}) {
      const all = { ...own, userHandle: owner, ...answer };
      const client = clientData('webauthn.get', options.challenge, all.origin);
      const data = authenticatorData(all);
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()]);
      return write({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign('sha256', signed, privateKey).toString('base64url'),
        userHandle: all.userHandle,
      });
    },
  };
}
