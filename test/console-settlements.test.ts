// Settlements in the console: owners choose the destination, every member reads the list and the report, nobody those of others.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { settlementRef } from '../src/books/settlement-rows.ts';
import { takeSettlement } from '../src/books/settlements.ts';
import { COMMAND_LINE } from '../src/holders/audit.ts';
import { topUpSandbox } from '../src/payments/sandbox-top-up.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { createShop, type Shop } from './shop.ts';

const RULE = {
  currency: 'KES',
  kind: 'bank',
  name: 'Duka Ltd',
  bank: 'KCB',
  branch: '01100',
  account: '1100123456',
  schedule: 'weekly',
  weekday: '5',
  minimum: '500',
};

let gateway: TestGateway;
let shop: Shop;
let owner: Person;
let finance: Person;
before(async () => {
  gateway = await createTestGateway({ SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'simbi@example.org' });
  shop = await createShop(gateway.ctx, 'Duka la Amani');
  owner = await addPerson(gateway, shop.holderId, 'owner');
  finance = await addPerson(gateway, shop.holderId, 'finance');
  await topUpSandbox(gateway.ctx, COMMAND_LINE, shop.holderId, 'KES', 1_000_000n);
});
after(() => gateway.close());

describe('settlements in the console', () => {
  test('only owners set a destination, and its number is shown only in part', async () => {
    assert.equal((await finance.post('/console/settlements', RULE)).status, 403);
    const wrong = await owner.post('/console/settlements', { ...RULE, account: '!' });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /account number has 4 to 40/);
    assert.equal((await owner.post('/console/settlements', RULE)).status, 303);
    const page = await finance.get('/console/settlements');
    assert.ok(page.text.includes('3456') && !page.text.includes('1100123456'));
    assert.match(page.text, /Friday/);
  });

  test('what is wrong is said in the language of the page', async () => {
    const wrong = async (fields: Record<string, string>, sentence: RegExp, language = 'fr') => {
      const answer = await owner.post('/console/settlements', { ...RULE, ...fields }, { 'accept-language': language });
      assert.equal(answer.status, 400);
      assert.match(answer.text, sentence);
    };
    await wrong({ name: '' }, /id="e-name">De 2 à 120 caractères/);
    await wrong({ account: '!' }, /Un numéro de compte a de 4 à 40/);
    await wrong({ kind: 'mobile', mobile: '12' }, /qui peut recevoir des KES/);
    await wrong({ kind: 'mobile', mobile: '12' }, /possa receber KES/, 'pt');
  });

  test('every owner gets a mail about a new destination, and none about a new schedule', async () => {
    await addPerson(gateway, shop.holderId, 'owner', 'other@example.org');
    const mailed = async () =>
      (await gateway.ctx.ownerDb.query<{ to_address: string }>('select to_address from mails order by id')).map(
        (row) => row.to_address,
      );
    const before = (await mailed()).length;
    await gateway.ctx.db.query('update settlement_rules set usable_from = updated_at');
    assert.equal((await owner.post('/console/settlements', { ...RULE, schedule: 'daily' })).status, 303);
    assert.equal((await mailed()).length, before);
    assert.equal((await owner.post('/console/settlements', { ...RULE, account: '1100999999' })).status, 303);
    assert.deepEqual((await mailed()).slice(before).toSorted(), ['other@example.org', 'owner@example.org']);
    assert.equal((await owner.post('/console/settlements', RULE)).status, 303);
  });

  test('a settlement has a page and a report, for members of its holder', async () => {
    // Its day has passed.
    await gateway.ctx.db.query('update settlement_rules set usable_from = updated_at');
    const request = { holderId: shop.holderId, currency: 'KES', period: 'hand-1' };
    const result = await takeSettlement(gateway.ctx, { wake: () => undefined }, COMMAND_LINE, request);
    assert.ok(result.outcome === 'taken');
    const ref = settlementRef(result.settlement);
    const list = await finance.get('/console/settlements');
    assert.ok(list.text.includes(ref));
    const page = await finance.get(`/console/settlements/${ref}`);
    assert.equal(page.status, 200);
    const wallet = (await finance.get('/console/balances/KES')).text;
    assert.match(wallet, new RegExp(`<b><a href="/console/settlements/${ref}">Settlement</a></b>`));
    assert.ok(!wallet.includes(ref.replace('set_', 'TX_')), 'a settlement is no transaction');
    const files = wallet.split('id="statements"')[1]?.split('</table>')[0] ?? '';
    assert.match(files, /<td[^>]*class="[^"]*row-[^>]*><div>\s*<a[^>]*>CSV</, 'they are there on a phone too');
    assert.match(page.text, /KES.10.000/);
    const report = await finance.get(`/console/settlements/${ref}/report`);
    assert.equal(report.headers.get('content-type'), 'text/csv; charset=utf-8');
    assert.ok(report.text.includes(ref));
    const balances = await finance.get('/console/balances/KES');
    assert.ok(balances.text.includes(`href="/console/settlements/${ref}"`));
    assert.ok((await finance.get('/console/balances/KES/statement.csv')).text.includes(`"settlement","${ref}"`));
    const other = await addPerson(gateway, (await createShop(gateway.ctx, 'Other')).holderId, 'owner');
    assert.equal((await other.get(`/console/settlements/${ref}`)).status, 404);
    assert.equal((await other.get(`/console/settlements/${ref}/report`)).status, 404);
  });
});
