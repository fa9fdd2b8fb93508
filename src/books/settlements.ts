// Settlements: what a wallet may give, less what its holder owes, taken once for each period. To a bank the money leaves the wallet
// at once and staff transfer it (settlement-decisions.ts); to a number it is an ordinary payout. Held and disputed money stays: it is
// not available.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import { findMemberByEmail } from '../holders/members.ts';
import { lockAccounts } from '../ledger/accounts.ts';
import { accountKey, disputeShortfall, holderReceivable, walletAvailable } from '../ledger/chart.ts';
import { post } from '../ledger/ledger.ts';
import { requireHistory } from '../ledger/lost-history.ts';
import { settlementTaken } from '../ledger/postings.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { feeFor } from '../payments/fees.ts';
import { type PayoutOrder, readPayout } from '../payments/payout-requests.ts';
import { orderPayouts } from '../payments/payouts.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { createHolderUuid } from '../platform/ids.ts';
import { formatAmount, lesserOf } from '../platform/money.ts';
import { decimalsOf } from './merchant-statements.ts';
import {
  countPeriods,
  findSettlementOf,
  insertSettlement,
  type NewSettlement,
  type Settlement,
  settlementRef,
} from './settlement-rows.ts';
import { findSettlementRule, type MobileDestination, type SettlementRule } from './settlement-rules.ts';

export type SettlementRequest = {
  holderId: bigint;
  currency: string;
  /** One settlement for each. */
  period: string;
  /** Left out: all that can be settled, if that is the minimum of the rule or more. */
  amount?: bigint | undefined;
  /** A further settlement of this period is meant. */
  again?: boolean;
};

/** What can leave a wallet now. */
export type Settleable = { available: bigint; owed: bigint; amount: bigint };

export type SettlementResult =
  | { outcome: 'taken' | 'known'; settlement: Settlement }
  | { outcome: 'too_little'; settleable: Settleable; minimum: bigint };

type Waker = Pick<PaymentEngine, 'wake'>;

/** Takes a settlement. The same period again finds the one that exists, whatever became of the process in between. */
export async function takeSettlement(
  ctx: PaymentsContext,
  engine: Waker,
  actor: Actor,
  request: SettlementRequest,
): Promise<SettlementResult> {
  const { holderId, currency } = request;
  await requireHistory(ctx);
  const rule = await findSettlementRule(ctx.db, holderId, currency);
  if (!rule) throw invalid(`No destination is set for the settlement of ${currency}.`);
  const result =
    rule.destination.kind === 'bank'
      ? await ctx.db.transaction((tx) => takeForBank(tx, ctx, actor, request))
      : await takeForMobile(ctx, engine, actor, request, { ...rule, destination: rule.destination });
  failpoint('settlement-taken');
  return result;
}

const invalid = (message: string) => new Problem('invalid_params', { message });

/**
 * The rule is locked from here on: two runs for one wallet come one after the other, and the destination that is used has waited its
 * day.
 */
async function openPeriod(
  tx: Tx,
  { clock }: Pick<PaymentsContext, 'clock'>,
  { holderId, currency, period, again }: SettlementRequest,
): Promise<{ rule: SettlementRule; period: string; known: Settlement | null }> {
  await requireActiveHolder(tx, holderId);
  const rule = await findSettlementRule(tx, holderId, currency, 'locked');
  if (!rule) throw invalid(`No destination is set for the settlement of ${currency}.`);
  if (rule.usable_from > clock.now())
    throw invalid(`The destination was changed: it takes money from ${rule.usable_from.toISOString()} on.`);
  if (again) {
    const count = await countPeriods(tx, holderId, currency, period);
    return { rule, period: count === 0 ? period : `${period}-${count + 1}`, known: null };
  }
  return { rule, period, known: await findSettlementOf(tx, holderId, currency, period) };
}

async function takeForBank(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  request: SettlementRequest,
): Promise<SettlementResult> {
  const { rule, period, known } = await openPeriod(tx, ctx, request);
  if (known) return { outcome: 'known', settlement: known };
  const { holderId, currency } = request;
  const at = ctx.clock.now();
  const settleable = await lockSettleable(tx, holderId, currency, at);
  const amount = chooseAmount(request, rule, settleable, 10n ** BigInt(2 - decimalsOf(currency)));
  if (amount === null) return { outcome: 'too_little', settleable, minimum: rule.minimum };
  const id = createHolderUuid(at.getTime(), holderId);
  const [posted] = await post(tx, settlementTaken({ holderId, transactionId: id, currency, amount }), at);
  const settlement = await writeSettlement(tx, actor, {
    holder_id: holderId,
    id,
    currency,
    period,
    amount,
    owed: settleable.owed,
    destination: rule.destination,
    transaction_id: null,
    taken_by: actor.name,
    taken_at: posted?.postedAt ?? at,
  });
  return { outcome: 'taken', settlement };
}

async function writeSettlement(tx: Tx, actor: Actor, row: NewSettlement): Promise<Settlement> {
  const settlement = await insertSettlement(tx, row);
  const { holder_id: holderId, currency, period } = row;
  const details = { amount: formatAmount(row.amount), currency, period };
  const entry = { holderId, actor, action: 'settlement.taken', subject: settlementRef(row), details } as const;
  await recordAudit(tx, entry, row.taken_at);
  failpoint('settlement-taking');
  return settlement;
}

/** Locks the wallet and what depends on it. */
async function lockSettleable(tx: Tx, holderId: bigint, currency: string, at: Date): Promise<Settleable> {
  const accounts = await lockAccounts(tx, [walletAvailable(holderId, currency)], at);
  const balance = (of: typeof walletAvailable | typeof holderReceivable) =>
    accounts.get(accountKey(of(holderId, currency)))?.balance ?? 0n;
  const available = balance(walletAvailable);
  const owed = -balance(holderReceivable) - balance(disputeShortfall);
  return { available, owed, amount: available > owed ? available - owed : 0n };
}

/** Null: there is too little. `unit` is the smallest money that can be sent. */
function chooseAmount(
  { amount: wanted }: SettlementRequest,
  { minimum }: SettlementRule,
  { amount: most }: Settleable,
  unit: bigint,
): bigint | null {
  if (wanted === undefined) {
    const whole = most - (most % unit);
    return whole > 0n && whole >= minimum ? whole : null;
  }
  if (wanted <= 0n || wanted % unit !== 0n) throw invalid('This amount cannot be sent.');
  if (wanted > most) throw new Problem('overdraft');
  return wanted;
}

/** The period has its settlement already. */
class KnownSettlementError extends Error {
  readonly settlement: Settlement;
  constructor(settlement: Settlement) {
    super('the period is settled');
    this.settlement = settlement;
  }
}

async function takeForMobile(
  ctx: PaymentsContext,
  engine: Waker,
  actor: Actor,
  request: SettlementRequest,
  { destination, updated_by: setBy }: SettlementRule & { destination: MobileDestination },
): Promise<SettlementResult> {
  const { holderId, currency } = request;
  // Who set the number decided where the money goes, so it takes another person to approve it.
  const wantedBy = (await findMemberByEmail(ctx.db, setBy))?.id ?? null;
  const planned = await planPayout(ctx, request, destination);
  if (planned.outcome !== 'planned') return planned;
  const { order, owed } = planned;
  let opened: { period: string } | null = null;
  const taken: Settlement[] = [];
  try {
    const [result] = await orderPayouts(ctx, engine, actor, holderId, [order], {
      wantedBy,
      async within(tx) {
        const { rule, period, known } = await openPeriod(tx, ctx, request);
        if (known) throw new KnownSettlementError(known);
        const isSame = rule.destination.kind === 'mobile' && rule.destination.mobile === destination.mobile;
        if (!isSame || rule.updated_by !== setBy) throw invalid('The destination was changed meanwhile.');
        opened = { period };
      },
      async written(tx, [payout]) {
        if (!payout || !opened) throw new Error('a settlement was ordered without its payout');
        // The wallet is locked now: what it owes must still be in it.
        const left = await lockSettleable(tx, holderId, currency, payout.created_at);
        if (left.available < left.owed) throw new Problem('overdraft');
        const row = {
          holder_id: holderId,
          id: createHolderUuid(payout.created_at.getTime(), holderId),
          currency,
          period: opened.period,
          amount: payout.amount,
          owed,
          destination,
          transaction_id: payout.id,
          taken_by: actor.name,
          taken_at: payout.created_at,
        };
        taken.push(await writeSettlement(tx, actor, row));
      },
    });
    const [settlement] = taken;
    if (!result?.ok || !settlement) throw new Problem('overdraft');
    return { outcome: 'taken', settlement };
  } catch (error) {
    if (error instanceof KnownSettlementError) return { outcome: 'known', settlement: error.settlement };
    throw error;
  }
}

type PlannedPayout = { outcome: 'planned'; order: PayoutOrder; owed: bigint };

/** The largest payout that the wallet covers together with its fee, within the limits of the method. */
async function planPayout(
  ctx: PaymentsContext,
  request: SettlementRequest,
  destination: MobileDestination,
): Promise<PlannedPayout | SettlementResult> {
  const { holderId, currency } = request;
  const method = ctx.catalog.methods.get(destination.method);
  const terms = method?.payout;
  if (!method || !terms) throw invalid(`${destination.method} does not pay out.`);
  const unit = 10n ** BigInt(2 - terms.decimals);
  const whole = (amount: bigint) => (amount > 0n ? amount - (amount % unit) : 0n);
  const { rule, known, settleable } = await ctx.db.transaction(async (tx) => ({
    ...(await openPeriod(tx, ctx, request)),
    settleable: await lockSettleable(tx, holderId, currency, ctx.clock.now()),
  }));
  if (known) return { outcome: 'known', settlement: known };
  const most = whole(lesserOf(settleable.amount, terms.max));
  const highestFee = await feeFor(ctx, holderId, method, 'payout', most);
  const covered = most + highestFee <= settleable.amount ? most : whole(settleable.amount - highestFee);
  const amount = chooseAmount(request, rule, { ...settleable, amount: covered }, unit);
  if (amount === null || amount < terms.min) return { outcome: 'too_little', settleable, minimum: rule.minimum };
  const reading = await readPayout(ctx, holderId, {
    amount: formatAmount(amount),
    currency,
    mobile: destination.mobile,
    method: destination.method,
    payee: destination.name,
    detail: `Settlement ${request.period}`,
  });
  if (!reading.ok) throw new Problem('invalid_params', { errors: reading.errors });
  return { outcome: 'planned', order: reading.order, owed: settleable.owed };
}
