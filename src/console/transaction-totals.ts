// The line over the list of transactions (how many, how much, how many succeeded) and the count of each tab.

import { COUNTED_ROWS, type FilteredTotals, type TransactionTotal } from '../payments/listing.ts';
import type { Status, TransactionDirection } from '../payments/states.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, html } from '../platform/html.ts';
import { numberLocale } from '../platform/locales.ts';
import { chips } from '../ui/components.ts';
import { zoneOf } from './components.ts';
import { type HolderRequest, money } from './console-request.ts';
import { currentTab, filterQuery, listAddress, TABS, type TabName } from './transaction-filter.ts';

/** Sums of more currencies than these are not shown. They are never added. */
const SHOWN_CURRENCIES = 3;
const SUCCEEDED: readonly Status[] = ['success', 'reversed'];
const FAILED: readonly Status[] = ['failed', 'expired'];

/** Tabs with their counts. The totals are those of all tabs. */
export function statusTabs(request: HolderRequest, { totals, complete }: FilteredTotals): Html {
  const { t } = request;
  const tab = currentTab(request);
  const plus = complete ? '' : '+';
  const choice = (name: TabName | 'all') => ({
    label: t.transactions.tabs[name],
    href: listAddress(filterQuery(request, { status: name === 'all' ? '' : name })),
    current: name === (tab ?? 'all'),
    count: `${figure(request, countOf(ofTab(totals, name === 'all' ? null : name)))}${plus}`,
  });
  const names = Object.keys(TABS) as TabName[];
  return chips(t.transactions.tabsLabel, [choice('all'), ...names.map(choice)]);
}

function ofTab(totals: readonly TransactionTotal[], tab: TabName | null): readonly TransactionTotal[] {
  if (tab === null) return totals;
  const states: readonly Status[] = TABS[tab];
  return totals.filter((total) => states.includes(total.status));
}

export function totalsLine(request: HolderRequest, { totals, complete }: FilteredTotals): Html {
  const { t } = request;
  const tab = currentTab(request);
  const shown = ofTab(totals, tab);
  const count = countOf(shown);
  // Of all, only what succeeded is money; a tab sums what it shows.
  const counted = tab === null ? shown.filter((total) => total.status === 'success') : shown;
  const of = (...directions: TransactionDirection[]) => counted.filter((total) => directions.includes(total.direction));
  // What failed, waits or went back is neither in nor out: its direction is only named.
  const named = (direction: TransactionDirection) =>
    sums(request, of(direction), (money) => `${withColon(request, t.directions[direction])} ${money}`);
  const isMoved = tab === null || tab === 'succeeded';
  const rate = tab === null ? successRate(totals) : null;
  const isOverLimit = !complete && count >= COUNTED_ROWS;
  const parts = [
    isOverLimit
      ? t.transactions.moreThan(figure(request, COUNTED_ROWS))
      : t.transactions.count(figure(request, count), count === 1),
    ...(isMoved ? sums(request, of('collection'), t.transactions.sumIn) : named('collection')),
    ...(rate === null ? [] : [t.transactions.rate(rate.toLocaleString(numberLocale(request.language)))]),
    ...(complete ? [] : [t.transactions.ofNewest(figure(request, COUNTED_ROWS))]),
  ];
  const sumsOut = isMoved
    ? sums(request, of('payout', 'refund'), t.transactions.sumOut)
    : [...named('payout'), ...named('refund')];
  // A phone shows more rows instead.
  const more = [...sumsOut, t.transactions.zone(zoneOf(request))];
  return html`
    <p class="totals muted">${parts.join(' · ')}<span class="wide-only"> · ${more.join(' · ')}</span></p>
  `;
}

/** One sum for each currency, those with the most payments first. */
function sums(request: HolderRequest, totals: readonly TransactionTotal[], say: (money: string) => string): string[] {
  const byCurrency = new Map<string, { count: number; amount: bigint }>();
  for (const { currency, transactions, amount } of totals) {
    const sum = byCurrency.get(currency) ?? { count: 0, amount: 0n };
    byCurrency.set(currency, { count: sum.count + transactions, amount: sum.amount + amount });
  }
  const sorted = [...byCurrency].sort(([, left], [, right]) => right.count - left.count);
  const shown = sorted.slice(0, SHOWN_CURRENCIES).map(([currency, { amount }]) => money(request, amount, currency));
  const more = sorted.length - shown.length;
  if (shown.length === 0) return [];
  return [say([...shown, ...(more > 0 ? [request.t.transactions.moreCurrencies(more)] : [])].join(', '))];
}

function countOf(totals: readonly TransactionTotal[]): number {
  return totals.reduce((sum, { transactions }) => sum + transactions, 0);
}

/** Of what has an outcome: percent, with one decimal. Null while nothing has. */
function successRate(totals: readonly TransactionTotal[]): number | null {
  const succeeded = countOf(totals.filter(({ status }) => SUCCEEDED.includes(status)));
  const finished = succeeded + countOf(totals.filter(({ status }) => FAILED.includes(status)));
  return finished === 0 ? null : Math.round((succeeded * 1_000) / finished) / 10;
}

function figure({ language }: HolderRequest, count: number): string {
  return count.toLocaleString(numberLocale(language)).replace(/[,\u00a0\u202f]/g, '\u202f');
}
