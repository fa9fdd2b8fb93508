// Where a payer was told to send the money himself, as it was stored when the operator named it.

import type { Reader } from '../platform/db.ts';
import type { PayInstructions } from '../rails/rail.ts';

export type Instructions = PayInstructions;

/** The instructions of a transaction; null where the payer confirms on the phone, and until the operator has named them. */
export async function findInstructions(reader: Reader, transactionId: string): Promise<Instructions | null> {
  const [row] = await reader.query<{
    account_reference: string;
    pay_to: Instructions['payTo'];
    expires_at: Date;
  }>(
    'select account_reference, pay_to, expires_at from payment_instructions where transaction_id = $1 order by expires_at desc limit 1',
    [transactionId],
  );
  return row ? { payTo: row.pay_to, accountReference: row.account_reference, expiresAt: row.expires_at } : null;
}
