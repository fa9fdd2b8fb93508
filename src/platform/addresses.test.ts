// IP ranges as settings and allow-lists name them. Which addresses are public is tested in outbound.test.ts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isAddressIn, isAddressOrRange, limitKey } from './addresses.ts';

describe('addresses and ranges', () => {
  test('only complete addresses and CIDR ranges are accepted', () => {
    for (const text of ['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32', '::ffff:10.0.0.1', '::/0'])
      assert.equal(isAddressOrRange(text), true, text);
    for (const text of [
      '',
      'localhost',
      '10.1',
      '010.0.0.1',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '::1/129',
      '10.0.0.0/8/8',
    ])
      assert.equal(isAddressOrRange(text), false, text);
    assert.equal(isAddressOrRange('fe80::1%eth0'), false);
  });

  test('an address matches an entry or a range of its own family', () => {
    const entries = ['203.0.113.0/24', '198.51.100.7', '2001:db8::/32'];
    for (const address of ['203.0.113.255', '198.51.100.7', '2001:db8::1', '::ffff:203.0.113.9'])
      assert.equal(isAddressIn(entries, address), true, address);
    for (const address of ['203.0.114.0', '198.51.100.8', '2001:db9::1', '::ffff:203.0.114.9', '::1', '', 'x'])
      assert.equal(isAddressIn(entries, address), false, address);
    assert.equal(isAddressIn(['::ffff:10.0.0.1'], '10.0.0.1'), true);
    assert.equal(isAddressIn(['10.1', 'nonsense'], '10.0.0.1'), false, 'what is not an address matches nothing');
  });
});

test('limits are counted by IPv4 address and by the /64 of an IPv6 address', () => {
  assert.equal(limitKey('203.0.113.7'), '203.0.113.7');
  assert.equal(limitKey('::ffff:203.0.113.7'), '203.0.113.7');
  assert.equal(limitKey('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  assert.equal(limitKey('2001:0DB8:0001:0002::9'), '2001:db8:1:2::/64');
  assert.equal(limitKey('2001:db8::1'), '2001:db8:0:0::/64');
  assert.equal(limitKey('fe80::1%eth0'), 'fe80:0:0:0::/64');
  assert.equal(limitKey('::1'), '0:0:0:0::/64');
  assert.notEqual(limitKey('2001:db8:1:2::1'), limitKey('2001:db8:1:3::1'));
  assert.equal(limitKey('not an address'), 'not an address');
});
