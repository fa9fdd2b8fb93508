// A connection for tests of rails: no database, tokens in memory, callback addresses with a fixed key, calls kept in an array.

import { systemClock } from '../src/platform/clock.ts';
import { createCallbackAddresses } from '../src/rails/callback-addresses.ts';
import type { RailConnection, RailDefinition, TokenStore } from '../src/rails/connection.ts';
import type { OperatorCall } from '../src/rails/exchange.ts';

export type TestConnection = RailConnection & { readonly calls: OperatorCall[] };

/** Settings have their `simulator` or `initial` values unless the test gives others. */
export function testConnection(
  definition: RailDefinition,
  baseUrl: string,
  changes: Partial<RailConnection> = {},
): TestConnection {
  const calls: OperatorCall[] = [];
  const defaults = definition.settings.flatMap(({ name, simulator, initial }) => {
    const value = simulator ?? initial;
    return value === undefined ? [] : [[name, value] as const];
  });
  const name = changes.name ?? definition.name;
  const publicUrl = changes.publicUrl ?? 'https://pay.example.com';
  return {
    name,
    environment: 'simulator',
    baseUrl,
    methods: definition.methods,
    clock: systemClock,
    publicUrl,
    addresses: createCallbackAddresses({ connection: name, publicUrl, keys: () => [Buffer.alloc(32, 7)] }),
    tokens: createMemoryTokens(),
    timeoutMs: 30_000,
    record: (call) => void calls.push(call),
    ...changes,
    settings: { ...Object.fromEntries(defaults), ...changes.settings },
    calls,
  };
}

function createMemoryTokens(): TokenStore {
  const live = new Map<string, string>();
  return {
    async withToken(kind, fetch, call, isRefused) {
      for (const isLast of [false, true]) {
        const known = live.get(kind);
        const fetched = known === undefined ? await fetch() : { token: known };
        if ('error' in fetched) return fetched.error;
        live.set(kind, fetched.token);
        const answer = await call(fetched.token);
        if (isLast || !isRefused(answer)) return answer;
        if (live.get(kind) === fetched.token) live.delete(kind);
      }
      throw new Error('not reached');
    },
  };
}
