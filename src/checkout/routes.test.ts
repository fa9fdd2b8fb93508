// The hosted pages over HTTP: what a link shows as its payment goes on, whose language, who may see what, and every way
// in which a second charge could have happened.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { openShop, type Shop } from '../../test/browser/shop.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { disableLink, findLink, type PaymentLink } from '../links/links.ts';
import { setHolderStatus } from '../payments/holder-status.ts';
import { blockNumber, setLimit } from '../payments/payment-limits.ts';
import { createRefund } from '../payments/refunds.ts';
import { idFromRef } from '../payments/transactions.ts';
import { refreshCaches } from '../platform/cache.ts';
import { createHolderUuid } from '../platform/ids.ts';
import type { JsonObject } from '../platform/strict-json.ts';

const SHOP_URL = 'https://shop.example/thanks';
const ENGLISH = { 'accept-language': 'en' };

describe('the hosted page', () => {
  let gateway: TestGateway;
  let shop: Shop;
  let people = 100;

  before(async () => {
    gateway = await createTestGateway();
    shop = await openShop(gateway);
  });
  after(() => gateway.close());

  /** A number whose last three digits do as asked; 555 rings. */
  function number(last = '555'): string {
    people++;
    return `0711${people}${last}`;
  }

  async function kenya(more: JsonObject = {}): Promise<{ path: string; link: PaymentLink }> {
    const { url, link } = await shop.link({
      country_id: 1,
      currency: 'KES',
      amount: '2500',
      business_name: 'Duka',
      ...more,
    });
    return { path: new URL(url).pathname, link };
  }

  const get = (url: string, headers: Record<string, string> = {}) => gateway.app.inject({ url, headers });

  async function formOf(path: string): Promise<string> {
    return /name="form" value="([^"]+)"/.exec((await get(path)).body)?.[1] ?? '';
  }

  async function post(
    path: string,
    fields: Record<string, string>,
    remoteAddress = '127.0.0.1',
  ): Promise<{ status: number; location: string }> {
    const answer = await gateway.app.inject({
      method: 'POST',
      url: path,
      remoteAddress,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(fields).toString(),
    });
    return { status: answer.statusCode, location: String(answer.headers.location ?? '') };
  }

  /** Pays as a payer does, and answers the address of the attempt. */
  async function pay(path: string, fields: Record<string, string> = {}): Promise<string> {
    const form = await formOf(path);
    const { status, location } = await post(path, { phone: number(), method: 'MPESA_KEN', form, ...fields });
    assert.equal(status, 303);
    await gateway.settle();
    return location;
  }

  test('a page of an error is compressed like any other', async () => {
    const gone = (encoding: string) => get('/pay/pl_nothing?lang=fr', { 'accept-encoding': encoding });
    const [plain, small] = [await gone('identity'), await gone('gzip')];
    assert.deepEqual([plain.statusCode, small.statusCode], [404, 404]);
    assert.equal(small.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(small.rawPayload).toString('utf8'), plain.body);
  });

  test('speaks the language that was asked for, then the one remembered, the browser’s, the country’s', async () => {
    const { path } = await kenya();
    const language = async (url: string, headers: Record<string, string> = {}) =>
      /<html lang="(\w+)"/.exec((await get(url, headers)).body)?.[1];
    assert.equal(await language(`${path}?lang=pt`, { cookie: 'lang=fr', 'accept-language': 'sw' }), 'pt');
    assert.equal(await language(path, { cookie: 'a=b; lang=fr', 'accept-language': 'sw' }), 'fr');
    assert.equal(await language(path, { 'accept-language': 'sw-KE,en;q=0.5' }), 'sw');
    assert.equal(await language(path), 'en');
    const senegal = await kenya({ country_id: 9, currency: 'XOF' });
    assert.equal(await language(senegal.path), 'fr');
    assert.match(
      String((await get(`${path}?lang=sw`)).headers['set-cookie']),
      /^lang=sw; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    assert.equal((await get(path)).headers['set-cookie'], undefined);
  });

  test('asks for a phone number, not for one of mobile money, where money comes from a bank', async () => {
    const label = async (path: string, language: string) =>
      /<label for="phone">([^<]+)/.exec((await get(`${path}?lang=${language}`)).body)?.[1];
    const nigeria = await kenya({ country_id: 17, currency: 'NGN', amount: '2500' });
    for (const [language, text] of [
      ['en', 'Phone number'],
      ['fr', 'Numéro de téléphone'],
      ['pt', 'Número de telefone'],
      ['sw', 'Namba ya simu'],
    ] as const)
      assert.equal(await label(nigeria.path, language), text);
    assert.equal(await label((await kenya()).path, 'en'), 'Mobile money number');
  });

  test('asks for the country where several use the currency, and then shows its methods', async () => {
    const { path } = await kenya({ currency: 'XOF' });
    const choice = (await get(path)).body;
    assert.match(choice, /Where is your mobile money account\?/);
    assert.match(choice.replaceAll('&#61;', '='), /\?country=9"[^>]*>Senegal/);
    const form = (await get(`${path}?country=9`)).body;
    assert.match(form, /ORANGE_SEN/);
    assert.doesNotMatch(form, /MPESA|MTN_MOMO_CIV/);
    const { location } = await post(path, {
      country: '9',
      phone: '771234555',
      method: 'ORANGE_SEN',
      form: await formOf(`${path}?country=9`),
    });
    assert.match(location, /\/TX_/);
    const refused = await post(path, {
      country: '1',
      phone: number(),
      method: 'MPESA_KEN',
      form: await formOf(`${path}?country=9`),
    });
    assert.doesNotMatch(refused.location, /TX_/, 'a country of another currency is none');
  });

  /** The address of a link on a page. */
  const hrefOf = (page: string, pattern: RegExp) =>
    (pattern.exec(page)?.[1] ?? '').replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));

  test('another try is made in the country of the one before, or in another one', async () => {
    const { path } = await kenya({ currency: 'XOF' });
    const form = await formOf(`${path}?country=3`);
    const fields = { country: '3', phone: '0501234001', method: 'MTN_MOMO_CIV', form };
    const { location } = await post(path, fields);
    await gateway.settle();
    const failed = (await get(location, ENGLISH)).body;
    assert.match(failed, /Payment failed/);
    const again = (await get(hrefOf(failed, /href="([^"]+)">Try again/), ENGLISH)).body;
    assert.match(again, /MTN_MOMO_CIV/, 'the form, in the same country');
    const choice = (await get(hrefOf(again, /href="([^"]+)"[^>]*>Change country/), ENGLISH)).body;
    assert.match(choice, /Where is your mobile money account\?/);
    assert.match((await get(hrefOf(choice, /href="([^"]+)"[^>]*>Senegal/))).body, /ORANGE_SEN/);
  });

  test('another language keeps the country, the try and what was typed', async () => {
    const french = /href="([^"]+)" lang="fr"/;
    const { path } = await kenya({ currency: 'XOF' });
    const chosen = (await get(`${path}?country=3`, ENGLISH)).body;
    const translated = (await get(hrefOf(chosen, french))).body;
    assert.match(translated, /MTN_MOMO_CIV/);
    assert.match(translated, /<html lang="fr"/);
    const { location } = await post(path, { country: '3', phone: '12', method: '', form: await formOf(path) });
    const wrong = (await get(location, ENGLISH)).body;
    assert.match(wrong, /Error/);
    const inFrench = (await get(hrefOf(wrong, french))).body;
    assert.match(inFrench, /value="12"/, 'the number that was typed');
    assert.match(inFrench, /numéro mobile \(Côte d’Ivoire\)/, 'and its error names the country in this language');
    const attempt = await pay((await kenya()).path, { phone: number('001') });
    const again = (await get(hrefOf((await get(attempt)).body, /href="([^"]+)">Try again/))).body;
    assert.match(
      (await get(hrefOf(again, french))).body,
      /<form class="card" method="post"/,
      'not the try that failed',
    );
  });

  test('a code is valid until a time of day, which French and Portuguese say differently from a date', async () => {
    const ghana = await kenya({ country_id: 16, currency: 'GHS', amount: '25.50' });
    const attempt = await pay(ghana.path, { phone: '0201234567', method: 'VODAFONE_GHA' });
    assert.match((await get(`${attempt}?lang=fr`)).body, /Valable jusqu’à \d\d:\d\d \(GMT\)/);
    assert.match((await get(`${attempt}?lang=pt`)).body, /Válido até às \d\d:\d\d \(GMT\)/);
  });

  test('half a code is no try, times on the page of a code do not move, and a paid page is no error', async () => {
    const ghana = await kenya({ country_id: 16, currency: 'GHS', amount: '25.50' });
    const attempt = await pay(ghana.path, { phone: '0201234567', method: 'VODAFONE_GHA' });
    const page = async (url: string) => (await get(url, ENGLISH)).body;
    for (const code of ['', '12345', '1234567', 'abcdef']) {
      const { location } = await post(`${attempt}/code`, { code });
      assert.match(await page(location), /<title>Error:.*id="code-error">Six digits\. It is not your PIN\./s, code);
    }
    const resent = await post(`${attempt}/resend`, {});
    assert.match(await page(resent.location), /another one in 30 seconds/);
    await gateway.advance(10_000);
    assert.match(await page(resent.location), /another one in 20 seconds/);
    await gateway.advance(25_000);
    assert.doesNotMatch(await page(resent.location), /another one in/);
    const limited = `${attempt}?n=limited-${Math.floor(gateway.ctx.clock.millis() / 1000) + 86_400}`;
    const until = /Too many wrong codes for this number\. .* after ([^<.]+)/.exec(await page(limited))?.[1];
    assert.match(until ?? '', /\d{4}, \d\d:\d\d \(GMT\)/);
    await gateway.advance(61_000);
    assert.ok((await page(limited)).includes(until ?? '-'), 'the same moment after a minute');
    const wrong = await post(`${attempt}/code`, { code: '000000' });
    assert.match(await page(wrong.location), /4 tries left/, 'the first try that counts');
    const paid = `${await pay((await kenya()).path, { phone: number('000') })}?n=wrong-4`;
    assert.match(await page(paid), /<title>Payment received/);
    assert.doesNotMatch(await page(paid), /tries left/);
  });

  test('takes the amount from the link, whatever the form says', async () => {
    const { path, link } = await kenya();
    await pay(path, { amount: '1', currency: 'XOF' });
    const [row] = await gateway.ctx.db.query<{ amount: bigint }>('select amount from transactions where link_id = $1', [
      link.id,
    ]);
    assert.equal(row?.amount, 250_000n);
  });

  test('offers what can take the amount, and says why the rest cannot', async () => {
    const { path } = await kenya({ amount: '300000' });
    const { body } = await get(path);
    assert.match(body, /value="MPESA_KEN"[^>]* disabled[^>]*>.*?Up to KES\u00a0250\u202f000/s);
    assert.doesNotMatch(body, /value="PESALINK_KEN"[^>]* disabled/);
    const { location } = await post(path, { phone: number(), method: 'MPESA_KEN', form: await formOf(path) });
    assert.match((await get(location)).body, /role="alert"/);
  });

  test('asks back where a number was written the old way, or tells its operator itself', async () => {
    const benin = await kenya({ country_id: 2, currency: 'XOF' });
    const old = await post(benin.path, {
      phone: '97 12 34 55',
      method: 'MTN_MOMO_BEN',
      form: await formOf(benin.path),
    });
    const question = (await get(old.location, { 'accept-language': 'en' })).body;
    assert.match(question, /Did you mean the number 01 97 12 34 55\?/);
    const confirmed = await post(benin.path, {
      phone: '2290197123455',
      method: 'MTN_MOMO_BEN',
      confirmed: '1',
      form: /name="form" value="([^"]+)"/.exec(question)?.[1] ?? '',
    });
    assert.match(confirmed.location, /\/TX_/);

    const uganda = await kenya({ country_id: 11, currency: 'UGX', amount: '5000' });
    const unsaid = await post(uganda.path, { phone: '0772123555', form: await formOf(uganda.path) });
    assert.match((await get(unsaid.location)).body, /MTN MoMo number: 0772/);
    const unknowable = await post(uganda.path, { phone: '0711123555', form: await formOf(uganda.path) });
    assert.match((await get(unknowable.location)).body, /Choose how you want to pay/);
    assert.equal(await shop.collections(uganda.link), 0);
  });

  test('an attempt of another link, or of none, is not found', async () => {
    const [one, two] = [await kenya(), await kenya()];
    const attempt = await pay(one.path);
    const ref = attempt.split('/').at(-1);
    assert.equal((await get(attempt)).statusCode, 200);
    assert.equal((await get(`${two.path}/${ref}`)).statusCode, 404);
    assert.equal((await get(`${two.path}/${ref}/status`)).statusCode, 404);
    assert.equal((await post(`${two.path}/${ref}/code`, { code: '123456' })).status, 404);
    assert.equal((await get(`${one.path}/TX_00000000000000000000000000`)).statusCode, 404);
    assert.match((await get(`${one.path}/nonsense`)).body, /<h1>This link isn’t valid/);
  });

  test('one form is one charge: again, after it failed, and in the other tab', async () => {
    const { path, link } = await kenya();
    const [first, second] = [await formOf(path), await formOf(path)];
    const fields = { phone: number('001'), method: 'MPESA_KEN' };
    const attempt = await post(path, { ...fields, form: first });
    await gateway.settle();
    assert.match((await get(attempt.location)).body, /Not enough balance/);
    assert.equal((await post(path, { ...fields, form: first })).location, attempt.location, 'Back and Pay');
    assert.equal(
      (await post(path, { ...fields, form: second })).location,
      attempt.location,
      'the other tab sees how it ended first',
    );
    assert.equal(await shop.collections(link), 1);
    const again =
      /href="([^"]+again&#61;[^"]+)"/.exec((await get(attempt.location)).body)?.[1]?.replaceAll('&#61;', '=') ?? '';
    const third = await post(path, { phone: number('000'), method: 'MPESA_KEN', form: await formOf(again) });
    await gateway.settle();
    assert.notEqual(third.location, attempt.location);
    assert.match((await get(third.location)).body, /Payment received/);
    assert.equal(await shop.collections(link), 2);
    assert.match((await get(path)).body, /Payment received/);
    assert.equal((await post(path, { ...fields, form: second })).location, path, 'a paid link takes nothing more');
  });

  test('forms that are old, forged, or of another link charge nothing and keep what was typed', async () => {
    const { path, link } = await kenya();
    const other = await kenya();
    const old = await formOf(path);
    const fields = { phone: '0711 999 555', method: 'MPESA_KEN' };
    for (const form of ['', 'AAAA', await formOf(other.path)]) {
      const { location } = await post(path, { ...fields, form });
      assert.match(location, /\?d=/);
      assert.match((await get(location)).body, /open for too long.*value="0711 999 555"/s);
    }
    gateway.ctx.clock.advance(13 * 3_600_000);
    assert.match((await post(path, { ...fields, form: old })).location, /\?d=/);
    assert.equal(await shop.collections(link), 0);
  });

  test('a number that is blocked and a limit of the day are said on the form, which keeps what was typed', async () => {
    const { ctx } = gateway;
    const { holderId, ...other } = await openShop(gateway, 'Duka la Pili');
    const { url, link } = await other.link({ country_id: 1, currency: 'KES', amount: '2500' });
    const path = new URL(url).pathname;
    const refused = async (phone: string, sentence: RegExp, language = 'en') => {
      const { status, location } = await post(path, { phone, method: 'MPESA_KEN', form: await formOf(path) });
      assert.equal(status, 303);
      const page = (await get(location, { 'accept-language': language })).body;
      assert.match(page, sentence);
      assert.match(page, /name="phone"[^>]*value="0711 777 555"/);
    };
    await blockNumber(ctx, COMMAND_LINE, holderId, { msisdn: '254711777555', reason: 'fraud' });
    await refreshCaches(ctx);
    await refused(
      '0711 777 555',
      /role="alert">\s*<p>This number cannot be used for this payment. You were not charged/,
    );
    await refused('0711 777 555', /Ce numéro ne peut pas servir/, 'fr');
    await ctx.db.query('delete from blocked_numbers where holder_id = $1', [holderId]);
    await setLimit(ctx, COMMAND_LINE, holderId, 'gateway', {
      direction: 'collection',
      subject: 'holder',
      currency: 'KES',
      day_amount: 100_000n,
      day_count: null,
    });
    await refreshCaches(ctx);
    await refused('0711 777 555', /more than the business may receive today. You were not charged. Try again tomorrow/);
    assert.equal(await other.collections(link), 0);
  });

  test('the e-mail address that the business gave is taken whole, however long', async () => {
    const email = `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.example.org`;
    const { path, link } = await kenya({ email });
    assert.match(await pay(path, { email }), /\/TX_/);
    const [row] = await gateway.ctx.db.query<{ email: string }>(
      'select email from checkout_attempts where holder_id = $1 and link_id = $2',
      [link.holder_id, link.id],
    );
    assert.equal(row?.email, email);
  });

  test('the database itself lets only one attempt of a single-use link live', async () => {
    const { path, link } = await kenya();
    await pay(path);
    await assert.rejects(
      gateway.ctx.db.query(
        `insert into checkout_attempts (holder_id, transaction_id, link_id, form_id, single_use, msisdn, created_at)
         values ($1, gen_random_uuid(), $2, $3, true, '254711000555', $4)`,
        [link.holder_id, link.id, Buffer.alloc(15), gateway.ctx.clock.now()],
      ),
      /attempt_one_live/,
    );
  });

  test('money: a stranger cannot end a single-use link by attempts; the limit is one of ten minutes', async () => {
    const { path, link } = await kenya();
    const old = new Date(gateway.ctx.clock.millis() - 3_600_000);
    for (let count = 0; count < 300; count++)
      await gateway.ctx.db.query(
        `insert into checkout_attempts (holder_id, transaction_id, link_id, form_id, single_use, live, msisdn, created_at)
         values ($1, $2, $3, $4, true, false, $5, $6)`,
        [
          link.holder_id,
          createHolderUuid(old.getTime(), link.holder_id),
          link.id,
          Buffer.from(String(count).padStart(15)),
          `2547220${count}`,
          old,
        ],
      );
    let again = '';
    for (let count = 0; count < 20; count++) {
      const attempt = await pay(path, { phone: number('011'), form: await formOf(`${path}${again}`) });
      assert.match(attempt, /\/TX_/, `attempt ${count}`);
      again = `?again=${attempt.split('/').at(-1)}`;
      await gateway.advance(20_000);
    }
    assert.doesNotMatch(await pay(path, { form: await formOf(`${path}${again}`) }), /TX_/);
    await gateway.advance(10 * 60_000);
    const paid = await pay(path, { phone: number('000'), form: await formOf(`${path}${again}`) });
    assert.match((await get(paid)).body, /Payment received/);
  });

  test('security S18: for another try, only the browser that typed the number sees it again', async () => {
    const { path } = await kenya();
    const phone = number('011');
    const answer = await gateway.app.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ phone, method: 'MPESA_KEN', form: await formOf(path) }).toString(),
    });
    await gateway.settle();
    const cookie = String(answer.headers['set-cookie']);
    assert.match(cookie, new RegExp(`^simbi_payer=[\\w-]+; Max-Age=900; Path=${path}; HttpOnly; SameSite=Lax$`));
    const again = `${path}?again=${String(answer.headers.location).split('/').at(-1)}`;
    // As the field shows it: in groups of three.
    const ending = phone.slice(-6).replace(/(...)(...)/, '$1 $2');
    const own = (await get(again, { cookie: cookie.split(';')[0] ?? '' })).body;
    assert.ok(own.includes(ending), 'the own browser');
    for (const other of ['', 'simbi_payer=AAAA', (cookie.split(';')[0] ?? '').replace('=', '=A')]) {
      const page = (await get(again, other ? { cookie: other } : {})).body;
      assert.match(page, /name="phone"/);
      assert.ok(!page.includes(ending), `another browser: ${other}`);
    }
    const elsewhere = await kenya();
    const foreign = await get(elsewhere.path, { cookie: cookie.split(';')[0] ?? '' });
    assert.ok(!foreign.body.includes(ending), 'another link');
  });

  test('a success that comes after a failure is shown, and the shop is told', async () => {
    const { path } = await kenya();
    const attempt = await pay(path, { phone: number('011') });
    assert.match((await get(attempt)).body, /cancelled on the phone/);
    const transactionId = idFromRef(attempt.split('/').at(-1) ?? '') ?? '';
    await gateway.services.payments.engine.apply({
      transactionId,
      source: 'statement',
      observation: { state: 'succeeded', receipt: 'LATE1' },
      raw: '',
      rail: 'sandbox',
    });
    assert.match((await get(path)).body, /Payment received/);
    assert.match((await get(attempt)).body, /Payment received/);
  });

  test('money 28: a link whose payment went back is disabled, and shows how its payment ended', async () => {
    const { path, link } = await kenya();
    const attempt = await pay(path, { phone: number('008') });
    const stands = async () => {
      const found = await findLink(gateway.ctx.db, link.id);
      return [found?.status, found?.payments_count];
    };
    assert.deepEqual(await stands(), ['paid', 1n]);
    await gateway.advance(61_000);
    assert.deepEqual(await stands(), ['disabled', 0n]);
    for (const address of [path, attempt]) assert.match((await get(address)).body, /Payment refunded/);
  });

  test('review: a receipt says TEST in the sandbox, what both sides compare, and when the money went back', async () => {
    const { path } = await kenya({ item_name: 'Fruit basket' });
    const phone = number('008');
    const attempt = await pay(path, { phone });
    const receipt = /href="(\/r\/[^"]+)"/.exec((await get(attempt)).body)?.[1] ?? '';
    const { body } = await get(receipt);
    assert.match(body, /TEST<\/strong>/);
    assert.match(body, /no real money was paid/);
    assert.doesNotMatch(body, /genuine/, 'nothing of the sandbox is a proof');
    const [row] = await gateway.ctx.db.query<{ receipt: string }>('select receipt from transactions where id = $1', [
      idFromRef(attempt.split('/').at(-1) ?? ''),
    ]);
    assert.ok(row && body.includes(row.receipt), 'the code of the operator');
    for (const expected of ['Duka', 'Fruit basket', 'M-PESA code', '•••• 008'])
      assert.ok(body.includes(expected), expected);
    assert.ok(!body.includes(phone.slice(1, 7)), 'the number is hidden but for its last digits');
    assert.doesNotMatch(body, /pl_/);
    for (const way of ['https://wa.me/?text', 'sms:?', 'download="receipt-']) assert.ok(body.includes(way), way);
    await gateway.advance(61_000);
    assert.match((await get(receipt)).body, /later refunded/);
    assert.match((await get(attempt)).body, /Payment refunded/);
    assert.equal((await get('/r/7K3QM-9TWXA-B2CD')).statusCode, 404);
  });

  test('a receipt says what went back in part, which no longer counts as paid', async () => {
    const { ctx, services } = gateway;
    await pay((await kenya()).path, { phone: number('000') });
    const attempt = await pay((await kenya()).path, { phone: number('000') });
    const receipt = /href="(\/r\/[^"]+)"/.exec((await get(attempt)).body)?.[1] ?? '';
    assert.doesNotMatch((await get(receipt, ENGLISH)).body, />Refunded</);
    const collection = attempt.split('/').at(-1) ?? '';
    await createRefund(ctx, services.payments.engine, COMMAND_LINE, shop.holderId, { collection, amount: 100_000n });
    await gateway.settle();
    const { body } = await get(receipt, ENGLISH);
    assert.match(body, />Refunded<\/dt><dd><bdi>KES\s1\s000</);
    assert.match(body, /KES\s2\s500/);
  });

  test('the way back carries the reference and is never the answer to a form', async () => {
    const { path } = await kenya({ redirection_url: `${SHOP_URL}?order=7&ref=forged#top` });
    const attempt = await pay(path, { phone: number('000') });
    assert.ok(attempt.startsWith('/pay/'), 'a form leads to a page of the gateway');
    const back = /<a class="button" href="([^"]+)"/.exec((await get(attempt)).body)?.[1] ?? '';
    const url = new URL(back.replaceAll('&#61;', '=').replaceAll('&#38;', '&'));
    assert.equal(url.origin, 'https://shop.example');
    assert.equal(url.searchParams.get('order'), '7');
    assert.deepEqual(url.searchParams.getAll('ref'), [attempt.split('/').at(-1)]);
    gateway.ctx.clock.advance(11 * 60_000);
    assert.doesNotMatch((await get(attempt)).body, / data-return/, 'an old receipt does not redirect');
  });

  test('a link that was closed, has expired, or whose business is gone says so', async () => {
    const closed = await kenya();
    await disableLink(gateway.ctx, COMMAND_LINE, shop.holderId, closed.link.id);
    assert.equal((await get(closed.path)).statusCode, 410);
    assert.match((await get(closed.path)).body, /has closed this link/);
    const brief = await kenya({ expires_at: new Date(gateway.ctx.clock.millis() + 60_000).toISOString() });
    const form = await formOf(brief.path);
    gateway.ctx.clock.advance(61_000);
    assert.match((await get(brief.path)).body, /was valid until/);
    assert.equal((await post(brief.path, { phone: number(), method: 'MPESA_KEN', form })).location, brief.path);
    assert.equal(await shop.collections(brief.link), 0);

    const gone = await openShop(gateway, 'Gone');
    const { url, link } = await gone.link({ country_id: 1, currency: 'KES', amount: '100' });
    await setHolderStatus(gateway.ctx, COMMAND_LINE, gone.holderId, 'suspended');
    gateway.ctx.clock.advance(1_000);
    assert.equal((await get(new URL(url).pathname)).statusCode, 404);
    assert.ok(await findLink(gateway.ctx.db, link.id));
  });

  test('one address cannot try for ever', async () => {
    const { path } = await kenya({ reusable: true });
    let refused = '';
    for (let time = 0; time < 80 && refused === ''; time++) {
      const { location } = await post(path, { phone: number(), method: 'MPESA_KEN', form: await formOf(path) });
      if (!location.includes('TX_')) refused = location;
    }
    assert.match((await get(refused)).body, /Too many attempts/);
    gateway.ctx.clock.advance(60_000);
    assert.match(
      (await post(path, { phone: number(), method: 'MPESA_KEN', form: await formOf(path) })).location,
      /TX_/,
    );
  });

  test('nor can one network of IPv6, by taking another address for each try', async () => {
    const links = [await kenya({ reusable: true }), await kenya({ reusable: true })];
    let paid = 0;
    for (let time = 0; time < 31; time++)
      for (const [index, { path }] of links.entries()) {
        const fields = { phone: number(), method: 'MPESA_KEN', form: await formOf(path) };
        const { location } = await post(path, fields, `2001:db8:1:1::${index + 1}:${time + 1}`);
        if (location.includes('TX_')) paid++;
      }
    assert.equal(paid, 60);
  });

  test('the page of a waiting payment tells scripts its stage, and reloads itself when asked to', async () => {
    const { path } = await kenya();
    const attempt = await pay(path);
    assert.deepEqual((await get(`${attempt}/status`)).json(), { stage: 'prompt' });
    assert.doesNotMatch((await get(attempt)).body, /http-equiv="refresh"/);
    const auto = (await get(`${attempt}?auto=1`)).body;
    assert.match(auto, /<noscript><meta http-equiv="refresh" content="10"><\/noscript>/);
    assert.match(auto, /Stop checking automatically/);
  });

  test('errors are pages', async () => {
    const { path } = await kenya();
    const headers = { 'content-type': 'text/plain' };
    const answer = await gateway.app.inject({ method: 'POST', url: path, payload: 'phone', headers });
    assert.equal(answer.statusCode, 415);
    assert.match(String(answer.headers['content-type']), /^text\/html/);
    assert.match(String((await get('/pay/pl_x')).headers['content-type']), /^text\/html/);
    assert.match((await get('/pay/pl_x', { 'accept-language': 'fr' })).body, /Ce lien n’est pas valide/);
    // The way back from a payment that waits is that payment, not a form that would make another one.
    const attempt = await pay((await kenya({ reusable: true })).path);
    const code = await gateway.app.inject({ method: 'POST', url: `${attempt}/code`, payload: 'x', headers });
    assert.ok(code.body.includes(`href="${attempt}">Back to the payment`), code.body);
    assert.ok(
      code.body.replaceAll('&#61;', '=').includes(`href="${attempt}?lang=fr"`),
      'and so in the other languages',
    );
  });
});
