// The filters over the transaction list: chips of what is on, menus of dates and orders, and the form with all of them.

import { type Integration, listIntegrations } from '../holders/integrations.ts';
import type { FieldErrors } from '../platform/errors.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { dateLocale } from '../platform/locales.ts';
import { isCalendarDay } from '../platform/time-zones.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { icon } from '../ui/icons.ts';
import { type HolderRequest, queryOf } from './console-request.ts';
import { RANGES } from './date-ranges.ts';
import { type FormField, formField } from './form-components.ts';
import { countryName, methodInCountry, methodName } from './names.ts';
import {
  chosenDates,
  chosenIntegration,
  chosenRange,
  currentSort,
  DIRECTIONS,
  FILTER_NAMES,
  type FilterName,
  filterQuery,
  filterValue,
  listAddress,
  MAX_CHARACTERS,
  readAmount,
  SORTS,
  type SortName,
  singleState,
} from './transaction-filter.ts';

/** Every filter that is on, but the tab, each with the list that has it no more. */
export async function filterChips(request: HolderRequest): Promise<Html | false> {
  const { t } = request;
  const chips = await activeFilters(request);
  if (chips.length === 0) return false;
  const chip = ([label, ...names]: ActiveFilter) => html`
    <li>
      <a class="chip" href="${listAddress(filterQuery(request, Object.fromEntries(names.map((name) => [name, '']))))}"
        aria-label="${t.transactions.remove(label)}"><bdi>${label}</bdi>${icon('x')}</a>
    </li>
  `;
  return html`
    <ul class="chips active-filters" aria-label="${t.transactions.filters}">
      ${chips.map(chip)}
      <li><a class="clear" href="${listAddress(filterQuery(request, cleared()))}">${t.transactions.clear}</a></li>
    </ul>
  `;
}

type ActiveFilter = [label: string, ...names: FilterName[]];

function cleared(): Record<string, string> {
  return Object.fromEntries(FILTER_NAMES.filter((name) => name !== 'sort').map((name) => [name, '']));
}

async function activeFilters(request: HolderRequest): Promise<ActiveFilter[]> {
  const { t, ctx } = request;
  const value = (name: FilterName) => filterValue(request, name);
  const found: ActiveFilter[] = [];
  const add = (label: string | false | undefined, ...names: FilterName[]) => {
    if (label) found.push([label, ...names]);
  };
  const direction = DIRECTIONS.find((known) => known === value('type'));
  const state = singleState(request);
  const country = countryChoices(request).find(([id]) => id === value('country'));
  add(direction && t.directions[direction], 'type');
  add(state && t.status[state], 'status');
  add(ctx.catalog.methods.has(value('method')) && methodName(request, value('method')), 'method');
  add(country?.[1], 'country');
  add((await chosenIntegration(request))?.title, 'integration');
  add(hasDates(request) && dateLabel(request), 'range', 'from', 'to');
  add(readAmount(request, 'least') !== undefined && t.transactions.amountFrom(value('least')), 'least');
  add(readAmount(request, 'most') !== undefined && t.transactions.amountTo(value('most')), 'most');
  add(value('reference') && `${withColon(request, t.yourReference)} ${value('reference')}`, 'reference');
  add(value('number') && `${withColon(request, t.number)} ${value('number')}`, 'number');
  add(value('text') && `“${value('text')}”`, 'text');
  return found;
}

function hasDates(request: HolderRequest): boolean {
  const { from, to } = chosenDates(request);
  return from !== undefined || to !== undefined;
}

function dateLabel(request: HolderRequest): string {
  const { t } = request;
  const name = chosenRange(request);
  if (name) return t.transactions.ranges[name];
  const [from, to] = [filterValue(request, 'from'), filterValue(request, 'to')];
  if (isCalendarDay(from) && isCalendarDay(to))
    return t.transactions.between(dayText(request, from), dayText(request, to));
  if (isCalendarDay(from)) return t.transactions.fromDay(dayText(request, from));
  return isCalendarDay(to) ? t.transactions.toDay(dayText(request, to)) : t.transactions.ranges.any;
}

function dayText({ language }: HolderRequest, day: string): string {
  const format = { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;
  return new Date(`${day}T00:00:00Z`).toLocaleDateString(dateLocale(language), format);
}

/** Ranges by name; the last entry opens the form, where any two days can be set. */
export function dateMenu(request: HolderRequest): Html {
  const { t } = request;
  const to = (range: string) => listAddress(filterQuery(request, { range, from: '', to: '' }));
  const current = chosenRange(request);
  const link = (label: string, href: string, isCurrent: boolean) =>
    html`<a href="${href}"${isCurrent && html` aria-current="true"`}>${label}</a>`;
  return html`
    <details class="unfold">
      <summary class="chip">${icon('calendar')}${dateLabel(request)}${icon('chevron-down')}</summary>
      <div class="popover">
        ${link(t.transactions.ranges.any, to(''), !hasDates(request))}
        ${RANGES.map((range) => link(t.transactions.ranges[range], to(range), range === current))}
        <a href="${listAddress(filterQuery(request, { range: '', open: 'filter' }))}#f-from">${t.transactions.ranges.custom}</a>
      </div>
    </details>
  `;
}

export function sortMenu(request: HolderRequest): Html {
  const { t } = request;
  const current = currentSort(request);
  const href = (sort: SortName) => listAddress(filterQuery(request, { sort: sort === 'newest' ? '' : sort }));
  return html`
    <details class="unfold">
      <summary class="chip">
        ${icon('arrow-up-down')}<span class="chip-label">${t.transactions.sorts[current]}</span>${icon('chevron-down')}
      </summary>
      <div class="popover">
        ${SORTS.map(
          (sort) => html`
            <a href="${href(sort)}"${sort === current && html` aria-current="true"`}>${t.transactions.sorts[sort]}</a>
          `,
        )}
      </div>
    </details>
  `;
}

export async function filterForm(request: HolderRequest): Promise<Html> {
  const { t } = request;
  const errors = amountErrors(request);
  const isOpen = Object.keys(errors).length > 0 || queryOf(request, 'open') === 'filter';
  const kept = (name: FilterName) => {
    const value = filterValue(request, name);
    return value !== '' && html`<input type="hidden" name="${name}" value="${value}">`;
  };
  const fields = filterFields(request, await listIntegrations(request.ctx.db, request.holder.id));
  return html`
    <details class="unfold filter-panel"${isOpen && html` open`}>
      <summary class="chip">${icon('funnel')}<span class="chip-label">${t.transactions.filter}</span></summary>
      <form class="popover" action="/console/transactions">
        ${kept('status')}${kept('sort')}${kept('range')}
        <div class="field-row">${fields.map((field) => formField({ errors, ...field }))}</div>
        <p class="actions">
          <button>${t.transactions.apply}</button>
          <a href="${listAddress(filterQuery(request, cleared()))}">${t.transactions.clear}</a>
        </p>
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

function filterFields(request: HolderRequest, integrations: readonly Integration[]): FormField[] {
  const { t } = request;
  const value = (name: FilterName) => filterValue(request, name);
  const select = (name: FilterName, label: string, choices: readonly (readonly [string, string])[]): FormField => ({
    type: 'select',
    name,
    label,
    value: value(name),
    choices: [['', t.any], ...choices],
  });
  const text = (name: FilterName, label: string, attributes: Html): FormField => ({
    name,
    label,
    value: value(name),
    attributes,
  });
  const directions = DIRECTIONS.map((direction) => [direction, t.directions[direction]] as const);
  const names = integrations.map((each) => [each.clientId, each.title] as const);
  return [
    select('type', t.transactions.type, directions),
    select('method', t.method, methodChoices(request)),
    select('country', t.country, countryChoices(request)),
    ...(integrations.length > 1 ? [select('integration', t.transactions.integration, names)] : []),
    { type: 'date', name: 'from', label: t.from, value: value('from') },
    { type: 'date', name: 'to', label: t.to, value: value('to') },
    text('least', t.transactions.minAmount, html`inputmode="decimal"`),
    text('most', t.transactions.maxAmount, html`inputmode="decimal"`),
    text('number', t.number, html`inputmode="tel"`),
    text('reference', t.yourReference, html`maxlength="${MAX_CHARACTERS}"`),
    text('text', t.transactions.text, html`maxlength="${MAX_CHARACTERS}"`),
  ];
}

function methodChoices(request: HolderRequest): [string, string][] {
  return [...request.ctx.catalog.methods.values()].map((method) => [method.code, methodInCountry(request, method)]);
}

function countryChoices(request: HolderRequest): [string, string][] {
  const { catalog } = request.ctx;
  const rows = [...catalog.collectionCountries.values(), ...catalog.linkCountries.values()];
  // A country of both lists is one choice.
  return [...new Map(rows.map((row) => [String(row.countryId), countryName(request, row.country.iso)]))];
}
