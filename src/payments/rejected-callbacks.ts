// Messages to operators' addresses that nobody could authenticate, or that say nothing that we can use. They are kept for a
// while, so that people can see what an operator, or a stranger, sent.

import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { type CallbackRequest, MAX_RAW_CHARACTERS } from '../rails/rail.ts';
import { visibleText } from './observations.ts';

/** How many messages of strangers and how long rejected messages are kept, and how many one pass deletes. */
const MAX_STRANGERS_KEPT = 1_000;
const REJECTED_KEPT_MS = 90 * DAY_MS;
const PURGE_LIMIT = 1_000;
/** Headers that could carry an operator's credentials are not kept. */
const SECRET_HEADERS = /^(authorization|cookie|proxy-authorization)$/i;

type RejectedMessage = Pick<CallbackRequest, 'headers' | 'body'> & { rail: string };

export async function keepRejected(
  tx: Tx,
  message: RejectedMessage,
  { reason, authenticated = false }: { reason: string; authenticated?: boolean },
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into rejected_callbacks (rail, reason, headers, body, received_at, authenticated)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      message.rail,
      visibleText(reason.slice(0, 500)),
      keptHeaders(message),
      message.body.subarray(0, MAX_RAW_CHARACTERS),
      at,
      authenticated,
    ],
  );
  if (!authenticated) await trimStrangers(tx);
}

/** Deletes all but the newest messages of strangers, a batch at a time. Returns how many. */
async function trimStrangers(reader: Reader): Promise<number> {
  const rows = await reader.query(
    `delete from rejected_callbacks where id in
       (select id from rejected_callbacks where not authenticated and id <=
          (select id from rejected_callbacks where not authenticated order by id desc offset $1 limit 1)
        order by id limit $2 for update skip locked)
     returning 1`,
    [MAX_STRANGERS_KEPT, PURGE_LIMIT],
  );
  return rows.length;
}

export function keptHeaders(message: Pick<CallbackRequest, 'headers'>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(message.headers).filter(([name]) => !SECRET_HEADERS.test(name)));
}

/** Deletes rejected messages after ninety days, and those of strangers that are too many, a batch at a time. Returns how many. */
export async function purgeRejectedCallbacks(ctx: Context): Promise<number> {
  const now = await ctx.databaseTime.now();
  const rows = await ctx.db.query(
    `delete from rejected_callbacks where id in
       (select id from rejected_callbacks where received_at < $1 order by id limit $2)
     returning 1`,
    [new Date(now.getTime() - REJECTED_KEPT_MS), PURGE_LIMIT],
  );
  return rows.length + (await trimStrangers(ctx.db));
}
