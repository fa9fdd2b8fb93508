// simbi callbacks: list, resend and replay callbacks, and forward events to a program on this machine.

import type { Command } from 'commander';
import type { DeliveryStatus } from '../callbacks/resend.ts';
import { callbackHeaders, signCallback } from '../callbacks/signature.ts';
import { readDemoFile } from '../demo-file.ts';
import { systemClock } from '../platform/clock.ts';
import { readConfig } from '../platform/config.ts';
import { HOLDER_OPTION, requireHolder } from './payments-context.ts';
import { CREDENTIALS_HELP, type Credentials, fetchToken, postJson, readCredentials, request } from './remote.ts';
import { addCommand, CommandError, EXIT, parseLimit, print, type Terminal, table, withContext } from './terminal.ts';

const STATUSES: DeliveryStatus[] = ['waiting', 'retrying', 'paused', 'delivered', 'given_up', 'feed_only'];
const MAX_LISTED = 200;
const PAGE = 1_000;
const POLL_MS = 500;
const FORWARD_TIMEOUT_MS = 10_000;
/** A token expires, by default after a day; a listener renews it long before. */
const TOKEN_RENEW_MS = 10 * 60_000;

type FeedEvent = { id: string; type: string; created_at: string; data: { ref?: string } };

export function callbackCommands(group: Command, terminal: Terminal): void {
  addList(group, terminal);
  addListen(group, terminal);

  addCommand(group, 'resend <event>', 'send one event again, even if it was delivered', [
    'npx simbi callbacks resend evt_01J…',
  ])
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (id: string, options: { json?: boolean }) => {
      const credentials = await readCredentials(terminal);
      const headers = await bearer(credentials);
      const { body } = await postJson(credentials, `/api/v3/events/${encodeURIComponent(id)}/resend`, {}, headers);
      print(terminal, options, body.data, String(body.message));
    });

  addCommand(group, 'replay', 'send again every event that was not delivered', [
    'npx simbi callbacks replay --since 2026-03-02T09:00:00Z',
  ])
    .requiredOption('--since <moment>', 'only events since this time, for example 2026-03-02T09:00:00Z')
    .addHelpText('after', CREDENTIALS_HELP)
    .action(async (options: { json?: boolean; since: string }) => {
      const credentials = await readCredentials(terminal);
      const headers = await bearer(credentials);
      const { body } = await postJson(credentials, '/api/v3/events/replay', { since: options.since }, headers);
      print(terminal, options, body.data, String(body.message));
    });
}

function addList(group: Command, terminal: Terminal): void {
  addCommand(group, 'list', 'list deliveries and their responses, newest first', [
    'npx simbi callbacks list',
    'npx simbi callbacks list --status retrying',
    'npx simbi callbacks list --transaction TX_01J… --json',
  ])
    .option('--status <status>', STATUSES.join(', '))
    .option('--transaction <ref>', 'only those of one transaction')
    .option('--limit <number>', 'maximum number of rows', '50')
    .option(...HOLDER_OPTION)
    .action(
      async (options: { json?: boolean; status?: string; transaction?: string; limit: string; holder?: string }) => {
        const status = STATUSES.find((known) => known === options.status);
        if (options.status !== undefined && !status)
          throw new CommandError(`--status must be one of ${STATUSES.join(', ')}.`, EXIT.usage);
        const limit = parseLimit(options.limit, MAX_LISTED);
        const deliveries = await withContext(terminal, async (ctx) => {
          const [{ listDeliveries }, { idFromRef }] = await Promise.all([
            import('../callbacks/resend.ts'),
            import('../payments/transactions.ts'),
          ]);
          const holder = await requireHolder(terminal, ctx, options.holder);
          const transactionId = options.transaction === undefined ? undefined : idFromRef(options.transaction);
          if (transactionId === null)
            throw new CommandError(`${options.transaction} is not a transaction reference.`, EXIT.notFound);
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

type Forwarded = { ok: boolean; status: number | null; summary: string };

type ListenOptions = {
  json?: boolean;
  forwardTo: string;
  secret?: string;
  after?: string;
  fromStart?: boolean;
  count?: string;
};

function addListen(group: Command, terminal: Terminal): void {
  addCommand(group, 'listen', 'forward new events to a program on this machine, signed', [
    'npx simbi callbacks listen --forward-to http://localhost:3000/callbacks',
    'npx simbi callbacks listen --forward-to http://localhost:3000/callbacks --from-start --count 10',
  ])
    .requiredOption('--forward-to <url>', 'URL of your program')
    .option(
      '--secret <whsec>',
      'signs the forwarded events; default: SIMBI_CALLBACK_SECRET, or the secret of the demo holder',
    )
    .option('--after <event>', 'start after this event')
    .option('--from-start', 'start with the oldest stored event')
    .option('--count <number>', 'stop after this many events')
    .addHelpText(
      'after',
      `\nReads the event feed, so no callback URL is needed. Press Ctrl-C to stop.${CREDENTIALS_HELP}`,
    )
    .action((options: ListenOptions) => listen(terminal, options));
}

async function listen(terminal: Terminal, options: ListenOptions): Promise<void> {
  if (!/^https?:\/\//.test(options.forwardTo) || !URL.canParse(options.forwardTo))
    throw new CommandError(
      '--forward-to must be an http URL, for example http://localhost:3000/callbacks.',
      EXIT.usage,
    );
  const count = options.count === undefined ? Number.POSITIVE_INFINITY : Number(options.count);
  if (options.count !== undefined && !(Number.isInteger(count) && count > 0))
    throw new CommandError('--count must be a whole number above zero.', EXIT.usage);
  const credentials = await readCredentials(terminal);
  const secret = options.secret ?? terminal.environment.SIMBI_CALLBACK_SECRET ?? (await demoSecret(terminal));
  if (!secret)
    throw new CommandError('No callback secret to sign with. Set --secret or SIMBI_CALLBACK_SECRET.', EXIT.auth);
  const feed = createFeed(credentials);
  let after = options.after;
  if (after === undefined && !options.fromStart) {
    for (let page = await feed(after); page.events.length > 0; page = await feed(after)) after = page.after;
  }
  terminal.say(
    `Forwarding to ${options.forwardTo}. Verify with the secret ${secret.slice(0, 10)}… Press Ctrl-C to stop.`,
  );
  let forwarded = 0;
  let failed = 0;
  while (forwarded < count) {
    const page = await feed(after);
    for (const event of page.events.slice(0, count - forwarded)) {
      const result = await forward(options.forwardTo, secret, event);
      forwarded++;
      if (!result.ok) failed++;
      const line = `${event.type.padEnd(21)} ${event.data.ref ?? ''}  ${result.summary}`;
      terminal.out(options.json ? JSON.stringify(lineOf(event, result)) : line);
    }
    after = page.after;
    if (page.events.length === 0) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  if (failed > 0) process.exitCode = EXIT.error;
}

/** The line of --json. Scripts know the summary as `words`. */
function lineOf(event: FeedEvent, { ok, status, summary }: Forwarded) {
  return { id: event.id, type: event.type, ref: event.data.ref ?? null, ok, status, words: summary };
}

/** Reads the feed from an event on, and renews its token. */
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

/** Posts one event as the gateway does. The timestamp is new, because receivers reject an old one. */
async function forward(url: string, secret: string, event: FeedEvent): Promise<Forwarded> {
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
    const summary = `${response.status} in ${Math.round(performance.now() - started)} ms`;
    return { ok: response.ok, status: response.status, summary };
  } catch (error) {
    const slow = error instanceof Error && error.name === 'TimeoutError';
    return { ok: false, status: null, summary: slow ? 'no response within 10 s' : 'no connection' };
  }
}

async function bearer(credentials: Credentials): Promise<Record<string, string>> {
  return { Authorization: `Bearer ${(await fetchToken(credentials)).token}` };
}

async function demoSecret(terminal: Terminal): Promise<string | undefined> {
  const { DATA_DIR } = terminal.environment;
  return (await readDemoFile(readConfig(DATA_DIR ? { DATA_DIR } : {})))?.callback_secret || undefined;
}
