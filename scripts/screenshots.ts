// Screenshots of every state of the hosted pages, of the test phone and of every page of the console, narrow and wide,
// light and dark, in ./screenshots. With an argument: only the pages whose name contains it; with a second: in that language.

import { mkdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { browserMissing, startBrowser, visit } from '../test/browser/browser.ts';
import { fillConsole } from '../test/browser/console-pages.ts';
import { openShop } from '../test/browser/shop.ts';
import { makeStates } from '../test/browser/states.ts';
import { createTestGateway } from '../test/gateway.ts';

const FOLDER = resolve(import.meta.dirname, '..', 'screenshots');
const VARIANTS = [
  { width: 360, dark: false },
  { width: 360, dark: true },
  { width: 1280, dark: false },
  { width: 1280, dark: true },
];

type Picture = { name: string; url: string };

const missing = browserMissing();
if (missing !== null) {
  console.error(`No screenshots: ${missing}.`);
  process.exit(1);
}
const only = process.argv[2] ?? '';
const language = process.argv[3] ?? 'en-GB';
const browser = await startBrowser();
try {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  await takeHostedPages();
  await takeConsole();
  console.log(`Every page is in ${FOLDER}.`);
} finally {
  await browser.close();
}

async function takeHostedPages(): Promise<void> {
  const gateway = await createTestGateway({ SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'pay@example.org' });
  try {
    const phones = `${gateway.url}/sandbox/phone?n=254712345679&n=221771234567&n=254712345671`;
    const states = await makeStates(gateway, await openShop(gateway));
    await take([...states, { name: 'phones', url: phones }]);
  } finally {
    await gateway.close();
  }
}

async function takeConsole(): Promise<void> {
  const gateway = await createTestGateway();
  try {
    const { pages, person, receiver } = await fillConsole(gateway);
    const [name = '', value = ''] = person.cookie.split('=');
    await take(pages, { name, value, url: gateway.url });
    receiver.close();
  } finally {
    await gateway.close();
  }
}

async function take(pictures: Picture[], cookie?: { name: string; value: string; url: string }): Promise<void> {
  for (const { width, dark } of VARIANTS) {
    const { page, context, close } = await visit(browser, { width, dark, language });
    if (cookie) await context.addCookies([cookie]);
    for (const { name, url } of pictures.filter((picture) => picture.name.includes(only))) {
      await page.goto(url);
      const file = `${name.replace(/\W+/g, '-')}-${width}-${dark ? 'dark' : 'light'}.png`;
      await page.screenshot({ path: resolve(FOLDER, file), fullPage: true });
    }
    await close();
  }
}
