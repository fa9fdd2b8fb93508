// Learns the names of the fields that a simulated operator sends, so that each of them can be given another name.

import type { Operation } from '../../simulators/faults.ts';
import type { CreateSimulator } from '../../simulators/frame.ts';

export type SeenFields = {
  /** The simulator, watched. */
  readonly createSimulator: CreateSimulator;
  /** Of answers to each operation; `other` has those of callbacks too. */
  of(operation: Operation): string[];
  /** Whether the operator has calls of this kind at all. */
  has(operation: Operation): boolean;
  /** Access tokens that the operator gave out. */
  tokens(): string[];
};

export function watchFields(create: CreateSimulator): SeenFields {
  const seen = new Map<Operation, Set<string>>();
  const tokens = new Set<string>();
  const operations = new Set<Operation>();
  const note = (operation: Operation, body: unknown) => {
    const names = seen.get(operation) ?? new Set<string>();
    seen.set(operation, names);
    collectNames(body, names);
  };
  const noteToken = (body: object | string) => {
    const token = (body as Record<string, unknown>).access_token;
    if (typeof token === 'string') tokens.add(token);
  };
  return {
    createSimulator(context, settings) {
      const simulator = create(
        {
          ...context,
          send(callback) {
            note('other', callback.body);
            return context.send(callback);
          },
        },
        settings,
      );
      for (const { operation } of simulator.routes) operations.add(operation);
      const routes = simulator.routes.map((route) => ({
        ...route,
        async handle(request: Parameters<typeof route.handle>[0]) {
          const answer = await route.handle(request);
          note(route.operation, answer.body);
          if (route.operation === 'token') noteToken(answer.body);
          return answer;
        },
      }));
      return { ...simulator, routes };
    },
    of: (operation) => [...(seen.get(operation) ?? [])].sort(),
    has: (operation) => operations.has(operation),
    tokens: () => [...tokens],
  };
}

function collectNames(value: unknown, names: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collectNames(item, names);
  else if (typeof value === 'object' && value !== null && !('rawJSON' in value))
    for (const [name, item] of Object.entries(value)) {
      names.add(name);
      collectNames(item, names);
    }
}
