// Which breaks a list shows: read from its address, written into it, and the form that sets it.

import { type BreakFilter, listBreaks } from '../books/breaks.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Html } from '../platform/html.ts';
import { isUuid } from '../platform/ids.ts';
import { isCalendarDay } from '../platform/time-zones.ts';
import { type MemberRequest, queryOf } from './console-request.ts';
import { form } from './form-components.ts';

const AGES = ['0', '1', '3', '7', '30'] as const;
const FILTER_NAMES = ['connection', 'currency', 'kind', 'age', 'status', 'day'] as const;

/** The open ones where the address does not say. */
export function readBreakFilter(request: MemberRequest): BreakFilter {
  const { ctx, t } = request;
  const text = (name: string) => queryOf(request, name, 60) || undefined;
  const kinds = Object.keys(t.books.kinds) as (keyof typeof t.books.kinds)[];
  const age = Number(AGES.find((each) => each === text('age')) ?? '0');
  const state = text('status');
  return {
    connection: text('connection'),
    currency: text('currency'),
    kind: kinds.find((each) => each === text('kind')),
    status: state === 'resolved' ? 'resolved' : state === 'all' ? undefined : 'open',
    day: isCalendarDay(text('day') ?? '') ? text('day') : undefined,
    openedBefore: age === 0 ? undefined : new Date(ctx.clock.millis() - age * DAY_MS),
    after: isUuid(queryOf(request, 'after', 40)) ? queryOf(request, 'after', 40) : undefined,
  };
}

/** The filter of this page as a query, with more. */
export function filterQueryOf(request: MemberRequest, more: Record<string, string> = {}): string {
  const given = FILTER_NAMES.flatMap((name): [string, string][] => {
    const value = queryOf(request, name, 60);
    return value === '' ? [] : [[name, value]];
  });
  return new URLSearchParams([...given, ...Object.entries(more)]).toString();
}

export function breakFilterForm(request: MemberRequest, connections: readonly string[]): Html {
  const { t } = request;
  const { filters, kinds, breakStatuses } = t.books;
  const value = (name: string) => queryOf(request, name, 60);
  const hidden = Object.fromEntries(['currency'].flatMap((name) => (value(name) === '' ? [] : [[name, value(name)]])));
  return form(request, {
    action: '/admin/books/breaks',
    method: 'get',
    className: 'card break-filter',
    hidden,
    row: true,
    fields: [
      {
        type: 'select',
        name: 'connection',
        label: filters.connection,
        value: value('connection'),
        choices: [['', filters.any], ...connections.map((name) => [name, name] as const)],
      },
      {
        type: 'select',
        name: 'kind',
        label: filters.kind,
        value: value('kind'),
        choices: [['', filters.any], ...Object.entries(kinds)],
      },
      {
        type: 'select',
        name: 'age',
        label: filters.age,
        value: value('age'),
        choices: AGES.map((age) => [age, filters.ages[age]] as const),
      },
      {
        type: 'select',
        name: 'status',
        label: filters.status,
        value: value('status'),
        choices: [
          ['', breakStatuses.open],
          ['resolved', breakStatuses.resolved],
          ['all', filters.any],
        ],
      },
      { type: 'date', name: 'day', label: t.books.day, value: value('day') },
    ],
    submit: filters.apply,
    variant: 'secondary',
  });
}

/** All breaks of the filter, page by page. */
export async function* eachBreak(
  request: MemberRequest,
  rows: number,
): AsyncGenerator<Awaited<ReturnType<typeof listBreaks>>> {
  let filter = readBreakFilter(request);
  for (;;) {
    const breaks = await listBreaks(request.ctx.db, filter, rows);
    yield breaks;
    const last = breaks.at(-1);
    if (!last || breaks.length < rows) return;
    filter = { ...filter, after: last.id };
  }
}
