// Outgoing HTTP to URLs that somebody else chose (callbacks). What may be called is decided in outbound-policy.ts; here a
// receiver gets a pool of connections, and every answer or error becomes a value.

import { createSecureContext, rootCertificates } from 'node:tls';
import { ExchangeTimeoutError, exchangeBounded } from './bounded-exchange.ts';
import { type ConnectOptions, connectReceiver } from './outbound-connect.ts';
import { describeOutboundError, OutboundError, type OutboundErrorKind, timeoutReason } from './outbound-errors.ts';
import {
  createOutboundPolicy,
  type OutboundPolicy,
  type OutboundPolicyOptions,
  type OutboundTarget,
} from './outbound-policy.ts';
import { Pool } from './pool.ts';

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_ANSWER_BYTES = 16_384;
const MAX_ANSWER_HEADER_BYTES = 16_384;
/** As many as callbacks of all holders together may use (callbacks/queue.ts), so that none waits here for another. */
const CONNECTIONS_PER_RECEIVER = 64;
/** The addresses of a name are used this long, and an idle connection lives no longer. */
const RESOLVED_FOR_MS = 5_000;
const IDLE_CONNECTION_MS = 4_000;

export type OutboundOptions = OutboundPolicyOptions & {
  /** Certificates to trust besides the well-known authorities. */
  trustedCertificates?: readonly string[];
  connectionsPerReceiver?: number;
  /** How long the addresses of a name are used. */
  resolvedForMs?: number;
  openSocket?: ConnectOptions['openSocket'];
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
  /** The first bytes, as received: never decompressed. */
  bodyStart: Buffer;
  /** The answer was longer than we read; the connection was closed there. */
  truncated: boolean;
  latencyMs: number;
};
export type OutboundFailure = { error: OutboundErrorKind; reason: string; latencyMs: number };
export type OutboundResult = OutboundAnswer | OutboundFailure;

export interface Outbound {
  /** Why this URL may not be called, as a sentence, or null. Names are resolved later, at each connection. */
  checkUrl(url: string): string | null;
  /** Sends one request. Never throws: what went wrong is part of the result. */
  request(request: OutboundRequest): Promise<OutboundResult>;
  /** Open receivers, for tests and metrics. */
  readonly poolCount: () => number;
  close(): Promise<void>;
}

export function createOutbound(options: OutboundOptions): Outbound {
  const policy = createOutboundPolicy(options);
  const receivers = createReceivers(options, policy);

  return {
    checkUrl(url) {
      const target = policy.readUrl(url);
      return 'refusal' in target ? target.refusal : null;
    },
    async request(request) {
      const started = performance.now();
      try {
        const target = policy.readUrl(request.url);
        if ('refusal' in target) throw new OutboundError('refused_address', target.refusal);
        return await send(receivers, target, request, started);
      } catch (error) {
        const [kind, reason] = describeOutboundError(error);
        return { error: kind, reason, latencyMs: performance.now() - started };
      }
    },
    poolCount: () => receivers.count(),
    close: () => receivers.close(),
  };
}

async function send(
  receivers: Receivers,
  { url, ...target }: OutboundTarget,
  request: OutboundRequest,
  started: number,
): Promise<OutboundAnswer> {
  const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  try {
    const found = receivers.find({ url, ...target });
    const receiver = found instanceof Promise ? await within(found, timeoutMs) : found;
    const answer = await exchangeBounded(
      receiver.pool,
      {
        path: url.pathname + url.search,
        method: request.method,
        headers: request.headers ?? {},
        body: request.body ?? null,
      },
      {
        timeoutMs: timeoutMs - (performance.now() - started),
        maxAnswerBytes: request.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
      },
    );
    return {
      error: null,
      status: answer.status,
      headers: joinHeaders(answer.headers),
      bodyStart: answer.body,
      truncated: answer.truncated,
      latencyMs: performance.now() - started,
    };
  } catch (error) {
    if (error instanceof ExchangeTimeoutError)
      throw new OutboundError('timeout', timeoutReason(timeoutMs, error.status));
    throw error;
  }
}

type Receiver = { pool: Pool; addresses: string; resolvedUntil: number };
type Receivers = {
  find(target: OutboundTarget): Receiver | Promise<Receiver>;
  count(): number;
  close(): Promise<void>;
};

/** One pool for each origin and set of addresses: a name that moves gets new connections. */
function createReceivers(options: OutboundOptions, policy: OutboundPolicy): Receivers {
  const secureContext = createSecureContext(
    options.trustedCertificates ? { ca: [...rootCertificates, ...options.trustedCertificates] } : {},
  );
  const receivers = new Map<string, Receiver>();
  const resolving = new Map<string, Promise<Receiver>>();
  let sweeper: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function open(target: OutboundTarget): Promise<Receiver> {
    const addresses = await policy.resolve(target);
    const { origin } = target.url;
    const key = addresses.toSorted().join(' ');
    const known = receivers.get(origin);
    const resolvedUntil = performance.now() + (options.resolvedForMs ?? RESOLVED_FOR_MS);
    if (known?.addresses === key) {
      known.resolvedUntil = resolvedUntil;
      return known;
    }
    const pool = new Pool(origin, {
      connections: options.connectionsPerReceiver ?? CONNECTIONS_PER_RECEIVER,
      pipelining: 1,
      // The whole request has one deadline, so undici's two timers stay off.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
      maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
      connect: (_, done) =>
        connectReceiver(target, addresses, { policy, secureContext, openSocket: options.openSocket }, done),
    });
    const receiver = { pool, addresses: key, resolvedUntil };
    receivers.set(origin, receiver);
    if (known) closeQuietly(known.pool);
    sweeper ??= setInterval(sweep, RESOLVED_FOR_MS).unref();
    return receiver;
  }

  /** Closes the pools of receivers that were not called lately. */
  function sweep(): void {
    const now = performance.now();
    for (const [origin, { pool, resolvedUntil }] of receivers) {
      const { running, pending, queued } = pool.stats;
      if (now < resolvedUntil || running + pending + queued > 0) continue;
      receivers.delete(origin);
      closeQuietly(pool);
    }
  }

  return {
    find(target) {
      if (isClosed) throw new OutboundError('unreachable', 'The gateway is stopping.');
      const { origin } = target.url;
      const known = receivers.get(origin);
      if (known && performance.now() < known.resolvedUntil) return known;
      const underWay = resolving.get(origin);
      if (underWay) return underWay;
      const opening = open(target).finally(() => resolving.delete(origin));
      resolving.set(origin, opening);
      return opening;
    },
    count: () => receivers.size,
    async close() {
      isClosed = true;
      clearInterval(sweeper);
      const pools = [...receivers.values()].map(({ pool }) => pool.destroy());
      receivers.clear();
      await Promise.all(pools);
    },
  };
}

function joinHeaders(received: Record<string, string | string[] | undefined>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(received))
    headers[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
  return headers;
}

function within<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => reject(new ExchangeTimeoutError(0)), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(deadline));
  });
}

function closeQuietly(pool: Pool): void {
  pool.close().catch(() => undefined);
}
