// Refunds of Paystack. They have no reference of ours and are not idempotent, so ours stands in the note for the merchant, and
// the refunds of the account are searched for it before anything is sent and whenever the id is not known.

import { DAY_MS } from '../platform/clock.ts';
import { timeOfUuid, uuidFromPublicId } from '../platform/ids.ts';
import type { Exchange } from './exchange.ts';
import { readEnvelope, readRefusal, unknown, unreadable } from './paystack-answers.ts';
import { chargeReference } from './paystack-charges.ts';
import type { Amounts } from './paystack-methods.ts';
import type { Observation, QueryCall, RefundCall } from './rail.ts';
import { field, objectsOf, proseOf, textOf } from './reading.ts';

const PAGE_SIZE = 100;
const MAX_PAGES = 50;
/** Clocks differ, and Paystack may read the bound in another zone. */
const SEARCH_MARGIN_MS = DAY_MS;
/** The list may lag behind: only after this long does its silence mean that a refund never arrived. */
const LIST_IS_COMPLETE_AFTER_MS = DAY_MS;

export type RefundContext = {
  amounts: Amounts;
  now: () => Date;
  get: (path: string) => Promise<Exchange>;
  post: (path: string, body: object) => Promise<Exchange>;
};

type Answered = { observation: Observation; answer: Exchange };

export async function sendRefund(context: RefundContext, call: RefundCall): Promise<Answered> {
  const since = searchedSince(call.reference, context.now());
  const known = await findRefund(context, call.reference, since);
  // Nothing is sent while nobody knows whether it was sent before.
  if (known.found !== 'none') return known.result;
  const answer = await context.post('/refund', {
    transaction: chargeReference(call.collection.reference),
    amount: context.amounts.toWire(call.amount, call.currency),
    currency: call.currency,
    merchant_note: call.reference,
    customer_note: call.merchantName,
  });
  const envelope = readEnvelope(answer);
  if (envelope === null || envelope.httpStatus >= 500 || envelope.httpStatus === 429)
    return { observation: unreadable(answer), answer };
  if (envelope.isOk) return { observation: readRefund(context.amounts, envelope.data), answer };
  const observation = readRefundRefusal(envelope);
  if (observation.state !== 'failed') return { observation, answer };
  // Delivered twice, a refund of all of it is refused the second time.
  const taken = await findRefund(context, call.reference, since);
  return taken.found === 'none' ? { observation, answer } : taken.result;
}

/** Refusals that tell that nothing is left to give back of this transaction, or that it cannot be given back. */
const NOT_REFUNDABLE =
  /(?:fully|already|been) (?:reversed|refunded)|(?:more|greater) than|exceed|not (?:found|supported|been paid)|cannot be refunded/i;

function readRefundRefusal(envelope: NonNullable<ReturnType<typeof readEnvelope>>): Observation {
  const { code, message, httpStatus } = envelope;
  const isRefused = [200, 400, 404, 422].includes(httpStatus) && NOT_REFUNDABLE.test(message);
  if (!isRefused) return readRefusal(envelope);
  return { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode: code || String(httpStatus), message };
}

export async function queryRefund(context: RefundContext, call: QueryCall): Promise<Answered> {
  if (call.railReference !== null) {
    const answer = await context.get(`/refund/${encodeURIComponent(call.railReference)}`);
    const envelope = readEnvelope(answer);
    const isRead = envelope?.isOk === true && textOf(field(envelope.data, 'id')) === call.railReference;
    return { observation: isRead ? readRefund(context.amounts, envelope.data) : unreadable(answer), answer };
  }
  const since = searchedSince(call.reference, call.submittedAt);
  const known = await findRefund(context, call.reference, since);
  if (known.found !== 'none') return known.result;
  const isComplete = context.now().getTime() - call.submittedAt.getTime() >= LIST_IS_COMPLETE_AFTER_MS;
  const reason = 'the operator lists no such refund';
  return {
    observation: { state: 'unknown', reason, ...(isComplete ? { definitelyNotFound: true } : { answered: true }) },
    answer: known.result.answer,
  };
}

/** A refund as every call shows it. */
function readRefund(amounts: Amounts, data: unknown): Observation {
  const id = textOf(field(data, 'id'));
  if (id === null) return unknown('the refund has no id');
  switch (textOf(field(data, 'status'))) {
    case 'pending':
    case 'processing':
    // Paystack waits for a bank account of the payer, which people give in the dashboard.
    case 'needs-attention':
      return { state: 'pending', railReference: id };
    case 'processed': {
      const money = amounts.fromWire(field(data, 'amount'), field(data, 'currency'));
      if (money === null) return unknown('the amount is not valid');
      return { state: 'succeeded', receipt: id, railReference: id, ...money };
    }
    case 'failed': {
      const message = proseOf(field(data, 'reason'));
      return { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode: 'failed', message, railReference: id };
    }
    default:
      return unknown('the operator sent an unknown status');
  }
}

/** Since it was made, which its reference tells: after a restore, or when people send it again, that may be weeks ago. */
function searchedSince(reference: string, latest: Date): Date {
  const uuid = uuidFromPublicId('RF', reference) ?? uuidFromPublicId('TX', reference);
  const made = uuid === null ? latest.getTime() : Math.min(timeOfUuid(uuid), latest.getTime());
  return new Date(made - SEARCH_MARGIN_MS);
}

type Search = { found: 'one' | 'none' | 'unreadable'; result: Answered };

async function findRefund(context: RefundContext, reference: string, since: Date): Promise<Search> {
  const search = await searchRefunds(context, since, (row) => noteOf(row) === reference);
  if (search.row === null)
    return {
      found: search.isComplete ? 'none' : 'unreadable',
      result: { observation: search.error, answer: search.answer },
    };
  const { row, answer } = search;
  return { found: 'one', result: { observation: readRefund(context.amounts, row), answer } };
}

/** How much of a collection our own refunds give back, except those that failed; null when that cannot be read. */
export async function sumOwnRefunds(
  context: RefundContext,
  transactionId: string,
  { reference, submittedAt }: Pick<QueryCall, 'reference' | 'submittedAt'>,
): Promise<bigint | null> {
  const sums: (bigint | undefined)[] = [];
  const search = await searchRefunds(context, searchedSince(reference, submittedAt), (row) => {
    const transaction = textOf(row.transaction) ?? textOf(field(row.transaction, 'id'));
    const isOurs = transaction === transactionId && (noteOf(row) ?? '').startsWith('RF_') && row.status !== 'failed';
    if (isOurs) sums.push(context.amounts.fromWire(row.amount, row.currency)?.amount);
    return false;
  });
  if (!search.isComplete || sums.includes(undefined)) return null;
  return sums.reduce<bigint>((sum, amount) => sum + (amount ?? 0n), 0n);
}

/** Whether the payer's bank took a transaction back; null when Paystack does not tell. */
export async function isChargedBack({ get }: RefundContext, transactionId: string): Promise<boolean | null> {
  const envelope = readEnvelope(await get(`/dispute/transaction/${encodeURIComponent(transactionId)}`));
  if (!envelope?.isOk || envelope.httpStatus !== 200) return null;
  const disputes = Array.isArray(envelope.data) ? objectsOf(envelope.data) : [envelope.data];
  return disputes.some(
    (dispute) => field(dispute, 'status') === 'resolved' && field(dispute, 'resolution') === 'merchant-accepted',
  );
}

const noteOf = (row: Record<string, unknown>) => textOf(row.merchant_note);

type ListSearch = {
  row: Record<string, unknown> | null;
  /** Every page was read. */
  isComplete: boolean;
  error: Observation;
  answer: Exchange;
};

async function searchRefunds(
  { get }: RefundContext,
  since: Date,
  isWanted: (row: Record<string, unknown>) => boolean,
): Promise<ListSearch> {
  let answer: Exchange = { answered: false, reason: 'not asked' };
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const query = new URLSearchParams({ perPage: String(PAGE_SIZE), page: String(page), from: since.toISOString() });
    answer = await get(`/refund?${query.toString()}`);
    const envelope = readEnvelope(answer);
    if (!envelope?.isOk || envelope.httpStatus !== 200 || !Array.isArray(envelope.data))
      return { row: null, isComplete: false, error: unreadable(answer), answer };
    const rows = objectsOf(envelope.data);
    const row = rows.find(isWanted) ?? null;
    if (row !== null || rows.length < PAGE_SIZE)
      return { row, isComplete: true, error: unknown('the operator lists no such refund'), answer };
  }
  return { row: null, isComplete: false, error: unknown('the list of refunds is too long'), answer };
}
