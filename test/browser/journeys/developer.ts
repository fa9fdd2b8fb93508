// A developer on the first day: creates an integration, runs the sample that the page shows, sees the callback arrive, and
// finds the wrong byte of a signature.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { promisify } from 'node:util';
import { COMMAND_LINE } from '../../../src/holders/audit.ts';
import { canonicalEnvelope } from '../../../src/holders/envelope.ts';
import { createHolder } from '../../../src/holders/holders.ts';
import { addPerson } from '../../console-harness.ts';
import { signBody } from '../../shop.ts';
import { type JourneySetup, travel } from './traveller.ts';

const run = promisify(execFile);

export async function developerJourney(setup: JourneySetup): Promise<string[]> {
  const { gateway } = setup;
  const { ctx, url } = gateway;
  // Samples are signed with the time of the machine.
  ctx.clock.set(new Date());
  const holder = await createHolder(ctx, COMMAND_LINE, 'Web shop');
  const person = await addPerson(gateway, holder.id, 'developer', `dev@${holder.id}.example.org`);
  const dev = await travel(setup, person);
  const { page } = dev;

  await dev.open('/console');
  await dev.goTo('/console/integrations');
  await dev.press('main a[href="/console/integrations/new"]');
  await page.fill('#f-title', 'Checkout');
  await page.fill('#f-callback_url', `${url}/sandbox/callbacks`);
  await dev.press('main form button');
  const text = async (selector: string) => (await page.textContent(selector)) ?? '';
  const keys = {
    clientId: await text('#client-id'),
    title: await text('#sender'),
    secretKey: await text('#secret-key'),
  };
  const { stdout } = await run('bash', ['-c', await text('#sample-curl')]);
  const { data } = JSON.parse(stdout) as { data: { ref: string } };
  await gateway.settle();

  await dev.goTo('/console/transactions');
  await dev.press(`tbody a[href$="${data.ref}"]`);
  assert.match(await dev.read(), /Succeeded.*order-1001/);
  await dev.open(`/sandbox/callbacks?q=${data.ref}`);
  assert.match(await dev.read(), /collection\.success.*Signature valid/);
  await dev.open('/console');
  await dev.goTo('/console/callbacks');
  assert.match(await dev.read(), /Delivered/);
  await dev.goTo('/console/requests');
  assert.match(await dev.read(), /service-unified-collections/);

  // The currency in another case: one byte of the signed text differs.
  const body = signBody(keys, ctx.clock.millis(), { amount: 2500, country_id: 1, currency: 'KES' });
  const own = canonicalEnvelope(body).replace('"KES"', '"KEs"');
  const signature = createHmac('sha256', keys.secretKey).update(own).digest('hex');
  await dev.goTo('/console/debugger');
  await page.fill('#f-body', JSON.stringify({ ...body, signature }));
  await page.fill('#f-own_string', own);
  await dev.press('main form button');
  assert.match(await dev.read('#difference'), new RegExp(`byte ${Buffer.from(own).indexOf('KEs') + 2}`));
  await dev.goTo('/docs');
  assert.match(await dev.read(), /Quickstart/);
  await dev.leave();
  return dev.crossed;
}
