// The fields of a payout, as its form sends them and as an imported list has them in columns.

import type { PayoutRequest } from '../payments/payout-requests.ts';
import type { ConsoleLanguage } from './messages.ts';

export const PAYOUT_FIELDS = ['amount', 'currency', 'mobile', 'method', 'payee', 'invoice_no', 'detail'] as const;

export type PayoutFieldName = (typeof PAYOUT_FIELDS)[number];

export function payoutRequest(language: ConsoleLanguage, value: (name: PayoutFieldName) => string): PayoutRequest {
  return {
    amount: value('amount'),
    currency: value('currency').toUpperCase(),
    mobile: value('mobile'),
    method: value('method') || undefined,
    payee: value('payee') || undefined,
    invoiceNo: value('invoice_no') || undefined,
    detail: value('detail') || undefined,
    language,
  };
}
