// Money that payers send by themselves to a till, a pay bill or a bank account. It is matched to a transaction by its
// account reference; what fits nothing, or not in this amount, is held in suspense and a person is told. Once each.

import { postEach } from '../ledger/ledger.ts';
import { suspenseReceived } from '../ledger/postings.ts';
import type { Tx } from '../platform/db.ts';
import { createUuid } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import type { CallbackReading } from '../rails/rail.ts';
import { openCases } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import type { Outcome } from './outcomes.ts';
import type { CaseKind } from './states.ts';
import { TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

export type IncomingPayment = CallbackReading & { kind: 'payment_received' } & { rail: string; raw: string };

type Judged = {
  payment: IncomingPayment;
  transaction: Transaction | null;
  fault: CaseKind | null;
  /** Money that fits nothing has no transaction of its own; its case's id stands for it in the ledger. */
  caseId: string | null;
};

/** Books payments that arrived. Answers the outcomes of those that fit a transaction, to be applied in the same `tx`. */
export async function receivePayments(tx: Tx, ctx: PaymentsContext, told: IncomingPayment[]): Promise<Outcome[]> {
  if (told.length === 0) return [];
  const at = ctx.clock.now();
  const payments = [...new Map(told.map((payment) => [`${payment.rail} ${payment.receipt}`, payment])).values()];
  const expected = await lockExpected(tx, payments);
  const taken = new Set<string>();
  const judged = payments.map((payment): Judged => {
    const transaction = expected.get(`${payment.rail} ${payment.accountReference}`) ?? null;
    const fault = judge(payment, transaction, taken);
    return { payment, transaction, fault, caseId: fault === null ? null : createUuid(at.getTime()) };
  });
  const fresh = await insertOnce(tx, judged, at);
  const held = judged.filter((entry, index) => fresh[index] && entry.fault !== null);
  await holdInSuspense(tx, ctx, held, at);
  return judged.flatMap(({ payment, transaction, fault }, index) =>
    fresh[index] && transaction && fault === null
      ? [
          {
            transactionId: transaction.id,
            source: 'callback' as const,
            observation: {
              state: 'succeeded' as const,
              receipt: payment.receipt,
              amount: payment.amount,
              currency: payment.currency,
            },
            raw: payment.raw,
            rail: payment.rail,
          },
        ]
      : [],
  );
}

async function lockExpected(tx: Tx, payments: IncomingPayment[]): Promise<Map<string, Transaction>> {
  const rows = await tx.query<Transaction & { account_reference: string }>(
    `select ${TRANSACTION_COLUMNS}, i.account_reference
     from payment_instructions i join transactions t on t.id = i.transaction_id
     where i.account_reference = any($1) order by t.id for update of t`,
    [payments.map((payment) => payment.accountReference)],
  );
  return new Map(rows.map(({ account_reference, ...row }) => [`${row.rail} ${account_reference}`, row]));
}

function judge(payment: IncomingPayment, transaction: Transaction | null, taken: Set<string>): CaseKind | null {
  if (!transaction) return 'unknown_reference';
  if (payment.amount !== transaction.amount || payment.currency !== transaction.currency) return 'wrong_amount';
  const paid = transaction.status === 'success' || transaction.status === 'reversed' || taken.has(transaction.id);
  if (paid && transaction.receipt !== payment.receipt) return 'second_payment';
  taken.add(transaction.id);
  return null;
}

/** A receipt is booked once, however often the operator tells us. */
async function insertOnce(tx: Tx, judged: Judged[], at: Date): Promise<boolean[]> {
  const rows = await tx.query<{ rail: string; receipt: string }>(
    `insert into incoming_payments (rail, receipt, account_reference, amount, currency, payer, transaction_id, outcome, case_id, received_at)
     select rail, receipt, account_reference, amount, currency, payer, transaction_id, outcome, case_id, $10
     from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::uuid[])
       as p (rail, receipt, account_reference, amount, currency, payer, transaction_id, outcome, case_id)
     order by rail, receipt
     on conflict do nothing returning rail, receipt`,
    [
      judged.map(({ payment }) => payment.rail),
      judged.map(({ payment }) => payment.receipt),
      judged.map(({ payment }) => payment.accountReference),
      judged.map(({ payment }) => payment.amount),
      judged.map(({ payment }) => payment.currency),
      judged.map(({ payment }) => payment.payer),
      judged.map(({ transaction }) => transaction?.id ?? null),
      judged.map(({ fault }) => (fault === null ? 'matched' : 'suspense')),
      judged.map(({ caseId }) => caseId),
      at,
    ],
  );
  const left = new Set(rows.map((row) => `${row.rail} ${row.receipt}`));
  return judged.map(({ payment }) => left.delete(`${payment.rail} ${payment.receipt}`));
}

async function holdInSuspense(tx: Tx, ctx: PaymentsContext, held: Judged[], at: Date): Promise<void> {
  const entries = held.flatMap((entry) => (entry.caseId === null ? [] : [{ ...entry, caseId: entry.caseId }]));
  if (entries.length === 0) return;
  await postEach(
    tx,
    entries.map(({ payment, caseId }) =>
      suspenseReceived({
        transactionId: caseId,
        currency: payment.currency,
        amount: payment.amount,
        rail: payment.rail,
      }),
    ),
    at,
  );
  await openCases(
    tx,
    ctx,
    entries.map(({ payment, transaction, fault, caseId }) => ({
      id: caseId,
      holderId: transaction?.holder_id ?? null,
      transactionId: transaction?.id ?? null,
      kind: fault ?? 'unknown_reference',
      detail: {
        receipt: payment.receipt,
        reference: payment.accountReference,
        received: `${payment.currency} ${formatAmount(payment.amount)}`,
        ...(transaction ? { expected: `${transaction.currency} ${formatAmount(transaction.amount)}` } : {}),
      },
    })),
  );
}
