// Who is held back by a limit, for admins. A process counts its refusals in memory and writes them about once a second, so that
// a refusal costs nothing more than before.

import type { Context } from './context.ts';
import type { Reader, Tx } from './db.ts';
import { perProcess } from './memory.ts';

/** `prompts` and `tokens` are of a phone number; `guess` is of passwords, codes and the like. */
export type LimitKind =
  | 'integration'
  | 'holder'
  | 'address'
  | 'payer_address'
  | 'link'
  | 'credentials'
  | 'prompts'
  | 'tokens'
  | 'guess';

const FLUSH_EVERY_MS = 1_000;
const MAX_KEPT = 2_000;
const MAX_LISTED = 200;
const MAX_SUBJECT_CHARACTERS = 100;
const SHOWN_FOR_MS = 3_600_000;
/** A refusal this long after the end of the one before begins a new count. */
const NEW_COUNT_AFTER = "interval '1 minute'";

export type LimitRefusal = {
  kind: LimitKind;
  /** What the limit is counted by. */
  key: string;
  /** Whom it is about, as the page shows it. Never a whole phone number. */
  subject: string;
  /** When the limit allows something again. */
  until: Date;
};

export type HeldBack = LimitRefusal & { refused: number; since: Date; lastAt: Date };

type Notes = { counts: Map<string, LimitRefusal & { refused: number; at: Date }>; timer: NodeJS.Timeout | null };

const notesOf = perProcess((_ctx: Context): Notes => ({ counts: new Map(), timer: null }));

/** Counts a refusal, for the metrics and for the page. */
export function noteRefusal(ctx: Context, refusal: LimitRefusal): void {
  ctx.metrics.limited.inc({ kind: refusal.kind });
  const notes = notesOf(ctx);
  const name = `${refusal.kind} ${refusal.key}`;
  const refused = (notes.counts.get(name)?.refused ?? 0) + 1;
  if (refused === 1 && notes.counts.size >= MAX_KEPT) return;
  notes.counts.set(name, { ...refusal, refused, at: ctx.clock.now() });
  notes.timer ??= setTimeout(() => {
    notes.timer = null;
    flushRefusals(ctx).catch((error: unknown) => ctx.log.debug({ err: error }, 'refusals were not written'));
  }, FLUSH_EVERY_MS).unref();
}

/** Sorted by key, so that two processes cannot deadlock. */
const WRITE_REFUSALS = `
  insert into limit_refusals as known (kind, key, subject, refused, since, until, last_at)
  select kind, key, subject, refused, at, until, at
  from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[])
    as input (kind, key, subject, refused, at, until)
  order by kind, key
  on conflict (kind, key) do update set
    subject = excluded.subject, until = excluded.until, last_at = excluded.last_at,
    refused = excluded.refused
      + case when greatest(known.until, known.last_at) < excluded.since - ${NEW_COUNT_AFTER} then 0 else known.refused end,
    since = case when greatest(known.until, known.last_at) < excluded.since - ${NEW_COUNT_AFTER} then excluded.since
                 else known.since end`;

/** Writes what this process counted. What cannot be written is counted again by the next refusals. */
export async function flushRefusals(ctx: Context): Promise<void> {
  const { counts } = notesOf(ctx);
  const rows = [...counts.values()];
  counts.clear();
  if (rows.length === 0) return;
  await ctx.db.query(WRITE_REFUSALS, [
    rows.map((row) => row.kind),
    rows.map((row) => row.key),
    rows.map((row) => row.subject.replaceAll('\0', '').slice(0, MAX_SUBJECT_CHARACTERS)),
    rows.map((row) => row.refused),
    rows.map((row) => row.at),
    rows.map((row) => row.until),
  ]);
}

/** Everybody who is held back now or was in the last hour, the latest first. */
export async function listHeldBack(reader: Reader, now: Date): Promise<HeldBack[]> {
  const rows = await reader.query<LimitRefusal & { refused: bigint; since: Date; last_at: Date }>(
    `select kind, key, subject, refused, since, until, last_at from limit_refusals
     where last_at > $1 or until > $2 order by last_at desc, kind, key limit $3`,
    [new Date(now.getTime() - SHOWN_FOR_MS), now, MAX_LISTED],
  );
  return rows.map(({ last_at: lastAt, refused, ...row }) => ({ ...row, refused: Number(refused), lastAt }));
}

/** After the limit itself was released: nobody is held back by it any more. */
export async function forgetRefusal(tx: Tx, kind: LimitKind, key: string): Promise<void> {
  await tx.query('delete from limit_refusals where kind = $1 and key = $2', [kind, key]);
}

/** Returns how many rows were deleted. */
export async function purgeRefusals(ctx: Context): Promise<number> {
  const now = await ctx.databaseTime.now();
  const rows = await ctx.db.query('delete from limit_refusals where last_at < $1 and until < $2 returning 1', [
    new Date(now.getTime() - SHOWN_FOR_MS),
    now,
  ]);
  return rows.length;
}
