// Where the money of a wallet goes and when: a bank account or a number of mobile money, and a schedule. A destination takes money a
// day after it was set: who has taken over an account cannot send its money away before its owners can see it.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { readPayout } from '../payments/payout-requests.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { collectFieldErrors, Problem } from '../platform/errors.ts';
import { formatAmount, LARGEST_AMOUNT } from '../platform/money.ts';
import { addDays, dayIn, startOfDay } from '../platform/time-zones.ts';
import { maskedNumber } from './bank-accounts.ts';

const WAITS_MS = DAY_MS;
const MAX_TEXT = 120;
const ACCOUNT = /^[A-Za-z0-9][A-Za-z0-9 -]{2,38}[A-Za-z0-9]$/;
const BRANCH = /^[A-Za-z0-9 .-]{0,40}$/;
const CURRENCY = /^[A-Z]{3}$/;
const SUNDAY = 7;

export const SCHEDULES = ['none', 'daily', 'weekly', 'monthly'] as const;
export type Schedule = (typeof SCHEDULES)[number];

type BankDestination = {
  readonly kind: 'bank';
  readonly bank: string;
  /** The code of the bank or its branch, or a SWIFT code; may be empty. */
  readonly branch: string;
  readonly account: string;
  readonly name: string;
};
export type MobileDestination = {
  readonly kind: 'mobile';
  readonly mobile: string;
  readonly method: string;
  readonly name: string;
};
export type Destination = BankDestination | MobileDestination;

export type SettlementRule = {
  holder_id: bigint;
  currency: string;
  destination: Destination;
  schedule: Schedule;
  /** Of a weekly one: 1 is Monday. */
  weekday: number | null;
  minimum: bigint;
  /** The destination takes no money before this. */
  usable_from: Date;
  next_at: Date | null;
  /** Who set the destination; the audit log also has who changed the rest. */
  updated_by: string;
  updated_at: Date;
};

const COLUMNS = `holder_id, currency, destination, schedule, weekday, minimum, usable_from, next_at, updated_by, updated_at`;

/** As a person gives it. The method of a number may be left out where the number tells it. */
export type SettlementRuleRequest = {
  currency: string;
  destination: BankDestination | { kind: 'mobile'; mobile: string; method?: string | undefined; name: string };
  schedule: Schedule;
  weekday: number | null;
  minimum: bigint;
};

export function listSettlementRules(reader: Reader, holderId: bigint): Promise<SettlementRule[]> {
  return reader.query<SettlementRule>(
    `select ${COLUMNS} from settlement_rules where holder_id = $1 order by currency`,
    [holderId],
  );
}

/** With `locked` nobody else changes it, or settles by it, until the transaction ends. */
export async function findSettlementRule(
  reader: Reader,
  holderId: bigint,
  currency: string,
  locked?: 'locked',
): Promise<SettlementRule | null> {
  const [row] = await reader.query<SettlementRule>(
    `select ${COLUMNS} from settlement_rules where holder_id = $1 and currency = $2 ${locked ? 'for update' : ''}`,
    [holderId, currency],
  );
  return row ?? null;
}

/** `written` is called in the same transaction. */
export async function setSettlementRule(
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  request: SettlementRuleRequest,
  written?: (tx: Tx, rule: SettlementRule) => Promise<void>,
): Promise<SettlementRule> {
  const destination = await checkRule(ctx, holderId, request);
  const { currency, schedule, minimum } = request;
  const weekday = schedule === 'weekly' ? (request.weekday ?? SUNDAY) : null;
  return await ctx.db.transaction(async (tx) => {
    const holder = await requireActiveHolder(tx, holderId);
    const known = await findSettlementRule(tx, holderId, currency, 'locked');
    const at = ctx.clock.now();
    const isSame = known !== null && JSON.stringify(textOf(known.destination)) === JSON.stringify(textOf(destination));
    const rule: SettlementRule = {
      holder_id: holderId,
      currency,
      destination,
      schedule,
      weekday,
      minimum,
      usable_from: isSame ? known.usable_from : new Date(at.getTime() + WAITS_MS),
      next_at: nextSettlement({ schedule, weekday }, holder.time_zone, at),
      updated_by: isSame ? known.updated_by : actor.name,
      updated_at: at,
    };
    await writeRule(tx, rule);
    const details = { destination: describeDestination(destination), schedule, minimum: formatAmount(minimum) };
    await recordAudit(tx, { holderId, actor, action: 'settlement.rule_changed', subject: currency, details }, at);
    await written?.(tx, rule);
    return rule;
  });
}

/** The parts in one order: jsonb keeps its own. */
const textOf = (destination: Destination) => Object.entries(destination).sort(([a], [b]) => (a < b ? -1 : 1));

async function writeRule(tx: Tx, rule: SettlementRule): Promise<void> {
  await tx.query(
    `insert into settlement_rules (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (holder_id, currency) do update set destination = excluded.destination, schedule = excluded.schedule,
       weekday = excluded.weekday, minimum = excluded.minimum, usable_from = excluded.usable_from, next_at = excluded.next_at,
       updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
    [
      rule.holder_id,
      rule.currency,
      JSON.stringify(rule.destination),
      rule.schedule,
      rule.weekday,
      rule.minimum,
      rule.usable_from,
      rule.next_at,
      rule.updated_by,
      rule.updated_at,
    ],
  );
}

async function checkRule(ctx: PaymentsContext, holderId: bigint, request: SettlementRuleRequest): Promise<Destination> {
  const errors = collectFieldErrors();
  const { currency, destination, weekday, minimum } = request;
  if (!CURRENCY.test(currency)) errors.add('currency', 'A currency has three letters, for instance KES.');
  if (weekday !== null && !(weekday >= 1 && weekday <= SUNDAY))
    errors.add('weekday', 'A day of the week is a number from 1, Monday, to 7.');
  if (minimum < 0n || minimum > LARGEST_AMOUNT) errors.add('minimum', 'The minimum must be zero or more.');
  const text = (field: string, value: string, least: number) => {
    const length = Array.from(value).length;
    if (length < least || length > MAX_TEXT) errors.add(field, `Between ${least} and ${MAX_TEXT} characters.`);
  };
  text('name', destination.name, 2);
  if (destination.kind === 'mobile') {
    const found = await findMobile(ctx, holderId, currency, destination);
    if ('errors' in found) for (const [field, sentence] of found.errors) errors.add(field, sentence);
    if (errors.any() || 'errors' in found) throw new Problem('invalid_params', { errors: errors.errors });
    return found;
  }
  text('bank', destination.bank, 2);
  if (!ACCOUNT.test(destination.account))
    errors.add('account', 'An account number has 4 to 40 letters, digits, spaces and dashes.');
  if (!BRANCH.test(destination.branch)) errors.add('branch', 'At most 40 letters, digits, spaces and dashes.');
  if (errors.any()) throw new Problem('invalid_params', { errors: errors.errors });
  const { kind, bank, branch, account, name } = destination;
  return { kind, bank, branch, account, name };
}

type Unusable = { errors: [field: string, sentence: string][] };

/** Finds the method of the number by asking whether its smallest payout could be made. */
async function findMobile(
  ctx: PaymentsContext,
  holderId: bigint,
  currency: string,
  { mobile, method: wanted, name }: { mobile: string; method?: string | undefined; name: string },
): Promise<MobileDestination | Unusable> {
  let refused: Unusable = { errors: [['currency', `No method pays out in ${currency}.`]] };
  for (const method of ctx.catalog.methods.values()) {
    if (method.currency !== currency || !method.payout || (wanted && method.code !== wanted)) continue;
    const amount = formatAmount(method.payout.min);
    const reading = await readPayout(ctx, holderId, { amount, currency, mobile, method: wanted || undefined });
    if (reading.ok) return { kind: 'mobile', mobile: reading.order.msisdn, method: reading.order.method.code, name };
    const errors = Object.entries(reading.errors).filter(([field]) => field !== 'amount');
    if (errors.length > 0) refused = { errors: errors.map(([field, [sentence]]) => [field, sentence ?? '']) };
  }
  return refused;
}

/** For people who read the audit log or a list: the number of an account only in part. */
export function describeDestination(destination: Destination): string {
  if (destination.kind === 'mobile') return `${destination.mobile} (${destination.method})`;
  return `${destination.bank} ${maskedNumber(destination.account)}`;
}

/** The start of the next day of the schedule, in the holder's zone; null without one. */
export function nextSettlement(
  { schedule, weekday }: Pick<SettlementRule, 'schedule' | 'weekday'>,
  zone: string,
  after: Date,
): Date | null {
  if (schedule === 'none') return null;
  let day = addDays(dayIn(zone, after), 1);
  while (!isDayOf(schedule, weekday, day)) day = addDays(day, 1);
  return startOfDay(zone, day);
}

function isDayOf(schedule: Schedule, weekday: number | null, day: string): boolean {
  if (schedule === 'monthly') return day.endsWith('-01');
  if (schedule === 'weekly') return (new Date(`${day}T00:00:00Z`).getUTCDay() || SUNDAY) === weekday;
  return true;
}

/** Due rules, the longest first. */
export function listDueRules(reader: Reader, now: Date, limit: number): Promise<SettlementRule[]> {
  return reader.query<SettlementRule>(
    `select ${COLUMNS} from settlement_rules where next_at <= $1 and usable_from <= $1 order by next_at, holder_id, currency limit $2`,
    [now, limit],
  );
}

/** The schedule goes on, unless somebody has changed it meanwhile. A time that was set by hand may have microseconds; ours has none. */
export async function advanceRule(tx: Tx, rule: SettlementRule, next: Date | null): Promise<void> {
  await tx.query(
    `update settlement_rules set next_at = $4
     where holder_id = $1 and currency = $2 and date_trunc('milliseconds', next_at) = $3 and schedule <> $5`,
    [rule.holder_id, rule.currency, rule.next_at, next, 'none'],
  );
}
