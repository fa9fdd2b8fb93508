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
  const { words } = view.reading;
  return layoutPage(view.frame, {
    title: words.payTo(view.business),
    script: false,
    body: html`${businessHead(view.link, view.business)}<div class="card">${amountHead(view)}</div>
<h1>${words.whichCountry}</h1>${view.choices.map(
      (choice) =>
        html`<a class="btn q" href="${addressWith(view, view.path, { country: String(choice.countryId) })}">${choice.name}</a>`,
    )}`,
  });
}

export type FormPage = {
  row: LinkCountry;
  draft: FormDraft;
  faults: FieldMessages;
  token: string;
};

/** The form: one column, one button that repeats the amount. */
export function formPage(ctx: PaymentsContext, view: LinkView, form: FormPage): HtmlPage {
  const { words } = view.reading;
  const { row, draft, faults } = form;
  const notice = draft.notice && noticeText(ctx, view, draft.notice);
  const broken = faults.size > 0 || notice !== null;
  const selected = selectedMethod(row, draft);
  // What the phone itself asks for comes first: it is the least work.
  const order = (method: Method) => (method.verification === 'instructions' ? 1 : 0);
  const methods = [...row.methods].sort((left, right) => order(left) - order(right));
  const options = methods.map((method) => ({
    method,
    fault: methodError(ctx, view.reading, method, view.link.amount),
  }));
  const open = options.some((option) => option.fault === null);
  const title = words.payTo(view.business);
  return layoutPage(view.frame, {
    title: broken ? `${words.errorTitle}: ${title}` : title,
    attributes: html`data-dial="${row.dialCode}" data-trunk="${row.country.trunk}"`,
    body: html`${businessHead(view.link, view.business, title)}${broken && errorSummary(view, faults, notice)}
<form class="card" method="post" action="${addressWith(view, view.path)}" novalidate>
${view.link.amount === null ? amountField(view, row, draft, faults) : html`<div class="f">${amountHead(view)}<p class="m">${words.noFee}</p></div>`}
<div class="f"><label for="phone">${words.phone}</label><p class="h" id="phone-h">${words.phoneHint(exampleOf(row))}</p>
<input id="phone" name="phone" type="tel" inputmode="tel" autocomplete="tel-national" maxlength="40" required value="${shownPhone(row, draft)}" ${describedBy('phone', faults, 'phone-h')}>${faultLine('phone', faults)}</div>
<fieldset id="method"${faults.has('method') && html` aria-describedby="method-e"`}><legend>${words.how}</legend>${options.map(({ method, fault }) => methodOption(view, method, fault, method === selected))}${faultLine('method', faults)}${!open && html`<p class="er">${words.noMethod}</p>`}</fieldset>
${detailFields(view, draft, faults)}
<input type="hidden" name="form" value="${form.token}">${view.choices.length > 0 && html`<input type="hidden" name="country" value="${row.countryId}">`}
<button${!open && html` disabled`}>${view.link.amount === null ? words.continue : words.pay(view.reading.money(view.link.amount, view.link.currency))}</button>
${view.link.expires_at !== null && html`<p class="m">${words.validUntil(view.reading.date(view.link.expires_at))}</p>`}</form>
${view.choices.length > 0 && html`<p><a class="lk" href="${addressWith(view, view.path)}">${words.changeCountry} (${row.name})</a></p>`}${returnLink(view)}`,
  });
}

/** The question before money moves. Sending it again confirms; changing goes back to the form as it was. */
export function confirmPage(
  view: LinkView,
  form: FormPage & { payment: PaymentDetails; questions: readonly Question[]; sealed: string },
): HtmlPage {
  const { words, reading } = { words: view.reading.words, reading: view.reading };
  const { payment, draft, row } = form;
  const number = formatNumber(payment.msisdn);
  const amount = reading.money(payment.amount, payment.method.currency);
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
  return layoutPage(view.frame, {
    title: `${words.confirmTitle} ${words.payTo(view.business)}`,
    body: html`${businessHead(view.link, view.business)}<form class="card" method="post" action="${addressWith(view, view.path)}">
<h1>${words.confirmTitle}</h1>${lines.map((line) => line !== null && html`<p>${line}</p>`)}
<dl><div><dt>${words.amount}</dt><dd>${amount}</dd></div><div><dt>${words.phone}</dt><dd>${number}</dd></div><div><dt>${words.payWith}</dt><dd>${payment.method.name}</dd></div></dl>
<p class="m">${words.noFee}</p><br>${hidden.map(([name, value]) => value !== '' && html`<input type="hidden" name="${name}" value="${value}">`)}
<button>${words.pay(amount)}</button><a class="btn q" href="${addressWith(view, view.path, { d: form.sealed, edit: '1' })}">${words.change}</a></form>`,
  });
}

function questionText(view: LinkView, question: Question, payment: PaymentDetails): string | null {
  const { words, money } = view.reading;
  const number = formatNumber(payment.msisdn);
  switch (question.kind) {
    case 'number':
      return words.confirmNumber(number);
    case 'operator':
      return words.confirmOperator(number, question.likely.name, payment.method.name);
    case 'predicted':
      return words.confirmPredicted(number, payment.method.name);
    case 'amount':
      return words.confirmLine(money(payment.amount, payment.method.currency), view.business);
  }
}

function amountHead(view: LinkView): Html {
  const { link, reading } = view;
  if (link.amount !== null) return sumOf(reading.money(link.amount, link.currency), link.item_name);
  return link.item_name === null
    ? html`<p class="m">${reading.words.payTo(view.business)}</p>`
    : html`<p class="m">${reading.words.item}: <bdi>${link.item_name}</bdi></p>`;
}

function amountField(view: LinkView, row: LinkCountry, draft: FormDraft, faults: FieldMessages): Html {
  const { words, money } = view.reading;
  const [least, most] = amountRange(row);
  return html`<div class="f">${view.link.item_name !== null && html`<p class="m">${words.item}: <bdi>${view.link.item_name}</bdi></p>`}<label for="amount">${words.amount} (${row.currency})</label><p class="h" id="amount-h">${words.amountHint(money(least, row.currency), money(most, row.currency))}. ${words.noFee}</p>
<input id="amount" name="amount" inputmode="decimal" autocomplete="transaction-amount" maxlength="20" required value="${draft.amount}" ${describedBy('amount', faults, 'amount-h')}>${faultLine('amount', faults)}</div>`;
}

/** What the methods of the country take together. */
function amountRange(row: LinkCountry): [bigint, bigint] {
  const ascending = (left: bigint, right: bigint) => (left < right ? -1 : left > right ? 1 : 0);
  const least = row.methods.map(({ collection }) => collection.min).sort(ascending);
  const most = row.methods.map(({ collection }) => collection.max).sort(ascending);
  return [least[0] ?? 0n, most.at(-1) ?? 0n];
}

function methodOption(view: LinkView, method: Method, fault: string | null, selected: boolean): Html {
  const { words } = view.reading;
  const hint = {
    prompt: words.hintPrompt,
    shortcode: words.hintShortcode,
    otp: words.hintOtp,
    instructions: words.hintInstructions,
  }[method.verification];
  return html`<label class="o"><input type="radio" name="method" value="${method.code}" data-p="${method.prefixes.join(' ')}"${selected && fault === null && html` checked`}${fault !== null && html` disabled`}><span>${method.name}<small>${fault ?? hint}</small></span></label>`;
}

/** The customer's details, where the business gave any: prefilled, and his to correct. */
function detailFields(view: LinkView, draft: FormDraft, faults: FieldMessages): Html | null {
  const { words } = view.reading;
  const { link } = view;
  if (link.first_name === null && link.last_name === null && link.email === null) return null;
  const fields = [
    ['first_name', words.firstName, draft.firstName, 'given-name', 'text'],
    ['last_name', words.lastName, draft.lastName, 'family-name', 'text'],
    ['email', words.email, draft.email, 'email', 'email'],
  ] as const;
  return html`<details${faults.has('email') && html` open`}><summary>${words.yourDetails} (${words.optional})</summary>${fields.map(
    ([name, label, value, autocomplete, type]) =>
      html`<div class="f"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" maxlength="120" value="${value}"${name === 'email' && html` ${describedBy('email', faults)}`}>${name === 'email' && faultLine('email', faults)}</div>`,
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

function describedBy(name: FieldName, faults: FieldMessages, hint?: string): Html {
  const faulty = faults.has(name);
  const ids = [hint, faulty ? `${name}-e` : undefined].filter(Boolean).join(' ');
  return html`${ids !== '' && html`aria-describedby="${ids}"`}${faulty && html` aria-invalid="true"`}`;
}

function faultLine(name: FieldName, faults: FieldMessages): Html | null {
  const text = faults.get(name);
  return text === undefined ? null : html`<p class="er" id="${name}-e">${text}</p>`;
}

function errorSummary(view: LinkView, faults: FieldMessages, notice: string | null): Html {
  const { words } = view.reading;
  return html`<div class="box bad" role="alert">${notice !== null && html`<p>${notice}</p>`}${
    faults.size > 0 &&
    html`<p><b>${words.errorSummary}</b></p><ul>${[...faults].map(([name, text]) => html`<li><a href="#${name}">${text}</a></li>`)}</ul>`
  }</div>`;
}

function noticeText(ctx: PaymentsContext, view: LinkView, notice: FormNotice): string {
  const { words, clock } = view.reading;
  switch (notice.kind) {
    case 'form_expired':
      return words.formOld;
    case 'rate_limited':
      return words.tooMany;
    case 'number_limit':
      return words.numberTired(clock(new Date(notice.until)));
    case 'operator_down':
      return words.operatorDown(ctx.catalog.methods.get(notice.method)?.name ?? notice.method);
  }
}

/** Back to the shop without paying. */
function returnLink(view: LinkView): Html | null {
  const url = view.link.redirection_url;
  return url !== null && /^https?:\/\//i.test(url)
    ? html`<p><a class="lk" href="${url}" rel="noreferrer">${view.reading.words.returnTo(view.business)}</a></p>`
    : null;
}
