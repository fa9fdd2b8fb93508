// What operators reported and nobody's payment page shows: unknown references, values that could not be applied, money that
// arrived, and messages that proved nothing. Newest first, in pages; for admins only, since most of it has no holder.

import type { Reader } from '../platform/db.ts';
import { isUuid } from '../platform/ids.ts';

/** A report as a row of a list. Fields that its list does not have are null. */
export type OperatorReport = {
  received_at: Date;
  rail: string;
  reference: string | null;
  receipt: string | null;
  amount: bigint | null;
  currency: string | null;
  /** What it said, or what is wrong with it. */
  said: string;
  /** How often it was said. */
  times: number;
  case_id: string | null;
  case_open: boolean | null;
  transaction_id: string | null;
  raw: string | null;
};

export const REPORT_LISTS = ['unmatched', 'quarantined', 'incoming', 'rejected'] as const;
export type ReportList = (typeof REPORT_LISTS)[number];

const CASE = `left join cases c on c.holder_id = r.holder_id and c.id = r.case_id`;

const COLUMNS: Record<ReportList, string> = {
  unmatched: `r.reference, r.receipt, r.amount, r.currency, r.state as said, r.times, r.case_id, c.status = 'open' as case_open,
              null::uuid as transaction_id, r.raw, r.id::text as first, '' as second`,
  quarantined: `r.reference, null as receipt, null::bigint as amount, null as currency, r.error as said, r.times, r.case_id,
                c.status = 'open' as case_open, c.transaction_id, r.raw, r.id::text as first, '' as second`,
  incoming: `r.account_reference as reference, r.receipt, r.amount, r.currency, r.outcome as said, 1 as times, r.case_id,
             c.status = 'open' as case_open, r.transaction_id, null as raw, r.rail as first, r.receipt as second`,
  rejected: `null as reference, null as receipt, null::bigint as amount, null as currency, r.reason as said, 1 as times,
             null::uuid as case_id, null::boolean as case_open, null::uuid as transaction_id,
             encode(substr(r.body, 1, 1000), 'escape') as raw, r.id::text as first, '' as second`,
};

/** The rows of each list, and its order: what comes after the moment $2 and the rest of the key, $3 and $4. */
const PAGES: Record<ReportList, { from: string; after: string; order: string }> = {
  unmatched: {
    from: `unmatched_reports r ${CASE}`,
    after: '(r.received_at, r.id) < ($2::timestamptz, $3::uuid) and $4::text is not null',
    order: 'r.received_at desc, r.id desc',
  },
  quarantined: {
    from: `quarantined_reports r ${CASE}`,
    after: '(r.received_at, r.id) < ($2::timestamptz, $3::uuid) and $4::text is not null',
    order: 'r.received_at desc, r.id desc',
  },
  incoming: {
    from: `incoming_payments r ${CASE}`,
    after: '(r.received_at, r.rail, r.receipt) < ($2::timestamptz, $3::text, $4::text)',
    order: 'r.received_at desc, r.rail desc, r.receipt desc',
  },
  rejected: {
    from: 'rejected_callbacks r',
    after: 'r.id < $3::bigint and $2::timestamptz is not null and $4::text is not null',
    order: 'r.id desc',
  },
};

export type ReportPage = { reports: OperatorReport[]; next: string | null };

/** One page of a list. `after` is `next` of the page before; a text that is none begins at the top. */
export async function listReports(reader: Reader, list: ReportList, after: string, limit: number): Promise<ReportPage> {
  const { from, after: following, order } = PAGES[list];
  const key = readCursor(list, after);
  const rows = await reader.query<OperatorReport & { moment: string; first: string; second: string }>(
    `select r.received_at, r.received_at::text as moment, r.rail, ${COLUMNS[list]} from ${from}
     ${key ? `where ${following}` : ''} order by ${order} limit $1`,
    [limit + 1, ...(key ?? [])],
  );
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return {
    reports: shown.map(({ moment: _moment, first: _first, second: _second, ...report }) => report),
    next: last ? writeCursor([last.moment, last.first, last.second]) : null,
  };
}

type Cursor = [receivedAt: string, first: string, second: string];

function writeCursor(key: Cursor): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

function readCursor(list: ReportList, text: string): Cursor | null {
  try {
    const key: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!Array.isArray(key) || key.length !== 3 || !key.every((part) => typeof part === 'string')) return null;
    const [receivedAt, first, second] = key as Cursor;
    const isKey = list === 'incoming' || (list === 'rejected' ? /^\d{1,18}$/.test(first) : isUuid(first));
    return isKey && !Number.isNaN(Date.parse(receivedAt)) ? [receivedAt, first, second.replaceAll('\0', '')] : null;
  } catch {
    return null;
  }
}
