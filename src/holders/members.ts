// People: members of holders, their one-time sign-in links and their sessions. Tokens of both are stored hashed.

import type { Context } from '../platform/context.ts';
import type { Reader } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import { sha256 } from '../platform/secrets.ts';
import { type Actor, recordAudit } from './audit.ts';

const LOGIN_LINK_MS = 30 * 60_000;
const SESSION_IDLE_MS = 60 * 60_000;
const SESSION_MS = 12 * 3_600_000;

export const ROLES = ['owner', 'developer', 'finance', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

export type Member = { id: bigint; email: string; name: string; is_operator: boolean };
export type Session = { id: bigint; member: Member; confirmedUntil: Date | null };

const MEMBER_COLUMNS = 'id, email, name, is_operator';

/** Makes a person, or finds the one with this address, and gives them a role at the holder. */
export function addMember(
  ctx: Context,
  actor: Actor,
  person: { email: string; name: string; holderId: bigint; role: Role },
): Promise<Member> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const [member] = await tx.query<Member>(
      `insert into members (email, name, created_at) values (lower($1), $2, $3)
       on conflict (email) do update set email = excluded.email returning ${MEMBER_COLUMNS}`,
      [person.email, person.name, at],
    );
    if (!member) throw new Error('insert returned no member');
    await tx.query(
      `insert into memberships (member_id, holder_id, role, created_at) values ($1, $2, $3, $4)
       on conflict (member_id, holder_id) do update set role = excluded.role`,
      [member.id, person.holderId, person.role, at],
    );
    await recordAudit(
      tx,
      {
        holderId: person.holderId,
        actor,
        action: 'member.added',
        subject: member.email,
        details: { role: person.role },
      },
      at,
    );
    return member;
  });
}

export async function findMemberByEmail(reader: Reader, email: string): Promise<Member | null> {
  const [member] = await reader.query<Member>(`select ${MEMBER_COLUMNS} from members where email = lower($1)`, [email]);
  return member ?? null;
}

/** The role of a member at a holder, or null. */
export async function roleAt(reader: Reader, memberId: bigint, holderId: bigint): Promise<Role | null> {
  const [row] = await reader.query<{ role: Role }>(
    'select role from memberships where member_id = $1 and holder_id = $2',
    [memberId, holderId],
  );
  return row?.role ?? null;
}

/** A link token that signs this member in once, within 30 minutes. */
export async function createLoginLink(ctx: Context, memberId: bigint): Promise<{ token: string; expiresAt: Date }> {
  const token = `otl_${randomSecret()}`;
  const at = ctx.clock.now();
  const expiresAt = new Date(at.getTime() + LOGIN_LINK_MS);
  await ctx.db.query(
    'insert into login_links (token_hash, member_id, created_at, expires_at) values ($1, $2, $3, $4)',
    [sha256(token), memberId, at, expiresAt],
  );
  return { token, expiresAt };
}

/** Spends a login link. The update itself decides who was first. */
export async function useLoginLink(ctx: Context, token: string): Promise<bigint> {
  const at = ctx.clock.now();
  const [row] = await ctx.db.query<{ member_id: bigint }>(
    `update login_links set used_at = $2 where token_hash = $1 and used_at is null and expires_at > $2 returning member_id`,
    [sha256(token), at],
  );
  if (!row)
    throw new Problem('unauthenticated', { message: 'This link was used before or is too old. Ask for a new one.' });
  return row.member_id;
}

export async function createSession(
  ctx: Context,
  memberId: bigint,
  from: { userAgent: string; address: string },
): Promise<{ token: string; expiresAt: Date }> {
  const token = randomSecret();
  const at = ctx.clock.now();
  const expiresAt = new Date(at.getTime() + SESSION_MS);
  await ctx.db.query(
    `insert into sessions (member_id, token_hash, user_agent, address, created_at, last_seen_at, expires_at)
     values ($1, $2, $3, $4, $5, $5, $6)`,
    [memberId, sha256(token), from.userAgent.slice(0, 300), from.address, at, expiresAt],
  );
  return { token, expiresAt };
}

/** The session behind a cookie, if it is live: not revoked, not past its end, not idle too long. */
export async function findSession(ctx: Context, token: string): Promise<Session | null> {
  const at = ctx.clock.now();
  const [row] = await ctx.db.query<Member & { session_id: bigint; confirmed_until: Date | null }>(
    `update sessions s set last_seen_at = $2 from members m
     where s.token_hash = $1 and m.id = s.member_id and s.revoked_at is null and s.expires_at > $2 and s.last_seen_at > $3
     returning s.id as session_id, s.confirmed_until, m.id, m.email, m.name, m.is_operator`,
    [sha256(token), at, new Date(at.getTime() - SESSION_IDLE_MS)],
  );
  if (!row) return null;
  const { session_id: id, confirmed_until: confirmedUntil, ...member } = row;
  return { id, member, confirmedUntil };
}

/** Ends a session of this member; another's is left alone. */
export async function revokeSession(ctx: Context, memberId: bigint, sessionId: bigint): Promise<void> {
  await ctx.db.query('update sessions set revoked_at = $3 where id = $1 and member_id = $2 and revoked_at is null', [
    sessionId,
    memberId,
    ctx.clock.now(),
  ]);
}
