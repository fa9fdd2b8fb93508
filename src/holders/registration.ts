// New holders together with their first owner: both exist, or neither does.

import { DAY_MS } from '../platform/clock.ts';
import { publicUrl } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import type { Mail } from '../platform/mail.ts';
import { sha256 } from '../platform/secrets.ts';
import type { Actor } from './audit.ts';
import { proveEmail } from './credentials.ts';
import { type Holder, insertHolder, type NewHolder } from './holders.ts';
import { insertInvitation, type LinkDelivery, type MadeInvitation } from './invitations.ts';
import { queueLinkMail } from './mail-queue.ts';
import { findMemberByEmail, giveRole, insertMember, type Member } from './members.ts';
import { hashOf } from './password-hashing.ts';
import { storePassword } from './passwords.ts';

const SIGN_UP_MS = DAY_MS;

/** Creates a holder, and the invitation of its owner. The owner gets the role with that link. */
export function createHolderWithOwner(
  ctx: Context,
  actor: Actor,
  business: NewHolder,
  owner: string,
  delivery: LinkDelivery,
): Promise<{ holder: Holder; invitation: MadeInvitation }> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const holder = await insertHolder(tx, actor, business, at);
    const right = { holderId: holder.id, role: 'owner' } as const;
    const invitation = await insertInvitation(ctx, tx, actor, { email: owner, right }, delivery, at);
    return { holder, invitation };
  });
}

/** Sign-up without mail: the owner is unproven. Null: the e-mail belongs to another member. */
export async function registerHolder(
  ctx: Context,
  details: { business: string; name: string; email: string; password: string; timeZone?: string | undefined },
): Promise<Member | null> {
  const hashed = await hashOf(ctx, details.password);
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const member = await insertMember(tx, details, at);
    if (member) await openHolder(tx, member, { name: details.business, timeZone: details.timeZone }, hashed, at);
    return member;
  });
}

async function openHolder(tx: Tx, member: Member, business: NewHolder, hashed: string, at: Date): Promise<void> {
  const actor = { memberId: member.id, name: member.email };
  const holder = await insertHolder(tx, actor, business, at);
  await giveRole(tx, actor, member, holder.id, 'owner', at);
  await storePassword(tx, actor, member.id, hashed, { sessionId: null, holderId: holder.id }, at);
}

export type SignUp = { business: string; name: string; email: string };

/** Sign-up by mail: nothing exists until the link is used. The caller looked whether the address is taken. */
export async function startSignUp(
  ctx: Context,
  { business, name, email }: SignUp,
  write: (url: string) => Pick<Mail, 'subject' | 'text'>,
): Promise<void> {
  const token = `sgn_${randomSecret()}`;
  const at = ctx.clock.now();
  const to = email.toLowerCase();
  await ctx.db.transaction(async (tx) => {
    await tx.query(
      'insert into sign_ups (token_hash, business, name, email, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)',
      [sha256(token), business, name, to, at, new Date(at.getTime() + SIGN_UP_MS)],
    );
    const url = `${publicUrl(ctx.config)}/console/sign-up/${token}`;
    await queueLinkMail(ctx, tx, { to, ...write(url) }, at);
  });
}

/** The sign-up of a link; null when it cannot be finished any more. */
export async function findSignUp(ctx: Context, token: string): Promise<SignUp | null> {
  const [row] = await ctx.db.query<SignUp>(
    'select business, name, email from sign_ups where token_hash = $1 and used_at is null and expires_at > $2',
    [sha256(token), ctx.clock.now()],
  );
  return row ?? null;
}

/**
 * Finishes a sign-up by mail. Only now a password is chosen: the person who typed the address may be another than the one who
 * reads its mail. Null: the address belongs to somebody who proved it before.
 */
export async function finishSignUp(
  ctx: Context,
  token: string,
  { password, timeZone }: { password: string; timeZone?: string | undefined },
): Promise<Member | null> {
  const hashed = await hashOf(ctx, password);
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const [details] = await tx.query<SignUp>(
      `update sign_ups set used_at = $2 where token_hash = $1 and used_at is null and expires_at > $2
       returning business, name, email`,
      [sha256(token), at],
    );
    if (!details) throw new Problem('unauthenticated');
    const inserted = await insertMember(tx, { ...details, provenAt: at }, at);
    const member = inserted ?? (await findMemberByEmail(tx, details.email));
    const isTheirs = inserted || (member && (await proveEmail(tx, member.id, 'mail', at)));
    if (!member || !isTheirs) return null;
    await openHolder(tx, member, { name: details.business, timeZone }, hashed, at);
    return member;
  });
}
