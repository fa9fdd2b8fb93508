// Deletes expired idempotency keys, sign-in links, tokens, sessions, mails and counts of guesses, in batches, so that no
// transaction takes long.

import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { LONGEST_GUESS_WINDOW_MS } from './guesses.ts';

const BATCH_ROWS = 1_000;

/** How long expired rows are kept: for a week, the log can still be matched with an expired token. */
const PURGES = [
  {
    keepMs: DAY_MS,
    sql: `delete from idempotency_keys where (holder_id, integration_id, key) in
            (select holder_id, integration_id, key from idempotency_keys where created_at < $1 limit $2)
          returning 1`,
  },
  {
    keepMs: DAY_MS,
    sql: `delete from login_links where token_hash in
            (select token_hash from login_links where expires_at < $1 limit $2)
          returning 1`,
  },
  {
    keepMs: 7 * DAY_MS,
    sql: `delete from tokens where id in
            (select id from tokens where expires_at < $1 order by id limit $2)
          returning 1`,
  },
  {
    keepMs: 30 * DAY_MS,
    sql: `delete from sessions where id in
            (select id from sessions where expires_at < $1 order by id limit $2)
          returning 1`,
  },
  {
    keepMs: DAY_MS,
    sql: `delete from sign_ups where token_hash in
            (select token_hash from sign_ups where expires_at < $1 limit $2)
          returning 1`,
  },
  // Mails that could not even be tried: SMTP_URL was taken out of the settings.
  {
    keepMs: 2 * DAY_MS,
    sql: `delete from mails where id in
            (select id from mails where created_at < $1 order by id limit $2)
          returning 1`,
  },
  {
    keepMs: LONGEST_GUESS_WINDOW_MS,
    sql: `delete from guesses where key in
            (select key from guesses where since < $1 limit $2 for update skip locked)
          returning 1`,
  },
];

/** Deletes one batch of each kind. Returns the number of rows; call again until it is zero. */
export async function purgeExpired(ctx: Context): Promise<number> {
  const now = await ctx.databaseTime.now();
  let purged = 0;
  for (const { keepMs, sql } of PURGES) {
    const before = new Date(now.getTime() - keepMs);
    purged += (await ctx.db.query(sql, [before, BATCH_ROWS])).length;
  }
  return purged;
}
