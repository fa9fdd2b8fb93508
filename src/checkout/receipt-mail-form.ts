// "E-mail me the receipt", folded, on the page after a payment and on the receipt; and what its form sends. It works without
// scripts, and is only there where the gateway can send mail.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PaymentsContext } from '../payments/context.ts';
import { readTransactions, type Transaction } from '../payments/transactions.ts';
import { isEmail, MAX_EMAIL_CHARACTERS } from '../platform/email.ts';
import { Problem } from '../platform/errors.ts';
import { field, formOf, refuseForeignForm } from '../platform/forms.ts';
import { type Html, html } from '../platform/html.ts';
import { addressOf } from '../platform/http.ts';
import { chooseLocale, type PayerLocale } from './language.ts';
import type { NoticeTone } from './layout.ts';
import type { Params, Query } from './link-view.ts';
import { findReceipt, normaliseReceiptCode } from './receipt-codes.ts';
import { canMailReceipt, mailReceipt } from './receipt-mails.ts';

/** What the address says about the mail that was asked for. */
const RESULTS = ['sent', 'wrong', 'limited'] as const;
type MailResult = (typeof RESULTS)[number];
const TONES: Record<MailResult, NoticeTone> = { sent: 'success', wrong: 'error', limited: 'warning' };

/** Empty, also where the payer's address is known: others open these pages too. */
export function mailForm(
  ctx: PaymentsContext,
  { t, asked, language }: PayerLocale,
  { transaction, code }: { transaction: Transaction; code: string },
): Html | false {
  if (!canMailReceipt(ctx, transaction)) return false;
  return html`
    <details class="no-print">
      <summary>${t.receiptMail}</summary>
      <form method="post" action="/r/${code}/mail${asked && `?lang=${language}`}">
        <div class="field">
          <label for="email">${t.email}</label>
          <input id="email" name="email" type="email" autocomplete="email" maxlength="${MAX_EMAIL_CHARACTERS}" required>
        </div>
        <button class="secondary">${t.receiptMailSend}</button>
      </form>
    </details>
  `;
}

/** How sending it went, above the receipt. */
export function mailNotice({ t }: PayerLocale, query: unknown): Html | false {
  const result = RESULTS.find((each) => each === (query as Query).mail);
  if (!result) return false;
  const texts = { sent: t.receiptMailSent, wrong: t.emailWrong, limited: t.receiptMailLimited };
  return html`<p class="notice ${TONES[result]}" role="status">${texts[result]}</p>`;
}

export async function sendReceiptMail(
  ctx: PaymentsContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  refuseForeignForm(request);
  const typed = (request.params as Params).code;
  const id = await findReceipt(ctx, ctx.db, typed);
  const [transaction] = id === null ? [] : await readTransactions(ctx.db, [id]);
  if (!transaction || !canMailReceipt(ctx, transaction)) throw new Problem('not_found');
  const country = ctx.catalog.linkCountries.get(transaction.country_id)?.country ?? null;
  const locale = chooseLocale(request, reply, country);
  const email = field(formOf(request), 'email', MAX_EMAIL_CHARACTERS + 1);
  const query = new URLSearchParams({
    ...(locale.asked ? { lang: locale.language } : {}),
    mail: await send(ctx, { transaction, email, address: addressOf(request), locale }),
  });
  return reply.redirect(`/r/${normaliseReceiptCode(typed)}?${query.toString()}`, 303);
}

async function send(ctx: PaymentsContext, order: Required<Parameters<typeof mailReceipt>[1]>): Promise<MailResult> {
  if (!isEmail(order.email)) return 'wrong';
  return (await mailReceipt(ctx, order)) === 'queued' ? 'sent' : 'limited';
}
