// Every page of the console and every state of the checkout, checked by axe and for what axe does not look at: the
// keyboard, borders of fields, errors beside their fields, keyboards of phones, sizes for fingers, movement, titles.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { CONSOLE_TEXTS } from '../texts.ts';
import {
  browserMissing,
  findings,
  newFindings,
  showsNewColours,
  sideways,
  startBrowser,
  type VisitOptions,
  visit,
} from './browser.ts';
import { type FullConsole, fillConsole } from './console-pages.ts';
import { openShop } from './shop.ts';
import { makeStates, type State } from './states.ts';

const CHECKS = readFileSync(new URL('./page-checks.js', import.meta.url), 'utf8');
type Check = 'structure' | 'menus' | 'focus' | 'fields' | 'purposes' | 'errors' | 'motion';

/** What the named checks find on the page that is open. */
async function check(page: Page, ...names: (Check | `targets(${number})`)[]): Promise<string[]> {
  const calls = names.map((name) => `...pageChecks.${name.endsWith(')') ? name : `${name}()`}`);
  await page.evaluate(CHECKS);
  return page.evaluate<string[]>(`[${calls.join(', ')}]`);
}

/** What a narrow screen can break; everything else is the same markup. */
const NARROW = ['target-size', 'scrollable-region-focusable'];
const HEIGHT = 800;
const LOOKS = [
  { width: 1280, height: HEIGHT, colorScheme: 'light', alsoAt: [860] },
  { width: 320, height: 640, colorScheme: 'light', alsoAt: [] },
  { width: 1280, height: HEIGHT, colorScheme: 'dark', alsoAt: [] },
] as const;
/** In the dark only colours differ, and these pages have every kind of field and button. */
const IN_THE_DARK = /^console (?:home|transactions|link new|settings|admin rail form)$/;
const MOST_LISTED = 20;

/** Forms that somebody types into. */
const FORMS_WITH_TEXT = `[...document.querySelectorAll('main form[method=post]')].filter((form) =>
  form.querySelector('input:is([type=text], [type=email], [type=url], [type=date], [type=password]), textarea'))`;

/** Sends one of them with nothing where text belongs and nonsense where an amount does, past the checks of the browser. */
const SEND_WRONG = `(() => {
  const form = ${FORMS_WITH_TEXT}[AT];
  for (const field of form.querySelectorAll('input:not([type=hidden]), textarea'))
    if (field.type !== 'radio' && field.type !== 'color') field.value = field.inputMode === 'decimal' ? '-' : '';
  form.submit();
})()`;

describe('accessibility of every page', { skip: browserMissing() ?? false }, () => {
  let gateway: TestGateway;
  let browser: Browser;
  let full: FullConsole;
  let states: State[];

  before(async () => {
    const mail = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'pay@example.org' };
    gateway = await createTestGateway({ ...mail, ALLOW_SIGN_UP: 'true', CALLBACK_ALLOWED_RANGES: '127.0.0.0/8' });
    browser = await startBrowser();
    states = await makeStates(gateway, await openShop(gateway));
    full = await fillConsole(gateway);
  });
  after(async () => {
    full?.receiver.close();
    await browser?.close();
    await gateway?.close();
  });

  async function visitAsOwner(options: VisitOptions = {}) {
    const opened = await visit(browser, options);
    const [name = '', value = ''] = full.person.cookie.split('=');
    await opened.context.addCookies([{ name, value, url: gateway.url }]);
    return opened;
  }

  test('every page is accessible on a desktop, in the dark and on a phone, and fits 360 px', async () => {
    const { page, complaints, close } = await visitAsOwner({ width: 1280 });
    const home = `${gateway.url}/console`;
    const [known, knownInLight] = [new Set<string>(), new Set<string>()];
    for (const { name, url } of full.pages) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(url);
      assert.deepEqual(await newFindings(page, knownInLight), [], name);
      await page.emulateMedia({ colorScheme: 'dark' });
      // The navigation of a wide screen is the same on every page.
      if (url === home) assert.deepEqual(await findings(page, 'color-contrast'), [], `${name}, dark`);
      await page.setViewportSize({ width: 360, height: 740 });
      const rules = (await showsNewColours(page, known)) ? [...NARROW, 'color-contrast'] : NARROW;
      assert.deepEqual(await findings(page, ...rules), [], `${name}, narrow and dark`);
      assert.ok((await sideways(page)) <= 0, `${name} scrolls sideways at 360 px`);
    }
    assert.deepEqual(
      complaints.filter((line) => !/404/.test(line)),
      [],
    );
    await close();
  });

  test('on a desktop and a phone the keyboard is seen, fields stand out, tables have names, nothing moves', async () => {
    const { page, close } = await visitAsOwner();
    const found = new Map<string, string>();
    for (const { name, url } of full.pages)
      for (const look of LOOKS.filter(({ colorScheme }) => colorScheme === 'light' || IN_THE_DARK.test(name))) {
        await page.setViewportSize(look);
        await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: look.colorScheme });
        await page.goto(url);
        // From here on the browser marks what has the focus, as it does for a keyboard.
        await page.keyboard.press('Tab');
        const lines = await check(page, 'structure', 'focus', 'fields', 'purposes', 'errors', 'motion');
        for (const width of [look.width, ...look.alsoAt]) {
          await page.setViewportSize({ ...look, width });
          lines.push(...(await check(page, 'menus')));
        }
        if ((await sideways(page)) > 0) lines.push(`scrolls sideways at ${look.width} px`);
        for (const line of lines) found.set(line, `${name}, ${look.width} px, ${look.colorScheme}`);
      }
    assert.deepEqual([...found].slice(0, MOST_LISTED), []);
    await close();
  });

  test('a menu closes with Escape, by a click beside it and when the keyboard leaves it', async () => {
    const { page, close } = await visitAsOwner({ width: 1280 });
    await page.goto(`${gateway.url}/console/transactions`);
    const open = page.locator('.filter-panel[open]');
    const ways = {
      Escape: () => page.keyboard.press('Escape'),
      click: () => page.click('h1'),
      keyboard: () => page.focus('#q'),
    };
    for (const [way, leave] of Object.entries(ways)) {
      await page.click('.filter-panel > summary');
      await page.click('.filter-panel label');
      assert.equal(await open.count(), 1, `${way}: a click inside leaves it open`);
      await leave();
      assert.equal(await open.count(), 0, way);
      if (way === 'Escape') assert.equal(await page.evaluate('document.activeElement.tagName'), 'SUMMARY');
    }
    await close();
  });

  test('a page of the console has a title of its own', async () => {
    const pages = new Map<string, string>();
    for (const { name, url } of full.pages) {
      const answer = await fetch(url, { headers: { cookie: full.person.cookie } });
      const [, title = ''] = /<title>([^<]*)/.exec(await answer.text()) ?? [];
      // A case is the same one for its holder and for an admin.
      const pathname = new URL(url).pathname.replace('/admin/cases', '/cases');
      // Both ask for the same proof.
      if (!answer.ok || name === 'console account proof') continue;
      assert.equal(pages.get(title) ?? pathname, pathname, `${name}: ${title}`);
      pages.set(title, pathname);
    }
  });

  test('what is wrong with a field is said by the field, in every form of the console', async () => {
    const { page, close } = await visitAsOwner({ width: 1280, height: HEIGHT });
    const kept = full.pages.filter(({ name }) => !/login link|debugger/.test(name));
    let withErrors = 0;
    for (const { name, url } of kept) {
      await page.goto(url);
      const count = await page.evaluate<number>(`${FORMS_WITH_TEXT}.length`);
      for (let at = 0; at < count; at++) {
        await page.goto(url);
        const [answer] = await Promise.all([
          page.waitForResponse((response) => response.request().method() === 'POST'),
          page.waitForEvent('load'),
          page.evaluate(SEND_WRONG.replace('AT', String(at))),
        ]);
        if (answer.status() !== 400) continue;
        const head = await page.textContent('h1');
        assert.notEqual(head, CONSOLE_TEXTS.en.requestRejected, `${name}, form ${at}: what was typed is lost`);
        withErrors += await page.locator('.field-error:visible').count();
        // It is seen at once, however far down the form is.
        const alert = await page.locator('.box.error[role=alert]').first().boundingBox();
        assert.ok(alert && alert.y >= 0 && alert.y < HEIGHT, `${name}, form ${at}: no alert`);
        // This opens what is folded, and so moves the rest.
        assert.deepEqual(await check(page, 'errors'), [], `${name}, form ${at}`);
      }
    }
    assert.ok(withErrors > 20, `${withErrors} fields were refused`);
    await close();
  });

  for (const dark of [false, true])
    test(`checkout (${dark ? 'dark' : 'light'}): the same, and everything is large enough for a finger`, async () => {
      const { page, close } = await visit(browser, { width: 360, dark });
      await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: dark ? 'dark' : 'light' });
      await page.route('https://shop.example/**', (route) => route.fulfill({ status: 204 }));
      for (const { name, url } of states) {
        await page.goto(url);
        await page.keyboard.press('Tab');
        const lines = await check(page, 'structure', 'focus', 'fields', 'purposes', 'errors', 'motion', 'targets(44)');
        assert.deepEqual(lines, [], name);
      }
      await close();
    });
});
