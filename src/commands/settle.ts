// simbi settle: money of wallets to the banks and phones of their holders.

import type { Command } from 'commander';
import type { Confirmer } from '../books/settlement-decisions.ts';
import type { Settlement, SettlementState } from '../books/settlement-rows.ts';
import type { SettlementResult } from '../books/settlements.ts';
import type { Context } from '../platform/context.ts';
import { formatAmount } from '../platform/money.ts';
import { dayIn, isCalendarDay } from '../platform/time-zones.ts';
import { HOLDER_OPTION, requireHolder, sayWhenSent, withPayments, workersOf } from './payments-context.ts';
import { settleOperatorCommand } from './settle-operator.ts';
import { settleRuleCommand } from './settle-rule.ts';
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
} from './terminal.ts';

const MAX_LISTED = 1_000;
const LANGUAGES = ['en', 'fr', 'pt', 'sw'] as const;

type Shared = { json?: boolean; holder?: string };

export function settleCommands(group: Command, terminal: Terminal): void {
  addRun(group, terminal);
  addList(group, terminal);
  addShow(group, terminal);
  addConfirm(group, terminal);
  addCancel(group, terminal);
  settleOperatorCommand(group, terminal);
  addReport(group, terminal);
  addBatch(group, terminal);
  settleRuleCommand(group, terminal);
}

type RunOptions = Shared & { amount?: string; again?: boolean };

function addRun(group: Command, terminal: Terminal): void {
  addCommand(group, 'run [currency]', 'settle a wallet now, or everything that is due by schedule', [
    'npx simbi settle run',
    'npx simbi settle run KES --holder 3',
    'npx simbi settle run KES --holder 3 --amount 50000 --again',
  ])
    .option(...HOLDER_OPTION)
    .option('--amount <amount>', 'only a part; default: all that is available, less what is owed')
    .option('--again', 'a further settlement on a day that has one')
    .action(async (currency: string | undefined, options: RunOptions) => {
      await withPayments(terminal, async (ctx) => {
        if (currency === undefined) {
          const { settleDue } = await import('../books/settlement-schedule.ts');
          const due = await settleDue(ctx, workersOf(ctx));
          return print(terminal, options, { due }, `${due} wallets were due.`);
        }
        const [{ takeSettlement }, { COMMAND_LINE }] = await Promise.all([
          import('../books/settlements.ts'),
          import('../holders/audit.ts'),
        ]);
        const code = currency.toUpperCase();
        const holder = await requireHolder(terminal, ctx, options.holder);
        const amount = options.amount === undefined ? undefined : requireAmount(options.amount, code);
        // One a day unless more are meant: a command that is repeated after a crash pays once.
        const period = `hand-${dayIn(holder.time_zone, ctx.clock.now())}`;
        const request = { holderId: holder.id, currency: code, period, amount, again: options.again === true };
        await sayResult(terminal, options, ctx, await takeSettlement(ctx, workersOf(ctx), COMMAND_LINE, request));
      });
    });
}

async function sayResult(terminal: Terminal, options: Shared, ctx: Context, result: SettlementResult): Promise<void> {
  if (result.outcome === 'too_little') {
    const { available, owed } = result.settleable;
    const text = `Too little: ${formatAmount(available)} available, ${formatAmount(owed)} owed, at least ${formatAmount(result.minimum)}.`;
    print(terminal, options, { outcome: 'too_little' }, text);
    return;
  }
  const { settlementRef } = await import('../books/settlement-rows.ts');
  const { settlement, outcome } = result;
  const ref = settlementRef(settlement);
  const money = `${formatAmount(settlement.amount)} ${settlement.currency}`;
  const text = outcome === 'known' ? `${ref} was taken before: ${money}.` : `${ref}: ${money}.`;
  print(terminal, options, { outcome, ref, amount: formatAmount(settlement.amount) }, text);
  if (outcome === 'taken' && settlement.transaction_id !== null) sayWhenSent(terminal, ctx, 1);
}

function addList(group: Command, terminal: Terminal): void {
  addCommand(group, 'list', 'list settlements, newest first', [
    'npx simbi settle list --open',
    'npx simbi settle list --holder 3 --limit 10',
  ])
    .option('--holder <id>', 'only those of one holder')
    .option('--open', 'only those that wait for their transfer or its confirmation')
    .option('--limit <number>', 'maximum number of rows', '50')
    .action(async (options: Shared & { open?: boolean; limit: string }) => {
      const limit = parseLimit(options.limit, MAX_LISTED);
      const rows = await withContext(terminal, async (ctx) => {
        const { listSettlements, readStates, settlementRef } = await import('../books/settlement-rows.ts');
        const { describeDestination } = await import('../books/settlement-rules.ts');
        const holder = options.holder === undefined ? null : await requireHolder(terminal, ctx, options.holder);
        const statuses = options.open ? (['waiting', 'proposed'] as const) : undefined;
        const settlements = await listSettlements(ctx.db, { holderId: holder?.id, statuses, limit });
        const states = await readStates(ctx.db, settlements);
        return settlements.map((row) =>
          dataOf(row, states.get(row.id), settlementRef(row), describeDestination(row.destination)),
        );
      });
      const lines = rows.map((row) => [
        row.ref,
        String(row.holder),
        row.period,
        `${row.amount} ${row.currency}`,
        row.to,
        row.state,
      ]);
      const shown = table(['Settlement', 'Holder', 'Period', 'Amount', 'To', 'State'], lines);
      print(terminal, options, rows, rows.length === 0 ? 'There is no settlement.' : shown);
    });
}

function dataOf(row: Settlement, state: SettlementState | undefined, ref: string, to: string) {
  return {
    ref,
    holder: row.holder_id,
    period: row.period,
    amount: formatAmount(row.amount),
    currency: row.currency,
    owed: formatAmount(row.owed),
    to,
    state: state ?? row.status,
    taken_at: row.taken_at,
    bank: row.bank,
    bank_reference: row.bank_reference,
    named_by: row.proposed_by,
    ended_by: row.ended_by,
    ended_at: row.ended_at,
    reason: row.reason,
  };
}

function addShow(group: Command, terminal: Terminal): void {
  addCommand(group, 'show <ref>', 'show a settlement', ['npx simbi settle show set_01J…']).action(
    async (ref: string, options: Shared) => {
      const data = await withContext(terminal, async (ctx) => {
        const { readStates, requireSettlement } = await import('../books/settlement-rows.ts');
        const { describeDestination } = await import('../books/settlement-rules.ts');
        const row = await requireSettlement(ctx.db, ref);
        const states = await readStates(ctx.db, [row]);
        return dataOf(row, states.get(row.id), ref, describeDestination(row.destination));
      });
      const lines = Object.entries(data).flatMap(([name, value]) =>
        value === null
          ? []
          : [[name.replaceAll('_', ' '), value instanceof Date ? value.toISOString() : String(value)]],
      );
      print(terminal, options, data, table(['Settlement', ref], lines));
    },
  );
}

type ConfirmOptions = { bank?: string; reference?: string; as?: string; reject?: boolean; json?: boolean };

function addConfirm(group: Command, terminal: Terminal): void {
  const command = addCommand(
    group,
    'confirm <ref>',
    'say, and confirm as another person, which bank transfer paid it',
    [
      'npx simbi settle confirm set_01J… --bank equity --reference FT26320 --as amina@example.org',
      'npx simbi settle confirm set_01J… --reject --as bola@example.org',
    ],
  );
  addNeededOption(command, '--as <email>', 'who says it: an administrator')
    .option('--bank <name>', 'the account of ours that paid it')
    .option('--reference <reference>', "the bank's reference of the transfer")
    .option('--reject', 'the transfer that was named did not happen')
    .action(async (ref: string, options: ConfirmOptions) => {
      const status = await withContext(terminal, async (ctx) => {
        const { confirmSettlement, rejectTransfer } = await import('../books/settlement-decisions.ts');
        const person = await requireConfirmer(ctx, options.as ?? '');
        if (options.reject) {
          await rejectTransfer(ctx, person, ref);
          return 'waiting';
        }
        if (!options.bank || !options.reference)
          throw new CommandError('Give --bank and --reference, or --reject.', EXIT.usage);
        const transfer = { bank: options.bank, reference: options.reference };
        return (await confirmSettlement(ctx, person, ref, transfer)).status;
      });
      const text = {
        proposed: 'The transfer is named. Another administrator must confirm it.',
        paid: 'The settlement is paid.',
      };
      print(terminal, options, { ref, status }, text[status as keyof typeof text] ?? 'The settlement waits again.');
    });
}

/** A transfer is confirmed by people, not by a machine. */
async function requireConfirmer(ctx: Context, email: string): Promise<Confirmer> {
  const { findMemberByEmail } = await import('../holders/members.ts');
  const member = await findMemberByEmail(ctx.db, email);
  if (!member?.is_admin) throw new CommandError(`${email} is not an administrator.`, EXIT.auth);
  return { memberId: member.id, name: member.email };
}

function addCancel(group: Command, terminal: Terminal): void {
  const command = addCommand(group, 'cancel <ref>', 'give a settlement back to its wallet; nothing was transferred', [
    'npx simbi settle cancel set_01J… --reason "wrong account" --as amina@example.org',
  ]);
  addNeededOption(command, '--reason <text>', 'why').option('--as <email>', 'who cancels: an administrator');
  command.action(async (ref: string, options: { reason: string; as?: string; json?: boolean }) => {
    await withContext(terminal, async (ctx) => {
      const [{ cancelSettlement }, { COMMAND_LINE }] = await Promise.all([
        import('../books/settlement-decisions.ts'),
        import('../holders/audit.ts'),
      ]);
      const actor = options.as === undefined ? COMMAND_LINE : await requireConfirmer(ctx, options.as);
      await cancelSettlement(ctx, actor, ref, options.reason);
    });
    print(terminal, options, { ref, status: 'cancelled' }, 'The money is back in the wallet.');
  });
}

function addReport(group: Command, terminal: Terminal): void {
  addCommand(group, 'report <ref>', 'what a settlement is made of, as CSV', [
    'npx simbi settle report set_01J… > settlement.csv',
  ])
    .option('--language <code>', LANGUAGES.join(', '), 'en')
    .action(async (ref: string, options: { language: string }) => {
      const language = LANGUAGES.find((each) => each === options.language);
      if (!language) throw new CommandError(`--language must be one of ${LANGUAGES.join(', ')}.`, EXIT.usage);
      const csv = await withContext(terminal, async (ctx) => {
        const [{ reportSettlement, writeReport }, { requireSettlement }] = await Promise.all([
          import('../books/settlement-report.ts'),
          import('../books/settlement-rows.ts'),
        ]);
        return writeReport(await reportSettlement(ctx, await requireSettlement(ctx.db, ref)), language);
      });
      terminal.out(csv.trimEnd());
    });
}

function addBatch(group: Command, terminal: Terminal): void {
  addCommand(group, 'batch <currency>', 'the bank transfers to make, as CSV for the portal of the bank', [
    'npx simbi settle batch KES > transfers.csv',
    'npx simbi settle batch KES --day 2026-11-16 > transfers.csv',
  ])
    .option('--day <day>', 'only those taken on this day, in UTC')
    .action(async (currency: string, options: { day?: string }) => {
      const { day } = options;
      if (day !== undefined && !isCalendarDay(day))
        throw new CommandError('Give a day, for instance 2026-11-14.', EXIT.usage);
      const { csv, held } = await withContext(terminal, async (ctx) => {
        const [{ writeBatch }, { listTransfersToMake, settlementRef }] = await Promise.all([
          import('../books/settlement-report.ts'),
          import('../books/settlement-rows.ts'),
        ]);
        const transfers = await listTransfersToMake(ctx.db, currency.toUpperCase());
        const isOfDay = (row: Settlement) => day === undefined || dayIn('UTC', row.taken_at) === day;
        return {
          csv: writeBatch(transfers.ready.filter(isOfDay)),
          held: transfers.held.filter(isOfDay).map(settlementRef),
        };
      });
      terminal.out(csv.trimEnd());
      if (held.length > 0) terminal.say(`Left out, because the holder is suspended or closed: ${held.join(', ')}.`);
    });
}
