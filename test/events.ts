// Events as tests look at them.

import type { EventType } from '../src/callbacks/events.ts';
import { type Reader, violatedConstraint } from '../src/platform/db.ts';
import { holderOfUuid, publicId } from '../src/platform/ids.ts';

/** The events of a transaction in the order of the feed. */
export async function eventsOfTransaction(
  reader: Reader,
  transactionId: string,
): Promise<{ publicId: string; type: EventType; createdAt: Date }[]> {
  const rows = await reader.query<{ id: string; type: EventType; created_at: Date }>(
    'select id, type, created_at from events where holder_id = $1 and transaction_id = $2 order by position',
    [holderOfUuid(transactionId), transactionId],
  );
  return rows.map((row) => ({ publicId: publicId('evt', row.id), type: row.type, createdAt: row.created_at }));
}

/** True when a transition was recorded already. PostgreSQL names the key after the partition that refused. */
export function isRepeatedEvent(error: unknown): boolean {
  return /^(event_once_per_transition|events_\w+_pkey)$/.test(violatedConstraint(error) ?? '');
}
