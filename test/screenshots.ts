// Pictures of every state of the hosted pages and of the pretend phone, narrow and wide, light and dark, into
// ./screenshots: to be looked at.

import { mkdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { browserMissing, startBrowser, visit } from './browser/browser.ts';
import { openShop } from './browser/shop.ts';
import { makeStates, type State } from './browser/states.ts';
import { createTestGateway } from './gateway.ts';

const FOLDER = resolve(import.meta.dirname, '..', 'screenshots');
const LOOKS = [
  { width: 360, dark: false },
  { width: 360, dark: true },
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
  const states = await makeStates(gateway, await openShop(gateway));
  states.push({ name: 'phones', url: `${gateway.url}/sandbox/phone?n=254712345679&n=221771234567&n=254712345671` });
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  await picture(states);
  console.log(`Every state is in ${FOLDER}.`);
} finally {
  await browser.close();
  await gateway.close();
}

async function picture(states: State[]): Promise<void> {
  for (const { width, dark } of LOOKS) {
    const { page, close } = await visit(browser, { width, dark });
    for (const { name, url } of states.filter((state) => only === undefined || state.name.includes(only))) {
      await page.goto(url);
      const file = `${name.replace(/\W+/g, '-')}-${width}-${dark ? 'dark' : 'light'}.png`;
      await page.screenshot({ path: resolve(FOLDER, file), fullPage: true });
    }
    await close();
  }
}

// The pages of the console stand beside them.
await import('./console-screenshots.ts');
