// What a link shows: its form, the question before paying, its attempt, or why it cannot be paid.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PaymentLink } from '../links/links.ts';
import { noteVisit } from '../links/visits.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { readTransactions, refOf, type Transaction } from '../payments/transactions.ts';
import { type HtmlPage, sendPage } from '../platform/html.ts';
import { showAttempt } from './attempt-handlers.ts';
import { findAttempts } from './attempts.ts';
import { type FormDraft, openDraft, openPayer, type PayerDraft } from './form-draft.ts';
import { confirmPage, countryPage, formPage } from './form-page.ts';
import { findLinkAttempt, type LinkView, openLink, type Query, requestedLink } from './link-view.ts';
import { messagePage } from './message-page.ts';
import { readOrder } from './order.ts';
import { signForm } from './submit.ts';

export async function showLink(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.query as Query;
  const link = await requestedLink(ctx, request);
  const draft = await openDraft(ctx, link.id, query.d);
  const again = typeof query.again === 'string' ? await findLinkAttempt(ctx, link, query.again) : null;
  // Another try is in the country of the one before, until the payer changes it.
  const country = query.country === undefined ? (draft?.country ?? again?.country_id) : Number(query.country);
  const view = await openLink(ctx, link, request, reply, country || null);
  const { attempts, count } = link.reusable ? { attempts: [], count: 0 } : await findAttempts(ctx.db, link.id);
  const transactions = await readTransactions(
    ctx.db,
    attempts.map((attempt) => attempt.transactionId),
  );
  const latest = transactions.find(({ id }) => id === attempts[0]?.transactionId);
  const current = latest && currentAttempt(view, transactions, latest, again !== null || draft !== null);
  if (current) return showAttempt(ctx, view, current, request, reply);
  if (view.status !== 'active') return sendPage(request, reply, closedPage(view));
  // Changing an answer or an error is not another visit.
  if (draft === null && again === null) noteVisit(ctx, link, String(request.headers['user-agent'] ?? ''));
  // A link that was tried before shows its form only to who asks for another try.
  const asked: Record<string, string> = latest ? { again: refOf(latest) } : {};
  if (!view.row) return sendPage(request, reply, countryPage(ctx, view, asked));
  const read = draft ? readOrder(ctx, view.locale, link, view.row, draft) : null;
  const form = {
    row: view.row,
    asked,
    draft: draft ?? firstDraft(link, again && (await openPayer(ctx, request, link.id))),
    token: signForm(ctx, link.id, count),
    errors: read?.errors ?? new Map(),
  };
  const editing = query.edit !== undefined;
  const inOthers = keepForLanguages(view, {
    ...asked,
    ...(view.choices.length > 0 ? { country: String(view.row.countryId) } : {}),
    ...(draft ? { d: String(query.d) } : {}),
    ...(editing ? { edit: '1' } : {}),
  });
  if (draft?.notice === null && read?.payment && read.questions.length > 0 && !editing) {
    const sealed = String(query.d);
    const page = confirmPage(inOthers, { ...form, payment: read.payment, questions: read.questions, sealed });
    return sendPage(request, reply, page);
  }
  return sendPage(request, reply, formPage(ctx, inOthers, editing ? { ...form, errors: new Map() } : form));
}

/** The view whose links to the other languages keep what was chosen and typed. */
function keepForLanguages(view: LinkView, kept: Record<string, string>): LinkView {
  const query = new URLSearchParams(kept).toString();
  return query === '' ? view : { ...view, layout: { ...view.layout, address: `${view.path}?${query}` } };
}

/** The attempt that a single-use link shows instead of its form, so that it cannot be paid twice. */
function currentAttempt(
  view: LinkView,
  attempts: readonly Transaction[],
  latest: Transaction,
  wantsForm: boolean,
): Transaction | null {
  const paid = attempts.find(({ status }) => status === 'success' || status === 'reversed');
  if (view.status === 'paid' && paid) return paid;
  const ended = latest.status === 'failed' || latest.status === 'expired';
  return ended && wantsForm && view.status === 'active' ? null : latest;
}

/** The form as it is first shown: with what the business knows of its customer, or with the number this browser just used. */
function firstDraft(link: PaymentLink, payer: PayerDraft | null): FormDraft {
  return {
    country: payer?.country ?? null,
    method: payer?.method ?? '',
    phone: payer?.phone ?? link.phone ?? '',
    amount: '',
    firstName: link.first_name ?? '',
    lastName: link.last_name ?? '',
    email: link.email ?? '',
    notice: null,
  };
}

function closedPage(view: LinkView): HtmlPage {
  const { t, date } = view.locale;
  const { expires_at: expiresAt } = view.link;
  const text = view.status === 'expired' && expiresAt !== null ? t.linkExpired(date(expiresAt)) : t.linkDisabled;
  return messagePage(view.layout, { title: t.linkClosedTitle, text, status: 410 });
}
