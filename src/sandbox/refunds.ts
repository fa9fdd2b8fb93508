// Refunds at the simulated operator: what is accepted, and how each ends. The payment stays `succeeded`; a refund has its own
// status and receipt. A refused refund is kept as well, so that a reference never gets two answers.

import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { contradict, type PendingOperatorCallback, queueOperatorCallbacks, updated } from './operator-callbacks.ts';
import { createReceipt } from './outcomes.ts';
import { lockPayment, type SandboxPayment } from './payments-table.ts';
import { type SmsMessage, touchPhones, writeMessages } from './phones.ts';
import {
  findRefund,
  insertRefund,
  lockDueRefunds,
  lockRefundsOf,
  type RefundStep,
  type SandboxRefund,
  sumRefunds,
  updateRefunds,
} from './refunds-table.ts';
import { planRefund, REFUND_ARRIVES, refundScenarioNamed, type Scenario } from './scenarios.ts';
import type { Scripts } from './scripts.ts';
import { smsText } from './sms-texts.ts';
import type { RefundSubmission } from './submissions.ts';

/** The operator's own codes, beside those of the catalogue. */
export const NOT_REFUNDABLE = 'NOT_REFUNDABLE';
const PAYMENT_REVERSED = 'PAYMENT_REVERSED';

export type RefundAnswer = { answer: 'silence' } | { answer: 'conflict' } | { answer: 'refund'; refund: SandboxRefund };

/** Accepts or refuses a refund. A known reference gets the stored one. */
export function submitRefund(ctx: Context, scripts: Scripts, submission: RefundSubmission): Promise<RefundAnswer> {
  return ctx.db.transaction(async (tx) => {
    // Refunds of one payment wait for each other here.
    const payment = await lockPayment(tx, submission.paymentReference);
    const known = await findRefund(tx, submission.reference);
    if (known !== null) return answerKnown(known, submission);
    const name = planRefund(payment?.msisdn ?? '', (payment && scripts.refundFor(payment.msisdn)) ?? undefined);
    const scenario = refundScenarioNamed(name);
    const planned = newRefund(submission, payment, name, ctx.clock.now());
    const accepted = payment !== null && (await isRefundable(tx, payment, submission));
    const refund = accepted ? { ...planned, ...firstStep(scenario, ctx.clock.now()) } : refuse(planned, NOT_REFUNDABLE);
    if (!(await insertRefund(tx, refund))) {
      // The same reference for another payment, at the same time.
      const other = await findRefund(tx, submission.reference);
      return other ? answerKnown(other, submission) : { answer: 'conflict' };
    }
    return accepted && scenario.silentSubmit ? { answer: 'silence' } : { answer: 'refund', refund };
  });
}

function answerKnown(known: SandboxRefund, submission: RefundSubmission): RefundAnswer {
  const isSame =
    known.paymentReference === submission.paymentReference &&
    known.amount === submission.amount &&
    known.currency === submission.currency;
  return isSame ? { answer: 'refund', refund: known } : { answer: 'conflict' };
}

async function isRefundable(tx: Tx, payment: SandboxPayment, submission: RefundSubmission): Promise<boolean> {
  if (payment.direction !== 'collection' || payment.status !== 'succeeded') return false;
  if (payment.currency !== submission.currency) return false;
  return (await sumRefunds(tx, payment.reference)) + submission.amount <= payment.amount;
}

function newRefund(
  submission: RefundSubmission,
  payment: SandboxPayment | null,
  scenario: string,
  now: Date,
): SandboxRefund {
  return {
    ...submission,
    operator: payment?.operator ?? '',
    msisdn: payment?.msisdn ?? '',
    merchantName: payment?.merchantName ?? '',
    scenario,
    status: 'pending',
    receipt: null,
    failureCode: null,
    queryContradicts: false,
    nextStep: null,
    dueAt: null,
    createdAt: now,
  };
}

/** What the scenario does in the reply, or plans for later. */
function firstStep(scenario: Scenario, now: Date): Partial<SandboxRefund> {
  const succeeds = scenario.outcome === 'succeed';
  if (scenario.decides === 'never') return {};
  if (scenario.decides === 'reply')
    return succeeds
      ? { status: 'succeeded', receipt: createReceipt(now) }
      : { status: 'failed', failureCode: scenario.outcome };
  return {
    queryContradicts: scenario.queryContradicts,
    nextStep: succeeds ? 'succeed' : 'fail',
    dueAt: new Date(now.getTime() + scenario.afterMs),
  };
}

function refuse(refund: SandboxRefund, failureCode: string): SandboxRefund {
  return { ...refund, status: 'failed', failureCode, nextStep: null, dueAt: null };
}

/** The refund as the status query reports it; null if the operator never received the reference. */
export async function queryRefund(ctx: Context, reference: string): Promise<SandboxRefund | null> {
  const refund = await findRefund(ctx.db, reference);
  return refund?.queryContradicts ? contradict(refund) : refund;
}

type RefundDecision = { refund: SandboxRefund; callback: PendingOperatorCallback; copies: number };

/** Decides the refunds that are due; returns their numbers. */
export async function decideDueRefunds(tx: Tx, scripts: Scripts, now: Date, limit: number): Promise<string[]> {
  const due = await lockDueRefunds(tx, now, limit);
  await recordRefunds(
    tx,
    scripts,
    now,
    due.flatMap((refund) => (refund.nextStep ? [decideRefund(refund, refund.nextStep, now)] : [])),
  );
  return due.map(({ msisdn }) => msisdn);
}

function decideRefund(refund: SandboxRefund, step: RefundStep, now: Date): RefundDecision {
  const scenario = refundScenarioNamed(refund.scenario);
  const failureCode = scenario.outcome === 'succeed' ? 'UNSPECIFIED' : scenario.outcome;
  const decided: SandboxRefund =
    step === 'fail'
      ? refuse(refund, failureCode)
      : { ...refund, status: 'succeeded', receipt: createReceipt(now), nextStep: null, dueAt: null };
  return { refund: decided, callback: updated(decided), copies: scenario.callbacks };
}

/**
 * The operator reverses payments: refunds that are still pending end as failed, because a reversal gives back all that is left.
 * Returns what is left of each payment that has refunds.
 */
export async function endRefundsOfReversed(
  tx: Tx,
  scripts: Scripts,
  now: Date,
  payments: SandboxPayment[],
): Promise<Map<string, bigint>> {
  const refunds = await lockRefundsOf(
    tx,
    payments.map(({ reference }) => reference),
  );
  const pending = refunds.filter(({ status }) => status === 'pending');
  const ended = pending.map((refund) => refuse(refund, PAYMENT_REVERSED));
  await recordRefunds(
    tx,
    scripts,
    now,
    ended.map((refund) => ({ refund, callback: updated(refund), copies: 1 })),
  );
  const left = new Map(payments.map(({ reference, amount }) => [reference, amount]));
  for (const { paymentReference, amount, status } of refunds)
    if (status === 'succeeded') left.set(paymentReference, (left.get(paymentReference) ?? 0n) - amount);
  return left;
}

async function recordRefunds(tx: Tx, scripts: Scripts, now: Date, decisions: RefundDecision[]): Promise<void> {
  if (decisions.length === 0) return;
  await updateRefunds(
    tx,
    decisions.map(({ refund }) => refund),
  );
  await queueOperatorCallbacks(
    tx,
    scripts,
    now,
    decisions.map(({ refund, ...decision }) => ({ fact: refund, ...decision })),
  );
  // Numbers with a scenario are not used on a test phone and get no SMS.
  const messages = decisions.flatMap(({ refund }): SmsMessage[] =>
    refund.status === 'succeeded' && refund.scenario === REFUND_ARRIVES
      ? [{ msisdn: refund.msisdn, sender: refund.operator, text: smsText('refunded', refund) }]
      : [],
  );
  await writeMessages(tx, now, messages);
  await touchPhones(
    tx,
    messages.map(({ msisdn }) => msisdn),
  );
}
