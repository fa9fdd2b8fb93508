// New holders together with their first owner: both exist, or neither does.

import type { Context } from '../platform/context.ts';
import type { Actor } from './audit.ts';
import { type Holder, insertHolder } from './holders.ts';
import { findOrInsertMember, giveRole, insertMember, type Member } from './members.ts';
import { hashPassword, storePassword } from './passwords.ts';

/** Creates a holder for a person who may be a member already. */
export function createHolderWithOwner(
  ctx: Context,
  actor: Actor,
  name: string,
  owner: { email: string; name: string },
): Promise<{ holder: Holder; owner: Member }> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const holder = await insertHolder(tx, actor, name, at);
    const member = await findOrInsertMember(tx, owner, at);
    await giveRole(tx, actor, member, holder.id, 'owner', at);
    return { holder, owner: member };
  });
}

/** Sign-up: the holder, its owner and the owner's password. Null: the e-mail belongs to another member. */
export async function registerHolder(
  ctx: Context,
  details: { business: string; name: string; email: string; password: string },
): Promise<Member | null> {
  const hashed = await hashPassword(details.password);
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const member = await insertMember(tx, details, at);
    if (!member) return null;
    const actor = { memberId: member.id, name: member.email };
    const holder = await insertHolder(tx, actor, details.business, at);
    await giveRole(tx, actor, member, holder.id, 'owner', at);
    await storePassword(tx, actor, member.id, hashed, { sessionId: null, holderId: holder.id }, at);
    return member;
  });
}
