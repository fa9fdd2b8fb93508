// Money that payers send to a till, a pay bill or a bank account: the instructions for the payer, and the payments that
// arrived. A payment is matched to a transaction by its account reference; a payment that matches none, or has another amount,
// is held in suspense and opens a case.
//
// An operator reports such a payment twice, in either order: that money came in (receivePayments), and that the
// transaction succeeded (applyOutcomes). Both use the same receipt (receipts.ts), so the second finds what the first did.

import { suspenseReceived, type Transfer } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { createHolderUuid, NO_HOLDER } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import type { CallbackReading, PayInstructions } from '../rails/rail.ts';
import { type NewCase, openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import type { BadReport } from './quarantine.ts';
import { type CaseKind, isFinal, type Outcome } from './states.ts';
import { lockTransactions, TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

/** An account reference may have been given out many times; only the newest orders can still be meant. */
const NEWEST_ORDERS = 50;

/** Where the payer must pay. */
export type Instructions = PayInstructions;

export type IncomingPayment = CallbackReading & { kind: 'payment_received' } & { rail: string; raw: string };

type Match = {
  payment: IncomingPayment;
  transaction: Transaction | null;
  /** Why it is held in suspense; null: it settles the transaction. */
  caseKind: CaseKind | null;
  /** What its receipt is used for; null: its case. */
  settles: string | null;
  /** Whose ledger accounts it is posted to. */
  holderId: bigint;
  /** Money that matches no transaction is posted in the ledger under the id of its case. */
  caseId: string | null;
};

export type ReceivedPayments = {
  /** Of payments that match a transaction. */
  outcomes: Outcome[];
  /** Transfers of the others into suspense. */
  held: Transfer[][];
  /** Receipts that were reported before with another amount or reference. The first report counts. */
  disputed: BadReport[];
};

/**
 * Records payments that arrived. Their outcomes and transfers go to applyOutcomes in the same `tx`, before the
 * outcomes of the transactions `others`: those are locked here too, so that all locks are taken in one order.
 */
export async function receivePayments(
  tx: Tx,
  ctx: PaymentsContext,
  reported: IncomingPayment[],
  others: string[],
): Promise<ReceivedPayments> {
  if (reported.length === 0) return { outcomes: [], held: [], disputed: [] };
  const at = ctx.clock.now();
  const payments = [...new Map(reported.toReversed().map((payment) => [receiptKey(payment), payment])).values()];
  const expected = await lockExpected(tx, payments, others);
  const matched = new Set<string>();
  const matches = payments.map((payment): Match => {
    const transaction = meantOrder(payment, expected.get(expectedKey(payment)) ?? [], matched);
    const caseKind = match(payment, transaction, matched);
    const holderId = transaction?.holder_id ?? NO_HOLDER;
    const caseId = caseKind === null ? null : createHolderUuid(at.getTime(), holderId);
    const settles = caseKind === null ? (transaction?.id ?? null) : null;
    return { payment, transaction, caseKind, settles, holderId, caseId };
  });
  const isNew = await claimOnce(tx, matches, at);
  const fresh = matches.filter((_, index) => isNew[index]);
  const repeated = matches.filter((_, index) => !isNew[index]);
  await insertPayments(tx, [...fresh, ...(await compareWithBooked(tx, ctx, repeated))], at);
  const held = await holdInSuspense(tx, ctx, fresh);
  const disputed = await findDisputed(tx, reported, repeated.length > 0 || payments.length < reported.length);
  const outcomes = fresh.flatMap(({ payment, transaction, caseKind }): Outcome[] => {
    if (!transaction || caseKind !== null) return [];
    const { receipt, amount, currency, raw, rail } = payment;
    const observation = { state: 'succeeded' as const, receipt, amount, currency };
    return [{ transactionId: transaction.id, source: 'callback', observation, raw, rail }];
  });
  return { outcomes, held, disputed };
}

function receiptKey({ rail, receipt }: { rail: string; receipt: string }): string {
  return `${rail} ${receipt}`;
}

/** What an operator said of a receipt after it had said something else of it. `mayDiffer` false: every receipt is new. */
async function findDisputed(tx: Tx, reported: IncomingPayment[], mayDiffer: boolean): Promise<BadReport[]> {
  if (!mayDiffer) return [];
  const rows = await tx.query<
    Pick<IncomingPayment, 'rail' | 'receipt' | 'amount' | 'currency'> & { reference: string }
  >(
    `select rail, receipt, account_reference as reference, amount, currency
     from unnest($1::text[], $2::text[]) as said (rail, receipt) join incoming_payments using (rail, receipt)`,
    [reported.map((payment) => payment.rail), reported.map((payment) => payment.receipt)],
  );
  const known = new Map(rows.map((row) => [receiptKey(row), row]));
  return reported.flatMap((payment): BadReport[] => {
    const { rail, receipt, accountReference: reference, amount, currency, raw } = payment;
    const first = known.get(receiptKey(payment));
    if (!first || (first.reference === reference && first.amount === amount && first.currency === currency)) return [];
    const error = `receipt ${receipt} was reported before: ${receivedText(first)} for ${first.reference}`;
    return [{ rail, source: 'callback', reference, transactionId: null, error, raw }];
  });
}

/** The orders that payments with these references could be for. Locks them, and `others`, in one order. */
async function lockExpected(
  tx: Tx,
  payments: IncomingPayment[],
  others: string[],
): Promise<Map<string, Transaction[]>> {
  const said = [...new Map(payments.map((payment) => [expectedKey(payment), payment])).values()];
  const instructions = await tx.query<{ id: string; account_reference: string }>(
    `select newest.* from unnest($1::text[], $2::text[]) as said (rail, account_reference)
     cross join lateral (
       select p.transaction_id as id, p.account_reference from payment_instructions p
       where p.rail = said.rail and p.account_reference = said.account_reference
       order by p.transaction_id desc limit ${NEWEST_ORDERS}) newest`,
    [said.map((payment) => payment.rail), said.map((payment) => payment.accountReference)],
  );
  const wanted = Map.groupBy(instructions, ({ id }) => id);
  const rows = await lockTransactions(tx, [...new Set([...wanted.keys(), ...others])]);
  const expected = new Map<string, Transaction[]>();
  for (const row of rows)
    for (const { account_reference: accountReference } of wanted.get(row.id) ?? []) {
      const key = expectedKey({ rail: row.rail, accountReference });
      expected.set(key, [...(expected.get(key) ?? []), row]);
    }
  return expected;
}

/**
 * Which of the orders with its reference a payment is for: one of its amount that still waits, else the one that waits or is the
 * newest. A till shows only parts of the payer's number, so that two payers can share a reference: when both owe this amount,
 * nobody can tell whose payment it is, and people decide.
 */
function meantOrder(
  { amount, currency }: Pick<IncomingPayment, 'amount' | 'currency'>,
  orders: readonly Transaction[],
  taken: ReadonlySet<string>,
): Transaction | null {
  const sorted = orders.toSorted((order, other) => (isMeantBefore(order, other) ? -1 : 1));
  const exact = sorted.filter(
    (order) => !isFinal(order.status) && !taken.has(order.id) && order.amount === amount && order.currency === currency,
  );
  if (new Set(exact.map((order) => order.msisdn)).size > 1) return null;
  return exact[0] ?? sorted[0] ?? null;
}

/** The order that a payment with this account reference would be for; null: there is none. Nothing is locked. */
export async function findExpected(
  reader: Reader,
  rail: string,
  payment: Pick<IncomingPayment, 'accountReference' | 'amount' | 'currency'>,
): Promise<{ transaction: Transaction; expiresAt: Date } | null> {
  const rows = await reader.query<Transaction & { expires_at: Date }>(
    `select ${TRANSACTION_COLUMNS}, newest.expires_at
     from (select p.holder_id, p.transaction_id as id, p.expires_at from payment_instructions p
           where p.rail = $1 and p.account_reference = $2 order by p.transaction_id desc limit ${NEWEST_ORDERS}) newest
     join transactions t using (holder_id, id)`,
    [rail, payment.accountReference],
  );
  const expiry = new Map(rows.map(({ id, expires_at: expiresAt }) => [id, expiresAt]));
  const transaction = meantOrder(payment, rows, new Set());
  const expiresAt = expiry.get(transaction?.id ?? '');
  return transaction && expiresAt ? { transaction, expiresAt } : null;
}

function expectedKey({ rail, accountReference }: { rail: string; accountReference: string }): string {
  return `${rail} ${accountReference}`;
}

/** An order that still waits for its payment is meant before one that has ended, then the newer one. */
function isMeantBefore(row: Transaction, other: Transaction): boolean {
  if (isFinal(row.status) !== isFinal(other.status)) return isFinal(other.status);
  return row.id > other.id;
}

function match(payment: IncomingPayment, transaction: Transaction | null, matched: Set<string>): CaseKind | null {
  if (!transaction) return 'unknown_reference';
  if (payment.amount !== transaction.amount || payment.currency !== transaction.currency) return 'wrong_amount';
  const paid = transaction.status === 'success' || transaction.status === 'reversed';
  // A success without a receipt was this payment: the receipt is attached to it.
  const paidByAnother = paid && transaction.receipt !== null && transaction.receipt !== payment.receipt;
  if (paidByAnother || matched.has(transaction.id)) return 'second_payment';
  matched.add(transaction.id);
  return null;
}

const INCOMING = columns<Match>(2, {
  rail: ['text', ({ payment }) => payment.rail],
  receipt: ['text', ({ payment }) => payment.receipt],
  account_reference: ['text', ({ payment }) => payment.accountReference],
  amount: ['bigint', ({ payment }) => payment.amount],
  currency: ['text', ({ payment }) => payment.currency],
  payer: ['text', ({ payment }) => payment.payer],
  holder_id: ['bigint', (entry) => entry.holderId],
  transaction_id: ['uuid', ({ settles, transaction }) => settles ?? transaction?.id ?? null],
  outcome: ['text', ({ settles }) => (settles === null ? 'suspense' : 'matched')],
  case_id: ['uuid', ({ caseId }) => caseId],
});

const CLAIMS = columns<Match>(2, {
  rail: ['text', ({ payment }) => payment.rail],
  receipt: ['text', ({ payment }) => payment.receipt],
  holder_id: ['bigint', (entry) => entry.holderId],
  transaction_id: ['uuid', ({ settles }) => settles],
  case_id: ['uuid', ({ caseId }) => caseId],
});

/** A receipt is used once, however often and by whatever message the operator reports it. */
async function claimOnce(tx: Tx, matches: Match[], at: Date): Promise<boolean[]> {
  const rows = await tx.query<{ rail: string; receipt: string }>(
    `insert into operator_receipts (${CLAIMS.names}, at) select ${CLAIMS.names}, $1 from ${CLAIMS.rows} order by rail, receipt
     on conflict do nothing returning rail, receipt`,
    [at, ...CLAIMS.arrays(matches)],
  );
  const fresh = new Set(rows.map(receiptKey));
  return matches.map(({ payment }) => fresh.delete(receiptKey(payment)));
}

async function insertPayments(tx: Tx, matches: Match[], at: Date): Promise<void> {
  if (matches.length === 0) return;
  await tx.query(
    `insert into incoming_payments (${INCOMING.names}, received_at)
     select ${INCOMING.names}, $1 from ${INCOMING.rows} order by rail, receipt on conflict do nothing`,
    [at, ...INCOMING.arrays(matches)],
  );
}

type Booked = Pick<Transaction, 'amount' | 'currency'> & {
  rail: string;
  receipt: string;
  holder_id: bigint;
  transaction_id: string | null;
  case_id: string | null;
};

/**
 * Payments whose receipt was used before. Most are repetitions. A success that came first, without an incoming payment, is
 * compared with it: a different amount, or another transaction, is a case. Returns those that are to be recorded.
 */
async function compareWithBooked(tx: Tx, ctx: PaymentsContext, repeated: Match[]): Promise<Match[]> {
  if (repeated.length === 0) return [];
  const rows = await tx.query<Booked>(
    `select r.rail, r.receipt, r.holder_id, r.transaction_id, r.case_id, t.amount, t.currency
     from unnest($1::text[], $2::text[]) as said (rail, receipt) join operator_receipts r using (rail, receipt)
     left join transactions t on t.holder_id = r.holder_id and t.id = r.transaction_id
     where not exists (select from incoming_payments i where i.rail = r.rail and i.receipt = r.receipt)`,
    [repeated.map(({ payment }) => payment.rail), repeated.map(({ payment }) => payment.receipt)],
  );
  const booked = new Map(rows.map((row) => [receiptKey(row), row]));
  const cases: NewCase[] = [];
  const kept = repeated.flatMap((entry): Match[] => {
    const use = booked.get(receiptKey(entry.payment));
    if (!use) return [];
    cases.push(...disputesOf(entry, use));
    return [{ ...entry, settles: use.transaction_id, holderId: use.holder_id, caseId: use.case_id }];
  });
  await openCases(tx, ctx, cases);
  return kept;
}

function disputesOf({ payment, transaction }: Match, use: Booked): NewCase[] {
  const detail = { receipt: payment.receipt, reference: payment.accountReference, received: receivedText(payment) };
  const cases: NewCase[] = [];
  if (use.transaction_id !== null && (use.amount !== payment.amount || use.currency !== payment.currency))
    cases.push({ holderId: use.holder_id, transactionId: use.transaction_id, kind: 'amount_mismatch', detail });
  if (transaction && transaction.id !== use.transaction_id)
    cases.push({ holderId: transaction.holder_id, transactionId: transaction.id, kind: 'receipt_used', detail });
  return cases;
}

function receivedText({ currency, amount }: { currency: string; amount: bigint }): string {
  return `${currency} ${formatAmount(amount)}`;
}

async function holdInSuspense(tx: Tx, ctx: PaymentsContext, unmatched: Match[]): Promise<Transfer[][]> {
  const entries = unmatched.flatMap((entry) => (entry.caseId === null ? [] : [{ ...entry, caseId: entry.caseId }]));
  await openCases(
    tx,
    ctx,
    entries.map(({ payment, transaction, caseKind, holderId, caseId }) => ({
      id: caseId,
      holderId,
      transactionId: transaction?.id ?? null,
      kind: caseKind ?? 'unknown_reference',
      money: { amount: payment.amount, currency: payment.currency, rail: payment.rail },
      detail: {
        receipt: payment.receipt,
        reference: payment.accountReference,
        received: receivedText(payment),
        ...(transaction ? { expected: receivedText(transaction) } : {}),
      },
    })),
  );
  return entries.map(({ payment: { currency, amount, rail }, holderId, caseId }) =>
    suspenseReceived({ holderId, transactionId: caseId, currency, amount, rail }),
  );
}

/**
 * For the statement that accepts collections. `input` are new collections, `accepted` the ids of those that are written. A prompt
 * that is also reported as money received is known by its reference before it is sent: nobody is shown where to pay.
 */
export const EXPECT_CONFIRMATIONS = `
  insert into payment_instructions (account_reference, holder_id, transaction_id, rail, pay_to, expires_at)
  select account_reference, holder_id, id, rail, 'null', $1 + interval '1 day'
  from input where account_reference is not null and id in (select id from accepted)`;

export type NewInstructions = { row: Transaction; instructions: PayInstructions };

const INSTRUCTIONS = columns<NewInstructions>(1, {
  account_reference: ['text', ({ instructions }) => instructions.accountReference],
  holder_id: ['bigint', ({ row }) => row.holder_id],
  transaction_id: ['uuid', ({ row }) => row.id],
  rail: ['text', ({ row }) => row.rail],
  pay_to: ['jsonb', ({ instructions }) => JSON.stringify(instructions.payTo)],
  expires_at: ['timestamptz', ({ instructions }) => instructions.expiresAt],
});

/** Keeps the pay instructions of transactions. Incoming money is matched by their account reference. */
export async function insertInstructions(tx: Tx, rows: NewInstructions[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(
    `insert into payment_instructions (${INSTRUCTIONS.names}) select ${INSTRUCTIONS.names} from ${INSTRUCTIONS.rows}
     on conflict do nothing`,
    INSTRUCTIONS.arrays(rows),
  );
}

/** The pay instructions of a transaction; null where the payer confirms on the phone, and until the operator has answered. */
export async function findInstructions(
  reader: Reader,
  holderId: bigint,
  transactionId: string,
): Promise<PayInstructions | null> {
  const [row] = await reader.query<{ account_reference: string; pay_to: PayInstructions['payTo']; expires_at: Date }>(
    `select account_reference, pay_to, expires_at from payment_instructions
     where holder_id = $1 and transaction_id = $2 and pay_to <> 'null' order by expires_at desc limit 1`,
    [holderId, transactionId],
  );
  return row ? { payTo: row.pay_to, accountReference: row.account_reference, expiresAt: row.expires_at } : null;
}
