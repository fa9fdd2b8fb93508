// How long a payer waits for the hosted page: first contentful paint in real Chromium at 400 kbit/s, 400 ms round trips and
// a four times slower processor.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
const RUNS = 5;
const BYTES_PER_SECOND = 400_000 / 8;

export type Paint = { milliseconds: number } | { missing: string };

/** The median of several loads, each with an empty cache. */
export async function measurePaint(url: string): Promise<Paint> {
  if (!existsSync(CHROMIUM)) return { missing: "Debian's chromium is not installed" };
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  });
  try {
    const times: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      const context = await browser.newContext({ viewport: { width: 360, height: 640 } });
      const page = await context.newPage();
      const session = await context.newCDPSession(page);
      await session.send('Network.enable');
      await session.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 400,
        downloadThroughput: BYTES_PER_SECOND,
        uploadThroughput: BYTES_PER_SECOND,
      });
      await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
      await page.goto(url, { waitUntil: 'load' });
      times.push(
        await page.evaluate(
          `new Promise((resolve) => new PerformanceObserver((list, observer) => {
             const entry = list.getEntriesByName('first-contentful-paint')[0];
             if (entry) { observer.disconnect(); resolve(entry.startTime); }
           }).observe({ type: 'paint', buffered: true }))`,
        ),
      );
      await context.close();
    }
    times.sort((left, right) => left - right);
    return { milliseconds: times[Math.floor(RUNS / 2)] ?? Number.NaN };
  } finally {
    await browser.close();
  }
}
