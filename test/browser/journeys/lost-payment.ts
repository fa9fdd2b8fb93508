// A payer whose shop says that nothing arrived: pastes the SMS of the operator at /find, on a phone, and sees where the money is.

import assert from 'node:assert/strict';
import { idFromRef } from '../../../src/payments/transactions.ts';
import { collectInKenya } from '../../client.ts';
import { createShop } from '../../shop.ts';
import { type JourneySetup, travel } from './traveller.ts';

export async function lostPaymentJourney(setup: JourneySetup): Promise<string[]> {
  const { gateway } = setup;
  const { db } = gateway.ctx;
  const shop = await createShop(gateway.ctx, 'Duka la Amani');
  const ref = await collectInKenya(gateway, shop, { mobile: '254712308000' });
  const [row] = await db.query<{ receipt: string }>('select receipt from transactions where id = $1', [idFromRef(ref)]);
  const sms = `${row?.receipt} Confirmed. Ksh2,500.00 paid to DUKA LA AMANI. New M-PESA balance is Ksh310.00.`;

  const payer = await travel(setup, null);
  await payer.open('/find');
  await payer.page.fill('[name=text]', sms);
  await payer.page.fill('[name=number]', '0712 308 000');
  await payer.press('main form button');
  assert.match(await payer.read(), /KES 2 500/);
  assert.match(await payer.read(), /Duka la Amani/);
  // The same SMS with another number shows nothing, and can be reported.
  await payer.open('/find');
  await payer.page.fill('[name=text]', sms);
  await payer.page.fill('[name=number]', '0712 308 999');
  await payer.press('main form button');
  assert.doesNotMatch(await payer.read(), /Duka la Amani/);
  await payer.press('main form[action^="/find/report"] button');
  assert.match(await payer.read(), /case_\w+/);
  await payer.leave();
  await db.query('delete from guesses');
  return payer.crossed;
}
