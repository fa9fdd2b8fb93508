// The feed over HTTP, and an integration with two live secrets while one is rotated.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newEvent, record, startDeliverer, startReceiver } from '../../test/callback-harness.ts';
import { createTestContext } from '../../test/harness.ts';
import { tokenOf } from '../../test/shop.ts';
import { COMMAND_LINE } from '../holders/audit.ts';
import { createHolder } from '../holders/holders.ts';
import { callbackSecrets, createIntegration, rotateSecret } from '../holders/integrations.ts';
import { createHttpServer, type HttpServer } from '../platform/http.ts';
import { callbackRoutes } from './routes.ts';

let ctx: Awaited<ReturnType<typeof createTestContext>>;
let app: HttpServer;
let integration: Awaited<ReturnType<typeof createIntegration>>;
let authorization = '';

before(async () => {
  ctx = await createTestContext();
  app = createHttpServer(ctx);
  callbackRoutes(app, ctx);
  const holder = await createHolder(ctx, COMMAND_LINE, 'Duka');
  integration = await createIntegration(ctx, COMMAND_LINE, holder.id, 'Duka shop');
  authorization = `Bearer ${await tokenOf(ctx, integration)}`;
});
after(async () => {
  await app.close();
  await ctx.close();
});

const mine = () => ({ holderId: integration.holderId, integrationId: integration.id });

test('a replay begins at a moment that means the same everywhere: with a zone, or a whole day', async () => {
  const replay = async (since: string) => {
    const reply = await app.inject({
      method: 'POST',
      url: '/api/v3/events/replay',
      headers: { authorization },
      payload: { since },
    });
    return reply.statusCode;
  };
  for (const since of ['2026-03-02T09:00:00Z', '2026-03-02T09:00:00.123456Z', '2026-03-02T12:00+03:00', '2026-03-02'])
    assert.equal(await replay(since), 200, since);
  for (const since of ['2026-03-02T09:00:00', '2026-03-02 09:00', '2026-02-30', '2026-02-30T09:00:00Z', '0000-01-01'])
    assert.equal(await replay(since), 400, since);
});

test('the feed pages through the events of the token, and ends with the id to go on from', async () => {
  const recorded = await record(ctx, [
    newEvent(ctx, null, mine()),
    newEvent(ctx, null, mine()),
    newEvent(ctx, null, { holderId: 999n }),
  ]);
  const wanted = recorded
    .slice(0, 2)
    .map((event) => event.publicId)
    .sort();
  const first = await app.inject({ url: '/api/v3/events?limit=1', headers: { authorization } });
  assert.equal(first.statusCode, 200);
  const second = await app.inject({
    url: `/api/v3/events?after=${first.json().meta.next_after}`,
    headers: { authorization },
  });
  assert.deepEqual(
    [...first.json().data, ...second.json().data].map((event: { id: string }) => event.id).sort(),
    wanted,
  );
  const third = await app.inject({
    url: `/api/v3/events?after=${second.json().meta.next_after}`,
    headers: { authorization },
  });
  assert.deepEqual(third.json().data, []);
  assert.equal(third.json().meta.next_after, second.json().meta.next_after);
});

test('without a token, with an unknown id or a wrong limit, the error says so', async () => {
  assert.equal((await app.inject({ url: '/api/v3/events' })).statusCode, 401);
  assert.equal((await app.inject({ url: '/api/v3/events?after=evt_x', headers: { authorization } })).statusCode, 404);
  for (const limit of ['0', '1001', 'many', '-1', '1e2'])
    assert.equal(
      (await app.inject({ url: `/api/v3/events?limit=${limit}`, headers: { authorization } })).statusCode,
      400,
      limit,
    );
  const replay = await app.inject({
    method: 'POST',
    url: '/api/v3/events/replay',
    headers: { authorization },
    payload: { since: 'noon' },
  });
  assert.equal(replay.statusCode, 400);
});

test('a secret that is rotated while an event is being retried: the retry carries both signatures', async () => {
  ctx.clock.set(new Date());
  authorization = `Bearer ${await tokenOf(ctx, integration)}`;
  const receiver = await startReceiver((_, response) => void response.writeHead(500).end());
  const deliverer = startDeliverer(ctx, { secretsOf: (id) => callbackSecrets(ctx, id) });
  const [event] = await record(ctx, [newEvent(ctx, receiver.url, mine())]);
  assert.ok(event);
  deliverer.deliverFresh([event]);
  await deliverer.idle();
  const rotated = await rotateSecret(ctx, COMMAND_LINE, integration.holderId, integration.id, 'callback');
  const fresh = typeof rotated === 'string' ? rotated : rotated.secret;
  ctx.clock.advance(10_000);
  receiver.answer = (_, response) => void response.end();
  await deliverer.drain();
  const last = receiver.received.at(-1);
  assert.ok(last);
  assert.equal(last.id, event.publicId);
  for (const secret of [integration.callbackSecret, fresh])
    new Webhook(secret).verify(last.body.toString(), last.headers);

  const again = await app.inject({
    method: 'POST',
    url: `/api/v3/events/${event.publicId}/resend`,
    headers: { authorization },
  });
  assert.equal(again.statusCode, 200, again.body);
  await deliverer.drain();
  assert.equal(receiver.received.length, 3);
  const replayed = await app.inject({
    method: 'POST',
    url: '/api/v3/events/replay',
    headers: { authorization },
    payload: { since: '2020-01-01T00:00:00Z' },
  });
  assert.equal(replayed.json().data.replayed, 0);
  await Promise.all([deliverer.close(), receiver.close()]);
});
