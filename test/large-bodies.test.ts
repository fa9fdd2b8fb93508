// Large bodies of strangers are refused before they cost anything; those of members and integrations still pass.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import sharp from 'sharp';
import { signatureOf } from '../src/holders/envelope.ts';
import type { JsonObject } from '../src/platform/strict-json.ts';
import { parseStrictJson } from '../src/platform/strict-json.ts';
import { type Client, createClient, PATHS } from './client.ts';
import { addPerson, type Person } from './console-harness.ts';
import { createTestGateway, type TestGateway } from './gateway.ts';
import { askRaw, sendRaw, statusOf } from './strangers.ts';

const FORM = 'Host: x\r\nContent-Type: application/x-www-form-urlencoded';
const CREATE = `POST ${PATHS.createLink} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json`;
const MEGABYTES_3 = 2_900_000;
const LINK = { currency: 'UGX', country_id: 11, amount: '25000', business_name: 'Café', item_name: 'Lunch' };

let gateway: TestGateway;
let client: Client;
let owner: Person;
before(async () => {
  gateway = await createTestGateway();
  client = await createClient(gateway);
  owner = await addPerson(gateway, client.shop.holderId, 'owner');
});
after(() => gateway.close());

describe('forms', () => {
  const post = (path: string, body: string) => askRaw(gateway.url, `POST ${path} HTTP/1.1\r\n${FORM}`, body);

  test('security S7: pages for anybody take forms of 8 kB', async () => {
    for (const path of ['/console/sign-in', '/console/sign-in/code', '/console/team/invite'])
      for (const character of ['&', '='])
        assert.equal(statusOf(await post(path, character.repeat(2_000_000))), 413, `${path} ${character}`);
  });

  test('security S7: pages that take files send a visitor without a session away before the form has arrived', async () => {
    for (const path of ['/console/links', '/console/payouts/check', '/console/payouts/import', '/console/debugger']) {
      const head = `POST ${path} HTTP/1.1\r\n${FORM}\r\nContent-Length: 2000000\r\n\r\n`;
      const { socket, text } = await sendRaw(gateway.url, head + '&'.repeat(100));
      await new Promise((resolve) => socket.once('data', resolve));
      assert.equal(statusOf(text()), 303, path);
      assert.match(text(), /location: \/console\/sign-in/i);
      socket.destroy();
    }
  });

  test('security S7: fields are counted before they are decoded', async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, index) => `f${index}=%41`).join('&');
    assert.equal(statusOf(await post('/console/sign-in', fields(41))), 400);
    assert.equal(statusOf(await post('/console/sign-in', `${fields(10)}&`.repeat(60).slice(0, 8_000))), 400);
    // Enough fields for the form to be read; it is refused for what it lacks.
    assert.equal(statusOf(await post('/console/sign-in', fields(40))), 403);
  });

  test('a member still uploads a picture of 400 kB', async () => {
    const noise = { width: 380, height: 380, channels: 3 } as const;
    const png = await sharp(randomBytes(380 * 380 * 3), { raw: noise })
      .png()
      .toBuffer();
    assert.ok(png.length > 400_000);
    const logo = `data:image/png;base64,${png.toString('base64')}`;
    const answer = await owner.post('/console/links', { item_name: 'Lunch', country_id: '1', amount: '100', logo });
    assert.equal(answer.status, 303, /class="field-error">[^<]*/.exec(answer.text)?.[0]);
  });
});

describe('payment link with a logo', () => {
  const body = (clientId: string, logo: string, end = '"}}') =>
    `{"client_id":"${clientId}","sender":"x","timestamp":1,"salt":"x","signature":"x","params":{"logo":"${logo}${end}`;

  test('security S7: three megabytes of an unknown client are refused when the first 64 kB have arrived', async () => {
    const bytes = body('client_unknown', '😀'.repeat(20_000));
    const { socket, text } = await sendRaw(gateway.url, `${CREATE}\r\nContent-Length: ${MEGABYTES_3}\r\n\r\n${bytes}`);
    await new Promise((resolve) => socket.once('data', resolve));
    assert.equal(statusOf(text()), 403);
    assert.match(text(), /"code":"integration_not_found"/);
    socket.destroy();
  });

  test('security S7: without a client at either end nothing is parsed: what is no JSON is not even noticed', async () => {
    for (const logo of ['😀'.repeat(MEGABYTES_3 / 4), '\\u0041'.repeat(MEGABYTES_3 / 6)])
      for (const bytes of [body('client_unknown', logo, ''), `{"logo":"${logo}`]) {
        const answer = await askRaw(gateway.url, CREATE, bytes, '127.0.0.3');
        // The gateway may end the connection while the rest is still being sent.
        assert.ok([403, 0].includes(statusOf(answer)), answer.slice(0, 300));
      }
    const small = await askRaw(gateway.url, CREATE, body('client_unknown', 'x', ''), '127.0.0.3');
    assert.match(small, /"code":"invalid_json"/, 'a small body is parsed first, as everywhere');
  });

  test('security S7: an address with many wrong signatures over large bodies may send no more of them', async () => {
    const { clientId } = client.shop;
    const statuses: number[] = [];
    for (let count = 0; count < 12; count++)
      statuses.push(statusOf(await askRaw(gateway.url, CREATE, body(clientId, 'A'.repeat(70_000)), '127.0.0.4')));
    assert.deepEqual(statuses, [...Array<number>(10).fill(403), 429, 429]);
    const small = await askRaw(gateway.url, CREATE, body(clientId, 'A'), '127.0.0.4');
    assert.equal(statusOf(small), 403, 'small bodies are heard');
    const other = await askRaw(gateway.url, CREATE, body(clientId, 'A'.repeat(70_000)), '127.0.0.5');
    assert.equal(statusOf(other), 403, 'and other addresses');
  });

  test('a signed picture passes whatever the order of the members', async () => {
    const noise = { width: 600, height: 600, channels: 3 } as const;
    const logo = (
      await sharp(randomBytes(600 * 600 * 3), { raw: noise })
        .png()
        .toBuffer()
    ).toString('base64');
    const { params, signature: _, ...rest } = client.envelope({ ...LINK, logo });
    for (const salt of ['first', 'last']) {
      const unsigned = { ...rest, salt, params } as JsonObject;
      const signature = signatureOf(client.shop.secretKey, unsigned);
      const ordered = salt === 'first' ? { ...rest, salt, signature, params } : { params, ...rest, salt, signature };
      const answer = await askRaw(gateway.url, CREATE, JSON.stringify(ordered), '127.0.0.6');
      assert.equal(statusOf(answer), 200, answer.slice(0, 500));
    }
  });
});

/** CPU time of the work, the least of five. */
function cost(work: () => unknown): number {
  const runs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.max(1, Math.min(...runs));
}

test('security S7: emoji and escapes cost a few times what plain letters cost', () => {
  const parse = (text: string) => () => parseStrictJson(Buffer.from(`{"a":"${text}"}`));
  const plain = cost(parse('A'.repeat(MEGABYTES_3)));
  const ratios = {
    emoji: cost(parse('😀'.repeat(MEGABYTES_3 / 4))) / plain,
    escapes: cost(parse('\\u0041'.repeat(MEGABYTES_3 / 6))) / plain,
  };
  assert.ok(ratios.emoji < 12, `emoji: ${ratios.emoji} times`);
  assert.ok(ratios.escapes < 12, `escapes: ${ratios.escapes} times`);
});
