// After a restore: what was ended after the backup (sessions, links, invitations, tokens, recovery codes) is open again in the
// backup. So all of it is ended, and everybody signs in once more. Passkeys, apps and passwords stay: without a second factor
// less would be enough.

import type { Tx } from '../platform/db.ts';
import { restartRuleChanges } from './approval-rules.ts';
import { COMMAND_LINE, recordAudit } from './audit.ts';
import { restartRoleChanges } from './role-changes.ts';

export type EndedCredentials = {
  sessions: number;
  login_links: number;
  invitations: number;
  tokens: number;
  recovery_codes: number;
};

const ENDINGS: Record<keyof EndedCredentials, string> = {
  sessions: 'update sessions set revoked_at = $1 where revoked_at is null returning 1',
  login_links: 'update login_links set used_at = $1 where used_at is null returning 1',
  invitations: 'update invitations set withdrawn_at = $1 where used_at is null and withdrawn_at is null returning 1',
  tokens: 'update tokens set revoked_at = $1 where revoked_at is null returning 1',
  recovery_codes: 'update recovery_codes set used_at = $1 where used_at is null returning 1',
};

/** Ends every session, sign-in link, invitation, API token and recovery code. Returns how many there were. */
export async function endCredentials(tx: Tx, at: Date): Promise<EndedCredentials> {
  const ended: EndedCredentials = { sessions: 0, login_links: 0, invitations: 0, tokens: 0, recovery_codes: 0 };
  for (const [kind, statement] of Object.entries(ENDINGS) as [keyof EndedCredentials, string][])
    if (await hasTable(tx, kind)) ended[kind] = (await tx.query(statement, [at])).length;
  if (await hasTable(tx, 'mails')) await endWaiting(tx, at);
  if (await hasTable(tx, 'approval_rule_changes')) await restartRuleChanges(tx, at);
  // A sign-in that was on its way, or a passkey that was being asked, ends too.
  if (await hasTable(tx, 'passkey_challenges')) await tx.query('delete from passkey_challenges');
  await recordAudit(tx, { holderId: null, actor: COMMAND_LINE, action: 'gateway.restored', details: ended }, at);
  return ended;
}

/** The rows of an older backup are changed before they are migrated, so that a restore is all or nothing. */
async function hasTable(tx: Tx, name: string): Promise<boolean> {
  const [table] = await tx.query<{ present: boolean }>('select to_regclass($1) is not null as present', [name]);
  return table?.present === true;
}

async function endWaiting(tx: Tx, at: Date): Promise<void> {
  // Mails that the backup still had were sent since, or are about links that ended here.
  await tx.query('delete from mails');
  await tx.query('update sign_ups set used_at = $1 where used_at is null', [at]);
  await tx.query('update members set credentials_version = credentials_version + 1');
  await restartRoleChanges(tx, at);
}
