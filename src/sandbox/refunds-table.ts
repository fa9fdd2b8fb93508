// The table sandbox_refunds: every refund that the gateway asked the simulated operator for, by the gateway's reference. Its
// rows are written while the payment's row is locked, so that refunds made at once cannot exceed the payment.

import type { Reader, Tx } from '../platform/db.ts';

export type RefundStep = 'succeed' | 'fail';

export type SandboxRefund = {
  reference: string;
  paymentReference: string;
  operator: string;
  msisdn: string;
  amount: bigint;
  currency: string;
  merchantName: string;
  scenario: string;
  status: 'pending' | 'succeeded' | 'failed';
  /** Its own, never that of the payment. */
  receipt: string | null;
  failureCode: string | null;
  queryContradicts: boolean;
  nextStep: RefundStep | null;
  dueAt: Date | null;
  createdAt: Date;
};

type Row = {
  reference: string;
  payment_reference: string;
  operator: string;
  msisdn: string;
  amount: bigint;
  currency: string;
  label: string;
  scenario: string;
  status: SandboxRefund['status'];
  receipt: string | null;
  failure_code: string | null;
  query_contradicts: boolean;
  next_step: RefundStep | null;
  due_at: Date | null;
  created_at: Date;
};

/** Stores a new refund; false if its reference is taken. */
export async function insertRefund(tx: Tx, refund: SandboxRefund): Promise<boolean> {
  const rows = await tx.query(
    `insert into sandbox_refunds (reference, payment_reference, operator, msisdn, amount, currency, label, scenario, status,
       receipt, failure_code, query_contradicts, next_step, due_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
     on conflict (reference) do nothing returning 1`,
    [
      refund.reference,
      refund.paymentReference,
      refund.operator,
      refund.msisdn,
      refund.amount,
      refund.currency,
      refund.merchantName,
      refund.scenario,
      refund.status,
      refund.receipt,
      refund.failureCode,
      refund.queryContradicts,
      refund.nextStep,
      refund.dueAt,
      refund.createdAt,
    ],
  );
  return rows.length === 1;
}

export async function findRefund(reader: Reader, reference: string): Promise<SandboxRefund | null> {
  const [row] = await reader.query<Row>('select * from sandbox_refunds where reference = $1', [reference]);
  return row ? readRow(row) : null;
}

/** What refunds have returned of a payment, or may still return. */
export async function sumRefunds(tx: Tx, paymentReference: string): Promise<bigint> {
  const [row] = await tx.query<{ sum: bigint }>(
    `select coalesce(sum(amount), 0)::bigint as sum from sandbox_refunds where payment_reference = $1 and status <> 'failed'`,
    [paymentReference],
  );
  return row?.sum ?? 0n;
}

/** Locks refunds whose next step is due, and skips those that another process has locked. */
export async function lockDueRefunds(tx: Tx, now: Date, limit: number): Promise<SandboxRefund[]> {
  const rows = await tx.query<Row>(
    `select * from sandbox_refunds where due_at <= $1 order by due_at, reference limit $2 for update skip locked`,
    [now, limit],
  );
  return rows.map(readRow);
}

/** Locks the refunds of payments whose own rows are locked before. */
export async function lockRefundsOf(tx: Tx, paymentReferences: string[]): Promise<SandboxRefund[]> {
  if (paymentReferences.length === 0) return [];
  const rows = await tx.query<Row>(
    'select * from sandbox_refunds where payment_reference = any($1::text[]) order by reference for update',
    [paymentReferences],
  );
  return rows.map(readRow);
}

/** Updates the columns that change after the submit. */
export async function updateRefunds(tx: Tx, refunds: SandboxRefund[]): Promise<void> {
  if (refunds.length === 0) return;
  await tx.query(
    `update sandbox_refunds set status = given.status, receipt = given.receipt, failure_code = given.failure_code,
       next_step = null, due_at = null
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given (reference, status, receipt, failure_code)
     where sandbox_refunds.reference = given.reference`,
    [
      refunds.map((refund) => refund.reference),
      refunds.map((refund) => refund.status),
      refunds.map((refund) => refund.receipt),
      refunds.map((refund) => refund.failureCode),
    ],
  );
}

function readRow(row: Row): SandboxRefund {
  return {
    reference: row.reference,
    paymentReference: row.payment_reference,
    operator: row.operator,
    msisdn: row.msisdn,
    amount: row.amount,
    currency: row.currency,
    merchantName: row.label,
    scenario: row.scenario,
    status: row.status,
    receipt: row.receipt,
    failureCode: row.failure_code,
    queryContradicts: row.query_contradicts,
    nextStep: row.next_step,
    dueAt: row.due_at,
    createdAt: row.created_at,
  };
}
