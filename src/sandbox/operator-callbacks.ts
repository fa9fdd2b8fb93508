// Operator callbacks of the simulated operator. They are stored in the transaction of the payment's change, then signed and
// sent, with a few retries. After that the gateway has to query.

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { failureMessage, isFailureCode } from '../catalog/failures.ts';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { shortId } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { Pool } from '../platform/pool.ts';
import { isRefused, type SandboxPayment } from './payments-table.ts';
import type { SandboxRefund } from './refunds-table.ts';
import type { CallbackFault, Scripts } from './scripts.ts';

export const CALLBACK_PATH = '/operators/sandbox';
/** Must equal the purpose in the sandbox rail: both sides derive the callback key from the master key. */
const KEY_PURPOSE = 'sandbox operator callbacks';
const RETRY_AFTER_MS = [5_000, 30_000, 120_000];
const LEASE_MS = 30_000;
const SEND_TIMEOUT_MS = 10_000;
const PASS_LIMIT = 100;

export type PendingOperatorCallback = { subject: string; msisdn: string; event: Record<string, unknown> };

export interface OperatorCallbackSender {
  /** Sends the callbacks that are due; returns how many were tried. */
  sendDue(): Promise<number>;
  setGatewayUrl(url: string | null): void;
  close(): Promise<void>;
}

/** What the operator reports about: a payment, or a refund. */
export type ReportedFact = SandboxPayment | SandboxRefund;

/** A payment or refund as the operator reports it, in replies and in callbacks. */
export function describeFact(fact: ReportedFact): Record<string, unknown> {
  return {
    reference: fact.reference,
    ...(isRefund(fact) ? { payment_reference: fact.paymentReference } : { direction: fact.direction }),
    status: fact.status,
    amount: formatAmount(fact.amount),
    currency: fact.currency,
    receipt: fact.receipt,
    ...(fact.failureCode === null ? {} : { failure_code: fact.failureCode, message: failureText(fact.failureCode) }),
  };
}

const isRefund = (fact: ReportedFact): fact is SandboxRefund => 'paymentReference' in fact;

/** The reply to a submit or query: a payment by instructions also carries where to send the money. */
export function paymentReply(payment: SandboxPayment): Record<string, unknown> {
  if (isRefused(payment)) return { ...describeFact(payment), taken: false };
  if (payment.payTo === null || payment.status !== 'pending') return describeFact(payment);
  return {
    ...describeFact(payment),
    pay: { ...payment.payTo, account_reference: payment.accountReference, expires_at: payment.expiresAt },
  };
}

/** The opposite of a real outcome that is decided, for scenario 010 and scripts. */
export function contradict<Fact extends ReportedFact>(fact: Fact): Fact {
  if (fact.status === 'pending') return fact;
  if (fact.status === 'failed')
    return { ...fact, status: 'succeeded', failureCode: null, receipt: `X${shortId(fact.reference)}` };
  return { ...fact, status: 'failed', failureCode: 'UNSPECIFIED', receipt: null };
}

function failureText(code: string): string {
  return isFailureCode(code) ? failureMessage(code) : code;
}

/** The callback that reports a payment or a refund as it is now. */
export function updated(fact: ReportedFact): PendingOperatorCallback {
  return {
    // A refund is reported in order with its payment.
    subject: isRefund(fact) ? fact.paymentReference : fact.reference,
    msisdn: fact.msisdn,
    event: { type: isRefund(fact) ? 'refund.updated' : 'payment.updated', ...describeFact(fact) },
  };
}

/** The events that are sent instead of `events` when a script sets a callback fault. */
function distort(
  fault: CallbackFault,
  fact: ReportedFact,
  events: PendingOperatorCallback['event'][],
): PendingOperatorCallback['event'][] {
  switch (fault) {
    case 'lose':
      return [];
    case 'delay':
      return events;
    case 'double':
      return [...events, ...events];
    case 'stale': {
      const earlier: ReportedFact = { ...fact, status: 'pending', receipt: null, failureCode: null };
      return [...events, updated(earlier).event];
    }
    case 'contradict':
      return [updated(contradict(fact)).event];
    case 'wrong_amount':
      return events.map((event) => ({ ...event, amount: formatAmount(fact.amount + 1n) }));
    case 'unknown_reference':
      return events.map((event) =>
        'reference' in event
          ? { ...event, reference: `${fact.reference}X` }
          : { ...event, account_reference: `${String(event.account_reference)}X` },
      );
  }
}

/** Stores `copies` of each callback to be sent, changed by the script of its number if there is one. */
export async function queueOperatorCallbacks(
  tx: Tx,
  scripts: Scripts,
  now: Date,
  facts: { fact: ReportedFact; callback: PendingOperatorCallback; copies: number }[],
): Promise<void> {
  const rows: { subject: string; event: Record<string, unknown>; due_at: Date }[] = [];
  for (const { fact, callback, copies } of facts) {
    if (copies === 0) continue;
    const script = scripts.callbackFault(callback.msisdn);
    const due_at = new Date(now.getTime() + (script?.delayMs ?? 0));
    const events = Array.from({ length: copies }, () => callback.event);
    for (const event of script ? distort(script.fault, fact, events) : events)
      rows.push({ subject: callback.subject, event, due_at });
  }
  if (rows.length === 0) return;
  await tx.query(
    `insert into sandbox_announcements (subject, event, due_at)
     select subject, event, due_at from json_to_recordset($1) as given (subject text, event jsonb, due_at timestamptz)`,
    [JSON.stringify(rows)],
  );
}

type Row = { id: bigint; subject: string; event: object; attempts: number };

export function createOperatorCallbackSender(ctx: Context, gatewayUrl: string | null): OperatorCallbackSender {
  let pool = gatewayUrl === null ? null : new Pool(gatewayUrl, { connections: 8 });

  return {
    async sendDue() {
      const to = pool;
      // The address of the gateway is not known yet; the callbacks stay due.
      if (to === null) return 0;
      const rows = await claimDue(ctx);
      if (rows.length === 0) return 0;
      const done: bigint[] = [];
      const failed: Row[] = [];
      // Callbacks about one payment are sent in order; different payments do not wait for each other.
      const key = createSecretKey(ctx.vault.deriveKeys(KEY_PURPOSE)[0]);
      const bySubject = Map.groupBy(rows, (row) => row.subject);
      await Promise.all(
        Array.from(bySubject.values(), async (sequence) => {
          for (const row of sequence) {
            if (await send(to, key, ctx.clock.millis(), row)) done.push(row.id);
            else failed.push(row);
          }
        }),
      );
      await recordResults(ctx, done, failed);
      return rows.length;
    },
    setGatewayUrl(url) {
      const former = pool;
      pool = url === null ? null : new Pool(url, { connections: 8 });
      void former?.close().catch(() => undefined);
    },
    close: async () => {
      await pool?.destroy();
      pool = null;
    },
  };
}

/** Takes the callbacks that are due; another process sees them again only after the lease. */
async function claimDue(ctx: Context): Promise<Row[]> {
  const now = ctx.clock.now();
  const rows = await ctx.db.query<Row>(
    `update sandbox_announcements set due_at = $2, attempts = attempts + 1
     where id in (select id from sandbox_announcements where due_at <= $1 order by due_at, id limit $3 for update skip locked)
     returning id, subject, event, attempts`,
    [now, new Date(now.getTime() + LEASE_MS), PASS_LIMIT],
  );
  return rows.sort((left, right) => (left.id < right.id ? -1 : 1));
}

async function send(to: Pool, key: KeyObject, time: number, row: Row): Promise<boolean> {
  const body = JSON.stringify({ events: [row.event] });
  const signature = createHmac('sha256', key).update(`${time}.${CALLBACK_PATH}.${body}`).digest('hex');
  try {
    const response = await to.request({
      method: 'POST',
      path: CALLBACK_PATH,
      headers: { 'content-type': 'application/json', 'x-operator-signature': `t=${time},v1=${signature}` },
      body,
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    });
    await response.body.dump();
    return response.statusCode >= 200 && response.statusCode < 300;
  } catch {
    return false;
  }
}

/** Deletes callbacks that were delivered or have no retry left, and sets the time of the next try of the others. */
async function recordResults(ctx: Context, delivered: bigint[], failed: Row[]): Promise<void> {
  const now = ctx.clock.millis();
  const finished = [...delivered];
  const retries: { id: string; due_at: Date }[] = [];
  for (const row of failed) {
    const delay = RETRY_AFTER_MS[row.attempts - 1];
    if (delay === undefined) finished.push(row.id);
    else retries.push({ id: row.id.toString(), due_at: new Date(now + delay) });
  }
  if (finished.length > 0)
    await ctx.db.query('delete from sandbox_announcements where id = any($1::bigint[])', [finished]);
  if (retries.length > 0)
    await ctx.db.query(
      `update sandbox_announcements set due_at = given.due_at
       from json_to_recordset($1) as given (id bigint, due_at timestamptz) where sandbox_announcements.id = given.id`,
      [JSON.stringify(retries)],
    );
}
