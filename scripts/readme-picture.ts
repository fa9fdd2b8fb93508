// The picture of the README: the hosted page that waits for the payer, beside the test phone with the prompt. Taken from a
// running sandbox, so that it shows what there is.

import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import sharp from 'sharp';
import { browserMissing, startBrowser } from '../test/browser/browser.ts';
import { fillForm, openShop, send } from '../test/browser/shop.ts';
import { createTestGateway } from '../test/gateway.ts';

const FILE = resolve(import.meta.dirname, '../docs/images/checkout-and-phone.png');
const PAYER = '254712345678';
const WIDTH = 400;
const HEIGHT = 790;
const MARGIN = 24;
/** Sharp on screens with two dots a pixel. */
const SCALE = 2;

const missing = browserMissing();
if (missing !== null) {
  console.error(`No picture: ${missing}.`);
  process.exit(1);
}
const gateway = await createTestGateway();
const browser = await startBrowser();
try {
  const shop = await openShop(gateway, 'Amani Baskets');
  const { url } = await shop.link({
    country_id: 1,
    currency: 'KES',
    amount: '2500',
    business_name: 'Amani Baskets',
    item_name: 'Woven basket, large',
    accent_colour: '#0b6e4f',
  });
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: HEIGHT },
    deviceScaleFactor: SCALE,
    colorScheme: 'light',
    locale: 'en-GB',
  });
  const checkout = await context.newPage();
  await checkout.goto(url);
  await fillForm(checkout, { phone: '0712 345 678', method: 'MPESA_KEN' });
  await send(checkout);
  await gateway.settle();
  await checkout.reload();
  const phone = await context.newPage();
  await phone.goto(`${gateway.url}/sandbox/phone?n=${PAYER}`);
  // The handset itself, without the explanation above it.
  await phone.evaluate("scrollTo(0, document.querySelector('.phone').getBoundingClientRect().top - 16)");
  await compose([await checkout.screenshot(), await phone.screenshot()]);
  console.log(`${FILE}: ${Math.ceil(statSync(FILE).size / 1024)} KiB`);
} finally {
  await browser.close();
  await gateway.close();
}

async function compose(pictures: Buffer[]): Promise<void> {
  const width = MARGIN + pictures.length * (WIDTH + MARGIN);
  mkdirSync(dirname(FILE), { recursive: true });
  await sharp({
    create: { width: width * SCALE, height: (HEIGHT + 2 * MARGIN) * SCALE, channels: 3, background: '#e6eaf0' },
  })
    .composite(
      pictures.map((input, index) => ({
        input,
        left: (MARGIN + index * (WIDTH + MARGIN)) * SCALE,
        top: MARGIN * SCALE,
      })),
    )
    .png({ palette: true, colours: 128, compressionLevel: 9, effort: 10 })
    .toFile(FILE);
}
