// A person in a browser who goes through the gateway as people do: by menus, links, buttons and forms. Every page that is
// crossed must be accessible, must fit its screen, and must not complain.

import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { Person } from '../../console-harness.ts';
import type { TestGateway } from '../../gateway.ts';
import { findings, sideways, type VisitOptions, visit } from '../browser.ts';

export type Look = { name: string; width: number; height: number; dark: boolean };

const PHONE = { width: 360, height: 740 };
const DESKTOP = { width: 1280, height: 800 };

export const LOOKS = {
  phoneLight: { name: 'phone, light', ...PHONE, dark: false },
  phoneDark: { name: 'phone, dark', ...PHONE, dark: true },
  desktopLight: { name: 'desktop, light', ...DESKTOP, dark: false },
  desktopDark: { name: 'desktop, dark', ...DESKTOP, dark: true },
} as const satisfies Record<string, Look>;

/** `checked`: kinds of pages whose accessibility was checked before; without it every page that is crossed is checked. */
export type JourneySetup = {
  gateway: TestGateway;
  browser: Browser;
  look: Look;
  checked?: Pick<Set<string>, 'has' | 'add'>;
};

export type Traveller = {
  page: Page;
  isPhone: boolean;
  /** Opens an address of the gateway. */
  open(path: string): Promise<void>;
  /** Presses what leads to another page. */
  press(selector: string): Promise<void>;
  /** Goes to a page by the menu: beside the page, or behind the tabs of a phone. */
  goTo(path: string): Promise<void>;
  /** The text of the page, with single spaces. */
  read(selector?: string): Promise<string>;
  /** The answer to a GET with this person's session, such as a file. */
  download(path: string): Promise<string>;
  /** Addresses of the pages that were looked at. */
  crossed: string[];
  /** Ends the visit. The browser must have nothing to complain about. */
  leave(): Promise<void>;
};

export async function travel(
  { gateway, browser, look, checked }: JourneySetup,
  person: Person | null,
  options: VisitOptions = {},
): Promise<Traveller> {
  const { page, context, complaints, close } = await visit(browser, { ...look, ...options });
  const crossed: string[] = [];
  if (person) {
    const [name = '', value = ''] = person.cookie.split('=');
    await context.addCookies([{ name, value, url: gateway.url }]);
  }

  async function lookAround(): Promise<void> {
    const address = page.url().replace(gateway.url, '');
    crossed.push(address);
    assert.ok((await sideways(page)) <= 0, `${address} scrolls sideways, ${look.name}`);
    const kind = address.replaceAll(/(?<=\/)[^/]*\d[^/]*|\?.*/g, '');
    // Without scripts axe cannot run; the page is the same.
    if (options.javascript === false || checked?.has(kind)) return;
    checked?.add(kind);
    assert.deepEqual(await findings(page), [], `${address}, ${look.name}`);
  }

  async function press(selector: string): Promise<void> {
    await Promise.all([page.waitForEvent('load'), page.click(selector)]);
    await lookAround();
  }

  const isPhone = look.width < DESKTOP.width;
  return {
    page,
    isPhone,
    crossed,
    press,
    async open(path) {
      await page.goto(gateway.url + path);
      await lookAround();
    },
    async goTo(path) {
      if (!isPhone) return press(`.side a[href="${path}"]`);
      const tab = `.tabs > a[href="${path}"]`;
      if (await page.isVisible(tab)) return press(tab);
      await page.click('.tabs > details > summary');
      return press(`.tabs .sheet a[href="${path}"]`);
    },
    read: async (selector = 'main') => (await page.innerText(selector)).replaceAll(/\s+/g, ' '),
    async download(path) {
      const answer = await context.request.get(gateway.url + path);
      assert.equal(answer.status(), 200, path);
      return answer.text();
    },
    async leave() {
      assert.deepEqual(complaints, []);
      await close();
    },
  };
}
