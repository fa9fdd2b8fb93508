// What people do with money afterwards, in a real browser and by two people: refunds in parts, a payment that nobody answers
// for, money without an owner, and files of payouts. Each journey looks at its pages as everybody else sees them.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { setPayoutApproval } from '../../src/holders/approval-rules.ts';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { balancesOf } from '../../src/ledger/ledger.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { topUpSandbox } from '../../src/payments/sandbox-top-up.ts';
import { collectInKenya } from '../client.ts';
import { addPerson, type Person, signIn } from '../console-harness.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { createShop, type Shop } from '../shop.ts';
import {
  browserMissing,
  findings,
  newFindings,
  showsNewColours,
  sideways,
  startBrowser,
  type Visit,
  visit,
} from './browser.ts';

const HOUR_MS = 3_600_000;
const NARROW = ['target-size', 'scrollable-region-focusable'];
const CSV = 'amount,currency,mobile,method,payee\n100,KES,0712345000,MPESA_KEN,Juma\n200,KES,0712346000,MPESA_KEN,Asha';

describe('money by two people in a browser', { skip: browserMissing() ?? false }, () => {
  let gateway: TestGateway;
  let browser: Browser;
  const [knownInLight, knownInDark] = [new Set<string>(), new Set<string>()];

  before(async () => {
    gateway = await createTestGateway();
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    const differences = gateway ? (await verifyLedger(gateway.ctx)).differences : [];
    await gateway?.close();
    assert.deepEqual(differences, []);
  });

  async function team(name: string): Promise<{ shop: Shop; finance: Person; owner: Person }> {
    const shop = await createShop(gateway.ctx, name);
    const key = name.replaceAll(' ', '-').toLowerCase();
    return {
      shop,
      finance: await addPerson(gateway, shop.holderId, 'finance', `finance@${key}.example.org`),
      owner: await addPerson(gateway, shop.holderId, 'owner', `owner@${key}.example.org`),
    };
  }

  /** Two admins of the gateway, who belong to an account of their own. */
  async function admins(name: string): Promise<[Person, Person]> {
    const { shop } = await team(name);
    const add = (email: string) => addPerson(gateway, shop.holderId, 'owner', email, { admin: true });
    return [await add(`first@${shop.holderId}.example.org`), await add(`second@${shop.holderId}.example.org`)];
  }

  async function open(person: Person, path: string): Promise<Visit> {
    const opened = await visit(browser, { width: 1280, height: 800 });
    const [name = '', value = ''] = person.cookie.split('=');
    await opened.context.addCookies([{ name, value, url: gateway.url }]);
    await opened.page.goto(`${gateway.url}${path}`);
    return opened;
  }

  async function send(page: Page, selector: string): Promise<void> {
    await Promise.all([page.waitForEvent('load'), page.click(selector)]);
  }

  /** The page as it is now: accessible, wide and narrow, light and dark, and nothing to scroll sideways. */
  async function assertFits(page: Page): Promise<void> {
    const address = page.url();
    assert.deepEqual(await newFindings(page, knownInLight), [], address);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 740 });
    const rules = (await showsNewColours(page, knownInDark)) ? [...NARROW, 'color-contrast'] : NARROW;
    assert.deepEqual(await findings(page, ...rules), [], `${address}, narrow and dark`);
    assert.ok((await sideways(page)) <= 0, `${address} scrolls sideways at 360 px`);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
  }

  const main = async (page: Page) => (await page.innerText('main')).replaceAll(/\s+/g, ' ');

  test('a refund in parts by two people', async () => {
    const { shop, finance, owner } = await team('Refunds by two');
    await collectInKenya(gateway, shop, { amount: 5000 });
    const ref = await collectInKenya(gateway, shop, { amount: 2500 });
    await gateway.settle();
    await setPayoutApproval(gateway.ctx, COMMAND_LINE, shop.holderId, true);
    const asking = await open(finance, `/console/transactions/${ref}`);
    await send(asking.page, '.page-head a[href$="/refund"]');
    assert.match(await main(asking.page), /Up to KES 2 500 of this payment/);
    await assertFits(asking.page);
    await asking.page.fill('#f-amount', '1,000');
    await send(asking.page, 'main form button');
    assert.match(await main(asking.page), /Please correct/, 'an amount with two meanings is refused');
    await asking.page.fill('#f-amount', '1000');
    await asking.page.fill('#f-reason', 'One of two came back');
    await send(asking.page, 'main form button');
    assert.match(await main(asking.page), /A second person must approve it.*Needs approval.*You requested this refund/);
    await assertFits(asking.page);
    assert.equal(await asking.page.locator('form[action$="/approve"]').count(), 0);

    const approving = await open(owner, '/console');
    assert.match(await main(approving.page), /1 refund to approve/);
    await send(approving.page, 'main a[href="/console/payouts"]');
    await assertFits(approving.page);
    await send(approving.page, '#waiting-refunds form button');
    assert.match(await main(approving.page), /Refund approved\. It is being sent\./);
    await gateway.settle();
    await approving.page.reload();
    assert.match(await main(approving.page), /Succeeded.*Approved by/);
    await assertFits(approving.page);

    // The rest, asked for by the one and approved by the other.
    await approving.page.goto(`${gateway.url}/console/transactions/${ref}`);
    assert.match(await main(approving.page), /Left to refund KES 1 500/);
    await assertFits(approving.page);
    await send(approving.page, '.page-head a[href$="/refund"]');
    await send(approving.page, 'main form button');
    const rest = new URL(approving.page.url()).pathname;
    await asking.page.goto(gateway.url + rest);
    await send(asking.page, 'form[action$="/approve"] button');
    await gateway.settle();
    await asking.page.goto(`${gateway.url}/console/transactions/${ref}`);
    assert.match(await main(asking.page), /Reversed.*Refunded KES 2 500/);
    assert.deepEqual([...asking.complaints.filter((line) => !/400/.test(line)), ...approving.complaints], []);
    await asking.close();
    await approving.close();
  });

  test('a stuck collection is settled with evidence by two people', async () => {
    const { shop, finance } = await team('Stuck');
    const [admin] = await admins('Deciding');
    const ref = await collectInKenya(gateway, shop, { mobile: '254712345005', amount: 2500 });
    for (let quarter = 0; quarter < 5; quarter++) await gateway.advance(6 * HOUR_MS);
    const proposing = await open(await signIn(gateway, finance.member), `/console/transactions/${ref}`);
    assert.match(await main(proposing.page), /No final result for a day/);
    await send(proposing.page, '.box.warning a');
    await assertFits(proposing.page);
    await proposing.page.check('input[value="settle_success"]');
    await proposing.page.fill('#f-reason', 'The statement of 16 November shows the payment.');
    await proposing.page.fill('#f-reference', 'SJK7Q2M4XP');
    await proposing.page.setInputFiles('#f-document', {
      name: 'statement.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('16 Nov  SJK7Q2M4XP  2,500.00'),
    });
    await proposing.page.waitForFunction("document.querySelector('#f-document-data').value !== ''");
    await send(proposing.page, '#propose form button');
    assert.match(
      await main(proposing.page),
      /Decision proposed.*SJK7Q2M4XP.*An administrator of this gateway must approve it/,
    );
    await assertFits(proposing.page);

    const approving = await open(await signIn(gateway, admin.member), '/console/admin');
    assert.match(await main(approving.page), /Decisions that wait for a second person/);
    await assertFits(approving.page);
    await send(approving.page, '#waiting-decisions a');
    assert.match(await main(approving.page), /The operator is asked once more first/);
    await assertFits(approving.page);
    const download = approving.page.waitForEvent('download');
    await approving.page.click('a[href$="/document"]');
    assert.match((await download).suggestedFilename(), /^dec_\w+\.txt$/);
    await send(approving.page, 'form[action$="/approve"] button');
    assert.match(await main(approving.page), /Decision approved and carried out.*This review is closed/);
    await assertFits(approving.page);
    await proposing.page.goto(`${gateway.url}/console/transactions/${ref}`);
    assert.match(await main(proposing.page), /Succeeded/);
    const [wallet] = await balancesOf(gateway.ctx.db, shop.holderId);
    assert.ok(wallet && wallet.available > 0n);
    assert.deepEqual([...proposing.complaints, ...approving.complaints], []);
    await proposing.close();
    await approving.close();
  });

  test('money in suspense is credited to its owner by two admins', async () => {
    const { shop } = await team('Owner of the money');
    const [first, second] = await admins('Suspense');
    const payment = { to: '600100', accountReference: 'no such bill', amount: 70_000n, currency: 'KES' };
    await gateway.services.operator?.phone.pay('254712345111', payment);
    await gateway.settle();
    const proposing = await open(first, '/console/admin/cases?kind=unknown_reference');
    assert.match(await main(proposing.page), /Unmatched payment.*KES 700/);
    await assertFits(proposing.page);
    await send(proposing.page, 'main td a[href^="/console/admin/cases/case_"]');
    await assertFits(proposing.page);
    await proposing.page.check('input[value="credit_holder"]');
    await proposing.page.fill('#f-holder', 'Owner of the money');
    await proposing.page.fill('#f-reason', 'The payer called and named the shop.');
    await proposing.page.fill('#f-reference', 'ticket 1841');
    await send(proposing.page, '#propose form button');
    assert.match(await main(proposing.page), /You proposed this\. Another administrator must approve it/);
    assert.equal(await proposing.page.locator('form[action$="/approve"]').count(), 0);
    const approving = await open(second, new URL(proposing.page.url()).pathname);
    assert.match(await main(approving.page), /Owner of the money/);
    await send(approving.page, 'form[action$="/approve"] button');
    assert.match(await main(approving.page), /This review is closed/);
    const [wallet] = await balancesOf(gateway.ctx.db, shop.holderId);
    assert.equal(wallet?.available, 70_000n);
    assert.deepEqual([...proposing.complaints, ...approving.complaints], []);
    await proposing.close();
    await approving.close();
  });

  test('a payout file is approved as a whole by the second person; the same file is refused', async () => {
    const { shop, finance, owner } = await team('Wages');
    await topUpSandbox(gateway.ctx, COMMAND_LINE, shop.holderId, 'KES', 1_000_000n);
    await setPayoutApproval(gateway.ctx, COMMAND_LINE, shop.holderId, true);
    const ordering = await open(finance, '/console/payouts/import');
    const order = async (name: string) => {
      await ordering.page.goto(`${gateway.url}/console/payouts/import`);
      await ordering.page.fill('#f-name', name);
      await ordering.page.fill('#f-csv', CSV);
      await send(ordering.page, 'form[action$="/payouts/check"] button');
    };
    await order('March');
    assert.match(await main(ordering.page), /Nothing has been sent yet.*KES 300/);
    await assertFits(ordering.page);
    await send(ordering.page, 'form[action$="/payouts/import"] button');
    assert.match(await main(ordering.page), /Needs approval/);
    assert.equal(await ordering.page.locator('form[action$="/approve"]').count(), 0);
    await assertFits(ordering.page);
    await gateway.settle();

    const approving = await open(owner, '/console/payouts');
    await assertFits(approving.page);
    await send(approving.page, 'form[action*="/payouts/files/"] button');
    await gateway.settle();
    await approving.page.reload();
    assert.match(await main(approving.page), /2 of 2/);
    await assertFits(approving.page);

    await order('March again');
    assert.match(await main(ordering.page), /2 possible duplicates/);
    await ordering.page.check('input[name="confirm_repeats"]');
    await send(ordering.page, 'form[action$="/payouts/import"] button');
    assert.match(await main(ordering.page), /were ordered on .* by finance@wages\.example\.org as “March”/);
    await assertFits(ordering.page);
    const rows = await gateway.ctx.db.query('select 1 from payout_orders where holder_id = $1', [shop.holderId]);
    assert.equal(rows.length, 2);
    assert.deepEqual([...ordering.complaints.filter((line) => !/409/.test(line)), ...approving.complaints], []);
    await ordering.close();
    await approving.close();
  });
});
