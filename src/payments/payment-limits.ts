// Limits of a holder's day: amounts and counts of collections, payouts and refunds, of the whole holder, of one member and with
// one phone number; and numbers that are blocked. They are enforced in the transaction that writes the order: one row for
// each limit and day holds what was ordered, and is the lock, so orders at one moment count each other in every process.
// What a holder has no limit for costs nothing: the limits are cached.

import { type Actor, COMMAND_LINE, recordAudit } from '../holders/audit.ts';
import { findHolder } from '../holders/holders.ts';
import { findMemberByEmail } from '../holders/members.ts';
import { createCache } from '../platform/cache.ts';
import { DAY_MS } from '../platform/clock.ts';
import { columns } from '../platform/columns.ts';
import type { Context } from '../platform/context.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { gatherKeys } from '../platform/gather.ts';
import { NO_HOLDER } from '../platform/ids.ts';
import type { MaybeLater } from '../platform/known.ts';
import { formatAmount } from '../platform/money.ts';
import { addDays, dayIn, startOfDay } from '../platform/time-zones.ts';
import type { TransactionDirection } from './states.ts';
import { TRANSACTION_KEYS } from './transactions.ts';

const MAX_SHOWN = 500;
const KEPT_DAYS = 40;

export const LIMIT_SUBJECTS = ['holder', 'member', 'number'] as const;
export type LimitSubject = (typeof LIMIT_SUBJECTS)[number];
export type LimitSetter = 'gateway' | 'holder';

/** One limit of a day. At least one of amount and count is set. */
export type PaymentLimit = {
  direction: TransactionDirection;
  subject: LimitSubject;
  currency: string;
  set_by: LimitSetter;
  /** In hundredths. */
  day_amount: bigint | null;
  day_count: number | null;
  updated_by: string;
  updated_at: Date;
};

const COLUMNS = 'direction, subject, currency, set_by, day_amount, day_count, updated_by, updated_at';

/** Every limit of a holder. */
export function listLimits(reader: Reader, holderId: bigint): Promise<PaymentLimit[]> {
  return reader.query<PaymentLimit>(
    `select ${COLUMNS} from payment_limits where holder_id = $1
     order by direction, subject, currency, set_by limit ${MAX_SHOWN}`,
    [holderId],
  );
}

/** What is limited and blocked for one holder. */
export type LimitRules = { limits: PaymentLimit[]; hasBlocks: boolean; timeZone: string };

/** Undefined where nothing is limited, which is nearly everywhere. */
const rulesOf = createCache(gatherKeys(readRules));

async function readRules(
  ctx: Context,
  holderIds: bigint[],
): Promise<(LimitRules | undefined | Promise<LimitRules | undefined>)[]> {
  const limits = await ctx.db.query<PaymentLimit & { holder_id: bigint }>(
    {
      name: 'payment_limits_of_holders',
      text: `select holder_id, ${COLUMNS} from payment_limits where holder_id = any($1::bigint[])
             order by direction, subject, currency, set_by`,
    },
    [holderIds],
  );
  const blocks = await ctx.db.query<{ holder_id: bigint }>(
    {
      name: 'holders_with_blocked_numbers',
      text: `select holder_id from unnest($1::bigint[]) as asked (holder_id)
             where exists (select from blocked_numbers b where b.holder_id = asked.holder_id)`,
    },
    [[...holderIds, NO_HOLDER]],
  );
  const limitsOf = Map.groupBy(limits, (limit) => limit.holder_id);
  const blocked = new Set(blocks.map((row) => row.holder_id));
  return holderIds.map((holderId) => {
    const own = limitsOf.get(holderId) ?? [];
    const hasBlocks = blocked.has(NO_HOLDER) || blocked.has(holderId);
    if (own.length === 0 && !hasBlocks) return undefined;
    return findHolder(ctx.db, holderId).then((holder) => ({
      limits: own,
      hasBlocks,
      timeZone: holder?.time_zone ?? 'UTC',
    }));
  });
}

/** The limits of a holder, read before the transaction of an order; undefined: none. */
export function limitRules(ctx: Context, holderId: bigint): MaybeLater<LimitRules | undefined> {
  return rulesOf.get(ctx, holderId);
}

/** An order that is being written. */
export type LimitedPayment = { id: string; msisdn: string | null; amount: bigint; currency: string };

type Use = {
  subject: LimitSubject;
  subjectKey: string;
  currency: string;
  amount: bigint;
  count: number;
  payments: LimitedPayment[];
};

/**
 * Counts orders under the limits of their holder, or throws a Problem that names the limit and when it is free again. After the
 * ledger and the limits of the number: so these rows are locked last, by orders and by outcomes.
 */
export async function takeFromLimits(
  tx: Tx,
  ctx: Context,
  rules: LimitRules | undefined,
  orders: { holderId: bigint; direction: TransactionDirection; memberId: bigint | null; payments: LimitedPayment[] },
): Promise<void> {
  const { holderId, direction, payments } = orders;
  if (!rules) return;
  if (rules.hasBlocks) await refuseBlocked(tx, holderId, direction, payments);
  const limits = rules.limits.filter((limit) => limit.direction === direction);
  if (limits.length === 0) return;
  const day = dayIn(rules.timeZone, ctx.clock.now());
  const uses = usesOf(limits, payments, orders.memberId);
  if (uses.length === 0) return;
  const counted = await countUses(tx, holderId, direction, day, uses);
  for (const use of counted) {
    const broken = limits.find((limit) => isOver(limit, use));
    if (broken) throw limitReached(broken, startOfDay(rules.timeZone, addDays(day, 1)), direction);
  }
  await insertParts(tx, holderId, day, uses);
}

function isOver(limit: PaymentLimit, used: { subject: LimitSubject; currency: string; amount: bigint; count: number }) {
  if (limit.subject !== used.subject || limit.currency !== used.currency) return false;
  return (
    (limit.day_amount !== null && used.amount > limit.day_amount) ||
    (limit.day_count !== null && used.count > limit.day_count)
  );
}

/** What each limit must count of these orders, in one order, so that two batches cannot deadlock. */
function usesOf(limits: PaymentLimit[], payments: LimitedPayment[], memberId: bigint | null): Use[] {
  const uses = new Map<string, Use>();
  const limited = new Set(limits.map(({ subject, currency }) => `${subject} ${currency}`));
  for (const payment of payments)
    for (const subject of LIMIT_SUBJECTS) {
      const subjectKey = keyOf(subject, payment, memberId);
      if (subjectKey === null || !limited.has(`${subject} ${payment.currency}`)) continue;
      const key = `${subject} ${subjectKey} ${payment.currency}`;
      const known = uses.get(key);
      uses.set(key, {
        subject,
        subjectKey,
        currency: payment.currency,
        amount: payment.amount + (known?.amount ?? 0n),
        count: 1 + (known?.count ?? 0),
        payments: [...(known?.payments ?? []), payment],
      });
    }
  return [...uses.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use);
}

/** What an integration or the command line orders belongs to no member. */
function keyOf(subject: LimitSubject, { msisdn }: LimitedPayment, memberId: bigint | null): string | null {
  if (subject === 'holder') return '';
  return subject === 'member' ? (memberId?.toString() ?? null) : msisdn;
}

const USES = columns<Use>(4, {
  subject: 'text',
  subject_key: ['text', (use) => use.subjectKey],
  currency: 'text',
  amount: 'bigint',
  count: 'integer',
});

function countUses(tx: Tx, holderId: bigint, direction: string, day: string, uses: Use[]) {
  return tx.query<{ subject: LimitSubject; currency: string; amount: bigint; count: number }>(
    `insert into limit_uses as known (holder_id, direction, day, ${USES.names})
     select $1, $2, $3::date, ${USES.names} from ${USES.rows}
     order by subject, subject_key, currency
     on conflict (holder_id, direction, subject, subject_key, currency, day) do update
       set amount = known.amount + excluded.amount, count = known.count + excluded.count
     returning subject, currency, amount, count`,
    [holderId, direction, day, ...USES.arrays(uses)],
  );
}

const PARTS = columns<{ use: Use; payment: LimitedPayment }>(3, {
  transaction_id: ['uuid', ({ payment }) => payment.id],
  subject: ['text', ({ use }) => use.subject],
  subject_key: ['text', ({ use }) => use.subjectKey],
});

async function insertParts(tx: Tx, holderId: bigint, day: string, uses: Use[]): Promise<void> {
  const parts = uses.flatMap((use) => use.payments.map((payment) => ({ use, payment })));
  await tx.query(
    `insert into limit_parts (holder_id, day, ${PARTS.names}) select $1, $2::date, ${PARTS.names} from ${PARTS.rows}`,
    [holderId, day, ...PARTS.arrays(parts)],
  );
}

/** What failed no longer counts. These transactions are known to count. */
export async function giveBackLimits(
  tx: Tx,
  failed: (LimitedPayment & { direction: TransactionDirection })[],
): Promise<void> {
  // In the order of their numbers, so that two batches of outcomes wait for each other.
  const sorted = failed.toSorted((a, b) => ((a.msisdn ?? '') < (b.msisdn ?? '') ? -1 : 1));
  for (const { id, direction, amount, currency } of sorted)
    await tx.query(
      `with part as (
         delete from limit_parts p using ${TRANSACTION_KEYS.rows}
         where p.holder_id = input.holder_id and p.transaction_id = input.id returning p.*
       )
       update limit_uses u set amount = u.amount - $4, count = u.count - 1
       from (select * from part order by subject, subject_key) as part
       where u.holder_id = part.holder_id and u.direction = $3 and u.subject = part.subject
         and u.subject_key = part.subject_key and u.currency = $5 and u.day = part.day`,
      [...TRANSACTION_KEYS.arrays([id]), direction, amount, currency],
    );
}

const SUBJECT_NAMES: Record<LimitSubject, string> = {
  holder: 'this account',
  member: 'one member',
  number: 'one phone number',
};
const DIRECTION_NAMES: Record<TransactionDirection, string> = {
  collection: 'collections',
  payout: 'payouts',
  refund: 'refunds',
};

function limitReached(limit: PaymentLimit, freeAt: Date, direction: TransactionDirection): Problem {
  const most = [
    ...(limit.day_amount === null ? [] : [`${formatAmount(limit.day_amount)} ${limit.currency}`]),
    ...(limit.day_count === null ? [] : [`${limit.day_count} in number`]),
  ].join(' and ');
  const sentence =
    `The ${DIRECTION_NAMES[direction]} of ${SUBJECT_NAMES[limit.subject]} are limited to ${most} a day. ` +
    `The limit is free again at ${freeAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
  return new Problem('limit_reached', { errors: { amount: [sentence] }, ...messageOf(direction) });
}

/** Each operation refuses with its own message (contract, section 9). */
function messageOf(direction: TransactionDirection): { message?: string } {
  return direction === 'refund' ? { message: 'Refund was not created!' } : {};
}

async function refuseBlocked(
  tx: Tx,
  holderId: bigint,
  direction: TransactionDirection,
  payments: LimitedPayment[],
): Promise<void> {
  const numbers = payments.flatMap(({ msisdn }) => msisdn ?? []);
  const [blocked] = await tx.query<{ msisdn: string }>(
    'select msisdn from blocked_numbers where holder_id in ($1, $2) and msisdn = any ($3) limit 1',
    [holderId, NO_HOLDER, numbers],
  );
  if (!blocked) return;
  throw new BlockedNumberProblem(blocked.msisdn, direction);
}

/** Has the number: among the rows of a file people must know which one it is. */
export class BlockedNumberProblem extends Problem {
  readonly msisdn: string;

  constructor(msisdn: string, direction: TransactionDirection) {
    const sentence = `+${msisdn} is blocked. Nothing is asked of this number, and nothing is sent to it.`;
    super('number_blocked', { errors: { mobile: [sentence] }, ...messageOf(direction) });
    this.msisdn = msisdn;
  }
}

export type LimitChange = Pick<PaymentLimit, 'direction' | 'subject' | 'currency' | 'day_amount' | 'day_count'>;

/** Sets a limit; without an amount and a count it is removed. A holder can only be stricter than the gateway. */
export function setLimit(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  setBy: LimitSetter,
  change: LimitChange,
): Promise<void> {
  const at = ctx.clock.now();
  const { direction, subject, currency, day_amount: amount, day_count: count } = change;
  return ctx.db.transaction(async (tx) => {
    if (setBy === 'holder') await refuseLooser(tx, holderId, change);
    const isRemoved = amount === null && count === null;
    try {
      if (isRemoved)
        await tx.query(
          `delete from payment_limits
           where holder_id = $1 and direction = $2 and subject = $3 and currency = $4 and set_by = $5`,
          [holderId, direction, subject, currency, setBy],
        );
      else
        await tx.query(
          `insert into payment_limits (holder_id, direction, subject, currency, set_by, day_amount, day_count, updated_by, updated_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
           on conflict (holder_id, direction, subject, currency, set_by) do update set day_amount = excluded.day_amount,
             day_count = excluded.day_count, updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
          [holderId, direction, subject, currency, setBy, amount, count, actor.name, at],
        );
    } catch (error) {
      if (violatedConstraint(error) !== 'limit_of_members') throw error;
      throw new Problem('invalid_params', { errors: { subject: ['Collections belong to no member.'] } });
    }
    await recordAudit(
      tx,
      {
        holderId,
        actor,
        action: isRemoved ? 'limit.removed' : 'limit.set',
        subject: `${direction} ${subject} ${currency}`,
        details: {
          setBy,
          ...(amount === null ? {} : { amount: String(amount) }),
          ...(count === null ? {} : { count }),
        },
      },
      at,
    );
  });
}

async function refuseLooser(tx: Tx, holderId: bigint, change: LimitChange): Promise<void> {
  const limits = await listLimits(tx, holderId);
  const ofGateway = limits.find(
    (limit) =>
      limit.set_by === 'gateway' &&
      limit.direction === change.direction &&
      limit.subject === change.subject &&
      limit.currency === change.currency,
  );
  const errors: Record<string, string[]> = {};
  const { day_amount: amount = null, day_count: count = null } = ofGateway ?? {};
  if (amount !== null && change.day_amount !== null && change.day_amount > amount)
    errors.amount = [`The gateway allows ${formatAmount(amount)} ${change.currency} a day. Enter at most that.`];
  if (count !== null && change.day_count !== null && change.day_count > count)
    errors.count = [`The gateway allows ${count} a day. Enter at most that.`];
  if (Object.keys(errors).length > 0) throw new Problem('invalid_params', { errors });
}

export type BlockedNumber = {
  holder_id: bigint;
  msisdn: string;
  reason: string;
  added_by: string;
  added_at: Date;
  /** What the gateway has blocked for a holder only an administrator ends. Null: written by a version that did not say. */
  set_by: LimitSetter | null;
};

/** Numbers that a holder, or (NO_HOLDER) the gateway for all of them, has blocked; the newest first. */
export function listBlockedNumbers(reader: Reader, holderId: bigint): Promise<BlockedNumber[]> {
  return reader.query<BlockedNumber>(
    `select holder_id, msisdn, reason, added_by, added_at, set_by from blocked_numbers where holder_id = $1
     order by added_at desc, msisdn limit ${MAX_SHOWN}`,
    [holderId],
  );
}

/** Blocks a number. What the gateway has blocked for a holder stays as it is when the holder blocks it too. */
export function blockNumber(
  ctx: Context,
  actor: Actor,
  holderId: bigint,
  blocked: { msisdn: string; reason: string },
): Promise<void> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    if (await isOutOfReach(tx, actor, holderId, blocked.msisdn)) return;
    const setBy: LimitSetter = (await isOfGateway(tx, actor.name)) ? 'gateway' : 'holder';
    try {
      await tx.query(
        `insert into blocked_numbers (holder_id, msisdn, reason, added_by, added_at, set_by) values ($1, $2, $3, $4, $5, $6)
         on conflict (holder_id, msisdn) do update
           set reason = excluded.reason, added_by = excluded.added_by, set_by = excluded.set_by`,
        [holderId, blocked.msisdn, blocked.reason, actor.name, at, setBy],
      );
    } catch (error) {
      switch (violatedConstraint(error)) {
        case 'blocked_number_form':
          throw new Problem('invalid_params', {
            errors: { mobile: ['Write the number with its country, as 256772123456.'] },
          });
        case 'blocked_reason_length':
          throw new Problem('invalid_params', { errors: { reason: ['Write a reason of 1 to 200 characters.'] } });
        default:
          throw error;
      }
    }
    await auditNumber(tx, actor, holderId, 'number.blocked', blocked.msisdn, at);
  });
}

/** Whether the gateway blocked this number for the holder, and the actor is not of the gateway: it restrains the holder. */
async function isOutOfReach(tx: Tx, actor: Actor, holderId: bigint, msisdn: string): Promise<boolean> {
  const [row] = await tx.query<Pick<BlockedNumber, 'added_by' | 'set_by'>>(
    'select added_by, set_by from blocked_numbers where holder_id = $1 and msisdn = $2 for update',
    [holderId, msisdn],
  );
  if (row === undefined || (await isOfGateway(tx, actor.name))) return false;
  return row.set_by === null ? isOfGateway(tx, row.added_by) : row.set_by === 'gateway';
}

async function isOfGateway(tx: Tx, name: string): Promise<boolean> {
  return name === COMMAND_LINE.name || (await findMemberByEmail(tx, name))?.is_admin === true;
}

/** Returns false when the number was not blocked. */
export function unblockNumber(ctx: Context, actor: Actor, holderId: bigint, msisdn: string): Promise<boolean> {
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    if (await isOutOfReach(tx, actor, holderId, msisdn))
      throw new Problem('forbidden', {
        message: 'The gateway blocked this number. Only an administrator can take it off the list.',
      });
    const rows = await tx.query('delete from blocked_numbers where holder_id = $1 and msisdn = $2 returning 1', [
      holderId,
      msisdn,
    ]);
    if (rows.length === 0) return false;
    await auditNumber(tx, actor, holderId, 'number.unblocked', msisdn, at);
    return true;
  });
}

function auditNumber(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  action: 'number.blocked' | 'number.unblocked',
  msisdn: string,
  at: Date,
): Promise<void> {
  return recordAudit(
    tx,
    { holderId: holderId === NO_HOLDER ? null : holderId, actor, action, subject: `+${msisdn}` },
    at,
  );
}

/** Forgets days that are long over. Returns how many rows. */
export async function purgeLimitUses(ctx: Context): Promise<number> {
  const before = new Date((await ctx.databaseTime.now()).getTime() - KEPT_DAYS * DAY_MS);
  const parts = await ctx.db.query('delete from limit_parts where day < $1::date returning 1', [before]);
  const uses = await ctx.db.query('delete from limit_uses where day < $1::date returning 1', [before]);
  return parts.length + uses.length;
}
