// Collections of Paystack: charges, and transactions as verify and webhooks show them.

import type { RailConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { isOfMode, readEnvelope, readFailure, readRefusal, unknown, unreadable } from './paystack-answers.ts';
import { type Amounts, chargePhone, METHODS } from './paystack-methods.ts';
import type { CollectCall, Observation, PayerStep, QueryCall } from './rail.ts';
import { field, momentOf, proseOf, textOf } from './reading.ts';
import { compactOf } from './wire-ids.ts';

/** Letters, digits, "-", "." and "=" are allowed: TX-01J…. */
export const chargeReference = (reference: string) => reference.replace('_', '-');

export type ChargeContext = {
  settings: RailConnection['settings'];
  publicUrl: string;
  amounts: Amounts;
  mode: 'live' | 'test';
  /** How long the payer may send money to an account or a pay bill. */
  transferMs: number;
  now: () => Date;
};

export function chargeBody(context: ChargeContext, call: CollectCall): object {
  const { settings, publicUrl, amounts } = context;
  const domain = settings.payer_email_domain || `payer.${new URL(publicUrl).hostname}`;
  return {
    // A charge needs one, and payers have none.
    email: `${call.msisdn || compactOf(call.reference).toLowerCase()}@${domain}`,
    amount: amounts.toWire(call.amount, call.currency),
    currency: call.currency,
    reference: chargeReference(call.reference),
    metadata: { ref: call.reference },
    ...payment(context, call),
  };
}

function payment({ settings, transferMs, now }: ChargeContext, { method, msisdn }: CollectCall): object {
  const { pay, provider } = METHODS[method.code] ?? { pay: 'phone', provider: '' };
  if (pay === 'bank_transfer')
    return { bank_transfer: { account_expires_at: new Date(now().getTime() + transferMs).toISOString() } };
  if (pay === 'till') return { mobile_money: { account: settings.till_number ?? '', provider } };
  return { mobile_money: { phone: chargePhone(msisdn, method, settings), provider } };
}

type Charge = Pick<CollectCall, 'reference' | 'method'>;

/** The answer to a charge and to its second steps. */
export function readCharge(context: ChargeContext, answer: Exchange, call: Charge): Observation {
  const envelope = readEnvelope(answer);
  if (envelope === null || envelope.httpStatus >= 500 || envelope.httpStatus === 429) return unreadable(answer);
  const { data } = envelope;
  const status = textOf(field(data, 'status'));
  const reference = textOf(field(data, 'reference'));
  // Some answers come without one.
  if (reference !== null && reference !== chargeReference(call.reference))
    return unknown('the answer is about something else');
  if (status === null) return envelope.isOk ? unknown('the answer has no status') : readRefusal(envelope);
  switch (status) {
    case 'success':
      return reference === null ? unknown('the answer has no reference') : readPaid(context, data, 'first');
    case 'failed':
      return readFailure(data, 'collection');
    case 'timeout':
      return { ...readFailure(data, 'collection'), failureCode: 'PROMPT_EXPIRED', rawCode: status };
    case 'pay_offline':
    case 'send_otp':
    case 'open_url':
    case 'pending_bank_transfer':
    case 'pending':
    case 'send_pin':
    case 'send_phone':
    case 'send_birthday':
    case 'send_address':
      return readPending(context, data, status, call);
    default:
      return unknown('the operator sent an unknown status');
  }
}

function readPending(context: ChargeContext, data: unknown, status: string, call: Charge): Observation {
  const step = stepOf(context, data, status, call);
  return step === null ? { state: 'pending' } : { state: 'pending', step };
}

function stepOf(context: ChargeContext, data: unknown, status: string, call: Charge): PayerStep | null {
  const text = proseOf(field(data, 'display_text')) || null;
  switch (status) {
    case 'send_otp':
      return { kind: 'code', text };
    case 'open_url': {
      const url = textOf(field(data, 'url'));
      return url !== null && URL.canParse(url) && /^https?:/.test(url)
        ? { kind: 'redirect', url, expiresAt: null }
        : null;
    }
    case 'pending_bank_transfer':
    case 'pay_offline':
      return transferStep(context, data, call) ?? (status === 'pay_offline' ? { kind: 'prompt', text } : null);
    default:
      return null;
  }
}

/** Where the payer sends the money; null where a prompt comes instead. */
function transferStep(context: ChargeContext, data: unknown, { reference, method }: Charge): PayerStep | null {
  const pay = METHODS[method.code]?.pay;
  const number = textOf(field(data, 'account_number')) ?? (pay === 'till' ? context.settings.till_number : null);
  if (!number || pay === undefined || pay === 'phone') return null;
  const kind = pay === 'bank_transfer' ? 'bank_account' : pay;
  const expiresAt =
    momentOf(field(data, 'account_expires_at')) ?? new Date(context.now().getTime() + context.transferMs);
  return {
    kind: 'transfer',
    payTo: {
      kind,
      number,
      name: textOf(field(data, 'account_name')) ?? 'Paystack',
      bank: textOf(field(data, 'bank', 'name')),
    },
    // The number of a pay bill's account comes as a JSON number.
    accountReference:
      textOf(field(data, 'account_reference')) ?? textOf(field(data, 'transaction_reference')) ?? compactOf(reference),
    expiresAt,
  };
}

/**
 * A paid transaction. The receipt of M-PESA is its own code, which the first word of Paystack may lack: `first` leaves it to the
 * query then. Elsewhere the receipt is Paystack's id, which every message carries.
 */
export function readPaid(context: ChargeContext, data: unknown, source: 'first' | 'query'): Observation {
  const money = context.amounts.fromWire(field(data, 'amount'), field(data, 'currency'));
  const id = textOf(field(data, 'id'));
  if (money === null || id === null) return unknown('the amount or the id is not valid');
  if (!isOfMode(data, context.mode)) return unknown('the answer is of another mode');
  const isMpesa = money.currency === 'KES' && field(data, 'channel') === 'mobile_money';
  const code = isMpesa ? textOf(field(data, 'receipt_number')) : null;
  const receipt = code ?? (isMpesa && source === 'first' ? null : id);
  return { state: 'succeeded', receipt, railReference: id, ...money };
}

/** Prompts are answered within minutes; an account may be paid into for hours after it ended. */
const ABANDONED_PROMPT_MS = 3_600_000;
const ABANDONED_TRANSFER_MS = 12 * 3_600_000;

/** The answer of verify. `reversed` is returned as such; the caller knows whether refunds explain it. */
export function readTransaction(context: ChargeContext, answer: Exchange, call: QueryCall): Observation {
  const envelope = readEnvelope(answer);
  if (envelope === null) return unreadable(answer);
  const { data, isOk, httpStatus, message } = envelope;
  if (!isOk && [200, 400, 404].includes(httpStatus) && /transaction reference not found/i.test(message))
    return { state: 'unknown', reason: 'the operator does not know the reference', definitelyNotFound: true };
  if (!isOk || httpStatus !== 200) return unreadable(answer);
  if (textOf(field(data, 'reference')) !== chargeReference(call.reference)) return unknown('the answer is not valid');
  const status = textOf(field(data, 'status')) ?? '';
  switch (status) {
    case 'success':
    // A refund is under way; it can fail, and then it is a success again.
    case 'reversal pending':
    case 'reversal_pending':
    case 'reversal-pending':
      return readPaid(context, data, 'query');
    case 'reversed': {
      const paid = readPaid(context, data, 'query');
      if (paid.state !== 'succeeded') return paid;
      const { receipt, amount, currency } = paid;
      const note = proseOf(field(data, 'gateway_response'));
      return {
        state: 'reversed',
        receipt,
        rawCode: status,
        message: note,
        ...(amount && currency ? { amount, currency } : {}),
      };
    }
    case 'failed':
      return readFailure(data, 'collection');
    case 'timeout':
      return { ...readFailure(data, 'collection'), failureCode: 'PROMPT_EXPIRED', rawCode: status };
    case 'abandoned':
      return readAbandoned(context, data, call);
    case 'ongoing':
    case 'pending':
    case 'processing':
    case 'queued':
      return { state: 'pending' };
    default:
      return unknown('the operator sent an unknown status');
  }
}

/** The payer has not completed it, which is no failure: it can still be paid, until nobody would. */
function readAbandoned({ now }: ChargeContext, data: unknown, { method, submittedAt }: QueryCall): Observation {
  const limit = METHODS[method.code]?.pay === 'phone' ? ABANDONED_PROMPT_MS : ABANDONED_TRANSFER_MS;
  if (now().getTime() - submittedAt.getTime() < limit) return { state: 'pending' };
  return { ...readFailure(data, 'collection'), failureCode: 'PROMPT_EXPIRED', rawCode: 'abandoned' };
}
