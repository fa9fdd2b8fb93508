// A day at the simulated operator whose statement does not agree with our ledger: what finance officers work through. The statement is
// printed by a simulator.

import { printStatement } from '../simulators/daraja-statement.ts';
import { refOf } from '../src/payments/transactions.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { collectInKenya } from './client.ts';
import type { TestGateway } from './gateway.ts';
import type { Shop } from './shop.ts';

const FIRST_OPENING = 1_000_000n;
const NUMBER = '254712345000';
const AMOUNT = 250_000n;
const STRAY_AMOUNT = 70_000n;

export type StatementDay = {
  day: string;
  csv: string;
  /** References: paid on both sides; paid with us only; failed with us, and paid by the statement. */
  agreed: string;
  missing: string;
  settled: string;
  /** The receipt of money that belongs to no payment. */
  stray: string;
};

/** Three payments of today, and the statement of today, which has two of them and one that is not ours. */
export async function writeStatementDay(gateway: TestGateway, shop: Shop): Promise<StatementDay> {
  const { ctx } = gateway;
  const agreed = await collectInKenya(gateway, shop, { mobile: NUMBER });
  const missing = await collectInKenya(gateway, shop, { mobile: NUMBER });
  const settled = await collectInKenya(gateway, shop, { mobile: '254712345001' });
  await gateway.settle();
  const rows = await ctx.db.query<{ id: string; receipt: string | null }>(
    'select id, receipt from transactions where holder_id = $1',
    [shop.holderId],
  );
  const receipt = rows.find((row) => refOf(row) === agreed)?.receipt ?? '';
  const stray = `STRAY${shop.holderId}`;
  const at = ctx.clock.millis();
  // A day begins with what the day before ended with.
  const [before] = await ctx.db.query<{ closing: bigint }>(
    `select closing_theirs as closing from closes where connection = 'sandbox' and currency = 'KES' order by number desc limit 1`,
  );
  const opening = before?.closing ?? FIRST_OPENING;
  const movement = { kind: 'collection' as const, msisdn: NUMBER, currency: 'KES', amount: AMOUNT };
  const entries = [
    { movement: { ...movement, id: agreed, receipt }, at, balance: opening + AMOUNT },
    {
      movement: { ...movement, id: settled, receipt: `LATE${shop.holderId}` },
      at: at + 1_000,
      balance: opening + 2n * AMOUNT,
    },
    {
      movement: { ...movement, id: 'no such bill', receipt: stray, amount: STRAY_AMOUNT },
      at: at + 2_000,
      balance: opening + 2n * AMOUNT + STRAY_AMOUNT,
    },
  ];
  const csv = printStatement('Duka Ltd', entries);
  return { day: new Date(at).toISOString().slice(0, 10), csv, agreed, missing, settled, stray };
}

/** The morning of a day on which nothing has moved yet, and which follows the last day that was signed. */
export async function beginQuietDay({ ctx }: TestGateway): Promise<void> {
  const [last] = await ctx.db.query<{ day: string | null }>(`select max(day)::text as day from closes`);
  const next = last?.day
    ? Date.parse(`${last.day}T00:00:00Z`) + DAY_MS
    : Math.floor(ctx.clock.millis() / DAY_MS + 1) * DAY_MS;
  ctx.clock.set(new Date(Math.max(next + 8 * 3_600_000, ctx.clock.millis())));
}
