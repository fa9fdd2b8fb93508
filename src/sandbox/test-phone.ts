// The test phone: what the screen of a number shows, and every action on it. The page and the command line use these
// functions, directly or over the simulated operator's HTTP interface.

import type { FailureCode } from '../catalog/failures.ts';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { formatAmount } from '../platform/money.ts';
import { queueOperatorCallbacks } from './operator-callbacks.ts';
import { createReceipt, decidePayment, incomingPayment, recordDecisions, type SandboxDecision } from './outcomes.ts';
import {
  listPhonePayments,
  lockAwaitedPayment,
  lockPayment,
  type PayTo,
  type PhoneState,
  type SandboxPayment,
  updatePayments,
} from './payments-table.ts';
import type { PhoneChanges } from './phone-changes.ts';
import { listMessages, readPhone, type StoredSms, switchPhone, touchPhones, writeMessages } from './phones.ts';
import type { Scripts } from './scripts.ts';
import { smsText } from './sms-texts.ts';

const MESSAGES_SHOWN = 50;
const PROMPTS_SHOWN = 20;
const WRONG_PIN = '0000';

export type PhonePrompt = {
  /** The gateway's reference of the payment. */
  id: string;
  method: string;
  operator: string;
  merchantName: string;
  amount: bigint;
  currency: string;
  text: string;
  /**
   * dial: an SMS asks to dial `dialCode`. prompt: on the screen, waits for the PIN. undelivered: the phone was off.
   * ignored: dismissed. instructions: the payer has to send the money. The others are final.
   */
  state: PhoneState;
  dialCode: string | null;
  payTo: PayTo | null;
  accountReference: string | null;
  expiresAt: Date | null;
  at: Date;
};

export type PhoneView = {
  msisdn: string;
  isOn: boolean;
  /** Grows with every change; pass it to `waitForChange`. */
  version: number;
  /** Newest first. */
  messages: StoredSms[];
  prompts: PhonePrompt[];
};

/** `message` is what the phone shows after the action. */
export type PhoneResult = { ok: boolean; message: string };

export type PhonePayment = { to: string; accountReference: string; amount: bigint; currency: string };

export interface TestPhone {
  view(msisdn: string): Promise<PhoneView>;
  /** Resolves as soon as the phone's version differs from `version`, or after `waitMs` (at most 25 s). */
  waitForChange(msisdn: string, version: number, waitMs: number, signal?: AbortSignal): Promise<PhoneView>;
  /** Enters the PIN: any four digits approve, 0000 is wrong and ends the payment. */
  answer(msisdn: string, id: string, pin: string): Promise<PhoneResult>;
  cancel(msisdn: string, id: string): Promise<PhoneResult>;
  /** Dismisses the prompt without an answer; it expires later. */
  ignore(msisdn: string, id: string): Promise<PhoneResult>;
  /** Ends the prompt as if its time were over, so that nobody has to wait for that. */
  expire(msisdn: string, id: string): Promise<PhoneResult>;
  /** While the phone is off, prompts are lost and expire; SMS are stored. */
  switchTo(msisdn: string, isOn: boolean): Promise<PhoneResult>;
  /** Dials a short code: shows the prompt that waits for it, also one that was missed. */
  dial(msisdn: string, code: string): Promise<PhoneResult>;
  /** Sends money to a till, pay bill or bank account. The gateway is notified of any reference and amount. */
  pay(msisdn: string, payment: PhonePayment): Promise<PhoneResult & { receipt: string | null }>;
}

export function createTestPhone(ctx: Context, scripts: Scripts, changes: PhoneChanges): TestPhone {
  /** Runs one action in a transaction, then ends the waits for this phone. */
  async function act<R extends PhoneResult>(msisdn: string, work: (tx: Tx, now: Date) => Promise<R>): Promise<R> {
    const result = await ctx.db.transaction(async (tx) => work(tx, ctx.clock.now()));
    changes.notify([msisdn]);
    return result;
  }

  /** Runs an action on a prompt that is on the screen. */
  function onPrompt(
    msisdn: string,
    id: string,
    work: (tx: Tx, payment: SandboxPayment, now: Date) => Promise<PhoneResult>,
  ) {
    return act(msisdn, async (tx, now) => {
      const payment = await lockPayment(tx, id);
      const shown = payment?.msisdn === msisdn && payment.handset === 'prompt' && payment.status === 'pending';
      if (!payment || !shown || isOver(payment, now)) return { ok: false, message: 'This prompt is no longer there.' };
      return work(tx, payment, now);
    });
  }

  return {
    view: (msisdn) => readView(ctx, msisdn),
    async waitForChange(msisdn, version, waitMs, signal) {
      await changes.wait(msisdn, waitMs, signal, async () => (await readPhone(ctx.db, msisdn)).version !== version);
      return readView(ctx, msisdn);
    },
    answer(msisdn, id, pin) {
      if (!/^\d{4}$/.test(pin)) return Promise.resolve({ ok: false, message: 'A PIN has four digits.' });
      return onPrompt(msisdn, id, async (tx, payment, now) => {
        const isWrong = pin === WRONG_PIN;
        await endPrompt(tx, scripts, now, payment, isWrong ? 'wrong_pin' : 'approved', isWrong ? 'WRONG_PIN' : null);
        return isWrong ? { ok: false, message: 'Wrong PIN. Nothing was paid.' } : { ok: true, message: 'Paid.' };
      });
    },
    cancel: (msisdn, id) =>
      onPrompt(msisdn, id, async (tx, payment, now) => {
        await endPrompt(tx, scripts, now, payment, 'cancelled', 'PAYER_CANCELLED');
        return { ok: true, message: 'Cancelled. Nothing was paid.' };
      }),
    ignore: (msisdn, id) =>
      onPrompt(msisdn, id, async (tx, payment) => {
        await updatePayments(tx, [{ ...payment, handset: 'ignored' }]);
        await touchPhones(tx, [msisdn]);
        return { ok: true, message: 'The prompt was put away.' };
      }),
    expire: (msisdn, id) =>
      onPrompt(msisdn, id, async (tx, payment, now) => {
        await recordDecisions(tx, scripts, now, [decidePayment(payment, 'expire', now)]);
        return { ok: true, message: 'The prompt has expired. Nothing was paid.' };
      }),
    switchTo: (msisdn, isOn) =>
      act(msisdn, async (tx) => {
        await switchPhone(tx, msisdn, isOn);
        return { ok: true, message: isOn ? 'The phone is on.' : 'The phone is off.' };
      }),
    dial: (msisdn, code) => act(msisdn, (tx, now) => dialCode(tx, now, msisdn, code)),
    pay: (msisdn, given) =>
      act(msisdn, async (tx, now) => {
        if (!(await readPhone(tx, msisdn)).isOn) return { ok: false, message: 'The phone is off.', receipt: null };
        return sendMoney(tx, scripts, now, msisdn, given);
      }),
  };
}

async function readView(ctx: Context, msisdn: string): Promise<PhoneView> {
  // Reads the version first, so that a change in between is shown twice rather than missed.
  const phone = await readPhone(ctx.db, msisdn);
  const [messages, payments] = await Promise.all([
    listMessages(ctx.db, msisdn, MESSAGES_SHOWN),
    listPhonePayments(ctx.db, msisdn, PROMPTS_SHOWN),
  ]);
  return { msisdn, ...phone, messages, prompts: payments.flatMap(showPrompt) };
}

/** Ends a payment by its prompt: paid, or failed with the code. */
async function endPrompt(
  tx: Tx,
  scripts: Scripts,
  now: Date,
  payment: SandboxPayment,
  handset: PhoneState,
  failureCode: FailureCode | null,
): Promise<void> {
  const decision: SandboxDecision = decidePayment(
    payment,
    failureCode ? 'fail' : 'succeed',
    now,
    failureCode ?? undefined,
  );
  await recordDecisions(tx, scripts, now, [{ ...decision, payment: { ...decision.payment, handset } }]);
}

/** Shows the prompt that waits for this code. */
async function dialCode(tx: Tx, now: Date, msisdn: string, code: string): Promise<PhoneResult> {
  if (!(await readPhone(tx, msisdn)).isOn) return { ok: false, message: 'The phone is off.' };
  const waiting = (await listPhonePayments(tx, msisdn, PROMPTS_SHOWN)).find(
    (payment) =>
      payment.dialCode === code.replaceAll(' ', '') &&
      payment.status === 'pending' &&
      (payment.handset === 'dial' || payment.handset === 'undelivered' || payment.handset === 'ignored') &&
      !isOver(payment, now),
  );
  const payment = waiting ? await lockPayment(tx, waiting.reference) : null;
  if (payment?.status !== 'pending') return { ok: false, message: 'There is nothing to confirm.' };
  await updatePayments(tx, [{ ...payment, handset: 'prompt' }]);
  await touchPhones(tx, [msisdn]);
  return { ok: true, message: smsText('prompt', payment) };
}

/** Settles the awaited payment if it matches; notifies the gateway either way. */
async function sendMoney(
  tx: Tx,
  scripts: Scripts,
  now: Date,
  msisdn: string,
  given: PhonePayment,
): Promise<PhoneResult & { receipt: string }> {
  const accountReference = given.accountReference.trim().toUpperCase();
  const awaited = await lockAwaitedPayment(tx, given.to, accountReference);
  const matches =
    awaited !== null && awaited.amount === given.amount && awaited.currency === given.currency && !isOver(awaited, now);
  const receipt = createReceipt(now);
  const money = `${given.currency} ${formatAmount(given.amount)}`;
  if (matches) {
    const decision = decidePayment({ ...awaited, scenario: 'handset' }, 'succeed', now);
    await recordDecisions(tx, scripts, now, [
      {
        ...decision,
        payment: { ...decision.payment, receipt },
        callback: incomingPayment({ ...given, payTo: given.to, accountReference, receipt, payer: msisdn }),
        message: null,
      },
    ]);
  } else {
    const callback = incomingPayment({ ...given, payTo: given.to, accountReference, receipt, payer: msisdn });
    await tx.query(
      'insert into sandbox_unmatched_money (receipt, msisdn, amount, currency, created_at) values ($1, $2, $3, $4, $5)',
      [receipt, msisdn, given.amount, given.currency, now],
    );
    await queueOperatorCallbacks(tx, scripts, now, [
      { fact: awaited ?? unmatchedPayment(msisdn, given, receipt, now), callback, copies: 1 },
    ]);
  }
  await writeMessages(tx, now, [
    { msisdn, sender: awaited?.operator ?? 'Bank', text: `${receipt} confirmed. You sent ${money} to ${given.to}.` },
  ]);
  await touchPhones(tx, [msisdn]);
  return { ok: true, message: `Sent ${money} to ${given.to}. Receipt ${receipt}.`, receipt };
}

/** Money that matches no payment, as the record that callbacks are made from. */
function unmatchedPayment(msisdn: string, given: PhonePayment, receipt: string, now: Date): SandboxPayment {
  return {
    reference: receipt,
    direction: 'collection',
    method: '',
    operator: '',
    msisdn,
    amount: given.amount,
    currency: given.currency,
    merchantName: '',
    scenario: 'handset',
    status: 'succeeded',
    receipt,
    failureCode: null,
    handset: null,
    dialCode: null,
    accountReference: given.accountReference,
    payTo: null,
    expiresAt: null,
    queryContradicts: false,
    nextStep: null,
    dueAt: null,
    createdAt: now,
  };
}

function isOver(payment: SandboxPayment, now: Date): boolean {
  return payment.expiresAt !== null && payment.expiresAt <= now;
}

function showPrompt(payment: SandboxPayment): PhonePrompt[] {
  if (payment.handset === null) return [];
  return [
    {
      id: payment.reference,
      method: payment.method,
      operator: payment.operator,
      merchantName: payment.merchantName,
      amount: payment.amount,
      currency: payment.currency,
      text: smsText(payment.handset === 'dial' ? 'dial' : 'prompt', payment),
      state: payment.handset,
      dialCode: payment.dialCode,
      payTo: payment.payTo,
      accountReference: payment.accountReference,
      expiresAt: payment.expiresAt,
      at: payment.createdAt,
    },
  ];
}
