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
import type { Params, Query } from './link-view.ts';
import { findReceipt, normaliseReceiptCode } from './receipt-codes.ts';
import { canMailReceipt, mailReceipt } from './receipt-mails.ts';

/** What the address says about the mail that was asked for. */
const RESULTS = ['sent', 'wrong', 'limited'] as const;
type MailResult = (typeof RESULTS)[number];

/** `typed`: what was no address, for the form to show again. */
export type AskedMail = { result: MailResult; typed: string };

const PURPOSE = 'receipt mail';
const MAX_SEALED_CHARACTERS = 1_000;

/** What the address of the receipt says. What was typed is sealed in it, as in the payment form: no log has it. */
export async function readAskedMail(ctx: PaymentsContext, code: string, query: unknown): Promise<AskedMail | null> {
  const { mail, d } = query as Query;
  const result = RESULTS.find((each) => each === mail);
  if (!result) return null;
  if (result !== 'wrong' || typeof d !== 'string' || d.length > MAX_SEALED_CHARACTERS) return { result, typed: '' };
  try {
    return { result, typed: await ctx.vault.open(Buffer.from(d, 'base64url'), `${PURPOSE} ${code}`) };
  } catch {
    return { result, typed: '' };
  }
}

/** Empty, also where the payer's address is known: others open these pages too. Open, with what was typed, when that was wrong. */
export function mailForm(
  ctx: PaymentsContext,
  { t, asked, language }: PayerLocale,
  { transaction, code }: { transaction: Transaction; code: string },
  mail: AskedMail | null = null,
): Html | false {
  if (!canMailReceipt(ctx, transaction)) return false;
  const isWrong = mail?.result === 'wrong';
  return html`
    <details class="no-print"${isWrong && html` open`}>
      <summary>${t.receiptMail}</summary>
      <form method="post" action="/r/${code}/mail${asked && `?lang=${language}`}">
        <div class="field">
          <label for="email">${t.email}</label>
          <input id="email" name="email" type="email" autocomplete="email" maxlength="${MAX_EMAIL_CHARACTERS}" required
            value="${mail?.typed ?? ''}"${isWrong && html` aria-describedby="email-error" aria-invalid="true"`}>
          ${isWrong && html`<p class="field-error" id="email-error">${t.emailWrong}</p>`}
        </div>
        <button class="secondary">${t.receiptMailSend}</button>
      </form>
    </details>
  `;
}

/** How sending it went, above the receipt. */
export function mailNotice({ t }: PayerLocale, mail: AskedMail | null): Html | false {
  switch (mail?.result) {
    case 'sent':
      return html`<p class="notice success" role="status">${t.receiptMailSent}</p>`;
    case 'wrong':
      return html`<p class="notice error" role="alert"><a href="#email">${t.emailWrong}</a></p>`;
    case 'limited':
      return html`<p class="notice warning" role="status">${t.receiptMailLimited}</p>`;
    case undefined:
      return false;
  }
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
  const code = normaliseReceiptCode(typed) ?? '';
  const result = await send(ctx, { transaction, email, address: addressOf(request), locale });
  const query = new URLSearchParams({
    ...(locale.asked ? { lang: locale.language } : {}),
    mail: result,
    ...(result === 'wrong' ? { d: ctx.vault.seal(email, `${PURPOSE} ${code}`).toString('base64url') } : {}),
  });
  return reply.redirect(`/r/${code}?${query.toString()}`, 303);
}

async function send(ctx: PaymentsContext, order: Required<Parameters<typeof mailReceipt>[1]>): Promise<MailResult> {
  if (!isEmail(order.email)) return 'wrong';
  return (await mailReceipt(ctx, order)) === 'queued' ? 'sent' : 'limited';
}
