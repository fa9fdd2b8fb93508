// One attempt to deliver an event: sign, send, and read the answer. Nothing is written here.

import type { HmacKey } from '../platform/hmac.ts';
import { publicId } from '../platform/ids.ts';
import type { Outbound, OutboundResult } from '../platform/outbound.ts';
import type { ClaimedRow } from './claim.ts';
import type { DeliveryResult } from './delivery-results.ts';
import { LEASE_MS, originOf, type RecordedEvent } from './events.ts';
import { unpackBody } from './packed-body.ts';
import { nextAttempt, readRetryAfter } from './schedule.ts';
import { callbackHeaders, signCallback } from './signature.ts';

const MAX_ANSWER_BYTES = 16_384;
const KEPT_ANSWER_BYTES = 4_096;
const KEPT_HEADER_CHARACTERS = 4_096;
/** Not part of what is signed: it says nothing about the event. */
const HEAD_HEADER = 'simbi-ledger-head';
/** Every answer has them, and they say nothing about it that an attempt does not say: they are not kept. */
const PLAIN_HEADERS = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);

/** A delivery that this process holds the lease of. */
export type PendingDelivery = {
  eventId: string;
  transactionId: string;
  publicId: string;
  holderId: bigint;
  integrationId: bigint;
  origin: string;
  url: string;
  body: Buffer;
  attempts: number;
  startedAt: Date;
  leasedUntilMs: number;
  /** Its place among all that were queued in this process; 0 before. */
  place: number;
  /** Set for a probe: when the delivery is due, which stays so if the probe fails. */
  probeDueAt: Date | null;
};

/** Null where there is no address, or no integration whose secret signs. */
export function deliveryOfEvent(event: RecordedEvent): PendingDelivery | null {
  if (event.url === null || event.integrationId === null) return null;
  return {
    eventId: event.id,
    transactionId: event.transactionId,
    publicId: event.publicId,
    holderId: event.holderId,
    integrationId: event.integrationId,
    origin: originOf(event.url),
    url: event.url,
    body: event.body,
    attempts: 0,
    startedAt: event.createdAt,
    leasedUntilMs: event.leasedUntil.getTime(),
    place: 0,
    probeDueAt: null,
  };
}

export function deliveryOfRow(row: ClaimedRow, now: Date): PendingDelivery {
  return {
    eventId: row.event_id,
    transactionId: row.transaction_id,
    publicId: publicId('evt', row.event_id),
    holderId: row.holder_id,
    integrationId: row.integration_id,
    origin: row.origin,
    url: row.url,
    body: unpackBody(row.body),
    attempts: row.attempts,
    startedAt: row.started_at,
    leasedUntilMs: now.getTime() + LEASE_MS,
    place: 0,
    probeDueAt: row.probe ? row.was_due_at : null,
  };
}

type SentDelivery = { at: Date; signature: string; result: OutboundResult };

export async function sendDelivery(
  outbound: Pick<Outbound, 'request'>,
  secrets: readonly string[],
  delivery: PendingDelivery,
  options: { at: Date; timeoutMs: number; head?: string | null; toKey: (secret: string) => HmacKey },
): Promise<SentDelivery> {
  const { at, timeoutMs, head, toKey } = options;
  const seconds = Math.floor(at.getTime() / 1_000);
  const signature = signCallback(secrets, delivery.publicId, seconds, delivery.body, toKey);
  if (secrets.length === 0) {
    const reason = 'The integration has no live callback secret to sign with.';
    return { at, signature, result: { error: 'unreachable', reason, latencyMs: 0 } };
  }
  const result = await outbound.request({
    url: delivery.url,
    method: 'POST',
    headers: { ...callbackHeaders(delivery.publicId, seconds, signature), ...(head ? { [HEAD_HEADER]: head } : {}) },
    body: delivery.body,
    timeoutMs,
    maxAnswerBytes: MAX_ANSWER_BYTES,
  });
  return { at, signature, result };
}

function identityOf({ eventId, holderId, integrationId, origin, url }: PendingDelivery) {
  return { eventId, holderId, integrationId, origin, url };
}

/** What the answer means for the delivery. The health of the receiver is not known here. */
export function readAnswer(
  delivery: PendingDelivery,
  { at, signature, result }: SentDelivery,
  random: () => number,
): Omit<DeliveryResult, 'receiver'> {
  const answer = result.error === null ? result : null;
  const delivered = answer !== null && answer.status >= 200 && answer.status < 300;
  const gone = answer?.status === 410;
  const isProbe = delivery.probeDueAt !== null;
  const attempts = isProbe ? delivery.attempts : delivery.attempts + 1;
  const retryAfterMs = answer ? readRetryAfter(answer.headers['retry-after'], at) : null;
  const retry = { attempts, startedAt: delivery.startedAt, at, retryAfterMs };
  return {
    ...identityOf(delivery),
    at,
    number: isProbe ? 0 : attempts,
    delivered,
    signature,
    status: answer?.status ?? null,
    answerHeaders: answer ? clipHeaders(answer.headers) : null,
    answerStart: answer && answer.bodyStart.length > 0 ? answer.bodyStart.subarray(0, KEPT_ANSWER_BYTES) : null,
    latencyMs: result.latencyMs,
    error: delivered ? null : result.error === null ? describeStatus(result.status) : result.reason,
    attempts,
    nextAt: delivered || gone ? null : (delivery.probeDueAt ?? nextAttempt(retry, random)),
    gone,
    retryAfterMs,
  };
}

/** The result of a delivery that was not sent, because its address is gone: it waits with the others of that address. */
export function heldBack(delivery: PendingDelivery, at: Date): DeliveryResult {
  return {
    ...identityOf(delivery),
    at,
    number: 0,
    delivered: false,
    signature: '',
    status: null,
    answerHeaders: null,
    answerStart: null,
    latencyMs: 0,
    error: null,
    attempts: delivery.attempts,
    nextAt: delivery.probeDueAt ?? new Date(delivery.leasedUntilMs),
    gone: false,
    receiver: 'unchanged',
    retryAfterMs: null,
  };
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `The receiver answered ${status}, a redirect; redirects are not followed.`;
  if (status === 410) return 'The receiver answered 410: this address is gone. Callbacks to it are paused.';
  return `The receiver answered ${status}.`;
}

/** The headers of the answer that tell something, as many as fit. */
function clipHeaders(headers: Record<string, string>): Record<string, string> {
  const kept: Record<string, string> = {};
  let room = KEPT_HEADER_CHARACTERS;
  for (const [name, value] of Object.entries(headers)) {
    if (PLAIN_HEADERS.has(name)) continue;
    room -= name.length + value.length;
    if (room < 0) break;
    // PostgreSQL's JSON cannot hold a NUL; without this a receiver could prevent that its attempt is recorded.
    kept[name.replaceAll('\0', '')] = value.replaceAll('\0', '');
  }
  return kept;
}
