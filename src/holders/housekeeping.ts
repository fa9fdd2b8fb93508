// Deletes expired idempotency keys, sign-in links, tokens, secrets and sessions, in batches, so that no transaction takes long.

import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { UNVERIFIED_KEPT_DAYS } from './unverified-requests.ts';

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
  // A token may outlive its secret by a year, so it goes with it.
  {
    keepMs: 7 * DAY_MS,
    sql: `delete from tokens where id in
            (select t.id from tokens t join integration_secrets s on s.id = t.secret_id
             where s.expires_at < $1 order by t.id limit $2)
          returning 1`,
  },
  {
    keepMs: 7 * DAY_MS,
    sql: `delete from integration_secrets where id in
            (select s.id from integration_secrets s
             where s.expires_at < $1 and not exists (select 1 from tokens t where t.secret_id = s.id) order by s.id limit $2)
          returning 1`,
  },
  {
    keepMs: UNVERIFIED_KEPT_DAYS * DAY_MS,
    sql: `delete from unverified_requests where (holder_id, integration_id, at, id) in
            (select holder_id, integration_id, at, id from unverified_requests where at < $1 limit $2)
          returning 1`,
  },
  {
    keepMs: 30 * DAY_MS,
    sql: `delete from sessions where id in
            (select id from sessions where expires_at < $1 order by id limit $2)
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
