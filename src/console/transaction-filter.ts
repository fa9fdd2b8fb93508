// The filters of the transaction list: their form, and the query that carries them from page to page.

import type { TransactionFilter } from '../payments/listing.ts';
import { STATUS_CODES, type Status, type TransactionDirection } from '../payments/states.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { type HolderRequest, queryOf, readDay } from './console-request.ts';
import { type FormField, formField } from './form-components.ts';

const MAX_CHARACTERS = 128;
/** Fewer digits than this are looked for as a part of a number. */
const WHOLE_NUMBER_DIGITS = 9;
const STATUSES = Object.keys(STATUS_CODES) as Status[];
const DIRECTIONS: TransactionDirection[] = ['collection', 'payout', 'refund'];
const FILTER_NAMES = [
  'type',
  'status',
  'method',
  'country',
  'from',
  'to',
  'least',
  'most',
  'reference',
  'number',
  'text',
] as const;

type FilterName = (typeof FILTER_NAMES)[number];

function filterValue(request: HolderRequest, name: FilterName): string {
  return queryOf(request, name, MAX_CHARACTERS);
}

/** The filter that the query asks for. Values that cannot be read are ignored. */
export function readFilter(request: HolderRequest): TransactionFilter {
  const value = (name: FilterName) => filterValue(request, name);
  const direction = value('type');
  const digits = value('number').replace(/\D/g, '');
  const isWhole = digits.length >= WHOLE_NUMBER_DIGITS;
  const to = readDay(value('to'));
  const filter: TransactionFilter = {
    direction: DIRECTIONS.find((known) => known === direction),
    status: STATUSES.find((status) => status === value('status')),
    method: request.ctx.catalog.methods.has(value('method')) ? value('method') : undefined,
    countryId: /^\d{1,4}$/.test(value('country')) ? Number(value('country')) : undefined,
    from: readDay(value('from')) ?? undefined,
    to: to ? new Date(to.getTime() + DAY_MS) : undefined,
    min: readAmount(request, 'least'),
    max: readAmount(request, 'most'),
    reference: value('reference') || undefined,
    number: isWhole ? digits : undefined,
    text: value('text') || (isWhole ? undefined : digits || undefined),
  };
  return Object.fromEntries(Object.entries(filter).filter(([, each]) => each !== undefined));
}

function readAmount(request: HolderRequest, name: 'least' | 'most'): bigint | undefined {
  const result = readTypedAmount(filterValue(request, name), request.language);
  return result.ok ? result.amount : undefined;
}

/** The current filters as a query, with further parameters. */
export function filterQuery(request: HolderRequest, more: Record<string, string>): string {
  const query = new URLSearchParams();
  for (const name of FILTER_NAMES) {
    const value = filterValue(request, name);
    if (value !== '') query.set(name, value);
  }
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  return query.toString();
}

export function filterForm(request: HolderRequest, isOpen: boolean): Html {
  const { t } = request;
  const errors = amountErrors(request);
  return html`
    <details class="filters"${(isOpen || Object.keys(errors).length > 0) && html` open`}>
      <summary>${t.transactions.filter}</summary>
      <form action="/console/transactions">
        <div class="field-row">
          ${filterFields(request).map((field) => formField({ errors, ...field }))}
        </div>
        <p><button>${t.transactions.apply}</button> <a href="/console/transactions">${t.transactions.clear}</a></p>
      </form>
    </details>
  `;
}

/** Amounts that cannot be read are not silently left out: the list below is longer than was asked for. */
function amountErrors(request: HolderRequest): FieldErrors {
  const errors: FieldErrors = {};
  for (const name of ['least', 'most'] as const) {
    const text = filterValue(request, name);
    const read = readTypedAmount(text, request.language);
    if (text !== '' && !read.ok) errors[name] = [read.sentence];
  }
  return errors;
}

function filterFields(request: HolderRequest): FormField[] {
  const { t } = request;
  const select = (name: FilterName, label: string, choices: readonly (readonly [string, string])[]): FormField => ({
    type: 'select',
    name,
    label,
    value: filterValue(request, name),
    choices: [['', t.any], ...choices],
  });
  const date = (name: FilterName, label: string): FormField => ({
    type: 'date',
    name,
    label,
    value: filterValue(request, name),
  });
  const text = (name: FilterName, label: string, attributes: Html): FormField => ({
    name,
    label,
    value: filterValue(request, name),
    attributes,
  });
  return [
    select('type', t.transactions.type, [
      ['collection', t.directions.collection],
      ['payout', t.directions.payout],
      ['refund', t.directions.refund],
    ]),
    select(
      'status',
      t.state,
      STATUSES.map((status) => [status, t.status[status]]),
    ),
    select('method', t.method, methodChoices(request)),
    select('country', t.country, countryChoices(request)),
    date('from', t.from),
    date('to', t.to),
    text('least', t.transactions.minAmount, html`inputmode="decimal"`),
    text('most', t.transactions.maxAmount, html`inputmode="decimal"`),
    text('reference', t.yourReference, html`maxlength="${MAX_CHARACTERS}"`),
    text('number', t.number, html`inputmode="tel"`),
    text('text', t.transactions.text, html`maxlength="${MAX_CHARACTERS}"`),
  ];
}

function methodChoices({ ctx }: HolderRequest): [string, string][] {
  return [...ctx.catalog.methods.values()].map((method) => [method.code, `${method.name} (${method.country.name})`]);
}

function countryChoices({ ctx }: HolderRequest): [string, string][] {
  const rows = [...ctx.catalog.collectionCountries.values(), ...ctx.catalog.linkCountries.values()];
  // A country of both lists is one choice.
  return [...new Map(rows.map((row) => [String(row.countryId), row.name]))];
}
