// Signatures that were used. A signature works once, over all processes and restarts: spending it is a row
// in the same transaction as the request's effect.

import { type Batch, createBatch } from '../platform/batch.ts';
import { HOUR_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { maintainPartitions, type PartitionPlan, withPartitions } from '../platform/partitions.ts';

/** What of a verified request is spent. The signed timestamp picks the partition, and is itself signed. */
export type SpentSignature = { signature: Buffer; signedAt: Date };

export const SIGNATURE_PARTITIONS: PartitionPlan = {
  table: 'spent_signatures',
  span: 'hour',
  ahead: 6,
  keepMs: 3 * HOUR_MS,
};

const SPEND = {
  name: 'spend_signatures',
  text: `insert into spent_signatures (signed_at, signature)
         select * from unnest($1::timestamptz[], $2::bytea[])
         on conflict do nothing returning signature`,
};

/** Spends signatures inside the caller's transaction. Answers which of them were fresh, in order. */
export async function spendSignatures(tx: Tx, signatures: SpentSignature[]): Promise<boolean[]> {
  const rows = await tx.query<{ signature: Buffer }>(SPEND, [
    signatures.map((entry) => entry.signedAt),
    signatures.map((entry) => entry.signature),
  ]);
  return takeOnce(
    signatures,
    rows.map((row) => row.signature),
  );
}

/** Of several equal signatures in one batch the first is the fresh one. */
export function takeOnce(signatures: SpentSignature[], fresh: Buffer[]): boolean[] {
  const left = new Set(fresh.map((signature) => signature.toString('hex')));
  return signatures.map((entry) => left.delete(entry.signature.toString('hex')));
}

export async function isSignatureSpent(reader: Reader, entry: SpentSignature): Promise<boolean> {
  const rows = await reader.query(
    { name: 'is_signature_spent', text: 'select 1 from spent_signatures where signed_at = $1 and signature = $2' },
    [entry.signedAt, entry.signature],
  );
  return rows.length > 0;
}

const batches = new WeakMap<object, Batch<SpentSignature, boolean>>();

/** Spends the signature of a request that only reads. Answers false when it was used before. */
export function spendForRead(ctx: Context, entry: SpentSignature): Promise<boolean> {
  let batch = batches.get(ctx.db);
  if (!batch) {
    batch = createBatch<SpentSignature, boolean>({
      run: (entries) =>
        withPartitions(ctx, SIGNATURE_PARTITIONS, entries[0]?.signedAt ?? ctx.clock.now(), () =>
          ctx.db.transaction((tx) => spendSignatures(tx, entries)),
        ),
      observe: (items) => ctx.metrics.batchItems.observe({ batch: 'reads' }, items),
    });
    batches.set(ctx.db, batch);
  }
  return batch.add(entry);
}

/** Housekeeping: partitions ahead, old ones dropped. */
export function maintainSignatures(ctx: Context): Promise<number> {
  return maintainPartitions(ctx, SIGNATURE_PARTITIONS);
}
