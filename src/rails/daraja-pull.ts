// The Pull Transactions API: a list of what payers paid in the last 48 hours. A confirmation is never repeated, so this is how
// a payment is found whose messages were lost.

import { readDarajaError } from './daraja-codes.ts';
import { type DarajaSession, nairobiTime } from './daraja-session.ts';
import type { Exchange } from './exchange.ts';
import type { QueryCall, StatementPart, StatementSpan } from './rail.ts';
import { field, moneyOf, objectsOf, readJson, textOf } from './reading.ts';

const REGISTERED = '1000';
const ALREADY_REGISTERED = '1001';
const SOME = '1000';
const NONE = '1001';
/** Rows of a page, and how many pages are read for one payment. */
const PAGE_ROWS = 100;
const MAX_PAGES = 20;
/** Their clock and ours may differ. */
const CLOCK_DIFFERENCE_MS = 60_000;
const WINDOW_MS = 47 * 3_600_000;
const RECEIPT = /^[A-Z0-9]{6,20}$/;

/** `written`: the reference as the payer typed it. `payer`: digits, in one form or another. */
export type PulledPayment = { receipt: string; amount: bigint; written: string; payer: string; raw: string };

export type PullSearch = {
  shortcode: string;
  amount: bigint;
  from: Date;
  isMeant: (payment: PulledPayment) => boolean;
  usedReceipts: QueryCall['usedReceipts'];
};

/** `answer`: what kept us from the list; null: it was read to its end. */
export type PullResult = { payment: PulledPayment | null; answer: Exchange | null };

/** The first payment that is meant, of exactly this amount, and that is not another order's: a payer may pay to a till twice. */
export async function findPayment(
  session: DarajaSession,
  { shortcode, amount, from, isMeant, usedReceipts }: PullSearch,
): Promise<PullResult> {
  const now = session.connection.clock.millis();
  const start = Math.max(from.getTime() - CLOCK_DIFFERENCE_MS, now - WINDOW_MS);
  for (let page = 0; page < MAX_PAGES; page++) {
    const { answer } = await session.post('/pulltransactions/v1/query', {
      ShortCode: shortcode,
      StartDate: nairobiTime(start),
      EndDate: nairobiTime(now + CLOCK_DIFFERENCE_MS),
      OffSetValue: String(page * PAGE_ROWS),
    });
    const rows = rowsOf(answer);
    if (rows === null) return { payment: null, answer };
    const payments = rows.flatMap(readRow).filter((each) => each.amount === amount && isMeant(each));
    const used = payments.length > 0 ? await usedReceipts?.(payments.map(({ receipt }) => receipt)) : undefined;
    const payment = payments.find(({ receipt }) => !used?.has(receipt));
    if (payment !== undefined) return { payment, answer: null };
    if (rows.length < PAGE_ROWS) return { payment: null, answer: null };
  }
  return { payment: null, answer: { answered: false, reason: 'the list of payments is too long' } };
}

/**
 * What payers paid to these numbers in a span of the last 48 hours: one number after the other. Payouts are not in the list. A part is
 * named by the place of its number and its offset.
 */
export async function pullStatement(
  session: DarajaSession,
  shortcodes: readonly string[],
  { from, to }: StatementSpan,
  part: string | null,
): Promise<StatementPart> {
  if (from.getTime() < session.connection.clock.millis() - WINDOW_MS)
    return { error: 'Safaricom lists the last 48 hours only. Download older days from the portal' };
  const [place = 0, offset = 0] = (part ?? '0 0').split(' ').map(Number);
  const shortcode = shortcodes[place];
  if (shortcode === undefined) return { error: 'the connection has no number that money is paid to' };
  const { answer } = await session.post('/pulltransactions/v1/query', {
    ShortCode: shortcode,
    StartDate: nairobiTime(from.getTime()),
    // The end is included, to the second.
    EndDate: nairobiTime(to.getTime() - 1_000),
    OffSetValue: String(offset),
  });
  const records = rowsOf(answer);
  if (records === null) return { error: answer.answered ? `Safaricom answered ${answer.status}` : answer.reason };
  if (records.length >= PAGE_ROWS) return { records, next: `${place} ${offset + PAGE_ROWS}` };
  return { records, next: place + 1 < shortcodes.length ? `${place + 1} 0` : null };
}

/** The list is wrapped in another list. Null: it is none. */
function rowsOf(answer: Exchange): Record<string, unknown>[] | null {
  if (!answer.answered || answer.status !== 200) return null;
  const body = readJson(answer.body);
  const code = textOf(field(body, 'ResponseCode'));
  if (code !== SOME && code !== NONE) return null;
  const lists = field(body, 'Response');
  if (!Array.isArray(lists)) return code === NONE ? [] : null;
  return lists.flatMap((list: unknown) => objectsOf(Array.isArray(list) ? list : [list]));
}

function readRow(row: Record<string, unknown>): PulledPayment[] {
  const receipt = textOf(row.transactionId)?.toUpperCase() ?? '';
  const amount = moneyOf(row.amount);
  if (!RECEIPT.test(receipt) || amount === null) return [];
  const [written, payer] = [textOf(row.billreference) ?? '', textOf(row.msisdn) ?? ''];
  return [{ receipt, amount, written, payer, raw: JSON.stringify(row) }];
}

/** Registers a number for the list. Returns the problem; null: none. */
export async function registerPull(session: DarajaSession, shortcode: string): Promise<string | null> {
  const { answer } = await session.post('/pulltransactions/v1/register', {
    ShortCode: shortcode,
    RequestType: 'Pull',
    NominatedNumber: session.account.pullNumber,
    CallBackURL: session.addresses.url('late', null),
  });
  if (!answer.answered) return `Safaricom did not answer: ${answer.reason}.`;
  const body = answer.status === 200 ? readJson(answer.body) : undefined;
  const code = textOf(field(body, 'ResponseStatus')) ?? textOf(field(body, 'ResponseCode'));
  if (code === REGISTERED || code === ALREADY_REGISTERED) return null;
  const error = readDarajaError(answer);
  const said = error === null ? `it answered ${answer.status}` : session.scrub(`${error.code} ${error.message}`.trim());
  return `Safaricom did not register the number for the Pull Transactions API: ${said}.`;
}
