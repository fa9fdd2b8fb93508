// simbi rail: connections to operators, and the routes of payment methods over them.

import type { Command } from 'commander';
import { COMMAND_LINE } from '../holders/audit.ts';
import { clearingOf } from '../ledger/reports.ts';
import {
  changeConnection,
  createConnection,
  pauseConnection,
  removeConnection,
  resumeConnection,
  routeConnection,
} from '../payments/connection-changes.ts';
import { testConnection } from '../payments/connection-report.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { formatAmount } from '../platform/money.ts';
import { callbackAddressesOf, dashboardAddress } from '../rails/callback-addresses.ts';
import { ENVIRONMENTS } from '../rails/connection.ts';
import {
  type Connection,
  findConnection,
  listConnections,
  MATCHED_POLICIES,
  requireDefinition,
} from '../rails/connections.ts';
import { listRoutes, type Route } from '../rails/routing.ts';
import { withPayments } from './payments-context.ts';
import { routeCommands } from './rail-route.ts';
import { readGivenSettings, readList, type SettingOptions } from './rail-settings.ts';
import { addCommand, CommandError, confirm, EXIT, parseId, print, type Terminal, table } from './terminal.ts';

type Options = { json?: boolean };
type ConnectionOptions = Options &
  SettingOptions & { methods?: string; matchedCallbacks?: string; simulator?: string | true };
type AddOptions = ConnectionOptions & { name?: string; environment?: string; holder?: string; route?: boolean };

export function railCommands(group: Command, terminal: Terminal): void {
  addCommands(group, terminal);
  readCommands(group, terminal);
  switchCommands(group, terminal);
  routeCommands(group, terminal);
}

function addCommands(group: Command, terminal: Terminal): void {
  const add = addCommand(group, 'add <rail>', 'connect an account at an operator', [
    'npx simbi rail add daraja --simulator --route',
    'npx simbi rail add paystack --set-file secret_key=/run/secrets/paystack --route',
    'npx simbi rail add pawapay --name pawapay-ghana --set-file api_token=- --methods MTN_MOMO_GHA < token.txt',
  ])
    .option('--name <name>', 'name of the connection; it is part of the addresses for callbacks. Default: the rail')
    .option(
      '--environment <name>',
      `${ENVIRONMENTS.join(', ')}. Default: sandbox in sandbox mode, production in live mode`,
    )
    .option('--holder <id>', 'the holder whose own account this is; default: the account of the gateway')
    .option('--route', 'use it for its methods, after the connections that they have already');
  settingOptions(add, '--simulator [url]', 'connect it to its simulator on this machine').action(
    (rail: string, options: AddOptions) => addConnection(terminal, rail, options),
  );

  const set = addCommand(group, 'set <name>', 'change settings, secrets or methods of a connection', [
    'npx simbi rail set daraja --set paybill_number=600998',
    'npx simbi rail set paystack --set-file secret_key=- < new-key.txt',
    'npx simbi rail set mtn-momo --matched-callbacks ask',
  ]);
  settingOptions(set, '--simulator <url>', 'the new address of its simulator').action(
    (name: string, options: ConnectionOptions) => setConnection(terminal, name, options),
  );
}

/** What a connection can be given when it is made and later. */
function settingOptions(command: Command, simulator: string, aboutSimulator: string): Command {
  const collect = (value: string, values: string[] = []) => [...values, value];
  return command
    .option('--set <name=value>', 'a setting; may be repeated. For secrets use --set-file', collect)
    .option(
      '--set-file <name=path>',
      'a setting from a file, or from standard input with "-"; may be repeated',
      collect,
    )
    .option('--methods <list>', 'codes of the methods that it serves, separated by commas; default: all of the rail')
    .option('--matched-callbacks <rule>', `what unsigned callbacks are worth: ${MATCHED_POLICIES.join(' or ')}`)
    .option(simulator, aboutSimulator);
}

function readCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'list', 'list connections, and how they are', ['npx simbi rail list', 'npx simbi rail list --json'])
    .option('--all', 'removed ones too')
    .action(async (options: Options & { all?: boolean }) => {
      const { connections, routes } = await withPayments(terminal, async ({ db }) => ({
        connections: await listConnections(db),
        routes: await listRoutes(db),
      }));
      const shown = connections.filter(({ removedAt }) => removedAt === null || options.all);
      const rows = shown.map((connection) => rowOf(connection, routes));
      const lines = table(['name', 'rail', 'environment', 'state', 'holder', 'methods', 'routes'], rows);
      print(terminal, options, { connections: shown.map(dataOf) }, shown.length === 0 ? 'No connections.' : lines);
      if (shown.length === 0) terminal.say('Next: npx simbi rail add --help');
    });

  addCommand(group, 'show <name>', 'show the settings of a connection; secrets are not shown', [
    'npx simbi rail show daraja',
  ]).action((name: string, options: Options) => showConnection(terminal, name, options));

  addCommand(group, 'test <name>', 'ask the operator for a token and the balance, and say what is missing', [
    'npx simbi rail test daraja',
  ]).action((name: string, options: Options) => runTest(terminal, name, options));
}

function switchCommands(group: Command, terminal: Terminal): void {
  const change = async (
    name: string,
    options: Options,
    work: (ctx: PaymentsContext, name: string) => Promise<Connection>,
    sentence: string,
  ) => {
    const connection = await withPayments(terminal, (ctx) => work(ctx, name));
    print(terminal, options, dataOf(connection), sentence);
  };

  addCommand(group, 'pause <name>', 'send it no new payments; it finishes what it began', [
    'npx simbi rail pause daraja',
  ]).action((name: string, options: Options) =>
    change(name, options, (ctx) => pauseConnection(ctx, COMMAND_LINE, name), `"${name}" is paused.`),
  );

  addCommand(group, 'resume <name>', 'use a paused connection again', ['npx simbi rail resume daraja']).action(
    (name: string, options: Options) =>
      change(name, options, (ctx) => resumeConnection(ctx, COMMAND_LINE, name), `"${name}" takes payments again.`),
  );

  addCommand(group, 'remove <name>', 'remove a connection that has no open payments', [
    'npx simbi rail remove daraja --yes',
  ])
    .option('--yes', 'do not ask for confirmation')
    .action(async (name: string, options: Options & { yes?: boolean }) => {
      await confirm(terminal, options, `Removing the connection "${name}" cannot be undone.`);
      await change(name, options, (ctx) => removeConnection(ctx, COMMAND_LINE, name), `"${name}" is removed.`);
    });
}

async function addConnection(terminal: Terminal, rail: string, options: AddOptions): Promise<void> {
  const values = await readGivenSettings(terminal, options);
  const { connection, routes } = await withPayments(terminal, async (ctx) => {
    requireDefinition(ctx.rails.definitions, rail);
    // Without an address it is where `simbi simulate` starts it.
    const url = options.simulator === true ? undefined : options.simulator;
    const made = await createConnection(ctx, COMMAND_LINE, {
      rail,
      name: options.name,
      environment: options.environment ?? (options.simulator === undefined ? undefined : 'simulator'),
      baseUrl: url,
      values,
      methods: readList(options.methods),
      holderId: options.holder === undefined ? null : parseId(options.holder),
      matchedCallbacks: options.matchedCallbacks,
    });
    return { connection: made, routes: options.route ? await routeConnection(ctx, COMMAND_LINE, made.name) : [] };
  });
  const { name } = connection;
  const added = routes.map(({ method, direction }) => `${method} ${direction}`);
  const lines = `"${name}" is connected.${added.length === 0 ? '' : `\nIt serves: ${added.join(', ')}.`}`;
  print(terminal, options, { ...dataOf(connection), routes: added }, lines);
  terminal.say(`Next: npx simbi rail test ${name}`);
}

async function setConnection(terminal: Terminal, name: string, options: ConnectionOptions): Promise<void> {
  const values = await readGivenSettings(terminal, options);
  const change = {
    values,
    methods: readList(options.methods),
    matchedCallbacks: options.matchedCallbacks,
    baseUrl: typeof options.simulator === 'string' ? options.simulator : undefined,
  };
  if (Object.keys(values).length === 0 && !change.methods && !change.matchedCallbacks && !change.baseUrl)
    throw new CommandError('Nothing to change. Give at least one --set or --set-file.', EXIT.usage);
  const connection = await withPayments(terminal, (ctx) => changeConnection(ctx, COMMAND_LINE, name, change));
  print(terminal, options, dataOf(connection), `"${name}" is changed. Every process uses it within a second.`);
}

async function showConnection(terminal: Terminal, name: string, options: Options): Promise<void> {
  const { connection, facts, address } = await withPayments(terminal, async (ctx) => {
    const found = await findConnection(ctx.db, name);
    if (!found) throw new CommandError(`There is no connection "${name}".`, EXIT.notFound);
    const routes = await listRoutes(ctx.db);
    const clearing = (await clearingOf(ctx.db, name)).map(({ currency, amount }) => [
      'holds for us',
      money(amount, currency),
    ]);
    const settings = ctx.rails.definitions.find((each) => each.name === found.rail)?.settings ?? [];
    const values = settings.map((setting) => [
      setting.name,
      found.sealedNames.includes(setting.name) ? '(secret, set)' : (found.settings[setting.name] ?? '(not set)'),
    ]);
    return {
      connection: found,
      facts: [...factsOf(found, routes), ...clearing, ...values],
      address: callbackAddress(ctx, name),
    };
  });
  const lines = table(['', ''], [...facts, ['callbacks', address]]).trimStart();
  print(terminal, options, { ...dataOf(connection), callbacks: address }, lines);
}

async function runTest(terminal: Terminal, name: string, options: Options): Promise<void> {
  const report = await withPayments(terminal, (ctx) => testConnection(ctx, name));
  const lines = report.checks.map(({ name: what, problem }) =>
    problem === null ? `ok       ${what}` : `problem  ${problem}`,
  );
  const isGood = report.checks.every(({ problem }) => problem === null);
  const balances = report.balances.map((balance) => ({ ...balance, available: String(balance.available) }));
  print(terminal, options, { ok: isGood, checks: report.checks, balances }, lines.join('\n'));
  if (!isGood) process.exitCode = EXIT.error;
}

const money = (amount: bigint, currency: string) => `${formatAmount(amount)} ${currency}`;

const callbackAddress = (ctx: PaymentsContext, name: string) => dashboardAddress(callbackAddressesOf(ctx, name));

function stateOf({ pausedAt, removedAt }: Connection): string {
  if (removedAt) return 'removed';
  return pausedAt ? 'paused' : 'in use';
}

const routesOf = (name: string, routes: readonly Route[]) =>
  routes.filter(({ connections }) => connections.includes(name));

function rowOf(connection: Connection, routes: readonly Route[]): string[] {
  const { name, rail, environment, holderId, methods } = connection;
  const count = String(routesOf(name, routes).length);
  return [name, rail, environment, stateOf(connection), String(holderId ?? ''), methods.join(' '), count];
}

function factsOf(connection: Connection, routes: readonly Route[]): string[][] {
  const used = routesOf(connection.name, routes).map(({ method, direction }) => `${method} ${direction}`);
  return [
    ['name', connection.name],
    ['rail', connection.rail],
    ['environment', connection.environment],
    ...(connection.baseUrl === null ? [] : [['simulator', connection.baseUrl]]),
    ['state', stateOf(connection)],
    ...(connection.holderId === null ? [] : [['holder', String(connection.holderId)]]),
    ['methods', connection.methods.join(', ')],
    ['routes', used.join(', ') || 'none'],
    ['matched callbacks', connection.matchedCallbacks],
    ['made', `${connection.createdAt.toISOString()} by ${connection.createdBy}`],
  ];
}

function dataOf(connection: Connection) {
  return {
    name: connection.name,
    rail: connection.rail,
    environment: connection.environment,
    simulator: connection.baseUrl,
    state: stateOf(connection).replace(' ', '_'),
    holder_id: connection.holderId,
    methods: connection.methods,
    settings: connection.settings,
    secrets: connection.sealedNames,
    matched_callbacks: connection.matchedCallbacks,
    created_at: connection.createdAt,
    created_by: connection.createdBy,
  };
}
