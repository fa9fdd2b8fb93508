// The filters of the transaction list: what the query of an address asks for. How they look is in transaction-filter-bar.ts.

import { possibleNumbers } from '../catalog/phone-search.ts';
import { type Integration, listIntegrations } from '../holders/integrations.ts';
import type { TransactionFilter } from '../payments/listing.ts';
import type { Status, TransactionDirection } from '../payments/states.ts';
import { isCalendarDay } from '../platform/time-zones.ts';
import { readTypedAmount } from '../platform/typed-amounts.ts';
import { zoneOf } from './components.ts';
import { type HolderRequest, queryOf } from './console-request.ts';
import { RANGES, type RangeName, rangeOf, rangeOfDays } from './date-ranges.ts';

export const MAX_CHARACTERS = 128;
export const DIRECTIONS: TransactionDirection[] = ['collection', 'payout', 'refund'];

/** The tabs over the list, and the states that each shows. */
export const TABS = {
  succeeded: ['success'],
  failed: ['failed', 'expired'],
  waiting: ['pending', 'processing'],
  refunded: ['reversed'],
} as const satisfies Record<string, readonly Status[]>;
export type TabName = keyof typeof TABS;

/** One state alone, as addresses of the list had it before there were tabs. */
const SINGLE_STATES = ['pending', 'processing', 'success', 'expired', 'reversed'] as const;
type SingleState = (typeof SINGLE_STATES)[number];

export const SORTS = ['newest', 'oldest', 'largest', 'smallest'] as const;
export type SortName = (typeof SORTS)[number];

export const FILTER_NAMES = [
  'type',
  'status',
  'method',
  'country',
  'integration',
  'range',
  'from',
  'to',
  'least',
  'most',
  'reference',
  'number',
  'text',
  'sort',
] as const;
export type FilterName = (typeof FILTER_NAMES)[number];

export function filterValue(request: HolderRequest, name: FilterName): string {
  return queryOf(request, name, MAX_CHARACTERS);
}

/** The filter that the query asks for. Values that cannot be read are ignored. */
export async function readFilter(request: HolderRequest): Promise<TransactionFilter> {
  const value = (name: FilterName) => filterValue(request, name);
  const integration = await chosenIntegration(request);
  const filter: TransactionFilter = {
    direction: DIRECTIONS.find((known) => known === value('type')),
    statuses: chosenStatuses(request),
    method: request.ctx.catalog.methods.has(value('method')) ? value('method') : undefined,
    countryId: /^\d{1,4}$/.test(value('country')) ? Number(value('country')) : undefined,
    integrationId: integration?.id,
    ...chosenDates(request),
    min: readAmount(request, 'least'),
    max: readAmount(request, 'most'),
    reference: value('reference') || undefined,
    ...chosenNumber(request),
  };
  return Object.fromEntries(Object.entries(filter).filter(([, each]) => each !== undefined));
}

export async function chosenIntegration(request: HolderRequest): Promise<Integration | undefined> {
  const clientId = filterValue(request, 'integration');
  if (clientId === '') return undefined;
  const integrations = await listIntegrations(request.ctx.db, request.holder.id);
  return integrations.find((each) => each.clientId === clientId);
}

export function currentTab(request: HolderRequest): TabName | null {
  const status = filterValue(request, 'status');
  return (Object.keys(TABS) as TabName[]).find((tab) => tab === status) ?? null;
}

function chosenStatuses(request: HolderRequest): readonly Status[] | undefined {
  const tab = currentTab(request);
  if (tab) return TABS[tab];
  const single = singleState(request);
  return single && [single];
}

export function singleState(request: HolderRequest): SingleState | undefined {
  return SINGLE_STATES.find((state) => state === filterValue(request, 'status'));
}

export function currentSort(request: HolderRequest): SortName {
  return SORTS.find((sort) => sort === filterValue(request, 'sort')) ?? 'newest';
}

export function chosenDates(request: HolderRequest): Pick<TransactionFilter, 'from' | 'to'> {
  const zone = zoneOf(request);
  const name = chosenRange(request);
  if (name) return rangeOf(name, zone, request.ctx.clock.now());
  return rangeOfDays(filterValue(request, 'from'), filterValue(request, 'to'), zone);
}

/** A range by its name, unless days were given. */
export function chosenRange(request: HolderRequest): RangeName | undefined {
  const hasDays = [filterValue(request, 'from'), filterValue(request, 'to')].some(isCalendarDay);
  return hasDays ? undefined : RANGES.find((range) => range === filterValue(request, 'range'));
}

/** A whole number finds by the index, in any country; a part of one is searched as text. */
function chosenNumber(request: HolderRequest): Pick<TransactionFilter, 'numbers' | 'text'> {
  const typed = filterValue(request, 'number');
  const numbers = typed === '' ? [] : possibleNumbers(typed, request.ctx.catalog.countries.values());
  const text = filterValue(request, 'text');
  if (numbers.length > 0) return { numbers, text: text || undefined };
  const part = typed.replace(/\D/g, '').replace(/^0/, '');
  return { text: text || part || undefined };
}

export function readAmount(request: HolderRequest, name: 'least' | 'most'): bigint | undefined {
  const result = readTypedAmount(filterValue(request, name), request.language);
  return result.ok ? result.amount : undefined;
}

/** The current filters as a query, with some changed: an empty value takes one away. */
export function filterQuery(request: HolderRequest, changes: Record<string, string> = {}): string {
  const query = new URLSearchParams();
  for (const name of FILTER_NAMES) {
    const value = filterValue(request, name);
    if (value !== '') query.set(name, value);
  }
  for (const [name, value] of Object.entries(changes))
    if (value === '') query.delete(name);
    else query.set(name, value);
  return query.toString();
}

export function listAddress(query: string): string {
  return query === '' ? '/console/transactions' : `/console/transactions?${query}`;
}
