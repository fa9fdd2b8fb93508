// What became of the payment links that were made as retries of a transaction.

import { linkStatus, lockLink } from '../links/links.ts';
import type { FindLinkState } from '../payments/retries.ts';
import type { HolderRequest } from './console-request.ts';

/** Locks the link: a payer who is starting a payment through it is waited for. */
export function linkStates({ ctx }: Pick<HolderRequest, 'ctx'>): FindLinkState {
  return async (tx, id) => {
    const link = await lockLink(tx, id);
    const state = link && linkStatus(link, ctx.clock.now());
    return state === 'active' ? 'open' : state === 'paid' ? 'paid' : 'closed';
  };
}
