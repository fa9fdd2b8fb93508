// The rule of two people: whether payouts need a second person, and up to which amount one person may refund alone.
// Tightening holds at once. Loosening is asked for by an owner, confirmed by another person, and holds a day later.

import { DAY_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createHolderUuid, isUuid } from '../platform/ids.ts';
import { type Actor, recordAudit } from './audit.ts';
import { type Holder, lockHolder } from './holders.ts';

/** How long everybody can see a confirmed loosening before it holds. */
const DELAY_MS = DAY_MS;
const BATCH_CHANGES = 100;

type Loosening = { kind: 'payout_approval_off' } | { kind: 'refund_limit'; currency: string; without_approval: bigint };

export type RuleChange = {
  id: string;
  kind: Loosening['kind'];
  currency: string | null;
  without_approval: bigint | null;
  requested_by: string;
  requested_by_member: bigint;
  requested_at: Date;
  confirmed_by: string | null;
  effective_at: Date | null;
};

export type RefundLimit = { currency: string; without_approval: bigint };

/** `saved` holds at once; `requested` waits for another person. */
export type RuleResult = 'saved' | 'requested';

/** Whether a refund by a person needs a second one: while the rule is on, above the limit of its currency. */
export async function refundNeedsApproval(
  reader: Reader,
  holder: Pick<Holder, 'id' | 'payouts_need_approval'>,
  currency: string,
  amount: bigint,
): Promise<boolean> {
  if (!holder.payouts_need_approval) return false;
  return amount > (await refundLimitOf(reader, holder.id, currency));
}

async function refundLimitOf(reader: Reader, holderId: bigint, currency: string): Promise<bigint> {
  const [row] = await reader.query<{ without_approval: bigint }>(
    'select without_approval from refund_limits where holder_id = $1 and currency = $2',
    [holderId, currency],
  );
  return row?.without_approval ?? 0n;
}

export function listRefundLimits(reader: Reader, holderId: bigint): Promise<RefundLimit[]> {
  return reader.query<RefundLimit>(
    'select currency, without_approval from refund_limits where holder_id = $1 and without_approval > 0 order by currency',
    [holderId],
  );
}

/** Loosenings that do not hold yet and were not withdrawn. */
export function listRuleChanges(reader: Reader, holderId: bigint): Promise<RuleChange[]> {
  return reader.query<RuleChange>(
    `select id, kind, currency, without_approval, requested_by, requested_by_member, requested_at, confirmed_by, effective_at
     from approval_rule_changes where holder_id = $1 and applied_at is null and withdrawn_at is null order by id`,
    [holderId],
  );
}

/** Requires a second person for payouts, or asks for the end of that. */
export function setPayoutApproval(ctx: Context, actor: Actor, holderId: bigint, needed: boolean): Promise<RuleResult> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const holder = await lockHolder(tx, holderId);
    if (!needed) {
      if (!holder.payouts_need_approval) return 'saved';
      await requestChange(tx, actor, holderId, { kind: 'payout_approval_off' }, at);
      return 'requested';
    }
    await withdrawOpen(tx, actor, holderId, { kind: 'payout_approval_off' }, at);
    if (holder.payouts_need_approval) return 'saved';
    await tx.query('update holders set payouts_need_approval = true, updated_at = $2 where id = $1', [holderId, at]);
    await recordAudit(tx, { holderId, actor, action: 'holder.payout_approval', details: { needed } }, at);
    return 'saved';
  });
}

/** Sets up to which amount one person may refund alone. While the rule is on, a higher limit is a loosening. */
export function setRefundLimit(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  { currency, without_approval }: RefundLimit,
): Promise<RuleResult> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    const holder = await lockHolder(tx, holderId);
    const change = { kind: 'refund_limit', currency, without_approval } as const;
    const current = await refundLimitOf(tx, holderId, currency);
    await withdrawOpen(tx, actor, holderId, change, at);
    if (holder.payouts_need_approval && without_approval > current) {
      await requestChange(tx, actor, holderId, change, at);
      return 'requested';
    }
    await writeRefundLimit(tx, actor, holderId, change, at);
    return 'saved';
  });
}

async function requestChange(tx: Tx, actor: Actor, holderId: bigint, change: Loosening, at: Date): Promise<void> {
  if (actor.memberId === null)
    throw new Problem('forbidden', { message: 'Only an owner who is signed in can request this change.' });
  await requireOwner(tx, holderId, actor.memberId);
  const limit = change.kind === 'refund_limit' ? change : null;
  try {
    await tx.query(
      `insert into approval_rule_changes
         (holder_id, id, kind, currency, without_approval, requested_by, requested_by_member, requested_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        holderId,
        createHolderUuid(at.getTime(), holderId),
        change.kind,
        limit?.currency ?? null,
        limit?.without_approval ?? null,
        actor.name,
        actor.memberId,
        at,
      ],
    );
  } catch (error) {
    if (violatedConstraint(error) === 'rule_change_open_once')
      throw new Problem('forbidden', { message: 'This change was requested already. Another person must confirm it.' });
    throw error;
  }
  await recordAudit(tx, { holderId, actor, action: 'rule_change.requested', details: auditOf(change) }, at);
}

/** Locks the role: it is not taken away while its owner asks for something. */
async function requireOwner(tx: Tx, holderId: bigint, memberId: bigint): Promise<void> {
  const rows = await tx.query(
    `select from memberships where holder_id = $1 and member_id = $2 and role = 'owner' for share`,
    [holderId, memberId],
  );
  if (rows.length === 0) throw new Problem('forbidden', { message: 'Only an owner can request this change.' });
}

/** Ends the loosenings that a member asked for or confirmed: the member is no longer an owner. */
export async function withdrawChangesOf(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  memberId: bigint,
  at: Date,
): Promise<void> {
  const changes = await tx.query<RuleChange>(
    `update approval_rule_changes set withdrawn_by = $3, withdrawn_at = $4
     where holder_id = $1 and $2 in (requested_by_member, confirmed_by_member) and applied_at is null and withdrawn_at is null
     returning kind, currency, without_approval`,
    [holderId, memberId, actor.name, at],
  );
  for (const change of changes)
    await recordAudit(tx, { holderId, actor, action: 'rule_change.withdrawn', details: auditOf(change) }, at);
}

/** Tightening ends what was asked for in the other direction. */
async function withdrawOpen(tx: Tx, actor: Actor, holderId: bigint, change: Loosening, at: Date): Promise<void> {
  const currency = change.kind === 'refund_limit' ? change.currency : null;
  const rows = await tx.query(
    `update approval_rule_changes set withdrawn_by = $4, withdrawn_at = $5
     where holder_id = $1 and kind = $2 and currency is not distinct from $3 and applied_at is null and withdrawn_at is null
     returning 1`,
    [holderId, change.kind, currency, actor.name, at],
  );
  if (rows.length > 0)
    await recordAudit(tx, { holderId, actor, action: 'rule_change.withdrawn', details: auditOf(change) }, at);
}

/** Confirms a loosening: another owner or an admin. The database refuses the person who asked for it. */
export async function confirmRuleChange(ctx: Context, actor: Actor, holderId: bigint, id: string): Promise<void> {
  // The database's clock: with that of a process that is a day late, the change would hold at once.
  const at = await ctx.databaseTime.now();
  await ctx.db.transaction(async (tx) => {
    await lockHolder(tx, holderId);
    const [change] = isUuid(id) ? await confirmOnce(tx, actor, holderId, id, at) : [];
    if (!change)
      throw new Problem('not_found', {
        message: 'This change does not exist, or it was confirmed or withdrawn already.',
      });
    await recordAudit(tx, { holderId, actor, action: 'rule_change.confirmed', details: auditOf(change) }, at);
  });
}

async function confirmOnce(tx: Tx, actor: Actor, holderId: bigint, id: string, at: Date): Promise<RuleChange[]> {
  if (actor.memberId === null) throw new Problem('forbidden');
  try {
    return await tx.query<RuleChange>(
      `update approval_rule_changes set confirmed_by = $3, confirmed_by_member = $4, confirmed_at = $5, effective_at = $6
       where holder_id = $1 and id = $2 and confirmed_at is null and withdrawn_at is null
       returning kind, currency, without_approval`,
      [holderId, id, actor.name, actor.memberId, at, new Date(at.getTime() + DELAY_MS)],
    );
  } catch (error) {
    if (violatedConstraint(error) === 'rule_change_by_two_people')
      throw new Problem('forbidden', { message: 'You requested this change. Another person must confirm it.' });
    throw error;
  }
}

/** Withdraws a loosening that does not hold yet. Every owner may: it only keeps the rule as it is. */
export async function withdrawRuleChange(ctx: Context, actor: Actor, holderId: bigint, id: string): Promise<void> {
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    await lockHolder(tx, holderId);
    const [change] = isUuid(id)
      ? await tx.query<RuleChange>(
          `update approval_rule_changes set withdrawn_by = $3, withdrawn_at = $4
           where holder_id = $1 and id = $2 and applied_at is null and withdrawn_at is null
           returning kind, currency, without_approval`,
          [holderId, id, actor.name, at],
        )
      : [];
    if (!change) throw new Problem('not_found', { message: 'This change does not exist, or it applies already.' });
    await recordAudit(tx, { holderId, actor, action: 'rule_change.withdrawn', details: auditOf(change) }, at);
  });
}

/** After a restore: what was withdrawn after the backup waits again, so its day begins again. */
export async function restartRuleChanges(tx: Tx, at: Date): Promise<void> {
  await tx.query(
    `update approval_rule_changes set effective_at = $1
     where confirmed_at is not null and applied_at is null and withdrawn_at is null`,
    [new Date(at.getTime() + DELAY_MS)],
  );
}

/** Puts confirmed loosenings into force whose day is over. Returns how many. */
export async function applyRuleChanges(ctx: Context): Promise<number> {
  // The database's clock: a process whose clock is a day ahead must not loosen a rule at once.
  const at = await ctx.databaseTime.now();
  const due = await ctx.db.query<{ holder_id: bigint; id: string }>(
    `select holder_id, id from approval_rule_changes
     where effective_at <= $1 and applied_at is null and withdrawn_at is null order by effective_at limit ${BATCH_CHANGES}`,
    [at],
  );
  for (const { holder_id, id } of due) await applyRuleChange(ctx, holder_id, id, at);
  return due.length;
}

async function applyRuleChange(ctx: Context, holderId: bigint, id: string, at: Date): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    // The row of the holder is locked first, as in every other change of the rule.
    await tx.query('select from holders where id = $1 for no key update', [holderId]);
    const [change] = await tx.query<RuleChange>(
      `update approval_rule_changes set applied_at = $3
       where holder_id = $1 and id = $2 and applied_at is null and withdrawn_at is null
       returning kind, currency, without_approval, requested_by, confirmed_by`,
      [holderId, id, at],
    );
    if (!change) return;
    const actor = { memberId: null, name: `${change.requested_by}, ${change.confirmed_by}` };
    if (change.kind === 'refund_limit') {
      const limit = { currency: change.currency ?? '', without_approval: change.without_approval ?? 0n };
      await writeRefundLimit(tx, actor, holderId, limit, at);
      return;
    }
    await tx.query('update holders set payouts_need_approval = false, updated_at = $2 where id = $1', [holderId, at]);
    const details = { needed: false };
    await recordAudit(tx, { holderId, actor, action: 'holder.payout_approval', details }, at);
  });
}

async function writeRefundLimit(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  { currency, without_approval }: RefundLimit,
  at: Date,
): Promise<void> {
  await tx.query(
    `insert into refund_limits (holder_id, currency, without_approval, updated_at) values ($1, $2, $3, $4)
     on conflict (holder_id, currency)
     do update set without_approval = excluded.without_approval, updated_at = excluded.updated_at`,
    [holderId, currency, without_approval, at],
  );
  const details = { currency, without_approval: String(without_approval) };
  await recordAudit(tx, { holderId, actor, action: 'holder.refund_limit', details }, at);
}

function auditOf(change: Loosening | RuleChange): Record<string, unknown> {
  if (change.kind !== 'refund_limit') return { kind: change.kind };
  return { kind: change.kind, currency: change.currency, without_approval: String(change.without_approval) };
}
