// Orders payouts: money from a holder's wallet to a payee. The money is reserved in the ledger when the payout is ordered.
// It is approved by a second member if the holder requires that, sent at most once, and then posted or released as the
// operator reports.

import { type Actor, recordAudits } from '../holders/audit.ts';
import { findHolder } from '../holders/holders.ts';
import { findActiveIntegration } from '../holders/integrations.ts';
import { postEach } from '../ledger/ledger.ts';
import { payoutReserved } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createHolderUuid } from '../platform/ids.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import type { PayoutOrder } from './payout-requests.ts';
import { newTransaction, refOf, TRANSACTION_TYPES, type Transaction } from './transactions.ts';

const MAX_BATCH_NAME_CHARACTERS = 120;
/** Payouts written by one statement. */
const GROUP_SIZE = 500;

export type PayoutResult = { ok: true; transaction: Transaction } | { ok: false; reason: 'overdraft' };

type OrderOptions = {
  /** The name of the file that holds the payouts. */
  batchName?: string;
  /** Written in the same transaction. If it throws, nothing is ordered. */
  within?: (tx: Tx) => Promise<void>;
};

/**
 * Orders payouts, all in one transaction: a file is ordered whole or not at all. Each payout is reserved in the ledger or
 * refused for lack of money; the others are not affected.
 */
export async function orderPayouts(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'wake'>,
  actor: Actor,
  holderId: bigint,
  orders: PayoutOrder[],
  options: OrderOptions = {},
): Promise<PayoutResult[]> {
  const holder = await findHolder(ctx.db, holderId);
  if (holder?.status !== 'active') throw new Problem('account_suspended', { message: 'This account cannot pay out.' });
  const integration = await findActiveIntegration(ctx.db, holderId);
  const defaults = { integrationId: integration?.id ?? null, callbackUrl: integration?.defaultCallbackUrl ?? null };
  const results = await ctx.db.transaction(async (tx) => {
    await options.within?.(tx);
    const batchId =
      options.batchName === undefined ? null : await createBatchRow(tx, ctx, actor, holderId, options.batchName);
    const rules = { ...defaults, batchId, needsApproval: holder.payouts_need_approval };
    return writePayouts(tx, ctx, actor, holderId, orders, rules);
  });
  if (!holder.payouts_need_approval) engine.wake();
  return results;
}

/** When a file of this name was first ordered; null: never. */
export async function findBatchTime(reader: Reader, holderId: bigint, name: string): Promise<Date | null> {
  const [row] = await reader.query<{ created_at: Date }>(
    'select created_at from payout_batches where holder_id = $1 and name = $2 order by created_at limit 1',
    [holderId, name.slice(0, MAX_BATCH_NAME_CHARACTERS)],
  );
  return row?.created_at ?? null;
}

async function createBatchRow(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  name: string,
): Promise<string> {
  const id = createHolderUuid(ctx.clock.millis(), holderId);
  await tx.query(
    'insert into payout_batches (id, holder_id, name, created_by, created_at) values ($1, $2, $3, $4, $5)',
    [id, holderId, name.slice(0, MAX_BATCH_NAME_CHARACTERS), actor.name, ctx.clock.now()],
  );
  return id;
}

type PayoutDefaults = {
  integrationId: bigint | null;
  callbackUrl: string | null;
  batchId: string | null;
  needsApproval: boolean;
};

async function writePayouts(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  orders: PayoutOrder[],
  defaults: PayoutDefaults,
): Promise<PayoutResult[]> {
  const at = ctx.clock.now();
  const ids = orders.map(() => createHolderUuid(at.getTime(), holderId));
  // The ledger first: a payout that the wallet cannot cover is refused before its row exists.
  const posted = await postEach(
    tx,
    orders.map((order, index) =>
      payoutReserved({
        transactionId: ids[index] ?? '',
        holderId,
        currency: order.method.currency,
        amount: order.amount,
        fee: order.fee,
      }),
    ),
    at,
  );
  const rows = orders.flatMap((order, index): Transaction[] => {
    const result = posted[index];
    if (!result?.ok) return [];
    const balance = result.transfers[0]?.debitBalance ?? null;
    return [orderedTransaction(order, { id: ids[index] ?? '', holderId, balance, defaults, at })];
  });
  for (let from = 0; from < rows.length; from += GROUP_SIZE)
    await insertPayouts(tx, actor, rows.slice(from, from + GROUP_SIZE), defaults, at);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const transaction = byId.get(id);
    return transaction ? { ok: true, transaction } : { ok: false, reason: 'overdraft' };
  });
}

const PAYOUTS = columns<Transaction>(6, TRANSACTION_TYPES);

// A payout that waits for approval has no job, so it cannot be sent.
const INSERT_PAYOUTS = `
  with input as materialized (
    select * from ${PAYOUTS.rows}
  ), ordered as (
    insert into payout_orders (holder_id, transaction_id, batch_id, approval, created_by, created_by_member)
    select holder_id, id, $2, $3, $4, $5 from input
  ), queued as (
    insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
    select holder_id, id, 'submit', $1, $1 from input where $3 = 'not_needed'
  )
  insert into transactions (${PAYOUTS.names}) select ${PAYOUTS.names} from input`;

async function insertPayouts(
  tx: Tx,
  actor: Actor,
  rows: Transaction[],
  { batchId, needsApproval }: PayoutDefaults,
  at: Date,
): Promise<void> {
  const approval = needsApproval ? 'waiting' : 'not_needed';
  await tx.query(INSERT_PAYOUTS, [at, batchId, approval, actor.name, actor.memberId, ...PAYOUTS.arrays(rows)]);
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
  given: { id: string; holderId: bigint; balance: bigint | null; defaults: PayoutDefaults; at: Date },
): Transaction {
  return newTransaction(
    {
      id: given.id,
      holder_id: given.holderId,
      integration_id: given.defaults.integrationId,
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
      callback_url: order.callbackUrl ?? given.defaults.callbackUrl,
      link_id: null,
      verification: 'none',
      balance_after: given.balance,
    },
    given.at,
  );
}
