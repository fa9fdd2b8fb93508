// Which values of operators are used, and which are set aside.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Observation } from '../rails/rail.ts';
import { checkObservation, MAX_REPORTED_AMOUNT, visibleText } from './observations.ts';

const success = (changes: object): Observation => ({ state: 'succeeded', receipt: 'R1', ...changes }) as Observation;
const instructions = (changes: object): Observation =>
  ({
    state: 'pending',
    step: {
      kind: 'transfer',
      payTo: { kind: 'till', number: '555', name: 'Shop', bank: null },
      accountReference: 'acc-1',
      expiresAt: new Date('2026-03-02T10:00:00Z'),
      ...changes,
    },
  }) as Observation;

describe('money 17: observations', () => {
  const REFUSED: Record<string, Observation> = {
    'NUL in a receipt': success({ receipt: 'A\u0000' }),
    'a line break in a receipt': success({ receipt: 'A\nB' }),
    'half a character in a receipt': success({ receipt: '\ud800' }),
    'a receipt of 129 characters': success({ receipt: 'x'.repeat(129) }),
    'a receipt that is a number': success({ receipt: 12 }),
    'a reference of 129 characters': success({ railReference: 'x'.repeat(129) }),
    'an amount of zero': success({ amount: 0n }),
    'a negative amount': success({ amount: -1n }),
    'an amount above the limit': success({ amount: MAX_REPORTED_AMOUNT + 1n }),
    'an amount that is a number': success({ amount: 5 }),
    'a currency in small letters': success({ currency: 'ugx' }),
    'a state that nobody knows': { ...success({}), state: 'done' } as unknown as Observation,
    'a date that is none': instructions({ expiresAt: new Date('no date') }),
    'a date in the year 9999': instructions({ expiresAt: new Date('9999-01-01T00:00:00Z') }),
    'an account reference with NUL': instructions({ accountReference: 'a\u0000' }),
  };
  for (const [name, observation] of Object.entries(REFUSED))
    test(`${name} is set aside`, () => assert.notEqual(checkObservation(observation).error, null));

  test('what operators usually send is used as it is', () => {
    for (const observation of [
      success({ amount: MAX_REPORTED_AMOUNT, currency: 'UGX', railReference: 'op 1/é' }),
      success({ receipt: null }),
      instructions({}),
      { state: 'unknown', reason: 'time-out' } as const,
    ])
      assert.deepEqual(checkObservation(observation), { value: observation, error: null });
  });

  test('an empty receipt is none, and comments are cut and made visible', () => {
    assert.deepEqual(checkObservation(success({ receipt: ' ' })).value, { state: 'succeeded', receipt: null });
    const failed = { state: 'failed', failureCode: 'WRONG_PIN', rawCode: '7\u0000', message: 'm'.repeat(900) } as const;
    const { value } = checkObservation(failed);
    assert.deepEqual(value, { ...failed, rawCode: '7␀', message: 'm'.repeat(500) });
    assert.equal(visibleText('a\u0000b\nc\u0007'), 'a␀b\nc␇');
  });
});
