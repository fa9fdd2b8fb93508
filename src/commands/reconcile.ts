// simbi reconcile, close, breaks and margin: the statement of a connection compared with the ledger, its days closed, what does not
// agree, and what is earned.

import type { Command } from 'commander';
import { requireAccount } from '../books/account-defaults.ts';
import { type Break, findBreak, listBreaks, resolveBreak } from '../books/breaks.ts';
import { type CloseRule, changeCloseRule, openCalendar, readCloseRule } from '../books/calendar.ts';
import { currenciesOf, type PreparedClose, prepareClose, reopenClose, signClose } from '../books/closes.ts';
import { type AppliedEffects, applyEffects, type EffectPlan, planEffects } from '../books/effects.ts';
import { listMargins } from '../books/margin.ts';
import { type Reconciliation, reconcile } from '../books/matching.ts';
import { type Actor, COMMAND_LINE, recordAudit } from '../holders/audit.ts';
import { findMemberByEmail } from '../holders/members.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { isUuid } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { addDays, isCalendarDay, isTimeZone, startOfDay } from '../platform/time-zones.ts';
import { withPayments } from './payments-context.ts';
import {
  addCommand,
  addNeededOption,
  CommandError,
  EXIT,
  parseLimit,
  print,
  requireAmount,
  type Terminal,
  table,
  withContext,
  withExamples,
} from './terminal.ts';

const MAX_BREAKS = 1_000;

type ReconcileOptions = { day: string; dryRun?: boolean; json?: boolean };

export function reconcileCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi reconcile mtn-uganda --day 2026-11-14 --dry-run',
    'npx simbi reconcile mtn-uganda --day 2026-11-14',
  ]);
  addNeededOption(command, '--day <day>', 'the day of the statement')
    .option('--dry-run', 'show what the statement would settle, reverse, hold in suspense and book; move nothing')
    .addHelpText('after', RECONCILE_HELP)
    .action(async (connection: string, options: ReconcileOptions) => {
      const day = readDay(options.day);
      const { found, plan, applied } = await withPayments(terminal, async (ctx) => {
        const span = (await openCalendar(ctx.db, connection)).spanOf(day);
        const first = await reconcile(ctx, { connection, ...span });
        const planned = await planEffects(ctx, { connection, ...span });
        if (options.dryRun) return { found: first, plan: planned, applied: null };
        const done = await applyEffects(ctx, COMMAND_LINE, { connection, ...span });
        return { found: await reconcile(ctx, { connection, ...span }), plan: planned, applied: done };
      });
      const data = { ...found, would_do: { ...plan.counts, fees: plan.fees, refused: plan.refused }, applied };
      print(
        terminal,
        options,
        data,
        [...foundLines(found), ...(applied ? appliedLines(applied) : planLines(plan)), plan.refused ?? []]
          .flat()
          .join('\n'),
      );
      if (applied && plan.refused !== null) process.exitCode = EXIT.error;
    });
}

const RECONCILE_HELP = `
Lines are matched with payments, and what does not agree is listed as breaks. Then the statement is applied: successes and reversals
that only it knows become evidence, money for nobody goes to suspense with a case, and the operator's fees are booked. With --dry-run
this is only shown. Applying twice changes nothing. A currency in which the statement has little in common with the payments of the
connection is refused.
`;

function foundLines({ lines, rules, breaks }: Reconciliation): string[] {
  const matched = Object.entries(rules).filter(([rule]) => rule !== 'none');
  return [
    `${lines} lines, ${rules.none ?? 0} of them not matched.`,
    ...matched.map(([rule, count]) => `  ${count} by ${rule.replaceAll('_', ' ')}`),
    breaks.length === 0 ? 'No breaks.' : 'Open breaks:',
    ...breaks.map(
      (each) => `  ${each.breaks} ${each.kind.replaceAll('_', ' ')}, ${formatAmount(each.difference)} ${each.currency}`,
    ),
  ];
}

function planLines({ counts, fees }: EffectPlan): string[] {
  return [
    `Would settle ${counts.settle}, reverse ${counts.reverse}, hold ${counts.suspense} payments in suspense.`,
    ...fees.map(
      ({ method, lines, amount, currency }) =>
        `Would book ${formatAmount(amount)} ${currency} of fees (${method || 'no payment'}, ${lines} lines).`,
    ),
  ];
}

function appliedLines({ settled, reversed, toSuspense, feesBooked, unchanged }: AppliedEffects): string[] {
  return [
    `Settled ${settled}, reversed ${reversed}, held ${toSuspense} payments in suspense, booked the fees of ${feesBooked} lines.`,
    ...(unchanged > 0 ? [`${unchanged} lines changed nothing: see the cases of their payments.`] : []),
  ];
}

type CloseOptions = {
  day?: string;
  sign?: boolean;
  as?: string;
  currency?: string;
  balance?: string;
  reopen?: string;
  zone?: string;
  cutOff?: string;
  json?: boolean;
};

export function closeCommand(command: Command, terminal: Terminal): void {
  withExamples(command, [
    'npx simbi close mtn-uganda --zone Africa/Kampala --cut-off 00:00',
    'npx simbi close mtn-uganda --day 2026-11-14',
    'npx simbi close mtn-uganda --day 2026-11-14 --sign --as amina@example.org',
  ])
    .option('--day <day>', 'the day to close')
    .option('--currency <code>', 'only this currency; default: every currency of the day')
    .option('--balance <amount>', 'the closing balance that the operator shows, where the statement names none')
    .option('--sign', 'sign the day; without it the day is only shown')
    .option('--as <email>', 'who signs or reopens: an administrator')
    .option('--reopen <reason>', 'reopen the day, and the closed days after it')
    .option('--zone <zone>', 'set the time zone of the days of this connection')
    .option('--cut-off <time>', 'set when its days begin, for instance 06:00')
    .action(async (connection: string, options: CloseOptions) => {
      await withContext(terminal, async (ctx) => {
        if (options.zone !== undefined || options.cutOff !== undefined)
          return await setRule(ctx, terminal, connection, options);
        const day = readDay(options.day ?? '');
        const named = options.currency?.toUpperCase();
        const currencies = named ? [named] : await currenciesOf(ctx.db, connection, day);
        const [only] = currencies;
        if (currencies.length === 0)
          throw new CommandError(
            `No line of ${connection} counts on ${day}. Run simbi reconcile first.`,
            EXIT.notFound,
          );
        if (options.balance !== undefined && currencies.length > 1)
          throw new CommandError('--balance needs --currency: the day has several.', EXIT.usage);
        const balance = options.balance === undefined ? undefined : requireAmount(options.balance, only ?? '');
        const { days, failed } = await closeEach(ctx, options, { connection, day, balance }, currencies);
        const text =
          options.reopen === undefined ? days.flatMap((one) => closeLines(one, options.sign === true)) : ['Reopened.'];
        if (days.length > 0 || !failed) print(terminal, options, days, text.join('\n'));
        if (failed) throw failed;
        if (days.some(({ problems }) => problems.length > 0)) process.exitCode = EXIT.error;
      });
    });
}

type CloseOne = { connection: string; currency: string; day: string; balance?: bigint | undefined };

/** A currency that cannot be closed keeps none of the others back. `failed`: the first that cannot. */
async function closeEach(
  ctx: Context,
  options: CloseOptions,
  request: Omit<CloseOne, 'currency'>,
  currencies: readonly string[],
): Promise<{ days: PreparedClose[]; failed: Problem | null }> {
  const days: PreparedClose[] = [];
  let failed: Problem | null = null;
  for (const currency of currencies) {
    try {
      days.push(...(await closeOne(ctx, options, { ...request, currency })));
    } catch (error) {
      if (!(error instanceof Problem) || currencies.length === 1) throw error;
      failed ??= new Problem(error.code, { ...error.details, message: `${currency}: ${error.message}` });
    }
  }
  return { days, failed };
}

async function closeOne(ctx: Context, options: CloseOptions, request: CloseOne): Promise<PreparedClose[]> {
  if (options.reopen !== undefined) {
    await reopenClose(ctx, await requireAdmin(ctx, options.as), request, options.reopen);
    return [];
  }
  if (!options.sign) return [await prepareClose(ctx, request)];
  return [await signClose(ctx, await requireAdmin(ctx, options.as), request)];
}

/** A close is signed by a person, not by a machine. */
async function requireAdmin(ctx: Context, email: string | undefined): Promise<Actor> {
  if (email === undefined) throw new CommandError('Say who signs: --as <email of an administrator>.', EXIT.usage);
  const member = await findMemberByEmail(ctx.db, email);
  if (!member?.is_admin) throw new CommandError(`${email} is not an administrator.`, EXIT.auth);
  return { memberId: member.id, name: member.email };
}

function closeLines(close: PreparedClose, signed: boolean): string[] {
  const { connection, currency, day, linesIn, linesOut, fees, openingTheirs, closingTheirs, openingOurs, closingOurs } =
    close;
  const shown = (amount: bigint | null) => (amount === null ? 'not known' : formatAmount(amount));
  const kinds = Map.groupBy(close.items, ({ kind }) => kind);
  return [
    `${connection}, ${day}, ${currency}`,
    `  statement: ${shown(openingTheirs)} + ${shown(linesIn)} in - ${shown(linesOut)} out - ${shown(fees)} fees = ${shown(closingTheirs)}`,
    `  ledger: ${shown(openingOurs)} to ${shown(closingOurs)}`,
    ...[...kinds].map(
      ([kind, items]) =>
        `  ${items.length} ${kind.replaceAll('_', ' ')}: ${shown(items.reduce((sum, item) => sum + item.difference, 0n))}`,
    ),
    ...(close.lateLines > 0 ? [`  ${close.lateLines} late lines of days that were closed`] : []),
    ...close.problems.map((problem) => `  ! ${problem}`),
    ...(close.problems.length > 0 ? [] : [signed ? '  Signed.' : '  It can be signed.']),
  ];
}

async function setRule(ctx: Context, terminal: Terminal, connection: string, options: CloseOptions): Promise<void> {
  // Later it cannot change any more, so that of a mistyped name must not be set instead.
  await requireAccount(ctx.db, connection);
  const known = await readCloseRule(ctx.db, connection);
  const rule: CloseRule = {
    zone: options.zone ?? known.zone,
    cutOffMinutes: options.cutOff === undefined ? known.cutOffMinutes : readMinutes(options.cutOff),
  };
  const at = ctx.clock.now();
  const cutOff = timeOf(rule.cutOffMinutes);
  const details = { zone: rule.zone, cutOff };
  await ctx.db.transaction(async (tx) => {
    await changeCloseRule(tx, connection, rule, { by: COMMAND_LINE.name, at });
    await recordAudit(
      tx,
      { holderId: null, actor: COMMAND_LINE, action: 'day.cut_off_set', subject: connection, details },
      at,
    );
  });
  print(terminal, options, { connection, ...details }, `A day of ${connection} begins at ${cutOff} in ${rule.zone}.`);
}

function readMinutes(text: string): number {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined) throw new CommandError('--cut-off must be a time of day, for instance 06:00.', EXIT.usage);
  return Number(hours) * 60 + Number(minutes);
}

const timeOf = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

type BreakOptions = { connection?: string; day?: string; all?: boolean; limit: string; json?: boolean };

export function breaksCommands(group: Command, terminal: Terminal): void {
  addCommand(group, 'list', 'what does not agree between statements and the ledger', [
    'npx simbi breaks list --connection mtn-uganda',
    'npx simbi breaks list --day 2026-11-14 --all --json',
  ])
    .option('--connection <name>', 'only this connection')
    .option('--day <day>', 'only this day')
    .option('--all', 'also those that are resolved')
    .option('--limit <count>', 'how many', '100')
    .action(async (options: BreakOptions) => {
      const { connection } = options;
      const day = options.day === undefined ? undefined : readDay(options.day);
      const limit = parseLimit(options.limit, MAX_BREAKS);
      const { breaks, now } = await withContext(terminal, async (ctx) => ({
        breaks: await listBreaks(ctx.db, { connection, day, status: options.all ? undefined : 'open' }, limit),
        now: ctx.clock.now(),
      }));
      const data = breaks.map((each) => ({ ...each, line_key: each.line_key?.toString('hex') ?? null }));
      print(terminal, options, { breaks: data }, breaks.length === 0 ? 'No breaks.' : breakTable(breaks, now));
    });

  addCommand(group, 'resolve <id> <reason>', 'say why a break needs no more work; no money moves', [
    'npx simbi breaks resolve 0198… "the operator confirmed it by mail"',
  ]).action(async (id: string, reason: string, options: { json?: boolean }) => {
    if (!isUuid(id)) throw new CommandError(`"${id}" is not the id of a break.`, EXIT.usage);
    await withContext(terminal, async (ctx) => {
      const known = await findBreak(ctx.db, id);
      if (!known) throw new CommandError('There is no such break.', EXIT.notFound);
      const details = { reason };
      await ctx.db.transaction(async (tx) => {
        await resolveBreak(ctx, tx, id, COMMAND_LINE.name, reason);
        await recordAudit(
          tx,
          { holderId: null, actor: COMMAND_LINE, action: 'break.resolved', subject: known.connection, details },
          ctx.clock.now(),
        );
      });
    });
    print(terminal, options, { id, status: 'resolved' }, id);
  });
}

function breakTable(breaks: readonly Break[], now: Date): string {
  const dayMs = 86_400_000;
  const rows = breaks.map((each) => [
    each.id,
    each.connection,
    each.day,
    each.kind.replaceAll('_', ' '),
    `${formatAmount(each.difference)} ${each.currency}`,
    `${Math.floor((now.getTime() - each.opened_at.getTime()) / dayMs)} d`,
    each.status,
  ]);
  return table(['Id', 'Connection', 'Day', 'Kind', 'Difference', 'Age', 'Status'], rows);
}

type MarginOptions = { from: string; to?: string; zone: string; json?: boolean };

export function marginCommand(command: Command, terminal: Terminal): void {
  withExamples(command, ['npx simbi margin --from 2026-11-01 --to 2026-11-30']);
  addNeededOption(command, '--from <day>', 'the first day')
    .option('--to <day>', 'the last day; default: the first one')
    .option('--zone <zone>', 'the zone of the days', 'UTC')
    .action(async (options: MarginOptions) => {
      if (!isTimeZone(options.zone))
        throw new CommandError(`"${options.zone}" is not a time zone. Use a name such as Africa/Nairobi.`, EXIT.usage);
      const from = startOfDay(options.zone, readDay(options.from));
      const to = startOfDay(options.zone, addDays(readDay(options.to ?? options.from), 1));
      const margins = await withContext(terminal, (ctx) => listMargins(ctx.db, { from, to }));
      const rows = margins.map((row) => [
        row.connection,
        row.method,
        row.currency,
        String(row.payments),
        formatAmount(row.earned),
        formatAmount(row.charged),
        formatAmount(row.margin),
      ]);
      const headings = ['Connection', 'Method', 'Currency', 'Payments', 'Fees earned', 'Operator charged', 'Margin'];
      print(terminal, options, { margins }, rows.length === 0 ? 'No fees.' : table(headings, rows));
    });
}

function readDay(text: string): string {
  if (!isCalendarDay(text))
    throw new CommandError(
      text === '' ? 'Give a day with --day, for instance 2026-11-14.' : `"${text}" is not a day such as 2026-11-14.`,
      EXIT.usage,
    );
  return text;
}
