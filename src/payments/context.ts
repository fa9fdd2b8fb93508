// What payments need beyond the platform: the catalogue, the rails, and who else acts when money settles.

import type { RecordedEvent } from '../callbacks/events.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import type { RailRegistry } from '../rails/registry.ts';
import type { Transaction } from './transactions.ts';

/** Called inside the transaction that books successes: payment links close themselves this way. */
export type CollectionsSettledHook = (tx: Tx, settled: Transaction[], at: Date) => Promise<void>;

export type PaymentsContext = Context & {
  readonly catalog: Catalog;
  readonly rails: RailRegistry;
  readonly onCollectionsSettled: readonly CollectionsSettledHook[];
  /** Told after each commit that made events: the deliverer of this process sends them right away. */
  sendCallbacksNow(events: RecordedEvent[]): void;
  /** Why a callback may not go to this URL, as a sentence; null when it may. */
  checkCallbackUrl(url: string): string | null;
};
