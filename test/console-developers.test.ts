// Pages of developers: which endpoints fail, the request log of a day, and the way from a refused request to Sign-check.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { summariseEndpoints } from '../src/callbacks/endpoints.ts';
import { PARTITIONS } from '../src/holders/request-log.ts';
import { writeUnverified } from '../src/holders/unverified-requests.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { createUuid, publicId, uuidFromPublicId } from '../src/platform/ids.ts';
import { maintainPartitions } from '../src/platform/partitions.ts';
import { type CallbackReceiver, createCallbackReceiver } from './callback-receiver.ts';
import { collectInKenya } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

describe('pages of developers', () => {
  let gateway: TestGateway;
  let shop: Shop;
  let receiver: CallbackReceiver;
  let developer: Person;

  before(async () => {
    gateway = await createTestGateway();
    const { ctx } = gateway;
    shop = await createShop(ctx, 'Web shop');
    receiver = await createCallbackReceiver();
    developer = await addPerson(gateway, shop.holderId, 'developer');
  });
  after(async () => {
    await receiver?.close();
    await gateway?.close();
  });

  test('endpoints are listed with how many callbacks arrived, the one that fails first', async () => {
    const { ctx } = gateway;
    const pay = async (path: string, status: number) => {
      receiver.answerWith(status);
      await collectInKenya(gateway, shop, { mobile: '254712345000', callback_url: `${receiver.url}${path}` });
      await gateway.settle();
    };
    await pay('/bad', 410);
    await pay('/good', 200);
    await pay('/good', 200);
    const found = await summariseEndpoints(ctx.db, shop.holderId);
    assert.deepEqual(
      found
        .map(({ url, events, delivered, waiting }) => [new URL(url).pathname, events, delivered, waiting] as const)
        .sort(([left], [right]) => left.localeCompare(right)),
      [
        ['/bad', 1, 0, 1],
        ['/good', 2, 2, 0],
      ],
    );
    const { text } = await developer.get('/console/callbacks');
    assert.match(
      text,
      /\/bad<\/b>[\s\S]*?Paused[\s\S]*?0 of 1 delivered[\s\S]*?\/good<\/b>[\s\S]*?Working[\s\S]*?2 of 2 delivered/,
    );
    assert.match(text, /name="url" value="[^"]*\/bad"/, 'it can be resumed here');
    assert.match(text, /href="\/sandbox\/callbacks"/);
  });

  test('a refused signature leads to Sign-check with the request and its address', async () => {
    const { ctx } = gateway;
    const { holderId, id: integrationId } = shop;
    const at = ctx.clock.now();
    const id = createUuid(at.getTime());
    const row = {
      status: 403,
      route: 'POST /api/v3/get-unified-balance',
      address: '203.0.113.7',
      code: 'signature_mismatch',
    };
    await writeUnverified(ctx, [{ ...row, holderId, integrationId, id, at }]);
    const link = `/console/debugger?request=${publicId('req', id)}`;
    assert.ok((await developer.get('/console/requests')).text.includes(`href="${link}"`));
    const { text } = await developer.get(link);
    assert.match(text, /Refused request <code>req_\w{26}<\/code>/);
    assert.match(text, /name="address" type="text" value="203\.0\.113\.7"/);
    const viewer = await addPerson(gateway, holderId, 'viewer');
    assert.ok(!(await viewer.get('/console/requests')).text.includes(link), 'not for those who may not open it');
  });

  test('the request log of one day, with whole ids to copy', async () => {
    const { ctx } = gateway;
    // The refused request of the test before. Accepted ones are written a second later.
    const today = ctx.clock.now().toISOString().slice(0, 10);
    const ids = async (day: string) =>
      [...(await developer.get(`/console/requests?status=4&day=${day}`)).text.matchAll(/<code id="(req_\w{26})"/g)]
        .length;
    assert.equal(await ids(today), 1);
    assert.equal(await ids(new Date(ctx.clock.millis() - DAY_MS).toISOString().slice(0, 10)), 0);
    assert.equal(await ids('not-a-day'), 1);
  });

  describe('the request log of a busy account', () => {
    let busy: Shop;
    let reader: Person;
    const idsOf = (text: string) => [...text.matchAll(/<code id="(req_\w{26})"/g)].map(([, id = '']) => id);
    const nextOf = (text: string) =>
      /rel="next" href="([^"]+)"/
        .exec(text)?.[1]
        ?.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code))) ?? null;

    /** Writes `count` requests, `each` milliseconds apart, the last of them a second ago. */
    async function write(count: number, { each, code }: { each: number; code: string | null }): Promise<string[]> {
      const { ctx } = gateway;
      const end = ctx.clock.millis() - 1_000;
      const rows = Array.from({ length: count }, (_, row) => {
        const at = end - (count - 1 - row) * each;
        return { at: new Date(at), id: createUuid(at) };
      });
      await ctx.ownerDb.query(
        `insert into request_log (at, id, holder_id, integration_id, ms, status, route, address, code)
         select at, id, $3, $4, 1, 400, 'POST /api/v3/preflight', '203.0.113.7', $5
         from unnest($1::timestamptz[], $2::uuid[]) as row (at, id)`,
        [rows.map(({ at }) => at), rows.map(({ id }) => id), busy.holderId, busy.id, code],
      );
      return rows.map(({ id }) => publicId('req', id));
    }

    async function readAll(path: string): Promise<string[]> {
      const found: string[] = [];
      for (let next: string | null = path; next !== null; ) {
        const { text } = await reader.get(next);
        found.push(...idsOf(text));
        next = nextOf(text);
        assert.ok(found.length < 1_000, 'the pages never end');
      }
      return found;
    }

    before(async () => {
      const { ctx } = gateway;
      busy = await createShop(ctx, 'Busy shop');
      reader = await addPerson(gateway, busy.holderId, 'developer', 'busy@example.org');
      await maintainPartitions(ctx, PARTITIONS);
    });

    test('requests of one millisecond are all on its pages, each once', async () => {
      const written = await write(120, { each: 0, code: null });
      assert.deepEqual((await readAll('/console/requests')).sort(), written.sort());
    });

    test('a filter and an id find what is behind twenty thousand newer requests', async () => {
      const [oldest = ''] = await write(30_000, { each: 10, code: 'invalid_params' });
      const rare = await gateway.ctx.ownerDb.query<{ id: string }>(
        `update request_log set code = 'overdraft' where holder_id = $1 and id = $2 returning id`,
        [busy.holderId, uuidFromPublicId('req', oldest)],
      );
      assert.equal(rare.length, 1);
      const first = await reader.get('/console/requests?code=overdraft');
      assert.deepEqual(idsOf(first.text), []);
      assert.match(first.text, /Searched back to/);
      assert.deepEqual(await readAll('/console/requests?code=overdraft'), [oldest]);
      assert.deepEqual(idsOf((await reader.get(`/console/requests?id=${oldest}`)).text), [oldest]);
    });
  });
});
