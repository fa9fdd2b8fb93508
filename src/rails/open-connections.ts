// The connections of this gateway as one process has them open, and their routes. A change is read from the database; a
// connection whose settings changed is opened anew, and the old one is closed when its calls have ended.

import type { Direction } from '../catalog/catalog.ts';
import { createCache, refreshCaches } from '../platform/cache.ts';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import { callbackAddressesOf } from './callback-addresses.ts';
import type { RailDefinition } from './connection.ts';
import { type Connection, environmentProblem, loadConnections } from './connections.ts';
import { type CountedRail, countCalls } from './counted-rail.ts';
import type { OperatorCall } from './exchange.ts';
import type { Rail } from './rail.ts';
import { listRoutes, type Route } from './routing.ts';
import { createTokenStore } from './tokens.ts';

export type OpenConnection = CountedRail & { connection: Connection };

export interface OpenConnections {
  /** Also a paused or removed one. */
  find(name: string): OpenConnection | null;
  /** Those that were not removed. */
  names(): string[];
  /** The holder's own route, else everybody's; null where there is neither. */
  routeOf(method: string, direction: Direction, holderId: bigint): readonly string[] | null;
  /** Applies every change that was committed before the call. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export type OpenConnectionsOptions = {
  definitions: readonly RailDefinition[];
  timeoutMs: number;
  /** Each call of a connection, scrubbed. */
  onCall(connection: string, call: OperatorCall): void;
};

type LoadedConnection = Connection & { values: Readonly<Record<string, string>> };
type Loaded = { connections: LoadedConnection[]; routes: Route[] };

/** Read again when somebody changed a connection or a route. */
const loadedConnections = createCache<'all', Loaded>(async (ctx) => ({
  connections: await loadConnections(ctx.db, ctx.vault, (connection) =>
    ctx.log.error({ connection }, 'the secrets of a connection do not open; it cannot be used'),
  ),
  routes: await listRoutes(ctx.db),
}));

/** By method and direction. */
type Routes = Map<string, readonly string[]>;
const routeKey = ({ method, direction }: { method: string; direction: Direction }) => `${method} ${direction}`;

/** Nothing is open before the first refresh. */
export function openConnections(ctx: Context, options: OpenConnectionsOptions): OpenConnections {
  const open = new Map<string, OpenConnection>();
  const replaced = new Set<OpenConnection>();
  /** Of a holder; null: of everybody. */
  let routes = new Map<bigint | null, Routes>();
  let applied: Loaded | null = null;
  let refreshed = Promise.resolve();

  function retire(old: OpenConnection): void {
    replaced.add(old);
    void old
      .closeWhenIdle()
      .catch((error: unknown) => {
        ctx.log.warn({ connection: old.connection.name, err: error }, 'a replaced connection was not closed');
      })
      .finally(() => replaced.delete(old));
  }

  function apply(loaded: Loaded): void {
    for (const connection of loaded.connections) {
      const known = open.get(connection.name);
      if (known?.connection.version === connection.version) {
        known.connection = connection;
        continue;
      }
      const opened = tryToOpen(ctx, options, connection);
      if (known) retire(known);
      if (opened) open.set(connection.name, opened);
      else open.delete(connection.name);
    }
    routes = new Map();
    for (const [holderId, own] of Map.groupBy(loaded.routes, (route) => route.holderId))
      routes.set(holderId, new Map(own.map((route) => [routeKey(route), route.connections])));
    applied = loaded;
  }

  async function readChanges(): Promise<void> {
    await refreshCaches(ctx);
    const loaded = await loadedConnections.get(ctx, 'all');
    if (loaded !== applied) apply(loaded);
  }

  return {
    find: (name) => open.get(name) ?? null,
    names: () => [...open.values()].filter(({ connection }) => !connection.removedAt).map(({ rail }) => rail.name),
    routeOf(method, direction, holderId) {
      const routeIn = (some: Routes | undefined) => some?.get(routeKey({ method, direction }));
      return routeIn(routes.get(holderId)) ?? routeIn(routes.get(null)) ?? null;
    },
    refresh() {
      // One after the other: what was read first must not be applied last.
      refreshed = refreshed.catch(() => undefined).then(readChanges);
      return refreshed;
    },
    async close() {
      await refreshed.catch(() => undefined);
      await Promise.all([...open.values(), ...replaced].map(({ rail }) => rail.close()));
    },
  };
}

/** Null, and a line in the log, where it cannot be used: its rail is gone, or its environment is of the other mode. */
function tryToOpen(ctx: Context, options: OpenConnectionsOptions, connection: LoadedConnection): OpenConnection | null {
  try {
    return { ...countCalls(openRail(ctx, options, connection)), connection };
  } catch (error) {
    ctx.log.error({ connection: connection.name, err: error }, 'a connection cannot be opened');
    return null;
  }
}

function openRail(ctx: Context, options: OpenConnectionsOptions, connection: LoadedConnection): Rail {
  const { name, environment, methods, values } = connection;
  const problem = environmentProblem(ctx.config, environment);
  if (problem !== null) throw new Error(problem);
  const definition = options.definitions.find((each) => each.name === connection.rail);
  if (!definition) throw new Error(`this version of the gateway has no rail "${connection.rail}"`);
  const baseUrl = environment === 'simulator' ? connection.baseUrl : definition.hosts[environment];
  if (baseUrl === null) throw new Error(`${definition.title} has no ${environment} environment`);
  const address = publicUrl(ctx.config);
  return definition.open({
    name,
    environment,
    baseUrl,
    settings: values,
    methods,
    clock: ctx.clock,
    publicUrl: address,
    addresses: callbackAddressesOf(ctx, name),
    tokens: createTokenStore(ctx, {
      connection: name,
      connectionVersion: connection.version,
      oneLiveToken: definition.oneLiveToken === true,
      timeoutMs: options.timeoutMs,
    }),
    timeoutMs: options.timeoutMs,
    record: (call) => options.onCall(name, call),
  });
}
