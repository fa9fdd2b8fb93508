// Checks a callback that this gateway sent to itself, for the built-in receiver of the sandbox. The event is looked up by
// its id, so that the reason can tell a changed body from a wrong secret.

import { createBatch } from '../platform/batch.ts';
import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import { holderOfUuid, uuidFromPublicId } from '../platform/ids.ts';
import { perProcess } from '../platform/memory.ts';
import { transactionIdsOf } from './events.ts';
import { unpackBody } from './packed-body.ts';
import { type SignatureCheck, verifyCallback } from './signature.ts';

type SentEvent = { id: string; integration_id: bigint; body: Buffer };

/** Keys of events of any holders: each id contains its holder. */
const EVENTS = columns<string>(1, {
  holder_id: ['bigint', holderOfUuid],
  event_id: ['uuid', (id) => id],
  first_id: ['uuid', (id) => transactionIdsOf(id)[0]],
  last_id: ['uuid', (id) => transactionIdsOf(id)[1]],
});

/** Callbacks that come at the same time are looked up together. */
const sentEvents = perProcess((ctx: Context) =>
  createBatch<string, SentEvent | null>({
    async run(ids) {
      const rows = await ctx.db.query<SentEvent>(
        {
          name: 'find_sent_events',
          text: `select e.id, e.integration_id, e.body from ${EVENTS.rows}
                 join events e on e.holder_id = input.holder_id and e.id = input.event_id
                   and e.transaction_id between input.first_id and input.last_id`,
        },
        EVENTS.arrays(ids),
      );
      const byId = new Map(rows.map((row) => [row.id, row]));
      return ids.map((id) => byId.get(id) ?? null);
    },
  }),
);

/** Verifies a received callback with the secrets of the integration whose event it is. */
export async function checkReceived(
  ctx: Context,
  secretsOf: (integrationId: bigint) => Promise<readonly string[]>,
  request: { headers: Record<string, string>; body: Buffer },
): Promise<SignatureCheck> {
  const { headers, body } = request;
  const id = uuidFromPublicId('evt', headers['webhook-id'] ?? '');
  const event = id ? await sentEvents(ctx).add(id) : null;
  if (headers['webhook-id'] && !event) return { verified: false, why: 'webhook-id names no event of this gateway.' };
  return verifyCallback({
    headers,
    body,
    secrets: event ? await secretsOf(event.integration_id) : [],
    nowSeconds: Math.floor(ctx.clock.millis() / 1_000),
    sentBody: event && unpackBody(event.body),
  });
}
