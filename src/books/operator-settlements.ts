// Money between our account with an operator and our bank. It is booked when a line of either side is known, once for each reference.
// Clearing is stored for each holder, and an operator settles for all of them at once: the settlement is posted to the clearing
// account of the gateway itself, so that the sum over all holders is what the operator still owes.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { bankPlace, isBankPlace } from '../ledger/chart.ts';
import { AlreadyPostedError, post } from '../ledger/ledger.ts';
import { operatorFunded, operatorSettled, operatorSettlementShort, type Transfer } from '../ledger/postings.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { type Reader, type Tx, violatedConstraint } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { createHolderUuid, NO_HOLDER } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import { requireBankAccount } from './bank-accounts.ts';
import { LINE_COLUMNS, type OperatorLine } from './statement-lines.ts';

const MAX_LISTED = 1_000;

/** `to_bank`: the operator pays what it holds for us. `to_operator`: we send money, so that payouts can be paid. */
export type SettlementDirection = 'to_bank' | 'to_operator';

export type OperatorSettlement = {
  id: string;
  connection: string;
  /** The name of our bank account. */
  bank: string;
  currency: string;
  direction: SettlementDirection;
  /** By how much the account with the operator changed. */
  amount: bigint;
  /** By how much the account at the bank changed. */
  received: bigint;
  reference: string;
  booked_by: string;
  posted_at: Date;
};

const COLUMNS = 'id, connection, bank, currency, direction, amount, received, reference, booked_by, posted_at';

export type OperatorSettlementRequest = {
  connection: string;
  bank: string;
  direction: SettlementDirection;
  /** The operator's or the bank's; one settlement for each. */
  reference: string;
  /** Left out: that of the line of the operator's statement with this reference. */
  amount?: bigint | undefined;
  /** What the bank's line says, where it is less. */
  received?: bigint | undefined;
};

/** Books a settlement. Booked again with a smaller `received`, the rest becomes a cost; booked again as it is, nothing happens. */
export async function bookOperatorSettlement(
  ctx: PaymentsContext,
  actor: Actor,
  asked: OperatorSettlementRequest,
): Promise<{ settlement: OperatorSettlement; outcome: 'booked' | 'corrected' | 'known' }> {
  const request = { ...asked, reference: asked.reference.trim() };
  const { connection, direction, reference } = request;
  if (isBankPlace(connection)) throw invalid('Name the connection of an operator, and the bank account with --bank.');
  const { currency } = await requireBankAccount(ctx.db, request.bank);
  return await ctx.db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('operator settlements ' || $1, 0))`, [connection]);
    const known = await findBooked(tx, request);
    if (known) return await bookAgain(tx, ctx, actor, known, request);
    const amount = request.amount ?? (await amountOfLine(tx, request, currency));
    const received = request.received ?? amount;
    if (amount <= 0n || received <= 0n || received > amount || (direction === 'to_operator' && received !== amount))
      throw invalid('The amount must be more than zero, and no more can arrive than was sent.');
    const at = ctx.clock.now();
    const id = createHolderUuid(at.getTime(), NO_HOLDER);
    const fact = { holderId: NO_HOLDER, transactionId: id, currency, rail: connection, bank: bankPlace(request.bank) };
    const transfers =
      direction === 'to_bank' ? operatorSettled({ ...fact, amount, received }) : operatorFunded({ ...fact, amount });
    const settlement = { id, connection, bank: request.bank, currency, direction, amount, received, reference };
    const postedAt = await postAll(tx, transfers, at);
    const row = { ...settlement, booked_by: actor.name, posted_at: postedAt };
    await insertSettlement(tx, row);
    await audit(tx, actor, row, at);
    return { settlement: row, outcome: 'booked' };
  });
}

const invalid = (message: string) => new Problem('invalid_params', { message });

async function postAll(tx: Tx, transfers: Transfer[], at: Date): Promise<Date> {
  const [posted] = await post(tx, transfers, at);
  return posted?.postedAt ?? at;
}

async function insertSettlement(tx: Tx, row: OperatorSettlement): Promise<void> {
  try {
    await tx.query(`insert into operator_settlements (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, [
      row.id,
      row.connection,
      row.bank,
      row.currency,
      row.direction,
      row.amount,
      row.received,
      row.reference,
      row.booked_by,
      row.posted_at,
    ]);
  } catch (error) {
    if (violatedConstraint(error) === 'operator_settlement_reference_length')
      throw invalid('Give the reference of the transfer, in at most 120 characters.');
    throw error;
  }
}

/** The same transfer a second time: it must say the same, or that less arrived than was thought. */
async function bookAgain(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  known: OperatorSettlement,
  request: OperatorSettlementRequest,
): Promise<{ settlement: OperatorSettlement; outcome: 'corrected' | 'known' }> {
  const received = request.received ?? known.received;
  const isSame = known.bank === request.bank && (request.amount ?? known.amount) === known.amount;
  if (!isSame || received > known.received || received <= 0n)
    throw new Problem('invalid_params', {
      status: 409,
      message: `${known.reference} is booked already, with ${formatAmount(known.amount)} ${known.currency} to ${known.bank}.`,
    });
  if (received === known.received) return { settlement: known, outcome: 'known' };
  const at = ctx.clock.now();
  const { id, currency, bank } = known;
  const amount = known.received - received;
  const fact = { holderId: NO_HOLDER, transactionId: id, currency, amount, bank: bankPlace(bank) };
  await post(tx, operatorSettlementShort(fact), at).catch((error: unknown) => {
    if (error instanceof AlreadyPostedError) throw invalid('What arrived was corrected once already.');
    throw error;
  });
  await tx.query('update operator_settlements set received = $2 where id = $1', [id, received]);
  const settlement = { ...known, received };
  await audit(tx, actor, settlement, at);
  return { settlement, outcome: 'corrected' };
}

function audit(tx: Tx, actor: Actor, row: OperatorSettlement, at: Date): Promise<void> {
  const { connection: subject, bank, currency, direction, reference } = row;
  const amount = formatAmount(row.amount);
  const details = { amount, received: formatAmount(row.received), currency, bank, direction, reference };
  return recordAudit(tx, { holderId: null, actor, action: 'operator.settled', subject, details }, at);
}

/** By its reference as people type it: lines are matched with it whatever its capitals are. */
async function findBooked(
  reader: Reader,
  { connection, direction, reference }: OperatorSettlementRequest,
): Promise<OperatorSettlement | null> {
  const [row] = await reader.query<OperatorSettlement>(
    `select ${COLUMNS} from operator_settlements
     where connection = $1 and direction = $2 and upper(btrim(reference)) = upper($3)
     order by posted_at limit 1`,
    [connection, direction, reference],
  );
  return row ?? null;
}

/** The newest first. */
export function listOperatorSettlements(reader: Reader, connection: string | null): Promise<OperatorSettlement[]> {
  return reader.query<OperatorSettlement>(
    `select ${COLUMNS} from operator_settlements where ($1::text is null or connection = $1)
     order by posted_at desc, id desc limit ${MAX_LISTED}`,
    [connection],
  );
}

/** A line of the operator's statement that says a settlement, and that no booking explains. */
export type ProposedSettlement = { line: OperatorLine; direction: SettlementDirection; reference: string };

const referenceOf = ({ receipt, reference }: OperatorLine) => receipt ?? reference;

/** Lines of kind `settlement` that are not matched, oldest first. */
export async function proposeSettlements(reader: Reader, connection: string): Promise<ProposedSettlement[]> {
  const lines = await reader.query<OperatorLine>(
    `select ${LINE_COLUMNS} from statement_lines l
     where connection = $1 and kind = 'settlement' and state = 'succeeded' and gross > 0
       and not exists (select from statement_matches m
         where m.connection = l.connection and m.line_key = l.line_key and m.rule is not null)
       and not exists (select from operator_settlements s
         where s.connection = l.connection and s.reference in (l.receipt, l.reference))
     order by occurred_at, line_key limit ${MAX_LISTED}`,
    [connection],
  );
  return lines.map((line) => ({
    line,
    direction: line.direction === 'out' ? 'to_bank' : 'to_operator',
    reference: referenceOf(line) ?? line.lineKey.toString('hex'),
  }));
}

async function amountOfLine(
  reader: Reader,
  { connection, direction, reference }: OperatorSettlementRequest,
  currency: string,
): Promise<bigint> {
  const proposed = (await proposeSettlements(reader, connection)).filter(
    (each) => each.reference === reference && each.direction === direction && each.line.currency === currency,
  );
  const [only, another] = proposed;
  if (!only || another)
    throw invalid(`No single line of ${connection} in ${currency} has the reference ${reference}. Give the amount.`);
  return only.line.gross;
}
