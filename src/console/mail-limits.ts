// Mails that a visitor of the console can make the gateway send: few to one address, and few from one.

import { takeGuess } from '../holders/guesses.ts';
import { Problem } from '../platform/errors.ts';
import { addressOf } from '../platform/http.ts';
import type { ConsoleRequest } from './console-request.ts';

export async function limitMails(
  { ctx, raw }: ConsoleRequest,
  to: string,
  kind: 'mail' | 'invitation' = 'mail',
): Promise<void> {
  const result = await takeGuess(ctx, { kind, person: to.toLowerCase(), address: addressOf(raw) });
  if (!result.allowed) throw new Problem('rate_limited', { retryAfterSeconds: result.retryAfterSeconds });
}

/** A name in a mail of ours: on one line, and nothing in it that a mail program makes a link of. */
export function nameInMail(name: string): string {
  return name
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .replace(/[:/@.\\]+(?=\S)/g, ' ')
    .trim();
}
