// Checks a callback that this gateway sent to itself, for the built-in receiver of the sandbox. The event is looked up by
// its id, so that the reason can tell a changed body from a wrong secret.

import type { Context } from '../platform/context.ts';
import { holderOfUuid, uuidFromPublicId } from '../platform/ids.ts';
import { type SignatureCheck, verifyCallback } from './signature.ts';

/** Verifies a received callback with the secrets of the integration whose event it is. */
export async function checkReceived(
  ctx: Context,
  secretsOf: (integrationId: bigint) => Promise<readonly string[]>,
  request: { headers: Record<string, string>; body: Buffer },
): Promise<SignatureCheck> {
  const { headers, body } = request;
  const id = uuidFromPublicId('evt', headers['webhook-id'] ?? '');
  const [event] = id
    ? await ctx.db.query<{ integration_id: bigint; body: Buffer }>(
        'select integration_id, body from events where holder_id = $1 and id = $2',
        [holderOfUuid(id), id],
      )
    : [];
  if (headers['webhook-id'] && !event) return { verified: false, why: 'webhook-id names no event of this gateway.' };
  return verifyCallback({
    headers,
    body,
    secrets: event ? await secretsOf(event.integration_id) : [],
    nowSeconds: Math.floor(ctx.clock.millis() / 1_000),
    sentBody: event?.body ?? null,
  });
}
