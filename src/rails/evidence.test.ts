import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { plainRail } from '../../test/plain-rail.ts';
import { testConnection } from '../../test/rail-connection.ts';
import { createCallbackAddresses } from './callback-addresses.ts';
import type { RailSetting } from './connection.ts';
import { createScrub, evidenceOf, openExchange } from './evidence.ts';
import { MAX_RAW_CHARACTERS } from './rail.ts';

const settings: RailSetting[] = [
  { name: 'key', label: 'Key', help: '', kind: 'text' },
  { name: 'secret', label: 'Secret', help: '', kind: 'secret' },
  { name: 'certificate', label: 'Certificate', help: '', kind: 'pem', sealed: true },
];
const scrub = createScrub(
  { settings },
  { settings: { key: 'public-key', secret: 'p@ss word!', certificate: 'PRIVATE-LINES' } },
);

test('sealed settings are hidden in every form in which an operator could send them back', () => {
  const base64 = Buffer.from('p@ss word!').toString('base64');
  const text = `p@ss word! ${base64} ${encodeURIComponent('p@ss word!')} PRIVATE-LINES public-key`;
  assert.equal(scrub(text), '[hidden] [hidden] [hidden] [hidden] public-key');
});

test('a secret is hidden in the forms and the JSON that we send, whatever its characters', () => {
  for (const secret of ["it's~(mine)!", 'two words', 'quote"back\\slash'])
    for (const body of [new URLSearchParams({ code: secret }).toString(), JSON.stringify({ code: secret })]) {
      const kept = createScrub({ settings }, { settings: { secret } })(body);
      assert.match(kept, /^(code=\[hidden\]|\{"code":"\[hidden\]"\})$/);
    }
});

test('the token of an address for callbacks is hidden', () => {
  const addresses = createCallbackAddresses({
    connection: 'daraja',
    publicUrl: 'https://pay.example.com',
    keys: () => [Buffer.alloc(32)],
  });
  const body = JSON.stringify({
    CallBackURL: addresses.url('prompt', 'TX_1'),
    ResultURL: addresses.url('result', null),
  });
  const start = 'https://pay.example.com/operators/daraja';
  assert.deepEqual(JSON.parse(scrub(body)), {
    CallBackURL: `${start}/prompt/TX_1/[hidden]`,
    ResultURL: `${start}/result/-/[hidden]`,
  });
});

test('of two secrets of which one begins with the other, nothing is left', () => {
  const both = createScrub({ settings }, { settings: { secret: 'abcdef', certificate: 'abcdef-and-more' } });
  assert.equal(both('abcdef-and-more abcdef'), '[hidden] [hidden]');
});

test('fields that carry credentials are hidden whatever they hold', () => {
  const sent = {
    access_token: 'abc',
    SecurityCredential: 'x"y\\z',
    pin: 1234,
    InitiatorPassword: 'q',
    customerSecret: 's',
    Amount: 10,
    tokens: 'kept',
  };
  const kept = JSON.parse(scrub(JSON.stringify(sent))) as Record<string, unknown>;
  assert.deepEqual(kept, {
    access_token: '[hidden]',
    SecurityCredential: '[hidden]',
    pin: '[hidden]',
    InitiatorPassword: '[hidden]',
    customerSecret: '[hidden]',
    Amount: 10,
    tokens: 'kept',
  });
});

test('a secret at the cut is hidden whole, and what is left can be stored', () => {
  const text = `${'x'.repeat(MAX_RAW_CHARACTERS - 4)}p@ss word!\u0000\ud800`;
  const kept = evidenceOf(scrub, text);
  assert.equal(kept.length, MAX_RAW_CHARACTERS);
  assert.ok(!kept.includes('p@ss'));
  assert.equal(evidenceOf(scrub, 'a\u0000b\ud800'), 'ab\ufffd');
});

test('the answer that brings an access token is hidden as a whole, whatever its fields are called', async (t) => {
  const operator = createServer((_, response) => response.end('{"renamed_access_token":"live-token"}'));
  t.after(() => operator.close());
  await new Promise<void>((listening) => operator.listen(0, '127.0.0.1', listening));
  const { port } = operator.address() as AddressInfo;
  const connection = testConnection(plainRail, `http://127.0.0.1:${port}`);
  const exchange = openExchange(connection, createScrub(plainRail, connection));
  for (const path of ['/oauth/v1/generate?grant_type=client_credentials', '/collection/token/', '/auth/oauth2/token'])
    await exchange.exchange({ method: 'POST', path });
  await exchange.close();
  assert.deepEqual(
    connection.calls.map(({ answer }) => answer),
    ['[hidden]', '[hidden]', '[hidden]'],
  );
});
