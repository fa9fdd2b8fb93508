// The rail to the simulated operator. It speaks that operator's protocol over HTTP on loopback as a rail to a real
// operator would: it trusts only the operator's signature and validates every answer.

import { createHmac } from 'node:crypto';
import type { Direction } from '../catalog/catalog.ts';
import { type FailureCode, isFailureCode } from '../catalog/failures.ts';
import type { Context } from '../platform/context.ts';
import { amountFrom, formatAmount, LARGEST_AMOUNT } from '../platform/money.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import { connectOperator, type Exchange, type OperatorConnection } from './exchange.ts';
import { textStateOf } from './payer-texts.ts';
import {
  type CallbackReading,
  type CallbackRequest,
  type CollectCall,
  type ConnectionCheck,
  MAX_RAW_CHARACTERS,
  type Observation,
  type PayInstructions,
  type PayoutCall,
  type Rail,
  type RailCapabilities,
  type RailReply,
  type RefundCall,
  type TokenCall,
} from './rail.ts';

export const SANDBOX_RAIL = 'sandbox';
/** The simulated operator signs its callbacks with this key; both sides derive it from the keys of the vault. */
export const SANDBOX_CALLBACK_KEY_PURPOSE = 'sandbox operator callbacks';

const MAX_CALLBACK_BYTES = 64 * 1024;
const MAX_EVENTS = 100;
const MAX_TEXT_LENGTH = 200;
/** A person waits for the name, and can do without it. */
const NAME_TIMEOUT_MS = 2_000;
const SIGNATURE = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/;
/** Numbers with this ending confirm by a token, whatever the method's own style is. */
const TOKEN_DIGITS = '012';
/** A number that nobody has. */
const UNREGISTERED = '0';

/** The same for every method and direction. */
const CAPABILITIES: RailCapabilities = {
  idempotentSubmit: true,
  query: 'answers',
  firstQueryAfterMs: 0,
  notFoundIsFinalAfterMs: 0,
  callsPerSecond: null,
  refunds: 'partial',
  sendsTokens: true,
  textsPayers: true,
  decimals: 2,
};

export type SandboxRailOptions = {
  operatorUrl: () => string | null;
  timeoutMs?: number;
};

export function createSandboxRail(ctx: Pick<Context, 'vault'>, options: SandboxRailOptions): Rail {
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
    return readReply(await operator.exchange({ method: 'POST', path: '/v1/payments', body }), call.reference);
  }

  return {
    name: SANDBOX_RAIL,
    capabilitiesOf: () => CAPABILITIES,
    verificationFor: (method, msisdn) =>
      msisdn.endsWith(TOKEN_DIGITS) && method.verification !== 'instructions' ? 'otp' : method.verification,
    collect: (call) => submit('collection', call),
    payout: (call) => submit('payout', call),
    async query(call) {
      const resource = call.direction === 'refund' ? 'refund' : 'payment';
      const path = `/v1/${resource}s/${encodeURIComponent(call.reference)}`;
      const answer = await operator.exchange({ method: 'GET', path });
      if (isOperatorError(answer, 404, `${resource}_not_found`))
        return unknown('the operator does not know the reference', answer.body, true);
      return readReply(answer, call.reference);
    },
    refund: (call) => refund(operator, call),
    lookUpName: (call) => lookUpName(operator, call.msisdn),
    async sendToken(call) {
      const answer = await sendMessage(operator, call);
      return answer.answered
        ? { sent: answer.status === 200, raw: cut(answer.body) }
        : { sent: false, raw: answer.reason };
    },
    async sendPayerText(call) {
      const answer = await sendMessage(operator, call);
      return answer.answered
        ? { state: textStateOf(answer.status), raw: cut(answer.body) }
        : { state: 'unknown', raw: answer.reason };
    },
    readCallback: (request) => readCallback(ctx.vault.deriveKeys(SANDBOX_CALLBACK_KEY_PURPOSE), request),
    check: async () => [await checkOperator(operator)],
    close: () => operator.close(),
  };
}

/** The simulated operator runs in a process of this gateway; it has no token and no addresses to register. */
async function checkOperator(operator: OperatorConnection): Promise<ConnectionCheck> {
  const answer = await operator.exchange({
    method: 'GET',
    path: `/v1/names/${UNREGISTERED}`,
    timeoutMs: NAME_TIMEOUT_MS,
  });
  const problem = answer.answered ? null : `The simulated operator does not answer: ${answer.reason}.`;
  return { name: 'The simulated operator answers', problem };
}

async function refund(operator: OperatorConnection, call: RefundCall): Promise<RailReply> {
  const body = JSON.stringify({
    reference: call.reference,
    payment_reference: call.collection.reference,
    amount: formatAmount(call.amount),
    currency: call.currency,
  });
  const answer = await operator.exchange({ method: 'POST', path: '/v1/refunds', body });
  if (isOperatorError(answer, 409, 'not_refundable')) return { observation: NOT_REFUNDABLE, raw: cut(answer.body) };
  return readReply(answer, call.reference);
}

/** An SMS on the phone of this number. */
function sendMessage(operator: OperatorConnection, { msisdn, method, text }: TokenCall): Promise<Exchange> {
  const body = JSON.stringify({ msisdn, sender: method.name, text });
  return operator.exchange({ method: 'POST', path: '/v1/messages', body });
}

async function lookUpName(operator: OperatorConnection, msisdn: string): Promise<string | null> {
  const path = `/v1/names/${encodeURIComponent(msisdn)}`;
  const answer = await operator.exchange({ method: 'GET', path, timeoutMs: NAME_TIMEOUT_MS });
  if (!answer.answered || answer.status !== 200) return null;
  try {
    return readText(readObject(answer.body)?.name);
  } catch {
    return null;
  }
}

/** Only a collection that succeeded is refunded, up to what is left of it. */
const NOT_REFUNDABLE: Observation = {
  state: 'failed',
  failureCode: 'REJECTED_BY_OPERATOR',
  rawCode: 'NOT_REFUNDABLE',
  message: 'The operator does not refund this amount of this payment.',
};

/** Reads an answer about a payment or a refund. Only a complete answer with this reference counts. */
function readReply(answer: Exchange, reference: string): RailReply {
  if (!answer.answered) return unknown(answer.reason, '');
  const fact = readObject(answer.body);
  if (answer.status !== 200) return unknown(`the operator answered ${answer.status}`, answer.body);
  if (fact === null || fact.reference !== reference) return unknown('the answer is not valid', answer.body);
  try {
    return { observation: readObservation(fact), raw: cut(answer.body) };
  } catch {
    // A value in it cannot be right, so the rest is not evidence either.
    return unknown('the answer is not valid', answer.body);
  }
}

/** Whether the operator itself sent this error; a 404 without its error code may come from a proxy. */
function isOperatorError(answer: Exchange, status: number, error: string): answer is Exchange & { answered: true } {
  return answer.answered && answer.status === status && readObject(answer.body)?.error === error;
}

/** What the operator reports. Throws if a value cannot be right. */
function readObservation(fact: Record<string, unknown>): Observation {
  switch (fact.status) {
    case 'pending': {
      const instructions = readInstructions(fact.pay);
      return instructions ? { state: 'pending', step: { kind: 'transfer', ...instructions } } : { state: 'pending' };
    }
    case 'succeeded':
      return { state: 'succeeded', receipt: readText(fact.receipt), ...readMoney(fact) };
    case 'failed':
      return {
        state: 'failed',
        failureCode: readFailureCode(fact.failure_code),
        rawCode: readText(fact.failure_code) ?? '',
        message: readProse(fact.message),
        ...(fact.taken === false ? { notTaken: true } : {}),
      };
    case 'reversed':
      return {
        state: 'reversed',
        receipt: readText(fact.receipt),
        rawCode: 'REVERSED',
        message: readProse(fact.message),
        ...readMoney(fact),
      };
    default:
      return { state: 'unknown', reason: 'the operator sent an unknown status' };
  }
}

/** A positive amount within what we take, and a currency. */
function readMoney(fact: Record<string, unknown>): { amount: bigint; currency: string } {
  if (typeof fact.amount !== 'string' || typeof fact.currency !== 'string') throw new Error('no amount');
  const amount = amountFrom(fact.amount);
  if (amount <= 0n || amount > LARGEST_AMOUNT) throw new Error('not an amount of money');
  if (!/^[A-Z]{3}$/.test(fact.currency)) throw new Error('not a currency');
  return { amount, currency: fact.currency };
}

function readInstructions(value: unknown): PayInstructions | null {
  if (!isObject(value)) return null;
  const { kind, number, name, bank, account_reference: accountReference, expires_at: expiresAt } = value;
  if (kind !== 'till' && kind !== 'paybill' && kind !== 'bank_account') throw new Error('no instructions');
  return {
    payTo: { kind, number: requireText(number), name: requireText(name), bank: readText(bank) },
    accountReference: requireText(accountReference),
    expiresAt: readMoment(expiresAt),
  };
}

function readCallback(keys: Buffer[], request: CallbackRequest): CallbackReading[] {
  const header = request.headers['x-operator-signature'];
  const match = typeof header === 'string' ? SIGNATURE.exec(header) : null;
  if (match === null) return rejected('the callback is not signed');
  if (request.body.length > MAX_CALLBACK_BYTES) return rejected('the callback is too large');
  // The path is signed too, so a callback for another path is rejected here. There is deliberately no time limit: a
  // callback may wait for hours before it is read, and a repeated one reports the same fact.
  const given = Buffer.from(match[2] ?? '', 'hex');
  const sign = (key: Buffer) =>
    createHmac('sha256', key).update(`${match[1]}.${request.path}.`).update(request.body).digest();
  if (!keys.some((key) => constantTimeEqual(sign(key), given))) return rejected('the signature is wrong');
  const events = readObject(request.body.toString('utf8'))?.events;
  if (!Array.isArray(events) || events.length === 0 || events.length > MAX_EVENTS)
    return rejected('the callback carries no events');
  if (events.length === 1) return events.map(readEvent);
  return events.map((event) => ({ ...readEvent(event), part: JSON.stringify(event) }));
}

function readEvent(event: unknown): CallbackReading {
  if (!isObject(event)) return unreadable('the event is not valid');
  try {
    switch (event.type) {
      case 'payment.updated':
      case 'refund.updated':
        return {
          kind: 'proof',
          reference: requireText(event.reference),
          direction: readDirection(event),
          observation: readObservation(event),
        };
      case 'payment.received':
        return {
          kind: 'payment_received',
          accountReference: readText(event.account_reference) ?? '',
          ...readMoney(event),
          receipt: requireText(event.receipt),
          payer: readText(event.payer),
        };
      default:
        return unreadable('the event has no known type');
    }
  } catch {
    // The reason is stored, so it does not repeat what the operator wrote.
    return unreadable('the event has a value that cannot be right');
  }
}

function readDirection({ type, direction }: Record<string, unknown>): Direction | 'refund' {
  if (type === 'refund.updated') return 'refund';
  return direction === 'payout' ? 'payout' : 'collection';
}

const unreadable = (reason: string): CallbackReading => ({ kind: 'rejected', reason, authenticated: true });
const rejected = (reason: string): CallbackReading[] => [{ kind: 'rejected', reason }];

function unknown(reason: string, raw: string, definitelyNotFound = false): RailReply {
  const observation: Observation = definitelyNotFound
    ? { state: 'unknown', reason, definitelyNotFound }
    : { state: 'unknown', reason };
  return { observation, raw: cut(raw) };
}

/** The operator's codes that the catalogue does not have. */
const OWN_CODES: ReadonlySet<unknown> = new Set(['NOT_REFUNDABLE', 'PAYMENT_REVERSED']);

function readFailureCode(value: unknown): FailureCode {
  if (OWN_CODES.has(value)) return 'REJECTED_BY_OPERATOR';
  return typeof value === 'string' && isFailureCode(value) ? value : 'UNSPECIFIED';
}

/** Null if it is absent or empty. A text that no operator writes, and the database may not store, throws. */
function readText(value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null;
  const isText = typeof value === 'string' && value.length <= MAX_TEXT_LENGTH && value.isWellFormed();
  if (!isText || /\p{Cc}/u.test(value)) throw new Error('not a text');
  return value;
}

/** A sentence for people. It decides nothing, so it is made fit rather than refused. */
function readProse(value: unknown): string {
  if (typeof value !== 'string') return '';
  return value
    .slice(0, MAX_TEXT_LENGTH)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed();
}

function requireText(value: unknown): string {
  const text = readText(value);
  if (text === null) throw new Error('a text is missing');
  return text;
}

/** A moment of this century; the database cannot store every date that can be written. */
function readMoment(value: unknown): Date {
  const moment = new Date(requireText(value));
  const year = moment.getUTCFullYear();
  if (!(year >= 2000 && year < 2100)) throw new Error('not a date');
  return moment;
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

const cut = (text: string) => text.slice(0, MAX_RAW_CHARACTERS).replaceAll('\u0000', '').toWellFormed();
