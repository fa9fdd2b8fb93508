// What payers paid through Paystack in a span of time: the list of transactions that succeeded, page by page. Transfers and refunds
// are not in it.

import type { Exchange } from './exchange.ts';
import { readEnvelope } from './paystack-answers.ts';
import type { StatementPart, StatementSpan } from './rail.ts';
import { objectsOf } from './reading.ts';

const PAGE_ROWS = 100;

export async function listPaystackTransactions(
  get: (path: string) => Promise<Exchange>,
  { from, to }: StatementSpan,
  part: string | null,
): Promise<StatementPart> {
  const page = Number(part ?? '1');
  const asked = new URLSearchParams({
    from: from.toISOString(),
    to: new Date(to.getTime() - 1).toISOString(),
    status: 'success',
    perPage: String(PAGE_ROWS),
    page: String(page),
  });
  const answer = await get(`/transaction?${asked}`);
  const envelope = readEnvelope(answer);
  if (!answer.answered) return { error: answer.reason };
  if (!envelope?.isOk || !Array.isArray(envelope.data))
    return { error: envelope?.message || `the operator answered ${answer.status}` };
  const rows: unknown[] = envelope.data;
  return { records: objectsOf(rows), next: rows.length < PAGE_ROWS ? null : String(page + 1) };
}
