// Events as tests look at them.

import type { EventType } from '../src/callbacks/events.ts';
import { type Database, type Reader, violatedConstraint } from '../src/platform/db.ts';
import { holderOfUuid, publicId, uuidFromPublicId } from '../src/platform/ids.ts';

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

/** Removes every event and what was done about it, as only the owner of the tables can. */
export async function clearEvents(ownerDb: Database): Promise<void> {
  const history = ['events', 'callback_attempts'];
  await ownerDb.transaction(async (tx) => {
    for (const table of history) await tx.query(`alter table ${table} disable trigger user`);
    await tx.query('truncate events, callback_deliveries, callback_attempts, callback_receivers, callback_pauses');
    for (const table of history) await tx.query(`alter table ${table} enable trigger user`);
  });
}

/** Stores the body of an event in another way, as only the owner of the tables can. */
export async function replaceBody(ownerDb: Database, id: string, body: Buffer): Promise<void> {
  await ownerDb.transaction(async (tx) => {
    await tx.query('alter table events disable trigger user');
    await tx.query('update events set body = $2 where id = $1', [uuidFromPublicId('evt', id), body]);
    await tx.query('alter table events enable trigger user');
  });
}

/** True when a transition was recorded already. PostgreSQL names the key after the partition that refused. */
export function isRepeatedEvent(error: unknown): boolean {
  return /^(event_once_per_transition|events_\w+_pkey)$/.test(violatedConstraint(error) ?? '');
}
