// A file of payouts is one order: all of its rows or none, in one transaction, and the same rows once. Console and command
// line order files with the same function.

import type { Actor } from '../holders/audit.ts';
import { recordAudit } from '../holders/audit.ts';
import { requireActiveHolder } from '../holders/holders.ts';
import { balancesOf, postEach } from '../ledger/ledger.ts';
import { requireHistory } from '../ledger/lost-history.ts';
import { type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { createHolderUuid, publicId, uuidFromPublicId } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { sha256 } from '../platform/secrets.ts';
import type { PaymentsContext } from './context.ts';
import type { PaymentEngine } from './engine.ts';
import { type LimitRules, limitRules } from './payment-limits.ts';
import { MAX_PAYOUT_FILE_ROWS } from './payout-file-reader.ts';
import { type PayoutFileRow, planPayouts, takeForPayouts, writePayouts } from './payouts.ts';
import { refuseRepeats } from './similar-payouts.ts';
import type { Transaction } from './transactions.ts';

export const MAX_PAYOUT_FILE_NAME = 120;

export type PayoutFile = { name: string; rows: readonly PayoutFileRow[] };
export type PayoutTotal = { payouts: number; amount: bigint; fee: bigint };

type FileOptions = {
  /** The repetitions that a person has seen and means: repeatsKey or ALL_REPEATS. Absent: none. */
  confirmedRepeats?: string;
  /** Written in the same transaction. If it throws, nothing is ordered. */
  within?: (tx: Tx) => Promise<void>;
};

export type OrderedFile = { ref: string; waitsForApproval: boolean; transactions: Transaction[] };

export type Shortage = { currency: string; needed: bigint; available: bigint; missing: bigint };

/** The wallets do not cover the whole file; nothing was ordered. */
export class ShortWalletError extends Problem {
  readonly shortages: readonly Shortage[];
  constructor(shortages: readonly Shortage[]) {
    const parts = shortages.map(
      ({ currency, needed, available, missing }) =>
        `${currency} ${formatAmount(needed)} is needed, ${formatAmount(available)} is available, ` +
        `${formatAmount(missing)} is missing`,
    );
    super('overdraft', { message: `Nothing was ordered. The wallet does not cover the file: ${parts.join('; ')}.` });
    this.shortages = shortages;
  }
}

export type EarlierFile = { ref: string; name: string; createdBy: string; createdAt: Date };

/** The same rows were ordered before; nothing was ordered now. */
export class RepeatedFileError extends Problem {
  readonly earlier: EarlierFile;
  constructor(earlier: EarlierFile) {
    const at = `${earlier.createdAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    super('payout_file_repeated', {
      message:
        `Nothing was ordered: these rows were ordered on ${at} by ${earlier.createdBy} as "${earlier.name}". ` +
        'To pay everyone again, change a column, such as invoice_no or detail.',
    });
    this.earlier = earlier;
  }
}

/** Orders a file: every row, or none and an error that says why. */
export async function orderPayoutFile(
  ctx: PaymentsContext,
  engine: Pick<PaymentEngine, 'wake'>,
  actor: Actor,
  holderId: bigint,
  file: PayoutFile,
  options: FileOptions = {},
): Promise<OrderedFile> {
  if (file.rows.length === 0 || file.rows.length > MAX_PAYOUT_FILE_ROWS)
    throw new Problem('invalid_params', { message: `A file has 1 to ${MAX_PAYOUT_FILE_ROWS} rows.` });
  await requireHistory(ctx);
  const hash = hashRows(file.rows);
  const rules = await limitRules(ctx, holderId);
  let ordered: OrderedFile;
  try {
    ordered = await ctx.db.transaction((tx) =>
      writeFile(tx, ctx, actor, holderId, { ...file, hash }, { ...options, rules }),
    );
  } catch (error) {
    if (violatedConstraint(error) !== 'payout_file_once') throw error;
    throw new RepeatedFileError(await findFileByRows(ctx, holderId, hash));
  }
  failpoint('file-committed');
  engine.wake();
  return ordered;
}

async function writeFile(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  holderId: bigint,
  file: PayoutFile & { hash: Buffer },
  options: FileOptions & { rules: LimitRules | undefined },
): Promise<OrderedFile> {
  const { payouts_need_approval: needsApproval } = await requireActiveHolder(tx, holderId);
  await options.within?.(tx);
  const at = ctx.clock.now();
  const batchId = createHolderUuid(at.getTime(), holderId);
  // The unique key on the rows: of two terminals with one file, the second waits here and is refused.
  await insertFile(tx, actor, holderId, { ...file, id: batchId, needsApproval, at });
  failpoint('file-begun');
  const planned = planPayouts(holderId, file.rows, at);
  // One group: the ledger reserves the money of every row or of none.
  const [posted] = await postEach(tx, [planned.flatMap(({ transfers }) => transfers)], at);
  if (!posted?.ok) throw new ShortWalletError(await findShortages(tx, holderId, file.rows));
  await takeForPayouts(tx, ctx, options.rules, actor, holderId, planned);
  const orders = file.rows.map(({ order }) => order);
  await refuseRepeats(tx, ctx, holderId, orders, options.confirmedRepeats ?? '');
  const balances = new Map(posted.transfers.map((each) => [each.transactionId, each.debitBalance]));
  const covered = planned.map((plan) => ({ ...plan, balance: balances.get(plan.id) ?? null }));
  const transactions = await writePayouts(tx, actor, holderId, covered, { batchId, needsApproval, at });
  const ref = payoutFileRef(batchId);
  const details = { name: file.name, payouts: file.rows.length };
  await recordAudit(tx, { holderId, actor, action: 'payout_file.created', subject: ref, details }, at);
  failpoint('file-writing');
  return { ref, waitsForApproval: needsApproval, transactions };
}

async function insertFile(
  tx: Tx,
  actor: Actor,
  holderId: bigint,
  file: PayoutFile & { id: string; hash: Buffer; needsApproval: boolean; at: Date },
): Promise<void> {
  const totals = Object.fromEntries(
    [...totalsOf(file.rows)].map(([currency, { payouts, amount, fee }]) => [
      currency,
      { payouts, amount: String(amount), fee: String(fee) },
    ]),
  );
  await tx.query(
    `insert into payout_batches
       (holder_id, id, name, rows_hash, payouts, totals, approval, created_by, created_by_member, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      holderId,
      file.id,
      file.name.slice(0, MAX_PAYOUT_FILE_NAME),
      file.hash,
      file.rows.length,
      JSON.stringify(totals),
      file.needsApproval ? 'waiting' : 'not_needed',
      actor.name,
      actor.memberId,
      file.at,
    ],
  );
}

/** The sum of each currency. */
export function totalsOf(rows: readonly PayoutFileRow[]): Map<string, PayoutTotal> {
  const totals = new Map<string, PayoutTotal>();
  for (const { order } of rows) {
    const { payouts, amount, fee } = totals.get(order.method.currency) ?? { payouts: 0, amount: 0n, fee: 0n };
    const total = { payouts: payouts + 1, amount: amount + order.amount, fee: fee + order.fee };
    totals.set(order.method.currency, total);
  }
  return totals;
}

async function findShortages(tx: Tx, holderId: bigint, rows: readonly PayoutFileRow[]): Promise<Shortage[]> {
  const wallets = new Map((await balancesOf(tx, holderId)).map((wallet) => [wallet.currency, wallet.available]));
  return [...totalsOf(rows)].flatMap(([currency, { amount, fee }]) => {
    const needed = amount + fee;
    const available = wallets.get(currency) ?? 0n;
    return needed > available ? [{ currency, needed, available, missing: needed - available }] : [];
  });
}

/** What the rows pay: neither their order, nor the name of the file, nor the way it writes an amount, number or letter. */
function hashRows(rows: readonly PayoutFileRow[]): Buffer {
  const texts = rows.map(({ order: { amount, method, msisdn, payee, invoiceNo, detail } }) =>
    JSON.stringify([String(amount), method.currency, msisdn, method.code, payee ?? '', invoiceNo ?? '', detail]),
  );
  return sha256(
    texts
      .map((text) => text.normalize())
      .sort()
      .join('\n'),
  );
}

async function findFileByRows(ctx: PaymentsContext, holderId: bigint, hash: Buffer): Promise<EarlierFile> {
  const [row] = await ctx.db.query<{ id: string; name: string; created_by: string; created_at: Date }>(
    `select id, name, created_by, created_at from payout_batches
     where holder_id = $1 and rows_hash = $2 and cancelled_at is null`,
    [holderId, hash],
  );
  if (!row) throw new Problem('payout_file_repeated', { message: 'Nothing was ordered. Send the file once more.' });
  return { ref: payoutFileRef(row.id), name: row.name, createdBy: row.created_by, createdAt: row.created_at };
}

/** The public reference of a file. */
export function payoutFileRef(batchId: string): string {
  return publicId('bat', batchId);
}

export function payoutFileIdOf(ref: string): string | null {
  return uuidFromPublicId('bat', ref);
}
