// What one process keeps in memory: counters, rate limiters, batches. It belongs to the context, so that two contexts
// (two processes, two tests) share none of it.

export type Memory = Map<unknown, unknown>;

export function createMemory(): Memory {
  return new Map();
}

/** Defines a value that each process has once. It is created when a context is first asked for it. */
export function perProcess<C extends { readonly memory: Memory; readonly process?: unknown }, Value>(
  create: (ctx: C) => Value,
): (ctx: C) => Value {
  return (ctx) => {
    const known = ctx.memory.get(create);
    if (known !== undefined) return known as Value;
    // The first to ask may be a request of one holder; the value is for all of them.
    const value = create((ctx.process as C | undefined) ?? ctx);
    ctx.memory.set(create, value);
    return value;
  };
}
