import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReceiverHealth } from './receiver-health.ts';

const at = (origin: string) => ({ holderId: 1n, origin });

test('a receiver fails with its third failure in a row, and recovers with an answer', () => {
  const health = createReceiverHealth();
  const results = [false, false, true, false, false, false, true].map((healthy) => health.record(at('one'), healthy));
  assert.deepEqual(results, ['unchanged', 'unchanged', 'unchanged', 'unchanged', 'unchanged', 'failing', 'recovered']);
});

test('what is remembered is limited: the receiver that failed first is forgotten', () => {
  const health = createReceiverHealth();
  for (let number = 0; number <= 20_000; number++) health.setFailing(at(`https://shop${number}.example`));
  assert.equal(health.isFailing(at('https://shop0.example')), false);
  assert.equal(health.isFailing(at('https://shop1.example')), true);
  assert.equal(health.isFailing(at('https://shop20000.example')), true);
  for (let number = 0; number < 10; number++) health.record(at('https://shop1.example'), false);
  assert.equal(health.isFailing(at('https://shop2.example')), true, 'one that fails again takes no place of another');
});
