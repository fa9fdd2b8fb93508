// Finding in a real browser: results while typing, keys for rows, filters and saved filters; on a desktop and on a phone.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { collectInKenya } from '../client.ts';
import { addPerson, type Person } from '../console-harness.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { createShop } from '../shop.ts';
import { browserMissing, findings, sideways, startBrowser, visit } from './browser.ts';

describe('finding in a browser', { skip: browserMissing() ?? false }, () => {
  let gateway: TestGateway;
  let browser: Browser;
  let person: Person;
  let first: string;

  before(async () => {
    gateway = await createTestGateway();
    browser = await startBrowser();
    const shop = await createShop(gateway.ctx, 'Duka la Amani');
    first = await collectInKenya(gateway, shop, { mobile: '254712309000', third_party_reference_1: 'order-1' });
    for (const ending of ['000', '001', '002']) {
      gateway.ctx.clock.advance(1_000);
      await collectInKenya(gateway, shop, { mobile: `254722111${ending}`, third_party_reference_1: `order-${ending}` });
    }
    await gateway.settle();
    person = await addPerson(gateway, shop.holderId, 'owner', 'amina@example.org');
  });
  after(async () => {
    await browser?.close();
    await gateway?.close();
  });

  async function visitAsOwner(options: Parameters<typeof visit>[1] = {}) {
    const opened = await visit(browser, options);
    const [name = '', value = ''] = person.cookie.split('=');
    await opened.context.addCookies([{ name, value, url: gateway.url }]);
    return opened;
  }

  test('results come while typing and open by keys', async () => {
    const { page, complaints, close } = await visitAsOwner({ width: 1280 });
    await page.goto(`${gateway.url}/console/team`);
    await page.keyboard.press('/');
    await page.keyboard.type('0712 309');
    await page.waitForSelector(`#suggestions a[href$="${first}"]`);
    assert.deepEqual(await findings(page), []);
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.getAttribute('#q', 'aria-activedescendant'), 'suggestion-0');
    await Promise.all([page.waitForURL(`**/transactions/${first}`), page.keyboard.press('Enter')]);
    await page.fill('#q', 'new link');
    await page.waitForSelector('#suggestions a[href="/console/links/new"]');
    await page.keyboard.press('Escape');
    assert.equal(await page.isVisible('#suggestions'), false);
    assert.deepEqual(
      complaints.filter((line) => !/404/.test(line)),
      [],
    );
    await close();
  });

  test('on a phone: results and filters fit, in light and dark', async () => {
    const { page, close } = await visitAsOwner({ width: 360, height: 740 });
    await page.goto(`${gateway.url}/console/transactions?open=filter&range=month`);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await findings(page), [], colorScheme);
      await page.setViewportSize({ width: 320, height: 640 });
      assert.ok((await sideways(page)) <= 0, 'sideways at 320 px');
      await page.setViewportSize({ width: 360, height: 740 });
    }
    await page.goto(`${gateway.url}/console/transactions`);
    await page.fill('#q', 'order');
    await page.waitForSelector('#suggestions [role=option]');
    assert.deepEqual(await findings(page), []);
    assert.ok((await sideways(page)) <= 0);
    await close();
  });

  test('keys move from row to row and open one', async () => {
    const { page, close } = await visitAsOwner({ width: 1280 });
    await page.goto(`${gateway.url}/console/transactions?sort=oldest`);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await Promise.all([page.waitForURL(`**/transactions/${first}`), page.keyboard.press('Enter')]);
    await close();
  });

  test('a filter is set, saved and taken away without scripts', async () => {
    const { page, close } = await visitAsOwner({ width: 1280, javascript: false });
    await page.goto(`${gateway.url}/console/transactions?open=filter`);
    await page.fill('[name=number]', '0722 111 001');
    await Promise.all([page.waitForEvent('load'), page.click('.filter-panel button')]);
    assert.match(await page.innerText('main'), /1 transaction ·/);
    assert.match(await page.innerText('tbody'), /Not enough money/);
    await page.click('summary:has-text("Saved")');
    await page.fill('[name=name]', 'Her payments');
    await Promise.all([page.waitForEvent('load'), page.click('button:has-text("Save this filter")')]);
    await Promise.all([page.waitForEvent('load'), page.click('.active-filters .chip')]);
    assert.match(await page.innerText('main'), /4 transactions ·/);
    await page.click('summary:has-text("Saved")');
    await Promise.all([page.waitForEvent('load'), page.click('a:has-text("Her payments")')]);
    assert.match(await page.innerText('main'), /1 transaction ·/);
    await close();
  });
});
