// Reads that are asked for at the same time, made together. After a change every process forgets what it has cached, and a busy
// one then needs the rows of a thousand merchants at once: one statement each would keep it busy for seconds.

import type { Context } from './context.ts';
import { perProcess } from './memory.ts';

const MAX_KEYS = 500;

/** One result for each key, in their order. A promise that rejects concerns only its key. */
type LoadMany<Key, Value> = (ctx: Context, keys: Key[]) => Promise<(Value | Promise<Value>)[]>;

type Asked<Key, Value> = { key: Key; resolve(value: Value | Promise<Value>): void; reject(error: unknown): void };

/** A function that reads one key, by reading all that are asked for until the read before has ended. */
export function gatherKeys<Key, Value>(loadMany: LoadMany<Key, Value>): (ctx: Context, key: Key) => Promise<Value> {
  const stateOf = perProcess(() => ({ waiting: [] as Asked<Key, Value>[], isRunning: false }));

  async function run(ctx: Context): Promise<void> {
    const state = stateOf(ctx);
    state.isRunning = true;
    // What is asked for in the same turn of the event loop belongs together.
    await new Promise(setImmediate);
    while (state.waiting.length > 0) {
      const asked = state.waiting.splice(0, MAX_KEYS);
      try {
        const values = await loadMany(
          ctx,
          asked.map(({ key }) => key),
        );
        if (values.length !== asked.length) throw new Error(`${values.length} results for ${asked.length} keys`);
        for (const [index, one] of asked.entries()) one.resolve(values[index] as Value | Promise<Value>);
      } catch (error) {
        for (const one of asked) one.reject(error);
      }
    }
    state.isRunning = false;
  }

  return (ctx, key) =>
    new Promise<Value>((resolve, reject) => {
      const state = stateOf(ctx);
      state.waiting.push({ key, resolve, reject });
      if (!state.isRunning) void run(ctx);
    });
}
