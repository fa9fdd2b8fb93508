// After a restore: what was ended after the backup (sessions, links, invitations, tokens) is open again in the backup. So
// all of it is ended, and everybody signs in once more.

import type { Tx } from '../platform/db.ts';
import { COMMAND_LINE, recordAudit } from './audit.ts';
import { restartRoleChanges } from './role-changes.ts';

export type EndedCredentials = { sessions: number; login_links: number; invitations: number; tokens: number };

const ENDINGS: Record<keyof EndedCredentials, string> = {
  sessions: 'update sessions set revoked_at = $1 where revoked_at is null returning 1',
  login_links: 'update login_links set used_at = $1 where used_at is null returning 1',
  invitations: 'update invitations set withdrawn_at = $1 where used_at is null and withdrawn_at is null returning 1',
  tokens: 'update tokens set revoked_at = $1 where revoked_at is null returning 1',
};

/** Ends every session, sign-in link, invitation and API token. Returns how many there were. */
export async function endCredentials(tx: Tx, at: Date): Promise<EndedCredentials> {
  const ended: EndedCredentials = { sessions: 0, login_links: 0, invitations: 0, tokens: 0 };
  for (const [kind, statement] of Object.entries(ENDINGS) as [keyof EndedCredentials, string][])
    ended[kind] = (await tx.query(statement, [at])).length;
  await endWaiting(tx, at);
  await recordAudit(tx, { holderId: null, actor: COMMAND_LINE, action: 'gateway.restored', details: ended }, at);
  return ended;
}

async function endWaiting(tx: Tx, at: Date): Promise<void> {
  // The rows of an older backup are changed before they are migrated, so that a restore is all or nothing.
  const [table] = await tx.query<{ present: boolean }>(`select to_regclass('mails') is not null as present`);
  if (!table?.present) return;
  // Mails that the backup still had were sent since, or are about links that ended here.
  await tx.query('delete from mails');
  await tx.query('update sign_ups set used_at = $1 where used_at is null', [at]);
  await restartRoleChanges(tx, at);
}
