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
const NOT_OPEN =
  'Receivers on the machine of the gateway are only called while it listens on loopback and nobody can sign up.';
const METADATA_NAMES = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal']);

export type OutboundPolicyOptions = {
  mode: 'sandbox' | 'live';
  /** Ports besides 443 and 8443, in live mode. */
  allowedPorts?: readonly (string | number)[];
  /** Ranges of the private network that may be called although they are not public. */
  allowedRanges?: readonly string[];
  /** Sandbox mode: what may be called on this machine. Left out: everything. */
  thisMachine?: ThisMachine;
  /** Our own public origin: in live mode it is never called, because callbacks could loop. */
  ownOrigin?: string;
  /** All addresses of a name. Replaced in tests. */
  resolve?: (hostname: string) => Promise<string[]>;
};

export type ThisMachine = {
  /** Whether receivers on this machine may be called at all: only where everybody who can set a URL is at this machine. */
  isOpen: boolean;
  /** Ports of the gateway, its database and its simulated operator: never called. */
  ownPorts: readonly number[];
  /** The built-in receiver is the exception. Its URL names the gateway's port; `listensOn` is where it is connected to. */
  receiver: { port: number; path: string; listensOn?: number };
};

/** A URL that may be called, so far as its text shows. */
export type OutboundTarget = { url: URL; hostname: string; port: number };

export interface OutboundPolicy {
  /** The target of a URL, or the reason why it may not be called. */
  readUrl(text: string): OutboundTarget | { refusal: string };
  /** The addresses of a target. One address that may not be called refuses the whole name. */
  resolve(target: OutboundTarget): Promise<string[]>;
  /** The port that a connection for this target goes to. */
  portFor(target: OutboundTarget): number;
  /** Whether a connection to this address may be used for this target. */
  mayReach(address: string, target?: OutboundTarget): boolean;
}

export function createOutboundPolicy(options: OutboundPolicyOptions): OutboundPolicy {
  const isLive = options.mode === 'live';
  const allowedRanges = createRangeSet(options.allowedRanges ?? []);
  const allowedPorts = new Set([...ALWAYS_ALLOWED_PORTS, ...(options.allowedPorts ?? []).map(Number)]);
  const ownHost = options.ownOrigin ? hostOf(new URL(options.ownOrigin)) : null;
  const resolveName = options.resolve ?? (isLive ? resolveByDns : resolveBySystem);

  function mayReach(address: string, target?: OutboundTarget): boolean {
    if (isAlwaysForbidden(address)) return false;
    if (!isLive && isLoopback(address))
      return !target || refuseThisMachine(target, allowedRanges.has(address)) === null;
    return isPublicAddress(address) || allowedRanges.has(address);
  }

  /** Why a target on this machine may not be called, in sandbox mode. */
  function refuseThisMachine(target: OutboundTarget, isAllowed: boolean): string | null {
    if (!options.thisMachine) return null;
    const { isOpen, ownPorts } = options.thisMachine;
    if (isReceiver(options, target)) return null;
    if (ownPorts.includes(target.port))
      return `Port ${target.port} of this machine belongs to the gateway itself and is never called.`;
    return isOpen || isAllowed ? null : NOT_OPEN;
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

  function refuseHost(target: OutboundTarget): string | null {
    const { hostname } = target;
    if (!isLive && isThisMachine(hostname)) {
      const isAllowed = isIP(hostname) !== 0 && allowedRanges.has(hostname);
      return refuseThisMachine(target, isAllowed);
    }
    if (isIP(hostname) !== 0) return mayReach(hostname) ? null : forbiddenAddress(hostname, hostname);
    if (METADATA_NAMES.has(hostname)) return 'This name belongs to the machine itself and is never called.';
    if (!isLive) return null;
    if (isThisMachine(hostname)) return 'This is the machine itself; in live mode only public addresses are called.';
    if (hostname === ownHost) return 'This is the address of this service itself; callbacks to it could loop.';
    if (hostname.split('.').some((label) => label.startsWith('xn--')))
      return 'Write the host name in the letters a-z, digits and hyphens only.';
    return null;
  }

  return {
    mayReach,
    portFor: (target) =>
      (isReceiver(options, target) ? options.thisMachine?.receiver.listensOn : undefined) ?? target.port,
    readUrl(text) {
      if (text.length > MAX_URL_LENGTH) return { refusal: `The address is longer than ${MAX_URL_LENGTH} characters.` };
      const url = URL.parse(text);
      if (url === null)
        return { refusal: 'This is not a complete address; it must look like https://example.com/path.' };
      const target = { url, hostname: hostOf(url), port: portOf(url) };
      const refusal = refuseUrl(url) ?? refuseHost(target);
      return refusal === null ? target : { refusal };
    },
    async resolve(target) {
      const { hostname } = target;
      if (isIP(hostname) !== 0) return [hostname];
      const addresses = (await resolveName(hostname)).slice(0, MAX_RESOLVED_ADDRESSES);
      if (addresses.length === 0) throw new OutboundError('unknown_host', `The name ${hostname} has no address.`);
      const forbidden = addresses.find((address) => !mayReach(address, target));
      if (forbidden !== undefined) throw new OutboundError('refused_address', forbiddenAddress(forbidden, hostname));
      return addresses;
    },
  };
}

/** Only under its plain names, which `readUrl` checks for every request: a connection is shared by all paths of a name. */
function isReceiver({ mode, thisMachine }: OutboundPolicyOptions, { url, hostname, port }: OutboundTarget): boolean {
  if (mode === 'live' || !thisMachine || !isThisMachine(hostname)) return false;
  return port === thisMachine.receiver.port && url.pathname === thisMachine.receiver.path;
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

/** An address or a name that always means this machine. */
function isThisMachine(hostname: string): boolean {
  return isLoopback(hostname) || hostname === 'localhost' || hostname.endsWith('.localhost');
}

/** The host without brackets and without a trailing dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}
