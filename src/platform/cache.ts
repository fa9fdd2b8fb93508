// Rows that seldom change (integrations, fees), remembered by each process. The database counts every change of them in
// one number; a process asks for that number twice a second at most and forgets everything when it has moved. So memory is
// never older than the count is, however many rows are remembered, and remembering costs two small queries a second.

import type { Context } from './context.ts';

/** A change made by another process shows within this time. */
const CHECK_MS = 500;
const MAX_ENTRIES = 20_000;

type Watch = { version: bigint | null; checkedAt: number; checking: Promise<void> | null; forget: Set<() => void> };
const watches = new WeakMap<object, Watch>();

export interface Cache<Key, Value> {
  get(ctx: Context, key: Key): Promise<Value>;
}

/** `load` reads past every cache. What it answers may say until when it holds. */
export function createCache<Key, Value>(
  load: (ctx: Context, key: Key) => Promise<Value>,
  validUntil: (value: Value) => number = () => Number.POSITIVE_INFINITY,
): Cache<Key, Value> {
  const remembered = new WeakMap<object, Map<Key, Promise<Value>>>();

  function entriesOf(ctx: Context): Map<Key, Promise<Value>> {
    let entries = remembered.get(ctx.db);
    if (!entries) {
      const fresh = new Map<Key, Promise<Value>>();
      entries = fresh;
      remembered.set(ctx.db, fresh);
      watchOf(ctx).forget.add(() => fresh.clear());
    }
    return entries;
  }

  return {
    async get(ctx, key) {
      const entries = entriesOf(ctx);
      await forgetChanged(ctx);
      const known = entries.get(key);
      if (known) {
        const value = await known;
        if (validUntil(value) > ctx.clock.millis()) return value;
      }
      const loading = load(ctx, key);
      entries.delete(key);
      entries.set(key, loading);
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value ?? key);
      // What could not be read is not remembered.
      loading.catch(() => {
        if (entries.get(key) === loading) entries.delete(key);
      });
      return loading;
    },
  };
}

function watchOf(ctx: Context): Watch {
  let watch = watches.get(ctx.db);
  if (!watch) {
    watch = { version: null, checkedAt: Number.NEGATIVE_INFINITY, checking: null, forget: new Set() };
    watches.set(ctx.db, watch);
  }
  return watch;
}

async function forgetChanged(ctx: Context): Promise<void> {
  const watch = watchOf(ctx);
  const now = ctx.clock.millis();
  // A clock that was set back must not make us believe old rows for hours.
  if (Math.abs(now - watch.checkedAt) < CHECK_MS) return;
  watch.checking ??= check(ctx, watch).finally(() => {
    watch.checking = null;
  });
  await watch.checking;
}

async function check(ctx: Context, watch: Watch): Promise<void> {
  const askedAt = ctx.clock.millis();
  const [row] = await ctx.db.query<{ version: bigint }>({
    name: 'read_change_count',
    text: 'select version from change_count',
  });
  if (row && row.version !== watch.version) for (const forget of watch.forget) forget();
  watch.version = row?.version ?? null;
  watch.checkedAt = askedAt;
}
