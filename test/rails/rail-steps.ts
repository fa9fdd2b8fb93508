// Takes one payment over a rail to its end, without the gateway: for tests of a rail against its simulator.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunningSimulator } from '../../simulators/frame.ts';
import type { CollectCall, MoneyDirection, Observation, PayoutCall, Prepared, Rail } from '../../src/rails/rail.ts';
import { collectCall } from '../rail-calls.ts';

/** More than every operator's least amount. */
export const newCall = (code: string, msisdn: string): CollectCall => collectCall(code, { msisdn, amount: 5_000_00n });

/** Prepares where the rail wants it, and submits. */
export async function submit(rail: Rail, call: CollectCall, direction: 'collection' | 'payout'): Promise<Submitted> {
  const payout: PayoutCall = { ...call, recipientName: 'Amina Njoya' };
  const reply = await rail.prepare?.(direction === 'payout' ? payout : call, direction);
  if (reply && !('prepared' in reply)) return { prepared: null, observation: reply.observation };
  const prepared = reply?.prepared ?? null;
  const { observation } = await (direction === 'payout'
    ? rail.payout({ ...payout, prepared })
    : rail.collect({ ...call, prepared }));
  return { prepared, observation };
}

export type Submitted = { prepared: Prepared | null; observation: Observation };

/** Asks until the operator has decided. */
export async function endOf(
  rail: Rail,
  call: CollectCall,
  direction: MoneyDirection,
  { prepared, observation }: Submitted,
  since = new Date(),
): Promise<Observation> {
  let last = observation;
  const railReference = 'railReference' in observation ? (observation.railReference ?? null) : null;
  for (let tries = 0; tries < 500; tries++) {
    if (last.state === 'succeeded' || last.state === 'failed' || last.state === 'reversed') return last;
    await pause(10);
    const asked = await rail.query({ ...call, direction, railReference, receipt: null, prepared, submittedAt: since });
    last = asked.observation;
  }
  return assert.fail(`it did not end: ${JSON.stringify(last)}`);
}

/** How often money moved under this id of the wire. */
export function movementsOf(simulator: RunningSimulator, id: string): number {
  return simulator.book.movements().filter((movement) => movement.id === id).length;
}
