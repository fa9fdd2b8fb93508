// Money on operators' wires.

import { formatAmount } from '../platform/money.ts';

/** For JSON.stringify: a number with exactly these digits. A double would round large amounts. */
export function jsonNumberOf(amount: bigint): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(formatAmount(amount));
}
