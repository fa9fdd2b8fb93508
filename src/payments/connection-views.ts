// Connections as the people who run the gateway see them: how each does, what it holds at the operator, where it is used, and its
// last calls without secrets.

import { Problem } from '../platform/errors.ts';
import type { OperatorHealth } from '../rails/breakers.ts';
import { callbackAddressesOf, dashboardAddress } from '../rails/callback-addresses.ts';
import { ENVIRONMENTS, type OperatorEnvironment, type RailDefinition, type RailSetting } from '../rails/connection.ts';
import { initialValues, isSealed } from '../rails/connection-settings.ts';
import {
  type Connection,
  environmentProblem,
  findConnection,
  findSharedAccounts,
  listConnections,
  type SharedAccount,
} from '../rails/connections.ts';
import { listOperatorCalls, type StoredCall } from '../rails/operator-call-log.ts';
import { listRoutes, type Route } from '../rails/routing.ts';
import type { PaymentsContext } from './context.ts';
import { listOperatorBalances, type ReportedBalance } from './operator-balances.ts';

export type {
  Connection,
  OperatorEnvironment,
  OperatorHealth,
  RailDefinition,
  RailSetting,
  Route,
  SharedAccount,
  StoredCall,
};

const CALLS_SHOWN = 50;

export type ConnectionView = {
  connection: Connection;
  /** The name of the operator. */
  title: string;
  /** Of each of its methods that was called lately. */
  health: readonly OperatorHealth[];
  balances: readonly ReportedBalance[];
};

export type ConnectionDetails = ConnectionView & {
  /** Null: this version of the gateway does not have its rail any more. */
  definition: RailDefinition | null;
  routes: readonly Route[];
  /** Newest first. */
  calls: readonly StoredCall[];
  callbackUrl: string;
};

export async function readConnectionViews(ctx: PaymentsContext): Promise<ConnectionView[]> {
  const [connections, balances] = await Promise.all([listConnections(ctx.db), listOperatorBalances(ctx.db)]);
  return connections.map((connection) => viewOf(ctx, connection, balances));
}

export async function readConnectionDetails(ctx: PaymentsContext, name: string): Promise<ConnectionDetails> {
  const connection = await findConnection(ctx.db, name);
  if (!connection) throw new Problem('not_found', { message: `There is no connection "${name}".` });
  const [balances, routes, calls] = await Promise.all([
    listOperatorBalances(ctx.db),
    listRoutes(ctx.db),
    listOperatorCalls(ctx.db, name, CALLS_SHOWN),
  ]);
  return {
    ...viewOf(ctx, connection, balances),
    definition: ctx.rails.definitions.find((each) => each.name === connection.rail) ?? null,
    routes: routes.filter(({ connections }) => connections.includes(name)),
    calls,
    callbackUrl: dashboardAddress(callbackAddressesOf(ctx, name)),
  };
}

/** Connections that have an account at their operator in common. */
export function listSharedAccounts({ db, vault, rails }: PaymentsContext): Promise<SharedAccount[]> {
  return findSharedAccounts(db, vault, rails.definitions);
}

/** Every route, and for each method and direction the connections that could serve it. */
export async function readRoutes(ctx: PaymentsContext): Promise<{ routes: Route[]; connections: Connection[] }> {
  const [routes, connections] = await Promise.all([listRoutes(ctx.db), listConnections(ctx.db)]);
  return { routes, connections: connections.filter(({ removedAt }) => removedAt === null) };
}

/** The environments that a connection of this rail can have in this gateway. */
export function environmentsFor(ctx: PaymentsContext, definition: RailDefinition): OperatorEnvironment[] {
  return ENVIRONMENTS.filter(
    (environment) =>
      environmentProblem(ctx.config, environment) === null &&
      (environment === 'simulator' ? definition.simulatorPort !== undefined : definition.hosts[environment] !== null),
  );
}

/** What a field of the form begins with, and whether a sealed one may stay empty because it has a value already. */
export function firstValues(
  definition: RailDefinition,
  environment: OperatorEnvironment,
): { shown: Record<string, string>; sealed: readonly string[] } {
  const values = initialValues(definition, environment);
  const isHidden = (name: string) => definition.settings.some((setting) => setting.name === name && isSealed(setting));
  const entries = Object.entries(values);
  return {
    shown: Object.fromEntries(entries.filter(([name]) => !isHidden(name))),
    sealed: entries.filter(([name]) => isHidden(name)).map(([name]) => name),
  };
}

export const isSealedSetting = (setting: RailSetting): boolean => isSealed(setting);

function viewOf(ctx: PaymentsContext, connection: Connection, balances: readonly ReportedBalance[]): ConnectionView {
  const { name, rail } = connection;
  return {
    connection,
    title: ctx.rails.definitions.find((each) => each.name === rail)?.title ?? rail,
    health: ctx.rails.health.snapshot().filter((each) => each.rail === name),
    balances: balances.filter((balance) => balance.connection === name),
  };
}
