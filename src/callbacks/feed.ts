// The pull feed: the events of a holder in one fixed order without gaps. The positions of a holder are given under a lock
// that lasts until the commit, so an event is visible before any later one: a reader that remembers the last id it saw
// misses nothing.

import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { publicId, uuidFromPublicId } from '../platform/ids.ts';

const DEFAULT_LIMIT = 100;
export const MAX_FEED_LIMIT = 1_000;

/** An event as it was (or would have been) sent, byte for byte. */
export type FeedEvent = { publicId: string; body: Buffer };
type FeedPage = {
  events: FeedEvent[];
  /** The id to give as `after` next time. */
  nextAfter: string | null;
};

const LIST_EVENTS = {
  name: 'list_events',
  text: 'select id, body from events where holder_id = $1 and position > $2 order by position limit $3',
};

export async function listEvents(
  reader: Reader,
  holderId: bigint,
  options: { after?: string | undefined; limit?: number | undefined } = {},
): Promise<FeedPage> {
  const limit = Math.min(Math.max(options.limit ?? DEFAULT_LIMIT, 1), MAX_FEED_LIMIT);
  const after = options.after === undefined ? 0n : await findPosition(reader, holderId, options.after);
  const rows = await reader.query<{ id: string; body: Buffer }>(LIST_EVENTS, [holderId, after, limit]);
  const events = rows.map((row) => ({ publicId: publicId('evt', row.id), body: row.body }));
  return { events, nextAfter: events.at(-1)?.publicId ?? options.after ?? null };
}

async function findPosition(reader: Reader, holderId: bigint, after: string): Promise<bigint> {
  const id = uuidFromPublicId('evt', after);
  if (id === null) throw new Problem('event_not_found');
  const [row] = await reader.query<{ position: bigint }>(
    'select position from events where holder_id = $1 and id = $2',
    [holderId, id],
  );
  if (!row) throw new Problem('event_not_found');
  return row.position;
}
