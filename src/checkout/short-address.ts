// /p/<code>: leads to the page of the link. Codes that do not exist are counted per address, so that nobody can try many.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { linkId } from '../links/links.ts';
import { findLinkByCode } from '../links/short-codes.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { limitKey } from '../platform/addresses.ts';
import { Problem } from '../platform/errors.ts';
import { createFailureCounter } from '../platform/rate-limit.ts';
import type { Params } from './link-view.ts';

/** High, because many payers share one address of their mobile operator, and some mistype. */
const MAX_WRONG_CODES = 60;
const WINDOW_SECONDS = 600;

export function createShortAddress(
  ctx: PaymentsContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const wrong = createFailureCounter(ctx.clock, WINDOW_SECONDS);
  return async (request, reply) => {
    const address = limitKey(request.ip);
    if (wrong.count(address) >= MAX_WRONG_CODES)
      throw new Problem('rate_limited', { retryAfterSeconds: WINDOW_SECONDS });
    const link = await findLinkByCode(ctx.db, (request.params as Params).code);
    if (!link) {
      wrong.add(address);
      throw new Problem('payment_link_not_found');
    }
    const [, query = ''] = request.url.split('?');
    return reply
      .header('Cache-Control', 'no-store')
      .redirect(`/pay/${linkId(link)}${query === '' ? '' : `?${query}`}`, 302);
  };
}
