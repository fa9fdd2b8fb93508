// Every rail, one line each, and the rail of each method.

import type { Context } from '../platform/context.ts';
import type { Mode } from '../platform/gateway-mode.ts';
import { type Breakers, createBreakers } from './breakers.ts';
import type { Rail, RailMethod } from './rail.ts';
import { createSandboxRail } from './sandbox.ts';

export type { Mode };

export interface RailRegistry {
  /** The rail of a method; null when this gateway has none for it. In sandbox mode always the simulated operator's. */
  railFor(method: RailMethod, mode: Mode): Rail | null;
  /** The rail behind /operators/<name>. In live mode the simulated operator has none: its money is not real. */
  byName(name: string): Rail | null;
  /** Circuit breakers and health per rail and operator (an operator is named by its method's code). */
  readonly health: Breakers;
  close(): Promise<void>;
}

export type RailOptions = {
  /** Address of the simulated operator, read before each call; null until it listens. */
  sandboxOperatorUrl: () => string | null;
  /** Time-out of a call to an operator; CALL_TIMEOUT_MS by default, shorter in tests. */
  timeoutMs?: number;
};

export function createRails(ctx: Pick<Context, 'vault' | 'clock' | 'config'>, options: RailOptions): RailRegistry {
  const timeout = options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs };
  const sandbox = createSandboxRail(ctx, { operatorUrl: options.sandboxOperatorUrl, ...timeout });
  const rails: Rail[] = ctx.config.mode === 'sandbox' ? [sandbox] : [];
  // Live rails by method code. Empty until a connector to a real operator is added.
  const live = new Map<string, Rail>();

  return {
    railFor: (method, mode) => (mode === 'sandbox' ? sandbox : (live.get(method.code) ?? null)),
    byName: (name) => rails.find((rail) => rail.name === name) ?? null,
    health: createBreakers(ctx.clock),
    async close() {
      await Promise.all([sandbox, ...live.values()].map((rail) => rail.close()));
    },
  };
}
