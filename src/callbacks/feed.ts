// The pull feed: a holder's events in one fixed order without gaps. An event is shown only when no older transaction
// can still commit one before it, so a reader that remembers the last id it saw misses nothing.

import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';

const DEFAULT_LIMIT = 100;
export const MAX_FEED_LIMIT = 1_000;

/** An event as it was (or would have been) sent, byte for byte. */
export type FeedEvent = { publicId: string; body: Buffer };
export type FeedPage = { events: FeedEvent[] /** The id to give as `after` next time. */; nextAfter: string | null };

const LIST_EVENTS = {
  name: 'list_events',
  text: `
    select e.id, e.body from events e
    where e.holder_id = $1 and (e.position, e.id) > ($2::bigint, $3::uuid)
      and e.position < (select position_offset from event_feed) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    order by e.position, e.id limit $4`,
};

export async function listEvents(
  reader: Reader,
  holderId: bigint,
  wish: { after?: string | undefined; limit?: number | undefined } = {},
): Promise<FeedPage> {
  const limit = Math.min(Math.max(wish.limit ?? DEFAULT_LIMIT, 1), MAX_FEED_LIMIT);
  const from = wish.after === undefined ? FEED_START : await findPlace(reader, holderId, wish.after);
  const rows = await reader.query<{ id: string; body: Buffer }>(LIST_EVENTS, [holderId, from.position, from.id, limit]);
  const events = rows.map((row) => ({ publicId: publicId('evt', row.id), body: row.body }));
  return { events, nextAfter: events.at(-1)?.publicId ?? wish.after ?? null };
}

type Place = { position: bigint; id: string };
const FEED_START: Place = { position: -1n, id: '00000000-0000-0000-0000-000000000000' };

async function findPlace(reader: Reader, holderId: bigint, after: string): Promise<Place> {
  const id = uuidFromPublicId('evt', after);
  if (id === null) throw new Problem('event_not_found');
  const [place] = await reader.query<Place>('select position, id from events where id = $1 and holder_id = $2', [
    id,
    holderId,
  ]);
  if (!place) throw new Problem('event_not_found');
  return place;
}

/** To be called once after a restore into a new cluster, whose transactions are numbered from the beginning again. */
export async function continueFeedAfterRestore(tx: Tx): Promise<void> {
  await tx.query(
    `update event_feed set position_offset = greatest(position_offset,
       coalesce((select max(position) from events), 0) + 1 - pg_current_xact_id()::text::bigint)`,
  );
}
