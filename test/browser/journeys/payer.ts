// A payer with a link from a message: opens it, pays, confirms on the phone, keeps the receipt; with scripts and without.

import assert from 'node:assert/strict';
import { shortPath } from '../../../src/links/short-urls.ts';
import { fillForm, openShop } from '../shop.ts';
import { type JourneySetup, type Traveller, travel } from './traveller.ts';

export async function payerJourney(setup: JourneySetup): Promise<string[]> {
  const { gateway } = setup;
  const shop = await openShop(gateway, 'Duka la Amani');
  const crossed: string[] = [];
  for (const javascript of [true, false]) {
    const { link } = await shop.link({ country_id: 1, currency: 'KES', amount: '2500', item_name: 'Woven basket' });
    const number = javascript ? '0711345555' : '0711346555';
    const payer = await travel(setup, null, { javascript });
    const { page } = payer;
    await payer.open(shortPath(link));
    assert.match(await payer.read(), /KES 2 500/);
    await fillForm(page, { phone: number, method: 'MPESA_KEN' });
    await payer.press('main form button');
    await gateway.settle();
    assert.match(await payer.read('h1'), /Check your phone/);
    await approve(setup, number);
    // With scripts the page asks by itself when the payer comes back to it; without them there is a button.
    if (!javascript) await payer.press('main form button');
    else await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))').catch(() => undefined);
    await page.waitForSelector('main .icon');
    assert.equal(await payer.read('h1'), 'Payment received');
    await keepReceipt(payer);
    await payer.leave();
    crossed.push(...payer.crossed);
  }
  return crossed;
}

async function keepReceipt(payer: Traveller): Promise<void> {
  await payer.open((await payer.page.getAttribute('a[href^="/r/"]', 'href')) ?? '');
  const text = await payer.read();
  assert.match(text, /TEST.*KES 2 500.*Woven basket.*M-PESA code/);
  assert.doesNotMatch(text, /711/, 'a receipt hides the number');
}

/** The PIN on the test phone, as the payer types it. */
async function approve(setup: JourneySetup, number: string): Promise<void> {
  const phone = await travel(setup, null, { width: 360, height: 740 });
  await phone.open(`/sandbox/phone?n=254${number.slice(1)}`);
  await phone.page.fill('[name=pin]', '1234');
  await phone.press('.ussd .primary');
  assert.match(await phone.read('.notice'), /Paid/);
  await phone.leave();
  await setup.gateway.settle();
}
