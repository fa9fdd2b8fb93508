// Browsers that a person signed in with before. Their guesses of the password have a count of their own, so that strangers who
// guess for the same account cannot keep its owner out. The cookie is worth nothing else: it signs nobody in.

import { createHmac } from 'node:crypto';
import { randomSecret } from '../platform/ids.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import { type ConsoleRequest, readOwnCookie, setOwnCookie } from './console-request.ts';

const KEPT_SECONDS = 90 * 24 * 3_600;

/** The name of this browser, if the person signed in with it before; else null. */
export function knownBrowser(request: ConsoleRequest, email: string): string | null {
  const [id = '', proof = ''] = (readOwnCookie(request, 'browser') ?? '').split('.');
  const isRight = constantTimeEqual(Buffer.from(proof), Buffer.from(proofOf(request, email, id)));
  return id !== '' && isRight ? id : null;
}

export function rememberBrowser(request: ConsoleRequest, email: string): void {
  if (knownBrowser(request, email)) return;
  const id = randomSecret(12);
  setOwnCookie(request, 'browser', `${id}.${proofOf(request, email, id)}`, KEPT_SECONDS);
}

function proofOf({ ctx }: ConsoleRequest, email: string, id: string): string {
  const key = ctx.vault.deriveKey('known browsers');
  return createHmac('sha256', key).update(`${email.toLowerCase()}\n${id}`).digest('base64url');
}
