// What happens to a charge of Paystack once it exists: the payer is asked, decides or does nothing, and it ends.

import { writeMoney } from './money.ts';
import { PAYSTACK_INTEGRATION, type PaystackAccount } from './paystack-account.ts';
import { chargeSuccessData, newAccountData } from './paystack-bodies.ts';
import type { PaystackWay } from './paystack-ways.ts';
import { type PaystackJson, paystackText, paystackTime } from './paystack-wire.ts';
import { type Decision, decisionOf, type Prompt } from './phones.ts';

export type PaystackCharge = {
  id: number;
  reference: string;
  email: string;
  amount: bigint;
  currency: string;
  way: PaystackWay;
  metadata: unknown;
  createdAt: number;
  paidAt?: number;
  /** As verify says it. */
  status: 'ongoing' | 'pending' | 'success' | 'failed' | 'abandoned' | 'reversed' | 'reversal pending';
  /** As the charge calls say it. */
  step: string;
  message: string | null;
  gatewayResponse: string;
  gatewayResponseCode: string;
  receiptNumber: string | null;
  /** What the answer to the charge shows beside the step: the account to pay to. */
  extra: PaystackJson;
  sender?: string;
  wrongCodes: number;
  /** Ends the wait for the payer. */
  stopWaiting: () => void;
};

const MAX_WRONG_CODES = 3;

/** The text and the code of the gateway, for each decision of the payer. */
export const PAYSTACK_RESPONSES: Readonly<Record<Exclude<Decision, 'approve' | 'ignore'>, [string, string]>> = {
  cancel: ['Transaction rejected by customer', 'customer_cancellation'],
  wrong_pin: ['Incorrect PIN', 'processing_error'],
  no_money: ['Insufficient funds', 'insufficient_funds'],
  not_found: ['Customer account not found', 'processing_error'],
  limit_reached: ['Transaction limit exceeded', 'processing_error'],
};
const UNDOCUMENTED_RESPONSE: [string, string] = ['Switch table 4999 mismatch', 'switch_table_mismatch'];

export interface PaystackChargeLife {
  /** Asks the payer, and gives up after a time. */
  wait(charge: PaystackCharge): void;
  succeed(charge: PaystackCharge): void;
  /** `response`: the text and the code of the gateway. */
  fail(charge: PaystackCharge, response: [string, string]): void;
  /** The merchant hands over the code that the payer read. */
  enterCode(charge: PaystackCharge, code: string): void;
  /** Money at an account: only the first transfer of the right amount in time pays; everything else goes back. */
  receive(charge: PaystackCharge, amount: bigint, sender: string): void;
  accountOf(accountNumber: string): PaystackCharge | undefined;
}

export function createChargeLife(account: PaystackAccount): PaystackChargeLife {
  const { context, settings } = account;
  const { succeed, fail, finish, giveUp } = createChargeEnds(account);
  const accounts = new Map<string, PaystackCharge>();

  function wait(charge: PaystackCharge): void {
    if (charge.way.step === 'pending_bank_transfer') openAccount(charge);
    else if (charge.way.step === 'open_url') charge.extra = { url: `${context.url()}/pay/${charge.reference}` };
    else if (charge.way.provider === 'mpesa_offline')
      charge.extra = { account_number: '4084333', account_reference: account.ids.number() % 10_000_000 };
    const prompt = context.phones.ring(promptOf(charge, codeOf(account, charge)), (decision) =>
      decided(charge, decision),
    );
    const { expiresAt } = charge.way;
    const ms = expiresAt === undefined ? Number(settings.promptSeconds) * 1000 : expiresAt - context.now();
    const cancel = context.after(ms, () => {
      charge.stopWaiting();
      giveUp(charge);
    });
    charge.stopWaiting = () => {
      cancel();
      context.phones.close(prompt.id);
    };
  }

  function decided(charge: PaystackCharge, decision: Decision): void {
    if (decision === 'ignore') return;
    const isTransfer = charge.way.channel === 'bank_transfer';
    // A payer who does not transfer tells nobody.
    if (isTransfer && decision === 'approve') receive(charge, charge.amount, 'ANN ABELL');
    // The code is on the screen of the phone; the charge goes on when the merchant hands it over.
    else if (!isTransfer && (charge.step !== 'send_otp' || decision === 'cancel')) finish(charge, decision);
  }

  function enterCode(charge: PaystackCharge, code: string): void {
    if (code !== codeOf(account, charge)) {
      charge.wrongCodes++;
      if (charge.wrongCodes < MAX_WRONG_CODES) return;
      charge.stopWaiting();
      fail(charge, ['Invalid OTP', 'processing_error']);
      return;
    }
    charge.stopWaiting();
    charge.step = 'pending';
    charge.status = 'pending';
    const decision = decisionOf(charge.way.payer) ?? 'approve';
    if (decision === 'ignore') context.after(Number(settings.promptSeconds) * 1000, () => giveUp(charge));
    else context.after(Number(settings.processingMs), () => finish(charge, decision));
  }

  function openAccount(charge: PaystackCharge): void {
    // The last digits must not be those of a number that decides something.
    const accountNumber = `126${String(accounts.size + 1).padStart(5, '0')}57`;
    accounts.set(accountNumber, charge);
    charge.extra = newAccountData(account, charge, accountNumber);
  }

  function receive(charge: PaystackCharge, amount: bigint, sender: string): void {
    if (charge.status !== 'ongoing') return;
    if (amount === charge.amount) {
      charge.sender = sender;
      finish(charge, 'approve');
    } else rejectTransfer(account, charge, amount);
  }

  return { wait, succeed, fail, enterCode, receive, accountOf: (accountNumber) => accounts.get(accountNumber) };
}

const codeOf = ({ settings }: PaystackAccount, { way }: PaystackCharge) =>
  (way.provider === 'orange' ? settings.orangeOtp : settings.otp) ?? '';

/** A transfer of another amount goes back to its sender. */
function rejectTransfer(account: PaystackAccount, charge: PaystackCharge, amount: bigint): void {
  account.notify('bank.transfer.rejected', {
    bank_transfer: {
      amount: String(amount),
      message: 'incorrect amount sent',
      message_type: 'INCORRECT_AMOUNT',
      transaction_id: String(charge.id),
    },
    customer: {
      email: charge.email,
      customer_code: `CUS_${charge.id}`,
      id: charge.id,
      domain: account.domain(),
      integration: PAYSTACK_INTEGRATION,
    },
  });
}

/** The ends of charges. */
function createChargeEnds(account: PaystackAccount) {
  const { context, settings, ids } = account;

  function finish(charge: PaystackCharge, decision: Exclude<Decision, 'ignore'>): void {
    charge.stopWaiting();
    if (context.takeFault('unknown_code', 'collect')) fail(charge, UNDOCUMENTED_RESPONSE);
    else if (decision === 'approve' && context.takeFault('late_success', 'collect')) {
      charge.status = 'abandoned';
      charge.step = 'timeout';
      context.after(Number(settings.lateSuccessSeconds) * 1000, () => succeed(charge));
    } else if (decision === 'approve') succeed(charge);
    else fail(charge, PAYSTACK_RESPONSES[decision]);
  }

  /** The payer did nothing in time. */
  function giveUp(charge: PaystackCharge): void {
    if (charge.step === 'pay_offline' && settings.silence === 'failed') {
      fail(charge, ['Transaction timed out', 'processing_error']);
      charge.step = 'timeout';
    } else {
      charge.status = 'abandoned';
      charge.step = 'abandoned';
    }
  }

  function succeed(charge: PaystackCharge): void {
    if (charge.status === 'success') return;
    charge.status = 'success';
    charge.step = 'success';
    charge.paidAt = context.now();
    charge.gatewayResponse = 'Approved';
    charge.gatewayResponseCode = 'approved';
    charge.message = 'madePayment';
    if (charge.way.provider.startsWith('mp')) charge.receiptNumber = ids.receipt();
    const { reference, id, amount, currency, way, receiptNumber } = charge;
    account.enter(
      {
        kind: 'collection',
        id: reference,
        receipt: receiptNumber ?? String(id),
        msisdn: way.payer,
        amount,
        currency,
      },
      { model: 'Transaction', id, reason: `Payment of ${paystackTime(context.now())}` },
    );
    account.notify('charge.success', chargeSuccessData(account, charge));
  }

  /** Nobody is told of a charge that failed: only verify says it. */
  function fail(charge: PaystackCharge, [response, code]: [string, string]): void {
    charge.status = 'failed';
    charge.step = 'failed';
    charge.message = response;
    charge.gatewayResponse = response;
    charge.gatewayResponseCode = code;
  }

  return { finish, giveUp, succeed, fail };
}

/** What the payer sees. A bank transfer has no phone: the number in front of the "@" of the address stands for it. */
function promptOf(charge: PaystackCharge, code: string): Omit<Prompt, 'id' | 'openedAt'> {
  const { way, amount, currency, extra, email } = charge;
  const shown = `${currency} ${writeMoney(amount)}`;
  const prompt = { msisdn: way.payer, amount: writeMoney(amount), currency };
  if (way.channel === 'bank_transfer') {
    const msisdn = /^\d{6,15}(?=@)/.exec(email)?.[0] ?? paystackText(extra.account_number);
    return { ...prompt, msisdn, kind: 'dial', text: `Transfer ${shown} to ${paystackText(extra.account_number)}` };
  }
  if (way.step === 'send_otp') return { ...prompt, kind: 'code', text: `Your code to pay ${shown} is ${code}` };
  if (way.step === 'open_url') return { ...prompt, kind: 'redirect', text: `Pay ${shown}?` };
  if (way.provider === 'mpesa') return { ...prompt, kind: 'pin', text: `Pay ${shown}?` };
  const account = extra.account_number === undefined ? way.payer : `4084333, ${String(extra.account_reference)}`;
  return way.provider.startsWith('mp')
    ? { ...prompt, kind: 'dial', text: `Pay ${shown} to ${account}` }
    : { ...prompt, kind: 'pin', text: `Pay ${shown}?` };
}
