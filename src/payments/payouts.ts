// Payouts: money from a holder's wallet to a person. Reserved in the ledger when ordered, approved by a second person
// where the holder wants that, sent at most once, then posted or released by the operator's word.

import { checkAmount } from '../catalog/amounts.ts';
import type { Method } from '../catalog/catalog.ts';
import { choosePayoutMethod } from '../catalog/methods.ts';
import { normaliseNumber } from '../catalog/phone.ts';
import { type Actor, recordAudit, recordAudits } from '../holders/audit.ts';
import { findHolder } from '../holders/holders.ts';
import { findActiveIntegration } from '../holders/integrations.ts';
import { post, postEach } from '../ledger/ledger.ts';
import { payoutReserved, sandboxTopUp } from '../ledger/postings.ts';
import { columns } from '../platform/columns.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { collectFieldErrors, type FieldErrors, Problem } from '../platform/errors.ts';
import { createHolderUuid } from '../platform/ids.ts';
import { checkCallbackUrl } from './callback-url.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { feeFor } from './fees.ts';
import { applyOutcomes } from './outcomes.ts';
import { WAITS_FOR_APPROVAL } from './payout-orders.ts';
import { isFinal } from './states.ts';
import {
  findTransaction,
  idFromRef,
  newTransaction,
  refOf,
  TRANSACTION_COLUMNS,
  TRANSACTION_TYPES,
  type Transaction,
} from './transactions.ts';

const MAX_TEXT_CHARACTERS = 120;
/** Payouts written by one statement. */
const GROUP_SIZE = 500;

/** A payout as a person writes it: in the console, on the command line, or in a row of a file. */
export type PayoutRequest = {
  amount: string;
  currency: string;
  mobile: string;
  method?: string | undefined;
  payee?: string | undefined;
  invoiceNo?: string | undefined;
  detail?: string | undefined;
  callbackUrl?: string | undefined;
};

export type PayoutOrder = {
  amount: bigint;
  fee: bigint;
  method: Method;
  rail: string;
  msisdn: string;
  payee: string | null;
  invoiceNo: string | null;
  detail: string;
  callbackUrl: string | null;
};

export type PayoutReading = { ok: true; order: PayoutOrder } | { ok: false; errors: FieldErrors };
export type PayoutResult = { ok: true; transaction: Transaction } | { ok: false; reason: 'overdraft' };

/** Checks a payout without writing anything: the dry run. */
export async function readPayout(
  ctx: PaymentsContext,
  holderId: bigint,
  request: PayoutRequest,
): Promise<PayoutReading> {
  const faults = collectFieldErrors();
  const candidates = [...ctx.catalog.methods.values()].filter(
    (method) => method.payout && method.currency === request.currency,
  );
  if (candidates.length === 0) faults.add('currency', `No method pays out in "${request.currency}".`);
  const found = candidates.flatMap((method) => {
    const number = normaliseNumber(request.mobile, method.country, { lenient: true });
    return number.ok ? [{ method, msisdn: number.digits }] : [];
  });
  if (candidates.length > 0 && found.length === 0)
    faults.add('mobile', `This is not a mobile number of a country that uses ${request.currency}.`);
  const chosen = found.length > 0 ? choosePayoutMethod(found, request.method) : null;
  if (found.length > 0 && !chosen)
    faults.add('method', `Name the method; one of ${[...new Set(found.map(({ method }) => method.code))].join(', ')}.`);
  const amount = chosen ? checkAmount(request.amount, chosen.method, 'payout') : null;
  if (amount && !amount.ok) faults.add('amount', amount.sentence);
  const rail = chosen ? ctx.rails.railFor(chosen.method, ctx.config.mode) : null;
  if (chosen && !rail?.capabilities.payouts)
    faults.add('method', `This gateway cannot pay out by ${chosen.method.name} yet.`);
  for (const [field, value] of Object.entries({
    payee: request.payee,
    invoice_no: request.invoiceNo,
    detail: request.detail,
  }))
    if (value !== undefined && Array.from(value).length > MAX_TEXT_CHARACTERS)
      faults.add(field, `At most ${MAX_TEXT_CHARACTERS} characters.`);
  checkCallbackUrl(ctx, request.callbackUrl, faults.add);
  if (faults.any() || !chosen || !amount?.ok || !rail) return { ok: false, errors: faults.errors };
  return {
    ok: true,
    order: {
      amount: amount.amount,
      fee: await feeFor(ctx, holderId, chosen.method, 'payout', amount.amount),
      method: chosen.method,
      rail: rail.name,
      msisdn: chosen.msisdn,
      payee: request.payee || null,
      invoiceNo: request.invoiceNo || null,
      detail: request.detail || `Payout to ${chosen.msisdn} by ${chosen.method.name}`,
      callbackUrl: request.callbackUrl || null,
    },
  };
}

export type OrderOptions = {
  /** The name of the file that the payouts came in. */
  batchName?: string;
  /** What the caller writes in the same transaction. It may throw: then nothing is ordered. */
  within?: (tx: Tx) => Promise<void>;
};

/**
 * Orders payouts, all in one transaction: a file is ordered whole or not at all. Each payout is reserved in the ledger or
 * refused for lack of money; the others are not affected.
 */
export async function orderPayouts(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'pass'>,
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
  if (!holder.payouts_need_approval) await engine.pass();
  return results;
}

/** When a file was ordered under this name before, if it was. */
export async function findBatchTime(reader: Reader, holderId: bigint, name: string): Promise<Date | null> {
  const [row] = await reader.query<{ created_at: Date }>(
    'select created_at from payout_batches where holder_id = $1 and name = $2 order by created_at limit 1',
    [holderId, name.slice(0, MAX_TEXT_CHARACTERS)],
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
    [id, holderId, name.slice(0, MAX_TEXT_CHARACTERS), actor.name, ctx.clock.now()],
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
  // Money first: whoever finds the wallet empty is refused before a payout exists.
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

// A payout that waits for approval has no job: nothing can send it.
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

/** A second person allows a payout. The database refuses the one who ordered it. */
export async function approvePayout(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'pass'>,
  actor: Actor,
  holderId: bigint,
  ref: string,
): Promise<void> {
  const id = requireId(ref);
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    const approved = await approveOnce(tx, actor, holderId, id, at);
    // The operator may know the payout although it waits: after a restore. Then it is not sent again.
    const queued = await tx.query(
      `insert into payment_jobs (holder_id, transaction_id, kind, due_at, since)
       select t.holder_id, t.id, 'submit', $3, $3 from transactions t
       where t.holder_id = $1 and t.id = $2 and t.status = 'pending' and $4 for no key update
       returning 1`,
      [holderId, id, at, approved],
    );
    if (queued.length === 0)
      throw new Problem('not_found', {
        message: 'There is no payout of yours that waits for approval under this reference.',
      });
    await recordAudit(tx, { holderId, actor, action: 'payout.approved', subject: ref }, at);
  });
  await engine.pass();
}

async function approveOnce(tx: Tx, actor: Actor, holderId: bigint, id: string, at: Date): Promise<boolean> {
  try {
    const rows = await tx.query(
      `update payout_orders set approval = 'approved', approved_by = $3, approved_by_member = $4, approved_at = $5
       where holder_id = $1 and transaction_id = $2 and approval = 'waiting' and cancelled_at is null
       returning transaction_id`,
      [holderId, id, actor.name, actor.memberId, at],
    );
    return rows.length > 0;
  } catch (error) {
    if (violatedConstraint(error) === 'payout_approved_by_another')
      throw new Problem('forbidden', {
        message: 'A payout must be approved by somebody other than the person who created it.',
      });
    throw error;
  }
}

/** Takes a payout back before it was sent. Its money is released. */
export async function cancelPayout(
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  ref: string,
): Promise<Transaction> {
  const id = requireId(ref);
  const at = ctx.clock.now();
  const { transaction, events } = await ctx.db.transaction(async (tx) => {
    // A payout can be cancelled while it waits for approval, or while its job to send it is still there: claiming the
    // job turns it into a query. The row of the order is locked first, as an approval locks it; the second statement sees
    // the job of an approval that the first one waited for.
    const [cancelled] = await tx.query<{ approval: string }>(
      `update payout_orders set cancelled_by = $3, cancelled_at = $4
       where holder_id = $1 and transaction_id = $2 and cancelled_at is null returning approval`,
      [holderId, id, actor.name, at],
    );
    const removed = await tx.query(
      `delete from payment_jobs where holder_id = $1 and transaction_id = $2 and kind = 'submit' returning 1`,
      [holderId, id],
    );
    const waiting = await tx.query(
      `select from transactions where holder_id = $1 and id = $2 and status = 'pending' and $3 = 'waiting' for no key update`,
      [holderId, id, cancelled?.approval],
    );
    if (!cancelled || waiting.length + removed.length === 0)
      throw new Problem('not_found', {
        message: 'This payout is unknown, or it was sent already and cannot be taken back.',
      });
    const result = await applyOutcomes(tx, ctx, [
      {
        transactionId: id,
        source: 'person',
        observation: {
          state: 'failed',
          failureCode: 'PAYER_CANCELLED',
          rawCode: '',
          message: 'The payout was cancelled before it was sent.',
        },
        raw: `cancelled by ${actor.name} before it was sent`,
      },
    ]);
    await recordAudit(tx, { holderId, actor, action: 'payout.cancelled', subject: ref }, at);
    return { transaction: result.applied[0]?.transaction ?? null, events: result.events };
  });
  ctx.sendCallbacksNow(events);
  if (!transaction) throw new Error('the cancelled payout vanished');
  return transaction;
}

export type PayoutRow = Transaction & { created_by: string; approved_by: string | null; waits_for_approval: boolean };

/** The newest payouts of a holder. */
export function listPayouts(ctx: PaymentsContext, holderId: bigint, limit: number): Promise<PayoutRow[]> {
  return ctx.db.query<PayoutRow>(
    `select ${TRANSACTION_COLUMNS}, o.created_by, o.approved_by, ${WAITS_FOR_APPROVAL} as waits_for_approval
     from payout_orders o join transactions t on t.holder_id = o.holder_id and t.id = o.transaction_id
     where o.holder_id = $1 order by o.transaction_id desc limit $2`,
    [holderId, limit],
  );
}

/** A person decided about a payout of which the operator knows nothing: send it once more, or give the money back. */
export async function decideLostPayout(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'pass'>,
  actor: Actor,
  holderId: bigint,
  ref: string,
  decision: 'send_again' | 'release',
): Promise<void> {
  const id = requireId(ref);
  const at = ctx.clock.now();
  const events = await ctx.db.transaction(async (tx) => {
    const transaction = await findTransaction(tx, holderId, id);
    if (transaction?.direction !== 'payout') throw new Problem('transaction_not_found');
    // Only where the operator itself said that it knows nothing; and of two people, one decides.
    const [opened] = await tx.query(
      `update cases set status = 'resolved', resolved_at = $3, resolved_by = $4, resolution = $5
       where holder_id = $1 and transaction_id = $2 and kind = 'payout_not_found' and status = 'open' returning id`,
      [holderId, id, at, actor.name, decision],
    );
    if (!opened || isFinal(transaction.status))
      throw new Problem('not_found', {
        message: 'No decision is needed: the payout is finished or still in progress.',
      });
    await recordAudit(tx, { holderId, actor, action: `payout.${decision}`, subject: ref }, at);
    if (decision === 'send_again') {
      await tx.query(
        `update payment_jobs set kind = 'submit', due_at = $3, since = $3
         where holder_id = $1 and transaction_id = $2 and kind = 'query'`,
        [holderId, id, at],
      );
      return [];
    }
    const result = await applyOutcomes(tx, ctx, [
      {
        transactionId: id,
        source: 'person',
        observation: {
          state: 'failed',
          failureCode: 'UNSPECIFIED',
          rawCode: '',
          message: 'The operator did not receive the payout. The money is back in the wallet.',
        },
        raw: `${actor.name} decided that the operator never received it`,
      },
    ]);
    return result.events;
  });
  ctx.sendCallbacksNow(events);
  await engine.pass();
}

/** Test money for a demo wallet. Sandbox mode only. */
export function topUpSandbox(
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  currency: string,
  amount: bigint,
): Promise<void> {
  if (ctx.config.mode !== 'sandbox')
    throw new Problem('forbidden', { message: 'Only sandbox wallets can be topped up with test money.' });
  const at = ctx.clock.now();
  return ctx.db.transaction(async (tx) => {
    await post(
      tx,
      sandboxTopUp({ transactionId: createHolderUuid(at.getTime(), holderId), currency, amount, holderId }),
      at,
    );
    await recordAudit(
      tx,
      { holderId, actor, action: 'wallet.topped_up', details: { amount: String(amount), currency } },
      at,
    );
  });
}

function requireId(ref: string): string {
  const id = idFromRef(ref);
  if (id === null) throw new Problem('transaction_not_found');
  return id;
}
