// Charges of Paystack and the transactions that verify shows: from the first step over the payer's decision to their end.

import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { writeMoney } from './money.ts';
import { PAYSTACK_INTEGRATION, type PaystackAccount } from './paystack-account.ts';
import { chargeSuccessData, newAccountData, stepData, transactionData } from './paystack-bodies.ts';
import { type PaystackWay, readWay } from './paystack-ways.ts';
import {
  accepted,
  checkPaystackFields,
  type PaystackJson,
  paystackText,
  paystackTime,
  readSubunits,
  refused,
} from './paystack-wire.ts';
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

export interface PaystackCharges {
  routes: SimulatorRoute[];
  /** By our reference or by Paystack's id. */
  find(key: string): PaystackCharge | undefined;
  list(): PaystackCharge[];
  /** What the next charge answers instead of its first step. */
  plan(outcome: PaystackChargeOutcome): void;
  /** Somebody sends money to an account that a charge gave. False when there is no such account. */
  receiveTransfer(accountNumber: string, amount: bigint, sender: string): boolean;
}

export const PAYSTACK_CHARGE_OUTCOMES = [
  'success',
  'pending',
  'failed',
  'failed_outside',
  'otp_without_reference',
] as const;
export type PaystackChargeOutcome = (typeof PAYSTACK_CHARGE_OUTCOMES)[number];

const CHARGE_FIELDS = {
  email: 'text',
  amount: 'amount',
  currency: 'text?',
  reference: 'text?',
  mobile_money: 'object?',
  bank_transfer: 'object?',
  metadata: 'any?',
};
const REFERENCE = /^[A-Za-z0-9.=-]+$/;
const MAX_WRONG_CODES = 3;
/** Succeeds in test mode without a prompt, within the request. */
const TEST_NUMBER = '233551234987';

const RESPONSES: Readonly<Record<Exclude<Decision, 'approve' | 'ignore'>, [string, string]>> = {
  cancel: ['Transaction rejected by customer', 'customer_cancellation'],
  wrong_pin: ['Incorrect PIN', 'processing_error'],
  no_money: ['Insufficient funds', 'insufficient_funds'],
  not_found: ['Customer account not found', 'processing_error'],
  limit_reached: ['Transaction limit exceeded', 'processing_error'],
};
const UNDOCUMENTED_RESPONSE: [string, string] = ['Switch table 4999 mismatch', 'switch_table_mismatch'];

const NOT_FOUND = 'Transaction reference not found.';
const INVALID_REFERENCE = 'Transaction reference is invalid';

export function createPaystackCharges(account: PaystackAccount): PaystackCharges {
  const { settings } = account;
  const charges = new Map<string, PaystackCharge>();
  const planned: PaystackChargeOutcome[] = [];
  const life = createChargeLife(account);
  const find = (key: string) => charges.get(key) ?? [...charges.values()].find(({ id }) => String(id) === key);

  function charge({ json }: SimulatorRequest): SimulatorAnswer {
    const created = readCharge(account, json, charges);
    if ('refusal' in created) return created.refusal;
    charges.set(created.reference, created);
    const outcome = planned.shift();
    if (outcome === 'failed' || outcome === 'failed_outside') life.fail(created, RESPONSES.no_money);
    else if (outcome === 'success' || isTestNumber(created)) life.succeed(created);
    else if (outcome === 'pending') {
      created.step = 'pending';
      created.status = 'pending';
      life.wait(created);
    } else life.wait(created);
    const { body } = attempted(created);
    if (outcome !== 'failed_outside' && outcome !== 'otp_without_reference') return { status: 200, body };
    const { reference: _, ...data } = body.data;
    return { status: 200, body: { ...body, status: outcome !== 'failed_outside', data } };
  }

  const isTestNumber = ({ way, currency }: PaystackCharge) =>
    account.domain() === 'test' && currency === 'GHS' && way.provider === 'mtn' && way.payer === TEST_NUMBER;

  const attempted = (paid: PaystackCharge) => ({
    body: { status: true, message: 'Charge attempted', data: dataOf(paid) },
  });
  const dataOf = (paid: PaystackCharge) => (paid.step === 'success' ? transactionData(account, paid) : stepData(paid));

  function submitOtp({ json }: SimulatorRequest): SimulatorAnswer {
    const refusal = checkPaystackFields(json, { otp: 'text', reference: 'text' });
    if (refusal) return refusal;
    const found = charges.get(paystackText(json?.reference));
    if (found?.step !== 'send_otp') return refused(INVALID_REFERENCE);
    life.enterCode(found, paystackText(json?.otp));
    return { status: 200, ...attempted(found) };
  }

  function verify({ params }: SimulatorRequest): SimulatorAnswer {
    const found = charges.get(params.reference ?? '');
    if (found && account.context.now() - found.createdAt >= Number(settings.verifyLagMs))
      return accepted('Verification successful', transactionData(account, found));
    return refused(NOT_FOUND, 'transaction_not_found', Number(settings.notFoundStatus));
  }

  function check({ params }: SimulatorRequest): SimulatorAnswer {
    const found = charges.get(params.reference ?? '');
    return found ? accepted('Reference check successful', dataOf(found)) : refused(INVALID_REFERENCE);
  }

  return {
    find,
    list: () => [...charges.values()],
    plan: (outcome) => void planned.push(outcome),
    receiveTransfer(accountNumber, amount, sender) {
      const found = life.accountOf(accountNumber);
      if (found) life.receive(found, amount, sender);
      return found !== undefined;
    },
    routes: [
      { method: 'POST', path: '/charge', operation: 'collect', handle: charge },
      { method: 'POST', path: '/charge/submit_otp', operation: 'collect', handle: submitOtp },
      // No way to pay of this simulator asks for these.
      ...['pin', 'phone', 'birthday', 'address'].map((part) => ({
        method: 'POST' as const,
        path: `/charge/submit_${part}`,
        operation: 'collect' as const,
        handle: () => refused(INVALID_REFERENCE),
      })),
      { method: 'GET', path: '/charge/:reference', operation: 'query', handle: check },
      { method: 'GET', path: '/transaction/verify/:reference', operation: 'query', handle: verify },
    ],
  };
}

function readCharge(
  { context, settings, ids }: PaystackAccount,
  body: PaystackJson | null,
  charges: Map<string, PaystackCharge>,
): PaystackCharge | { refusal: SimulatorAnswer } {
  const refusal = checkPaystackFields(body, CHARGE_FIELDS);
  if (refusal || body === null) return { refusal: refusal ?? refused('Invalid JSON') };
  const email = paystackText(body.email);
  if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email)) return { refusal: refused('Invalid Email Address Passed') };
  const currency = paystackText(body.currency) || (settings.defaultCurrency ?? '');
  const amount = readSubunits(body.amount, currency, settings);
  if (amount === null) return { refusal: refused('Invalid Amount Sent') };
  const reference = paystackText(body.reference) || ids.code('T').slice(2);
  if (!REFERENCE.test(reference))
    return { refusal: refused('Only -, ., = and alphanumeric characters are allowed in the reference') };
  if (charges.has(reference)) return { refusal: refused('Duplicate Transaction Reference', 'duplicate_reference') };
  const way = readWay(body, currency, context.now());
  if ('refusal' in way) return way;
  return {
    id: ids.number(),
    reference,
    email,
    amount,
    currency,
    way,
    metadata: body.metadata,
    createdAt: context.now(),
    status: 'ongoing',
    step: way.step,
    message: null,
    gatewayResponse: 'The transaction was not completed',
    gatewayResponseCode: '',
    receiptNumber: null,
    extra: {},
    wrongCodes: 0,
    stopWaiting: () => {},
  };
}

/** What happens to a charge once it exists. */
function createChargeLife(account: PaystackAccount) {
  const { context, settings, ids } = account;
  const accounts = new Map<string, PaystackCharge>();
  let accountCount = 0;

  /** Asks the payer, and gives up after a time. */
  function wait(charge: PaystackCharge): void {
    if (charge.way.step === 'pending_bank_transfer') openAccount(charge);
    else if (charge.way.step === 'open_url') charge.extra = { url: `${context.url()}/pay/${charge.reference}` };
    else if (charge.way.provider === 'mpesa_offline')
      charge.extra = { account_number: '4084333', account_reference: ids.number() % 10_000_000 };
    const prompt = context.phones.ring(promptOf(charge, codeOf(charge)), (decision) => decided(charge, decision));
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

  function finish(charge: PaystackCharge, decision: Exclude<Decision, 'ignore'>): void {
    charge.stopWaiting();
    if (context.takeFault('unknown_code', 'collect')) fail(charge, UNDOCUMENTED_RESPONSE);
    else if (context.takeFault('late_success', 'collect')) {
      charge.status = 'abandoned';
      charge.step = 'timeout';
      context.after(Number(settings.lateSuccessSeconds) * 1000, () => succeed(charge));
    } else if (decision === 'approve') succeed(charge);
    else fail(charge, RESPONSES[decision]);
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

  const codeOf = ({ way }: PaystackCharge) => (way.provider === 'orange' ? settings.orangeOtp : settings.otp) ?? '';

  function enterCode(charge: PaystackCharge, code: string): void {
    if (code !== codeOf(charge)) {
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
    accountCount++;
    const accountNumber = `12602${String(accountCount).padStart(5, '0')}`;
    accounts.set(accountNumber, charge);
    charge.extra = newAccountData(account, charge, accountNumber);
  }

  /** Money at an account: only the first transfer of the right amount in time pays; everything else goes back. */
  function receive(charge: PaystackCharge, amount: bigint, sender: string): void {
    if (charge.status !== 'ongoing') return;
    if (amount === charge.amount) {
      charge.sender = sender;
      finish(charge, 'approve');
      return;
    }
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

  return { wait, succeed, fail, enterCode, receive, accountOf: (accountNumber: string) => accounts.get(accountNumber) };
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
