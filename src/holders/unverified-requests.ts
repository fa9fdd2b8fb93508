// Requests that named an integration and were refused before their signature or secret was verified. Everybody who knows a
// client_id can send them, so they are no part of the request log. All are counted; a few are kept, so that a developer finds
// the wrong signature of a program. Those of one address never push out those of another.

import { limitKey } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';

/** How many a process keeps in a minute: of one integration, of one integration and address, and in all. */
const PER_MINUTE = 50;
const PER_MINUTE_AND_ADDRESS = 10;
const PER_MINUTE_IN_ALL = 2_000;
const MINUTE_MS = 60_000;
/** How many stay, over all processes: of one integration, and of one integration and address. */
const KEPT = 1_000;
const KEPT_OF_ADDRESS = 200;
export const UNVERIFIED_KEPT_DAYS = 7;

export type UnverifiedEntry = {
  at: Date;
  /** Of the request, as a UUID. */
  id: string;
  status: number;
  route: string;
  address: string;
  code: string | null;
};

/** Decides which requests of this minute are kept. */
export function createSampler(clock: { millis(): number }): (clientId: string, address: string) => boolean {
  let minute = -1;
  const counts = new Map<string, number>();
  return (clientId, address) => {
    const now = Math.floor(clock.millis() / MINUTE_MS);
    if (now !== minute) counts.clear();
    minute = now;
    const limits = [
      ['', PER_MINUTE_IN_ALL],
      [clientId, PER_MINUTE],
      [`${clientId} ${limitKey(address)}`, PER_MINUTE_AND_ADDRESS],
    ] as const;
    if (limits.some(([key, limit]) => (counts.get(key) ?? 0) >= limit)) return false;
    for (const [key] of limits) counts.set(key, (counts.get(key) ?? 0) + 1);
    return true;
  };
}

type Owner = { integrationId: bigint; holderId: bigint };

/** Stores rows, then deletes what is more than may stay of their integrations. */
export async function writeUnverified(ctx: Context, rows: readonly (UnverifiedEntry & Owner)[]): Promise<void> {
  if (rows.length === 0) return;
  await ctx.db.transaction(async (tx) => {
    await tx.query(
      `insert into unverified_requests (holder_id, integration_id, at, id, status, route, address, network, code)
       select * from unnest(
         $1::bigint[], $2::bigint[], $3::timestamptz[], $4::uuid[],
         $5::smallint[], $6::text[], $7::text[], $8::text[], $9::text[])
       on conflict do nothing`,
      [
        rows.map((row) => row.holderId),
        rows.map((row) => row.integrationId),
        rows.map((row) => row.at),
        rows.map((row) => row.id),
        rows.map((row) => row.status),
        rows.map((row) => row.route),
        rows.map((row) => row.address),
        rows.map((row) => limitKey(row.address)),
        rows.map((row) => row.code),
      ],
    );
    // The newest of each address stay before the second of any other.
    await tx.query(
      `delete from unverified_requests where (holder_id, integration_id, at, id) in (
         select holder_id, integration_id, at, id from (
           select *, row_number() over (partition by integration_id order by place_of_address, at desc, id desc) as place
           from (
             select holder_id, integration_id, at, id,
                    row_number() over (partition by integration_id, network order by at desc, id desc) as place_of_address
             from unverified_requests where holder_id = any ($1) and integration_id = any ($2)) a) r
         where place > ${KEPT} or place_of_address > ${KEPT_OF_ADDRESS})`,
      [[...new Set(rows.map((row) => row.holderId))], [...new Set(rows.map((row) => row.integrationId))]],
    );
  });
}

export type UnverifiedRequest = {
  at: Date;
  id: string;
  integration_id: bigint;
  status: number;
  route: string;
  address: string;
  code: string | null;
};

type UnverifiedFilter = {
  integrationId?: bigint | undefined;
  code?: string | undefined;
  id?: string | undefined;
  since?: Date | undefined;
  before?: Date | undefined;
};

/** The newest of a holder that match the filter. */
export function listUnverified(
  reader: Reader,
  holderId: bigint,
  filter: UnverifiedFilter,
  limit: number,
): Promise<UnverifiedRequest[]> {
  return reader.query<UnverifiedRequest>(
    `select at, id, integration_id, status, route, address, code from unverified_requests
     where holder_id = $1 and ($2::bigint is null or integration_id = $2) and ($3::text is null or code = $3)
       and ($4::uuid is null or id = $4) and at >= $5 and at < $6
     order by at desc, id desc limit $7`,
    [
      holderId,
      filter.integrationId ?? null,
      filter.code ?? null,
      filter.id ?? null,
      filter.since ?? '-infinity',
      filter.before ?? 'infinity',
      limit,
    ],
  );
}
