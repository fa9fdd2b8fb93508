// How payments are decided: by the table of scenarios, by time, or by the person with the pretend phone. `decide` is
// pure; `recordDecisions` writes payments, callbacks and SMS in one transaction.

import type { FailureCode } from '../catalog/failures.ts';
import type { Tx } from '../platform/db.ts';
import { randomName } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { type Announcement, announce, paymentUpdated } from './announcements.ts';
import { type Payment, type Step, updatePayments } from './book.ts';
import { type Message, touchPhones, writeMessages } from './handsets.ts';
import { scenarioNamed } from './scenarios.ts';
import type { Scripts } from './scripts.ts';
import { say } from './wording.ts';

export type Decision = { payment: Payment; announcement: Announcement; copies: number; message: string | null };

/** A receipt as operators print them. */
export const createReceipt = () => randomName(10).toUpperCase();

/** What becomes of a payment when a step of its is due. */
export function decide(payment: Payment, step: Step, now: Date, failureCode?: FailureCode): Decision {
  const scenario = scenarioNamed(payment.scenario, payment.direction);
  const copies = scenario?.callbacks ?? 1;
  const idle = { ...payment, nextStep: null, dueAt: null };
  switch (step) {
    case 'succeed': {
      const reversedAfterMs = scenario?.reversedAfterMs ?? null;
      const decided: Payment = {
        ...idle,
        status: 'succeeded',
        receipt: createReceipt(),
        handset: payment.handset === null ? null : 'approved',
        ...(reversedAfterMs === null ? {} : { nextStep: 'reverse', dueAt: new Date(now.getTime() + reversedAfterMs) }),
      };
      // Money that the payer sent himself is told as what it is to the operator: an incoming payment.
      const announcement = payment.accountReference === null ? paymentUpdated(decided) : paymentReceived(decided);
      const message = say(payment.direction === 'payout' ? 'received' : 'paid', decided);
      return { payment: decided, announcement, copies, message: rings(payment) ? message : null };
    }
    case 'fail': {
      const code =
        failureCode ?? (scenario === null || scenario.outcome === 'succeed' ? 'UNSPECIFIED' : scenario.outcome);
      const decided: Payment = { ...idle, status: 'failed', failureCode: code };
      return { payment: decided, announcement: paymentUpdated(decided), copies, message: null };
    }
    case 'reverse': {
      const decided: Payment = { ...idle, status: 'reversed' };
      const message = rings(payment) ? say('returned', decided) : null;
      return { payment: decided, announcement: paymentUpdated(decided), copies: 1, message };
    }
    case 'expire': {
      const handset = payment.handset === null ? null : 'expired';
      const decided: Payment = { ...idle, status: 'failed', failureCode: 'PROMPT_EXPIRED', handset };
      return { payment: decided, announcement: paymentUpdated(decided), copies: 1, message: null };
    }
  }
}

/** Numbers with a line of their own in the table are never looked at on a phone: they get no SMS. */
function rings(payment: Payment): boolean {
  return payment.handset !== null || payment.scenario === 'arrives';
}

function paymentReceived(payment: Payment): Announcement {
  return incomingPayment({
    payTo: payment.payTo?.number ?? '',
    accountReference: payment.accountReference ?? '',
    amount: payment.amount,
    currency: payment.currency,
    receipt: payment.receipt ?? '',
    payer: payment.msisdn,
  });
}

export type IncomingPayment = {
  payTo: string;
  accountReference: string;
  amount: bigint;
  currency: string;
  receipt: string;
  payer: string;
};

export function incomingPayment(incoming: IncomingPayment): Announcement {
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
export async function recordDecisions(tx: Tx, scripts: Scripts, now: Date, decisions: Decision[]): Promise<void> {
  if (decisions.length === 0) return;
  await updatePayments(
    tx,
    decisions.map((decision) => decision.payment),
  );
  await announce(tx, scripts, now, decisions);
  const messages = decisions.flatMap(({ payment, message }): Message[] =>
    message === null ? [] : [{ msisdn: payment.msisdn, sender: payment.operator, text: message }],
  );
  await writeMessages(tx, now, messages);
  await touchPhones(
    tx,
    decisions.filter(({ payment }) => rings(payment)).map(({ payment }) => payment.msisdn),
  );
}
