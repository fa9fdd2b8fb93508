// Retries: a collection or a payout that failed is asked for again, as a new transaction that is linked to the first, or as
// a payment link. Only one retry is open at a time, and nothing is asked for again that was paid meanwhile.

import { checkAmount } from '../catalog/amounts.ts';
import { type Actor, recordAudit } from '../holders/audit.ts';
import { findActiveIntegration, type Integration, requireIntegration } from '../holders/integrations.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { formatAmount } from '../platform/money.ts';
import { acceptWithin } from './accept.ts';
import { completeOrder, type PaymentDetails } from './collections.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import type { Status } from './states.ts';
import { refOf, type Transaction } from './transactions.ts';
import { type LockedTry, listRetryLinks, listTries, lockTries } from './tries.ts';

/** Of one transaction. The database refuses more. */
const MAX_RETRIES = 100;

export type Retry = {
  retry_of: string;
  /** One of the two is set. */
  transaction_id: string | null;
  link_id: string | null;
  /** Of the new transaction; null for a link. */
  status: Status | null;
  created_by: string;
  created_at: Date;
};

const RETRY_COLUMNS = 'r.retry_of, r.transaction_id, r.link_id, t.status, r.created_by, r.created_at';
const RETRIES = `transaction_retries r left join transactions t on t.holder_id = r.holder_id and t.id = r.transaction_id`;

/** The retries of a transaction, newest first. */
export function listRetriesOf(reader: Reader, holderId: bigint, transactionId: string): Promise<Retry[]> {
  return reader.query<Retry>(
    `select ${RETRY_COLUMNS} from ${RETRIES} where r.holder_id = $1 and r.retry_of = $2
     order by r.number desc limit ${MAX_RETRIES}`,
    [holderId, transactionId],
  );
}

/** What this transaction repeats; null when it is no retry. */
export async function findRetryFor(reader: Reader, holderId: bigint, transactionId: string): Promise<Retry | null> {
  const [row] = await reader.query<Retry>(
    `select ${RETRY_COLUMNS} from ${RETRIES} where r.holder_id = $1 and r.transaction_id = $2`,
    [holderId, transactionId],
  );
  return row ?? null;
}

/** Why a transaction is not asked for again. */
type RetryRefusal =
  /** It did not fail, or it succeeded late. */
  | 'not_failed'
  /** A retry of it is not decided yet, or the same reference was paid since. */
  | 'open'
  | 'paid'
  /** The method has no prompt, or is not offered any more. */
  | 'no_prompt'
  | 'too_many';

/** Thrown in the transaction that makes a retry, so that nothing of it is written. */
export class RetryRefusedError extends Error {
  readonly refusal: RetryRefusal;
  constructor(refusal: RetryRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}

/** Whether this one may be asked for again, as far as its own row says. */
export function isRetryable({ direction, status }: Pick<Transaction, 'direction' | 'status'>): boolean {
  return direction !== 'refund' && (status === 'failed' || status === 'expired');
}

/** Whether the payer can be asked on the phone. Where money is sent by hand there is nobody to ask. */
export function hasPrompt({ msisdn, verification }: Pick<Transaction, 'msisdn' | 'verification'>): boolean {
  return msisdn !== null && verification !== 'instructions' && verification !== 'none';
}

/**
 * Asks the same payer for the same amount again. `within` writes in the same transaction; if it throws, nothing is asked for.
 * Throws a RetryRefusedError, `number_limited` when the number had too many prompts, or what makes a new collection impossible.
 */
export async function retryCollection(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  actor: Actor,
  failed: Transaction,
  { findLinkState, within }: { findLinkState: FindLinkState; within: (tx: Tx) => Promise<void> },
): Promise<Transaction> {
  if (!isRetryable(failed) || failed.direction !== 'collection') throw new RetryRefusedError('not_failed');
  const payment = samePayment(ctx, failed);
  const integration = await integrationOf(ctx.db, failed);
  const order = await completeOrder(ctx, payment, {
    holderId: failed.holder_id,
    integrationId: integration?.id ?? null,
    countryId: failed.country_id,
    detail: failed.detail,
    reference1: failed.reference_1,
    reference2: failed.reference_2,
    callbackUrl: failed.callback_url,
    linkId: null,
  });
  return acceptWithin(ctx, engine, order, async (tx, { id }) => {
    await within(tx);
    await recordRetry(tx, ctx, actor, failed, { transactionId: id }, findLinkState);
  });
}

function samePayment(ctx: PaymentsContext, failed: Transaction): PaymentDetails {
  const method = ctx.catalog.methods.get(failed.method);
  if (!method || failed.msisdn === null || !hasPrompt(failed)) throw new RetryRefusedError('no_prompt');
  const amount = checkAmount(formatAmount(failed.amount), method, 'collection');
  if (!amount.ok)
    throw new Problem('invalid_params', { message: amount.sentence, errors: { amount: [amount.sentence] } });
  return { method, msisdn: failed.msisdn, amount: amount.amount };
}

/** That of the first try while it is active, else the one that orders of the console belong to. */
async function integrationOf(reader: Reader, { holder_id: holderId, integration_id: id }: Transaction) {
  const first: Integration | null = id === null ? null : await requireIntegration(reader, holderId, id);
  return first?.status === 'active' ? first : findActiveIntegration(reader, holderId);
}

type RetryTarget = { transactionId: string } | { linkId: string };

/** What became of an earlier retry that is a payment link, and locks it. Only the module of links knows. */
export type FindLinkState = (tx: Tx, linkId: string) => Promise<'open' | 'paid' | 'closed'>;

/** Links a new transaction or payment link to the one that it repeats. */
export async function recordRetry(
  tx: Tx,
  ctx: Pick<PaymentsContext, 'clock'>,
  actor: Actor,
  failed: Pick<Transaction, 'id' | 'holder_id'>,
  target: RetryTarget,
  findLinkState: FindLinkState,
): Promise<void> {
  const known = (await lockTries(tx, failed)).find(({ id }) => id === failed.id);
  if (!known || !isRetryable(known)) throw new RetryRefusedError('not_failed');
  const earlier = await listRetriesOf(tx, failed.holder_id, failed.id);
  if (earlier.length >= MAX_RETRIES) throw new RetryRefusedError('too_many');
  await refuseUnlessEnded(tx, failed, findLinkState);
  if (await wasPaidSince(tx, known)) throw new RetryRefusedError('paid');
  const at = ctx.clock.now();
  const { transactionId, linkId } = { transactionId: null, linkId: null, ...target };
  await tx.query(
    `insert into transaction_retries (holder_id, retry_of, number, transaction_id, link_id, created_by, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [failed.holder_id, failed.id, earlier.length + 1, transactionId, linkId, actor.name, at],
  );
  await recordAudit(
    tx,
    {
      holderId: failed.holder_id,
      actor,
      action: 'transaction.retried',
      subject: refOf(failed),
      details: { amount: String(known.amount), currency: known.currency },
    },
    at,
  );
}

/**
 * The links first: each is locked, so a payment that was being made through one that has just expired is known after it. Sorted, as
 * outcomes lock them.
 */
async function refuseUnlessEnded(
  tx: Tx,
  failed: Pick<Transaction, 'id' | 'holder_id'>,
  findLinkState: FindLinkState,
): Promise<void> {
  const states: string[] = [];
  for (const linkId of await listRetryLinks(tx, failed)) states.push(await findLinkState(tx, linkId));
  states.push(...(await listTries(tx, failed)));
  if (states.some((state) => state === 'paid' || state === 'success')) throw new RetryRefusedError('paid');
  if (states.some((state) => state === 'open' || state === 'pending' || state === 'processing'))
    throw new RetryRefusedError('open');
}

/** Whether a newer collection with the same reference and amount succeeded: the customer tried again without us. */
async function wasPaidSince(tx: Tx, known: LockedTry): Promise<boolean> {
  if (known.direction !== 'collection' || known.reference_1 === null) return false;
  const rows = await tx.query(
    `select from transactions where holder_id = $1 and reference_1 = $2 and id <> $3 and created_at >= $6
       and direction = 'collection' and status = 'success' and amount = $4 and currency = $5 limit 1`,
    [known.holder_id, known.reference_1, known.id, known.amount, known.currency, known.created_at],
  );
  return rows.length > 0;
}
