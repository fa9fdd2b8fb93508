// What came of attempts, written in batches: the attempt itself, the delivery's end or next date, and the health of
// receivers. The plain case, everything delivered, is one statement.

import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';

const PROBE_EVERY_MS = 60_000;

/** One attempt and what follows from it. */
export type DeliveryResult = {
  eventId: string;
  holderId: bigint;
  integrationId: bigint;
  origin: string;
  url: string;
  at: Date;
  /** Its place in the schedule; 0 for a probe out of turn. */
  number: number;
  delivered: boolean;
  signature: string;
  status: number | null;
  answerHeaders: Record<string, string> | null;
  answerStart: Buffer | null;
  latencyMs: number;
  error: string | null;
  /** Attempts counted so far, and when the next is due; null: there is no next. */
  attempts: number;
  nextAt: Date | null;
  /** The receiver answered 410: nothing more goes to this address. */
  gone: boolean;
  receiver: 'unchanged' | 'failing' | 'recovered';
  retryAfterMs: number | null;
};

const RECORD_ATTEMPTS = {
  name: 'record_callback_attempts',
  text: `
    with tried as (
      insert into callback_attempts (event_id, at, number, delivered, signature, status, answer_headers, answer_start, latency_ms, error)
      select event_id, at, number, delivered, signature, status, answer_headers::jsonb, answer_start, latency_ms, error
      from unnest($1::uuid[], $2::timestamptz[], $3::int[], $4::boolean[], $5::text[], $6::smallint[], $7::text[], $8::bytea[], $9::int[], $10::text[])
        as t (event_id, at, number, delivered, signature, status, answer_headers, answer_start, latency_ms, error)
    ), finished as (
      delete from callback_deliveries where event_id = any ($11::uuid[])
    )
    update callback_deliveries d
    set leased = false, attempts = next.attempts, due_at = next.due_at, tried_at = next.tried_at
    from unnest($12::uuid[], $13::int[], $14::timestamptz[], $15::timestamptz[]) as next (event_id, attempts, due_at, tried_at)
    where d.event_id = next.event_id`,
};

export async function recordDeliveryResults(ctx: Context, outcomes: readonly DeliveryResult[]): Promise<void> {
  const unusual = outcomes.some((outcome) => outcome.gone || outcome.receiver !== 'unchanged');
  if (!unusual) return recordPlain(ctx.db, outcomes);
  await ctx.db.transaction(async (tx) => {
    await recordPlain(tx, outcomes);
    await recordHealth(tx, outcomes);
    for (const outcome of outcomes) if (outcome.gone) await pauseAddress(tx, outcome);
  });
}

async function recordPlain(reader: Reader, outcomes: readonly DeliveryResult[]): Promise<void> {
  // A dead receiver is probed every minute for up to thirty days; only a probe that got through is history.
  const kept = outcomes.filter((outcome) => outcome.number > 0 || outcome.delivered);
  const finished = outcomes.filter((outcome) => outcome.nextAt === null && !outcome.gone);
  const waiting = outcomes.filter((outcome) => outcome.nextAt !== null || outcome.gone);
  await reader.query(RECORD_ATTEMPTS, [
    kept.map((outcome) => outcome.eventId),
    kept.map((outcome) => outcome.at),
    kept.map((outcome) => outcome.number),
    kept.map((outcome) => outcome.delivered),
    kept.map((outcome) => outcome.signature),
    kept.map((outcome) => outcome.status),
    kept.map((outcome) => outcome.answerHeaders && JSON.stringify(outcome.answerHeaders)),
    kept.map((outcome) => outcome.answerStart),
    kept.map((outcome) => Math.round(outcome.latencyMs)),
    kept.map((outcome) => outcome.error),
    finished.map((outcome) => outcome.eventId),
    waiting.map((outcome) => outcome.eventId),
    waiting.map((outcome) => outcome.attempts),
    waiting.map((outcome) => outcome.nextAt ?? 'infinity'),
    waiting.map((outcome) => outcome.at),
  ]);
}

/** Rows are touched in the order of their origins, so that two processes never wait for each other in a circle. */
async function recordHealth(reader: Reader, outcomes: readonly DeliveryResult[]): Promise<void> {
  const last = new Map<string, DeliveryResult>();
  for (const outcome of outcomes) if (outcome.receiver !== 'unchanged') last.set(outcome.origin, outcome);
  const changes = [...last.values()].sort((left, right) => (left.origin < right.origin ? -1 : 1));
  const failing = changes.filter((change) => change.receiver === 'failing');
  const recovered = changes.filter((change) => change.receiver === 'recovered');
  if (failing.length > 0)
    await reader.query(
      `insert into callback_receivers as r (origin, failing_since, last_error, probe_at)
       select * from unnest($1::text[], $2::timestamptz[], $3::text[], $4::timestamptz[])
       on conflict (origin) do update set
         failing_since = case when r.recovered_at is null then r.failing_since else excluded.failing_since end,
         last_error = excluded.last_error, probe_at = excluded.probe_at, recovered_at = null`,
      [
        failing.map((change) => change.origin),
        failing.map((change) => change.at),
        failing.map((change) => change.error ?? ''),
        failing.map((change) => new Date(change.at.getTime() + Math.max(PROBE_EVERY_MS, change.retryAfterMs ?? 0))),
      ],
    );
  if (recovered.length > 0)
    await reader.query(
      'update callback_receivers set recovered_at = $2 where origin = any ($1::text[]) and recovered_at is null',
      [recovered.map((change) => change.origin), recovered[0]?.at],
    );
}

async function pauseAddress(reader: Reader, outcome: DeliveryResult): Promise<void> {
  await reader.query(
    `insert into callback_pauses (holder_id, integration_id, url, paused_at) values ($1, $2, $3, $4)
     on conflict on constraint callback_pause_once do nothing`,
    [outcome.holderId, outcome.integrationId, outcome.url, outcome.at],
  );
  await reader.query(
    `update callback_deliveries set due_at = 'infinity'
     where origin = $1 and not leased and integration_id = $2 and url = $3`,
    [outcome.origin, outcome.integrationId, outcome.url],
  );
}
