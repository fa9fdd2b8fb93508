// What is refused before an operation sees a request: too many sockets of one address, an ambiguous host, too many requests
// of one address, a body that does not arrive, too much work in flight. In that order, the cheapest first.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createRangeSet, limitKey } from './addresses.ts';
import type { Context } from './context.ts';
import { Problem } from './errors.ts';
import { createUuid, publicId } from './ids.ts';
import type { Place, Places } from './places.ts';
import { tooManyRequests } from './rate-limit-headers.ts';
import { atPace, type RefusalPace } from './refusal-pace.ts';
import { createSharedLimiter } from './shared-limits.ts';
import { type Entry, UnderWay } from './under-way.ts';

/** The largest body that is not an upload, and how long it may take to arrive. Larger ones have the whole request time-out. */
export const BODY_LIMIT_BYTES = 64 * 1024;
const SMALL_BODY_MS = 2_000;
const BODY_CHECK_MS = 250;
/** One address may open one socket for this many places. */
const SOCKET_SHARE = 4;
const LEAST_SOCKETS_PER_ADDRESS = 100;
/** For this machine and for trusted proxies, behind which there are many callers. */
const MAX_SOCKETS_OF_PROXY = 4_000;
/** Programs on this machine, or a proxy that is not configured: no stranger, so the shares of an address do not apply. */
const THIS_MACHINE = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Not counted against the limit of an address: health checks, metrics and operator callbacks. */
    unlimited?: boolean;
  }
  interface FastifyRequest {
    /** While its body is on its way; null for one without a body, or with a large one. */
    arrival: Entry<Arrival> | null;
    /** The place of this request among those in flight; null until its body is complete. */
    place: Place | null;
    /** The request comes from this integration. Refuses it when places are scarce and the integration has its share. */
    admitCaller(clientId: string): void;
  }
}

type Arrival = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly until: number };

/** What a request of an unknown caller counts against; null for this machine, where addresses tell nobody apart. */
export function addressShareOf({ ip }: Pick<FastifyRequest, 'ip'>): string | null {
  return THIS_MACHINE.has(ip) ? null : limitKey(ip);
}

/** Limits the sockets of one address, so that it cannot use them all. */
export function limitSockets(app: FastifyInstance, { config }: Context): void {
  const proxies = createRangeSet(config.trustedProxies);
  const perAddress = Math.max(LEAST_SOCKETS_PER_ADDRESS, Math.floor(config.maxInFlight / SOCKET_SHARE));
  const open = new Map<string, number>();
  app.server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    const isProxy = THIS_MACHINE.has(address) || proxies.has(address);
    const key = limitKey(address);
    const count = (open.get(key) ?? 0) + 1;
    if (count > (isProxy ? MAX_SOCKETS_OF_PROXY : perAddress)) {
      socket.destroy();
      return;
    }
    open.set(key, count);
    socket.once('close', () => {
      const left = (open.get(key) ?? 1) - 1;
      if (left > 0) open.set(key, left);
      else open.delete(key);
    });
  });
}

/** What is wrong with a request whose body was not read yet; undefined for nothing. */
type Refusal = Problem | undefined;

/** One Host (HTTP/1.0 may have none) and a path: of two hosts, or a whole address, a proxy and we may read different ones. */
export function refuseUnclearHost({ raw }: FastifyRequest, reply: FastifyReply): Refusal {
  const hosts = countHosts(raw.rawHeaders);
  const isClear = hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0');
  if (isClear && raw.url?.startsWith('/')) return undefined;
  // What follows on this connection cannot be trusted either.
  void reply.header('Connection', 'close');
  return new Problem('not_acceptable_request');
}

function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}

/** No column of text can hold NUL, so nothing has a name with it. */
export function refuseNulInPath({ params }: FastifyRequest): Refusal {
  const parts = params as Record<string, string>;
  for (const name in parts) if (parts[name]?.includes('\0')) return new Problem('not_found');
  return undefined;
}

/** Limits the requests of one address. */
export function createAddressLimit(ctx: Context): (address: string) => Refusal {
  const perSecond = ctx.config.rateLimitPerAddressPerSecond;
  const addresses = createSharedLimiter(ctx, 'address', perSecond, perSecond * 2);
  return (address) => {
    const limit = addresses.take(limitKey(address));
    return limit.allowed ? undefined : tooManyRequests(limit, 'address');
  };
}

type AnswerProblem = (problem: Problem, request: FastifyRequest, reply: FastifyReply) => void;

export type BodyTimes = {
  /** The headers are there. */
  begin(request: FastifyRequest, reply: FastifyReply): void;
  /** The body is there. */
  end(request: FastifyRequest): void;
};

/**
 * Ends requests whose small body takes too long. Real time on purpose: it is how long a connection is held. Only the time in
 * which this process could read counts: a body that waits for a busy process is not slow.
 */
export function limitBodyTime(app: FastifyInstance, answer: AnswerProblem): BodyTimes {
  const arriving = new UnderWay<Arrival>();
  let lateMs = 0;
  let checkedAt = performance.now();
  const readingTime = () => performance.now() - lateMs;
  const end = (request: FastifyRequest) => {
    if (request.arrival) arriving.end(request.arrival);
    request.arrival = null;
  };
  const check = setInterval(() => {
    lateMs += Math.max(0, performance.now() - checkedAt - BODY_CHECK_MS);
    checkedAt = performance.now();
    const now = readingTime();
    for (let late = arriving.oldest; late && late.until <= now; late = arriving.oldest) {
      const { request, reply } = late;
      end(request);
      // Refused before its body was read, or gone.
      if (reply.raw.writableEnded || reply.raw.destroyed) continue;
      void reply.header('Connection', 'close');
      answer(new Problem('request_timeout'), request, reply);
    }
  }, BODY_CHECK_MS).unref();
  app.addHook('onClose', (_app, closed) => {
    clearInterval(check);
    closed();
  });
  return {
    begin(request, reply) {
      const length = request.headers['content-length'];
      const isChunked = request.headers['transfer-encoding'] !== undefined;
      const bytes = isChunked ? request.routeOptions.bodyLimit : Number(length ?? 0);
      const isSmall = bytes > 0 && bytes <= BODY_LIMIT_BYTES;
      request.arrival = isSmall ? arriving.add({ request, reply, until: readingTime() + SMALL_BODY_MS }) : null;
    },
    end,
  };
}

export type WorkLimit = {
  refuse(request: FastifyRequest): Refusal;
  /** The body is there. `entered` is called at once or after a wait, then in the asynchronous context of another request. */
  enter(request: FastifyRequest, reply: FastifyReply, entered: (problem?: Problem) => void): void;
};

/** Refuses what is over the number of requests in flight. A request counts from the moment its body is complete. */
export function limitWorkInFlight(
  app: FastifyInstance,
  ctx: Context,
  places: Places,
  callers: CallerAdmission,
): WorkLimit {
  app.decorateRequest('place', null);
  // A method that all requests share: for a function that each request has of its own V8 keeps a kilobyte until it marks its heap.
  app.decorateRequest('admitCaller', function admitCaller(this: FastifyRequest, clientId: string) {
    callers.admit(this.raw.socket, this.place, clientId);
  });
  return {
    refuse(request) {
      if (request.routeOptions.config.unlimited || !places.isFull(callers.of(request.raw.socket))) return undefined;
      return overloaded(ctx);
    },
    enter(request, reply, entered) {
      let isGone = false;
      reply.raw.once('close', () => {
        isGone = true;
        request.place?.leave();
      });
      if (request.routeOptions.config.unlimited) {
        request.place = places.enterAlways();
        entered();
        return;
      }
      places.enter(addressShareOf(request), (place) => {
        // The caller may have gone while the request waited.
        if (isGone) place?.leave();
        else if (place) {
          request.place = place;
          entered();
        } else entered(overloaded(ctx));
      });
    },
  };
}

/** One more request is refused because too many are in flight. */
export function noteOverload({ metrics }: Context): void {
  metrics.shed.inc();
}

export function overloaded(ctx: Context): Problem {
  noteOverload(ctx);
  return new Problem('overloaded', { retryAfterSeconds: 1 });
}

export type CallerAdmission = {
  /** The integration, by its client_id, that was last seen on a connection: a merchant's server keeps its connections to itself. */
  of(socket: Socket): string | undefined;
  /** Whether the connection may bring the requests of many callers: it is a trusted proxy's. */
  areMany(socket: Socket): boolean;
  /** The request on this connection comes from the integration. Refuses it when places are scarce and the integration has its share. */
  admit(socket: Socket, place: Place | null, clientId: string): void;
};

/** On the socket itself: a WeakMap of all sockets is looked up by every request, and gone through by the garbage collector. */
const CALLER = Symbol('caller');
type CallersSocket = Socket & { [CALLER]?: string };

export function createCallerAdmission(ctx: Context): CallerAdmission {
  const proxies = createRangeSet(ctx.config.trustedProxies);
  const areMany = (socket: Socket) => proxies.has(socket.remoteAddress ?? '');
  return {
    areMany,
    of: (socket: CallersSocket) => socket[CALLER],
    admit(socket: CallersSocket, place, clientId) {
      // Behind a proxy the requests of many merchants share a connection.
      if (socket[CALLER] !== clientId && !areMany(socket)) socket[CALLER] = clientId;
      if (place?.callerKnown(clientId) === false) throw overloaded(ctx);
    },
  };
}

/** Operations of the API whose refusals have one shape; those of the balance have their own, which its route knows. */
const QUICK_PATHS = /^\/api\/v3\/(?!get-unified-balance)/;

/**
 * The cheapest refusal: before a route is looked up, a body read or a line logged. With ten times the requests that the
 * gateway can serve, refusing must cost a tenth of serving at most. `headers` are those of every refusal.
 */
export function refuseQuickly(
  ctx: Context,
  places: Places,
  callers: CallerAdmission,
  pace: RefusalPace,
  headers: Readonly<Record<string, string>>,
) {
  const { message, status, code } = new Problem('overloaded');
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!QUICK_PATHS.test(request.url ?? '') || !places.isFull(callers.of(request.socket))) return false;
    noteOverload(ctx);
    ctx.metrics.refusals.inc({ code });
    const id = publicId('req', createUuid(ctx.clock.millis()));
    const body = JSON.stringify({ success: false, message, code, request_id: id });
    response.writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'Retry-After': '1',
      'X-Request-Id': id,
      ...headers,
    });
    atPace(pace, () => response.end(body));
    // The body is read to its end, so that the connection can be used again.
    request.resume();
    return true;
  };
}
