// What must hold when everything has come to rest: the invariants of the reliability page that money can break, each
// named by its number. Our database is held against the operator's own book.

import { accountKey, walletAvailable, walletReserved } from '../../src/ledger/chart.ts';
import { refOf } from '../../src/payments/transactions.ts';
import type { Context } from '../../src/platform/context.ts';
import { CURRENCY } from '../payments.ts';
import type { Payment } from './operator.ts';
import type { Model } from './simulation.ts';

type Row = {
  id: string;
  direction: 'collection' | 'payout';
  status: string;
  amount: bigint;
  fee: bigint;
  reference_1: string | null;
  job: string | null;
  events: string[];
  cases: string[];
  transfers: string[];
  /** Who said "failed", where that was applied. */
  failed_by: string[];
};

export async function checkInvariants(ctx: Context, model: Model): Promise<string[]> {
  const violations: string[] = [];
  const rows = await readRows(ctx, model.holderId);
  const report = (row: Row, sentence: string) =>
    violations.push(`${refOf(row)} (${row.direction} ${row.status}): ${sentence}`);
  for (const row of rows) {
    checkStates(row, report);
    checkPostings(row, report);
    checkAgainstOperator(row, model, report);
  }
  violations.push(...checkWishes(rows, model), ...checkOperator(rows, model), ...(await checkMoney(ctx, rows, model)));
  return violations;
}

function readRows(ctx: Context, holderId: bigint): Promise<Row[]> {
  return ctx.db.query<Row>(
    `select t.id, t.direction, t.status, t.amount, t.fee, t.reference_1, j.kind as job,
       array(select type from events e where e.transaction_id = t.id order by type) as events,
       array(select kind from cases c where c.transaction_id = t.id and c.status = 'open' order by kind) as cases,
       array(select kind::text from ledger_transfers l where l.transaction_id = t.id order by 1) as transfers,
       array(select source from evidence v where v.transaction_id = t.id and v.state = 'failed' and v.effect = 'applied') as failed_by
     from transactions t left join payment_jobs j on j.transaction_id = t.id
     where t.holder_id = $1 order by t.id`,
    [holderId],
  );
}

type Report = (row: Row, sentence: string) => void;
const FINAL = new Set(['success', 'failed', 'expired', 'reversed']);

function checkStates(row: Row, report: Report): void {
  const family = row.direction === 'collection' ? 'collection' : 'payout';
  const final = FINAL.has(row.status);
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
  const wasFailed = row.events.some((type) => type.endsWith('.failed') || type.endsWith('.expired'));
  const succeeded = row.status === 'success' || row.status === 'reversed';
  const expected =
    row.direction === 'collection'
      ? [
          ...(succeeded ? ['collection', 'collection_fee'] : []),
          ...(row.status === 'reversed' ? ['collection_reversal', 'collection_fee_reversal'] : []),
        ]
      : [
          'payout_reserve',
          ...(succeeded ? ['payout', 'payout_fee'] : []),
          ...(row.status === 'failed' || (succeeded && wasFailed) ? ['payout_release'] : []),
          ...(row.status === 'reversed' ? ['payout_reversal', 'payout_fee_reversal'] : []),
        ];
  if (expected.toSorted().join() !== row.transfers.toSorted().join())
    report(row, `I7: the ledger has ${row.transfers.join() || 'nothing'}`);
}

/** What this transaction moved, as a state says: plus for money to us. */
function moved(direction: string, state: string, amount: bigint): bigint {
  if (state !== 'success' && state !== 'succeeded') return 0n;
  return direction === 'collection' ? amount : -amount;
}

function truthOf(payment: Payment | undefined): bigint {
  return payment ? moved(payment.direction, payment.state, payment.amount) : 0n;
}

function checkAgainstOperator(row: Row, model: Model, report: Report): void {
  const ref = refOf(row);
  const payment = model.operator.book.get(ref);
  const ours = moved(row.direction, row.status, row.amount);
  if (ours !== truthOf(payment) && row.cases.length === 0)
    report(row, `differs from the operator's truth (${payment?.state ?? 'never seen'}) and no person was told`);
  if (row.status === 'failed' || row.status === 'expired') {
    const own = row.failed_by.every((source) => source === 'verification' || source === 'person');
    if (!own && !model.operator.said.has(`${ref} failed`)) report(row, 'I16: the operator never said that it failed');
    if (row.failed_by.includes('verification') && payment) report(row, 'was given up by us although it was submitted');
  }
  if (row.events.some((type) => type.endsWith('.success')) && !saidSuccess(model, ref, payment))
    report(row, 'the operator never said that it succeeded');
  const submits = model.operator.submits.get(ref) ?? 0;
  if (row.direction === 'payout' && submits > 1 + (model.sentAgain.get(ref) ?? 0))
    report(row, `was sent ${submits} times`);
  if (payment && row.direction === 'collection' && payment.accepted > 1)
    report(row, `the payer was charged ${payment.accepted} times`);
}

function saidSuccess(model: Model, ref: string, payment: Payment | undefined): boolean {
  const { said } = model.operator;
  return payment?.till === true || said.has(`${ref} succeeded`) || said.has(`${ref} reversed`);
}

function checkWishes(rows: Row[], model: Model): string[] {
  const byReference = Map.groupBy(
    rows.filter((row) => row.direction === 'collection'),
    (row) => row.reference_1,
  );
  return model.collections.flatMap((collection) => {
    const made = byReference.get(collection.msisdn) ?? [];
    if (made.length > 1) return [`I6: ${collection.msisdn} made ${made.length} transactions`];
    if (collection.ref === null && collection.taken)
      return made.length === 1 ? [] : [`I12: ${collection.msisdn} was spent without effect`];
    if (collection.ref === null) return [`I21: ${collection.msisdn} was never answered`];
    return made[0] && refOf(made[0]) === collection.ref
      ? []
      : [`I5: ${collection.ref} was acknowledged and is not there`];
  });
}

/** Every call of the operator had a row that was committed before. */
function checkOperator(rows: Row[], model: Model): string[] {
  const known = new Set(rows.map(refOf));
  return [...model.operator.submits.keys()]
    .filter((reference) => !known.has(reference))
    .map((reference) => `I15: the operator was asked for ${reference}, which we do not have`);
}

async function checkMoney(ctx: Context, rows: Row[], model: Model): Promise<string[]> {
  const violations: string[] = [];
  const balances = await ctx.db.query<{ key: string; balance: bigint }>(
    'select key, balance from ledger_accounts where key = any($1)',
    [[accountKey(walletAvailable(model.holderId, CURRENCY)), accountKey(walletReserved(model.holderId, CURRENCY))]],
  );
  const of = (key: string) => balances.find((entry) => entry.key === key)?.balance ?? 0n;
  // Clearing is kept per holder; the operator knows one sum.
  const [cleared] = await ctx.db.query<{ sum: bigint | null }>(
    `select -sum(balance)::bigint as sum from ledger_accounts
     where kind = 'operator_clearing' and rail = $1 and currency = $2`,
    [model.railName, CURRENCY],
  );
  const clearing = cleared?.sum ?? 0n;
  // I17: what the operator holds for us is what our books say it holds, but for what persons were told of.
  let held = 0n;
  let disputed = 0n;
  for (const payment of model.operator.book.values()) if (!payment.till) held += truthOf(payment);
  for (const { amount } of model.operator.incoming) held += amount;
  for (const row of rows) {
    disputed += moved(row.direction, row.status, row.amount) - truthOf(model.operator.book.get(refOf(row)));
  }
  if (clearing !== held + disputed)
    violations.push(
      `I17: the operator holds ${held}, our clearing account says ${clearing}, cases explain ${disputed}`,
    );
  const reserved = of(accountKey(walletReserved(model.holderId, CURRENCY)));
  const waiting = rows
    .filter((row) => row.direction === 'payout' && !FINAL.has(row.status))
    .reduce((sum, row) => sum + row.amount + row.fee, 0n);
  if (reserved !== waiting) violations.push(`I3: ${reserved} is reserved, open payouts need ${waiting}`);
  violations.push(...(await checkWallet(ctx, rows, model, of(accountKey(walletAvailable(model.holderId, CURRENCY))))));
  return violations;
}

async function checkWallet(ctx: Context, rows: Row[], model: Model, available: bigint): Promise<string[]> {
  let expected = model.topUp;
  for (const row of rows) {
    if (row.direction === 'collection' && row.status === 'success') expected += row.amount - row.fee;
    if (row.direction === 'payout' && row.status !== 'failed' && row.status !== 'reversed')
      expected -= row.amount + row.fee;
  }
  // What suspense bore for this holder, because the wallet no longer held it.
  const [fallback] = await ctx.db.query<{ sum: bigint | null }>(
    `select sum(l.amount)::bigint as sum from ledger_transfers l
     join ledger_accounts a on a.holder_id = l.holder_id and a.id = l.debit_account and a.kind = 'suspense'
     join transactions t on t.holder_id = l.holder_id and t.id = l.transaction_id where t.holder_id = $1`,
    [model.holderId],
  );
  const wallet = expected + (fallback?.sum ?? 0n);
  return available === wallet ? [] : [`I3: the wallet holds ${available}, its transactions make ${wallet}`];
}
