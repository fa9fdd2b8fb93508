// simbi logs: the requests that a holder's programs sent to the API, those that were refused among them; with --follow, as
// they come.

import type { Command } from 'commander';
import type { Integration } from '../holders/integrations.ts';
import type { Context } from '../platform/context.ts';
import { HOLDER_OPTION, requireHolder } from './payments-context.ts';
import { CommandError, EXIT, parseLimit, type Terminal, withContext, withExamples } from './terminal.ts';

const MAX_LISTED = 1_000;
/** The gateway writes its log once a second. */
const POLL_MS = 1_000;
/** A row is written up to a few seconds after its moment: a reader that follows looks back so far. */
const LOOK_BACK_MS = 15_000;
const FAMILIES = ['2xx', '4xx', '5xx'];

type LogsOptions = {
  json?: boolean;
  follow?: boolean;
  status?: string;
  code?: string;
  clientId?: string;
  limit: string;
  holder?: string;
  count?: string;
};

type LogLine = {
  at: Date;
  request_id: string;
  client_id: string;
  route: string;
  status: number;
  code: string | null;
  ms: number | null;
  address: string;
  transaction: string | null;
};

type Filter = { family: number | undefined; code: string | undefined; integration: Integration | undefined };

export function logsCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi logs',
    'npx simbi logs --follow --status 4xx',
    'npx simbi logs --code signature_mismatch --limit 5 --json',
  ])
    .option('-f, --follow', 'print new requests as they come; stop with Ctrl-C')
    .option('--status <family>', FAMILIES.join(', '))
    .option('--code <code>', 'only this error code')
    .option('--client-id <client_id>', 'only those of one integration')
    .option('--limit <number>', 'how many earlier requests to print', '20')
    .option('--count <number>', 'with --follow: end after this many')
    .option(...HOLDER_OPTION)
    .addHelpText('after', '\nWith --json one line of JSON for each request.')
    .action((options: LogsOptions) => showLogs(terminal, options));
}

async function showLogs(terminal: Terminal, options: LogsOptions): Promise<void> {
  const limit = parseLimit(options.limit, MAX_LISTED);
  const count =
    options.count === undefined ? Number.POSITIVE_INFINITY : parseLimit(options.count, MAX_LISTED, '--count');
  if (options.status !== undefined && !FAMILIES.includes(options.status))
    throw new CommandError(`--status must be one of ${FAMILIES.join(', ')}.`, EXIT.usage);
  await withContext(terminal, async (ctx) => {
    const holder = await requireHolder(terminal, ctx, options.holder);
    const { listIntegrations } = await import('../holders/integrations.ts');
    const integrations = await listIntegrations(ctx.db, holder.id);
    const integration = integrations.find((one) => one.clientId === options.clientId);
    if (options.clientId !== undefined && !integration)
      throw new CommandError(`${holder.name} has no integration ${options.clientId}.`, EXIT.notFound);
    const filter: Filter = {
      family: (options.status && Number(options.status[0])) || undefined,
      code: options.code,
      integration,
    };
    const read = (since: Date, most: number) => readLines(ctx, holder.id, integrations, filter, since, most);
    // Earlier ones that are not printed are known all the same: they are not new.
    const first = await read(new Date(0), options.follow ? MAX_LISTED : limit);
    for (const line of first.slice(-limit)) terminal.out(options.json ? JSON.stringify(line) : lineOf(line));
    if (options.follow) await follow(terminal, options, ctx, first, read, count);
    else if (first.length === 0) terminal.say('No request yet.');
  });
}

type Read = (since: Date, most: number) => Promise<LogLine[]>;

/** Prints what was not printed yet, until a signal ends the process or enough was printed. */
async function follow(
  terminal: Terminal,
  options: LogsOptions,
  ctx: Context,
  first: readonly LogLine[],
  read: Read,
  count: number,
): Promise<void> {
  const seen = new Map(first.map((line) => [line.request_id, line.at]));
  const started = ctx.clock.millis();
  for (let printed = 0; printed < count; ) {
    const since = new Date(Math.max(ctx.clock.millis() - LOOK_BACK_MS, started - LOOK_BACK_MS));
    for (const [id, at] of seen) if (at < since) seen.delete(id);
    const fresh = (await read(since, MAX_LISTED)).filter((line) => !seen.has(line.request_id));
    for (const line of fresh.slice(0, count - printed)) {
      terminal.out(options.json ? JSON.stringify(line) : lineOf(line));
      seen.set(line.request_id, line.at);
      printed++;
    }
    if (printed < count) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Verified and refused requests together, oldest first. */
async function readLines(
  ctx: Context,
  holderId: bigint,
  integrations: readonly Integration[],
  { family, code, integration }: Filter,
  since: Date,
  most: number,
): Promise<LogLine[]> {
  const [{ KEPT_DAYS, listRequests }, { listUnverified }, { publicId }, { DAY_MS }] = await Promise.all([
    import('../holders/request-log.ts'),
    import('../holders/unverified-requests.ts'),
    import('../platform/ids.ts'),
    import('../platform/clock.ts'),
  ]);
  const kept = new Date(Math.max(since.getTime(), ctx.clock.millis() - KEPT_DAYS * DAY_MS));
  const shared = { integrationId: integration?.id, code };
  const verified = await listRequests(ctx.db, holderId, { ...shared, family, since: kept }, most);
  const refused = family === undefined || family === 4 ? await listUnverified(ctx.db, holderId, shared, most) : [];
  const clientIds = new Map(integrations.map((one) => [one.id, one.clientId]));
  const rows = [
    ...verified,
    ...refused.filter((row) => row.at >= kept).map((row) => ({ ...row, ms: null, transaction_id: null })),
  ];
  return rows
    .sort((a, b) => a.at.getTime() - b.at.getTime())
    .slice(-most)
    .map((row) => ({
      at: row.at,
      request_id: publicId('req', row.id),
      client_id: clientIds.get(row.integration_id) ?? '',
      route: row.route,
      status: row.status,
      code: row.code,
      ms: row.ms,
      address: row.address,
      transaction: row.transaction_id === null ? null : publicId('TX', row.transaction_id),
    }));
}

function lineOf(line: LogLine): string {
  const time = line.at.toISOString().slice(0, 23).replace('T', ' ');
  const took = line.ms === null ? '' : `${line.ms.toFixed(0)} ms`;
  const about = [line.code, line.transaction, line.request_id].filter((part) => part !== null).join('  ');
  return `${time}  ${line.status}  ${line.route.padEnd(44)} ${took.padStart(7)}  ${about}`;
}
