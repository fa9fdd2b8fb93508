// Finds a payment for the person who made it. A stranger learns nothing: an answer needs the receipt and the number, or the number, the
// exact amount and the day. Whatever is asked, the same statements run, so that "wrong details" and "not here" take the same time.

import type { Country } from '../catalog/catalog.ts';
import { listHolderIds } from '../holders/holders.ts';
import type { Reader } from '../platform/db.ts';
import { addDays } from '../platform/time-zones.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import type { PaymentsContext } from './context.ts';
import { amountOf, possibleNumbers, readPaymentText } from './payment-text.ts';
import { TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

const MAX_ANSWERS = 3;
const MAX_OF_A_NUMBER = 20;
/** The day of a payer begins at most this long before that of UTC, and ends at most this long after it. */
const EAST_MS = 4 * 3_600_000;
const WEST_MS = 1 * 3_600_000;
/** A receipt that no operator writes, so that a search without one takes as long. */
const NO_RECEIPT = '-';

/** What the payer says, as it was read. Empty lists: not said. */
export type PayerSays = {
  /** The payer's own, in every country where it is a number. */
  numbers: string[];
  receipts: string[];
  /** In hundredths, of any currency. */
  amounts: bigint[];
  days: string[];
};

/** The fields of the page, as they were typed; each may be empty. */
export type TypedClues = { text: string; receipt: string; number: string; amount: string; day: string };

/** What was typed into a field counts before what an SMS says. The number of an SMS may be the payee's: it is not taken. */
export function readClues(typed: TypedClues, countries: Iterable<Country>): PayerSays {
  const known = [...countries];
  const sms = readPaymentText(typed.text, known);
  const receipt = readPaymentText(typed.receipt, known).receipts;
  const amount = typed.amount === '' ? null : typedAmount(typed.amount);
  const { days } = readPaymentText(typed.day, known);
  return {
    numbers: possibleNumbers(typed.number, known),
    receipts: receipt.length > 0 ? receipt : sms.receipts,
    amounts: amount === null ? sms.amounts.map((each) => each.amount) : [amount],
    days: days.length > 0 ? days : sms.days,
  };
}

function typedAmount(text: string): bigint | null {
  const sms = readPaymentText(text, []).amounts[0]?.amount;
  if (sms !== undefined) return sms;
  const read = readTypedAmount(text, 'en', {});
  return read.ok ? read.amount : amountOf(text);
}

/** Whether it is enough for an answer. */
export function isEnough({ numbers, receipts, amounts, days }: PayerSays): boolean {
  return numbers.length > 0 && (receipts.length > 0 || (amounts.length > 0 && days.length > 0));
}

/** Money that arrived and whose order is not known. */
export type MoneyInSuspense = {
  rail: string;
  receipt: string;
  amount: bigint;
  currency: string;
  holderId: bigint;
  caseId: string | null;
  receivedAt: Date;
};

export type FoundPayments = {
  /** `byReceipt`: receipt and number are those of the payment, which proves the payer. */
  payments: { transaction: Transaction; byReceipt: boolean }[];
  held: MoneyInSuspense[];
  /** Messages of operators about a receipt that belongs to nothing here; they name no number, so they prove nothing. */
  unmatchedCases: string[];
};

/** Looks at the payments of all holders, money in suspense and unmatched reports. */
export function findLostPayments(ctx: PaymentsContext, says: PayerSays): Promise<FoundPayments> {
  return find(ctx, says, (known) => isSameNumber(says.numbers, known));
}

/** For the holder of the context, which sees its own rows only: the receipt is enough. */
export function findOwnPayments(own: PaymentsContext, says: PayerSays): Promise<FoundPayments> {
  return find(own, says, () => true);
}

async function find(
  ctx: PaymentsContext,
  says: PayerSays,
  isPayer: (known: readonly (string | null)[]) => boolean,
): Promise<FoundPayments> {
  const receipts = says.receipts.length > 0 ? says.receipts : [NO_RECEIPT];
  const rails = ctx.rails.names();
  const [byReceipt, incoming, unmatched, byDetails] = await Promise.all([
    findByReceipt(ctx.db, rails, receipts),
    findIncoming(ctx.db, rails, receipts),
    findUnmatched(ctx.db, rails, receipts),
    findByDetails(ctx.db, says),
  ]);
  const payers = new Map(incoming.map((each) => [each.receipt, each.payer]));
  const proven = byReceipt.filter((row) => isPayer([row.msisdn, payers.get(row.receipt ?? '') ?? null]));
  const provenIds = new Set(proven.map(({ id }) => id));
  const others = byDetails.filter(({ id }) => !provenIds.has(id));
  return {
    payments: [
      ...proven.map((transaction) => ({ transaction, byReceipt: true })),
      ...others.map((transaction) => ({ transaction, byReceipt: false })),
    ].slice(0, MAX_ANSWERS),
    held: incoming
      .filter((each) => each.outcome === 'suspense' && isPayer([each.payer]))
      .slice(0, MAX_ANSWERS)
      .map((each) => ({
        rail: each.rail,
        receipt: each.receipt,
        amount: each.amount,
        currency: each.currency,
        holderId: each.holder_id,
        caseId: each.case_id,
        receivedAt: each.received_at,
      })),
    unmatchedCases: unmatched.map(({ case_id }) => case_id),
  };
}

const MIN_SHOWN_DIGITS = 6;

/** Operators may hide the middle of a number, by any number of stars: 2547****678. What is shown must be equal, and enough of it. */
function isSameNumber(numbers: readonly string[], known: readonly (string | null)[]): boolean {
  return known.some((each) => {
    const [start = '', ...rest] = (each ?? '').replace(/^\+/, '').split(/[*•xX]+/);
    const end = rest.at(-1) ?? '';
    const isHidden = rest.length > 0;
    if (!/^\d*$/.test(start + end) || start.length + end.length < MIN_SHOWN_DIGITS) return false;
    return numbers.some((number) => (isHidden ? number.startsWith(start) && number.endsWith(end) : number === start));
  });
}

function findByReceipt(reader: Reader, rails: readonly string[], receipts: readonly string[]): Promise<Transaction[]> {
  return reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS}
     from operator_receipts r join transactions t on t.holder_id = r.holder_id and t.id = r.transaction_id
     where r.rail = any ($1::text[]) and r.receipt = any ($2::text[]) and t.direction = 'collection'
     order by t.id desc limit ${MAX_OF_A_NUMBER}`,
    [rails, receipts],
  );
}

type IncomingRow = {
  rail: string;
  receipt: string;
  amount: bigint;
  currency: string;
  payer: string | null;
  holder_id: bigint;
  outcome: string;
  case_id: string | null;
  received_at: Date;
};

function findIncoming(reader: Reader, rails: readonly string[], receipts: readonly string[]): Promise<IncomingRow[]> {
  return reader.query<IncomingRow>(
    `select rail, receipt, amount, currency, payer, holder_id, outcome, case_id, received_at
     from incoming_payments where rail = any ($1::text[]) and receipt = any ($2::text[]) limit ${MAX_OF_A_NUMBER}`,
    [rails, receipts],
  );
}

function findUnmatched(
  reader: Reader,
  rails: readonly string[],
  receipts: readonly string[],
): Promise<{ case_id: string }[]> {
  return reader.query<{ case_id: string }>(
    `select case_id from unmatched_reports
     where rail = any ($1::text[]) and receipt = any ($2::text[]) limit ${MAX_OF_A_NUMBER}`,
    [rails, receipts],
  );
}

/**
 * Number, exact amount and day. The index of numbers begins with the holder, so they are named. The day by its date and not by ids, or
 * all payments of the day would be read.
 */
async function findByDetails(reader: Reader, { numbers, amounts, days }: PayerSays): Promise<Transaction[]> {
  const [day = '2000-01-01'] = days;
  const from = new Date(new Date(`${day}T00:00:00Z`).getTime() - EAST_MS);
  const to = new Date(new Date(`${addDays(day, 1)}T00:00:00Z`).getTime() + WEST_MS);
  return reader.query<Transaction>(
    `select ${TRANSACTION_COLUMNS} from transactions t
     where t.holder_id = any ($5::bigint[]) and t.msisdn = any ($1::text[]) and t.created_at >= $3 and t.created_at < $4
       and t.direction = 'collection' and t.amount = any ($2::bigint[])
     order by t.id desc limit ${MAX_ANSWERS}`,
    [numbers, amounts.length > 0 ? amounts : [-1n], from, to, await listHolderIds(reader)],
  );
}
