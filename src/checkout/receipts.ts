// What a receipt says, on its page, in a mail and in an SMS. Of the payer it shows the last digits only.

import { findHolder } from '../holders/holders.ts';
import { findLink, type PaymentLink } from '../links/links.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { findRefundTotals, givenBack } from '../payments/refund-orders.ts';
import { refOf, type Transaction } from '../payments/transactions.ts';
import { publicUrl, shownBrand } from '../platform/config.ts';
import type { PayerLocale } from './language.ts';
import { showName, shownMethod } from './names.ts';

/** Enough for the payer to recognise the number, too few for anybody else. */
const SHOWN_DIGITS = 3;

export type Receipt = {
  transaction: Transaction;
  link: PaymentLink | null;
  business: string;
  code: string;
  url: string;
  /** What went back to the payer in parts. A payment that went back whole is reversed. */
  refunded: bigint;
};

/** The receipt of a transaction. `code`: as it is printed. */
export async function readReceipt(ctx: PaymentsContext, transaction: Transaction, code: string): Promise<Receipt> {
  const link = transaction.link_id === null ? null : await findLink(ctx.db, transaction.link_id);
  const holder = link?.business_name ? null : await findHolder(ctx.db, transaction.holder_id);
  const business = showName(link?.business_name ?? holder?.name ?? shownBrand(ctx.config));
  const refunded = givenBack(await findRefundTotals(ctx.db, transaction.holder_id, transaction.id));
  return { transaction, link, business, code, url: `${publicUrl(ctx.config)}/r/${code}`, refunded };
}

/** The facts below the amount: name and value. */
export function receiptFacts(
  ctx: PaymentsContext,
  locale: PayerLocale,
  { transaction, business, code: receiptCode, refunded }: Receipt,
): (readonly [string, string | null])[] {
  const { t, date, money } = locale;
  const isInPart = transaction.status === 'success' && refunded > 0n;
  const { msisdn, reference_1: reference, method: code } = transaction;
  const method = shownMethod(locale, ctx.catalog.methods.get(code) ?? { code, name: code });
  return [
    [t.business, business],
    [t.paidOn, date(transaction.settled_at ?? transaction.updated_at)],
    [t.receiptRefunded, isInPart ? money(refunded, transaction.currency) : null],
    [t.paidWith, method],
    [t.receiptOperatorCode(method), transaction.receipt],
    [t.receiptPayer, msisdn && `•••• ${msisdn.slice(-SHOWN_DIGITS)}`],
    [t.reference, reference === null ? refOf(transaction) : showName(reference)],
    [t.receiptCode, receiptCode],
  ];
}
