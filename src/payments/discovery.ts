// For developers, in addition to the specification: both tables of countries as data, and a check of a payment that
// creates nothing.

import { checkAmount, termsOf } from '../catalog/amounts.ts';
import type { Catalog, CollectionCountry, Method, TableRow } from '../catalog/catalog.ts';
import { listCollectionCountries, listLinkCountries } from '../catalog/countries.ts';
import { chooseMethod } from '../catalog/methods.ts';
import { normaliseNumber } from '../catalog/phone.ts';
import { amountToNumber, formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { type AddError, refuse } from '../platform/validation.ts';
import { routedDecimalsError } from './capabilities.ts';
import type { PaymentsContext } from './context.ts';
import { feeFor } from './fees.ts';
import { preflightBody } from './params.ts';

export function describeCountries(catalog: Catalog): JsonObject {
  return {
    payment_links: listLinkCountries(catalog).map(describeRow),
    collections: listCollectionCountries(catalog).map((row) => ({
      ...describeRow(row),
      extra_column: row.extraColumn,
      supported: row.apiCollections,
    })),
  };
}

function describeRow(row: TableRow): JsonObject {
  return {
    country_id: row.countryId,
    country: row.name,
    dial_code: row.dialCode,
    currency: row.currency,
    payment_method_types: row.paymentMethodTypes,
    methods: row.methods.map(describeMethod),
  };
}

function describeMethod(method: Method): JsonObject {
  const { decimals, min, max } = method.collection;
  return {
    code: method.code,
    name: method.name,
    type: method.type,
    verification: method.verification,
    decimals,
    minimum: formatAmount(min),
    maximum: formatAmount(max),
  };
}

/** Whether a payment would be accepted, and why not. */
export async function preflight(ctx: PaymentsContext, holderId: bigint, body: unknown): Promise<JsonObject> {
  const { fields, add, errors, hasErrors } = preflightBody.read(body);
  if (errors.body) throw refuse(errors);
  const direction = fields.direction ?? 'collection';
  const rows = listCollectionCountries(ctx.catalog).filter(
    (row) => row.currency === fields.currency && (fields.country_id ?? row.countryId) === row.countryId,
  );
  if (rows.length === 0) add('currency', 'No collection country has this currency (and country_id).');
  const found = findNumber(rows, fields.mobile, add);
  const choice = found ? chooseMethod(found.row, fields.payment_method_type, found.digits) : null;
  if (choice && !choice.ok) add('payment_method_type', choice.sentence);
  const method = choice?.ok ? choice.method : null;
  if (found && direction === 'collection' && !found.row.apiCollections)
    add('country_id', `Collections through the API are not supported for ${found.row.name}. Use a payment link.`);
  const amount = method ? checkAmount(fields.amount, method, direction) : null;
  if (amount && !amount.ok) add('amount', amount.sentence);
  const sentence = method && amount?.ok ? routedDecimalsError(ctx, holderId, method, direction, amount.amount) : null;
  if (sentence !== null) add('amount', sentence);
  const terms = method ? termsOf(method, direction) : null;
  return {
    direction,
    would_be_accepted: !hasErrors(),
    errors,
    mobile: found?.digits ?? null,
    country_id: found?.row.countryId ?? null,
    operator: method ? { code: method.code, name: method.name, verification: method.verification } : null,
    predicted: choice?.ok ? choice.by === 'prediction' : false,
    decimals: terms?.decimals ?? null,
    limits: terms ? { minimum: formatAmount(terms.min), maximum: formatAmount(terms.max) } : null,
    amount: amount?.ok ? amountToNumber(amount.amount) : null,
    fee: method && amount?.ok ? amountToNumber(await feeFor(ctx, holderId, method, direction, amount.amount)) : null,
  };
}

/** The first country in which the number is a mobile number. Several countries may have the same currency. */
function findNumber(rows: CollectionCountry[], mobile: string | undefined, add: AddError) {
  let refused: string | null = null;
  for (const row of rows) {
    const number = normaliseNumber(mobile, row.country);
    if (number.ok) return { row, digits: number.digits };
    refused ??= number.sentence;
  }
  if (refused !== null) add('mobile', refused);
  return null;
}
