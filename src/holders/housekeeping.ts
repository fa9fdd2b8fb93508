// Forgets what can no longer matter: keys, links, tokens and sessions past their time. Bounded batches, so
// that a long-neglected table never makes one long transaction.

import type { Context } from '../platform/context.ts';

const BATCH_ROWS = 1_000;
const DAY_MS = 86_400_000;

/** How long after its moment a row is kept: an expired token still explains a line in the log for a week. */
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
];

/** One batch of each kind. Answers how many rows went; more than none means: ask again at once. */
export async function purgeExpired(ctx: Context): Promise<number> {
  let purged = 0;
  for (const { keepMs, sql } of PURGES) {
    const before = new Date(ctx.clock.millis() - keepMs);
    purged += (await ctx.db.query(sql, [before, BATCH_ROWS])).length;
  }
  return purged;
}
