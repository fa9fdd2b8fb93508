// The HTTP server: one strict body parser, one shape of error, limits before a body is read. Modules add their routes to it.

import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import {
  BODY_LIMIT_BYTES,
  type BodyTimes,
  createAddressLimit,
  createCallerAdmission,
  limitBodyTime,
  limitSockets,
  limitWorkInFlight,
  refuseNulInPath,
  refuseQuickly,
  refuseUnclearHost,
  type WorkLimit,
} from './admission.ts';
import { type Commits, trackCommits } from './commit-tracking.ts';
import { publicUrl } from './config.ts';
import type { Context } from './context.ts';
import { createDelayControl } from './delay-control.ts';
import { Problem } from './errors.ts';
import { sendCompressed } from './html.ts';
import { createUuid, publicId } from './ids.ts';
import { parseJsonBody } from './json-body.ts';
import { createRoutineLog } from './log.ts';
import { type Operations, whenAnswered } from './operations.ts';
import { createPlaces } from './places.ts';
import { type PlainService, servePlainRequests } from './plain-connections.ts';
import { createPlainService, type PlainParts } from './plain-operations.ts';
import {
  answerBrokenRequest,
  helpLink,
  noteProblem,
  problemBody,
  problemHeaders,
  problemOf,
  problemOfRequest,
} from './problem-answers.ts';
import { atPace, createRefusalPace, type RefusalPace } from './refusal-pace.ts';
import { stopState } from './stop-state.ts';

export { rateLimitHeaders, tooManyRequests } from './rate-limit-headers.ts';

const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 1_000;
const KEEP_ALIVE_MS = 65_000;
/** A plain request comes soon after its connection, and then at once. What takes longer is left to Node, with the limits above. */
const FIRST_BYTES_MS = 2_000;
const ARRIVAL_MS = 250;
const HSTS_SECONDS = 365 * 24 * 3_600;

/**
 * Fastify only collects the schemas of the routes, for OpenAPI. Operations read their input with the same schemas (validation.ts), after
 * the signature is checked and with the refusal that the specification gives each of them. Given here, Fastify does not load its own
 * compilers, a hundred files.
 */
export const ONLY_COLLECTS_SCHEMAS = {
  compilersFactory: {
    // The type asks for a function that ajv made.
    buildValidator: (() => () => () => true) as never,
    buildSerializer: () => () => (data: unknown) => JSON.stringify(data),
  },
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Reshapes the body of an error where the specification gives the operation its own shape. */
    problemBody?: (body: Record<string, unknown>) => Record<string, unknown>;
    /** Pages answer errors as pages. */
    problemPage?: (problem: Problem, request: FastifyRequest, reply: FastifyReply) => string;
  }
  interface FastifyRequest {
    /** Further members of this request's log line, for instance client_id. Never a secret. */
    logged: Record<string, unknown>;
    /** What this request has committed so far. */
    commits: Commits;
  }
}

export type HttpServer = FastifyInstance;

export type HttpOptions = {
  /** What a browser sees where no route of its own answers; without it, and for programs, errors are JSON. */
  browserPage?: (problem: Problem, request: FastifyRequest, reply: FastifyReply) => string;
};

export function createHttpServer(ctx: Context, options: HttpOptions = {}): HttpServer {
  const send = problemSender(ctx, options);
  const { maxInFlight, maxRequestDelayMs } = ctx.config;
  const places = createPlaces(maxInFlight, createDelayControl(maxInFlight, maxRequestDelayMs));
  const callers = createCallerAdmission(ctx);
  const pace = createRefusalPace();
  const common = commonHeaders(ctx);
  const refuseAddress = createAddressLimit(ctx);
  const operations: Operations = { byPath: new Map(), listeners: [] };
  const refuse = refuseQuickly(ctx, places, callers, pace, { ...common, Link: helpLink(ctx, 'overloaded') });
  const plain = createPlainService(ctx, {
    operations,
    places,
    callers,
    pace,
    refuseAddress,
    common,
    addressOf: forwardedAddress(ctx),
    keepAliveMs: KEEP_ALIVE_MS,
  });
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    trustProxy: ctx.config.trustedProxies.length > 0 ? ctx.config.trustedProxies : false,
    genReqId: () => publicId('req', createUuid(ctx.clock.millis())),
    forceCloseConnections: 'idle',
    // Requests that arrive on an open connection during the stop are still answered: the stop waits for them.
    return503OnClosing: false,
    serverFactory: (handle) =>
      createNodeServer(ctx, plain, (request, response) => {
        if (!refuse(request, response)) handle(request, response);
      }),
    clientErrorHandler: answerBrokenRequest,
    // A URL that cannot be decoded is refused before any hook runs; the error has the same shape.
    schemaController: ONLY_COLLECTS_SCHEMAS,
    frameworkErrors: (error, request, reply) => {
      void reply.headers(common);
      void send(problemOf(error), request, reply);
    },
  });
  app.decorate('operations', operations);
  const answer = (problem: Problem, request: FastifyRequest, reply: FastifyReply) => void send(problem, request, reply);
  limitSockets(app, ctx);
  refuseExpectations(app);
  checkRequests(app, common, {
    bodyTimes: limitBodyTime(app, answer),
    work: limitWorkInFlight(app, ctx, places, callers),
    refuseAddress,
  });
  parseOnlyStrictJson(app);
  logRequests(app, ctx);
  answerProblems(app, ctx, pace, send);
  return app;
}

/** Plain requests of operations go their own way; all others are Node's and Fastify's. */
function createNodeServer(ctx: Context, plain: PlainService, handle: RequestListener): Server {
  const stopping = stopState(ctx);
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // Checked by refuseUnclearHost, whose refusal is JSON.
      requireHostHeader: false,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    (request, response) => {
      if (stopping.endsConnections) response.setHeader('Connection', 'close');
      handle(request, response);
    },
  );
  servePlainRequests(server, plain, {
    firstBytesMs: FIRST_BYTES_MS,
    arrivalMs: ARRIVAL_MS,
    keepAliveMs: KEEP_ALIVE_MS,
    isEnding: () => stopping.endsConnections || !server.listening,
    answerHalf: (socket) => answerBrokenRequest(new Error('the request ends too early'), socket),
  });
  return server;
}

/** As Fastify finds the address of a request. */
function forwardedAddress({ config }: Context): PlainParts['addressOf'] {
  if (config.trustedProxies.length === 0) return (socket) => socket.remoteAddress ?? '';
  const isTrusted = proxyAddr.compile(config.trustedProxies);
  // A connection that is gone already has no address.
  return (socket, headers) => proxyAddr({ headers, socket } as IncomingMessage, isTrusted) ?? '';
}

type Limits = {
  bodyTimes: BodyTimes;
  work: WorkLimit;
  refuseAddress: (address: string) => Problem | undefined;
};

/** All checks in one hook, the cheapest first. */
function checkRequests(
  app: HttpServer,
  common: Record<string, string>,
  { bodyTimes, work, refuseAddress }: Limits,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    request.logged = {};
    request.commits = { count: 0 };
    void reply.header('X-Request-Id', request.id);
    void reply.headers(common);
    const { unlimited } = request.routeOptions.config;
    const refusal =
      refuseUnclearHost(request, reply) ??
      refuseNulInPath(request) ??
      (unlimited ? undefined : refuseAddress(request.ip));
    if (refusal) return done(refusal);
    bodyTimes.begin(request, reply);
    done(work.refuse(request) ?? refuseEncodedBody(request));
  });
  app.addHook('preValidation', (request, reply, done) => {
    bodyTimes.end(request);
    // Commits are counted from here on. The body arrived in another asynchronous context, and nothing was committed before.
    work.enter(request, reply, (problem) => trackCommits(request.commits, () => done(problem)));
  });
}

/** `Expect` with anything but 100-continue: Node would answer 417 with nothing, and every answer of ours is JSON. */
function refuseExpectations(app: HttpServer): void {
  app.server.on('checkExpectation', (_request, response) => {
    const code = 'not_acceptable_request';
    const body = JSON.stringify({ success: false, message: new Problem(code).message, code, request_id: null });
    response.writeHead(417, { 'Content-Type': 'application/json; charset=utf-8' }).end(body);
  });
}

function parseOnlyStrictJson(app: HttpServer): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const { schema } = request.routeOptions;
    // Many clients name the type of a body that they do not have.
    const needsNone = body.length === 0 && schema !== undefined && schema.body === undefined;
    try {
      done(null, needsNone ? undefined : parseJsonBody(request, body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

function refuseEncodedBody({ headers }: FastifyRequest): Problem | undefined {
  const encoding = headers['content-encoding'];
  return encoding === undefined || encoding === 'identity' ? undefined : new Problem('unsupported_media_type');
}

/** On every answer, refusals included. */
function commonHeaders(ctx: Context): Record<string, string> {
  return {
    'X-Content-Type-Options': 'nosniff',
    // The proxy in front may not say that it speaks https, so PUBLIC_URL decides.
    ...(publicUrl(ctx.config).startsWith('https:') ? { 'Strict-Transport-Security': `max-age=${HSTS_SECONDS}` } : {}),
    ...(ctx.config.mode === 'sandbox' ? { 'X-Simbi-Mode': 'sandbox' } : {}),
  };
}

function logRequests(app: HttpServer, ctx: Context): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { id, method, ip, logged, routeOptions } = request;
    const answered = {
      id,
      method,
      ip,
      logged,
      route: routeOptions.url,
      status: reply.statusCode,
      ms: reply.elapsedTime,
    };
    for (const listener of app.operations.listeners) listener(answered);
    done();
  });
  const writeLine = createRoutineLog(ctx.log, 'request');
  whenAnswered(app, ({ id, method, ip, logged, route = 'unknown', status, ms }) => {
    ctx.metrics.requests.note(route, status, ms / 1000);
    const line = { request_id: id, method, route, status, ms: Math.round(ms * 10) / 10, address: ip, ...logged };
    if (status >= 500) ctx.log.warn(line, 'request');
    else writeLine(line);
  });
}

/** The methods of the routes at a path. Call it before the routes are added. */
function collectMethods(app: HttpServer): (path: string) => string[] {
  const patterns: { method: string; pattern: RegExp }[] = [];
  app.addHook('onRoute', (route) => {
    const pattern = new RegExp(
      `^${route.url
        .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
        .replace(/:[A-Za-z]+/g, '[^/]+')
        .replaceAll('*', '.*')}$`,
    );
    for (const method of [route.method].flat()) patterns.push({ method, pattern });
  });
  return (path) => [...new Set(patterns.filter((entry) => entry.pattern.test(path)).map((entry) => entry.method))];
}

/** People type an address with a slash at its end. Two slashes at its beginning would lead to another host. */
function withoutSlash(url: string): { path: string; url: string } | null {
  const [path = '/', ...query] = url.split('?');
  if (!/^\/(?!\/).+\/$/.test(path)) return null;
  return { path: path.slice(0, -1), url: [path.slice(0, -1), ...query].join('?') };
}

function answerProblems(app: HttpServer, ctx: Context, pace: RefusalPace, send: SendProblem): void {
  const methodsAt = collectMethods(app);
  const answer: SendProblem = (problem, request, reply) => {
    const aim = problem.status === 404 && isBrowser(request) ? withoutSlash(request.url) : null;
    return aim && methodsAt(aim.path).includes('GET') ? reply.redirect(aim.url, 301) : send(problem, request, reply);
  };
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOfRequest(ctx, error, request);
    if (problem.code !== 'overloaded') return answer(problem, request, reply);
    return new Promise<void>((refuse) => atPace(pace, refuse)).then(() => answer(problem, request, reply));
  });

  app.setNotFoundHandler((request, reply) => {
    const allowed = methodsAt(request.url.split('?')[0] ?? '/');
    const problem =
      allowed.length > 0
        ? new Problem('method_not_allowed', { headers: { Allow: allowed.join(', ') } })
        : new Problem('not_found');
    return answer(problem, request, reply);
  });
}

type SendProblem = (
  problem: Problem,
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply | Promise<FastifyReply>;

function problemSender(ctx: Context, { browserPage }: HttpOptions): SendProblem {
  return (problem, request, reply) => {
    noteProblem(ctx, problem, request);
    void reply.code(problem.status).headers(problemHeaders(problem));
    const { problemPage, problemBody: reshape } = request.routeOptions.config;
    const forBrowsers = BROWSER_PAGE_STATUSES.has(problem.status) && isBrowser(request) ? browserPage : undefined;
    const page = problemPage ?? forBrowsers;
    if (page) return sendCompressed(request, reply.type('text/html; charset=utf-8'), page(problem, request, reply));
    void reply.header('Link', withHelp(ctx, reply, problem));
    return reply.type('application/json; charset=utf-8').send(problemBody(problem, request.id, reshape));
  };
}

/** The page about the code, beside the links that the route has set. */
function withHelp(ctx: Context, reply: FastifyReply, { code }: Problem): string {
  const others = reply.getHeader('Link');
  return [...(others === undefined ? [] : [others]), helpLink(ctx, code)].join(', ');
}

/** Refusals that protect the gateway from strangers stay short. */
const BROWSER_PAGE_STATUSES: ReadonlySet<number> = new Set([404, 405, 500]);

/** Whether a person is likely to read the answer: a browser names HTML first when it opens a page. */
export function isBrowser({ method, url, headers }: FastifyRequest): boolean {
  if ((method !== 'GET' && method !== 'HEAD') || url.startsWith('/api/')) return false;
  const accept = String(headers.accept ?? '').toLowerCase();
  const page = accept.indexOf('text/html');
  const json = accept.indexOf('application/json');
  return page >= 0 && (json < 0 || page < json);
}

/** The address a request came from, for allow-lists and counters: IPv4 in its plain form. */
export function addressOf(request: { readonly ip: string }): string {
  return request.ip.startsWith('::ffff:') ? request.ip.slice(7) : request.ip;
}
