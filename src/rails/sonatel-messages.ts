// How Sonatel says that a payment stands, and its callbacks. They carry `X-Sonatel-Signature: t=<seconds>,v1=<hex>`, an HMAC of
// the time, a comma and the body.

import { createHmac } from 'node:crypto';
import { constantTimeEqual } from '../platform/secrets.ts';
import type { RailConnection } from './connection.ts';
import type { CallbackReading, CallbackRequest, Observation } from './rail.ts';
import { currencyOf, field, moneyOf, readJson, textOf } from './reading.ts';
import { referenceOfCompact } from './wire-ids.ts';

const FRESH_SECONDS = 300;
const OPEN_STATES = new Set(['ACCEPTED', 'INITIATED', 'PENDING', 'PRE_INITIATED']);

export const isOpenStatus = (status: unknown) => typeof status === 'string' && OPEN_STATES.has(status);

export function readStatus(
  status: unknown,
  receipt: string | null,
  money: { amount?: bigint; currency?: string },
  message: string,
): Observation {
  if (status === 'SUCCESS') return { state: 'succeeded', receipt, ...money };
  if (status === 'FAILED') return { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: 'FAILED', message };
  if (status === 'CANCELLED' || status === 'REJECTED')
    return { state: 'failed', failureCode: 'PAYER_CANCELLED', rawCode: status, message };
  if (isOpenStatus(status)) return { state: 'pending' };
  return { state: 'unknown', reason: 'Sonatel sent an unknown status' };
}

/** A right and fresh signature is proof; an old one, or none, is a reason to ask. A wrong one is refused. */
export function readSonatelCallback(connection: RailConnection, request: CallbackRequest): CallbackReading[] {
  const said = readJson(request.body.toString('utf8'));
  const reference = referenceOfCompact(textOf(field(said, 'reference')) ?? '');
  if (reference === null) return [{ kind: 'rejected', reason: 'it names no payment of ours' }];
  const signature = checkSignature(connection, request);
  if (signature === 'wrong') return [{ kind: 'rejected', reason: 'the signature is wrong' }];
  if (signature !== 'fresh') return [{ kind: 'hint', reference }];
  const amount = moneyOf(field(said, 'amount', 'value'));
  const currency = currencyOf(field(said, 'amount', 'unit'));
  if (amount === null || currency === null)
    return [{ kind: 'rejected', reason: 'it has no amount', authenticated: true }];
  const isPayout = textOf(field(said, 'type'))?.startsWith('CASHIN') ?? false;
  const observation = readStatus(field(said, 'status'), textOf(field(said, 'transactionId')), { amount, currency }, '');
  // A payer can try again until the QR code ends, which the query knows.
  if (!isPayout && observation.state === 'failed') return [{ kind: 'hint', reference }];
  return [{ kind: 'proof', reference, direction: isPayout ? 'payout' : 'collection', observation }];
}

function checkSignature(
  { settings, clock }: RailConnection,
  { headers, body }: CallbackRequest,
): 'fresh' | 'old' | 'wrong' | 'none' {
  const secret = settings.callback_secret ?? '';
  const header = headers['x-sonatel-signature'];
  if (secret === '' || typeof header !== 'string') return 'none';
  const parts = header.split(',').map((part) => part.trim().split('='));
  const time = parts.find(([name]) => name === 't')?.[1] ?? '';
  // Several while Sonatel changes the secret.
  const given = parts.flatMap(([name, value]) => (name === 'v1' && value !== undefined ? [value] : []));
  const right = createHmac('sha256', secret).update(`${time},`).update(body).digest('hex');
  if (!given.some((value) => constantTimeEqual(Buffer.from(value), Buffer.from(right)))) return 'wrong';
  return Math.abs(clock.millis() / 1000 - Number(time)) <= FRESH_SECONDS ? 'fresh' : 'old';
}
