// Every rail, one line each, and the rail of each method.

import type { Direction } from '../catalog/catalog.ts';
import type { Context } from '../platform/context.ts';
import type { Mode } from '../platform/gateway-mode.ts';
import { type Breakers, createBreakers } from './breakers.ts';
import type { Rail, RailMethod } from './rail.ts';
import { createSandboxRail } from './sandbox.ts';

export type { Mode };

export type MatchedCallbacks = 'apply' | 'ask';

export interface RailRegistry {
  /**
   * The connection of a new transaction: the first of the route of this method and direction that is neither paused nor down,
   * the holder's own route before everybody's. Null: there is no route. A transaction keeps its connection for good.
   */
  railFor(method: RailMethod, direction: Direction, holderId: bigint): Rail | null;
  /** A connection by its name, also a paused one, which finishes what it began. In live mode there is no sandbox. */
  byName(name: string): Rail | null;
  /** Names of the connections that new calls can be made to. */
  names(): readonly string[];
  /** What this connection does with a callback that is not signed but matches what we stored: applies it, or asks first. */
  matchedCallbacks(name: string): MatchedCallbacks;
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
    railFor: (method) => (ctx.config.mode === 'sandbox' ? sandbox : (live.get(method.code) ?? null)),
    byName: (name) => rails.find((rail) => rail.name === name) ?? null,
    names: () => rails.map((rail) => rail.name),
    matchedCallbacks: () => 'apply',
    health: createBreakers(ctx.clock),
    async close() {
      await Promise.all([sandbox, ...live.values()].map((rail) => rail.close()));
    },
  };
}
