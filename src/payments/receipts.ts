// Receipts: one receipt of a rail is used once, by a transaction or by a case; where a connection has several operators behind
// it, one receipt of a method. A success claims its receipt before it is decided. Money that is in suspense under the same
// receipt, because it arrived before its instructions were known, is released to the transaction; money that people have
// decided about is not booked a second time.

import { suspenseReturned, type Transfer } from '../ledger/postings.ts';
import { type ColumnSpec, columns } from '../platform/columns.ts';
import { OvertakenError } from '../platform/database-errors.ts';
import { type Reader, type Statement, type Tx, violatedConstraint } from '../platform/db.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { byHolder, queryByHolder } from '../platform/one-holder.ts';
import type { RailRegistry } from '../rails/registry.ts';
import { settleCaseMoney } from './cases.ts';
import { TRANSACTION_KEYS, type Transaction } from './transactions.ts';

const RELEASED = 'It belongs to a transaction that succeeded.';

/** A transaction that would succeed, and the operator's receipt for it. */
export type ReceiptCandidate = { row: Transaction; receipt: string };

export type ClaimedReceipts = {
  /** By transaction id: transfers that take its money out of suspense. They are posted with the success. */
  released: Map<string, Transfer[]>;
  /** By transaction id: the receipt was used for something else, so nothing is booked. */
  taken: Set<string>;
  /** By transaction id: what arrived under the receipt, where that is not the amount of the transaction. */
  received: Map<string, { amount: bigint; currency: string }>;
};

/** `method`: whose operator gave the receipt; empty where the operator of the whole connection did. */
type Claim = ReceiptCandidate & { method: string };

const CLAIM_TYPES: Record<string, ColumnSpec<Claim>> = {
  rail: ['text', ({ row }) => row.rail],
  receipt: 'text',
  method: 'text',
  holder_id: ['bigint', ({ row }) => row.holder_id],
  transaction_id: ['uuid', ({ row }) => row.id],
};
const CLAIMS = columns<Claim>(2, CLAIM_TYPES);

/** The transactions are locked by the caller. Costs one statement; more only where a receipt was used before. */
export async function claimReceipts(
  tx: Tx,
  rails: Pick<RailRegistry, 'byName'>,
  candidates: ReceiptCandidate[],
  at: Date,
): Promise<ClaimedReceipts> {
  const claimed: ClaimedReceipts = { released: new Map(), taken: new Set(), received: new Map() };
  const claims = candidates.filter(needsClaim).map((candidate): Claim => {
    const { rail, method } = candidate.row;
    return { ...candidate, method: rails.byName(rail)?.receiptsPerMethod ? method : '' };
  });
  const { first, late } = inOrder(claims);
  for (const { row } of late) claimed.taken.add(row.id);
  if (first.length === 0) return claimed;
  const unused = new Set((await claimUnused(tx, first, at)).map(keyOf));
  const known = first.filter((candidate) => !unused.has(candidateKey(candidate)));
  if (known.length === 0) return claimed;
  const own = new Set((await tx.query<ReceiptKey>(READ_OWN, OWN.arrays(known))).map(keyOf));
  const used = known.filter((candidate) => !own.has(candidateKey(candidate)));
  for (const candidate of used) await claimFromSuspense(tx, claimed, candidate, at);
  return claimed;
}

type ReceiptKey = { rail: string; receipt: string; method: string };

// A receipt that was used without a method was used for all of them. Without "on conflict", which writes a second record to the log for
// each row that it inserts.
const CLAIM_UNUSED: Statement = {
  name: 'claim_receipts',
  text: `insert into operator_receipts (${CLAIMS.names}, at)
         select ${CLAIMS.names}, $1 from ${CLAIMS.rows}
         where not exists (select from operator_receipts other
           where other.rail = input.rail and other.receipt = input.receipt
             and (other.method = input.method or '' in (other.method, input.method)))
         order by rail, receipt, method
         returning rail, receipt, method`,
};

/** Those that nobody had used. One that another transaction claims at the same moment is seen by the next try. */
async function claimUnused(tx: Tx, claims: readonly Claim[], at: Date): Promise<ReceiptKey[]> {
  try {
    return await tx.query<ReceiptKey>(CLAIM_UNUSED, [at, ...CLAIMS.arrays(claims)]);
  } catch (error) {
    if (violatedConstraint(error) !== 'receipt_used_once') throw error;
    throw new OvertakenError('a receipt was used by another transaction meanwhile', { cause: error });
  }
}

const OWN = columns<Claim>(1, CLAIM_TYPES);

/** Those that the same transaction has claimed before. It is locked, so they stay its own. */
const READ_OWN = `
  select r.rail, r.receipt, r.method from ${OWN.rows} join operator_receipts r using (rail, receipt, method)
  where r.transaction_id = input.transaction_id and not exists (select from operator_receipts other
    where other.rail = r.rail and other.receipt = r.receipt and other.method <> r.method and '' in (other.method, r.method))`;

/** A transaction that was paid already keeps its receipt: the same one is a repetition, another one a case of its own. */
function needsClaim({ row }: ReceiptCandidate): boolean {
  return row.receipt === null || (row.status !== 'success' && row.status !== 'reversed');
}

/** The first of each transaction and of each receipt, by the id of the transaction; the others came too late. */
function inOrder(candidates: Claim[]): { first: Claim[]; late: Claim[] } {
  const transactions = new Set<string>();
  const claims = new Map<string, Claim>();
  const late: Claim[] = [];
  const sorted = candidates.toSorted(
    (left, right) => Number(left.row.id > right.row.id) - Number(left.row.id < right.row.id),
  );
  for (const candidate of sorted) {
    if (transactions.has(candidate.row.id)) continue;
    transactions.add(candidate.row.id);
    if (claims.has(candidateKey(candidate))) late.push(candidate);
    else claims.set(candidateKey(candidate), candidate);
  }
  return { first: [...claims.values()], late };
}

const keyOf = ({ rail, receipt, method = '' }: { rail: string; receipt: string; method?: string }) =>
  `${rail} ${method} ${receipt}`;
const candidateKey = ({ row, receipt, method }: Claim) => keyOf({ rail: row.rail, receipt, method });

type Held = {
  case_holder: bigint;
  case_id: string;
  amount: bigint;
  currency: string;
  expected: string | null;
  same_reference: boolean;
};

async function claimFromSuspense(
  tx: Tx,
  claimed: ClaimedReceipts,
  { row, receipt }: ReceiptCandidate,
  at: Date,
): Promise<void> {
  const held = await lockHeld(tx, row, receipt);
  if (!held || (held.expected ?? row.id) !== row.id || !held.same_reference) {
    claimed.taken.add(row.id);
    return;
  }
  const { amount, currency, case_id: caseId, case_holder: holderId } = held;
  if (amount !== row.amount || currency !== row.currency) {
    claimed.received.set(row.id, { amount, currency });
    return;
  }
  await tx.query(
    `update operator_receipts set holder_id = $3, transaction_id = $4 where rail = $1 and receipt = $2 and method = ''`,
    [row.rail, receipt, row.holder_id, row.id],
  );
  await tx.query(
    `update incoming_payments set transaction_id = $3, outcome = 'matched' where rail = $1 and receipt = $2`,
    [row.rail, receipt, row.id],
  );
  await settleCaseMoney(tx, [{ caseId, amount, by: 'operator', resolution: RELEASED }], at);
  claimed.released.set(row.id, suspenseReturned({ holderId, transactionId: caseId, currency, amount, rail: row.rail }));
}

/** The payment under this receipt, if it is in suspense and nobody has decided about it. Its case is locked. */
async function lockHeld(tx: Tx, row: Transaction, receipt: string): Promise<Held | null> {
  const [claimed] = await tx.query<Pick<Held, 'case_holder' | 'case_id' | 'expected' | 'same_reference'>>(
    `select r.holder_id as case_holder, r.case_id, i.transaction_id as expected,
            -- Until the operator has answered, the transaction has no reference yet.
            coalesce((select bool_or(p.account_reference = i.account_reference) from payment_instructions p
                      where p.holder_id = $3 and p.transaction_id = $4), true) as same_reference
     from operator_receipts r
     join incoming_payments i on i.rail = r.rail and i.receipt = r.receipt
     where r.rail = $1 and r.receipt = $2 and r.method = '' and r.transaction_id is null
     for update of r`,
    [row.rail, receipt, row.holder_id, row.id],
  );
  if (!claimed) return null;
  const [open] = await tx.query<Pick<Held, 'amount' | 'currency'>>(
    `select amount, currency from cases
     where holder_id = $1 and id = $2 and status = 'open' and amount is not null and settled = 0 for update`,
    [claimed.case_holder, claimed.case_id],
  );
  return open ? { ...claimed, ...open } : null;
}

/** What arrived for collections with another amount than theirs, and is in suspense: by transaction. */
export async function readWrongAmounts(tx: Tx, ids: string[]): Promise<ClaimedReceipts['received']> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<{ id: string; amount: bigint; currency: string }>(
    `select c.transaction_id as id, c.amount, c.currency
     from ${TRANSACTION_KEYS.rows} join cases c on c.holder_id = input.holder_id and c.transaction_id = input.id
     where c.kind = 'wrong_amount' and c.status = 'open' and c.amount is not null order by c.opened_at, c.id`,
    TRANSACTION_KEYS.arrays(ids),
  );
  return new Map(rows.map(({ id, amount, currency }) => [id, { amount, currency }]));
}

/** The receipt of a payment for this collection that is in suspense with exactly its amount. People who settle it mean that money. */
export async function findHeldReceipt(tx: Tx, row: Transaction): Promise<string | null> {
  const [held] = await tx.query<{ receipt: string }>(
    `select i.receipt from cases c join incoming_payments i on i.rail = c.rail and i.receipt = c.detail->>'receipt'
     where c.holder_id = $1 and c.transaction_id = $2 and c.status = 'open' and c.settled = 0
       and c.amount = $3 and c.currency = $4 and i.case_id = c.id and i.outcome = 'suspense'
     order by c.opened_at, c.id limit 1`,
    [row.holder_id, row.id, row.amount, row.currency],
  );
  return held?.receipt ?? null;
}

const PAID = columns<Transaction>(1, { holder_id: 'bigint', id: 'uuid', amount: 'bigint', currency: 'text' });

const LOCK_CASES = byHolder(
  'lock_suspense_cases',
  3,
  (ofOne) => `
    select c.id from ${TRANSACTION_KEYS.rows} join cases c using (holder_id, id)
    where c.status = 'open' and c.settled = 0 and ${ofOne('c')}
    order by c.holder_id, c.id for update of c`,
);

/**
 * Payments in suspense that could be for several orders with the same reference and amount. That one of these orders was paid says
 * that one of these payments is its own: each takes one, the oldest first. Their cases are locked.
 */
export async function findSharedReceipts(tx: Tx, paid: Transaction[]): Promise<ReceiptCandidate[]> {
  if (paid.length === 0) return [];
  const found = await tx.query<{ id: string; receipt: string; case_id: string }>(
    `select input.id, i.receipt, i.case_id from ${PAID.rows}
     join payment_instructions p on p.holder_id = input.holder_id and p.transaction_id = input.id
     join incoming_payments i on i.rail = p.rail and i.account_reference = p.account_reference
     where i.outcome = 'suspense' and i.transaction_id is null and i.amount = input.amount and i.currency = input.currency
       and i.case_id is not null
     order by input.id, i.received_at, i.receipt`,
    PAID.arrays(paid),
  );
  if (found.length === 0) return [];
  const caseIds = [...new Set(found.map((row) => row.case_id))];
  const open = await queryByHolder<{ id: string }, string>(tx, LOCK_CASES, TRANSACTION_KEYS, caseIds, holderOfUuid);
  const isOpen = new Set(open.map(({ id }) => id));
  const rows = found.filter((row) => isOpen.has(row.case_id));
  const taken = new Set<string>();
  return paid.flatMap((row) => {
    const free = rows.find(({ id, receipt }) => id === row.id && !taken.has(keyOf({ rail: row.rail, receipt })));
    if (!free) return [];
    taken.add(keyOf({ rail: row.rail, receipt: free.receipt }));
    return [{ row, receipt: free.receipt }];
  });
}

/** Those of these receipts that belong to other transactions. Money in suspense still belongs to nobody. */
export async function findUsedReceipts(
  reader: Reader,
  { rail, id }: Pick<Transaction, 'rail' | 'id'>,
  receipts: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await reader.query<{ receipt: string }>(
    'select receipt from operator_receipts where rail = $1 and receipt = any($2) and transaction_id <> $3',
    [rail, receipts, id],
  );
  return new Set(rows.map(({ receipt }) => receipt));
}
