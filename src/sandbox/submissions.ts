// Reads a submit and makes the payment that its scenario plans.

import type { Direction, VerificationStyle } from '../catalog/catalog.ts';
import { amountFrom } from '../platform/money.ts';
import { createReceipt } from './outcomes.ts';
import type { PayTo, SandboxPayment } from './payments-table.ts';
import type { PaymentPlan, Scenario } from './scenarios.ts';

const STYLES: readonly VerificationStyle[] = ['prompt', 'shortcode', 'otp', 'instructions'];
const MAX_TEXT_LENGTH = 200;
/** Long enough to be unique, short enough to type on a phone (M-PESA allows twelve characters). */
const ACCOUNT_REFERENCE_LENGTH = 10;

export type Submission = {
  reference: string;
  direction: Direction;
  method: string;
  style: VerificationStyle;
  type: string;
  operator: string;
  dialCode: string | null;
  msisdn: string;
  amount: bigint;
  currency: string;
  merchantName: string;
  verified: boolean;
};

export type RefundSubmission = { reference: string; paymentReference: string; amount: bigint; currency: string };

/** How long the payer has to answer a prompt, to dial, or to send the money. */
export type PaymentLifetimes = { promptMs: number; dialMs: number; instructionsMs: number };

/** An invalid submit; the message is sent to the caller. */
export class SubmissionError extends Error {}

export function readSubmission(body: unknown): Submission {
  if (typeof body !== 'object' || body === null) throw new SubmissionError('the body must be an object');
  const given = new Map<string, unknown>(Object.entries(body));
  const direction = given.get('direction');
  if (direction !== 'collection' && direction !== 'payout')
    throw new SubmissionError('direction must be collection or payout');
  const style = STYLES.find((known) => known === given.get('style'));
  if (style === undefined) throw new SubmissionError(`style must be one of ${STYLES.join(', ')}`);
  const dialCode = given.get('dial_code');
  return {
    reference: readText(given, 'reference'),
    direction,
    method: readText(given, 'method'),
    style,
    type: readText(given, 'type'),
    operator: readText(given, 'operator'),
    dialCode: typeof dialCode === 'string' ? dialCode.slice(0, MAX_TEXT_LENGTH) : null,
    msisdn: readMsisdn(given.get('msisdn')),
    amount: readAmount(given.get('amount')),
    currency: readText(given, 'currency'),
    merchantName: readText(given, 'merchant_name'),
    verified: given.get('verified') === true,
  };
}

export function readRefund(body: unknown): RefundSubmission {
  if (typeof body !== 'object' || body === null) throw new SubmissionError('the body must be an object');
  const given = new Map<string, unknown>(Object.entries(body));
  return {
    reference: readText(given, 'reference'),
    paymentReference: readText(given, 'payment_reference'),
    amount: readAmount(given.get('amount')),
    currency: readText(given, 'currency'),
  };
}

export function readMsisdn(value: unknown): string {
  if (typeof value === 'string' && /^\d{6,15}$/.test(value)) return value;
  throw new SubmissionError('msisdn must be digits with the dial code, such as 254712345678');
}

export function readAmount(value: unknown): bigint {
  try {
    const amount = typeof value === 'string' ? amountFrom(value) : 0n;
    if (amount > 0n) return amount;
  } catch {
    // Reported by the error below.
  }
  throw new SubmissionError('amount must be a positive decimal string, such as "25.50"');
}

function readText(given: Map<string, unknown>, name: string): string {
  const value = given.get(name);
  if (typeof value === 'string' && value !== '' && value.length <= MAX_TEXT_LENGTH) return value;
  throw new SubmissionError(`${name} must be a text of 1 to ${MAX_TEXT_LENGTH} characters`);
}

/** The payment to store for a submit. */
export function planPayment(
  submission: Submission,
  plan: PaymentPlan,
  now: Date,
  lifetimes: PaymentLifetimes,
): SandboxPayment {
  const payment: SandboxPayment = {
    reference: submission.reference,
    direction: submission.direction,
    method: submission.method,
    operator: submission.operator,
    msisdn: submission.msisdn,
    amount: submission.amount,
    currency: submission.currency,
    merchantName: submission.merchantName,
    scenario: plan.kind === 'phone' ? 'handset' : plan.name,
    status: 'pending',
    receipt: null,
    failureCode: null,
    handset: null,
    dialCode: null,
    accountReference: null,
    payTo: null,
    expiresAt: null,
    queryContradicts: false,
    nextStep: null,
    dueAt: null,
    createdAt: now,
  };
  const after = (ms: number) => new Date(now.getTime() + ms);
  if (plan.kind === 'scenario') return { ...payment, ...followScenario(plan.scenario, now) };
  if (plan.kind === 'instructions') {
    const expiresAt = after(lifetimes.instructionsMs);
    return {
      ...payment,
      handset: 'instructions',
      accountReference: submission.reference.slice(-ACCOUNT_REFERENCE_LENGTH).toUpperCase(),
      payTo: payTo(submission),
      expiresAt,
      queryContradicts: plan.pays?.queryContradicts ?? false,
      nextStep: plan.pays ? 'succeed' : 'expire',
      dueAt: plan.pays ? after(plan.pays.afterMs) : expiresAt,
    };
  }
  const mustDial = submission.style === 'shortcode' && submission.dialCode !== null;
  const expiresAt = after(mustDial ? lifetimes.dialMs : lifetimes.promptMs);
  return {
    ...payment,
    handset: mustDial ? 'dial' : 'prompt',
    dialCode: submission.dialCode,
    expiresAt,
    nextStep: 'expire',
    dueAt: expiresAt,
  };
}

function followScenario(scenario: Scenario, now: Date): Partial<SandboxPayment> {
  const succeeds = scenario.outcome === 'succeed';
  if (scenario.decides === 'never') return {};
  if (scenario.refusedForMs !== undefined) {
    const expiresAt = new Date(now.getTime() + scenario.refusedForMs);
    return { status: 'failed', failureCode: 'FLOAT_INSUFFICIENT', expiresAt };
  }
  if (scenario.decides === 'reply')
    return succeeds
      ? { status: 'succeeded', receipt: createReceipt(now) }
      : { status: 'failed', failureCode: scenario.outcome };
  return {
    queryContradicts: scenario.queryContradicts,
    nextStep: succeeds ? 'succeed' : 'fail',
    dueAt: new Date(now.getTime() + scenario.afterMs),
  };
}

function payTo(submission: Submission): PayTo {
  if (submission.type === 'till number')
    return { kind: 'till', number: '5203344', name: submission.merchantName, bank: null };
  if (submission.type === 'pay bill')
    return { kind: 'paybill', number: '888880', name: submission.merchantName, bank: null };
  return { kind: 'bank_account', number: '9900112233', name: submission.merchantName, bank: 'Sandbox Bank' };
}
