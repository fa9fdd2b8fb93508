// Safe outgoing HTTP, for callbacks and for rails. A URL that somebody else chose may only lead to public
// addresses, and that is checked three times: on the URL, on every address its name resolves to, and on the
// connected socket before its first byte. Answers are cut in time and in size, and every fault is a sentence.

import { lookup, Resolver } from 'node:dns/promises';
import { isIP, connect as openTcp, type Socket, type TcpNetConnectOpts } from 'node:net';
import { createSecureContext, rootCertificates, connect as startTls, type TLSSocket } from 'node:tls';
import { type buildConnector, type Dispatcher, Pool } from 'undici';
import { createRangeSet, isAlwaysForbidden, isLoopback, isPublicAddress } from './addresses.ts';
import {
  certificateReason,
  describeOutboundError,
  errorCode,
  forbiddenAddress,
  LOST,
  OutboundError,
  type OutboundErrorDetails,
  timeoutReason,
} from './outbound-errors.ts';

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_ANSWER_BYTES = 16_384;
const MAX_URL_LENGTH = 2_048;
const MAX_ANSWER_HEADER_BYTES = 16_384;
const CONNECTIONS_PER_RECEIVER = 16;
/** A vetted answer of the DNS is used this long, and an idle connection lives no longer. */
const VETTED_FOR_MS = 5_000;
const IDLE_CONNECTION_MS = 4_000;
const RESOLVE_TRY_MS = 2_000;
const RESOLVE_TRIES = 2;
const MAX_RESOLVED_ADDRESSES = 32;
const ALWAYS_ALLOWED_PORTS = [443, 8443];
const METADATA_NAMES = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal']);

export type OutboundOptions = {
  mode: 'sandbox' | 'live';
  /** Ports besides 443 and 8443, in live mode. */
  allowedPorts?: readonly (string | number)[];
  /** Ranges of the own network that may be reached although they are not public. */
  allowedRanges?: readonly string[];
  /** Our own public origin: in live mode nothing is sent to it, or callbacks could run in a circle. */
  ownOrigin?: string;
  /** Certificates to trust besides the well-known authorities. */
  trustedCertificates?: readonly string[];
  connectionsPerReceiver?: number;
  /** How long a vetted answer of the DNS is used. */
  vettedForMs?: number;
  /** All addresses of a name. Replaced in tests. */
  resolve?: (hostname: string) => Promise<string[]>;
  /** Opens the TCP connection. Replaced in tests, to show that the connected peer is what counts. */
  openSocket?: (options: TcpNetConnectOpts) => Socket;
};

export type OutboundRequest = {
  url: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  body?: Buffer | string;
  /** In total: name, connection, TLS, answer to its last byte. */
  timeoutMs?: number;
  maxAnswerBytes?: number;
};

export type OutboundAnswer = {
  error: null;
  status: number;
  headers: Record<string, string>;
  /** The first bytes, as they came: never decompressed. */
  bodyStart: Buffer;
  /** The answer was longer than we read; the connection was cut there. */
  truncated: boolean;
  latencyMs: number;
};
export type OutboundFailure = { error: OutboundErrorDetails; words: string; latencyMs: number };
export type OutboundResult = OutboundAnswer | OutboundFailure;

export interface Outbound {
  /** Why this URL may not be called, as a sentence, or null. Names are not resolved here: that happens at each connection. */
  checkUrl(url: string): string | null;
  /** Sends one request. Never throws: what went wrong is part of the result. */
  request(request: OutboundRequest): Promise<OutboundResult>;
  /** Open receivers, for tests and metrics. */
  readonly poolCount: () => number;
  close(): Promise<void>;
}

type Target = { url: URL; hostname: string; refusal: null } | { refusal: string };
type Route = { pool: Pool; key: string; vettedUntil: number };

export function createOutbound(options: OutboundOptions): Outbound {
  const allowedRanges = createRangeSet(options.allowedRanges ?? []);
  const allowedPorts = new Set([...ALWAYS_ALLOWED_PORTS, ...(options.allowedPorts ?? []).map(Number)]);
  const live = options.mode === 'live';
  const ownHost = options.ownOrigin ? plainHost(new URL(options.ownOrigin)) : null;
  const resolveName = options.resolve ?? (live ? resolveByDns : resolveBySystem);
  const openSocket = options.openSocket ?? openTcp;
  const secureContext = createSecureContext(
    options.trustedCertificates ? { ca: [...rootCertificates, ...options.trustedCertificates] } : {},
  );
  const routes = new Map<string, Route>();
  const vetting = new Map<string, Promise<Route>>();
  let sweeper: NodeJS.Timeout | undefined;
  let closed = false;

  function mayReach(address: string): boolean {
    if (isAlwaysForbidden(address)) return false;
    return isPublicAddress(address) || allowedRanges.has(address) || (!live && isLoopback(address));
  }

  function readTarget(text: string): Target {
    if (text.length > MAX_URL_LENGTH) return { refusal: `The address is longer than ${MAX_URL_LENGTH} characters.` };
    const url = URL.parse(text);
    if (url === null) return { refusal: 'This is not a complete address; it must look like https://example.com/path.' };
    const hostname = plainHost(url);
    const refusal = refuseShape(url, live) ?? refuseHost(hostname);
    return refusal === null ? { url, hostname, refusal } : { refusal };
  }

  function refuseHost(hostname: string): string | null {
    if (isIP(hostname) !== 0) return mayReach(hostname) ? null : forbiddenAddress(hostname, hostname);
    if (METADATA_NAMES.has(hostname)) return 'This name belongs to the machine itself and is never called.';
    if (!live) return null;
    if (hostname === 'localhost' || hostname.endsWith('.localhost'))
      return 'This is the machine itself; in live mode only public addresses are called.';
    if (hostname === ownHost)
      return 'This is the address of this service itself; callbacks to it would run in a circle.';
    if (hostname.split('.').some((label) => label.startsWith('xn--')))
      return 'Write the host name in the letters a-z, digits and hyphens only.';
    return null;
  }

  function refuseShape(url: URL, isLive: boolean): string | null {
    if (url.protocol !== 'https:' && (isLive || url.protocol !== 'http:'))
      return isLive
        ? 'In live mode the address must begin with https://.'
        : 'The address must begin with http:// or https://.';
    if (url.username !== '' || url.password !== '') return 'The address must not contain a user name or a password.';
    if (url.hash !== '') return 'The address must not contain a fragment (#).';
    const port = portOf(url);
    if (isLive && !allowedPorts.has(port))
      return `Port ${port} is not allowed; use 443 or 8443 (whoever runs the gateway can allow more).`;
    return null;
  }

  /** The addresses of a name, all of them vetted: one that is not public refuses the whole name. */
  async function vet(hostname: string): Promise<string[]> {
    if (isIP(hostname) !== 0) return [hostname];
    const addresses = (await resolveName(hostname)).slice(0, MAX_RESOLVED_ADDRESSES);
    if (addresses.length === 0) throw new OutboundError('unknown_host', `The name ${hostname} has no address.`);
    const forbidden = addresses.find((address) => !mayReach(address));
    if (forbidden !== undefined) throw new OutboundError('refused_address', forbiddenAddress(forbidden, hostname));
    return addresses;
  }

  /** The pool of a receiver: one for each origin and vetted set of addresses, so a name that moves gets new connections. */
  function findRoute(target: { url: URL; hostname: string }): Route | Promise<Route> {
    const { origin } = target.url;
    const known = routes.get(origin);
    if (known && performance.now() < known.vettedUntil) return known;
    const underWay = vetting.get(origin);
    if (underWay) return underWay;
    const fresh = makeRoute(target).finally(() => vetting.delete(origin));
    vetting.set(origin, fresh);
    return fresh;
  }

  async function makeRoute({ url, hostname }: { url: URL; hostname: string }): Promise<Route> {
    const addresses = await vet(hostname);
    const key = addresses.toSorted().join(' ');
    const known = routes.get(url.origin);
    const vettedUntil = performance.now() + (options.vettedForMs ?? VETTED_FOR_MS);
    if (known?.key === key) {
      known.vettedUntil = vettedUntil;
      return known;
    }
    const pool = new Pool(url.origin, {
      connections: options.connectionsPerReceiver ?? CONNECTIONS_PER_RECEIVER,
      pipelining: 1,
      // The whole request has one deadline of its own, so undici's two timers stay off.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
      maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
      connect: (_, done) => openVetted(url, hostname, addresses, done),
    });
    const route = { pool, key, vettedUntil };
    routes.set(url.origin, route);
    if (known) closeQuietly(known.pool);
    sweeper ??= setInterval(sweepRoutes, VETTED_FOR_MS).unref();
    return route;
  }

  /** Forgets receivers that nobody called lately. */
  function sweepRoutes(): void {
    const now = performance.now();
    for (const [origin, route] of routes) {
      const { running, pending, queued } = route.pool.stats;
      if (now < route.vettedUntil || running + pending + queued > 0) continue;
      routes.delete(origin);
      closeQuietly(route.pool);
    }
  }

  function openVetted(url: URL, hostname: string, addresses: string[], done: buildConnector.Callback): void {
    const choices = addresses.map((address) => ({ address, family: isIP(address) }));
    const socket = openSocket({
      host: hostname,
      port: portOf(url),
      noDelay: true,
      keepAlive: true,
      autoSelectFamily: choices.length > 1,
      // The name was resolved and vetted above; it is not resolved a second time.
      lookup: (_, wish, answer) => {
        const first = choices[0] ?? { address: '', family: 4 };
        if (wish.all) answer(null, choices);
        else answer(null, first.address, first.family);
      },
    });
    const deadline = setTimeout(
      () => socket.destroy(new OutboundError('timeout', timeoutReason(DEFAULT_TIMEOUT_MS))),
      DEFAULT_TIMEOUT_MS,
    );
    let settled = false;
    const settle = (error: Error | null, ready: Socket | null) => {
      if (settled) return;
      settled = true;
      clearTimeout(deadline);
      if (error || !ready) {
        socket.destroy();
        done(error ?? new Error('no socket'), null);
      } else done(null, ready);
    };
    socket.on('error', (error) => settle(error, null));
    socket.once('close', () => settle(new OutboundError('connection_lost', LOST), null));
    socket.once('connect', () => {
      // The last gate: whatever the URL and the DNS said, this is where the bytes would go.
      const peer = socket.remoteAddress ?? '';
      if (!mayReach(peer)) return settle(new OutboundError('refused_address', forbiddenAddress(peer, hostname)), null);
      if (url.protocol === 'http:') return settle(null, socket);
      startEncryption(socket, hostname, settle);
    });
  }

  function startEncryption(
    socket: Socket,
    hostname: string,
    settle: (error: Error | null, ready: TLSSocket | null) => void,
  ): void {
    const encrypted = startTls({
      socket,
      host: hostname,
      servername: isIP(hostname) === 0 ? hostname : '',
      secureContext,
      ALPNProtocols: ['http/1.1'],
      // The verdict is read below instead, before any byte of ours: only then can the sentence name the date.
      rejectUnauthorized: false,
    });
    encrypted.on('error', (error) => settle(error, null));
    encrypted.once('secureConnect', () => {
      if (encrypted.authorized) return settle(null, encrypted);
      const words = certificateReason(encrypted, hostname);
      encrypted.destroy();
      settle(new OutboundError('certificate', words), null);
    });
  }

  async function request(wanted: OutboundRequest): Promise<OutboundResult> {
    const started = performance.now();
    const target = readTarget(wanted.url);
    if (target.refusal !== null) return failure(new OutboundError('refused_address', target.refusal), started);
    if (closed) return failure(new OutboundError('unreachable', 'The gateway is stopping.'), started);
    const timeoutMs = wanted.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    try {
      const found = findRoute(target);
      const route = found instanceof Promise ? await within(found, timeoutMs) : found;
      return await exchange(route.pool, target.url, wanted, started, timeoutMs - (performance.now() - started));
    } catch (error) {
      return failure(error, started);
    }
  }

  return {
    checkUrl: (url) => readTarget(url).refusal,
    request,
    poolCount: () => routes.size,
    async close() {
      closed = true;
      clearInterval(sweeper);
      const pools = [...routes.values()].map((route) => route.pool.destroy());
      routes.clear();
      await Promise.all(pools);
    },
  };
}

/**
 * One request on a pool, through undici's bare dispatch: no stream and no signal is made for it, because this is
 * the largest cost of a callback. The deadline covers everything, a dripping body too.
 */
function exchange(
  pool: Pool,
  url: URL,
  wanted: OutboundRequest,
  started: number,
  remainingMs: number,
): Promise<OutboundAnswer> {
  const maxBytes = wanted.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let status = 0;
    let headers: Record<string, string> = {};
    const chunks: Buffer[] = [];
    let bytes = 0;
    let over = false;
    const finish = (settle: () => void) => {
      if (over) return;
      over = true;
      clearTimeout(deadline);
      settle();
    };
    const deadline = setTimeout(
      () =>
        finish(() => {
          const error = new OutboundError('timeout', timeoutReason(wanted.timeoutMs ?? DEFAULT_TIMEOUT_MS, status));
          controller?.abort(error);
          reject(error);
        }),
      Math.max(remainingMs, 0),
    );
    const answer = (truncated: boolean) =>
      finish(() =>
        resolve({
          error: null,
          status,
          headers,
          bodyStart: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks),
          truncated,
          latencyMs: performance.now() - started,
        }),
      );
    pool.dispatch(
      {
        path: url.pathname + url.search,
        method: wanted.method,
        headers: wanted.headers ?? {},
        body: wanted.body ?? null,
      },
      {
        onRequestStart(begun) {
          controller = begun;
          // The deadline passed while the request waited for a connection: nothing of it is sent.
          if (over) begun.abort(new OutboundError('timeout', timeoutReason(DEFAULT_TIMEOUT_MS)));
        },
        onResponseStart(_, code, received) {
          status = code;
          headers = joinHeaders(received);
        },
        onResponseData(reading, chunk) {
          if (over) return;
          const room = maxBytes - bytes;
          chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
          bytes += chunk.length;
          if (bytes <= maxBytes) return;
          answer(true);
          reading.abort(new OutboundError('bad_answer', 'The answer was cut.'));
        },
        onResponseEnd: () => answer(false),
        onResponseError: (_, error) => finish(() => reject(error)),
      },
    );
  });
}

function joinHeaders(received: Record<string, string | string[] | undefined>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(received))
    headers[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
  return headers;
}

function within<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => reject(new OutboundError('timeout', timeoutReason(milliseconds))), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(deadline));
  });
}

/** Live mode asks the DNS itself: the system's resolver has four threads, and slow names would hold them all. */
async function resolveByDns(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_TRY_MS, tries: RESOLVE_TRIES });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  const missing = answers.every(
    (answer) => answer.status === 'rejected' && /ENOTFOUND|ENODATA/.test(String(errorCode(answer.reason))),
  );
  // A name that only this machine knows (its hosts file). The answer is vetted like any other.
  if (missing) return resolveBySystem(hostname);
  throw new OutboundError('unknown_host', `The name servers of ${hostname} did not answer.`);
}

async function resolveBySystem(hostname: string): Promise<string[]> {
  const entries = await lookup(hostname, { all: true });
  return entries.map((entry) => entry.address);
}

/** The host as checks see it: no brackets, no trailing dot. */
function plainHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

function closeQuietly(pool: Pool): void {
  pool.close().catch(() => undefined);
}

function failure(error: unknown, started: number): OutboundFailure {
  const [fault, words] = describeOutboundError(error);
  return { error: fault, words, latencyMs: performance.now() - started };
}
