// Charges of Paystack and the transactions that verify shows: from the first step over the payer's decision to their end.

import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import type { PaystackAccount } from './paystack-account.ts';
import { stepData, transactionData } from './paystack-bodies.ts';
import { createChargeLife, PAYSTACK_RESPONSES, type PaystackCharge } from './paystack-charge-life.ts';
import { readWay } from './paystack-ways.ts';
import {
  accepted,
  checkPaystackFields,
  type PaystackJson,
  paystackText,
  readSubunits,
  refused,
} from './paystack-wire.ts';

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
/** Succeeds in test mode without a prompt, within the request. */
const TEST_NUMBER = '233551234987';

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
    if (outcome === 'failed' || outcome === 'failed_outside') life.fail(created, PAYSTACK_RESPONSES.no_money);
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
