// A small journey of journey-run.ts: every method once each way in live mode, then a few payments with faults and one kill.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyFault, openJourney } from './journey.ts';
import { compareBooks, payEverywhere, payMany, settleAll } from './journey-payments.ts';

const PAYMENTS = 40;

test('live mode over simulators: the ledger and the books of the operators are the same money', async (t) => {
  const journey = await openJourney(1);
  t.after(() => journey.close());
  await payEverywhere(journey);
  await journey.plan(everyFault(0.05));
  const pages = await payMany(journey, PAYMENTS, async (index) => {
    if (index === PAYMENTS / 2) await journey.killGateway();
  });
  await journey.plan([]);
  await settleAll(journey, pages);
  assert.deepEqual(await compareBooks(journey), []);
});
