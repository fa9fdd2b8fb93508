// What the simulated operator does when the gateway calls it: accept a payment, say how it stands, give it back, send an SMS.
// http.ts only translates.

import type { Context } from '../platform/context.ts';
import { contradict } from './operator-callbacks.ts';
import { decidePayments, recordDecisions } from './outcomes.ts';
import { createPaymentsTable, findPayment, lockPayment, type SandboxPayment } from './payments-table.ts';
import { touchPhones, writeMessages } from './phones.ts';
import { planFor } from './scenarios.ts';
import type { Scripts } from './scripts.ts';
import { smsText } from './sms-texts.ts';
import { type Lives, planPayment, type Submission } from './submissions.ts';

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
  lives: Lives,
  changed: (msisdns: string[]) => void,
): OperatorCalls {
  const book = createPaymentsTable(ctx);

  /** What a person would notice: the phone rings, or an SMS says what to dial. */
  async function ring(payment: SandboxPayment): Promise<void> {
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
      const planned = planPayment(submission, plan, ctx.clock.now(), lives);
      if (scripts.queryContradicts(submission.msisdn)) planned.queryContradicts = true;
      const { payment, isNew } = await book.add(planned);
      if (isNew && payment.handset !== null) await ring(payment);
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
        const decision = decidePayments(payment, 'reverse', ctx.clock.now());
        // The reply says it: no callback.
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

/** Whether a repeated reference asks for the payment that the book has. */
function isSame(known: SandboxPayment, submitted: SandboxPayment): boolean {
  return (
    known.direction === submitted.direction &&
    known.msisdn === submitted.msisdn &&
    known.amount === submitted.amount &&
    known.currency === submitted.currency
  );
}
