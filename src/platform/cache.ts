// Rows that seldom change (integrations, fees), cached in each process. Triggers increase a counter in the database on every
// change of such a row; a process reads the counter twice a second at most and clears its caches when it has moved. So a
// change shows within half a second, and a cache costs two small queries a second.

import type { Context } from './context.ts';
import type { MaybeLater } from './known.ts';
import { perProcess } from './memory.ts';

/** A change made by another process shows within this time. */
const CHECK_MS = 500;
const MAX_ENTRIES = 20_000;

export interface Cache<Key, Value> {
  /** The value itself where it is known and fresh: the hot path does not wait for what it has in memory. */
  get(ctx: Context, key: Key): MaybeLater<Value>;
}

/** `value` is kept beside its promise as soon as it has come. */
type Entry<Value> = { readonly loading: Promise<Value>; loaded?: { readonly value: Value } };

/** Defines a cache. `load` reads past every cache; `validUntil` says how long its result may be used. */
export function createCache<Key, Value>(
  load: (ctx: Context, key: Key) => Promise<Value>,
  validUntil: (value: Value) => number = () => Number.POSITIVE_INFINITY,
): Cache<Key, Value> {
  const memoryOf = perProcess((ctx: Context) => {
    const entries = new Map<Key, Entry<Value>>();
    const watch = changeWatch(ctx);
    watch.caches.add(entries);
    return { entries, watch };
  });

  async function checkAndRead(ctx: Context, key: Key): Promise<Value> {
    const { entries, watch } = memoryOf(ctx);
    if (isCheckDue(watch, ctx.clock.millis())) await startCheck(ctx, watch);
    const known = entries.get(key);
    if (known) {
      const value = await known.loading;
      if (validUntil(value) > ctx.clock.millis()) return value;
    }
    const entry: Entry<Value> = { loading: load(ctx, key) };
    // Deleted first, so that the newest entry is the last: the first one is dropped when there are too many.
    entries.delete(key);
    entries.set(key, entry);
    if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value ?? key);
    entry.loading.then(
      (value) => {
        entry.loaded = { value };
      },
      // A failed read is not cached.
      () => {
        if (entries.get(key) === entry) entries.delete(key);
      },
    );
    return entry.loading;
  }

  return {
    get(asking, key) {
      // Loaded for everybody, whichever holder's request asks first.
      const ctx = asking.process ?? asking;
      const { entries, watch } = memoryOf(ctx);
      const now = ctx.clock.millis();
      const loaded = isCheckDue(watch, now) ? undefined : entries.get(key)?.loaded;
      if (loaded && validUntil(loaded.value) > now) return loaded.value;
      return checkAndRead(ctx, key);
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

/** The absolute value: after the clock was set back, the next check must not be hours away. */
function isCheckDue(watch: ChangeWatch, now: number): boolean {
  return Math.abs(now - watch.checkedAt) >= CHECK_MS;
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
