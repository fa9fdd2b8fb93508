// Wallets that do not hold an average day of payouts: home says so, and a mail does.

import type { MoneyTotal } from '../ledger/daily-money.ts';
import type { WalletBalance } from '../ledger/ledger.ts';

/** The days over which payouts are averaged. */
export const AVERAGE_DAYS = 7;

export type LowWallet = { currency: string; available: bigint; average: bigint };

/** `totals`: the money of the last `AVERAGE_DAYS` days. */
export function lowWallets(totals: readonly MoneyTotal[], wallets: readonly WalletBalance[]): LowWallet[] {
  const paidOut = new Map<string, bigint>();
  for (const { fact, currency, amount } of totals)
    if (fact === 'paid_out') paidOut.set(currency, (paidOut.get(currency) ?? 0n) + amount);
  return wallets.flatMap(({ currency, available }) => {
    const average = (paidOut.get(currency) ?? 0n) / BigInt(AVERAGE_DAYS);
    return available < average ? [{ currency, available, average }] : [];
  });
}
