// Nobody's load or fault is felt by somebody else: callbacks of two holders at one host, and prompts to one phone number.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createClient, PATHS, ugandanCollection } from './client.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

const CALLBACK_TIMEOUT_MS = 300;
const HANGING = 600;

describe('two holders whose callbacks go to one host', () => {
  let gateway: TestGateway;
  const arrived = { '/hang': 0, '/good': 0 };
  const host = createServer((request, response) => {
    const path = request.url === '/good' ? '/good' : '/hang';
    arrived[path]++;
    request.resume();
    if (path === '/good') response.end();
  });
  const url = (path: string) => `http://127.0.0.1:${(host.address() as AddressInfo).port}${path}`;

  before(async () => {
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    gateway = await createTestGateway({}, { callbackTimeoutMs: CALLBACK_TIMEOUT_MS });
  });
  after(async () => {
    await gateway.close();
    host.closeAllConnections();
    host.close();
  });

  /** Background passes until the condition holds. */
  async function passUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await condition())) {
      await gateway.services.deliverer.pass();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  test('security S9: a holder whose 600 callbacks hang does not delay another one at the same host', async () => {
    const [victim, other] = [await createClient(gateway, 'Victim'), await createClient(gateway, 'Other')];
    const hang = { callback_url: url('/hang') };
    const replies = await Promise.all(
      Array.from({ length: HANGING }, () => other.signed(PATHS.collect, ugandanCollection('000', hang))),
    );
    assert.ok(replies.every((reply) => reply.status === 200));
    await gateway.services.payments.engine.idle();
    // The host counts as failing for the other holder, and most of its callbacks were not tried yet.
    const failing = () => gateway.ctx.db.query('select from callback_receivers');
    await passUntil(async () => (await failing()).length > 0);
    const triedBefore = arrived['/hang'];
    for (let count = 0; count < 6; count++)
      await victim.signed(PATHS.collect, ugandanCollection('000', { callback_url: url('/good') }));
    await gateway.services.payments.engine.idle();
    await passUntil(() => arrived['/good'] === 6 || arrived['/hang'] > triedBefore + HANGING / 2);
    assert.equal(arrived['/good'], 6);
    const tried = arrived['/hang'] - triedBefore;
    assert.ok(tried < 32, `the other holder had ${tried} more attempts first`);
  });
});
