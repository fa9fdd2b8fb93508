// What a restore changes in the rows of the backup, in one transaction: it notes the restore, lets every open payment be
// asked about first, lets schedules of settlements wait, ends what people and programs were signed in with, and marks where each
// feed stood.

import { postponeSchedules } from '../books/settlement-schedule.ts';
import { markFeedsRestored } from '../callbacks/feed.ts';
import { type EndedCredentials, endCredentials } from '../holders/credentials-after-restore.ts';
import { requeryAfterRestore } from '../payments/requery-after-restore.ts';
import type { Tx } from '../platform/db.ts';
import { recordRestore } from '../platform/restores.ts';

/** `postponed`: settlements by schedule that wait for a day. */
export type FinishedRestore = { askedFirst: number; ended: EndedCredentials; postponed: number };

export async function finishRestore(tx: Tx, at: Date, backupTakenAt: Date | null): Promise<FinishedRestore> {
  await recordRestore(tx, at, backupTakenAt);
  await markFeedsRestored(tx, at);
  const ended = await endCredentials(tx, at);
  const askedFirst = await requeryAfterRestore(tx, at);
  return { ended, askedFirst, postponed: await postponeSchedules(tx, at) };
}
