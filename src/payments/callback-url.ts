// Checks a callback URL: its form, then whether this gateway may call it.

import { isHttpUrl, MAX_URL_CHARACTERS } from '../platform/http-url.ts';
import type { AddError } from '../platform/validation.ts';
import type { PaymentsContext } from './context.ts';

/** Adds an error when callbacks cannot go to this URL. The URL is optional. */
export function checkCallbackUrl(
  ctx: Pick<PaymentsContext, 'checkCallbackUrl'>,
  url: string | null | undefined,
  add: AddError,
): void {
  if (!url) return;
  const refused = isHttpUrl(url)
    ? ctx.checkCallbackUrl(url)
    : `callback_url must be an http or https URL of at most ${MAX_URL_CHARACTERS} characters.`;
  if (refused !== null) add('callback_url', refused);
}
