// simbi rail route: which connections serve a method, in which order.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { setRoute } from '../payments/connection-changes.ts';
import { listRoutes, type Route } from '../rails/routing.ts';
import { withPayments } from './payments-context.ts';
import { addCommand, addGroup, CommandError, EXIT, parseId, print, type Terminal, table } from './terminal.ts';

type Options = { json?: boolean; holder?: string };

export function routeCommands(rail: Command, terminal: Terminal): void {
  const group = addGroup(rail, 'route', 'which connections serve a method, the first choice first');

  addCommand(group, 'list', 'list routes', ['npx simbi rail route list', 'npx simbi rail route list --holder 3'])
    .option('--holder <id>', 'only the routes of this holder')
    .action(async (options: Options) => {
      const holderId = options.holder === undefined ? null : parseId(options.holder);
      const all = await withPayments(terminal, ({ db }) => listRoutes(db));
      const routes = all.filter((route) => holderId === null || route.holderId === holderId);
      const rows = routes.map((route) => [
        route.method,
        route.direction,
        route.holderId === null ? 'everybody' : String(route.holderId),
        route.connections.join(', '),
      ]);
      const lines = table(['method', 'direction', 'holder', 'connections'], rows);
      print(terminal, options, { routes: routes.map(dataOf) }, routes.length === 0 ? 'No routes.' : lines);
    });

  addCommand(group, 'set <method> <direction> [connections...]', 'replace a route; without connections it is removed', [
    'npx simbi rail route set MPESA_KEN collection daraja pawapay',
    'npx simbi rail route set MPESA_KEN payout daraja --holder 3',
    'npx simbi rail route set MPESA_KEN payout',
  ])
    .option('--holder <id>', "for this holder, instead of everybody's route")
    .action(async (method: string, direction: string, connections: string[], options: Options) => {
      if (direction !== 'collection' && direction !== 'payout')
        throw new CommandError('The direction must be collection or payout.', EXIT.usage);
      const holderId = options.holder === undefined ? null : parseId(options.holder);
      const route: Route = { holderId, method, direction, connections };
      await withPayments(terminal, (ctx) => setRoute(ctx, COMMAND_LINE, route));
      const sentence =
        connections.length === 0
          ? `${method} has no route for ${direction}s any more.`
          : `${method} ${direction}s go to ${connections.join(', then ')}.`;
      print(terminal, options, dataOf(route), sentence);
    });
}

function dataOf({ holderId, method, direction, connections }: Route) {
  return { holder_id: holderId, method, direction, connections };
}
