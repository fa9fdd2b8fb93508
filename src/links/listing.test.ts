// The list of links: complete, in order, each once, only the holder's own, and in limited memory for any length.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { createLinksHarness, LIST_PATH, type LinksHarness } from '../../test/links-harness.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import type { CreatedIntegration } from '../holders/integrations.ts';
import { setHolderStatus } from '../payments/holder-status.ts';
import type { JsonObject } from '../platform/strict-json.ts';
import { createLink, disableLink } from './links.ts';
import { openLinkStream } from './listing.ts';

const UGANDA = { country_id: 11, currency: 'UGX' };
const MANY = 100_000;
const MEGABYTE = 1024 * 1024;

let harness: LinksHarness;
before(async () => {
  harness = await createLinksHarness();
});
after(() => harness.close());

async function addLink(by: CreatedIntegration, params: JsonObject = {}): Promise<string> {
  harness.ctx.clock.advance(1);
  const owner = { holderId: by.holderId, integrationId: by.id, defaultCallbackUrl: null };
  return (await createLink(harness.ctx, owner, { ...UGANDA, ...params })).id;
}

const idsOf = (body: { data: { id: string }[] }) => body.data.map((link) => link.id);

describe('the list', () => {
  test('newest first, as creation answered; an empty account has an empty list', async () => {
    const shop = await harness.newShop('Ordered');
    const empty = await harness.list('', shop);
    assert.deepEqual(empty.json(), { success: true, message: 'Payment links retrieved.', data: [] });
    const made = [];
    for (const item_name of ['one', 'two', 'three']) {
      harness.ctx.clock.advance(1);
      made.unshift((await harness.post(harness.envelope({ ...UGANDA, item_name, amount: '500' }, shop))).json().data);
    }
    const response = await harness.list('', shop);
    assert.equal(response.headers['content-type'], 'application/json; charset=utf-8');
    assert.deepEqual(response.json().data, made);
  });

  test("another account's links are never in it, whatever the cursor", async () => {
    const [mine, theirs] = [await harness.newShop('Mine'), await harness.newShop('Theirs')];
    await addLink(mine);
    await addLink(theirs);
    await addLink(mine);
    const [newest] = idsOf((await harness.list('', mine)).json());
    const body = (await harness.list(`?limit=10&cursor=${newest}`, theirs)).json();
    assert.deepEqual(idsOf(body), idsOf((await harness.list('', theirs)).json()));
    assert.equal(body.data.length, 1);
  });

  test('filtered by the status of this moment', async () => {
    const shop = await harness.newShop('Filtered');
    const expiring = new Date(harness.ctx.clock.millis() + 60_000).toISOString();
    await addLink(shop, { item_name: 'expired', expires_at: expiring });
    await addLink(shop, { item_name: 'active' });
    const disabled = await addLink(shop, { item_name: 'disabled' });
    await disableLink(harness.ctx, COMMAND_LINE, shop.holderId, disabled);
    harness.ctx.clock.advance(60_000);
    for (const status of ['active', 'expired', 'disabled'])
      for (const more of ['', '&limit=5']) {
        const { data } = (await harness.list(`?status=${status}${more}`, shop)).json();
        assert.deepEqual(
          data.map((link: JsonObject) => [link.item_name, link.status]),
          [[status, status]],
        );
      }
    assert.deepEqual((await harness.list('?status=paid', shop)).json().data, []);
  });

  test('paging visits each link exactly once while new ones arrive', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.nat(3),
        async (count, limit, arriving) => {
          const shop = await harness.newShop('Paged');
          for (let index = 0; index < count; index++) await addLink(shop);
          const there = idsOf((await harness.list('', shop)).json());
          const seen: string[] = [];
          for (let query = `?limit=${limit}`; query !== ''; ) {
            const body = (await harness.list(query, shop)).json();
            assert.ok(body.data.length <= limit);
            seen.push(...idsOf(body));
            for (let index = 0; index < arriving; index++) await addLink(shop);
            query = body.meta.next_cursor === null ? '' : `?limit=${limit}&cursor=${body.meta.next_cursor}`;
          }
          assert.deepEqual(seen, there);
        },
      ),
      { numRuns: 12 },
    );
  });

  test('an invalid query is refused field by field', async () => {
    for (const [query, field] of [
      ['?limit=0', 'limit'],
      ['?limit=1001', 'limit'],
      ['?limit=ten', 'limit'],
      ['?limit=1&limit=2', 'limit'],
      ['?limit=-1', 'limit'],
      ['?cursor=nonsense', 'cursor'],
      ['?cursor=', 'cursor'],
      ['?status=open', 'status'],
    ] as const) {
      const response = await harness.list(query);
      assert.deepEqual([response.statusCode, response.json().code], [400, 'invalid_params'], query);
      assert.deepEqual(Object.keys(response.json().errors), [field], query);
    }
    assert.equal((await harness.list('?limit=1000')).statusCode, 200);
  });

  test('without a live token: 401 Unauthenticated.; without a live account: 404 User not found', async () => {
    for (const authorization of [undefined, 'Bearer 1|nothing', 'Basic x']) {
      const response = await harness.app.inject({ url: LIST_PATH, headers: authorization ? { authorization } : {} });
      assert.deepEqual([response.statusCode, response.json().message], [401, 'Unauthenticated.']);
    }
    const shop = await harness.newShop('Gone');
    const headers = { authorization: `Bearer ${await harness.token(shop)}` };
    for (const [status, code] of [
      ['suspended', 'account_suspended'],
      ['closed', 'account_not_found'],
    ] as const) {
      await setHolderStatus(harness.ctx, COMMAND_LINE, shop.holderId, status);
      harness.ctx.clock.advance(1_000);
      const response = await harness.app.inject({ url: LIST_PATH, headers });
      assert.deepEqual(
        [response.statusCode, response.json().message, response.json().code],
        [404, 'User not found', code],
      );
    }
  });
});

describe(`${MANY} links of one account`, () => {
  let shop: CreatedIntegration;
  let url: string;
  let authorization: string;
  before(async () => {
    shop = await harness.newShop('Large');
    // In parts, because a statement has a time limit, on a busy machine too.
    for (let from = 1; from <= MANY; from += 10_000)
      await harness.ctx.db.query(
        `insert into payment_links (id, holder_id, business_name, item_name, currency, country_id, amount, created_at, updated_at)
         select (lpad(to_hex($2::bigint + n), 12, '0') || '70008000000000000000')::uuid, $1, 'A business with a name',
                'Item ' || n, 'UGX', 11, 250000, $3, $3
         from generate_series($4::int, $4::int + 9999) as n`,
        [shop.holderId, harness.ctx.clock.millis() - MANY, harness.ctx.clock.now(), from],
      );
    await harness.app.listen({ port: 0, host: '127.0.0.1' });
    url = `http://127.0.0.1:${(harness.app.server.address() as AddressInfo).port}${LIST_PATH}`;
    authorization = `Bearer ${await harness.token(shop)}`;
  });

  const open = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { headers: { authorization }, agent: false }, resolve).on('error', reject);
    });

  test('come in one answer, in order, the first before the last is read, within 200 MB', async () => {
    const { counters } = harness.ctx.db;
    const atStart = counters.statements;
    const before = process.memoryUsage().rss;
    let most = before;
    const response = await open();
    let atFirstByte = 0;
    let count = 0;
    let last = 'pl_Z';
    let carry = '';
    let ending = '';
    for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
      atFirstByte ||= counters.statements - atStart;
      // Up to the last link that is whole; the rest is read with the next chunk.
      const text = carry + chunk;
      const whole = text.lastIndexOf('}') + 1;
      carry = text.slice(whole);
      for (const [, id] of text.slice(0, whole).matchAll(/"id":"(pl_[0-9A-Z]{26})"/g)) {
        assert.ok(id && id < last, 'newest first, each once');
        last = id;
        count++;
      }
      ending = (ending + chunk).slice(-2);
      most = Math.max(most, process.memoryUsage().rss);
    }
    assert.equal(count, MANY);
    assert.equal(ending, ']}');
    const inAll = counters.statements - atStart;
    assert.ok(atFirstByte * 4 < inAll, `${atFirstByte} of ${inAll} statements before the first byte`);
    assert.ok(most - before < 200 * MEGABYTE, `${(most - before) / MEGABYTE} MB`);
  });

  test('a client that reads nothing causes no more work than a page or two', async () => {
    const { db } = harness.ctx;
    const statements = db.counters.statements;
    const stream = await openLinkStream(harness.ctx, shop.holderId, { before: null, status: null, limit: null });
    await once(stream, 'readable');
    const turns = 10;
    for (let turn = 0; turn < turns; turn++) await db.query('select 1');
    assert.ok(db.counters.statements - statements - turns <= 2);
    stream.destroy();
  });

  test('a failure in the middle breaks the connection; it never looks complete', async () => {
    const response = await open();
    await once(response, 'readable');
    await harness.ctx.ownerDb.query('alter table payment_links rename to payment_links_away');
    let text = '';
    await assert.rejects(async () => {
      for await (const chunk of response) text = String(chunk).slice(-10);
    }, /aborted|ECONNRESET|hang up/);
    assert.ok(!text.endsWith(']}'));
    const refused = await fetch(url, { headers: { authorization } });
    assert.equal(refused.status, 500);
    assert.equal(((await refused.json()) as JsonObject).success, false);
    await harness.ctx.ownerDb.query('alter table payment_links_away rename to payment_links');
  });
});
