// The console in a real browser: as a new user would use it, on every page, narrow and wide, light and dark.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { FAILURE_MESSAGES } from '../../src/catalog/failures.ts';
import { type ConsoleLanguage, LANGUAGE_CODES } from '../../src/console/messages.ts';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { canonicalEnvelope } from '../../src/holders/envelope.ts';
import { createHolder } from '../../src/holders/holders.ts';
import { inviteMember } from '../../src/holders/invitations.ts';
import { addMember, createLoginLink } from '../../src/holders/members.ts';
import type { JsonObject } from '../../src/platform/strict-json.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { signBody } from '../shop.ts';
import { allTexts, CONSOLE_TEXTS, missingFrenchSpaces, visibleText } from '../texts.ts';
import { browserMissing, findings, sideways, startBrowser, visit } from './browser.ts';
import { type FullConsole, fillConsole } from './console-pages.ts';

const COLLECTION: JsonObject = { amount: 2500, country_id: 1, currency: 'KES', mobile: '254712345000' };

const PAGE_LIMIT_BYTES = 60_000;
const SENTENCE = /\w+ \w+ \w+/;

/** What English says in three words or more, where the other language says something else. */
function englishSentences(code: ConsoleLanguage): string[] {
  const own = allTexts(CONSOLE_TEXTS[code]).map(([, text]) => text);
  return allTexts(CONSOLE_TEXTS.en)
    .filter(([path]) => !path.includes('otherNames'))
    .flatMap(([, text]) => text.split(/\s*‹\w+›\s*/))
    .concat(Object.values(FAILURE_MESSAGES))
    .filter((text) => SENTENCE.test(text) && !own.some((each) => each.includes(text)));
}

describe('the console in a browser', { skip: browserMissing() ?? false }, () => {
  let gateway: TestGateway;
  let browser: Browser;
  let full: FullConsole;

  before(async () => {
    gateway = await createTestGateway({ ALLOW_SIGN_UP: 'true', CALLBACK_ALLOWED_RANGES: '127.0.0.0/8' });
    browser = await startBrowser();
    full = await fillConsole(gateway);
  });
  after(async () => {
    full?.receiver.close();
    await browser?.close();
    await gateway?.close();
  });

  async function send(page: Page, selector: string): Promise<void> {
    await Promise.all([page.waitForEvent('load'), page.click(selector)]);
  }

  /** Signed in as the owner who also runs the gateway. */
  async function visitAsOwner(options: Parameters<typeof visit>[1] = {}) {
    const opened = await visit(browser, options);
    const [name = '', value = ''] = full.person.cookie.split('=');
    await opened.context.addCookies([{ name, value, url: gateway.url }]);
    return opened;
  }

  test('copy buttons are there where the browser can copy, and say so for a moment only', async () => {
    const link = full.pages.find(({ name }) => name === 'console link')?.url ?? '';
    const shown = async (clipboard: string) => {
      const { page, context, close } = await visitAsOwner({ width: 1280 });
      await context.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: ${clipboard} })`);
      await page.goto(link);
      return { buttons: page.locator('main button[data-copy]:visible'), page, close };
    };
    // Over plain http a browser has no clipboard.
    const without = await shown('undefined');
    assert.equal(await without.buttons.count(), 0);
    await without.close();
    const { buttons, page, close } = await shown('{ writeText: () => Promise.resolve() }');
    const before = await buttons.first().innerText();
    await buttons.first().click();
    await buttons.first().click();
    assert.match(await buttons.first().innerText(), /Copied/);
    await page.waitForSelector('main button.done', { state: 'detached' });
    await page.waitForTimeout(500);
    assert.equal(await buttons.first().innerText(), before);
    await close();
  });

  test('from the login link to an integration, a signed request and its case file', async (t) => {
    const { ctx } = gateway;
    let callbacks = 0;
    const receiver = createServer((request, response) => {
      callbacks++;
      request.resume().on('end', () => response.end('ok'));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    // A test that fails must not leave a server behind that keeps the process alive.
    t.after(() => receiver.close());
    const holder = await createHolder(ctx, COMMAND_LINE, 'New shop');
    const person = { email: 'first@example.org', name: 'First', holderId: holder.id, role: 'owner' } as const;
    const member = await addMember(ctx, COMMAND_LINE, person);
    const { token } = await createLoginLink(ctx, member.id);
    const { page, complaints, requests, close } = await visit(browser, { width: 1280 });

    await page.goto(`${gateway.url}/console/login/${token}`);
    await send(page, 'main form button');
    assert.match(await page.innerText('h1'), /sign in next time/);
    await send(page, 'main p a[href="/console"]');
    assert.match(await page.innerText('main'), /New shop/);
    await send(page, 'main a[href="/console/integrations"]');
    await send(page, 'main a.button');
    await page.fill('#f-title', 'Till 1');
    await page.fill('#f-callback_url', `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`);
    await send(page, 'main form button');
    const text = (id: string) => page.innerText(id);
    const keys = {
      clientId: await text('#client-id'),
      title: await text('#sender'),
      secretKey: await text('#secret-key'),
    };
    assert.match(await text('#sample-python'), new RegExp(keys.secretKey));
    assert.ok(await page.isVisible('[data-copy="#secret-key"]'));
    assert.deepEqual(await findings(page), []);

    const answer = await fetch(`${gateway.url}/api/v3/service-unified-collections`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(signBody(keys, ctx.clock.millis(), { ...COLLECTION, third_party_reference_1: 'order-1' })),
    });
    assert.equal(answer.status, 200);
    await gateway.settle();
    assert.equal(callbacks, 1);

    await page.goto(`${gateway.url}/console/transactions`);
    await send(page, 'tbody a');
    const file = await page.innerText('main');
    for (const expected of [
      'Succeeded',
      'order-1',
      'Posted to ledger',
      'Added to your balance',
      'collection.success',
      'Delivered',
    ])
      assert.ok(file.includes(expected), expected);
    await page.goto(`${gateway.url}/console/transactions`);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('order-1');
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    assert.match(await page.innerText('main'), /KES\s2\s500/);
    assert.deepEqual(complaints, []);
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(gateway.url) && !url.startsWith('data:')),
      [],
    );
    await close();
  });

  test('the debugger shows the first wrong byte', async () => {
    const { page, close } = await visitAsOwner({ width: 1280 });
    const body = signBody(full.shop, gateway.ctx.clock.millis(), COLLECTION);
    const own = canonicalEnvelope(body).replace('"KES"', '"KEs"');
    const signature = createHmac('sha256', full.shop.secretKey).update(own).digest('hex');
    await page.goto(`${gateway.url}/console/debugger`);
    await page.fill('#f-body', JSON.stringify({ ...body, signature }));
    await page.fill('#f-own_string', own);
    await send(page, 'main form button');
    assert.match(await page.innerText('#difference'), new RegExp(`byte ${Buffer.from(own).indexOf('KEs') + 2}`));
    assert.deepEqual(await page.locator('mark').allInnerTexts(), ['S', 's']);
    assert.deepEqual(await findings(page), []);
    await close();
  });

  test('a logo that is chosen is shown, for a new link and for one that is changed', async () => {
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
    const file = { name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') };
    const { page, complaints, close } = await visitAsOwner({ width: 360 });
    for (const wanted of ['console link new', 'console link edit']) {
      await page.goto(full.pages.find(({ name }) => name === wanted)?.url ?? '');
      await page.setInputFiles('#f-logo', file);
      await page.waitForSelector('#preview-logo[src^="data:image/png"]');
      assert.match(await page.inputValue('#f-logo-data'), /^data:image\/png/);
    }
    await send(page, '.link-form button');
    assert.match(page.url(), /done=saved/);
    await page.waitForSelector('main img[src^="/logos/"]');
    assert.deepEqual(complaints, []);
    await close();
  });

  test('the main tasks work without scripts', async () => {
    const { page, close } = await visitAsOwner({ javascript: false, width: 360 });
    await page.goto(`${gateway.url}/console/links/new`);
    await page.fill('#f-item_name', 'Without scripts');
    await page.fill('#f-amount', '300');
    await page.click('main form button');
    await page.waitForURL(/\/console\/links\/pl_/);
    await page.goto(`${gateway.url}/console`);
    await page.fill('#f-mobile', '0712345000');
    await page.click('form[action="/console/test-payment"] button');
    await page.waitForURL(/\/console\/transactions\/TX_/);
    await gateway.settle();
    await page.reload();
    assert.match(await page.innerText('main'), /Succeeded/);
    assert.match(await page.innerText('time >> nth=0'), /^\d\d:\d\d/);
    await close();
  });

  test('an open payment becomes a success without a reload, with times in the account’s zone', async () => {
    const { page, complaints, close } = await visitAsOwner({ width: 1280 });
    await page.goto(`${gateway.url}/console`);
    await page.fill('#f-mobile', '0712345999');
    await send(page, 'form[action="/console/test-payment"] button');
    await gateway.settle();
    await page.reload();
    assert.match(await page.innerText('main'), /Processing/);
    assert.match(String(await page.getAttribute('time', 'title')), /2 March 2026.*\(UTC\)$/);
    const ref = /TX_\w+/.exec(page.url())?.[0] ?? '';
    await gateway.services.operator?.phone.answer('254712345999', ref, '1234');
    await gateway.settle();
    await page.waitForSelector('main .success');
    assert.deepEqual(complaints, []);
    await close();
  });

  test('sign-in, sign-up, invitation and a checked list of payouts are accessible', async () => {
    const { holderId } = full.shop;
    const { token } = await inviteMember(gateway.ctx, COMMAND_LINE, holderId, 'asked@example.org', 'viewer', 'page');
    const outside = await visit(browser, { width: 360 });
    for (const path of ['/sign-in', '/sign-up', `/invitations/${token}`, '/login/gone']) {
      await outside.page.goto(`${gateway.url}/console${path}`);
      assert.deepEqual(await findings(outside.page), [], path);
      assert.ok((await sideways(outside.page)) <= 0, path);
    }
    await outside.close();
    const { page, close } = await visitAsOwner({ width: 360 });
    await page.goto(`${gateway.url}/console/payouts/import`);
    await page.fill(
      '#f-csv',
      'amount,currency,mobile,method\n100,KES,0712345000,MPESA_KEN\nmuch,KES,0712345000,MPESA_KEN',
    );
    await send(page, 'main form button');
    assert.match(await page.innerText('main'), /1 row to fix/);
    assert.deepEqual(await findings(page), []);
    assert.ok((await sideways(page)) <= 0);
    await close();
  });

  test('money 1: a payout is confirmed on a page that is accessible and fits 360 px', async () => {
    const { page, close } = await visitAsOwner({ width: 360 });
    await page.goto(`${gateway.url}/console/payouts/new`);
    await page.selectOption('#f-currency', 'KES');
    await page.fill('#f-amount', '1,500');
    await page.fill('#f-mobile', '0712345000');
    await page.selectOption('#f-method', 'MPESA_KEN');
    await send(page, 'main form button');
    assert.match(await page.innerText('main'), /can mean 1500 or 1\.50/);
    await page.fill('#f-amount', '1500,00');
    await send(page, 'main form button');
    assert.match(await page.innerText('main'), /Review this payout[\s\S]*KES\s1\s500/);
    assert.deepEqual(await findings(page), []);
    assert.ok((await sideways(page)) <= 0);
    // The same payout was made before: nothing is ordered until that is confirmed too.
    assert.match(await page.innerText('main'), /Possible duplicate/);
    await page.click('main form button');
    assert.equal(await page.$eval('[name=confirm_repeats]', (box) => box.matches(':invalid')), true);
    await page.check('[name=confirm_repeats]');
    await send(page, 'main form button');
    assert.match(page.url(), /\/transactions\/TX_.*done=payout/);
    await close();
  });

  test('review: a list with possible duplicates, and the same list again, are accessible and fit 360 px', async () => {
    const { page, close } = await visitAsOwner({ width: 360 });
    for (const expected of [/\/payouts\/files\/bat_/, /Nothing was ordered: these rows were ordered on/]) {
      await page.goto(`${gateway.url}/console/payouts/import`);
      // As cells are pasted from a spreadsheet.
      await page.fill('#f-csv', 'amount\tcurrency\tmobile\tmethod\n1500\tKES\t0712345000\tMPESA_KEN\n');
      await send(page, 'main form button');
      assert.match(await page.innerText('main'), /1 possible duplicate/);
      await page.check('[name=confirm_repeats]');
      await send(page, 'main form button');
      assert.match(`${page.url()} ${await page.innerText('main')}`, expected);
      assert.deepEqual(await findings(page), []);
      assert.ok((await sideways(page)) <= 0);
    }
    await close();
  });

  test('no page shows an English sentence in another language', async () => {
    const englishOn = async (url: string, code: ConsoleLanguage, sentences: readonly string[]) => {
      const answer = await fetch(url, { headers: { cookie: `${full.person.cookie}; lang=${code}` } });
      const text = visibleText(await answer.text());
      return sentences.filter((sentence) => text.includes(sentence));
    };
    for (const code of LANGUAGE_CODES.filter((each) => each !== 'en')) {
      const sentences = englishSentences(code);
      assert.notDeepEqual(await englishOn(`${gateway.url}/console`, 'en', sentences), [], 'English is recognised');
      for (const { name, url } of full.pages)
        assert.deepEqual(await englishOn(url, code, sentences), [], `${name} in ${code}`);
    }
  });

  test('French has a no-break space before its signs, on every page', async () => {
    assert.deepEqual(missingFrenchSpaces('<b>Réf\u00a0: 1</b> à 14:05 Oui\u202f!</p> '), []);
    assert.deepEqual(missingFrenchSpaces('<b>Réf: 1</b> Réf : 1 Oui! « mot »</p> '), [
      'Réf:',
      'Réf :',
      '1 Oui!',
      '« mot »',
    ]);
    for (const { name, url } of full.pages) {
      const answer = await fetch(url, { headers: { cookie: `${full.person.cookie}; lang=fr` } });
      const missing = missingFrenchSpaces(await answer.text());
      // What a member typed stays as it is.
      assert.deepEqual(
        missing.filter((each) => each !== 'Called her:'),
        [],
        name,
      );
    }
  });

  test('every page is at most 60 kB compressed, with all that it loads', async () => {
    const headers = { cookie: full.person.cookie, 'accept-encoding': 'br' };
    const sizes = new Map<string, number>();
    /** Bytes as they are sent; what several pages load is asked for once. */
    async function bytesOf(url: string): Promise<{ bytes: number; text: string }> {
      const answer = await fetch(url, { headers });
      const text = await answer.text();
      const length = answer.headers.get('content-length');
      return { bytes: length === null ? Buffer.byteLength(text) : Number(length), text };
    }
    const heaviest = { name: '', total: 0 };
    for (const { name, url } of full.pages) {
      const { bytes, text } = await bytesOf(url);
      const loaded = [...text.matchAll(/<(?:img|script|link)\b[^>]*?(?:src|href)="(\/[^"]+)"/g)].map(
        ([, path = '']) => path,
      );
      for (const path of loaded) if (!sizes.has(path)) sizes.set(path, (await bytesOf(gateway.url + path)).bytes);
      const total = loaded.reduce((sum, path) => sum + (sizes.get(path) ?? 0), bytes);
      assert.ok(bytes > 0 && total <= PAGE_LIMIT_BYTES, `${name}: ${total} bytes`);
      if (total > heaviest.total) Object.assign(heaviest, { name, total });
    }
    console.log(`The heaviest page is "${heaviest.name}": ${heaviest.total} bytes.`);
  });
});
