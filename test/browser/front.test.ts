// The front door and the pages of the sandbox in a real browser: accessible, narrow enough, light, and linked to each other.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { MAIL_BOX_SENDER } from '../../src/sandbox/mail-box.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { browserMissing, findings, sideways, startBrowser, visit } from './browser.ts';

const PAGES = [
  '/',
  '/nothing',
  '/console/sign-in',
  '/sandbox/phone',
  '/sandbox/phone?n=254712345678&n=221771234567',
  '/sandbox/callbacks',
  '/sandbox/components',
  '/sandbox/mail',
  '/sandbox/mail/1',
];

describe('the front door', { skip: browserMissing() ?? false }, () => {
  let gateway: TestGateway;
  let browser: Browser;
  before(async () => {
    const settings = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: MAIL_BOX_SENDER };
    [gateway, browser] = await Promise.all([createTestGateway(settings), startBrowser()]);
    await gateway.ctx.db.query(
      `insert into sandbox_mails (to_address, subject, body, received_at)
       values ('new@example.org', 'You were invited', 'Open http://127.0.0.1/console/invitations/a', $1)`,
      [gateway.ctx.clock.now()],
    );
    const payload = { type: 'collection.success', data: { ref: 'TX_1', status: 'success' } };
    const headers = { 'content-type': 'application/json' };
    await fetch(`${gateway.url}/sandbox/callbacks`, { method: 'POST', headers, body: JSON.stringify(payload) });
  });
  after(async () => {
    await browser.close();
    await gateway.close();
  });

  test('the sound of the test phone can be muted, and stays so', async () => {
    const { page, complaints, close } = await visit(browser, { width: 360, dark: false });
    const mute = page.getByRole('button', { name: 'Mute' });
    for (const pressed of ['false', 'true']) {
      await page.goto(`${gateway.url}/sandbox/phone?n=254712345678`);
      assert.equal(await mute.getAttribute('aria-pressed'), pressed);
      if (pressed === 'false') await mute.click();
    }
    assert.deepEqual(complaints, []);
    await close();
  });

  for (const [width, dark] of [
    [320, false],
    [360, true],
    [1280, false],
  ] as const)
    test(`pages are accessible and fit ${width} px, ${dark ? 'dark' : 'light'}`, async () => {
      const { page, complaints, close } = await visit(browser, { width, dark });
      for (const path of PAGES) {
        await page.goto(gateway.url + path);
        assert.deepEqual(await findings(page), [], path);
        assert.ok((await sideways(page)) <= 0, `${path} scrolls sideways`);
      }
      // The browser itself complains about the page that does not exist.
      assert.deepEqual(
        complaints.filter((text) => !text.includes('404')),
        [],
      );
      await close();
    });

  test('the first page leads to console, phone, receiver and documents, and each of them leads on', async () => {
    const { page, close } = await visit(browser, { javascript: false });
    for (const door of ['/console', '/docs', '/sandbox/phone', '/sandbox/callbacks']) {
      await page.goto(gateway.url);
      await page.click(`main a[href^="${door}"]`);
      assert.ok(new URL(page.url()).pathname.startsWith(door), page.url());
    }
    for (const path of ['/sandbox/phone', '/sandbox/callbacks', '/sandbox/components']) {
      await page.goto(gateway.url + path);
      for (const href of ['/', '/console', '/sandbox/phone', '/sandbox/callbacks', '/docs/sandbox'])
        assert.ok(await page.$(`header a[href="${href}"]`), `${path} → ${href}`);
    }
    await close();
  });
});
