// The rail to the simulated operator. It speaks that operator's protocol over HTTP on loopback as a rail to a real
// operator would: it trusts only the operator's signature and validates every answer.

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { Direction } from '../catalog/catalog.ts';
import { type FailureCode, isFailureCode } from '../catalog/failures.ts';
import type { Context } from '../platform/context.ts';
import { amountFrom, formatAmount } from '../platform/money.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import { connectOperator, type Exchange } from './exchange.ts';
import {
  type CallbackReading,
  type CallbackRequest,
  type CollectCall,
  MAX_RAW_CHARACTERS,
  type Observation,
  type PayInstructions,
  type PayoutCall,
  type Rail,
  type RailReply,
} from './rail.ts';

export const SANDBOX_RAIL = 'sandbox';
/** The simulated operator signs its callbacks with this key; both sides derive it from the master key. */
export const SANDBOX_CALLBACK_KEY_PURPOSE = 'sandbox operator callbacks';

const MAX_CALLBACK_BYTES = 64 * 1024;
const MAX_EVENTS = 100;
const SIGNATURE = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/;
/** Numbers with this ending confirm by a token, whatever the method's own style is. */
const TOKEN_DIGITS = '012';

export type SandboxRailOptions = {
  operatorUrl: () => string | null;
  timeoutMs?: number;
};

export function createSandboxRail(ctx: Pick<Context, 'vault'>, options: SandboxRailOptions): Rail {
  const key = createSecretKey(ctx.vault.deriveKey(SANDBOX_CALLBACK_KEY_PURPOSE));
  const operator = connectOperator({
    url: options.operatorUrl,
    headers: { 'content-type': 'application/json' },
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  });

  async function submit(direction: Direction, call: CollectCall | PayoutCall): Promise<RailReply> {
    const body = JSON.stringify({
      reference: call.reference,
      direction,
      method: call.method.code,
      style: call.method.verification,
      operator: call.method.name,
      dial_code: call.method.shortCode,
      type: call.method.type,
      msisdn: call.msisdn,
      amount: formatAmount(call.amount),
      currency: call.currency,
      merchant_name: call.merchantName,
      verified: 'verified' in call && call.verified,
    });
    return readPayment(await operator.exchange({ method: 'POST', path: '/v1/payments', body }), call.reference);
  }

  return {
    name: SANDBOX_RAIL,
    capabilities: {
      collections: true,
      payouts: true,
      refunds: 'whole',
      sendsTokens: true,
      idempotentSubmit: true,
      notFoundIsFinalAfterMs: 0,
    },
    verificationFor: (method, msisdn) =>
      msisdn.endsWith(TOKEN_DIGITS) && method.verification !== 'instructions' ? 'otp' : method.verification,
    collect: (call) => submit('collection', call),
    payout: (call) => submit('payout', call),
    async query(call) {
      const path = `/v1/payments/${encodeURIComponent(call.reference)}`;
      const answer = await operator.exchange({ method: 'GET', path });
      if (isOperatorError(answer, 404, 'payment_not_found'))
        return unknown('the operator does not know the reference', answer.body, true);
      return readPayment(answer, call.reference);
    },
    async refund(call) {
      const path = `/v1/payments/${encodeURIComponent(call.collection.reference)}/refund`;
      const body = JSON.stringify({ amount: formatAmount(call.amount), currency: call.currency });
      const answer = await operator.exchange({ method: 'POST', path, body });
      if (!isOperatorError(answer, 409, 'not_refundable')) {
        const reply = readPayment(answer, call.collection.reference);
        if (reply.observation.state !== 'reversed') return reply;
        const { receipt, amount, currency } = { amount: call.amount, currency: call.currency, ...reply.observation };
        return { ...reply, observation: { state: 'succeeded', receipt, amount, currency } };
      }
      const message = 'The operator does not refund this payment.';
      const declined = {
        state: 'failed',
        failureCode: 'REJECTED_BY_OPERATOR',
        rawCode: 'not_refundable',
        message,
      } as const;
      return { observation: declined, raw: cut(answer.body) };
    },
    async sendToken(call) {
      const body = JSON.stringify({ msisdn: call.msisdn, sender: call.method.name, text: call.text });
      const answer = await operator.exchange({ method: 'POST', path: '/v1/messages', body });
      return answer.answered
        ? { sent: answer.status === 200, raw: cut(answer.body) }
        : { sent: false, raw: answer.reason };
    },
    readCallback: (request) => readCallback(key, request),
    close: () => operator.close(),
  };
}

/** Reads an answer about a payment. Only a complete answer with this reference counts. */
function readPayment(answer: Exchange, reference: string): RailReply {
  if (!answer.answered) return unknown(answer.reason, '');
  const payment = readObject(answer.body);
  if (answer.status !== 200) return unknown(`the operator answered ${answer.status}`, answer.body);
  if (payment === null || payment.reference !== reference) return unknown('the answer is not valid', answer.body);
  return { observation: readObservation(payment), raw: cut(answer.body) };
}

/** Whether the operator itself sent this error; a 404 without its error code may come from a proxy. */
function isOperatorError(answer: Exchange, status: number, error: string): answer is Exchange & { answered: true } {
  return answer.answered && answer.status === status && readObject(answer.body)?.error === error;
}

function readObservation(payment: Record<string, unknown>): Observation {
  try {
    switch (payment.status) {
      case 'pending': {
        const instructions = readInstructions(payment.pay);
        return instructions ? { state: 'pending', instructions } : { state: 'pending' };
      }
      case 'succeeded':
        return { state: 'succeeded', receipt: readText(payment.receipt), ...readMoney(payment) };
      case 'failed':
        return {
          state: 'failed',
          failureCode: readFailureCode(payment.failure_code),
          rawCode: readText(payment.failure_code) ?? '',
          message: readText(payment.message) ?? '',
        };
      case 'reversed':
        return {
          state: 'reversed',
          receipt: readText(payment.receipt),
          rawCode: 'REVERSED',
          message: readText(payment.message) ?? '',
          ...readMoney(payment),
        };
      default:
        return { state: 'unknown', reason: 'the operator sent an unknown status' };
    }
  } catch {
    // The amount or a date cannot be read; a success without a readable amount is not evidence.
    return { state: 'unknown', reason: 'the answer is not valid' };
  }
}

function readMoney(payment: Record<string, unknown>): { amount: bigint; currency: string } {
  if (typeof payment.amount !== 'string' || typeof payment.currency !== 'string') throw new Error('no amount');
  return { amount: amountFrom(payment.amount), currency: payment.currency };
}

function readInstructions(value: unknown): PayInstructions | null {
  if (!isObject(value)) return null;
  const { kind, number, name, bank, account_reference: accountReference, expires_at: expiresAt } = value;
  if (kind !== 'till' && kind !== 'paybill' && kind !== 'bank_account') throw new Error('no instructions');
  if (typeof number !== 'string' || typeof name !== 'string') throw new Error('no instructions');
  if (typeof accountReference !== 'string' || typeof expiresAt !== 'string') throw new Error('no instructions');
  const moment = new Date(expiresAt);
  if (Number.isNaN(moment.getTime())) throw new Error('no instructions');
  return { payTo: { kind, number, name, bank: readText(bank) }, accountReference, expiresAt: moment };
}

function readCallback(key: KeyObject, request: CallbackRequest): CallbackReading[] {
  const header = request.headers['x-operator-signature'];
  const match = typeof header === 'string' ? SIGNATURE.exec(header) : null;
  if (match === null) return rejected('the callback is not signed');
  if (request.body.length > MAX_CALLBACK_BYTES) return rejected('the callback is too large');
  // The path is signed too, so a callback for another path is rejected here. There is deliberately no time limit: a
  // callback may wait for hours before it is read, and a repeated one reports the same fact.
  const expected = createHmac('sha256', key).update(`${match[1]}.${request.path}.`).update(request.body).digest();
  if (!constantTimeEqual(expected, Buffer.from(match[2] ?? '', 'hex'))) return rejected('the signature is wrong');
  const events = readObject(request.body.toString('utf8'))?.events;
  if (!Array.isArray(events) || events.length === 0 || events.length > MAX_EVENTS)
    return rejected('the callback carries no events');
  return events.map(readEvent);
}

function readEvent(event: unknown): CallbackReading {
  if (!isObject(event)) return { kind: 'rejected', reason: 'the event is not valid' };
  if (event.type === 'payment.updated') {
    const reference = readText(event.reference);
    if (reference === null) return { kind: 'rejected', reason: 'the event names no payment' };
    return { kind: 'proof', reference, observation: readObservation(event) };
  }
  if (event.type !== 'payment.received') return { kind: 'rejected', reason: 'the event has no known type' };
  try {
    const receipt = readText(event.receipt);
    const accountReference = readText(event.account_reference) ?? '';
    if (receipt === null) return { kind: 'rejected', reason: 'the incoming payment has no receipt' };
    return {
      kind: 'payment_received',
      accountReference,
      ...readMoney(event),
      receipt,
      payer: readText(event.payer),
    };
  } catch {
    return { kind: 'rejected', reason: 'the incoming payment has no amount' };
  }
}

const rejected = (reason: string): CallbackReading[] => [{ kind: 'rejected', reason }];

function unknown(reason: string, raw: string, definitelyNotFound = false): RailReply {
  const observation: Observation = definitelyNotFound
    ? { state: 'unknown', reason, definitelyNotFound }
    : { state: 'unknown', reason };
  return { observation, raw: cut(raw) };
}

function readFailureCode(value: unknown): FailureCode {
  return typeof value === 'string' && isFailureCode(value) ? value : 'UNSPECIFIED';
}

function readText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : null;
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const cut = (text: string) => text.slice(0, MAX_RAW_CHARACTERS).replaceAll('\u0000', '');
