// A finance officer of the gateway: takes the operator's file, works through what does not agree, decides with a second person, and
// signs the day.

import assert from 'node:assert/strict';
import { findTransaction, idFromRef } from '../../../src/payments/transactions.ts';
import { DAY_MS } from '../../../src/platform/clock.ts';
import { addPerson } from '../../console-harness.ts';
import { createShop } from '../../shop.ts';
import { beginQuietDay, type StatementDay, writeStatementDay } from '../../statement-day.ts';
import { type JourneySetup, type Traveller, travel } from './traveller.ts';

export async function booksJourney(setup: JourneySetup): Promise<string[]> {
  const { gateway } = setup;
  await beginQuietDay(gateway);
  const shop = await createShop(gateway.ctx, 'Duka la Amani');
  const written = await writeStatementDay(gateway, shop);
  await gateway.advance(DAY_MS);
  const staff = (name: string) =>
    addPerson(gateway, shop.holderId, 'viewer', `${name}@${shop.holderId}.example.org`, { admin: true });
  const zawadi = await travel(setup, await staff('zawadi'));
  const otieno = await travel(setup, await staff('otieno'));

  await importFile(zawadi, written);
  await openClose(zawadi, written);
  await zawadi.press('form[action$="/close/compare"] button');
  assert.match(await zawadi.read(), /1 × Missing with us.*1 × Missing with them.*1 × State differs|State differs/);
  await decideByKeys(zawadi);
  await approve(otieno, 'Apply what the statement says', /Applied/);
  const paid = await findTransaction(gateway.ctx.db, shop.holderId, idFromRef(written.settled) ?? '');
  assert.equal(paid?.status, 'success');
  await decideOne(zawadi, written, 'missing_with_us', 'suspense');
  await approve(otieno, 'Hold the money in suspense', /Applied/);
  await decideOne(zawadi, written, 'missing_with_them', 'explain');
  await approve(otieno, 'Explain', /Resolved/);

  await openClose(zawadi, written);
  await zawadi.press('form[action$="/close/compare"] button');
  assert.match(await zawadi.read('#sign'), /explained to the cent/);
  await zawadi.press('form[action$="/close/sign"] button');
  assert.match(await zawadi.read(), /The day is closed.*By zawadi/);
  await zawadi.press('main a[href*="/admin/books/closes?"]');
  assert.match(await zawadi.read(), /Closed/);
  await zawadi.leave();
  await otieno.leave();
  return [...zawadi.crossed, ...otieno.crossed];
}

async function importFile(zawadi: Traveller, { csv, day }: StatementDay): Promise<void> {
  const { page } = zawadi;
  await zawadi.open('/console');
  await zawadi.goTo('/console/admin/books');
  assert.match(await zawadi.read(), /sandbox · KES.*Statement missing/);
  await zawadi.press('main a[href="/console/admin/rails/sandbox/statements"]');
  await page.setInputFiles('#f-file', { name: `ORG_${day}.csv`, mimeType: 'text/csv', buffer: Buffer.from(csv) });
  await zawadi.press('form[action$="/statements"] button');
  // The lines are read after the answer.
  while (/being read/.test(await zawadi.read())) await zawadi.open(new URL(page.url()).pathname);
  assert.match(await zawadi.read(), /Lines 3 New 3/);
}

async function openClose(zawadi: Traveller, { day }: StatementDay): Promise<void> {
  await zawadi.goTo('/console/admin/books');
  assert.equal(await zawadi.page.inputValue('#f-day'), day);
  await zawadi.press('main a[href*="/admin/books/close?"][href*="currency=KES"]');
}

/** The rows by j and k, the selection by x, the decision by d; on a phone by tapping. */
async function decideByKeys(zawadi: Traveller): Promise<void> {
  const { page } = zawadi;
  await zawadi.goTo('/console/admin/books');
  await zawadi.press('main a[href="/console/admin/books/breaks"]');
  await page.selectOption('#f-kind', 'state');
  await zawadi.press('main form.card button');
  if (zawadi.isPhone) {
    await page.check('main input[name=id]');
    await zawadi.press('#decide');
  } else {
    await page.keyboard.press('?');
    assert.ok(await page.isVisible('#keys dl'));
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    assert.ok(await page.isChecked('main input[name=id]'));
    await Promise.all([page.waitForURL('**/admin/books/decide?**'), page.keyboard.press('d')]);
  }
  await propose(zawadi, 'outcome');
}

async function propose(zawadi: Traveller, action: string): Promise<void> {
  await zawadi.page.check(`input[value="${action}"]`);
  await zawadi.page.fill('#f-reason', 'Seen in the portal of the operator.');
  await zawadi.press('form[action$="/books/proposals"] button');
  assert.match(await zawadi.read(), /Another administrator must approve it/);
  assert.equal(await zawadi.page.locator('form[action$="/approve"]').count(), 0);
}

async function decideOne(zawadi: Traveller, { day }: StatementDay, kind: string, action: string): Promise<void> {
  await zawadi.open(`/console/admin/books/breaks?kind=${kind}&day=${day}`);
  await zawadi.press('main .row-link');
  await propose(zawadi, action);
}

async function approve(otieno: Traveller, action: string, result: RegExp): Promise<void> {
  await otieno.open('/console/admin/books');
  await otieno.press(`#waiting-proposals a:has-text("${action}")`);
  await otieno.press('form[action$="/approve"] button');
  assert.match(await otieno.read('main table'), result);
}
