// The built-in receiver of the sandbox: it keeps the last arrivals in memory, checks each signature as a receiver
// should, and says why when it does not verify.

import type { Context } from '../platform/context.ts';
import { holderOfUuid, uuidFromPublicId } from '../platform/ids.ts';
import { type SignatureCheck, verifyCallback } from './signature.ts';

const MAX_ARRIVALS = 200;
const MAX_KEPT_BODY_BYTES = 65_536;

export type Arrival = {
  /** Counts up, so that a page can ask for what is new. */
  number: number;
  at: Date;
  holderId: bigint | null;
  headers: Record<string, string>;
  body: string;
  verdict: SignatureCheck;
};

export type ArrivalLog = { arrivals: Arrival[]; received: number };

export function createArrivalLog(): ArrivalLog {
  return { arrivals: [], received: 0 };
}

/** Keeps one arrival with its verdict. Whose secret to check with is found by the event's id. */
export async function recordArrival(
  ctx: Context,
  log: ArrivalLog,
  secretsOf: (integrationId: bigint) => Promise<readonly string[]>,
  request: { headers: Record<string, string | string[] | undefined>; body: Buffer },
): Promise<Arrival> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  const id = uuidFromPublicId('evt', headers['webhook-id'] ?? '');
  const [event] = id
    ? await ctx.db.query<{ holder_id: bigint; integration_id: bigint; body: Buffer }>(
        'select holder_id, integration_id, body from events where holder_id = $1 and id = $2',
        [holderOfUuid(id), id],
      )
    : [];
  const checked = verifyCallback({
    headers,
    body: request.body,
    secrets: event ? await secretsOf(event.integration_id) : [],
    nowSeconds: Math.floor(ctx.clock.millis() / 1_000),
    sentBody: event?.body ?? null,
  });
  const unknown: SignatureCheck = { verified: false, why: 'webhook-id names no event of this gateway.' };
  const arrival: Arrival = {
    number: ++log.received,
    at: ctx.clock.now(),
    holderId: event?.holder_id ?? null,
    headers,
    body: request.body.subarray(0, MAX_KEPT_BODY_BYTES).toString('utf8'),
    verdict: headers['webhook-id'] && !event ? unknown : checked,
  };
  log.arrivals.push(arrival);
  if (log.arrivals.length > MAX_ARRIVALS) log.arrivals.shift();
  return arrival;
}

/** Arrivals after a number, newest first. */
export function listArrivals(log: ArrivalLog, after = 0): Arrival[] {
  return log.arrivals.filter((arrival) => arrival.number > after).reverse();
}
