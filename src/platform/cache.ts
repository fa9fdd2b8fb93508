// Rows that seldom change (integrations, fees), cached in each process. Triggers increase a counter in the database on every
// change of such a row; a process reads the counter twice a second at most and clears its caches when it has moved. So a
// change shows within half a second, and a cache costs two small queries a second.

import type { Context } from './context.ts';
import { perProcess } from './memory.ts';

/** A change made by another process shows within this time. */
const CHECK_MS = 500;
const MAX_ENTRIES = 20_000;

export interface Cache<Key, Value> {
  get(ctx: Context, key: Key): Promise<Value>;
}

/** Defines a cache. `load` reads past every cache; `validUntil` says how long its result may be used. */
export function createCache<Key, Value>(
  load: (ctx: Context, key: Key) => Promise<Value>,
  validUntil: (value: Value) => number = () => Number.POSITIVE_INFINITY,
): Cache<Key, Value> {
  const entriesOf = perProcess((ctx: Context) => {
    const entries = new Map<Key, Promise<Value>>();
    changeWatch(ctx).caches.add(entries);
    return entries;
  });

  return {
    async get(asking, key) {
      // Loaded for everybody, whichever holder's request asks first.
      const ctx = asking.process ?? asking;
      const entries = entriesOf(ctx);
      await clearChanged(ctx, changeWatch(ctx));
      const known = entries.get(key);
      if (known) {
        const value = await known;
        if (validUntil(value) > ctx.clock.millis()) return value;
      }
      const loading = load(ctx, key);
      // Deleted first, so that the newest entry is the last: the first one is dropped when there are too many.
      entries.delete(key);
      entries.set(key, loading);
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value ?? key);
      // A failed read is not cached.
      loading.catch(() => {
        if (entries.get(key) === loading) entries.delete(key);
      });
      return loading;
    },
  };
}

/** The counter of changes as this process read it last, and the caches to clear when it moves. */
type ChangeWatch = {
  version: bigint | null;
  checkedAt: number;
  checking: Promise<void> | null;
  caches: Set<{ clear(): void }>;
};

const changeWatch = perProcess(
  (): ChangeWatch => ({
    version: null,
    checkedAt: Number.NEGATIVE_INFINITY,
    checking: null,
    caches: new Set(),
  }),
);

async function clearChanged(ctx: Context, watch: ChangeWatch): Promise<void> {
  // The absolute value: after the clock was set back, the next check must not be hours away.
  if (Math.abs(ctx.clock.millis() - watch.checkedAt) < CHECK_MS) return;
  await startCheck(ctx, watch);
}

/**
 * Reads the counter now, so that the next `get` sees every change made before this call: for a refusal that may only be due
 * to an old entry. Calls at the same time share one query.
 */
export async function refreshCaches(ctx: Context): Promise<void> {
  const watch = changeWatch(ctx);
  // A check that is under way may have read the counter before the change.
  await watch.checking?.catch(() => {});
  await startCheck(ctx, watch);
}

function startCheck(ctx: Context, watch: ChangeWatch): Promise<void> {
  watch.checking ??= checkVersion(ctx, watch).finally(() => {
    watch.checking = null;
  });
  return watch.checking;
}

async function checkVersion(ctx: Context, watch: ChangeWatch): Promise<void> {
  const startedAt = ctx.clock.millis();
  const [row] = await ctx.db.query<{ version: bigint }>({
    name: 'read_change_count',
    text: 'select version from change_count',
  });
  if (row?.version !== watch.version) for (const cache of watch.caches) cache.clear();
  watch.version = row?.version ?? null;
  watch.checkedAt = startedAt;
}
