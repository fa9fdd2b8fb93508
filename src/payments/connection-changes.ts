// What people do with connections and routes: each change and its audit row in one transaction. Secrets are never in the audit
// log, only their names. Every process uses the change within a second; the one that made it, at once.

import type { Direction } from '../catalog/catalog.ts';
import { type Actor, recordAudit } from '../holders/audit.ts';
import type { AuditAction } from '../holders/audit-actions.ts';
import { findHolder } from '../holders/holders.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import type { RailSetting } from '../rails/connection.ts';
import {
  type Connection,
  type ConnectionChange,
  type ConnectionDraft,
  insertConnection,
  markRemoved,
  setPaused,
  updateConnection,
} from '../rails/connections.ts';
import { appendToRoutes, type Route, type RouteOf, replaceRoute } from '../rails/routing.ts';
import type { PaymentsContext } from './context.ts';

const DIRECTIONS: readonly Direction[] = ['collection', 'payout'];

export function createConnection(ctx: PaymentsContext, actor: Actor, draft: ConnectionDraft): Promise<Connection> {
  const at = ctx.clock.now();
  return changeAndRefresh(ctx, async (tx) => {
    if (draft.holderId) await requireHolder(tx, draft.holderId);
    const connection = await insertConnection(tx, ctx, ctx.rails.definitions, draft, { by: actor.name, at });
    const { rail, environment, methods, sealedNames } = connection;
    const details = { rail, environment, methods, secrets: sealedNames };
    await recordChange(tx, actor, 'connection.created', connection, at, details);
    return connection;
  });
}

export function changeConnection(
  ctx: PaymentsContext,
  actor: Actor,
  name: string,
  change: ConnectionChange,
): Promise<Connection> {
  const at = ctx.clock.now();
  return changeAndRefresh(ctx, async (tx) => {
    const connection = await updateConnection(tx, ctx, ctx.rails.definitions, name, change, {
      at,
      onOtherAccount: (settings) => refuseWhileOpen(tx, name, settings),
    });
    const details = {
      settings: Object.keys(change.values ?? {}),
      ...(change.methods && { methods: change.methods }),
      ...(change.matchedCallbacks && { matched_callbacks: change.matchedCallbacks }),
      ...(change.baseUrl && { base_url: change.baseUrl }),
    };
    await recordChange(tx, actor, 'connection.changed', connection, at, details);
    return connection;
  });
}

/** Another account would be asked about transactions that it never had, and would say so. */
async function refuseWhileOpen(tx: Tx, name: string, settings: readonly RailSetting[]): Promise<void> {
  const open = await countOpenTransactions(tx, name);
  if (open === 0n) return;
  const sentence = (label: string) =>
    `${label} names the account at the operator. ${openSentence(open, name)} ` +
    'Pause the connection and change it when they have ended, or connect the other account under another name.';
  throw new Problem('invalid_params', {
    status: 409,
    message: sentence(settings.map(({ label }) => label).join(', ')),
    errors: Object.fromEntries(settings.map((setting) => [setting.name, [sentence(setting.label)]])),
  });
}

function openSentence(open: bigint, name: string): string {
  return `${open === 1n ? '1 transaction' : `${open} transactions`} of "${name}" ${open === 1n ? 'is' : 'are'} open.`;
}

/** No new transactions; those that it began are finished. */
export function pauseConnection(ctx: PaymentsContext, actor: Actor, name: string): Promise<Connection> {
  return switchConnection(ctx, actor, name, true);
}

export function resumeConnection(ctx: PaymentsContext, actor: Actor, name: string): Promise<Connection> {
  return switchConnection(ctx, actor, name, false);
}

function switchConnection(ctx: PaymentsContext, actor: Actor, name: string, paused: boolean): Promise<Connection> {
  const at = ctx.clock.now();
  return changeAndRefresh(ctx, async (tx) => {
    const connection = await setPaused(tx, name, paused ? at : null);
    await recordChange(tx, actor, paused ? 'connection.paused' : 'connection.resumed', connection, at);
    return connection;
  });
}

/** Refused while transactions are open. The row stays, so that a late callback finds it. */
export function removeConnection(ctx: PaymentsContext, actor: Actor, name: string): Promise<Connection> {
  const at = ctx.clock.now();
  return changeAndRefresh(ctx, async (tx) => {
    const connection = await markRemoved(tx, name, at);
    const open = await countOpenTransactions(tx, name);
    if (open > 0n)
      throw new Problem('invalid_params', {
        status: 409,
        message: `${openSentence(open, name)} Pause the connection, and remove it when they have ended.`,
      });
    await recordChange(tx, actor, 'connection.removed', connection, at);
    return connection;
  });
}

/** Replaces the connections of a method and direction; none of them: there is no route any more. */
export function setRoute(ctx: PaymentsContext, actor: Actor, route: Route): Promise<void> {
  const at = ctx.clock.now();
  requireMethod(ctx, route);
  return changeAndRefresh(ctx, async (tx) => {
    if (route.holderId) await requireHolder(tx, route.holderId);
    await replaceRoute(tx, route);
    await recordRoute(tx, actor, 'route.set', route, at, { connections: route.connections });
  });
}

/** Adds the connection, as the last choice, to the routes of everything that it can do. */
export async function routeConnection(ctx: PaymentsContext, actor: Actor, name: string): Promise<RouteOf[]> {
  const at = ctx.clock.now();
  const rail = ctx.rails.byName(name);
  if (!rail) throw new Problem('not_found', { message: `There is no connection "${name}" that can be opened.` });
  const methods = [...ctx.catalog.methods.values()];
  const served = methods.flatMap((method) =>
    DIRECTIONS.filter((direction) => rail.capabilitiesOf(method, direction) !== null).map((direction) => ({
      method: method.code,
      direction,
    })),
  );
  return changeAndRefresh(ctx, async (tx) => {
    const routes = await appendToRoutes(tx, name, served);
    for (const route of routes) await recordRoute(tx, actor, 'route.added', route, at, { connection: name });
    return routes;
  });
}

/** Open transactions of a connection, also those that wait for a second person. */
export async function countOpenTransactions(reader: Reader, connection: string): Promise<bigint> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(*) from transactions t join (
       select holder_id, transaction_id from payment_jobs
       union
       select holder_id, transaction_id from payout_orders where approval = 'waiting' and cancelled_at is null
       union
       select holder_id, transaction_id from refund_orders where approval = 'waiting' and cancelled_at is null
     ) as open on open.holder_id = t.holder_id and open.transaction_id = t.id
     where t.rail = $1`,
    [connection],
  );
  return row?.count ?? 0n;
}

async function changeAndRefresh<T>(ctx: PaymentsContext, work: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await ctx.db.transaction(work);
  // Committed: if it cannot be read now, it is within a second.
  await ctx.rails.refresh().catch((error: unknown) => ctx.log.warn({ err: error }, 'connections were not read again'));
  return result;
}

function recordChange(
  tx: Tx,
  actor: Actor,
  action: AuditAction,
  { name, holderId }: Connection,
  at: Date,
  details: Record<string, unknown> = {},
): Promise<void> {
  return recordAudit(tx, { holderId, actor, action, subject: name, details }, at);
}

function recordRoute(
  tx: Tx,
  actor: Actor,
  action: AuditAction,
  { holderId, method, direction }: RouteOf,
  at: Date,
  details: Record<string, unknown>,
): Promise<void> {
  return recordAudit(tx, { holderId, actor, action, subject: `${method} ${direction}`, details }, at);
}

async function requireHolder(reader: Reader, id: bigint): Promise<void> {
  if (!(await findHolder(reader, id))) throw new Problem('not_found', { message: `There is no holder ${id}.` });
}

function requireMethod({ catalog }: PaymentsContext, { method }: RouteOf): void {
  if (!catalog.methods.has(method))
    throw new Problem('invalid_params', { message: `The catalogue has no method "${method}".` });
}
