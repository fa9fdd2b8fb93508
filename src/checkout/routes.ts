// The addresses of the hosted pages. Every step is a form that is answered with a redirect to the state it led to, so
// that Back and Reload never charge; the address is the state, so that a lost connection resumes.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { findLink, type PaymentLink } from '../links/links.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { readTransactions, refOf, type Transaction } from '../payments/transactions.ts';
import type { Problem } from '../platform/errors.ts';
import { field, formOf, parseForms } from '../platform/forms.ts';
import { problemText, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { checkNow, currentStage, giveCode, sendCodeAgain, showAttempt } from './attempt-handlers.ts';
import { confirmPage, countryPage, formPage } from './form-page.ts';
import { type FormDraft, openDraft, sealDraft, signForm } from './form-tokens.ts';
import { readLanguage } from './language.ts';
import type { CheckoutFrame } from './layout.ts';
import { findAttempts } from './link-attempts.ts';
import { createLongPolls } from './long-poll.ts';
import { showName } from './names.ts';
import { readOrder } from './order.ts';
import { findReceipt, normaliseReceiptCode } from './receipt-codes.ts';
import { cardPage, messagePage, receiptPage, unknownReceiptPage } from './receipt-pages.ts';
import {
  openAttempt,
  openLink,
  openTransaction,
  type Params,
  paidAttempt,
  priorAttempt,
  type Query,
} from './requests.ts';
import { createFormSubmitter, type FormSubmitter } from './submit-form.ts';
import { addressWith, type LinkView, viewLink } from './view.ts';

/** Of all requests in flight, those that may be waiting for news. */
const HOLDS_SHARE = 4;
const MAX_TEXT = 120;

export type CheckoutOptions = {
  /** How long "Check now" waits for news; 20 s unless a test is in a hurry. */
  holdMs?: number;
};

export function checkoutRoutes(
  app: HttpServer,
  ctx: PaymentsContext,
  engine: PaymentEngine,
  options: CheckoutOptions = {},
): void {
  const holds = createLongPolls(Math.max(1, Math.floor(ctx.config.maxInFlight / HOLDS_SHARE)), options.holdMs);
  const payments = createFormSubmitter(ctx, engine);
  app.addHook('preClose', (done) => {
    holds.close();
    done();
  });
  app.register((scope, _options, done) => {
    parseForms(scope);
    const config = {
      problemPage: (problem: Problem, request: FastifyRequest, reply: FastifyReply) =>
        problemText(reply, problemMessage(ctx, problem, request)),
    };
    scope.get('/pay/:id', { config }, (request, reply) => showLink(ctx, request, reply));
    scope.post('/pay/:id', { config }, (request, reply) => pay(ctx, payments, request, reply));
    scope.get('/pay/:id/card', { config }, async (request, reply) =>
      sendPage(request, reply, cardPage(ctx, (await openLink(ctx, request, reply)).view)),
    );
    scope.get('/pay/:id/:ref', { config }, async (request, reply) => {
      const { view, transaction } = await openAttempt(ctx, request, reply);
      const current = await checkNow(ctx, engine, holds, request, reply, transaction);
      return showAttempt(ctx, view, current, request, reply);
    });
    scope.get('/pay/:id/:ref/status', async (request, reply) => {
      const transaction = await openTransaction(ctx, request);
      void reply.header('Cache-Control', 'no-store');
      return { stage: await currentStage(ctx, transaction) };
    });
    scope.post('/pay/:id/:ref/code', { config }, (request, reply) => giveCode(ctx, request, reply));
    scope.post('/pay/:id/:ref/resend', { config }, (request, reply) => sendCodeAgain(ctx, request, reply));
    scope.get('/r/:code', { config }, (request, reply) => showReceipt(ctx, request, reply));
    done();
  });
}

async function showLink(ctx: PaymentsContext, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const query = request.query as Query;
  const found = await findLink(ctx.db, (request.params as Params).id);
  const draft = found && openDraft(ctx, found.id, query.d);
  const { link, view } = await openLink(ctx, request, reply, Number(query.country) || draft?.country || null);
  const attempts = link.reusable ? [] : await findAttempts(ctx.db, link.id);
  const latest = attempts[0] && (await readTransactions(ctx.db, [attempts[0].transactionId]))[0];
  const again = typeof query.again === 'string' ? await priorAttempt(ctx, link, query.again) : null;
  // A single-use link shows how it stands: to pay twice is not offered.
  if (latest) {
    const over = latest.status === 'failed' || latest.status === 'expired';
    const paid =
      view.status === 'paid'
        ? await paidAttempt(
            ctx,
            attempts.map((each) => each.transactionId),
          )
        : null;
    if (paid) return showAttempt(ctx, view, paid, request, reply);
    if (!over || (!again && !draft) || view.status !== 'active') return showAttempt(ctx, view, latest, request, reply);
  }
  if (view.status !== 'active') return sendPage(request, reply, closedPage(view));
  if (!view.row) return sendPage(request, reply, countryPage(view));
  const token = signForm(ctx, link.id, attempts.length);
  const shown = draft ?? firstDraft(link, again);
  const read = draft ? readOrder(view.reading, link, view.row, draft) : null;
  const form = { row: view.row, draft: shown, token, faults: read?.faults ?? new Map() };
  if (draft && read?.payment && read.questions.length > 0 && draft.notice === null && query.edit === undefined)
    return sendPage(
      request,
      reply,
      confirmPage(view, { ...form, payment: read.payment, questions: read.questions, sealed: String(query.d) }),
    );
  return sendPage(
    request,
    reply,
    formPage(ctx, view, query.edit === undefined ? form : { ...form, faults: new Map() }),
  );
}

/** What the form shows at first: what the business knows of its customer, or what this payer used a moment ago. */
function firstDraft(link: PaymentLink, again: Transaction | null): FormDraft {
  return {
    country: again?.country_id ?? null,
    method: again?.method ?? '',
    phone: again?.msisdn ?? link.phone ?? '',
    amount: '',
    firstName: link.first_name ?? '',
    lastName: link.last_name ?? '',
    email: link.email ?? '',
    notice: null,
  };
}

async function pay(
  ctx: PaymentsContext,
  payments: FormSubmitter,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const form = formOf(request);
  const country = Number(field(form, 'country')) || null;
  const { link, view } = await openLink(ctx, request, reply, country);
  const draft: FormDraft = {
    country,
    method: field(form, 'method', 40),
    phone: field(form, 'phone', 40),
    amount: field(form, 'amount', 40),
    firstName: showName(field(form, 'first_name', MAX_TEXT)),
    lastName: showName(field(form, 'last_name', MAX_TEXT)),
    email: field(form, 'email', MAX_TEXT),
    notice: null,
  };
  const decision = await payments.take({
    link,
    view,
    draft,
    token: field(form, 'form'),
    confirmed: field(form, 'confirmed') === '1',
    address: request.ip,
  });
  const target =
    decision.kind === 'attempt'
      ? addressWith(view, `${view.path}/${refOf({ id: decision.transactionId })}`)
      : decision.kind === 'form'
        ? addressWith(view, view.path, { d: sealDraft(ctx, link.id, decision.draft) })
        : addressWith(view, view.path);
  return reply.redirect(target, 303);
}

async function showReceipt(ctx: PaymentsContext, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const typed = (request.params as Params).code;
  const id = await findReceipt(ctx, ctx.db, typed);
  const [transaction] = id === null ? [] : await readTransactions(ctx.db, [id]);
  const link = transaction?.link_id ? await findLink(ctx.db, transaction.link_id) : null;
  const country = transaction && ctx.catalog.linkCountries.get(transaction.country_id)?.country;
  const reading = readLanguage(request, reply, country ?? null);
  const code = normaliseReceiptCode(typed);
  const frame: CheckoutFrame = {
    reading,
    brand: ctx.config.brandName,
    phoneUrl: null,
    address: code === null ? '/r/-' : `/r/${code}`,
    accent: link?.accent_colour ?? null,
  };
  const known = transaction && (transaction.status === 'success' || transaction.status === 'reversed');
  if (!known || code === null) return sendPage(request, reply, unknownReceiptPage(frame));
  const view = link && (await viewLink(ctx, link, request, reply, transaction.country_id));
  const business = view?.business ?? showName(link?.business_name ?? ctx.config.brandName);
  return sendPage(request, reply, receiptPage(ctx, frame, { transaction, business, code }));
}

function closedPage(view: LinkView) {
  const { words, date } = view.reading;
  const { expires_at: expiresAt } = view.link;
  const text =
    view.status === 'expired' && expiresAt !== null ? words.linkExpired(date(expiresAt)) : words.linkDisabled;
  return messagePage(view.frame, { title: words.linkGoneTitle, text, status: 410 });
}

/** An error as a page, in the payer's language. */
function problemMessage(ctx: PaymentsContext, problem: Problem, request: FastifyRequest) {
  const reading = readLanguage(request, null, null);
  const { words } = reading;
  const path = request.url.split('?')[0] ?? '/';
  const frame: CheckoutFrame = { reading, brand: ctx.config.brandName, phoneUrl: null, address: path, accent: null };
  const back = /^\/pay\/[^/]+/.exec(path)?.[0] ?? null;
  const { status } = problem;
  if (status === 404) return messagePage(frame, { title: words.linkGoneTitle, text: words.linkGone, status });
  if (status === 429 || status === 503)
    return messagePage(frame, { title: words.busyTitle, text: words.busy, status, back });
  return messagePage(frame, { title: words.brokenTitle, text: words.broken, status, back });
}
