// Money that payers send to a till, a pay bill or a bank account: the instructions for the payer, the payments that arrived,
// and the receipts that prevent posting one twice. A payment is matched to a transaction by its account reference; a payment
// that matches none, or has another amount, is held in suspense and opens a case.
//
// An operator reports such a payment twice, in either order: that money came in (receivePayments), and that the
// transaction succeeded (claimReceipts). The second report finds the receipt of the first.

import { suspenseReceived, suspenseReturned, type Transfer } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { createHolderUuid, holderOfUuid, NO_HOLDER } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import type { CallbackReading, PayInstructions } from '../rails/rail.ts';
import { openCases, settleCaseMoney } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import type { CaseKind, Outcome } from './states.ts';
import { TRANSACTION_COLUMNS, TRANSACTION_KEYS, type Transaction } from './transactions.ts';

/** Where the payer must pay. */
export type Instructions = PayInstructions;

export type IncomingPayment = CallbackReading & { kind: 'payment_received' } & { rail: string; raw: string };

type Match = {
  payment: IncomingPayment;
  transaction: Transaction | null;
  /** Why it is held in suspense; null: it settles the transaction. */
  caseKind: CaseKind | null;
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
};

/**
 * Records payments that arrived. Their outcomes and transfers go to applyOutcomes in the same `tx`, together with the
 * outcomes of the transactions `others`: those are locked here too, so that all locks are taken in one order.
 */
export async function receivePayments(
  tx: Tx,
  ctx: PaymentsContext,
  reported: IncomingPayment[],
  others: string[],
): Promise<ReceivedPayments> {
  if (reported.length === 0) return { outcomes: [], held: [] };
  const at = ctx.clock.now();
  const payments = [...new Map(reported.map((payment) => [`${payment.rail} ${payment.receipt}`, payment])).values()];
  const expected = await lockExpected(tx, payments, others);
  const matched = new Set<string>();
  const matches = payments.map((payment): Match => {
    const transaction = expected.get(`${payment.rail} ${payment.accountReference}`) ?? null;
    const caseKind = match(payment, transaction, matched);
    const holderId = transaction?.holder_id ?? NO_HOLDER;
    const caseId = caseKind === null ? null : createHolderUuid(at.getTime(), holderId);
    return { payment, transaction, caseKind, holderId, caseId };
  });
  const isNew = await insertOnce(tx, matches, at);
  const unmatched = matches.filter((entry, index) => isNew[index] && entry.caseKind !== null);
  const held = await holdInSuspense(tx, ctx, unmatched);
  const outcomes = matches.flatMap(({ payment, transaction, caseKind }, index): Outcome[] => {
    if (!isNew[index] || !transaction || caseKind !== null) return [];
    const { receipt, amount, currency, raw, rail } = payment;
    const observation = { state: 'succeeded' as const, receipt, amount, currency };
    return [{ transactionId: transaction.id, source: 'callback', observation, raw, rail }];
  });
  return { outcomes, held };
}

async function lockExpected(tx: Tx, payments: IncomingPayment[], others: string[]): Promise<Map<string, Transaction>> {
  const rows = await tx.query<Transaction & { account_reference: string | null }>(
    `select ${TRANSACTION_COLUMNS}, wanted.account_reference
     from (select holder_id, transaction_id as id, account_reference from payment_instructions where account_reference = any($3)
           union all select holder_id, id, null from ${TRANSACTION_KEYS.rows}) wanted
     join transactions t using (holder_id, id)
     order by t.holder_id, t.id for no key update of t`,
    [...TRANSACTION_KEYS.arrays(others), payments.map((payment) => payment.accountReference)],
  );
  return new Map(rows.map(({ account_reference, ...row }) => [`${row.rail} ${account_reference}`, row]));
}

function match(payment: IncomingPayment, transaction: Transaction | null, matched: Set<string>): CaseKind | null {
  if (!transaction) return 'unknown_reference';
  if (payment.amount !== transaction.amount || payment.currency !== transaction.currency) return 'wrong_amount';
  const paid = transaction.status === 'success' || transaction.status === 'reversed' || matched.has(transaction.id);
  if (paid && transaction.receipt !== payment.receipt) return 'second_payment';
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
  transaction_id: ['uuid', ({ transaction }) => transaction?.id ?? null],
  outcome: ['text', ({ caseKind }) => (caseKind === null ? 'matched' : 'suspense')],
  case_id: ['uuid', ({ caseId }) => caseId],
});

/** A receipt is posted once, however often the operator reports it. */
async function insertOnce(tx: Tx, matches: Match[], at: Date): Promise<boolean[]> {
  const rows = await tx.query<{ rail: string; receipt: string }>(
    `insert into incoming_payments (${INCOMING.names}, received_at)
     select ${INCOMING.names}, $1 from ${INCOMING.rows} order by rail, receipt
     on conflict do nothing returning rail, receipt`,
    [at, ...INCOMING.arrays(matches)],
  );
  const left = new Set(rows.map((row) => `${row.rail} ${row.receipt}`));
  return matches.map(({ payment }) => left.delete(`${payment.rail} ${payment.receipt}`));
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
      detail: {
        receipt: payment.receipt,
        reference: payment.accountReference,
        received: `${payment.currency} ${formatAmount(payment.amount)}`,
        ...(transaction ? { expected: `${transaction.currency} ${formatAmount(transaction.amount)}` } : {}),
      },
      money: { amount: payment.amount, currency: payment.currency, rail: payment.rail },
    })),
  );
  return entries.map(({ payment: { currency, amount, rail }, holderId, caseId }) =>
    suspenseReceived({ holderId, transactionId: caseId, currency, amount, rail }),
  );
}

/** A transaction that is about to succeed, and the receipt that proves it. */
export type ReceiptClaim = { row: Transaction; receipt: string };

export type ClaimedReceipts = {
  /** Transfers that take money of this transaction out of suspense, by transaction. */
  released: Map<string, Transfer[]>;
  /** Transactions whose receipt another one has. */
  taken: Set<string>;
};

const CLAIMS = columns<ReceiptClaim>(2, {
  holder_id: ['bigint', ({ row }) => row.holder_id],
  transaction_id: ['uuid', ({ row }) => row.id],
  rail: ['text', ({ row }) => row.rail],
  receipt: 'text',
  amount: ['bigint', ({ row }) => row.amount],
  currency: ['text', ({ row }) => row.currency],
});

/**
 * Records the receipts of collections that are about to succeed. Money that is already in suspense, because it arrived
 * before its instructions were known, has its case closed; the transfers that release it are returned by transaction.
 */
export async function claimReceipts(tx: Tx, claims: ReceiptClaim[], at: Date): Promise<ClaimedReceipts> {
  const paid = claims.filter(({ row }) => row.verification === 'instructions');
  if (paid.length === 0) return { released: new Map(), taken: new Set() };
  const rows = await tx.query<{ transaction_id: string; case_id: string | null }>(
    `insert into incoming_payments as known (${CLAIMS.names}, outcome, received_at)
     select ${CLAIMS.names}, 'matched', $1 from ${CLAIMS.rows} order by rail, receipt
     on conflict (rail, receipt) do update set transaction_id = excluded.transaction_id, outcome = 'matched'
       where known.outcome = 'suspense' and known.amount = excluded.amount and known.currency = excluded.currency
         and exists (select from cases c where c.holder_id = known.holder_id and c.id = known.case_id and c.status = 'open')
     returning transaction_id, case_id`,
    [at, ...CLAIMS.arrays(paid)],
  );
  const byId = new Map(paid.map(({ row }) => [row.id, row]));
  const held = rows.flatMap(({ transaction_id: id, case_id: caseId }) => {
    const row = byId.get(id);
    return caseId && row ? [{ id, caseId, row }] : [];
  });
  await settleCaseMoney(
    tx,
    held.map(({ caseId, row }) => ({
      caseId,
      amount: row.amount,
      by: 'operator',
      resolution: 'It belongs to a transaction that succeeded.',
    })),
    at,
  );
  const released = new Map(
    held.map(({ id, caseId, row }) => [
      id,
      suspenseReturned({ ...row, holderId: holderOfUuid(caseId), transactionId: caseId }),
    ]),
  );
  return { released, taken: new Set() };
}

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
     on conflict (account_reference) do nothing`,
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
     where holder_id = $1 and transaction_id = $2 order by expires_at desc limit 1`,
    [holderId, transactionId],
  );
  return row ? { payTo: row.pay_to, accountReference: row.account_reference, expiresAt: row.expires_at } : null;
}
