// What the simulated operator does, by the last three digits of the number. Pure: this is the table that the
// documentation prints.
//
// The operator decides in its reply where a real one would know at once (000, 001, 003, 004); everything else is
// answered "pending" and told by an operator callback. It never calls back about what its reply already said.

import type { Direction, Method } from '../catalog/catalog.ts';
import type { FailureCode } from '../catalog/failures.ts';

export type Style = Method['verification'];

export type Scenario = {
  readonly about: string;
  /** reply: decided in the answer to the submit. later: pending, then told. never: pending for ever. */
  readonly decides: 'reply' | 'later' | 'never';
  readonly outcome: 'succeed' | FailureCode;
  /** How long after the submit it is decided. */
  readonly afterMs: number;
  /** How often the outcome is called back. */
  readonly callbacks: number;
  /** After a success, the money goes back this long afterwards. */
  readonly reversedAfterMs: number | null;
  /** The submit is accepted and then never answered. */
  readonly silentSubmit: boolean;
  /** Once decided, the status query says the opposite. */
  readonly queryContradicts: boolean;
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
const refused = (outcome: FailureCode, about: string): Scenario => ({ ...SUCCEEDS, about, outcome });
const approvedLater = (about: string, rest: Partial<Scenario>): Scenario => ({
  ...SUCCEEDS,
  about,
  decides: 'later',
  ...rest,
});

/** The scenarios of time-outs, delays and contradictions are the same in both directions. */
const EITHER_WAY = {
  '005': approvedLater('never answers: the status query says pending for ever', { decides: 'never', callbacks: 0 }),
  '006': approvedLater('approved, operator callback twice', { callbacks: 2 }),
  '007': approvedLater('approved after 90 s', { afterMs: 90_000 }),
  '008': approvedLater('approved, then reversed after 60 s', { reversedAfterMs: 60_000 }),
  '009': approvedLater('the submit times out although it was accepted; only the status query tells', {
    silentSubmit: true,
    callbacks: 0,
  }),
  '010': approvedLater('the callback says approved while the status query says failed', { queryContradicts: true }),
};

export const COLLECTION_SCENARIOS: Readonly<Record<string, Scenario>> = {
  '000': SUCCEEDS,
  '001': refused('INSUFFICIENT_FUNDS', 'insufficient funds'),
  '002': { ...refused('WRONG_PIN', 'wrong PIN'), decides: 'later' },
  '003': refused('PAYER_NOT_FOUND', 'payer not found'),
  '004': refused('PAYER_LIMIT_REACHED', 'limit reached'),
  ...EITHER_WAY,
  '011': { ...refused('PAYER_CANCELLED', 'cancelled by the payer'), decides: 'later' },
  // The gateway checks the token before it submits. Submitted without one, there is nobody who agreed.
  '012': refused('VERIFICATION_FAILED', 'submitted without a verified token'),
};

export const PAYOUT_SCENARIOS: Readonly<Record<string, Scenario>> = {
  '000': SUCCEEDS,
  '001': refused('FLOAT_INSUFFICIENT', 'the float with the operator is too small'),
  '002': { ...refused('REJECTED_BY_OPERATOR', 'rejected by the operator'), decides: 'later' },
  '003': refused('RECIPIENT_NOT_FOUND', 'recipient not found'),
  '004': refused('PAYER_LIMIT_REACHED', 'the wallet of the recipient would exceed its limit'),
  ...EITHER_WAY,
  '011': { ...refused('PAYER_BLOCKED', 'the wallet of the recipient is blocked'), decides: 'later' },
};

/** Any other number: the handset decides (collection), or the money simply arrives (payout). */
const PAYOUT_ARRIVES = approvedLater('approved, told by callback; the phone gets an SMS', {});
const VERIFIED: Scenario = { ...SUCCEEDS, about: 'approved at once: the payer confirmed with a token' };

export type Plan =
  | { kind: 'scenario'; name: string; scenario: Scenario }
  /** The test phone decides. */
  | { kind: 'handset' }
  /** The payer sends the money himself, with a reference. */
  | { kind: 'instructions'; name: string; pays: Scenario | null };

export type PlanInput = { direction: Direction; style: Style; msisdn: string; verified: boolean };

/** `digits` stands in for the last three digits of the number: a script may choose another line of the table. */
export function planFor(input: PlanInput, digits = input.msisdn.slice(-3)): Plan {
  if (input.direction === 'payout') {
    const scenario = PAYOUT_SCENARIOS[digits];
    return scenario
      ? { kind: 'scenario', name: digits, scenario }
      : { kind: 'scenario', name: 'arrives', scenario: PAYOUT_ARRIVES };
  }
  const scenario = COLLECTION_SCENARIOS[digits];
  if (input.style === 'instructions') {
    // Nobody can refuse a transfer that was never made: the refusing scenarios are payers who never pay.
    const pays = scenario?.outcome === 'succeed' && scenario.decides !== 'never' ? scenario : null;
    return { kind: 'instructions', name: scenario ? digits : 'handset', pays };
  }
  if (input.verified && (scenario === undefined || digits === '012'))
    return { kind: 'scenario', name: 'verified', scenario: VERIFIED };
  return scenario ? { kind: 'scenario', name: digits, scenario } : { kind: 'handset' };
}

/** The scenario that a stored payment follows; null for those that a handset decides. */
export function scenarioNamed(name: string, direction: Direction): Scenario | null {
  if (name === 'verified') return VERIFIED;
  if (name === 'arrives') return PAYOUT_ARRIVES;
  return (direction === 'payout' ? PAYOUT_SCENARIOS : COLLECTION_SCENARIOS)[name] ?? null;
}
