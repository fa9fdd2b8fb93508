// The way to the sample shop, for empty lists of a sandbox: one click.

import type { Html } from '../platform/html.ts';
import type { ConsoleRequest } from './console-request.ts';
import { postButton } from './form-components.ts';

/** Nothing where this gateway has no sample shop, such as in live mode. */
export function sampleShopButton(request: ConsoleRequest): Html | false {
  if (!request.services.sampleShop) return false;
  return postButton(request, '/sample-shop', request.t.sampleShop.open, { variant: 'secondary' });
}
