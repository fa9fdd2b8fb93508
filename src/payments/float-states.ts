// What goes on with each float that people watch: its operator refuses payouts, or it is low. It is low once: the administrators
// get one mail, and the next one after it was well in between.

import type { Reader, Tx } from '../platform/db.ts';
import type { FloatOf } from './float-settings.ts';

export type FloatState = FloatOf & {
  /** When its operator last refused a payout for lack of float; null: it has taken one since. */
  refusedAt: Date | null;
  lowSince: Date | null;
};

export function listFloatStates(reader: Reader): Promise<FloatState[]> {
  return reader.query<FloatState>(
    `select connection, currency, refused_at as "refusedAt", low_since as "lowSince" from float_states`,
  );
}

export async function readRefusedAt(reader: Reader, { connection, currency }: FloatOf): Promise<Date | null> {
  const [row] = await reader.query<{ refused_at: Date | null }>(
    'select refused_at from float_states where connection = $1 and currency = $2',
    [connection, currency],
  );
  return row?.refused_at ?? null;
}

/** The operator has taken a payout again. */
export async function clearRefused(tx: Tx, floats: readonly FloatOf[]): Promise<void> {
  if (floats.length === 0) return;
  await tx.query(
    `update float_states set refused_at = null
     where (connection, currency) in (select * from unnest($1::text[], $2::text[])) and refused_at is not null`,
    [floats.map(({ connection }) => connection), floats.map(({ currency }) => currency)],
  );
}

/** Begins or ends the time in which a float is low. What it is already stays as it is. */
export async function setLow(
  reader: Reader,
  { connection, currency }: FloatOf,
  isLow: boolean,
  at: Date,
): Promise<void> {
  if (isLow)
    await reader.query(
      `insert into float_states as known (connection, currency, low_since) values ($1, $2, $3)
       on conflict (connection, currency) do update set low_since = excluded.low_since where known.low_since is null`,
      [connection, currency, at],
    );
  else
    await reader.query(
      `update float_states set low_since = null, mailed_at = null
       where connection = $1 and currency = $2 and low_since is not null`,
      [connection, currency],
    );
}

/** The floats that the administrators have not heard of since they became low. Each is returned to one caller, once. */
export function claimLowFloats(tx: Tx, at: Date): Promise<FloatOf[]> {
  return tx.query<FloatOf>(
    `update float_states set mailed_at = $1 where low_since is not null and mailed_at is null
     returning connection, currency`,
    [at],
  );
}
