// A receipt that anyone can check: what was paid, to whom, with the operator's own code, so that both sides can compare it with
// their SMS. Of the payer it shows the last digits only. A receipt of the sandbox says TEST and proves nothing.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { findHolder } from '../holders/holders.ts';
import { findLink, type PaymentLink } from '../links/links.ts';
import { linkQrSvg } from '../links/qr.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { readTransactions, refOf, type Transaction } from '../payments/transactions.ts';
import { publicUrl, shownBrand } from '../platform/config.ts';
import { type Html, type HtmlPage, html, scriptFile, sendPage, styleFile, trusted } from '../platform/html.ts';
import { chooseLocale } from './language.ts';
import { businessHead, type CheckoutLayout, facts, layoutPage, total } from './layout.ts';
import { messagePage } from './message-page.ts';
import type { CheckoutMessages } from './messages.ts';
import { showName } from './names.ts';
import { findReceipt, normaliseReceiptCode } from './receipt-codes.ts';

const STYLE = styleFile(new URL('./receipt.css', import.meta.url));
const SCRIPT = scriptFile(new URL('./receipt.js', import.meta.url));
/** Enough for the payer to recognise the number, too few for anybody else. */
const SHOWN_DIGITS = 3;

type Receipt = { transaction: Transaction; link: PaymentLink | null; business: string; code: string; url: string };

export async function showReceipt(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const typed = (request.params as { code: string }).code;
  const id = await findReceipt(ctx, ctx.db, typed);
  const [transaction] = id === null ? [] : await readTransactions(ctx.db, [id]);
  const link = transaction?.link_id ? await findLink(ctx.db, transaction.link_id) : null;
  const country = transaction && ctx.catalog.linkCountries.get(transaction.country_id)?.country;
  const locale = chooseLocale(request, reply, country ?? null);
  const code = normaliseReceiptCode(typed);
  const layout: CheckoutLayout = {
    locale,
    brand: shownBrand(ctx.config),
    phoneUrl: null,
    address: code === null ? '/r/-' : `/r/${code}`,
    accent: link?.accent_colour ?? null,
  };
  const isKnown = transaction && (transaction.status === 'success' || transaction.status === 'reversed');
  if (!isKnown || code === null) return sendPage(request, reply, unknownReceiptPage(layout));
  const holder = await findHolder(ctx.db, transaction.holder_id);
  const business = showName(link?.business_name ?? holder?.name ?? shownBrand(ctx.config));
  const url = `${publicUrl(ctx.config)}/r/${code}`;
  return sendPage(request, reply, receiptPage(ctx, layout, { transaction, link, business, code, url }));
}

/** For a code that we never gave out. */
function unknownReceiptPage(layout: CheckoutLayout): HtmlPage {
  const { t } = layout.locale;
  return messagePage(layout, { title: t.receiptUnknownTitle, text: t.receiptUnknown, status: 404 });
}

function receiptPage(ctx: PaymentsContext, layout: CheckoutLayout, receipt: Receipt): HtmlPage {
  const { t, money } = layout.locale;
  const { transaction, link, business, code, url } = receipt;
  const isTest = ctx.config.mode === 'sandbox';
  const amount = money(transaction.amount, transaction.currency);
  const page = layoutPage(layout, {
    title: `${isTest ? 'TEST – ' : ''}${t.receiptTitle} ${code}`,
    script: false,
    body: html`
      ${businessHead(link, business)}
      <div class="card">
        <h1>${t.receiptTitle}${isTest && html` <strong class="test">TEST</strong>`}</h1>
        ${total(amount, link?.item_name ? showName(link.item_name) : null)}
        ${verdict(t, transaction, isTest)}
        ${receiptFacts(ctx, layout, receipt)}
        <div class="receipt-check">
          ${qrPicture(url)}
          <p class="muted">${t.receiptCheck}<br>${url}</p>
        </div>
        ${shareLinks(t, code, url, t.receiptShareText(amount, business, url))}
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

function receiptFacts(ctx: PaymentsContext, { locale }: CheckoutLayout, receipt: Receipt): Html {
  const { t, date } = locale;
  const { transaction, business, code } = receipt;
  const { msisdn, reference_1: reference } = transaction;
  const method = ctx.catalog.methods.get(transaction.method)?.name ?? transaction.method;
  return facts([
    [t.business, business],
    [t.paidOn, date(transaction.settled_at ?? transaction.updated_at)],
    [t.paidWith, method],
    [t.receiptOperatorCode(method), transaction.receipt],
    [t.receiptPayer, msisdn && `•••• ${msisdn.slice(-SHOWN_DIGITS)}`],
    [t.reference, reference === null ? refOf(transaction) : showName(reference)],
    [t.receiptCode, code],
  ]);
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
