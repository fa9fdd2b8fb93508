// "Send receipt": the address of the receipt, by WhatsApp, SMS or mail from the phone or computer of the member, or copied.
// The gateway sends nothing here, so nothing is promised that did not happen.

import { receiptCode } from '../checkout/receipt-codes.ts';
import { publicUrl } from '../platform/config.ts';
import { type Html, html } from '../platform/html.ts';
import { icon } from '../ui/icons.ts';
import { type HolderRequest, money } from './console-request.ts';
import type { TransactionDetails } from './transaction-details.ts';

export async function receiptMenu(request: HolderRequest, details: TransactionDetails): Promise<Html | false> {
  const { ctx, t, holder } = request;
  const { transaction, link, payer } = details;
  if (transaction.direction !== 'collection' || transaction.status !== 'success') return false;
  const { sendReceipt } = t.transaction;
  const url = `${publicUrl(ctx.config)}/r/${await receiptCode(ctx, transaction)}`;
  const business = link?.business_name ?? holder.name;
  const text = sendReceipt.text(money(request, transaction.amount, transaction.currency), business, url);
  const number = transaction.msisdn;
  const email = payer?.email ?? link?.email ?? null;
  const mail = email === null ? null : mailAddress(email, sendReceipt.subject(business), text);
  return html`
    <details class="unfold">
      <summary class="button button-secondary">${icon('receipt')}${sendReceipt.button}</summary>
      <div class="popover">
        ${
          number !== null &&
          html`
            <a href="https://wa.me/${number}?text=${encodeURIComponent(text)}" target="_blank" rel="noopener noreferrer">
              ${icon('message-circle')}${sendReceipt.whatsapp}
            </a>
            <a href="sms:+${number}?&body=${encodeURIComponent(text)}">${icon('smartphone')}${sendReceipt.sms}</a>
          `
        }
        ${mail !== null && html`<a href="${mail}">${icon('mail')}${sendReceipt.mail}</a>`}
        <a href="${url}" target="_blank" rel="noopener">${icon('external-link')}${sendReceipt.open}</a>
        <div class="copyline">
          <code id="receipt-url">${url}</code>
          <button type="button" class="button-secondary" data-copy="#receipt-url" data-done="${t.copied}" hidden>
            ${sendReceipt.copy}
          </button>
        </div>
      </div>
    </details>
  `;
}

function mailAddress(email: string, subject: string, text: string): string {
  return `mailto:${encodeURIComponent(email)}?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(text)}`;
}
