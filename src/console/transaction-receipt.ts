// "Send receipt": the address of the receipt, by WhatsApp or SMS from the phone or computer of the member, or copied. The gateway
// itself sends it only by e-mail, where it has a mail server; otherwise the member's own mail program does.

import type { FastifyReply } from 'fastify';
import { receiptCode } from '../checkout/receipt-codes.ts';
import { canMailReceipt, mailReceipt } from '../checkout/receipt-mails.ts';
import { recordAudit } from '../holders/audit.ts';
import { refOf } from '../payments/transactions.ts';
import { publicUrl } from '../platform/config.ts';
import { isEmail, MAX_EMAIL_CHARACTERS } from '../platform/email.ts';
import { Problem, wrongField } from '../platform/errors.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { icon } from '../ui/icons.ts';
import { fieldOf, type HolderRequest, money } from './console-request.ts';
import { form, isRefused } from './form-components.ts';
import { redirect } from './layout.ts';
import { type ConsoleRoute, forRoles, MAKERS } from './route.ts';
import { requireTransaction, type TransactionDetails } from './transaction-details.ts';

export const transactionReceiptRoutes: ConsoleRoute[] = [
  forRoles(MAKERS, 'POST', '/transactions/:ref/receipt', sendByMail, { formOn: '/transactions/:ref' }),
];

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
  const mail = () => email !== null && mailAddress(email, sendReceipt.subject(business), text);
  return html`
    <details class="unfold"${isRefused(request, mailPath(transaction)) && html` open`}>
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
        ${canMailReceipt(ctx, transaction) ? mailForm(request, details, email) : mailLink(request, mail())}
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

const mailPath = (transaction: TransactionDetails['transaction']): string =>
  `/transactions/${refOf(transaction)}/receipt`;

/** Asks for the address, and offers the one that is known. */
function mailForm(request: HolderRequest, { transaction }: TransactionDetails, email: string | null): Html | false {
  const { t, role } = request;
  const { sendReceipt } = t.transaction;
  if (!MAKERS.includes(role)) return false;
  return form(request, {
    action: mailPath(transaction),
    fields: [
      {
        type: 'email',
        name: 'email',
        label: sendReceipt.mail,
        value: email ?? '',
        required: true,
        attributes: html`autocomplete="off" maxlength="${MAX_EMAIL_CHARACTERS}"`,
      },
    ],
    submit: sendReceipt.send,
    variant: 'secondary',
  });
}

function mailLink({ t }: HolderRequest, address: string | false): Html | false {
  return address !== false && html`<a href="${address}">${icon('mail')}${t.transaction.sendReceipt.mail}</a>`;
}

async function sendByMail(request: HolderRequest): Promise<FastifyReply> {
  const { ctx, t, actor, holder, raw } = request;
  const transaction = await requireTransaction(request);
  if (!canMailReceipt(ctx, transaction)) throw new Problem('not_found');
  const email = fieldOf(request, 'email', MAX_EMAIL_CHARACTERS + 1);
  if (!isEmail(email)) throw wrongField('email', t.emailInvalid);
  const audited = { holderId: holder.id, actor, action: 'receipt.mailed', subject: refOf(transaction) } as const;
  const result = await mailReceipt(ctx, { transaction, email, address: addressOf(raw) }, (tx) =>
    recordAudit(tx, audited, ctx.clock.now()),
  );
  if (result === 'limited') throw new Problem('invalid_params', { message: t.transaction.sendReceipt.limited });
  return redirect(request, `/console/transactions/${refOf(transaction)}`, 'receiptMailed');
}

function mailAddress(email: string, subject: string, text: string): string {
  return `mailto:${encodeURIComponent(email)}?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(text)}`;
}
