// What the connection of a transaction can do for it. Methods and directions differ, also at one operator.

import type { Direction } from '../catalog/catalog.ts';
import type { RailCapabilities } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import type { TransactionDirection } from './states.ts';

type Sent = { rail: string; method: string; direction: TransactionDirection };

/** A refund that is sent as a payout is a payout; another one has what its collection has. */
export function directionOf(direction: TransactionDirection, asPayout: boolean): Direction {
  return direction === 'payout' || asPayout ? 'payout' : 'collection';
}

/** Null: the connection or the method is not there any more, or the connection cannot do this. */
export function capabilitiesFor(
  ctx: Pick<PaymentsContext, 'rails' | 'catalog'>,
  { rail, method, direction }: Sent,
  asPayout = false,
): RailCapabilities | null {
  const found = ctx.catalog.methods.get(method);
  return (found && ctx.rails.byName(rail)?.capabilitiesOf(found, directionOf(direction, asPayout))) ?? null;
}
