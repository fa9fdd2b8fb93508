// simbi payout: pays out from a holder's wallet. Orders are written to the database; a running gateway sends them.

import type { Command } from 'commander';
import type { Actor } from '../holders/audit.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { CancelledFile } from '../payments/payout-file-decisions.ts';
import type { PayoutRow } from '../payments/payout-orders.ts';
import type { PayoutPreview } from '../payments/payout-preview.ts';
import type { PayoutOrder, PayoutRequest } from '../payments/payout-requests.ts';
import type { Status } from '../payments/states.ts';
import { formatAmount } from '../platform/money.ts';
import {
  HOLDER_OPTION,
  requireActor,
  requireHolder,
  sayWhenSent,
  withPayments,
  workersOf,
} from './payments-context.ts';
import { payoutImportCommand } from './payout-import.ts';
import {
  addCommand,
  addNeededOption,
  CommandError,
  confirm,
  EXIT,
  parseLimit,
  print,
  type Terminal,
  table,
} from './terminal.ts';

const MAX_LISTED = 1_000;

type Shared = { json?: boolean; holder?: string; as?: string };
type CreateOptions = Shared & {
  phone: string;
  method?: string;
  payee?: string;
  invoice?: string;
  detail?: string;
  callbackUrl?: string;
  dryRun?: boolean;
  yes?: boolean;
};

export function payoutCommands(group: Command, terminal: Terminal): void {
  addCreate(group, terminal);
  payoutImportCommand(group, terminal);

  addCommand(group, 'approve <ref>', 'approve a payout, or a whole file, that another user ordered', [
    'npx simbi payout approve TX_01J… --as bola@example.org',
    'npx simbi payout approve bat_01J… --as bola@example.org',
  ])
    .requiredOption('--as <email>', 'e-mail of the user who approves')
    .option(...HOLDER_OPTION)
    .action(async (ref: string, options: Shared) => {
      await withPayments(terminal, async (ctx) => {
        const holder = await requireHolder(terminal, ctx, options.holder);
        const actor = await requireActor(ctx, holder, options.as);
        const payouts = await approve(ctx, actor, holder.id, ref);
        print(terminal, options, { ref, approved: true, payouts }, `${ref} is approved.`);
        sayWhenSent(terminal, ctx, payouts);
      });
    });

  addCommand(group, 'cancel <ref>', 'cancel a payout, or what was not sent of a file', [
    'npx simbi payout cancel TX_01J… --yes',
    'npx simbi payout cancel bat_01J… --yes',
  ])
    .option('--as <email>', 'e-mail of the user who cancels')
    .option('--yes', 'do not ask for confirmation')
    .option(...HOLDER_OPTION)
    .action(async (ref: string, options: Shared & { yes?: boolean }) => {
      await confirm(terminal, options, `Cancelling ${ref} cannot be undone.`);
      await withPayments(terminal, async (ctx) => {
        const holder = await requireHolder(terminal, ctx, options.holder);
        const done = await cancel(ctx, await requireActor(ctx, holder, options.as), holder.id, ref);
        print(terminal, options, { ref, ...done }, cancelSentence(ref, done));
      });
    });

  addCommand(group, 'list', 'list payouts, newest first', [
    'npx simbi payout list',
    'npx simbi payout list --limit 10 --json',
  ])
    .option('--limit <number>', 'maximum number of rows', '50')
    .option(...HOLDER_OPTION)
    .action(async (options: Shared & { limit: string }) => {
      const limit = parseLimit(options.limit, MAX_LISTED);
      const payouts = await withPayments(terminal, async (ctx) => {
        const [{ listPayouts }, { refOf }] = await Promise.all([
          import('../payments/payout-orders.ts'),
          import('../payments/transactions.ts'),
        ]);
        const holder = await requireHolder(terminal, ctx, options.holder);
        return (await listPayouts(ctx, holder.id, { limit })).map((row) => describePayout(refOf(row), row));
      });
      print(terminal, options, payouts, rowsOf(payouts));
    });
}

/** Approves a payout or a file. Returns how many payouts will be sent. */
async function approve(ctx: PaymentsContext, actor: Actor, holderId: bigint, ref: string): Promise<number> {
  const { payoutFileIdOf } = await import('../payments/payout-files.ts');
  if (payoutFileIdOf(ref) !== null) {
    const { approvePayoutFile } = await import('../payments/payout-file-decisions.ts');
    return approvePayoutFile(ctx, workersOf(ctx), actor, holderId, ref);
  }
  const { approvePayout } = await import('../payments/order-decisions.ts');
  await approvePayout(ctx, workersOf(ctx), actor, holderId, ref);
  return 1;
}

type Cancelled = CancelledFile & { status: Status };

/** Cancels a payout, or what was not sent of a file. */
async function cancel(ctx: PaymentsContext, actor: Actor, holderId: bigint, ref: string): Promise<Cancelled> {
  const { payoutFileIdOf } = await import('../payments/payout-files.ts');
  if (payoutFileIdOf(ref) !== null) {
    const { cancelPayoutFile } = await import('../payments/payout-file-decisions.ts');
    return { status: 'failed', ...(await cancelPayoutFile(ctx, actor, holderId, ref)) };
  }
  const { cancelPayout } = await import('../payments/order-decisions.ts');
  const { status } = await cancelPayout(ctx, actor, holderId, ref);
  return { status, cancelled: 1, sent: 0 };
}

function cancelSentence(ref: string, { cancelled, sent }: CancelledFile): string {
  if (sent === 0) return `${ref} is cancelled. Its amount is available again.`;
  return `${cancelled} payouts of ${ref} are cancelled, and their amounts are available again. ${sent} had been sent already.`;
}

function addCreate(group: Command, terminal: Terminal): void {
  const create = addCommand(group, 'create <amount> <currency>', 'order one payout', [
    'npx simbi payout create 5000 UGX --phone 0772123000 --payee "Ada Obi"',
    'npx simbi payout create 5000 UGX --phone 0772123000 --dry-run',
    'npx simbi payout create 5000 UGX --phone 0772123000 --invoice INV-7 --yes --json',
  ]);
  addNeededOption(create, '--phone <number>', 'phone number of the payee')
    .option('--method <name>', 'the operator, if the number does not determine it')
    .option('--payee <name>', 'name of the payee')
    .option('--invoice <number>', 'invoice number')
    .option('--detail <text>', 'free text')
    .option('--callback-url <url>', 'URL for the result')
    .option('--as <email>', 'e-mail of the user who orders it')
    .option('--dry-run', 'check it and show the fee, order nothing')
    .option('--yes', 'do not ask for confirmation')
    .option(...HOLDER_OPTION)
    .action((amount: string, currency: string, options: CreateOptions) =>
      createPayout(terminal, amount, currency.toUpperCase(), options),
    );
}

function createPayout(terminal: Terminal, amount: string, currency: string, options: CreateOptions): Promise<void> {
  const request: PayoutRequest = {
    amount,
    currency,
    mobile: options.phone,
    method: options.method,
    payee: options.payee,
    invoiceNo: options.invoice,
    detail: options.detail,
    callbackUrl: options.callbackUrl,
  };
  return withPayments(terminal, async (ctx) => {
    const [{ orderPayouts }, { previewPayout }, { readPayout }, { refOf }] = await Promise.all([
      import('../payments/payouts.ts'),
      import('../payments/payout-preview.ts'),
      import('../payments/payout-requests.ts'),
      import('../payments/transactions.ts'),
    ]);
    const holder = await requireHolder(terminal, ctx, options.holder);
    const actor = await requireActor(ctx, holder, options.as);
    const reading = await readPayout(ctx, holder.id, request);
    if (!reading.ok) {
      const problems = Object.entries(reading.errors).map(([field, sentences]) => `${field}: ${sentences.join(' ')}`);
      throw new CommandError(`The payout was not ordered.\n  ${problems.join('\n  ')}`, EXIT.usage);
    }
    const { order } = reading;
    const preview = await previewPayout(ctx, holder.id, order);
    if (options.dryRun) {
      print(terminal, options, describeOrder(order, preview), linesOf(order, preview));
      terminal.say('Nothing was ordered.');
      return;
    }
    const tooLow = new CommandError(`The ${currency} balance of ${holder.name} is too low.`, EXIT.paymentFailed);
    if (preview.remaining < 0n) throw tooLow;
    terminal.say(linesOf(order, preview));
    const { findSimilarPayouts, repeatsKey } = await import('../payments/similar-payouts.ts');
    const similar = await findSimilarPayouts(ctx, ctx.db, holder.id, [order]);
    for (const { earlier } of similar)
      terminal.say(`  The same number was paid the same amount by ${earlier?.ref} in the last seven days.`);
    await confirm(terminal, options, 'Order this payout? It cannot be cancelled after it was sent.');
    const [result] = await orderPayouts(ctx, workersOf(ctx), actor, holder.id, [order], {
      confirmedRepeats: repeatsKey(similar),
    });
    if (!result?.ok) throw tooLow;
    const ref = refOf(result.transaction);
    const data = {
      ref,
      status: result.transaction.status,
      ...describeOrder(order, preview),
      waits_for_approval: result.waitsForApproval,
    };
    print(terminal, options, data, ref);
    if (result.waitsForApproval)
      terminal.say(`It needs the approval of a second person: npx simbi payout approve ${ref} --as …`);
    else sayWhenSent(terminal, ctx, 1);
  });
}

function describeOrder(order: PayoutOrder, { registeredName, remaining }: PayoutPreview) {
  return {
    amount: formatAmount(order.amount),
    fee: formatAmount(order.fee),
    currency: order.method.currency,
    method: order.method.code,
    mobile: order.msisdn,
    registered_name: registeredName,
    payee: order.payee,
    invoice_no: order.invoiceNo,
    wallet_after: formatAmount(remaining),
  };
}

/** The same facts as the confirmation page of the console. */
function linesOf(order: PayoutOrder, { registeredName, remaining }: PayoutPreview): string {
  const money = (amount: bigint) => `${formatAmount(amount)} ${order.method.currency}`;
  const payee = order.payee ? `${order.payee}, ${order.msisdn}` : order.msisdn;
  return [
    `Pay ${money(order.amount)} to ${payee} by ${order.method.name}.`,
    `  Registered name:  ${registeredName ?? 'not known'}`,
    `  Fee:              ${money(order.fee)}`,
    `  Balance after:    ${money(remaining)}`,
  ].join('\n');
}

function describePayout(ref: string, row: PayoutRow) {
  return {
    ref,
    status: row.status,
    waits_for_approval: row.waits_for_approval,
    amount: formatAmount(row.amount),
    fee: formatAmount(row.fee),
    currency: row.currency,
    mobile: row.msisdn,
    payee: row.payee,
    invoice_no: row.invoice_no,
    failure_code: row.failure_code,
    created_by: row.created_by,
    approved_by: row.approved_by,
    created_at: row.created_at,
  };
}

function rowsOf(payouts: ReturnType<typeof describePayout>[]): string {
  return table(
    ['ref', 'status', 'amount', 'mobile', 'payee', 'ordered by', 'created'],
    payouts.map((one) => [
      one.ref,
      one.waits_for_approval ? 'needs approval' : one.failure_code ? `${one.status} ${one.failure_code}` : one.status,
      `${one.amount} ${one.currency}`,
      one.mobile ?? '-',
      one.payee ?? '-',
      one.created_by,
      one.created_at.toISOString().slice(0, 16).replace('T', ' '),
    ]),
  );
}
