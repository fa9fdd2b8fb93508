// The statement of a merchant's wallet over some of its days: opening balance, lines, totals by kind, closing balance. It comes from
// the transfers of the ledger, not from a sum over transactions, and is read through once before anything is printed: a statement
// that does not add up to the balances of the ledger is never shown.

import { balancesOf } from '../ledger/ledger.ts';
import type { TransferKind } from '../ledger/postings.ts';
import {
  openWalletHistory,
  readWalletHistory,
  type WalletHistory,
  type WalletMovement,
} from '../ledger/wallet-history.ts';
import { readTransactions, refOf, type Transaction } from '../payments/transactions.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { publicId } from '../platform/ids.ts';
import { addDays, startOfDay } from '../platform/time-zones.ts';

/** Ten years. */
const MAX_DAYS = 3_653;

export const WALLET_LINE_KINDS = [
  'collection',
  'collection_reversal',
  'refund',
  'payout',
  'payout_reversal',
  'settlement',
  'settlement_return',
  'credit',
  'credit_reversal',
  'debt',
  'debt_recovery',
  'reserve_hold',
  'reserve_release',
  'reserve_use',
  'dispute_hold',
  'dispute_won',
  'dispute_lost',
  'top_up',
  'other',
] as const;
export type WalletLineKind = (typeof WALLET_LINE_KINDS)[number];

/** A fee belongs to the line of its payment. A kind that is missing here is a line of kind `other`. */
const LINE_KINDS: Partial<Record<TransferKind, WalletLineKind>> = {
  collection: 'collection',
  collection_fee: 'collection',
  collection_reversal: 'collection_reversal',
  collection_fee_reversal: 'collection_reversal',
  refund: 'refund',
  refund_fee: 'refund',
  payout: 'payout',
  payout_fee: 'payout',
  payout_reversal: 'payout_reversal',
  payout_fee_reversal: 'payout_reversal',
  settlement: 'settlement',
  settlement_release: 'settlement_return',
  suspense_credit: 'credit',
  suspense_credit_reversal: 'credit_reversal',
  debt: 'debt',
  debt_recovery: 'debt_recovery',
  debt_recovery_reversal: 'debt_recovery',
  debt_recovery_release: 'debt_recovery',
  reserve_hold: 'reserve_hold',
  reserve_release: 'reserve_release',
  reserve_use: 'reserve_use',
  reserve_cover: 'reserve_use',
  dispute_hold: 'dispute_hold',
  dispute_cover: 'dispute_hold',
  dispute_cover_reversal: 'dispute_hold',
  dispute_cover_release: 'dispute_hold',
  dispute_release: 'dispute_won',
  dispute_loss: 'dispute_lost',
  dispute_loss_short: 'dispute_lost',
  dispute_loss_fee: 'dispute_lost',
  sandbox_top_up: 'top_up',
};

export type StatementHolder = { readonly id: bigint; readonly name: string; readonly time_zone: string };

/** Whole days (2026-11-14) in the zone of the holder, both included. */
export type StatementPeriod = {
  readonly currency: string;
  readonly firstDay: string;
  readonly lastDay: string;
  /** Where the statement before it ended, in another zone. Left out: where the first day begins. */
  readonly beginsAt?: Date;
};

/** `net` is what the wallet gained; `gross` + `fee` = `net`, so a fee that was paid is negative. */
type LineMoney = { gross: bigint; fee: bigint; net: bigint };
export type WalletTotal = LineMoney & { readonly kind: WalletLineKind; count: number };

type BareLine = LineMoney & {
  readonly kind: WalletLineKind;
  readonly transactionId: string;
  readonly postedAt: Date;
  balance: bigint;
};

export type WalletLine = BareLine & {
  readonly reference: string;
  /** The merchant's own, as given with the payment. */
  readonly ownReference: string;
  /** The name of a payee, or what the payment was for. */
  readonly details: string;
};

export type MerchantStatement = StatementPeriod & {
  readonly holder: StatementHolder;
  readonly walletAccount: number;
  readonly madeAt: Date;
  readonly opening: bigint;
  readonly closing: bigint;
  /** How much of the closing balance is reserved for payouts and refunds. */
  readonly reserved: bigint;
  readonly lines: number;
  readonly totals: readonly WalletTotal[];
  /** Of the amounts: none where the currency has none and no line needs one. */
  readonly decimals: 0 | 2;
  readonly history: WalletHistory;
};

class StatementError extends Error {
  override readonly name = 'StatementError';
}

/** Reads the period through and compares every line with the ledger. Throws when there is no such wallet. */
export async function prepareStatement(
  ctx: Context,
  holder: StatementHolder,
  period: StatementPeriod,
): Promise<MerchantStatement> {
  const { currency, firstDay, lastDay, beginsAt } = period;
  if (firstDay > lastDay) throw invalid('to', 'to must be the same day as from, or a later one.');
  if (addDays(firstDay, MAX_DAYS) <= lastDay) throw invalid('to', `A statement covers at most ${MAX_DAYS} days.`);
  const span = {
    from: beginsAt ?? startOfDay(holder.time_zone, firstDay),
    to: startOfDay(holder.time_zone, addDays(lastDay, 1)),
  };
  const [wallet] = await balancesOf(ctx.db, holder.id, { currency });
  const history = wallet ? await openWalletHistory(ctx.db, holder.id, currency, span) : null;
  if (!wallet || !history) throw new Problem('not_found', { message: 'There is no such wallet in this account.' });
  const { lines, totals, isWhole } = await checkLines(ctx, history, { holder: holder.id, currency });
  return {
    ...period,
    holder,
    walletAccount: wallet.walletAccount,
    madeAt: ctx.clock.now(),
    opening: history.opening,
    closing: history.closing,
    reserved: history.reserved.closing,
    lines,
    totals,
    decimals: isWhole && decimalsOf(currency) === 0 ? 0 : 2,
    history,
  };
}

function invalid(field: string, sentence: string): Problem {
  return new Problem('invalid_params', { errors: { [field]: [sentence] } });
}

/** How many a currency has. */
export function decimalsOf(currency: string): number {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
}

export type CheckedLines = { lines: number; totals: WalletTotal[]; isWhole: boolean };

/** Reads a history through and adds it up. Throws where it does not lead to the balances of the ledger. */
export async function checkLines(ctx: Context, history: WalletHistory, about: object): Promise<CheckedLines> {
  const totals = new Map<WalletLineKind, WalletTotal>();
  let lines = 0;
  let balance = history.opening;
  let isWhole = balance % 100n === 0n;
  for await (const page of eachBareLine(ctx, history))
    for (const line of page) {
      balance += line.net;
      if (balance !== line.balance) refuse(ctx, { ...about, transaction: line.transactionId });
      lines++;
      isWhole &&= line.gross % 100n === 0n && line.fee % 100n === 0n;
      const total = totals.get(line.kind) ?? { kind: line.kind, count: 0, gross: 0n, fee: 0n, net: 0n };
      total.count++;
      addMoney(total, line);
      totals.set(line.kind, total);
    }
  if (balance !== history.closing) refuse(ctx, about);
  return { lines, totals: WALLET_LINE_KINDS.flatMap((kind) => totals.get(kind) ?? []), isWhole };
}

function refuse(ctx: Context, about: object): never {
  ctx.log.error({ statement: about }, 'a statement does not add up to the ledger and is not shown');
  throw new StatementError('The statement does not add up to the ledger.');
}

function addMoney(to: LineMoney, { gross, fee, net }: LineMoney): void {
  to.gross += gross;
  to.fee += fee;
  to.net += net;
}

/** All kinds together. */
export function sumTotals(totals: readonly LineMoney[]): LineMoney {
  const sum = { gross: 0n, fee: 0n, net: 0n };
  for (const total of totals) addMoney(sum, total);
  return sum;
}

/** The lines with what the merchant knows about their payments, a page at a time, and compared with the ledger once more. */
export async function* eachWalletLine(ctx: Context, statement: MerchantStatement): AsyncGenerator<WalletLine[]> {
  let balance = statement.opening;
  for await (const page of eachBareLine(ctx, statement.history)) {
    const ids = [...new Set(page.map(({ transactionId }) => transactionId))];
    const known = new Map((await readTransactions(ctx.db, ids)).map((row) => [row.id, row]));
    for (const { net } of page) balance += net;
    yield page.map((line) => ({ ...line, ...namesOf(line, known.get(line.transactionId)) }));
  }
  if (balance !== statement.closing) refuse(ctx, { holder: statement.holder.id, currency: statement.currency });
}

type LineNames = Pick<WalletLine, 'reference' | 'ownReference' | 'details'>;

function namesOf({ kind, transactionId }: BareLine, row: Transaction | undefined): LineNames {
  if (row) return { reference: refOf(row), ownReference: row.reference_1 ?? '', details: row.payee ?? row.detail };
  // What belongs to no transaction belongs to a settlement or a case; test money to nothing.
  const prefix = kind === 'settlement' || kind === 'settlement_return' ? 'set' : 'case';
  return { reference: kind === 'top_up' ? '' : publicId(prefix, transactionId), ownReference: '', details: '' };
}

/** Movements of one fact of one transaction are posted together, so they follow each other and make one line. */
async function* eachBareLine(ctx: Context, history: WalletHistory): AsyncGenerator<BareLine[]> {
  let open: BareLine | null = null;
  for await (const page of readWalletHistory(ctx.db, history)) {
    const done: BareLine[] = [];
    for (const movement of page) {
      const line = lineOf(movement);
      if (open && open.transactionId === line.transactionId && open.kind === line.kind) {
        addMoney(open, line);
        open.balance = line.balance;
      } else {
        if (open) done.push(open);
        open = line;
      }
    }
    if (done.length > 0) yield done;
  }
  if (open) yield [open];
}

function lineOf({ kind, transactionId, postedAt, net, fee, balance }: WalletMovement): BareLine {
  return { kind: LINE_KINDS[kind] ?? 'other', transactionId, postedAt, gross: net - fee, fee, net, balance };
}
