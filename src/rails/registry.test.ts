// Connections as a process has them: opened, routed by order and health, seen by every process after a change.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { createTestContext, type TestContext } from '../../test/harness.ts';
import { type PlainOperator, plainRail, startPlainOperator } from '../../test/plain-rail.ts';
import { loadCatalog } from '../catalog/catalog.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { createHolder } from '../holders/holders.ts';
import { Problem } from '../platform/errors.ts';
import { createMemory } from '../platform/memory.ts';
import { resealPass } from '../platform/reseal.ts';
import {
  type ConnectionDraft,
  insertConnection,
  listConnections,
  markRemoved,
  setPaused,
  updateConnection,
} from './connections.ts';
import { listOperatorCalls } from './operator-call-log.ts';
import type { Rail } from './rail.ts';
import { createRails, type LiveRails } from './registry.ts';
import { SEALED_CONNECTIONS } from './reseal.ts';
import { appendToRoutes, listRoutes, replaceRoute } from './routing.ts';

const METHOD = loadCatalog().methods.get('MTN_MOMO_UGA') ?? assert.fail();
const COLLECTION = { holderId: null, method: METHOD.code, direction: 'collection' } as const;
const LIVE = {
  MODE: 'live',
  MASTER_KEY: 'ab'.repeat(32),
  PUBLIC_URL: 'https://pay.example.org',
  ALLOW_DATABASE_WITHOUT_TLS: 'true',
};

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let operator: PlainOperator;
let rails: LiveRails;

before(async () => {
  operator = await startPlainOperator();
});
after(() => operator.close());
beforeEach(async () => {
  ctx = await createTestContext();
  rails = open(ctx);
});
afterEach(async () => {
  operator.apiKey = 'key-of-the-simulator';
  operator.deaf = false;
  await rails.close();
  await ctx.close();
});

const open = (of: TestContext) =>
  createRails(of, { sandboxOperatorUrl: () => null, timeoutMs: 15_000, definitions: [plainRail] });

async function add(draft: Partial<ConnectionDraft> = {}): Promise<void> {
  const whole = { rail: 'plain', environment: 'simulator', baseUrl: operator.url, values: {}, ...draft };
  await ctx.db.transaction((tx) => insertConnection(tx, ctx, [plainRail], whole, { by: 'test', at: ctx.clock.now() }));
  await rails.refresh();
}

const route = async (...connections: string[]) => {
  await ctx.db.transaction((tx) => replaceRoute(tx, { ...COLLECTION, connections }));
  await rails.refresh();
};

const chosen = (holderId = 1n, direction: 'collection' | 'payout' = 'collection') =>
  rails.railFor(METHOD, direction, holderId)?.name ?? null;

/** Five calls without an answer open the breaker. */
function takeDown(name: string): void {
  for (let call = 0; call < 5; call++) rails.health.record(name, METHOD.code, 'unknown', 1);
}

describe('drafts', () => {
  const refusal = async (draft: Partial<ConnectionDraft>) => {
    try {
      await add(draft);
      return null;
    } catch (error) {
      return (error as { details?: { errors?: object } }).details?.errors ?? error;
    }
  };

  test('every error of a draft is named at once', async () => {
    assert.deepEqual(
      await refusal({
        name: 'My Shop',
        baseUrl: 'http://10.0.0.1:9091',
        methods: ['MTN_MOMO_UGB'],
        values: { key: 'x' },
      }),
      {
        key: [
          'Plain Money has no setting "key". It has: account, api_key, ranges, certificate, signing_key, region, strict.',
        ],
        name: ['"My Shop" is not a name: use 2 to 32 lower-case letters, digits and dashes, such as "plain-2".'],
        methods: ['Plain Money does not serve MTN_MOMO_UGB. Did you mean "MTN_MOMO_UGA"?'],
        base_url: ['A simulator needs its address on this machine, such as http://127.0.0.1:9091.'],
      },
    );
    assert.match(JSON.stringify(await refusal({ rail: 'plane' })), /no rail \\"plane\\". Did you mean \\"plain\\"\?/);
  });

  test('names: none twice, not that of the simulated operator or of a page, no word that the operator forbids', async () => {
    assert.equal(await refusal({ name: 'shop' }), null);
    assert.match(JSON.stringify(await refusal({ name: 'shop' })), /already a connection/);
    assert.match(JSON.stringify(await refusal({ name: 'sandbox' })), /simulated operator/);
    for (const name of ['new', 'routes'])
      assert.match(JSON.stringify(await refusal({ name })), /is a page of the console/);
    assert.match(JSON.stringify(await refusal({ name: 'my-mpesa' })), /refuses callback addresses with \\"mpesa\\"/);
  });

  test('a sandbox has no production, and an operator has no address of ours', async () => {
    const values = { account: 'shop', api_key: 'secret' };
    assert.match(JSON.stringify(await refusal({ environment: 'production', values })), /only in live mode/);
    const sandbox = { environment: 'sandbox', values };
    assert.match(JSON.stringify(await refusal(sandbox)), /Only a simulator has an address/);
    assert.equal(await refusal({ ...sandbox, baseUrl: undefined }), null);
  });

  test('the address of a simulator is read as browsers read it, and is never that of the gateway', async () => {
    const at = (name: string, baseUrl: string) => add({ name, baseUrl });
    await at('spaces', ' HTTP://LocalHost:9091/base/ ');
    await at('short', 'http://127.1:9092');
    await at('six', 'http://[0:0::1]:9093/');
    const stored = new Map((await listConnections(ctx.db)).map(({ name, baseUrl }) => [name, baseUrl]));
    assert.deepEqual(Object.fromEntries(stored), {
      six: 'http://[::1]:9093',
      short: 'http://127.0.0.1:9092',
      spaces: 'http://localhost:9091/base',
    });
    for (const other of ['http://[::ffff:127.0.0.1]:9091', 'http://:pw@127.0.0.1:9091', 'http://127.0.0.1:9091/?a=b'])
      await assert.rejects(at('other', other), Problem, other);
    await assert.rejects(at('gateway', `http://127.0.0.1:${ctx.config.port}`), Problem);
  });

  test('live mode takes production only; simulators in a rehearsal', async () => {
    const live = await createTestContext(LIVE);
    const make = (draft: Partial<ConnectionDraft>, config = live.config) =>
      live.db.transaction((tx) =>
        insertConnection(
          tx,
          { ...live, config },
          [plainRail],
          { rail: 'plain', values: { account: 'a', api_key: 'b' }, ...draft },
          {
            by: 'test',
            at: live.clock.now(),
          },
        ),
      );
    const simulator = { name: 'trial', environment: 'simulator', baseUrl: operator.url };
    try {
      await assert.rejects(make({ environment: 'sandbox' }));
      await assert.rejects(make(simulator));
      assert.equal((await make({ environment: 'production' })).environment, 'production');
      await make(simulator, { ...live.config, allowSimulatorsLive: true });
      const liveRails = open(live);
      await liveRails.refresh();
      assert.ok(liveRails.byName('plain'));
      assert.equal(liveRails.byName('trial'), null, 'without the setting it is not opened either');
      assert.equal(liveRails.byName('sandbox'), null);
      assert.equal(liveRails.railFor(METHOD, 'collection', 1n), null, 'there is no route');
      await liveRails.close();
    } finally {
      await live.close();
    }
  });
});

describe('routes', () => {
  test('a method without a route goes to the simulated operator of the sandbox', async () => {
    await add();
    assert.equal(chosen(), 'sandbox');
    await route('plain');
    assert.equal(chosen(), 'plain');
    assert.equal(chosen(1n, 'payout'), 'sandbox');
    await route();
    assert.equal(chosen(), 'sandbox');
  });

  test('order, health and pauses decide', async () => {
    await add({ name: 'first' });
    await add({ name: 'second' });
    await route('first', 'second');
    assert.equal(chosen(), 'first');
    takeDown('first');
    assert.equal(chosen(), 'second');
    takeDown('second');
    assert.equal(chosen(), 'first', 'when none answers, the first is named as the one that does not');
    rails.health.record('first', METHOD.code, 'succeeded', 1);
    assert.equal(chosen(), 'first');
    await ctx.db.transaction((tx) => setPaused(tx, 'first', ctx.clock.now()));
    await rails.refresh();
    rails.health.record('second', METHOD.code, 'answered', 1);
    assert.equal(chosen(), 'second');
    assert.equal(rails.byName('first')?.name, 'first', 'a paused one finishes what it began');
    await ctx.db.transaction((tx) => setPaused(tx, 'first', null));
    await rails.refresh();
    assert.equal(chosen(), 'first');
  });

  test('one that was down and is asked nothing gets a payment again after a minute', async () => {
    await add({ name: 'first' });
    await add({ name: 'second' });
    await route('first', 'second');
    takeDown('first');
    ctx.clock.advance(30_000);
    assert.equal(chosen(), 'second', 'no payer is the probe while there is another choice');
    ctx.clock.advance(30_000);
    assert.equal(chosen(), 'first');
  });

  test("a holder's own route comes instead of everybody's", async () => {
    const { id: holderId } = await createHolder(ctx, COMMAND_LINE, 'A shop');
    await add({ name: 'shared' });
    await add({ name: 'own', holderId });
    await route('shared');
    await ctx.db.transaction((tx) => replaceRoute(tx, { ...COLLECTION, holderId, connections: ['own'] }));
    await rails.refresh();
    assert.deepEqual([chosen(holderId), chosen(holderId + 1n)], ['own', 'shared']);
    await assert.rejects(route('own'), (error: { details?: object }) =>
      /own account of holder/.test(JSON.stringify(error.details)),
    );
  });

  test('a connection is added to the routes of its methods once', async () => {
    await add({ name: 'first', methods: [METHOD.code] });
    await add({ name: 'second' });
    const served = [
      { method: METHOD.code, direction: 'collection' },
      { method: 'AIRTEL_OAPI_UGA', direction: 'payout' },
    ] as const;
    for (const name of ['first', 'second', 'second'])
      await ctx.db.transaction((tx) => appendToRoutes(tx, name, served));
    assert.deepEqual(await listRoutes(ctx.db), [
      { holderId: null, method: 'AIRTEL_OAPI_UGA', direction: 'payout', connections: ['second'] },
      { ...COLLECTION, connections: ['first', 'second'] },
    ]);
  });
});

describe('changes', () => {
  test('another process sees a new secret, and calls that were begun end with the old one', async () => {
    await add();
    const other = open({ ...ctx, memory: createMemory() });
    await other.refresh();
    const before = other.byName('plain') ?? assert.fail();
    await before.balance?.();
    const { calls } = operator.counts;
    let letGo = () => {};
    operator.hold = new Promise((resolve) => {
      letGo = resolve;
    });
    const begun = before.balance?.();
    while (operator.counts.calls === calls) await new Promise(setImmediate);
    operator.hold = null;
    operator.apiKey = 'rotated-key';
    await ctx.db.transaction((tx) =>
      updateConnection(
        tx,
        ctx,
        [plainRail],
        'plain',
        { values: { api_key: 'rotated-key' } },
        { at: ctx.clock.now(), onOtherAccount: async () => undefined },
      ),
    );
    await other.refresh();
    const now: Rail = other.byName('plain') ?? assert.fail();
    assert.notEqual(now, before);
    letGo();
    assert.ok('balances' in ((await begun) ?? {}));
    assert.ok('balances' in ((await now.balance?.()) ?? {}));
    await other.close();
  });

  test('a process that looks by itself sees a change soon', async () => {
    const other = open({ ...ctx, memory: createMemory() });
    const stop = other.watch();
    await add();
    while (other.byName('plain') === null) await new Promise(setImmediate);
    stop();
    await other.close();
  });

  test('a removed connection is out of every route and still found by its name', async () => {
    await add();
    await route('plain');
    await ctx.db.transaction((tx) => markRemoved(tx, 'plain', ctx.clock.now()));
    await rails.refresh();
    assert.deepEqual([chosen(), rails.byName('plain')?.name], ['sandbox', 'plain']);
    assert.deepEqual(await listRoutes(ctx.db), []);
    await assert.rejects(
      ctx.db.transaction((tx) => setPaused(tx, 'plain', null)),
      /no connection/,
    );
  });

  test('secrets are sealed, and the list shows only their names', async () => {
    await add({ values: { api_key: 'very-secret-key' } });
    const [row] = await ctx.db.query<{ text: string }>(`select connections::text as text from connections`);
    assert.doesNotMatch(row?.text ?? '', /very-secret-key/);
    const [listed] = await listConnections(ctx.db);
    assert.deepEqual([listed?.sealedNames, listed?.settings.api_key], [['api_key'], undefined]);
    assert.equal(await SEALED_CONNECTIONS.countOthers(ctx.db, ctx.vault.sealedPrefix()), 0);
    assert.equal(await resealPass(ctx, [SEALED_CONNECTIONS]), 0);
  });

  test('calls are kept without secrets: the failed ones, and some of the others', async () => {
    await add();
    const rail = rails.byName('plain') ?? assert.fail();
    for (let call = 0; call < 20; call++) await rail.balance?.();
    await rails.storeCalls();
    const kept = await listOperatorCalls(ctx.db, 'plain');
    assert.equal(kept.length, 5);
    assert.doesNotMatch(JSON.stringify(kept), /key-of-the-simulator|token-\d/);
    operator.deaf = true;
    for (let call = 0; call < 3; call++) await rail.balance?.();
    operator.deaf = false;
    await rails.storeCalls();
    const [newest] = await listOperatorCalls(ctx.db, 'plain', 1);
    assert.deepEqual([newest?.status, newest?.path], [null, '/balance']);
    assert.equal((await listOperatorCalls(ctx.db, 'plain')).length, 8);
  });

  test('at most two hundred calls of a connection are kept', async () => {
    await add();
    const rail = rails.byName('plain') ?? assert.fail();
    await rail.balance?.();
    operator.deaf = true;
    for (let call = 0; call < 230; call++) await rail.balance?.();
    operator.deaf = false;
    await rails.storeCalls();
    await rail.balance?.();
    await rails.storeCalls();
    assert.equal((await listOperatorCalls(ctx.db, 'plain', 1000)).length, 200);
  });
});
