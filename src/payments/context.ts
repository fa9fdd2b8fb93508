// What payments need beyond the platform: the catalogue, the rails, and the hooks of other modules.

import type { RecordedEvent } from '../callbacks/events.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import type { TellOthers } from '../platform/work-signal.ts';
import type { RailRegistry } from '../rails/registry.ts';
import type { Transaction } from './transactions.ts';

/** Called inside the transaction that books collections. Payment links are closed this way. `late`: those that had failed before. */
export type CollectionsHook = (tx: Tx, collections: Transaction[], at: Date, late: Transaction[]) => Promise<void>;

/** The name of the background job that runs the engine. */
export const PAYMENTS_JOB = 'payments';

export type PaymentsContext = Context & {
  readonly catalog: Catalog;
  readonly rails: RailRegistry;
  readonly onCollectionsSettled: readonly CollectionsHook[];
  readonly onCollectionsReversed: readonly CollectionsHook[];
  /** Called after each commit that recorded events: the deliverer of this process sends them at once. */
  sendCallbacksNow(events: RecordedEvent[]): void;
  /** Called after a commit that left work of this job to other processes. */
  tellOthers: TellOthers;
  /** The reason why a callback may not go to this URL; null when it may. */
  checkCallbackUrl(url: string): string | null;
};
