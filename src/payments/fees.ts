// Fees: the catalogue's, unless the host agreed on others with a holder.

import { feeOf } from '../catalog/amounts.ts';
import type { Direction, Fee, Method } from '../catalog/catalog.ts';
import type { Context } from '../platform/context.ts';

const CACHE_MS = 900;
const CACHE_ENTRIES = 10_000;

type Overrides = Map<string, Fee>;
const caches = new WeakMap<object, Map<bigint, { readAt: number; overrides: Promise<Overrides> }>>();

/** What this holder pays for this amount. */
export async function feeFor(
  ctx: Context,
  holderId: bigint,
  method: Method,
  direction: Direction,
  amount: bigint,
): Promise<bigint> {
  const overrides = await overridesOf(ctx, holderId);
  return feeOf(amount, method, direction, overrides.get(`${direction} ${method.code}`));
}

function overridesOf(ctx: Context, holderId: bigint): Promise<Overrides> {
  let cache = caches.get(ctx.db);
  if (!cache) {
    cache = new Map();
    caches.set(ctx.db, cache);
  }
  const now = ctx.clock.millis();
  const known = cache.get(holderId);
  if (known && Math.abs(now - known.readAt) < CACHE_MS) return known.overrides;
  const overrides = readOverrides(ctx, holderId);
  cache.delete(holderId);
  cache.set(holderId, { readAt: now, overrides });
  if (cache.size > CACHE_ENTRIES) cache.delete(cache.keys().next().value ?? holderId);
  overrides.catch(() => cache.delete(holderId));
  return overrides;
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
