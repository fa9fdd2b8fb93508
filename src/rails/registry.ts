// Every rail, one line each, and the connections of this gateway as this process sees them: opened, with their routes and their
// health. Connections change while it runs; `refresh` brings a change here, twice a second and more where `watch` runs.

import type { Direction } from '../catalog/catalog.ts';
import type { Context } from '../platform/context.ts';
import type { Mode } from '../platform/gateway-mode.ts';
import { airtelMoneyRail } from './airtel-money.ts';
import type { Breakers } from './breakers.ts';
import type { RailDefinition } from './connection.ts';
import type { MatchedCallbacks } from './connections.ts';
import { darajaRail } from './daraja.ts';
import { mtnMomoRail } from './mtn-momo.ts';
import { type OpenConnection, openConnections } from './open-connections.ts';
import { createOperatorCallLog } from './operator-call-log.ts';
import { orangeMoneyRail } from './orange-money.ts';
import { pawapayRail } from './pawapay.ts';
import { paystackRail } from './paystack.ts';
import { CALL_TIMEOUT_MS, type Rail, type RailMethod } from './rail.ts';
import { createSandboxRail } from './sandbox.ts';
import { createSharedHealth } from './shared-health.ts';

export type { MatchedCallbacks, Mode };

/** A line here, and a file, is all that a rail needs. */
export const RAILS: readonly RailDefinition[] = [
  pawapayRail,
  darajaRail,
  mtnMomoRail,
  paystackRail,
  airtelMoneyRail,
  orangeMoneyRail,
];

/** A change of a connection, and an operator that does not answer, is seen by every process within this time. */
const WATCH_MS = 400;

export interface RailRegistry {
  /**
   * The connection of a new transaction: the first of the route of this method and direction that is neither paused nor down,
   * by the holder's own route where it has one, else by everybody's. Null: there is no route. A transaction keeps its
   * connection for good.
   */
  railFor(method: RailMethod, direction: Direction, holderId: bigint): Rail | null;
  /** A connection by its name, also a paused or removed one, which finishes what it began. In live mode there is no sandbox. */
  byName(name: string): Rail | null;
  /** Names of the connections that were not removed. */
  names(): readonly string[];
  /** What callbacks that are matched, but not signed, are worth at this connection. */
  matchedCallbacks(name: string): MatchedCallbacks;
  /** When the key by which the operator knows the account was replaced; null: never. */
  keyChangedAt(name: string): Date | null;
  /** Circuit breakers and health per connection and operator (an operator is named by its method's code), over all processes. */
  readonly health: Breakers;
  /** The rails that connections can be made of. */
  readonly definitions: readonly RailDefinition[];
  /** Reads the connections and the health now, so that the next call sees every change made before this one. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** The registry of a process. */
export type LiveRails = RailRegistry & {
  /** Refreshes by itself until the returned function is called. */
  watch(): () => void;
  /** Writes the last calls of the connections; a pass of a background job. */
  storeCalls(): Promise<number>;
};

export type RailOptions = {
  /** Address of the simulated operator, read before each call; null until it listens. */
  sandboxOperatorUrl: () => string | null;
  /** Time-out of a call to an operator; CALL_TIMEOUT_MS by default, shorter in tests. */
  timeoutMs?: number;
  /** Other rails than RAILS, in tests. */
  definitions?: readonly RailDefinition[];
};

export function createRails(ctx: Context, options: RailOptions): LiveRails {
  const { config, metrics } = ctx;
  const definitions = options.definitions ?? RAILS;
  const timeoutMs = options.timeoutMs ?? CALL_TIMEOUT_MS;
  const sandbox = createSandboxRail(ctx, { operatorUrl: options.sandboxOperatorUrl, timeoutMs });
  const calls = createOperatorCallLog(ctx);
  const connections = openConnections(ctx, {
    definitions,
    timeoutMs,
    onCall: (connection, call) => calls.add(connection, call),
  });
  const health = createSharedHealth(ctx, {
    onCall: (connection, _, result) => metrics.operatorCalls.inc({ connection, result }),
    onState: (connection, method, state) => metrics.breakerOpen.set({ connection, method }, state === 'closed' ? 0 : 1),
  });

  function choose(names: readonly string[], method: RailMethod, direction: Direction): Rail | null {
    const usable = names.flatMap((name) => {
      const opened = connections.find(name);
      return opened && takesNew(opened, method, direction) ? [opened.rail] : [];
    });
    return (
      usable.find((rail) => health.isPreferred(rail.name, method.code)) ??
      usable.find((rail) => health.wouldCall(rail.name, method.code)) ??
      usable[0] ??
      null
    );
  }

  async function refresh(): Promise<void> {
    await Promise.all([connections.refresh(), health.exchange()]);
  }

  return {
    railFor(method, direction, holderId) {
      const route = connections.routeOf(method.code, direction, holderId);
      if (route) return choose(route, method, direction);
      return config.mode === 'sandbox' ? sandbox : null;
    },
    byName(name) {
      if (name === sandbox.name) return config.mode === 'sandbox' ? sandbox : null;
      return connections.find(name)?.rail ?? null;
    },
    names: () => [...(config.mode === 'sandbox' ? [sandbox.name] : []), ...connections.names()],
    matchedCallbacks: (name) => connections.find(name)?.connection.matchedCallbacks ?? 'apply',
    keyChangedAt: (name) => connections.find(name)?.connection.keyChangedAt ?? null,
    health,
    definitions,
    refresh,
    watch: () => repeat(refresh, WATCH_MS),
    storeCalls: () => calls.store(),
    async close() {
      await calls.store().catch(() => undefined);
      await Promise.all([sandbox.close(), connections.close()]);
    },
  };
}

function takesNew({ connection, rail }: OpenConnection, method: RailMethod, direction: Direction): boolean {
  return (
    connection.pausedAt === null &&
    connection.removedAt === null &&
    connection.methods.includes(method.code) &&
    rail.capabilitiesOf(method, direction) !== null
  );
}

/** Again and again, one at a time. A failure is the database's, and everything else says so. */
function repeat(work: () => Promise<void>, everyMs: number): () => void {
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void work()
      .catch(() => undefined)
      .finally(() => {
        isBusy = false;
      });
  }, everyMs);
  return () => clearInterval(timer);
}
