// Paying in a real browser, with scripts and without: from the link over the phone to the receipt, and every way to send
// a form twice.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { browserMissing, findings, sideways, startBrowser, type Visit, visit } from './browser.ts';
import { fillForm, openShop, type Shop, send } from './shop.ts';
import { post, submit } from './states.ts';

const SHOP_URL = 'https://shop.example/thanks?order=7';
const missing = browserMissing();

describe('checkout in a browser', { skip: missing ?? false }, () => {
  let gateway: TestGateway;
  let shop: Shop;
  let browser: Browser;
  let people = 345;

  before(async () => {
    gateway = await createTestGateway({ OPEN_PROMPTS_PER_NUMBER: '3' }, {});
    shop = await openShop(gateway);
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await gateway?.close();
  });

  /** Six digits of a number that rings: 555 is not in the table of numbers that decide by themselves. */
  function digits(): string {
    people++;
    return `${people}555`;
  }
  const number = () => `0711${digits()}`;
  const msisdn = (phone: string) => `254${phone.slice(1)}`;

  const kenya = (more: JsonObject = {}) =>
    shop.link({ country_id: 1, currency: 'KES', amount: '2500', business_name: 'Duka', item_name: 'Fruit', ...more });

  async function withVisit(javascript: boolean, work: (visit: Visit) => Promise<void>): Promise<void> {
    const opened = await visit(browser, { javascript });
    try {
      await work(opened);
      assert.deepEqual(opened.complaints, []);
    } finally {
      await opened.close();
    }
  }

  /** Fills and sends the form, and lets the gateway work. */
  async function pay(page: Page, url: string, values: Parameters<typeof fillForm>[1]): Promise<void> {
    await page.goto(url);
    await fillForm(page, values);
    await send(page);
    await gateway.settle();
  }

  /** The test phone of a number in a window of its own, as a developer has it beside. */
  async function phone(page: Page, number: string, act: (phone: Page) => Promise<void>): Promise<void> {
    const window = await page.context().newPage();
    await window.goto(`${gateway.url}/sandbox/phone?n=${number}`);
    await act(window);
    await window.close();
    await gateway.settle();
  }

  const answer = (pin: string) => async (phonePage: Page) => {
    await phonePage.fill('[name=pin]', pin);
    await Promise.all([phonePage.waitForEvent('load'), phonePage.click('.ussd .primary')]);
    assert.match((await phonePage.textContent('.notice')) ?? '', pin === '0000' ? /Wrong PIN/ : /Paid/);
  };

  /** Scripts ask again when the payer comes back to the page, for example from the phone; the first journey waits. */
  async function comeBack(page: Page, selector: string): Promise<void> {
    // On a slow machine the page may have asked by itself and be on its way already.
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))').catch(() => undefined);
    await page.waitForSelector(selector);
  }

  /** Without scripts the payer presses the button. */
  async function seeChange(page: Page, javascript: boolean): Promise<void> {
    if (javascript) await comeBack(page, '.icon');
    else await send(page);
  }

  async function sendMoney(phonePage: Page): Promise<void> {
    await Promise.all([phonePage.waitForEvent('load'), phonePage.click('details form[action*=pay] button')]);
    assert.match((await phonePage.textContent('.notice')) ?? '', /^Sent /);
  }

  for (const javascript of [true, false]) {
    const how = javascript ? 'with scripts' : 'without scripts';

    test(`Kenya, send money: link, PIN on the phone, receipt, back to the shop (${how})`, () =>
      withVisit(javascript, async ({ page, context }) => {
        await context.route('https://shop.example/**', (route) => route.fulfill({ body: 'thanks' }));
        const { url, link } = await kenya({ redirection_url: SHOP_URL });
        const payer = number();
        await pay(page, url, { phone: payer, ...(javascript ? {} : { method: 'MPESA_KEN' }) });
        assert.match(page.url(), /\/pay\/pl_\w+\/TX_\w+$/);
        assert.match((await page.textContent('h1')) ?? '', /Check your phone 0711\u00a0•••\u00a0•55/);
        await phone(page, msisdn(payer), answer('1234'));
        if (javascript) await page.waitForSelector('.icon');
        else await send(page);
        assert.equal(await page.textContent('h1'), 'Payment received');
        const code = await page.getAttribute('a[href^="/r/"]', 'href');
        const back = await page.getAttribute('main a.button', 'href');
        const ref = /TX_\w+/.exec(page.url())?.[0] ?? 'none';
        assert.equal(back, `${SHOP_URL}&ref=${ref}`);
        if (javascript) await page.waitForURL(back ?? '');
        else await Promise.all([page.waitForURL(back ?? ''), page.click('main a.button')]);
        await page.goto(gateway.url + code);
        assert.match((await page.textContent('main')) ?? '', /TEST.*Duka/s);
        assert.ok(!(await page.content()).includes(payer.slice(1, 7)), 'a receipt hides the number of the payer');
        assert.equal(await shop.collections(link), 1);
        await page.goto(url);
        assert.equal(await page.textContent('h1'), 'Payment received', 'a paid link shows that it is paid');
      }));

    test(`Kenya, till: the payer sends the money from the number, without a reference (${how})`, () =>
      withVisit(javascript, async ({ page }) => {
        const { url } = await kenya();
        const payer = number();
        await pay(page, url, { phone: payer, method: 'MPESA_TILL_KEN' });
        if (javascript) await comeBack(page, '.large');
        else await page.reload();
        const text = (await page.textContent('.large')) ?? '';
        assert.match(text, /Till number5203344/);
        assert.match(text, /Pay from0711.•••.•55/);
        assert.doesNotMatch(text, /Reference|Account number/, 'M-PESA asks for no reference of a till');
        await phone(page, msisdn(payer), sendMoney);
        await seeChange(page, javascript);
        assert.equal(await page.textContent('h1'), 'Payment received');
      }));

    test(`Senegal: SMS with a short code, dialled, PIN (${how})`, () =>
      withVisit(javascript, async ({ page }) => {
        const { url } = await shop.link({ country_id: 9, currency: 'XOF', amount: '2500', business_name: 'Teranga' });
        const payer = `777${digits()}`;
        await pay(page, `${url}?lang=fr`, { phone: payer, ...(javascript ? {} : { method: 'ORANGE_SEN' }) });
        assert.equal(await page.textContent('h1'), 'Composez le code du SMS');
        assert.match((await page.textContent('ol')) ?? '', /#144#/);
        await phone(page, `221${payer}`, async (phonePage) => {
          assert.match((await phonePage.textContent('.sms')) ?? '', /Composez le #144#/);
          await phonePage.click('.phone-keys summary');
          await phonePage.fill('[name=code]', '#144#');
          await Promise.all([phonePage.waitForEvent('load'), phonePage.click('.phone-keys button')]);
          await phonePage.fill('[name=pin]', '4321');
          await Promise.all([phonePage.waitForEvent('load'), phonePage.click('.ussd .primary')]);
        });
        await seeChange(page, javascript);
        assert.equal(await page.textContent('h1'), 'Paiement reçu');
        assert.equal(await page.getAttribute('html', 'lang'), 'fr', 'the language stays with the payer');
      }));

    test(`Ghana: a code by SMS, wrong once, then right (${how})`, () =>
      withVisit(javascript, async ({ page }) => {
        const { url } = await shop.link({ country_id: 16, currency: 'GHS', amount: '25.50', business_name: 'Books' });
        const payer = `0201${digits()}`;
        await pay(page, url, { phone: payer, method: 'VODAFONE_GHA' });
        assert.equal(await page.textContent('h1'), 'Enter the code from the SMS');
        await page.fill('#code', '000000');
        await send(page);
        assert.match((await page.textContent('#code-error')) ?? '', /4 tries left/);
        assert.match(await page.title(), /^Error: /);
        let code = '';
        await phone(page, `233${payer.slice(1)}`, async (phonePage) => {
          code = /\d{6}/.exec((await phonePage.textContent('.sms')) ?? '')?.[0] ?? '';
        });
        await page.fill('#code', `${code.slice(0, 3)} ${code.slice(3)}`);
        await send(page);
        await gateway.settle();
        if (!(await page.textContent('h1'))?.includes('received')) await seeChange(page, javascript);
        assert.equal(await page.textContent('h1'), 'Payment received');
      }));

    test(`Nigeria: bank transfer (${how})`, () =>
      withVisit(javascript, async ({ page }) => {
        const { url } = await shop.link({ country_id: 17, currency: 'NGN', amount: '2500', business_name: 'Motors' });
        const payer = `08031${digits()}`;
        await pay(page, url, { phone: payer });
        if (javascript) await comeBack(page, '.large');
        else await page.reload();
        assert.match((await page.textContent('.large')) ?? '', /Bank.*Account number9900112233/);
        await phone(page, `234${payer.slice(1)}`, sendMoney);
        await seeChange(page, javascript);
        assert.equal(await page.textContent('h1'), 'Payment received');
      }));
  }

  test('a wrong PIN fails with a plain message, and trying again keeps the number and succeeds', () =>
    withVisit(false, async ({ page }) => {
      const { url, link } = await kenya();
      const payer = number();
      await pay(page, url, { phone: payer, method: 'MPESA_KEN' });
      await phone(page, msisdn(payer), answer('0000'));
      await send(page);
      assert.match((await page.textContent('main')) ?? '', /Payment failed.*The PIN was wrong.*No money was taken/s);
      await Promise.all([page.waitForEvent('load'), page.click('main a.button')]);
      assert.equal((await page.inputValue('#phone')).replace(/\D/g, ''), payer);
      await send(page);
      await gateway.settle();
      await phone(page, msisdn(payer), answer('1234'));
      await send(page);
      assert.equal(await page.textContent('h1'), 'Payment received');
      assert.equal(await shop.collections(link), 2);
    }));

  test('cancelling on the phone ends it at once', () =>
    withVisit(true, async ({ page }) => {
      const { url } = await kenya();
      const payer = number();
      await pay(page, url, { phone: payer });
      await phone(page, msisdn(payer), async (phonePage) => {
        await Promise.all([phonePage.waitForEvent('load'), phonePage.click('form[action*=cancel] button')]);
      });
      await comeBack(page, '.icon.error');
      assert.match((await page.textContent('main')) ?? '', /cancelled on the phone/);
    }));

  test('ignoring it until it expires: unknown is not failed, and an expired payment is not charged', () =>
    withVisit(false, async ({ page }) => {
      const { url } = await kenya();
      const payer = number();
      await pay(page, url, { phone: payer, method: 'MPESA_KEN' });
      await phone(page, msisdn(payer), async (phonePage) => {
        await Promise.all([phonePage.waitForEvent('load'), phonePage.click('form[action*=ignore] button')]);
      });
      await gateway.advance(125_000);
      await page.reload();
      assert.match((await page.textContent('main')) ?? '', /Payment request expired.*No money was taken/s);

      const silent = await kenya();
      await pay(page, silent.url, { phone: '0711345005', method: 'MPESA_KEN' });
      await gateway.advance(200_000);
      await page.reload();
      assert.match((await page.textContent('main')) ?? '', /Do not pay again/);
      assert.equal(await page.locator('a:has-text("Try again")').count(), 0);
    }));

  test('the page that holds "Check now" is answered as soon as the operator says so', () =>
    withVisit(false, async ({ page }) => {
      const { url } = await kenya();
      const payer = number();
      await pay(page, url, { phone: payer, method: 'MPESA_KEN' });
      const pressed = send(page);
      await page.waitForRequest(/check=prompt/);
      await gateway.services.operator?.phone.view(msisdn(payer)).then(async ({ prompts }) => {
        await gateway.services.operator?.phone.answer(msisdn(payer), prompts[0]?.id ?? '', '1234');
      });
      await gateway.settle();
      await pressed;
      assert.equal(await page.textContent('h1'), 'Payment received');
    }));

  test('the browser of an old phone selects the operator of the number, and sends a form once', () =>
    withVisit(true, async ({ page, context }) => {
      await context.addInitScript('delete NodeList.prototype.forEach; delete window.fetch');
      const { url, link } = await shop.link({ country_id: 11, currency: 'UGX', amount: '5000' });
      await page.goto(url);
      await page.fill('#phone', '0772123555');
      assert.ok(await page.locator('[name=method][value=MTN_MOMO_UGA]').isChecked());
      await page.evaluate(
        "document.querySelector('main form button').click(); document.querySelector('main form button').click()",
      );
      await page.waitForURL(/\/TX_/);
      assert.equal(await shop.collections(link), 1);
    }));

  test('a gateway that is busy for a moment takes no waiting page away, which goes on asking', () =>
    withVisit(true, async ({ page, complaints }) => {
      const { url } = await kenya({ reusable: true });
      const payer = number();
      await pay(page, url, { phone: payer });
      let asked = 0;
      await page.route('**/status', (route) => {
        asked++;
        if (asked > 1) return route.continue();
        return route.fulfill({ status: 503, json: { success: false, code: 'overloaded' } });
      });
      const documents: string[] = [];
      page.on('framenavigated', (frame) => documents.push(frame.url()));
      await Promise.all([
        page.waitForResponse((response) => response.url().endsWith('/status') && response.ok()),
        page.evaluate('document.dispatchEvent(new Event("visibilitychange"))'),
      ]);
      assert.deepEqual(documents, [], 'the page stays');
      await phone(page, msisdn(payer), answer('1234'));
      await comeBack(page, '.icon');
      assert.equal(await page.textContent('h1'), 'Payment received');
      // The browser itself complains about the 503.
      complaints.splice(0);
    }));

  test('a double click, Back, Reload and a second tab charge once', () =>
    withVisit(true, async ({ page, context }) => {
      const { url, link } = await kenya();
      const payer = number();
      const second = await context.newPage();
      await second.goto(url);
      await page.goto(url);
      await fillForm(page, { phone: payer, method: 'MPESA_KEN' });
      await Promise.all([page.waitForEvent('load'), page.dblclick('main form button')]);
      const attempt = page.url();
      await page.goBack();
      assert.match(await page.content(), /Check your phone|name="form"/);
      await page.goto(url);
      assert.match((await page.textContent('h1')) ?? '', /Check your phone/, 'the link shows the attempt that lives');
      await page.reload();
      await fillForm(second, { phone: payer, method: 'MPESA_KEN' });
      await send(second);
      assert.equal(second.url(), attempt, 'the second tab is shown the first one’s attempt');
      await gateway.settle();
      assert.equal(await shop.collections(link), 1);
    }));

  test('an answer that is lost on the way, and the form sent again many times at once: one charge', async () => {
    const { url, link } = await kenya();
    const text = await (await fetch(url)).text();
    const form = /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const fields = { phone: number(), method: 'MPESA_KEN', form };
    const lost = new AbortController();
    const cut = fetch(url, { method: 'POST', body: new URLSearchParams(fields), signal: lost.signal }).catch(
      () => null,
    );
    lost.abort();
    await cut;
    const places = await Promise.all(Array.from({ length: 8 }, () => post(url, fields)));
    assert.equal(new Set(places).size, 1);
    assert.equal(await shop.collections(link), 1);
  });

  test('the network is cut after the form was received: opening the link again shows the attempt', () =>
    withVisit(false, async ({ page, complaints }) => {
      const { url, link } = await kenya();
      await page.goto(url);
      await fillForm(page, { phone: number(), method: 'MPESA_KEN' });
      await page.route(url, async (route) => {
        if (route.request().method() === 'POST') await route.fetch({ maxRedirects: 0 });
        await route.abort('connectionreset');
      });
      await page.click('main form button');
      await page.waitForURL(/chrome-error/);
      await page.unroute(url);
      await page.goto(url);
      assert.match((await page.textContent('h1')) ?? '', /Check your phone/);
      assert.equal(await shop.collections(link), 1);
      complaints.length = 0;
    }));

  test('eight tabs with eight forms race for a single-use link: one charge', async () => {
    const { url, link } = await kenya();
    const texts = await Promise.all(Array.from({ length: 8 }, async () => (await fetch(url)).text()));
    const places = await Promise.all(
      texts.map((text) =>
        post(url, { phone: number(), method: 'MPESA_KEN', form: /name="form" value="([^"]+)"/.exec(text)?.[1] ?? '' }),
      ),
    );
    assert.equal(new Set(places).size, 1);
    assert.equal(await shop.collections(link), 1);
  });

  test('a reusable link serves each payer apart', async () => {
    const { url, link } = await kenya({ reusable: true });
    const first = await submit(url, url, { phone: number(), method: 'MPESA_KEN' });
    const second = await submit(url, url, { phone: number(), method: 'MPESA_KEN' });
    assert.notEqual(first, second);
    assert.equal(await shop.collections(link), 2);
    assert.match(await (await fetch(url)).text(), /name="form"/);
  });

  test('a number is not asked more than three times in ten minutes, and its payer reads why', async () => {
    const tired = number();
    for (let time = 0; time < 3; time++) await submitNew(tired);
    const { url } = await kenya();
    const refused = await submit(url, url, { phone: tired, method: 'MPESA_KEN' });
    assert.match(await (await fetch(refused)).text(), /To protect its owner/);
    await gateway.advance(10 * 60_000);
    assert.match(await submitNew(tired), /TX_/);
  });

  async function submitNew(payer: string): Promise<string> {
    const { url } = await kenya();
    return submit(url, url, { phone: payer, method: 'MPESA_KEN' });
  }

  test('what looks wrong is asked before money moves, and typing is never lost', () =>
    withVisit(false, async ({ page }) => {
      const { url, link } = await shop.link({ country_id: 11, currency: 'UGX', business_name: 'Kampala Tea' });
      await page.goto(url);
      await fillForm(page, { phone: '0772 12', method: 'AIRTEL_OAPI_UGA', amount: 'ten' });
      await send(page);
      assert.match(await page.title(), /^Error: /);
      assert.equal(await page.inputValue('#phone'), '0772 12');
      assert.equal(await page.getAttribute('#amount', 'aria-invalid'), 'true');
      assert.ok(await page.isChecked('[value=AIRTEL_OAPI_UGA]'));
      await fillForm(page, { phone: '0772 123 456', amount: '5 000' });
      await send(page);
      assert.match(
        (await page.textContent('main')) ?? '',
        /looks like a number on MTN MoMo, but you chose Airtel Money/,
      );
      assert.equal(await page.textContent('main form button'), 'Pay UGX\u00a05\u202f000');
      assert.equal(await shop.collections(link), 0);
      await Promise.all([page.waitForEvent('load'), page.click('main form a.button')]);
      await fillForm(page, { method: 'MTN_MOMO_UGA' });
      await send(page);
      await send(page);
      assert.match((await page.textContent('h1')) ?? '', /Check your phone/);
      assert.equal(await shop.collections(link), 1);
    }));

  test('the test phone has no accessibility findings and rings by itself', async () => {
    const { page, complaints, close } = await visit(browser, { width: 360 });
    const payer = number();
    await page.goto(`${gateway.url}/sandbox/phone?n=${msisdn(payer)}&n=221771234567`);
    await submitNew(payer);
    await gateway.settle();
    await page.waitForSelector('.ussd');
    assert.deepEqual(await findings(page), []);
    assert.ok((await sideways(page)) <= 0);
    await Promise.all([page.waitForEvent('load'), page.click('form[action*=switch] button')]);
    assert.match((await page.textContent('.phone')) ?? '', /The phone is off/);
    assert.deepEqual(complaints, []);
    const foreign = await fetch(`${gateway.url}/sandbox/phone/${msisdn(payer)}/switch`, {
      method: 'POST',
      headers: { origin: 'https://evil.example' },
      body: new URLSearchParams({ on: '1' }),
    });
    assert.equal(foreign.status, 403);
    await close();
  });
});
