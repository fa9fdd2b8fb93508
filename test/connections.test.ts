// Connections of a whole gateway: the first of a route goes down and new payments take the second, while open ones stay; people
// change connections with an audit row; a connection with open payments is not removed.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { COMMAND_LINE, listAudit } from '../src/holders/audit.ts';
import {
  changeConnection,
  createConnection,
  pauseConnection,
  removeConnection,
  routeConnection,
  setRoute,
} from '../src/payments/connection-changes.ts';
import { lookAtConnections, testConnection } from '../src/payments/connection-report.ts';
import { listSharedAccounts } from '../src/payments/connection-views.ts';
import type { Problem } from '../src/platform/errors.ts';
import { RAILS } from '../src/rails/registry.ts';
import { listRoutes } from '../src/rails/routing.ts';
import { type Client, createClient, PATHS, textOf, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { type PlainOperator, plainRail, startPlainOperator } from './plain-rail.ts';

const METHOD = 'MTN_MOMO_UGA';
const MINUTE_MS = 60_000;

let gateway: TestGateway;
let client: Client;
let first: PlainOperator;
let second: PlainOperator;

before(async () => {
  [first, second] = await Promise.all([startPlainOperator(), startPlainOperator()]);
});
after(async () => {
  await first.close();
  await second.close();
});
beforeEach(async () => {
  gateway = await createTestGateway({}, { railDefinitions: [plainRail, ...RAILS] });
  client = await createClient(gateway);
  await connect('first', first);
  await connect('second', second);
  const connections = ['first', 'second'];
  await setRoute(gateway.ctx, COMMAND_LINE, { holderId: null, method: METHOD, direction: 'collection', connections });
});
afterEach(async () => {
  first.deaf = false;
  await gateway.close();
});

function connect(name: string, operator: PlainOperator) {
  const draft = { rail: 'plain', name, environment: 'simulator', baseUrl: operator.url, values: {} };
  return createConnection(gateway.ctx, COMMAND_LINE, draft);
}

async function collect(count: number): Promise<string[]> {
  const replies = await Promise.all(
    Array.from({ length: count }, () => client.signed(PATHS.collect, ugandanCollection())),
  );
  return replies.map(({ status, body, data }) => {
    assert.equal(status, 200, JSON.stringify(body));
    return textOf(data.ref);
  });
}

type Row = { rail: string; status: string; count: number };
const rows = () =>
  gateway.ctx.db.query<Row>(
    'select rail, status, count(*)::int as count from transactions group by rail, status order by rail, status',
  );

const clearing = () =>
  gateway.ctx.db.query<{ rail: string; balance: bigint }>(
    `select rail, sum(balance)::bigint as balance from ledger_accounts where kind = 'operator_clearing' group by rail order by rail`,
  );

describe('failover', () => {
  test('new payments take the second connection, open ones stay, nothing is doubled', async () => {
    await collect(3);
    await gateway.settle();
    assert.deepEqual(await rows(), [{ rail: 'first', status: 'success', count: 3 }]);

    // Some payments reach it before it goes silent: nobody knows what became of them.
    first.deaf = true;
    const lost = await collect(6);
    await gateway.settle();
    assert.deepEqual(await rows(), [
      { rail: 'first', status: 'processing', count: 6 },
      { rail: 'first', status: 'success', count: 3 },
    ]);

    await collect(10);
    await gateway.settle();
    assert.deepEqual(await rows(), [
      { rail: 'first', status: 'processing', count: 6 },
      { rail: 'first', status: 'success', count: 3 },
      { rail: 'second', status: 'success', count: 10 },
    ]);

    // It answers again. The open payments are asked about, and those that never arrived are still its own.
    first.deaf = false;
    await gateway.advance(5 * MINUTE_MS);
    assert.deepEqual(
      (await rows()).filter(({ rail }) => rail === 'second'),
      [{ rail: 'second', status: 'success', count: 10 }],
      'no open payment moved to the other connection',
    );
    await collect(2);
    await gateway.settle();
    const taken = [...first.payments, ...second.payments];
    assert.deepEqual(new Set(taken.map(([, times]) => times)), new Set([1]), 'no reference was taken twice');
    assert.equal(new Set(taken.map(([reference]) => reference)).size, taken.length, 'and none by both');
    assert.ok(lost.every((reference) => !second.payments.has(reference)));
    assert.equal(
      (await rows()).find(({ rail, status }) => rail === 'second' && status === 'success')?.count,
      10,
      'new payments go to the first again',
    );
    const paid = (await rows()).filter(({ status }) => status === 'success');
    assert.deepEqual(
      await clearing(),
      paid.map(({ rail, count }) => ({ rail, balance: BigInt(count) * -250_000n })),
      'each connection has a clearing account of its own',
    );
  });

  test('a paused connection finishes what it began and takes nothing new', async () => {
    await collect(2);
    await pauseConnection(gateway.ctx, COMMAND_LINE, 'first');
    await collect(3);
    await gateway.settle();
    assert.deepEqual(await rows(), [
      { rail: 'first', status: 'success', count: 2 },
      { rail: 'second', status: 'success', count: 3 },
    ]);
  });
});

describe('changes', () => {
  test('a connection with open payments is not removed', async () => {
    first.deaf = true;
    await collect(1);
    await gateway.settle();
    await assert.rejects(removeConnection(gateway.ctx, COMMAND_LINE, 'first'), /1 transaction of "first" is open/);
    assert.deepEqual((await listRoutes(gateway.ctx.db))[0]?.connections, ['first', 'second'], 'nothing was changed');
    await removeConnection(gateway.ctx, COMMAND_LINE, 'second');
    assert.deepEqual((await listRoutes(gateway.ctx.db))[0]?.connections, ['first']);
    assert.ok(gateway.ctx.rails.byName('second'), 'a late callback still finds it');
  });

  test('what names the account stays while payments are open; secrets can be changed', async () => {
    const change = (values: Record<string, string>) => changeConnection(gateway.ctx, COMMAND_LINE, 'first', { values });
    first.deaf = true;
    await collect(2);
    await gateway.settle();
    await assert.rejects(change({ account: 'another-shop' }), (problem: Problem) => {
      assert.equal(problem.status, 409);
      assert.match(
        problem.message,
        /^Account names the account at the operator\. 2 transactions of "first" are open\./,
      );
      assert.deepEqual(Object.keys(problem.details.errors ?? {}), ['account']);
      return true;
    });
    await change({ account: 'shop', api_key: 'a-new-secret-key' });
    await change({ api_key: first.apiKey });
    first.deaf = false;
    await gateway.advance(5 * MINUTE_MS);
    assert.equal((await change({ account: 'another-shop' })).settings.account, 'another-shop');
  });

  const logins = [
    ['mtn-momo', METHOD, { collection_api_user: '6b3f8c7e-0b1a-4c3e-9f60-0c1f7d1f0001' }],
    ['airtel-money', 'AIRTEL_OAPI_UGA', { client_id: 'another-application' }],
  ] as const;
  for (const [rail, method, values] of logins)
    test(`${rail}: another login would not find open payments, and they would be sent again`, async () => {
      first.deaf = true;
      await createConnection(gateway.ctx, COMMAND_LINE, {
        rail,
        environment: 'simulator',
        baseUrl: first.url,
        values: {},
      });
      const route = { holderId: null, method, direction: 'collection' as const, connections: [rail] };
      await setRoute(gateway.ctx, COMMAND_LINE, route);
      const mobile = gateway.ctx.catalog.methods.get(method)?.example ?? '256752604392';
      const ordered = await client.signed(PATHS.collect, {
        ...ugandanCollection(),
        mobile,
        payment_method_type: method,
      });
      assert.equal(ordered.status, 200, JSON.stringify(ordered.body));
      await gateway.settle();
      const change = changeConnection(gateway.ctx, COMMAND_LINE, rail, { values });
      await assert.rejects(change, /names the account at the operator\. 1 transaction of/);
    });

  test('each change has an audit row, which names secrets and does not contain them', async () => {
    await changeConnection(gateway.ctx, COMMAND_LINE, 'first', { values: { api_key: 'a-new-secret-key' } });
    await routeConnection(gateway.ctx, COMMAND_LINE, 'second');
    const entries = await listAudit(gateway.ctx.db, null, 10);
    assert.deepEqual(
      entries
        .filter(({ action }) => /^(connection|route)\./.test(action))
        .map(({ action, subject }) => `${action} ${subject}`),
      [
        'route.added AIRTEL_OAPI_UGA payout',
        'route.added AIRTEL_OAPI_UGA collection',
        'route.added MTN_MOMO_UGA payout',
        'connection.changed first',
        'route.set MTN_MOMO_UGA collection',
        'connection.created second',
        'connection.created first',
      ],
    );
    const changed = entries.find(({ action }) => action === 'connection.changed');
    assert.deepEqual(changed?.details, { settings: ['api_key'] });
    assert.doesNotMatch(JSON.stringify(entries.map(({ details }) => details)), /a-new-secret-key/);
  });

  test('the test of a connection says what works and what is missing', async () => {
    const good = await testConnection(gateway.ctx, 'first');
    assert.deepEqual(
      good.checks.map(({ problem }) => problem),
      [null, null, good.checks[2]?.problem],
    );
    assert.deepEqual(good.balances, [{ account: 'main', currency: 'UGX', available: 123_400n }]);
    await changeConnection(gateway.ctx, COMMAND_LINE, 'first', { values: { api_key: 'wrong-key' } });
    const bad = await testConnection(gateway.ctx, 'first');
    assert.match(bad.checks[0]?.problem ?? '', /Check the API key/);
    assert.match(bad.checks[1]?.problem ?? '', /The balance cannot be read: .*wrong key/);
  });
});

describe('one account is one connection', () => {
  type Draft = { rail: string; values?: Record<string, string>; name: string; baseUrl?: string };
  const add = ({ baseUrl = 'http://127.0.0.1:4900', values = {}, ...draft }: Draft) =>
    createConnection(gateway.ctx, COMMAND_LINE, { ...draft, environment: 'simulator', baseUrl, values });
  const refusal = (name: string) => (problem: Problem) => {
    assert.equal(problem.status, 409);
    assert.match(problem.message, new RegExp(`^The connection "${name}" has this account already: `));
    return true;
  };

  const accounts = [
    ['pawapay', {}, { api_token: 'of-another-account' }],
    ['paystack', {}, { secret_key: 'sk_test_of_another_account' }],
    ['airtel-money', {}, { client_id: 'of-another-application' }],
    ['orange-money', { interface: 'sonatel' }, { interface: 'sonatel', merchant_code: '654321' }],
    [
      'daraja',
      { shortcode: '600100', prompt_account: 'till' },
      { shortcode: '600100', prompt_account: 'till', paybill_number: '', till_number: '600101' },
    ],
  ] as const;
  for (const [rail, same, others] of accounts)
    test(`${rail}: reports of the operator would reach only one of two`, async () => {
      await add({ rail, name: 'one', values: same });
      await assert.rejects(add({ rail, name: 'two', values: same }), refusal('one'));
      await add({ rail, name: 'elsewhere', values: same, baseUrl: 'http://127.0.0.1:4901' });
      await add({ rail, name: 'two', values: others });
      await assert.rejects(
        changeConnection(gateway.ctx, COMMAND_LINE, 'elsewhere', { baseUrl: 'http://127.0.0.1:4900' }),
        refusal('one'),
      );
      await removeConnection(gateway.ctx, COMMAND_LINE, 'one');
      await add({ rail, name: 'three', values: same });
    });

  test('the number of a pay bill is one, whichever setting has it', async () => {
    await add({ rail: 'daraja', name: 'one', values: { shortcode: '600100', paybill_number: '', till_number: '' } });
    const other = { shortcode: '600200', paybill_number: '', till_number: '' };
    await assert.rejects(
      add({ rail: 'daraja', name: 'two', values: { ...other, paybill_number: '600100' } }),
      refusal('one'),
    );
    await add({ rail: 'daraja', name: 'two', values: other });
    const change = (values: Record<string, string>) => changeConnection(gateway.ctx, COMMAND_LINE, 'two', { values });
    await assert.rejects(change({ till_number: '600100' }), refusal('one'));
    await change({ passkey: 'another-passkey', till_number: '600300' });
  });

  test('of two people who connect the same account at once, one is refused', async () => {
    const results = await Promise.allSettled(['one', 'two'].map((name) => add({ rail: 'pawapay', name })));
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  });

  test('two that share one already are named by every check, and go on working', async () => {
    const own = (shortcode: string, payout_shortcode: string) => ({
      shortcode,
      payout_shortcode,
      paybill_number: '',
      till_number: '',
    });
    await add({ rail: 'daraja', name: 'one', values: own('600100', '600900') });
    await add({ rail: 'daraja', name: 'two', values: own('600200', '600901') });
    await add({ rail: 'daraja', name: 'three', values: own('600300', '600901') });
    // As before it was refused.
    await gateway.ctx.db.query(
      `update connections set settings = settings || '{"shortcode": "600100"}', version = version + 1 where name = 'two'`,
    );
    assert.deepEqual(await listSharedAccounts(gateway.ctx), [
      { title: 'M-PESA Kenya (Safaricom Daraja)', use: 'reports', connections: ['one', 'two'] },
      { title: 'M-PESA Kenya (Safaricom Daraja)', use: 'payouts', connections: ['three', 'two'] },
    ]);
    const problemsOf = async (name: string) =>
      (await lookAtConnections(gateway.ctx)).find((each) => each.name === name)?.problems.join(' ') ?? '';
    assert.match(await problemsOf('one'), /"two" has the same account: .* sends its reports to one of them only/);
    assert.match(await problemsOf('two'), /"one" has the same account/);
    assert.doesNotMatch(await problemsOf('three'), /same account/);
    const { checks } = await testConnection(gateway.ctx, 'three');
    assert.ok(
      checks.some(({ name, problem }) => problem === null && /pays out from the same account as "two"/.test(name)),
    );
    assert.ok(gateway.ctx.rails.byName('two'));
    await removeConnection(gateway.ctx, COMMAND_LINE, 'two');
    assert.deepEqual(await listSharedAccounts(gateway.ctx), []);
  });
});
