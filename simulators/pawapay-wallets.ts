// The merchant's wallets at pawaPay: one for each country, which together hold what the book says.

import type { Book, Movement } from './book.ts';
import { PAWAPAY_PROVIDERS } from './pawapay-providers.ts';

export type PawapayWallet = { country: string; currency: string };

export interface PawapayWallets {
  list(): PawapayWallet[];
  /** What may still be paid out: the wallet without what is reserved. */
  available(country: string): bigint;
  balance(country: string): bigint;
  reserve(country: string, amount: bigint): void;
  release(country: string, amount: bigint): void;
  enter(country: string, movement: Movement): void;
  topUp(country: string, amount: bigint): void;
}

export function createPawapayWallets(book: Book): PawapayWallets {
  const wallets = Array.from(
    new Map(PAWAPAY_PROVIDERS.map(({ country, currency }) => [country.country, currency])),
    ([country, currency]) => ({ country, currency }),
  );
  const reserved = new Map<string, bigint>();
  /** Top-ups and movements of each country; the opening balance of a currency is divided among its countries. */
  const moved = new Map<string, bigint>();
  const add = (sums: Map<string, bigint>, country: string, amount: bigint) =>
    void sums.set(country, (sums.get(country) ?? 0n) + amount);

  function opening(country: string): bigint {
    const currency = wallets.find((wallet) => wallet.country === country)?.currency ?? '';
    const sharing = wallets.filter((wallet) => wallet.currency === currency);
    const whole = book.balance(currency) - book.net(currency);
    const share = whole / BigInt(Math.max(sharing.length, 1));
    return sharing[0]?.country === country ? whole - share * BigInt(sharing.length - 1) : share;
  }

  const balance = (country: string) => opening(country) + (moved.get(country) ?? 0n);
  return {
    list: () => wallets,
    balance,
    available: (country) => balance(country) - (reserved.get(country) ?? 0n),
    reserve: (country, amount) => add(reserved, country, amount),
    release: (country, amount) => add(reserved, country, -amount),
    enter(country, movement) {
      const before = book.net(movement.currency);
      book.enter(movement);
      add(moved, country, book.net(movement.currency) - before);
    },
    topUp: (country, amount) => add(moved, country, amount),
  };
}
