// Who paid on a hosted page, as far as the payer said it: for the people of the business.

import type { Reader } from '../platform/db.ts';

export type Payer = { name: string | null; email: string | null };

type PayerRow = { first_name: string | null; last_name: string | null; email: string | null };

/** The payer of a transaction that was started on a hosted page; null for any other. */
export async function findPayer(reader: Reader, holderId: bigint, transactionId: string): Promise<Payer | null> {
  const [row] = await reader.query<PayerRow>(
    'select first_name, last_name, email from checkout_attempts where holder_id = $1 and transaction_id = $2',
    [holderId, transactionId],
  );
  if (!row) return null;
  const name = [row.first_name, row.last_name].filter(Boolean).join(' ');
  return { name: name === '' ? null : name, email: row.email };
}
