// Metrics in Prometheus' format at /metrics. Labels are few and bounded: never a phone number, a reference or an id.

import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createRequestMetrics } from './request-metrics.ts';

/** Of the database and not of a process: every process measures the same, so several are not added. */
const OF_GATEWAY = 'first';
const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    requests: createRequestMetrics(registry, SECONDS_BUCKETS),
    refusals: new Counter({
      name: 'simbi_refusals_total',
      help: 'Requests refused, by error code.',
      labelNames: ['code'] as const,
      registers,
    }),
    unverifiedRequests: new Counter({
      name: 'simbi_unverified_requests_total',
      help: 'Requests that named an integration and were refused before their signature or secret was verified, by error code.',
      labelNames: ['code'] as const,
      registers,
    }),
    limited: new Counter({
      name: 'simbi_limited_total',
      help: 'Requests refused by a limit, by kind of limit.',
      labelNames: ['kind'] as const,
      registers,
    }),
    shed: new Counter({
      name: 'simbi_http_shed_total',
      help: 'Requests refused because too many were in flight.',
      registers,
    }),
    batchItems: new Histogram({
      name: 'simbi_batch_items',
      help: 'Items committed together, by batch.',
      labelNames: ['batch'] as const,
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
      registers,
    }),
    ...backgroundMetrics(registers),
    ...createPaymentMetrics(registers),
    ...createMoneyMetrics(registers),
    /** Node's own numbers (memory, event loop) are collected once per process, by the server. */
    collectProcessMetrics: () => collectDefaultMetrics({ register: registry, prefix: 'simbi_' }),
  };
}

/** The metrics of one of several processes. */
export type ProcessMetrics = { process: number; metrics: Awaited<ReturnType<Registry['getMetricsAsJSON']>> };

/**
 * Several processes as one text. Numbers of a process get the label `process` instead of being added: a counter begins again
 * with its process, and Prometheus would take the smaller sum for a reset of all. Of what is measured in the database the first
 * process counts.
 */
export function mergeMetrics(processes: readonly ProcessMetrics[]): Promise<string> {
  const labelled = processes.map(({ process, metrics }) =>
    metrics.map((metric) =>
      metric.aggregator === OF_GATEWAY
        ? metric
        : {
            ...metric,
            aggregator: 'sum',
            values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, process } })),
          },
    ),
  );
  return AggregatorRegistry.aggregate(labelled).metrics();
}

/** Of the processes themselves; the one that supervises them counts. */
export function createProcessMetrics() {
  const registry = new Registry();
  return {
    registry,
    wanted: new Gauge({
      name: 'simbi_processes_wanted',
      help: 'Processes that the gateway should have.',
      aggregator: OF_GATEWAY,
      registers: [registry],
    }),
    ready: new Gauge({
      name: 'simbi_processes_ready',
      help: 'Processes that are ready.',
      aggregator: OF_GATEWAY,
      registers: [registry],
    }),
    ended: new Counter({
      name: 'simbi_processes_ended_total',
      help: 'Processes that ended without being asked to, and were started again.',
      aggregator: OF_GATEWAY,
      registers: [registry],
    }),
  };
}

/** Of payments and their callbacks. */
function createPaymentMetrics(registers: Registry[]) {
  return {
    outcomes: new Counter({
      name: 'simbi_outcomes_total',
      help: 'Transactions that reached a status, by rail and status.',
      labelNames: ['rail', 'status'] as const,
      registers,
    }),
    reportsQuarantined: new Counter({
      name: 'simbi_operator_reports_quarantined_total',
      help: 'Reports of operators that could not be applied and were set aside, by rail.',
      labelNames: ['rail'] as const,
      registers,
    }),
    railSeconds: new Histogram({
      name: 'simbi_rail_call_seconds',
      help: 'Time of calls to operators, by rail and call.',
      labelNames: ['rail', 'call'] as const,
      buckets: SECONDS_BUCKETS,
      registers,
    }),
    operatorCalls: new Counter({
      name: 'simbi_operator_calls_total',
      help: 'Calls to operators about transactions, by connection and result; unknown: no answer that says anything.',
      labelNames: ['connection', 'result'] as const,
      registers,
    }),
    breakerOpen: new Gauge({
      name: 'simbi_breaker_open',
      help: '1 while this process sends no new work to a connection for a method because it does not answer, else 0.',
      labelNames: ['connection', 'method'] as const,
      registers,
    }),
    deliveries: new Counter({
      name: 'simbi_callback_attempts_total',
      help: 'Callback attempts, by result.',
      labelNames: ['result'] as const,
      registers,
    }),
  };
}

/** What people must look after. Measured once a minute by a background job, never while /metrics is read. */
function createMoneyMetrics(registers: Registry[]) {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge<Label>({ name: `simbi_${name}`, help, labelNames, registers, aggregator: OF_GATEWAY });
  return {
    openCases: gauge('cases_open', 'Open cases, by kind.', 'kind'),
    oldestCaseSeconds: gauge('cases_oldest_seconds', 'Age of the oldest open case, by kind.', 'kind'),
    suspense: gauge('suspense_amount', 'Money whose owner is not known, by currency.', 'currency'),
    debt: gauge('debt_amount', 'What holders owe the gateway, by currency.', 'currency'),
    debtors: gauge('debt_holders', 'Holders that owe the gateway, by currency.', 'currency'),
    oldestDebtSeconds: gauge('debt_oldest_seconds', 'Age of the oldest open debt, by currency.', 'currency'),
    clearing: gauge(
      'clearing_amount',
      'What the operator of a rail holds for us, by currency; below zero: what we owe it.',
      'rail',
      'currency',
    ),
    operatorBalance: gauge(
      'operator_balance_amount',
      'What an operator said within the last hour that an account of ours with it holds, by connection, account and currency.',
      'connection',
      'account',
      'currency',
    ),
    float: gauge('float_amount', 'What an operator is believed to hold for payouts.', 'connection', 'currency'),
    floatLow: gauge(
      'float_low',
      '1 while a float that is watched is low or ends soon, else 0.',
      'connection',
      'currency',
    ),
    floatLastsSeconds: gauge(
      'float_lasts_seconds',
      'How long a float that is watched lasts, by the last four weeks; absent where it lasts for more than two weeks.',
      'connection',
      'currency',
    ),
    floatWaiting: gauge('float_waiting_payouts', 'Payouts that wait for float.', 'connection', 'currency'),
    oldestOperatorCallbackSeconds: gauge(
      'operator_callbacks_oldest_seconds',
      'Age of the oldest operator callback that was not applied yet.',
    ),
    approvals: gauge('approvals_waiting', 'Payouts and refunds that wait for a second person.', 'direction'),
    oldestApprovalSeconds: gauge(
      'approvals_oldest_seconds',
      'Age of the oldest payout or refund that waits for a second person.',
      'direction',
    ),
    verifiedAt: gauge(
      'verify_last_timestamp_seconds',
      'When the last whole ledger verify that reached its end ended, in seconds since 1970.',
    ),
    verifyDifferences: gauge(
      'verify_differences',
      'Differences that the last whole ledger verify found, or one with --since after it.',
    ),
  };
}

/** Of background work. */
function backgroundMetrics(registers: Registry[]) {
  return {
    jobRuns: new Counter({
      name: 'simbi_job_runs_total',
      help: 'Passes of background jobs, by job and result.',
      labelNames: ['job', 'result'] as const,
      registers,
    }),
    backlog: new Gauge({
      name: 'simbi_backlog',
      help: 'Rows that wait for a background job, by queue.',
      labelNames: ['queue'] as const,
      aggregator: OF_GATEWAY,
      registers,
    }),
    ledgerHistoryLost: new Gauge({
      name: 'simbi_ledger_history_lost',
      help: '1: the database went back in time, and no money leaves the gateway until a person has looked.',
      registers,
    }),
    headsNotShipped: new Counter({
      name: 'simbi_ledger_heads_not_shipped_total',
      help: 'Failed tries to take the newest ledger head out of the database, by place.',
      labelNames: ['place'] as const,
      registers,
    }),
    clockSkew: new Gauge({
      name: 'simbi_clock_skew_seconds',
      help: 'How far the clock of this process is ahead of the clock of the database.',
      registers,
    }),
  };
}
