// Messages to /operators/<rail> that no operator sent: they cost nothing and leave little.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { purgeRejectedCallbacks } from '../src/payments/rejected-callbacks.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { askRaw, statusOf } from './strangers.ts';

const BODY = JSON.stringify({ event: 'payment', note: 'x'.repeat(10_000) });

describe('operator callbacks of strangers', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
  });
  after(() => gateway.close());

  const post = async (rail: string, from: string, method = 'POST') =>
    statusOf(await askRaw(gateway.url, `${method} /operators/${rail} HTTP/1.1\r\nHost: x\r\nX-A: b`, BODY, from));
  const kept = async () => {
    const [row] = await gateway.ctx.db.query<{ count: bigint }>('select count(*) from rejected_callbacks');
    return Number(row?.count);
  };

  test('security S5: a rail that is not registered is 404 and leaves nothing', async () => {
    const statuses = new Set<number>();
    for (let count = 0; count < 40; count++) statuses.add(await post(`rail-${count}`, '127.0.0.4'));
    statuses.add(await post('sandbox2', '127.0.0.4', 'PUT'));
    assert.deepEqual([...statuses], [404]);
    assert.equal(await kept(), 0);
  });

  test('security S17: NUL in the name of a rail is 404', async () => {
    for (const name of ['%00', 'sandbox%00', '%00sandbox', '%ff'])
      assert.equal(await post(name, '127.0.0.5'), 404, name);
  });

  test('security S5: wrong signatures count against the address, and 60 a minute are kept for all addresses', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 100; count++) statuses.push(await post('sandbox', '127.0.0.6'));
    assert.equal(statuses.filter((status) => status === 401).length, 61);
    assert.equal(statuses.filter((status) => status === 429).length, 39);
    assert.equal(await post('sandbox', '127.0.0.7'), 401, 'another address is still heard');
    assert.equal(await post('rail-1', '127.0.0.7'), 404);
    assert.equal(await kept(), 60);
    gateway.ctx.clock.advance(61_000);
    assert.equal(await post('sandbox', '127.0.0.6'), 401, 'a minute later it is heard again');
  });

  test('security S5: the newest 1,000 are kept for all rails together; what an operator signed is not pushed out', async () => {
    const { db } = gateway.ctx;
    await db.query(
      `insert into rejected_callbacks (rail, reason, headers, body, received_at, authenticated)
       select 'rail ' || n % 7, 'forged ' || n, '{}', 'body', now(), n = 1 from generate_series(1, 3500) n`,
    );
    while ((await purgeRejectedCallbacks(gateway.ctx)) > 0);
    assert.equal(await kept(), 1_001);
    assert.equal((await db.query(`select from rejected_callbacks where reason = 'forged 1'`)).length, 1);
    gateway.ctx.clock.advance(61_000);
    assert.equal(await post('sandbox', '127.0.0.8'), 401);
    assert.equal(await kept(), 1_001, 'each new one pushes out the oldest');
    assert.equal((await db.query(`select from rejected_callbacks where reason = 'forged 3500'`)).length, 1);
  });

  test('security S5: a body over 64 kB is refused without being kept', async () => {
    const head = 'POST /operators/sandbox HTTP/1.1\r\nHost: x';
    const answer = await askRaw(gateway.url, head, 'x'.repeat(65_537), '127.0.0.9');
    assert.equal(statusOf(answer), 413);
  });
});
