// Members (the users of the console), their one-time sign-in links and their sessions. Tokens are stored hashed.

import { sessionIdleMs } from '../platform/config.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { randomSecret } from '../platform/ids.ts';
import { sha256 } from '../platform/secrets.ts';
import { type Actor, recordAudit } from './audit.ts';
import { proveEmail } from './credentials.ts';

const LOGIN_LINK_MS = 30 * 60_000;
/** How tokens of sign-in links begin: the token itself says whether it was made on the host or sent by mail. */
const HOST_LINK = 'otl_';
export const MAILED_LINK = 'otm_';
const SESSION_MS = 12 * 3_600_000;

export const ROLES = ['owner', 'developer', 'finance', 'viewer'] as const;
export type MemberRole = (typeof ROLES)[number];

export type Member = { id: bigint; email: string; name: string; is_admin: boolean };
export type Session = {
  id: bigint;
  member: Member;
  confirmedUntil: Date | null;
  /** The holder that was chosen in the console; null before. */
  holderId: bigint | null;
  hasPassword: boolean;
  /** Any second factor: codes of an app, or a passkey. */
  hasFactor: boolean;
  hasTotp: boolean;
  hasPasskey: boolean;
  /** Until then the first second factor may be set up. */
  enrolUntil: Date | null;
  hasUnreadNotices: boolean;
};

const MEMBER_COLUMNS = 'id, email, name, is_admin';

/**
 * Gives the person with this e-mail a role at the holder, without a link; creates the member if needed. For the first start of
 * a sandbox and for tests: everybody else is invited.
 */
export function addMember(
  ctx: Context,
  actor: Actor,
  person: { email: string; name: string; holderId: bigint; role: MemberRole },
): Promise<Member> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const inserted = await insertMember(tx, { ...person, provenAt: at }, at);
    const member = inserted ?? (await findMemberByEmail(tx, person.email));
    if (!member) throw new Error('the member was deleted while it was added');
    await giveRole(tx, actor, member, person.holderId, person.role, at);
    return member;
  });
}

/** `provenAt`: when the person showed that the address is theirs. */
export type NewMember = { email: string; name: string; provenAt?: Date | null };

/** Inserts a member. Null: another member has this e-mail. */
export async function insertMember(tx: Tx, person: NewMember, at: Date): Promise<Member | null> {
  const [member] = await tx.query<Member>(
    `insert into members (email, name, email_proven_at, created_at) values (lower($1), $2, $3, $4)
     on conflict (email) do nothing returning ${MEMBER_COLUMNS}`,
    [person.email, person.name, person.provenAt ?? null, at],
  );
  return member ?? null;
}

/** Sets the role of a member at a holder and records it in the audit log. */
export async function giveRole(
  tx: Tx,
  actor: Actor,
  member: Member,
  holderId: bigint,
  role: MemberRole,
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into memberships (member_id, holder_id, role, created_at) values ($1, $2, $3, $4)
     on conflict (member_id, holder_id) do update set role = excluded.role`,
    [member.id, holderId, role, at],
  );
  await recordAudit(tx, { holderId, actor, action: 'member.added', subject: member.email, details: { role } }, at);
}

/** Gives admin rights to a person who used the link that was made for it. */
export async function giveAdmin(tx: Tx, actor: Actor, member: Member, at: Date): Promise<void> {
  await tx.query('update members set is_admin = true where id = $1', [member.id]);
  await recordAudit(tx, { holderId: null, actor, action: 'admin.added', subject: member.email }, at);
}

/** Takes admin rights away, and the links that would give them. False: the address had neither. */
export function removeAdmin(ctx: Context, actor: Actor, email: string): Promise<boolean> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const members = await tx.query(
      'update members set is_admin = false where email = lower($1) and is_admin returning 1',
      [email],
    );
    const links = await tx.query(
      `update invitations set withdrawn_at = $2
       where email = lower($1) and holder_id is null and used_at is null and withdrawn_at is null returning 1`,
      [email, at],
    );
    if (members.length + links.length === 0) return false;
    await recordAudit(tx, { holderId: null, actor, action: 'admin.removed', subject: email.toLowerCase() }, at);
    return true;
  });
}

export async function findMemberByEmail(reader: Reader, email: string): Promise<Member | null> {
  const [member] = await reader.query<Member>(`select ${MEMBER_COLUMNS} from members where email = lower($1)`, [email]);
  return member ?? null;
}

/** The e-mail addresses of some members, by id. */
export async function memberEmails(reader: Reader, ids: readonly bigint[]): Promise<Map<bigint, string>> {
  const rows = await reader.query<{ id: bigint; email: string }>('select id, email from members where id = any ($1)', [
    ids,
  ]);
  return new Map(rows.map((row) => [row.id, row.email]));
}

/** The role of a member at a holder, or null. */
export async function roleAt(reader: Reader, memberId: bigint, holderId: bigint): Promise<MemberRole | null> {
  const [row] = await reader.query<{ role: MemberRole }>(
    'select role from memberships where member_id = $1 and holder_id = $2',
    [memberId, holderId],
  );
  return row?.role ?? null;
}

/** Creates a token that signs this member in once, within 30 minutes. */
export async function createLoginLink(ctx: Context, memberId: bigint): Promise<{ token: string; expiresAt: Date }> {
  const token = `${HOST_LINK}${randomSecret()}`;
  const expiresAt = await ctx.db.transaction((tx) => insertLoginLink(tx, token, memberId, ctx.clock.now()));
  return { token, expiresAt };
}

/** Stores a token that signs this member in. Returns when it expires. */
export async function insertLoginLink(tx: Tx, token: string, memberId: bigint, at: Date): Promise<Date> {
  const expiresAt = new Date(at.getTime() + LOGIN_LINK_MS);
  await tx.query('insert into login_links (token_hash, member_id, created_at, expires_at) values ($1, $2, $3, $4)', [
    sha256(token),
    memberId,
    at,
    expiresAt,
  ]);
  return expiresAt;
}

/** The member of a sign-in link, without using it up. */
export async function peekLoginLink(ctx: Context, token: string): Promise<Member | null> {
  const [member] = await ctx.db.query<Member>(
    `select m.id, m.email, m.name, m.is_admin from login_links l join members m on m.id = l.member_id
     where l.token_hash = $1 and l.used_at is null and l.expires_at > $2`,
    [sha256(token), ctx.clock.now()],
  );
  return member ?? null;
}

/**
 * Uses a sign-in link. Of two requests with one link, the update lets the first pass. Such links are made on the host or sent by
 * mail, so they prove the address: see `proveEmail`.
 */
export async function useLoginLink(ctx: Context, token: string): Promise<bigint> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const [row] = await tx.query<{ member_id: bigint }>(
      `update login_links set used_at = $2 where token_hash = $1 and used_at is null and expires_at > $2 returning member_id`,
      [sha256(token), at],
    );
    if (!row)
      throw new Problem('unauthenticated', {
        message: 'This link was already used or has expired. Ask for a new one.',
      });
    await proveEmail(tx, row.member_id, token.startsWith(MAILED_LINK) ? 'mail' : 'host', at);
    return row.member_id;
  });
}

/**
 * What a new session begins with: where it is used from, and what its member has just proved. `credentialsVersion` is that of the
 * member when the proof was made: when the credentials were forgotten since then, the session is over before it begins.
 */
export type NewSession = {
  userAgent: string;
  address: string;
  credentialsVersion?: bigint | undefined;
  holderId?: bigint | undefined;
  confirmedUntil?: Date | null;
  enrolUntil?: Date | null;
};

export function createSession(
  ctx: Context,
  memberId: bigint,
  session: NewSession,
): Promise<{ token: string; expiresAt: Date }> {
  return ctx.db.transaction((tx) => insertSession(tx, memberId, session, ctx.clock.now()));
}

export async function insertSession(
  tx: Tx,
  memberId: bigint,
  session: NewSession,
  at: Date,
): Promise<{ token: string; expiresAt: Date }> {
  const token = randomSecret();
  const expiresAt = new Date(at.getTime() + SESSION_MS);
  const { userAgent, address, credentialsVersion, holderId, confirmedUntil, enrolUntil } = session;
  await tx.query(
    `insert into sessions (member_id, token_hash, user_agent, address, created_at, last_seen_at, expires_at, credentials_version,
       holder_id, confirmed_until, enrol_until)
     select id, $2, $3, $4, $5, $5, $6, coalesce($7, credentials_version), $8, $9, $10 from members where id = $1`,
    [
      memberId,
      sha256(token),
      userAgent.slice(0, 300),
      address,
      at,
      expiresAt,
      credentialsVersion ?? null,
      holderId ?? null,
      confirmedUntil ?? null,
      enrolUntil ?? null,
    ],
  );
  return { token, expiresAt };
}

/** The live session of a cookie. A page that refreshes itself (`idle`) does not keep the session alive. */
export async function findSession(ctx: Context, token: string, idle = false): Promise<Session | null> {
  const at = ctx.clock.now();
  type Row = Member & {
    session_id: bigint;
    confirmed_until: Date | null;
    holder_id: bigint | null;
    has_password: boolean;
    has_totp: boolean;
    has_passkey: boolean;
    enrol_until: Date | null;
    has_unread_notices: boolean;
  };
  const [row] = await ctx.db.query<Row>(
    `update sessions s set last_seen_at = case when $4 then s.last_seen_at else $2 end from members m
     where s.token_hash = $1 and m.id = s.member_id and s.revoked_at is null and s.expires_at > $2 and s.last_seen_at > $3
       and s.credentials_version = m.credentials_version
     returning s.id as session_id, s.confirmed_until, s.holder_id, m.password_hash is not null as has_password,
               m.totp_sealed is not null as has_totp, s.enrol_until, m.id, m.email, m.name, m.is_admin,
               exists (select 1 from passkeys p where p.member_id = m.id) as has_passkey,
               exists (select 1 from security_notices n where n.member_id = m.id and n.read_at is null) as has_unread_notices`,
    [sha256(token), at, new Date(at.getTime() - sessionIdleMs(ctx.config)), idle],
  );
  if (!row) return null;
  return {
    id: row.session_id,
    member: { id: row.id, email: row.email, name: row.name, is_admin: row.is_admin },
    confirmedUntil: row.confirmed_until,
    holderId: row.holder_id,
    hasPassword: row.has_password,
    hasFactor: row.has_totp || row.has_passkey,
    hasTotp: row.has_totp,
    hasPasskey: row.has_passkey,
    enrolUntil: row.enrol_until,
    hasUnreadNotices: row.has_unread_notices,
  };
}

/** Ends a session of this member. */
export async function revokeSession(ctx: Context, memberId: bigint, sessionId: bigint): Promise<void> {
  await ctx.db.query('update sessions set revoked_at = $3 where id = $1 and member_id = $2 and revoked_at is null', [
    sessionId,
    memberId,
    ctx.clock.now(),
  ]);
}

/** Until then, the first second factor may be set up in this session. */
export async function allowEnrolment(ctx: Context, sessionId: bigint, until: Date): Promise<void> {
  await ctx.db.query('update sessions set enrol_until = $2 where id = $1', [sessionId, until]);
}

/** Until then, actions that need a fresh proof of identity do not ask again. */
export async function confirmSession(ctx: Context, sessionId: bigint, until: Date): Promise<void> {
  await ctx.db.query('update sessions set confirmed_until = $2 where id = $1', [sessionId, until]);
}

export async function chooseHolder(ctx: Context, sessionId: bigint, holderId: bigint): Promise<void> {
  await ctx.db.query('update sessions set holder_id = $2 where id = $1', [sessionId, holderId]);
}

type SessionRow = { id: bigint; user_agent: string; address: string; created_at: Date; last_seen_at: Date };

/** The live sessions of a member, the one used last first. */
export function listSessions(ctx: Context, memberId: bigint): Promise<SessionRow[]> {
  const now = ctx.clock.now();
  return ctx.db.query<SessionRow>(
    `select id, user_agent, address, created_at, last_seen_at from sessions
     where member_id = $1 and revoked_at is null and expires_at > $2 and last_seen_at > $3 order by last_seen_at desc limit 100`,
    [memberId, now, new Date(now.getTime() - sessionIdleMs(ctx.config))],
  );
}

export type MembershipRow = { holder_id: bigint; name: string; role: MemberRole };

/** The holders of a member. */
export function listMemberships(reader: Reader, memberId: bigint): Promise<MembershipRow[]> {
  return reader.query<MembershipRow>(
    `select m.holder_id, h.name, m.role from memberships m join holders h on h.id = m.holder_id
     where m.member_id = $1 order by m.created_at, m.holder_id`,
    [memberId],
  );
}

export type TeamRow = Member & {
  role: MemberRole;
  joined_at: Date;
  has_factor: boolean;
  /** Whether the person showed that the address is theirs. */
  is_proven: boolean;
  last_seen_at: Date | null;
};

/** Everybody who runs the gateway. */
export function listAdmins(reader: Reader): Promise<Member[]> {
  return reader.query<Member>(`select ${MEMBER_COLUMNS} from members where is_admin order by email`);
}

/** The members of a holder. */
export function listTeam(reader: Reader, holderId: bigint): Promise<TeamRow[]> {
  return reader.query<TeamRow>(
    `select p.id, p.email, p.name, p.is_admin, m.role, m.created_at as joined_at,
            (p.totp_sealed is not null or exists (select 1 from passkeys k where k.member_id = p.id)) as has_factor,
            p.email_proven_at is not null as is_proven,
            (select max(s.last_seen_at) from sessions s where s.member_id = p.id) as last_seen_at
     from memberships m join members p on p.id = m.member_id where m.holder_id = $1 order by m.created_at, p.id`,
    [holderId],
  );
}
