// What a statement makes happen, after it was compared and looked at: a success or a reversal that only the statement knows becomes
// evidence of its transaction, money for nobody goes to suspense with a case, fees are booked. All of it goes through the functions
// that callbacks use. Each line does each of these once, however often a statement is applied.

import { type Actor, recordAudit } from '../holders/audit.ts';
import { isBankPlace } from '../ledger/chart.ts';
import type { PaymentsContext } from '../payments/context.ts';
import { type IncomingPayment, receivePayments } from '../payments/incoming-payments.ts';
import { applyOutcomes } from '../payments/outcomes.ts';
import { mayPass } from '../payments/quarantine.ts';
import { findReceiptUses } from '../payments/statement-lookups.ts';
import type { Outcome } from '../payments/states.ts';
import type { Reader, Tx } from '../platform/db.ts';
import { Problem } from '../platform/errors.ts';
import { MAX_RAW_CHARACTERS } from '../rails/rail.ts';
import type { Break } from './breaks.ts';
import { openCalendar } from './calendar.ts';
import { bookFees, sumUnbooked, type UnbookedFees } from './fee-bookings.ts';
import { LINE_COLUMNS, type OperatorLine } from './statement-lines.ts';

const PAGE = 200;
/** Of one run. A statement with more is applied again for the rest. */
const MAX_EFFECTS = 10_000;
/** A match by amount, number and time explains a line; it is not proof enough to move money. */
const STRONG_RULES = ['reference', 'receipt', 'account_reference', 'refund_of'];
/** At least this share of the payments on a statement must be ours, or it is the statement of something else. */
const MIN_MATCHED_PERCENT = 50;
/** So many breaks can two people decide whatever that share is. */
export const LOOKED_AT_ONE_BY_ONE = 10;

type Days = { first: string; last: string };
type EffectKind = 'settle' | 'reverse' | 'suspense';

/** What one line would make happen. */
export type PlannedEffect = {
  /** Of the break that it would end. */
  breakId: string;
  effect: EffectKind;
  line: OperatorLine;
  /** Of `settle` and `reverse`. */
  transactionId: string | null;
};

export type EffectPlan = {
  connection: string;
  days: Days;
  /** The first of them, for people to read. */
  effects: PlannedEffect[];
  counts: Readonly<Record<EffectKind, number>>;
  fees: UnbookedFees[];
  /** Why nothing may be applied, in some currencies or in all; null: everything may. */
  refused: string | null;
};

type EffectSpan = { connection: string; from: Date; to: Date };

/** What applying the statement would do. Nothing is written. */
export async function planEffects(ctx: Pick<PaymentsContext, 'db'>, span: EffectSpan): Promise<EffectPlan> {
  const { connection } = span;
  const days = await daysOf(ctx.db, span);
  const { refused, except } = await findRefusals(ctx.db, connection, days);
  const [evidence, suspense, fees] = [
    await readEvidence(ctx.db, connection, days, MAX_EFFECTS, { except }),
    await readStrays(ctx.db, connection, days, MAX_EFFECTS, { except }),
    await sumUnbooked(ctx.db, connection, days, except),
  ];
  const effects = [...evidence, ...suspense];
  const count = (kind: EffectKind) => effects.filter(({ effect }) => effect === kind).length;
  const counts = { settle: count('settle'), reverse: count('reverse'), suspense: count('suspense') };
  return { connection, days, effects: effects.slice(0, PAGE), counts, fees, refused };
}

export type AppliedEffects = {
  settled: number;
  reversed: number;
  toSuspense: number;
  feesBooked: number;
  unchanged: number;
};

/**
 * Applies the statement of a span that was compared before, in the currencies in which it is one of this connection. Refuses it
 * where there is none.
 */
export async function applyEffects(ctx: PaymentsContext, actor: Actor, span: EffectSpan): Promise<AppliedEffects> {
  const { connection } = span;
  const days = await daysOf(ctx.db, span);
  const { refused, except, isWhole } = await findRefusals(ctx.db, connection, days);
  if (refused !== null && isWhole) throw new Problem('invalid_params', { message: refused });
  const total: AppliedEffects = { settled: 0, reversed: 0, toSuspense: 0, feesBooked: 0, unchanged: 0 };
  for (const read of [readEvidence, readStrays]) {
    const effects = await read(ctx.db, connection, days, MAX_EFFECTS, { except });
    for (let first = 0; first < effects.length; first += PAGE)
      await applyPage(ctx, actor, connection, effects.slice(first, first + PAGE), total);
  }
  total.feesBooked = await bookFees(ctx, actor.name, connection, days, except);
  const { db, clock } = ctx;
  await db.transaction((tx) =>
    recordAudit(
      tx,
      { holderId: null, actor, action: 'statement.applied', subject: connection, details: { ...days, ...total } },
      clock.now(),
    ),
  );
  return total;
}

/** What the lines of these breaks of one connection would make happen, by the break. Those that nothing can be done about are left out. */
export async function effectsOfBreaks(
  reader: Reader,
  connection: string,
  breaks: readonly Pick<Break, 'id' | 'day'>[],
): Promise<Map<string, PlannedEffect>> {
  const days = daysOfBreaks(breaks);
  if (days === null) return new Map();
  const ids = breaks.map(({ id }) => id);
  const effects = [
    ...(await readEvidence(reader, connection, days, ids.length, { only: ids })),
    ...(await readStrays(reader, connection, days, ids.length, { only: ids })),
  ];
  return new Map(effects.map((effect) => [effect.breakId, effect]));
}

/** Refuses breaks of a statement that, in one of their currencies, is not of this connection. */
export async function refuseForeignStatement(
  reader: Reader,
  connection: string,
  breaks: readonly Pick<Break, 'day' | 'currency'>[],
): Promise<void> {
  const days = daysOfBreaks(breaks);
  if (days === null) return;
  const { refused } = await findRefusals(reader, connection, days, [...new Set(breaks.map((each) => each.currency))]);
  if (refused !== null) throw new Problem('invalid_params', { message: refused });
}

function daysOfBreaks(breaks: readonly Pick<Break, 'day'>[]): Days | null {
  const days = breaks.map(({ day }) => day).sort();
  const [first, last] = [days[0], days.at(-1)];
  return first === undefined || last === undefined ? null : { first, last };
}

/** One line, in the transaction of what asked for it. `changed`: false where it was done before, or its payment took nothing. */
export async function applyEffect(tx: Tx, ctx: PaymentsContext, actor: Actor, effect: PlannedEffect) {
  const { applied, events } = await applyLines(tx, ctx, actor, effect.line.connection, [effect]);
  return { changed: applied.some(({ changed }) => changed), events };
}

/**
 * Books what the operator charged on a day, in all currencies in which the statement is one of this connection. Refused where the one
 * that was asked for is not. Each line once, however often it is asked for.
 */
export async function bookFeesOfDay(
  ctx: PaymentsContext,
  actor: Actor,
  { connection, currency, day }: Pick<Break, 'connection' | 'currency' | 'day'>,
): Promise<number> {
  const days = { first: day, last: day };
  await refuseForeignStatement(ctx.db, connection, [{ day, currency }]);
  const { except } = await findRefusals(ctx.db, connection, days);
  const feesBooked = await bookFees(ctx, actor.name, connection, days, except);
  await ctx.db.transaction((tx) =>
    recordAudit(
      tx,
      { holderId: null, actor, action: 'statement.applied', subject: connection, details: { ...days, feesBooked } },
      ctx.clock.now(),
    ),
  );
  return feesBooked;
}

async function daysOf(reader: Reader, { connection, from, to }: EffectSpan): Promise<Days> {
  const calendar = await openCalendar(reader, connection);
  return { first: calendar.dayOf(from), last: calendar.dayOf(new Date(to.getTime() - 1)) };
}

type Refusals = {
  refused: string | null;
  /** The currencies of which nothing is applied. */
  except: string[];
  /** There is no other one. */
  isWhole: boolean;
};

/** A statement of another connection or currency has nearly nothing in common with our payments. */
async function findRefusals(
  reader: Reader,
  connection: string,
  { first, last }: Days,
  only: readonly string[] | null = null,
): Promise<Refusals> {
  // A bank has many lines that are no business of the gateway.
  if (isBankPlace(connection)) return { refused: null, except: [], isWhole: false };
  const rows = await reader.query<{ currency: string; lines: number; matched: number }>(
    `select m.currency, count(*)::int as lines, (count(*) filter (where m.rule is not null))::int as matched
     from statement_matches m join statement_lines l on l.connection = m.connection and l.line_key = m.line_key
     where m.connection = $1 and m.day between $2 and $3 and l.state = 'succeeded' and l.kind in ('payment', 'reversal')
       and ($4::text[] is null or m.currency = any ($4))
     group by m.currency order by m.currency`,
    [connection, first, last, only],
  );
  const wrong = rows.filter(({ lines, matched }) => matched * 100 < lines * MIN_MATCHED_PERCENT);
  const sentences = wrong.map(
    ({ currency, matched, lines }) =>
      `Only ${matched} of ${lines} payments in ${currency} on this statement are known at ${connection}. ` +
      `It looks like the statement of another account, currency or day, so nothing in ${currency} is applied.`,
  );
  const hint =
    'If it is the right one, let two people decide about its breaks first, ' +
    `at most ${LOOKED_AT_ONE_BY_ONE} at a time.`;
  return {
    refused: wrong.length === 0 ? null : [...sentences, hint].join(' '),
    except: wrong.map(({ currency }) => currency),
    isWhole: wrong.length === rows.length,
  };
}

/** `only`: these breaks; `except`: none in these currencies. */
type Choice = { only?: readonly string[]; except?: readonly string[] };

type EvidenceRow = OperatorLine & { break_id: string; leg: string; transaction_id: string };
type StrayRow = OperatorLine & { break_id: string };

/** Lines that know an end of a transaction which we do not. */
async function readEvidence(
  reader: Reader,
  connection: string,
  { first, last }: Days,
  limit: number,
  { only, except = [] }: Choice,
): Promise<PlannedEffect[]> {
  const rows = await reader.query<EvidenceRow>(
    `select ${LINE_COLUMNS}, break_id, leg, transaction_id from (
       select l.*, b.id as break_id, b.leg, b.transaction_id from breaks b
       join statement_matches m on m.connection = b.connection and m.line_key = b.line_key
       join statement_lines l on l.connection = b.connection and l.line_key = b.line_key
       where b.connection = $1 and b.status = 'open' and b.kind = 'state' and b.day between $2 and $3
         and l.state = 'succeeded' and m.rule = any ($5) and m.transaction_id is not null
         and ($6::uuid[] is null or b.id = any ($6)) and b.currency <> all ($7)
         and not exists (select from statement_effects e
           where e.connection = b.connection and e.line_key = b.line_key and e.effect = 'evidence')
       order by l.occurred_at, l.line_key limit $4) as known
     order by occurred_at, line_key`,
    [connection, first, last, limit, STRONG_RULES, only ?? null, except],
  );
  return rows.map(({ break_id: breakId, leg, transaction_id: transactionId, ...line }) => ({
    breakId,
    effect: leg === 'payment' ? 'settle' : 'reverse',
    line,
    transactionId,
  }));
}

/** Money that came in for nobody, or a second time: under a receipt that was never used. */
async function readStrays(
  reader: Reader,
  connection: string,
  { first, last }: Days,
  limit: number,
  { only, except = [] }: Choice,
): Promise<PlannedEffect[]> {
  // What arrives at our bank is no payment of a payer.
  if (isBankPlace(connection)) return [];
  const rows = await reader.query<StrayRow>(
    `select ${LINE_COLUMNS}, break_id from (
       select l.*, b.id as break_id from breaks b join statement_lines l on l.connection = b.connection and l.line_key = b.line_key
       where b.connection = $1 and b.status = 'open' and b.kind in ('missing_with_us', 'twice') and b.day between $2 and $3
         and l.kind = 'payment' and l.direction = 'in' and l.state = 'succeeded' and l.receipt is not null and l.gross > 0
         and ($5::uuid[] is null or b.id = any ($5)) and b.currency <> all ($6)
         and not exists (select from statement_effects e
           where e.connection = b.connection and e.line_key = b.line_key and e.effect = 'suspense')
       order by l.occurred_at, l.line_key limit $4) as stray
     order by occurred_at, line_key`,
    [connection, first, last, limit, only ?? null, except],
  );
  const uses = await findReceiptUses(
    reader,
    connection,
    rows.flatMap(({ receipt }) => receipt ?? []),
  );
  const used = new Set(uses.map((use) => use.receipt));
  const free = rows.filter(({ receipt }) => receipt !== null && !used.has(receipt));
  return free.map(({ break_id: breakId, ...line }) => ({ breakId, effect: 'suspense', line, transactionId: null }));
}

/** One transaction a page; if it cannot be applied, each line alone, so that one bad line does not hold up the others. */
async function applyPage(
  ctx: PaymentsContext,
  actor: Actor,
  connection: string,
  effects: readonly PlannedEffect[],
  total: AppliedEffects,
): Promise<void> {
  const result = await ctx.db
    .transaction((tx) => applyLines(tx, ctx, actor, connection, effects))
    .catch((error: unknown) => {
      if (mayPass(error)) throw error;
      ctx.log.warn(
        { err: error, connection, lines: effects.length },
        'lines of a statement could not be applied together',
      );
      return null;
    });
  if (result === null) {
    if (effects.length > 1) for (const effect of effects) await applyPage(ctx, actor, connection, [effect], total);
    else total.unchanged++;
    return;
  }
  const { applied, events } = result;
  ctx.sendCallbacksNow(events);
  for (const { effect, changed } of applied) {
    if (!changed) total.unchanged++;
    else if (effect === 'settle') total.settled++;
    else if (effect === 'reverse') total.reversed++;
    else total.toSuspense++;
  }
}

async function applyLines(
  tx: Tx,
  ctx: PaymentsContext,
  actor: Actor,
  connection: string,
  effects: readonly PlannedEffect[],
) {
  const fresh = await claimLines(tx, connection, effects, actor.name, ctx.clock.now());
  const mine = effects.filter(({ line }) => fresh.has(line.lineKey.toString('hex')));
  const evidence = mine.filter(({ effect }) => effect !== 'suspense');
  const outcomes = evidence.map(toOutcome);
  const received = await receivePayments(
    tx,
    ctx,
    mine.filter(({ effect }) => effect === 'suspense').map(({ line }) => toPayment(line)),
    outcomes.map(({ transactionId }) => transactionId),
  );
  const settled = received.outcomes.map((outcome): Outcome => ({ ...outcome, source: 'statement' }));
  const { applied, events } = await applyOutcomes(tx, ctx, [...outcomes, ...settled], received.held);
  const changed = evidence.map(({ effect }, index) => ({ effect, changed: applied[index]?.effect === 'applied' }));
  const arrived = mine.length - evidence.length;
  const strays = Array.from({ length: arrived }, () => ({ effect: 'suspense' as const, changed: true }));
  return { applied: [...changed, ...strays], events };
}

/** Each line does each thing once: what another run has done meanwhile is left out. */
async function claimLines(
  tx: Tx,
  connection: string,
  effects: readonly PlannedEffect[],
  by: string,
  at: Date,
): Promise<Set<string>> {
  const rows = await tx.query<{ key: string }>(
    `insert into statement_effects (connection, line_key, effect, applied_by, applied_at)
     select $1, line_key, effect, $4, $5 from unnest($2::bytea[], $3::text[]) as input (line_key, effect) order by line_key
     on conflict do nothing returning encode(line_key, 'hex') as key`,
    [
      connection,
      effects.map(({ line }) => line.lineKey),
      effects.map(({ effect }) => (effect === 'suspense' ? 'suspense' : 'evidence')),
      by,
      at,
    ],
  );
  return new Set(rows.map((row) => row.key));
}

function toOutcome({ effect, line, transactionId }: PlannedEffect): Outcome {
  const { gross: amount, currency, receipt } = line;
  const about = {
    transactionId: transactionId ?? '',
    source: 'statement' as const,
    raw: rawOf(line),
    rail: line.connection,
  };
  if (effect === 'settle') return { ...about, observation: { state: 'succeeded', receipt, amount, currency } };
  // A reversal has a receipt of its own, which says nothing about that of the payment.
  const message = line.description;
  return {
    ...about,
    observation: { state: 'reversed', receipt: null, rawCode: 'statement', message, amount, currency },
  };
}

function toPayment(line: OperatorLine): IncomingPayment {
  const { gross: amount, currency, receipt, reference, msisdn: payer, connection: rail } = line;
  return {
    kind: 'payment_received',
    accountReference: reference ?? '',
    amount,
    currency,
    receipt: receipt ?? '',
    payer,
    rail,
    raw: rawOf(line),
  };
}

const rawOf = ({ raw }: OperatorLine) => raw.slice(0, MAX_RAW_CHARACTERS);
