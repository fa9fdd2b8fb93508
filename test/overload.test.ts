// Strangers do their worst for some seconds; the merchant's signed payments are all served. How fast: npm run overload.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestGateway } from './gateway.ts';
import { ATTACKS, drawLogos } from './overload/attacks.ts';
import { collect, MERCHANT_ADDRESS } from './overload/collections.ts';
import { createSender } from './overload/requests.ts';
import { createShop } from './shop.ts';

const ATTACK_MS = 4_000;

test('security S6: no signed payment is refused while strangers attack in every way at once', async () => {
  const gateway = await createTestGateway({ MAX_IN_FLIGHT: '200' });
  try {
    const { ctx, url } = gateway;
    const [shop, neighbour] = [await createShop(ctx, 'Merchant'), await createShop(ctx, 'Neighbour')];
    const millis = () => ctx.clock.millis();
    const [merchant, pictures] = [createSender(url, MERCHANT_ADDRESS), await drawLogos()];
    const signal = AbortSignal.timeout(ATTACK_MS);
    const attacks = Object.values(ATTACKS).map((attack) => attack({ url, neighbour, millis, pictures }, signal));
    const { times, refused } = await collect(merchant, shop, { perSecond: 20, millis, signal });
    await Promise.all(attacks);
    merchant.close();
    assert.deepEqual(refused, {});
    assert.ok(times.length > 0);
  } finally {
    await gateway.close();
  }
});
