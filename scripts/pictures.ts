// The pictures of README and docs, in docs/images: pages of the sample shop on a desktop and on a phone, taken from a running
// sandbox, so that they show what there is. With arguments: only the pages of these names.

import { mkdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { findMemberByEmail } from '../src/holders/members.ts';
import { linkId } from '../src/links/links.ts';
import { listLinks } from '../src/links/listing.ts';
import { makeSampleShop } from '../src/sample-shop/sample-shop.ts';
import { browserMissing, startBrowser, visit } from '../test/browser/browser.ts';
import { submit } from '../test/browser/states.ts';
import { collectInKenya } from '../test/client.ts';
import { signIn } from '../test/console-harness.ts';
import { createTestGateway, type TestGateway } from '../test/gateway.ts';
import { createShop } from '../test/shop.ts';

const FOLDER = resolve(import.meta.dirname, '../docs/images');
/** A Saturday afternoon in Nairobi: the same pictures at every run. */
const NOW = new Date('2026-11-14T11:40:00.000Z');
const OWNER = 'amina@sample-shop.example';
const SIZES = [
  { name: 'desktop', width: 1280, height: 800 },
  { name: 'phone', width: 360, height: 740 },
];
/** Sixty kilobytes at most: more colours than a page has, fewer than a photograph. */
const COLOURS = 64;

type Cookie = { name: string; value: string; url: string };
type Picture = { name: string; url: string };

const missing = browserMissing();
if (missing !== null) {
  console.error(`No pictures: ${missing}.`);
  process.exit(1);
}
const only = process.argv.slice(2);
const gateway = await createTestGateway();
const browser = await startBrowser();
try {
  mkdirSync(FOLDER, { recursive: true });
  const { pictures, cookie } = await openPages(gateway);
  for (const picture of pictures.filter(({ name }) => only.length === 0 || only.includes(name)))
    await take(browser, picture, cookie);
} finally {
  await browser.close();
  await gateway.close();
}

async function openPages({ ctx, services, url }: TestGateway): Promise<{ pictures: Picture[]; cookie: Cookie }> {
  ctx.clock.set(NOW);
  const shop = await makeSampleShop(ctx, services.payments.engine);
  await gateway.settle();
  const owner = await findMemberByEmail(ctx.db, OWNER);
  if (!owner) throw new Error('the sample shop has no owner');
  const person = await signIn(gateway, owner, { holderId: shop.id });
  const [name = '', value = ''] = person.cookie.split('=');
  const links = await listLinks(ctx.db, shop.id, { before: null, status: null, limit: 3, now: NOW });
  const link = links.find(({ item_name }) => item_name === 'Woven basket');
  if (!link) throw new Error('the sample shop has no link');
  const checkout = `${url}/pay/${linkId(link)}`;
  const pay = async (phone: string) => {
    const attempt = await submit(checkout, checkout, { phone, method: 'MPESA_KEN' });
    await gateway.settle();
    return attempt;
  };
  const paid = await pay('0712309000');
  const receipt = /\/r\/[0-9A-Z-]+/.exec(await (await fetch(paid)).text())?.[0] ?? '';
  await pay('0712345678');
  await receiveCallbacks(gateway);
  const [, transaction = ''] =
    /\/transactions\/(TX_\w+)/.exec((await person.get('/console/transactions?status=success')).text) ?? [];
  const console = `${url}/console`;
  const pictures = [
    { name: 'home', url: console },
    { name: 'transactions', url: `${console}/transactions` },
    { name: 'transaction', url: `${console}/transactions/${transaction}` },
    { name: 'links', url: `${console}/links` },
    { name: 'link', url: `${console}/links/${linkId(link)}` },
    { name: 'payouts', url: `${console}/payouts` },
    { name: 'balances', url: `${console}/balances` },
    { name: 'checkout', url: checkout },
    { name: 'receipt', url: url + receipt },
    { name: 'phone', url: `${url}/sandbox/phone?n=254712345678` },
    { name: 'receiver', url: `${url}/sandbox/callbacks` },
    { name: 'docs', url: `${url}/docs/quickstart` },
  ];
  return { pictures, cookie: { name, value, url } };
}

/** Two payments of a shop whose callbacks go to the sandbox's own receiver. */
async function receiveCallbacks({ ctx, url }: TestGateway): Promise<void> {
  const shop = await createShop(ctx, 'Web shop');
  for (const [mobile, order] of [
    ['254712309001', 'order-1847'],
    ['254722110000', 'order-1848'],
  ] as const)
    await collectInKenya(gateway, shop, {
      mobile,
      third_party_reference_1: order,
      callback_url: `${url}/sandbox/callbacks`,
    });
}

async function take(from: Browser, { name, url }: Picture, cookie: Cookie): Promise<void> {
  for (const size of SIZES) {
    const { page, context, close } = await visit(from, size);
    await context.addCookies([cookie]);
    await page.goto(url);
    const file = resolve(FOLDER, `${name}-${size.name}.png`);
    await sharp(await page.screenshot())
      .png({ palette: true, colours: COLOURS, effort: 10, compressionLevel: 9 })
      .toFile(file);
    await close();
    console.log(`${name}-${size.name}.png: ${Math.ceil(statSync(file).size / 1024)} KiB`);
  }
}
