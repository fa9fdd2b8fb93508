// Every state against every observation, and what must hold in any order and any number of repetitions.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { FAILURE_CODES } from '../catalog/failures.ts';
import type { Observation } from '../rails/rail.ts';
import {
  decide,
  isFinal,
  type KnownTransaction,
  nextQueryDelayMs,
  STATUS_CODES,
  type Status,
  UNANSWERED_MS,
} from './states.ts';

const STATES = Object.keys(STATUS_CODES) as Status[];

const KNOWN: KnownTransaction = {
  status: 'pending',
  direction: 'collection',
  amount: 5_000n,
  currency: 'UGX',
  receipt: null,
};

const OBSERVATIONS = {
  unknown: { state: 'unknown', reason: 'time-out' },
  not_found: { state: 'unknown', reason: 'no such reference', definitelyNotFound: true },
  pending: { state: 'pending' },
  succeeded: { state: 'succeeded', receipt: 'R1', amount: 5_000n, currency: 'UGX' },
  succeeded_unnamed: { state: 'succeeded', receipt: null },
  other_receipt: { state: 'succeeded', receipt: 'R2', amount: 5_000n, currency: 'UGX' },
  other_amount: { state: 'succeeded', receipt: 'R1', amount: 4_999n, currency: 'UGX' },
  other_currency: { state: 'succeeded', receipt: 'R1', amount: 5_000n, currency: 'KES' },
  failed: { state: 'failed', failureCode: 'INSUFFICIENT_FUNDS', rawCode: '', message: '' },
  expired: { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: '', message: '' },
  reversed: { state: 'reversed', receipt: 'R1', rawCode: '', message: '', amount: 5_000n, currency: 'UGX' },
  reversed_other_receipt: { state: 'reversed', receipt: 'R2', rawCode: '', message: '' },
  reversed_other_amount: { state: 'reversed', receipt: 'R1', rawCode: '', message: '', amount: 1n },
} as const satisfies Record<string, Observation>;
type Said = keyof typeof OBSERVATIONS;

// What follows: the states entered, "confirmed", "ignored", or "case:kind"; "late" stands for a success that is booked
// once with a case. The receipt R1 is known in the states that have one.
const TABLE: Record<Said, Record<Status, string>> = {
  unknown: row('processing', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'),
  not_found: row('processing', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'),
  pending: row('processing', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'),
  succeeded: row('success', 'success', 'confirmed', 'late', 'late', 'confirmed'),
  succeeded_unnamed: row('success', 'success', 'confirmed', 'late', 'late', 'confirmed'),
  other_receipt: row('success', 'success', 'case:different_receipt', 'late', 'late', 'case:different_receipt'),
  other_amount: mismatch(),
  other_currency: mismatch(),
  failed: row('failed', 'failed', 'case:contradiction', 'confirmed', 'ignored', 'case:contradiction'),
  expired: row('expired', 'expired', 'case:contradiction', 'ignored', 'confirmed', 'case:contradiction'),
  reversed: row(
    'success,reversed',
    'success,reversed',
    'reversed',
    'case:contradiction',
    'case:contradiction',
    'confirmed',
  ),
  reversed_other_receipt: row(
    'success,reversed',
    'success,reversed',
    'case:different_receipt',
    'case:contradiction',
    'case:contradiction',
    'confirmed',
  ),
  reversed_other_amount: mismatch(),
};

function row(
  pending: string,
  processing: string,
  success: string,
  failed: string,
  expired: string,
  reversed: string,
): Record<Status, string> {
  return { pending, processing, success, failed, expired, reversed };
}

function mismatch(): Record<Status, string> {
  const opened = 'case:amount_mismatch';
  return row(opened, opened, opened, opened, opened, opened);
}

function known(status: Status, direction: KnownTransaction['direction'] = 'collection'): KnownTransaction {
  return { ...KNOWN, status, direction, receipt: status === 'success' || status === 'reversed' ? 'R1' : null };
}

function describeTransition(transition: ReturnType<typeof decide>): string {
  if (transition.late)
    return transition.caseKind === 'late_success' && transition.transitions.join() === 'success' ? 'late' : '?';
  if (transition.caseKind) return transition.transitions.length === 0 ? `case:${transition.caseKind}` : '?';
  return transition.transitions.length > 0 ? transition.transitions.join() : transition.effect;
}

/** A transaction that gets one observation after the other, and lists every state it entered. */
function live(observations: readonly Observation[], direction: KnownTransaction['direction'] = 'collection') {
  let now: KnownTransaction = known('pending', direction);
  const entered: Status[] = [];
  const cases: string[] = [];
  for (const observation of observations) {
    const transition = decide(now, observation);
    if (transition.caseKind) cases.push(transition.caseKind);
    for (const status of transition.transitions) {
      entered.push(status);
      const receipt = now.receipt ?? ('receipt' in observation ? observation.receipt : null);
      now = { ...now, status, receipt };
    }
  }
  return { status: now.status, entered, cases };
}

const anyObservation = fc.oneof(
  fc.constantFrom(...Object.values<Observation>(OBSERVATIONS)),
  fc.record({
    state: fc.constant('failed' as const),
    failureCode: fc.constantFrom(...FAILURE_CODES),
    rawCode: fc.string(),
    message: fc.string(),
  }),
);
const anyDirection = fc.constantFrom<KnownTransaction['direction']>('collection', 'payout');

describe('every state × every observation', () => {
  for (const [said, expectations] of Object.entries(TABLE))
    test(`${said}: ${STATES.map((status) => `${status} → ${expectations[status]}`).join(', ')}`, () => {
      for (const status of STATES)
        assert.equal(
          describeTransition(decide(known(status), OBSERVATIONS[said as Said])),
          expectations[status],
          `${status} + ${said}`,
        );
    });

  test('a payout never expires: an expired prompt is a failure of it', () => {
    for (const status of ['pending', 'processing'] as const)
      assert.deepEqual(decide(known(status, 'payout'), OBSERVATIONS.expired).transitions, ['failed']);
  });
});

describe('what holds for any history', () => {
  test('unknown outcomes never end a transaction, in any number', () => {
    const learned = fc.constantFrom(OBSERVATIONS.unknown, OBSERVATIONS.not_found, OBSERVATIONS.pending);
    fc.assert(
      fc.property(fc.array(learned, { minLength: 1, maxLength: 50 }), anyDirection, (observations, direction) => {
        assert.equal(live(observations, direction).status, 'processing');
      }),
    );
  });

  test('a final state is left in two ways only: success → reversed, and failed or expired → success, with a case', () => {
    fc.assert(
      fc.property(fc.array(anyObservation, { maxLength: 30 }), anyDirection, (observations, direction) => {
        const { entered, cases } = live(observations, direction);
        for (const [index, status] of entered.entries()) {
          const before = entered[index - 1];
          if (before === undefined || !isFinal(before)) continue;
          if (before === 'success') assert.equal(status, 'reversed');
          else {
            assert.ok(before === 'failed' || before === 'expired', `${before} → ${status}`);
            assert.equal(status, 'success');
            assert.ok(cases.includes('late_success'));
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('no state is entered twice, so money moves at most once each way', () => {
    fc.assert(
      fc.property(fc.array(anyObservation, { maxLength: 30 }), anyDirection, (observations, direction) => {
        const { entered } = live(observations, direction);
        assert.equal(new Set(entered).size, entered.length, entered.join());
      }),
      { numRuns: 2_000 },
    );
  });

  test('repetition changes nothing: a history and the same history with repetitions end in the same state', () => {
    const history = fc.array(anyObservation, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(history, fc.array(fc.nat(), { maxLength: 12 }), (observations, repeats) => {
        const repeated = observations.flatMap((observation, index) =>
          Array.from<Observation>({ length: 1 + ((repeats[index] ?? 0) % 3) }).fill(observation),
        );
        assert.deepEqual(live(repeated).entered, live(observations).entered);
      }),
      { numRuns: 2_000 },
    );
  });

  // If an operator does not contradict itself, the order in which its reports arrive must not matter.
  const TRUTHS: Record<string, Said[]> = {
    'it succeeded': ['unknown', 'pending', 'not_found', 'succeeded', 'succeeded_unnamed'],
    'it succeeded and was given back': ['unknown', 'pending', 'succeeded', 'reversed'],
    'it failed': ['unknown', 'pending', 'not_found', 'failed'],
    'it expired': ['unknown', 'pending', 'not_found', 'expired'],
  };
  for (const [truth, said] of Object.entries(TRUTHS))
    test(`${truth}: every order and duplication of the reports ends the same, without a case`, () => {
      const all = said.map((name): Observation => OBSERVATIONS[name]);
      const end = live(all);
      assert.ok(isFinal(end.status));
      fc.assert(
        fc.property(
          fc.shuffledSubarray([...all, ...all, ...all], { minLength: all.length * 3 }),
          anyDirection,
          (shuffled, direction) => {
            const result = live(shuffled, direction);
            assert.equal(result.status, truth === 'it expired' && direction === 'payout' ? 'failed' : end.status);
            assert.deepEqual(result.cases, []);
          },
        ),
      );
    });

  test('a success is never lost: with any other reports, in any order, one right success is booked', () => {
    fc.assert(
      fc.property(fc.array(anyObservation, { maxLength: 20 }), fc.nat(20), (others, position) => {
        const observations = [...others.slice(0, position), OBSERVATIONS.succeeded, ...others.slice(position)];
        const { entered } = live(observations);
        assert.equal(entered.filter((status) => status === 'success').length, 1);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('when to query again', () => {
  test('5, 10, 20, 40 seconds, 1, 2, 5 minutes, then rarer, and never at once', () => {
    const delays = Array.from({ length: 40 }, (_, attempts) => nextQueryDelayMs(attempts, 0) / 1000);
    assert.deepEqual(delays.slice(0, 7), [5, 10, 20, 40, 60, 120, 300]);
    for (const [index, delay] of delays.entries()) assert.ok(delay >= (delays[index - 1] ?? 5));
    assert.equal(nextQueryDelayMs(0, UNANSWERED_MS), 6 * 3_600_000);
  });
});
