// Authenticated messages about references that this gateway does not know on that rail: of a gateway restored from a backup,
// of another installation, or of another rail. Each is kept and opens a case; the money of a success goes to suspense, once,
// and leaves it when the operator reverses it, or the account to which people had credited it. What it belongs to is for people to decide.

import type { PostingGroup } from '../ledger/ledger.ts';
import { suspenseReceived, suspenseReturned, suspenseTakenBack, type Transfer } from '../ledger/postings.ts';
import type { Tx } from '../platform/db.ts';
import { createHolderUuid, NO_HOLDER } from '../platform/ids.ts';
import { formatAmount } from '../platform/money.ts';
import type { Observation } from '../rails/rail.ts';
import { openCases, settleCaseMoney } from './cases.ts';
import type { PaymentsContext } from './context.ts';
import { visibleText } from './observations.ts';
import { byReference, lockReference } from './quarantine.ts';
import type { TransactionDirection } from './states.ts';

const REVERSED = 'The operator reversed the payment.';
const MAX_EARLIER = 100;

/** Reference and observation were checked. */
export type UnmatchedReport = {
  rail: string;
  reference: string;
  direction: TransactionDirection;
  observation: Observation;
  raw: string;
};

type Money = { amount: bigint; currency: string };
type Earlier = {
  id: string;
  state: string;
  amount: bigint | null;
  currency: string | null;
  receipt: string | null;
  booked: boolean;
  case_id: string;
  case_open: boolean;
  case_amount: bigint | null;
};

/** Keeps the reports. Returns the transfers to and from suspense, which the caller posts. */
export async function keepUnmatched(tx: Tx, ctx: PaymentsContext, reports: UnmatchedReport[]): Promise<PostingGroup[]> {
  const groups: PostingGroup[] = [];
  for (const report of reports.toSorted(byReference))
    groups.push({ transfers: await keepOne(tx, ctx, report), mayBorrow: report.observation.state === 'reversed' });
  return groups;
}

async function keepOne(tx: Tx, ctx: PaymentsContext, report: UnmatchedReport): Promise<Transfer[]> {
  const at = ctx.clock.now();
  await lockReference(tx, report.rail, report.reference);
  const earlier = await listEarlier(tx, report);
  if (await countRepetition(tx, report, at)) return [];
  const { observation } = report;
  if (observation.state === 'reversed') {
    const paid = earlier.filter(
      (each) => each.booked && mayBeSame(each, receiptOf(observation)) && isAllOf(each, moneyNamed(observation)),
    );
    const held = paid.find((each) => each.case_open);
    if (held) return await returnMoney(tx, report, held, at);
    // Reversed before: then it was taken back.
    const isRepeated = earlier.some((each) => each.state === 'reversed' && mayBeSame(each, receiptOf(observation)));
    const [spent] = paid;
    if (spent && !isRepeated) return await takeBack(tx, ctx, report, spent, at);
  }
  // A payout or a refund that we do not know took money away: there is nothing to hold for anybody.
  const cameIn = observation.state === 'succeeded' && report.direction === 'collection';
  const money = cameIn ? moneyOf(observation) : null;
  const openCase = earlier.find((each) => each.case_open) ?? null;
  const same = money && earlier.find((each) => each.booked && mayBeSame(each, receiptOf(observation)));
  if (money && same) {
    await addToBooked(tx, report, same, at);
    return [];
  }
  const wasReversed = earlier.some((each) => each.state === 'reversed' && mayBeSame(each, receiptOf(observation)));
  if (!money || wasReversed) {
    await insertReport(tx, report, openCase?.case_id ?? (await openCaseFor(tx, ctx, report, null)), false, at);
    return [];
  }
  return await holdMoney(tx, ctx, report, money, openCase, at);
}

/** Reports without a receipt are about one and the same payment of their reference. */
function mayBeSame(each: { receipt: string | null }, receipt: string | null): boolean {
  return each.receipt === null || receipt === null || each.receipt === receipt;
}

/** An operator that names no amount means all of it. */
function isAllOf(each: Earlier, said: ReturnType<typeof moneyNamed>): boolean {
  return (said.amount ?? each.amount) === each.amount && (said.currency ?? each.currency) === each.currency;
}

function listEarlier(tx: Tx, { rail, reference }: UnmatchedReport): Promise<Earlier[]> {
  return tx.query<Earlier>(
    `select u.id, u.state, u.amount, u.currency, u.receipt, u.booked, u.case_id, c.status = 'open' as case_open, c.amount as case_amount
     from unmatched_reports u join cases c on c.holder_id = u.holder_id and c.id = u.case_id
     where u.rail = $1 and u.reference = $2 order by u.id limit ${MAX_EARLIER}`,
    [rail, reference],
  );
}

async function countRepetition(tx: Tx, { rail, reference, observation }: UnmatchedReport, at: Date): Promise<boolean> {
  const said = moneyNamed(observation);
  const rows = await tx.query(
    `update unmatched_reports set times = times + 1, last_received_at = $7
     where rail = $1 and reference = $2 and state = $3 and receipt is not distinct from $4
       and amount is not distinct from $5 and currency is not distinct from $6
     returning id`,
    [rail, reference, observation.state, receiptOf(observation), said.amount, said.currency, at],
  );
  return rows.length > 0;
}

async function holdMoney(
  tx: Tx,
  ctx: PaymentsContext,
  report: UnmatchedReport,
  money: Money,
  openCase: Earlier | null,
  at: Date,
): Promise<Transfer[]> {
  // One case holds one sum: a case that was opened without money takes it, otherwise there is a further case.
  const waiting = openCase?.case_amount === null ? openCase.case_id : null;
  const caseId = waiting ?? createHolderUuid(at.getTime(), NO_HOLDER);
  if (!(await claim(tx, report, caseId, at))) {
    // The receipt was used by a transaction, or is in suspense already: the same money is not booked again.
    const place = openCase?.case_id ?? (await openCaseFor(tx, ctx, report, null));
    await insertReport(tx, report, place, false, at);
    return [];
  }
  if (waiting === null) await openCaseFor(tx, ctx, report, { id: caseId, ...money });
  else
    await tx.query(
      `update cases set amount = $3, currency = $4, rail = $5 where holder_id = $1 and id = $2 and status = 'open' and amount is null`,
      [NO_HOLDER, caseId, money.amount, money.currency, report.rail],
    );
  await insertReport(tx, report, caseId, true, at);
  return suspenseReceived({ holderId: NO_HOLDER, transactionId: caseId, rail: report.rail, ...money });
}

/** The same money, said in another way. A receipt that was missing is attached to what was booked. */
async function addToBooked(tx: Tx, report: UnmatchedReport, booked: Earlier, at: Date): Promise<void> {
  const receipt = receiptOf(report.observation);
  if (booked.receipt !== null || receipt === null || !(await claim(tx, report, booked.case_id, at)))
    return insertReport(tx, report, booked.case_id, false, at);
  await tx.query(
    `update unmatched_reports set receipt = $3, times = times + 1, last_received_at = $4 where holder_id = $1 and id = $2`,
    [NO_HOLDER, booked.id, receipt, at],
  );
}

async function returnMoney(tx: Tx, report: UnmatchedReport, paid: Earlier, at: Date): Promise<Transfer[]> {
  const { amount, currency, case_id: caseId } = paid;
  await insertReport(tx, report, caseId, false, at);
  if (amount === null || currency === null) return [];
  await settleCaseMoney(tx, [{ caseId, amount, by: 'operator', resolution: REVERSED }], at);
  return suspenseReturned({ holderId: NO_HOLDER, transactionId: caseId, rail: report.rail, amount, currency });
}

/** The operator reverses money that people have decided about: it leaves the account that it went to. People are told by a case. */
async function takeBack(
  tx: Tx,
  ctx: PaymentsContext,
  report: UnmatchedReport,
  { amount, currency, case_id: caseId }: Earlier,
  at: Date,
): Promise<Transfer[]> {
  await insertReport(tx, report, await openCaseFor(tx, ctx, report, null), false, at);
  const [decision] = await tx.query<{ action: string; to_holder: bigint | null }>(
    `select action, to_holder from decisions where holder_id = $1 and case_id = $2 and status = 'approved'
     and action in ('credit_holder', 'take_to_income')`,
    [NO_HOLDER, caseId],
  );
  // Returned to the payer: it is gone already.
  if (!decision || amount === null || currency === null) return [];
  const fact = { holderId: NO_HOLDER, transactionId: caseId, rail: report.rail, amount, currency };
  return suspenseTakenBack(fact, decision.to_holder);
}

/** Uses the receipt for this case. False: it was used for something else. A report without one has nothing to claim. */
async function claim(tx: Tx, { rail, observation }: UnmatchedReport, caseId: string, at: Date): Promise<boolean> {
  const receipt = receiptOf(observation);
  if (receipt === null) return true;
  const rows = await tx.query(
    // Nobody knows the method: a receipt that any of them used is taken.
    `insert into operator_receipts (rail, receipt, holder_id, case_id, at) select $1, $2, $3, $4, $5
     where not exists (select from operator_receipts where rail = $1 and receipt = $2)
     on conflict do nothing returning receipt`,
    [rail, receipt, NO_HOLDER, caseId, at],
  );
  return rows.length > 0;
}

async function openCaseFor(
  tx: Tx,
  ctx: PaymentsContext,
  { rail, reference, direction, observation }: UnmatchedReport,
  held: (Money & { id: string }) | null,
): Promise<string> {
  const id = held?.id ?? createHolderUuid(ctx.clock.millis(), NO_HOLDER);
  const said = moneyNamed(observation);
  const detail = {
    reference,
    rail,
    direction,
    state: observation.state,
    ...(receiptOf(observation) === null ? {} : { receipt: receiptOf(observation) }),
    ...(said.amount === null ? {} : { received: `${said.currency ?? ''} ${formatAmount(said.amount)}`.trim() }),
    ...(observation.state === 'succeeded' && held === null ? { note: 'Nothing was booked.' } : {}),
  };
  const money = held ? { money: { amount: held.amount, currency: held.currency, rail } } : {};
  await openCases(tx, ctx, [
    { id, holderId: NO_HOLDER, transactionId: null, kind: 'unknown_reference', detail, ...money },
  ]);
  return id;
}

/** The owner is unknown: an id can name any holder, so it proves nothing about whose money it is. */
async function insertReport(
  tx: Tx,
  { rail, reference, observation, raw }: UnmatchedReport,
  caseId: string,
  booked: boolean,
  at: Date,
): Promise<void> {
  const said = moneyNamed(observation);
  const values = [NO_HOLDER, createHolderUuid(at.getTime(), NO_HOLDER), rail, reference, observation.state];
  await tx.query(
    `insert into unmatched_reports (holder_id, id, rail, reference, state, amount, currency, receipt, raw, received_at,
                                    last_received_at, case_id, booked)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $12)`,
    [...values, said.amount, said.currency, receiptOf(observation), visibleText(raw), at, caseId, booked],
  );
}

function receiptOf(observation: Observation): string | null {
  return 'receipt' in observation ? observation.receipt : null;
}

function moneyNamed(observation: Observation): { amount: bigint | null; currency: string | null } {
  const { amount, currency } = { amount: undefined, currency: undefined, ...observation };
  return { amount: amount ?? null, currency: currency ?? null };
}

function moneyOf(observation: Observation): Money | null {
  const { amount, currency } = moneyNamed(observation);
  return amount === null || currency === null ? null : { amount, currency };
}
