// The job that sends callbacks. Fresh events come right after their commit; a pass claims, with a lease, what else is due, a
// little of each receiver. Sending happens outside any transaction and results are written in batches. After a crash in
// between, the same bytes are sent once more under the same id.

import { type Batch, createBatch } from '../platform/batch.ts';
import type { Context } from '../platform/context.ts';
import { createWaker, type Job } from '../platform/jobs.ts';
import { backgroundTurns } from '../platform/loop-turns.ts';
import { perProcess } from '../platform/memory.ts';
import type { Outbound } from '../platform/outbound.ts';
import { deliveryOfEvent, deliveryOfRow, heldBack, type PendingDelivery, readAnswer, sendDelivery } from './attempt.ts';
import { CLAIM_PER_RECEIVER, type ClaimedRow, claimDeliveries, releaseLeases, tidyDeliveries } from './claim.ts';
import { type DeliveryResult, recordDeliveryResults } from './delivery-results.ts';
import { DELIVERY_JOB, type RecordedEvent } from './events.ts';
import { createFairQueue, type ReceiverName, receiverKey } from './queue.ts';
import { createReceiverHealth } from './receiver-health.ts';
import { createKeyCache } from './signature.ts';

const SEND_TIMEOUT_MS = 10_000;
/** A delivery is only sent while its lease lasts longer than a send can take. */
const LEASE_MARGIN_MS = SEND_TIMEOUT_MS + 2_000;
const TIDY_EVERY_MS = 5_000;
const RESULTS_PER_STATEMENT = 256;
const MAX_WAITING_RESULTS = 100_000;
const MAX_GONE_ADDRESSES = 1_000;
/** Nobody waits for the record of an attempt. */
const RESULT_REST = { times: 3, longestMs: 200 } as const;
const keyCacheOf = perProcess(createKeyCache);

export type DelivererOptions = {
  outbound: Pick<Outbound, 'request'>;
  /** Live callback secrets of an integration, newest first. */
  secretsOf: (integrationId: bigint) => Promise<readonly string[]>;
  /** The newest head of the ledger, `<number>.<hash>`; each callback carries it. */
  ledgerHead?: () => string | null;
  random?: () => number;
  timeoutMs?: number;
};

export interface Deliverer extends Job {
  /** Sends what `recordEvents` returned, after its transaction has committed. */
  deliverFresh(events: readonly RecordedEvent[]): void;
  /** Starts a pass in the background, after a commit that made callbacks due. Never throws. */
  wake(): void;
  /** Called when more could be claimed at once: the loop's `wake`. */
  onCapacity(wake: () => void): void;
  /** Resolves when everything that was claimed has been sent and recorded. */
  idle(): Promise<void>;
  /** Finishes what is being sent and releases the leases of the rest, so that the next process can send it at once. */
  stop(): Promise<void>;
}

export function createDeliverer(ctx: Context, options: DelivererOptions): Deliverer {
  const health = createReceiverHealth();
  const results = createResults(ctx);
  const tidy = createTidier(ctx);
  /** Receivers that have more deliveries due in the table. */
  const withBacklog = new Set<string>();
  let wakeLoop = () => {};
  let stopping = false;
  const unsent: string[] = [];
  const queue = createFairQueue<PendingDelivery>({
    work: inOrder(ctx, deliver),
    onEmpty: (receiver) => {
      if (withBacklog.delete(receiverKey(receiver))) wakeLoop();
    },
  });

  async function deliver(delivery: PendingDelivery): Promise<void> {
    if (stopping) return void unsent.push(delivery.eventId);
    const at = ctx.clock.now();
    if (at.getTime() > delivery.leasedUntilMs - LEASE_MARGIN_MS) return;
    if (results.isGone(delivery)) return results.record(heldBack(delivery, at));
    try {
      const answer = await makeAttempt(ctx, options, delivery, at);
      // A 410 concerns one address of a receiver that works, so the receiver is healthy.
      const receiver = recordHealth(delivery, answer.delivered || answer.gone);
      results.record({ ...answer, receiver });
    } catch (error) {
      logUnrecorded(ctx, error);
    }
  }

  function recordHealth(receiver: ReceiverName, healthy: boolean): DeliveryResult['receiver'] {
    const change = health.record(receiver, healthy);
    queue.setFailing(receiver, health.isFailing(receiver));
    if (change === 'recovered') withBacklog.add(receiverKey(receiver));
    return change;
  }

  function enqueue(delivery: PendingDelivery, failsElsewhere = false): void {
    if (failsElsewhere) health.setFailing(delivery);
    queue.setFailing(delivery, health.isFailing(delivery));
    queue.add(results.placed(delivery));
  }

  async function pass(): Promise<number> {
    const now = ctx.clock.now();
    await tidy(now);
    const rows = await claimDeliveries(ctx, now, queue.loads());
    for (const row of rows) enqueue(deliveryOfRow(row, now), row.failing);
    for (const receiver of receiversWithMore(rows)) withBacklog.add(receiver);
    return rows.length;
  }

  const waker = createWaker(ctx, { name: DELIVERY_JOB, pass });

  async function idle(): Promise<void> {
    await waker.idle();
    await queue.idle();
    await results.idle();
  }

  return {
    name: DELIVERY_JOB,
    pass,
    wake: () => waker.wake(),
    deliverFresh(events) {
      // When the queue is full, the row waits in the table and is claimed when its lease ends.
      for (const delivery of events.map(deliveryOfEvent)) if (delivery) enqueue(delivery);
    },
    onCapacity(callback) {
      wakeLoop = callback;
    },
    idle,
    async stop() {
      stopping = true;
      await idle();
      if (unsent.length > 0) await releaseLeases(ctx, unsent.splice(0));
    },
  };
}

type Address = Pick<PendingDelivery, 'holderId' | 'integrationId' | 'url'>;

/**
 * Addresses that answered 410, for what was queued before: it is not sent any more. What is queued later was made due by a person
 * who resumed the address.
 */
function createGoneAddresses() {
  const lastPlaces = new Map<string, number>();
  let lastPlace = 0;
  const nameOf = ({ holderId, integrationId, url }: Address) => `${holderId} ${integrationId} ${url}`;
  return {
    placed: (delivery: PendingDelivery): PendingDelivery => Object.assign(delivery, { place: ++lastPlace }),
    add(address: Address): void {
      // Forgetting costs a request to an address that is gone, no more.
      if (lastPlaces.size >= MAX_GONE_ADDRESSES) lastPlaces.clear();
      lastPlaces.set(nameOf(address), lastPlace);
    },
    has(delivery: PendingDelivery): boolean {
      return lastPlaces.size > 0 && delivery.place <= (lastPlaces.get(nameOf(delivery)) ?? 0);
    },
  };
}

/** Nothing is lost: the lease ends, and the delivery is claimed again. */
function logUnrecorded(ctx: Context, error: unknown): void {
  ctx.log.warn({ err: error }, 'an attempt of a callback was not recorded; it will be made again');
}

/** Each delivery starts in a turn of the event loop; those of one transaction are sent one by one. */
function inOrder(ctx: Context, deliver: (delivery: PendingDelivery) => Promise<void>) {
  const turns = backgroundTurns(ctx);
  const work = oneByOne((delivery: PendingDelivery) => delivery.transactionId, deliver);
  return (delivery: PendingDelivery) => new Promise<void>((resolve) => turns.add(() => resolve(work(delivery))));
}

/**
 * Works on what has the same key in the order it came, and on the rest at once. So the reversal is first sent after the
 * success was answered, or was not answered in time.
 */
function oneByOne<Item>(keyOf: (item: Item) => string, work: (item: Item) => Promise<void>) {
  const last = new Map<string, Promise<void>>();
  return (item: Item): Promise<void> => {
    const key = keyOf(item);
    const before = last.get(key);
    const own = (before ? before.then(() => work(item)) : work(item)).finally(() => {
      if (last.get(key) === own) last.delete(key);
    });
    last.set(key, own);
    return own;
  };
}

async function makeAttempt(
  ctx: Context,
  { outbound, secretsOf, ledgerHead, random = Math.random, timeoutMs = SEND_TIMEOUT_MS }: DelivererOptions,
  delivery: PendingDelivery,
  at: Date,
): Promise<Omit<DeliveryResult, 'receiver'>> {
  const secrets = await secretsOf(delivery.integrationId);
  const head = ledgerHead?.() ?? null;
  const sent = await sendDelivery(outbound, secrets, delivery, { at, timeoutMs, head, toKey: keyCacheOf(ctx) });
  const answer = readAnswer(delivery, sent, random);
  const failure = answer.gone ? 'gone' : (sent.result.error ?? 'refused');
  ctx.metrics.deliveries.inc({ result: answer.delivered ? 'delivered' : failure });
  return answer;
}

/** Receivers of which so much was claimed that more is probably due. */
function receiversWithMore(rows: readonly ClaimedRow[]): string[] {
  const claimed = new Map<string, number>();
  for (const { holder_id, origin } of rows) {
    const receiver = receiverKey({ holderId: holder_id, origin });
    claimed.set(receiver, (claimed.get(receiver) ?? 0) + 1);
  }
  return [...claimed].flatMap(([receiver, count]) => (count >= CLAIM_PER_RECEIVER / 2 ? [receiver] : []));
}

function createTidier(ctx: Context): (now: Date) => Promise<void> {
  let tidiedAtMs = Number.NEGATIVE_INFINITY;
  return async (now) => {
    if (now.getTime() - tidiedAtMs < TIDY_EVERY_MS) return;
    tidiedAtMs = now.getTime();
    await tidyDeliveries(ctx, now);
  };
}

/** Writes results, and knows from them which addresses are gone. */
function createResults(ctx: Context) {
  const batch = createResultBatch(ctx);
  const gone = createGoneAddresses();
  return {
    placed: gone.placed,
    isGone: (delivery: PendingDelivery) => gone.has(delivery),
    /** Not awaited: the queue can start the next delivery while the result is written. */
    record(result: DeliveryResult): void {
      if (result.gone) gone.add(result);
      void batch.add(result).catch((error) => logUnrecorded(ctx, error));
    },
    idle: () => batch.idle(),
  };
}

function createResultBatch(ctx: Context): Batch<DeliveryResult, null> {
  return createBatch<DeliveryResult, null>({
    run: async (results) => {
      await recordDeliveryResults(ctx, results);
      return results.map(() => null);
    },
    maxItems: RESULTS_PER_STATEMENT,
    // One batch at a time: the queue does not wait for results, so larger batches delay no delivery.
    concurrency: 1,
    maxWaiting: MAX_WAITING_RESULTS,
    rest: RESULT_REST,
    processes: ctx.config.processes,
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'callback_attempts' }, items),
  });
}
