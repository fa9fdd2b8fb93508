// The store over several servers, without such a store: where each table is to be, and every statement of the paths that payments
// take, read by PostgreSQL's own parser. On such a store a distributed table is used with its holder, rows are locked on one server
// at a time, and nothing depends on numbers of one server.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { findObstacles } from '../src/distribution/obstacles.ts';
import { readKinds } from '../src/distribution/tables.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createHolder } from '../src/holders/holders.ts';
import { createIntegration } from '../src/holders/integrations.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { readPayout } from '../src/payments/payout-requests.ts';
import { orderPayouts } from '../src/payments/payouts.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { openShop } from './browser/shop.ts';
import { startReceiver, type TestReceiver } from './callback-harness.ts';
import { type Client, clientOf, PATHS, textOf, ugandanCollection } from './client.ts';
import { createEmptyDatabase } from './database.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { simbi } from './processes.ts';
import { walkStatement } from './statement-walk.ts';

process.env.TEST_DISTRIBUTED = '1';

const DISTRIBUTED = new Set([...readKinds()].filter(([, { kind }]) => kind === 'distributed').map(([name]) => name));

/** What looks for work of any holder: it reads every server, and locks nothing. */
const LOOKS_FOR_WORK = [
  /^select holder_id, transaction_id, kind as was, due_at::text, .* as was_put_off from payment_jobs /,
  /^select holder_id, transaction_id, due_at::text from operator_hints /,
  /^select holder_id, event_id, origin, due_at::text, probe, failing, place from \( select .* from callback_deliveries /,
  /^update callback_deliveries set leased = false where leased and due_at <= /,
  /^delete from callback_receivers r where \(r.recovered_at is not null /,
];

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

async function obstaclesOf(text: string): Promise<string[]> {
  return LOOKS_FOR_WORK.some((known) => known.test(oneLine(text))) ? [] : await walkStatement(text, DISTRIBUTED);
}

describe('the schema', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
  });
  after(() => gateway.close());

  test('has nothing that stands in the way of several servers', async () => {
    assert.deepEqual(await findObstacles(gateway.ctx.ownerDb), []);
  });

  test('distribute --check changes nothing, also where migrations are missing', async () => {
    const empty = await createEmptyDatabase();
    const folder = mkdtempSync(join(tmpdir(), 'simbi-sharding-'));
    const check = (url: string) => simbi(['distribute', '--check'], { DATABASE_URL: url, DATA_DIR: folder }).ended;
    try {
      const refused = await check(empty.url);
      assert.equal(refused.code, 5, refused.stderr);
      assert.match(refused.stderr, /lacks \d+ migrations\. Run npx simbi migrate first/);
      const client = new pg.Client({ connectionString: empty.url });
      await client.connect();
      const { rows } = await client.query(`select to_regclass('schema_migrations') is null as untouched`);
      await client.end();
      assert.deepEqual(rows, [{ untouched: true }]);
      const { code, out } = await check(gateway.ctx.databaseUrl);
      assert.deepEqual([code, out], [0, '']);
    } finally {
      await empty.drop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('shows each kind of obstacle', async () => {
    await gateway.ctx.ownerDb
      .transaction(async (tx) => {
        await tx.query('create table nobody_said (id bigint)');
        await tx.query('create unique index receipt_over_all on transactions (receipt)');
        await tx.query(
          'alter table transactions add constraint transaction_of_holder foreign key (holder_id) references holders',
        );
        await tx.query(
          'create trigger counted after insert on events for each statement execute function count_change()',
        );
        await tx.query('create policy chosen on cases using (holder_id in (select id from holders))');
        const found = (await findObstacles(tx)).join('\n');
        for (const name of ['nobody_said', 'receipt_over_all', 'transaction_of_holder', 'counted', 'chosen'])
          assert.ok(found.includes(name), `${name} in ${found}`);
        assert.equal(found.split('\n').length, 5, found);
        // Nothing of it stays.
        await tx.query('rollback');
      })
      .catch((error: unknown) => assert.match(String(error), /rolled back/));
  });
});

describe('the statements of payments', () => {
  const sent = new Map<string, string[]>();
  let path = '';
  let gateway: TestGateway;
  let clients: Client[];
  let receiver: TestReceiver;
  const { query } = pg.Client.prototype as { query: (...given: unknown[]) => unknown };

  before(async () => {
    gateway = await createTestGateway();
    receiver = await startReceiver();
    clients = await Promise.all(['First shop', 'Second shop'].map(createShopWithCallbacks));
    assert.ok(gateway.ctx.db.isDistributed());
    pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
      const [config] = args as [string | { text: string }];
      const text = typeof config === 'string' ? config : config.text;
      if (path && !sent.has(text)) sent.set(text, [path]);
      return query.apply(this, args);
    } as pg.Client['query'];
  });
  after(async () => {
    pg.Client.prototype.query = query as pg.Client['query'];
    await gateway.close();
    await receiver.close();
  });

  async function createShopWithCallbacks(name: string): Promise<Client> {
    const { ctx } = gateway;
    const holder = await createHolder(ctx, COMMAND_LINE, name);
    await topUpSandbox(ctx, COMMAND_LINE, holder.id, 'UGX', 10_000_000n);
    const callbacks = { defaultCallbackUrl: receiver.url };
    return clientOf(gateway, await createIntegration(ctx, COMMAND_LINE, holder.id, name, callbacks));
  }

  async function along(name: string, work: () => Promise<unknown>): Promise<void> {
    path = name;
    await work();
    await gateway.settle();
    path = '';
  }

  const collect = (lastDigits: string) =>
    Promise.all(clients.map((client) => client.signed(PATHS.collect, ugandanCollection(lastDigits))));

  test('a collection, its callback and its status query', async () => {
    await along('collection', async () => {
      const replies = await collect('000');
      await gateway.settle();
      for (const [index, reply] of replies.entries()) {
        assert.equal(reply.status, 200, JSON.stringify(reply.body));
        const status = await clients[index]?.signed(PATHS.statusV3, { id: textOf(reply.data.ref) });
        assert.equal(status?.data.status, 'success');
      }
      assert.equal(receiver.received.length, 2);
      // The receiver is down: another process finds the delivery when its time has come.
      receiver.answer = (_, response) => void response.writeHead(500).end();
      await collect('001');
      await collect('555');
      await gateway.advance(60_000);
      receiver.answer = (_, response) => void response.end();
      await gateway.advance(3_600_000);
    });
  });

  test('a refund', async () => {
    await along('refund', async () => {
      const [reply] = await collect('000');
      await gateway.settle();
      const refund = await clients[0]?.signed(PATHS.refund, { id: textOf(reply?.data.ref) });
      assert.equal(refund?.status, 200, JSON.stringify(refund?.body));
    });
  });

  test('a payout', async () => {
    await along('payout', async () => {
      const { ctx, services } = gateway;
      for (const { shop } of clients) {
        const reading = await readPayout(ctx, shop.holderId, {
          amount: '1000',
          currency: 'UGX',
          mobile: '256772123000',
        });
        assert.ok(reading.ok);
        await orderPayouts(ctx, services.payments.engine, COMMAND_LINE, shop.holderId, [reading.order]);
      }
    });
  });

  test('a payment on the hosted page', async () => {
    const shop = await openShop(gateway);
    const { url } = await shop.link({ country_id: 1, currency: 'KES', amount: '2500', business_name: 'Duka' });
    await along('checkout', async () => {
      const page = await gateway.app.inject({ url: new URL(url).pathname });
      const form = /name="form" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
      const answer = await gateway.app.inject({
        method: 'POST',
        url: new URL(url).pathname,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ phone: '0711100000', method: 'MPESA_KEN', form }).toString(),
      });
      assert.equal(answer.statusCode, 303);
      await gateway.settle();
      await gateway.app.inject({ url: String(answer.headers.location) });
    });
  });

  test('all name the holder, lock on one server and order by nothing of one server', async (t) => {
    const found: string[] = [];
    let walked = 0;
    for (const [text, [name]] of sent) {
      if (!/^\s*(?:select|insert|update|delete|with)\b/i.test(text)) continue;
      walked++;
      for (const what of await obstaclesOf(text)) found.push(`${name}: ${what}: ${oneLine(text).slice(0, 240)}`);
    }
    t.diagnostic(`${walked} statements`);
    assert.ok(walked > 40, `only ${walked} statements were seen`);
    assert.deepEqual(found, []);
    assert.deepEqual((await verifyLedger(gateway.ctx)).differences, []);
  });
});

describe('the walk itself', () => {
  const LIST = 'unnest($1::bigint[], $2::uuid[]) as input (holder_id, id)';
  const wrong: Record<string, RegExp> = {
    'select * from transactions where id = $1': /transactions without its holder/,
    'select t.id from transactions t join payment_jobs j on j.holder_id = t.holder_id where t.id = $1':
      /without its holder/,
    'select t.id from unnest($1::bigint[], $2::uuid[]) as input (holder_id, id) join transactions t using (holder_id, id) for update of t':
      /locked on several servers/,
    'select c.id from cases c join incoming_payments i on i.case_id = c.id where c.holder_id = $1 for update of c':
      /locked beside incoming_payments/,
    'select input.id from unnest($1::bigint[]) as input (holder_id) left join payment_jobs j using (holder_id)':
      /joined as a whole/,
    'update payment_jobs set due_at = $1 where due_at < $2': /payment_jobs without its holder/,
    'select id from events where holder_id = $1 order by ctid': /ctid/,
    'select id from events where holder_id = $1 and position < pg_snapshot_xmin(pg_current_snapshot())::text::bigint':
      /one server only/,
    'insert into payment_jobs (transaction_id, kind) values ($1, $2)': /added without its holder/,
    [`select input.id from ${LIST} where not exists (select from cases c where c.holder_id = input.holder_id and c.id = input.id)`]:
      /once for each row/,
    ['with recursive r as (select holder_id from events where holder_id = $1 ' +
      'union all select e.holder_id from r join events e using (holder_id)) select * from r']: /recursive/,
  };
  for (const [text, expected] of Object.entries(wrong))
    test(`refuses: ${text.slice(0, 70)}`, async () =>
      assert.match((await walkStatement(text, DISTRIBUTED)).join('; '), expected));

  test('takes what goes to one server, or to each with its own holders', async () => {
    for (const text of [
      'select * from transactions where holder_id = $1 and id = $2 for update',
      'select t.id from unnest($1::bigint[], $2::uuid[]) as input (holder_id, id) join transactions t using (holder_id, id)',
      `update payment_jobs j set due_at = $3 from ${LIST} where j.holder_id = input.holder_id and j.transaction_id = input.id`,
      `select c.id from cases c where (c.holder_id, c.id) in (select holder_id, id from ${LIST})`,
    ])
      assert.deepEqual(await walkStatement(text, DISTRIBUTED), [], text);
  });
});
