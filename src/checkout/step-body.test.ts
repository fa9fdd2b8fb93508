// What the payer's page shows when an operator wants more than a PIN on the phone.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openShop, type Shop } from '../../test/browser/shop.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import type { CollectCall, Observation, PayerStep, Rail } from '../rails/rail.ts';

describe('a step of the payer', () => {
  let gateway: TestGateway;
  let shop: Shop;
  let rail: { -readonly [Name in keyof Rail]: Rail[Name] };
  let step: PayerStep;
  let collected: CollectCall[];
  let codes: string[];
  let people = 100;

  before(async () => {
    gateway = await createTestGateway();
    shop = await openShop(gateway);
    rail = gateway.ctx.rails.byName('sandbox') ?? assert.fail();
    collected = [];
    codes = [];
    rail.collect = async (call) => {
      collected.push(call);
      return { observation: { state: 'pending', step }, raw: '' };
    };
    rail.query = async () => ({ observation: { state: 'pending' }, raw: '' });
    rail.submitCode = async ({ code }) => {
      codes.push(code);
      const observation: Observation =
        code === '1234' ? { state: 'succeeded', receipt: null } : { state: 'pending', step };
      return { observation, raw: '' };
    };
  });
  after(() => gateway.close());

  const get = async (url: string) => (await gateway.app.inject({ url })).body;

  async function post(url: string, fields: Record<string, string>): Promise<string> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const payload = new URLSearchParams(fields).toString();
    return String((await gateway.app.inject({ method: 'POST', url, headers, payload })).headers.location ?? '');
  }

  /** Pays as a payer does, and answers the address of the attempt. */
  async function pay(next: PayerStep): Promise<string> {
    step = next;
    const { url } = await shop.link({ country_id: 1, currency: 'KES', amount: '2500', business_name: 'Duka' });
    const path = new URL(url).pathname;
    const form = /name="form" value="([^"]+)"/.exec(await get(path))?.[1] ?? '';
    const attempt = await post(path, { phone: `0711${++people}555`, method: 'MPESA_KEN', form });
    await gateway.settle();
    return attempt;
  }

  test('a page of the operator is one large link, and the payer comes back to this page', async () => {
    const attempt = await pay({ kind: 'redirect', url: 'https://operator.example/pay?id=1', expiresAt: null });
    const page = await get(attempt);
    assert.match(page, /<a class="button" href="https:\/\/operator\.example\/pay\?id(=|&#61;)1" rel="noreferrer">/);
    assert.match(page, /data-stage="outside"/);
    assert.ok(collected.at(-1)?.returnUrl.endsWith(attempt), collected.at(-1)?.returnUrl);
  });

  test('a QR code is a picture in the page, with the apps that open it', async () => {
    const links = [{ name: 'Max it', url: 'maxit://pay/1' }];
    const page = await get(await pay({ kind: 'qr', content: 'https://qr.example/1', links, expiresAt: null }));
    assert.match(page, /<svg class="qr" role="img"/);
    assert.match(page, /href="maxit:\/\/pay\/1"[^>]*>Open Max it</);
  });

  test('a code to dial is the operator’s own', async () => {
    const page = await get(await pay({ kind: 'dial', code: '*144*82#', text: 'Dial <b>now</b>' }));
    assert.match(page, /\*144\*82#/);
    assert.match(page, /Dial &#60;b&#62;now&#60;\/b&#62;/, 'the operator’s words are text');
  });

  test('a code of the operator is entered here, without scripts', async () => {
    const attempt = await pay({ kind: 'code', text: 'Dial *110# for a voucher' });
    const page = await get(attempt);
    assert.match(page, /Dial \*110# for a voucher/);
    assert.match(page, new RegExp(`action="${attempt}/code"`));
    const wrong = await post(`${attempt}/code`, { code: '99 99' });
    assert.match(wrong, /n=wrong-4/);
    assert.match(await get(wrong), /4 tries left|4 /);
    assert.equal(await post(`${attempt}/code`, { code: '1234' }), attempt);
    assert.deepEqual(codes, ['9999', '1234']);
    assert.match(await get(attempt), /Payment received|paid|Paid/);
  });

  test('what to dial for a code is said in the language of the payer, and not as words of the operator', async () => {
    const attempt = await pay({ kind: 'code', text: null, dial: '#144#391*PIN#' });
    const french = await get(`${attempt}?lang=fr`);
    assert.match(french, /Composez #144#391\*PIN# sur votre téléphone/);
    assert.doesNotMatch(french, /Dial |Message de l’opérateur/);
  });
});
