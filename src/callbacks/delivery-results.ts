// Writes the results of attempts in batches: the attempt, the end or next date of the delivery, and the health of receivers.
// If every attempt was delivered, that is one statement, which does not wait for the disk: an attempt whose record is lost in a
// crash of the database server is made again, under the same id.

import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Statement } from '../platform/db.ts';
import { queueStatement, statementFor } from '../platform/queue-statement.ts';
import { receiverKey } from './queue.ts';

const PROBE_EVERY_MS = 60_000;

/** One attempt and what follows from it. */
export type DeliveryResult = {
  eventId: string;
  holderId: bigint;
  integrationId: bigint;
  origin: string;
  url: string;
  at: Date;
  /** Its place in the schedule; 0 for a probe, which is outside the schedule. */
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

const ATTEMPTS = columns<DeliveryResult>(1, {
  holder_id: ['bigint', (result) => result.holderId],
  event_id: ['uuid', (result) => result.eventId],
  at: 'timestamptz',
  number: 'int',
  delivered: 'boolean',
  signature: 'text',
  status: 'smallint',
  answer_headers: ['jsonb', (result) => result.answerHeaders && JSON.stringify(result.answerHeaders)],
  answer_start: ['bytea', (result) => result.answerStart],
  latency_ms: ['int', (result) => Math.round(result.latencyMs)],
  error: 'text',
});
const FINISHED = columns<DeliveryResult>(12, {
  holder_id: ['bigint', (result) => result.holderId],
  event_id: ['uuid', (result) => result.eventId],
});
const WAITING = columns<DeliveryResult>(14, {
  holder_id: ['bigint', (result) => result.holderId],
  event_id: ['uuid', (result) => result.eventId],
  attempts: 'int',
  due_at: ['timestamptz', (result) => result.nextAt ?? 'infinity'],
  tried_at: ['timestamptz', (result) => result.at],
});

const RECORD_ATTEMPTS = queueStatement(
  'record_callback_attempts',
  (is) => `
    with tried as (
      insert into callback_attempts (${ATTEMPTS.names}) select ${ATTEMPTS.names} from ${ATTEMPTS.rows}
    ), finished as (
      delete from callback_deliveries d using ${FINISHED.rows}
      where ${is('d.holder_id', 'input.holder_id')} and ${is('d.event_id', 'input.event_id')}
    )
    update callback_deliveries d
    set leased = false, attempts = input.attempts, due_at = input.due_at, tried_at = input.tried_at
    from ${WAITING.rows} where ${is('d.holder_id', 'input.holder_id')} and ${is('d.event_id', 'input.event_id')}`,
);

/** What was on its way, or waited for its turn, while another one found its address gone. */
const PAUSE_WITH_ADDRESS = {
  name: 'pause_with_address',
  text: `
    update callback_deliveries d set due_at = 'infinity' from callback_pauses p
    where d.holder_id = any ($1::bigint[]) and d.event_id = any ($2::uuid[]) and not d.leased
      and p.holder_id = d.holder_id and p.integration_id = d.integration_id and p.url = d.url`,
};

export async function recordDeliveryResults(ctx: Context, results: readonly DeliveryResult[]): Promise<void> {
  const unusual = results.some((result) => result.gone || result.receiver !== 'unchanged');
  const attempts = statementFor(ctx.db, RECORD_ATTEMPTS);
  if (!unusual) return recordPlain((statement, values) => ctx.db.unflushed(statement, values), attempts, results);
  await ctx.db.transaction(async (tx) => {
    await recordPlain((statement, values) => tx.query(statement, values), attempts, results);
    await recordHealth(tx, results);
    for (const result of results) if (result.gone) await pauseAddress(tx, result);
  });
}

type Run = (statement: Statement, values: unknown[]) => Promise<unknown>;

async function recordPlain(run: Run, attempts: Statement, results: readonly DeliveryResult[]): Promise<void> {
  // A dead receiver is probed every minute for up to thirty days. Only a probe that was delivered is kept.
  const kept = results.filter((result) => result.number > 0 || result.delivered);
  const finished = results.filter((result) => result.nextAt === null && !result.gone);
  const waiting = results.filter((result) => result.nextAt !== null || result.gone);
  await run(attempts, [...ATTEMPTS.arrays(kept), ...FINISHED.arrays(finished), ...WAITING.arrays(waiting)]);
  const later = waiting.filter((result) => !result.gone);
  if (later.length === 0) return;
  const holders = [...new Set(later.map(({ holderId }) => holderId))];
  await run(PAUSE_WITH_ADDRESS, [holders, later.map(({ eventId }) => eventId)]);
}

/** Rows are changed in the order of their keys, so that two processes cannot deadlock. */
async function recordHealth(reader: Reader, results: readonly DeliveryResult[]): Promise<void> {
  const last = new Map<string, DeliveryResult>();
  for (const result of results) if (result.receiver !== 'unchanged') last.set(receiverKey(result), result);
  const changes = [...last].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, change]) => change);
  const failing = changes.filter((change) => change.receiver === 'failing');
  const recovered = changes.filter((change) => change.receiver === 'recovered');
  if (failing.length > 0)
    await reader.query(
      `insert into callback_receivers as r (holder_id, origin, failing_since, last_error, probe_at)
       select * from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::text[], $5::timestamptz[])
       on conflict (holder_id, origin) do update set
         failing_since = case when r.recovered_at is null then r.failing_since else excluded.failing_since end,
         last_error = excluded.last_error, probe_at = excluded.probe_at, recovered_at = null`,
      [
        failing.map((change) => change.holderId),
        failing.map((change) => change.origin),
        failing.map((change) => change.at),
        failing.map((change) => change.error ?? ''),
        failing.map((change) => new Date(change.at.getTime() + Math.max(PROBE_EVERY_MS, change.retryAfterMs ?? 0))),
      ],
    );
  if (recovered.length > 0)
    await reader.query(
      `update callback_receivers set recovered_at = $3
       where (holder_id, origin) in (select * from unnest($1::bigint[], $2::text[])) and recovered_at is null`,
      [recovered.map((change) => change.holderId), recovered.map((change) => change.origin), recovered[0]?.at],
    );
}

async function pauseAddress(reader: Reader, result: DeliveryResult): Promise<void> {
  await reader.query(
    `insert into callback_pauses (holder_id, integration_id, url, paused_at) values ($1, $2, $3, $4)
     on conflict on constraint callback_pause_once do nothing`,
    [result.holderId, result.integrationId, result.url, result.at],
  );
  // One that a process has claimed is paused with its result.
  await reader.query(
    `update callback_deliveries set due_at = 'infinity'
     where holder_id = $2 and origin = $1 and not leased and integration_id = $3 and url = $4`,
    [result.origin, result.holderId, result.integrationId, result.url],
  );
}
