// A form that was sent: its token is checked, its fields are read, and the answer is a redirect to the page that shows
// the result. Whatever happens on the way, one form makes at most one payment.

import { createHmac, randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptWithin } from '../payments/accept.ts';
import { completeOrder } from '../payments/collections.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { refOf } from '../payments/transactions.ts';
import { limitKey } from '../platform/addresses.ts';
import type { Context } from '../platform/context.ts';
import { MAX_EMAIL_CHARACTERS } from '../platform/email.ts';
import { Problem } from '../platform/errors.ts';
import { type Form, field, formOf } from '../platform/forms.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import { createSharedLimiter } from '../platform/shared-limits.ts';
import { MAX_AMOUNT_CHARACTERS } from '../platform/typed-amounts.ts';
import {
  type AttemptRefusal,
  AttemptRefusedError,
  countShown,
  findAttemptByForm,
  findAttempts,
  writeAttempt,
} from './attempts.ts';
import { type FormDraft, type FormNotice, keepPayer, sealDraft } from './form-draft.ts';
import { addressWith, type LinkView, openLink, requestedLink } from './link-view.ts';
import { showName } from './names.ts';
import { readOrder } from './order.ts';

/** High, because many payers share one address of their mobile operator. */
const ADDRESS_PER_SECOND = 1;
const ADDRESS_BURST = 60;
const LINK_PER_SECOND = 2;
const LINK_BURST = 60;
const MAX_TEXT = 120;

const TOKEN_PURPOSE = 'checkout form token';
const TIME_BYTES = 6;
const RANDOM_BYTES = 8;
const FORM_ID_BYTES = TIME_BYTES + 1 + RANDOM_BYTES;
const MAC_BYTES = 12;
/** A page that was open longer shows its form again instead of charging. */
const TOKEN_LIFE_MS = 12 * 3_600_000;

/** `id` is unique to the form that was shown; `number` is how many attempts the link had by then, as `countShown` gives it. */
export type FormToken = { id: Buffer; number: number };

/** The token of a form that is about to be shown. Signed and bound to the link, it makes cookies unnecessary. */
export function signForm(ctx: Context, linkId: string, attempts: number): string {
  const id = Buffer.alloc(FORM_ID_BYTES);
  id.writeUIntBE(ctx.clock.millis(), 0, TIME_BYTES);
  id.writeUInt8(countShown(attempts), TIME_BYTES);
  randomBytes(RANDOM_BYTES).copy(id, TIME_BYTES + 1);
  return Buffer.concat([id, signFormId(ctx.vault.deriveKeys(TOKEN_PURPOSE)[0], linkId, id)]).toString('base64url');
}

/** The token of a form that we made for this link and that has not expired; else null. */
export function readFormToken(ctx: Context, linkId: string, text: string): FormToken | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== FORM_ID_BYTES + MAC_BYTES) return null;
  const id = bytes.subarray(0, FORM_ID_BYTES);
  const given = bytes.subarray(FORM_ID_BYTES);
  // Forms that were shown before the keys changed are still accepted.
  if (!ctx.vault.deriveKeys(TOKEN_PURPOSE).some((key) => constantTimeEqual(given, signFormId(key, linkId, id))))
    return null;
  const age = ctx.clock.millis() - id.readUIntBE(0, TIME_BYTES);
  return age > TOKEN_LIFE_MS ? null : { id, number: id.readUInt8(TIME_BYTES) };
}

function signFormId(key: Buffer, linkId: string, id: Buffer): Buffer {
  return createHmac('sha256', key).update(linkId).update(id).digest().subarray(0, MAC_BYTES);
}

type SubmitResult =
  /** Show this attempt. */
  | { kind: 'attempt'; transactionId: string }
  /** Show the form again, with what was typed. */
  | { kind: 'form'; draft: FormDraft }
  /** Show the link, which says how it stands. */
  | { kind: 'link' };

export type FormSubmitter = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export function createFormSubmitter(ctx: PaymentsContext, engine: PaymentEngine): FormSubmitter {
  const addresses = createSharedLimiter(ctx, 'payer_address', ADDRESS_PER_SECOND, ADDRESS_BURST);
  const links = createSharedLimiter(ctx, 'link', LINK_PER_SECOND, LINK_BURST);
  const mayPay = (address: string, linkId: string) => addresses.take(address).allowed && links.take(linkId).allowed;

  return async (request, reply) => {
    const form = formOf(request);
    const draft = readDraft(form);
    const view = await openLink(ctx, await requestedLink(ctx, request), request, reply, draft.country);
    const result = await submit(ctx, engine, view, form, draft, () => mayPay(limitKey(request.ip), view.link.id));
    if (result.kind === 'attempt') keepPayer(ctx, reply, view, draft);
    return reply.redirect(addressOf(ctx, view, result), 303);
  };
}

function readDraft(form: Form): FormDraft {
  return {
    country: Number(field(form, 'country')) || null,
    method: field(form, 'method', 40),
    phone: field(form, 'phone', 40),
    // One more than is read: a text that is cut would be another amount.
    amount: field(form, 'amount', MAX_AMOUNT_CHARACTERS + 1),
    firstName: showName(field(form, 'first_name', MAX_TEXT)),
    lastName: showName(field(form, 'last_name', MAX_TEXT)),
    email: field(form, 'email', MAX_EMAIL_CHARACTERS + 1),
    notice: null,
  };
}

function addressOf(ctx: PaymentsContext, view: LinkView, result: SubmitResult): string {
  switch (result.kind) {
    case 'attempt':
      return addressWith(view, `${view.path}/${refOf({ id: result.transactionId })}`);
    case 'form':
      return addressWith(view, view.path, { d: sealDraft(ctx, view.link.id, result.draft) });
    case 'link':
      return addressWith(view, view.path);
  }
}

async function submit(
  ctx: PaymentsContext,
  engine: PaymentEngine,
  view: LinkView,
  form: Form,
  draft: FormDraft,
  mayPay: () => boolean,
): Promise<SubmitResult> {
  const { link, row } = view;
  const backToForm = (notice: FormNotice | null): SubmitResult => ({ kind: 'form', draft: { ...draft, notice } });
  const token = readFormToken(ctx, link.id, field(form, 'form'));
  if (!token) return backToForm({ kind: 'form_expired' });
  // Reload, Back, a double click, a lost response: the same form leads to the same attempt, before any other check.
  const same = await findAttemptByForm(ctx.db, link.id, token.id);
  if (same) return { kind: 'attempt', transactionId: same };
  if (view.status !== 'active' || !row) return { kind: 'link' };
  const { payment, errors, questions } = readOrder(ctx, view.locale, link, row, draft);
  const unconfirmed = questions.length > 0 && field(form, 'confirmed') !== '1';
  if (!payment || errors.size > 0 || unconfirmed) return backToForm(null);
  if (!mayPay()) return backToForm({ kind: 'rate_limited' });
  try {
    const order = await completeOrder(ctx, payment, {
      holderId: link.holder_id,
      integrationId: link.integration_id,
      countryId: row.countryId,
      detail: link.item_name ?? `Payment to ${view.business}`,
      reference1: null,
      reference2: null,
      callbackUrl: link.callback_url,
      linkId: link.id,
    });
    const { id } = await acceptWithin(ctx, engine, order, (tx, transaction) =>
      writeAttempt(tx, ctx, {
        transactionId: transaction.id,
        link,
        formId: token.id,
        attemptsSeen: token.number,
        msisdn: payment.msisdn,
        payer: draft,
      }),
    );
    return { kind: 'attempt', transactionId: id };
  } catch (error) {
    if (error instanceof AttemptRefusedError) return afterRefusal(ctx, link.id, token, error, backToForm);
    const notice = error instanceof Problem ? noticeOf(ctx, error, payment.method.code) : null;
    if (notice) return backToForm(notice);
    throw error;
  }
}

/** What the payer can do something about; null for any other problem. */
function noticeOf(ctx: PaymentsContext, problem: Problem, method: string): FormNotice | null {
  switch (problem.code) {
    case 'operator_unavailable':
      return { kind: 'operator_down', method };
    case 'number_limited':
      return { kind: 'number_limit', until: retryTime(ctx, problem) };
    case 'number_blocked':
      return { kind: 'number_blocked' };
    case 'limit_reached':
      return { kind: 'day_limit' };
    default:
      return null;
  }
}

function retryTime(ctx: PaymentsContext, { details }: Problem): number {
  return ctx.clock.millis() + (details.retryAfterSeconds ?? 0) * 1000;
}

async function afterRefusal(
  ctx: PaymentsContext,
  linkId: string,
  token: FormToken,
  error: AttemptRefusedError,
  backToForm: (notice: FormNotice) => SubmitResult,
): Promise<SubmitResult> {
  const refusal: AttemptRefusal = error.refusal;
  switch (refusal.kind) {
    case 'exists':
      return { kind: 'attempt', transactionId: refusal.transactionId };
    case 'exists_elsewhere': {
      const { attempts } = await findAttempts(ctx.db, linkId);
      const transactionId = (await findAttemptByForm(ctx.db, linkId, token.id)) ?? attempts[0]?.transactionId;
      if (transactionId === undefined) throw error;
      return { kind: 'attempt', transactionId };
    }
    case 'link_closed':
      return { kind: 'link' };
    case 'link_limit':
      return backToForm({ kind: 'rate_limited' });
  }
}
