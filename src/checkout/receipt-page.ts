// A receipt that anyone can check: what was paid, to whom, with the operator's own code, so that both sides can compare it with
// their SMS. Of the payer it shows the last digits only. A receipt of the sandbox says TEST and proves nothing.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { linkQrSvg } from '../links/qr.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { readTransactions, type Transaction } from '../payments/transactions.ts';
import { shownBrand } from '../platform/config.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Html, type HtmlPage, html, scriptFile, sendPage, styleFile, trusted } from '../platform/html.ts';
import { chooseLocale } from './language.ts';
import { businessHead, type CheckoutLayout, facts, layoutPage, total } from './layout.ts';
import { messagePage } from './message-page.ts';
import type { CheckoutMessages } from './messages.ts';
import { showName } from './names.ts';
import { findReceipt, normaliseReceiptCode } from './receipt-codes.ts';
import { type AskedMail, mailForm, mailNotice, readAskedMail } from './receipt-mail-form.ts';
import { type Receipt, readReceipt, receiptFacts } from './receipts.ts';

const STYLE = styleFile(new URL('./receipt.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./receipt.js', import.meta.url));

export async function showReceipt(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const typed = (request.params as { code: string }).code;
  const id = await findReceipt(ctx, ctx.db, typed);
  const [transaction] = id === null ? [] : await readTransactions(ctx.db, [id]);
  const code = normaliseReceiptCode(typed);
  const receipt = transaction && code !== null ? await readReceipt(ctx, transaction, code) : null;
  const country = transaction && ctx.catalog.linkCountries.get(transaction.country_id)?.country;
  const locale = chooseLocale(request, reply, country ?? null);
  const layout: CheckoutLayout = {
    locale,
    brand: shownBrand(ctx.config),
    phoneUrl: null,
    address: code === null ? '/r/-' : `/r/${code}`,
    accent: receipt?.link?.accent_colour ?? null,
  };
  const status = receipt?.transaction.status;
  if (!receipt || (status !== 'success' && status !== 'reversed'))
    return sendPage(request, reply, unknownReceiptPage(layout));
  return sendPage(
    request,
    reply,
    receiptPage(ctx, layout, receipt, await readAskedMail(ctx, receipt.code, request.query)),
  );
}

/** For a code that we never gave out. */
function unknownReceiptPage(layout: CheckoutLayout): HtmlPage {
  const { t } = layout.locale;
  return messagePage(layout, { title: t.receiptUnknownTitle, text: t.receiptUnknown, status: 404 });
}

function receiptPage(ctx: PaymentsContext, layout: CheckoutLayout, receipt: Receipt, mail: AskedMail | null): HtmlPage {
  const { t, money } = layout.locale;
  const { transaction, link, business, code, url } = receipt;
  const isTest = ctx.config.mode === 'sandbox';
  const amount = money(transaction.amount, transaction.currency);
  const title = `${isTest ? 'TEST – ' : ''}${t.receiptTitle} ${code}`;
  const page = layoutPage(layout, {
    title: mail?.result === 'wrong' ? `${withColon(layout.locale, t.errorTitle)} ${title}` : title,
    script: false,
    body: html`
      ${mailNotice(layout.locale, mail)}
      ${businessHead(link, business)}
      <div class="card">
        <h1>${t.receiptTitle}${isTest && html` <strong class="test">TEST</strong>`}</h1>
        ${total(amount, link?.item_name ? showName(link.item_name) : null)}
        ${verdict(t, transaction, isTest)}
        ${facts(receiptFacts(ctx, layout.locale, receipt))}
        <div class="receipt-check">
          ${qrPicture(url)}
          <p class="muted">${t.receiptCheck}<br>${url}</p>
        </div>
        ${shareLinks(t, code, url, t.receiptShareText(amount, business, url))}
        ${mailForm(ctx, layout.locale, receipt, mail)}
      </div>
    `,
  });
  return { ...page, styles: [...page.styles, STYLE], scripts: [SCRIPT] };
}

/** Whether it counts as paid. In the sandbox nothing does. */
function verdict(t: CheckoutMessages, { status }: Transaction, isTest: boolean): Html {
  const isPaid = status === 'success';
  return html`
    ${isTest && html`<p class="notice warning">${t.receiptTest}</p>`}
    ${!isPaid && html`<p class="notice error">${t.receiptReversed}</p>`}
    ${isPaid && !isTest && html`<p class="notice success">${t.receiptGenuine}</p>`}
  `;
}

/** Share is shown by the script where the browser can; the links work everywhere. */
function shareLinks(t: CheckoutMessages, code: string, url: string, text: string): Html {
  const encoded = encodeURIComponent(text);
  return html`
    <p class="receipt-actions no-print">
      <button type="button" id="share" data-text="${text}" hidden>${t.share}</button>
      <a class="button secondary" href="https://wa.me/?text=${encoded}" rel="noreferrer">WhatsApp</a>
      <a class="button secondary" href="sms:?&body=${encoded}">SMS</a>
      <a class="button secondary" href="${url}" download="receipt-${code}.html">${t.save}</a>
      <button type="button" class="secondary" id="print" hidden>${t.print}</button>
    </p>
  `;
}

function qrPicture(url: string): Html {
  // Inline, because another request costs a payer on 2G a second and a half. Trusted: made by us from our own address.
  return trusted(linkQrSvg(url).replace('<svg ', '<svg class="qr" role="img" aria-label="QR" '));
}
