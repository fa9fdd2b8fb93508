// The one check of a URL that callbacks shall go to: its shape, then whether this gateway may call it.

import { isHttpUrl, MAX_URL_CHARACTERS } from '../platform/http-url.ts';
import type { AddError } from '../platform/validation.ts';
import type { PaymentsContext } from './context.ts';

/** Adds why callbacks cannot go to this URL, if they cannot. No URL is fine. */
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
