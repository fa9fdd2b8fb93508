// The test phone: what a person sees on the handset of a number, and everything that can be done with it. The page and
// the command line use these functions, or the same over the simulated operator's HTTP.

import type { FailureCode } from '../catalog/failures.ts';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { formatAmount } from '../platform/money.ts';
import { queueOperatorCallbacks } from './operator-callbacks.ts';
import { createReceipt, decidePayments, incomingPayment, recordDecisions, type SandboxDecision } from './outcomes.ts';
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
  label: string;
  amount: bigint;
  currency: string;
  text: string;
  /**
   * dial: an SMS tells to dial `dialCode`. prompt: on the screen, waits for the PIN. undelivered: the phone was off.
   * ignored: put away. instructions: the payer is to send the money himself. The others say how it ended.
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
  /** Grows with every change: give it to `waitForNews`. */
  version: number;
  /** Newest first. */
  messages: StoredSms[];
  prompts: PhonePrompt[];
};

/** `message` is what the handset shows in answer. */
export type PhoneResult = { ok: boolean; message: string };

export type PhonePayment = { to: string; accountReference: string; amount: bigint; currency: string };

export interface TestPhone {
  view(msisdn: string): Promise<PhoneView>;
  /** Answers as soon as the phone's version differs from `version`, or after `waitMs` (at most 25 s). */
  waitForNews(msisdn: string, version: number, waitMs: number, signal?: AbortSignal): Promise<PhoneView>;
  /** Types the PIN: any four digits approve, 0000 is wrong and ends the payment. */
  answer(msisdn: string, id: string, pin: string): Promise<PhoneResult>;
  cancel(msisdn: string, id: string): Promise<PhoneResult>;
  /** Puts the prompt away without an answer; it expires in its time. */
  ignore(msisdn: string, id: string): Promise<PhoneResult>;
  /** While off no prompt arrives, and those that would have are lost: they expire. SMS wait. */
  switchTo(msisdn: string, isOn: boolean): Promise<PhoneResult>;
  /** Dials a short code: opens the prompt that waits behind it, also one that was missed. */
  dial(msisdn: string, code: string): Promise<PhoneResult>;
  /** Sends money to a till, pay bill or bank account. The gateway hears of it whatever reference and amount it has. */
  pay(msisdn: string, payment: PhonePayment): Promise<PhoneResult & { receipt: string | null }>;
}

export function createTestPhone(ctx: Context, scripts: Scripts, news: PhoneChanges): TestPhone {
  async function view(msisdn: string): Promise<PhoneView> {
    // The version is read first: a change in between is then seen twice, never missed.
    const phone = await readPhone(ctx.db, msisdn);
    const [messages, payments] = await Promise.all([
      listMessages(ctx.db, msisdn, MESSAGES_SHOWN),
      listPhonePayments(ctx.db, msisdn, PROMPTS_SHOWN),
    ]);
    return { msisdn, ...phone, messages, prompts: payments.flatMap(showPrompt) };
  }

  /** One change to one phone: in a transaction, and told to whoever waits. */
  async function act<R extends PhoneResult>(msisdn: string, work: (tx: Tx, now: Date) => Promise<R>): Promise<R> {
    const result = await ctx.db.transaction(async (tx) => work(tx, ctx.clock.now()));
    news.tell([msisdn]);
    return result;
  }

  /** Acts on a prompt that is on the screen now. */
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

  async function end(tx: Tx, now: Date, payment: SandboxPayment, handset: PhoneState, failureCode: FailureCode | null) {
    const decision: SandboxDecision = decidePayments(
      payment,
      failureCode ? 'fail' : 'succeed',
      now,
      failureCode ?? undefined,
    );
    await recordDecisions(tx, scripts, now, [{ ...decision, payment: { ...decision.payment, handset } }]);
  }

  return {
    view,
    async waitForNews(msisdn, version, waitMs, signal) {
      await news.wait(msisdn, waitMs, signal, async () => (await readPhone(ctx.db, msisdn)).version !== version);
      return view(msisdn);
    },
    answer(msisdn, id, pin) {
      if (!/^\d{4}$/.test(pin)) return Promise.resolve({ ok: false, message: 'A PIN has four digits.' });
      return onPrompt(msisdn, id, async (tx, payment, now) => {
        const isWrong = pin === WRONG_PIN;
        await end(tx, now, payment, isWrong ? 'wrong_pin' : 'approved', isWrong ? 'WRONG_PIN' : null);
        return isWrong ? { ok: false, message: 'Wrong PIN. Nothing was paid.' } : { ok: true, message: 'Paid.' };
      });
    },
    cancel: (msisdn, id) =>
      onPrompt(msisdn, id, async (tx, payment, now) => {
        await end(tx, now, payment, 'cancelled', 'PAYER_CANCELLED');
        return { ok: true, message: 'Cancelled. Nothing was paid.' };
      }),
    ignore: (msisdn, id) =>
      onPrompt(msisdn, id, async (tx, payment) => {
        await updatePayments(tx, [{ ...payment, handset: 'ignored' }]);
        await touchPhones(tx, [msisdn]);
        return { ok: true, message: 'The prompt was put away.' };
      }),
    switchTo: (msisdn, isOn) =>
      act(msisdn, async (tx) => {
        await switchPhone(tx, msisdn, isOn);
        return { ok: true, message: isOn ? 'The phone is on.' : 'The phone is off.' };
      }),
    dial: (msisdn, code) =>
      act(msisdn, async (tx, now) => {
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
      }),
    pay: (msisdn, given) =>
      act(msisdn, async (tx, now) => {
        if (!(await readPhone(tx, msisdn)).isOn) return { ok: false, message: 'The phone is off.', receipt: null };
        return sendMoney(tx, scripts, now, msisdn, given);
      }),
  };
}

/** Whoever sends money sends it: when it fits what is awaited it settles that, and in any case the gateway hears of it. */
async function sendMoney(
  tx: Tx,
  scripts: Scripts,
  now: Date,
  msisdn: string,
  given: PhonePayment,
): Promise<PhoneResult & { receipt: string }> {
  const accountReference = given.accountReference.trim().toUpperCase();
  const awaited = await lockAwaitedPayment(tx, given.to, accountReference);
  const fits =
    awaited !== null && awaited.amount === given.amount && awaited.currency === given.currency && !isOver(awaited, now);
  const receipt = createReceipt();
  const money = `${given.currency} ${formatAmount(given.amount)}`;
  if (fits) {
    const decision = decidePayments({ ...awaited, scenario: 'handset' }, 'succeed', now);
    await recordDecisions(tx, scripts, now, [
      {
        ...decision,
        payment: { ...decision.payment, receipt },
        announcement: incomingPayment({ ...given, payTo: given.to, accountReference, receipt, payer: msisdn }),
        message: null,
      },
    ]);
  } else {
    const announcement = incomingPayment({ ...given, payTo: given.to, accountReference, receipt, payer: msisdn });
    const payment = awaited ?? unawaited(msisdn, given, receipt, now);
    await queueOperatorCallbacks(tx, scripts, now, [{ payment, announcement, copies: 1 }]);
  }
  await writeMessages(tx, now, [
    { msisdn, sender: awaited?.operator ?? 'Bank', text: `${receipt} confirmed. You sent ${money} to ${given.to}.` },
  ]);
  await touchPhones(tx, [msisdn]);
  return { ok: true, message: `Sent ${money} to ${given.to}. Receipt ${receipt}.`, receipt };
}

/** Money that nobody asked for, in the shape that announcements are made from. */
function unawaited(msisdn: string, given: PhonePayment, receipt: string, now: Date): SandboxPayment {
  return {
    reference: receipt,
    direction: 'collection',
    method: '',
    operator: '',
    msisdn,
    amount: given.amount,
    currency: given.currency,
    label: '',
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
      label: payment.label,
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
