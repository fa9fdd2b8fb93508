// Fees: those of the catalogue, unless other fees are agreed with the holder.

import { feeOf } from '../catalog/amounts.ts';
import type { Direction, Fee, Method } from '../catalog/catalog.ts';
import { type Actor, recordAudit } from '../holders/audit.ts';
import { createCache } from '../platform/cache.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { gatherKeys } from '../platform/gather.ts';
import { type MaybeLater, whenKnown } from '../platform/known.ts';

type Overrides = Map<string, Fee>;

const overridesOf = createCache(gatherKeys(readOverrides));

/** The fee of this holder for this amount. */
export function feeFor(
  ctx: Context,
  holderId: bigint,
  method: Method,
  direction: Direction,
  amount: bigint,
): MaybeLater<bigint> {
  return whenKnown(overridesOf.get(ctx, holderId), (overrides) => {
    const agreed = overrides.size > 0 ? overrides.get(`${direction} ${method.code}`) : undefined;
    return feeOf(amount, method, direction, agreed);
  });
}

type OverrideRow = {
  holder_id: bigint;
  method: string;
  direction: Direction;
  basis_points: bigint;
  fixed: bigint;
  min: bigint;
  max: bigint | null;
};

async function readOverrides(ctx: Context, holderIds: bigint[]): Promise<Overrides[]> {
  const rows = await ctx.db.query<OverrideRow>(
    {
      name: 'fee_overrides_of_holders',
      text: `select holder_id, method, direction, basis_points, fixed, min, max
             from fee_overrides where holder_id = any($1::bigint[])`,
    },
    [holderIds],
  );
  const rowsOf = Map.groupBy(rows, (row) => row.holder_id);
  return holderIds.map((holderId) => overridesFrom(rowsOf.get(holderId) ?? []));
}

function overridesFrom(rows: OverrideRow[]): Overrides {
  return new Map(
    rows.map((row) => [
      `${row.direction} ${row.method}`,
      { basisPoints: row.basis_points, fixed: row.fixed, min: row.min, max: row.max },
    ]),
  );
}

export type FeeOverride = {
  method: string;
  direction: Direction;
  basis_points: bigint;
  fixed: bigint;
  min: bigint;
  max: bigint | null;
  updated_at: Date;
};

/** The fees agreed with a holder. For all others the catalogue applies. */
export function listFeeOverrides(reader: Reader, holderId: bigint): Promise<FeeOverride[]> {
  return reader.query<FeeOverride>(
    `select method, direction, basis_points, fixed, min, max, updated_at from fee_overrides
     where holder_id = $1 order by method, direction`,
    [holderId],
  );
}

/** Sets the fee of a holder; null restores the fee of the catalogue. */
export function setFee(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  method: string,
  direction: Direction,
  fee: Fee | null,
): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    if (fee)
      await tx.query(
        `insert into fee_overrides (holder_id, method, direction, basis_points, fixed, min, max, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (holder_id, method, direction) do update set basis_points = excluded.basis_points,
           fixed = excluded.fixed, min = excluded.min, max = excluded.max, updated_at = excluded.updated_at`,
        [holderId, method, direction, fee.basisPoints, fee.fixed, fee.min, fee.max, at],
      );
    else
      await tx.query('delete from fee_overrides where holder_id = $1 and method = $2 and direction = $3', [
        holderId,
        method,
        direction,
      ]);
    const details = fee
      ? { direction, basisPoints: String(fee.basisPoints), fixed: String(fee.fixed) }
      : { direction, removed: true };
    await recordAudit(tx, { holderId, actor, action: 'fee.changed', subject: method, details }, at);
  });
}
