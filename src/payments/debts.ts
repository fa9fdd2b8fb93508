// Debts: what a holder owes the gateway because money was taken back after the wallet had spent it. The ledger lends the
// shortfall and recovers it from the next credits (ledger.ts); here each debt is a case that says how old it is, and that
// closes when it is recovered, oldest first.

import type { PostedTransfer } from '../ledger/ledger.ts';
import type { TransferKind } from '../ledger/postings.ts';
import type { Context } from '../platform/context.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import { lesserOf } from '../platform/money.ts';
import { openCases, type SettledMoney, settleCaseMoney } from './cases.ts';
import { coverDisputes } from './dispute-cover.ts';
import { takeHeldParts } from './held-parts.ts';

const RECOVERED_BY = 'ledger';
const RECOVERED = 'Recovered from money that came in.';
const DEBTS_PER_PASS = 1_000;
/** Facts that are posted under the id of a case. */
const OF_CASES: ReadonlySet<TransferKind> = new Set(['suspense_credit_reversal', 'dispute_loss_short']);

/**
 * Opens a case for each debt among posted transfers, settles the cases of what was recovered, takes what was used out of the
 * rolling reserve, and counts what came for open disputes.
 */
export async function recordDebts(tx: Tx, ctx: Context, posted: readonly PostedTransfer[], at: Date): Promise<void> {
  await takeHeldParts(tx, posted);
  await coverDisputes(tx, posted);
  const incurred = posted.filter(({ kind }) => kind === 'debt');
  // Money of a case is posted under the id of the case: no transaction owes it.
  const ofCases = new Set(posted.filter(({ kind }) => OF_CASES.has(kind)).map((each) => each.transactionId));
  await openCases(
    tx,
    ctx,
    incurred.map(({ holderId, transactionId, amount, currency }) => ({
      holderId,
      transactionId: ofCases.has(transactionId) ? null : transactionId,
      kind: 'debt',
      detail: {},
      money: { amount, currency },
    })),
  );
  const recovered = new Map<string, { holderId: bigint; currency: string; amount: bigint }>();
  for (const { kind, holderId, currency, amount } of posted) {
    if (!kind.startsWith('debt_recovery')) continue;
    const key = `${holderId} ${currency}`;
    recovered.set(key, { holderId, currency, amount: amount + (recovered.get(key)?.amount ?? 0n) });
  }
  for (const { holderId, currency, amount } of recovered.values())
    await settleOldestDebts(tx, holderId, currency, amount, at);
  if (incurred.length > 0) failpoint('debt-incurred');
  if (recovered.size > 0) failpoint('debt-recovered');
}

/** The posting holds the lock of the debt's account, so nobody else settles these cases now. */
async function settleOldestDebts(tx: Tx, holderId: bigint, currency: string, amount: bigint, at: Date): Promise<void> {
  for (let left = amount; left > 0n; ) {
    const open = await tx.query<{ id: string; owed: bigint }>(
      `select id, amount - settled as owed from cases
       where holder_id = $1 and currency = $2 and kind = 'debt' and status = 'open' order by opened_at, id limit ${DEBTS_PER_PASS}`,
      [holderId, currency],
    );
    if (open.length === 0)
      throw new Error(`holder ${holderId} has paid back ${left} ${currency} that no case explains`);
    const settled: SettledMoney[] = [];
    for (const { id, owed } of open) {
      const part = lesserOf(owed, left);
      if (part > 0n) settled.push({ caseId: id, amount: part, by: RECOVERED_BY, resolution: RECOVERED });
      left -= part;
    }
    await settleCaseMoney(tx, settled, at);
  }
}

export type Debt = { currency: string; amount: bigint; since: Date };

/** What a holder owes, by currency, with the age of the oldest part. */
export function listDebts(reader: Reader, holderId: bigint): Promise<Debt[]> {
  return reader.query<Debt>(
    `select currency, sum(amount - settled)::bigint as amount, min(opened_at) as since from cases
     where holder_id = $1 and kind = 'debt' and status = 'open' group by currency order by currency`,
    [holderId],
  );
}

/** Every holder that owes something, the oldest debt first. For admins. */
export function listDebtors(reader: Reader, limit: number): Promise<(Debt & { holder_id: bigint })[]> {
  return reader.query<Debt & { holder_id: bigint }>(
    `select holder_id, currency, sum(amount - settled)::bigint as amount, min(opened_at) as since from cases
     where kind = 'debt' and status = 'open' group by holder_id, currency order by since, holder_id, currency limit $1`,
    [limit],
  );
}
