// What the simulated operator does when the gateway calls it: accept a payment, report its status, refund it, send an SMS.
// http.ts translates these calls to and from HTTP.

import type { Context } from '../platform/context.ts';
import { contradict } from './operator-callbacks.ts';
import { decidePayment, recordDecisions } from './outcomes.ts';
import { createPaymentsTable, findPayment, lockPayment, type SandboxPayment } from './payments-table.ts';
import { touchPhones, writeMessages } from './phones.ts';
import { planFor } from './scenarios.ts';
import type { Scripts } from './scripts.ts';
import { smsText } from './sms-texts.ts';
import { type PaymentLifetimes, planPayment, type Submission } from './submissions.ts';

export interface OperatorCalls {
  submit(
    submission: Submission,
  ): Promise<{ answer: 'silence' } | { answer: 'payment' | 'conflict'; payment: SandboxPayment }>;
  query(reference: string): Promise<SandboxPayment | null>;
  refund(reference: string, amount: bigint, currency: string): Promise<SandboxPayment | 'not_refundable' | null>;
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
      const { payment, isNew } = await payments.add(planned);
      if (isNew && payment.handset !== null) await showOnPhone(payment);
      if (isNew && payment.status === 'pending') changed([payment.msisdn]);
      const scenario = plan.kind === 'scenario' ? plan.scenario : plan.kind === 'instructions' ? plan.pays : null;
      if (isNew && scenario?.silentSubmit) return { answer: 'silence' };
      return { answer: isSame(payment, planned) ? 'payment' : 'conflict', payment };
    },
    async query(reference) {
      const payment = await findPayment(ctx.db, reference);
      return payment?.queryContradicts ? contradict(payment) : payment;
    },
    refund: (reference, amount, currency) =>
      ctx.db.transaction(async (tx) => {
        const payment = await lockPayment(tx, reference);
        if (payment === null || payment.status === 'reversed') return payment;
        const isWhole = payment.amount === amount && payment.currency === currency;
        if (payment.direction !== 'collection' || payment.status !== 'succeeded' || !isWhole) return 'not_refundable';
        const decision = decidePayment(payment, 'reverse', ctx.clock.now());
        // The reply reports the refund, so there is no callback.
        await recordDecisions(tx, scripts, ctx.clock.now(), [{ ...decision, copies: 0 }]);
        return decision.payment;
      }),
    async sendMessage(msisdn, sender, text) {
      await ctx.db.transaction(async (tx) => {
        await writeMessages(tx, ctx.clock.now(), [{ msisdn, sender, text }]);
        await touchPhones(tx, [msisdn]);
      });
      changed([msisdn]);
    },
  };
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
