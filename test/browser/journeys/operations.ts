// Staff of the gateway: merchants, operators, a review that two people decide, limits, and the audit log.

import assert from 'node:assert/strict';
import { balancesOf } from '../../../src/ledger/ledger.ts';
import { flushRefusals, noteRefusal } from '../../../src/platform/held-back.ts';
import { collectInKenya } from '../../client.ts';
import { addPerson } from '../../console-harness.ts';
import { createShop } from '../../shop.ts';
import { type JourneySetup, travel } from './traveller.ts';

export async function operationsJourney(setup: JourneySetup): Promise<string[]> {
  const { gateway } = setup;
  const { ctx } = gateway;
  const merchant = await createShop(ctx, `Owner of the money ${setup.look.name}`);
  await collectInKenya(gateway, merchant);
  const staffShop = await createShop(ctx, 'Gateway staff');
  const staff = (name: string) =>
    addPerson(gateway, staffShop.holderId, 'owner', `${name}@${staffShop.holderId}.example.org`, { admin: true });
  const [first, second] = [await staff('zawadi'), await staff('otieno')];
  // Money arrives with a reference that nobody has.
  const payment = { to: '600100', accountReference: 'no such bill', amount: 70_000n, currency: 'KES' };
  await gateway.services.operator?.phone.pay('254712345111', payment);
  await gateway.settle();
  const until = new Date(ctx.clock.millis() + 540_000);
  noteRefusal(ctx, { kind: 'integration', key: merchant.clientId, subject: merchant.title, until });
  await flushRefusals(ctx);

  const zawadi = await travel(setup, first);
  await zawadi.open('/console');
  await zawadi.goTo('/console/admin');
  await zawadi.press(`main a[href="/console/admin/holders/${merchant.holderId}"]`);
  assert.match(await zawadi.read(), /Owner of the money/);
  await zawadi.goTo('/console/admin/rails');
  assert.match(await zawadi.read(), /M-PESA/);
  await zawadi.goTo('/console/admin/cases');
  await zawadi.press('main a[href^="/console/admin/cases/case_"]');
  assert.match(await zawadi.read(), /Unmatched payment/);
  await zawadi.page.check('input[value="credit_holder"]');
  await zawadi.page.fill('#f-holder', merchant.title);
  await zawadi.page.fill('#f-reason', 'The payer called and named the shop.');
  await zawadi.page.fill('#f-reference', 'ticket 1841');
  await zawadi.press('#propose form button:not([type=button])');
  assert.match(await zawadi.read(), /Another administrator must approve it/);
  assert.equal(await zawadi.page.locator('form[action$="/approve"]').count(), 0);

  const otieno = await travel(setup, second);
  await otieno.open('/console/admin');
  await otieno.press('#waiting-decisions a');
  await otieno.press('form[action$="/approve"] button');
  assert.match(await otieno.read(), /This review is closed/);
  const [wallet] = await balancesOf(ctx.db, merchant.holderId);
  assert.equal(wallet?.available, 70_000n + 247_500n);
  await otieno.goTo('/console/admin/limits');
  assert.match(await otieno.read(), /Owner of the money/);
  await otieno.goTo('/console/admin/audit');
  await otieno.goTo('/console/audit');
  assert.match(await otieno.read(), /Gateway staff|zawadi|otieno/);
  await zawadi.leave();
  await otieno.leave();
  return [...zawadi.crossed, ...otieno.crossed];
}
