// The stage of a payment at each moment: unknown is never failed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Status } from '../payments/states.ts';
import type { Transaction } from '../payments/transactions.ts';
import { isWaiting, type Stage, stageOf } from './stages.ts';

const START = new Date('2026-03-02T09:00:00Z');
const after = (ms: number) => new Date(START.getTime() + ms);

function transaction(status: Status, verification: Transaction['verification']): Transaction {
  return { status, verification, created_at: START, updated_at: START } as Transaction;
}

const PAY_TO = {
  kind: 'transfer',
  payTo: { kind: 'till', number: '1', name: 'A', bank: null },
  accountReference: 'R',
  expiresAt: after(1_800_000),
} as const;

const TABLE: [Status, Transaction['verification'], number, Stage][] = [
  ['pending', 'prompt', 0, 'prompt'],
  ['processing', 'prompt', 170_000, 'prompt'],
  ['processing', 'prompt', 181_000, 'unclear'],
  ['processing', 'shortcode', 300_000, 'shortcode'],
  ['processing', 'shortcode', 361_000, 'unclear'],
  ['pending', 'otp', 500_000, 'otp'],
  ['processing', 'otp', 10_000, 'working'],
  ['processing', 'otp', 91_000, 'unclear'],
  ['pending', 'instructions', 0, 'working'],
  ['success', 'prompt', 9_000_000, 'paid'],
  ['failed', 'prompt', 0, 'failed'],
  ['expired', 'otp', 0, 'expired'],
  ['reversed', 'prompt', 0, 'reversed'],
];

for (const [status, verification, ms, stage] of TABLE)
  test(`${status}, ${verification}, after ${ms / 1000} s: ${stage}`, () =>
    assert.equal(stageOf(transaction(status, verification), null, after(ms)), stage));

test('a payer who sends the money directly sees where to, until well after the deadline', () => {
  const open = transaction('processing', 'instructions');
  assert.equal(stageOf(open, PAY_TO, after(1_799_000)), 'instructions');
  assert.equal(stageOf(open, PAY_TO, after(1_891_000)), 'unclear');
});

test('a step of the operator decides, until well after its end', () => {
  const open = transaction('processing', 'prompt');
  const page = { kind: 'redirect', url: 'https://pay.example.com/x', expiresAt: after(600_000) } as const;
  assert.equal(stageOf(open, page, after(599_000)), 'outside');
  assert.equal(stageOf(open, page, after(691_000)), 'unclear');
  assert.equal(stageOf(open, { kind: 'code', text: null }, after(300_000)), 'code');
  assert.equal(stageOf(open, { kind: 'dial', code: '*144#', text: null }, after(300_000)), 'shortcode');
  assert.equal(stageOf(open, { kind: 'qr', content: 'x', links: [], expiresAt: null }, after(0)), 'qr');
  assert.equal(stageOf(open, { kind: 'qr', content: 'x', links: [], expiresAt: null }, after(1_000_000)), 'unclear');
  assert.equal(stageOf(open, { kind: 'prompt', text: 'Look' }, after(1_000)), 'prompt');
  assert.equal(stageOf(transaction('success', 'prompt'), page, after(0)), 'paid');
});

test('only the operator’s own word ends a payment on the page, however long it takes', () => {
  const open = fc.constantFrom<Status>('pending', 'processing');
  const style = fc.constantFrom<Transaction['verification']>('prompt', 'shortcode', 'otp', 'instructions', 'none');
  fc.assert(
    fc.property(open, style, fc.nat(2 ** 31), (status, verification, ms) => {
      assert.ok(isWaiting(stageOf(transaction(status, verification), null, after(ms))));
    }),
  );
});
