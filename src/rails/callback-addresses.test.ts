import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallbackAddresses } from './callback-addresses.ts';

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const open = (keys: readonly [Buffer, ...Buffer[]], connection = 'daraja') =>
  createCallbackAddresses({ connection, publicUrl: 'https://pay.example.com', keys: () => keys });
const pathOf = (url: string) => new URL(url).pathname;

test('an address leads back to its topic and reference, also after the key changed', () => {
  const path = pathOf(open([OLD]).url('stk', 'TX_01J00000000000000000000000'));
  assert.deepEqual(open([NEW, OLD]).read(path), { topic: 'stk', reference: 'TX_01J00000000000000000000000' });
  assert.equal(open([NEW]).read(path), null);
});

test('an address of the whole connection has no reference', () => {
  const addresses = open([OLD]);
  assert.deepEqual(addresses.read(`${pathOf(addresses.url('confirmation', null))}?x=1`), {
    topic: 'confirmation',
    reference: null,
  });
});

test('nobody makes an address from another one', () => {
  const addresses = open([OLD]);
  const path = pathOf(addresses.url('stk', 'TX_01J00000000000000000000000'));
  for (const forged of [
    path.replace('/stk/', '/result/'),
    path.replace('TX_01J0', 'TX_01J1'),
    path.slice(0, -1),
    path.slice(0, path.lastIndexOf('/')),
    path.replace('/daraja/', '/other/'),
    '/operators/daraja',
  ])
    assert.equal(addresses.read(forged), null, forged);
  assert.equal(open([OLD], 'other').read(path), null);
});
