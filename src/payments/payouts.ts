// Payouts: money from a holder's wallet to a person. Reserved in the ledger when ordered, approved by a second person
// where the holder wants that, sent at most once, then posted or released by the operator's word.

import { checkAmount } from '../catalog/amounts.ts';
import type { Method } from '../catalog/catalog.ts';
import { choosePayoutMethod } from '../catalog/methods.ts';
import { normaliseNumber } from '../catalog/phone.ts';
import { type Actor, recordAudit } from '../holders/audit.ts';
import { findHolder } from '../holders/holders.ts';
import { listIntegrations } from '../holders/integrations.ts';
import { post, postEach } from '../ledger/ledger.ts';
import { payoutReserved, sandboxTopUp } from '../ledger/postings.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { collectFieldErrors, type FieldErrors, Problem } from '../platform/errors.ts';
import { createUuid } from '../platform/ids.ts';
import { checkCallbackUrl } from './callback-url.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { feeFor } from './fees.ts';
import { applyOutcomes } from './outcomes.ts';
import { isFinal } from './states.ts';
import { findTransaction, idFromRef, refOf, TRANSACTION_COLUMNS, type Transaction } from './transactions.ts';

const MAX_TEXT_CHARACTERS = 120;
/** Payouts written by one transaction: a file is ordered in groups of this many. */
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

/** Orders payouts: each is reserved in the ledger or refused for lack of money; the others are not affected. */
export async function orderPayouts(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'pass'>,
  actor: Actor,
  holderId: bigint,
  orders: PayoutOrder[],
  batchName?: string,
): Promise<PayoutResult[]> {
  const holder = await findHolder(ctx.db, holderId);
  if (holder?.status !== 'active') throw new Problem('account_suspended', { message: 'This account cannot pay out.' });
  const integration = (await listIntegrations(ctx.db, holderId)).find((entry) => entry.status === 'active') ?? null;
  const defaults = { integrationId: integration?.id ?? null, callbackUrl: integration?.defaultCallbackUrl ?? null };
  const batchId = batchName === undefined ? null : await createBatchRow(ctx, actor, holderId, batchName);
  const results: PayoutResult[] = [];
  for (let from = 0; from < orders.length; from += GROUP_SIZE) {
    const group = orders.slice(from, from + GROUP_SIZE);
    results.push(
      ...(await ctx.db.transaction((tx) =>
        writePayouts(tx, ctx, actor, holderId, group, {
          ...defaults,
          batchId,
          needsApproval: holder.payouts_need_approval,
        }),
      )),
    );
  }
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

async function createBatchRow(ctx: PaymentsContext, actor: Actor, holderId: bigint, name: string): Promise<string> {
  const id = createUuid(ctx.clock.millis());
  await ctx.db.query(
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
  const ids = orders.map(() => createUuid(at.getTime()));
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
  const written = orders.flatMap((order, index) => {
    const result = posted[index];
    return result?.ok ? [{ order, id: ids[index] ?? '', balance: result.transfers[0]?.debitBalance ?? null }] : [];
  });
  if (written.length === 0) return orders.map(() => ({ ok: false, reason: 'overdraft' }));
  const rows = await tx.query<Transaction>(
    `with input as (
       select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::smallint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[])
         as p (id, amount, fee, currency, country_id, method, rail, msisdn, payee, invoice_no, detail, callback_url, balance_after)
     ), ordered as (
       insert into payout_orders (transaction_id, holder_id, batch_id, created_by, created_by_member)
       select id, $14, $15, $16, $17 from input
     ), queued as (
       insert into payment_jobs (transaction_id, kind, due_at, since) select id, $18, $19, $19 from input
     )
     insert into transactions as t (id, holder_id, integration_id, direction, status, amount, fee, currency, country_id, method, rail, msisdn,
                                    payee, invoice_no, detail, callback_url, balance_after, verification, created_at, updated_at)
     select id, $14, $20, 'payout', 'pending', amount, fee, currency, country_id, method, rail, msisdn, payee, invoice_no, detail,
            callback_url, balance_after, 'none', $19, $19 from input
     returning ${TRANSACTION_COLUMNS}`,
    [
      written.map(({ id }) => id),
      written.map(({ order }) => order.amount),
      written.map(({ order }) => order.fee),
      written.map(({ order }) => order.method.currency),
      written.map(({ order }) => order.method.countryId),
      written.map(({ order }) => order.method.code),
      written.map(({ order }) => order.rail),
      written.map(({ order }) => order.msisdn),
      written.map(({ order }) => order.payee),
      written.map(({ order }) => order.invoiceNo),
      written.map(({ order }) => order.detail),
      written.map(({ order }) => order.callbackUrl ?? defaults.callbackUrl),
      written.map(({ balance }) => balance),
      holderId,
      defaults.batchId,
      actor.name,
      actor.memberId,
      defaults.needsApproval ? 'approval' : 'submit',
      at,
      defaults.integrationId,
    ],
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const row of rows)
    await recordAudit(
      tx,
      {
        holderId,
        actor,
        action: 'payout.created',
        subject: refOf(row),
        details: { amount: String(row.amount), currency: row.currency },
      },
      at,
    );
  return ids.map((id) => {
    const transaction = byId.get(id);
    return transaction ? { ok: true, transaction } : { ok: false, reason: 'overdraft' };
  });
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
    if (!approved)
      throw new Problem('not_found', {
        message: 'There is no payout of yours that waits for approval under this reference.',
      });
    await tx.query(
      `update payment_jobs set kind = 'submit', due_at = $2, since = $2 where transaction_id = $1 and kind = 'approval'`,
      [id, at],
    );
    await recordAudit(tx, { holderId, actor, action: 'payout.approved', subject: ref }, at);
  });
  await engine.pass();
}

async function approveOnce(tx: Tx, actor: Actor, holderId: bigint, id: string, at: Date): Promise<boolean> {
  try {
    const rows = await tx.query(
      `update payout_orders o set approved_by = $3, approved_by_member = $4, approved_at = $5
       from payment_jobs j
       where o.transaction_id = $1 and o.holder_id = $2 and o.approved_at is null and o.cancelled_at is null
         and j.transaction_id = o.transaction_id and j.kind = 'approval' returning o.transaction_id`,
      [id, holderId, actor.name, actor.memberId, at],
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
    // Whoever removes the job decides: a payout that is being sent has none of these kinds any more.
    const removed = await tx.query(
      `delete from payment_jobs j using payout_orders o
       where j.transaction_id = $1 and j.kind in ('approval', 'submit') and o.transaction_id = j.transaction_id and o.holder_id = $2
       returning j.transaction_id`,
      [id, holderId],
    );
    if (removed.length === 0)
      throw new Problem('not_found', {
        message: 'This payout is unknown, or it was sent already and cannot be taken back.',
      });
    await tx.query('update payout_orders set cancelled_by = $2, cancelled_at = $3 where transaction_id = $1', [
      id,
      actor.name,
      at,
    ]);
    const result = await applyOutcomes(tx, ctx, [
      {
        transactionId: id,
        source: 'person',
        observation: {
          state: 'failed',
          failureCode: 'PAYER_CANCELLED',
          rawCode: '',
          message: 'cancelled before it was sent',
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
    `select ${TRANSACTION_COLUMNS}, o.created_by, o.approved_by, coalesce(j.kind = 'approval', false) as waits_for_approval
     from payout_orders o join transactions t on t.id = o.transaction_id left join payment_jobs j on j.transaction_id = o.transaction_id
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
       where transaction_id = $1 and holder_id = $2 and kind = 'payout_not_found' and status = 'open' returning id`,
      [id, holderId, at, actor.name, decision],
    );
    if (!opened || isFinal(transaction.status))
      throw new Problem('not_found', {
        message: 'This payout waits for no decision: it has ended, or it is under way.',
      });
    await recordAudit(tx, { holderId, actor, action: `payout.${decision}`, subject: ref }, at);
    if (decision === 'send_again') {
      await tx.query(
        `update payment_jobs set kind = 'submit', due_at = $2, since = $2 where transaction_id = $1 and kind = 'query'`,
        [id, at],
      );
      return [];
    }
    const result = await applyOutcomes(tx, ctx, [
      {
        transactionId: id,
        source: 'person',
        observation: { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: 'released by a person' },
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
    await post(tx, sandboxTopUp({ transactionId: createUuid(at.getTime()), currency, amount, holderId }), at);
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
