// The built-in receiver of callbacks: what it keeps, what it shows, and that it believes nothing unsigned.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestContext } from '../../test/harness.ts';
import { createHttpServer, type HttpServer } from '../platform/http.ts';
import { callbackReceiverRoutes } from './callback-receiver.ts';
import { createReceivedCallbacks } from './received-callbacks.ts';

type Listed = { number: number; body: string; headers: Record<string, string>; verdict: { verified: boolean } };

describe('the built-in receiver', () => {
  let app: HttpServer;
  let close: () => Promise<void>;

  before(async () => {
    const ctx = await createTestContext();
    app = createHttpServer(ctx);
    const received = createReceivedCallbacks(ctx.clock, async ({ headers }) =>
      headers['webhook-signature'] === 'good' ? { verified: true } : { verified: false, why: 'no signature' },
    );
    callbackReceiverRoutes(app, ctx, received);
    await app.ready();
    close = async () => {
      await app.close();
      await ctx.close();
    };
  });
  after(() => close());

  const receive = (payload: string, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/sandbox/callbacks',
      payload,
      headers: { 'content-type': 'application/json', ...headers },
    });
  const list = async (query = ''): Promise<Listed[]> => {
    const answer = await app.inject({ url: `/sandbox/callbacks${query}`, headers: { accept: 'application/json' } });
    return answer.json<{ data: Listed[] }>().data;
  };

  test('shows what it received, the newest first, with the result of the check', async () => {
    const first = await receive('{"type":"x.y"}');
    assert.deepEqual(first.json(), { received: true, number: 1, verified: false });
    const second = await receive('not json <b>', { 'webhook-signature': 'good' });
    assert.deepEqual(second.json(), { received: true, number: 2, verified: true });
    const { body } = await app.inject({ url: '/sandbox/callbacks' });
    assert.match(body, /not an event.*Signature valid.*not json &#60;b&#62;.*x\.y.*Not verified.*no signature/s);
    const [newest, oldest] = await list();
    assert.deepEqual([newest?.body, newest?.verdict.verified], ['not json <b>', true]);
    assert.deepEqual([oldest?.body, oldest?.verdict.verified], ['{"type":"x.y"}', false]);
    assert.deepEqual(
      (await list('?after=1')).map(({ number }) => number),
      [2],
    );
  });

  test('shows only what contains a text', async () => {
    const { body } = await app.inject({ url: '/sandbox/callbacks?q=x.y' });
    assert.match(body, /x\.y/);
    assert.doesNotMatch(body, /not an event/);
    assert.match((await app.inject({ url: '/sandbox/callbacks?q=nothing-has-this' })).body, /No matches/);
  });

  test('shows fifty at most, or those after a number', async () => {
    for (let count = 0; count < 250; count++) await receive(`{"count":${count}}`);
    assert.equal((await list()).length, 50);
    assert.equal((await list('?after=251')).length, 1);
  });
});
