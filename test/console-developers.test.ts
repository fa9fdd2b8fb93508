// Pages of developers: which endpoints fail, the request log of a day, and the way from a refused request to Sign-check.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { summariseEndpoints } from '../src/callbacks/endpoints.ts';
import { writeUnverified } from '../src/holders/unverified-requests.ts';
import { DAY_MS } from '../src/platform/clock.ts';
import { createUuid, publicId } from '../src/platform/ids.ts';
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
});
