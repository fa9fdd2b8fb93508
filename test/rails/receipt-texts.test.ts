// Receipts by SMS: for holders who want them, once for each payment, whatever happens; and never at the cost of the payment.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { findReceiptText, sendReceiptTexts, switchReceiptTexts } from '../../src/checkout/receipt-texts.ts';
import { COMMAND_LINE } from '../../src/holders/audit.ts';
import { findTransaction, idFromRef } from '../../src/payments/transactions.ts';
import { collectInKenya } from '../client.ts';
import { addPerson } from '../console-harness.ts';
import { createTestGateway, type TestGateway } from '../gateway.ts';
import { createShop, type Shop } from '../shop.ts';

const HOUR_MS = 3_600_000;

describe('receipts by SMS', () => {
  let gateway: TestGateway;
  let shop: Shop;
  let people = 100;

  before(async () => {
    gateway = await createTestGateway();
    shop = await createShop(gateway.ctx, 'Duka la Amani');
  });
  after(() => gateway.close());

  /** A payment of somebody new, which succeeds. */
  async function pay(): Promise<{ mobile: string; id: string; ref: string }> {
    const mobile = `254711${++people}000`;
    const ref = await collectInKenya(gateway, shop, { mobile });
    return { mobile, ref, id: idFromRef(ref) ?? '' };
  }

  async function textsOf(mobile: string): Promise<string[]> {
    const view = await gateway.services.operator?.phone.view(mobile);
    return (view?.messages ?? []).map(({ text }) => text).filter((text) => text.includes('/r/'));
  }
  const stateOf = async (id: string) => (await findReceiptText(gateway.ctx.db, shop.holderId, id))?.state ?? null;
  const switchTo = (isOn: boolean) => switchReceiptTexts(gateway.ctx, COMMAND_LINE, shop.holderId, isOn);

  test('nobody gets one until an owner switches them on, and then only for what is paid from there on', async () => {
    const before = await pay();
    assert.equal(await sendReceiptTexts(gateway.ctx), 0);
    const owner = await addPerson(gateway, shop.holderId, 'owner');
    assert.match((await owner.get('/console/settings')).text, /name="on" value="yes">/);
    assert.equal((await owner.post('/console/settings/receipts', { on: 'yes' })).status, 303);
    assert.match((await owner.get('/console/settings')).text, /name="on" value="yes" checked>/);
    const { mobile, id, ref } = await pay();
    assert.equal(await sendReceiptTexts(gateway.ctx), 1);
    assert.equal(await sendReceiptTexts(gateway.ctx), 0);
    const [text = '', ...others] = await textsOf(mobile);
    assert.deepEqual([others, await textsOf(before.mobile)], [[], []]);
    assert.match(text, /^TEST\. KES 2 500 paid to Duka la Amani\. Receipt ([0-9A-Z-]{16}): http:\S+\/r\/\1$/);
    assert.equal((await fetch(/http\S+/.exec(text)?.[0] ?? '')).status, 200);
    assert.equal(await stateOf(id), 'sent');
    assert.match((await owner.get(`/console/transactions/${ref}`)).text, /Receipt sent by SMS/);
  });

  test('two processes at once send it once', async () => {
    const { mobile } = await pay();
    const sent = await Promise.all([1, 2, 3].map(() => sendReceiptTexts(gateway.ctx)));
    assert.equal(
      sent.reduce((sum, each) => sum + each, 0),
      1,
    );
    assert.equal((await textsOf(mobile)).length, 1);
  });

  test('a doubt is noted and not repeated, and the payment stays as it is', async () => {
    for (const how of ['error_after', 'reset'] as const) {
      const { mobile, id } = await pay();
      gateway.services.operator?.scripts.add({ call: 'message', fault: how, times: 1 });
      assert.equal(await sendReceiptTexts(gateway.ctx), 1);
      assert.equal(await sendReceiptTexts(gateway.ctx), 0, how);
      assert.equal(await stateOf(id), 'unknown', how);
      assert.ok((await textsOf(mobile)).length <= 1);
      assert.equal((await findTransaction(gateway.ctx.db, shop.holderId, id))?.status, 'success');
    }
  });

  test('nothing is sent about a payment of long ago, or after the switch was turned off', async () => {
    const late = await pay();
    gateway.ctx.clock.advance(HOUR_MS + 1_000);
    assert.equal(await sendReceiptTexts(gateway.ctx), 0);
    assert.equal(await stateOf(late.id), null);
    await switchTo(false);
    await pay();
    assert.equal(await sendReceiptTexts(gateway.ctx), 0);
    await switchTo(true);
    assert.equal(await sendReceiptTexts(gateway.ctx), 0);
  });
});
