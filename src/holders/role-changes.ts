// Roles of members at a holder. A role that approves money, given while the holder requires two people, waits for a second
// owner or a day: otherwise one owner could invite a second address of their own and approve alone. Until then the role is the
// one before, or viewer for somebody new. Every owner and the person concerned see what waits, and can cancel it.

import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createHolderUuid, isUuid } from '../platform/ids.ts';
import { withdrawChangesOf } from './approval-rules.ts';
import { type Actor, recordAudit } from './audit.ts';
import { lockHolder } from './holders.ts';
import { giveRole, type Member, type MemberRole, roleAt } from './members.ts';

const DELAY_MS = DAY_MS;
const BATCH_CHANGES = 100;

/** Roles that can approve money, and what each can approve besides: an owner also gives roles. */
const APPROVES: Record<MemberRole, number> = { viewer: 0, developer: 0, finance: 1, owner: 2 };

export type RoleChange = {
  id: string;
  member_id: bigint;
  email: string;
  name: string;
  role: MemberRole;
  requested_by: string;
  requested_by_member: bigint | null;
  requested_at: Date;
  effective_at: Date;
};

/** `saved` holds at once; `requested` waits for a second owner or a day. */
export type RoleResult = 'saved' | 'requested';

const OPEN = 'applied_at is null and withdrawn_at is null';

/** Role changes that wait. */
export function listRoleChanges(reader: Reader, holderId: bigint): Promise<RoleChange[]> {
  return reader.query<RoleChange>(
    `select c.id, c.member_id, p.email, p.name, c.role, c.requested_by, c.requested_by_member, c.requested_at, c.effective_at
     from role_changes c join members p on p.id = c.member_id
     where c.holder_id = $1 and c.applied_at is null and c.withdrawn_at is null order by c.effective_at`,
    [holderId],
  );
}

/** Gives a new person their role, or viewer while the role waits. `invitedBy` is the name of the owner who offered it. */
export async function giveOrRequestRole(
  tx: Tx,
  actor: Actor,
  member: Member,
  { holderId, role, invitedBy }: { holderId: bigint; role: MemberRole; invitedBy: string },
  at: Date,
): Promise<RoleResult> {
  const holder = await lockHolder(tx, holderId);
  const current = await roleAt(tx, member.id, holderId);
  // An invitation takes no role away: the last owner could lose theirs by it.
  if (current === 'owner') return 'saved';
  await withdrawOpenChange(tx, actor, holderId, member.id, at);
  if (!holder.payouts_need_approval || APPROVES[role] <= APPROVES[current ?? 'viewer']) {
    await giveRole(tx, actor, member, holderId, role, at);
    return 'saved';
  }
  if (current === null) await giveRole(tx, actor, member, holderId, 'viewer', at);
  const inviter = await findOwner(tx, holderId, invitedBy);
  await requestRole(tx, { memberId: inviter, name: invitedBy }, holderId, member, role, at);
  return 'requested';
}

/** The owner with this address: their own confirmation of a role that they offered does not count. */
async function findOwner(tx: Tx, holderId: bigint, email: string): Promise<bigint | null> {
  const [row] = await tx.query<{ id: bigint }>(
    `select p.id from members p join memberships m on m.member_id = p.id where m.holder_id = $1 and p.email = $2`,
    [holderId, email],
  );
  return row?.id ?? null;
}

async function requestRole(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  member: Pick<Member, 'id' | 'email'>,
  role: MemberRole,
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into role_changes (holder_id, id, member_id, role, requested_by, requested_by_member, requested_at, effective_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      holderId,
      createHolderUuid(at.getTime(), holderId),
      member.id,
      role,
      actor.name,
      actor.memberId,
      at,
      new Date(at.getTime() + DELAY_MS),
    ],
  );
  const entry = { holderId, actor, action: 'role_change.requested', subject: member.email, details: { role } } as const;
  await recordAudit(tx, entry, at);
}

/** A new decision about a member takes the place of the one that waits. */
async function withdrawOpenChange(tx: Tx, actor: Actor, holderId: bigint, memberId: bigint, at: Date): Promise<void> {
  await withdrawWhere(tx, actor, holderId, 'member_id = $2', memberId, at);
}

async function withdrawWhere(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  condition: 'member_id = $2' | 'requested_by_member = $2' | 'id = $2',
  value: bigint | string,
  at: Date,
): Promise<number> {
  const rows = await tx.query<{ email: string; role: MemberRole }>(
    `update role_changes c set withdrawn_by = $3, withdrawn_at = $4 from members p
     where c.holder_id = $1 and c.${condition} and c.applied_at is null and c.withdrawn_at is null and p.id = c.member_id
     returning p.email, c.role`,
    [holderId, value, actor.name, at],
  );
  for (const { email, role } of rows)
    await recordAudit(tx, { holderId, actor, action: 'role_change.withdrawn', subject: email, details: { role } }, at);
  return rows.length;
}

/** Somebody who is no longer an owner could come back by an invitation to an address of their own. */
async function withdrawInvitationsOf(tx: Tx, actor: Actor, holderId: bigint, owner: string, at: Date): Promise<void> {
  const rows = await tx.query<{ email: string }>(
    `update invitations set withdrawn_at = $3
     where holder_id = $1 and invited_by = $2 and used_at is null and withdrawn_at is null returning email`,
    [holderId, owner, at],
  );
  for (const { email } of rows)
    await recordAudit(tx, { holderId, actor, action: 'member.invitation_withdrawn', subject: email }, at);
}

type Membership = { member_id: bigint; role: MemberRole; email: string };

/** Locks all members of the holder, so that two owners cannot remove each other at the same time. */
function lockTeam(tx: Tx, holderId: bigint): Promise<Membership[]> {
  return tx.query<Membership>(
    `select m.member_id, m.role, p.email from memberships m join members p on p.id = m.member_id
     where m.holder_id = $1 order by m.member_id for update of m`,
    [holderId],
  );
}

/** Changes a member's role, or removes the member when it is null. A holder keeps at least one owner. */
export async function changeMembership(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  memberId: bigint,
  role: MemberRole | null,
): Promise<RoleResult> {
  // The database's clock: a role that waits for a day begins its day here.
  const at = await ctx.databaseTime.now();
  return ctx.db.transaction(async (tx) => {
    const holder = await lockHolder(tx, holderId);
    const team = await lockTeam(tx, holderId);
    const current = team.find((row) => row.member_id === memberId);
    if (!current) throw new Problem('not_found', { message: 'This member is not in the team.' });
    const owners = team.filter((row) => row.role === 'owner');
    if (current.role === 'owner' && role !== 'owner' && owners.length === 1)
      throw new Problem('invalid_params', { message: 'A team must have at least one owner.' });
    await withdrawOpenChange(tx, actor, holderId, memberId, at);
    if (role !== null && holder.payouts_need_approval && APPROVES[role] > APPROVES[current.role]) {
      await requestRole(tx, actor, holderId, { id: memberId, email: current.email }, role, at);
      return 'requested';
    }
    if (current.role === 'owner' && role !== 'owner') {
      await withdrawChangesOf(tx, actor, holderId, memberId, at);
      await withdrawWhere(tx, actor, holderId, 'requested_by_member = $2', memberId, at);
      await withdrawInvitationsOf(tx, actor, holderId, current.email, at);
    }
    await writeRole(tx, actor, holderId, current, role, at);
    return 'saved';
  });
}

async function writeRole(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  { member_id, email }: Pick<Membership, 'member_id' | 'email'>,
  role: MemberRole | null,
  at: Date,
): Promise<void> {
  if (role === null)
    await tx.query('delete from memberships where member_id = $1 and holder_id = $2', [member_id, holderId]);
  else
    await tx.query('update memberships set role = $3 where member_id = $1 and holder_id = $2', [
      member_id,
      holderId,
      role,
    ]);
  const action = role === null ? 'member.removed' : 'member.role_changed';
  await recordAudit(tx, { holderId, actor, action, subject: email, details: { role } }, at);
}

/** Puts a waiting role into force: another owner than the one who asked for it, and not the person who gets it. */
export async function confirmRoleChange(ctx: Context, actor: Actor, holderId: bigint, id: string): Promise<void> {
  const at = await ctx.databaseTime.now();
  await ctx.db.transaction(async (tx) => {
    await lockHolder(tx, holderId);
    const team = await lockTeam(tx, holderId);
    if (!team.some((row) => row.member_id === actor.memberId && row.role === 'owner')) throw new Problem('forbidden');
    const [change] = isUuid(id) ? await confirmOnce(tx, actor, holderId, id, at) : [];
    const member = team.find((row) => row.member_id === change?.member_id);
    if (!change || !member) throw new Problem('not_found', { message: 'This change no longer waits.' });
    await writeRole(tx, actor, holderId, member, change.role, at);
  });
}

async function confirmOnce(tx: Tx, actor: Actor, holderId: bigint, id: string, at: Date) {
  try {
    return await tx.query<{ member_id: bigint; role: MemberRole }>(
      `update role_changes set confirmed_by = $3, confirmed_by_member = $4, applied_at = $5
       where holder_id = $1 and id = $2 and ${OPEN} returning member_id, role`,
      [holderId, id, actor.name, actor.memberId, at],
    );
  } catch (error) {
    if (violatedConstraint(error) === 'role_change_by_two_people')
      throw new Problem('forbidden', { message: 'Another owner must confirm this role, or it holds after a day.' });
    throw error;
  }
}

/** Cancels a role that waits: any owner, or the person who would get it. */
export async function withdrawRoleChange(ctx: Context, actor: Actor, holderId: bigint, id: string): Promise<void> {
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await lockHolder(tx, holderId);
    const change = (await listRoleChanges(tx, holderId)).find((each) => each.id === id);
    if (!change) throw new Problem('not_found', { message: 'This change no longer waits.' });
    const isOwner = actor.memberId !== null && (await roleAt(tx, actor.memberId, holderId)) === 'owner';
    if (!isOwner && change.member_id !== actor.memberId) throw new Problem('forbidden');
    await withdrawWhere(tx, actor, holderId, 'id = $2', id, at);
  });
}

/** After a restore: what was cancelled after the backup waits again, so its day begins again. */
export async function restartRoleChanges(tx: Tx, at: Date): Promise<void> {
  await tx.query(`update role_changes set requested_at = $1, effective_at = $2 where ${OPEN}`, [
    at,
    new Date(at.getTime() + DELAY_MS),
  ]);
}

/** Puts roles into force whose day is over. Returns how many. */
export async function applyRoleChanges(ctx: Context): Promise<number> {
  // The database's clock: a process whose clock is a day ahead must not give a role at once.
  const at = await ctx.databaseTime.now();
  const due = await ctx.db.query<{ holder_id: bigint; id: string }>(
    `select holder_id, id from role_changes where effective_at <= $1 and ${OPEN} order by effective_at limit ${BATCH_CHANGES}`,
    [at],
  );
  for (const { holder_id, id } of due) await applyRoleChange(ctx, holder_id, id, at);
  return due.length;
}

async function applyRoleChange(ctx: Context, holderId: bigint, id: string, at: Date): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await tx.query('select from holders where id = $1 for no key update', [holderId]);
    const team = await lockTeam(tx, holderId);
    const [change] = await tx.query<{ member_id: bigint; role: MemberRole; requested_by: string }>(
      `update role_changes set applied_at = $3
       where holder_id = $1 and id = $2 and effective_at <= $3 and ${OPEN} returning member_id, role, requested_by`,
      [holderId, id, at],
    );
    const member = team.find((row) => row.member_id === change?.member_id);
    if (!change || !member) return;
    await writeRole(tx, { memberId: null, name: change.requested_by }, holderId, member, change.role, at);
  });
}
