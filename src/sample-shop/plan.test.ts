// The plan of the sample shop must be right on every day and at every hour that somebody starts the gateway.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, HOUR_MS } from '../platform/clock.ts';
import { planPayments } from './plan.ts';

test('what is refunded was paid at least a day ago, whenever the gateway is started', () => {
  const first = Date.UTC(2026, 0, 1);
  let refunds = 0;
  // In steps of 31 hours, over a year: every hour of the day and every day of the week.
  for (let step = 0; step < 283; step++) {
    const now = new Date(first + step * 31 * HOUR_MS);
    const refunded = planPayments(now).filter(({ refund }) => refund !== null);
    for (const { at } of refunded)
      assert.ok(now.getTime() - at.getTime() > DAY_MS, `${at.toISOString()}, ${now.toISOString()}`);
    refunds += refunded.length;
  }
  assert.ok(refunds > 0);
});
