// A real browser for tests and screenshots: Debian's Chromium driven by playwright-core. Each page keeps what it asked
// for, what the policy refused, and what went wrong in it.

import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const PLACES = [process.env.CHROMIUM ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none'];

/** Why there is no browser here; null when there is one. */
export function browserMissing(): string | null {
  return findBrowser() === null
    ? 'no Chromium on this machine: install the package "chromium", or name its path in CHROMIUM'
    : null;
}

function findBrowser(): string | null {
  return PLACES.find((path) => path !== '' && existsSync(path)) ?? null;
}

export async function startBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === null) throw new Error(browserMissing() ?? '');
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

export type Visit = {
  page: Page;
  context: BrowserContext;
  /** Every address the page asked for. */
  requests: string[];
  /** What the content security policy refused, and errors of scripts. */
  complaints: string[];
  close(): Promise<void>;
};

export type VisitOptions = { javascript?: boolean; width?: number; height?: number; dark?: boolean; language?: string };

export async function visit(browser: Browser, options: VisitOptions = {}): Promise<Visit> {
  const context = await browser.newContext({
    javaScriptEnabled: options.javascript ?? true,
    viewport: { width: options.width ?? 360, height: options.height ?? 740 },
    colorScheme: options.dark ? 'dark' : 'light',
    locale: options.language ?? 'en-GB',
    serviceWorkers: 'block',
  });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return { page, context, requests, complaints, close: () => context.close() };
}
