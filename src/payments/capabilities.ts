// What the connection of a transaction can do for it. Methods and directions differ, also at one operator.

import type { Direction, Method } from '../catalog/catalog.ts';
import type { RailCapabilities } from '../rails/rail.ts';
import type { PaymentsContext } from './context.ts';
import type { TransactionDirection } from './states.ts';

type Sent = { rail: string; method: string; direction: TransactionDirection; created_at: Date };

/** Until every process has the new key, and the clocks of two machines agree. */
const KEY_CHANGE_MS = 60_000;

/** A refund that is sent as a payout is a payout; another one has what its collection has. */
export function directionOf(direction: TransactionDirection, asPayout: boolean): Direction {
  return direction === 'payout' || asPayout ? 'payout' : 'collection';
}

/** Null: the connection or the method is not there any more, or the connection cannot do this. */
export function capabilitiesFor(
  ctx: Pick<PaymentsContext, 'rails' | 'catalog'>,
  { rail, method, direction, created_at: createdAt }: Sent,
  asPayout = false,
): RailCapabilities | null {
  const found = ctx.catalog.methods.get(method);
  const capabilities = found && ctx.rails.byName(rail)?.capabilitiesOf(found, directionOf(direction, asPayout));
  if (!capabilities) return null;
  const { query, refundQuery = query, notFoundIsFinalAfterMs } = capabilities;
  return {
    ...capabilities,
    query: direction === 'refund' && !asPayout ? refundQuery : query,
    notFoundIsFinalAfterMs: isOlderThanKey(ctx.rails.keyChangedAt(rail), createdAt) ? null : notFoundIsFinalAfterMs,
  };
}

/** It may have been sent with the key before, and be in the account of that key, where nobody can look any more. */
function isOlderThanKey(keyChangedAt: Date | null, createdAt: Date): boolean {
  return keyChangedAt !== null && createdAt.getTime() < keyChangedAt.getTime() + KEY_CHANGE_MS;
}

/** False: only callbacks, statements and people end what was sent. */
export function canBeAsked(capabilities: RailCapabilities | null): boolean {
  return capabilities?.query !== 'none';
}

/** Why the operator does not take an amount that the catalogue allows; null: it takes it. */
export function decimalsError(
  { name, currency }: Pick<Method, 'name' | 'currency'>,
  capabilities: RailCapabilities | null | undefined,
  amount: bigint,
): string | null {
  const unit = 10n ** BigInt(2 - (capabilities?.decimals ?? 2));
  return amount % unit === 0n ? null : `${name} takes whole amounts of ${currency}, without decimals.`;
}

/** The same for a new transaction, by the connection that it would take. */
export function routedDecimalsError(
  ctx: Pick<PaymentsContext, 'rails'>,
  holderId: bigint,
  method: Method,
  direction: Direction,
  amount: bigint,
): string | null {
  const rail = ctx.rails.railFor(method, direction, holderId);
  return decimalsError(method, rail?.capabilitiesOf(method, direction), amount);
}
