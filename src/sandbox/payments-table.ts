// The table sandbox_payments: every payment submitted to the simulated operator, by the gateway's reference. A reference that
// is submitted again gets the stored payment. Submits that arrive together are written by one statement.

import type { Direction } from '../catalog/catalog.ts';
import { type Batch, createBatch } from '../platform/batch.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { scenarioNamed } from './scenarios.ts';

export type PayTo = { kind: 'till' | 'paybill' | 'bank_account'; number: string; name: string; bank: string | null };
export type PhoneState =
  | 'dial'
  | 'prompt'
  | 'undelivered'
  | 'ignored'
  | 'instructions'
  | 'approved'
  | 'wrong_pin'
  | 'cancelled'
  | 'expired';
export type SandboxStep = 'succeed' | 'fail' | 'reverse' | 'expire';
export type PaymentStatus = 'pending' | 'succeeded' | 'failed' | 'reversed';

export type SandboxPayment = {
  reference: string;
  direction: Direction;
  method: string;
  operator: string;
  msisdn: string;
  amount: bigint;
  currency: string;
  merchantName: string;
  scenario: string;
  status: PaymentStatus;
  receipt: string | null;
  failureCode: string | null;
  handset: PhoneState | null;
  dialCode: string | null;
  accountReference: string | null;
  payTo: PayTo | null;
  expiresAt: Date | null;
  queryContradicts: boolean;
  nextStep: SandboxStep | null;
  dueAt: Date | null;
  createdAt: Date;
};

/** Its submit was refused for lack of float, and the operator kept no payment of it. */
export function isRefused({ direction, scenario, status }: SandboxPayment): boolean {
  return status === 'failed' && scenarioNamed(scenario, direction)?.refusedForMs !== undefined;
}

/** `isNew` is false for a repeated reference; `payment` is then the one stored before. */
export type SandboxAcceptance = { payment: SandboxPayment; isNew: boolean };

type Row = {
  reference: string;
  direction: Direction;
  method: string;
  operator: string;
  msisdn: string;
  amount: bigint;
  currency: string;
  label: string;
  scenario: string;
  status: PaymentStatus;
  receipt: string | null;
  failure_code: string | null;
  handset: PhoneState | null;
  dial_code: string | null;
  account_reference: string | null;
  pay_to: PayTo | null;
  expires_at: Date | null;
  query_contradicts: boolean;
  next_step: SandboxStep | null;
  due_at: Date | null;
  created_at: Date;
};

// One statement inserts all new payments. Known references are not returned but read afterwards: they are rare, and a join
// here could turn into a scan on the hot path. A phone that is off does not get its prompt.
const ACCEPT = {
  name: 'sandbox_accept',
  text: `
    insert into sandbox_payments (reference, direction, method, operator, msisdn, amount, currency, label, scenario, status,
      receipt, failure_code, handset, dial_code, account_reference, pay_to, expires_at, query_contradicts, next_step, due_at,
      created_at)
    select reference, direction, method, operator, msisdn, amount, currency, label, scenario, status, receipt, failure_code,
      case when handset = 'prompt' and exists (select from sandbox_phones phone where phone.msisdn = given.msisdn and not is_on)
           then 'undelivered' else handset end,
      dial_code, account_reference, pay_to, expires_at, coalesce(query_contradicts, false), next_step, due_at, $2
    from json_to_recordset($1) as given (
      reference text, direction text, method text, operator text, msisdn text, amount bigint, currency text, label text,
      scenario text, status text, receipt text, failure_code text, handset text, dial_code text, account_reference text,
      pay_to jsonb, expires_at timestamptz, query_contradicts boolean, next_step text, due_at timestamptz)
    on conflict (reference) do nothing
    returning reference, handset`,
};

export function createPaymentsTable(ctx: Context): Batch<SandboxPayment, SandboxAcceptance> {
  return createBatch<SandboxPayment, SandboxAcceptance>({
    // It shares the machine with the gateway; an operator that answers 25 ms later is still a fast one.
    concurrency: 1,
    rest: { times: 4, longestMs: 25 },
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'sandbox_accept' }, items),
    async run(payments) {
      // If a batch has one reference twice, the second one is a repeat of the first.
      const first = new Map<string, SandboxPayment>();
      for (const payment of payments) if (!first.has(payment.reference)) first.set(payment.reference, payment);
      const rows = await ctx.db.query<Pick<Row, 'reference' | 'handset'>>(ACCEPT, [
        JSON.stringify(Array.from(first.values(), writeRow)),
        ctx.clock.now(),
      ]);
      const accepted = new Map<string, SandboxPayment>();
      for (const row of rows) {
        const payment = first.get(row.reference);
        if (payment) accepted.set(row.reference, { ...payment, handset: row.handset });
      }
      return Promise.all(
        payments.map(async (payment): Promise<SandboxAcceptance> => {
          const fresh = accepted.get(payment.reference);
          if (fresh) return { payment: fresh, isNew: first.get(payment.reference) === payment };
          const known = await findPayment(ctx.db, payment.reference);
          if (known === null) throw new Error('sandbox payment was neither inserted nor found');
          return { payment: known, isNew: false };
        }),
      );
    },
  });
}

/** With its columns: a prepared `select *` fails once a newer version has added one. */
const FIND = {
  name: 'sandbox_find',
  text: `
    select reference, direction, method, operator, msisdn, amount, currency, label, scenario, status, receipt, failure_code, handset,
      dial_code, account_reference, pay_to, expires_at, query_contradicts, next_step, due_at, created_at
    from sandbox_payments where reference = $1`,
};

export async function findPayment(reader: Reader, reference: string): Promise<SandboxPayment | null> {
  const rows = await reader.query<Row>(FIND, [reference]);
  return rows[0] ? readRow(rows[0]) : null;
}

/** The payment, locked until the end of the transaction. */
export async function lockPayment(tx: Tx, reference: string): Promise<SandboxPayment | null> {
  const rows = await tx.query<Row>('select * from sandbox_payments where reference = $1 for update', [reference]);
  return rows[0] ? readRow(rows[0]) : null;
}

/** Locks payments whose next step is due, and skips those that another process has locked. */
export async function lockDuePayments(tx: Tx, now: Date, limit: number): Promise<SandboxPayment[]> {
  const rows = await tx.query<Row>(
    `select * from sandbox_payments where due_at <= $1 order by due_at, reference limit $2 for update skip locked`,
    [now, limit],
  );
  return rows.map(readRow);
}

/** Locks the newest pending payment with this account reference. */
export async function lockAwaitedPayment(
  tx: Tx,
  payTo: string,
  accountReference: string,
): Promise<SandboxPayment | null> {
  const rows = await tx.query<Row>(
    `select * from sandbox_payments where account_reference = $1 and pay_to ->> 'number' = $2 and status = 'pending'
     order by created_at desc limit 1 for update`,
    [accountReference, payTo],
  );
  return rows[0] ? readRow(rows[0]) : null;
}

/** The newest payments that a phone shows. */
export async function listPhonePayments(reader: Reader, msisdn: string, limit: number): Promise<SandboxPayment[]> {
  const rows = await reader.query<Row>(
    `select * from sandbox_payments where msisdn = $1 and handset is not null order by created_at desc, reference limit $2`,
    [msisdn, limit],
  );
  return rows.map(readRow);
}

/** Updates the columns that change after the submit. */
export async function updatePayments(tx: Tx, payments: SandboxPayment[]): Promise<void> {
  if (payments.length === 0) return;
  await tx.query(
    `update sandbox_payments set status = given.status, receipt = given.receipt, failure_code = given.failure_code,
       handset = given.handset, next_step = given.next_step, due_at = given.due_at
     from json_to_recordset($1) as given (reference text, status text, receipt text, failure_code text, handset text,
       next_step text, due_at timestamptz)
     where sandbox_payments.reference = given.reference`,
    [JSON.stringify(payments.map(writeRow))],
  );
}

function writeRow(payment: SandboxPayment) {
  return {
    reference: payment.reference,
    direction: payment.direction,
    method: payment.method,
    operator: payment.operator,
    msisdn: payment.msisdn,
    amount: payment.amount.toString(),
    currency: payment.currency,
    label: payment.merchantName,
    scenario: payment.scenario,
    status: payment.status,
    receipt: payment.receipt ?? undefined,
    failure_code: payment.failureCode ?? undefined,
    handset: payment.handset ?? undefined,
    dial_code: payment.dialCode ?? undefined,
    account_reference: payment.accountReference ?? undefined,
    pay_to: payment.payTo ?? undefined,
    expires_at: payment.expiresAt ?? undefined,
    query_contradicts: payment.queryContradicts || undefined,
    next_step: payment.nextStep ?? undefined,
    due_at: payment.dueAt ?? undefined,
  };
}

function readRow(row: Row): SandboxPayment {
  return {
    reference: row.reference,
    direction: row.direction,
    method: row.method,
    operator: row.operator,
    msisdn: row.msisdn,
    amount: row.amount,
    currency: row.currency,
    merchantName: row.label,
    scenario: row.scenario,
    status: row.status,
    receipt: row.receipt,
    failureCode: row.failure_code,
    handset: row.handset,
    dialCode: row.dial_code,
    accountReference: row.account_reference,
    payTo: row.pay_to,
    expiresAt: row.expires_at,
    queryContradicts: row.query_contradicts,
    nextStep: row.next_step,
    dueAt: row.due_at,
    createdAt: row.created_at,
  };
}
