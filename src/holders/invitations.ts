// Invitations to join a holder's team. No e-mail is sent: the owner sees the link and passes it on.

import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import { sha256 } from '../platform/secrets.ts';
import { type Actor, recordAudit } from './audit.ts';
import { findOrInsertMember, giveRole, insertMember, type Member, type MemberRole } from './members.ts';
import { hashPassword, storePassword } from './passwords.ts';

const INVITATION_MS = 7 * 24 * 3_600_000;
const MAX_OPEN = 50;

export type Invitation = {
  id: bigint;
  holder_id: bigint;
  holder_name: string;
  email: string;
  role: MemberRole;
  invited_by: string;
  created_at: Date;
  expires_at: Date;
};

const COLUMNS = 'i.id, i.holder_id, h.name as holder_name, i.email, i.role, i.invited_by, i.created_at, i.expires_at';

/** Creates an invitation. Only the hash of the returned token is stored. */
export function inviteMember(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  email: string,
  role: MemberRole,
): Promise<{ token: string; expiresAt: Date }> {
  const token = `inv_${randomSecret()}`;
  const at = ctx.clock.now();
  const expiresAt = new Date(at.getTime() + INVITATION_MS);
  return ctx.db.transaction(async (tx) => {
    if ((await listInvitations(tx, holderId, at)).length >= MAX_OPEN)
      throw new Problem('invalid_params', { message: `At most ${MAX_OPEN} invitations can be open at once.` });
    await tx.query(
      `insert into invitations (token_hash, holder_id, email, role, invited_by, created_at, expires_at)
       values ($1, $2, lower($3), $4, $5, $6, $7)`,
      [sha256(token), holderId, email, role, actor.name, at, expiresAt],
    );
    await recordAudit(
      tx,
      { holderId, actor, action: 'member.invited', subject: email.toLowerCase(), details: { role } },
      at,
    );
    return { token, expiresAt };
  });
}

export function listInvitations(reader: Reader, holderId: bigint, now: Date): Promise<Invitation[]> {
  return reader.query<Invitation>(
    `select ${COLUMNS} from invitations i join holders h on h.id = i.holder_id
     where i.holder_id = $1 and i.used_at is null and i.withdrawn_at is null and i.expires_at > $2 order by i.id desc`,
    [holderId, now],
  );
}

/** The invitation of a link; null when it cannot be accepted any more. */
export async function findInvitation(reader: Reader, token: string, now: Date): Promise<Invitation | null> {
  const [row] = await reader.query<Invitation>(
    `select ${COLUMNS} from invitations i join holders h on h.id = i.holder_id
     where i.token_hash = $1 and i.used_at is null and i.withdrawn_at is null and i.expires_at > $2`,
    [sha256(token), now],
  );
  return row ?? null;
}

export function withdrawInvitation(ctx: Context, actor: Actor, holderId: bigint, id: bigint): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const [row] = await tx.query<{ email: string }>(
      `update invitations set withdrawn_at = $3
       where id = $1 and holder_id = $2 and used_at is null and withdrawn_at is null returning email`,
      [id, holderId, at],
    );
    if (!row) throw new Problem('not_found', { message: 'There is no such invitation.' });
    await recordAudit(tx, { holderId, actor, action: 'member.invitation_withdrawn', subject: row.email }, at);
  });
}

/**
 * Uses an invitation and adds the member, in one transaction. A `password` is for a new member only: otherwise the
 * link alone would take over the account of a person who signed up in the meantime.
 */
export async function acceptInvitation(ctx: Context, token: string, name: string, password?: string): Promise<Member> {
  const hashed = password === undefined ? null : await hashPassword(password);
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    // Of two requests with one invitation, the update lets the first pass.
    const [row] = await tx.query<{ holder_id: bigint; email: string; role: MemberRole }>(
      `update invitations set used_at = $2
       where token_hash = $1 and used_at is null and withdrawn_at is null and expires_at > $2
       returning holder_id, email, role`,
      [sha256(token), at],
    );
    if (!row)
      throw new Problem('unauthenticated', {
        message: 'This invitation was already used or has expired. Ask for a new one.',
      });
    const person = { email: row.email, name };
    const member = hashed === null ? await findOrInsertMember(tx, person, at) : await insertMember(tx, person, at);
    if (!member)
      throw new Problem('unauthenticated', {
        message: 'This e-mail address already has an account. Sign in and open the invitation again.',
      });
    await giveRole(tx, { memberId: null, name: row.email }, member, row.holder_id, row.role, at);
    const themselves = { memberId: member.id, name: member.email };
    const keep = { sessionId: null, holderId: row.holder_id };
    if (hashed !== null) await storePassword(tx, themselves, member.id, hashed, keep, at);
    return member;
  });
}
