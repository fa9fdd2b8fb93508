// A merchant on an ordinary day: signs in, sees how business is, finds the payment of a customer who calls, sends the
// receipt, makes a payment link and shares it.

import assert from 'node:assert/strict';
import { COMMAND_LINE } from '../../../src/holders/audit.ts';
import { addMember, createLoginLink } from '../../../src/holders/members.ts';
import { collectInKenya } from '../../client.ts';
import { createShop } from '../../shop.ts';
import { type JourneySetup, travel } from './traveller.ts';

const PASSWORD = 'baskets by the lake 42';

export async function merchantJourney(setup: JourneySetup): Promise<string[]> {
  const { gateway } = setup;
  const { ctx } = gateway;
  const shop = await createShop(ctx, 'Duka la Amani');
  const ref = await collectInKenya(gateway, shop, { mobile: '254712309000', third_party_reference_1: 'order-7' });
  await collectInKenya(gateway, shop, { mobile: '254722111001', amount: 700 });
  const email = `amina@${shop.holderId}.example.org`;
  const person = { email, name: 'Amina Wairimu', holderId: shop.holderId, role: 'owner' } as const;
  const { token } = await createLoginLink(ctx, (await addMember(ctx, COMMAND_LINE, person)).id);
  const amina = await travel(setup, null);
  const { page } = amina;

  // The first sign-in by the link, every other one by the password.
  await amina.open(`/console/login/${token}`);
  await amina.press('main form button');
  await page.fill('[name=password]', PASSWORD);
  await amina.press('form[action="/console/welcome"] button:not([type=button])');
  await page.context().clearCookies();
  await amina.open('/console/sign-in');
  await page.fill('[name=email]', email);
  await page.fill('[name=password]', PASSWORD);
  await amina.press('form[action="/console/sign-in"] button:not([type=button])');
  // On a busy machine the figures come later than the page.
  for (let tries = 0; tries < 20 && !/Collected KES/.test(await amina.read()); tries++) await amina.open('/console');
  assert.match(await amina.read(), /Good \w+, Amina.*Collected KES 2 500.*Available balance KES 2 475/);

  // "I paid from 0712 309 000."
  await page.fill('#q', '0712 309 000');
  await Promise.all([page.waitForURL(/search|transactions\/TX_/), page.keyboard.press('Enter')]);
  if (!page.url().includes(ref)) await amina.press(`main a[href$="${ref}"]`);
  assert.match(await amina.read(), /KES 2 500.*Succeeded/);
  await page.click('summary:has-text("Send receipt")');
  const message = new URL((await page.getAttribute('a[href^="https://wa.me/254712309000"]', 'href')) ?? '');
  const receipt = /\/r\/[0-9A-Z-]+/.exec(message.searchParams.get('text') ?? '')?.[0] ?? '';
  assert.match((await page.getAttribute('a[href^="sms:"]', 'href')) ?? '', /^sms:\+254712309000/);
  await amina.open(receipt);
  assert.match(await amina.read(), /TEST.*KES 2 500.*Duka la Amani/);

  // A link for a customer who wants to pay later.
  await amina.open('/console');
  await amina.goTo('/console/links');
  await amina.press('main a[href="/console/links/new"]');
  await page.fill('#f-item_name', 'Woven basket');
  await page.fill('#f-amount', '2500');
  await amina.press('form[action="/console/links"] button:not([type=button])');
  const short = await page.innerText('#link-url');
  assert.match(short, /\/p\/[0-9A-Z-]+$/);
  const shared = new URL((await page.getAttribute('a[href^="https://wa.me/"]', 'href')) ?? '');
  assert.ok(shared.searchParams.get('text')?.includes(short), 'the message has the short address');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.click('[data-copy="#link-url"]');
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), short);
  await amina.goTo('/console/links');
  await page.click('.row-actions [data-copy]');
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), short, 'the list copies it too');
  assert.ok(await page.isVisible('.row-actions a[href$="/qr.svg"]'));
  await amina.leave();
  return amina.crossed;
}
