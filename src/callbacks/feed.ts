// The pull feed: the events of a holder in one fixed order without gaps. The positions of a holder are given under a lock
// that lasts until the commit, so an event is visible before any later one: a reader that remembers the last id it saw
// misses nothing.

import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { holderOfUuid, publicId, timeOfUuid, uuidFromPublicId } from '../platform/ids.ts';
import { readLastRestore } from '../platform/restores.ts';
import { transactionIdsOf } from './events.ts';
import { unpackBody } from './packed-body.ts';

const DEFAULT_LIMIT = 100;
export const MAX_FEED_LIMIT = 1_000;

/** An event as it was (or would have been) sent, byte for byte. */
export type FeedEvent = { publicId: string; body: Buffer };
type FeedPage = {
  events: FeedEvent[];
  /** The id to give as `after` next time. */
  nextAfter: string | null;
  /** The gateway was restored since `after`: the page begins where the backup ended. */
  restored: boolean;
};

type EventRow = { id: string; body: Buffer; position: bigint };

const LIST_EVENTS = {
  name: 'list_events',
  text: 'select id, body, position from events where holder_id = $1 and position > $2 order by position limit $3',
};

export async function listEvents(
  reader: Reader,
  holderId: bigint,
  options: { after?: string | undefined; limit?: number | undefined } = {},
): Promise<FeedPage> {
  const limit = Math.min(Math.max(options.limit ?? DEFAULT_LIMIT, 1), MAX_FEED_LIMIT);
  const list = (after: bigint) => reader.query<EventRow>(LIST_EVENTS, [holderId, after, limit]);
  const place = options.after === undefined ? { position: 0n } : await findPlace(reader, holderId, options.after);
  const { rows, restored } = await readFrom(place, list);
  const events = rows.map((row) => ({ publicId: publicId('evt', row.id), body: unpackBody(row.body) }));
  return { events, nextAfter: events.at(-1)?.publicId ?? options.after ?? null, restored };
}

/** Where a reader stands; null: nowhere, its event is lost. `restart`: where the backup ended, if it may be from before. */
type Place = { position: bigint | null; restart?: bigint };

async function readFrom({ position, restart }: Place, list: (after: bigint) => Promise<EventRow[]>) {
  if (restart !== undefined) {
    const rows = await list(restart);
    // The event may be lost and told again at a later position, after events that this reader never saw. So they come
    // again, with their ids, as soon as there is anything new: repeated rather than skipped, and never for ever.
    if (position === null || (rows.at(-1)?.position ?? 0n) > position) return { rows, restored: true };
  }
  return { rows: await list(position ?? 0n), restored: false };
}

const FIND_PLACE = {
  name: 'find_place_in_feed',
  text: `select (select position from events
            where holder_id = $1 and id = $2 and transaction_id between $3 and $4) as position,
           (select transaction_id from events where holder_id = $1 order by transaction_id limit 1) as oldest,
           f.restored_at, f.restored_positions
         from (values (1)) as one left join event_feeds f on f.holder_id = $1`,
};

type PlaceRow = {
  position: bigint | null;
  oldest: string | null;
  restored_at: Date[] | null;
  restored_positions: bigint[] | null;
};

async function findPlace(reader: Reader, holderId: bigint, after: string): Promise<Place> {
  const id = uuidFromPublicId('evt', after);
  if (id === null || holderOfUuid(id) !== holderId) throw new Problem('event_not_found');
  const [row] = await reader.query<PlaceRow>(FIND_PLACE, [holderId, id, ...transactionIdsOf(id)]);
  const position = row?.position ?? null;
  // An event is never older than its transaction, whose time its id carries. A restore before that did not lose it.
  const first = (row?.restored_at ?? []).findIndex((at) => at.getTime() >= timeOfUuid(id));
  const restart = row?.restored_positions?.[first];
  if (position !== null) return restart === undefined || position <= restart ? { position } : { position, restart };
  // Older than everything that is kept: not lost, but deleted after ninety days.
  const purged = row?.oldest && timeOfUuid(id) < timeOfUuid(row.oldest);
  if (restart !== undefined && !purged) return { position, restart };
  // The feed had no event when the gateway was restored, so all of it came after.
  const restoredAt = row?.restored_at?.length ? null : await readLastRestore(reader);
  if (restoredAt === null || restoredAt.getTime() < timeOfUuid(id)) throw new Problem('event_not_found');
  return { position: null, restart: 0n };
}

/** Notes in every feed where the backup ended. */
export async function markFeedsRestored(tx: Tx, at: Date): Promise<void> {
  await tx.query(
    `update event_feeds set restored_at = restored_at || $1::timestamptz, restored_positions = restored_positions || last_position`,
    [at],
  );
}
