// The job that sends callbacks. Fresh events are handed over right after their commit; a pass claims, with a lease,
// whatever else is due, a little of each receiver. Sending happens outside any transaction, results are written in
// batches, and a crash in between means that the same bytes under the same id are sent once more.

import { createBatch } from '../platform/batch.ts';
import type { Context } from '../platform/context.ts';
import { publicId } from '../platform/ids.ts';
import type { Job } from '../platform/jobs.ts';
import type { Outbound, OutboundResult } from '../platform/outbound.ts';
import { CLAIM_PER_RECEIVER, type ClaimedRow, claimDeliveries, releaseLeases, tidyDeliveries } from './claim.ts';
import { type DeliveryResult, recordDeliveryResults } from './delivery-results.ts';
import { LEASE_MS, originOf, type RecordedEvent } from './events.ts';
import { createFairQueue } from './queue.ts';
import { nextAttempt, readRetryAfter } from './schedule.ts';
import { callbackHeaders, signCallback } from './signature.ts';

const SEND_TIMEOUT_MS = 10_000;
/** An item is only sent while its lease lasts longer than a send can take. */
const LEASE_MARGIN_MS = SEND_TIMEOUT_MS + 2_000;
const MAX_ANSWER_BYTES = 16_384;
const KEPT_ANSWER_BYTES = 4_096;
const KEPT_HEADER_CHARACTERS = 4_096;
/** Failures in a row after which a receiver counts as failing: it is held to one attempt at a time, and probed. */
const FAILING_AFTER = 3;
const CONNECTION_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding']);
const TIDY_EVERY_MS = 5_000;
const RESULTS_PER_STATEMENT = 256;
const MAX_WAITING_RESULTS = 100_000;

export type DelivererOptions = {
  outbound: Pick<Outbound, 'request'>;
  /** Live callback secrets of an integration, newest first. */
  secretsOf: (integrationId: bigint) => Promise<readonly string[]>;
  random?: () => number;
  timeoutMs?: number;
};

export interface Deliverer extends Job {
  /** Sends what `recordEvents` returned, after its transaction has committed. */
  deliverFresh(events: readonly RecordedEvent[]): void;
  /** Called when more could be claimed at once: the loop's `wake`. */
  onCapacity(wake: () => void): void;
  /** Resolves when everything taken has been sent and recorded. */
  idle(): Promise<void>;
  /** Finishes what is being sent and gives back what is not, so that the next process has it at once. */
  stop(): Promise<void>;
}

/** A delivery in this process' hands. */
type Parcel = {
  eventId: string;
  publicId: string;
  holderId: bigint;
  integrationId: bigint;
  origin: string;
  url: string;
  body: Buffer;
  attempts: number;
  startedAt: Date;
  leasedUntilMs: number;
  /** Set for a probe: the date that stays when the probe fails. */
  keptDate: Date | null;
};

export function createDeliverer(ctx: Context, options: DelivererOptions): Deliverer {
  const random = options.random ?? Math.random;
  const timeoutMs = options.timeoutMs ?? SEND_TIMEOUT_MS;
  /** Failures in a row, by receiver; one that answers well has no entry. */
  const failures = new Map<string, number>();
  /** Receivers of which the last claim left some behind. */
  const hungry = new Set<string>();
  let wake = () => {};
  let tidiedAtMs = Number.NEGATIVE_INFINITY;
  let stopping = false;
  const unsent: string[] = [];

  const results = createBatch<DeliveryResult, null>({
    run: async (outcomes) => {
      await recordDeliveryResults(ctx, outcomes);
      return outcomes.map(() => null);
    },
    maxItems: RESULTS_PER_STATEMENT,
    // One at a time: places are freed before results are written, so larger batches cost nobody time.
    concurrency: 1,
    maxWaiting: MAX_WAITING_RESULTS,
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'callback_attempts' }, items),
  });
  const queue = createFairQueue<Parcel>({
    work: deliver,
    onEmpty: (origin) => {
      if (hungry.delete(origin)) wake();
    },
  });

  function isFailing(origin: string): boolean {
    return (failures.get(origin) ?? 0) >= FAILING_AFTER;
  }

  async function deliver(parcel: Parcel): Promise<void> {
    if (stopping) return void unsent.push(parcel.eventId);
    const at = ctx.clock.now();
    if (at.getTime() > parcel.leasedUntilMs - LEASE_MARGIN_MS) return;
    try {
      const secrets = await options.secretsOf(parcel.integrationId);
      const seconds = Math.floor(at.getTime() / 1_000);
      const signature = signCallback(secrets, parcel.publicId, seconds, parcel.body);
      const result: OutboundResult =
        secrets.length === 0
          ? { error: 'unreachable', reason: 'The integration has no live callback secret to sign with.', latencyMs: 0 }
          : await options.outbound.request({
              url: parcel.url,
              method: 'POST',
              headers: callbackHeaders(parcel.publicId, seconds, signature),
              body: parcel.body,
              timeoutMs,
              maxAnswerBytes: MAX_ANSWER_BYTES,
            });
      // Not awaited: the place is free for the next one while the result is written.
      void results.add(judge(parcel, at, signature, result)).catch(reportFault);
    } catch (error) {
      reportFault(error);
    }
  }

  /** Nothing is lost here: the lease ends, and the delivery is found again. */
  function reportFault(error: unknown): void {
    ctx.log.warn({ err: error }, 'an attempt of a callback was not recorded; it will be made again');
  }

  function judge(parcel: Parcel, at: Date, signature: string, result: OutboundResult): DeliveryResult {
    const status = result.error === null ? result.status : null;
    const delivered = status !== null && status >= 200 && status < 300;
    const gone = status === 410;
    const probe = parcel.keptDate !== null;
    const attempts = probe ? parcel.attempts : parcel.attempts + 1;
    const retryAfterMs = result.error === null ? readRetryAfter(result.headers['retry-after'], at) : null;
    const retry = { attempts, startedAt: parcel.startedAt, at, retryAfterMs };
    ctx.metrics.deliveries.inc({ result: delivered ? 'delivered' : gone ? 'gone' : (result.error ?? 'refused') });
    return {
      eventId: parcel.eventId,
      holderId: parcel.holderId,
      integrationId: parcel.integrationId,
      origin: parcel.origin,
      url: parcel.url,
      at,
      number: probe ? 0 : attempts,
      delivered,
      signature,
      status,
      answerHeaders: result.error === null ? clipHeaders(result.headers) : null,
      answerStart:
        result.error === null && result.bodyStart.length > 0 ? result.bodyStart.subarray(0, KEPT_ANSWER_BYTES) : null,
      latencyMs: result.latencyMs,
      error: delivered ? null : result.error === null ? describeStatus(result.status) : result.reason,
      attempts,
      nextAt: delivered || gone ? null : (parcel.keptDate ?? nextAttempt(retry, random)),
      gone,
      receiver: noteHealth(parcel.origin, delivered || gone),
      retryAfterMs,
    };
  }

  /** 410 is an answer of a living receiver about one address, so it counts as health. */
  function noteHealth(origin: string, well: boolean): DeliveryResult['receiver'] {
    if (!well) {
      failures.set(origin, (failures.get(origin) ?? 0) + 1);
      if (!isFailing(origin)) return 'unchanged';
      queue.setFailing(origin, true);
      return 'failing';
    }
    const wasFailing = isFailing(origin);
    failures.delete(origin);
    queue.setFailing(origin, false);
    if (!wasFailing) return 'unchanged';
    hungry.add(origin);
    return 'recovered';
  }

  async function pass(): Promise<number> {
    const now = ctx.clock.now();
    if (now.getTime() - tidiedAtMs >= TIDY_EVERY_MS) {
      tidiedAtMs = now.getTime();
      await tidyDeliveries(ctx, now);
    }
    const rows = await claimDeliveries(ctx, now, queue.loads());
    const taken = new Map<string, number>();
    for (const row of rows) {
      if (row.failing && !isFailing(row.origin)) failures.set(row.origin, FAILING_AFTER);
      queue.setFailing(row.origin, isFailing(row.origin));
      taken.set(row.origin, (taken.get(row.origin) ?? 0) + 1);
      queue.add(row.origin, parcelFrom(row, now));
    }
    for (const [origin, count] of taken) if (count >= CLAIM_PER_RECEIVER / 2) hungry.add(origin);
    return rows.length;
  }

  return {
    name: 'deliver_callbacks',
    pass,
    deliverFresh(events) {
      for (const event of events) {
        if (event.url === null || event.integrationId === null) continue;
        const origin = originOf(event.url);
        // A full queue is no loss: the row waits in the database and is claimed when its lease ends.
        queue.add(origin, {
          eventId: event.id,
          publicId: event.publicId,
          holderId: event.holderId,
          integrationId: event.integrationId,
          origin,
          url: event.url,
          body: event.body,
          attempts: 0,
          startedAt: event.createdAt,
          leasedUntilMs: event.leasedUntil.getTime(),
          keptDate: null,
        });
      }
    },
    onCapacity(callback) {
      wake = callback;
    },
    async idle() {
      await queue.idle();
      await results.idle();
    },
    async stop() {
      stopping = true;
      await queue.idle();
      await results.idle();
      if (unsent.length > 0) await releaseLeases(ctx, unsent.splice(0));
    },
  };
}

function parcelFrom(row: ClaimedRow, now: Date): Parcel {
  return {
    eventId: row.event_id,
    publicId: publicId('evt', row.event_id),
    holderId: row.holder_id,
    integrationId: row.integration_id,
    origin: row.origin,
    url: row.url,
    body: row.body,
    attempts: row.attempts,
    startedAt: row.started_at,
    leasedUntilMs: now.getTime() + LEASE_MS,
    keptDate: row.probe ? row.was_due_at : null,
  };
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `The receiver answered ${status}, a redirect; redirects are not followed.`;
  if (status === 410) return 'The receiver answered 410: this address is gone. Callbacks to it are paused.';
  return `The receiver answered ${status}.`;
}

/** The answer's headers, as many as fit; those that speak of the connection and not of the answer are left out. */
function clipHeaders(headers: Record<string, string>): Record<string, string> {
  const kept: Record<string, string> = {};
  let room = KEPT_HEADER_CHARACTERS;
  for (const [name, value] of Object.entries(headers)) {
    if (CONNECTION_HEADERS.has(name)) continue;
    room -= name.length + value.length;
    if (room < 0) break;
    // PostgreSQL's JSON cannot hold a NUL, and no receiver may keep its attempt from being recorded.
    kept[name.replaceAll('\0', '')] = value.replaceAll('\0', '');
  }
  return kept;
}
