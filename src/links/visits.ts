// How often the page of a link was opened. A process counts in memory and writes about once a second, so that opening a page
// writes nothing by itself.

import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { perProcess } from '../platform/memory.ts';

const FLUSH_EVERY_MS = 1_000;
/** Links that may be counted between two writes; visits of more are not counted. */
const MAX_KEPT = 5_000;
/** Programs that fetch a page to show its preview, or to index it. */
const PROGRAMS = /bot|crawler|spider|preview|facebookexternalhit|whatsapp|telegram|slack|skype|curl|wget/i;

type Counts = { visits: Map<string, number>; timer: NodeJS.Timeout | null };

const countsOf = perProcess((_ctx: Context): Counts => ({ visits: new Map(), timer: null }));

export function noteVisit(ctx: Context, link: { id: string }, userAgent: string): void {
  if (userAgent === '' || PROGRAMS.test(userAgent)) return;
  const counts = countsOf(ctx);
  const known = counts.visits.get(link.id) ?? 0;
  if (known === 0 && counts.visits.size >= MAX_KEPT) return;
  counts.visits.set(link.id, known + 1);
  counts.timer ??= setTimeout(() => {
    counts.timer = null;
    flushVisits(ctx).catch((error: unknown) => ctx.log.debug({ err: error }, 'visits were not written'));
  }, FLUSH_EVERY_MS).unref();
}

/** Writes what this process counted, sorted by key, so that two processes cannot deadlock. */
export async function flushVisits(ctx: Context): Promise<void> {
  const { visits } = countsOf(ctx);
  const rows = [...visits];
  visits.clear();
  if (rows.length === 0) return;
  await ctx.db.query(
    `insert into link_visits as known (holder_id, link_id, visits, last_at)
     select holder_id, link_id, visits, $4 from unnest($1::bigint[], $2::uuid[], $3::bigint[]) as input (holder_id, link_id, visits)
     order by holder_id, link_id
     on conflict (holder_id, link_id) do update set visits = known.visits + excluded.visits, last_at = excluded.last_at`,
    [
      rows.map(([id]) => holderOfUuid(id)),
      rows.map(([id]) => id),
      rows.map(([, visits]) => BigInt(visits)),
      ctx.clock.now(),
    ],
  );
}

export async function countVisits(reader: Reader, holderId: bigint, linkId: string): Promise<bigint> {
  const [row] = await reader.query<{ visits: bigint }>(
    'select visits from link_visits where holder_id = $1 and link_id = $2',
    [holderId, linkId],
  );
  return row?.visits ?? 0n;
}
