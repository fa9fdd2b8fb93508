// Callbacks through the client: it agrees with the gateway and with the reference library of Standard Webhooks, says
// plainly what is wrong, and never lets a changed byte through.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { SimbiError } from '../sdk/src/error.ts';
import type { SimbiEvent } from '../sdk/src/types.ts';
import { webhooks } from '../sdk/src/webhooks.ts';
import { callbackHeaders, signCallback, verifyCallback } from '../src/callbacks/signature.ts';

async function failing(promise: Promise<unknown>): Promise<SimbiError> {
  const error = await promise.then(
    () => assert.fail('nothing was refused'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SimbiError, String(error));
  return error;
}

describe('callbacks', () => {
  const SECRET = `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`;
  const OTHER = `whsec_${Buffer.from('another secret, just as l').toString('base64')}`;
  const EVENT = {
    id: 'evt_1',
    type: 'payment_link.paid',
    created_at: '2026-03-02T09:00:00.000000Z',
    data: { ref: 'TX_1', amount: 2500.5, payment_link_id: 'pl_1', transaction_detail: 'Café 🎉' },
  } as unknown as SimbiEvent;
  const now = 1_772_442_000_000;

  test('what is signed verifies, in every shape that servers hand over', async () => {
    const { rawBody, headers } = await webhooks.sign(EVENT, SECRET, { now });
    const bytes = new TextEncoder().encode(rawBody);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const body of [rawBody, bytes, bytes.buffer, Buffer.from(rawBody)])
      for (const given of [headers, upper, new Headers(headers)])
        assert.deepEqual(await webhooks.verify(body, given, [OTHER, SECRET], { now }), EVENT);
    const event = await webhooks.verify(rawBody, headers, SECRET, { now });
    assert.equal(event.type === 'payment_link.paid' && event.data.payment_link_id, 'pl_1');
  });

  test('agrees with the gateway and with the reference library, both ways', async () => {
    const body = Buffer.from(JSON.stringify(EVENT));
    const seconds = Math.floor(Date.now() / 1000);
    const theirs = callbackHeaders('evt_1', seconds, signCallback([OTHER, SECRET], 'evt_1', seconds, body));
    assert.deepEqual(await webhooks.verify(body, theirs, SECRET), EVENT);
    const library = new Webhook(SECRET);
    const signed = library.sign('evt_1', new Date(seconds * 1000), body.toString());
    assert.deepEqual(await webhooks.verify(body, { ...theirs, 'webhook-signature': signed }, SECRET), EVENT);
    const ours = await webhooks.sign(EVENT, [OTHER, SECRET]);
    assert.deepEqual(library.verify(ours.rawBody, ours.headers), EVENT);
    const verdict = verifyCallback({
      headers: ours.headers,
      body: Buffer.from(ours.rawBody),
      secrets: [SECRET],
      nowSeconds: seconds,
    });
    assert.deepEqual(verdict, { verified: true });
  });

  test('says plainly that the body was parsed before verifying', async () => {
    const { rawBody, headers } = await webhooks.sign(EVENT, SECRET, { now });
    for (const parsed of [EVENT, null, undefined, [1]] as unknown as string[]) {
      const error = await failing(webhooks.verify(parsed, headers, SECRET, { now }));
      assert.equal(error.code, 'webhook_body_parsed');
      assert.match(error.message, /parsed before it was verified.*express\.raw/);
    }
    const rewritten = JSON.stringify(JSON.parse(rawBody), null, 2);
    const error = await failing(webhooks.verify(rewritten, headers, SECRET, { now }));
    assert.equal(error.code, 'webhook_body_parsed');
    assert.match(error.message, /parsed and written again/);
  });

  test('anything changed, missing, old or early is refused with its reason', async () => {
    const { rawBody, headers } = await webhooks.sign(EVENT, SECRET, { now });
    const codeOf = async (body: string, given: Record<string, string>, secret = SECRET, at = now, options = {}) =>
      (await failing(webhooks.verify(body, given, secret, { now: at, ...options }))).code;
    const mismatch = 'webhook_signature_mismatch';
    assert.equal(await codeOf(rawBody.replace('2500.5', '9500.5'), headers), mismatch);
    assert.equal(await codeOf(rawBody, headers, OTHER), mismatch);
    assert.equal(await codeOf(rawBody, { ...headers, 'webhook-id': 'evt_2' }), mismatch);
    for (const signature of ['v2,abc', 'v1,', 'v1,§§', `v1a${headers['webhook-signature'].slice(2)}`, 'x'])
      assert.equal(await codeOf(rawBody, { ...headers, 'webhook-signature': signature }), mismatch, signature);
    assert.equal(await codeOf('not JSON', headers), mismatch);
    for (const missing of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
      assert.equal(await codeOf(rawBody, { ...headers, [missing]: '' }), 'webhook_headers_missing');
    const wrongTime = 'webhook_timestamp_out_of_range';
    assert.equal(await codeOf(rawBody, headers, SECRET, now + 301_000), wrongTime);
    assert.equal(await codeOf(rawBody, headers, SECRET, now - 301_000), wrongTime);
    assert.equal(await codeOf(rawBody, headers, SECRET, now + 11_000, { toleranceSeconds: 10 }), wrongTime);
    for (const odd of ['NaN', '1e9', '-1', '0x10', ' '])
      assert.equal(await codeOf(rawBody, { ...headers, 'webhook-timestamp': odd }), wrongTime, odd);
    await webhooks.verify(rawBody, headers, SECRET, { now: now + 300_000 });
    await assert.rejects(webhooks.verify(rawBody, headers, 'whsec_', { now }), /Copy it whole/);
    await assert.rejects(webhooks.verify(rawBody, headers, [], { now }), SimbiError);
  });

  test('a changed byte anywhere never verifies', async () => {
    const { rawBody, headers } = await webhooks.sign(EVENT, SECRET, { now });
    const bytes = new TextEncoder().encode(rawBody);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const changed = bytes.slice();
        changed[at] = (changed[at] ?? 0) ^ change;
        await assert.rejects(webhooks.verify(changed, headers, SECRET, { now }), SimbiError);
      }),
    );
  });
});
