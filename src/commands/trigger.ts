// simbi trigger: makes a payment of the sandbox end in a given way, so that its event can be seen and handled.

import { randomInt } from 'node:crypto';
import type { Command } from 'commander';
import type { FailureCode } from '../catalog/failures.ts';
import { formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { COLLECTION_SCENARIOS, PAYOUT_SCENARIOS, type Scenario } from '../sandbox/scenarios.ts';
import { CREDENTIALS_HELP, type Credentials, postSigned, readCredentials, request } from './remote.ts';
import { CommandError, EXIT, print, requireAmount, type Terminal, withExamples } from './terminal.ts';

/** Numbers of Kenya begin so. The last three digits choose what the simulated operator does. */
const PHONE_START = '254712';
const KENYA = { country_id: 1, currency: 'KES' };
/** No scenario: the prompt waits on the test phone. */
const UNDECIDED = '500';
const POLL_MS = 200;
const WAIT_MS = 30_000;
/** The simulated operator takes a minute before it reverses. */
const REVERSAL_WAIT_MS = 90_000;

type TriggerOptions = { json?: boolean; amount: string; reason?: string };
type Wanted = { subject: 'collection' | 'payout' | 'refund'; status: string; digits: string };
type StatusRecord = { ref: string; status: string; failureReason?: { failureCode: string | null } };

/** What can be triggered, and the last digits of the number that does it. */
const EVENTS: Readonly<Record<string, Wanted>> = {
  'collection.success': { subject: 'collection', status: 'success', digits: '000' },
  'collection.failed': { subject: 'collection', status: 'failed', digits: '001' },
  'collection.expired': { subject: 'collection', status: 'expired', digits: UNDECIDED },
  'collection.reversed': { subject: 'collection', status: 'reversed', digits: '008' },
  'payout.success': { subject: 'payout', status: 'success', digits: '000' },
  'payout.failed': { subject: 'payout', status: 'failed', digits: '002' },
  'payout.reversed': { subject: 'payout', status: 'reversed', digits: '008' },
  'refund.success': { subject: 'refund', status: 'success', digits: '000' },
  'refund.failed': { subject: 'refund', status: 'failed', digits: '021' },
};

export function triggerCommand(command: Command, terminal: Terminal): void {
  const [event] = command.registeredArguments;
  if (event) event.choices(Object.keys(EVENTS)).description = 'the event that the payment ends with';
  withExamples(command, [
    'npx simbi trigger collection.success',
    'npx simbi trigger collection.failed --reason WRONG_PIN',
    'npx simbi trigger refund.success --json',
  ])
    .option('--amount <amount>', 'amount in KES', '2500')
    .option('--reason <code>', `why a collection or a payout fails: ${reasons().join(', ')}`)
    .addHelpText('after', `\nSandbox only. A payout first gets its amount as test money.${CREDENTIALS_HELP}`)
    .action((event: string, options: TriggerOptions) => trigger(terminal, event, options));
}

function reasons(): FailureCode[] {
  const all = [...Object.values(COLLECTION_SCENARIOS), ...Object.values(PAYOUT_SCENARIOS)];
  const codes = all.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'succeed');
  return [...new Set(codes)].filter((code) => code !== 'VERIFICATION_FAILED').sort();
}

async function trigger(terminal: Terminal, event: string, options: TriggerOptions): Promise<void> {
  const amount = requireAmount(options.amount, KENYA.currency);
  const wanted = withReason(event, options.reason);
  const credentials = await readCredentials(terminal);
  await requireSandbox(credentials);
  // Any number but those of scenarios has a limit of unpaid prompts in a day, so each time it is another one.
  const phone = `${PHONE_START}${randomInt(100, 1_000)}${wanted.digits}`;
  const ref =
    wanted.subject === 'payout'
      ? await orderPayout(terminal, phone, amount)
      : await collect(credentials, phone, formatAmount(amount));
  if (event === 'collection.expired') await letExpire(credentials, phone, ref);
  const done =
    wanted.subject === 'refund'
      ? await refund(credentials, ref, wanted)
      : await waitFor(credentials, '/api/v3/get-unified-transaction-status', ref, wanted.status);
  const reason = done.failureReason?.failureCode;
  print(terminal, options, { event, ...done }, `${done.ref}  ${done.status}${reason ? `: ${reason}` : ''}`);
  terminal.say(`The event ${event} is sent to the callback URL: npx simbi callbacks list`);
}

/** A failure with another reason is another number of the table. */
function withReason(event: string, reason: string | undefined): Wanted {
  const wanted = EVENTS[event];
  if (!wanted) throw new CommandError(`There is no event ${event}.`, EXIT.usage);
  if (reason === undefined) return wanted;
  const table = wanted.subject === 'payout' ? PAYOUT_SCENARIOS : COLLECTION_SCENARIOS;
  const found = Object.entries(table).find(([, scenario]: [string, Scenario]) => scenario.outcome === reason);
  if (wanted.status !== 'failed' || wanted.subject === 'refund' || !found)
    throw new CommandError(`${event} has no reason ${reason}. See: npx simbi trigger --help`, EXIT.usage);
  return { ...wanted, digits: found[0] };
}

async function requireSandbox(credentials: Credentials): Promise<void> {
  const { isSandbox } = await request(credentials.url, '/healthz');
  if (!isSandbox) throw new CommandError('This gateway is live. Events are triggered in a sandbox only.', EXIT.usage);
}

async function collect(credentials: Credentials, mobile: string, amount: string): Promise<string> {
  const params: JsonObject = { ...KENYA, amount, mobile };
  const { body } = await postSigned(credentials, '/api/v3/service-unified-collections', params);
  return (body.data as { ref: string }).ref;
}

/** Orders a payout with test money, as the console does: the API has no payouts. */
async function orderPayout(terminal: Terminal, mobile: string, amount: bigint): Promise<string> {
  const { requireHolder, withPayments, workersOf } = await import('./payments-context.ts');
  return withPayments(terminal, async (ctx) => {
    const [{ COMMAND_LINE }, { topUpSandbox }, { readPayout }, { orderPayouts }, similar, { refOf }] =
      await Promise.all([
        import('../holders/audit.ts'),
        import('../payments/sandbox-top-up.ts'),
        import('../payments/payout-requests.ts'),
        import('../payments/payouts.ts'),
        import('../payments/similar-payouts.ts'),
        import('../payments/transactions.ts'),
      ]);
    const holder = await requireHolder(terminal, ctx, undefined);
    const reading = await readPayout(ctx, holder.id, {
      amount: formatAmount(amount),
      currency: KENYA.currency,
      mobile,
    });
    if (!reading.ok) throw new CommandError(Object.values(reading.errors).flat().join(' '), EXIT.usage);
    const { order } = reading;
    await topUpSandbox(ctx, COMMAND_LINE, holder.id, KENYA.currency, order.amount + order.fee);
    // The same test payout is ordered again and again.
    const repeats = await similar.findSimilarPayouts(ctx, ctx.db, holder.id, [order]);
    const confirmedRepeats = similar.repeatsKey(repeats);
    const [result] = await orderPayouts(ctx, workersOf(ctx), COMMAND_LINE, holder.id, [order], { confirmedRepeats });
    if (!result?.ok) throw new CommandError(`The KES balance of ${holder.name} is too low.`, EXIT.paymentFailed);
    return refOf(result.transaction);
  });
}

/** The prompt appears on the test phone a moment after the payment was accepted. */
async function letExpire(credentials: Credentials, phone: string, ref: string): Promise<void> {
  const until = performance.now() + WAIT_MS;
  while (performance.now() < until) {
    const { body } = await request(credentials.url, `/sandbox/phone/${phone}/expire`, {
      method: 'POST',
      headers: { Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ prompt: ref }).toString(),
    });
    if (body.ok === true) return;
    await pause();
  }
}

async function refund(credentials: Credentials, collection: string, wanted: Wanted): Promise<StatusRecord> {
  await waitFor(credentials, '/api/v3/get-unified-transaction-status', collection, 'success');
  const { body } = await postSigned(credentials, '/api/v3/service-unified-refunds', { id: collection });
  const { ref } = body.data as { ref: string };
  return waitFor(credentials, '/api/v3/get-unified-refund-status', ref, wanted.status);
}

async function waitFor(credentials: Credentials, path: string, ref: string, status: string): Promise<StatusRecord> {
  const until = performance.now() + (status === 'reversed' ? REVERSAL_WAIT_MS : WAIT_MS);
  for (;;) {
    const record = (await postSigned(credentials, path, { id: ref })).body.data as StatusRecord;
    if (record.status === status) return record;
    if (performance.now() > until)
      throw new CommandError(`${ref} is ${record.status} and not yet ${status}.`, EXIT.unavailable);
    await pause();
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));
