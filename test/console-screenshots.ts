// Pictures of every page of the console, narrow and wide, light and dark, into ./screenshots: to be looked at.

import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { browserMissing, startBrowser, visit } from './browser/browser.ts';
import { fillConsole } from './browser/console-pages.ts';
import { createTestGateway } from './gateway.ts';

const FOLDER = resolve(import.meta.dirname, '..', 'screenshots');
const LOOKS = [
  { width: 360, dark: false },
  { width: 1280, dark: false },
  { width: 1280, dark: true },
];

const missing = browserMissing();
if (missing !== null) {
  console.error(`No screenshots: ${missing}.`);
  process.exit(1);
}
const only = process.argv[2];
const gateway = await createTestGateway();
const browser = await startBrowser();
try {
  const { pages, person, receiver } = await fillConsole(gateway);
  mkdirSync(FOLDER, { recursive: true });
  for (const { width, dark } of LOOKS) {
    const { page, context, close } = await visit(browser, { width, dark });
    const [name = '', value = ''] = person.cookie.split('=');
    await context.addCookies([{ name, value, url: gateway.url }]);
    for (const each of pages.filter((state) => only === undefined || state.name.includes(only))) {
      await page.goto(each.url);
      const file = `${each.name.replace(/\W+/g, '-')}-${width}-${dark ? 'dark' : 'light'}.png`;
      await page.screenshot({ path: resolve(FOLDER, file), fullPage: true });
    }
    await close();
  }
  receiver.close();
  console.log(`Every page of the console is in ${FOLDER}.`);
} finally {
  await browser.close();
  await gateway.close();
}
