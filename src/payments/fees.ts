// Fees: the catalogue's, unless the host agreed on others with a holder.

import { feeOf } from '../catalog/amounts.ts';
import type { Direction, Fee, Method } from '../catalog/catalog.ts';
import { createCache } from '../platform/cache.ts';
import type { Context } from '../platform/context.ts';

type Overrides = Map<string, Fee>;

const overridesOf = createCache(readOverrides);

/** What this holder pays for this amount. */
export async function feeFor(
  ctx: Context,
  holderId: bigint,
  method: Method,
  direction: Direction,
  amount: bigint,
): Promise<bigint> {
  const overrides = await overridesOf.get(ctx, holderId);
  return feeOf(amount, method, direction, overrides.get(`${direction} ${method.code}`));
}

async function readOverrides(ctx: Context, holderId: bigint): Promise<Overrides> {
  const rows = await ctx.db.query<{
    method: string;
    direction: Direction;
    basis_points: bigint;
    fixed: bigint;
    least: bigint;
    most: bigint | null;
  }>('select method, direction, basis_points, fixed, least, most from fee_overrides where holder_id = $1', [holderId]);
  return new Map(
    rows.map((row) => [
      `${row.direction} ${row.method}`,
      { basisPoints: row.basis_points, fixed: row.fixed, min: row.least, max: row.most },
    ]),
  );
}
