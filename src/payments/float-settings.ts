// Which floats people watch: the float of a connection in a currency, from which amount it is low, and below which no payout
// takes it. Without a row nothing is compared, and only the operator's own refusal makes a payout wait.

import { type Actor, recordAudit } from '../holders/audit.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { perProcess } from '../platform/memory.ts';
import { formatAmount } from '../platform/money.ts';
import { findConnection } from '../rails/connections.ts';
import type { PaymentsContext } from './context.ts';
import { releaseAllWaits } from './float-waits.ts';

/** How old what a process knows of the settings may be. */
const KNOWN_FOR_MS = 5_000;
/** As operators name accounts: a line of text that the database can store. */
const ACCOUNT = /^[^\p{Cc}\p{Cf}\p{Cs}]{1,128}$/u;

/** The float of one connection in one currency. */
export type FloatOf = { connection: string; currency: string };

export type FloatSetting = FloatOf & {
  /** The operator's name of the account that pays out; null: the one that the rail names. */
  account: string | null;
  /** Below it the administrators get a mail. */
  low: bigint;
  /** No payout takes the float below it. */
  stop: bigint;
  /** Collections arrive on the account that pays out. */
  isShared: boolean;
};

export const floatKey = ({ connection, currency }: FloatOf) => `${connection} ${currency}`;

export function listFloatSettings(reader: Reader): Promise<FloatSetting[]> {
  return reader.query<FloatSetting>(
    `select connection, currency, account, low, stop, is_shared as "isShared" from float_settings
     order by connection, currency`,
  );
}

type Known = { readAt: number; settings: Map<string, FloatSetting> };
const knownOf = perProcess((): { value: Known | null } => ({ value: null }));

/** The setting of a float; null: nobody watches it. Asked before each payout, so it is read every few seconds only. */
export async function knownFloatSetting(ctx: Context, float: FloatOf): Promise<FloatSetting | null> {
  const known = knownOf(ctx);
  if (known.value === null || Math.abs(ctx.clock.millis() - known.value.readAt) > KNOWN_FOR_MS) {
    const readAt = ctx.clock.millis();
    const rows = await listFloatSettings(ctx.db);
    known.value = { readAt, settings: new Map(rows.map((row) => [floatKey(row), row])) };
  }
  return known.value.settings.get(floatKey(float)) ?? null;
}

export async function setFloat(ctx: PaymentsContext, actor: Actor, setting: FloatSetting): Promise<void> {
  const { connection, currency, account, low, stop, isShared } = setting;
  if (low < 0n || stop < 0n || stop > low)
    throw new Problem('invalid_params', { message: 'The amount to stop at must not be above the low amount.' });
  if (account !== null && !ACCOUNT.test(account))
    throw new Problem('invalid_params', {
      message: 'The name of the account must be a line of at most 128 characters.',
    });
  requireOpen(ctx, connection);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await tx.query(
      `insert into float_settings (connection, currency, account, low, stop, is_shared, set_by, set_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict (connection, currency) do update set account = excluded.account, low = excluded.low,
         stop = excluded.stop, is_shared = excluded.is_shared, set_by = excluded.set_by, set_at = excluded.set_at`,
      [connection, currency, account, low, stop, isShared, actor.name, at],
    );
    const details = { currency, low: formatAmount(low), stop: formatAmount(stop), account, shared: isShared };
    await recordChange(tx, actor, 'float.set', connection, details, at);
  });
  knownOf(ctx).value = null;
}

/** Nobody watches it any more. What waits is sent; the operator decides. */
export async function removeFloat(ctx: Context, actor: Actor, { connection, currency }: FloatOf): Promise<boolean> {
  const at = ctx.clock.now();
  const isRemoved = await ctx.db.transaction(async (tx) => {
    const removed = await tx.query('delete from float_settings where connection = $1 and currency = $2 returning 1', [
      connection,
      currency,
    ]);
    if (removed.length === 0) return false;
    await tx.query('delete from float_states where connection = $1 and currency = $2', [connection, currency]);
    await releaseAllWaits(tx, { connection, currency }, at);
    await recordChange(tx, actor, 'float.removed', connection, { currency }, at);
    return true;
  });
  knownOf(ctx).value = null;
  return isRemoved;
}

/** The simulated operator has a rail, and no row among the connections. */
function requireOpen({ rails }: PaymentsContext, connection: string): void {
  if (!rails.byName(connection))
    throw new Problem('not_found', { message: 'There is no connection of this name that can be opened.' });
}

async function recordChange(
  tx: Tx,
  actor: Actor,
  action: 'float.set' | 'float.removed',
  connection: string,
  details: Record<string, unknown>,
  at: Date,
): Promise<void> {
  const holderId = (await findConnection(tx, connection))?.holderId ?? null;
  await recordAudit(tx, { holderId, actor, action, subject: connection, details }, at);
}
