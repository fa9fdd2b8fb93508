// Collections: reading and checking what the caller wants, in sentences, and accepting it.

import { checkAmount } from '../catalog/amounts.ts';
import type { CollectionCountry, Method, TableRow } from '../catalog/catalog.ts';
import { findCollectionCountry, listCollectionCountries } from '../catalog/countries.ts';
import { chooseMethod, describeVerification } from '../catalog/methods.ts';
import { normaliseNumber } from '../catalog/phone.ts';
import { type OperationMessages, type SignedRequest, signatureReused, spendOrRefuse } from '../holders/envelope.ts';
import { isoMicroseconds } from '../platform/clock.ts';
import { collectFieldErrors, type FieldErrors, Problem } from '../platform/errors.ts';
import { findAnswer, readIdempotencyKey } from '../platform/idempotency.ts';
import { amountToNumber } from '../platform/money.ts';
import type { JsonObject, JsonValue } from '../platform/strict-json.ts';
import type { CollectionOrder, CollectionWriter } from './accept.ts';
import type { PaymentsContext } from './context.ts';
import { feeFor } from './fees.ts';
import { refOf, type Transaction } from './transactions.ts';
import { VERIFICATION_MS } from './verification.ts';

const OPERATION = 'collection';
const MAX_REFERENCE_CHARACTERS = 128;
const MAX_URL_CHARACTERS = 2_048;

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
  idempotencyHeader: string | string[] | undefined,
): Promise<{ data: JsonObject; replayed: boolean }> {
  const { integration, params } = request;
  const owner = { holderId: integration.holderId, integrationId: integration.id };
  const key = readIdempotencyKey(idempotencyHeader, params, messages.badParams);
  if (key) {
    const answer = await findAnswer(ctx.db, owner, OPERATION, key, ctx.clock.now());
    if (answer) return replay(ctx, messages, request, answer);
  }
  const order = await readCollection(ctx, request, messages);
  const answer = (transaction: Transaction) => collectionAnswer(ctx, transaction);
  const acceptance = await writer.accept(order, {
    signature: request,
    idempotency: key ? { ...key, operation: OPERATION, answer } : null,
  });
  if (acceptance.kind === 'signature_reused') throw signatureReused(messages);
  if (acceptance.kind === 'accepted') return { data: answer(acceptance.transaction), replayed: false };
  const first = key ? await findAnswer(ctx.db, owner, OPERATION, key, ctx.clock.now()) : null;
  // The one that took the key may still be rolled back: then nothing is known, and the caller asks again.
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
  const shown = method && { ...method, verification: transaction.verification as Method['verification'] };
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
      instructions: shown ? describeVerification(shown) : '',
      expires_at: isoMicroseconds(new Date(transaction.created_at.getTime() + VERIFICATION_MS)),
    },
  };
}

async function readCollection(
  ctx: PaymentsContext,
  request: SignedRequest,
  messages: OperationMessages,
): Promise<CollectionOrder> {
  const { params, integration } = request;
  const row = readCountry(ctx, params.country_id, messages);
  const faults = collectFieldErrors();
  const payment = readPayment(row, params, faults.add, { lenient: false });
  readCurrency(row, params.currency, faults.add);
  const reference1 = readReference('third_party_reference_1', params.third_party_reference_1, faults.add);
  const reference2 = readReference('third_party_reference_2', params.third_party_reference_2, faults.add);
  const callbackUrl = readCallbackUrl(ctx, params.callback_url, faults.add);
  if (faults.any() || !payment) throw refusal(messages, faults.errors);
  return completeOrder(ctx, payment, {
    holderId: integration.holderId,
    integrationId: integration.id,
    countryId: row.countryId,
    detail: `Collection from ${payment.msisdn} by ${payment.method.name}`,
    reference1,
    reference2,
    callbackUrl: callbackUrl ?? integration.defaultCallbackUrl,
    linkId: null,
  });
}

type AddFault = (field: string, sentence: string) => void;
export type PaymentDetails = { method: Method; msisdn: string; amount: bigint };

/** Amount, number and method of one payment in a row of one of the two tables; faults go to `add`. */
export function readPayment(
  row: TableRow,
  input: JsonObject,
  add: AddFault,
  options: { lenient: boolean },
): PaymentDetails | null {
  const number = normaliseNumber(input.mobile, row.country, options);
  if (input.mobile === undefined) add('mobile', 'mobile is required.');
  else if (!number.ok) add('mobile', number.sentence);
  const name = input.payment_method_type;
  if (name !== undefined && name !== null && typeof name !== 'string') {
    add('payment_method_type', 'payment_method_type must be a string.');
    return null;
  }
  const choice = chooseMethod(row, name, number.ok ? number.digits : null);
  // Without a readable number there is nothing to predict from; that fault is told already.
  if (!choice.ok && (number.ok || name)) add('payment_method_type', choice.sentence);
  if (input.amount === undefined) add('amount', 'amount is required.');
  if (!choice.ok) {
    const anyMethod = row.methods[0];
    const amount = anyMethod && input.amount !== undefined ? checkAmount(input.amount, anyMethod, 'collection') : null;
    // Which limits apply depends on the method; what no method would take is said anyway.
    if (amount && !amount.ok && typeof input.amount !== 'number' && typeof input.amount !== 'string')
      add('amount', amount.sentence);
    return null;
  }
  const amount = input.amount === undefined ? null : checkAmount(input.amount, choice.method, 'collection');
  if (amount && !amount.ok) add('amount', amount.sentence);
  return number.ok && amount?.ok ? { method: choice.method, msisdn: number.digits, amount: amount.amount } : null;
}

/** Adds what the gateway itself knows: the rail, the fee, how the payer will verify. */
export async function completeOrder(
  ctx: PaymentsContext,
  payment: PaymentDetails,
  rest: Omit<CollectionOrder, 'amount' | 'fee' | 'currency' | 'method' | 'rail' | 'msisdn' | 'verification'>,
): Promise<CollectionOrder> {
  const { method, msisdn, amount } = payment;
  const rail = ctx.rails.railFor(method, ctx.config.mode);
  if (!rail)
    throw new Problem('operator_unavailable', {
      errors: { payment_method_type: [`This gateway has no connection to ${method.name} yet.`] },
    });
  if (!ctx.rails.health.wouldCall(rail.name, method.code))
    throw new Problem('operator_unavailable', {
      retryAfterSeconds: 5,
      errors: { payment_method_type: [`${method.name} does not answer at the moment.`] },
    });
  return {
    ...rest,
    amount,
    fee: await feeFor(ctx, rest.holderId, method, 'collection', amount),
    currency: method.currency,
    method: method.code,
    rail: rail.name,
    msisdn,
    verification: rail.verificationFor(method, msisdn),
  };
}

function readCountry(
  ctx: PaymentsContext,
  countryId: JsonValue | undefined,
  messages: OperationMessages,
): CollectionCountry {
  if (typeof countryId !== 'number' || !Number.isInteger(countryId))
    throw refusal(messages, {
      country_id: [countryId === undefined ? 'country_id is required.' : 'country_id must be an integer.'],
    });
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

function readCurrency(row: TableRow, currency: JsonValue | undefined, add: AddFault): void {
  if (currency === undefined) add('currency', 'currency is required.');
  else if (currency !== row.currency) add('currency', `${row.name} uses ${row.currency}.`);
}

function readReference(name: string, value: JsonValue | undefined, add: AddFault): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') add(name, `${name} must be a string.`);
  else if (Array.from(value).length > MAX_REFERENCE_CHARACTERS)
    add(name, `${name} may have at most ${MAX_REFERENCE_CHARACTERS} characters.`);
  else return value;
  return null;
}

/** A URL that callbacks may go to. */
export function readCallbackUrl(ctx: PaymentsContext, value: JsonValue | undefined, add: AddFault): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (
    typeof value !== 'string' ||
    value.length > MAX_URL_CHARACTERS ||
    !/^https?:\/\//i.test(value) ||
    !URL.canParse(value)
  ) {
    add('callback_url', `callback_url must be an http or https URL of at most ${MAX_URL_CHARACTERS} characters.`);
    return null;
  }
  const refused = ctx.checkCallbackUrl(value);
  if (refused !== null) add('callback_url', refused);
  return value;
}

function refusal(messages: OperationMessages, errors: FieldErrors): Problem {
  return new Problem('invalid_params', { message: messages.badParams, errors });
}
