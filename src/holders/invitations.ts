// Rights are given by links: an invitation to join a holder's team, or to be an admin of the gateway. Nobody gets a right
// before they used the link that was made for it.
//
// How the link reached the person decides what it proves. Sent by mail, or made on the host, it proves the address. Shown to
// the inviter on a page it proves nothing, because the inviter can use it too: the account that it makes is unproven, and
// it never adds rights to an account whose address is unproven.

import { DAY_MS } from '../platform/clock.ts';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import type { Mail } from '../platform/mail.ts';
import { sha256 } from '../platform/secrets.ts';
import { type Actor, recordAudit } from './audit.ts';
import { addressState, isGuarded, keepAndProve, type LinkOrigin, proveEmail } from './credentials.ts';
import { adoptTimeZone, lockHolder } from './holders.ts';
import { queueLinkMail } from './mail-queue.ts';
import { findMemberByEmail, giveAdmin, insertMember, type Member, type MemberRole, roleAt } from './members.ts';
import { hashOf } from './password-hashing.ts';
import { storePassword } from './passwords.ts';
import { giveOrRequestRole, type RoleResult } from './role-changes.ts';

const INVITATION_MS = 7 * DAY_MS;
const ADMIN_INVITATION_MS = DAY_MS;
const MAX_OPEN = 50;

export type Invitation = {
  id: bigint;
  email: string;
  /** Null: the gateway itself, as an admin. */
  holder: { id: bigint; name: string; role: MemberRole } | null;
  invited_by: string;
  proves_email: boolean;
  created_at: Date;
  expires_at: Date;
};

/** How the link reaches the person: shown on a page to the inviter, printed on the host, or sent by mail. */
export type LinkDelivery = 'page' | 'host' | { mail(url: string): Pick<Mail, 'subject' | 'text'> };

/** `token` is null when the link was sent by mail: the inviter does not see it. */
export type MadeInvitation = { token: string | null; expiresAt: Date };

type Offer = { email: string; right: { holderId: bigint; role: MemberRole } | 'admin' };

const COLUMNS = `i.id, i.email, i.invited_by, i.proves_email, i.created_at, i.expires_at,
  i.holder_id, h.name as holder_name, i.role`;
const OPEN = 'i.used_at is null and i.withdrawn_at is null and i.expires_at >';

type InvitationRow = Omit<Invitation, 'holder'> & {
  holder_id: bigint | null;
  holder_name: string | null;
  role: MemberRole | null;
};

function invitationOf({ holder_id, holder_name, role, ...rest }: InvitationRow): Invitation {
  return { ...rest, holder: holder_id === null || !role ? null : { id: holder_id, name: holder_name ?? '', role } };
}

export function invitationUrl(base: string, token: string): string {
  return `${base}/console/invitations/${token}`;
}

/** Invites somebody into the team of a holder. */
export function inviteMember(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  email: string,
  role: MemberRole,
  delivery: LinkDelivery,
): Promise<MadeInvitation> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    // Locked, so that an owner who loses the role at this moment leaves no invitation behind.
    await lockHolder(tx, holderId);
    if (actor.memberId !== null && (await roleAt(tx, actor.memberId, holderId)) !== 'owner')
      throw new Problem('forbidden');
    if ((await listInvitations(tx, holderId, at)).length >= MAX_OPEN)
      throw new Problem('invalid_params', { message: `At most ${MAX_OPEN} invitations can be open at once.` });
    return insertInvitation(ctx, tx, actor, { email, right: { holderId, role } }, delivery, at);
  });
}

/** Offers the rights of an admin. Only the host can. */
export function inviteAdmin(ctx: Context, actor: Actor, email: string): Promise<MadeInvitation> {
  const at = ctx.clock.now();
  return ctx.db.transaction((tx) => insertInvitation(ctx, tx, actor, { email, right: 'admin' }, 'host', at));
}

/** Joins the caller's transaction. Only the hash of the token is stored. */
export async function insertInvitation(
  ctx: Context,
  tx: Tx,
  actor: Actor,
  { email, right }: Offer,
  delivery: LinkDelivery,
  at: Date,
): Promise<MadeInvitation> {
  const token = `inv_${randomSecret()}`;
  const expiresAt = new Date(at.getTime() + (right === 'admin' ? ADMIN_INVITATION_MS : INVITATION_MS));
  const { holderId, role } = right === 'admin' ? { holderId: null, role: null } : right;
  await tx.query(
    `insert into invitations (token_hash, holder_id, email, role, invited_by, proves_email, created_at, expires_at)
     values ($1, $2, lower($3), $4, $5, $6, $7, $8)`,
    [sha256(token), holderId, email, role, actor.name, delivery !== 'page', at, expiresAt],
  );
  const action = right === 'admin' ? 'admin.invited' : 'member.invited';
  await recordAudit(tx, { holderId, actor, action, subject: email.toLowerCase(), details: { role } }, at);
  if (typeof delivery === 'string') return { token, expiresAt };
  const written = delivery.mail(invitationUrl(publicUrl(ctx.config), token));
  await queueLinkMail(ctx, tx, { to: email.toLowerCase(), ...written }, at);
  return { token: null, expiresAt };
}

export async function listInvitations(reader: Reader, holderId: bigint, now: Date): Promise<Invitation[]> {
  const rows = await reader.query<InvitationRow>(
    `select ${COLUMNS} from invitations i join holders h on h.id = i.holder_id
     where i.holder_id = $1 and ${OPEN} $2 order by i.id desc`,
    [holderId, now],
  );
  return rows.map(invitationOf);
}

/** The invitation of a link; null when it cannot be accepted any more. */
export async function findInvitation(reader: Reader, token: string, now: Date): Promise<Invitation | null> {
  const [row] = await reader.query<InvitationRow>(
    `select ${COLUMNS} from invitations i left join holders h on h.id = i.holder_id where i.token_hash = $1 and ${OPEN} $2`,
    [sha256(token), now],
  );
  return row ? invitationOf(row) : null;
}

/** Ends an open invitation and makes another one for the same person and role. */
export function resendInvitation(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  id: bigint,
  delivery: LinkDelivery,
): Promise<MadeInvitation> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    await lockHolder(tx, holderId);
    if (actor.memberId !== null && (await roleAt(tx, actor.memberId, holderId)) !== 'owner')
      throw new Problem('forbidden');
    const [row] = await tx.query<{ email: string; role: MemberRole }>(
      `update invitations set withdrawn_at = $3
       where id = $1 and holder_id = $2 and used_at is null and withdrawn_at is null returning email, role`,
      [id, holderId, at],
    );
    if (!row) throw new Problem('not_found', { message: 'There is no such invitation.' });
    return insertInvitation(ctx, tx, actor, { email: row.email, right: { holderId, role: row.role } }, delivery, at);
  });
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

/** What the person who opens an invitation has to do first. `blocked`: prove the address by a link of the host. */
export type AcceptanceStep = 'choose_password' | 'sign_in' | 'blocked';

export async function acceptanceStep(reader: Reader, invitation: Invitation): Promise<AcceptanceStep> {
  const { email, proves_email } = invitation;
  const state = await addressState(reader, email);
  if (state === 'new') return 'choose_password';
  if (state === 'proven') return 'sign_in';
  if (!proves_email) return 'blocked';
  return originOf(invitation) === 'mail' && (await isGuarded(reader, email)) ? 'sign_in' : 'choose_password';
}

/** Only the host invites admins. Any other invitation may have come by mail. */
function originOf({ holder }: Invitation): LinkOrigin {
  return holder === null ? 'host' : 'mail';
}

/** Who accepts: a member who is signed in, or a person who chooses a name and a password. */
export type Accepter = { memberId: bigint } | { name: string; password: string };

/** Uses an invitation and gives the right, in one transaction. `requested`: the role waits for a second owner or a day. */
export async function acceptInvitation(
  ctx: Context,
  token: string,
  accepter: Accepter,
  timeZone?: string,
): Promise<{ member: Member; result: RoleResult }> {
  const chosen = 'name' in accepter ? { name: accepter.name, hashed: await hashOf(ctx, accepter.password) } : null;
  // The database's clock: a role that waits for a day begins its day here.
  const at = await ctx.databaseTime.now();
  return ctx.db.transaction(async (tx) => {
    const invitation = await takeInvitation(tx, token, at);
    const { email, holder } = invitation;
    const step = await acceptanceStep(tx, invitation);
    let member: Member;
    if (step === 'sign_in') {
      member = await requireSelf(tx, email, accepter);
      if (invitation.proves_email) await keepAndProve(tx, member.id, at);
    } else if (step === 'choose_password' && chosen) member = await enterWithPassword(tx, invitation, chosen, at);
    else throw new Problem('unauthenticated', { message: 'The address of this account was never confirmed.' });
    const themselves = { memberId: member.id, name: member.email };
    if (!holder) {
      await giveAdmin(tx, themselves, member, at);
      return { member, result: 'saved' };
    }
    const offer = { holderId: holder.id, role: holder.role, invitedBy: invitation.invited_by };
    const result = await giveOrRequestRole(tx, themselves, member, offer, at);
    if (timeZone !== undefined) await adoptTimeZone(tx, themselves, holder.id, timeZone, at);
    return { member, result };
  });
}

/** Of two requests with one invitation, the update lets the first pass. */
async function takeInvitation(tx: Tx, token: string, at: Date): Promise<Invitation> {
  const invitation = await findInvitation(tx, token, at);
  const used = invitation
    ? await tx.query(
        'update invitations set used_at = $2 where id = $1 and used_at is null and withdrawn_at is null returning 1',
        [invitation.id, at],
      )
    : [];
  if (!invitation || used.length === 0)
    throw new Problem('unauthenticated', {
      message: 'This invitation was already used or has expired. Ask for a new one.',
    });
  return invitation;
}

/** The link alone never opens the account of somebody who has proved their address. */
async function requireSelf(tx: Tx, email: string, accepter: Accepter): Promise<Member> {
  const member = await findMemberByEmail(tx, email);
  if (!member || !('memberId' in accepter) || accepter.memberId !== member.id)
    throw new Problem('unauthenticated', {
      message: 'This e-mail address already has an account. Sign in and open the invitation again.',
    });
  return member;
}

/** A new person, or one whose unproven account becomes theirs with this link: what others set there is forgotten. */
async function enterWithPassword(
  tx: Tx,
  invitation: Invitation,
  { name, hashed }: { name: string; hashed: string },
  at: Date,
): Promise<Member> {
  const { email, proves_email, holder } = invitation;
  const inserted = await insertMember(tx, { email, name, provenAt: proves_email ? at : null }, at);
  const member = inserted ?? (await findMemberByEmail(tx, email));
  // Somebody else signed up, or proved the address, at this moment.
  const isTheirs = inserted || (proves_email && member && (await proveEmail(tx, member.id, originOf(invitation), at)));
  if (!member || !isTheirs) throw new Problem('unauthenticated');
  const keep = { sessionId: null, holderId: holder?.id ?? null };
  await storePassword(tx, { memberId: member.id, name: member.email }, member.id, hashed, keep, at);
  return member;
}
