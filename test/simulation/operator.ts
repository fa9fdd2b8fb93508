// The simulated operator: a book of its own with the truth about every payment it was asked for, and a network in between
// that loses, delays, doubles and reorders. Everything it does follows from the seed. It never sees our database.

import type { FailureCode } from '../../src/catalog/failures.ts';
import type { Clock } from '../../src/platform/clock.ts';
import { createHolderUuid, createRefundUuid, publicId } from '../../src/platform/ids.ts';
import type {
  CallbackReading,
  CollectCall,
  Observation,
  PayoutCall,
  QueryCall,
  RailCapabilities,
  RailReply,
  RefundCall,
  TokenCall,
} from '../../src/rails/rail.ts';
import { CURRENCY } from '../payments.ts';
import type { Random } from './random.ts';
import type { Temper } from './temper.ts';
import { drawBadReading } from './wire.ts';

const FAILURES: FailureCode[] = ['INSUFFICIENT_FUNDS', 'WRONG_PIN', 'PAYER_CANCELLED', 'REJECTED_BY_OPERATOR'];
/** Numbers that end so are asked for a token; those pay by themselves to a till. */
export const TOKEN_DIGITS = '012';
export const TILL_DIGITS = '020';

type State = 'pending' | 'succeeded' | 'failed' | 'expired' | 'reversed';

export type Payment = {
  reference: string;
  direction: 'collection' | 'payout' | 'refund';
  /** What its chances are drawn by: references are random, so they cannot be. */
  name: string;
  amount: bigint;
  currency: string;
  msisdn: string;
  state: State;
  failureCode: FailureCode;
  receipt: string;
  /** How often the operator took it on; more than once only where it does not know a reference again. */
  accepted: number;
  decideAt: number;
  becomes: 'succeeded' | 'failed' | 'expired';
  reverseAt: number;
  /** What a reversal took back: all that refunds had left. */
  takenBack: bigint;
  /** A reversal is reported with what it took back instead of the whole amount. */
  namesRest: boolean;
  queryLies: boolean;
  queryStuck: boolean;
  till: boolean;
  /** Of a refund: the collection that it gives back. */
  collection: string | null;
  changedAt: number;
};

export type Incoming = { receipt: string; amount: bigint; accountReference: string; at: number; payer: string };
type Message = { at: number; readings: CallbackReading[]; mustArrive: boolean };

export type SimulatedOperator = ReturnType<typeof createSimulatedOperator>;

type Call = Pick<CollectCall, 'reference' | 'msisdn' | 'amount' | 'currency'> & Partial<Pick<RefundCall, 'collection'>>;

/** What the operator holds for us because of a payment: plus for money to us. */
export function truthOf(payment: Payment | undefined): bigint {
  if (payment?.state === 'reversed') return signOf(payment) * (payment.amount - payment.takenBack);
  return payment?.state === 'succeeded' ? signOf(payment) * payment.amount : 0n;
}

function signOf({ direction }: Payment): bigint {
  return direction === 'collection' ? 1n : -1n;
}

export function createSimulatedOperator(clock: Clock, random: Random, temper: Temper, note: (line: string) => void) {
  const book = new Map<string, Payment>();
  const incoming: Incoming[] = [];
  /** Every final word about a reference that left the operator: `reference state`. */
  const said = new Set<string>();
  /** How often each reference reached the operator's door, accepted or not. */
  const submits = new Map<string, number>();
  /** People decided about these: the operator says the truth about them until it is heard. */
  const mustTell = new Set<string>();
  const names = new Map<string, string>();
  const tokens = new Map<string, string>();
  const onTheWay: { at: number; accept(): void }[] = [];
  let messages: Message[] = [];
  /** Calls about each number and unknown reference: chance must not depend on the order of calls about others. */
  const calls = new Map<string, number>();
  let receipts = 0;
  let lastReceipt: string | null = null;
  let heardBad = 0;
  let healed = false;
  /** When a message about each reference or receipt was last given out. */
  const lastSentAt = new Map<string, number>();
  /** Payouts and refunds that were sent although the operator knew them already. */
  const sentTwice: string[] = [];

  const capabilities: RailCapabilities = {
    idempotentSubmit: temper.idempotent,
    query: 'answers',
    firstQueryAfterMs: 0,
    notFoundIsFinalAfterMs: temper.notFoundIsFinalAfterMs,
    callsPerSecond: null,
    refunds: temper.refunds,
    sendsTokens: true,
    decimals: 2,
  };

  function countCall(about: string): number {
    const count = (calls.get(about) ?? 0) + 1;
    calls.set(about, count);
    return count;
  }

  const strikes = (dice: Random, probability: number) => !healed && dice.chance(probability);
  const silence = (reason: string): RailReply => ({ observation: { state: 'unknown', reason }, raw: '' });

  /** The number, and for refunds of it and for orders made anew after a restore also a count. */
  function nameOf({ reference, msisdn }: Call): string {
    const known = names.get(reference);
    if (known !== undefined) return known;
    const count = countCall(`name ${msisdn}`);
    const name = count === 1 ? msisdn : `${msisdn} (${count})`;
    names.set(reference, name);
    return name;
  }

  function submit(direction: Payment['direction'], call: Call): RailReply {
    const name = nameOf(call);
    const count = (submits.get(call.reference) ?? 0) + 1;
    submits.set(call.reference, count);
    if (direction !== 'collection' && book.has(call.reference)) sentTwice.push(call.reference);
    const dice = random.fork('submit', name, count);
    if (strikes(dice, temper.silentBefore)) {
      note(`${name}: ${direction} call ${count} is lost on the way`);
      return silence('connection reset');
    }
    if (strikes(dice, temper.arrivesLate)) {
      // Within the time after which "not found" may be believed. Where a collection is never submitted again, that may
      // even be wrong; about a payout a person would be misled, and only a statement of the operator could tell.
      const promised = temper.idempotent || direction !== 'collection';
      const delay = Math.floor(dice.next() * (promised ? temper.notFoundIsFinalAfterMs : 600_000));
      note(`${name}: ${direction} call ${count} arrives ${delay} ms later`);
      if (delay === 0) accept(direction, call);
      else onTheWay.push({ at: clock.millis() + delay, accept: () => accept(direction, call) });
      return silence('time-out');
    }
    const payment = accept(direction, call);
    if (strikes(dice, temper.silentAfter)) {
      note(`${name}: ${direction} call ${count} is accepted, the answer is lost`);
      return silence('answered 502');
    }
    return reply(payment);
  }

  function accept(direction: Payment['direction'], call: Call): Payment {
    const known = book.get(call.reference);
    if (known) {
      if (!temper.idempotent) known.accepted++;
      return known;
    }
    const name = nameOf(call);
    const fate = random.fork('fate', name);
    const at = clock.millis();
    const till = direction === 'collection' && call.msisdn.endsWith(TILL_DIGITS);
    const decidesAtOnce = !till && fate.chance(temper.decidesAtOnce);
    const never = strikes(fate, temper.never);
    const delay = fate.pick([1_000, 30_000, 90_000, 600_000, 7_200_000]);
    const fails = fate.chance(temper.fails);
    const repeated = strikes(fate, temper.repeatsReceipt) && !till ? lastReceipt : null;
    const payment: Payment = {
      reference: call.reference,
      direction,
      name,
      amount: call.amount,
      currency: call.currency,
      msisdn: call.msisdn,
      state: 'pending',
      failureCode: fate.pick(FAILURES),
      receipt: repeated ?? `R${++receipts}-${call.msisdn}`,
      accepted: 1,
      decideAt: decidesAtOnce ? at : never ? Number.POSITIVE_INFINITY : at + delay,
      becomes: fails ? (direction === 'collection' && fate.chance(0.3) ? 'expired' : 'failed') : 'succeeded',
      reverseAt: fate.chance(temper.reverses) ? at + delay + fate.int(1_000, 3_600_000) : Number.POSITIVE_INFINITY,
      takenBack: 0n,
      namesRest: fate.chance(0.5),
      queryLies: false,
      queryStuck: strikes(fate, temper.queryStuck),
      till,
      collection: call.collection?.reference ?? null,
      changedAt: at,
    };
    // An operator contradicts itself about decided payments only; a caller that has its reply needs no query.
    payment.queryLies = !till && !decidesAtOnce && !temper.hints && strikes(fate, temper.queryLies);
    // An operator that cannot refund does not know that a payout was one: it would take the same money back twice.
    const isRefund = call.reference.startsWith('RF_');
    const mayRepay = direction === 'collection' && temper.refunds !== 'partial';
    if (till || isRefund || mayRepay) payment.reverseAt = Number.POSITIVE_INFINITY;
    if (!till) lastReceipt = payment.receipt;
    book.set(call.reference, payment);
    if (decidesAtOnce) settle(payment, false);
    return payment;
  }

  /** What a collection still has that was not given back, nor is about to be by an older refund. */
  function leftOf(collection: Payment, besides?: Payment): bigint {
    let left = collection.state === 'succeeded' ? collection.amount : 0n;
    for (const other of book.values()) {
      if (other === besides || other.collection !== collection.reference) continue;
      if (other.state === 'succeeded') left -= other.amount;
    }
    return left;
  }

  function settle(payment: Payment, tellsNow: boolean): void {
    payment.state = payment.becomes;
    payment.changedAt = clock.millis();
    const collection = payment.collection === null ? null : book.get(payment.collection);
    if (collection && payment.state === 'succeeded' && leftOf(collection, payment) < payment.amount) {
      payment.state = 'failed';
      payment.failureCode = 'REJECTED_BY_OPERATOR';
    }
    note(`${payment.name}: the operator's truth is ${payment.state}`);
    if (payment.till && payment.becomes === 'succeeded') payAtTill(payment);
    else if (tellsNow) sendCallback(payment);
    else if (mustTell.has(payment.reference)) tell(payment);
  }

  /** The payer sends money to the till: right, and sometimes also wrong, twice, or under a reference that nobody knows. */
  function payAtTill(payment: Payment): void {
    const dice = random.fork('till', payment.name);
    const at = clock.millis();
    const accountReference = `acc-${payment.reference}`;
    const right = { receipt: payment.receipt, amount: payment.amount, accountReference, at, payer: payment.msisdn };
    const payments: Incoming[] = [right];
    if (strikes(dice, 0.3)) payments.push({ ...right, receipt: `${right.receipt}-w`, amount: right.amount - 100n });
    if (strikes(dice, 0.3)) payments.push({ ...right, receipt: `${right.receipt}-w2`, amount: right.amount + 100n });
    if (strikes(dice, 0.3)) payments.push({ ...right, receipt: `${right.receipt}-2` });
    if (strikes(dice, 0.2)) payments.push({ ...right, receipt: `${right.receipt}-u`, accountReference: 'mistyped' });
    incoming.push(...payments);
    for (const paid of payments) send(dice, receivedReading(paid), true);
  }

  function receivedReading({ receipt, amount, accountReference, payer }: Incoming): CallbackReading {
    return { kind: 'payment_received', receipt, amount, accountReference, payer, currency: CURRENCY };
  }

  function sendCallback(payment: Payment): void {
    const dice = random.fork('callback', payment.name, payment.state);
    const { reference, direction } = payment;
    if (temper.hints) {
      if (!strikes(dice, temper.losesCallback)) send(dice, { kind: 'hint', reference }, false);
      return;
    }
    // A lie, here or in a query, is only ever found out because the truth is told as well.
    const lie = payment.state !== 'reversed' && strikes(dice, temper.lies);
    const mustArrive = lie || payment.queryLies || mustTell.has(reference);
    const observation = observe(payment);
    if (mustArrive || !strikes(dice, temper.losesCallback))
      send(dice, { kind: 'proof', reference, direction, observation }, mustArrive);
    if (lie) {
      note(`${payment.name}: a callback will say the opposite`);
      send(dice, { kind: 'proof', reference, direction, observation: opposite(payment) }, false);
    }
    if (strikes(dice, temper.stale))
      send(dice, { kind: 'proof', reference, direction, observation: { state: 'pending' } }, false);
    if (strikes(dice, temper.wrongAmount)) {
      const wrong = { state: 'succeeded', receipt: payment.receipt, amount: payment.amount + 1n } as const;
      send(dice, { kind: 'proof', reference, direction, observation: { ...wrong, currency: payment.currency } }, false);
    }
  }

  function send(dice: Random, reading: CallbackReading, mustArrive: boolean): void {
    const copies = strikes(dice, temper.doublesCallback) ? dice.int(2, 4) : 1;
    const readings = [reading];
    if (!temper.hints && strikes(dice, temper.badValues))
      readings.unshift(drawBadReading(dice, 'reference' in reading ? reading.reference : ''));
    for (let copy = 0; copy < copies; copy++) {
      const delay = strikes(dice, temper.delaysCallback) ? dice.pick([500, 20_000, 400_000, 9_000_000]) : 0;
      messages.push({ at: clock.millis() + delay, readings, mustArrive });
    }
  }

  function observe(payment: Payment): Observation {
    const { amount, currency, receipt } = payment;
    switch (payment.state) {
      case 'pending':
        return { state: 'pending' };
      case 'succeeded':
        return { state: 'succeeded', receipt, amount, currency };
      case 'failed':
        return { state: 'failed', failureCode: payment.failureCode, rawCode: '', message: '' };
      case 'expired':
        return { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: '', message: '' };
      case 'reversed': {
        const named = payment.namesRest ? payment.takenBack : amount;
        return { state: 'reversed', receipt, rawCode: '', message: '', amount: named, currency };
      }
    }
  }

  /** A word about another amount proves nothing about this payment. */
  function saysOurAmount(reference: string, observation: Observation): boolean {
    return !('amount' in observation) || observation.amount === book.get(reference)?.amount;
  }

  function opposite(payment: Payment): Observation {
    const { amount, currency, receipt } = payment;
    return payment.state === 'succeeded'
      ? { state: 'failed', failureCode: 'UNSPECIFIED', rawCode: '', message: '' }
      : { state: 'succeeded', receipt, amount, currency };
  }

  /** What the operator's answer says; whatever leaves it counts as said. */
  function reply(payment: Payment, shown: (payment: Payment) => Observation = observe): RailReply {
    let observation = shown(payment);
    if (observation.state === 'pending' && payment.till)
      observation = {
        state: 'pending',
        step: {
          kind: 'transfer',
          payTo: { kind: 'till', number: '555000', name: 'Shop', bank: null },
          accountReference: `acc-${payment.reference}`,
          expiresAt: new Date(clock.millis() + 1_800_000),
        },
      };
    said.add(`${payment.reference} ${observation.state}`);
    return { observation, raw: `${payment.name} is ${observation.state}` };
  }

  function reverse(payment: Payment): void {
    const rest = payment.direction === 'collection' ? leftOf(payment) : payment.amount;
    payment.reverseAt = Number.POSITIVE_INFINITY;
    if (rest <= 0n) return;
    payment.takenBack = rest;
    payment.state = 'reversed';
    payment.changedAt = clock.millis();
    note(`${payment.name}: the operator reverses it`);
    sendCallback({ ...payment });
    // Whatever else is lost, a reversal is told until it is heard: nobody asks about what has ended.
    tell(payment);
  }

  /** Says the truth about a payment, until it is heard. */
  function tell(payment: Payment): void {
    const { reference, direction } = payment;
    const reading: CallbackReading = { kind: 'proof', reference, direction, observation: observe(payment) };
    if (payment.state !== 'pending') messages.push({ at: clock.millis(), readings: [reading], mustArrive: true });
  }

  return {
    temper,
    capabilities,
    book: book as ReadonlyMap<string, Payment>,
    incoming: incoming as readonly Incoming[],
    said: said as ReadonlySet<string>,
    submits: submits as ReadonlyMap<string, number>,
    sentTwice: sentTwice as readonly string[],
    /** How many messages with a value that cannot be right were taken. */
    heardBad: () => heardBad,
    countBad(message: Message): void {
      if (message.readings.length > 1) heardBad++;
    },
    /** The token in the newest SMS to a number. */
    tokenFor: (msisdn: string) => tokens.get(msisdn) ?? null,

    collect: (call: CollectCall) => submit('collection', call),
    payout: (call: PayoutCall) => submit('payout', call),
    refund: (call: RefundCall) => submit('refund', call),

    query(call: QueryCall): RailReply {
      const payment = book.get(call.reference);
      const about = payment?.name ?? 'nobody';
      const dice = random.fork('query', about, countCall(`query ${about}`));
      if (strikes(dice, temper.querySilent)) return silence('time-out');
      if (!payment)
        return {
          observation: { state: 'unknown', reason: 'no such payment', definitelyNotFound: true },
          raw: 'not found',
        };
      if (payment.queryStuck && !healed) return reply(payment, () => ({ state: 'pending' }));
      const lying = payment.queryLies && (payment.state === 'succeeded' || payment.state === 'failed') && !healed;
      return reply(payment, lying ? opposite : observe);
    },

    sendToken({ msisdn, text }: TokenCall): { sent: boolean; raw: string } {
      if (strikes(random.fork('sms', msisdn, countCall(`sms ${msisdn}`)), temper.silentBefore))
        return { sent: false, raw: 'no answer' };
      tokens.set(msisdn, text.slice(0, 6));
      return { sent: true, raw: '' };
    },

    /** Time passed: late requests arrive, payments are decided and given back. */
    tick(): void {
      const now = clock.millis();
      for (const late of onTheWay.splice(0)) {
        if (late.at <= now) late.accept();
        else onTheWay.push(late);
      }
      for (const payment of book.values()) {
        if (payment.state === 'pending' && payment.decideAt <= now) settle(payment, true);
        if (payment.state === 'succeeded' && payment.reverseAt <= now) reverse(payment);
      }
    },

    /** Somebody else has the same account at the operator. We hear of a payment that is not ours. */
    payElsewhere(dice: Random, direction: Payment['direction']): void {
      const id = direction === 'refund' ? createRefundUuid : createHolderUuid;
      const reference = publicId(direction === 'refund' ? 'RF' : 'TX', id(clock.millis(), 1n));
      const call = { reference, msisdn: '256790000100', amount: BigInt(dice.int(5, 90)) * 10_000n, currency: CURRENCY };
      const payment = accept(direction, call);
      payment.decideAt = Number.POSITIVE_INFINITY;
      if (payment.state === 'pending') payment.state = 'succeeded';
      note(`${payment.name}: a ${direction} of another installation is ${payment.state}`);
      const message = { kind: 'proof', reference, direction, observation: observe(payment) } as const;
      send(dice, message, true);
    },

    /** Messages that are due, oldest first; each is given out once. */
    takeDue(): Message[] {
      const now = clock.millis();
      const due = messages.filter((message) => message.at <= now).sort((left, right) => left.at - right.at);
      messages = messages.filter((message) => message.at > now);
      for (const reading of due.flatMap((message) => message.readings)) {
        if (reading.kind === 'payment_received') lastSentAt.set(reading.receipt, now);
        if (reading.kind === 'proof') lastSentAt.set(reading.reference, now);
        if (reading.kind === 'proof' && saysOurAmount(reading.reference, reading.observation))
          said.add(`${reading.reference} ${reading.observation.state}`);
      }
      return due;
    },
    /** Nobody answered 200: it is sent again later, or given up. */
    sendAgain(message: Message, dice: Random): void {
      if (message.mustArrive || dice.chance(0.7))
        messages.push({ ...message, at: clock.millis() + dice.int(1_000, 120_000) });
    },
    /** What will still happen without anybody asking for it. */
    waiting(): number {
      const reversals = [...book.values()].filter(
        ({ state, reverseAt }) => state === 'succeeded' && reverseAt < Infinity,
      );
      return messages.length + onTheWay.length + reversals.length;
    },

    /** People decided about this reference: the truth about it will be told, now and whenever it changes. */
    tellAbout(reference: string): void {
      mustTell.add(reference);
    },
    /** After a restore the operator is asked to send once more whatever happened, or was sent, since the backup. */
    tellSince(moment: number): void {
      const isLost = (changedAt: number, about: string) => Math.max(changedAt, lastSentAt.get(about) ?? 0) >= moment;
      for (const payment of book.values()) if (isLost(payment.changedAt, payment.reference)) tell(payment);
      for (const paid of incoming)
        if (isLost(paid.at, paid.receipt))
          messages.push({ at: clock.millis(), readings: [receivedReading(paid)], mustArrive: true });
    },

    /** From now on everything works, and everything that was left open is decided. */
    heal(): void {
      healed = true;
      const now = clock.millis();
      for (const payment of book.values())
        if (payment.state === 'pending' && payment.decideAt === Number.POSITIVE_INFINITY) payment.decideAt = now;
      messages = messages.map((message) => ({ ...message, at: Math.min(message.at, now) }));
      for (const reference of mustTell) {
        const payment = book.get(reference);
        if (payment) tell(payment);
      }
    },
  };
}
