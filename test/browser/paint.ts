// What a payer sees first: whether the page is painted from its document alone, and when that is on a slow network and a slow
// phone: first contentful paint at 400 kbit/s, 400 ms round trip, and a processor four times slower than this one.

import type { Browser, Page } from 'playwright-core';
import { visit } from './browser.ts';

const SLOW_NETWORK = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
const SLOWER_PROCESSOR = 4;

/** Milliseconds from the start of the navigation to the first contentful paint, with nothing cached. */
export async function measureFirstPaint(browser: Browser, url: string): Promise<number> {
  const { page, context, close } = await visit(browser);
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.emulateNetworkConditions', SLOW_NETWORK);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER_PROCESSOR });
  await page.goto(url);
  const painted = await firstPaint(page);
  await close();
  return painted;
}

/** Resolves when the page is painted although nothing but its document ever arrives; until then everything else is held up. */
export async function paintDocumentAlone(browser: Browser, url: string): Promise<void> {
  const { page, close } = await visit(browser);
  // Neither continued nor refused: what the page waits for never comes.
  await page.route('**/*', (route) => (route.request().isNavigationRequest() ? route.continue() : undefined));
  await page.goto(url, { waitUntil: 'commit' });
  await firstPaint(page);
  await close();
}

function firstPaint(page: Page): Promise<number> {
  return page.evaluate<number>(
    `new Promise((resolve) => new PerformanceObserver((list) => {
       const paint = list.getEntries().find((entry) => entry.name === 'first-contentful-paint');
       if (paint) resolve(paint.startTime);
     }).observe({ type: 'paint', buffered: true }))`,
  );
}
