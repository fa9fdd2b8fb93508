// Receipts that anyone can check, and the pages that hold one message, such as a link that has expired.

import { linkQrSvg } from '../links/qr.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { Transaction } from '../payments/transactions.ts';
import { publicUrl } from '../platform/config.ts';
import { type Html, type HtmlPage, html, trusted } from '../platform/html.ts';
import { businessHead, type CheckoutLayout, facts, icon, layoutPage, linkButton, total } from './layout.ts';
import type { CheckoutMessages } from './messages.ts';

export type ReceiptFacts = { transaction: Transaction; business: string; code: string };

/** A receipt. It says nothing about the payer. */
export function receiptPage(ctx: PaymentsContext, layout: CheckoutLayout, receipt: ReceiptFacts): HtmlPage {
  const { t, money, date } = layout.locale;
  const { transaction, business, code } = receipt;
  const url = `${publicUrl(ctx.config)}/r/${code}`;
  const stillPaid = transaction.status === 'success';
  return layoutPage(layout, {
    title: `${t.receiptTitle} ${code}`,
    body: html`
      ${businessHead(null, business)}
      <div class="card">
        <h1>${t.receiptTitle}</h1>
        ${total(money(transaction.amount, transaction.currency), null)}
        <p class="notice ${stillPaid ? 'success' : 'error'}">${stillPaid ? t.receiptGenuine : t.receiptReversed}</p>
        ${facts([
          [t.business, business],
          [t.paidOn, date(transaction.settled_at ?? transaction.updated_at)],
          [t.paidWith, ctx.catalog.methods.get(transaction.method)?.name ?? transaction.method],
          [t.receiptCode, code],
        ])}
        ${qrPicture(url, t.receiptTitle)}
        <p class="muted">${t.receiptCheck}<br>${url}</p>
        ${printButton(t)}
      </div>
    `,
  });
}

/** For a code that we never gave out. */
export function unknownReceiptPage(layout: CheckoutLayout): HtmlPage {
  const { t } = layout.locale;
  return messagePage(layout, { title: t.receiptUnknownTitle, text: t.receiptUnknown, status: 404 });
}

export type MessageContent = { title: string; text: string; status: number; back?: string | null };

/** A page with one message. */
export function messagePage(layout: CheckoutLayout, message: MessageContent): HtmlPage {
  return layoutPage(layout, {
    title: message.title,
    status: message.status,
    script: false,
    body: html`
      <div class="card">
        ${icon('warning', '!')}
        <h1>${message.title}</h1>
        <p>${message.text}</p>
        ${message.back && linkButton(message.back, layout.locale.t.back)}
      </div>
    `,
  });
}

/** Shown by the script, which is what prints. */
function printButton(t: CheckoutMessages): Html {
  return html`<br><button type="button" class="secondary" id="print" hidden>${t.print}</button>`;
}

function qrPicture(url: string, label: string): Html {
  // Inline, because another request costs a payer on 2G a second and a half. Trusted: made by us from our own address.
  const svg = linkQrSvg(url).replace('<svg ', '<svg class="qr" role="img" aria-label="QR" ');
  return html`<span title="${label}">${trusted(svg)}</span>`;
}
