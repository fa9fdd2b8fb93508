// What must hold when everything has come to rest: the invariants of the reliability page that money can break, each
// named by its number. Our database is held against the operator's own book; books.ts does that for the sums.

import { refOf } from '../../src/payments/transactions.ts';
import type { Context } from '../../src/platform/context.ts';
import { checkBooks } from './books.ts';
import { type Payment, truthOf } from './operator.ts';
import { type Model, noteEvent } from './shared.ts';

export type Row = {
  id: string;
  direction: 'collection' | 'payout' | 'refund';
  status: string;
  amount: bigint;
  fee: bigint;
  msisdn: string;
  receipt: string | null;
  reference_1: string | null;
  job: string | null;
  events: string[];
  cases: string[];
  transfers: string[];
  /** Of a collection: what an operator's reversal took back, and the part of the fee in it. */
  reversed: bigint;
  fee_reversed: bigint;
  /** Of a refund: what it returns of the fee, and its collection. */
  fee_returned: bigint;
  collection_id: string | null;
  /** Who said "failed" and "succeeded", where that was applied. */
  failed_by: string[];
  succeeded_by: string[];
};

/** Cases that tell people of a difference between our books and the operator's. */
const EXPLAINING = new Set([
  'contradiction',
  'different_receipt',
  'amount_mismatch',
  'no_answer',
  'payout_not_found',
  'refund_not_found',
  'receipt_used',
  'unreadable_report',
  // It had failed: the operator contradicts itself, and people were told which word came last.
  'late_success',
]);

export async function checkInvariants(ctx: Context, model: Model): Promise<string[]> {
  const violations: string[] = [];
  const rows = await readRows(ctx, model.holderId);
  const report = (row: Row, sentence: string) =>
    violations.push(`${row.msisdn} ${refOf(row)} (${row.direction} ${row.status}): ${sentence}`);
  for (const row of rows) {
    checkStates(row, report);
    checkPostings(row, report);
    checkAgainstOperator(row, model, report);
  }
  await noteEvents(ctx, model);
  return [
    ...model.violations.splice(0),
    ...violations,
    ...checkClients(rows, model),
    ...checkFiles(rows, model),
    ...checkOperator(rows, model),
    ...(await checkBooks(ctx, rows, model)),
  ];
}

function readRows(ctx: Context, holderId: bigint): Promise<Row[]> {
  return ctx.db.query<Row>(
    `select t.id, t.direction, t.status, t.amount, t.fee, t.msisdn, t.receipt, t.reference_1, j.kind as job,
       coalesce(o.fee_returned, 0) as fee_returned, o.collection_id,
       array(select type from events e where e.transaction_id = t.id order by type) as events,
       array(select kind from cases c where c.transaction_id = t.id and c.status = 'open' order by kind) as cases,
       array(select kind::text from ledger_transfers l where l.transaction_id = t.id order by 1) as transfers,
       (select coalesce(sum(amount), 0)::bigint from ledger_transfers l
        where l.transaction_id = t.id and l.kind in ('collection_reversal', 'collection_fee_reversal')) as reversed,
       (select coalesce(sum(amount), 0)::bigint from ledger_transfers l
        where l.transaction_id = t.id and l.kind = 'collection_fee_reversal') as fee_reversed,
       array(select source from evidence v where v.transaction_id = t.id and v.state = 'failed' and v.effect = 'applied') as failed_by,
       array(select source from evidence v where v.transaction_id = t.id and v.state = 'succeeded' and v.effect = 'applied')
         as succeeded_by
     from transactions t left join payment_jobs j on j.transaction_id = t.id
     left join refund_orders o on o.transaction_id = t.id
     where t.holder_id = $1 order by t.id`,
    [holderId],
  );
}

/** The events that are written now have the ids under which they were first told. */
export async function noteEvents(ctx: Context, model: Model): Promise<void> {
  const rows = await ctx.db.query<{ id: string; transaction_id: string; type: string }>(
    'select id, transaction_id, type from events where holder_id = $1',
    [model.holderId],
  );
  for (const row of rows) noteEvent(model, `${row.transaction_id} ${row.type}`, row.id);
}

type Report = (row: Row, sentence: string) => void;
const FINAL = new Set(['success', 'failed', 'expired', 'reversed']);

export function isOpen(row: Row): boolean {
  return !FINAL.has(row.status);
}

function checkStates(row: Row, report: Report): void {
  const family = row.direction;
  const final = !isOpen(row);
  if (final && row.job !== null) report(row, `has ended and still has work due (${row.job})`);
  if (!final && row.job === null) report(row, 'I21: is open and nobody works on it');
  if (!final && row.cases.length === 0) report(row, 'I21: did not end, and no person was told');
  if (new Set(row.events).size !== row.events.length) report(row, `I9: told twice: ${row.events.join()}`);
  if (final !== row.events.includes(`${family}.${row.status}`)) report(row, `I9: events are ${row.events.join()}`);
  if (!final && row.events.length > 0) report(row, `I9: told ${row.events.join()} while open`);
  if (row.status === 'reversed' && !row.events.includes(`${family}.success`))
    report(row, 'I9: its success was not told');
}

function checkPostings(row: Row, report: Report): void {
  const expected = new Set(expectedPostings(row));
  // Debts, the rolling reserve and disputes that lack money follow whatever moved the wallet: books.ts compares their sums.
  const found = row.transfers.filter((kind) => !/^(debt|reserve_|dispute_cover)/.test(kind));
  const optional = new Set(['collection_reversal', 'collection_fee_reversal', 'refund_fee']);
  const missing = [...expected].filter((kind) => !found.includes(kind) && !optional.has(kind));
  const extra = found.filter((kind) => !expected.has(kind));
  if (missing.length + extra.length > 0 || new Set(found).size !== found.length)
    report(row, `I7: the ledger has ${row.transfers.join() || 'nothing'}`);
}

/** How much a reversal takes back, and how much fee a refund returns, is for books.ts and the cross-checks. */
function expectedPostings(row: Row): string[] {
  const wasFailed = row.events.some((type) => type.endsWith('.failed') || type.endsWith('.expired'));
  const succeeded = row.status === 'success' || row.status === 'reversed';
  const released = row.status === 'failed' || (succeeded && wasFailed);
  switch (row.direction) {
    case 'collection':
      return [
        ...(succeeded ? ['collection', 'collection_fee'] : []),
        ...(row.status === 'reversed' ? ['collection_reversal', 'collection_fee_reversal'] : []),
      ];
    case 'payout':
      return [
        'payout_reserve',
        ...(succeeded ? ['payout', 'payout_fee'] : []),
        ...(released ? ['payout_release'] : []),
        ...(row.status === 'reversed' ? ['payout_reversal', 'payout_fee_reversal'] : []),
      ];
    case 'refund':
      return [
        'refund_reserve',
        ...(succeeded ? ['refund', 'refund_fee'] : []),
        ...(released ? ['refund_release'] : []),
      ];
  }
}

/** What this transaction moved, as our books say: plus for money to us. */
export function movedBy(row: Row): bigint {
  if (row.status !== 'success' && row.status !== 'reversed') return 0n;
  if (row.direction === 'collection') return row.amount - row.reversed;
  return row.status === 'reversed' ? 0n : -row.amount;
}

/** What the operator knows about it. A payer who pays at a till makes the operator's book by each payment. */
export function truthAbout(row: Row, { operator }: Model): bigint {
  const payment = operator.book.get(refOf(row));
  if (!payment?.till) return truthOf(payment);
  if (row.status !== 'success' && row.status !== 'reversed') return 0n;
  return operator.incoming.find(({ receipt }) => receipt === row.receipt)?.amount ?? 0n;
}

/**
 * What refunds that a restore took away had given back of a collection before the operator reversed the rest of it. We take
 * back all of it, and the case of the unknown refund says where the other part went (books.ts).
 */
function lostRefunds(row: Row, { operator, lost }: Model): bigint {
  const payment = operator.book.get(refOf(row));
  if (row.direction !== 'collection' || row.status !== 'reversed' || payment?.state !== 'reversed') return 0n;
  let sum = 0n;
  for (const { reference, collection, state, amount } of operator.book.values())
    if (collection === payment.reference && state === 'succeeded' && lost.has(reference)) sum += amount;
  return sum;
}

function checkAgainstOperator(row: Row, model: Model, report: Report): void {
  const ref = refOf(row);
  const payment = model.operator.book.get(ref);
  const truth = truthAbout(row, model) - lostRefunds(row, model);
  if (movedBy(row) !== truth && !row.cases.some((kind) => EXPLAINING.has(kind)))
    report(row, `differs from the operator's truth (${payment?.state ?? 'never seen'}) and no person was told`);
  if (row.status === 'failed' || row.status === 'expired') {
    const own = row.failed_by.every((source) => source === 'verification' || source === 'person');
    if (!own && !model.operator.said.has(`${ref} failed`)) report(row, 'I16: the operator never said that it failed');
    if (row.failed_by.includes('verification') && payment) report(row, 'was given up by us although it was submitted');
  }
  const reported = row.events.some((type) => type.endsWith('.success')) && !row.succeeded_by.includes('person');
  if (reported && !saidSuccess(model, ref, payment)) report(row, 'the operator never said that it succeeded');
  checkSends(row, model, payment, report);
}

function checkSends(row: Row, model: Model, payment: Payment | undefined, report: Report): void {
  const ref = refOf(row);
  const submits = model.operator.submits.get(ref) ?? 0;
  const once = row.direction === 'payout' || (row.direction === 'refund' && !model.operator.temper.idempotent);
  if (once && submits > 1 + (model.sentAgain.get(ref) ?? 0)) report(row, `I23: was sent ${submits} times`);
  if (model.operator.sentTwice.includes(ref)) report(row, 'I30: was sent although the operator knew it');
  if (payment && payment.accepted > 1) report(row, `the operator was made to do it ${payment.accepted} times`);
}

function saidSuccess(model: Model, ref: string, payment: Payment | undefined): boolean {
  const { said } = model.operator;
  return payment?.till === true || said.has(`${ref} succeeded`) || said.has(`${ref} reversed`);
}

function checkClients(rows: Row[], model: Model): string[] {
  const byReference = Map.groupBy(
    rows.filter((row) => row.direction === 'collection'),
    (row) => row.reference_1,
  );
  return model.collections.flatMap((collection) => {
    const made = byReference.get(collection.msisdn) ?? [];
    if (made.length > 1) return [`I6: ${collection.msisdn} made ${made.length} transactions`];
    if (collection.lost) return made.length === 0 ? [] : [`${collection.msisdn} was lost, and came back`];
    if (collection.ref === null && collection.taken)
      return made.length === 1 ? [] : [`I12: ${collection.msisdn} was spent without effect`];
    // Its client gave up after a day without an answer.
    if (collection.ref === null) return [];
    return made[0] && refOf(made[0]) === collection.ref
      ? []
      : [`I5: ${collection.ref} was acknowledged and is not there`];
  });
}

/** I31: the rows of a file are ordered once, all of them or none. */
function checkFiles(rows: Row[], { files }: Model): string[] {
  const payouts = Map.groupBy(
    rows.filter((row) => row.direction === 'payout'),
    (row) => row.msisdn,
  );
  return files.flatMap(({ mobiles, ordered }) => {
    const times = new Set(mobiles.map((mobile) => payouts.get(mobile)?.length ?? 0));
    const [count] = times;
    if (times.size === 1 && (count === 1 || (count === 0 && !ordered))) return [];
    return [`I31: the rows of a file are ordered ${[...times].join(' and ')} times`];
  });
}

/** Every call of the operator had a row that was committed before. */
function checkOperator(rows: Row[], model: Model): string[] {
  const known = new Set(rows.map(refOf));
  return [...model.operator.submits.keys()]
    .filter((reference) => !known.has(reference) && !model.lost.has(reference))
    .map((reference) => `I15: the operator was asked for ${reference}, which we do not have`);
}
