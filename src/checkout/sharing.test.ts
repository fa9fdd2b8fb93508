// A link that is shared: its short address, what a messenger shows of it, who opened it, and the first sight of its page.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openShop, type Shop } from '../../test/browser/shop.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { shortPath } from '../links/short-urls.ts';
import { countVisits, flushVisits } from '../links/visits.ts';
import type { JsonObject } from '../platform/strict-json.ts';

const BROWSER = { 'user-agent': 'Mozilla/5.0 (Linux; Android 10) Chrome/120.0' };

describe('a link that is shared', () => {
  let gateway: TestGateway;
  let shop: Shop;

  before(async () => {
    gateway = await createTestGateway();
    shop = await openShop(gateway);
  });
  after(() => gateway.close());

  const get = (url: string, headers: Record<string, string> = {}) => gateway.app.inject({ url, headers });
  const kenya = async (more: JsonObject = {}) => {
    const { url, link } = await shop.link({
      country_id: 1,
      currency: 'KES',
      amount: '2500',
      business_name: 'Duka',
      item_name: 'Fruit <basket>',
      ...more,
    });
    return { path: new URL(url).pathname, link };
  };

  test('its short address leads to its page, however the code is typed', async () => {
    const { path, link } = await kenya();
    assert.match(link.code, /^[0-9A-HJKMNP-TV-Z]{10}$/);
    const mistaken = link.code.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l');
    for (const address of [
      shortPath(link),
      `/p/${link.code}`,
      `/p/${mistaken}`,
      `/p/${link.code.slice(0, 5)}%20${link.code.slice(5)}`,
    ]) {
      const answer = await get(address);
      assert.equal(answer.statusCode, 302, address);
      assert.equal(answer.headers.location, path);
    }
    assert.equal((await get(`${shortPath(link)}?lang=sw`)).headers.location, `${path}?lang=sw`);
  });

  test('a wrong code is a page, and too many of them from one address are refused', async () => {
    const { link } = await kenya();
    const from = (address: string, path: string) => gateway.app.inject({ url: path, remoteAddress: address });
    const wrong = await from('10.9.9.9', '/p/00000-00000');
    assert.equal(wrong.statusCode, 404);
    assert.match(wrong.body, /<h1>This link isn’t valid/);
    for (let time = 0; time < 59; time++) await from('10.9.9.9', '/p/nonsense');
    assert.equal((await from('10.9.9.9', shortPath(link))).statusCode, 429);
    assert.equal((await from('10.9.9.8', shortPath(link))).statusCode, 302, 'others are not held back');
    await gateway.advance(600_000);
    assert.equal((await from('10.9.9.9', shortPath(link))).statusCode, 302);
  });

  test('an address of IPv6 counts as its network, from which one machine can take any', async () => {
    const { link } = await kenya();
    const from = (address: string, path: string) => gateway.app.inject({ url: path, remoteAddress: address });
    for (let time = 0; time < 60; time++) await from(`2001:db8:5:6::${time + 1}`, '/p/nonsense');
    assert.equal((await from('2001:db8:5:6:a:b:c:d', shortPath(link))).statusCode, 429);
    assert.equal((await from('2001:db8:5:7::1', shortPath(link))).statusCode, 302, 'others are not held back');
  });

  test('a messenger reads title, amount, item and a picture from the page', async () => {
    const { path, link } = await kenya();
    const { body } = await get(path);
    const tag = (name: string) => new RegExp(`<meta property="og:${name}" content="([^"]*)">`).exec(body)?.[1];
    assert.equal(tag('title'), 'Pay Duka · KES\u00a02\u202f500');
    assert.equal(tag('description'), 'Fruit &#60;basket&#62;');
    assert.ok(tag('url')?.endsWith(shortPath(link)));
    const picture = await get(new URL(tag('image') ?? '').pathname);
    assert.equal(picture.statusCode, 200);
    assert.equal(picture.headers['content-type'], 'image/png');
    const png = picture.rawPayload;
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1_200, 630]);
    assert.ok(png.length < 300_000, 'WhatsApp shows no larger ones');
    assert.equal((await get('/pay/pl_00000000000000000000000000/preview.png')).statusCode, 404);
  });

  test('visits are counted, but not those of messengers that make a preview', async () => {
    const { path, link } = await kenya();
    await get(path, BROWSER);
    await get(path, BROWSER);
    await get(path, { 'user-agent': 'WhatsApp/2.23.20.0' });
    await get(path, { 'user-agent': 'facebookexternalhit/1.1' });
    await flushVisits(gateway.ctx);
    await get(path, BROWSER);
    await flushVisits(gateway.ctx);
    // Visits are also written by themselves, a second after they were noted.
    while ((await countVisits(gateway.ctx.db, link.holder_id, link.id)) < 3n) await flushVisits(gateway.ctx);
    assert.equal(await countVisits(gateway.ctx.db, link.holder_id, link.id), 3n);
  });

  test('the only method that asks on the phone is selected, and ways by hand are folded', async () => {
    const { path } = await kenya();
    const { body } = await get(path);
    assert.match(body, /value="MPESA_KEN"[^>]* checked data-guessed>/);
    const [shown = '', folded = ''] = body.split('<summary>Other ways to pay</summary>');
    assert.match(shown, /MPESA_KEN/);
    assert.doesNotMatch(shown, /MPESA_TILL_KEN/);
    assert.match(folded, /MPESA_TILL_KEN.*MPESA_PAYBILL_KEN.*PESALINK_KEN/s);
    assert.match((await get(`${path}?lang=fr`)).body, /Virement bancaire \(Pesalink\)/);
    const uganda = await kenya({ country_id: 11, currency: 'UGX' });
    assert.doesNotMatch((await get(uganda.path)).body, / checked/, 'two that ask on the phone: the number decides');
  });

  test('the limits of a typed amount are those of the method that asks on the phone', async () => {
    const { path } = await kenya({ amount: null });
    assert.match((await get(path)).body, /From KES\u00a01 to KES\u00a0250\u202f000/);
  });

  test('the counter card prints the short address', async () => {
    const { path, link } = await kenya();
    assert.match(
      (await get(`${path}/card`)).body,
      new RegExp(`class="short-address">[^<]+<wbr><span>${shortPath(link)}`),
    );
  });
});
