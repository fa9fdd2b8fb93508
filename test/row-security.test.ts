// A forgotten `where holder_id` shows nothing of another holder: row-level security, tried on every table, and on every page and
// route of a holder with the condition taken out of every statement that they read with.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createApp } from '../src/app.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { createLink } from '../src/links/links.ts';
import { createRefund } from '../src/payments/refunds.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { connectDatabase, type Database, DISTRIBUTED_MARK, type Statement } from '../src/platform/db.ts';
import { createServices, type Services } from '../src/services.ts';
import { type Client, createClient, PATHS, ugandanCollection } from './client.ts';
import { addPerson, signIn, visitor } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const PAGES = [
  '',
  '/transactions',
  '/payouts',
  '/balances',
  '/links',
  '/callbacks',
  '/requests',
  '/cases',
  '/audit',
].concat('/team', '/integrations', '/transactions/export');

type Tenant = { client: Client; ref: string; link: string; number: string; email: string };

/** Takes the condition on the holder out of a statement. */
function forget(statement: Statement): Statement {
  const cut = (text: string) => text.replaceAll(/((?:\w+\.)?holder_id) = \$(\d+)/g, '($1 = $$$2 or true)');
  return typeof statement === 'string'
    ? cut(statement)
    : { name: `${statement.name}_forgetful`, text: cut(statement.text) };
}

describe('row-level security', () => {
  let gateway: TestGateway;
  let ours: Tenant;
  let theirs: Tenant;

  before(async () => {
    gateway = await createTestGateway();
    ours = await addTenant('111', 'ours@example.org');
    theirs = await addTenant('222', 'theirs@example.org');
  });
  after(() => gateway.close());

  /** A holder with something in every list. */
  async function addTenant(digits: string, email: string): Promise<Tenant> {
    const { ctx, services } = gateway;
    const client = await createClient(gateway);
    const { holderId, id: integrationId } = client.shop;
    const number = `256772${digits}000`;
    await addPerson(gateway, holderId, 'owner', email);
    const order = ugandanCollection('000', { mobile: number, callback_url: 'http://127.0.0.1:1/away' });
    const collected = await client.signed(PATHS.collect, order);
    await gateway.settle();
    const ref = String(collected.data.ref as string);
    await topUpSandbox(ctx, COMMAND_LINE, holderId, 'UGX', 5_000_000n);
    const { engine } = services.payments;
    await createRefund(ctx, engine, COMMAND_LINE, holderId, { collection: ref, amount: 50_000n });
    const link = await createLink(
      ctx,
      { holderId, integrationId, defaultCallbackUrl: null },
      { business_name: `Shop ${digits}`, item_name: 'Basket', amount: '2500', currency: 'KES', country_id: 1 },
    );
    await gateway.settle();
    return { client, ref, link: link.id, number, email };
  }

  test('every table, read whole: only rows of the holder, and secrets not even those', async () => {
    const { ctx } = gateway;
    const own = ctx.db.forHolder(ours.client.shop.holderId);
    const tables = await ctx.ownerDb.query<{ name: string; columns: string[]; readable: string[] }>(
      `select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns,
         coalesce(array_agg(a.attname::text order by a.attnum)
           filter (where has_column_privilege('simbi_tenant', c.oid, a.attnum, 'select')), '{}') as readable
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') group by c.oid, c.relname order by 1`,
    );
    let foreign = 0;
    for (const { name, columns, readable } of tables) {
      if (readable.length === 0) {
        await assert.rejects(own.query(`select 1 from ${name}`), /permission denied/, name);
        continue;
      }
      if (!readable.includes('holder_id')) continue;
      const rows = await own.query<{ holder_id: bigint }>(`select ${readable.join(', ')} from ${name}`);
      assert.ok(
        rows.every(({ holder_id }) => holder_id === ours.client.shop.holderId),
        name,
      );
      const [others] = await ctx.ownerDb.query<{ count: bigint }>(
        `select count(*) as count from ${name} where holder_id = $1`,
        [theirs.client.shop.holderId],
      );
      if (Number(others?.count ?? 0n) > 0) foreign++;
      assert.ok(!columns.includes('holder_id') || readable.length > 0);
    }
    assert.ok(foreign >= 15, `only ${foreign} tables had rows of another holder to show`);
  });

  test('tables without a holder of their own follow the table that has one', async () => {
    const { ctx } = gateway;
    const own = ctx.db.forHolder(ours.client.shop.holderId);
    const idsOf = async (sql: string) => (await own.query<{ id: bigint }>(sql)).map(({ id }) => id);
    assert.deepEqual(await idsOf('select id from holders'), [ours.client.shop.holderId]);
    assert.deepEqual(await idsOf('select distinct integration_id as id from integration_secrets'), [
      ours.client.shop.id,
    ]);
    assert.deepEqual(await own.query('select email from members'), [{ email: ours.email }]);
    for (const secret of ['password_hash from members', 'sealed from integration_secrets', 'secret_hash from tokens'])
      await assert.rejects(own.query(`select ${secret}`), /permission denied/);
  });

  test('without a holder, and for one that does not exist, there is no row', async () => {
    const { ctx } = gateway;
    assert.deepEqual(await ctx.db.forHolder(268_435_455n).query('select 1 from transactions'), []);
    const rows = ctx.ownerDb.transaction(async (tx) => {
      await tx.query('set local role simbi_tenant');
      return await tx.query('select 1 from transactions');
    });
    assert.deepEqual(await rows, []);
  });

  test('the next statement on the same connection is the service’s again, also after an error', async () => {
    const { ctx } = gateway;
    const own = ctx.db.forHolder(ours.client.shop.holderId);
    const who = 'select current_user::text as name, current_setting($$simbi.holder_id$$, true) as holder';
    for (let round = 0; round < 30; round++) {
      await assert.rejects(own.query('select 1 / 0'), /division by zero/);
      await own.query('select 1');
      const [row] = await ctx.db.query<{ name: string; holder: string | null }>(who);
      assert.equal(row?.name, 'simbi_service');
      assert.equal(row?.holder ?? '', '');
    }
    const [inside] = await own.query<{ name: string; holder: string }>(who);
    assert.deepEqual(inside, { name: 'simbi_tenant', holder: String(ours.client.shop.holderId) });
  });

  test('in a distributed store a holder is set by `set local` after a begin, which Citus passes on to its servers', async () => {
    const { ctx } = gateway;
    const way = `select current_user::text as name, current_setting('simbi.holder_id') as holder,
                        current_setting('transaction_read_only') as "readOnly",
                        exists (select from pg_prepared_statements where name = 'as_holder') as "isPreamble"`;
    const { holderId } = ours.client.shop;
    const readWay = async () => {
      const db = connectDatabase({ url: ctx.databaseUrl, poolSize: 1 });
      try {
        return await db.forHolder(holderId).query(way);
      } finally {
        await db.close();
      }
    };
    const asHolder = { name: 'simbi_tenant', holder: String(holderId), readOnly: 'on' };
    assert.deepEqual(await readWay(), [{ ...asHolder, isPreamble: true }]);
    await ctx.ownerDb.query(`create function ${DISTRIBUTED_MARK}() returns boolean language sql as 'select true'`);
    try {
      assert.deepEqual(await readWay(), [{ ...asHolder, isPreamble: false }]);
    } finally {
      await ctx.ownerDb.query(`drop function ${DISTRIBUTED_MARK}()`);
    }
  });

  /** A second set of services and routes on the same database, whose holders read with `scoped`. */
  async function withForgetfulCode<T>(
    scoped: (db: Database, holderId: bigint) => Database,
    work: (app: { inject: TestGateway['app']['inject'] }, services: Services) => Promise<T>,
  ): Promise<T> {
    const { ctx } = gateway;
    const db: Database = {
      ...ctx.db,
      forHolder(holderId) {
        const own = scoped(ctx.db, holderId);
        return { ...own, query: (statement, values) => own.query(forget(statement), values) };
      },
    };
    const services = await createServices({ ...ctx, db, memory: new Map() });
    const app = createApp(services);
    try {
      return await work(app as unknown as { inject: TestGateway['app']['inject'] }, services);
    } finally {
      await app.close();
      await services.stop();
    }
  }

  async function readEverything(scoped: (db: Database, holderId: bigint) => Database): Promise<string[]> {
    const { ctx } = gateway;
    const [member] = await ctx.db.query<{ id: bigint; email: string }>(
      'select id, email from members where email = $1',
      [ours.email],
    );
    assert.ok(member);
    const { cookie } = await signIn(gateway, member as never, { holderId: ours.client.shop.holderId });
    return await withForgetfulCode(scoped, async (app) => {
      const texts: string[] = [];
      const searches = [
        `/search?q=${theirs.number}`,
        `/transactions?q=${theirs.number}`,
        `/transactions/${theirs.ref}`,
      ];
      for (const path of [...PAGES, ...searches]) {
        const page = await app.inject({ url: `/console${path}`, headers: { cookie } });
        assert.ok(page.statusCode < 500, `${path} answered ${page.statusCode}`);
        texts.push(page.body);
      }
      const authorization = `Bearer ${await ours.client.token()}`;
      for (const url of [PATHS.events, PATHS.listLinks, `${PATHS.listLinks}?limit=50`]) {
        const answer = await app.inject({ url, headers: { authorization } });
        assert.equal(answer.statusCode, 200, url);
        texts.push(answer.body);
      }
      for (const [url, params] of [
        [PATHS.balance, {}],
        [PATHS.statusV3, { id: theirs.ref }],
      ] as const) {
        const answer = await app.inject({ method: 'POST', url, payload: ours.client.envelope(params) });
        assert.ok(answer.statusCode < 500, url);
        texts.push(answer.body);
      }
      return texts;
    });
  }

  const marksOf = ({ ref, number, email, link }: Tenant) => [ref, ref.slice(3), number, email, link];
  // What was asked for is shown again: in the field, the heading and the links to other languages.
  const withoutEcho = (text: string) => text.replaceAll(/value="[^"]*"|<(title|h1|footer)>[\s\S]*?<\/\1>/g, '');
  const found = (texts: string[], tenant: Tenant) =>
    texts.filter((text) => marksOf(tenant).some((mark) => withoutEcho(text).includes(mark))).length;

  test('every page and route with every condition on the holder removed: 0 rows of another tenant', async () => {
    const texts = await readEverything((db, holderId) => db.forHolder(holderId));
    assert.equal(found(texts, theirs), 0);
    assert.ok(found(texts, ours) >= 4, 'their own rows are there');
  });

  test('the same without row-level security shows them: the conditions were really removed', async () => {
    const texts = await readEverything((db) => db);
    assert.ok(found(texts, theirs) >= 4, `${found(texts, theirs)} pages show rows of another tenant`);
  });

  test('a visitor without a session reads no holder', async () => {
    for (const path of PAGES) assert.equal((await visitor(gateway, '').get(`/console${path}`)).status, 303);
  });
});
