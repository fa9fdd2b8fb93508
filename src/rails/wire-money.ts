// Money on operators' wires.

import { formatAmount } from '../platform/money.ts';

/** For JSON.stringify: a number with exactly these digits. A double would round large amounts. */
export const jsonNumberOf = (amount: bigint): object => jsonNumber(formatAmount(amount));

/** The same for a whole number, such as of the smallest units of a currency. */
export const jsonIntegerOf = (units: bigint): object => jsonNumber(String(units));

/** The library of the compiler does not have rawJSON yet. */
function jsonNumber(digits: string): object {
  return (JSON as unknown as { rawJSON(text: string): object }).rawJSON(digits);
}
