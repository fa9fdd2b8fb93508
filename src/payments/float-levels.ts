// What our account with an operator holds for payouts, as far as we can know it: what the operator said last, less what was sent
// since then. An operator that says nothing about that account is believed to hold what the ledger says, less what is on its way.
// It is a belief: the operator decides about each payout, and its refusal counts more.

import { clearingAt, readClearingHours } from '../ledger/clearing.ts';
import { HOUR_MS } from '../platform/clock.ts';
import type { Reader } from '../platform/db.ts';
import type { PaymentsContext } from './context.ts';
import type { FloatOf, FloatSetting } from './float-settings.ts';
import { listOperatorBalances, type ReportedBalance } from './operator-balances.ts';

/** Older than this, what an operator said is not believed any more. */
const BELIEVED_FOR_MS = HOUR_MS;

export type FloatLevel =
  | { source: 'operator' | 'ledger'; level: bigint; asOf: Date }
  /** The operator has not said it for an hour, or has several accounts and nobody has said which one pays out. */
  | { source: 'unknown'; level: null; asOf: Date | null };

export async function readFloatLevel(
  ctx: Pick<PaymentsContext, 'clock' | 'rails'>,
  reader: Reader,
  float: FloatOf,
  setting: Pick<FloatSetting, 'account' | 'isShared'> | null,
): Promise<FloatLevel> {
  const now = ctx.clock.now();
  const reported = await findReported(ctx, reader, float, setting?.account ?? null);
  if (reported === 'none') return levelOfLedger(reader, float, now);
  if (reported === 'several') return { source: 'unknown', level: null, asOf: null };
  const { available, reportedAt } = reported;
  if (now.getTime() - reportedAt.getTime() > BELIEVED_FOR_MS)
    return { source: 'unknown', level: null, asOf: reportedAt };
  // First what is under way, then what was booked: a payout that succeeds in between is counted twice, and not by nobody.
  const underWay = await sumUnderWay(reader, float, reportedAt);
  const span = { from: justAfter(reportedAt), to: justAfter(now) };
  const hours = await readClearingHours(reader, float.connection, float.currency, span);
  const paidOut = hours.reduce((sum, hour) => sum + hour.paidOut, 0n);
  const paidIn = setting?.isShared ? hours.reduce((sum, hour) => sum + hour.paidIn, 0n) : 0n;
  return { source: 'operator', level: available + paidIn - paidOut - underWay, asOf: reportedAt };
}

async function levelOfLedger(reader: Reader, float: FloatOf, now: Date): Promise<FloatLevel> {
  const underWay = await sumUnderWay(reader, float, null);
  const cleared = await clearingAt(reader, float.connection, float.currency, justAfter(now));
  return { source: 'ledger', level: cleared - underWay, asOf: now };
}

/** Spans end before their last moment. */
const justAfter = (moment: Date) => new Date(moment.getTime() + 1);

/** What the operator said about the account that pays out. */
async function findReported(
  { rails }: Pick<PaymentsContext, 'rails'>,
  reader: Reader,
  { connection, currency }: FloatOf,
  named: string | null,
): Promise<ReportedBalance | 'none' | 'several'> {
  const all = await listOperatorBalances(reader);
  const reported = all.filter((each) => each.connection === connection && each.currency === currency);
  const account = named ?? rails.byName(connection)?.payoutAccount ?? null;
  if (account !== null) return reported.find((each) => each.account === account) ?? 'none';
  const [only, another] = reported;
  return only && another ? 'several' : (only ?? 'none');
}

/** Payouts that the operator has and has not decided, as far as they were sent after a moment. */
async function sumUnderWay(reader: Reader, { connection, currency }: FloatOf, after: Date | null): Promise<bigint> {
  const [row] = await reader.query<{ amount: bigint }>(
    `select coalesce(sum(t.amount), 0)::bigint as amount
     from payment_jobs j join transactions t on t.holder_id = j.holder_id and t.id = j.transaction_id
     where j.kind = 'query' and ($3::timestamptz is null or j.submitted_at > $3)
       and t.rail = $1 and t.currency = $2 and t.direction = 'payout' and t.status = 'processing'`,
    [connection, currency, after],
  );
  return row?.amount ?? 0n;
}
