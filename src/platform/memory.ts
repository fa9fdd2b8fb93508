// What one process keeps in memory: counters, rate limiters, batches. It belongs to the context, so that two contexts
// (two processes, two tests) share none of it.

export type Memory = Map<unknown, unknown>;

export function createMemory(): Memory {
  return new Map();
}

/** Defines a value that each process has once. It is created when a context is first asked for it. */
export function perProcess<C extends { readonly memory: Memory }, Value>(create: (ctx: C) => Value): (ctx: C) => Value {
  return (ctx) => {
    const known = ctx.memory.get(create);
    if (known !== undefined) return known as Value;
    const value = create(ctx);
    ctx.memory.set(create, value);
    return value;
  };
}
