// Which payment a line of a statement is about. The rules, the strongest first:
//
//   reference           the line has our reference, in any form that a rail sends it in
//   receipt             the operator's receipt, or the linked one of a reversal, was used for a transaction or a case
//   account_reference   the line has what the payer was shown or typed
//   refund_of           money out under the name of a collection, with the amount of a refund of it
//   operator_reference  the line has the operator's own id of the request
//   number              amount, number (also masked) and time, when exactly one payment and one line fit
//   settlement          money between an operator and our bank, or from our bank to a holder's: settlement-matching.ts
//
// `operator_reference` and `number` read all payments of some time, so they are asked only about lines that no other rule has matched.

import {
  type Candidate,
  findCandidates,
  findOrders,
  findReceiptUses,
  findRefunds,
  readSubjects,
  type StatementClue,
  type StatementSubject,
} from '../payments/statement-lookups.ts';
import { idFromRef } from '../payments/transactions.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Reader } from '../platform/db.ts';
import { isUuid, NO_HOLDER } from '../platform/ids.ts';
import { referenceOfCompact, referenceOfUuid4 } from '../rails/wire-ids.ts';
import type { OperatorLine } from './statement-lines.ts';

/** A payment reaches the operator's books within a day of its order, and before we hear of its end; clocks may differ. */
const NUMBER_WINDOW_MS = DAY_MS;
const CLOCKS_DIFFER_MS = 10 * 60_000;
const HEX_UUID = /^[0-9a-f]{32}$/;
const MAX_REFERENCE = 100;

export type MatchRule =
  | 'reference'
  | 'account_reference'
  | 'receipt'
  | 'operator_reference'
  | 'refund_of'
  | 'number'
  | 'settlement';
export type MatchLeg = 'payment' | 'reversal' | 'fee';

export type LineMatch = {
  line: OperatorLine;
  leg: MatchLeg;
  holderId: bigint;
  transactionId: string | null;
  /** The case that holds its money in suspense. */
  caseId: string | null;
  method: string | null;
  rule: MatchRule;
};

type Found = { subject: StatementSubject; rule: MatchRule } | { caseId: string; rule: MatchRule };

/** Which legs ("<id> <leg>") of transactions have a line already. */
type TakenLegs = (ids: string[]) => Promise<ReadonlySet<string>>;

/** What a page of lines is about, by the rules that need no search. Lines that none of them matches are absent. */
export async function matchByIds(
  reader: Reader,
  connection: string,
  lines: readonly OperatorLine[],
  takenLegs: TakenLegs,
): Promise<LineMatch[]> {
  const own = lines.map((line) => ownIds(line));
  const receipts = [...new Set(lines.flatMap(({ receipt, reference }) => [receipt ?? [], reference ?? []].flat()))];
  const typed = [...new Set(lines.flatMap(({ reference }) => (reference ? accountReferences(reference) : [])))];
  const [uses, orders] = await Promise.all([
    findReceiptUses(reader, connection, receipts),
    findOrders(reader, connection, typed),
  ]);
  const usesOf = Map.groupBy(uses, (use) => use.receipt);
  const ordersOf = Map.groupBy(orders, (order) => order.reference);
  const ids = [...own.flat(), ...uses.flatMap((use) => use.transaction_id ?? []), ...orders.map((order) => order.id)];
  const rows = await readSubjects(reader, connection, [...new Set(ids)]);
  const subjects = new Map(rows.map((row) => [row.id, row]));
  const found = lines.flatMap((line, index): LineMatch[] => {
    const best =
      byReceipt(line, line.receipt, usesOf, subjects, own[index] ?? []) ??
      byOwnId(line, own[index] ?? [], subjects) ??
      byReceipt(line, line.reference, usesOf, subjects, []) ??
      byAccountReference(line, ordersOf, subjects);
    return best ? [toMatch(line, best)] : [];
  });
  return await redirectToRefunds(reader, found, takenLegs);
}

/** Our own ids in the two fields of a line, in every form that rails send them in. */
function ownIds({ reference, receipt }: OperatorLine): string[] {
  const ids = [reference, receipt].flatMap((text) => {
    if (!text || text.length > MAX_REFERENCE) return [];
    const trimmed = text.trim();
    const compact = referenceOfCompact(trimmed);
    if (compact) return [idFromRef(compact) ?? []].flat();
    const lower = trimmed.toLowerCase();
    const uuid = HEX_UUID.test(lower) ? lower.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') : lower;
    if (!isUuid(uuid)) return [];
    const forms = [referenceOfUuid4(uuid, 'TX'), referenceOfUuid4(uuid, 'RF')].flatMap((form) =>
      form === null ? [] : (idFromRef(form) ?? []),
    );
    // Ours are of version 7 or 8; on the wire they have version 4.
    return forms.length > 0 ? forms : [uuid];
  });
  return [...new Set(ids)];
}

/** As payers type them, and as prompts show them. */
function accountReferences(reference: string): string[] {
  const text = reference.trim().slice(0, MAX_REFERENCE);
  return [...new Set([text, text.toUpperCase(), text.replace(/[^A-Za-z0-9]/g, '').toUpperCase()])].filter(Boolean);
}

function byOwnId(line: OperatorLine, ids: string[], subjects: ReadonlyMap<string, StatementSubject>): Found | null {
  const subject = ids.flatMap((id) => subjects.get(id) ?? []).find((each) => each.currency === line.currency);
  return subject ? { subject, rule: 'reference' } : null;
}

/** A receipt in suspense is its case's, also when the line names a payment that another receipt has paid. */
function byReceipt(
  line: OperatorLine,
  receipt: string | null,
  usesOf: ReadonlyMap<string, Awaited<ReturnType<typeof findReceiptUses>>>,
  subjects: ReadonlyMap<string, StatementSubject>,
  own: readonly string[],
): Found | null {
  const uses = receipt === null ? [] : (usesOf.get(receipt) ?? []);
  const fitting = uses
    .flatMap((use) => subjects.get(use.transaction_id ?? '') ?? [])
    .filter((subject) => subject.currency === line.currency);
  const subject =
    fitting.find((each) => own.includes(each.id)) ?? fitting.find((each) => each.amount === line.gross) ?? fitting[0];
  if (subject) return { subject, rule: own.includes(subject.id) ? 'reference' : 'receipt' };
  const held = uses.find((use) => use.transaction_id === null && use.case_id !== null);
  return held?.case_id ? { caseId: held.case_id, rule: 'receipt' } : null;
}

/** Several orders can have one account reference: then the amount must tell which is meant. */
function byAccountReference(
  line: OperatorLine,
  ordersOf: ReadonlyMap<string, { id: string }[]>,
  subjects: ReadonlyMap<string, StatementSubject>,
): Found | null {
  if (!line.reference) return null;
  const orders = accountReferences(line.reference).flatMap((reference) => ordersOf.get(reference) ?? []);
  const ids = [...new Set(orders.map((order) => order.id))];
  const known = ids.flatMap((id) => subjects.get(id) ?? []).filter((each) => each.currency === line.currency);
  const free = known.filter((each) => each.receipt === null || line.receipt === null || each.receipt === line.receipt);
  const exact = free.filter((each) => each.amount === line.gross);
  const [only, another] = exact.length > 0 ? exact : free;
  return only && !another ? { subject: only, rule: 'account_reference' } : null;
}

function toMatch(line: OperatorLine, found: Found): LineMatch {
  if ('caseId' in found) {
    const { caseId, rule } = found;
    const leg = legOf(line, 'collection');
    return { line, leg, holderId: NO_HOLDER, transactionId: null, caseId, method: null, rule };
  }
  const { id, holder_id: holderId, method, direction } = found.subject;
  return {
    line,
    leg: legOf(line, direction),
    holderId,
    transactionId: id,
    caseId: null,
    method,
    rule: found.rule,
  };
}

/** A collection comes in and is reversed by money out; payouts and refunds the other way round. */
function legOf({ kind, direction }: OperatorLine, of: StatementSubject['direction']): MatchLeg {
  if (kind === 'fee') return 'fee';
  return (of === 'collection') === (direction === 'in') ? 'payment' : 'reversal';
}

/** Of several refunds with one amount: what was paid has a line before what may still be paid. */
const PAID_FIRST: readonly string[] = ['success', 'processing', 'pending', 'failed'];
/** Such a refund explains money that left only where nothing else does. */
const NOT_PAID: readonly string[] = ['pending', 'failed'];

/** Operators name the collection where they give it back for us. Each refund takes one line, the paid and then the oldest first. */
async function redirectToRefunds(reader: Reader, matches: LineMatch[], takenLegs: TakenLegs): Promise<LineMatch[]> {
  const reversals = matches.filter(({ leg, line }) => leg === 'reversal' && line.direction === 'out');
  const ids = [...new Set(reversals.flatMap(({ transactionId }) => transactionId ?? []))];
  const found = await findRefunds(reader, ids);
  if (found.length === 0) return matches;
  const lined = await takenLegs(found.map((refund) => refund.id));
  const refunds = found
    .filter((refund) => !lined.has(`${refund.id} payment`))
    .filter((refund) => !refund.given_back || !NOT_PAID.includes(refund.status))
    .toSorted((one, other) => PAID_FIRST.indexOf(one.status) - PAID_FIRST.indexOf(other.status));
  const taken = new Set(matches.flatMap(({ transactionId }) => transactionId ?? []));
  return matches.map((match) => {
    if (!reversals.includes(match)) return match;
    const refund = refunds.find(
      (each) => each.collection_id === match.transactionId && each.amount === match.line.gross && !taken.has(each.id),
    );
    if (!refund) return match;
    taken.add(refund.id);
    return { ...match, transactionId: refund.id, leg: 'payment', rule: 'refund_of' };
  });
}

/**
 * Matches by the operator's id of the request, then by amount, number and time. `hasRival` says of which lines another one has
 * the same clues.
 */
export async function matchBySearch(
  reader: Reader,
  connection: string,
  lines: readonly OperatorLine[],
  hasRival: (line: OperatorLine) => boolean,
  takenLegs: TakenLegs,
): Promise<LineMatch[]> {
  const candidates = await findCandidates(reader, connection, lines.map(clueOf));
  const taken = await takenLegs([...new Set(candidates.map(({ id }) => id))]);
  const ofLine = Map.groupBy(candidates, (candidate) => candidate.place);
  const matches = lines.flatMap((line, place): LineMatch[] => {
    const fitting = (ofLine.get(place) ?? []).filter(
      (each) => mayBeOf(line, each) && !taken.has(`${each.id} ${legOf(line, each.direction)}`),
    );
    const named = new Map(fitting.filter(({ by }) => by === 'operator_reference').map((each) => [each.id, each]));
    const numbered = new Map(fitting.filter(({ by }) => by === 'number').map((each) => [each.id, each]));
    const [subject] = named.size === 1 ? named.values() : [];
    if (subject) return [toMatch(line, { subject, rule: 'operator_reference' })];
    const [unique] = numbered.size === 1 && !hasRival(line) ? numbered.values() : [];
    return unique ? [toMatch(line, { subject: unique, rule: 'number' })] : [];
  });
  // One payment that two lines fit belongs to neither, as far as we can tell.
  const times = Map.groupBy(matches, ({ transactionId, leg }) => `${transactionId} ${leg}`);
  return matches.filter(
    ({ rule, transactionId, leg }) => rule !== 'number' || times.get(`${transactionId} ${leg}`)?.length === 1,
  );
}

function clueOf(line: OperatorLine, place: number): StatementClue {
  const at = line.occurredAt.getTime();
  return {
    place,
    directions: line.direction === 'in' ? ['collection'] : ['payout', 'refund'],
    amount: line.gross,
    currency: line.currency,
    ending: endingOf(line.msisdn),
    operatorReference: line.reference ?? line.receipt,
    from: new Date(at - NUMBER_WINDOW_MS),
    to: new Date(at + CLOCKS_DIFFER_MS),
    endedFrom: new Date(at - CLOCKS_DIFFER_MS),
  };
}

/** The last three digits, if the line shows them. */
export function endingOf(number: string | null): string {
  return /\d{3}$/.exec(number?.trim() ?? '')?.[0] ?? '';
}

/** Neither side knows something that the other one denies: the receipt, or the number. */
function mayBeOf(line: OperatorLine, { by, receipt, msisdn }: Candidate): boolean {
  if (receipt !== null && line.receipt !== null && receipt !== line.receipt) return false;
  return by === 'operator_reference' || sameNumber(line.msisdn, msisdn);
}

/** Compares a number that may be masked, with or without its dial code, with ours. */
export function sameNumber(shown: string | null, ours: string | null): boolean {
  if (!shown || !ours) return false;
  const text = shown.replace(/[\s+()-]/g, '');
  const [, start = '', masked = '', end = ''] = /^(\d*)([^\d]*)(\d*)$/.exec(text) ?? [];
  if (masked === '') {
    const national = start.replace(/^0+/, '');
    return national.length >= 8 && ours.endsWith(national);
  }
  const visible = start.startsWith('0') ? start.slice(1) : start;
  const begins = ours.startsWith(visible) || (start.startsWith('0') && ours.slice(3).startsWith(visible));
  return end.length >= 3 && begins && ours.endsWith(end);
}
