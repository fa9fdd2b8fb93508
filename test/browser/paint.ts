// When a payer on a slow network and a slow phone sees the page: first contentful paint at 400 kbit/s, 400 ms round
// trip, and a processor four times slower than this one.

import type { Browser } from 'playwright-core';
import { visit } from './browser.ts';

const SLOW_NETWORK = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
const SLOWER_PROCESSOR = 4;

const TRIES = 3;

/**
 * Milliseconds from the start of the navigation to the first contentful paint, with nothing cached. Above the limit it is
 * measured again, and the best counts: other programs can only make it later.
 */
export async function measureFirstPaint(browser: Browser, url: string, limitMs = Infinity): Promise<number> {
  let best = await measureOnce(browser, url);
  for (let tries = 1; tries < TRIES && best > limitMs; tries++) best = Math.min(best, await measureOnce(browser, url));
  return best;
}

async function measureOnce(browser: Browser, url: string): Promise<number> {
  const { page, context, close } = await visit(browser);
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.emulateNetworkConditions', SLOW_NETWORK);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER_PROCESSOR });
  await page.goto(url);
  const painted = await page.evaluate<number>(
    `new Promise((resolve) => new PerformanceObserver((list) => {
       const paint = list.getEntries().find((entry) => entry.name === 'first-contentful-paint');
       if (paint) resolve(paint.startTime);
     }).observe({ type: 'paint', buffered: true }))`,
  );
  await close();
  return painted;
}
