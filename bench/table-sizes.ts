// How large tables are, and which of them hold payments.

import type { Bench } from './parts.ts';

const MEGABYTE = 2 ** 20;
/** Kept for three hours. */
const SIGNATURES = 'spent_signatures';
/** These grow with every payment. */
export const PAYMENT_TABLES: ReadonlySet<string> = new Set([
  'transactions',
  'evidence',
  'ledger_transfers',
  'ledger_partition_blocks',
  'ledger_heads',
  'operator_receipts',
  'events',
  'callback_attempts',
  'request_log',
  SIGNATURES,
]);

/** Megabytes with indexes and TOAST; partitions under the name of their table. */
export async function tableSizes({ ctx }: Pick<Bench, 'ctx'>): Promise<Map<string, number>> {
  const rows = await ctx.db.query<{ name: string; bytes: bigint }>(
    `select coalesce(p.relname, c.relname) as name, sum(pg_total_relation_size(c.oid))::bigint as bytes
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace group by 1`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes) / MEGABYTE]));
}

/** What payments leave behind, with their requests and callbacks. */
export async function storedBytes(bench: Pick<Bench, 'ctx'>): Promise<number> {
  const sizes = await tableSizes(bench);
  const stored = [...PAYMENT_TABLES].filter((name) => name !== SIGNATURES);
  return stored.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0) * MEGABYTE;
}
