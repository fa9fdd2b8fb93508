// Transfers as the lines of text that are hashed.

import type { Reader } from '../platform/db.ts';

/**
 * A transfer as the text that is hashed. The hash of a block is SHA-256 over the 32 bytes of the previous hash and its lines in
 * the order of (holder, position), joined by line feeds. This must never change: sealed blocks depend on it. A transfer from
 * before there were positions has the same text without the last field.
 */
export const TRANSFER_LINE = `concat_ws('|', id, batch, holder_id, debit_account, credit_account, amount, currency, kind,
  transaction_id, (extract(epoch from posted_at) * 1000000)::bigint, debit_balance, credit_balance, position)`;

/** Transfers of one holder: those after one position, up to another. */
export type HolderSpan = { readonly holder: bigint; readonly after: bigint; readonly upTo: bigint };
export type HashedLine = { holder_id: bigint; position: bigint; id: bigint; line: string };

const COLUMNS = `holder_id, position, id, ${TRANSFER_LINE} as line`;
const OF_HOLDERS = `
  select t.* from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as span (holder_id, after_position, last_position)
  cross join lateral (
    select ${COLUMNS} from ledger_transfers
    where holder_id = span.holder_id and position > span.after_position and position <= span.last_position
    order by position limit $4
  ) as t
  order by t.holder_id, t.position limit $4`;
const OF_ONE = `
  select ${COLUMNS} from ledger_transfers
  where holder_id = $1 and position > $2 and position <= $3 order by position limit $4`;

/** In the order of holder and position, at most `limit` (null: all); one span for each holder. */
export async function readLines(
  reader: Reader,
  spans: readonly HolderSpan[],
  limit: number | null,
): Promise<HashedLine[]> {
  if (!reader.isDistributed?.())
    return await reader.query<HashedLine>(OF_HOLDERS, [
      spans.map(({ holder }) => holder),
      spans.map(({ after }) => after),
      spans.map(({ upTo }) => upTo),
      limit,
    ]);
  const rows: HashedLine[] = [];
  for (const { holder, after, upTo } of spans.toSorted((one, other) => (one.holder < other.holder ? -1 : 1))) {
    rows.push(
      ...(await reader.query<HashedLine>(OF_ONE, [holder, after, upTo, limit === null ? null : limit - rows.length])),
    );
    if (limit !== null && rows.length >= limit) break;
  }
  return rows;
}
