import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../platform/clock.ts';
import { callResult, createBreakers } from './breakers.ts';

const RAIL = 'sandbox';
const MTN = 'MTN_MOMO_UGA';

function createHarness() {
  const clock = createVirtualClock('2026-03-02T09:00:00Z');
  const health = createBreakers(clock);
  const record = (result: Parameters<typeof health.record>[2], times = 1) => {
    for (let index = 0; index < times; index++) health.record(RAIL, MTN, result, 20);
  };
  const state = () => health.snapshot().find(({ operator }) => operator === MTN)?.state;
  return { clock, health, record, state };
}

test('five unanswered calls in a row open the breaker, four do not', () => {
  const { health, record, state } = createHarness();
  record('unknown', 4);
  assert.equal(health.mayCall(RAIL, MTN), true);
  record('unknown');
  assert.equal(state(), 'open');
  assert.equal(health.mayCall(RAIL, MTN), false);
  assert.equal(health.wouldCall(RAIL, MTN), false);
  assert.equal(health.mayCall(RAIL, 'AIRTEL_OAPI_UGA'), true, 'another operator is not concerned');
});

test('declined payments do not open the breaker', () => {
  const { health, record, state } = createHarness();
  record('failed', 100);
  assert.equal(state(), 'closed');
  assert.equal(health.mayCall(RAIL, MTN), true);
});

test('half of the calls of a minute unanswered opens it, even when answers come in between', () => {
  const { clock, record, state } = createHarness();
  for (let index = 0; index < 9; index++) {
    record('succeeded');
    record('unknown');
  }
  assert.equal(state(), 'closed', 'eighteen calls say too little');
  record('succeeded');
  record('unknown');
  assert.equal(state(), 'open');
  clock.advance(61_000);
  record('succeeded');
  record('unknown');
  assert.equal(state(), 'closed', 'old silences no longer count');
});

test('while the operator is down for an hour, at most one probe is sent each five seconds', () => {
  const { clock, health, record } = createHarness();
  record('unavailable', 5);
  let probes = 0;
  for (let ms = 0; ms < 3_600_000; ms += 100) {
    clock.advance(100);
    assert.equal(health.wouldCall(RAIL, MTN), health.wouldCall(RAIL, MTN), 'asking is free');
    if (health.mayCall(RAIL, MTN)) {
      probes++;
      record('unknown');
    }
  }
  assert.equal(probes, 720);
});

test('a probe that is answered closes it; one that is not waits for the next', () => {
  const { clock, health, record, state } = createHarness();
  record('unknown', 5);
  clock.advance(5_000);
  assert.equal(health.mayCall(RAIL, MTN), true);
  assert.equal(state(), 'half_open');
  assert.equal(health.mayCall(RAIL, MTN), false, 'one probe at a time');
  record('unknown');
  assert.equal(state(), 'open');
  clock.advance(5_000);
  assert.equal(health.mayCall(RAIL, MTN), true);
  record('answered');
  assert.equal(state(), 'closed');
  assert.equal(health.mayCall(RAIL, MTN), true);
});

test('success rate and median time come from what was decided and answered, within bounds', () => {
  const { clock, health } = createHarness();
  for (const [result, ms] of [
    ['succeeded', 10],
    ['succeeded', 30],
    ['failed', 20],
    ['succeeded', 40],
    ['unknown', 15_000],
    ['answered', 50],
  ] as const)
    health.record(RAIL, MTN, result, ms);
  const [summary] = health.snapshot();
  assert.equal(summary?.successRate, 0.75);
  assert.equal(summary?.medianMs, 30);
  assert.equal(summary?.silentRate, 1 / 6);
  for (let index = 0; index < 10_000; index++) health.record(RAIL, MTN, 'succeeded', 5);
  assert.equal(health.snapshot()[0]?.calls, 256);
  clock.advance(3_600_001);
  assert.deepEqual(
    [health.snapshot()[0]?.calls, health.snapshot()[0]?.medianMs, health.snapshot()[0]?.successRate],
    [0, null, null],
  );
});

test('only unanswered calls count against an operator', () => {
  const failed = { state: 'failed', rawCode: '', message: '' } as const;
  assert.equal(callResult({ state: 'unknown', reason: 'timed out' }), 'unknown');
  assert.equal(callResult({ state: 'unknown', reason: '', definitelyNotFound: true }), 'answered');
  assert.equal(callResult({ state: 'pending' }), 'answered');
  assert.equal(callResult({ state: 'succeeded', receipt: null }), 'succeeded');
  assert.equal(callResult({ ...failed, failureCode: 'WRONG_PIN' }), 'failed');
  assert.equal(callResult({ ...failed, failureCode: 'OPERATOR_UNAVAILABLE' }), 'unavailable');
});
