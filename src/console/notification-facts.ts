// What is worth a notification: failed payouts, receivers that do not answer, new cases, wallets that run low, the
// summary of the day before, and the statements of a month. Each has a subject that is said once.

import { listMonthlyStatements } from '../books/monthly-statements.ts';
import { listFailingReceivers } from '../callbacks/endpoints.ts';
import { sumMoney } from '../ledger/daily-money.ts';
import { balancesOf } from '../ledger/ledger.ts';
import { listOpenCases } from '../payments/case-list.ts';
import { listDisputesToAnswer } from '../payments/disputes.ts';
import { countTransactions, listTransactions } from '../payments/listing.ts';
import { refOf } from '../payments/transactions.ts';
import { DAY_MS, HOUR_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { withColon } from '../platform/french-spaces.ts';
import { formatMoney } from '../platform/money.ts';
import { dayIn, startOfDay } from '../platform/time-zones.ts';
import { AVERAGE_DAYS, lowWallets } from './low-wallets.ts';
import type { ConsoleMessages } from './messages.ts';

export const NOTIFICATION_KINDS = [
  'daily_summary',
  'payout_failed',
  'receiver_down',
  'case_opened',
  'low_float',
  'statement_ready',
] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

export type NotificationFact = {
  kind: NotificationKind;
  /** What it is about. Nothing is said twice about a subject. */
  subject: string;
  line(messages: ConsoleMessages, locale: string): string;
};

type Holder = { id: bigint; time_zone: string };

const MOST = 20;
/** How long after it was made a statement is worth a mail, where mails did not go out. */
const STATEMENT_FRESH_MS = 7 * DAY_MS;
/** When members are reminded of a dispute that must be answered. */
const ANSWER_SOON_MS = 2 * DAY_MS;
/** A receiver that answers again within this time is not worth a mail. */
const RECEIVER_DOWN_MS = HOUR_MS / 4;
/** The summary of a day is sent from this hour of the next, in the holder's zone. */
const SUMMARY_HOUR_MS = 7 * HOUR_MS;

export async function findFacts(
  ctx: Context,
  holder: Holder,
  wanted: ReadonlySet<NotificationKind>,
): Promise<NotificationFact[]> {
  const finders: Record<NotificationKind, () => Promise<NotificationFact[]>> = {
    daily_summary: () => summaries(ctx, holder),
    payout_failed: () => failedPayouts(ctx, holder),
    receiver_down: () => receiversDown(ctx, holder),
    case_opened: () => newCases(ctx, holder),
    low_float: () => findLowWallets(ctx, holder),
    statement_ready: () => newStatements(ctx, holder),
  };
  const found = await Promise.all(NOTIFICATION_KINDS.filter((kind) => wanted.has(kind)).map((kind) => finders[kind]()));
  return found.flat();
}

async function failedPayouts(ctx: Context, { id }: Holder): Promise<NotificationFact[]> {
  const from = new Date(ctx.clock.millis() - DAY_MS);
  const { rows } = await listTransactions(
    ctx.db,
    id,
    { direction: 'payout', statuses: ['failed'], from },
    { limit: MOST },
  );
  return rows.map((row) => ({
    kind: 'payout_failed',
    subject: refOf(row),
    line: ({ notifications }, locale) =>
      notifications.payoutFailed(
        formatMoney(row.amount, row.currency, locale),
        row.payee ?? `+${row.msisdn}`,
        refOf(row),
      ),
  }));
}

async function receiversDown(ctx: Context, { id }: Holder): Promise<NotificationFact[]> {
  const failing = await listFailingReceivers(ctx.db, id);
  return failing
    .filter(({ failingSince }) => ctx.clock.millis() - failingSince.getTime() >= RECEIVER_DOWN_MS)
    .map(({ origin, failingSince, waiting }) => ({
      kind: 'receiver_down',
      subject: `${origin} ${failingSince.toISOString()}`,
      line: ({ notifications }) => notifications.receiverDown(origin, waiting),
    }));
}

async function newCases(ctx: Context, { id, time_zone }: Holder): Promise<NotificationFact[]> {
  const soon = new Date(ctx.clock.millis() + ANSWER_SOON_MS);
  const [cases, disputes] = await Promise.all([
    listOpenCases(ctx.db, { holderId: id }, { limit: MOST }),
    listDisputesToAnswer(ctx.db, id, soon),
  ]);
  const reminders = disputes.map(
    (dispute): NotificationFact => ({
      kind: 'case_opened',
      subject: `${dispute.case_id} ${dispute.answer_by.toISOString()}`,
      line: ({ cases: { kinds, dispute: labels } }, locale) =>
        `${withColon({ language: locale }, kinds.dispute)} ${formatMoney(dispute.amount, dispute.currency, locale)}. ` +
        `${labels.answerBy} ${dayIn(time_zone, dispute.answer_by)}.`,
    }),
  );
  const opened = cases
    .filter(({ opened_at }) => ctx.clock.millis() - opened_at.getTime() < DAY_MS)
    .map(
      (each): NotificationFact => ({
        kind: 'case_opened',
        subject: each.id,
        line: ({ notifications, cases: { kinds } }) => notifications.caseOpened(kinds[each.kind]),
      }),
    );
  return [...opened, ...reminders];
}

/** Said once a day. */
async function findLowWallets(ctx: Context, { id, time_zone }: Holder): Promise<NotificationFact[]> {
  const now = ctx.clock.now();
  const from = new Date(now.getTime() - AVERAGE_DAYS * DAY_MS);
  const [totals = []] = await sumMoney(ctx.db, id, [{ from, to: now }]);
  if (!totals.some(({ fact }) => fact === 'paid_out')) return [];
  return lowWallets(totals, await balancesOf(ctx.db, id)).map(({ currency, available, average }) => ({
    kind: 'low_float',
    subject: `${currency} ${dayIn(time_zone, now)}`,
    line: ({ notifications }, locale) =>
      notifications.lowFloat(formatMoney(available, currency, locale), formatMoney(average, currency, locale)),
  }));
}

/** Those of past months, as they are made. */
async function newStatements(ctx: Context, { id }: Holder): Promise<NotificationFact[]> {
  const madeAfter = new Date(ctx.clock.millis() - STATEMENT_FRESH_MS);
  const statements = await listMonthlyStatements(ctx.db, id, { madeAfter });
  return statements.map(({ currency, month, closing }) => ({
    kind: 'statement_ready',
    subject: `${currency} ${month}`,
    line: ({ notifications }, locale) =>
      notifications.statementReady(month.slice(0, 7), currency, formatMoney(closing, currency, locale)),
  }));
}

/** The day before, once its summary is due. A day without payments has none. */
async function summaries(ctx: Context, { id, time_zone }: Holder): Promise<NotificationFact[]> {
  const today = startOfDay(time_zone, dayIn(time_zone, ctx.clock.now()));
  if (ctx.clock.millis() - today.getTime() < SUMMARY_HOUR_MS) return [];
  const day = dayIn(time_zone, new Date(today.getTime() - HOUR_MS));
  const from = startOfDay(time_zone, day);
  const span = { from, to: today };
  const [[money = []], [attempts = []]] = await Promise.all([
    sumMoney(ctx.db, id, [span]),
    countTransactions(ctx.db, id, [span]),
  ]);
  const collections = attempts.filter(({ direction }) => direction === 'collection');
  const count = (statuses: readonly string[]) =>
    collections
      .filter(({ status }) => statuses.includes(status))
      .reduce((sum, { transactions }) => sum + transactions, 0);
  if (money.length === 0 && collections.length === 0) return [];
  return [
    {
      kind: 'daily_summary',
      subject: day,
      line: ({ notifications }, locale) =>
        notifications.summary({
          day,
          succeeded: count(['success', 'reversed']),
          failed: count(['failed', 'expired']),
          money: money.map(({ fact, currency, amount, transactions }) =>
            notifications.summaryMoney(fact, formatMoney(amount, currency, locale), transactions),
          ),
        }),
    },
  ];
}
