// The operator's own book: what really moved, in the order in which it moved. The gateway's clearing account of a connection
// must come to the same sum.

import { writeMoney } from './money.ts';

/** collection and payout_returned bring money to the merchant's account; the others take it away. */
export type MovementKind = 'collection' | 'payout' | 'refund' | 'collection_reversed' | 'payout_returned';

export type Movement = {
  kind: MovementKind;
  /** The id that the merchant sent; empty where the payer paid without one. */
  id: string;
  /** The operator's own number of this movement, as the payer's SMS shows it. */
  receipt: string;
  msisdn: string;
  /** Hundredths, positive. */
  amount: bigint;
  currency: string;
};

export type BookEntry = { movement: Movement; at: number /** Of the account after it. */; balance: bigint };

export interface Book {
  enter(movement: Movement): void;
  movements(): readonly Movement[];
  /** The same, each with the time at which it moved: for the operator's statement. */
  entries(): readonly BookEntry[];
  /** What the merchant's account holds beside its opening balance, by currency. */
  net(currency: string): bigint;
  /** The opening balance and what moved since. */
  balance(currency: string): bigint;
  toJson(): unknown;
}

export const TAKES_AWAY: ReadonlySet<MovementKind> = new Set(['payout', 'refund', 'collection_reversed']);

export function createBook(openingBalance: bigint, now: () => number): Book {
  const movements: Movement[] = [];
  const entries: BookEntry[] = [];
  const nets = new Map<string, bigint>();
  const net = (currency: string) => nets.get(currency) ?? 0n;

  return {
    enter(movement) {
      movements.push(movement);
      const signed = TAKES_AWAY.has(movement.kind) ? -movement.amount : movement.amount;
      nets.set(movement.currency, net(movement.currency) + signed);
      entries.push({ movement, at: now(), balance: openingBalance + net(movement.currency) });
    },
    movements: () => movements,
    entries: () => entries,
    net,
    balance: (currency) => openingBalance + net(currency),
    toJson: () => ({
      net: Object.fromEntries([...nets].map(([currency, amount]) => [currency, writeMoney(amount)])),
      movements: movements.map((movement) => ({ ...movement, amount: writeMoney(movement.amount) })),
    }),
  };
}
