// Pages of the people who run the gateway: merchants with their volume, a look at their payments, the system, operators.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { collectInKenya } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

describe('pages of staff', () => {
  let gateway: TestGateway;
  let merchant: Shop;
  let owner: Person;
  let staff: Person;

  before(async () => {
    gateway = await createTestGateway();
    const { ctx } = gateway;
    const own = await createShop(ctx, 'Head office');
    merchant = await createShop(ctx, 'Mama Mboga 100%');
    staff = await addPerson(gateway, own.holderId, 'viewer', 'staff@example.org', { admin: true });
    owner = await addPerson(gateway, merchant.holderId, 'owner', 'mboga@example.org');
    await collectInKenya(gateway, merchant, {
      mobile: '254712345000',
      amount: 2500,
      third_party_reference_1: 'tomatoes',
    });
    await gateway.settle();
    // What a merchant collected is stored when somebody looks at it first.
    await owner.get('/console');
  });
  after(() => gateway?.close());

  test('merchants have volume and last use, and are found by name, address and status', async () => {
    const names = async (query: string) =>
      [...(await staff.get(`/console/admin?${query}`)).text.matchAll(/\/holders\/\d+"><bdi>([^<]+)/g)].map(
        ([, name]) => name,
      );
    assert.match((await staff.get('/console/admin')).text, /Mama Mboga 100%[\s\S]*?KES.2.500/);
    assert.deepEqual(await names('name=mboga'), ['Mama Mboga 100%']);
    assert.deepEqual(await names('name=mboga%40example'), ['Mama Mboga 100%']);
    assert.deepEqual(await names('name=100%25'), ['Mama Mboga 100%']);
    assert.deepEqual(await names('name=%25'), ['Mama Mboga 100%'], 'a sign, not a pattern');
    assert.deepEqual(await names('status=closed'), []);
    assert.match(
      (await staff.get('/console/search?q=mama')).text,
      new RegExp(`/console/admin/holders/${merchant.holderId}`),
    );
    assert.ok(!(await owner.get('/console/search?q=office')).text.includes('/console/admin/holders'));
  });

  test('fees with one operator in two countries are told apart, in the language of the page', async () => {
    const path = `/console/admin/holders/${merchant.holderId}`;
    for (const method of ['MTN_MOMO_UGA', 'MTN_MOMO_ZMB'])
      assert.equal((await staff.post(`${path}/fees`, { method, direction: 'collection', percent: '2' })).status, 303);
    const { text } = await staff.get(path, { 'accept-language': 'fr' });
    assert.match(text, /<td[^>]*><div>MTN MoMo \(Ouganda\)</);
    assert.match(text, /<td[^>]*><div>MTN MoMo \(Zambie\)</);
    const rails = await staff.get('/console/admin/rails/new', { 'accept-language': 'fr' });
    assert.match(rails.text, /Côte d’Ivoire, Cameroun/);
  });

  test('staff read the payments of a merchant, who sees that in the audit log; nobody else can', async () => {
    const path = `/console/admin/holders/${merchant.holderId}/payments`;
    assert.equal((await owner.get(path)).status, 403);
    const { text } = await staff.get(path);
    assert.match(text, /tomatoes[\s\S]*?Succeeded[\s\S]*?KES.2.500/);
    assert.ok(!/<form method="post" action="\/console\/(?:transactions|payouts)/.test(text), 'read only');
    assert.match(
      (await owner.get('/console/audit')).text,
      /staff@example\.org<\/bdi><\/b> looked at the payments of this account, as staff/,
    );
  });

  test('the system page says version, mode, clock, queues and errors', async () => {
    assert.equal((await owner.get('/console/admin/system')).status, 403);
    const { text } = await staff.get('/console/admin/system');
    for (const expected of [
      /Version<\/dt><dd>\d+\.\d+/,
      /Sandbox/,
      /\d MB/,
      /Not set up \(SMTP_URL\)/,
      /On time/,
      /No server errors/,
    ])
      assert.match(text, expected);
  });

  test('an operator is named with its country, with its state in a word and the payments of the day', async () => {
    const { text } = await staff.get('/console/admin/rails');
    assert.match(text, /M-PESA \(Kenya\)[\s\S]*?class="status success">Up</);
    assert.match(text, /Payments today and yesterday[\s\S]*?M-PESA \(Kenya\)[\s\S]*?100 %/);
  });
});
