// simbi callbacks: what was told to receivers, telling it again, and forwarding to a program on this machine.

import type { Command } from 'commander';
import type { DeliveryStatus } from '../callbacks/resend.ts';
import { callbackHeaders, signCallback } from '../callbacks/signature.ts';
import { readDemoFile } from '../demo.ts';
import { systemClock } from '../platform/clock.ts';
import { readConfig } from '../platform/config.ts';
import { HOLDER_OPTION, requireHolder } from './payments-context.ts';
import { CREDENTIALS_HELP, type Credentials, fetchToken, postJson, readCredentials, request } from './remote.ts';
import {
  addCommand,
  addGroup,
  CommandError,
  EXIT,
  parseLimit,
  print,
  type Terminal,
  table,
  withContext,
} from './terminal.ts';

const STATUSES: DeliveryStatus[] = ['waiting', 'retrying', 'paused', 'delivered', 'given_up', 'feed_only'];
const MAX_LISTED = 200;
const PAGE = 1_000;
const POLL_MS = 500;
const FORWARD_TIMEOUT_MS = 10_000;
/** A token lives a day by default; a listener that runs longer takes a new one in time. */
const TOKEN_RENEW_MS = 10 * 60_000;

type FeedEvent = { id: string; type: string; created_at: string; data: { ref?: string } };

export function callbackCommands(program: Command, terminal: Terminal): void {
  const group = addGroup(program, 'callbacks', 'list, send again, forward to this machine');
  addList(group, terminal);
  addListen(group, terminal);

  addCommand(group, 'resend <event>', 'send one event again, delivered or not', ['npx simbi callbacks resend evt_01J…'])
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (id: string, options: { json?: boolean }) => {
      const credentials = await readCredentials(terminal);
      const headers = await bearer(credentials);
      const { body } = await postJson(credentials, `/api/v3/events/${encodeURIComponent(id)}/resend`, {}, headers);
      print(terminal, options, body.data, String(body.message));
    });

  addCommand(group, 'replay', 'send everything again that was not delivered since a moment', [
    'npx simbi callbacks replay --since 2026-03-02T09:00:00Z',
  ])
    .requiredOption('--since <moment>', 'a date, or a date with its time and zone')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (options: { json?: boolean; since: string }) => {
      const credentials = await readCredentials(terminal);
      const headers = await bearer(credentials);
      const { body } = await postJson(credentials, '/api/v3/events/replay', { since: options.since }, headers);
      print(terminal, options, body.data, String(body.message));
    });
}

function addList(group: Command, terminal: Terminal): void {
  addCommand(group, 'list', 'what was sent and what came back, newest first', [
    'npx simbi callbacks list',
    'npx simbi callbacks list --status retrying',
    'npx simbi callbacks list --transaction TX_01J… --json',
  ])
    .option('--status <status>', STATUSES.join(', '))
    .option('--transaction <ref>', 'only those about one payment')
    .option('--limit <number>', 'how many at most', '50')
    .option(...HOLDER_OPTION)
    .action(
      async (options: { json?: boolean; status?: string; transaction?: string; limit: string; holder?: string }) => {
        const status = STATUSES.find((known) => known === options.status);
        if (options.status !== undefined && !status)
          throw new CommandError(`--status is one of ${STATUSES.join(', ')}.`, EXIT.usage);
        const limit = parseLimit(options.limit, MAX_LISTED);
        const deliveries = await withContext(terminal, async (ctx) => {
          const [{ listDeliveries }, { idFromRef }] = await Promise.all([
            import('../callbacks/resend.ts'),
            import('../payments/transactions.ts'),
          ]);
          const holder = await requireHolder(terminal, ctx, options.holder);
          const transactionId = options.transaction === undefined ? undefined : idFromRef(options.transaction);
          if (transactionId === null) throw new CommandError(`${options.transaction} is no reference.`, EXIT.notFound);
          return listDeliveries(ctx.db, holder.id, { status, transactionId, limit });
        });
        const rows = deliveries.map((one) => {
          const last = one.attempts.at(-1);
          return [
            one.eventId,
            one.type,
            one.status,
            String(one.attempts.length),
            last ? (last.error ?? String(last.status)) : '-',
            one.nextAttemptAt?.toISOString() ?? '-',
            one.url ?? '-',
          ];
        });
        print(
          terminal,
          options,
          deliveries,
          table(['event', 'type', 'status', 'attempts', 'last', 'next', 'address'], rows),
        );
      },
    );
}

type ListenOptions = {
  json?: boolean;
  forwardTo: string;
  secret?: string;
  after?: string;
  fromStart?: boolean;
  count?: string;
};

function addListen(group: Command, terminal: Terminal): void {
  addCommand(group, 'listen', 'forward events to a program on this machine, signed, as they happen', [
    'npx simbi callbacks listen --forward-to http://localhost:3000/callbacks',
    'npx simbi callbacks listen --forward-to http://localhost:3000/callbacks --from-start --count 10',
  ])
    .requiredOption('--forward-to <url>', 'your program')
    .option(
      '--secret <whsec>',
      'signs what is forwarded; default: SIMBI_CALLBACK_SECRET, or the one of the demo account',
    )
    .option('--after <event>', 'begin after this event')
    .option('--from-start', 'begin with the oldest event that is kept')
    .option('--count <number>', 'stop after so many events')
    .addHelpText(
      'after',
      `\nIt follows the feed, so it works without any callback address. Ctrl-C ends it.${CREDENTIALS_HELP}`,
    )
    .action((options: ListenOptions) => listen(terminal, options));
}

async function listen(terminal: Terminal, options: ListenOptions): Promise<void> {
  if (!/^https?:\/\//.test(options.forwardTo) || !URL.canParse(options.forwardTo))
    throw new CommandError('--forward-to is an http URL such as http://localhost:3000/callbacks.', EXIT.usage);
  const count = options.count === undefined ? Number.POSITIVE_INFINITY : Number(options.count);
  if (options.count !== undefined && !(Number.isInteger(count) && count > 0))
    throw new CommandError('--count is a whole number above zero.', EXIT.usage);
  const credentials = await readCredentials(terminal);
  const secret = options.secret ?? terminal.environment.SIMBI_CALLBACK_SECRET ?? (await demoSecret(terminal));
  if (!secret)
    throw new CommandError('There is no callback secret to sign with: --secret or SIMBI_CALLBACK_SECRET.', EXIT.auth);
  const feed = createFeed(credentials);
  let after = options.after;
  if (after === undefined && !options.fromStart) {
    for (let page = await feed(after); page.events.length > 0; page = await feed(after)) after = page.after;
  }
  terminal.say(`Forwarding to ${options.forwardTo}. Verify with the secret ${secret.slice(0, 10)}… Ctrl-C ends it.`);
  let forwarded = 0;
  let failed = 0;
  while (forwarded < count) {
    const page = await feed(after);
    for (const event of page.events.slice(0, count - forwarded)) {
      const result = await forward(options.forwardTo, secret, event);
      forwarded++;
      if (!result.ok) failed++;
      const line = `${event.type.padEnd(21)} ${event.data.ref ?? ''}  ${result.words}`;
      terminal.out(
        options.json
          ? JSON.stringify({ id: event.id, type: event.type, ref: event.data.ref ?? null, ...result })
          : line,
      );
    }
    after = page.after;
    if (page.events.length === 0) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  if (failed > 0) process.exitCode = EXIT.fault;
}

/** Reads on from a place of the feed, with a token that is renewed in time. */
function createFeed(credentials: Credentials) {
  let headers: Record<string, string> = {};
  let takenAt = Number.NEGATIVE_INFINITY;
  return async (after: string | undefined): Promise<{ events: FeedEvent[]; after: string | undefined }> => {
    if (performance.now() - takenAt > TOKEN_RENEW_MS) {
      headers = await bearer(credentials);
      takenAt = performance.now();
    }
    const query = new URLSearchParams({ limit: String(PAGE), ...(after === undefined ? {} : { after }) });
    const { body } = await request(credentials.url, `/api/v3/events?${query.toString()}`, { headers });
    const events = body.data as FeedEvent[];
    return { events, after: events.at(-1)?.id ?? after };
  };
}

/** Posts one event as the gateway would: the same id and body, signed anew, because an old timestamp is refused. */
async function forward(
  url: string,
  secret: string,
  event: FeedEvent,
): Promise<{ ok: boolean; status: number | null; words: string }> {
  const body = Buffer.from(JSON.stringify(event));
  const seconds = Math.floor(systemClock.millis() / 1_000);
  const headers = callbackHeaders(event.id, seconds, signCallback([secret], event.id, seconds, body));
  const started = performance.now();
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    });
    await response.body?.cancel();
    const words = `${response.status} in ${Math.round(performance.now() - started)} ms`;
    return { ok: response.ok, status: response.status, words };
  } catch (error) {
    const slow = error instanceof Error && error.name === 'TimeoutError';
    return { ok: false, status: null, words: slow ? 'no answer within 10 s' : 'nothing listens there' };
  }
}

async function bearer(credentials: Credentials): Promise<Record<string, string>> {
  return { Authorization: `Bearer ${(await fetchToken(credentials)).token}` };
}

async function demoSecret(terminal: Terminal): Promise<string | undefined> {
  const { DATA_DIR } = terminal.environment;
  return (await readDemoFile(readConfig(DATA_DIR ? { DATA_DIR } : {})))?.callback_secret || undefined;
}
