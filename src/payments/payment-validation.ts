// An operator asks whether we take a payment that a payer is about to send to our till or pay bill. It waits a few seconds, and
// nothing has moved: the answer is read from the orders, and nothing is written.

import { findHolder } from '../holders/holders.ts';
import type { CallbackDecision, CallbackReading } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import { findExpected } from './incoming-payments.ts';
import { validationError } from './observations.ts';
import { isFinal } from './states.ts';
import { refOf } from './transactions.ts';

/** Operators wait eight seconds at most. */
const PATIENCE_MS = 5_000;

type Validation = CallbackReading & { kind: 'validation' };
type Refusal = (CallbackDecision & { kind: 'refuse_payment' })['reason'];

const refuse = (reason: Refusal): CallbackDecision => ({ kind: 'refuse_payment', reason });

/** Takes what an open order of this connection expects, to the cent. What cannot be looked up in time is refused for now. */
export async function decidePayment(
  ctx: PaymentsContext,
  connection: string,
  validation: Validation,
  patienceMs = PATIENCE_MS,
): Promise<CallbackDecision> {
  const decision = lookUp(ctx, connection, validation).catch((error: unknown) => {
    ctx.log.warn({ err: error, rail: connection }, 'a payment could not be validated');
    return refuse('not_now');
  });
  // Real time: the operator waits.
  const late = new Promise<CallbackDecision>((resolve) =>
    setTimeout(() => resolve(refuse('not_now')), patienceMs).unref(),
  );
  return Promise.race([decision, late]);
}

async function lookUp(ctx: PaymentsContext, connection: string, validation: Validation): Promise<CallbackDecision> {
  if (validationError(validation) !== null) return refuse('unknown_account');
  const expected = await findExpected(ctx.db, connection, validation.accountReference);
  if (!expected) return refuse('unknown_account');
  const { transaction, expiresAt } = expected;
  if (isFinal(transaction.status) || expiresAt <= ctx.clock.now()) return refuse('not_now');
  if ((await findHolder(ctx.db, transaction.holder_id))?.status !== 'active') return refuse('not_now');
  const isExact = validation.amount === transaction.amount && validation.currency === transaction.currency;
  return isExact ? { kind: 'take_payment', reference: refOf(transaction) } : refuse('wrong_amount');
}
