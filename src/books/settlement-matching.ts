// Lines of statements that are settlements: at an operator those of its kind, at a bank any line that moves money. A line is that of a
// booking when it names the booking's reference, or when exactly one line and one booking fit in amount, direction and time.

import { isBankPlace } from '../ledger/chart.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Reader } from '../platform/db.ts';
import { holderOfUuid, publicId } from '../platform/ids.ts';
import type { LineMatch } from './match-rules.ts';
import type { OperatorLine } from './statement-lines.ts';

/** A transfer between an operator and a bank takes some days; it may be booked long after it, under its reference. */
const WINDOW_MS = 5 * DAY_MS;
const REFERENCE_WINDOW_MS = 60 * DAY_MS;
/** A shorter reference is in too many texts. */
const MIN_REFERENCE = 5;

type BookedMove = {
  id: string;
  currency: string;
  direction: OperatorLine['direction'];
  amount: bigint;
  references: string[];
  at: Date;
};

export async function matchSettlements(
  reader: Reader,
  place: string,
  lines: readonly OperatorLine[],
): Promise<LineMatch[]> {
  const wanted = lines.filter((line) => isCandidate(place, line));
  const [first, last] = [wanted[0], wanted.at(-1)];
  if (!first || !last) return [];
  const span = {
    from: new Date(first.occurredAt.getTime() - REFERENCE_WINDOW_MS),
    to: new Date(last.occurredAt.getTime() + REFERENCE_WINDOW_MS),
  };
  const booked = await readBooked(reader, place, span);
  const free = new Map(booked.map((move) => [move.id, move]));
  const found: LineMatch[] = [];
  const take = (line: OperatorLine, move: BookedMove) => {
    free.delete(move.id);
    const { id: transactionId } = move;
    const holderId = holderOfUuid(transactionId);
    found.push({ line, leg: 'payment', holderId, transactionId, caseId: null, method: null, rule: 'settlement' });
  };
  for (const line of wanted) {
    const named = [...free.values()].filter((move) => sameSide(line, move) && isNamedBy(move, line));
    const [only, another] = named;
    if (only && !another) take(line, only);
  }
  const matched = new Set(found.map(({ line }) => line));
  const left = wanted.filter((line) => !matched.has(line));
  for (const line of left) {
    const fits = (move: BookedMove) => sameSide(line, move) && move.amount === line.gross && isNear(line, move);
    const [only, another] = [...free.values()].filter(fits);
    const rivals = only ? left.filter((each) => sameSide(each, only) && each.gross === only.amount) : [];
    if (only && !another && rivals.length === 1) take(line, only);
  }
  return found;
}

function isCandidate(place: string, { kind, state, gross }: OperatorLine): boolean {
  if (state !== 'succeeded' || gross === 0n) return false;
  return isBankPlace(place) ? kind !== 'fee' : kind === 'settlement';
}

const sameSide = (line: OperatorLine, move: BookedMove) =>
  line.currency === move.currency && line.direction === move.direction;
const isNear = (line: OperatorLine, move: BookedMove) =>
  Math.abs(line.occurredAt.getTime() - move.at.getTime()) <= WINDOW_MS;

function isNamedBy({ references }: BookedMove, { receipt, reference, description }: OperatorLine): boolean {
  const texts = [receipt, reference].flatMap((text) => text?.trim().toUpperCase() ?? []);
  const shown = description.toUpperCase();
  return references.some((each) => {
    const name = each.trim().toUpperCase();
    return texts.includes(name) || (name.length >= MIN_REFERENCE && hasWord(shown, name));
  });
}

/** As a word of its own: "TRF 1234567" names 1234567, and 12345678 does not. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.charAt(at + word.length)];
    if (!/[A-Z0-9]/.test(before) && !/[A-Z0-9]/.test(after)) return true;
  }
  return false;
}

type BookedRow = Omit<BookedMove, 'references'> & { reference: string };

/** What was booked at this place around some time and has no line yet. Into our account: `in`. */
async function readBooked(
  reader: Reader,
  place: string,
  { from, to }: { from: Date; to: Date },
): Promise<BookedMove[]> {
  const sql = isBankPlace(place) ? AT_BANK : AT_OPERATOR;
  const rows = await reader.query<BookedRow>(
    `select * from (${sql}) as booked
     where not exists (select from statement_matches m where m.connection = $1 and m.transaction_id = booked.id) order by at, id`,
    [place, from, to],
  );
  return rows.map(({ reference, ...row }) => ({ ...row, references: [reference, publicId('set', row.id)] }));
}

const AT_OPERATOR = `
  select id, currency, case direction when 'to_bank' then 'out' else 'in' end as direction, amount, reference, posted_at as at
  from operator_settlements where connection = $1 and posted_at between $2 and $3`;

const AT_BANK = `
  select id, currency, case direction when 'to_bank' then 'in' else 'out' end as direction, received as amount, reference, posted_at as at
  from operator_settlements where 'bank.' || bank = $1 and posted_at between $2 and $3
  union all
  select id, currency, 'out', amount, bank_reference, ended_at
  from settlements where 'bank.' || bank = $1 and status = 'paid' and ended_at between $2 and $3`;
