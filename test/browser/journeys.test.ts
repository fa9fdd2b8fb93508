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
  const seen = new Set<string>();
  // Every page of the console is looked at by console.test.ts.
  const checked = {
    has: (kind: string) => kind.startsWith('/console') || seen.has(kind),
    add: (kind: string) => seen.add(kind),
  };
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
    test(`${name} (${look.name})`, async (t) => {
      // Another journey sets the clock to the present, and the next day would then be in the future, where nothing is booked.
      const own = name === 'books' ? await createTestGateway() : null;
      if (own) t.after(() => own.close());
      await journey({ gateway: own ?? gateway, browser, look, checked });
    });
  }
});
