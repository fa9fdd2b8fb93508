// Passkeys in a real browser, with its virtual authenticator: added after a proof, then used alone, after a password and
// before secrets. Pages about the second factor are accessible and fit a phone.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { addMember, createLoginLink, type Member } from '../../src/holders/members.ts';
import { setPassword } from '../../src/holders/passwords.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { createShop } from '../shop.ts';
import { browserMissing, findings, sideways, startBrowser, type Visit, visit } from './browser.ts';

const PASSWORD = 'violet harbour 42 lamps';

describe('passkeys in a browser', { skip: browserMissing() ?? false }, () => {
  let gateway: TestGateway;
  let browser: Browser;
  /** Passkeys belong to PUBLIC_URL, which is localhost; the gateway's own address is 127.0.0.1. */
  let origin: string;
  let people = 0;

  before(async () => {
    gateway = await createTestGateway();
    origin = `http://localhost:${gateway.ctx.config.port}`;
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await gateway?.close();
  });

  async function addOwner(): Promise<Member> {
    const { ctx } = gateway;
    const { holderId } = await createShop(ctx, `Shop ${++people}`);
    const person = { email: `owner${people}@example.org`, name: 'Owner', holderId, role: 'owner' } as const;
    const member = await addMember(ctx, COMMAND_LINE, person);
    await setPassword(ctx, COMMAND_LINE, member.id, PASSWORD, { sessionId: null, holderId: null });
    return member;
  }

  /** A page with a device that verifies its user, as a phone or laptop does. */
  async function visitWithDevice(options: Parameters<typeof visit>[1] = {}): Promise<Visit> {
    const opened = await visit(browser, options);
    const protocol = await opened.context.newCDPSession(opened.page);
    await protocol.send('WebAuthn.enable');
    await protocol.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return opened;
  }

  async function send(page: Page, selector: string): Promise<void> {
    await Promise.all([page.waitForEvent('load'), page.click(selector)]);
  }

  /** On a phone it is behind the last tab. */
  async function signOut(page: Page): Promise<void> {
    await page.click('.tabs summary');
    await send(page, '.sheet form[action="/console/sign-out"] button');
  }

  async function signIn(page: Page, member: Member): Promise<void> {
    await page.goto(`${origin}/console/sign-in`);
    await page.fill('#f-email', member.email);
    await page.fill('#f-password', PASSWORD);
    await send(page, 'form[action="/console/sign-in"] button');
  }

  async function addPasskey(page: Page): Promise<void> {
    await page.goto(`${origin}/console/account`);
    await send(page, 'form[action="/console/account/passkeys/proof"] button');
    await page.fill('#f-password', PASSWORD);
    await send(page, 'main form button');
    await page.fill('#f-name', 'Work laptop');
    await send(page, 'form[action="/console/account/passkeys"] button');
    await page.waitForSelector('#recovery-codes');
  }

  const checkPage = async (page: Page, name: string) => {
    assert.deepEqual(await findings(page), [], name);
    assert.ok((await sideways(page)) <= 0, `${name} scrolls sideways`);
  };

  test('a passkey is added after the password, signs in alone, is a second step and confirms', async () => {
    const member = await addOwner();
    const { page, complaints, close } = await visitWithDevice({ width: 360 });
    await signIn(page, member);
    await addPasskey(page);
    await checkPage(page, 'recovery codes');
    await send(page, 'main a.button');
    assert.match(await page.innerText('main'), /Work laptop/);
    await checkPage(page, 'account with a passkey and a notice');
    await signOut(page);

    assert.ok(await page.isVisible('form[data-passkey="get"] button'));
    await checkPage(page, 'sign-in with a passkey');
    await Promise.all([page.waitForURL(`${origin}/console`), page.click('form[data-passkey="get"] button')]);
    assert.match((await page.textContent('.account-line')) ?? '', /Owner/);

    await page.goto(`${origin}/console/integrations/new`);
    await page.waitForURL(/\/console\/confirm/);
    await checkPage(page, 'confirm with a passkey');
    await Promise.all([
      page.waitForURL(`${origin}/console/integrations/new`),
      page.click('form[data-passkey="get"] button'),
    ]);

    await signOut(page);
    await signIn(page, member);
    await checkPage(page, 'second step with a passkey');
    await Promise.all([page.waitForURL(`${origin}/console`), page.click('form[data-passkey="get"] button')]);
    assert.deepEqual(complaints, []);
    await close();
  });

  test('a form that needs a proof is carried out after it: by password, and by passkey', async () => {
    const member = await addOwner();
    const { page, complaints, close } = await visitWithDevice({ width: 360 });
    const setLimit = async (amount: string) => {
      gateway.ctx.clock.advance(11 * 60_000);
      await page.goto(`${origin}/console/settings`);
      await page.selectOption('#f-limit-currency', 'KES');
      await page.fill('#f-limit-amount', amount);
      await send(page, 'form[action="/console/settings/limits"] button');
      await checkPage(page, `the proof before ${amount}`);
    };
    const saved = async () => {
      await page.waitForURL(/\/console\/settings\?done=saved/);
      return page.innerText('#limits');
    };
    await signIn(page, member);
    await setLimit('500');
    await page.fill('#f-password', 'a wrong one that is long');
    await send(page, 'main form button');
    await page.fill('#f-password', PASSWORD);
    await page.click('main form button');
    assert.match(await saved(), /KES\s500/);
    await addPasskey(page);
    await setLimit('400');
    await page.click('form[data-passkey="get"] button');
    assert.match(await saved(), /KES\s400/);
    assert.deepEqual(
      complaints.filter((line) => !/40[13]/.test(line)),
      [],
    );
    await close();
  });

  test('a device without this passkey is told so, and a recovery code is the way in', async () => {
    const member = await addOwner();
    const first = await visitWithDevice();
    await signIn(first.page, member);
    await addPasskey(first.page);
    const code = /(?:[0-9A-Z]{4}-){3}[0-9A-Z]{4}/.exec(await first.page.innerText('#recovery-codes'))?.[0] ?? '';
    await first.close();

    const { page, close } = await visitWithDevice({ width: 1280 });
    await signIn(page, member);
    await page.click('form[data-passkey="get"] button');
    await page.waitForSelector('[data-problem]:not([hidden])');
    await page.click('summary');
    await page.fill('#f-recovery_code', code);
    await checkPage(page, 'recovery code');
    await send(page, 'form[action="/console/sign-in/recovery"] button');
    assert.match(await page.innerText('section.warning'), /A recovery code was used\. Codes left: 9/);
    await checkPage(page, 'notices');
    await page.click('section.warning summary');
    await send(page, 'section.warning button.button-danger');
    assert.match(await page.innerText('h1'), /All sessions are ended/);
    await checkPage(page, 'all sessions ended');
    await close();
  });

  test('without passkeys in the browser, on another origin or without scripts there is no button', async () => {
    const { token } = await createLoginLink(gateway.ctx, (await addOwner()).id);
    for (const [at, options] of [
      [gateway.url, {}],
      [origin, { javascript: false }],
    ] as const) {
      const { page, close } = await visit(browser, options);
      await page.goto(`${at}/console/sign-in`);
      assert.equal(await page.isVisible('form[data-passkey]'), false);
      await close();
    }
    const { page, context, close } = await visit(browser);
    await context.addInitScript('delete window.PublicKeyCredential');
    await page.goto(`${origin}/console/sign-in`);
    assert.equal(await page.isVisible('form[data-passkey]'), false);
    await page.goto(`${origin}/console/login/${token}`);
    await send(page, 'main form button');
    await page.goto(`${origin}/console/account`);
    assert.equal(await page.isVisible('form[data-passkey]'), false);
    await close();
  });

  test('the account page and its pages of proof are accessible in French at 360 px', async () => {
    const member = await addOwner();
    const { page, close } = await visitWithDevice({ width: 360, language: 'fr-FR' });
    await signIn(page, member);
    await page.goto(`${origin}/console/account/proof`);
    await checkPage(page, 'proof');
    await page.fill('#f-password', PASSWORD);
    await send(page, 'main form button');
    for (const path of ['/console/account', '/console/account/factor']) {
      await page.goto(origin + path);
      await checkPage(page, path);
    }
    await close();
  });
});
