// The addresses of the hosted pages. Every form is answered with a redirect to the page of the resulting state, so that
// Back and Reload never charge; the address is the state, so that a payer can return after a lost connection.
//
// The way of a form, each file once:
//   routes → submit (reads the form, checks its token, decides) → link-view (the link, the business, the language)
//   → order (validates the fields) → payments/collections (rail, fee, verification) → payments/accept (writes the
//   collection) → attempts (writes the attempt in the same transaction)

import fastifyCookie from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PaymentsContext } from '../payments/context.ts';
import type { PaymentEngine } from '../payments/engine.ts';
import { shownBrand } from '../platform/config.ts';
import type { Problem } from '../platform/errors.ts';
import { parseForms } from '../platform/forms.ts';
import { problemText, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { checkNow, currentStage, giveCode, sendCodeAgain, showAttempt } from './attempt-handlers.ts';
import { cardPage } from './card-page.ts';
import { answerFind, reportFind, showFindPage } from './find-page.ts';
import { chooseLocale } from './language.ts';
import type { CheckoutLayout } from './layout.ts';
import { showLink } from './link-page.ts';
import { showPreview } from './link-preview.ts';
import { openAttempt, openLink, requestedAttempt, requestedLink } from './link-view.ts';
import { createLongPolls } from './long-poll.ts';
import { messagePage } from './message-page.ts';
import { sendReceiptMail } from './receipt-mail-form.ts';
import { showReceipt } from './receipt-page.ts';
import { createShortAddress } from './short-address.ts';
import { createFormSubmitter } from './submit.ts';

/** At most one in this many requests in flight may be a "Check now" that waits for a change. */
const LONG_POLL_SHARE = 4;

export type CheckoutOptions = {
  /** How long "Check now" waits for a change; 20 s unless a test sets less. */
  holdMs?: number;
};

export function checkoutRoutes(
  app: HttpServer,
  ctx: PaymentsContext,
  engine: PaymentEngine,
  options: CheckoutOptions = {},
): void {
  const longPolls = createLongPolls(Math.max(1, Math.floor(ctx.config.maxInFlight / LONG_POLL_SHARE)), options.holdMs);
  const submit = createFormSubmitter(ctx, engine);
  app.addHook('preClose', (done) => {
    longPolls.close();
    done();
  });
  app.register((scope, _options, done) => {
    parseForms(scope);
    scope.register(fastifyCookie);
    const config = {
      problemPage: (problem: Problem, request: FastifyRequest, reply: FastifyReply) =>
        problemText(reply, problemMessage(ctx, problem, request)),
    };
    scope.get('/pay/:id', { config }, (request, reply) => showLink(ctx, request, reply));
    scope.post('/pay/:id', { config }, submit);
    scope.get('/pay/:id/card', { config }, async (request, reply) => {
      const view = await openLink(ctx, await requestedLink(ctx, request), request, reply);
      return sendPage(request, reply, cardPage(ctx, view));
    });
    scope.get('/pay/:id/preview.png', (request, reply) => showPreview(ctx, request, reply));
    scope.get('/pay/:id/:ref', { config }, async (request, reply) => {
      const { view, transaction } = await openAttempt(ctx, request, reply);
      const current = await checkNow(ctx, engine, longPolls, request, reply, transaction);
      return showAttempt(ctx, view, current, request, reply);
    });
    scope.get('/pay/:id/:ref/status', async (request, reply) => {
      const transaction = await requestedAttempt(ctx, request);
      void reply.header('Cache-Control', 'no-store');
      return { stage: await currentStage(ctx, transaction) };
    });
    scope.post('/pay/:id/:ref/code', { config }, (request, reply) => giveCode(ctx, request, reply));
    scope.post('/pay/:id/:ref/resend', { config }, (request, reply) => sendCodeAgain(ctx, request, reply));
    scope.get('/p/:code', { config }, createShortAddress(ctx));
    scope.get('/find', { config }, (request, reply) => showFindPage(ctx, request, reply));
    scope.post('/find', { config }, (request, reply) => answerFind(ctx, request, reply));
    scope.post('/find/report', { config }, (request, reply) => reportFind(ctx, request, reply));
    scope.get('/r/:code', { config }, (request, reply) => showReceipt(ctx, request, reply));
    scope.post('/r/:code/mail', { config }, (request, reply) => sendReceiptMail(ctx, request, reply));
    done();
  });
}

/** An error as a page, in the payer's language. */
function problemMessage(ctx: PaymentsContext, problem: Problem, request: FastifyRequest) {
  const locale = chooseLocale(request, null, null);
  const { t } = locale;
  const path = request.url.split('?')[0] ?? '/';
  // The page whose form was sent. From a payment that waits the way back is that payment: the link's form would make another one.
  const address = /^\/(?:pay\/[^/]+(?:\/[^/]+)?|r\/[^/]+|find)/.exec(path)?.[0] ?? path;
  const layout: CheckoutLayout = { locale, brand: shownBrand(ctx.config), phoneUrl: null, address, accent: null };
  const back = address.startsWith('/pay/') ? address : null;
  const { status } = problem;
  if (status === 404) return messagePage(layout, { title: t.linkGoneTitle, text: t.linkGone, status });
  if (status === 429 || status === 503) return messagePage(layout, { title: t.busyTitle, text: t.busy, status, back });
  return messagePage(layout, { title: t.brokenTitle, text: t.broken, status, back });
}
