// Used signatures. A signature works once, across processes and restarts: using it inserts a row in the transaction of the
// request's effect.

import { createBatch } from '../platform/batch.ts';
import { HOUR_MS } from '../platform/clock.ts';
import { bytesOfDigits } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { perProcess } from '../platform/memory.ts';
import { maintainPartitions, type PartitionPlan, withPartitions } from '../platform/partitions.ts';

/** The signature of a verified request, in hexadecimal digits. Its timestamp, which is signed too, selects the partition. */
export type SpentSignature = { signature: string; signedAt: Date };

/** As PostgreSQL reads bytes. */
export const bytesOf = ({ signature }: SpentSignature) => bytesOfDigits(signature);

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

/** For one alone, which needs no arrays. */
const SPEND_ONE = {
  name: 'spend_one_signature',
  text: 'insert into spent_signatures (signed_at, signature) values ($1, $2) on conflict do nothing returning true as fresh',
};

/** Marks signatures as used. Returns for each, in order, whether it was new. */
export async function spendSignatures(tx: Tx, signatures: SpentSignature[]): Promise<boolean[]> {
  const [first] = signatures;
  if (first && signatures.length === 1)
    return [(await tx.query(SPEND_ONE, [first.signedAt, bytesOf(first)])).length > 0];
  const rows = await tx.query<{ signature: Buffer }>(SPEND, [
    signatures.map((entry) => entry.signedAt),
    signatures.map(bytesOf),
  ]);
  return takeOnce(
    signatures,
    rows.map((row) => row.signature),
  );
}

/** Of several equal signatures in one batch, the first counts as new. */
function takeOnce(signatures: SpentSignature[], fresh: Buffer[]): boolean[] {
  const left = new Set(fresh.map((signature) => signature.toString('hex')));
  return signatures.map(({ signature }) => left.delete(signature));
}

export async function isSignatureSpent(reader: Reader, entry: SpentSignature): Promise<boolean> {
  const rows = await reader.query(
    { name: 'is_signature_spent', text: 'select 1 from spent_signatures where signed_at = $1 and signature = $2' },
    [entry.signedAt, bytesOf(entry)],
  );
  return rows.length > 0;
}

/** Gathers the signatures of requests that only read, so that many of them share one commit. */
const readBatch = perProcess((ctx: Context) =>
  createBatch<SpentSignature, boolean>({
    run: (entries) =>
      withPartitions(ctx, SIGNATURE_PARTITIONS, entries[0]?.signedAt ?? ctx.clock.now(), () =>
        ctx.db.single((tx) => spendSignatures(tx, entries)),
      ),
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'reads' }, items),
  }),
);

/** Marks the signature of a read request as used. False: it was used before. */
export function spendForRead(ctx: Context, entry: SpentSignature): Promise<boolean> {
  return readBatch(ctx).add(entry);
}

/** Creates the next partitions and drops old ones. */
export function maintainSignatures(ctx: Context): Promise<number> {
  return maintainPartitions(ctx, SIGNATURE_PARTITIONS);
}
