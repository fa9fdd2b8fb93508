// Guesses are counted before they are compared, over all processes, by person and by address.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { createMemory } from '../platform/memory.ts';
import { type GuessKind, takeGuess } from './guesses.ts';
import { purgeExpired } from './housekeeping.ts';

const MINUTE_MS = 60_000;

describe('guesses', () => {
  let ctx: Awaited<ReturnType<typeof createTestContext>>;
  before(async () => {
    ctx = await createTestContext();
  });
  after(() => ctx.close());

  async function allowedOf(guesses: { kind?: GuessKind; person: string | null; address: string }[]): Promise<number> {
    const results = await Promise.all(guesses.map((guess) => takeGuess(ctx, { kind: 'code', ...guess })));
    return results.filter(({ allowed }) => allowed).length;
  }

  test('security S4: of 200 guesses at the same moment, 10 are compared', async () => {
    const guesses = Array.from({ length: 200 }, () => ({ person: 'ama', address: '192.0.2.1' }));
    assert.equal(await allowedOf(guesses), 10);
  });

  test('security S13: 240 addresses of one /64 are one address', async () => {
    const guesses = Array.from({ length: 240 }, (_, n) => ({
      person: null,
      address: `2001:db8:0:1::${n.toString(16)}`,
    }));
    assert.equal(await allowedOf(guesses), 10);
    assert.equal(await allowedOf([{ person: null, address: '2001:db8:0:2::1' }]), 1, 'another /64 has its own count');
  });

  test('security S13: many addresses guess at most 10 a minute and 100 an hour for one person', async () => {
    const spread = (minute: number) =>
      Array.from({ length: 30 }, (_, n) => ({ person: 'kofi', address: `198.51.100.${n}.${minute}` }));
    let allowed = 0;
    for (let minute = 0; minute < 59; minute++) {
      const now = await allowedOf(spread(minute));
      assert.ok(now <= 10);
      allowed += now;
      ctx.clock.advance(MINUTE_MS);
    }
    assert.equal(allowed, 100);
    const refused = await takeGuess(ctx, { kind: 'code', person: 'kofi', address: '192.0.2.9' });
    assert.ok(!refused.allowed && refused.retryAfterSeconds <= 60, 'the hour began with the first guess');
    ctx.clock.advance(MINUTE_MS);
    assert.equal(await allowedOf([{ person: 'kofi', address: '192.0.2.9' }]), 1);
  });

  test('two processes share the counts, and kinds do not', async () => {
    const other = { ...ctx, memory: createMemory() };
    const guess = { person: 'yaw', address: '192.0.2.20' };
    for (let n = 0; n < 5; n++)
      for (const each of [ctx, other]) assert.ok((await takeGuess(each, { kind: 'code', ...guess })).allowed);
    assert.equal((await takeGuess(other, { kind: 'code', ...guess })).allowed, false);
    assert.equal((await takeGuess(other, { kind: 'password', ...guess })).allowed, true);
  });

  test('a right guess is given back, so that right guesses have no limit', async () => {
    for (let n = 0; n < 30; n++) {
      const guess = await takeGuess(ctx, { kind: 'password', person: 'esi', address: '192.0.2.30' });
      assert.ok(guess.allowed);
      await guess.giveBack();
    }
  });

  test('right guesses at the same moment do not wait for each other for ever', async () => {
    const rounds = Array.from({ length: 300 }, async (_, n) => {
      const guess = await takeGuess(ctx, {
        kind: 'password',
        person: `p ${n % 2}`,
        address: `192.0.2.${60 + (n % 2)}`,
      });
      if (guess.allowed) await guess.giveBack();
    });
    await Promise.all(rounds);
  });

  test('an address over its limit writes no rows for more people', async () => {
    const people = Array.from({ length: 100 }, (_, n) => ({ person: `stranger ${n}`, address: '192.0.2.40' }));
    const rows = async () => (await ctx.db.query('select from guesses')).length;
    const before = await rows();
    assert.equal(await allowedOf(people), 10);
    assert.equal((await rows()) - before, 1 + 2 * 10);
  });

  test('old counts are deleted by the clock of the database', async () => {
    await allowedOf([{ person: 'abena', address: '192.0.2.50' }]);
    ctx.databaseTime.setSkew(2 * 3_600_000);
    ctx.clock.advance(3_600_000 + MINUTE_MS);
    await purgeExpired(ctx);
    assert.ok((await ctx.db.query('select from guesses')).length > 0, 'the clock of the process is two hours ahead');
    ctx.databaseTime.setSkew(0);
    while ((await purgeExpired(ctx)) > 0);
    assert.deepEqual(await ctx.db.query('select from guesses'), []);
  });
});
