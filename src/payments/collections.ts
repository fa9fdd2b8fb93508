// Collections: reads the params by their schema, checks them against the catalogue, and accepts the collection.

import { checkAmount } from '../catalog/amounts.ts';
import type { CollectionCountry, Method, TableRow, VerificationStyle } from '../catalog/catalog.ts';
import { findCollectionCountry, listCollectionCountries } from '../catalog/countries.ts';
import { chooseMethod, describeVerification } from '../catalog/methods.ts';
import { normaliseNumber } from '../catalog/phone.ts';
import { type OperationMessages, type SignedRequest, signatureReused, spendOrRefuse } from '../holders/envelope.ts';
import { findAnswer, type IdempotencyHeader, readIdempotencyKey } from '../holders/idempotency.ts';
import { isoMicroseconds } from '../platform/clock.ts';
import { Problem } from '../platform/errors.ts';
import { type MaybeLater, whenKnown } from '../platform/known.ts';
import { amountToNumber } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { type AddError, type FieldReading, refuse } from '../platform/validation.ts';
import type { CollectionOrder, CollectionWriter } from './accept.ts';
import { checkCallbackUrl } from './callback-url.ts';
import { decimalsError, routedDecimalsError } from './capabilities.ts';
import type { PaymentsContext } from './context.ts';
import { feeFor } from './fees.ts';
import { numberLimited } from './number-limits.ts';
import { type CollectionFields, collectionParams } from './params.ts';
import { VERIFICATION_MS } from './states.ts';
import { refOf, type Transaction } from './transactions.ts';

const OPERATION = 'collection';

export function collectionMessages(brand: string): OperationMessages {
  return {
    badParams: 'Transaction was not created!',
    integrationNotFound: 'Entity integration record not found',
    clientMismatch: 'Client id not matched',
    notVerified: 'Request was not verified.',
    accountClosed: 'User not found!',
    accountSuspended: `${brand} user not found`,
  };
}

/** Accepts a collection, or answers as the first request with the same idempotency key was answered. */
export async function createCollection(
  ctx: PaymentsContext,
  writer: CollectionWriter,
  messages: OperationMessages,
  request: SignedRequest,
  idempotencyHeader: IdempotencyHeader,
): Promise<{ data: JsonObject; replayed: boolean }> {
  const { integration, params } = request;
  const owner = { holderId: integration.holderId, integrationId: integration.id };
  const key = readIdempotencyKey(idempotencyHeader, params, messages.badParams);
  if (key) {
    const answer = await findAnswer(ctx.db, owner, OPERATION, key, ctx.clock.now());
    if (answer) return replay(ctx, messages, request, answer);
  }
  const reading = readCollection(ctx, request, messages);
  const order = reading instanceof Promise ? await reading : reading;
  const answer = (transaction: Transaction) => collectionAnswer(ctx, transaction);
  const acceptance = await writer.accept(order, {
    signature: request,
    idempotency: key ? { ...key, operation: OPERATION, answer } : null,
  });
  if (acceptance.kind === 'signature_reused') throw signatureReused(messages);
  if (acceptance.kind === 'accepted') return { data: answer(acceptance.transaction), replayed: false };
  // Also for a limited number: the request that took its last place may be the first one with this key.
  const first = key ? await findAnswer(ctx.db, owner, OPERATION, key, ctx.clock.now()) : null;
  if (!first && acceptance.kind === 'number_limited')
    throw numberLimited(ctx, 'prompts', order.msisdn ?? '', acceptance.until);
  // The request that wrote the key may still be rolled back. Then there is no answer yet, and the caller retries.
  if (!first) throw new Problem('overloaded', { retryAfterSeconds: 1 });
  return replay(ctx, messages, request, first);
}

async function replay(
  ctx: PaymentsContext,
  messages: OperationMessages,
  request: SignedRequest,
  data: JsonObject,
): Promise<{ data: JsonObject; replayed: boolean }> {
  await spendOrRefuse(ctx, messages, request);
  return { data, replayed: true };
}

/** The `data` of an accepted collection. */
function collectionAnswer(ctx: PaymentsContext, transaction: Transaction): JsonObject {
  const method = ctx.catalog.methods.get(transaction.method);
  return {
    ref: refOf(transaction),
    status: transaction.status,
    amount: amountToNumber(transaction.amount),
    fee: amountToNumber(transaction.fee),
    currency: transaction.currency,
    mobile: transaction.msisdn,
    country_id: transaction.country_id,
    payment_method_type: transaction.method,
    third_party_reference_1: transaction.reference_1,
    third_party_reference_2: transaction.reference_2,
    verification: {
      method: transaction.verification,
      instructions: method ? describeVerification(method, transaction.verification as VerificationStyle) : '',
      expires_at: isoMicroseconds(new Date(transaction.created_at.getTime() + VERIFICATION_MS)),
    },
  };
}

function readCollection(
  ctx: PaymentsContext,
  { params, integration }: SignedRequest,
  messages: OperationMessages,
): MaybeLater<CollectionOrder> {
  const reading = collectionParams.read(params);
  const { fields, add } = reading;
  const row = readCountry(ctx, reading, messages);
  const payment = readPayment(row, fields, add, { lenient: false });
  if (fields.currency !== row.currency) add('currency', `${row.name} uses ${row.currency}.`);
  checkCallbackUrl(ctx, fields.callback_url, add);
  if (payment) checkDecimals(ctx, integration.holderId, payment, add);
  if (reading.hasErrors() || !payment) throw refuse(reading.errors, { message: messages.badParams });
  return completeOrder(ctx, payment, {
    holderId: integration.holderId,
    integrationId: integration.id,
    countryId: row.countryId,
    detail: `Collection from ${payment.msisdn} by ${payment.method.name}`,
    reference1: fields.third_party_reference_1 ?? null,
    reference2: fields.third_party_reference_2 ?? null,
    callbackUrl: fields.callback_url || integration.defaultCallbackUrl,
    linkId: null,
  });
}

/** A payment as a caller or a form describes it. */
type PaymentInput = { amount?: unknown; mobile?: unknown; payment_method_type?: string | null };
export type PaymentDetails = { method: Method; msisdn: string; amount: bigint };

/** Amount, number and method of one payment in a row of one of the two tables; errors go to `add`. */
export function readPayment(
  row: TableRow,
  input: PaymentInput,
  add: AddError,
  options: { lenient: boolean },
): PaymentDetails | null {
  const number = normaliseNumber(input.mobile, row.country, options);
  if (!number.ok) add('mobile', number.sentence);
  const name = input.payment_method_type;
  const choice = chooseMethod(row, name, number.ok ? number.digits : null);
  // Without a valid number the method cannot be predicted. The error of the number is enough.
  if (!choice.ok && (number.ok || name)) add('payment_method_type', choice.sentence);
  if (!choice.ok) return null;
  const amount = checkAmount(input.amount, choice.method, 'collection');
  if (!amount.ok) add('amount', amount.sentence);
  return number.ok && amount.ok ? { method: choice.method, msisdn: number.digits, amount: amount.amount } : null;
}

/** An operator may take fewer decimals than the catalogue allows. */
function checkDecimals(
  ctx: PaymentsContext,
  holderId: bigint,
  { method, amount }: PaymentDetails,
  add: AddError,
): void {
  const sentence = routedDecimalsError(ctx, holderId, method, 'collection', amount);
  if (sentence !== null) add('amount', sentence);
}

/** Adds what the gateway decides: the rail, the fee, and how the payer verifies. */
export function completeOrder(
  ctx: PaymentsContext,
  payment: PaymentDetails,
  rest: Omit<CollectionOrder, 'amount' | 'fee' | 'currency' | 'method' | 'rail' | 'msisdn' | 'verification'>,
): MaybeLater<CollectionOrder> {
  const { method, msisdn, amount } = payment;
  const rail = ctx.rails.railFor(method, 'collection', rest.holderId);
  const capabilities = rail?.capabilitiesOf(method, 'collection');
  if (!rail || !capabilities)
    throw new Problem('operator_unavailable', {
      errors: { payment_method_type: [`This gateway has no connection to ${method.name} yet.`] },
    });
  if (!ctx.rails.health.wouldCall(rail.name, method.code))
    throw new Problem('operator_unavailable', {
      retryAfterSeconds: 5,
      errors: { payment_method_type: [`${method.name} does not answer at the moment.`] },
    });
  // The connection may have changed since the amount was checked.
  const sentence = decimalsError(method, capabilities, amount);
  if (sentence !== null) throw new Problem('invalid_params', { errors: { amount: [sentence] } });
  return whenKnown(feeFor(ctx, rest.holderId, method, 'collection', amount), (fee) => ({
    ...rest,
    amount,
    fee,
    currency: method.currency,
    method: method.code,
    rail: rail.name,
    msisdn,
    verification: rail.verificationFor(method, msisdn),
  }));
}

/** The country decides which other params are valid. If it is unknown or not supported, no other error is reported. */
function readCountry(
  ctx: PaymentsContext,
  { fields, errors }: FieldReading<CollectionFields>,
  messages: OperationMessages,
): CollectionCountry {
  const countryId = fields.country_id;
  if (countryId === undefined) throw refuse(errors, { message: messages.badParams });
  const row = findCollectionCountry(ctx.catalog, countryId);
  if (!row) {
    const known = listCollectionCountries(ctx.catalog).map((entry) => `${entry.countryId} (${entry.name})`);
    throw new Problem('country_not_found', {
      errors: { country_id: [`Collections have no country ${countryId}; use one of ${known.join(', ')}.`] },
    });
  }
  if (!row.apiCollections)
    throw new Problem('country_not_supported', {
      errors: { country_id: [`Collections through the API are not supported for ${row.name}. Use a payment link.`] },
    });
  return row;
}
