// Collections that succeeded, in the order of their holder's feed: for work that follows a payment and may come a little later.

import { type FeedPlace, listEventsAfter } from '../callbacks/events.ts';
import type { Reader } from '../platform/db.ts';
import { readTransactions, type Transaction } from './transactions.ts';

export type { FeedPlace } from '../callbacks/events.ts';
export { lastFeedPosition } from '../callbacks/events.ts';

export type SettledCollections = {
  collections: Transaction[];
  /** Where each reader stands after them. A place that nothing came after is left out. */
  places: { from: FeedPlace; to: bigint }[];
};

/** What succeeded after these places; at most `limit` events of each holder are looked at. */
export async function listSettledCollections(
  reader: Reader,
  places: readonly FeedPlace[],
  limit: number,
): Promise<SettledCollections> {
  const events = await listEventsAfter(reader, places, limit);
  const succeeded = events.filter(({ type }) => type === 'collection.success').map((event) => event.transaction_id);
  const moved = places.flatMap((from) => {
    const last = events.findLast((event) => event.holder_id === from.holderId);
    return last ? [{ from, to: last.position }] : [];
  });
  return { collections: succeeded.length === 0 ? [] : await readTransactions(reader, succeeded), places: moved };
}
