// People go through the gateway in a real browser, each with one screen. `npm run journeys` gives each of them all four.

import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { browserMissing, startBrowser } from './browser.ts';
import { JOURNEYS } from './journeys/all.ts';
import { LOOKS } from './journeys/traveller.ts';

const LOOK_OF: Readonly<Record<string, (typeof LOOKS)[keyof typeof LOOKS]>> = {
  merchant: LOOKS.phoneLight,
  developer: LOOKS.desktopDark,
  payer: LOOKS.phoneDark,
  'finance officer': LOOKS.desktopLight,
  operations: LOOKS.phoneDark,
  'lost payment': LOOKS.phoneLight,
  books: LOOKS.desktopLight,
};

describe('journeys', { skip: browserMissing() ?? false }, () => {
  const checked = new Set<string>();
  let gateway: TestGateway;
  let browser: Browser;
  before(async () => {
    [gateway, browser] = await Promise.all([createTestGateway(), startBrowser()]);
  });
  after(async () => {
    await browser?.close();
    await gateway?.close();
  });

  for (const [name, journey] of Object.entries(JOURNEYS)) {
    const look = LOOK_OF[name] ?? LOOKS.phoneLight;
    test(`${name} (${look.name})`, async () => {
      await journey({ gateway, browser, look, checked });
    });
  }
});
