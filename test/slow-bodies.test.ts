// Connections that are slow on purpose, against a whole gateway.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { type RawAnswer, sendRaw, statusOf } from './strangers.ts';

const HALF_A_BODY =
  'POST /api/v3/service-unified-collections HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{';

async function probe(url: string, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let done = 0; done < count; done++) statuses.push((await fetch(`${url}/console/sign-in`)).status);
  return [...new Set(statuses)];
}

function hangUp(answers: RawAnswer[]): void {
  for (const { socket } of answers) socket.destroy();
}

describe('slow bodies', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await createTestGateway();
  });
  after(() => gateway.close());

  test('security S6: bodies that do not arrive occupy no work: everybody else is served', async () => {
    const slow = await Promise.all(Array.from({ length: 1_100 }, () => sendRaw(gateway.url, HALF_A_BODY, '127.0.0.1')));
    assert.deepEqual(await probe(gateway.url, 20), [200]);
    hangUp(slow);
  });

  test('security S6: one address may open a quarter of MAX_IN_FLIGHT sockets', async () => {
    const slow = await Promise.all(Array.from({ length: 300 }, () => sendRaw(gateway.url, HALF_A_BODY)));
    let refused = 0;
    await new Promise<void>((resolve) => {
      for (const { closed } of slow) void closed.then(() => ++refused === 50 && resolve());
    });
    await pause(100);
    assert.equal(refused, 50, 'further ones stay');
    hangUp(slow);
  });

  test('security S6: a small body has two seconds, then 408 and the end of the connection', async () => {
    const { closed } = await sendRaw(gateway.url, HALF_A_BODY, '127.0.0.3');
    const answer = await closed;
    assert.equal(statusOf(answer), 408);
    assert.match(answer, /"code":"request_timeout"/);
  });
});

describe('a process that stands still', () => {
  test('reads a body that has arrived meanwhile, however long that was', async () => {
    const gateway = await createTestGateway();
    try {
      const head = HALF_A_BODY.replace('Content-Length: 60\r\n\r\n{', 'Content-Length: 2\r\nConnection: close\r\n');
      const { socket, closed } = await sendRaw(gateway.url, `${head}Expect: 100-continue\r\n\r\n`);
      // The head is read, and the time of the body runs.
      await once(socket, 'data');
      socket.write('{}');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
      assert.match(await closed, /HTTP\/1\.1 400 .*"success":false/s);
    } finally {
      await gateway.close();
    }
  });
});

describe('long polls', () => {
  test('security S6: pages of test phones that wait hold no place of a request', async () => {
    const gateway = await createTestGateway({ MAX_IN_FLIGHT: '40' });
    try {
      const poll = 'GET /sandbox/phone/254700000100?version=0 HTTP/1.1\r\nHost: x\r\n\r\n';
      const first = await fetch(`${gateway.url}/sandbox/phone/254700000100`);
      const { version } = (await first.json()) as { version: number };
      const text = poll.replace('version=0', `version=${version}`);
      const waiting = await Promise.all(Array.from({ length: 60 }, () => sendRaw(gateway.url, text)));
      // Those that may not wait are answered at once.
      while (waiting.filter((poll) => poll.text() !== '').length < 50) await pause(20);
      assert.deepEqual(await probe(gateway.url, 5), [200]);
      assert.equal(waiting.filter((poll) => poll.text() === '').length, 10, 'a quarter of the places may wait');
      hangUp(waiting);
    } finally {
      await gateway.close();
    }
  });
});
