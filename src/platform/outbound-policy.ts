// Which receivers may be called. A URL that a holder chose may only lead to public addresses. The policy is applied three
// times: to the URL, to every address its name resolves to, and to the connected socket before its first byte.

import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { createRangeSet, isAlwaysForbidden, isLoopback, isPublicAddress } from './addresses.ts';
import { errorCode, forbiddenAddress, OutboundError } from './outbound-errors.ts';

const MAX_URL_LENGTH = 2_048;
const RESOLVE_TRY_MS = 2_000;
const RESOLVE_TRIES = 2;
const MAX_RESOLVED_ADDRESSES = 32;
const ALWAYS_ALLOWED_PORTS = [443, 8443];
const METADATA_NAMES = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal']);

export type OutboundPolicyOptions = {
  mode: 'sandbox' | 'live';
  /** Ports besides 443 and 8443, in live mode. */
  allowedPorts?: readonly (string | number)[];
  /** Ranges of the private network that may be called although they are not public. */
  allowedRanges?: readonly string[];
  /** Our own public origin: in live mode it is never called, because callbacks could loop. */
  ownOrigin?: string;
  /** All addresses of a name. Replaced in tests. */
  resolve?: (hostname: string) => Promise<string[]>;
};

/** A URL that may be called, so far as its text shows. */
export type OutboundTarget = { url: URL; hostname: string; port: number };

export interface OutboundPolicy {
  /** The target of a URL, or the reason why it may not be called. */
  readUrl(text: string): OutboundTarget | { refusal: string };
  /** The addresses of a target. One address that may not be called refuses the whole name. */
  resolve(target: OutboundTarget): Promise<string[]>;
  /** Whether a connection to this address may be used. */
  mayReach(address: string): boolean;
}

export function createOutboundPolicy(options: OutboundPolicyOptions): OutboundPolicy {
  const isLive = options.mode === 'live';
  const allowedRanges = createRangeSet(options.allowedRanges ?? []);
  const allowedPorts = new Set([...ALWAYS_ALLOWED_PORTS, ...(options.allowedPorts ?? []).map(Number)]);
  const ownHost = options.ownOrigin ? hostOf(new URL(options.ownOrigin)) : null;
  const resolveName = options.resolve ?? (isLive ? resolveByDns : resolveBySystem);

  function mayReach(address: string): boolean {
    if (isAlwaysForbidden(address)) return false;
    return isPublicAddress(address) || allowedRanges.has(address) || (!isLive && isLoopback(address));
  }

  function refuseUrl(url: URL): string | null {
    if (isLive && url.protocol !== 'https:') return 'In live mode the address must begin with https://.';
    if (!/^https?:$/.test(url.protocol)) return 'The address must begin with http:// or https://.';
    if (url.username !== '' || url.password !== '') return 'The address must not contain a user name or a password.';
    if (url.hash !== '') return 'The address must not contain a fragment (#).';
    const port = portOf(url);
    if (isLive && !allowedPorts.has(port))
      return `Port ${port} is not allowed; use 443 or 8443 (an administrator can allow more in CALLBACK_ALLOWED_PORTS).`;
    return null;
  }

  function refuseHost(hostname: string): string | null {
    if (isIP(hostname) !== 0) return mayReach(hostname) ? null : forbiddenAddress(hostname, hostname);
    if (METADATA_NAMES.has(hostname)) return 'This name belongs to the machine itself and is never called.';
    if (!isLive) return null;
    if (hostname === 'localhost' || hostname.endsWith('.localhost'))
      return 'This is the machine itself; in live mode only public addresses are called.';
    if (hostname === ownHost) return 'This is the address of this service itself; callbacks to it could loop.';
    if (hostname.split('.').some((label) => label.startsWith('xn--')))
      return 'Write the host name in the letters a-z, digits and hyphens only.';
    return null;
  }

  return {
    mayReach,
    readUrl(text) {
      if (text.length > MAX_URL_LENGTH) return { refusal: `The address is longer than ${MAX_URL_LENGTH} characters.` };
      const url = URL.parse(text);
      if (url === null)
        return { refusal: 'This is not a complete address; it must look like https://example.com/path.' };
      const hostname = hostOf(url);
      const refusal = refuseUrl(url) ?? refuseHost(hostname);
      return refusal === null ? { url, hostname, port: portOf(url) } : { refusal };
    },
    async resolve({ hostname }) {
      if (isIP(hostname) !== 0) return [hostname];
      const addresses = (await resolveName(hostname)).slice(0, MAX_RESOLVED_ADDRESSES);
      if (addresses.length === 0) throw new OutboundError('unknown_host', `The name ${hostname} has no address.`);
      const forbidden = addresses.find((address) => !mayReach(address));
      if (forbidden !== undefined) throw new OutboundError('refused_address', forbiddenAddress(forbidden, hostname));
      return addresses;
    },
  };
}

/** Live mode asks the DNS itself: the system's resolver has four threads, and slow names would block them all. */
async function resolveByDns(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_TRY_MS, tries: RESOLVE_TRIES });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const missing = answers.every(
    (answer) => answer.status === 'rejected' && /ENOTFOUND|ENODATA/.test(errorCode(answer.reason)),
  );
  // Perhaps a name that only this machine knows (its hosts file). The policy applies to the answer as to any other.
  if (missing) return resolveBySystem(hostname);
  throw new OutboundError('unknown_host', `The name servers of ${hostname} did not answer.`);
}

async function resolveBySystem(hostname: string): Promise<string[]> {
  const entries = await lookup(hostname, { all: true });
  return entries.map((entry) => entry.address);
}

/** The host without brackets and without a trailing dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}
