// The figures of a period in one currency, added up from the statistics of its days. Currencies are never added.

import type { MoneyFact } from '../ledger/daily-money.ts';
import type { TransactionTotal } from '../payments/listing.ts';
import type { Status } from '../payments/states.ts';
import type { DailyStats } from './daily-stats.ts';

export type MethodFigures = { method: string; good: number; bad: number };
export type FailureFigures = { code: string; count: number };

export type BusinessFigures = {
  /** False while a day of the period was never counted: its figures would be too low. */
  isCounted: boolean;
  payments: number;
  collected: bigint;
  refunded: bigint;
  paidOut: bigint;
  /** What was charged, less what was returned. */
  fees: bigint;
  good: number;
  bad: number;
  open: number;
  /** The most used first. */
  methods: MethodFigures[];
  /** The most frequent first. */
  failures: FailureFigures[];
};

const GOOD: ReadonlySet<Status> = new Set(['success', 'reversed']);
const BAD: ReadonlySet<Status> = new Set(['failed', 'expired']);

export function figuresOf(days: readonly DailyStats[], currency: string): BusinessFigures {
  const money = days.flatMap((day) => day.money).filter((total) => total.currency === currency);
  const sum = (fact: MoneyFact, field: 'amount' | 'fee') =>
    money.reduce((total, each) => (each.fact === fact ? total + each[field] : total), 0n);
  const attempts = days
    .flatMap((day) => day.attempts)
    .filter((total) => total.currency === currency && total.direction === 'collection');
  return {
    isCounted: days.every((day) => day.countedAt !== null),
    payments: money.reduce((total, each) => (each.fact === 'collected' ? total + each.transactions : total), 0),
    collected: sum('collected', 'amount'),
    refunded: sum('given_back', 'amount'),
    paidOut: sum('paid_out', 'amount'),
    fees: sum('collected', 'fee') + sum('paid_out', 'fee') - sum('given_back', 'fee') - sum('returned', 'fee'),
    good: countOf(attempts, GOOD),
    bad: countOf(attempts, BAD),
    open:
      attempts.reduce((total, each) => total + each.transactions, 0) - countOf(attempts, GOOD) - countOf(attempts, BAD),
    methods: methodsOf(attempts),
    failures: failuresOf(attempts),
  };
}

/** Success ÷ (success + failed + expired); null where nothing was decided. */
export function successRate({ good, bad }: { good: number; bad: number }): number | null {
  return good + bad === 0 ? null : good / (good + bad);
}

/** The currencies of these days, the one with the most transactions first; then those that have only a wallet. */
export function currenciesOf(days: readonly DailyStats[], wallets: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const { currency, transactions } of days.flatMap((day) => day.attempts))
    counts.set(currency, (counts.get(currency) ?? 0) + transactions);
  for (const currency of [...days.flatMap((day) => day.money.map((total) => total.currency)), ...wallets])
    if (!counts.has(currency)) counts.set(currency, 0);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([currency]) => currency);
}

function countOf(attempts: readonly TransactionTotal[], statuses: ReadonlySet<Status>): number {
  return attempts.reduce((total, each) => (statuses.has(each.status) ? total + each.transactions : total), 0);
}

function methodsOf(attempts: readonly TransactionTotal[]): MethodFigures[] {
  const groups = Map.groupBy(attempts, (each) => each.method);
  return [...groups]
    .map(([method, rows]) => ({ method, good: countOf(rows, GOOD), bad: countOf(rows, BAD) }))
    .filter((each) => each.good + each.bad > 0)
    .sort((a, b) => b.good + b.bad - a.good - a.bad);
}

function failuresOf(attempts: readonly TransactionTotal[]): FailureFigures[] {
  const failed = attempts.filter((each) => BAD.has(each.status));
  const groups = Map.groupBy(failed, (each) =>
    each.status === 'expired' ? 'PROMPT_EXPIRED' : (each.failure_code ?? 'UNSPECIFIED'),
  );
  return [...groups]
    .map(([code, rows]) => ({ code, count: rows.reduce((total, each) => total + each.transactions, 0) }))
    .sort((a, b) => b.count - a.count);
}
