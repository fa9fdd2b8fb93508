// For developers, beyond the specification: both tables of countries as data, and a question "would this be taken?" that
// creates nothing.

import { checkAmount, termsOf } from '../catalog/amounts.ts';
import type { Catalog, Direction, Method, TableRow } from '../catalog/catalog.ts';
import { listCollectionCountries, listLinkCountries } from '../catalog/countries.ts';
import { chooseMethod } from '../catalog/methods.ts';
import { normaliseNumber } from '../catalog/phone.ts';
import { collectFieldErrors, Problem } from '../platform/errors.ts';
import { amountToNumber, formatAmount } from '../platform/money.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import type { PaymentsContext } from './context.ts';
import { feeFor } from './fees.ts';

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

/** Whether a payment would be taken, and why not. */
export async function preflight(ctx: PaymentsContext, holderId: bigint, body: unknown): Promise<JsonObject> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Problem('invalid_params', { errors: { body: ['The body must be a JSON object.'] } });
  const input = body as JsonObject;
  const direction: Direction = input.direction === 'payout' ? 'payout' : 'collection';
  const faults = collectFieldErrors();
  if (input.direction !== undefined && input.direction !== 'collection' && input.direction !== 'payout')
    faults.add('direction', 'direction must be collection or payout.');
  const rows = listCollectionCountries(ctx.catalog).filter(
    (row) => row.currency === input.currency && (input.country_id === undefined || row.countryId === input.country_id),
  );
  if (rows.length === 0) faults.add('currency', 'No collection country has this currency (and country_id).');
  const fitting = rows.flatMap((row) => {
    const number = normaliseNumber(input.mobile, row.country);
    return number.ok ? [{ row, digits: number.digits }] : [];
  });
  const found = fitting[0];
  if (rows.length > 0 && !found) {
    const number = normaliseNumber(input.mobile, (rows[0] as TableRow).country);
    faults.add('mobile', number.ok ? 'This is not a mobile number of the country.' : number.sentence);
  }
  const given = input.payment_method_type ?? null;
  if (given !== null && typeof given !== 'string')
    faults.add('payment_method_type', 'payment_method_type must be a string.');
  const name = typeof given === 'string' ? given : null;
  const choice = found ? chooseMethod(found.row, name, found.digits) : null;
  if (choice && !choice.ok) faults.add('payment_method_type', choice.sentence);
  const method = choice?.ok ? choice.method : null;
  if (found && direction === 'collection' && !found.row.apiCollections)
    faults.add(
      'country_id',
      `Collections through the API are not supported for ${found.row.name}. Use a payment link.`,
    );
  const amount = method ? checkAmount(input.amount, method, direction) : null;
  if (amount && !amount.ok) faults.add('amount', amount.sentence);
  const terms = method ? termsOf(method, direction) : null;
  return {
    direction,
    would_be_accepted: !faults.any(),
    errors: faults.errors,
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
