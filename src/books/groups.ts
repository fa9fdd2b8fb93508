// What a statement and our ledger say of one payment, compared: pure. A payment has up to two legs: the payment itself, and its
// reversal. For each leg the lines of the statement stand against the moves of the clearing account, and what is left is a break.

import type { ClearingMove } from '../ledger/clearing.ts';
import type { MatchLeg } from './match-rules.ts';

export type BreakKind = 'missing_with_us' | 'missing_with_them' | 'amount' | 'fee' | 'state' | 'twice' | 'other_day';

/** A line that was matched with the payment, or with none. */
export type GroupLine = {
  lineKey: Buffer;
  leg: MatchLeg;
  state: 'succeeded' | 'failed' | 'pending';
  /** What it added to our account with the operator. */
  moved: bigint;
  day: string;
  currency: string;
};

/** A move of the clearing account, on its day. */
export type GroupMove = {
  leg: 'payment' | 'reversal';
  amount: bigint;
  day: string;
  currency: string;
  covered: boolean;
};

/** What does not agree. It is found under the same kind, leg, line, payment and other day each time, so it is one break. */
export type FoundBreak = {
  kind: BreakKind;
  leg: MatchLeg;
  lineKey: Buffer | null;
  currency: string;
  expected: bigint | null;
  found: bigint | null;
  /** By how much the operator's account moved more than our ledger, on `day`; the other way on `counterDay`. */
  difference: bigint;
  day: string;
  counterDay: string | null;
  /** The statement does not reach that far: a break that exists stays, and none is opened. */
  undecided?: true;
};

const PAYMENT_KINDS: readonly ClearingMove['kind'][] = [
  'collection',
  'collection_fee',
  'payout',
  'refund',
  'refund_fee',
  'suspense',
  'operator_settlement',
  'operator_settlement_fee',
  'operator_settlement_short',
  'operator_funding',
  'settlement_paid',
];

export function legOfMove(kind: ClearingMove['kind']): 'payment' | 'reversal' {
  return PAYMENT_KINDS.includes(kind) ? 'payment' : 'reversal';
}

/** `isOpen`: our transaction waits for its end, which a line that failed may be. */
export function compareGroup(lines: readonly GroupLine[], moves: readonly GroupMove[], isOpen: boolean): FoundBreak[] {
  return (['payment', 'reversal'] as const).flatMap((leg) =>
    compareLeg(
      leg,
      lines.filter((line) => line.leg === leg),
      moves.filter((move) => move.leg === leg),
      isOpen && leg === 'payment',
    ),
  );
}

function compareLeg(
  leg: 'payment' | 'reversal',
  lines: readonly GroupLine[],
  moves: readonly GroupMove[],
  isOpen: boolean,
): FoundBreak[] {
  const ours = sum(moves.map((move) => move.amount));
  const paid = lines.filter((line) => line.state === 'succeeded' && line.moved !== 0n);
  const [first] = paid;
  if (!first) return compareUnpaid(leg, lines, moves, ours, isOpen);
  const theirs = sum(paid.map((line) => line.moved));
  // In parts, and all of it: the days may differ, the money does not.
  if (theirs === ours) return otherDays(leg, paid, moves, first);
  const main = paid.find((line) => line.moved === ours) ?? first;
  const others = paid.filter((line) => line !== main).map((line) => ofLine('twice', leg, line, 0n));
  if (ours === 0n) return [ofLine('state', leg, main, 0n), ...others];
  if (main.moved === ours) return [...otherDays(leg, [main], moves, main), ...others];
  const same = { ...main, moved: ours };
  return [ofLine('amount', leg, main, ours), ...otherDays(leg, [same], moves, main), ...others];
}

/** No line says that it was paid. */
function compareUnpaid(
  leg: 'payment' | 'reversal',
  lines: readonly GroupLine[],
  moves: readonly GroupMove[],
  ours: bigint,
  isOpen: boolean,
): FoundBreak[] {
  const [denied] = lines.toSorted((line) => (line.state === 'failed' ? -1 : 1));
  const [move] = moves.toSorted((one, other) => (one.day < other.day ? -1 : 1));
  if (!move || ours === 0n) {
    if (denied?.state !== 'failed' || !isOpen) return [];
    return [{ ...ofLine('state', leg, denied, 0n), expected: null }];
  }
  const { day, currency } = move;
  const about = { leg, currency, expected: ours, difference: -ours, day, counterDay: null };
  const later = laterMoves(leg, moves, day);
  if (denied) return [{ ...about, kind: 'state', lineKey: denied.lineKey, found: 0n }, ...later];
  const missing: FoundBreak = { ...about, kind: 'missing_with_them', lineKey: null, found: null };
  // What is missing on a day that the statement has is missing, whatever our ledger did later.
  const isCovered = moves.some((each) => each.covered);
  return [missing, ...later].map((each) => (isCovered ? each : { ...each, undecided: true }));
}

/** All that is missing counts on the first day; what our ledger moved on a later one counts there. */
function laterMoves(leg: 'payment' | 'reversal', moves: readonly GroupMove[], first: string): FoundBreak[] {
  const [, ...later] = [...Map.groupBy(moves, ({ day }) => day)].sort(([one], [other]) => (one < other ? -1 : 1));
  return later.flatMap(([counterDay, own]): FoundBreak[] => {
    const difference = sum(own.map((move) => move.amount));
    const currency = own[0]?.currency ?? '';
    const about = { leg, currency, lineKey: null, expected: difference, found: null, day: first, counterDay };
    return difference === 0n ? [] : [{ ...about, kind: 'other_day', difference }];
  });
}

function ofLine(kind: BreakKind, leg: MatchLeg, line: GroupLine, expected: bigint): FoundBreak {
  const { lineKey, currency, moved, day } = line;
  return { kind, leg, lineKey, currency, expected, found: moved, difference: moved - expected, day, counterDay: null };
}

/** A line of a payment that nobody here knows. */
export function unknownLine(line: GroupLine): FoundBreak {
  return { ...ofLine('missing_with_us', line.leg, line, 0n), expected: null };
}

/** Both sides have the same money on different days: what one day has too much is paired with what another has too little. */
function otherDays(
  leg: 'payment' | 'reversal',
  lines: readonly GroupLine[],
  moves: readonly GroupMove[],
  named: GroupLine,
): FoundBreak[] {
  const days = new Map<string, bigint>();
  for (const { day, moved } of lines) days.set(day, (days.get(day) ?? 0n) + moved);
  for (const { day, amount } of moves) days.set(day, (days.get(day) ?? 0n) - amount);
  // The rest of the named day is the sum of the others, the other way round.
  const rests = [...days].filter(([day, rest]) => day !== named.day && rest !== 0n);
  return rests
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([day, rest]): FoundBreak => {
      const line = lines.find((each) => each.day === day) ?? named;
      const found = ofLine('other_day', leg, line, line.moved);
      return { ...found, day: named.day, counterDay: day, difference: -rest };
    });
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
