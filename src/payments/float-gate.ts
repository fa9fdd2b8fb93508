// Whether a payout is sent now or waits for float: asked before each submit. Where nobody watches the float of the connection, the
// answer is always yes, and costs nothing. Where somebody does, the float must cover it, and nobody may wait before it.

import type { Context } from '../platform/context.ts';
import { perProcess } from '../platform/memory.ts';
import type { PaymentsContext } from './context.ts';
import { readFloatLevel } from './float-levels.ts';
import { type FloatOf, type FloatSetting, floatKey, knownFloatSetting } from './float-settings.ts';
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
/**
 * What this process knows of a float: what it read last, what it is sending now, and, ever since it began, what it has sent and how
 * often the operator refused one. The last two tell a reading what happened while it was under way.
 */
type Float = { known: Known | null; reading: Promise<Known> | null; inCalls: bigint; sent: bigint; refusals: number };
const floatsOf = perProcess(() => new Map<string, Float>());

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
  const float = knownFloatOf(ctx, setting);
  const { level, isRefused } = await knownLevel(ctx, float, setting);
  // From here to the count nothing is awaited: payouts that are decided at the same moment count each other.
  const isCovered = level === null || level - float.inCalls - transaction.amount >= setting.stop;
  if (!isReleased && (isRefused || !isCovered)) return wait('not_covered');
  return countInCall(float, transaction.amount);
}

function knownFloatOf(ctx: Context, float: FloatOf): Float {
  const floats = floatsOf(ctx);
  const key = floatKey(float);
  const known = floats.get(key) ?? { known: null, reading: null, inCalls: 0n, sent: 0n, refusals: 0 };
  floats.set(key, known);
  return known;
}

/** Counts a payout while it is being sent, and afterwards if it was sent, until the float is read again. */
function countInCall(float: Float, amount: bigint): GateAnswer {
  float.inCalls += amount;
  return {
    reason: null,
    isWatched: true,
    leave(wasSent) {
      float.inCalls -= amount;
      if (!wasSent) return;
      float.sent += amount;
      if (float.known?.level != null) float.known.level -= amount;
    },
  };
}

async function knownLevel(ctx: PaymentsContext, float: Float, setting: FloatSetting): Promise<Known> {
  const { known } = float;
  if (known && Math.abs(ctx.clock.millis() - known.readAt) <= KNOWN_FOR_MS) return known;
  float.reading ??= readFloat(ctx, float, setting).finally(() => {
    float.reading = null;
  });
  return float.reading;
}

/**
 * A payout whose sending ends during a reading may be in what was read, or not: it is taken off, so that it is not counted by nobody.
 * At worst a payout waits for seconds. A refusal during a reading may not be in what was read: it is read again.
 */
async function readFloat(ctx: PaymentsContext, float: Float, setting: FloatSetting): Promise<Known> {
  for (;;) {
    const { sent, refusals } = float;
    const readAt = ctx.clock.millis();
    const [{ level }, refusedAt] = await Promise.all([
      readFloatLevel(ctx, ctx.db, setting, setting),
      readRefusedAt(ctx.db, setting),
    ]);
    if (float.refusals !== refusals) continue;
    float.known = {
      readAt,
      level: level === null ? null : level - (float.sent - sent),
      isRefused: refusedAt !== null,
    };
    return float.known;
  }
}

/** The operator has refused one, and that is committed: what is known is read again. */
export function forgetFloat(ctx: Context, transaction: Transaction): void {
  const float = knownFloatOf(ctx, floatOf(transaction));
  float.known = null;
  float.refusals++;
}
