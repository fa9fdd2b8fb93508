// Orders payouts: money from a holder's wallet to a payee. The money is reserved in the ledger when the payout is ordered.
// It is approved by a second member if the holder requires that, sent at most once, and then posted or released as the
// operator reports.

import { type Actor, recordAudits } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import { findActiveIntegration, type Integration } from '../holders/integrations.ts';
import { postEach } from '../ledger/ledger.ts';
import { requireHistory } from '../ledger/lost-history.ts';
import { payoutReserved, type Transfer } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Tx } from '../platform/db.ts';
import { createHolderUuid } from '../platform/ids.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { type LimitRules, limitRules, takeFromLimits } from './payment-limits.ts';
import type { PayoutOrder } from './payout-requests.ts';
import { ALL_REPEATS, refuseRepeats } from './similar-payouts.ts';
import { newTransaction, refOf, TRANSACTION_TYPES, type Transaction } from './transactions.ts';

/** Payouts written by one statement. */
const GROUP_SIZE = 500;

export type PayoutResult =
  | { ok: true; transaction: Transaction; waitsForApproval: boolean }
  | { ok: false; reason: 'overdraft' };

type OrderOptions = {
  /** The repetitions that a person has seen and means: repeatsKey or ALL_REPEATS. Absent: all, as nobody was shown any. */
  confirmedRepeats?: string;
  /** Written in the same transaction. If it throws, nothing is ordered. */
  within?: (tx: Tx) => Promise<void>;
  /** Called with the payouts that were written, in the same transaction. */
  written?: (tx: Tx, payouts: readonly Transaction[]) => Promise<void>;
  /** The member whose wish is carried out, and who cannot approve it, where that is not who orders. */
  wantedBy?: bigint | null;
};

/**
 * Orders payouts, all in one transaction. Each payout is reserved in the ledger or refused for lack of money; the others
 * are not affected. A file is ordered with orderPayoutFile.
 */
export async function orderPayouts(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'wake'>,
  actor: Actor,
  holderId: bigint,
  orders: PayoutOrder[],
  options: OrderOptions = {},
): Promise<PayoutResult[]> {
  await requireHistory(ctx);
  let results: PayoutResult[];
  try {
    const rules = await limitRules(ctx, holderId);
    results = await ctx.db.transaction((tx) => writeOrders(tx, ctx, actor, holderId, orders, { ...options, rules }));
  } catch (error) {
    if (!(error instanceof NothingCoveredError)) throw error;
    return orders.map(() => ({ ok: false, reason: 'overdraft' }));
  }
  engine.wake();
  return results;
}

/** The wallet covers none of the payouts. Rolls back what `within` wrote: a form that ordered nothing can be sent again. */
class NothingCoveredError extends Error {}

async function writeOrders(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  orders: readonly PayoutOrder[],
  options: OrderOptions & { rules: LimitRules | undefined },
): Promise<PayoutResult[]> {
  const { payouts_need_approval: needsApproval } = await requireActiveHolder(tx, holderId);
  await options.within?.(tx);
  const at = ctx.clock.now();
  const rows = orders.map((order) => ({ line: null, order }));
  const planned = planPayouts(holderId, rows, at);
  // The ledger first: a payout that the wallet cannot cover is refused before its row exists.
  const posted = await postEach(
    tx,
    planned.map(({ transfers }) => transfers),
    at,
  );
  const covered = planned.flatMap((plan, index) => {
    const result = posted[index];
    return result?.ok ? [{ ...plan, balance: result.transfers[0]?.debitBalance ?? null }] : [];
  });
  if (covered.length === 0) throw new NothingCoveredError('the wallet covers none of the payouts');
  await takeForPayouts(tx, ctx, options.rules, actor, holderId, covered);
  await refuseRepeats(tx, ctx, holderId, orders, options.confirmedRepeats ?? ALL_REPEATS);
  const { wantedBy = null } = options;
  const written = await writePayouts(tx, actor, holderId, covered, { batchId: null, needsApproval, at, wantedBy });
  await options.written?.(tx, written);
  const byId = new Map(written.map((row) => [row.id, row]));
  return planned.map(({ id }): PayoutResult => {
    const transaction = byId.get(id);
    return transaction
      ? { ok: true, transaction, waitsForApproval: needsApproval }
      : { ok: false, reason: 'overdraft' };
  });
}

/** A payout and, if it is in a file, its row there. */
export type PayoutFileRow = { line: number | null; order: PayoutOrder };
type PlannedPayout = PayoutFileRow & { id: string; transfers: Transfer[] };

/** The ids and the transfers that payouts will have. */
export function planPayouts(holderId: bigint, rows: readonly PayoutFileRow[], at: Date): PlannedPayout[] {
  return rows.map((row) => {
    const id = createHolderUuid(at.getTime(), holderId);
    const { amount, fee, method } = row.order;
    const fact = { transactionId: id, holderId, currency: method.currency, amount, fee };
    return { ...row, id, transfers: payoutReserved(fact) };
  });
}

/** Payouts count under the limits of their holder and of the member who orders them. */
export function takeForPayouts(
  tx: Tx,
  ctx: PaymentsContext,
  rules: LimitRules | undefined,
  actor: Actor,
  holderId: bigint,
  payouts: readonly PlannedPayout[],
): Promise<void> {
  const payments = payouts.map(({ id, order: { msisdn, amount, method } }) => ({
    id,
    msisdn,
    amount,
    currency: method.currency,
  }));
  return takeFromLimits(tx, ctx, rules, { holderId, direction: 'payout', memberId: actor.memberId, payments });
}

type CoveredPayout = PlannedPayout & { balance: bigint | null };
type OrderFacts = { batchId: string | null; needsApproval: boolean; at: Date; wantedBy?: bigint | null };

/** Writes payouts whose money is reserved, with their orders and jobs. */
export async function writePayouts(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  payouts: readonly CoveredPayout[],
  given: OrderFacts,
): Promise<Transaction[]> {
  const integration = await findActiveIntegration(tx, holderId);
  const rows = payouts.map(
    ({ id, line, order, balance }): PayoutInsert => ({
      ...orderedTransaction(order, { id, holderId, balance, integration, at: given.at }),
      line,
    }),
  );
  for (let from = 0; from < rows.length; from += GROUP_SIZE)
    await insertPayouts(tx, actor, rows.slice(from, from + GROUP_SIZE), given);
  return rows;
}

type PayoutInsert = Transaction & { line: number | null };

const PAYOUTS = columns<PayoutInsert>(6, { ...TRANSACTION_TYPES, line: 'integer' });
const TRANSACTION_NAMES = Object.keys(TRANSACTION_TYPES).join(', ');

// A payout that waits for approval has no job, so it cannot be sent.
const INSERT_PAYOUTS = `
  with input as materialized (
    select * from ${PAYOUTS.rows}
  ), ordered as (
    insert into payout_orders (holder_id, transaction_id, batch_id, line, approval, created_by, created_by_member)
    select holder_id, id, $2, line, $3, $4, $5 from input
  ), queued as (
    insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
    select holder_id, id, 'submit', $1, $1 from input where $3 = 'not_needed'
  ), written as (
    insert into transactions (${TRANSACTION_NAMES}) select ${TRANSACTION_NAMES} from input returning 1
  )
  select count(*) from written`;

async function insertPayouts(
  tx: Tx,
  actor: Actor,
  rows: PayoutInsert[],
  { batchId, needsApproval, at, wantedBy }: OrderFacts,
): Promise<void> {
  const approval = needsApproval ? 'waiting' : 'not_needed';
  const memberId = actor.memberId ?? wantedBy ?? null;
  await tx.query(INSERT_PAYOUTS, [at, batchId, approval, actor.name, memberId, ...PAYOUTS.arrays(rows)]);
  await recordAudits(
    tx,
    rows.map((row) => ({
      holderId: row.holder_id,
      actor,
      action: 'payout.created',
      subject: refOf(row),
      details: { amount: String(row.amount), currency: row.currency },
    })),
    at,
  );
}

function orderedTransaction(
  order: PayoutOrder,
  given: { id: string; holderId: bigint; balance: bigint | null; integration: Integration | null; at: Date },
): Transaction {
  return newTransaction(
    {
      id: given.id,
      holder_id: given.holderId,
      integration_id: given.integration?.id ?? null,
      direction: 'payout',
      amount: order.amount,
      fee: order.fee,
      currency: order.method.currency,
      country_id: order.method.countryId,
      method: order.method.code,
      rail: order.rail,
      msisdn: order.msisdn,
      payee: order.payee,
      invoice_no: order.invoiceNo,
      detail: order.detail,
      reference_1: null,
      reference_2: null,
      callback_url: order.callbackUrl ?? given.integration?.defaultCallbackUrl ?? null,
      link_id: null,
      verification: 'none',
      balance_after: given.balance,
    },
    given.at,
  );
}
