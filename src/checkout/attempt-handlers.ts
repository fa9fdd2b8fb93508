// Requests at the address of an attempt: showing its state, waiting for a change, and the code of an SMS.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { merchantName } from '../payments/operator-calls.ts';
import { giveOperatorCode, waitsForOperatorCode } from '../payments/operator-codes.ts';
import { findPayerStep } from '../payments/payer-steps.ts';
import { findTransaction, refOf, type Transaction } from '../payments/transactions.ts';
import { resendToken, verifyToken } from '../payments/verification.ts';
import { Problem } from '../platform/errors.ts';
import { field, formOf } from '../platform/forms.ts';
import { sendPage } from '../platform/html.ts';
import { type AttemptNotice, attemptPage } from './attempt-page.ts';
import { addressWith, type LinkView, openAttempt, type Query } from './link-view.ts';
import type { LongPolls } from './long-poll.ts';
import { showName } from './names.ts';
import { receiptCode } from './receipt-codes.ts';
import { stageOf } from './stages.ts';

/** How long "Check now" waits for the operator's answer before it waits for any change. */
const REFRESH_PATIENCE_MS = 2_000;
/** What a code can be: a token of ours has six digits, that of an operator any number. */
const CODES = { otp: /^\d{6}$/, code: /^\d+$/ } as const;

export async function currentStage(ctx: PaymentsContext, transaction: Transaction) {
  return stageOf(transaction, await findPayerStep(ctx.db, transaction), ctx.clock.now());
}

/** "Check now": asks the operator, and holds the response until the stage changes. */
export async function checkNow(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  holds: LongPolls,
  request: FastifyRequest,
  reply: FastifyReply,
  transaction: Transaction,
): Promise<Transaction> {
  const seen = (request.query as Query).check;
  if (typeof seen !== 'string') return transaction;
  const { id, holder_id: holderId } = transaction;
  let current = transaction;
  const hasChanged = async () => {
    current = (await findTransaction(ctx.db, holderId, id)) ?? current;
    return (await currentStage(ctx, current)) !== seen;
  };
  if (await hasChanged()) return current;
  if (current.status === 'processing')
    // A failed query changes nothing; the sweeper keeps asking on its own schedule.
    await engine.refresh(current, REFRESH_PATIENCE_MS).catch(() => undefined);
  if (request.place?.startLongPoll() === false) return current;
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  await holds.until(id, gone.signal, hasChanged);
  return current;
}

export async function showAttempt(
  ctx: PaymentsContext,
  view: LinkView,
  transaction: Transaction,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.query as Query;
  const step = await findPayerStep(ctx.db, transaction);
  const stage = stageOf(transaction, step, ctx.clock.now());
  const receipt = stage === 'paid' ? await receiptCode(ctx, transaction) : null;
  const isAsked = stage === 'otp' || stage === 'code';
  const given = isAsked ? readNotice(query.n, ctx.clock.millis()) : null;
  const notice = query.check === stage ? ({ kind: 'not_yet' } as const) : given;
  const auto = query.auto === '1';
  const merchant = showName(await merchantName(ctx, transaction));
  const page = attemptPage(ctx, view, { transaction, stage, step, merchant, receipt, notice, auto });
  return sendPage(request, reply, page);
}

export async function giveCode(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { view, transaction } = await openAttempt(ctx, request, reply);
  const code = field(formOf(request), 'code').replace(/\s/g, '');
  const path = `${view.path}/${refOf(transaction)}`;
  try {
    const { holder_id: holderId, id } = transaction;
    const isOperators = await waitsForOperatorCode(ctx, holderId, id);
    // Half a code is no try: browsers that check nothing send it too.
    if (!CODES[isOperators ? 'code' : 'otp'].test(code))
      return reply.redirect(addressWith(view, path, { n: 'malformed-1' }), 303);
    const give = isOperators ? giveOperatorCode : verifyToken;
    const result = await give(ctx, holderId, id, code, async () => undefined);
    const left = result instanceof Problem ? Number(result.details.extra?.tries_left ?? 0) : 0;
    return reply.redirect(addressWith(view, path, left > 0 ? { n: `wrong-${left}` } : {}), 303);
  } catch (error) {
    // The code was given already, or the payment has ended: the page shows which. Or it is asked about after a restore.
    if (isAboutTheState(error)) return reply.redirect(addressWith(view, path), 303);
    if (error instanceof Problem && error.code === 'number_limited')
      return reply.redirect(addressWith(view, path, { n: `limited-${endOf(ctx, error)}` }), 303);
    throw error;
  }
}

/** When it may be tried again, in seconds since 1970: a span would begin again at each reload. */
function endOf(ctx: PaymentsContext, { details }: Problem): number {
  return Math.ceil(ctx.clock.millis() / 1000) + (details.retryAfterSeconds ?? 0);
}

export async function sendCodeAgain(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { view, transaction } = await openAttempt(ctx, request, reply);
  const path = `${view.path}/${refOf(transaction)}`;
  try {
    await resendToken(ctx, transaction.holder_id, transaction.id, async () => undefined);
    return reply.redirect(addressWith(view, path, { n: 'sent-1' }), 303);
  } catch (error) {
    if (error instanceof Problem && error.code === 'resend_too_soon')
      return reply.redirect(addressWith(view, path, { n: `wait-${endOf(ctx, error)}` }), 303);
    if (isAboutTheState(error)) return reply.redirect(addressWith(view, path), 303);
    throw error;
  }
}

function isAboutTheState(error: unknown): boolean {
  return error instanceof Problem && (error.code === 'verification_failed' || error.code === 'operator_asked_first');
}

/** A notice from the address: its kind, and the tries or the moment that belong to it. One whose time is over is none. */
function readNotice(text: unknown, now: number): AttemptNotice | null {
  const match = typeof text === 'string' && /^(wrong|malformed|sent|wait|limited)-(\d{1,10})$/.exec(text);
  const [, kind, digits] = match || [];
  const number = Number(digits);
  const secondsLeft = number - Math.floor(now / 1000);
  if (kind === 'wrong') return { kind, left: number };
  if (kind === 'sent' || kind === 'malformed') return { kind };
  if (secondsLeft <= 0) return null;
  if (kind === 'wait') return { kind, seconds: secondsLeft };
  return kind === 'limited' ? { kind, until: new Date(number * 1000) } : null;
}
