// Receipts by e-mail, where somebody asks for one: the payer on a hosted page, or a member of the business in the console.

import { takeGuess } from '../holders/guesses.ts';
import { mailIsConfigured, queueMail } from '../holders/mail-queue.ts';
import type { PaymentsContext } from '../payments/context.ts';
import type { Transaction } from '../payments/transactions.ts';
import type { Tx } from '../platform/db.ts';
import { withColon } from '../platform/french-spaces.ts';
import { type Mail, nameInMail } from '../platform/mail.ts';
import { createLocale, type PayerLocale } from './language.ts';
import { receiptCode } from './receipt-codes.ts';
import { type Receipt, readReceipt, receiptFacts } from './receipts.ts';

/** Only what was paid and not given back has a receipt worth a mail. */
export function canMailReceipt(ctx: PaymentsContext, { direction, status }: Transaction): boolean {
  return mailIsConfigured(ctx) && direction === 'collection' && status === 'success';
}

export type ReceiptMailOrder = { transaction: Transaction; email: string; address: string; locale?: PayerLocale };

/**
 * Queues the receipt, in the language of the payer's country unless the payer chose one. Few mails for one receipt, few to one
 * e-mail address: otherwise strangers could fill a mail box. `within` joins the transaction that queues it.
 */
export async function mailReceipt(
  ctx: PaymentsContext,
  { transaction, email, address, locale }: ReceiptMailOrder,
  within: (tx: Tx) => Promise<void> = async () => undefined,
): Promise<'queued' | 'limited'> {
  const code = await receiptCode(ctx, transaction);
  const to = email.toLowerCase();
  for (const person of [code, to])
    if (!(await takeGuess(ctx, { kind: 'receipt', person, address })).allowed) return 'limited';
  const receipt = plainReceipt(await readReceipt(ctx, transaction, code));
  const mail = writeMail(ctx, locale ?? localeOf(ctx, transaction), receipt);
  await ctx.db.transaction(async (tx) => {
    await queueMail(tx, { to, ...mail }, ctx.clock.now());
    await within(tx);
  });
  return 'queued';
}

export function localeOf(ctx: PaymentsContext, { country_id: countryId }: Transaction): PayerLocale {
  const country = ctx.catalog.linkCountries.get(countryId)?.country ?? null;
  return createLocale(country?.languages[0] ?? 'en', country);
}

/** Names that the business chose put no link and no line into a mail of ours. */
function plainReceipt({ transaction, business, ...rest }: Receipt): Receipt {
  const reference = transaction.reference_1;
  return {
    ...rest,
    business: nameInMail(business),
    transaction: { ...transaction, reference_1: reference === null ? null : nameInMail(reference) },
  };
}

function writeMail(ctx: PaymentsContext, locale: PayerLocale, receipt: Receipt): Pick<Mail, 'subject' | 'text'> {
  const { t, money } = locale;
  const { url, business } = receipt;
  const { amount: paid, currency } = receipt.transaction;
  const isTest = ctx.config.mode === 'sandbox';
  const amount = money(paid, currency);
  const lines = receiptFacts(ctx, locale, receipt).flatMap(([name, value]) =>
    value === null ? [] : `${withColon(locale, name)} ${value}`,
  );
  const parts = [isTest && t.receiptTest, t.paidText(amount, business), lines.join('\n'), url, t.receiptMailWhy];
  return {
    subject: `${isTest ? 'TEST – ' : ''}${t.receiptMailSubject(amount, business)}`.slice(0, 150),
    text: parts.filter((part) => part !== false).join('\n\n'),
  };
}
