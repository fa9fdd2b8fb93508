// Every rail, one line each, and which of them carries a method.

import type { Context } from '../platform/context.ts';
import { type Breakers, createBreakers } from './breakers.ts';
import type { Rail, RailMethod } from './rail.ts';
import { createSandboxRail } from './sandbox.ts';

export type Mode = 'sandbox' | 'live';

export interface RailRegistry {
  /** The rail that carries a method; null when this gateway has none for it. Sandbox mode never leaves the machine. */
  railFor(method: RailMethod, mode: Mode): Rail | null;
  /** The rail behind /operators/<name>. */
  byName(name: string): Rail | null;
  /** Circuit breakers and numbers per rail and operator (an operator is named by its method's code). */
  readonly health: Breakers;
  close(): Promise<void>;
}

export type RailOptions = {
  /** Where the simulated operator listens; asked before each call, null until it does. */
  sandboxOperatorUrl: () => string | null;
  /** Longest exchange with an operator; the contract's 15 s unless a test is in a hurry. */
  timeoutMs?: number;
};

export function createRails(ctx: Pick<Context, 'vault' | 'clock'>, options: RailOptions): RailRegistry {
  const timeout = options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs };
  const sandbox = createSandboxRail(ctx, { operatorUrl: options.sandboxOperatorUrl, ...timeout });
  const rails: Rail[] = [sandbox];
  // Live rails by method code. Empty until a connector to a real operator is added.
  const live = new Map<string, Rail>();

  return {
    railFor: (method, mode) => (mode === 'sandbox' ? sandbox : (live.get(method.code) ?? null)),
    byName: (name) => rails.find((rail) => rail.name === name) ?? null,
    health: createBreakers(ctx.clock),
    async close() {
      await Promise.all(rails.map((rail) => rail.close()));
    },
  };
}
