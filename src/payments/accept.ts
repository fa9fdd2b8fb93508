// Accepting collections: the rows of one accept (signature, idempotency key, transaction, job) for all requests that
// wait, in one statement and one commit. Whoever asked is answered only after that.

import { SIGNATURE_PARTITIONS, type SpentSignature } from '../holders/signatures.ts';
import { type Batch, createBatch } from '../platform/batch.ts';
import type { Tx } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import { type IdempotencyKey, KEY_TTL_MS } from '../platform/idempotency.ts';
import { createUuid } from '../platform/ids.ts';
import { withPartitions } from '../platform/partitions.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import type { VerificationStyle } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { type JobKind, LEASE_MS, type PaymentEngine } from './engine.ts';
import type { Transaction } from './transactions.ts';

/** A collection that passed every check and only needs to be written. */
export type CollectionOrder = {
  holderId: bigint;
  integrationId: bigint | null;
  amount: bigint;
  fee: bigint;
  currency: string;
  countryId: number;
  method: string;
  rail: string;
  msisdn: string | null;
  detail: string;
  reference1: string | null;
  reference2: string | null;
  callbackUrl: string | null;
  linkId: string | null;
  verification: VerificationStyle;
};

/** What makes a request of the API happen once. The hosted page has neither. */
export type OnceOnly = {
  signature: SpentSignature;
  idempotency: (IdempotencyKey & { operation: string; answer(transaction: Transaction): JsonObject }) | null;
};

export type Acceptance =
  | { kind: 'accepted'; transaction: Transaction }
  | { kind: 'signature_reused' }
  /** Another request with the same idempotency key came first, a moment ago. */
  | { kind: 'key_taken' };

type Item = { order: CollectionOrder; once: OnceOnly | null };

export interface CollectionWriter {
  accept(order: CollectionOrder, once: OnceOnly | null): Promise<Acceptance>;
}

export function createCollectionWriter(ctx: PaymentsContext, engine: PaymentEngine): CollectionWriter {
  const batch: Batch<Item, Acceptance> = createBatch({
    maxItems: 128,
    maxWaiting: 2_000,
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'accepts' }, items),
    async run(items) {
      const signedAt = items.find((item) => item.once)?.once?.signature.signedAt ?? ctx.clock.now();
      const handOver = engine.hasCapacity();
      const write = (tx: Tx) => writeAcceptances(tx, ctx, items, handOver);
      // Only a key that turns out to be taken needs a second statement.
      const keyed = items.some((item) => item.once?.idempotency);
      const accepted = await withPartitions(ctx, SIGNATURE_PARTITIONS, signedAt, () =>
        keyed ? ctx.db.transaction(write) : ctx.db.single(write),
      );
      failpoint('accept-committed');
      if (handOver)
        for (const entry of accepted)
          if (entry.kind === 'accepted')
            engine.enqueue({ kind: firstJob(entry.transaction), transaction: entry.transaction });
      return accepted;
    },
  });
  return { accept: (order, once) => batch.add({ order, once }) };
}

/**
 * Accepts one collection together with what the caller writes in the same transaction (the hosted page's attempt).
 * `alongside` may throw to give all of it up.
 */
export async function acceptWithin(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  order: CollectionOrder,
  alongside: (tx: Tx, transaction: Transaction) => Promise<void>,
): Promise<Transaction> {
  const handOver = engine.hasCapacity();
  const transaction = await ctx.db.transaction(async (tx) => {
    const [verdict] = await writeAcceptances(tx, ctx, [{ order, once: null }], handOver);
    if (verdict?.kind !== 'accepted') throw new Error('a collection without a signature was not accepted');
    await alongside(tx, verdict.transaction);
    return verdict.transaction;
  });
  if (handOver) engine.enqueue({ kind: firstJob(transaction), transaction });
  return transaction;
}

function firstJob(transaction: { verification: string }): JobKind {
  return transaction.verification === 'otp' ? 'send_token' : 'submit';
}

const WRITE = {
  name: 'accept_collections',
  // Handed-over work is written as 'query' with a lease: if we crash before we have called the operator, somebody asks
  // it, learns that it never saw the reference, and submits.
  text: `
    with input as (
      select * from unnest(
        $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::smallint[], $8::text[], $9::text[], $10::text[],
        $11::text[], $12::text[], $13::text[], $14::text[], $15::uuid[], $16::text[], $17::timestamptz[], $18::bytea[],
        $19::text[], $20::text[], $21::bytea[], $22::text[], $23::text[]
      ) as i (id, holder_id, integration_id, amount, fee, currency, country_id, method, rail, msisdn, detail, reference_1, reference_2,
              callback_url, link_id, verification, signed_at, signature, key, operation, params_hash, answer, job)
    ), spent as (
      insert into spent_signatures (signed_at, signature)
      select signed_at, signature from input where signature is not null
      on conflict do nothing returning signature
    ), keyed as (
      insert into idempotency_keys as known (integration_id, key, operation, params_hash, answer, created_at)
      select integration_id, key, operation, params_hash, answer::json, $24
      from input where key is not null and signature in (select signature from spent)
      order by integration_id, key
      on conflict (integration_id, key) do update
        set operation = excluded.operation, params_hash = excluded.params_hash, answer = excluded.answer, created_at = excluded.created_at
        where known.created_at <= $26
      returning integration_id, key
    ), accepted as (
      insert into transactions (id, holder_id, integration_id, direction, status, amount, fee, currency, country_id, method, rail, msisdn,
                                detail, reference_1, reference_2, callback_url, link_id, verification, created_at, updated_at)
      select id, holder_id, integration_id, 'payin', 'pending', amount, fee, currency, country_id, method, rail, msisdn,
             detail, reference_1, reference_2, callback_url, link_id, verification, $24, $24
      from input
      where (signature is null or signature in (select signature from spent))
        and (key is null or (integration_id, key) in (select integration_id, key from keyed))
      returning id
    ), queued as (
      insert into payment_jobs (transaction_id, kind, due_at, since, submitted_at)
      select id, job, $25, $24, case when job = 'query' then $24 end from input where id in (select id from accepted)
    )
    select i.id, i.id in (select id from accepted) as accepted,
           i.signature is null or i.signature in (select signature from spent) as fresh
    from input i`,
};

async function writeAcceptances(tx: Tx, ctx: PaymentsContext, items: Item[], handOver: boolean): Promise<Acceptance[]> {
  const at = ctx.clock.now();
  const rows = items.map((item) => newTransaction(item.order, createUuid(at.getTime()), at));
  // Of two equal signatures (or keys) in one batch only the first goes to the database.
  const seen = new Set<string>();
  const verdicts: (Acceptance | null)[] = items.map((item) => {
    const signature = item.once?.signature.signature.toString('hex');
    if (signature && seen.has(signature)) return { kind: 'signature_reused' };
    const key = item.once?.idempotency ? `${item.order.integrationId} ${item.once.idempotency.key}` : undefined;
    if (key && seen.has(key)) return { kind: 'key_taken' };
    if (signature) seen.add(signature);
    if (key) seen.add(key);
    return null;
  });
  const written = items.flatMap((item, index) =>
    verdicts[index] === null ? [{ item, row: rows[index] as Transaction, index }] : [],
  );
  const field = <T>(read: (item: Item, row: Transaction) => T) => written.map(({ item, row }) => read(item, row));
  const results = await tx.query<{ id: string; accepted: boolean; fresh: boolean }>(WRITE, [
    field((_, row) => row.id),
    field((_, row) => row.holder_id),
    field((_, row) => row.integration_id),
    field((_, row) => row.amount),
    field((_, row) => row.fee),
    field((_, row) => row.currency),
    field((_, row) => row.country_id),
    field((_, row) => row.method),
    field((_, row) => row.rail),
    field((_, row) => row.msisdn),
    field((_, row) => row.detail),
    field((_, row) => row.reference_1),
    field((_, row) => row.reference_2),
    field((_, row) => row.callback_url),
    field((_, row) => row.link_id),
    field((_, row) => row.verification),
    field((item) => item.once?.signature.signedAt ?? null),
    field((item) => item.once?.signature.signature ?? null),
    field((item) => item.once?.idempotency?.key ?? null),
    field((item) => item.once?.idempotency?.operation ?? null),
    field((item) => item.once?.idempotency?.paramsHash ?? null),
    field((item, row) => (item.once?.idempotency ? JSON.stringify(item.once.idempotency.answer(row)) : null)),
    field((_, row) => (handOver && firstJob(row) === 'submit' ? 'query' : firstJob(row))),
    at,
    handOver ? new Date(at.getTime() + LEASE_MS) : at,
    new Date(at.getTime() - KEY_TTL_MS),
  ]);
  const byId = new Map(results.map((result) => [result.id, result]));
  const taken: SpentSignature[] = [];
  for (const { item, row, index } of written) {
    const result = byId.get(row.id);
    if (result?.accepted) verdicts[index] = { kind: 'accepted', transaction: row };
    else if (!result?.fresh) verdicts[index] = { kind: 'signature_reused' };
    else {
      verdicts[index] = { kind: 'key_taken' };
      if (item.once) taken.push(item.once.signature);
    }
  }
  await unspend(tx, taken);
  return verdicts.map((verdict) => verdict ?? { kind: 'key_taken' });
}

/** A request whose key was taken had no effect here; its signature is spent by whatever answers it instead. */
async function unspend(tx: Tx, signatures: SpentSignature[]): Promise<void> {
  if (signatures.length === 0) return;
  await tx.query(
    'delete from spent_signatures where (signed_at, signature) in (select * from unnest($1::timestamptz[], $2::bytea[]))',
    [signatures.map((entry) => entry.signedAt), signatures.map((entry) => entry.signature)],
  );
}

function newTransaction(order: CollectionOrder, id: string, at: Date): Transaction {
  return {
    id,
    holder_id: order.holderId,
    integration_id: order.integrationId,
    direction: 'payin',
    status: 'pending',
    amount: order.amount,
    fee: order.fee,
    currency: order.currency,
    country_id: order.countryId,
    method: order.method,
    rail: order.rail,
    msisdn: order.msisdn,
    payee: null,
    invoice_no: null,
    account_number: null,
    detail: order.detail,
    reference_1: order.reference1,
    reference_2: order.reference2,
    callback_url: order.callbackUrl,
    link_id: order.linkId,
    verification: order.verification,
    rail_reference: null,
    receipt: null,
    failure_code: null,
    failure_message: null,
    balance_after: null,
    created_at: at,
    updated_at: at,
    settled_at: null,
  };
}
