// Which connections serve a method in a direction, in which order: for everybody, or for one holder.

import type { Direction } from '../catalog/catalog.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { unknownName } from './connection-settings.ts';

/** A connection of a payer's method that is tried tenth has never been needed. */
const MAX_CONNECTIONS_A_ROUTE = 10;

export type RouteOf = { holderId: bigint | null; method: string; direction: Direction };
/** `connections`: names, the first choice first. */
export type Route = RouteOf & { connections: readonly string[] };

type Candidate = { name: string; methods: string[]; holderId: bigint | null };

/** Everybody's routes first. */
export function listRoutes(reader: Reader): Promise<Route[]> {
  return reader.query<Route>(
    `select holder_id as "holderId", method, direction, array_agg(connection order by position) as connections
     from routes group by holder_id, method, direction order by holder_id nulls first, method, direction`,
  );
}

/** Replaces a route. Without connections there is none any more. */
export async function replaceRoute(tx: Tx, route: Route): Promise<void> {
  const { holderId, method, direction, connections } = route;
  checkRoute(route, await lockCandidates(tx, connections));
  await tx.query('delete from routes where holder_id is not distinct from $1 and method = $2 and direction = $3', [
    holderId,
    method,
    direction,
  ]);
  await tx.query(
    `insert into routes (holder_id, method, direction, position, connection)
     select $1, $2, $3, position, name from unnest($4::text[]) with ordinality as input (name, position)`,
    [holderId, method, direction, connections],
  );
}

/**
 * Adds a connection as the last choice of each of its methods, in everybody's routes, or in those of the holder whose own account
 * it is. Returns the routes that it was not part of before.
 */
export async function appendToRoutes(
  tx: Tx,
  connection: string,
  served: readonly Omit<RouteOf, 'holderId'>[],
): Promise<RouteOf[]> {
  const [candidate] = await lockCandidates(tx, [connection]);
  if (!candidate) throw new Problem('not_found', { message: `There is no connection "${connection}".` });
  const added: RouteOf[] = [];
  for (const each of served) {
    const route = { ...each, holderId: candidate.holderId };
    const known = await findRoute(tx, route);
    if (!candidate.methods.includes(route.method) || known.includes(connection)) continue;
    await replaceRoute(tx, { ...route, connections: [...known, connection] });
    added.push(route);
  }
  return added;
}

async function findRoute(reader: Reader, { holderId, method, direction }: RouteOf): Promise<string[]> {
  const rows = await reader.query<{ connection: string }>(
    `select connection from routes where holder_id is not distinct from $1 and method = $2 and direction = $3
     order by position`,
    [holderId, method, direction],
  );
  return rows.map((row) => row.connection);
}

function lockCandidates(tx: Tx, names: readonly string[]): Promise<Candidate[]> {
  return tx.query<Candidate>(
    `select name, methods, holder_id as "holderId" from connections
     where name = any ($1::text[]) and removed_at is null order by name for update`,
    [names],
  );
}

function checkRoute({ holderId, method, connections }: Route, candidates: readonly Candidate[]): void {
  const sentences: string[] = [];
  if (connections.length > MAX_CONNECTIONS_A_ROUTE)
    sentences.push(`A route has at most ${MAX_CONNECTIONS_A_ROUTE} connections.`);
  for (const [index, name] of connections.entries()) {
    const candidate = candidates.find((each) => each.name === name);
    if (!candidate) sentences.push(`There is no connection "${name}".`);
    else if (connections.indexOf(name) !== index) sentences.push(`"${name}" is in the route twice.`);
    else if (!candidate.methods.includes(method))
      sentences.push(unknownName(`"${name}" does not serve ${method}`, method, candidate.methods));
    else if (candidate.holderId !== null && candidate.holderId !== holderId)
      sentences.push(
        `"${name}" is the own account of holder ${candidate.holderId}; only that holder's routes can use it.`,
      );
  }
  if (sentences.length > 0)
    throw new Problem('invalid_params', {
      message: 'The route cannot be used like this.',
      errors: { connections: sentences },
    });
}
