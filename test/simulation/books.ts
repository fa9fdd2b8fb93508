// The sums: what the operator's own book says equals clearing, but for what open cases explain; wallet and debt explain the
// holder; suspense and debts are the sums of their open cases. Then `ledger verify` checks the same database by itself.

import { extendChain } from '../../src/ledger/chain.ts';
import {
  type AccountRef,
  accountKey,
  holderReceivable,
  suspense,
  walletAvailable,
  walletHeld,
  walletReserved,
} from '../../src/ledger/chart.ts';
import { refOf } from '../../src/payments/transactions.ts';
import { verifyBooks } from '../../src/payments/verify-books.ts';
import { addVerifyRun } from '../../src/payments/verify-runs.ts';
import type { Context } from '../../src/platform/context.ts';
import { NO_HOLDER } from '../../src/platform/ids.ts';
import { CURRENCY } from '../payments.ts';
import { isOpen, movedBy, type Row, truthAbout } from './invariants.ts';
import { truthOf } from './operator.ts';
import type { Model } from './shared.ts';

export async function checkBooks(ctx: Context, rows: Row[], model: Model): Promise<string[]> {
  return [
    ...(await checkClearing(ctx, rows, model)),
    ...(await checkWallet(ctx, rows, model)),
    ...checkRefunds(rows),
    ...(await checkCases(ctx, model)),
    ...(await checkQuarantine(ctx, model)),
    ...(await verify(ctx, model)),
  ];
}

async function balanceOf(ctx: Context, account: AccountRef): Promise<bigint> {
  const [row] = await ctx.db.query<{ balance: bigint }>('select balance from ledger_accounts where key = $1', [
    accountKey(account),
  ]);
  return row?.balance ?? 0n;
}

async function sumOf(ctx: Context, statement: string, values: unknown[]): Promise<bigint> {
  const [row] = await ctx.db.query<{ sum: bigint | null }>(statement, values);
  return row?.sum ?? 0n;
}

/** I17 and I35: what the operator holds for us is what our books say it holds, but for what open cases name. */
async function checkClearing(ctx: Context, rows: Row[], model: Model): Promise<string[]> {
  const { operator, railName } = model;
  // Clearing is kept per holder; the operator knows one sum.
  const clearing = await sumOf(
    ctx,
    `select -sum(balance)::bigint as sum from ledger_accounts
     where kind = 'operator_clearing' and rail = $1 and currency = $2`,
    [railName, CURRENCY],
  );
  // What people gave back to a payer they gave back at the operator.
  let held = -(await sumOf(
    ctx,
    `select sum(l.amount)::bigint as sum from decisions d join cases c on c.holder_id = d.holder_id and c.id = d.case_id
     join ledger_transfers l on l.holder_id = c.holder_id and l.transaction_id = c.id and l.kind = 'suspense_return'
     where d.status = 'approved' and d.action = 'return_to_payer' and c.rail = $1`,
    [railName],
  ));
  for (const payment of operator.book.values()) if (!payment.till) held += truthOf(payment);
  for (const { amount } of operator.incoming) held += amount;
  const disputed = rows.reduce((sum, row) => sum + movedBy(row) - truthAbout(row, model), 0n);
  const { explained, violations } = await checkUnknown(ctx, rows, model);
  if (clearing !== held + disputed + explained)
    violations.push(
      `I17: the operator holds ${held}, our clearing account says ${clearing}, cases explain ${disputed + explained}`,
    );
  return violations;
}

/** How far an operator that lies is off (`wrongAmount`). */
const WRONG_BY = 1n;

/**
 * Payments in the operator's book that we have no row for: lost by a restore, or of another installation. Money that came
 * in is in suspense, or where people decided; everything else about them is named by an open case.
 */
async function checkUnknown(ctx: Context, rows: Row[], { operator, railName }: Model) {
  const known = new Set(rows.map(refOf));
  const reports = await ctx.db.query<{ reference: string; open: boolean; disputed: boolean; booked: bigint }>(
    `select u.reference, bool_or(c.status = 'open') as open,
       bool_or(u.state = 'failed') and bool_or(u.state = 'succeeded') as disputed,
       coalesce(sum(c.amount) filter (where u.booked and c.resolved_by is distinct from 'operator' and not exists (
         select from ledger_transfers l where l.transaction_id = c.id
           and l.kind in ('suspense_credit_reversal', 'suspense_income_reversal'))), 0)::bigint as booked
     from unmatched_reports u join cases c on c.holder_id = u.holder_id and c.id = u.case_id
     where u.rail = $1 group by u.reference`,
    [railName],
  );
  const byReference = new Map(reports.map((row) => [row.reference, row]));
  const violations: string[] = [];
  let explained = 0n;
  for (const payment of operator.book.values()) {
    if (known.has(payment.reference) || payment.state === 'pending') continue;
    // What was paid at a till is in the operator's book by its own receipt.
    if (payment.till && payment.state === 'succeeded') continue;
    const said = byReference.get(payment.reference);
    const difference = (said?.booked ?? 0n) - truthOf(payment);
    // Without a row of ours nothing contradicts an operator that names a wrong amount, or a payment that never was; and
    // people may decide about money although they read in the case that the operator has said both.
    const neverPaid = payment.state === 'failed' || payment.state === 'expired';
    const wrongAmount = difference === WRONG_BY || (neverPaid && difference === payment.amount + WRONG_BY);
    const asSaid = payment.direction === 'collection' && (wrongAmount || (neverPaid && said?.disputed));
    if (difference !== 0n && !said?.open && !asSaid) {
      const moved = `${payment.reference} (${payment.direction} ${payment.state}) moved ${truthOf(payment)}`;
      violations.push(`I24: ${moved}, we booked ${said?.booked}, and no case is open`);
    }
    explained += difference;
  }
  return { explained, violations };
}

/** I3 and I26: top-ups, collections, payouts, refunds and decisions make the wallet, less what the holder owes. */
async function checkWallet(ctx: Context, rows: Row[], model: Model): Promise<string[]> {
  const { holderId } = model;
  let expected = model.topUp;
  let waiting = 0n;
  for (const row of rows) {
    expected += walletChange(row);
    if (isOpen(row) && row.direction === 'payout') waiting += row.amount + row.fee;
    if (isOpen(row) && row.direction === 'refund') waiting += row.amount - row.fee_returned;
  }
  expected += await sumOf(
    ctx,
    `select sum(case when kind = 'suspense_credit_reversal' then -amount else amount end)::bigint as sum from ledger_transfers
     where holder_id = $1 and kind in ('suspense_credit', 'suspense_credit_reversal', 'debt_write_off')`,
    [holderId],
  );
  const available = await balanceOf(ctx, walletAvailable(holderId, CURRENCY));
  const reserved = await balanceOf(ctx, walletReserved(holderId, CURRENCY));
  const held = await balanceOf(ctx, walletHeld(holderId, CURRENCY));
  const debt = -(await balanceOf(ctx, holderReceivable(holderId, CURRENCY)));
  const violations: string[] = [];
  if (reserved !== waiting) violations.push(`I3: ${reserved} is reserved, open payouts and refunds need ${waiting}`);
  if (available + held - debt !== expected)
    violations.push(
      `I26: the wallet holds ${available} and ${held} in reserve, and owes ${debt}; its transactions make ${expected}`,
    );
  if (debt > 0n && available > 0n) violations.push(`I26: the holder owes ${debt} while its wallet holds ${available}`);
  return violations;
}

function walletChange(row: Row): bigint {
  const paid = row.status === 'success' || row.status === 'reversed';
  switch (row.direction) {
    case 'collection':
      return paid ? row.amount - row.fee - (row.reversed - row.fee_reversed) : 0n;
    case 'payout':
      return row.status === 'failed' || row.status === 'reversed' ? 0n : -(row.amount + row.fee);
    case 'refund':
      return row.status === 'failed' ? 0n : -(row.amount - row.fee_returned);
  }
}

/** I23: refunds never give back more than was collected, but for one that succeeded after it had failed. */
function checkRefunds(rows: Row[]): string[] {
  const collected = new Map(rows.map((row) => [row.id, row.amount]));
  const refunds = Map.groupBy(
    rows.filter(
      (row) => row.direction === 'refund' && row.status !== 'failed' && !row.events.includes('refund.failed'),
    ),
    (row) => row.collection_id ?? '',
  );
  return [...refunds].flatMap(([id, parts]) => {
    const sum = parts.reduce((total, row) => total + row.amount, 0n);
    return sum <= (collected.get(id) ?? 0n) ? [] : [`I23: ${sum} of ${collected.get(id)} is refunded`];
  });
}

/** I26: suspense and debts are what their open cases hold. */
async function checkCases(ctx: Context, { holderId }: Model): Promise<string[]> {
  const open = (holder: bigint, condition: string) =>
    sumOf(
      ctx,
      `select sum(amount - settled)::bigint as sum from cases
       where holder_id = $1 and currency = $2 and status = 'open' and amount is not null and ${condition}`,
      [holder, CURRENCY],
    );
  const violations: string[] = [];
  for (const holder of [holderId, NO_HOLDER]) {
    const held = await balanceOf(ctx, suspense(holder, CURRENCY));
    const named = await open(holder, `kind <> 'debt'`);
    if (held !== named) violations.push(`I26: suspense of holder ${holder} is ${held}, open cases name ${named}`);
  }
  const debt = -(await balanceOf(ctx, holderReceivable(holderId, CURRENCY)));
  const named = await open(holderId, `kind = 'debt'`);
  if (debt !== named) violations.push(`I26: the holder owes ${debt}, open cases name ${named}`);
  return violations;
}

/** I24: a value that cannot be used is kept, and does not hold back anything else. */
async function checkQuarantine(ctx: Context, { operator, railName, restores }: Model): Promise<string[]> {
  const kept = await sumOf(ctx, 'select sum(times)::bigint as sum from quarantined_reports where rail = $1', [
    railName,
  ]);
  const waiting = await sumOf(ctx, 'select count(*)::bigint as sum from operator_inbox where rail = $1', [railName]);
  const violations: string[] = [];
  if (operator.heardBad() > 0 && kept === 0n && restores === 0) violations.push('I24: a bad value left no trace');
  if (waiting > 0n) violations.push(`I24: ${waiting} operator callbacks are never applied`);
  return violations;
}

async function verify(ctx: Context, { startedAt }: Model): Promise<string[]> {
  await extendChain(ctx, { partial: true });
  const asked = { by: 'simulation', since: startedAt, inBackground: false };
  const run = await verifyBooks(ctx, await addVerifyRun(ctx.db, asked, ctx.clock.now()));
  return run.findings.map(({ sentence }) => `ledger verify: ${sentence}`);
}
