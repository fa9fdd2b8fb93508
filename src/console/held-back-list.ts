// Everybody who is held back, from all limits: what processes refused, and callback receivers that fail.

import { listHeldBackReceivers } from '../callbacks/endpoints.ts';
import { holderNames } from '../holders/holders.ts';
import type { Context } from '../platform/context.ts';
import { type LimitKind, listHeldBack } from '../platform/held-back.ts';

export type HeldBackEntry = {
  kind: LimitKind | 'receiver';
  /** Names the limit where it can be released: a limit of guesses. */
  key: string | null;
  subject: string;
  /** Requests refused; of a receiver: callbacks that wait. */
  count: number;
  since: Date;
  until: Date;
};

/** Now or in the last hour; the latest first. */
export async function readHeldBack(ctx: Context): Promise<HeldBackEntry[]> {
  const [refusals, receivers] = await Promise.all([
    listHeldBack(ctx.db, ctx.clock.now()),
    listHeldBackReceivers(ctx.db),
  ]);
  const ofHolders = refusals.filter((each) => each.kind === 'holder').map((each) => BigInt(each.key));
  const names = await holderNames(ctx.db, [...ofHolders, ...receivers.map((each) => each.holderId)]);
  const entries = refusals.map(({ kind, key, subject, refused, since, until }): HeldBackEntry => {
    const name = kind === 'holder' ? names.get(BigInt(key)) : undefined;
    return { kind, key: kind === 'guess' ? key : null, subject: name ?? subject, count: refused, since, until };
  });
  const failing = receivers.map(
    ({ holderId, origin, since, probeAt, waiting }): HeldBackEntry => ({
      kind: 'receiver',
      key: null,
      subject: `${names.get(holderId) ?? holderId}: ${origin}`,
      count: waiting,
      since,
      until: probeAt,
    }),
  );
  return [...entries, ...failing].toSorted((left, right) => right.since.getTime() - left.since.getTime());
}
