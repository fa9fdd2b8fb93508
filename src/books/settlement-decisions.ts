// What staff decide about a settlement to a bank. One person says which transfer paid it, another one confirms it with the same
// reference, and only then it is paid; the database refuses one person alone. Until somebody has named a transfer it can be
// cancelled, and its money goes back to the wallet.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { bankPlace } from '../ledger/chart.ts';
import { post } from '../ledger/ledger.ts';
import { settlementPaid, settlementReleased } from '../ledger/postings.ts';
import { recordDebts } from '../payments/debts.ts';
import type { Context } from '../platform/context.ts';
import { type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { failpoint } from '../platform/failpoint.ts';
import { requireBankAccount } from './bank-accounts.ts';
import { requireSettlement, type Settlement, settlementRef } from './settlement-rows.ts';

const MAX_REFERENCE = 120;
const MIN_REASON = 3;
const MAX_REASON = 500;

/** A person: the command line alone cannot confirm anything. */
export type Confirmer = Actor & { memberId: bigint };

export type TransferOfBank = { bank: string; reference: string };

type Ctx = Pick<Context, 'db' | 'clock'>;

/** The first person names the transfer, the second one confirms it. Repeated, it changes nothing. */
export async function confirmSettlement(
  ctx: Ctx,
  person: Confirmer,
  ref: string,
  { bank, reference }: TransferOfBank,
): Promise<{ status: Settlement['status'] }> {
  const length = Array.from(reference).length;
  if (length < 1 || length > MAX_REFERENCE)
    throw invalid(`Give the bank's reference of the transfer, in at most ${MAX_REFERENCE} characters.`);
  const at = ctx.clock.now();
  const status = await ctx.db.transaction(async (tx) => {
    const row = await requireSettlement(tx, ref, { locked: true });
    const account = await requireBankAccount(tx, bank);
    if (account.currency !== row.currency) throw invalid(`${bank} is an account in ${account.currency}.`);
    const isNamed = row.bank === bank && row.bank_reference === reference;
    if (row.status === 'paid' && isNamed) return row.status;
    if (row.status === 'waiting' || (row.status === 'proposed' && row.proposed_by_member === person.memberId)) {
      await propose(tx, person, row, { bank, reference }, at);
      return 'proposed';
    }
    if (row.status !== 'proposed') throw wrongState(row);
    if (!isNamed)
      throw invalid(
        `${row.proposed_by} named another transfer: ${row.bank_reference} from ${row.bank}. Reject it first.`,
      );
    await pay(tx, person, row, { bank, reference }, at);
    return 'paid';
  });
  failpoint('settlement-confirmed');
  return { status };
}

const invalid = (message: string) => new Problem('invalid_params', { message });

function wrongState({ status }: Settlement): Problem {
  const why = {
    waiting: 'No transfer is named for this settlement.',
    proposed: 'A transfer is named for this settlement. Reject it first.',
    paid: 'This settlement is paid.',
    cancelled: 'This settlement is cancelled.',
    payout: 'This settlement is a payout to a number. Its payout is decided like every other one.',
  };
  return new Problem('invalid_params', { status: 409, message: why[status] });
}

async function propose(
  tx: Tx,
  person: Confirmer,
  row: Settlement,
  { bank, reference }: TransferOfBank,
  at: Date,
): Promise<void> {
  await tx.query(
    `update settlements set status = 'proposed', bank = $3, bank_reference = $4, proposed_by = $5, proposed_by_member = $6, proposed_at = $7
     where holder_id = $1 and id = $2`,
    [row.holder_id, row.id, bank, reference, person.name, person.memberId, at],
  );
  await audit(tx, person, row, 'settlement.proposed', { bank, reference }, at);
}

async function pay(
  tx: Tx,
  person: Confirmer,
  row: Settlement,
  { bank, reference }: TransferOfBank,
  at: Date,
): Promise<void> {
  const { holder_id: holderId, id, currency, amount } = row;
  await post(tx, settlementPaid({ holderId, transactionId: id, currency, amount, bank: bankPlace(bank) }), at);
  try {
    await tx.query(
      `update settlements set status = 'paid', ended_by = $3, ended_by_member = $4, ended_at = $5 where holder_id = $1 and id = $2`,
      [holderId, id, person.name, person.memberId, at],
    );
  } catch (error) {
    if (violatedConstraint(error) === 'settlement_by_two_people')
      throw new Problem('forbidden', { message: 'Another person must confirm the transfer.' });
    throw error;
  }
  await audit(tx, person, row, 'settlement.paid', { bank, reference }, at);
  failpoint('settlement-confirming');
}

/** The named transfer was not made, or is another one: the settlement waits again. */
export async function rejectTransfer(ctx: Ctx, person: Confirmer, ref: string): Promise<void> {
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    const row = await requireSettlement(tx, ref, { locked: true });
    if (row.status !== 'proposed') throw wrongState(row);
    await tx.query(
      `update settlements set status = 'waiting', bank = null, bank_reference = null, proposed_by = null, proposed_by_member = null,
         proposed_at = null where holder_id = $1 and id = $2`,
      [row.holder_id, row.id],
    );
    await audit(tx, person, row, 'settlement.rejected', { reference: row.bank_reference ?? '' }, at);
  });
}

/** Nothing was transferred: the money goes back to the wallet, and pays what its holder owes by now. */
export async function cancelSettlement(ctx: Context, actor: Actor, ref: string, reason: string): Promise<void> {
  const length = Array.from(reason.trim()).length;
  if (length < MIN_REASON || length > MAX_REASON) throw invalid('Say in a few words why it is cancelled.');
  const at = ctx.clock.now();
  await ctx.db.transaction(async (tx) => {
    const row = await requireSettlement(tx, ref, { locked: true });
    if (row.status !== 'waiting') throw wrongState(row);
    const { holder_id: holderId, id, currency, amount } = row;
    const posted = await post(tx, settlementReleased({ holderId, transactionId: id, currency, amount }), at);
    await recordDebts(tx, ctx, posted, at);
    await tx.query(
      `update settlements set status = 'cancelled', ended_by = $3, ended_by_member = $4, ended_at = $5, reason = $6
       where holder_id = $1 and id = $2`,
      [holderId, id, actor.name, actor.memberId, at, reason.trim()],
    );
    await audit(tx, actor, row, 'settlement.cancelled', { reason: reason.trim() }, at);
  });
}

function audit(
  tx: Tx,
  actor: Actor,
  row: Settlement,
  action: 'settlement.proposed' | 'settlement.rejected' | 'settlement.paid' | 'settlement.cancelled',
  details: Record<string, string>,
  at: Date,
): Promise<void> {
  return recordAudit(tx, { holderId: row.holder_id, actor, action, subject: settlementRef(row), details }, at);
}
