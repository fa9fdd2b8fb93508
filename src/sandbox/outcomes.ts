// How payments are decided: by their scenario, by expiry, or on the test phone. `decidePayment` is pure; `recordDecisions`
// writes payments, callbacks and SMS in one transaction.

import type { FailureCode } from '../catalog/failures.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import { randomName } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { type PendingOperatorCallback, queueOperatorCallbacks, updated } from './operator-callbacks.ts';
import { type SandboxPayment, type SandboxStep, updatePayments } from './payments-table.ts';
import { type SmsMessage, touchPhones, writeMessages } from './phones.ts';
import { scenarioNamed } from './scenarios.ts';
import type { Scripts } from './scripts.ts';
import { smsText } from './sms-texts.ts';

export type SandboxDecision = {
  payment: SandboxPayment;
  callback: PendingOperatorCallback;
  copies: number;
  message: string | null;
};

/**
 * A receipt number like those of operators: capitals and digits that begin with the time, here with the day as M-PESA writes it and
 * two seconds of it. Receipts of one time are neighbours in the index that lets each be used once: were they random, every payment
 * would read and change another page of it.
 */
export function createReceipt(now: Date): string {
  const day = [now.getUTCFullYear() - 2010, now.getUTCMonth() + 1, now.getUTCDate()]
    .map((part) => part.toString(36))
    .join('');
  const part = Math.floor(((now.getTime() % DAY_MS) / DAY_MS) * 36 ** 3);
  const name = randomName(8);
  // By its digit a receipt is told from a word of the SMS.
  const unique = /\d/.test(name) ? name : `${name.slice(1)}7`;
  return `${day}${part.toString(36).padStart(3, '0')}${unique}`.toUpperCase();
}

/** The payment after a step, with the callback and the SMS that report it. */
export function decidePayment(
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
        receipt: createReceipt(now),
        handset: payment.handset === null ? null : 'approved',
        ...(reversedAfterMs === null ? {} : { nextStep: 'reverse', dueAt: new Date(now.getTime() + reversedAfterMs) }),
      };
      // For a payment by instructions the operator only knows of an incoming payment, and reports that.
      const callback = payment.accountReference === null ? updated(decided) : paymentReceived(decided);
      const message = smsText(payment.direction === 'payout' ? 'received' : 'paid', decided);
      return { payment: decided, callback, copies, message: appearsOnPhone(payment) ? message : null };
    }
    case 'fail': {
      const code =
        failureCode ?? (scenario === null || scenario.outcome === 'succeed' ? 'UNSPECIFIED' : scenario.outcome);
      const decided: SandboxPayment = { ...idle, status: 'failed', failureCode: code };
      return { payment: decided, callback: updated(decided), copies, message: null };
    }
    case 'reverse':
      return reversePayment(payment, payment.amount);
    case 'expire': {
      const handset = payment.handset === null ? null : 'expired';
      const decided: SandboxPayment = { ...idle, status: 'failed', failureCode: 'PROMPT_EXPIRED', handset };
      return { payment: decided, callback: updated(decided), copies: 1, message: null };
    }
  }
}

/** A payment that the operator reverses. `left` is what goes back: the rest was refunded. */
export function reversePayment(payment: SandboxPayment, left: bigint): SandboxDecision {
  const decided: SandboxPayment = { ...payment, status: 'reversed', nextStep: null, dueAt: null };
  const message = appearsOnPhone(payment) ? smsText('returned', { ...decided, amount: left }) : null;
  return { payment: decided, callback: updated(decided), copies: 1, message };
}

/** Numbers with a scenario are not used on a test phone and get no SMS. */
function appearsOnPhone(payment: SandboxPayment): boolean {
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

/** Writes decisions. The caller has locked their payments. */
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
  await queueOperatorCallbacks(
    tx,
    scripts,
    now,
    decisions.map(({ payment, callback, copies }) => ({ fact: payment, callback, copies })),
  );
  const messages = decisions.flatMap(({ payment, message }): SmsMessage[] =>
    message === null ? [] : [{ msisdn: payment.msisdn, sender: payment.operator, text: message }],
  );
  await writeMessages(tx, now, messages);
  await touchPhones(
    tx,
    decisions.filter(({ payment }) => appearsOnPhone(payment)).map(({ payment }) => payment.msisdn),
  );
}
