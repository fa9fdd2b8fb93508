// The figures of a day, and what keeps the day from being signed: pure.

import { formatAmount } from '../platform/money.ts';
import { addDays } from '../platform/time-zones.ts';

export const MAX_CLOSE_ITEMS = 50_000;

/** `unchanged`: no line counts on the day, so the balance is that of the day before. */
export type BalanceSource = 'line' | 'file' | 'read' | 'typed' | 'unchanged';

/** A part of the difference between the two movements of a day. */
export type CloseItem = {
  kind: string;
  /** Null: fees of the day that were posted on another day, or the other way round. */
  break_id: string | null;
  lines: number;
  difference: bigint;
};

/** The figures of a day. `theirs`: the statement; `ours`: the clearing accounts of our ledger. */
export type DayFigures = {
  connection: string;
  currency: string;
  day: string;
  from: Date;
  to: Date;
  lines: number;
  lateLines: number;
  linesIn: bigint;
  linesOut: bigint;
  fees: bigint;
  openingTheirs: bigint | null;
  closingTheirs: bigint | null;
  balanceSource: BalanceSource | null;
  openingOurs: bigint;
  closingOurs: bigint;
  items: CloseItem[];
  /** What no item explains. */
  unexplained: bigint;
};

/** Something that keeps a day from being signed. The console has a sentence for each in every language. */
export type CloseBlock =
  | { code: 'closed_already' | 'out_of_order'; next: string }
  | { code: 'not_over' | 'too_many_breaks' | 'too_large' | 'no_balance' }
  | { code: 'fees_not_booked'; lines: number }
  | { code: 'does_not_add_up'; from: bigint; to: bigint; stated: bigint }
  | { code: 'unexplained'; amount: bigint };

/** `previousDay`: the last day that is signed. `unbooked`: fees of the operator that are not in the ledger. */
export function findBlocks(
  figures: DayFigures,
  { previousDay, unbooked, now }: { previousDay: string | null; unbooked: number; now: Date },
): CloseBlock[] {
  const { day, to, openingTheirs, closingTheirs, linesIn, linesOut, fees, unexplained, items } = figures;
  const isTooLarge = [openingTheirs ?? 0n, linesIn, linesOut, fees].some((sum) => BigInt.asIntN(64, sum) !== sum);
  const blocks: CloseBlock[] = [];
  const next = previousDay === null ? day : addDays(previousDay, 1);
  if (day < next) blocks.push({ code: 'closed_already', next });
  if (day > next) blocks.push({ code: 'out_of_order', next });
  if (now < to) blocks.push({ code: 'not_over' });
  if (unbooked > 0) blocks.push({ code: 'fees_not_booked', lines: unbooked });
  if (items.length >= MAX_CLOSE_ITEMS) blocks.push({ code: 'too_many_breaks' });
  if (isTooLarge) blocks.push({ code: 'too_large' });
  if (openingTheirs === null || closingTheirs === null) blocks.push({ code: 'no_balance' });
  else {
    const sum = openingTheirs + linesIn - linesOut - fees;
    if (closingTheirs !== sum)
      blocks.push({ code: 'does_not_add_up', from: openingTheirs, to: sum, stated: closingTheirs });
  }
  if (unexplained !== 0n && unbooked === 0) blocks.push({ code: 'unexplained', amount: unexplained });
  return blocks;
}

/** In English, for terminals and programs. */
export function blockSentence(block: CloseBlock, { day, currency }: Pick<DayFigures, 'day' | 'currency'>): string {
  switch (block.code) {
    case 'closed_already':
      return `${day} is closed already. The next day to close is ${block.next}.`;
    case 'out_of_order':
      return `Days are closed in their order. The next one is ${block.next}.`;
    case 'not_over':
      return `${day} is not over yet.`;
    case 'fees_not_booked':
      return `${block.lines} fees of the operator are not booked. Apply the statement first.`;
    case 'too_many_breaks':
      return `More than ${MAX_CLOSE_ITEMS} breaks: is this the statement of this connection?`;
    case 'too_large':
      return `The sums of ${day} are larger than any account. Were other numbers read as amounts?`;
    case 'no_balance':
      return 'The statement names no closing balance. Give the one that the operator shows.';
    case 'does_not_add_up':
      return (
        `The statement does not add up: its lines lead from ${formatAmount(block.from)} to ` +
        `${formatAmount(block.to)} ${currency}, and the operator says ${formatAmount(block.stated)}. ` +
        'Lines are missing, or could not be read.'
      );
    case 'unexplained':
      return `${formatAmount(block.amount)} ${currency} of the difference is explained by no break.`;
  }
}
