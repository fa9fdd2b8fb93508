// Who may call the simulated Sonatel API, its errors as problem+json, and the RSA keys for the PIN.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { BodyShape } from './body-shape.ts';
import { findShapeProblem } from './body-shape.ts';
import type { Operation } from './faults.ts';
import type { SimulatorRequest, SimulatorRoute } from './frame.ts';
import type { OrangeTools } from './orange-money-web.ts';
import { Refusal } from './refusal.ts';
import { decryptRsa } from './rsa-decrypt.ts';
import { bearerOf, createTokenStore } from './token-store.ts';

export interface SonatelAccess {
  routes: SimulatorRoute[];
  /** Throws the Refusal of a call that may not be made. */
  enter(request: SimulatorRequest, operation: Operation): void;
  checkPin(encrypted: string): void;
  /** From now on the keys that were given out are revoked. */
  rotateKey(): void;
}

/** `code` is Sonatel's own. */
export function sonatelProblem(status: number, code: string, detail: string): Refusal {
  const body = {
    type: 'https://developer.orange-sonatel.com/errors',
    title: detail,
    instance: `/${randomUUID()}`,
    status,
    code,
    detail,
    violations: [] as object[],
  };
  return new Refusal(status, body, { 'content-type': 'application/problem+json' });
}

export function checkSonatelShape(request: SimulatorRequest, shape: BodyShape): void {
  const problem = findShapeProblem(request.json, shape);
  if (problem === null) return;
  const refusal = sonatelProblem(400, '24', 'The request is not valid');
  (refusal.answer.body as { violations: object[] }).violations.push({ field: problem.field, message: problem.problem });
  throw refusal;
}

type PinKey = { keyId: string; publicKey: string; privateKey: string };

export function createSonatelAccess({ context, settings }: OrangeTools): SonatelAccess {
  const tokens = createTokenStore(() => context.now());
  /** The newest last; all others are revoked. Made when one is first needed, because it takes a while. */
  const keys: PinKey[] = [];
  const currentKey = (): PinKey => keys.at(-1) ?? addKey();
  function addKey(): PinKey {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = {
      keyId: randomUUID(),
      publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
      privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
    };
    keys.push(key);
    return key;
  }

  function enter(request: SimulatorRequest, operation: Operation): void {
    const token = bearerOf(request.headers.authorization);
    if (context.takeFault('token_ended', operation)) tokens.end(token);
    if (tokens.ownerOf(token) === null) throw sonatelProblem(401, '10', 'The token is not valid or has expired');
  }

  const tokenRoute = (path: string): SimulatorRoute => ({
    method: 'POST',
    path,
    operation: 'token',
    handle({ text }) {
      const form = new URLSearchParams(text);
      const isKnown =
        form.get('client_id') === settings.sonatelClientId &&
        form.get('client_secret') === settings.sonatelClientSecret &&
        form.get('grant_type') === 'client_credentials';
      if (!isKnown) throw sonatelProblem(401, '10', 'The client is not known');
      const seconds = Number(settings.sonatelTokenSeconds);
      const access_token = tokens.issue('merchant', seconds);
      const refresh_token = randomUUID();
      return { status: 200, body: { access_token, expires_in: seconds, refresh_token, token_type: 'Bearer' } };
    },
  });

  return {
    routes: [
      tokenRoute('/oauth/v1/token'),
      tokenRoute('/oauth/token'),
      {
        method: 'GET',
        path: '/api/account/v1/publicKeys',
        operation: 'other',
        handle(request) {
          enter(request, 'other');
          const { keyId, publicKey: key } = currentKey();
          return { status: 200, body: { keyId, keyType: 'RSA', keySize: 2048, key } };
        },
      },
    ],
    enter,
    checkPin(encrypted) {
      const pin = decryptRsa(encrypted, currentKey().privateKey, 'pkcs1');
      const isRevoked = keys.slice(0, -1).some((key) => decryptRsa(encrypted, key.privateKey, 'pkcs1') !== null);
      if (pin === null && isRevoked) throw sonatelProblem(400, '4003', 'The public key was revoked');
      if (pin === null) throw sonatelProblem(400, '4099', 'The PIN cannot be read');
      if (pin !== settings.sonatelPin) throw sonatelProblem(400, '2041', 'The PIN is wrong');
    },
    rotateKey: () => void addKey(),
  };
}
