// "Find your payment": what a payer types from the SMS of the operator, and what is answered. It works without scripts. What was
// typed goes by POST, so that no number stands in an address or a log.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { type GuessResult, takeGuess } from '../holders/guesses.ts';
import type { PaymentsContext } from '../payments/context.ts';
import {
  type FoundPayments,
  findLostPayments,
  isEnough,
  type MoneyInSuspense,
  type PayerSays,
  readClues,
  type TypedClues,
} from '../payments/lost-payments.ts';
import { reportLostPayment } from '../payments/payer-reports.ts';
import { MAX_TEXT_CHARACTERS } from '../payments/payment-text.ts';
import type { Transaction } from '../payments/transactions.ts';
import { shownBrand } from '../platform/config.ts';
import { field, formOf, refuseForeignForm } from '../platform/forms.ts';
import { type Html, html, sendPage } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { FIND_MESSAGES, type FindMessages } from './find-messages.ts';
import { chooseLocale, createLocale, type PayerLocale } from './language.ts';
import { type CheckoutContent, icon, layoutPage, linkButton, type NoticeTone } from './layout.ts';
import { receiptCode } from './receipt-codes.ts';
import { readReceipt } from './receipts.ts';

const MAX_FIELD_CHARACTERS = 60;
/** The end of a number, which is the same however it is written: in national form it may be one of several countries. */
const COUNTED_DIGITS = 8;
const FIELDS = ['text', 'receipt', 'number', 'amount', 'day'] as const;
const NOTHING: TypedClues = { text: '', receipt: '', number: '', amount: '', day: '' };

type FindRequest = { ctx: PaymentsContext; request: FastifyRequest; reply: FastifyReply; locale: PayerLocale };

function open(ctx: PaymentsContext, request: FastifyRequest, reply: FastifyReply): FindRequest & { t: FindMessages } {
  const locale = chooseLocale(request, reply, null);
  void reply.header('Cache-Control', 'no-store');
  return { ctx, request, reply, locale, t: FIND_MESSAGES[locale.language] };
}

export function showFindPage(ctx: PaymentsContext, request: FastifyRequest, reply: FastifyReply) {
  const view = open(ctx, request, reply);
  return answer(view, { title: view.t.title, body: searchForm(view, NOTHING, null) });
}

export async function answerFind(ctx: PaymentsContext, request: FastifyRequest, reply: FastifyReply) {
  const view = open(ctx, request, reply);
  const { t } = view;
  const typed = readForm(request);
  const says = readClues(typed, ctx.catalog.countries.values());
  if (!isEnough(says)) return answer(view, { title: t.title, status: 400, body: searchForm(view, typed, t.notEnough) });
  const found = await search(view, says);
  if (!found) return answer(view, { title: t.title, status: 429, body: searchForm(view, typed, t.limited) });
  const payments = await Promise.all(
    found.payments.map((each) => paymentAnswer(view, each.transaction, each.byReceipt)),
  );
  const answers = [...payments, ...found.held.map((each) => heldAnswer(view, each))];
  const isUnknown = answers.length === 0;
  const body = isUnknown ? message('warning', '?', t.unknownTitle, t.unknown) : html`${answers}`;
  return answer(view, {
    title: isUnknown ? t.unknownTitle : t.title,
    body: html`${body}${!isSettled(found) && reportForm(view, typed)}${againLink(view)}`,
  });
}

/** Opens a case. The answer is the same, whatever was found. */
export async function reportFind(ctx: PaymentsContext, request: FastifyRequest, reply: FastifyReply) {
  refuseForeignForm(request);
  const view = open(ctx, request, reply);
  const { t } = view;
  const typed = readForm(request);
  const says = readClues(typed, ctx.catalog.countries.values());
  if (!isEnough(says)) return answer(view, { title: t.title, status: 400, body: searchForm(view, typed, t.notEnough) });
  const isAllowed = (await countFor(view, says, 'payer_report')).allowed;
  const found = isAllowed ? await search(view, says) : null;
  if (!found) return answer(view, { title: t.title, status: 429, body: searchForm(view, typed, t.limited) });
  const number = await reportLostPayment(ctx, typed, says, found);
  return answer(view, {
    title: t.reportedTitle,
    body: html`
      ${message('success', '✓', t.reportedTitle, t.reported)}
      <p><b><code>${number}</code></b></p>
      ${againLink(view)}
    `,
  });
}

function readForm(request: FastifyRequest): TypedClues {
  const form = formOf(request);
  const values = FIELDS.map(
    (name) => [name, field(form, name, name === 'text' ? MAX_TEXT_CHARACTERS : MAX_FIELD_CHARACTERS)] as const,
  );
  return { ...NOTHING, ...Object.fromEntries(values) };
}

/**
 * Counted before it is looked up, by address and by number, over all processes; null: too often. A search that found something is
 * not counted. The log has no number.
 */
async function search(view: FindRequest, says: PayerSays): Promise<FoundPayments | null> {
  const { ctx } = view;
  const guess = await countFor(view, says, 'lost_payment');
  if (!guess.allowed) return null;
  const found = await findLostPayments(ctx, says);
  const count = found.payments.length + found.held.length;
  if (count > 0) await guess.giveBack();
  ctx.log.info(
    { lost_payment: { found: count, by_receipt: says.receipts.length > 0 } },
    'a payer looked for a payment',
  );
  return found;
}

function countFor(
  { ctx, request }: FindRequest,
  { numbers: [number = ''] }: PayerSays,
  kind: 'lost_payment' | 'payer_report',
): Promise<GuessResult> {
  const person = number.slice(-COUNTED_DIGITS);
  return takeGuess(ctx, { kind, person, shownAs: `•••• ${person.slice(-3)}`, address: addressOf(request) });
}

/** Nothing is left to report: the business has the money, or it is back with the payer. */
function isSettled({ payments, held }: FoundPayments): boolean {
  const done = (transaction: Transaction) => transaction.status === 'success' || transaction.status === 'reversed';
  return held.length === 0 && payments.length > 0 && payments.every((each) => done(each.transaction));
}

async function paymentAnswer(
  { ctx, locale, t }: FindRequest & { t: FindMessages },
  transaction: Transaction,
  byReceipt: boolean,
): Promise<Html> {
  const isPaid = transaction.status === 'success';
  // Only who has the receipt and the number sees the page with both.
  const code = isPaid && byReceipt ? await receiptCode(ctx, transaction) : '';
  const { business } = await readReceipt(ctx, transaction, code);
  const amount = locale.money(transaction.amount, transaction.currency);
  const country = ctx.catalog.linkCountries.get(transaction.country_id)?.country ?? null;
  const { date } = createLocale(locale.language, country);
  switch (transaction.status) {
    case 'success':
      return html`
        ${message('success', '✓', t.paidTitle, t.paid(amount, business, date(transaction.settled_at ?? transaction.updated_at)))}
        ${code !== '' && linkButton(`/r/${code}`, t.openReceipt)}
      `;
    case 'reversed':
      return message('success', '↩', t.givenBackTitle, t.givenBack(amount, business));
    case 'pending':
    case 'processing':
      return message('warning', '…', t.onItsWayTitle, t.onItsWay(amount, business));
    case 'failed':
    case 'expired':
      return message('error', '!', t.failedTitle, t.failed(amount, business));
  }
}

function heldAnswer({ locale, t }: FindRequest & { t: FindMessages }, held: MoneyInSuspense): Html {
  const amount = locale.money(held.amount, held.currency);
  return message('warning', '!', t.heldTitle, t.held(amount, locale.date(held.receivedAt)));
}

function message(tone: NoticeTone, sign: string, title: string, text: string): Html {
  return html`${icon(tone, sign)}<h1>${title}</h1><p><bdi>${text}</bdi></p>`;
}

function action({ locale }: FindRequest, path = ''): string {
  return `/find${path}${locale.asked ? `?lang=${locale.language}` : ''}`;
}

function searchForm(view: FindRequest & { t: FindMessages }, typed: TypedClues, error: string | null): Html {
  const { t } = view;
  const input = (name: 'receipt' | 'number' | 'amount' | 'day', hint: string, attributes: Html) => html`
    <div class="field">
      <label for="${name}">${t[name]}</label>
      ${hint !== '' && html`<p class="hint" id="${name}-hint">${hint}</p>`}
      <input id="${name}" name="${name}" value="${typed[name]}" maxlength="${MAX_FIELD_CHARACTERS}"
        ${hint !== '' && html` aria-describedby="${name}-hint"`} ${attributes}>
    </div>
  `;
  const hasMore = typed.receipt !== '' || typed.amount !== '' || typed.day !== '';
  return html`
    <h1>${t.title}</h1>
    <p>${t.lead}</p>
    ${error !== null && html`<p class="notice error" role="alert">${error}</p>`}
    <form method="post" action="${action(view)}">
      <div class="field">
        <label for="text">${t.sms}</label>
        <p class="hint" id="text-hint">${t.smsHint}</p>
        <textarea id="text" name="text" rows="4" maxlength="${MAX_TEXT_CHARACTERS}" aria-describedby="text-hint">${typed.text}</textarea>
      </div>
      ${input('number', t.numberHint, html`type="tel" autocomplete="tel" required`)}
      <details${hasMore && html` open`}>
        <summary>${t.more}</summary>
        ${input('receipt', '', html`autocapitalize="characters" autocomplete="off"`)}
        ${input('amount', '', html`inputmode="decimal" autocomplete="off"`)}
        ${input('day', t.dayHint, html`autocomplete="off"`)}
      </details>
      <button>${t.find}</button>
    </form>
  `;
}

function reportForm(view: FindRequest & { t: FindMessages }, typed: TypedClues): Html {
  return html`
    <form method="post" action="${action(view, '/report')}">
      ${FIELDS.map((name) => html`<input type="hidden" name="${name}" value="${typed[name]}">`)}
      <p>${view.t.reportLead}</p>
      <button>${view.t.report}</button>
    </form>
  `;
}

function againLink(view: FindRequest & { t: FindMessages }): Html {
  return linkButton(action(view), view.t.again, 'secondary');
}

function answer({ ctx, request, reply, locale }: FindRequest, content: CheckoutContent): Promise<FastifyReply> {
  const layout = { locale, brand: shownBrand(ctx.config), phoneUrl: null, address: '/find', accent: null };
  const page = layoutPage(layout, { ...content, script: false, body: html`<div class="card">${content.body}</div>` });
  return sendPage(request, reply, page);
}
