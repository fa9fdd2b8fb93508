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
