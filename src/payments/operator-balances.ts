// What operators say that our accounts with them hold: read every five minutes, or told by callback. The console compares it
// with the clearing accounts; nothing is decided by it.

import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import type { OperatorBalance } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { balanceError } from './observations.ts';

const READ_EVERY_MS = 5 * 60_000;

export type ReportedBalance = OperatorBalance & { connection: string; reportedAt: Date };
export type ConnectionBalance = OperatorBalance & { connection: string };

const BALANCES = columns<ConnectionBalance>(2, {
  connection: 'text',
  account: 'text',
  currency: 'text',
  available: 'bigint',
});

/** Keeps the last word of each account. A value that cannot be right is left out. */
export async function recordBalances(tx: Tx, reported: readonly ConnectionBalance[], at: Date): Promise<void> {
  const latest = new Map(reported.map((each) => [`${each.connection} ${each.account} ${each.currency}`, each]));
  const usable = [...latest.values()].filter((balance) => balanceError(balance) === null);
  if (usable.length === 0) return;
  await tx.query(
    `insert into operator_balances as known (${BALANCES.names}, told_at)
     select ${BALANCES.names}, $1 from ${BALANCES.rows} order by connection, account, currency
     on conflict (connection, account, currency) do update
       set available = excluded.available, told_at = excluded.told_at where known.told_at <= excluded.told_at`,
    [at, ...BALANCES.arrays(usable)],
  );
}

export function listOperatorBalances(reader: Reader): Promise<ReportedBalance[]> {
  return reader.query<ReportedBalance>(
    `select connection, account, currency, available, told_at as "reportedAt" from operator_balances
     order by connection, account, currency`,
  );
}

/** Reads the balance of each connection that is due. Returns how many were read. */
export async function readOperatorBalances(ctx: PaymentsContext): Promise<number> {
  const rails = ctx.rails.names().flatMap((name) => ctx.rails.byName(name) ?? []);
  const readable = rails.filter((rail) => typeof rail.balance === 'function');
  const due = new Set(
    await claimReads(
      ctx,
      readable.map((rail) => rail.name),
    ),
  );
  for (const rail of readable.filter(({ name }) => due.has(name))) {
    const reply = await rail.balance?.().catch(() => ({ error: 'an error of this gateway' }));
    if (reply && 'balances' in reply) {
      const reported = reply.balances.map((balance) => ({ ...balance, connection: rail.name }));
      await ctx.db.transaction((tx) => recordBalances(tx, reported, ctx.clock.now()));
    } else if (reply && 'error' in reply) ctx.log.warn({ connection: rail.name }, 'the balance could not be read');
  }
  return due.size;
}

/** The connections that this process reads now; the next reading is in five minutes, by any process. */
async function claimReads(ctx: PaymentsContext, names: string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const now = ctx.clock.now();
  const rows = await ctx.db.query<{ connection: string }>(
    `insert into balance_reads as known (connection, due_at)
     select name, $3 from unnest($1::text[]) as name order by name
     on conflict (connection) do update set due_at = excluded.due_at where known.due_at <= $2
     returning connection`,
    [names, now, new Date(now.getTime() + READ_EVERY_MS)],
  );
  return rows.map((row) => row.connection);
}
