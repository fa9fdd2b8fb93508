// A payer reports a payment that nobody finds: a case with everything that the payer said. It is the holder's where the payer proved
// whose payment it is; otherwise admins look for it.

import { createHash } from 'node:crypto';
import { deriveHolderUuid, lowestUuid, NO_HOLDER, publicId } from '../platform/ids.ts';
import type { PaymentsContext } from './context.ts';
import type { FoundPayments, PayerSays, TypedClues } from './lost-payments.ts';

const MAX_KEPT_CHARACTERS = 600;

/** Opens the case; the same report on the same day opens it once. Returns what the payer quotes. */
export async function reportLostPayment(
  ctx: PaymentsContext,
  typed: TypedClues,
  says: PayerSays,
  found: FoundPayments,
): Promise<string> {
  const at = ctx.clock.now();
  const [payment] = found.payments;
  const [held] = found.held;
  const holderId = payment?.transaction.holder_id ?? held?.holderId ?? NO_HOLDER;
  const detail = {
    receipt: says.receipts.join(', '),
    number: says.numbers.map((number) => `+${number}`).join(', '),
    // Of the payment's currency, where it is known; the payer names none.
    amount: says.amounts[0] === undefined ? null : String(says.amounts[0]),
    currency: payment?.transaction.currency ?? held?.currency ?? null,
    day: says.days.join(', '),
    text: typed.text.slice(0, MAX_KEPT_CHARACTERS),
    state: payment?.transaction.status ?? null,
    other_reviews: [...(held?.caseId ? [held.caseId] : []), ...found.unmatchedCases]
      .map((id) => publicId('case', id))
      .join(', '),
  };
  const fact = createHash('sha256').update(JSON.stringify([detail.number, detail.receipt, detail.amount, detail.day]));
  const midnight = new Date(`${at.toISOString().slice(0, 10)}T00:00:00Z`);
  const id = deriveHolderUuid(lowestUuid(midnight), `payer report ${fact.digest('hex')}`, holderId);
  await ctx.db.query(
    `insert into cases (holder_id, id, transaction_id, kind, detail, opened_at) values ($1, $2, $3, 'payer_report', $4, $5)
     on conflict do nothing`,
    [holderId, id, payment?.transaction.id ?? null, JSON.stringify(detail), at],
  );
  return publicId('case', id);
}
