// What must be true when a scenario is over: every acknowledged payment is there, once; the ledger, the operator's book and the
// callbacks agree with it.

import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { refOf } from '../../src/payments/transactions.ts';
import { connectClient } from '../../src/platform/database-servers.ts';
import { simbi } from '../processes.ts';
import type { Movement, RunningOperator } from './gateway.ts';
import { KINDS, type Kind, type Operation } from './load.ts';
import { CONNECTION, CURRENCY, type Merchant } from './merchant.ts';
import type { Receiver } from './receiver.ts';

const SETTLE_MS = 300_000;
const LOOK_AGAIN_MS = 1_000;
/** Longer than any call that is under way. What the operator does not know by then, it will never know. */
const IN_TRANSIT_MS = 45_000;

export type Outcome = {
  /** Acknowledged and not there. */
  lost: number;
  /** Asked for once and there twice, or callbacks of one fact with two ids. */
  doubled: number;
  /** Never acknowledged, although repeated for two minutes; or refused. */
  unanswered: string[];
  /** A payout or refund that may or may not have been sent is not sent again by itself: a person decides. */
  forPeople: number;
  /** Sent only after the operator said that it does not know them. */
  sentLater: number;
  notEnded: number;
  ledger: string;
  book: string;
  callbacksMissing: number;
  forged: number;
  settledAfterMs: number;
};

type Row = {
  holder_id: bigint;
  id: string;
  direction: Kind;
  status: string;
  amount: bigint;
  reference: string | null;
  case_kind: string | null;
};

export type CheckParts = {
  databaseUrl: string;
  settings: Record<string, string>;
  merchants: readonly Merchant[];
  operator: RunningOperator;
  receiver: Receiver;
};

const isFinal = ({ status }: Row) => ['success', 'failed', 'expired', 'reversed'].includes(status);
const waitsForPeople = (row: Row) => !isFinal(row) && (row.case_kind ?? '').endsWith('_not_found');

export async function checkOutcome(parts: CheckParts, operations: readonly Operation[]): Promise<Outcome> {
  const db = await connectClient({ connectionString: parts.databaseUrl, application_name: 'failover checks' });
  try {
    const { rows, sentLater, settledAfterMs } = await settle(parts, db);
    const movements = await parts.operator.movements();
    const clearing = await readClearing(db);
    return {
      ...compareWithClients(rows, operations, parts.receiver),
      forPeople: rows.filter(waitsForPeople).length,
      sentLater,
      notEnded: rows.filter((row) => !isFinal(row) && !waitsForPeople(row)).length,
      ledger: await verifyLedger(parts.settings),
      book: compareBooks(rows, movements, clearing),
      callbacksMissing: missingCallbacks(rows, parts.receiver),
      forged: parts.receiver.forged(),
      settledAfterMs,
    };
  } finally {
    await db.end();
  }
}

type Settled = { rows: Row[]; sentLater: number; settledAfterMs: number };

/** Waits until every payment has ended and was reported, or waits for a person. */
async function settle({ merchants, receiver }: CheckParts, db: pg.Client): Promise<Settled> {
  const started = performance.now();
  const later = new Set<string>();
  for (;;) {
    const settledAfterMs = performance.now() - started;
    const isLate = settledAfterMs > SETTLE_MS;
    if (isLate || (await countOpen(db, merchants)) === 0) {
      const rows = await readRows(db, merchants);
      if (isLate || missingCallbacks(rows, receiver) === 0) return { rows, sentLater: later.size, settledAfterMs };
    }
    for (const id of settledAfterMs > IN_TRANSIT_MS ? await believeOperator(db, merchants) : []) later.add(id);
    await wait(LOOK_AGAIN_MS);
  }
}

/** Without those that wait for a person. */
async function countOpen(db: pg.Client, merchants: readonly Merchant[]): Promise<number> {
  const { rows } = await db.query<{ count: string }>(
    `select count(*) from transactions t where t.holder_id = any ($1) and t.status in ('pending', 'processing') and not exists (
       select from cases c
       where c.holder_id = t.holder_id and c.transaction_id = t.id and c.status = 'open' and c.kind like '%_not_found')`,
    [merchants.map(({ holderId }) => holderId)],
  );
  return Number(rows[0]?.count ?? 0);
}

/**
 * pawaPay's word that it does not know a payment is believed fifteen minutes after it was sent, because it may still be on its way.
 * Here nothing is on its way any more, so that time is let pass at once.
 */
async function believeOperator(db: pg.Client, merchants: readonly Merchant[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `update payment_jobs set submitted_at = submitted_at - interval '1 hour', due_at = now()
     where holder_id = any ($1) and kind = 'query' and submitted_at > now() - interval '50 minutes'
       and submitted_at < now() - interval '${IN_TRANSIT_MS} milliseconds'
     returning transaction_id as id`,
    [merchants.map(({ holderId }) => holderId)],
  );
  return rows.map(({ id }) => id);
}

async function readRows(db: pg.Client, merchants: readonly Merchant[]): Promise<Row[]> {
  const { rows } = await db.query<Row>(
    `select t.holder_id, t.id, t.direction, t.status, t.amount, coalesce(t.invoice_no, t.reference_1) as reference,
       (select c.kind from cases c
        where c.holder_id = t.holder_id and c.transaction_id = t.id and c.status = 'open' limit 1) as case_kind
     from transactions t where t.holder_id = any ($1)`,
    [merchants.map(({ holderId }) => holderId)],
  );
  return rows;
}

type Comparison = Pick<Outcome, 'lost' | 'doubled' | 'unanswered'>;

function compareWithClients(rows: readonly Row[], operations: readonly Operation[], receiver: Receiver): Comparison {
  const byReference = Map.groupBy(rows, ({ reference }) => reference);
  const acknowledged = operations.filter(({ acknowledgedAt }) => acknowledgedAt !== null);
  const isThere = ({ reference, ref }: Operation) =>
    byReference.get(reference)?.some((row) => ref === null || refOf(row) === ref) ?? false;
  const repeated = [...byReference.values()].filter((same) => same.length > 1).length;
  return {
    lost: acknowledged.filter((operation) => !isThere(operation)).length,
    doubled: repeated + receiver.doubled(),
    unanswered: operations
      .filter(({ acknowledgedAt }) => acknowledgedAt === null)
      .map(({ kind, refused, tries }) => `${kind} after ${tries} tries: ${refused ?? 'no answer'}`),
  };
}

function missingCallbacks(rows: readonly Row[], receiver: Receiver): number {
  // A collection that was refunded whole had its success before.
  const typeOf = ({ direction, status }: Row) => `${direction}.${status === 'reversed' ? 'success' : status}`;
  return rows.filter((row) => isFinal(row) && !receiver.has(typeOf(row), refOf(row))).length;
}

/** What the ledger says that the operator holds. */
async function readClearing(db: pg.Client): Promise<bigint> {
  const { rows } = await db.query<{ held: string | null }>(
    `select -sum(balance) as held from ledger_accounts where kind = 'operator_clearing' and rail = $1 and currency = $2`,
    [CONNECTION, CURRENCY],
  );
  return BigInt(rows[0]?.held ?? '0');
}

/** "equal", or what differs between the operator's book and ours. */
function compareBooks(rows: readonly Row[], movements: readonly Movement[], clearing: bigint): string {
  const hundredths = (text: string) => BigInt(text.replace('.', ''));
  const sum = (amounts: bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
  const differences = KINDS.flatMap((kind) => {
    const theirs = movements.filter((movement) => movement.kind === kind).map(({ amount }) => hundredths(amount));
    const ours = rows
      .filter(({ direction, status }) => direction === kind && ['success', 'reversed'].includes(status))
      .map(({ amount }) => BigInt(amount));
    const isEqual = theirs.length === ours.length && sum(theirs) === sum(ours);
    return isEqual ? [] : [`${kind}: the operator has ${theirs.length}, we have ${ours.length}`];
  });
  const signed = movements.map(({ kind, amount }) => hundredths(amount) * (kind === 'collection' ? 1n : -1n));
  if (sum(signed) !== clearing) differences.push(`the operator holds ${sum(signed)}, our ledger says ${clearing}`);
  return differences.join('; ') || 'equal';
}

async function verifyLedger(settings: Record<string, string>): Promise<string> {
  const { code, out, stderr } = await simbi(['ledger', 'verify', '--json'], settings).ended;
  if (code === 0) return 'right';
  const said = `${stderr}\n${out}`.split('\n').filter((line) => line.trim() !== '' && !/^ *Verifying/.test(line));
  return `exit code ${code}: ${said.join(' ').slice(0, 500)}`;
}
