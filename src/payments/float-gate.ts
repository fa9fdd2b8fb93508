// Whether a payout is sent now or waits for float: asked before each submit. Where nobody watches the float of the connection, the
// answer is always yes, and costs nothing. Where somebody does, the float must cover it, and nobody may wait before it.

import type { Context } from '../platform/context.ts';
import { perProcess } from '../platform/memory.ts';
import type { PaymentsContext } from './context.ts';
import { readFloatLevel } from './float-levels.ts';
import { type FloatSetting, floatKey, knownFloatSetting } from './float-settings.ts';
import { readRefusedAt } from './float-states.ts';
import { findTurn, type WaitReason } from './float-waits.ts';
import type { Transaction } from './transactions.ts';

/** How old what a process knows of a float may be. What it sends itself in this time is counted. */
const KNOWN_FOR_MS = 2_000;

/** `isWatched`: somebody watches the float, so that the payout waits in the order of all. */
export type GateAnswer = {
  reason: WaitReason | null;
  isWatched: boolean;
  /** Must be called when the payout was sent, or was not after all: until then it is counted. */
  leave(wasSent: boolean): void;
};

type Known = { readAt: number; level: bigint | null; isRefused: boolean };
/** What this process knows of each float, and what it is sending now. */
type Floats = { known: Map<string, Known>; inCalls: Map<string, bigint> };
const floatsOf = perProcess((): Floats => ({ known: new Map(), inCalls: new Map() }));

const floatOf = ({ rail, currency }: Transaction) => ({ connection: rail, currency });
const OPEN: GateAnswer = { reason: null, isWatched: false, leave: () => undefined };
const wait = (reason: WaitReason): GateAnswer => ({ reason, isWatched: true, leave: () => undefined });

export async function enterFloatGate(ctx: PaymentsContext, transaction: Transaction): Promise<GateAnswer> {
  // What was sent before, and is to be sent again, was decided by people.
  if (transaction.direction !== 'payout' || transaction.status !== 'pending') return OPEN;
  const setting = await knownFloatSetting(ctx, floatOf(transaction));
  if (setting === null) return OPEN;
  const { isReleased, isBehind } = await findTurn(ctx.db, transaction);
  if (!isReleased && isBehind) return wait('in_order');
  const { level, isRefused } = await knownFloat(ctx, setting);
  const key = floatKey(setting);
  // From here to the count nothing is awaited: payouts that are decided at the same moment count each other.
  const inCalls = floatsOf(ctx).inCalls.get(key) ?? 0n;
  const isCovered = level === null || level - inCalls - transaction.amount >= setting.stop;
  if (!isReleased && (isRefused || !isCovered)) return wait('not_covered');
  return countInCall(floatsOf(ctx), key, transaction.amount);
}

/** Counts a payout while it is being sent, and afterwards if it was sent, until the float is read again. */
function countInCall({ known, inCalls }: Floats, key: string, amount: bigint): GateAnswer {
  inCalls.set(key, (inCalls.get(key) ?? 0n) + amount);
  return {
    reason: null,
    isWatched: true,
    leave(wasSent) {
      const left = (inCalls.get(key) ?? 0n) - amount;
      if (left > 0n) inCalls.set(key, left);
      else inCalls.delete(key);
      const last = known.get(key);
      if (wasSent && last && last.level !== null) last.level -= amount;
    },
  };
}

async function knownFloat(ctx: PaymentsContext, setting: FloatSetting): Promise<Known> {
  const { known } = floatsOf(ctx);
  const key = floatKey(setting);
  const last = known.get(key);
  if (last && Math.abs(ctx.clock.millis() - last.readAt) <= KNOWN_FOR_MS) return last;
  const [{ level }, refusedAt] = await Promise.all([
    readFloatLevel(ctx, ctx.db, setting, setting),
    readRefusedAt(ctx.db, setting),
  ]);
  const fresh: Known = { readAt: ctx.clock.millis(), level, isRefused: refusedAt !== null };
  known.set(key, fresh);
  return fresh;
}

/** The operator has just refused one: what is known is read again. */
export function forgetFloat(ctx: Context, transaction: Transaction): void {
  floatsOf(ctx).known.delete(floatKey(floatOf(transaction)));
}
