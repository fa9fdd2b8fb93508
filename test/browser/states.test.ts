// Every state of the hosted pages in a real browser: small, readable, accessible, safe, in every language.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { LANGUAGE_CODES } from '../../src/checkout/language.ts';
import { SCRIPT } from '../../src/checkout/layout.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { missingFrenchSpaces } from '../texts.ts';
import { browserMissing, findings, newFindings, showsNewColours, sideways, startBrowser, visit } from './browser.ts';
import { paintDocumentAlone } from './paint.ts';
import { openShop, type Shop } from './shop.ts';
import { makeStates, type State, submit } from './states.ts';

const PAGE_LIMIT_BYTES = 8 * 1024;
/** Minified, before compression. */
const SCRIPT_LIMIT_BYTES = 2 * 1024;
const WITH_LOGO_LIMIT_BYTES = 15 * 1024;
const MAX_REQUESTS = 2;
/** A page that waits for what never comes is never painted. */
const NOT_FOR_EVER = { timeout: 300_000 };

/** Two styles (the pages' own and the merchant's colour), at most one script, and nothing from elsewhere. */
const POLICY = new RegExp(
  `^${[
    "default-src 'none'",
    "style-src( 'sha256-\\S+'){2,3}",
    "script-src ('none'|'sha256-\\S+')",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')}$`,
);

describe('every state of the checkout', { skip: browserMissing() ?? false }, () => {
  let gateway: TestGateway;
  let shop: Shop;
  let browser: Browser;
  let states: State[];

  before(async () => {
    // With a mail server: the pages after a payment then have one form more.
    gateway = await createTestGateway({ SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'pay@example.org' });
    shop = await openShop(gateway);
    browser = await startBrowser();
    states = await makeStates(gateway, shop);
  });
  after(async () => {
    await browser?.close();
    await gateway?.close();
  });

  test('is small in every language: compressed bytes and requests', async () => {
    const lines: string[] = [];
    for (const { name, url } of states) {
      const sizes = await Promise.all(
        LANGUAGE_CODES.map(async (language) => {
          const answer = await fetch(withLanguage(url, language), { headers: { 'accept-encoding': 'gzip' } });
          const length = Number(answer.headers.get('content-length'));
          const text = await answer.text();
          assert.match(text, new RegExp(`<html lang="${language}">`));
          if (language === 'fr') assert.deepEqual(missingFrenchSpaces(text), [], name);
          const logo = /\/logos\/\w+\.webp/.exec(text)?.[0];
          const picture = logo ? (await (await fetch(gateway.url + logo)).arrayBuffer()).byteLength : 0;
          assert.ok(length > 0 && length <= PAGE_LIMIT_BYTES, `${name} in ${language}: ${length} bytes`);
          assert.ok(length + picture <= WITH_LOGO_LIMIT_BYTES, `${name} in ${language} with its logo`);
          return length + picture;
        }),
      );
      lines.push(`${name}: ${LANGUAGE_CODES.map((code, index) => `${code} ${sizes[index]}`).join(', ')}`);
    }
    assert.ok(SCRIPT.bytes <= SCRIPT_LIMIT_BYTES, `script: ${SCRIPT.bytes} bytes before compression`);
    console.log(`Bytes of every state, gzip, with its logo:\n${lines.join('\n')}`);
  });

  test('asks nothing of anybody else, breaks no policy, fits 320 px in every language and enlarged to 200 %', async () => {
    const { page, requests, complaints, close } = await visit(browser, { width: 320, height: 640 });
    // As it comes: what a page does seconds later, it does not do here when the machine stands still.
    await page.addInitScript('window.setTimeout = function () { return 0; }');
    for (const { name, url } of states)
      for (const language of LANGUAGE_CODES) {
        requests.length = 0;
        await page.goto(withLanguage(url, language));
        const foreign = requests.filter((request) => !request.startsWith(gateway.url) && !request.startsWith('data:'));
        assert.deepEqual(foreign, [], `${name} asks others`);
        assert.ok(requests.length <= MAX_REQUESTS, `${name}: ${requests.join(' ')}`);
        assert.ok((await sideways(page)) <= 0, `${name} in ${language} scrolls sideways`);
        if (language !== 'fr') continue;
        await page.evaluate('document.documentElement.style.fontSize = "200%"');
        assert.ok((await sideways(page)) <= 0, `${name}, enlarged, scrolls sideways`);
      }
    // A page that is not there says so in the browser's console too; nothing else may.
    assert.deepEqual(
      complaints.filter((complaint) => !/status of 4(04|10)/.test(complaint)),
      [],
    );
    await close();
  });

  // With the bytes above this is what makes it appear soon in a slow network; `npm run bench` measures how soon.
  test(
    'is seen as soon as its document is there: no picture, style or script is waited for',
    NOT_FOR_EVER,
    async () => {
      const withPicture = states.filter(({ name }) => name === 'open' || name === 'prompt');
      assert.equal(withPicture.length, 2);
      for (const { url } of withPicture) await paintDocumentAlone(browser, url);
    },
  );

  for (const dark of [false, true])
    test(`has no accessibility findings (${dark ? 'dark' : 'light'})`, async () => {
      const { page, close } = await visit(browser, { dark });
      // A page that was just paid returns to the shop, perhaps before it is checked: with this answer it stays.
      await page.route('https://shop.example/**', (route) => route.fulfill({ status: 204 }));
      const known = new Set<string>();
      for (const { name, url } of states) {
        await page.goto(url);
        // In the dark only colours differ.
        if (!dark) assert.deepEqual(await newFindings(page, known), [], name);
        else if (await showsNewColours(page, known)) assert.deepEqual(await findings(page, 'color-contrast'), [], name);
      }
      await close();
    });

  test('is sent with the headers that keep it to itself', async () => {
    for (const { name, url } of states) {
      const { headers } = await fetch(url);
      assert.match(headers.get('content-security-policy') ?? '', POLICY, name);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('set-cookie'), null, 'no cookie before a language is chosen');
    }
  });

  test('text made to break pages stays text, and inside its page', async () => {
    const hostile = [
      '<img src=x onerror=alert(1)>"\'><script>alert(2)</script>',
      '\u202egnp.exe\u202c \u2066abc {{7*7}} %s &amp;',
      '😀'.repeat(60),
      'W'.repeat(120),
      'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞',
    ];
    const { page, complaints, close } = await visit(browser, { width: 320 });
    page.on('dialog', (dialog) => complaints.push(`a dialog: ${dialog.message()}`));
    for (const text of hostile) {
      const { url } = await shop.link({
        country_id: 1,
        currency: 'KES',
        amount: '2500',
        business_name: text,
        item_name: text,
        first_name: text,
        last_name: text,
      });
      await page.goto(url);
      assert.ok((await sideways(page)) <= 0, `${text} breaks the form`);
      const attempt = await submit(url, url, { phone: '0711222000', method: 'MPESA_KEN' });
      await gateway.settle();
      for (const address of [attempt, `${url}/card`]) {
        await page.goto(address);
        assert.ok((await sideways(page)) <= 0, `${text} breaks ${address}`);
        // Once: as long as text stays text, the markup is the same with the others.
        if (text === hostile[0]) assert.deepEqual(await findings(page), []);
      }
      await page.goto(gateway.url + (await receiptOf(attempt)));
      assert.ok((await sideways(page)) <= 0);
      assert.equal(await page.locator('img[src=x]').count(), 0);
    }
    assert.deepEqual(complaints, []);
    await close();
  });

  async function receiptOf(attempt: string): Promise<string> {
    return /\/r\/[0-9A-Z-]+/.exec(await (await fetch(attempt)).text())?.[0] ?? '';
  }
});

function withLanguage(url: string, language: string): string {
  const address = new URL(url);
  address.searchParams.set('lang', language);
  return address.href;
}
