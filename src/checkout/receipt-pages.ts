// What is printed: receipts that anyone can check, and the card that stands on a counter. And the few pages that only
// say why there is nothing to pay.

import { linkUrl } from '../links/links.ts';
import { linkQrSvg } from '../links/qr.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { Transaction } from '../payments/transactions.ts';
import { publicUrl } from '../platform/config.ts';
import { type Html, type HtmlPage, html, trusted } from '../platform/html.ts';
import { businessHead, type CheckoutLayout, layoutPage, sumOf } from './layout.ts';
import type { LinkView } from './link-view.ts';

export type ReceiptFacts = { transaction: Transaction; business: string; code: string };

/** A receipt, without a word about the payer. */
export function receiptPage(ctx: PaymentsContext, layout: CheckoutLayout, facts: ReceiptFacts): HtmlPage {
  const { t, money, date } = layout.locale;
  const { transaction, business, code } = facts;
  const url = `${publicUrl(ctx.config)}/r/${code}`;
  const stillPaid = transaction.status === 'success';
  const method = ctx.catalog.methods.get(transaction.method)?.name ?? transaction.method;
  const rows: [string, string][] = [
    [t.business, business],
    [t.paidOn, date(transaction.settled_at ?? transaction.updated_at)],
    [t.paidWith, method],
    [t.receiptCode, code],
  ];
  return layoutPage(layout, {
    title: `${t.receiptTitle} ${code}`,
    body: html`${businessHead(null, business)}<div class="card"><h1>${t.receiptTitle}</h1>${sumOf(money(transaction.amount, transaction.currency), null)}<br>
<p class="box ${stillPaid ? 'good' : 'bad'}">${stillPaid ? t.receiptGenuine : t.receiptReversed}</p>
<dl>${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>
${qrPicture(url, t.receiptTitle)}<p class="m">${t.receiptCheck}<br>${url}</p><br><button type="button" class="q" id="print" hidden>${t.print}</button></div>`,
  });
}

/** Somebody shows a code that we never gave out. */
export function unknownReceiptPage(layout: CheckoutLayout): HtmlPage {
  const { t } = layout.locale;
  return messagePage(layout, { title: t.receiptUnknownTitle, text: t.receiptUnknown, status: 404 });
}

/** The card for a counter: large, plain, and still an address where no camera is at hand. */
export function cardPage(ctx: PaymentsContext, view: LinkView): HtmlPage {
  const { t, money } = view.locale;
  const { link, business } = view;
  const url = linkUrl(ctx.config, link);
  return layoutPage(view.layout, {
    title: `${t.scan} – ${business}`,
    body: html`<div class="card cardpage">${businessHead(link, business)}<h1>${t.scan}</h1>${qrPicture(url, t.scan)}
${link.amount === null ? html`<p class="m">${t.cardAnyAmount}</p>` : sumOf(money(link.amount, link.currency), link.item_name)}${link.amount === null && link.item_name !== null && html`<p><bdi>${link.item_name}</bdi></p>`}<br>
<p class="m">${t.cardOpen}<br>${url}</p><br><button type="button" class="q" id="print" hidden>${t.print}</button></div>`,
  });
}

export type MessageContent = { title: string; text: string; status: number; back?: string | null };

/** A page with one thing to say. */
export function messagePage(layout: CheckoutLayout, message: MessageContent): HtmlPage {
  const { t } = layout.locale;
  return layoutPage(layout, {
    title: message.title,
    status: message.status,
    script: false,
    body: html`<div class="card"><p class="ic w" aria-hidden="true">!</p><h1>${message.title}</h1><p>${message.text}</p>${message.back && html`<a class="btn" href="${message.back}">${t.back}</a>`}</div>`,
  });
}

function qrPicture(url: string, label: string): Html {
  // Made by us from an address of ours; inline, because another request costs a payer on 2G a second and a half.
  const svg = linkQrSvg(url).replace('<svg ', '<svg class="qr" role="img" aria-label="QR" ');
  return html`<span title="${label}">${trusted(svg)}</span>`;
}
