// What the simulated operator does, by the last three digits of the number: the table of docs/sandbox.md.
//
// The operator decides in its reply where a real one would know at once (000, 001, 003, 004). Everything else is
// answered "pending" and reported by an operator callback. Nothing is reported twice, by reply and by callback.

import type { Direction, VerificationStyle } from '../catalog/catalog.ts';
import type { FailureCode } from '../catalog/failures.ts';

export type Scenario = {
  readonly about: string;
  /** reply: decided in the reply to the submit. later: pending, then reported. never: stays pending. */
  readonly decides: 'reply' | 'later' | 'never';
  readonly outcome: 'succeed' | FailureCode;
  /** Time from the submit to the decision. */
  readonly afterMs: number;
  /** How many operator callbacks report the outcome. */
  readonly callbacks: number;
  /** Time from the success to its reversal; null: not reversed. */
  readonly reversedAfterMs: number | null;
  /** The submit is accepted but gets no response. */
  readonly silentSubmit: boolean;
  /** Once the payment is decided, the status query reports the opposite. */
  readonly queryContradicts: boolean;
  /** From the first submit on, the operator takes nothing for this long: the float is too small. Sent again later, it is taken. */
  readonly refusedForMs?: number;
};

const SUCCEEDS: Scenario = {
  about: 'approved at once',
  decides: 'reply',
  outcome: 'succeed',
  afterMs: 0,
  callbacks: 1,
  reversedAfterMs: null,
  silentSubmit: false,
  queryContradicts: false,
};
const fails = (outcome: FailureCode, about: string): Scenario => ({ ...SUCCEEDS, about, outcome });
const succeedsLater = (about: string, rest: Partial<Scenario>): Scenario => ({
  ...SUCCEEDS,
  about,
  decides: 'later',
  ...rest,
});

/** Time-outs, delays and contradictions are the same for collections and payouts. */
const BOTH_DIRECTIONS = {
  '005': succeedsLater('never answers: the status query stays pending', { decides: 'never', callbacks: 0 }),
  '006': succeedsLater('approved, operator callback twice', { callbacks: 2 }),
  '007': succeedsLater('approved after 90 s', { afterMs: 90_000 }),
  '008': succeedsLater('approved, then reversed after 60 s', { reversedAfterMs: 60_000 }),
  '009': succeedsLater('the submit times out although it was accepted; only the status query reports the success', {
    silentSubmit: true,
    callbacks: 0,
  }),
  '010': succeedsLater('the callback says approved while the status query says failed', { queryContradicts: true }),
};

export const COLLECTION_SCENARIOS: Readonly<Record<string, Scenario>> = {
  '000': SUCCEEDS,
  '001': fails('INSUFFICIENT_FUNDS', 'insufficient funds'),
  '002': { ...fails('WRONG_PIN', 'wrong PIN'), decides: 'later' },
  '003': fails('PAYER_NOT_FOUND', 'payer not found'),
  '004': fails('PAYER_LIMIT_REACHED', 'limit reached'),
  ...BOTH_DIRECTIONS,
  '011': { ...fails('PAYER_CANCELLED', 'cancelled by the payer'), decides: 'later' },
  // The gateway checks the token before it submits. Without a verified token the payer has not agreed.
  '012': fails('VERIFICATION_FAILED', 'the payer confirms with a six-digit token by SMS'),
  // Paid without further ado, so that the refund can be tried: it does what the line of its last digit says.
  '021': { ...SUCCEEDS, about: 'approved at once; a refund of it is refused' },
  '022': { ...SUCCEEDS, about: 'approved at once; a refund of it is rejected later' },
  '025': { ...SUCCEEDS, about: 'approved at once; a refund of it is never answered' },
  '027': { ...SUCCEEDS, about: 'approved at once; a refund of it takes 90 s' },
  '029': { ...SUCCEEDS, about: 'approved at once; the submit of a refund times out' },
};

export const PAYOUT_SCENARIOS: Readonly<Record<string, Scenario>> = {
  '000': SUCCEEDS,
  '001': fails('FLOAT_INSUFFICIENT', 'the float with the operator is too small'),
  '002': { ...fails('REJECTED_BY_OPERATOR', 'rejected by the operator'), decides: 'later' },
  '003': fails('RECIPIENT_NOT_FOUND', 'recipient not found'),
  '004': fails('PAYER_LIMIT_REACHED', 'the wallet of the recipient would exceed its limit'),
  ...BOTH_DIRECTIONS,
  '011': { ...fails('PAYER_BLOCKED', 'the wallet of the recipient is blocked'), decides: 'later' },
  '013': {
    ...SUCCEEDS,
    about: 'waits: the float is too small for two minutes, and nothing is taken',
    refusedForMs: 120_000,
  },
};

export const REFUND_SCENARIOS: Readonly<Record<string, Scenario>> = {
  '000': { ...SUCCEEDS, about: 'refunded at once' },
  '001': fails('FLOAT_INSUFFICIENT', 'refused: the float with the operator is too small'),
  '002': { ...fails('REJECTED_BY_OPERATOR', 'accepted, then rejected by the operator'), decides: 'later' },
  '005': BOTH_DIRECTIONS['005'],
  '006': { ...BOTH_DIRECTIONS['006'], about: 'refunded, operator callback twice' },
  '007': { ...BOTH_DIRECTIONS['007'], about: 'refunded after 90 s' },
  '009': BOTH_DIRECTIONS['009'],
  '010': { ...BOTH_DIRECTIONS['010'], about: 'the callback says refunded while the status query says failed' },
};

/** The refund of any other number: accepted, then refunded, with an SMS. */
export const REFUND_ARRIVES = 'arrives';
const REFUNDED_LATER = succeedsLater('refunded, reported by callback; the phone gets an SMS', {});

/** Any other number: the test phone decides a collection, and a payout arrives. */
const PAYOUT_ARRIVES = succeedsLater('approved, reported by callback; the phone gets an SMS', {});
const VERIFIED: Scenario = { ...SUCCEEDS, about: 'approved at once: the payer confirmed with a token' };

export type PaymentPlan =
  | { kind: 'scenario'; name: string; scenario: Scenario }
  /** The test phone decides. */
  | { kind: 'phone' }
  /** The payer sends the money, with a reference. */
  | { kind: 'instructions'; name: string; pays: Scenario | null };

type PlannedSubmission = { direction: Direction; style: VerificationStyle; msisdn: string; verified: boolean };

/** The last three digits of the number choose the scenario; a script may pass other `digits`. */
export function planFor(submission: PlannedSubmission, digits = submission.msisdn.slice(-3)): PaymentPlan {
  if (submission.direction === 'payout') {
    const scenario = PAYOUT_SCENARIOS[digits];
    return scenario
      ? { kind: 'scenario', name: digits, scenario }
      : { kind: 'scenario', name: 'arrives', scenario: PAYOUT_ARRIVES };
  }
  const scenario = COLLECTION_SCENARIOS[digits];
  if (submission.style === 'instructions') {
    // A transfer that was never made cannot fail: in the failing scenarios the payer never pays.
    const pays = scenario?.outcome === 'succeed' && scenario.decides !== 'never' ? scenario : null;
    return { kind: 'instructions', name: scenario ? digits : 'handset', pays };
  }
  if (submission.verified && (scenario === undefined || digits === '012'))
    return { kind: 'scenario', name: 'verified', scenario: VERIFIED };
  return scenario ? { kind: 'scenario', name: digits, scenario } : { kind: 'phone' };
}

/** The scenario of a stored payment; null if the test phone decides it. */
export function scenarioNamed(name: string, direction: Direction): Scenario | null {
  if (name === 'verified') return VERIFIED;
  if (name === 'arrives') return PAYOUT_ARRIVES;
  return (direction === 'payout' ? PAYOUT_SCENARIOS : COLLECTION_SCENARIOS)[name] ?? null;
}

/** The line of the table that a refund follows, by the payer's number; a script may pass other `digits`. */
export function planRefund(msisdn: string, digits = msisdn.slice(-3)): string {
  const isForRefunds = digits.startsWith('02') && Object.hasOwn(COLLECTION_SCENARIOS, digits);
  const line = isForRefunds ? `00${digits.slice(-1)}` : digits;
  return Object.hasOwn(REFUND_SCENARIOS, line) ? line : REFUND_ARRIVES;
}

export function refundScenarioNamed(name: string): Scenario {
  return REFUND_SCENARIOS[name] ?? REFUNDED_LATER;
}
