// What the simulated operator does when the gateway calls it: accept a payment or a refund, report its status, send an SMS.
// http.ts translates these calls to and from HTTP.

import type { Context } from '../platform/context.ts';
import { contradict } from './operator-callbacks.ts';
import { createReceipt } from './outcomes.ts';
import {
  createPaymentsTable,
  findPayment,
  isRefused,
  lockPayment,
  type SandboxPayment,
  updatePayments,
} from './payments-table.ts';
import { touchPhones, writeMessages } from './phones.ts';
import { queryRefund, type RefundAnswer, submitRefund } from './refunds.ts';
import type { SandboxRefund } from './refunds-table.ts';
import { planFor } from './scenarios.ts';
import type { Scripts } from './scripts.ts';
import { smsText } from './sms-texts.ts';
import { type PaymentLifetimes, planPayment, type RefundSubmission, type Submission } from './submissions.ts';

export interface OperatorCalls {
  submit(
    submission: Submission,
  ): Promise<{ answer: 'silence' } | { answer: 'payment' | 'conflict'; payment: SandboxPayment }>;
  query(reference: string): Promise<SandboxPayment | null>;
  submitRefund(submission: RefundSubmission): Promise<RefundAnswer>;
  queryRefund(reference: string): Promise<SandboxRefund | null>;
  sendMessage(msisdn: string, sender: string, text: string): Promise<void>;
}

export function createCalls(
  ctx: Context,
  scripts: Scripts,
  lifetimes: PaymentLifetimes,
  changed: (msisdns: string[]) => void,
): OperatorCalls {
  const payments = createPaymentsTable(ctx);

  /** Shows the prompt on the phone, or sends the SMS that says what to dial. */
  async function showOnPhone(payment: SandboxPayment): Promise<void> {
    await ctx.db.transaction(async (tx) => {
      if (payment.handset === 'dial')
        await writeMessages(tx, ctx.clock.now(), [
          { msisdn: payment.msisdn, sender: payment.operator, text: smsText('dial', payment) },
        ]);
      await touchPhones(tx, [payment.msisdn]);
    });
  }

  return {
    async submit(submission) {
      const plan = planFor(submission, scripts.scenarioFor(submission.msisdn) ?? undefined);
      const planned = planPayment(submission, plan, ctx.clock.now(), lifetimes);
      if (scripts.queryContradicts(submission.msisdn)) planned.queryContradicts = true;
      const stored = await payments.add(planned);
      const { isNew } = stored;
      const payment = isNew ? stored.payment : await takeIfDue(ctx, stored.payment);
      if (isNew && payment.handset !== null) await showOnPhone(payment);
      if (isNew && payment.status === 'pending') changed([payment.msisdn]);
      const scenario = plan.kind === 'scenario' ? plan.scenario : plan.kind === 'instructions' ? plan.pays : null;
      if (isNew && scenario?.silentSubmit) return { answer: 'silence' };
      return { answer: isSame(payment, planned) ? 'payment' : 'conflict', payment };
    },
    async query(reference) {
      const payment = await findPayment(ctx.db, reference);
      if (payment && isRefused(payment)) return null;
      return payment?.queryContradicts ? contradict(payment) : payment;
    },
    async submitRefund(submission) {
      const answer = await submitRefund(ctx, scripts, submission);
      // What is due now is done by the next pass.
      changed([]);
      return answer;
    },
    queryRefund: (reference) => queryRefund(ctx, reference),
    async sendMessage(msisdn, sender, text) {
      await ctx.db.transaction(async (tx) => {
        await writeMessages(tx, ctx.clock.now(), [{ msisdn, sender, text }]);
        await touchPhones(tx, [msisdn]);
      });
      changed([msisdn]);
    },
  };
}

/** A payment that was refused for lack of float is taken when it is sent again, once the float is there. */
async function takeIfDue(ctx: Context, known: SandboxPayment): Promise<SandboxPayment> {
  if (!isRefused(known)) return known;
  return ctx.db.transaction(async (tx) => {
    const payment = await lockPayment(tx, known.reference);
    const now = ctx.clock.now();
    if (!payment || !isRefused(payment) || (payment.expiresAt ?? known.createdAt) > now) return payment ?? known;
    const taken: SandboxPayment = { ...payment, status: 'succeeded', failureCode: null, receipt: createReceipt(now) };
    await updatePayments(tx, [taken]);
    return taken;
  });
}

/** Whether a repeated reference asks for the payment that is already stored. */
function isSame(known: SandboxPayment, submitted: SandboxPayment): boolean {
  return (
    known.direction === submitted.direction &&
    known.msisdn === submitted.msisdn &&
    known.amount === submitted.amount &&
    known.currency === submitted.currency
  );
}
