// The simulated operator: a book of its own with the truth about every payment it was asked for, and a network in between
// that loses, delays, doubles and reorders. Everything it does follows from the seed. It never sees our database.

import type { FailureCode } from '../../src/catalog/failures.ts';
import type { Clock } from '../../src/platform/clock.ts';
import type {
  CallbackReading,
  CallbackRequest,
  CollectCall,
  Observation,
  PayoutCall,
  QueryCall,
  RailCapabilities,
  RailReply,
  TokenCall,
} from '../../src/rails/rail.ts';
import type { Random } from './random.ts';

const FAILURES: FailureCode[] = ['INSUFFICIENT_FUNDS', 'WRONG_PIN', 'PAYER_CANCELLED', 'REJECTED_BY_OPERATOR'];
/** Numbers that end so are asked for a token; those pay by themselves to a till. */
export const TOKEN_DIGITS = '012';
export const TILL_DIGITS = '020';

type State = 'pending' | 'succeeded' | 'failed' | 'expired' | 'reversed';

export type Payment = {
  reference: string;
  direction: 'collection' | 'payout';
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
  queryLies: boolean;
  till: boolean;
};

export type Incoming = { receipt: string; amount: bigint; accountReference: string };
type Message = { at: number; readings: CallbackReading[]; mustArrive: boolean };

/** How bad things are in this seed: probabilities, and what kind of operator it is. */
export type Temper = {
  silentBefore: number;
  silentAfter: number;
  arrivesLate: number;
  decidesAtOnce: number;
  fails: number;
  never: number;
  reverses: number;
  losesCallback: number;
  doublesCallback: number;
  delaysCallback: number;
  stale: number;
  lies: number;
  wrongAmount: number;
  querySilent: number;
  queryLies: number;
  /** Callbacks prove nothing: they only make us ask. */
  hints: boolean;
  idempotent: boolean;
  notFoundIsFinalAfterMs: number;
};

export function drawTemper(random: Random): Temper {
  // Most seeds have a few faults that strike often; some have none, some have all.
  const faults = (most: number) => (random.chance(0.5) ? random.next() * most : 0);
  return {
    silentBefore: faults(0.5),
    silentAfter: faults(0.5),
    arrivesLate: faults(0.4),
    decidesAtOnce: random.next(),
    fails: random.next() * 0.5,
    never: faults(0.3),
    reverses: faults(0.4),
    losesCallback: faults(0.9),
    doublesCallback: faults(0.8),
    delaysCallback: faults(0.8),
    stale: faults(0.5),
    lies: faults(0.6),
    wrongAmount: faults(0.7),
    querySilent: faults(0.7),
    queryLies: faults(0.5),
    hints: random.chance(0.2),
    idempotent: random.chance(0.8),
    notFoundIsFinalAfterMs: random.pick([0, 0, 20_000, 90_000]),
  };
}

export type SimulatedOperator = ReturnType<typeof createSimulatedOperator>;

export function createSimulatedOperator(clock: Clock, random: Random, temper: Temper, note: (line: string) => void) {
  const book = new Map<string, Payment>();
  const incoming: Incoming[] = [];
  /** Every final word about a reference that left the operator: `reference state`. */
  const said = new Set<string>();
  /** How often each reference reached the operator's door, accepted or not. */
  const submits = new Map<string, number>();
  const tokens = new Map<string, string>();
  const onTheWay: { at: number; accept(): void }[] = [];
  let messages: Message[] = [];
  /** Calls about each number and unknown reference: chance must not depend on the order of calls about others. */
  const calls = new Map<string, number>();
  let receipts = 0;
  let healed = false;

  const capabilities: RailCapabilities = {
    collections: true,
    payouts: true,
    refunds: 'none',
    sendsTokens: true,
    idempotentSubmit: temper.idempotent,
    notFoundIsFinalAfterMs: temper.notFoundIsFinalAfterMs,
  };

  function countCall(about: string): number {
    const count = (calls.get(about) ?? 0) + 1;
    calls.set(about, count);
    return count;
  }

  const strikes = (dice: Random, probability: number) => !healed && dice.chance(probability);
  const silence = (reason: string): RailReply => ({ observation: { state: 'unknown', reason }, raw: '' });

  function submit(direction: Payment['direction'], call: CollectCall | PayoutCall): RailReply {
    const count = (submits.get(call.reference) ?? 0) + 1;
    submits.set(call.reference, count);
    const dice = random.fork('submit', call.msisdn, count);
    if (strikes(dice, temper.silentBefore)) {
      note(`${call.msisdn}: ${direction} call ${count} is lost on the way`);
      return silence('connection reset');
    }
    if (strikes(dice, temper.arrivesLate)) {
      // Within the time after which "not found" may be believed. Where a collection is never submitted again, that may
      // even be wrong; about a payout a person would be misled, and only a statement of the operator could tell.
      const promised = temper.idempotent || direction === 'payout';
      const delay = Math.floor(dice.next() * (promised ? temper.notFoundIsFinalAfterMs : 600_000));
      note(`${call.msisdn}: ${direction} call ${count} arrives ${delay} ms later`);
      if (delay === 0) accept(direction, call);
      else onTheWay.push({ at: clock.millis() + delay, accept: () => accept(direction, call) });
      return silence('time-out');
    }
    const payment = accept(direction, call);
    if (strikes(dice, temper.silentAfter)) {
      note(`${call.msisdn}: ${direction} call ${count} is accepted, the answer is lost`);
      return silence('answered 502');
    }
    return reply(payment, call.msisdn);
  }

  function accept(direction: Payment['direction'], call: CollectCall | PayoutCall): Payment {
    const known = book.get(call.reference);
    if (known) {
      if (!temper.idempotent) known.accepted++;
      return known;
    }
    const fate = random.fork('fate', call.msisdn);
    const at = clock.millis();
    const till = call.msisdn.endsWith(TILL_DIGITS);
    const decidesAtOnce = !till && fate.chance(temper.decidesAtOnce);
    const never = strikes(fate, temper.never);
    const delay = fate.pick([1_000, 30_000, 90_000, 600_000, 7_200_000]);
    const fails = fate.chance(temper.fails);
    const payment: Payment = {
      reference: call.reference,
      direction,
      amount: call.amount,
      currency: call.currency,
      msisdn: call.msisdn,
      state: 'pending',
      failureCode: fate.pick(FAILURES),
      receipt: `R${++receipts}-${call.msisdn}`,
      accepted: 1,
      decideAt: decidesAtOnce ? at : never ? Number.POSITIVE_INFINITY : at + delay,
      becomes: fails ? (direction === 'collection' && fate.chance(0.3) ? 'expired' : 'failed') : 'succeeded',
      reverseAt: fate.chance(temper.reverses) ? at + delay + fate.int(1_000, 3_600_000) : Number.POSITIVE_INFINITY,
      queryLies: false,
      till,
    };
    // An operator contradicts itself about decided payments only; a caller that has its reply needs no query.
    payment.queryLies = !till && !decidesAtOnce && !temper.hints && strikes(fate, temper.queryLies);
    if (till) payment.reverseAt = Number.POSITIVE_INFINITY;
    book.set(call.reference, payment);
    if (decidesAtOnce) settle(payment, false);
    return payment;
  }

  function settle(payment: Payment, tell: boolean): void {
    payment.state = payment.becomes;
    note(`${payment.msisdn}: the operator's truth is ${payment.state}`);
    if (payment.till && payment.becomes === 'succeeded') payAtTill(payment);
    else if (tell) sendCallback(payment);
  }

  /** The payer sends money to the till: right, and sometimes also wrong, twice, or under a reference that nobody knows. */
  function payAtTill(payment: Payment): void {
    const dice = random.fork('till', payment.msisdn);
    const right = { receipt: payment.receipt, amount: payment.amount, accountReference: `acc-${payment.reference}` };
    const payments: Incoming[] = [right];
    if (strikes(dice, 0.3)) payments.push({ ...right, receipt: `${right.receipt}-w`, amount: right.amount - 100n });
    if (strikes(dice, 0.3)) payments.push({ ...right, receipt: `${right.receipt}-w2`, amount: right.amount + 100n });
    if (strikes(dice, 0.3)) payments.push({ ...right, receipt: `${right.receipt}-2` });
    if (strikes(dice, 0.2)) payments.push({ ...right, receipt: `${right.receipt}-u`, accountReference: 'mistyped' });
    incoming.push(...payments);
    for (const paid of payments)
      send(dice, { kind: 'payment_received', ...paid, currency: payment.currency, payer: payment.msisdn }, true);
  }

  function sendCallback(payment: Payment): void {
    const dice = random.fork('callback', payment.msisdn, payment.state);
    const { reference } = payment;
    if (temper.hints) {
      if (!strikes(dice, temper.losesCallback)) send(dice, { kind: 'hint', reference }, false);
      return;
    }
    // A lie, here or in a query, is only ever found out because the truth is told as well.
    const lie = payment.state !== 'reversed' && strikes(dice, temper.lies);
    const mustArrive = lie || payment.queryLies;
    const observation = observe(payment);
    if (mustArrive || !strikes(dice, temper.losesCallback))
      send(dice, { kind: 'proof', reference, observation }, mustArrive);
    if (lie) {
      note(`${payment.msisdn}: a callback will say the opposite`);
      send(dice, { kind: 'proof', reference, observation: opposite(payment) }, false);
    }
    if (strikes(dice, temper.stale)) send(dice, { kind: 'proof', reference, observation: { state: 'pending' } }, false);
    if (strikes(dice, temper.wrongAmount)) {
      const wrong = { state: 'succeeded', receipt: payment.receipt, amount: payment.amount + 1n } as const;
      send(dice, { kind: 'proof', reference, observation: { ...wrong, currency: payment.currency } }, false);
    }
  }

  function send(dice: Random, reading: CallbackReading, mustArrive: boolean): void {
    const copies = strikes(dice, temper.doublesCallback) ? dice.int(2, 4) : 1;
    for (let copy = 0; copy < copies; copy++) {
      const delay = strikes(dice, temper.delaysCallback) ? dice.pick([500, 20_000, 400_000, 9_000_000]) : 0;
      messages.push({ at: clock.millis() + delay, readings: [reading], mustArrive });
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
      case 'reversed':
        return { state: 'reversed', receipt, rawCode: '', message: '', amount, currency };
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
  function reply(payment: Payment, msisdn: string, lying = false): RailReply {
    let observation = lying ? opposite(payment) : observe(payment);
    if (observation.state === 'pending' && payment.till)
      observation = {
        state: 'pending',
        instructions: {
          payTo: { kind: 'till', number: '555000', name: 'Shop', bank: null },
          accountReference: `acc-${payment.reference}`,
          expiresAt: new Date(clock.millis() + 1_800_000),
        },
      };
    said.add(`${payment.reference} ${observation.state}`);
    return { observation, raw: `${msisdn} is ${observation.state}` };
  }

  return {
    capabilities,
    book: book as ReadonlyMap<string, Payment>,
    incoming: incoming as readonly Incoming[],
    said: said as ReadonlySet<string>,
    submits: submits as ReadonlyMap<string, number>,
    /** The token in the newest SMS to a number. */
    tokenFor: (msisdn: string) => tokens.get(msisdn) ?? null,

    collect: (call: CollectCall) => submit('collection', call),
    payout: (call: PayoutCall) => submit('payout', call),

    query(call: QueryCall): RailReply {
      const payment = book.get(call.reference);
      const about = payment?.msisdn ?? 'nobody';
      const dice = random.fork('query', about, countCall(`query ${about}`));
      if (strikes(dice, temper.querySilent)) return silence('time-out');
      if (!payment)
        return {
          observation: { state: 'unknown', reason: 'no such payment', definitelyNotFound: true },
          raw: 'not found',
        };
      const lying = payment.queryLies && (payment.state === 'succeeded' || payment.state === 'failed') && !healed;
      return reply(payment, payment.msisdn, lying);
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
        if (payment.state === 'succeeded' && payment.reverseAt <= now) {
          payment.state = 'reversed';
          note(`${payment.msisdn}: the operator gives it back`);
          sendCallback({ ...payment });
          // Whatever else is lost, a reversal is told until it is heard: nobody asks about what has ended.
          messages.push({
            at: now,
            readings: [{ kind: 'proof', reference: payment.reference, observation: observe(payment) }],
            mustArrive: true,
          });
        }
      }
    },

    /** Messages that are due, oldest first; each is given out once. */
    takeDue(): Message[] {
      const now = clock.millis();
      const due = messages.filter((message) => message.at <= now).sort((left, right) => left.at - right.at);
      messages = messages.filter((message) => message.at > now);
      for (const { readings } of due)
        for (const reading of readings)
          if (reading.kind === 'proof' && saysOurAmount(reading.reference, reading.observation))
            said.add(`${reading.reference} ${reading.observation.state}`);
      return due;
    },
    /** Nobody answered 200: it is sent again later, or given up. */
    sendAgain(message: Message, dice: Random): void {
      if (message.mustArrive || dice.chance(0.7))
        messages.push({ ...message, at: clock.millis() + dice.int(1_000, 120_000) });
    },
    waiting: () => messages.length + onTheWay.length,

    /** From now on everything works, and everything that was left open is decided. */
    heal(): void {
      healed = true;
      const now = clock.millis();
      for (const payment of book.values())
        if (payment.state === 'pending' && payment.decideAt === Number.POSITIVE_INFINITY) payment.decideAt = now;
      messages = messages.map((message) => ({ ...message, at: Math.min(message.at, now) }));
    },
  };
}

export function writeMessage(readings: CallbackReading[]): Buffer {
  const text = JSON.stringify(readings, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  return Buffer.from(text);
}

export function readMessage(request: CallbackRequest): CallbackReading[] {
  return JSON.parse(request.body.toString(), (_, value: unknown) =>
    typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  ) as CallbackReading[];
}
