// IP addresses and ranges: matching them, and which of them the gateway may call on behalf of a holder's URL. The rules are
// ranges, as data: IPv4 is public unless a range below says otherwise, IPv6 only inside 2000::/3, so every
// wrapped form of an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) falls outside by itself.

import { BlockList, isIP, isIPv4 } from 'node:net';

const NOT_PUBLIC_V4 = [
  '0.0.0.0/8', // "this network"; Linux connects 0.0.0.0 to loopback
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // multicast tunnelling
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
];
const GLOBAL_V6 = ['2000::/3'];
const NOT_PUBLIC_V6 = [
  '2001::/23', // Teredo, benchmarks, ORCHID and other protocol assignments
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: wraps an IPv4 address
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
];
/** Where clouds keep credentials. No setting opens these, and one of them (Azure's) is otherwise public. */
const ALWAYS_FORBIDDEN = [
  '169.254.0.0/16',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  '64:ff9b::a9fe:0/112',
  '64:ff9b::6464:64c8/128',
  '64:ff9b::a83f:8110/128',
  '2002:a9fe::/32',
];

const notPublic = createRangeSet([...NOT_PUBLIC_V4, ...NOT_PUBLIC_V6]);
const globalV6 = createRangeSet(GLOBAL_V6);
const alwaysForbidden = createRangeSet(ALWAYS_FORBIDDEN);
const loopback = createRangeSet(['127.0.0.0/8', '::1/128']);

export interface RangeSet {
  has(address: string): boolean;
}

/** Whether a text is an IP address or a CIDR range such as 203.0.113.0/24. */
export function isAddressOrRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = address.includes('%') ? 0 : isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

/** Whether an address is one of the entries or inside one of the ranges. */
export function isAddressIn(entries: readonly string[], address: string): boolean {
  return createRangeSet(entries.filter(isAddressOrRange)).has(address);
}

/** A set of addresses and CIDR ranges. An IPv4 address and its form inside IPv6 (::ffff:…) are the same address. */
export function createRangeSet(ranges: readonly string[]): RangeSet {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    list.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  return {
    has(address) {
      const version = isIP(address);
      return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6');
    },
  };
}

/** True for a public unicast address, in its plain form only. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0 || notPublic.has(address) || alwaysForbidden.has(address)) return false;
  return version === 4 || globalV6.has(address);
}

export function isLoopback(address: string): boolean {
  return loopback.has(address);
}

/** Link-local and cloud metadata: refused in every mode, whatever an allow-list says. */
export function isAlwaysForbidden(address: string): boolean {
  return alwaysForbidden.has(address);
}

/**
 * The part of an address that limits are counted by: an IPv4 address itself, the /64 of an IPv6 address, because one
 * customer is usually given a whole /64. Text that is no address is returned as it is.
 */
export function limitKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  // WHATWG URL writes an IPv6 address in one form, whatever form it came in; a zone (%eth0) is not part of it.
  const plain = new URL(`http://[${address.split('%')[0] ?? address}]`).hostname.slice(1, -1);
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    groups.push(...Array<string>(8 - groups.length - after.length).fill('0'), ...after);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
