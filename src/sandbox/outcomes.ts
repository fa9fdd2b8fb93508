// How payments are decided: by the table of scenarios, by time, or by the person with the test phone. `decide` is
// pure; `recordDecisions` writes payments, callbacks and SMS in one transaction.

import type { FailureCode } from '../catalog/failures.ts';
import type { Tx } from '../platform/db.ts';
import { randomName } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { type PendingOperatorCallback, paymentUpdated, queueOperatorCallbacks } from './operator-callbacks.ts';
import { type SandboxPayment, type SandboxStep, updatePayments } from './payments-table.ts';
import { type SmsMessage, touchPhones, writeMessages } from './phones.ts';
import { scenarioNamed } from './scenarios.ts';
import type { Scripts } from './scripts.ts';
import { smsText } from './sms-texts.ts';

export type SandboxDecision = {
  payment: SandboxPayment;
  announcement: PendingOperatorCallback;
  copies: number;
  message: string | null;
};

/** A receipt as operators print them. */
export const createReceipt = () => randomName(10).toUpperCase();

/** What becomes of a payment when a step of its is due. */
export function decidePayments(
  payment: SandboxPayment,
  step: SandboxStep,
  now: Date,
  failureCode?: FailureCode,
): SandboxDecision {
  const scenario = scenarioNamed(payment.scenario, payment.direction);
  const copies = scenario?.callbacks ?? 1;
  const idle = { ...payment, nextStep: null, dueAt: null };
  switch (step) {
    case 'succeed': {
      const reversedAfterMs = scenario?.reversedAfterMs ?? null;
      const decided: SandboxPayment = {
        ...idle,
        status: 'succeeded',
        receipt: createReceipt(),
        handset: payment.handset === null ? null : 'approved',
        ...(reversedAfterMs === null ? {} : { nextStep: 'reverse', dueAt: new Date(now.getTime() + reversedAfterMs) }),
      };
      // Money that the payer sent himself is told as what it is to the operator: an incoming payment.
      const announcement = payment.accountReference === null ? paymentUpdated(decided) : paymentReceived(decided);
      const message = smsText(payment.direction === 'payout' ? 'received' : 'paid', decided);
      return { payment: decided, announcement, copies, message: rings(payment) ? message : null };
    }
    case 'fail': {
      const code =
        failureCode ?? (scenario === null || scenario.outcome === 'succeed' ? 'UNSPECIFIED' : scenario.outcome);
      const decided: SandboxPayment = { ...idle, status: 'failed', failureCode: code };
      return { payment: decided, announcement: paymentUpdated(decided), copies, message: null };
    }
    case 'reverse': {
      const decided: SandboxPayment = { ...idle, status: 'reversed' };
      const message = rings(payment) ? smsText('returned', decided) : null;
      return { payment: decided, announcement: paymentUpdated(decided), copies: 1, message };
    }
    case 'expire': {
      const handset = payment.handset === null ? null : 'expired';
      const decided: SandboxPayment = { ...idle, status: 'failed', failureCode: 'PROMPT_EXPIRED', handset };
      return { payment: decided, announcement: paymentUpdated(decided), copies: 1, message: null };
    }
  }
}

/** Numbers with a line of their own in the table are never looked at on a phone: they get no SMS. */
function rings(payment: SandboxPayment): boolean {
  return payment.handset !== null || payment.scenario === 'arrives';
}

function paymentReceived(payment: SandboxPayment): PendingOperatorCallback {
  return incomingPayment({
    payTo: payment.payTo?.number ?? '',
    accountReference: payment.accountReference ?? '',
    amount: payment.amount,
    currency: payment.currency,
    receipt: payment.receipt ?? '',
    payer: payment.msisdn,
  });
}

export type SandboxIncomingPayment = {
  payTo: string;
  accountReference: string;
  amount: bigint;
  currency: string;
  receipt: string;
  payer: string;
};

export function incomingPayment(incoming: SandboxIncomingPayment): PendingOperatorCallback {
  return {
    subject: incoming.receipt,
    msisdn: incoming.payer,
    event: {
      type: 'payment.received',
      pay_to: incoming.payTo,
      account_reference: incoming.accountReference,
      amount: formatAmount(incoming.amount),
      currency: incoming.currency,
      receipt: incoming.receipt,
      payer: incoming.payer,
    },
  };
}

/** Writes decisions whose payments the caller has locked. */
export async function recordDecisions(
  tx: Tx,
  scripts: Scripts,
  now: Date,
  decisions: SandboxDecision[],
): Promise<void> {
  if (decisions.length === 0) return;
  await updatePayments(
    tx,
    decisions.map((decision) => decision.payment),
  );
  await queueOperatorCallbacks(tx, scripts, now, decisions);
  const messages = decisions.flatMap(({ payment, message }): SmsMessage[] =>
    message === null ? [] : [{ msisdn: payment.msisdn, sender: payment.operator, text: message }],
  );
  await writeMessages(tx, now, messages);
  await touchPhones(
    tx,
    decisions.filter(({ payment }) => rings(payment)).map(({ payment }) => payment.msisdn),
  );
}
