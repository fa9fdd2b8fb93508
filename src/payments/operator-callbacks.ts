// Operator callbacks. The raw message is durable before the operator gets its 200. It is read and applied right afterwards,
// or by the next pass after a crash, and is deleted with what became of each of its readings: applied, unmatched (a reference
// that we do not know), quarantined (a value that cannot be applied) or rejected.

import type { RecordedEvent } from '../callbacks/events.ts';
import { postEach } from '../ledger/ledger.ts';
import { addressShareOf } from '../platform/admission.ts';
import { type Batch, createBatch } from '../platform/batch.ts';
import type { Clock } from '../platform/clock.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { createDueFloor } from '../platform/due-floor.ts';
import { failpoint } from '../platform/failpoint.ts';
import { holderOfUuid } from '../platform/ids.ts';
import { perProcess } from '../platform/memory.ts';
import { createFailureCounter, createRateLimiter } from '../platform/rate-limit.ts';
import { hideCredentials } from '../rails/evidence.ts';
import {
  type CallbackAnswer,
  type CallbackDecision,
  type CallbackReading,
  type CallbackRequest,
  MAX_RAW_CHARACTERS,
  type OperatorBalance,
} from '../rails/rail.ts';
import { capabilitiesFor } from './capabilities.ts';
import type { PaymentsContext } from './context.ts';
import { recordDebts } from './debts.ts';
import { applyDisputeNotice, type DisputeReport } from './dispute-notices.ts';
import { createTurnBatch, DEFERRED, type InTurn, type TurnBatch, takeTurns } from './holder-turns.ts';
import { type IncomingPayment, receivePayments } from './incoming-payments.ts';
import { checkObservation, checkPayment, referenceError } from './observations.ts';
import { recordBalances } from './operator-balances.ts';
import { recordHints } from './operator-hints.ts';
import { type Applied, applyOutcomes } from './outcomes.ts';
import { LEASE_MS } from './payment-jobs.ts';
import { decidePayment } from './payment-validation.ts';
import { type BadReport, concernsAll, mayPass, quarantine } from './quarantine.ts';
import { keepRejected, keptHeaders } from './rejected-callbacks.ts';
import type { Outcome, TransactionDirection } from './states.ts';
import { idFromRef, refOf } from './transactions.ts';
import { keepUnmatched, type UnmatchedReport } from './unmatched-reports.ts';

const MAX_COUNTED = 100_000;
const CLAIM_LIMIT = 200;
const floorOf = perProcess(() => createDueFloor());
/** Messages of strangers that are kept, per minute for all rails together; the rest is only counted. */
const REJECTED_KEPT_PER_MINUTE = 60;
const EVERY_RAIL = 'every rail';
/** An address that sent this many wrong messages in a minute is refused before its next body is read. */
const WRONG_PER_MINUTE = 60;
/** The same for hints about transactions that do not exist. More, because after a restore an operator may know what we lost. */
const STRANGE_HINTS_PER_MINUTE = 600;
/** A message whose rows are locked is tried again for this long; then it is quarantined. */
const TRIED_FOR_MS = 3_600_000;
/** Messages of one batch that may wait for locks; then the rest waits too, instead of each waiting in turn. */
const MAX_LEFT = 3;
/** Operators wait for the first, payers for the second: short rests, for the reason that accepts and outcomes have some. */
const KEEPING_REST = { times: 3, longestMs: 10, enough: 16 } as const;
const APPLYING_REST = { times: 1, longestMs: 50 } as const;

/** Questions and remarks: they are answered, and nothing is kept. */
const LEAVES_NOTHING: ReadonlySet<CallbackReading['kind']> = new Set(['validation', 'nothing']);

type Message = CallbackRequest & { rail: string };
/** `onStranger`: a message hinted at something that is no transaction of its rail. */
type InboxContext = PaymentsContext & { onStranger(message: Message): unknown };
/** `readings`: what was read when it came in. One from the database is read again. */
type InboxRow = Message & { id: bigint; received_at: Date; readings?: CallbackReading[] };

export interface OperatorInbox {
  /**
   * Whether a message of this address to this rail is refused before it is read: there is no such rail, or the address sent
   * too many wrong messages. The address is null where none can be told apart.
   */
  refusal(rail: string, address: string | null): 'unknown_rail' | 'too_many' | null;
  /** Keeps a message and applies it in the background, or decides at once whether a payment is taken. */
  receive(message: Message, address?: string | null): Promise<CallbackDecision>;
  /** What the operator is told; null: the rail leaves that to us. */
  answer(message: Message, decision: CallbackDecision): CallbackAnswer | null;
  /** Applies messages that were kept and not applied before a crash. */
  pass(): Promise<number>;
  idle(): Promise<void>;
}

export function createOperatorInbox(ctx: PaymentsContext): OperatorInbox {
  const keptRejections = createRateLimiter(ctx.clock, REJECTED_KEPT_PER_MINUTE / 60, REJECTED_KEPT_PER_MINUTE);
  const strangers = countStrangers(ctx.clock);
  const inbox: InboxContext = {
    ...ctx,
    onStranger: ({ remoteAddress }) =>
      strangers.addHint(remoteAddress === null ? null : addressShareOf({ ip: remoteAddress })),
  };

  const applying: TurnBatch<InboxRow, void> = createTurnBatch({
    maxItems: 256,
    maxWaiting: 20_000,
    concurrency: 1,
    rest: APPLYING_REST,
    processes: ctx.config.processes,
    observe: (items) => ctx.metrics.batchItems.observe({ batch: 'operator_callbacks' }, items),
    async run(queued) {
      const { events, deferred } = await applyMessages(inbox, queued);
      failpoint('inbox-applied');
      ctx.sendCallbacksNow(events);
      return queued.map(({ item }) => (deferred.has(item) ? DEFERRED : undefined));
    },
  });

  const keeping: Batch<Message, InboxRow> = createBatch({
    maxItems: 256,
    maxWaiting: 5_000,
    concurrency: 1,
    rest: KEEPING_REST,
    async run(messages) {
      const rows = await ctx.db.transaction((tx) => insertMessages(tx, messages, ctx.clock.now()));
      failpoint('inbox-committed');
      return rows;
    },
  });

  return {
    refusal(rail, address) {
      const isKnown = ctx.rails.byName(rail) !== null;
      if (!isKnown) strangers.addWrong(address);
      if (strangers.isRefused(address)) return 'too_many';
      return isKnown ? null : 'unknown_rail';
    },
    async receive(message, address = null) {
      const readings = read(ctx, message);
      const rejected = readings.filter((reading) => reading.kind === 'rejected');
      if (rejected.length === readings.length) {
        ctx.metrics.refusals.inc({ code: 'operator_callback_rejected' });
        const authenticated = rejected.some((reading) => reading.authenticated);
        if (!authenticated) strangers.addWrong(address);
        const reason = rejected.map((reading) => reading.reason).join('; ') || 'says nothing';
        if (authenticated || keptRejections.take(EVERY_RAIL).allowed)
          await refuse(ctx, message, { reason, authenticated });
        return { kind: 'rejected' };
      }
      const validation = readings.find((reading) => reading.kind === 'validation');
      if (readings.every(({ kind }) => LEAVES_NOTHING.has(kind)))
        return validation ? decidePayment(ctx, message.rail, validation) : { kind: 'kept' };
      const row = await keeping.add(message);
      // Not awaited: the operator gets its answer as soon as the message is durable.
      applying
        .add({ ...row, readings })
        .catch((error: unknown) => ctx.log.warn({ err: error }, 'an operator callback waits for the next pass'));
      return validation ? decidePayment(ctx, message.rail, validation) : { kind: 'kept' };
    },
    answer: (message, decision) => answerOf(ctx, message, decision),
    async pass() {
      const rows = await claimDue(ctx);
      await Promise.all(rows.map((row) => applying.add(row)));
      return rows.length;
    },
    idle: () => applying.idle(),
  };
}

/** What is the operator's may report money, and is not always sent again: people are told, by one case for a connection. */
function refuse(
  ctx: PaymentsContext,
  message: Message,
  why: { reason: string; authenticated: boolean },
): Promise<void> {
  return ctx.db.transaction(async (tx) => {
    await keepRejected(tx, message, why, ctx.clock.now());
    if (why.authenticated) await quarantine(tx, ctx, [badReport(message, '', null, why.reason)]);
  });
}

function answerOf(ctx: PaymentsContext, message: Message, decision: CallbackDecision): CallbackAnswer | null {
  try {
    return ctx.rails.byName(message.rail)?.answerCallback?.(message, decision) ?? null;
  } catch (error) {
    ctx.log.error({ err: error, rail: message.rail }, 'a rail could not answer an operator callback');
    return null;
  }
}

/** What each address sent that no operator would send. Null: an address that cannot be told apart from others. */
function countStrangers(clock: Clock) {
  const wrong = createFailureCounter(clock, 60);
  const hints = createFailureCounter(clock, 60);
  return {
    addWrong: (address: string | null) => address !== null && wrong.add(address),
    addHint: (address: string | null) => address !== null && hints.add(address),
    isRefused: (address: string | null) =>
      address !== null && (wrong.count(address) > WRONG_PER_MINUTE || hints.count(address) > STRANGE_HINTS_PER_MINUTE),
  };
}

function read(ctx: PaymentsContext, message: Message): CallbackReading[] {
  const rail = ctx.rails.byName(message.rail);
  if (!rail) return [{ kind: 'rejected', reason: 'there is no such rail' }];
  try {
    return rail.readCallback(message).map(refuseStrangeHint);
  } catch (error) {
    // A rail should not throw. If it does, this message must not hold back the others.
    ctx.log.error({ err: error, rail: message.rail }, 'a rail could not read an operator callback');
    return [{ kind: 'rejected', reason: 'the rail could not read it' }];
  }
}

/** Anybody can write a hint: one about nothing of ours is a stranger's, and must not be kept as operators' messages are. */
function refuseStrangeHint(reading: CallbackReading): CallbackReading {
  const isStrange = reading.kind === 'hint' && idFromRef(reading.reference) === null;
  return isStrange ? { kind: 'rejected', reason: 'is about no transaction of ours' } : reading;
}

async function insertMessages(tx: Tx, messages: Message[], at: Date): Promise<InboxRow[]> {
  const ids = await tx.query<{ id: bigint }>(
    {
      name: 'keep_operator_callbacks',
      text: `insert into operator_inbox (rail, method, host, path, remote_address, headers, body, received_at, due_at)
             select rail, method, host, path, remote_address, headers::jsonb, body, $8, $9
             from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
               with ordinality as m (rail, method, host, path, remote_address, headers, body, position)
             order by position returning id`,
    },
    [
      messages.map((message) => message.rail),
      messages.map((message) => message.method),
      messages.map((message) => message.host),
      messages.map((message) => message.path),
      messages.map((message) => message.remoteAddress),
      messages.map((message) => JSON.stringify(keptHeaders(message))),
      messages.map((message) => message.body),
      at,
      new Date(at.getTime() + LEASE_MS),
    ],
  );
  return messages.map((message, index) => ({ ...message, id: ids[index]?.id ?? 0n, received_at: at }));
}

/** What one message says, in the form in which it is applied. */
type Reading =
  | { kind: 'outcome'; outcome: Outcome; reference: string; direction: TransactionDirection; row: InboxRow }
  /** A proof about a reference that is none of ours. */
  | { kind: 'unmatched'; report: UnmatchedReport; row: InboxRow }
  | { kind: 'payment'; payment: IncomingPayment; row: InboxRow }
  | { kind: 'hint'; transactionId: string; row: InboxRow }
  | { kind: 'dispute'; report: DisputeReport; row: InboxRow }
  | { kind: 'rejected'; reason: string; authenticated?: true; row: InboxRow }
  | { kind: 'balance'; balances: readonly OperatorBalance[]; row: InboxRow }
  | { kind: 'nothing'; row: InboxRow }
  | { kind: 'bad'; report: BadReport; row: InboxRow };

type AppliedMessages = { events: RecordedEvent[]; deferred: ReadonlySet<InboxRow> };

/**
 * Applies all messages in one transaction, but those whose holders another one has. If that cannot be done, each is applied alone,
 * so that none blocks another.
 */
async function applyMessages(ctx: InboxContext, queued: readonly InTurn<InboxRow>[]): Promise<AppliedMessages> {
  const messages = queued.map(({ item, mayBeDeferred }) => ({
    item: { rows: [item], readings: readMessage(ctx, item) },
    mayBeDeferred,
  }));
  if (messages.length > 1)
    try {
      return await applyFree(ctx, messages);
    } catch (error) {
      if (concernsAll(error)) throw error;
      ctx.log.warn({ err: error }, 'operator callbacks are applied one by one');
    }
  const events: RecordedEvent[] = [];
  let left = 0;
  for (const { item } of messages)
    try {
      events.push(...(await applyMessage(ctx, item)));
    } catch (error) {
      if (concernsAll(error) || ++left > MAX_LEFT) throw error;
      ctx.log.warn({ err: error }, 'an operator callback waits for the next pass');
    }
  return { events, deferred: new Set() };
}

type ReadMessages = { rows: InboxRow[]; readings: Reading[] };

function applyFree(ctx: InboxContext, messages: readonly InTurn<ReadMessages>[]): Promise<AppliedMessages> {
  return ctx.db.transaction(async (tx) => {
    const { taken, isTaken } = await takeTurns(tx, messages, ({ readings }) => readings.flatMap(holderOf));
    const deferred = new Set(messages.filter((each) => !isTaken(each)).flatMap(({ item }) => item.rows));
    const rows = taken.flatMap((each) => each.rows);
    if (rows.length === 0) return { events: [], deferred };
    return {
      events: await applyAndDelete(
        tx,
        ctx,
        rows,
        taken.flatMap(({ readings }) => readings),
      ),
      deferred,
    };
  });
}

/** Whose wallet it changes, where that is known before it is applied. */
function holderOf(reading: Reading): bigint[] {
  return reading.kind === 'outcome' ? [holderOfUuid(reading.outcome.transactionId)] : [];
}

function applyWhole(ctx: InboxContext, { rows, readings }: ReadMessages): Promise<RecordedEvent[]> {
  return ctx.db.transaction((tx) => applyAndDelete(tx, ctx, rows, readings));
}

/** Applies and deletes messages in one transaction. */
async function applyAndDelete(tx: Tx, ctx: InboxContext, rows: InboxRow[], readings: Reading[]) {
  const events = await applyReadings(tx, ctx, readings);
  await deleteMessages(tx, rows);
  return events;
}

async function applyMessage(ctx: InboxContext, message: ReadMessages): Promise<RecordedEvent[]> {
  try {
    return await applyWhole(ctx, message);
  } catch (error) {
    if (message.rows.some((row) => isTriedAgain(ctx, row, error))) throw error;
  }
  const events: RecordedEvent[] = [];
  for (const reading of message.readings) events.push(...(await applyAlone(ctx, reading)));
  await ctx.db.transaction((tx) => deleteMessages(tx, message.rows));
  return events;
}

/** Whether the message stays in the inbox: the error may pass, and has not lasted too long. */
function isTriedAgain(ctx: PaymentsContext, row: InboxRow, error: unknown): boolean {
  return concernsAll(error) || (mayPass(error) && ctx.clock.millis() - row.received_at.getTime() < TRIED_FOR_MS);
}

async function applyAlone(ctx: InboxContext, reading: Reading): Promise<RecordedEvent[]> {
  try {
    return await ctx.db.transaction((tx) => applyReadings(tx, ctx, [reading]));
  } catch (error) {
    if (isTriedAgain(ctx, reading.row, error)) throw error;
    const report = reportOf(reading, error instanceof Error ? error.message : String(error));
    await ctx.db.transaction((tx) => quarantine(tx, ctx, [report]));
    return [];
  }
}

function readMessage(ctx: PaymentsContext, message: InboxRow): Reading[] {
  return (message.readings ?? read(ctx, message)).map((reading, _index, { length }): Reading => {
    if (reading.kind === 'rejected') return { ...reading, row: message };
    // What is kept about a payment is shown to its account. A message may also be about payments of others.
    const row =
      length === 1 ? message : { ...message, body: Buffer.from('part' in reading ? (reading.part ?? '') : '') };
    const raw = rawOf(row);
    if (reading.kind === 'payment_received') {
      const { value, error } = checkPayment(reading);
      if (error === null) return { kind: 'payment', payment: { ...value, rail: row.rail, raw }, row };
      return { kind: 'bad', report: badReport(row, reading.accountReference, null, error), row };
    }
    if (reading.kind === 'validation' || reading.kind === 'nothing') return { kind: 'nothing', row };
    if (reading.kind === 'balance') return { kind: 'balance', balances: reading.balances, row };
    const { reference } = reading;
    const transactionId = idFromRef(reference);
    if (reading.kind === 'hint')
      return transactionId === null
        ? { kind: 'rejected', reason: 'is about no transaction of ours', row }
        : { kind: 'hint', transactionId, row };
    if (reading.kind === 'dispute') {
      if (transactionId === null)
        return { kind: 'bad', report: badReport(row, reference, null, 'a dispute about no payment of ours'), row };
      return { kind: 'dispute', report: { rail: row.rail, transactionId, notice: reading.notice, raw }, row };
    }
    const { direction } = reading;
    const { value, error } = checkObservation(reading.observation);
    const wrong = referenceError(reference) ?? error;
    if (wrong !== null || value === null)
      return { kind: 'bad', report: badReport(row, reference, transactionId, String(wrong)), row };
    if (transactionId === null)
      return { kind: 'unmatched', report: { rail: row.rail, reference, direction, observation: value, raw }, row };
    const source = reading.kind === 'matched' ? 'matched' : 'callback';
    const outcome: Outcome = {
      transactionId,
      source,
      observation: value,
      raw,
      rail: row.rail,
      ...(reading.kind === 'matched' && reading.isAnswer ? { isAnswer: true as const } : {}),
    };
    return { kind: 'outcome', outcome, reference, direction, row };
  });
}

function rawOf(row: Pick<Message, 'body'>): string {
  // Some operators send our own credentials back.
  return hideCredentials(row.body.toString('utf8')).slice(0, MAX_RAW_CHARACTERS);
}

function badReport(
  row: Pick<Message, 'rail' | 'body'>,
  reference: string,
  transactionId: string | null,
  error: string,
): BadReport {
  return { rail: row.rail, source: 'callback', reference: String(reference), transactionId, error, raw: rawOf(row) };
}

/** A reading that was refused when it was applied. */
function reportOf(reading: Reading, error: string): BadReport {
  switch (reading.kind) {
    case 'outcome':
      return badReport(reading.row, reading.reference, reading.outcome.transactionId, error);
    case 'unmatched':
      return badReport(reading.row, reading.report.reference, null, error);
    case 'payment':
      return badReport(reading.row, reading.payment.accountReference, null, error);
    case 'dispute':
      return badReport(reading.row, refOf({ id: reading.report.transactionId }), reading.report.transactionId, error);
    case 'hint':
      return badReport(reading.row, refOf({ id: reading.transactionId }), reading.transactionId, error);
    case 'balance':
    case 'nothing':
    case 'rejected':
      return badReport(reading.row, '', null, error);
    case 'bad':
      return reading.report;
  }
}

async function applyReadings(tx: Tx, ctx: InboxContext, readings: Reading[]): Promise<RecordedEvent[]> {
  const proofs = readings.filter((reading) => reading.kind === 'outcome');
  const payments = readings.flatMap((reading) => (reading.kind === 'payment' ? [reading.payment] : []));
  const outcomes = proofs.map(({ outcome }) => outcome);
  for (const reading of readings)
    if (reading.kind === 'rejected') await keepRejected(tx, reading.row, reading, ctx.clock.now());
  const ids = outcomes.map((outcome) => outcome.transactionId);
  const received = await receivePayments(tx, ctx, payments, ids);
  // Payments first: their receipts are used already. A proof with another receipt is then a case, and no money is lost.
  const all = [...received.outcomes, ...outcomes];
  const { applied, events } = await applyOutcomes(tx, ctx, all, received.held);
  const hinted = readings.filter((reading) => reading.kind === 'hint');
  const hints = hinted.map(({ transactionId, row }) => ({ transactionId, rail: row.rail }));
  const disputes = readings.flatMap((reading) => (reading.kind === 'dispute' ? [reading.report] : []));
  for (const report of disputes) events.push(...(await applyDisputeNotice(tx, ctx, report)));
  // A dispute that has ended may have reversed the payment, also where nobody knew of the dispute.
  hints.push(...disputes.filter(({ notice }) => notice.state !== 'open'));
  const ofProofs = applied.slice(received.outcomes.length);
  const doubted = proofs.filter(({ outcome }, index) => isToBeConfirmed(ctx, outcome, ofProofs[index]));
  hints.push(...doubted.map(({ outcome, row }) => ({ transactionId: outcome.transactionId, rail: row.rail })));
  const known = await recordHints(tx, hints, ctx.clock.now());
  for (const { transactionId, row } of hinted) if (!known.has(transactionId)) ctx.onStranger(row);
  const balances = readings.flatMap((reading) =>
    reading.kind === 'balance' ? reading.balances.map((balance) => ({ ...balance, connection: reading.row.rail })) : [],
  );
  await recordBalances(tx, balances, ctx.clock.now());
  const unknown = proofs.filter((_, index) => ofProofs[index]?.effect === 'unknown_transaction');
  const unmatched = unknown.map(
    ({ outcome: { observation, raw }, reference, direction, row: { rail } }): UnmatchedReport => ({
      rail,
      reference,
      direction,
      observation,
      raw,
    }),
  );
  for (const reading of readings) if (reading.kind === 'unmatched') unmatched.push(reading.report);
  await holdUnmatched(tx, ctx, unmatched);
  const bad = readings.flatMap((reading) => {
    if (reading.kind === 'bad') return [reading.report];
    return reading.kind === 'rejected' && reading.authenticated ? [reportOf(reading, reading.reason)] : [];
  });
  await quarantine(tx, ctx, [...bad, ...received.disputed]);
  return events;
}

/**
 * What only matched is asked about: the operator's word is better than a message that anybody may have sent. Where the answer is
 * such a message again, only what did not count is asked about. An answer is no reason to ask, or that would not end.
 */
function isToBeConfirmed(
  ctx: PaymentsContext,
  { source, observation, isAnswer }: Outcome,
  applied: Applied | undefined,
): boolean {
  if (source !== 'matched' || isAnswer || !applied?.transaction || applied.effect === 'confirmed') return false;
  const saysMuch = observation.state !== 'pending' && observation.state !== 'unknown';
  const query = capabilitiesFor(ctx, applied.transaction)?.query;
  return saysMuch && (query === 'answers' || (query === 'by_callback' && applied.effect === 'ignored'));
}

/** Proofs about references that are not in the table, or that belong to another rail. */
async function holdUnmatched(tx: Tx, ctx: PaymentsContext, reports: UnmatchedReport[]): Promise<void> {
  if (reports.length === 0) return;
  ctx.log.warn({ count: reports.length }, 'operator callbacks about transactions we do not know');
  const transfers = await keepUnmatched(tx, ctx, reports);
  // A second posting of this transaction. It is rare, and two that meet are tried again.
  const results = await postEach(tx, transfers, ctx.clock.now());
  if (results.some((result) => !result.ok)) throw new Error('the ledger refused money of unknown references');
  await recordDebts(
    tx,
    ctx,
    results.flatMap((result) => (result.ok ? result.transfers : [])),
    ctx.clock.now(),
  );
}

async function deleteMessages(tx: Tx, rows: InboxRow[]): Promise<void> {
  await tx.query({ name: 'end_operator_callbacks', text: 'delete from operator_inbox where id = any($1)' }, [
    rows.map((row) => row.id),
  ]);
}

async function claimDue(ctx: PaymentsContext): Promise<InboxRow[]> {
  const now = ctx.clock.now();
  const floor = floorOf(ctx);
  const from = floor.from(now);
  const rows = await ctx.db.query<InboxRow>(
    `with due as (
       select ctid as place from operator_inbox where due_at <= $1 and due_at > $4 order by due_at limit $2 for update skip locked
     )
     update operator_inbox i set due_at = $3 from due where i.ctid = due.place
     returning i.id, i.rail, i.method, i.host, i.path, i.remote_address as "remoteAddress", i.headers, i.body, i.received_at`,
    [now, CLAIM_LIMIT, new Date(now.getTime() + LEASE_MS), from],
  );
  if (rows.length < CLAIM_LIMIT) floor.drained(now, from);
  return rows;
}

/** Operator callbacks that are due and not yet read, counted up to a limit. */
export async function countDueOperatorCallbacks(reader: Reader, now: Date): Promise<number> {
  const [row] = await reader.query<{ count: bigint }>(
    `select count(*) from (select from operator_inbox where due_at <= $1 limit ${MAX_COUNTED}) as due`,
    [now],
  );
  return Number(row?.count ?? 0n);
}
