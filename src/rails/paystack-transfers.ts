// Payouts of Paystack: a recipient is made first, then money is sent to it.

import type { RailConnection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { isOfMode, readEnvelope, readFailure, readRefusal, unknown, unreadable } from './paystack-answers.ts';
import { type Amounts, accountNumber, METHODS, nationalNumber } from './paystack-methods.ts';
import type { Observation, PayoutCall } from './rail.ts';
import { field, proseOf, textOf } from './reading.ts';

/** 16 to 50 lower-case letters, digits, "-" and "_": tx_01j…. */
export const transferReference = (reference: string) => reference.toLowerCase();

/** The code of the bank or operator that Paystack pays through; null where payouts cannot be sent. */
export function bankCodeOf(code: string, settings: RailConnection['settings']): string | null {
  const recipient = METHODS[code]?.recipient;
  if (!recipient) return null;
  return ('bankCode' in recipient ? recipient.bankCode : settings[recipient.bankSetting]) || null;
}

export function recipientBody({ settings }: Pick<RailConnection, 'settings'>, call: PayoutCall): object {
  const { method, msisdn, recipientName, currency } = call;
  const type = METHODS[method.code]?.recipient?.type ?? 'mobile_money';
  const account =
    type === 'mobile_money' ? nationalNumber(msisdn, method.country) : accountNumber(msisdn, method.country);
  return {
    type,
    // Paystack requires a name.
    name: recipientName || `Customer ${account}`,
    account_number: account,
    bank_code: bankCodeOf(method.code, settings) ?? '',
    currency,
  };
}

/** The code of the recipient, or how it ended. No money moves here, so any refusal of Paystack ends the payout. */
export function readRecipient(answer: Exchange): { recipient: string } | Observation {
  const envelope = readEnvelope(answer);
  if (envelope === null || envelope.httpStatus >= 500 || envelope.httpStatus === 429) return unreadable(answer);
  const recipient = textOf(field(envelope.data, 'recipient_code'));
  if (envelope.isOk) return recipient === null ? unknown('the answer has no recipient') : { recipient };
  const refusal = readRefusal(envelope);
  if (refusal.state === 'failed') return refusal;
  const { code, message, httpStatus } = envelope;
  return { state: 'failed', failureCode: 'RECIPIENT_NOT_FOUND', rawCode: code || String(httpStatus), message };
}

export type TransferContext = { amounts: Amounts; mode: 'live' | 'test' };

/** The answer to the request that moves money. */
export function readTransferStart(context: TransferContext, answer: Exchange, reference: string): Observation {
  const envelope = readEnvelope(answer);
  if (envelope === null || envelope.httpStatus >= 500 || envelope.httpStatus === 429) return unreadable(answer);
  if (envelope.isOk) return readTransfer(context, envelope.data, reference);
  const refusal = readRefusal(envelope);
  // Refused before a transfer was made. Should Paystack have kept the reference, it says so the next time, and is asked.
  return refusal.state === 'failed' && refusal.failureCode === 'FLOAT_INSUFFICIENT'
    ? { ...refusal, notTaken: true }
    : refusal;
}

export function readTransferQuery(context: TransferContext, answer: Exchange, reference: string): Observation {
  const envelope = readEnvelope(answer);
  if (envelope === null) return unreadable(answer);
  const { isOk, httpStatus, message } = envelope;
  if (!isOk && [200, 400, 404].includes(httpStatus) && /transfer (?:was )?not found/i.test(message))
    return { state: 'unknown', reason: 'the operator does not know the reference', definitelyNotFound: true };
  return isOk && httpStatus === 200 ? readTransfer(context, envelope.data, reference) : unreadable(answer);
}

/** A transfer as the answer, verify and webhooks show it. */
export function readTransfer({ amounts, mode }: TransferContext, data: unknown, reference: string): Observation {
  if (textOf(field(data, 'reference')) !== transferReference(reference)) return unknown('the answer is not valid');
  if (!isOfMode(data, mode)) return unknown('the answer is of another mode');
  const code = textOf(field(data, 'transfer_code'));
  const status = textOf(field(data, 'status')) ?? '';
  switch (status) {
    case 'success':
    case 'reversed': {
      const money = amounts.fromWire(field(data, 'amount'), field(data, 'currency'));
      if (money === null || code === null) return unknown('the amount or the code is not valid');
      // The receipt is the code of the transfer: the bank's own id comes late or never.
      if (status === 'success') return { state: 'succeeded', receipt: code, railReference: code, ...money };
      const message = proseOf(field(data, 'gateway_response'));
      return { state: 'reversed', receipt: code, rawCode: status, message, ...money };
    }
    case 'failed':
      return readFailure(data, 'payout');
    // The one-time password was not given, or our approval address did not agree: never processed.
    case 'abandoned':
    case 'blocked':
    case 'rejected':
      return { ...readFailure(data, 'payout'), failureCode: 'REJECTED_BY_OPERATOR', rawCode: status };
    case 'pending':
    case 'otp':
    case 'received':
      return code === null ? { state: 'pending' } : { state: 'pending', railReference: code };
    default:
      return unknown('the operator sent an unknown status');
  }
}
