// Accepts collections: writes the signature, idempotency key, transaction, expected confirmation and job of all waiting
// requests in one statement and one commit. The requests are answered after that.

import type { VerificationStyle } from '../catalog/catalog.ts';
import { type IdempotencyKey, KEY_TTL_MS } from '../holders/idempotency.ts';
import { bytesOf, SIGNATURE_PARTITIONS, type SpentSignature } from '../holders/signatures.ts';
import { type Batch, createBatch } from '../platform/batch.ts';
import { type ColumnSpec, type Columns, columns } from '../platform/columns.ts';
import { requireRightClock } from '../platform/database-time.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import { createHolderUuid } from '../platform/ids.ts';
import { whenKnown } from '../platform/known.ts';
import { withPartitions } from '../platform/partitions.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { EXPECT_CONFIRMATIONS } from './incoming-payments.ts';
import { countPrompts, countsAsPrompt, numberLimited, promptLimits, takeBackPrompts } from './number-limits.ts';
import { type ClaimedJob, type JobKind, LEASE_MS } from './payment-jobs.ts';
import { type LimitRules, limitRules, takeFromLimits } from './payment-limits.ts';
import { newTransaction, refOf, TRANSACTION_TYPES, type Transaction } from './transactions.ts';

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

/** Makes a request of the API happen once. A payment on the hosted page has neither. */
type OnceOnly = {
  signature: SpentSignature;
  idempotency: (IdempotencyKey & { operation: string; answer(transaction: Transaction): JsonObject }) | null;
};

type Acceptance =
  | { kind: 'accepted'; transaction: Transaction }
  | { kind: 'signature_reused' }
  /** Another request with the same idempotency key was written first. */
  | { kind: 'key_taken' }
  /** The phone number has too many prompts already. */
  | { kind: 'number_limited'; until: Date };

type Item = { order: CollectionOrder; once: OnceOnly | null };

/** Requests in one transaction. */
const MAX_ITEMS = 128;

export interface CollectionWriter {
  accept(order: CollectionOrder, once: OnceOnly | null): Promise<Acceptance>;
}

export function createCollectionWriter(ctx: PaymentsContext, engine: PaymentEngine): CollectionWriter {
  const batch: Batch<Item, Acceptance> = createBatch({
    maxItems: MAX_ITEMS,
    maxWaiting: 2_000,
    // Callers wait for it, so the rest is short. Two transactions at once would only halve the batches, but a process that is
    // busy refusing requests sees the end of a transaction late: then full batches must not wait for each other.
    concurrency: 1,
    concurrencyWhenFull: 4,
    // With several processes so many come together so often that batches would stay small.
    rest: { times: 2, longestMs: 2, enough: Math.min(24 * ctx.config.processes, MAX_ITEMS / 2) },
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'accepts' }, items),
    async run(items) {
      await requireRightClock(ctx);
      const signedAt = items.find((item) => item.once)?.once?.signature.signedAt ?? ctx.clock.now();
      const handOver = engine.hasCapacity();
      const { accepted, unused } = await withPartitions(ctx, SIGNATURE_PARTITIONS, signedAt, () =>
        ctx.db.single((tx) => writeAcceptances(tx, ctx, items, handOver)),
      );
      failpoint('accept-committed');
      await releaseUnused(ctx, unused);
      if (handOver)
        for (const entry of accepted) if (entry.kind === 'accepted') engine.enqueue(firstWork(entry.transaction));
      if (!handOver) engine.leaveToOthers();
      return accepted;
    },
  });
  return {
    accept: (order, once) =>
      whenKnown(limitRules(ctx, order.holderId), (rules) =>
        rules ? acceptLimited(ctx, engine, { order, once }, rules) : batch.add({ order, once }),
      ),
  };
}

/** A collection of a holder that has limits, in a transaction of its own: what its limits refuse is not written at all. */
async function acceptLimited(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  item: Item,
  rules: LimitRules,
): Promise<Acceptance> {
  await requireRightClock(ctx);
  const signedAt = item.once?.signature.signedAt ?? ctx.clock.now();
  const handOver = engine.hasCapacity();
  const { accepted, unused } = await withPartitions(ctx, SIGNATURE_PARTITIONS, signedAt, () =>
    ctx.db.transaction(async (tx) => {
      const written = await writeAcceptances(tx, ctx, [item], handOver);
      for (const entry of written.accepted)
        if (entry.kind === 'accepted') await takeForCollection(tx, ctx, rules, entry.transaction);
      return written;
    }),
  );
  failpoint('accept-committed');
  await releaseUnused(ctx, unused);
  const [acceptance] = accepted;
  if (!acceptance) throw new Error('a collection has no answer');
  if (!handOver) engine.leaveToOthers();
  else if (acceptance.kind === 'accepted') engine.enqueue(firstWork(acceptance.transaction));
  return acceptance;
}

function takeForCollection(
  tx: Tx,
  ctx: PaymentsContext,
  rules: LimitRules | undefined,
  transaction: Transaction,
): Promise<void> {
  const { holder_id: holderId } = transaction;
  return takeFromLimits(tx, ctx, rules, {
    holderId,
    direction: 'collection',
    memberId: null,
    payments: [transaction],
  });
}

/**
 * Accepts one collection together with what the caller writes in the same transaction (the attempt of the hosted page).
 * `within` may throw: then nothing is written. Throws `number_limited` when the number has too many prompts.
 */
export async function acceptWithin(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  order: CollectionOrder,
  within: (tx: Tx, transaction: Transaction) => Promise<void>,
): Promise<Transaction> {
  await requireRightClock(ctx);
  const handOver = engine.hasCapacity();
  const rules = await limitRules(ctx, order.holderId);
  const transaction = await ctx.db.transaction(async (tx) => {
    const { accepted } = await writeAcceptances(tx, ctx, [{ order, once: null }], handOver);
    const [result] = accepted;
    if (result?.kind === 'number_limited') throw numberLimited(ctx, 'prompts', order.msisdn ?? '', result.until);
    if (result?.kind !== 'accepted') throw new Error('a collection without a signature was not accepted');
    await takeForCollection(tx, ctx, rules, result.transaction);
    await within(tx, result.transaction);
    return result.transaction;
  });
  if (handOver) engine.enqueue(firstWork(transaction));
  else engine.leaveToOthers();
  return transaction;
}

function firstJob(transaction: { verification: string }): JobKind {
  return transaction.verification === 'otp' ? 'send_token' : 'submit';
}

function firstWork(transaction: Transaction): ClaimedJob {
  const kind = firstJob(transaction);
  return { kind, transaction, submittedAt: kind === 'submit' ? transaction.created_at : null };
}

/** A row of the statement below: the transaction, and what makes its request happen once. */
type AcceptedRow = {
  transaction: Transaction;
  signed_at: Date | null;
  signature: string | null;
  key: string | null;
  operation: string | null;
  params_hash: Buffer | null;
  answer: string | null;
  /** It counts against the limit of its number. */
  counted: boolean;
  /** What its money is also reported under. */
  account_reference: string | null;
};

/** Equal for all collections of a batch, or null until an outcome or a payout sets them: not sent row by row. */
const NOT_SENT: ReadonlySet<string> = new Set<keyof Transaction>([
  'direction',
  'status',
  'payee',
  'invoice_no',
  'account_number',
  'rail_reference',
  'receipt',
  'failure_code',
  'failure_message',
  'balance_after',
  'created_at',
  'updated_at',
  'settled_at',
]);
const SENT_NAMES = (Object.keys(TRANSACTION_TYPES) as (keyof Transaction)[]).filter((name) => !NOT_SENT.has(name));
const SENT_COLUMNS = Object.fromEntries(
  SENT_NAMES.map((name) => [
    name,
    [TRANSACTION_TYPES[name], (row: AcceptedRow) => row.transaction[name]] satisfies ColumnSpec<AcceptedRow>,
  ]),
);
const SENT = columns<AcceptedRow>(0, SENT_COLUMNS);
const KEY_TYPES = { key: 'text', operation: 'text', params_hash: 'bytea', answer: 'json' };

/**
 * What a batch may need besides the payments themselves. An insert without rows still takes the database a tenth of a millisecond,
 * and an array of nulls is written here and read there.
 */
type Parts = { readonly keys: boolean; readonly prompts: boolean; readonly references: boolean };

function partsOf(rows: readonly AcceptedRow[]): Parts {
  return {
    keys: rows.some((row) => row.key !== null),
    prompts: rows.some((row) => row.counted),
    references: rows.some((row) => row.account_reference !== null),
  };
}

const inputOf = ({ keys, prompts, references }: Parts) =>
  columns<AcceptedRow>(7, {
    ...SENT_COLUMNS,
    signed_at: 'timestamptz',
    signature: 'bytea',
    ...(keys ? KEY_TYPES : {}),
    ...(prompts ? { counted: 'boolean' } : {}),
    ...(references ? { account_reference: 'text' } : {}),
  });

// Work that this process will do is written as 'query' with a lease: after a crash before the call to the operator, the
// next process queries the operator, finds that the reference is unknown there, and submits.
function writeStatement(input: string, { keys, prompts, references }: Parts, isDistributed = false): string {
  const steps = [
    // Gives each parameter its type, also where nothing below uses it.
    'parameters as (select $1::timestamptz, $2::timestamptz, $3::timestamptz, $4::int, $5::int)',
    `input as ${input}`,
    `spent as (
      insert into spent_signatures (signed_at, signature)
      select signed_at, signature from input where signature is not null
      on conflict do nothing returning signature
    )`,
    prompts &&
      `prompted as (${countPrompts(isDistributed)}
    ), allowed as materialized (
      select id from input where not counted
      union all
      select unnest(prompt_ids) from prompted
    )`,
    keys &&
      `keyed as (
      insert into idempotency_keys as known (holder_id, integration_id, key, operation, params_hash, answer, created_at)
      select holder_id, integration_id, key, operation, params_hash, answer, $1
      from input
      where key is not null and signature in (select signature from spent) ${prompts ? 'and id in (select id from allowed)' : ''}
      order by holder_id, integration_id, key
      on conflict (holder_id, integration_id, key) do update
        set operation = excluded.operation, params_hash = excluded.params_hash, answer = excluded.answer,
            created_at = excluded.created_at
        where known.created_at <= $3
      returning integration_id, key
    )`,
    `accepted as (
      insert into transactions (${SENT.names}, direction, status, created_at, updated_at)
      select ${SENT.names}, 'collection', 'pending', $1, $1 from input
      where (signature is null or signature in (select signature from spent))
        ${prompts ? 'and id in (select id from allowed)' : ''}
        ${keys ? 'and (key is null or (integration_id, key) in (select integration_id, key from keyed))' : ''}
      returning holder_id, id, case verification when 'otp' then 'send_token' else $6::text end as job
    )`,
    references && `expected as (${EXPECT_CONFIRMATIONS})`,
    `queued as (
      insert into payment_jobs (holder_id, transaction_id, kind, due_at, since, submitted_at)
      select holder_id, id, job, $2, $1, case when job = 'query' then $1 end from accepted
    )`,
    `refused as (
      select i.id, i.signature is null or i.signature in (select signature from spent) as fresh,
             ${prompts ? 'case when i.id not in (select id from allowed) then p.limited_until end' : 'null::timestamptz'} as limited_until
      from input i ${prompts ? 'left join prompted p using (msisdn)' : ''}
      where i.id not in (select id from accepted)
    )`,
  ];
  return `
    with ${steps.filter(Boolean).join(', ')}
    select (select count(*) from accepted) as accepted, (select json_agg(refused) from refused) as refused`;
}

const nameOf = ({ keys, prompts, references }: Parts) =>
  `accept_collections${keys ? '_with_keys' : ''}${prompts ? '_with_prompts' : ''}${references ? '_with_references' : ''}`;

type WriteStatement = { readonly input: Columns<AcceptedRow>; readonly statement: { name: string; text: string } };

function prepare(name: string, parts: Parts, isDistributed = false): WriteStatement {
  const input = inputOf(parts);
  const rows = `materialized (select * from ${input.rows})`;
  return { input, statement: { name, text: writeStatement(rows, parts, isDistributed) } };
}

/** The same for one payment: most of the time nobody else asks at the same moment, and without arrays the database is faster. */
function prepareOne(name: string, parts: Parts): WriteStatement {
  const input = inputOf(parts);
  return { input, statement: { name, text: writeStatement(`not materialized (${input.row})`, parts) } };
}

const EITHER = [false, true];
const ALL_PARTS: readonly Parts[] = EITHER.flatMap((keys) =>
  EITHER.flatMap((prompts) => EITHER.map((references) => ({ keys, prompts, references }))),
);
const WRITE: ReadonlyMap<string, WriteStatement> = new Map(
  ALL_PARTS.map((parts) => [nameOf(parts), prepare(nameOf(parts), parts)]),
);
const WRITE_ONE: ReadonlyMap<string, WriteStatement> = new Map(
  ALL_PARTS.map((parts) => [nameOf(parts), prepareOne(`${nameOf(parts)}_alone`, parts)]),
);
const WRITE_ON_SERVERS = prepare(
  'accept_collections_on_servers',
  { keys: true, prompts: true, references: true },
  true,
);

type Query = { readonly statement: { name: string; text: string }; readonly parameters: (string | Buffer | null)[] };

function queryFor(tx: Tx, rows: readonly AcceptedRow[]): Query {
  const [first] = rows;
  const isDistributed = tx.isDistributed?.() ?? false;
  const name = nameOf(partsOf(rows));
  const one = rows.length === 1 && !isDistributed ? WRITE_ONE.get(name) : undefined;
  if (one && first) return { statement: one.statement, parameters: one.input.values(first) };
  const { statement, input } = (isDistributed ? undefined : WRITE.get(name)) ?? WRITE_ON_SERVERS;
  return { statement, parameters: input.arrays(rows) };
}

type RefusedRow = { id: string; fresh: boolean; limited_until: string | null };
type Written = { accepted: bigint; refused: RefusedRow[] | null };

/** What was written for a request that was not accepted after all. */
type Unused = { once: OnceOnly | null; row: Transaction; prompted: boolean };

async function writeAcceptances(
  tx: Tx,
  ctx: PaymentsContext,
  items: Item[],
  handOver: boolean,
): Promise<{ accepted: Acceptance[]; unused: Unused[] }> {
  const at = ctx.clock.now();
  const rows = items.map(({ order }) => orderedTransaction(order, at));
  // Of two equal signatures (or keys) in one batch only the first goes to the database.
  const seen = new Set<string>();
  const results: (Acceptance | null)[] = items.map((item) => {
    const signature = item.once?.signature.signature;
    if (signature && seen.has(signature)) return { kind: 'signature_reused' };
    const key = item.once?.idempotency ? `${item.order.integrationId} ${item.once.idempotency.key}` : undefined;
    if (key && seen.has(key)) return { kind: 'key_taken' };
    if (signature) seen.add(signature);
    if (key) seen.add(key);
    return null;
  });
  const written = items.flatMap((item, index) =>
    results[index] === null ? [{ item, row: rows[index] as Transaction, index }] : [],
  );
  const sent = written.map(({ item, row }) => acceptedRow(ctx, item, row));
  const refused = await writeRows(tx, ctx, sent, at, handOver);
  const unused: Unused[] = [];
  for (const { item, row, index } of written) {
    const refusal = refused.get(row.id);
    if (!refusal) results[index] = { kind: 'accepted', transaction: row };
    else if (!refusal.fresh) results[index] = { kind: 'signature_reused' };
    else {
      const until = refusal.limited_until;
      results[index] = until ? { kind: 'number_limited', until: new Date(until) } : { kind: 'key_taken' };
      unused.push({ once: item.once, row, prompted: !until });
    }
  }
  return { accepted: results.map((result) => result ?? { kind: 'key_taken' }), unused };
}

/** Those that were refused, by their ids. All others are written: the database counts them. */
async function writeRows(
  tx: Tx,
  ctx: PaymentsContext,
  rows: AcceptedRow[],
  at: Date,
  handOver: boolean,
): Promise<Map<string, RefusedRow>> {
  const { statement, parameters } = queryFor(tx, rows);
  const [written] = await tx.query<Written>(statement, [
    at,
    handOver ? new Date(at.getTime() + LEASE_MS) : at,
    new Date(at.getTime() - KEY_TTL_MS),
    ...promptLimits(ctx.config),
    handOver ? 'query' : 'submit',
    ...parameters,
  ]);
  const refused = new Map(written?.refused?.map((row) => [row.id, row]));
  if (!written || Number(written.accepted) + refused.size !== rows.length)
    throw new Error(`${rows.length} collections were sent, ${written?.accepted} written and ${refused.size} refused`);
  return refused;
}

/**
 * A refused request keeps its signature, and the request that is answered from its key spends it then. After the commit and
 * in a statement of its own: if it fails, the caller only has to sign again.
 */
async function releaseUnused(ctx: PaymentsContext, unused: Unused[]): Promise<void> {
  if (unused.length === 0) return;
  try {
    await unspend(
      ctx.db,
      unused.flatMap(({ once }) => once?.signature ?? []),
    );
    await takeBackPrompts(
      ctx.db,
      unused.flatMap(({ row, prompted }) => (prompted ? row : [])),
    );
  } catch (error) {
    ctx.log.warn({ err: error }, 'signatures of refused requests stay used');
  }
}

async function unspend(reader: Reader, signatures: SpentSignature[]): Promise<void> {
  if (signatures.length === 0) return;
  await reader.query(
    'delete from spent_signatures where (signed_at, signature) in (select * from unnest($1::timestamptz[], $2::bytea[]))',
    [signatures.map((entry) => entry.signedAt), signatures.map(bytesOf)],
  );
}

function acceptedRow(ctx: PaymentsContext, { once }: Item, transaction: Transaction): AcceptedRow {
  const idempotency = once?.idempotency ?? null;
  return {
    transaction,
    signed_at: once?.signature.signedAt ?? null,
    signature: once?.signature.signature ?? null,
    key: idempotency?.key ?? null,
    operation: idempotency?.operation ?? null,
    params_hash: idempotency?.paramsHash ?? null,
    answer: idempotency ? JSON.stringify(idempotency.answer(transaction)) : null,
    counted: countsAsPrompt(ctx.config, transaction),
    account_reference: accountReferenceOf(ctx, transaction),
  };
}

function accountReferenceOf(ctx: PaymentsContext, row: Transaction): string | null {
  const [rail, method] = [ctx.rails.byName(row.rail), ctx.catalog.methods.get(row.method)];
  if (!rail?.accountReferenceOf || !method) return null;
  return rail.accountReferenceOf({ reference: refOf(row), method, msisdn: row.msisdn ?? '' });
}

function orderedTransaction(order: CollectionOrder, at: Date): Transaction {
  return newTransaction(
    {
      id: createHolderUuid(at.getTime(), order.holderId),
      holder_id: order.holderId,
      integration_id: order.integrationId,
      direction: 'collection',
      amount: order.amount,
      fee: order.fee,
      currency: order.currency,
      country_id: order.countryId,
      method: order.method,
      rail: order.rail,
      msisdn: order.msisdn,
      detail: order.detail,
      reference_1: order.reference1,
      reference_2: order.reference2,
      callback_url: order.callbackUrl,
      link_id: order.linkId,
      verification: order.verification,
    },
    at,
  );
}
