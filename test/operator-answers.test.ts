// Operators address their connection at any path, and get their answer in their own form.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CallbackReading, CallbackRequest, Rail } from '../src/rails/rail.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';

describe('callbacks of operators', () => {
  let gateway: TestGateway;
  let rail: { -readonly [Name in keyof Rail]: Rail[Name] };
  let heard: CallbackRequest[];
  let readings: CallbackReading[];

  before(async () => {
    gateway = await createTestGateway();
    rail = gateway.ctx.rails.byName('sandbox') ?? assert.fail();
    heard = [];
    rail.readCallback = (request) => {
      heard.push(request);
      return readings;
    };
  });
  after(() => gateway.close());

  const send = (path: string, method = 'POST') =>
    fetch(`${gateway.url}/operators/${path}`, { method, ...(method === 'GET' ? {} : { body: '<xml/>' }) });

  test('reach the rail with their method, host, path and address', async () => {
    readings = [{ kind: 'nothing', reason: 'progress' }];
    const answer = await send('sandbox/stk/TX_1/token?x=%20y', 'PUT');
    assert.deepEqual([answer.status, await answer.json()], [200, { success: true, message: 'Received.' }]);
    const [request] = heard;
    assert.deepEqual(
      { ...request, headers: null, body: request?.body.toString() },
      {
        rail: 'sandbox',
        method: 'PUT',
        host: new URL(gateway.url).host,
        path: '/operators/sandbox/stk/TX_1/token?x=%20y',
        remoteAddress: '127.0.0.1',
        headers: null,
        body: '<xml/>',
      },
    );
  });

  test('GET is refused, and so is a connection that is not there, at any path', async () => {
    assert.ok([404, 405].includes((await send('sandbox/stk', 'GET')).status));
    assert.equal((await send('nobody/stk/TX_1')).status, 404);
  });

  test('an operator that asks whether there is somebody (OPTIONS, HEAD) is told so, and nothing is read', async () => {
    heard = [];
    const probe = async (path: string, method: string) => {
      const answer = await fetch(`${gateway.url}/operators/${path}`, { method });
      return [answer.status, answer.headers.get('allow'), await answer.text()];
    };
    for (const method of ['OPTIONS', 'HEAD'])
      for (const path of ['sandbox', 'sandbox/callbacks/-/token'])
        assert.deepEqual(await probe(path, method), [200, 'POST, PUT, OPTIONS, HEAD', ''], `${method} ${path}`);
    assert.equal((await probe('nobody', 'OPTIONS'))[0], 404);
    assert.equal((await probe('nobody', 'HEAD'))[0], 404);
    assert.deepEqual(heard, []);
  });

  test('what cannot be authenticated is 401, unless the operator has words of its own', async () => {
    readings = [{ kind: 'rejected', reason: 'no signature' }];
    assert.equal((await send('sandbox')).status, 401);
    rail.answerCallback = (_, decision) => ({
      status: 200,
      body: `<result>${decision.kind === 'refuse_payment' ? decision.reason : decision.kind}</result>`,
      contentType: 'text/xml',
    });
    const answer = await send('sandbox');
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type'), await answer.text()],
      [200, 'text/xml', '<result>rejected</result>'],
    );
    readings = [{ kind: 'validation', accountReference: 'x', amount: 100n, currency: 'KES', payer: null }];
    assert.equal(await (await send('sandbox/c2b')).text(), '<result>unknown_account</result>');
  });

  test('a rail that cannot say it leaves the answer to us', async () => {
    readings = [{ kind: 'nothing', reason: 'a progress report' }];
    rail.answerCallback = () => assert.fail('a mistake of the rail');
    assert.equal((await send('sandbox')).status, 200);
  });
});
