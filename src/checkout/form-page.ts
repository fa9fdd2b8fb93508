// The first pages of a payment: choosing the country, the form itself, and the question before it is sent.

import type { LinkCountry } from '../catalog/catalog.ts';
import { formatNumber } from '../catalog/phone.ts';
import type { PaymentDetails } from '../payments/collections.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlPage, html } from '../platform/html.ts';
import type { FormDraft, FormNotice } from './form-draft.ts';
import { amountField, detailFields, hiddenFields, methodField, methodOptions, phoneField } from './form-fields.ts';
import { businessHead, businessPicture, facts, layoutPage, linkButton } from './layout.ts';
import { previewTags } from './link-preview.ts';
import { addressWith, type LinkView } from './link-view.ts';
import { shownMethod } from './names.ts';
import type { FieldMessages, Question } from './order.ts';

/** Until the country is known nothing else can be asked: operators and numbers differ. */
export function countryPage(ctx: PaymentsContext, view: LinkView, asked: Record<string, string>): HtmlPage {
  const { t, country } = view.locale;
  return layoutPage(view.layout, {
    title: t.payTo(view.business),
    script: false,
    wide: true,
    head: previewTags(ctx, view),
    body: html`
      ${summary(view, html`<b><bdi>${view.business}</bdi></b>`)}
      <div class="card">
        <h1>${t.whichCountry}</h1>
        ${view.choices.map((choice) =>
          linkButton(
            addressWith(view, view.path, { ...asked, country: String(choice.countryId) }),
            country(choice.country.iso),
            'secondary',
          ),
        )}
      </div>
    `,
  });
}

/** What is bought: who is paid, how much, for what. On a large screen beside the form, with a code for the phone. */
function summary(view: LinkView, heading: Html): Html {
  const { link, locale } = view;
  const { t } = locale;
  return html`
    <section class="summary">
      <div class="business">${businessPicture(link, view.business)}${heading}</div>
      ${link.amount !== null && html`<p class="amount">${locale.money(link.amount, link.currency)}</p>`}
      ${link.item_name !== null && html`<p class="item"><bdi>${link.item_name}</bdi></p>`}
      <p class="muted">${t.noFee}</p>
      ${link.expires_at !== null && html`<p class="muted">${t.validUntil(locale.date(link.expires_at))}</p>`}
      <div class="on-phone" aria-hidden="true">
        <img src="${view.path}/qr.svg" alt="" width="144" height="144" loading="lazy">
        <p>${t.onPhone}</p>
      </div>
    </section>
  `;
}

export type FormPage = {
  row: LinkCountry;
  /** What the address must ask for, so that the form is shown and not the try before. */
  asked: Record<string, string>;
  draft: FormDraft;
  errors: FieldMessages;
  token: string;
};

/** The form: one column, one button that repeats the amount. */
export function formPage(ctx: PaymentsContext, view: LinkView, form: FormPage): HtmlPage {
  const { link, locale } = view;
  const { t } = locale;
  const { row, draft, errors } = form;
  const notice = draft.notice && noticeText(ctx, view, draft.notice);
  const hasErrors = errors.size > 0 || notice !== null;
  const options = methodOptions(ctx, view, row);
  const canPay = options.some((option) => option.unavailable === null);
  const title = t.payTo(view.business);
  return layoutPage(view.layout, {
    title: hasErrors ? `${withColon(view.locale, t.errorTitle)} ${title}` : title,
    wide: true,
    head: previewTags(ctx, view),
    // The script selects the operator by the number and needs to know how numbers of the country begin.
    attributes: html`data-dial="${row.dialCode}" data-trunk="${row.country.trunk}"`,
    body: html`
      ${summary(view, html`<h1><bdi>${title}</bdi></h1>`)}
      <div>
        ${hasErrors && errorSummary(view, errors, notice)}
        <form class="card" method="post" action="${addressWith(view, view.path)}" novalidate>
          ${link.amount === null && amountField(view, row, draft, errors, options)}
          ${phoneField(view, row, draft, errors)}
          ${methodField(view, row, draft, errors, options)}
          ${detailFields(view, draft, errors)}
          ${hiddenFields([
            ['form', form.token],
            ['country', view.choices.length > 0 ? String(row.countryId) : ''],
          ])}
          <button${!canPay && html` disabled`}>
            ${link.amount === null ? t.continue : t.pay(locale.money(link.amount, link.currency))}
          </button>
        </form>
        ${
          view.choices.length > 0 &&
          textLink(
            addressWith(view, view.path, { ...form.asked, country: '' }),
            `${t.changeCountry} (${locale.country(row.country.iso)})`,
          )
        }
        ${returnLink(view)}
      </div>
    `,
  });
}

/** The question before money moves. Sending it again confirms; changing goes back to the form as it was. */
export function confirmPage(
  view: LinkView,
  form: FormPage & { payment: PaymentDetails; questions: readonly Question[]; sealed: string },
): HtmlPage {
  const { t, money } = view.locale;
  const { payment, draft, row } = form;
  const amount = money(payment.amount, payment.method.currency);
  return layoutPage(view.layout, {
    title: `${t.confirmTitle} – ${t.payTo(view.business)}`,
    body: html`
      ${businessHead(view.link, view.business)}
      <form class="card" method="post" action="${addressWith(view, view.path)}">
        <h1>${t.confirmTitle}</h1>
        ${form.questions.map((question) => html`<p>${questionText(view, question, payment)}</p>`)}
        ${facts([
          [t.amount, amount],
          [t.phone, formatNumber(payment.msisdn)],
          [t.payWith, shownMethod(view.locale, payment.method)],
        ])}
        <p class="muted spaced">${t.noFee}</p>
        ${hiddenFields([
          ['phone', payment.msisdn],
          ['method', payment.method.code],
          ['amount', draft.amount],
          ['first_name', draft.firstName],
          ['last_name', draft.lastName],
          ['email', draft.email],
          ['country', String(row.countryId)],
          ['confirmed', '1'],
          ['form', form.token],
        ])}
        <button>${t.pay(amount)}</button>
        ${linkButton(addressWith(view, view.path, { d: form.sealed, edit: '1' }), t.change, 'secondary')}
      </form>
    `,
  });
}

function questionText(view: LinkView, question: Question, payment: PaymentDetails): string {
  const { t, money } = view.locale;
  const number = formatNumber(payment.msisdn);
  switch (question.kind) {
    case 'number':
      return t.confirmNumber(number);
    case 'operator':
      return t.confirmOperator(number, question.likely.name, shownMethod(view.locale, payment.method));
    case 'predicted':
      return t.confirmPredicted(number, payment.method.name);
    case 'amount':
      return t.confirmAmount(money(payment.amount, payment.method.currency), view.business);
  }
}

function errorSummary(view: LinkView, errors: FieldMessages, notice: string | null): Html {
  const { t } = view.locale;
  const items = [...errors].map(([name, text]) => html`<li><a href="#${name}">${text}</a></li>`);
  return html`
    <div class="notice error" role="alert">
      ${notice !== null && html`<p>${notice}</p>`}
      ${items.length > 0 && html`<p><b>${t.errorSummary}</b></p><ul>${items}</ul>`}
    </div>
  `;
}

function noticeText(ctx: PaymentsContext, view: LinkView, notice: FormNotice): string {
  const { t, date } = view.locale;
  switch (notice.kind) {
    case 'form_expired':
      return t.formExpired;
    case 'rate_limited':
      return t.rateLimited;
    case 'number_limit':
      return t.numberLimit(date(new Date(notice.until)));
    case 'number_blocked':
      return t.numberBlocked;
    case 'day_limit':
      return t.dayLimit;
    case 'operator_down':
      return t.operatorDown(
        shownMethod(
          view.locale,
          ctx.catalog.methods.get(notice.method) ?? { code: notice.method, name: notice.method },
        ),
      );
  }
}

/** Back to the shop without paying. */
function returnLink(view: LinkView): Html | null {
  const url = view.link.redirection_url;
  if (url === null || !/^https?:\/\//i.test(url)) return null;
  return textLink(url, view.locale.t.returnTo(view.business), html` rel="noreferrer"`);
}

function textLink(href: string, label: string, attributes?: Html): Html {
  return html`<p><a class="text-link" href="${href}"${attributes}>${label}</a></p>`;
}
