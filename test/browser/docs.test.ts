// The documentation in a real browser: accessible and narrow enough, tabs without scripts, search while typing, a request that
// a developer tries.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { addPerson } from '../console-harness.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { createShop } from '../shop.ts';
import { browserMissing, findings, sideways, startBrowser, visit } from './browser.ts';

/** Every kind of page once or twice; wide tables and long code on the narrowest screen. */
const VARIANTS = [
  { width: 320, dark: false, pages: ['/docs/signing', '/docs/configuration', '/docs/refunds'] },
  { width: 360, dark: true, pages: ['/docs', '/docs/merchants/payouts', '/docs/search?q=refund'] },
  { width: 1280, dark: false, pages: ['/docs', '/docs/reference', '/docs/quickstart'] },
];

describe('the documentation', { skip: browserMissing() ?? false }, () => {
  let gateway: TestGateway;
  let browser: Browser;
  before(async () => {
    [gateway, browser] = await Promise.all([createTestGateway(), startBrowser()]);
  });
  after(async () => {
    await browser.close();
    await gateway.close();
  });

  for (const { width, dark, pages } of VARIANTS)
    test(`pages are accessible and fit ${width} px, ${dark ? 'dark' : 'light'}`, async () => {
      const { page, complaints, close } = await visit(browser, { width, dark });
      for (const path of pages) {
        await page.goto(gateway.url + path);
        assert.deepEqual(await findings(page), [], path);
        assert.ok((await sideways(page)) <= 0, `${path} scrolls sideways`);
      }
      assert.deepEqual(complaints, []);
      await close();
    });

  test('without scripts, tabs and the menu of a phone work', async () => {
    const { page, close } = await visit(browser, { javascript: false });
    await page.goto(`${gateway.url}/docs/signing`);
    assert.ok(await page.isVisible('text=sign.ts'));
    await page.click('.tabs label:text-is("Python")');
    assert.ok(
      (await page.isVisible('text=sign.py >> nth=-1')) && !(await page.isVisible('p.code-name:text("sign.ts")')),
    );
    await page.click('.docs-menu summary');
    await page.click('.sheet a[href="/docs/merchants/refunds"]');
    assert.ok(page.url().endsWith('/docs/merchants/refunds'));
    await close();
  });

  test('with scripts, the language is remembered and search answers while one types', async () => {
    const { page, close } = await visit(browser, { width: 1280 });
    await page.goto(`${gateway.url}/docs/signing`);
    await page.click('.tabs label:text-is("Python")');
    await page.goto(`${gateway.url}/docs/callbacks`);
    assert.ok(await page.isChecked('.tabs input[data-language="python"]'));
    await page.keyboard.press('/');
    await page.keyboard.type('2fa');
    await page.waitForSelector('.found-box a');
    assert.deepEqual(await findings(page), []);
    await page.keyboard.press('ArrowDown');
    await Promise.all([page.waitForURL(/\/docs\/merchants\/roles/), page.keyboard.press('Enter')]);
    await close();
  });

  test('a developer sends a request from the reference', async () => {
    const shop = await createShop(gateway.ctx, 'Duka la Amani');
    const [name = '', value = ''] = (await addPerson(gateway, shop.holderId, 'owner')).cookie.split('=');
    const { page, context, close } = await visit(browser, { width: 360, javascript: false });
    await context.addCookies([{ name, value, url: gateway.url }]);
    await page.goto(`${gateway.url}/docs/reference/balance`);
    await page.click('.try summary');
    await page.click('.try button');
    await page.waitForSelector('.try .tag.success');
    assert.ok((await sideways(page)) <= 0);
    await close();
  });
});
