// The guided first minute: its steps tick themselves from what happened, and it goes away when they are done.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { collectInKenya } from '../../test/client.ts';
import { createTestGateway, type TestGateway } from '../../test/gateway.ts';
import { createShop, type Shop } from '../../test/shop.ts';
import { CONSOLE_TEXTS } from '../../test/texts.ts';
import { findHolder } from '../holders/holders.ts';
import { printHtml } from '../platform/html.ts';
import type { HolderRequest } from './console-request.ts';
import { firstMinute } from './first-minute.ts';

let gateway: TestGateway;
let shop: Shop;
before(async () => {
  gateway = await createTestGateway();
  shop = await createShop(gateway.ctx);
});
after(() => gateway.close());

/** What the component needs of a request. */
async function steps(role: HolderRequest['role'] = 'owner'): Promise<string | null> {
  const holder = await findHolder(gateway.ctx.db, shop.holderId);
  const t = CONSOLE_TEXTS.en;
  const request = { ctx: gateway.ctx, holder, role, t, services: { sampleShop: null } } as unknown as HolderRequest;
  const part = await firstMinute(request);
  return part === false ? null : printHtml(part);
}

test('nothing is ticked at first; a payment on the phone ticks its steps', async () => {
  assert.match((await steps()) ?? '', /0 of 4 done.*Create a test payment/);
  assert.equal(await steps('viewer'), null, 'those who may not create payments are not guided');
  await collectInKenya(gateway, shop, { mobile: '254712345000' });
  await gateway.settle();
  const text = (await steps()) ?? '';
  assert.match(text, /[23] of 4 done/);
  assert.match(text, /sandbox\/callbacks|docs\/quickstart/);
});
