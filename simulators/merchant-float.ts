// What the merchant's account holds for payouts and refunds: the book's balance and what the merchant paid in since.

import type { Book } from './book.ts';
import type { SimulatorAction } from './frame.ts';
import { readMoney } from './money.ts';

export interface MerchantFloat {
  of(currency: string): bigint;
  /** The action `top_up` {"amount", "currency"}. It stays out of the book: no payment moved. */
  topUp: SimulatorAction;
}

export function createMerchantFloat(book: Book): MerchantFloat {
  const paidIn = new Map<string, bigint>();
  return {
    of: (currency) => book.balance(currency) + (paidIn.get(currency) ?? 0n),
    topUp({ amount, currency }) {
      const hundredths = readMoney(String(amount));
      if (hundredths === null || typeof currency !== 'string') return { status: 400, body: '' };
      paidIn.set(currency, (paidIn.get(currency) ?? 0n) + hundredths);
      return { status: 200, body: { done: true } };
    },
  };
}
