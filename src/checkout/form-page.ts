// The first pages of a payment: choosing the country, the form itself, and the question before it is sent.

import type { LinkCountry, Method } from '../catalog/catalog.ts';
import { predictMethod } from '../catalog/methods.ts';
import { formatNumber, normaliseNumber } from '../catalog/phone.ts';
import type { PaymentDetails } from '../payments/collections.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { type Html, type HtmlPage, html } from '../platform/html.ts';
import type { FormDraft, FormNotice } from './form-draft.ts';
import { businessHead, layoutPage, sumOf } from './layout.ts';
import { addressWith, type LinkView } from './link-view.ts';
import { exampleOf, type FieldMessages, type FieldName, methodError, type Question } from './order.ts';

/** Until the country is known nothing else can be asked: operators and numbers differ. */
export function countryPage(view: LinkView): HtmlPage {
  const { t } = view.locale;
  return layoutPage(view.layout, {
    title: t.payTo(view.business),
    script: false,
    body: html`${businessHead(view.link, view.business)}<div class="card">${amountHead(view)}</div>
<h1>${t.whichCountry}</h1>${view.choices.map(
      (choice) =>
        html`<a class="btn q" href="${addressWith(view, view.path, { country: String(choice.countryId) })}">${choice.name}</a>`,
    )}`,
  });
}

export type FormPage = {
  row: LinkCountry;
  draft: FormDraft;
  errors: FieldMessages;
  token: string;
};

/** The form: one column, one button that repeats the amount. */
export function formPage(ctx: PaymentsContext, view: LinkView, form: FormPage): HtmlPage {
  const { t } = view.locale;
  const { row, draft, errors } = form;
  const notice = draft.notice && noticeText(ctx, view, draft.notice);
  const broken = errors.size > 0 || notice !== null;
  const selected = selectedMethod(row, draft);
  // What the phone itself asks for comes first: it is the least work.
  const order = (method: Method) => (method.verification === 'instructions' ? 1 : 0);
  const methods = [...row.methods].sort((left, right) => order(left) - order(right));
  const options = methods.map((method) => ({
    method,
    fault: methodError(ctx, view.locale, method, view.link.amount),
  }));
  const open = options.some((option) => option.fault === null);
  const title = t.payTo(view.business);
  return layoutPage(view.layout, {
    title: broken ? `${t.errorTitle}: ${title}` : title,
    attributes: html`data-dial="${row.dialCode}" data-trunk="${row.country.trunk}"`,
    body: html`${businessHead(view.link, view.business, title)}${broken && errorSummary(view, errors, notice)}
<form class="card" method="post" action="${addressWith(view, view.path)}" novalidate>
${view.link.amount === null ? amountField(view, row, draft, errors) : html`<div class="f">${amountHead(view)}<p class="m">${t.noFee}</p></div>`}
<div class="f"><label for="phone">${t.phone}</label><p class="h" id="phone-h">${t.phoneHint(exampleOf(row))}</p>
<input id="phone" name="phone" type="tel" inputmode="tel" autocomplete="tel-national" maxlength="40" required value="${shownPhone(row, draft)}" ${describedBy('phone', errors, 'phone-h')}>${errorLine('phone', errors)}</div>
<fieldset id="method"${errors.has('method') && html` aria-describedby="method-e"`}><legend>${t.how}</legend>${options.map(({ method, fault }) => methodOption(view, method, fault, method === selected))}${errorLine('method', errors)}${!open && html`<p class="er">${t.noMethod}</p>`}</fieldset>
${detailFields(view, draft, errors)}
<input type="hidden" name="form" value="${form.token}">${view.choices.length > 0 && html`<input type="hidden" name="country" value="${row.countryId}">`}
<button${!open && html` disabled`}>${view.link.amount === null ? t.continue : t.pay(view.locale.money(view.link.amount, view.link.currency))}</button>
${view.link.expires_at !== null && html`<p class="m">${t.validUntil(view.locale.date(view.link.expires_at))}</p>`}</form>
${view.choices.length > 0 && html`<p><a class="lk" href="${addressWith(view, view.path)}">${t.changeCountry} (${row.name})</a></p>`}${returnLink(view)}`,
  });
}

/** The question before money moves. Sending it again confirms; changing goes back to the form as it was. */
export function confirmPage(
  view: LinkView,
  form: FormPage & { payment: PaymentDetails; questions: readonly Question[]; sealed: string },
): HtmlPage {
  const { t, locale } = { t: view.locale.t, locale: view.locale };
  const { payment, draft, row } = form;
  const number = formatNumber(payment.msisdn);
  const amount = locale.money(payment.amount, payment.method.currency);
  const lines = form.questions.map((question) => questionText(view, question, payment));
  const hidden: [string, string][] = [
    ['phone', payment.msisdn],
    ['method', payment.method.code],
    ['amount', draft.amount],
    ['first_name', draft.firstName],
    ['last_name', draft.lastName],
    ['email', draft.email],
    ['country', String(row.countryId)],
    ['confirmed', '1'],
    ['form', form.token],
  ];
  return layoutPage(view.layout, {
    title: `${t.confirmTitle} ${t.payTo(view.business)}`,
    body: html`${businessHead(view.link, view.business)}<form class="card" method="post" action="${addressWith(view, view.path)}">
<h1>${t.confirmTitle}</h1>${lines.map((line) => line !== null && html`<p>${line}</p>`)}
<dl><div><dt>${t.amount}</dt><dd>${amount}</dd></div><div><dt>${t.phone}</dt><dd>${number}</dd></div><div><dt>${t.payWith}</dt><dd>${payment.method.name}</dd></div></dl>
<p class="m">${t.noFee}</p><br>${hidden.map(([name, value]) => value !== '' && html`<input type="hidden" name="${name}" value="${value}">`)}
<button>${t.pay(amount)}</button><a class="btn q" href="${addressWith(view, view.path, { d: form.sealed, edit: '1' })}">${t.change}</a></form>`,
  });
}

function questionText(view: LinkView, question: Question, payment: PaymentDetails): string | null {
  const { t, money } = view.locale;
  const number = formatNumber(payment.msisdn);
  switch (question.kind) {
    case 'number':
      return t.confirmNumber(number);
    case 'operator':
      return t.confirmOperator(number, question.likely.name, payment.method.name);
    case 'predicted':
      return t.confirmPredicted(number, payment.method.name);
    case 'amount':
      return t.confirmAmount(money(payment.amount, payment.method.currency), view.business);
  }
}

function amountHead(view: LinkView): Html {
  const { link, locale } = view;
  if (link.amount !== null) return sumOf(locale.money(link.amount, link.currency), link.item_name);
  return link.item_name === null
    ? html`<p class="m">${locale.t.payTo(view.business)}</p>`
    : html`<p class="m">${locale.t.item}: <bdi>${link.item_name}</bdi></p>`;
}

function amountField(view: LinkView, row: LinkCountry, draft: FormDraft, errors: FieldMessages): Html {
  const { t, money } = view.locale;
  const [least, most] = amountRange(row);
  return html`<div class="f">${view.link.item_name !== null && html`<p class="m">${t.item}: <bdi>${view.link.item_name}</bdi></p>`}<label for="amount">${t.amount} (${row.currency})</label><p class="h" id="amount-h">${t.amountHint(money(least, row.currency), money(most, row.currency))}. ${t.noFee}</p>
<input id="amount" name="amount" inputmode="decimal" autocomplete="transaction-amount" maxlength="20" required value="${draft.amount}" ${describedBy('amount', errors, 'amount-h')}>${errorLine('amount', errors)}</div>`;
}

/** What the methods of the country take together. */
function amountRange(row: LinkCountry): [bigint, bigint] {
  const ascending = (left: bigint, right: bigint) => (left < right ? -1 : left > right ? 1 : 0);
  const least = row.methods.map(({ collection }) => collection.min).sort(ascending);
  const most = row.methods.map(({ collection }) => collection.max).sort(ascending);
  return [least[0] ?? 0n, most.at(-1) ?? 0n];
}

function methodOption(view: LinkView, method: Method, fault: string | null, selected: boolean): Html {
  const { t } = view.locale;
  const hint = {
    prompt: t.hintPrompt,
    shortcode: t.hintShortcode,
    otp: t.hintOtp,
    instructions: t.hintInstructions,
  }[method.verification];
  return html`<label class="o"><input type="radio" name="method" value="${method.code}" data-p="${method.prefixes.join(' ')}"${selected && fault === null && html` checked`}${fault !== null && html` disabled`}><span>${method.name}<small>${fault ?? hint}</small></span></label>`;
}

/** The payer's details, where the business gave any: prefilled, and open to correction. */
function detailFields(view: LinkView, draft: FormDraft, errors: FieldMessages): Html | null {
  const { t } = view.locale;
  const { link } = view;
  if (link.first_name === null && link.last_name === null && link.email === null) return null;
  const fields = [
    ['first_name', t.firstName, draft.firstName, 'given-name', 'text'],
    ['last_name', t.lastName, draft.lastName, 'family-name', 'text'],
    ['email', t.email, draft.email, 'email', 'email'],
  ] as const;
  return html`<details${errors.has('email') && html` open`}><summary>${t.yourDetails} (${t.optional})</summary>${fields.map(
    ([name, label, value, autocomplete, type]) =>
      html`<div class="f"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" maxlength="120" value="${value}"${name === 'email' && html` ${describedBy('email', errors)}`}>${name === 'email' && errorLine('email', errors)}</div>`,
  )}</details>`;
}

/** What is chosen when the page opens: what was chosen before, else what the number suggests. */
function selectedMethod(row: LinkCountry, draft: FormDraft): Method | null {
  const chosen = row.methods.find((method) => method.code === draft.method);
  if (chosen) return chosen;
  if (row.methods.length === 1) return row.methods[0] ?? null;
  const number = normaliseNumber(draft.phone, row.country, { lenient: true });
  return number.ok ? predictMethod(row, number.digits) : null;
}

/** A number that can be read is shown as people write it; anything else is left as it was typed. */
function shownPhone(row: LinkCountry, draft: FormDraft): string {
  const number = normaliseNumber(draft.phone, row.country, { lenient: true });
  return number.ok ? formatNumber(number.digits) : draft.phone;
}

function describedBy(name: FieldName, errors: FieldMessages, hint?: string): Html {
  const faulty = errors.has(name);
  const ids = [hint, faulty ? `${name}-e` : undefined].filter(Boolean).join(' ');
  return html`${ids !== '' && html`aria-describedby="${ids}"`}${faulty && html` aria-invalid="true"`}`;
}

function errorLine(name: FieldName, errors: FieldMessages): Html | null {
  const text = errors.get(name);
  return text === undefined ? null : html`<p class="er" id="${name}-e">${text}</p>`;
}

function errorSummary(view: LinkView, errors: FieldMessages, notice: string | null): Html {
  const { t } = view.locale;
  return html`<div class="box bad" role="alert">${notice !== null && html`<p>${notice}</p>`}${
    errors.size > 0 &&
    html`<p><b>${t.errorSummary}</b></p><ul>${[...errors].map(([name, text]) => html`<li><a href="#${name}">${text}</a></li>`)}</ul>`
  }</div>`;
}

function noticeText(ctx: PaymentsContext, view: LinkView, notice: FormNotice): string {
  const { t, time } = view.locale;
  switch (notice.kind) {
    case 'form_expired':
      return t.formExpired;
    case 'rate_limited':
      return t.rateLimited;
    case 'number_limit':
      return t.numberLimit(time(new Date(notice.until)));
    case 'operator_down':
      return t.operatorDown(ctx.catalog.methods.get(notice.method)?.name ?? notice.method);
  }
}

/** Back to the shop without paying. */
function returnLink(view: LinkView): Html | null {
  const url = view.link.redirection_url;
  return url !== null && /^https?:\/\//i.test(url)
    ? html`<p><a class="lk" href="${url}" rel="noreferrer">${view.locale.t.returnTo(view.business)}</a></p>`
    : null;
}
