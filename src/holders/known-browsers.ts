// Browsers in which a member has signed in before. A browser is known by a random cookie that outlives its sessions; only
// the hash is stored.

import { DAY_MS } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import { sha256 } from '../platform/secrets.ts';

/** Browsers keep a cookie for 400 days at most. */
export const KNOWN_BROWSER_MS = 400 * DAY_MS;

/** Remembers the browser. True: the member has signed in with it before. */
export async function rememberBrowser(tx: Tx, memberId: bigint, token: string, at: Date): Promise<boolean> {
  const [row] = await tx.query<{ is_new: boolean }>(
    // A row that was inserted has never been locked or replaced by anybody: its xmax is zero.
    `insert into known_browsers (member_id, token_hash, first_seen_at, last_seen_at) values ($1, $2, $3, $3)
     on conflict (member_id, token_hash) do update set last_seen_at = excluded.last_seen_at
     returning xmax = 0 as is_new`,
    [memberId, sha256(token), at],
  );
  return row?.is_new === false;
}

export async function forgetBrowsers(tx: Tx, memberId: bigint): Promise<void> {
  await tx.query('delete from known_browsers where member_id = $1', [memberId]);
}
