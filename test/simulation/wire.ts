// How the simulated operator writes its callbacks, and values that a real one might send by mistake.

import type { CallbackReading, CallbackRequest } from '../../src/rails/rail.ts';
import { CURRENCY } from '../payments.ts';
import type { Random } from './random.ts';

export function writeMessage(readings: CallbackReading[]): Buffer {
  const text = JSON.stringify(readings, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  return Buffer.from(text);
}

export function readMessage(request: CallbackRequest): CallbackReading[] {
  return JSON.parse(request.body.toString(), (_, value: unknown) =>
    typeof value === 'string' && /^-?\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  ) as CallbackReading[];
}

const HUGE = 10n ** 20n;

/** A reading with one value that cannot be right. It is about `reference`, or about money that nobody sent. */
export function drawBadReading(dice: Random, reference: string): CallbackReading {
  const received = {
    kind: 'payment_received',
    accountReference: 'mistyped',
    receipt: `BAD-${dice.int(1, 1_000_000)}`,
    amount: 50_000n,
    currency: CURRENCY,
    payer: null,
  } as const;
  const proof = { kind: 'proof', reference, direction: 'collection' } as const;
  const payments: CallbackReading[] = [
    { ...received, amount: 0n },
    { ...received, amount: -50_000n },
    { ...received, amount: HUGE },
    { ...received, receipt: 'A\u0000B' },
    { ...received, currency: 'shillings' },
  ];
  const proofs: CallbackReading[] = [
    { ...proof, observation: { state: 'succeeded', receipt: 'A\u0000B' } },
    { ...proof, observation: { state: 'succeeded', receipt: null, amount: HUGE, currency: CURRENCY } },
    { ...proof, observation: { state: 'succeeded', receipt: null, amount: -1n, currency: CURRENCY } },
  ];
  return dice.pick(reference === '' ? payments : [...payments, ...proofs]);
}
