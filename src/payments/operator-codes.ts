// Codes that an operator gives to the payer (`step` is `code`), and that the payer gives to us: they are handed to the operator,
// which says whether they are right. Guesses are limited as those of our own tokens are.

import type { RecordedEvent } from '../callbacks/events.ts';
import type { Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { unaskedReply } from '../rails/evidence.ts';
import type { Observation, PayerStep, RailReply } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { giveBackTokenGuess, takeTokenGuess } from './number-limits.ts';
import { checkObservation } from './observations.ts';
import { readSubmittedAt } from './operator-calls.ts';
import { type Applied, applyOutcomes } from './outcomes.ts';
import { readPrepared, UNREADABLE_PREPARED } from './prepared-calls.ts';
import { refuseBeforeAsked } from './requery-after-restore.ts';
import { isFinal } from './states.ts';
import { findTransaction, refOf, type Transaction } from './transactions.ts';

const MAX_WRONG_CODES = 5;
/** What the payer sees while the operator has the code, and after it took it. */
const TAKEN: PayerStep = { kind: 'prompt', text: null };

/** Whether the payer is asked for a code of the operator. */
export async function waitsForOperatorCode(ctx: PaymentsContext, holderId: bigint, id: string): Promise<boolean> {
  const rows = await ctx.db.query(
    `select from payer_steps where holder_id = $1 and transaction_id = $2 and step ->> 'kind' = 'code'`,
    [holderId, id],
  );
  return rows.length > 0;
}

/** Hands the code over. A wrong one is returned, not thrown, with the tries that are left. */
export async function giveOperatorCode(
  ctx: PaymentsContext,
  holderId: bigint,
  id: string,
  code: string,
  within: (tx: Tx) => Promise<void>,
): Promise<Transaction | Problem> {
  const { transaction, left, step } = await ctx.db.transaction(async (tx) => {
    const counted = await countTry(tx, ctx, holderId, id);
    await within(tx);
    return counted;
  });
  const reply = await submitCode(ctx, transaction, code);
  const { raw } = reply;
  // It was taken: the payer is not asked for it again.
  const isTaken = reply.observation.state === 'pending' && !reply.observation.step;
  const observation: Observation = isTaken
    ? { ...reply.observation, state: 'pending', step: TAKEN }
    : reply.observation;
  const isWrong = observation.state === 'pending' && observation.step?.kind === 'code';
  const { applied, events } = await ctx.db.transaction(async (tx) => {
    if (!isWrong) await takeBackTry(tx, ctx, transaction);
    if (observation.state === 'unknown') await askAgain(tx, transaction, step);
    return applyOutcomes(tx, ctx, [{ transactionId: id, source: 'verification', observation, raw }]);
  });
  return conclude(ctx, transaction, { isWrong, left, applied: applied[0], events });
}

type Concluded = { isWrong: boolean; left: number; applied: Applied | undefined; events: RecordedEvent[] };

function conclude(
  ctx: PaymentsContext,
  transaction: Transaction,
  { isWrong, left, applied, events }: Concluded,
): Transaction | Problem {
  ctx.sendCallbacksNow(events);
  if (!isWrong) return applied?.transaction ?? transaction;
  const tries = left === 0 ? 'No tries are left.' : `${left} ${left === 1 ? 'try is' : 'tries are'} left.`;
  return new Problem('verification_failed', {
    errors: { token: [`The code is wrong. ${tries}`] },
    extra: { tries_left: left },
  });
}

/**
 * Counts the try before it is judged, so that many at once cannot pass together. The step is taken with it: a code may move
 * money, so a second one goes out only after the answer to the first, and never when that answer was lost with its process.
 */
async function countTry(
  tx: Tx,
  ctx: PaymentsContext,
  holderId: bigint,
  id: string,
): Promise<{ transaction: Transaction; left: number; step: string }> {
  const transaction = await findTransaction(tx, holderId, id);
  if (!transaction) throw new Problem('transaction_not_found');
  await refuseBeforeAsked(tx, holderId, id);
  const [row] = await tx.query<{ wrong_codes: number; step: string }>(
    `select wrong_codes, step::text as step from payer_steps
     where holder_id = $1 and transaction_id = $2 and step ->> 'kind' = 'code' and wrong_codes < $3 for update`,
    [holderId, id, MAX_WRONG_CODES],
  );
  if (!row || isFinal(transaction.status))
    throw new Problem('verification_failed', { message: 'This transaction does not wait for a code.' });
  await tx.query(
    `update payer_steps set wrong_codes = wrong_codes + 1, step = $3 where holder_id = $1 and transaction_id = $2`,
    [holderId, id, JSON.stringify(TAKEN)],
  );
  await takeTokenGuess(tx, ctx, transaction.msisdn ?? '');
  return { transaction, left: MAX_WRONG_CODES - row.wrong_codes - 1, step: row.step };
}

/** The code was right, or nobody knows: it was not a wrong try. */
async function takeBackTry(tx: Tx, ctx: PaymentsContext, transaction: Transaction): Promise<void> {
  await tx.query('update payer_steps set wrong_codes = wrong_codes - 1 where holder_id = $1 and transaction_id = $2', [
    transaction.holder_id,
    transaction.id,
  ]);
  await giveBackTokenGuess(tx, ctx, transaction.msisdn ?? '');
}

/** Nobody knows whether the code arrived: the operator takes the same one again. */
async function askAgain(tx: Tx, { holder_id: holderId, id }: Transaction, step: string): Promise<void> {
  await tx.query('update payer_steps set step = $3 where holder_id = $1 and transaction_id = $2', [holderId, id, step]);
}

async function submitCode(ctx: PaymentsContext, transaction: Transaction, code: string): Promise<RailReply> {
  const rail = ctx.rails.byName(transaction.rail);
  const method = ctx.catalog.methods.get(transaction.method);
  if (!rail?.submitCode || !method) return unaskedReply('this gateway cannot hand the code over');
  const prepared = rail.prepare ? await readPrepared(ctx, transaction) : null;
  if (prepared === 'unreadable') return UNREADABLE_PREPARED;
  const { observation, raw } = await rail.submitCode({
    reference: refOf(transaction),
    method,
    railReference: transaction.rail_reference,
    prepared,
    amount: transaction.amount,
    currency: transaction.currency,
    submittedAt: await readSubmittedAt(ctx, transaction),
    msisdn: transaction.msisdn ?? '',
    code,
  });
  const { value, error } = checkObservation(observation);
  // A value that cannot be right says nothing; the operator is asked on schedule.
  return error === null
    ? { observation: value, raw }
    : { observation: { state: 'unknown', reason: `the answer cannot be used: ${error}` }, raw };
}
