// Paystack's webhooks: HMAC-SHA512 of the body under the secret key. There is none for a charge that failed.

import { createHmac } from 'node:crypto';
import { constantTimeEqual } from '../platform/secrets.ts';
import { isOfMode } from './paystack-answers.ts';
import { type ChargeContext, readPaid } from './paystack-charges.ts';
import { readTransfer } from './paystack-transfers.ts';
import type { CallbackReading, CallbackRequest, DisputeNotice } from './rail.ts';
import { field, firstOf, momentOf, proseOf, readJson, textOf } from './reading.ts';
import { referenceOfCompact } from './wire-ids.ts';

const MAX_CALLBACK_BYTES = 256 * 1024;
const SIGNATURE = /^[0-9a-f]{128}$/;

/** `keys`: the secret key, and the one before it, because rolling it changes the signature at once. */
export function readWebhook(
  context: ChargeContext,
  keys: readonly string[],
  request: CallbackRequest,
): CallbackReading[] {
  const given = request.headers['x-paystack-signature'];
  if (typeof given !== 'string' || !SIGNATURE.test(given)) return [rejected('the callback is not signed')];
  if (request.body.length > MAX_CALLBACK_BYTES) return [rejected('the callback is too large')];
  const isRight = (key: string) =>
    constantTimeEqual(createHmac('sha512', key).update(request.body).digest(), Buffer.from(given, 'hex'));
  if (!keys.some(isRight)) return [rejected('the signature is wrong')];
  const body = readJson(request.body.toString('utf8'));
  const data = field(body, 'data');
  if (!isOfMode(data, context.mode)) return [unreadable('the event is of another mode')];
  return readEvent(context, textOf(field(body, 'event')) ?? '', data);
}

function readEvent(context: ChargeContext, event: string, data: unknown): CallbackReading[] {
  switch (event) {
    case 'charge.success':
      return readChargeEvent(context, data);
    case 'transfer.success':
    case 'transfer.failed':
    case 'transfer.reversed':
      return readTransferEvent(context, data);
    case 'refund.pending':
    case 'refund.processing':
    case 'refund.processed':
    case 'refund.failed':
    case 'refund.needs-attention':
      return readRefundEvent(data);
    case 'charge.dispute.create':
    case 'charge.dispute.remind':
    case 'charge.dispute.resolve':
      return readDisputeEvent(context, event, data);
    default:
      return [{ kind: 'nothing', reason: 'the event is not about a payment of ours' }];
  }
}

function readChargeEvent(context: ChargeContext, data: unknown): CallbackReading[] {
  const reference = ownReference(field(data, 'reference'));
  if (reference === null) return [unreadable('the event has no reference')];
  if (field(data, 'status') !== 'success') return [{ kind: 'hint', reference }];
  const observation = readPaid(context, data, 'first');
  if (observation.state !== 'succeeded') return [unreadable('the event has a value that cannot be right')];
  const proof: CallbackReading = { kind: 'proof', reference, direction: 'collection', observation };
  // The receipt is asked for.
  return observation.receipt === null ? [proof, { kind: 'hint', reference }] : [proof];
}

function readTransferEvent(context: ChargeContext, data: unknown): CallbackReading[] {
  const reference = ownReference(field(data, 'reference'));
  if (reference === null) return [unreadable('the event has no reference')];
  const observation = readTransfer(context, data, reference);
  if (observation.state === 'unknown') return [unreadable('the event has a value that cannot be right')];
  // The event gives no reason; verify may.
  if (observation.state === 'failed' && observation.message === '') return [{ kind: 'hint', reference }];
  if (observation.state === 'pending') return [{ kind: 'nothing', reason: 'the event reports progress' }];
  return [{ kind: 'proof', reference, direction: 'payout', observation }];
}

/** The event names the charge and an amount, so it is a reason to ask for the refund where its note came along. */
function readRefundEvent(data: unknown): CallbackReading[] {
  const note = textOf(field(data, 'merchant_note')) ?? '';
  const refund = note.startsWith('RF') ? referenceOfCompact(note) : null;
  if (refund !== null) return [{ kind: 'hint', reference: refund }];
  return hintOf(field(data, 'transaction_reference'));
}

/**
 * `resolution` says what the merchant or the bank chose, in terms that do not tell whether the money stays; a charge that is
 * reversed does. A dispute without a number, or with an amount that cannot be right, is still a reason to ask.
 */
function readDisputeEvent(context: ChargeContext, event: string, data: unknown): CallbackReading[] {
  const transaction = field(data, 'transaction');
  const reference = ownReference(field(transaction, 'reference') ?? field(data, 'transaction_reference'));
  if (reference === null) return [unreadable('the event has no reference')];
  const id = textOf(field(data, 'id'));
  const amount = firstOf(data, 'refund_amount');
  const money = amount === undefined ? null : context.amounts.fromWire(amount, field(data, 'currency'));
  if (id === null || (amount !== undefined && money === null)) return [{ kind: 'hint', reference }];
  const isResolved = event === 'charge.dispute.resolve';
  const status = textOf(field(data, 'status')) ?? 'no status';
  const resolution = textOf(field(data, 'resolution'));
  const notice: DisputeNotice = {
    id,
    state: isResolved ? (field(transaction, 'status') === 'reversed' ? 'lost' : 'ended') : 'open',
    amount: money?.amount ?? null,
    currency: money?.currency ?? null,
    reason: disputeReason(data),
    message: `Paystack: ${status}${resolution === null ? '' : `, ${resolution}`}.`,
    answerBy: momentOf(firstOf(data, 'dueAt', 'due_at')),
  };
  return [{ kind: 'dispute', reference, notice }];
}

/** The payer's own sentence where the event has one; otherwise the kind of dispute. */
function disputeReason(data: unknown): string {
  const messages = field(data, 'messages');
  const first: unknown = Array.isArray(messages) ? messages[0] : undefined;
  return proseOf(field(first, 'body')) || proseOf(field(data, 'note')) || (textOf(field(data, 'category')) ?? '');
}

function hintOf(value: unknown): CallbackReading[] {
  const reference = ownReference(value);
  return reference === null ? [unreadable('the event has no reference')] : [{ kind: 'hint', reference }];
}

/** Ours, or as it is written: an event about nothing that we know is kept. */
function ownReference(value: unknown): string | null {
  const text = textOf(value);
  return text === null ? null : (referenceOfCompact(text) ?? text);
}

const rejected = (reason: string): CallbackReading => ({ kind: 'rejected', reason });
const unreadable = (reason: string): CallbackReading => ({ kind: 'rejected', reason, authenticated: true });
