// Metrics of what people must look after: open cases, money in suspense, debts, clearing, float, what waits for approval, and the
// last ledger verify. Measured by a background job once a minute, over indexes of what is open.

import { totalsForMetrics } from '../ledger/reports.ts';
import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { amountToNumber } from '../platform/money.ts';
import type { PaymentsContext } from './context.ts';
import { readFloats } from './float-report.ts';
import { listOperatorBalances } from './operator-balances.ts';
import { lastVerified } from './verify-runs.ts';

const MAX_BALANCE_AGE_SECONDS = 3_600;

/** Measures everything once. Returns 0: the job pauses after each pass. */
export async function measureMoney(ctx: PaymentsContext): Promise<number> {
  const now = ctx.clock.now();
  await measureAccounts(ctx);
  await measureCases(ctx, now);
  await measureApprovals(ctx, now);
  await measureInbox(ctx, now);
  await measureBalances(ctx, now);
  await measureFloats(ctx, now);
  const { metrics } = ctx;
  const { wholeAt, differences } = await lastVerified(ctx.db);
  metrics.verifiedAt.set((wholeAt?.getTime() ?? 0) / 1000);
  metrics.verifyDifferences.set(Number(differences));
  return 0;
}

async function measureAccounts({ db, metrics }: Context): Promise<void> {
  const totals = await totalsForMetrics(db);
  for (const gauge of [metrics.suspense, metrics.debt, metrics.debtors, metrics.clearing]) gauge.reset();
  for (const { kind, rail, currency, balance, below_zero } of totals) {
    if (kind === 'suspense') metrics.suspense.set({ currency }, amountToNumber(balance));
    if (kind === 'operator_clearing') metrics.clearing.set({ rail: rail ?? '', currency }, amountToNumber(-balance));
    if (kind !== 'holder_receivable') continue;
    metrics.debt.set({ currency }, amountToNumber(-balance));
    metrics.debtors.set({ currency }, Number(below_zero));
  }
}

async function measureCases({ db, metrics }: Context, now: Date): Promise<void> {
  const rows = await db.query<{ kind: string; currency: string | null; count: bigint; oldest: Date }>(
    `select kind, case when kind = 'debt' then currency end as currency, count(*), min(opened_at) as oldest
     from cases where status = 'open' group by 1, 2`,
  );
  for (const gauge of [metrics.openCases, metrics.oldestCaseSeconds, metrics.oldestDebtSeconds]) gauge.reset();
  const oldest = new Map<string, number>();
  for (const { kind, currency, count, oldest: openedAt } of rows) {
    const seconds = ageOf(openedAt, now);
    metrics.openCases.inc({ kind }, Number(count));
    oldest.set(kind, Math.max(oldest.get(kind) ?? 0, seconds));
    if (currency !== null) metrics.oldestDebtSeconds.set({ currency }, seconds);
  }
  for (const [kind, seconds] of oldest) metrics.oldestCaseSeconds.set({ kind }, seconds);
}

/** The first bits of an id are its time, so the lowest id is the oldest. */
const WAITING = `approval = 'waiting' and cancelled_at is null`;
const APPROVALS = {
  payout: `select count(*), (select created_at from transactions t where (t.holder_id, t.id) = (
             select holder_id, transaction_id from payout_orders where ${WAITING} order by transaction_id limit 1)) as oldest
           from payout_orders where ${WAITING}`,
  refund: `select count(*), (select created_at from transactions t where (t.holder_id, t.id) = (
             select holder_id, transaction_id from refund_orders where ${WAITING} order by transaction_id limit 1)) as oldest
           from refund_orders where ${WAITING}`,
} as const;

async function measureApprovals({ db, metrics }: Context, now: Date): Promise<void> {
  for (const direction of ['payout', 'refund'] as const) {
    const [row] = await db.query<{ count: bigint; oldest: Date | null }>(APPROVALS[direction]);
    metrics.approvals.set({ direction }, Number(row?.count ?? 0n));
    metrics.oldestApprovalSeconds.set({ direction }, ageOf(row?.oldest ?? now, now));
  }
}

async function measureInbox({ db, metrics }: Context, now: Date): Promise<void> {
  metrics.oldestOperatorCallbackSeconds.set(ageOf(await oldestOperatorCallback(db), now));
}

/** What an operator has not said for an hour is not shown: an old balance would look like one that nobody uses. */
async function measureBalances({ db, metrics }: Context, now: Date): Promise<void> {
  metrics.operatorBalance.reset();
  for (const { connection, account, currency, available, reportedAt } of await listOperatorBalances(db))
    if (ageOf(reportedAt, now) <= MAX_BALANCE_AGE_SECONDS)
      metrics.operatorBalance.set({ connection, account, currency }, amountToNumber(available));
}

async function measureFloats(ctx: PaymentsContext, now: Date): Promise<void> {
  const { metrics } = ctx;
  for (const gauge of [metrics.float, metrics.floatLow, metrics.floatLastsSeconds, metrics.floatWaiting]) gauge.reset();
  for (const { connection, currency, level, setting, end, waiting, lowSince } of await readFloats(ctx)) {
    const labels = { connection, currency };
    if (level.level !== null) metrics.float.set(labels, amountToNumber(level.level));
    metrics.floatWaiting.set(labels, waiting?.payouts ?? 0);
    if (!setting) continue;
    metrics.floatLow.set(labels, lowSince ? 1 : 0);
    if (end) metrics.floatLastsSeconds.set(labels, ageOf(now, end));
  }
}

/** Ids grow with time, so this reads one row of the primary key. */
async function oldestOperatorCallback(reader: Reader): Promise<Date | null> {
  const [row] = await reader.query<{ received_at: Date }>('select received_at from operator_inbox order by id limit 1');
  return row?.received_at ?? null;
}

function ageOf(since: Date | null, now: Date): number {
  return since === null ? 0 : Math.max(0, (now.getTime() - since.getTime()) / 1000);
}
