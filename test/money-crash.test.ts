// Two gateway processes on one database, killed at places that touch refunds, files of payouts, decisions, the inbox, debts,
// held money and disputes. Clients and people repeat what nobody answered. Nothing is doubled and nothing is lost. Every third
// place, because a process takes seconds to start: `npm run crash` strikes all of them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runPlaces } from './crash/lanes.ts';
import { PLACES } from './crash/stories.ts';

describe('money and crashes', () => {
  test('one of two processes dies at a place, and both at some', async (t) => {
    const places = Object.keys(PLACES).filter((_place, index) => index % 3 === 0);
    const strikes = places.map((place, index) => ({ place, both: index % 4 === 0 }));
    const { struck, failures } = await runPlaces(strikes, 2);
    t.diagnostic([...struck].map(([place, died]) => `${place} ${died}`).join(', '));
    assert.deepEqual(failures, []);
    const missed = places.filter((place) => (struck.get(place) ?? 0) === 0);
    assert.deepEqual(missed, [], 'every place was reached');
  });
});
