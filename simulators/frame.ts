// The frame of a simulated operator: an HTTP server on loopback, routes, faults, callbacks, phones and a book. Each simulator
// adds its routes, written from the operator's documents and never from the rail; nothing here imports the gateway.
//
// Control, on the same port, for tests and for the test phone:
//   GET  /_simulator/prompts                     open prompts
//   POST /_simulator/prompts/<id> {"decision"}   answers one
//   GET|POST|DELETE /_simulator/faults           the plan of faults; POST takes one PlannedFault
//   GET  /_simulator/book                        what really moved
//   POST /_simulator/<action> {…}                the simulator's own `actions`, such as a payer who pays a till

import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Book, createBook } from './book.ts';
import { createFaultPlan, type Fault, type FaultPlan, type Operation, seededRandom } from './faults.ts';
import { createPhones, type Decision, type Phones } from './phones.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const OVERSIZED_BYTES = 2 * 1024 * 1024;
const CALLBACK_TIMEOUT_MS = 10_000;

export type SimulatorRequest = {
  method: string;
  path: string;
  /** The parts of the path that the route names, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  headers: Readonly<Record<string, string | undefined>>;
  text: string;
  /** The body as a JSON object; null when it is not one. */
  json: Record<string, unknown> | null;
};

/** An object is sent as JSON, a text as it is. */
export type SimulatorAnswer = { status: number; body: object | string; headers?: Record<string, string> };

export type Callback = {
  url: string;
  method?: 'POST' | 'PUT';
  headers?: Record<string, string>;
  body: object | string;
  /** Headers made from the exact text that is sent, such as a signature. */
  sign?: (text: string) => Record<string, string>;
  /** Called with the receiver's answer; null when there was none. Validation requests decide by it. */
  answered?: (answer: { status: number; text: string } | null) => void;
  /** How long the receiver may take. */
  timeoutMs?: number;
};

export type SimulatorRoute = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** "/v2/deposits/:id": a part that begins with a colon is a name in `params`. */
  path: string;
  operation: Operation;
  handle(request: SimulatorRequest): SimulatorAnswer | Promise<SimulatorAnswer>;
};

/** What a simulator works with. */
export interface SimulatorContext {
  readonly book: Book;
  readonly phones: Phones;
  /** Milliseconds; a test may run it ahead. */
  now(): number;
  random(): number;
  /** Runs the work later; all such work ends with the simulator. Returns what cancels it. */
  after(ms: number, work: () => void): () => void;
  /** Sends a callback in the background, with the faults of callbacks. Returns when it was answered or given up. */
  send(callback: Callback): Promise<void>;
  takeFault(fault: Fault, operation: Operation): boolean;
  /** Where this simulator listens, for addresses in its answers. */
  url(): string;
}

export type SimulatorAction = (body: Record<string, unknown>) => SimulatorAnswer | Promise<SimulatorAnswer>;

export type Simulator = {
  routes: SimulatorRoute[];
  /** The answer of this operator's gateway to an address that it does not have. */
  notFound?(request: SimulatorRequest): SimulatorAnswer;
  actions?: Record<string, SimulatorAction>;
};

/** `settings`: credentials and the like; every simulator has working ones by default and prints them when it starts. */
export type CreateSimulator = (context: SimulatorContext, settings: Readonly<Record<string, string>>) => Simulator;

export type SimulatorOptions = {
  /** 0 picks a free port. */
  port?: number;
  settings?: Record<string, string>;
  payers?: 'manual' | 'automatic';
  automaticAfterMs?: number;
  slowMs?: number;
  callbackLateMs?: number;
  seed?: number;
  /** What the merchant's account holds at the start, in hundredths of each currency. */
  openingBalance?: bigint;
  now?: () => number;
};

export interface RunningSimulator {
  readonly url: string;
  readonly book: Book;
  readonly phones: Phones;
  readonly faults: FaultPlan;
  /** Calls one of the simulator's own actions, as POST /_simulator/<name> does. */
  act(name: string, body: Record<string, unknown>): Promise<SimulatorAnswer>;
  /** Resolves when no callback and no planned work is left. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export async function startSimulator(
  create: CreateSimulator,
  options: SimulatorOptions = {},
): Promise<RunningSimulator> {
  const random = seededRandom(options.seed ?? 1);
  const faults = createFaultPlan(random);
  const now = options.now ?? Date.now;
  const work = createBackgroundWork();
  const book = createBook(options.openingBalance ?? 1_000_000_00n, now);
  const phones = createPhones(
    { payers: options.payers ?? 'automatic', automaticAfterMs: options.automaticAfterMs ?? 5, now },
    (ms, done) => work.after(ms, done),
  );
  const server = createServer();
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** The callbacks of the request whose answer waits for them. */
  const awaited = new AsyncLocalStorage<Promise<void>[]>();

  const context: SimulatorContext = {
    book,
    phones,
    now,
    random,
    after: (ms, done) => work.after(ms, done),
    takeFault: (fault, operation) => faults.take(fault, operation) !== null,
    url,
    send(callback) {
      const sending = work.track(sendWithFaults(callback, faults, options.callbackLateMs ?? 1_000));
      awaited.getStore()?.push(sending);
      return sending;
    },
  };
  const simulator = create(context, options.settings ?? {});
  const control = { book, phones, faults, actions: simulator.actions ?? {} };
  server.on('request', (incoming, response) => {
    answerRequest(incoming, response).catch(() => response.destroy());
  });

  async function answerRequest(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming);
    if (request.path.startsWith('/_simulator/')) return write(response, await answerControl(control, request));
    const found = findRoute(simulator.routes, request);
    if (found === null) return write(response, simulator.notFound?.(request) ?? { status: 404, body: '' });
    await answerWithFaults(found.route, { ...request, params: found.params }, response);
  }

  async function answerWithFaults(
    route: SimulatorRoute,
    request: SimulatorRequest,
    response: ServerResponse,
  ): Promise<void> {
    const take = (fault: Fault) => faults.take(fault, route.operation);
    if (take('error_before_processing')) return write(response, INTERNAL_ERROR);
    if (take('duplicate_id')) await route.handle(request);
    const answer = await (take('callback_before_answer')
      ? afterCallbacks(awaited, async () => route.handle(request))
      : route.handle(request));
    if (take('answer_lost')) return void response.destroy();
    if (take('error_while_processing')) return write(response, INTERNAL_ERROR);
    if (take('html_error')) return write(response, HTML_ERROR);
    if (take('oversized')) return write(response, { ...answer, body: 'x'.repeat(OVERSIZED_BYTES) });
    if (take('slow')) await pause(options.slowMs ?? 20_000);
    const renamed = take('field_renamed')?.rename;
    return write(response, renamed ? { ...answer, body: rename(answer.body, renamed) } : answer);
  }

  await listen(server, options.port ?? 0);
  return {
    url: url(),
    book,
    phones,
    faults,
    act: async (name, body) => (await simulator.actions?.[name]?.(body)) ?? { status: 404, body: '' },
    idle: () => work.idle(),
    async close() {
      work.end();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await work.idle();
    },
  };
}

/** The answer, once the callback that follows from the request was sent. A payer who never decides does not hold it back. */
async function afterCallbacks(
  awaited: AsyncLocalStorage<Promise<void>[]>,
  handle: () => Promise<SimulatorAnswer>,
): Promise<SimulatorAnswer> {
  const sent: Promise<void>[] = [];
  const answer = await awaited.run(sent, handle);
  for (let waited = 0; waited < 100 && sent.length === 0; waited++) await pause(10);
  await Promise.all(sent);
  return answer;
}

const INTERNAL_ERROR: SimulatorAnswer = { status: 500, body: { message: 'Internal Server Error' } };
const HTML_ERROR: SimulatorAnswer = {
  status: 502,
  headers: { 'content-type': 'text/html' },
  body: '<html><body><h1>502 Bad Gateway</h1></body></html>',
};

/** Timers and callbacks that are under way, so that a test can wait for them and the simulator can end. */
function createBackgroundWork() {
  const timers = new Set<NodeJS.Timeout>();
  const sending = new Set<Promise<void>>();
  return {
    after(ms: number, work: () => void): () => void {
      const timer = setTimeout(() => {
        timers.delete(timer);
        work();
      }, ms);
      timers.add(timer);
      return () => {
        clearTimeout(timer);
        timers.delete(timer);
      };
    },
    track(work: Promise<void>): Promise<void> {
      const tracked = work.finally(() => sending.delete(tracked));
      sending.add(tracked);
      return tracked;
    },
    async idle(): Promise<void> {
      while (timers.size > 0 || sending.size > 0) await pause(5);
    },
    end(): void {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}

async function sendWithFaults(callback: Callback, faults: FaultPlan, lateMs: number): Promise<void> {
  const take = (fault: Fault) => faults.take(fault, 'other') !== null;
  if (take('callback_lost')) return callback.answered?.(null);
  if (take('callback_late')) await pause(lateMs);
  const renamed = faults
    .list()
    .find(({ fault, operation }) => fault === 'field_renamed' && operation === 'other')?.rename;
  const sent = renamed ? { ...callback, body: rename(callback.body, renamed) } : callback;
  const answer = await post(sent);
  callback.answered?.(answer);
  if (take('callback_doubled')) await post(sent);
}

async function post({
  url,
  method,
  headers,
  body,
  sign,
  timeoutMs,
}: Callback): Promise<{ status: number; text: string } | null> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  try {
    const answer = await fetch(url, {
      method: method ?? 'POST',
      headers: { 'content-type': 'application/json', ...headers, ...sign?.(text) },
      body: text,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs ?? CALLBACK_TIMEOUT_MS),
    });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return null;
  }
}

/** The same value with other names of fields, at any depth. A text is left alone. */
function rename<T>(value: T, names: Record<string, string>): T {
  if (Array.isArray(value)) return value.map((item) => rename(item, names)) as T;
  // JSON.rawJSON: a number that is sent digit by digit, such as 1.00.
  if (typeof value !== 'object' || value === null || 'rawJSON' in value) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [names[name] ?? name, rename(item, names)]),
  ) as T;
}

async function readRequest(incoming: IncomingMessage): Promise<SimulatorRequest> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://simulator');
  const text = Buffer.concat(chunks).toString('utf8');
  return {
    method: incoming.method ?? 'GET',
    path: pathname,
    params: {},
    query: searchParams,
    headers: incoming.headers as Record<string, string | undefined>,
    text,
    json: readJson(text),
  };
}

function readJson(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function findRoute(
  routes: SimulatorRoute[],
  request: SimulatorRequest,
): { route: SimulatorRoute; params: Record<string, string> } | null {
  for (const route of routes) {
    const params = route.method === request.method ? matchPath(route.path, request.path) : null;
    if (params !== null) return { route, params };
  }
  return null;
}

function matchPath(pattern: string, path: string): Record<string, string> | null {
  const names = pattern.split('/');
  const parts = path.split('/');
  if (names.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? '';
    if (name.startsWith(':') && part !== '') params[name.slice(1)] = decodeURIComponent(part);
    else if (name !== part) return null;
  }
  return params;
}

type Control = { book: Book; phones: Phones; faults: FaultPlan; actions: Record<string, SimulatorAction> };

async function answerControl(control: Control, request: SimulatorRequest): Promise<SimulatorAnswer> {
  const [name = '', id = ''] = request.path.slice('/_simulator/'.length).split('/');
  const { book, phones, faults, actions } = control;
  switch (`${request.method} ${name}`) {
    case 'GET prompts':
      return { status: 200, body: { prompts: phones.open() } };
    case 'POST prompts':
      return phones.decide(id, String(request.json?.decision) as Decision) ? DONE : { status: 404, body: '' };
    case 'GET faults':
      return { status: 200, body: { faults: faults.list() } };
    case 'POST faults':
      faults.add(request.json as Parameters<FaultPlan['add']>[0]);
      return DONE;
    case 'DELETE faults':
      faults.clear();
      return DONE;
    case 'GET book':
      return { status: 200, body: book.toJson() as object };
    default:
      return (request.method === 'POST' && (await actions[name]?.(request.json ?? {}))) || { status: 404, body: '' };
  }
}

const DONE: SimulatorAnswer = { status: 200, body: { done: true } };

function write(response: ServerResponse, { status, body, headers }: SimulatorAnswer): void {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
  response.end(isText ? body : JSON.stringify(body));
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((listening, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => listening());
  });
}
