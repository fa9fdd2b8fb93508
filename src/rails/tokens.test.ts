// Access tokens: fetched once for many callers and processes, renewed before their end and after a refusal.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { type PlainOperator, plainRail, startPlainOperator } from '../../test/plain-rail.ts';
import { createMemory } from '../platform/memory.ts';
import { insertConnection, updateConnection } from './connections.ts';
import type { Rail } from './rail.ts';
import { createRails, type LiveRails } from './registry.ts';

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let operator: PlainOperator;
let processes: LiveRails[];

before(async () => {
  ctx = await createTestContext();
});
after(() => ctx.close());
beforeEach(async (each) => {
  operator = await startPlainOperator();
  processes = [];
  const name = nameOf(each.name);
  await ctx.db.transaction((tx) =>
    insertConnection(
      tx,
      ctx,
      [plainRail],
      { rail: 'plain', name, environment: 'simulator', baseUrl: operator.url, values: {} },
      { by: 'test', at: ctx.clock.now() },
    ),
  );
});
afterEach(async () => {
  for (const rails of processes) await rails.close();
  await operator.close();
});

/** Each test has a connection of its own. */
const nameOf = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^a-z]+/g, '-')
    .slice(0, 30)
    .replace(/-$/, '');

/** Rails as another process on the same database has them. */
async function startProcess(title: string, timeoutMs = 15_000): Promise<Rail> {
  const own: TestContext = { ...ctx, memory: createMemory() };
  const rails = createRails(own, { sandboxOperatorUrl: () => null, timeoutMs, definitions: [plainRail] });
  processes.push(rails);
  await rails.refresh();
  return rails.byName(nameOf(title)) ?? assert.fail('the connection is not open');
}

const balanceOf = async (rail: Rail) => {
  const reply = await rail.balance?.();
  return reply && 'balances' in reply ? 'told' : reply;
};

describe('tokens', () => {
  test('many callers of one process share one fetch', async (each) => {
    const rail = await startProcess(each.name);
    const answers = await Promise.all(Array.from({ length: 30 }, () => balanceOf(rail)));
    assert.deepEqual(new Set(answers), new Set(['told']));
    assert.deepEqual(operator.counts, { tokens: 1, refused: 0, calls: 30 });
  });

  test('two processes share one token', async (each) => {
    const rails = [await startProcess(each.name), await startProcess(each.name), await startProcess(each.name)];
    await Promise.all(rails.flatMap((rail) => [balanceOf(rail), balanceOf(rail)]));
    assert.deepEqual(operator.counts, { tokens: 1, refused: 0, calls: 6 });
  });

  test('a token is renewed before its end', async (each) => {
    const rail = await startProcess(each.name);
    await balanceOf(rail);
    ctx.clock.advance((3_600 - 61) * 1000);
    await balanceOf(rail);
    assert.equal(operator.counts.tokens, 1, 'a minute before its end it is still used');
    ctx.clock.advance(2_000);
    await balanceOf(rail);
    assert.deepEqual(operator.counts, { tokens: 2, refused: 0, calls: 3 });
  });

  test('a short token is renewed after nine tenths of its life', async (each) => {
    operator.tokenSeconds = 180;
    const rail = await startProcess(each.name);
    await balanceOf(rail);
    ctx.clock.advance(161_000);
    await balanceOf(rail);
    assert.equal(operator.counts.tokens, 1);
    ctx.clock.advance(2_000);
    await balanceOf(rail);
    assert.equal(operator.counts.tokens, 2);
  });

  test('after a refusal one new token is fetched for all', async (each) => {
    const [first, second] = [await startProcess(each.name), await startProcess(each.name)];
    await Promise.all([balanceOf(first), balanceOf(second)]);
    // Somebody else used the same credentials: our token is dead.
    await fetch(`${operator.url}/token`, { method: 'POST', headers: { 'x-api-key': operator.apiKey } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => balanceOf(index % 2 === 0 ? first : second)),
    );
    assert.deepEqual(new Set(answers), new Set(['told']));
    assert.equal(operator.counts.tokens, 3, 'the first, the stranger, and one for both processes');
  });

  test('a refusal of the new token is the answer', async (each) => {
    const rail = await startProcess(each.name);
    operator.apiKey = 'another';
    assert.match(JSON.stringify(await balanceOf(rail)), /wrong key/);
    assert.equal(operator.counts.calls, 0, 'nothing is sent without a token');
  });

  test('a renewal waits for calls in flight with the old token', async (each) => {
    const rail = await startProcess(each.name);
    await balanceOf(rail);
    let letGo = () => {};
    operator.hold = new Promise((resolve) => {
      letGo = resolve;
    });
    const inFlight = balanceOf(rail);
    while (operator.counts.calls < 2) await pause(1);
    ctx.clock.advance((3_600 - 30) * 1000);
    operator.hold = null;
    const later = balanceOf(rail);
    await pause(60);
    assert.equal(operator.counts.tokens, 1, 'the call in flight still has its token');
    letGo();
    assert.deepEqual(await Promise.all([inFlight, later]), ['told', 'told']);
    assert.deepEqual(operator.counts, { tokens: 2, refused: 0, calls: 3 });
  });

  test('a token of old settings is not used with new ones', async (each) => {
    const rail = await startProcess(each.name);
    await balanceOf(rail);
    await ctx.db.transaction((tx) =>
      updateConnection(
        tx,
        ctx,
        [plainRail],
        nameOf(each.name),
        { values: { account: 'other' } },
        { at: ctx.clock.now(), onOtherAccount: async () => undefined },
      ),
    );
    await processes[0]?.refresh();
    await balanceOf(processes[0]?.byName(nameOf(each.name)) ?? assert.fail());
    assert.equal(operator.counts.tokens, 2);
  });

  test('a token that cannot be renewed is used until its end', async (each) => {
    const rail = await startProcess(each.name);
    await balanceOf(rail);
    operator.apiKey = 'changed at the operator';
    ctx.clock.advance((3_600 - 30) * 1000);
    assert.equal(await balanceOf(rail), 'told');
    ctx.clock.advance(31_000);
    assert.match(JSON.stringify(await balanceOf(rail)), /wrong key/);
  });

  test('a call whose token comes too late is not made', async (each) => {
    const rail = await startProcess(each.name, 1_000);
    let letGo = () => {};
    operator.holdTokens = new Promise((resolve) => {
      letGo = resolve;
    });
    assert.deepEqual(await balanceOf(rail), { error: 'no access token could be got' });
    letGo();
    assert.equal(operator.counts.calls, 0);
  });

  test('is stored sealed', async (each) => {
    const rail = await startProcess(each.name);
    await balanceOf(rail);
    const [row] = await ctx.db.query<{ sealed: Buffer }>('select sealed from connection_tokens where connection = $1', [
      nameOf(each.name),
    ]);
    assert.ok(row && !row.sealed.includes('token-1'));
  });
});
