// The pages of keys that the checks are run over, in the order of an index, so that memory stays the same however many rows
// there are, and a run can go on after any page. A run since a moment reads what was created, posted or is open since then.

import { listEventOwners } from '../callbacks/events.ts';
import { lastTransferId } from '../ledger/chain.ts';
import { listAccountHolders, listTransferOwners } from '../ledger/reports.ts';
import { DAY_MS } from '../platform/clock.ts';
import type { Reader } from '../platform/db.ts';
import { lowestUuid } from '../platform/ids.ts';
import { lesserOf } from '../platform/money.ts';
import type { CrossCheck, Subject } from './cross-check-parts.ts';

/** Few enough that a page is compared in a fraction of the time that a statement may take, also before tables have statistics. */
const KEYS_PER_PAGE = 500;
const TRANSFERS_PER_PAGE = 2_000n;
const HOLDERS_PER_PAGE = 500;
/** A transaction that moves no money ends within a day; a run since a moment therefore begins two days before it. */
const MAY_BE_OPEN_MS = 2 * DAY_MS;
const LOWEST_ID = lowestUuid(new Date(0));

/** The last key of a page, as it is kept in the database. */
export type PagePosition = readonly string[];

export type Page = {
  readonly subject: Subject;
  /** The parameters of the checks. */
  readonly values: unknown[];
  readonly rows: number;
  readonly last: PagePosition;
};

/** What a run covers. */
export type Scope = {
  readonly since: Date | null;
  /** The newest transfer that was posted before `since`; 0: all are covered. */
  readonly afterTransfer: bigint;
};

export type CheckStage = {
  readonly name: string;
  readonly next: (reader: Reader, after: PagePosition | null, scope: Scope) => Promise<Page | null>;
};

type Key = { holder_id: bigint; id: string };

const TRANSFERS: CheckStage = {
  name: 'transfers',
  async next(reader, after, scope) {
    const range = await nextTransfers(reader, after, scope);
    if (!range) return null;
    const rows = Number(range.upTo - range.from);
    return { subject: 'transfers', values: [range.from, range.upTo], rows, last: [String(range.upTo)] };
  },
};

const TRANSACTIONS: CheckStage = {
  name: 'transactions',
  async next(reader, after) {
    const keys = await reader.query<Key>(
      'select holder_id, id from transactions where (holder_id, id) > ($1, $2) order by holder_id, id limit $3',
      [after?.[0] ?? 0, after?.[1] ?? LOWEST_ID, KEYS_PER_PAGE],
    );
    return pageOf('transactions', keys);
  },
};

// Jumps from holder to holder along the primary key and reads only the newest ids of each.
const CREATED = `
  with recursive holder as (
    (select holder_id from transactions where holder_id >= $1 order by holder_id limit 1)
    union all
    select (select t.holder_id from transactions t where t.holder_id > h.holder_id order by t.holder_id limit 1)
    from holder h where h.holder_id is not null
  )
  select t.holder_id, t.id from holder h
  cross join lateral (
    select t.holder_id, t.id from transactions t
    where t.holder_id = h.holder_id and t.id >= $3 and (t.holder_id, t.id) > ($1, $2::uuid) order by t.id limit $4) as t
  limit $4`;
/** The pages together read each server's primary key once. */
const CREATED_ON_SERVERS = `
  select holder_id, id from transactions
  where id >= $3 and (holder_id, id) > ($1, $2::uuid) order by holder_id, id limit $4`;

const CREATED_TRANSACTIONS: CheckStage = {
  name: 'transactions_created',
  async next(reader, after, scope) {
    const keys = await reader.query<Key>(reader.isDistributed?.() ? CREATED_ON_SERVERS : CREATED, [
      after?.[0] ?? 0,
      after?.[1] ?? LOWEST_ID,
      idFloor(scope),
      KEYS_PER_PAGE,
    ]);
    return pageOf('transactions', keys);
  },
};

const POSTED_TRANSACTIONS: CheckStage = {
  name: 'transactions_posted',
  async next(reader, after, scope) {
    const range = await nextTransfers(reader, after, scope);
    if (!range) return null;
    const keys = await listTransferOwners(reader, range.from, range.upTo);
    return { ...keysOf('transactions', keys), last: [String(range.upTo)] };
  },
};

const OPEN_TRANSACTIONS: CheckStage = {
  name: 'transactions_open',
  async next(reader, after) {
    const keys = await reader.query<Key>(
      `select holder_id, transaction_id as id from payment_jobs
       where (holder_id, transaction_id) > ($1, $2) order by holder_id, transaction_id limit $3`,
      [after?.[0] ?? 0, after?.[1] ?? LOWEST_ID, KEYS_PER_PAGE],
    );
    return pageOf('transactions', keys);
  },
};

const REFUND_TOTALS: CheckStage = {
  name: 'refund_totals',
  async next(reader, after) {
    const keys = await reader.query<Key>(
      `select holder_id, collection_id as id from refund_totals
       where (holder_id, collection_id) > ($1, $2) order by holder_id, collection_id limit $3`,
      [after?.[0] ?? 0, after?.[1] ?? LOWEST_ID, KEYS_PER_PAGE],
    );
    return pageOf('refund_totals', keys);
  },
};

const EVENTS: CheckStage = {
  name: 'events',
  async next(reader, after, scope) {
    const place = { holderId: BigInt(after?.[0] ?? 0), id: after?.[1] ?? LOWEST_ID };
    return pageOf('events', await listEventOwners(reader, place, idFloor(scope), KEYS_PER_PAGE));
  },
};

const CASES: CheckStage = {
  name: 'cases',
  async next(reader, after) {
    const keys = await reader.query<Key>(
      'select holder_id, id from cases where (holder_id, id) > ($1, $2) order by holder_id, id limit $3',
      [after?.[0] ?? -1, after?.[1] ?? LOWEST_ID, KEYS_PER_PAGE],
    );
    return pageOf('cases', keys);
  },
};

const INCOMING_PAYMENTS: CheckStage = {
  name: 'incoming_payments',
  async next(reader, after) {
    const keys = await reader.query<{ rail: string; receipt: string }>(
      'select rail, receipt from incoming_payments where (rail, receipt) > ($1, $2) order by rail, receipt limit $3',
      [after?.[0] ?? '', after?.[1] ?? '', KEYS_PER_PAGE],
    );
    const last = keys.at(-1);
    if (!last) return null;
    const values = [keys.map((key) => key.rail), keys.map((key) => key.receipt)];
    return { subject: 'incoming_payments', values, rows: keys.length, last: [last.rail, last.receipt] };
  },
};

const HOLDERS: CheckStage = {
  name: 'holders',
  async next(reader, after) {
    const holders = await listAccountHolders(reader, BigInt(after?.[0] ?? -1), HOLDERS_PER_PAGE);
    const last = holders.at(-1);
    return last === undefined
      ? null
      : { subject: 'holders', values: [holders], rows: holders.length, last: [String(last)] };
  },
};

const WHOLE: readonly CheckStage[] = [
  TRANSFERS,
  TRANSACTIONS,
  REFUND_TOTALS,
  EVENTS,
  CASES,
  INCOMING_PAYMENTS,
  HOLDERS,
];
/** Incoming payments have no time in their key; the receipts of the transactions that changed are compared from their side. */
const SINCE: readonly CheckStage[] = [
  TRANSFERS,
  CREATED_TRANSACTIONS,
  POSTED_TRANSACTIONS,
  OPEN_TRANSACTIONS,
  REFUND_TOTALS,
  EVENTS,
  CASES,
  HOLDERS,
];

/** What a module that knows payments compares besides. */
export type MoreChecks = {
  readonly whole: readonly CheckStage[];
  readonly since: readonly CheckStage[];
  readonly checks: readonly CrossCheck[];
};

export function stagesOf(scope: Scope, more: MoreChecks | undefined): readonly CheckStage[] {
  return scope.since === null ? [...WHOLE, ...(more?.whole ?? [])] : [...SINCE, ...(more?.since ?? [])];
}

function idFloor({ since }: Scope): string {
  return since === null ? LOWEST_ID : lowestUuid(new Date(since.getTime() - MAY_BE_OPEN_MS));
}

async function nextTransfers(
  reader: Reader,
  after: PagePosition | null,
  scope: Scope,
): Promise<{ from: bigint; upTo: bigint } | null> {
  const from = BigInt(after?.[0] ?? scope.afterTransfer);
  const last = await lastTransferId(reader);
  if (from >= last) return null;
  return { from, upTo: lesserOf(from + TRANSFERS_PER_PAGE, last) };
}

function pageOf(subject: Subject, keys: Key[]): Page | null {
  return keys.length === 0 ? null : keysOf(subject, keys);
}

function keysOf(subject: Subject, keys: Key[]): Page {
  const last = keys.at(-1);
  return {
    subject,
    values: [keys.map((key) => key.holder_id), keys.map((key) => key.id)],
    rows: keys.length,
    last: last ? [String(last.holder_id), last.id] : [],
  };
}
