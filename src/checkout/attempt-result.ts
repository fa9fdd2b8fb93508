// How an attempt ended: paid, refunded, failed or expired.

import { isFailureCode } from '../catalog/failures.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { type Html, html } from '../platform/html.ts';
import { facts, icon, linkButton, liveRegion, outwardButton, total } from './layout.ts';
import { addressWith, type LinkView } from './link-view.ts';
import { shownMethod } from './names.ts';
import { mailForm } from './receipt-mail-form.ts';

/** Redirect automatically only right after paying, not when the receipt is opened again later. */
const RETURN_WITHIN_MS = 10 * 60_000;

/**
 * An operator that refuses a payment took no money for it. With these reasons another request for the same payment may have
 * taken some: there the text asks the payer to look at the messages first.
 */
const MAY_BE_CHARGED: readonly string[] = ['DUPLICATE_AT_OPERATOR', 'UNSPECIFIED', ''];

export type PageBody = { title: string; body: Html };

export function paidBody(
  ctx: PaymentsContext,
  view: LinkView,
  transaction: Transaction,
  receipt: string | null,
): PageBody {
  const { t, date } = view.locale;
  const settledAt = transaction.settled_at ?? transaction.updated_at;
  const back = returnUrl(view, transaction);
  const isFresh = ctx.clock.millis() - settledAt.getTime() < RETURN_WITHIN_MS;
  return {
    title: t.paidTitle,
    body: html`
      ${icon('success', '✓')}
      <h1>${t.paidTitle}</h1>
      <p>${t.paidText(amountOf(view, transaction), view.business)}</p>
      ${facts([
        [t.paidOn, date(settledAt)],
        [t.paidWith, methodName(ctx, view, transaction)],
        [t.item, view.link.item_name],
        [t.receiptCode, receipt],
      ])}
      ${back !== null && returnButton(view, back, undefined, isFresh && html` data-return`)}
      ${receipt !== null && linkButton(addressWith(view, `/r/${receipt}`), t.receipt, 'secondary')}
      ${receipt !== null && mailForm(ctx, view.locale, { transaction, code: receipt })}
      ${
        back !== null &&
        isFresh &&
        html`
          ${liveRegion(t.returning(view.business))}
          <button type="button" class="secondary" id="stay" hidden>${t.stay}</button>
        `
      }
    `,
  };
}

export function reversedBody(view: LinkView, transaction: Transaction): PageBody {
  const { t } = view.locale;
  const back = returnUrl(view, transaction);
  return {
    title: t.reversedTitle,
    body: html`
      ${icon('warning', '↩')}
      <h1>${t.reversedTitle}</h1>
      <p>${t.reversedText(amountOf(view, transaction))}</p>
      ${back !== null && returnButton(view, back)}
    `,
  };
}

export function endedBody(view: LinkView, transaction: Transaction): PageBody {
  const { t } = view.locale;
  const isExpired = transaction.status === 'expired';
  const code = transaction.failure_code ?? (isExpired ? 'PROMPT_EXPIRED' : '');
  const title = isExpired ? t.expiredTitle : t.failedTitle;
  const canRetry = view.status === 'active';
  const back = returnUrl(view, transaction);
  return {
    title,
    body: html`
      ${icon('error', '!')}
      <h1>${title}</h1>
      <p>${t.failures[isFailureCode(code) ? code : 'UNSPECIFIED']}</p>
      ${!MAY_BE_CHARGED.includes(code) && html`<p><b>${t.notCharged}</b></p>`}
      ${total(amountOf(view, transaction), view.link.item_name)}
      ${canRetry && linkButton(addressWith(view, view.path, { again: refOf(transaction) }), t.tryAgain)}
      ${back !== null && returnButton(view, back, 'secondary')}
    `,
  };
}

export function amountOf(view: LinkView, transaction: Transaction): string {
  return view.locale.money(transaction.amount, transaction.currency);
}

export function methodName(ctx: PaymentsContext, view: LinkView, { method }: Transaction): string {
  return shownMethod(view.locale, ctx.catalog.methods.get(method) ?? { code: method, name: method });
}

function returnButton(view: LinkView, url: string, variant?: 'secondary', attributes?: Html | false): Html {
  return outwardButton(url, view.locale.t.returnTo(view.business), variant, attributes || undefined);
}

/** The shop's own address with the reference. The reference proves nothing: the shop asks the API or gets a callback. */
function returnUrl(view: LinkView, transaction: Transaction): string | null {
  const url = URL.parse(view.link.redirection_url ?? '');
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  url.searchParams.set('ref', refOf(transaction));
  return url.href;
}
