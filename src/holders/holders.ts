// Holders: the businesses that use the gateway. A suspended holder can be resumed; closing is permanent.

import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem, suspendedMessage } from '../platform/errors.ts';
import { type Actor, recordAudit } from './audit.ts';
import type { AuditAction } from './audit-actions.ts';

/** For statements that read the range of each holder: `from ${EVERY_HOLDER} as holder`. 0 is the gateway itself. */
export const EVERY_HOLDER = '(select id from holders union all select 0)';
/** The ids of them, for statements that cannot have both in one (holders and payments may be on several servers). */
export async function listHolderIds(reader: Reader): Promise<bigint[]> {
  const rows = await reader.query<{ id: bigint }>(`select id from ${EVERY_HOLDER} as holder order by id`);
  return rows.map(({ id }) => id);
}

/** Most holders that one query reads. */
export const MAX_HOLDERS_LISTED = 1_000;

export type HolderStatus = 'active' | 'suspended' | 'closed';
export type Holder = {
  id: bigint;
  name: string;
  status: HolderStatus;
  payouts_need_approval: boolean;
  /** IANA name. The holder's days begin at its midnight. */
  time_zone: string;
  created_at: Date;
};

const HOLDER_COLUMNS = 'id, name, status, payouts_need_approval, time_zone, created_at';

/** Until somebody chooses a time zone, the days of a new holder are those of UTC. */
const DEFAULT_TIME_ZONE = 'UTC';

export function createHolder(ctx: Context, actor: Actor, name: string, timeZone?: string): Promise<Holder> {
  return ctx.db.transaction((tx) => insertHolder(tx, actor, { name, timeZone }, ctx.clock.now()));
}

export type NewHolder = { name: string; timeZone?: string | undefined };

export async function insertHolder(tx: Tx, actor: Actor, { name, timeZone }: NewHolder, at: Date): Promise<Holder> {
  const [holder] = await tx.query<Holder>(
    `insert into holders (name, time_zone, created_at, updated_at) values ($1, $2, $3, $3) returning ${HOLDER_COLUMNS}`,
    [name, timeZone ?? DEFAULT_TIME_ZONE, at],
  );
  if (!holder) throw new Error('insert returned no holder');
  await recordAudit(tx, { holderId: holder.id, actor, action: 'holder.created', subject: name }, at);
  return holder;
}

/** Changes the name and the time zone of a holder. Each change has its own entry in the audit log. */
export function changeHolder(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  changed: { name: string; timeZone: string },
): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const holder = await lockHolder(tx, holderId);
    await tx.query('update holders set name = $2, time_zone = $3, updated_at = $4 where id = $1', [
      holderId,
      changed.name,
      changed.timeZone,
      at,
    ]);
    const record = (action: AuditAction, from: string, to: string) =>
      recordAudit(tx, { holderId, actor, action, details: { from, to } }, at);
    if (holder.name !== changed.name) await record('holder.renamed', holder.name, changed.name);
    if (holder.time_zone !== changed.timeZone) await record('holder.time_zone', holder.time_zone, changed.timeZone);
  });
}

/** The first person of a holder brings the zone of their browser, where nobody chose one. */
export async function adoptTimeZone(
  tx: Tx,
  actor: Actor & { memberId: bigint },
  holderId: bigint,
  timeZone: string,
  at: Date,
): Promise<void> {
  const rows = await tx.query(
    `update holders set time_zone = $2, updated_at = $3
     where id = $1 and time_zone = $4 and $2 <> $4
       and not exists (select from memberships where holder_id = $1 and member_id <> $5)
     returning 1`,
    [holderId, timeZone, at, DEFAULT_TIME_ZONE, actor.memberId],
  );
  if (rows.length === 0) return;
  const details = { from: DEFAULT_TIME_ZONE, to: timeZone };
  await recordAudit(tx, { holderId, actor, action: 'holder.time_zone', details }, at);
}

export type HolderPage = {
  limit: number;
  before?: bigint | undefined;
  status?: HolderStatus | undefined;
  /** A part of the name, or of the e-mail address of a member. */
  search?: string | undefined;
};

/** A page of holders, the newest first; `before` is the id that the page before it ended with. */
export function listHolders(reader: Reader, { limit, before, status, search }: HolderPage): Promise<Holder[]> {
  const pattern = search === undefined ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`;
  return reader.query<Holder>(
    `select ${HOLDER_COLUMNS} from holders h
     where ($1::bigint is null or id < $1) and ($3::text is null or status = $3)
       and ($4::text is null or name ilike $4 or exists (
         select from memberships s join members m on m.id = s.member_id where s.holder_id = h.id and m.email ilike $4))
     order by id desc limit $2`,
    [before ?? null, Math.min(limit, MAX_HOLDERS_LISTED), status ?? null, pattern],
  );
}

/** When each holder's integrations were last used. */
export async function lastUseOf(reader: Reader, ids: readonly bigint[]): Promise<Map<bigint, Date>> {
  const rows = await reader.query<{ holder_id: bigint; at: Date }>(
    `select holder_id, max(last_used_at) as at from integrations
     where holder_id = any ($1) and last_used_at is not null group by holder_id`,
    [ids],
  );
  return new Map(rows.map((row) => [row.holder_id, row.at]));
}

/** The names of some holders, by id. */
export async function holderNames(reader: Reader, ids: readonly bigint[]): Promise<Map<bigint, string>> {
  const rows = await reader.query<{ id: bigint; name: string }>('select id, name from holders where id = any ($1)', [
    ids,
  ]);
  return new Map(rows.map((row) => [row.id, row.name]));
}

/** Those of some holders that are suspended or closed. */
export async function listInactiveHolders(reader: Reader, ids: readonly bigint[]): Promise<Set<bigint>> {
  const rows = await reader.query<{ id: bigint }>(`select id from holders where id = any ($1) and status <> 'active'`, [
    ids,
  ]);
  return new Set(rows.map((row) => row.id));
}

/** The oldest active holder with this name. */
export async function findActiveHolder(reader: Reader, name: string): Promise<Holder | null> {
  const [holder] = await reader.query<Holder>(
    `select ${HOLDER_COLUMNS} from holders where name = $1 and status = 'active' order by id limit 1`,
    [name],
  );
  return holder ?? null;
}

/** Holders with exactly this name that are not closed. */
export function findHoldersNamed(reader: Reader, name: string, limit: number): Promise<Holder[]> {
  return reader.query<Holder>(
    `select ${HOLDER_COLUMNS} from holders where name = $1 and status <> 'closed' order by id limit $2`,
    [name, limit],
  );
}

export async function findHolder(reader: Reader, id: bigint): Promise<Holder | null> {
  const [holder] = await reader.query<Holder>(`select ${HOLDER_COLUMNS} from holders where id = $1`, [id]);
  return holder ?? null;
}

/**
 * The holder, if it may move money. The row is locked until the transaction ends: a suspension waits for what is being
 * ordered, and what is ordered after it is refused.
 */
export async function requireActiveHolder(tx: Tx, id: bigint): Promise<Holder> {
  const holder = await holdHolder(tx, id);
  if (holder?.status !== 'active')
    throw new Problem('account_suspended', { message: 'This account is suspended or closed. No money can leave it.' });
  return holder;
}

export type HolderRefusal = { status?: number; message?: string };

/** Refuses the program of a holder that is suspended or closed. */
export function refuseInactiveHolder({ config }: Context, status: HolderStatus, answer: HolderRefusal = {}): void {
  if (status === 'closed') throw new Problem('account_not_found', answer);
  if (status === 'suspended') throw new Problem('account_suspended', { message: suspendedMessage(config), ...answer });
}

/** The holder, whose status nobody can change until the transaction ends. */
export async function holdHolder(tx: Tx, id: bigint): Promise<Holder | null> {
  const [holder] = await tx.query<Holder>(`select ${HOLDER_COLUMNS} from holders where id = $1 for share`, [id]);
  return holder ?? null;
}

/** Locks a holder, so that nothing is ordered for it until the transaction ends. Closed holders are not found. */
export async function lockHolder(tx: Tx, id: bigint): Promise<Holder> {
  const [holder] = await tx.query<Holder>(
    `select ${HOLDER_COLUMNS} from holders where id = $1 and status <> 'closed' for no key update`,
    [id],
  );
  if (!holder) throw new Problem('not_found', { message: 'The holder does not exist or is closed.' });
  return holder;
}

/** Writes the status of a holder that lockHolder has locked. payments/holder-status.ts checks what it requires. */
export async function writeHolderStatus(
  tx: Tx,
  actor: Actor,
  holder: Holder,
  status: HolderStatus,
  at: Date,
): Promise<Holder> {
  await tx.query('update holders set status = $2, updated_at = $3 where id = $1', [holder.id, status, at]);
  await recordAudit(tx, { holderId: holder.id, actor, action: `holder.${status}` }, at);
  return { ...holder, status };
}
