// A real browser for tests and screenshots: Debian's Chromium driven by playwright-core. Each page keeps what it asked
// for, what the policy refused, and what went wrong in it.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const PLACES = [process.env.CHROMIUM ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--font-render-hinting=none',
  // No requests but those of the pages.
  '--disable-quic',
  '--disable-sync',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
];

/** Only to end what never happens: on a machine that is busy with other things a page may take long to load. */
const PATIENCE_MS = 120_000;

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
  close: () => Promise<void>;
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
  context.setDefaultTimeout(PATIENCE_MS);
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

/** How far the page can be scrolled sideways. */
export function sideways(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/** Colour and size of the text of each element, with every background behind it. */
const COLOURS = `(() => {
  const behind = (element) => {
    if (element === null) return '';
    const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
    const own = [backgroundColor, backgroundImage, opacity].join(' ');
    return (own === 'rgba(0, 0, 0, 0) none 1' ? '' : own + ' on ') + behind(element.parentElement);
  };
  const hasText = (element) => element.matches('input, select, textarea') ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
  return [...new Set([...document.body.querySelectorAll('*')]
    .filter((element) => hasText(element) && element.checkVisibility())
    .map((element) => {
      const { color, fontSize, fontWeight } = getComputedStyle(element);
      return [color, fontSize, fontWeight, 'on', behind(element)].join(' ');
    }))];
})()`;

/** Whether text on the page has colours that are not known yet; from then on they are. The contrast of the others was checked. */
export async function showsNewColours(page: Page, known: Set<string>): Promise<boolean> {
  const colours = await page.evaluate<string[]>(COLOURS);
  const isNew = colours.some((each) => !known.has(each));
  for (const each of colours) known.add(each);
  return isNew;
}

/** What axe finds: WCAG 2.2 AA and good practice, or only the named rules. */
export function findings(page: Page, ...rules: string[]): Promise<string[]> {
  return runAxe(page, rules.length > 0 ? { runOnly: rules } : {});
}

/** The same; contrast, which takes most of the time, only of colours that are not known. */
export async function newFindings(page: Page, known: Set<string>): Promise<string[]> {
  const enabled = await showsNewColours(page, known);
  return runAxe(page, { rules: { 'color-contrast': { enabled } } });
}

let axe: string | undefined;

async function runAxe(page: Page, choice: object): Promise<string[]> {
  axe ??= readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Half a megabyte: once for each document.
  if (!(await page.evaluate<boolean>("typeof axe === 'object'"))) await page.evaluate(axe);
  const options = JSON.stringify({ resultTypes: ['violations'], ...choice });
  const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    `axe.run(${options}).then((result) => result.violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => ({ html })) })))`,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`);
}
