// Plain requests of operations, from the bytes to the answer: the same checks in the same order as on the way through Fastify
// (http.ts), and the same answers. Decision 66 says why there are two ways.

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { addressShareOf, type CallerAdmission, noteOverload, overloaded } from './admission.ts';
import { systemClock } from './clock.ts';
import { type Commits, trackCommits } from './commit-tracking.ts';
import type { Context } from './context.ts';
import { Problem, type ProblemCode } from './errors.ts';
import { createUuid, publicId } from './ids.ts';
import { parseJsonBody } from './json-body.ts';
import type { Operation, OperationReply, OperationRequest, Operations } from './operations.ts';
import type { Place, Places } from './places.ts';
import type { Peer, PlainService } from './plain-connections.ts';
import type { PlainRequest } from './plain-request.ts';
import { helpLink, noteProblem, problemBody, problemHeaders, problemOfRequest } from './problem-answers.ts';
import { atPace, type RefusalPace } from './refusal-pace.ts';
import type { CanonicalMember } from './strict-json.ts';

export type PlainParts = {
  readonly operations: Operations;
  readonly places: Places;
  readonly callers: CallerAdmission;
  readonly pace: RefusalPace;
  /** The address of a caller behind a trusted proxy. */
  readonly addressOf: (socket: Socket, headers: Readonly<Record<string, string>>) => string;
  readonly refuseAddress: (address: string) => Problem | undefined;
  /** On every answer. */
  readonly common: Readonly<Record<string, string>>;
  readonly keepAliveMs: number;
};

/** No header is there twice, so nobody has to read them apart. */
const RAW = { rawHeaders: [] };
const ID_GOES_HERE = 'request id';
/** So a text has as many bytes as characters, and no value begins a header of its own. */
const UNSAFE_VALUE = /[^\t\x20-\x7e]/;

/** What a handler adds to its answer. Classes, because V8 keeps a function that a single request has of its own for long. */
class PlainReply implements OperationReply {
  /** In lower case, without those that every answer has. */
  readonly added: Record<string, string> = {};

  header(name: string, value: string): void {
    if (UNSAFE_VALUE.test(value)) throw new Error(`the header ${name} cannot have this value`);
    this.added[name.toLowerCase()] = value;
  }

  headers(values: Record<string, string>): void {
    for (const name in values) this.header(name, values[name] ?? '');
  }
}

class PlainCall implements OperationRequest {
  readonly id: string;
  readonly method = 'POST';
  readonly ip: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly raw = RAW;
  readonly routeOptions: Operation;
  readonly commits: Commits = { count: 0 };
  readonly peer: Peer;
  readonly reply = new PlainReply();
  readonly startedAt = performance.now();
  readonly callers: CallerAdmission;
  logged: Record<string, unknown> = {};
  body: unknown = undefined;
  canonicalMembers: readonly CanonicalMember[] = [];
  place: Place | null = null;

  constructor(parts: PlainParts, id: string, operation: Operation, { head: { headers } }: PlainRequest, peer: Peer) {
    this.id = id;
    this.ip = parts.addressOf(peer.socket, headers);
    this.headers = headers;
    this.routeOptions = operation;
    this.peer = peer;
    this.callers = parts.callers;
  }

  admitCaller(clientId: string): void {
    this.callers.admit(this.peer.socket, this.place, clientId);
  }
}

type Answer = { readonly status: number; readonly body: string; readonly code: ProblemCode | null };
/** Answers that too many requests are in flight, by calling `answer` with how long the connection is not read after it. */
type Refuse = (peer: Peer, answer: (pauseMs: number) => void) => void;

export function createPlainService(ctx: Context, parts: PlainParts): PlainService {
  const { operations, places, callers, refuseAddress } = parts;
  const refuseAtPace = createPacedRefusal(parts);
  const send = createSender(parts, refuseAtPace);
  const refuseQuickly = createQuickRefusal(ctx, parts, refuseAtPace);

  function serve(request: PlainRequest, peer: Peer): void {
    const operation = operations.byPath.get(request.head.path);
    if (!operation) throw new Error(`nothing is served at ${request.head.path}`);
    const id = publicId('req', createUuid(ctx.clock.millis()));
    if (places.isFull(callers.of(peer.socket))) {
      refuseQuickly(id, operation, peer);
      return;
    }
    const call = new PlainCall(parts, id, operation, request, peer);
    const refusal = findRefusal(call, request.body);
    if (refusal) refuse(call, refusal);
    else places.enter(addressShareOf(call), (place) => enter(call, place));
  }

  /** What is wrong with it; undefined for nothing. Then its body is read. */
  function findRefusal(call: PlainCall, bytes: Buffer): Problem | undefined {
    try {
      const refusal = refuseAddress(call.ip);
      if (!refusal) call.body = parseJsonBody(call, bytes);
      return refusal;
    } catch (error) {
      return problemOfRequest(ctx, error, call);
    }
  }

  function enter(call: PlainCall, place: Place | null): void {
    call.place = place;
    if (!place) refuse(call, overloaded(ctx));
    // The caller may have gone while the request waited.
    else if (call.peer.socket.destroyed) place.leave();
    else trackCommits(call.commits, () => void perform(call, place));
  }

  function refuse(call: PlainCall, problem: Problem): void {
    finish(call, refusalOf(ctx, call, problem));
  }

  async function perform(call: PlainCall, place: Place): Promise<void> {
    let answer: Answer;
    try {
      const data = await call.routeOptions.handler(call, call.reply);
      answer = { status: 200, body: JSON.stringify(data), code: null };
    } catch (error) {
      answer = refusalOf(ctx, call, problemOfRequest(ctx, error, call));
    }
    place.leave();
    finish(call, answer);
  }

  function finish(call: PlainCall, answer: Answer): void {
    send(call, answer);
    const { id, method, ip, logged, routeOptions, startedAt } = call;
    const ms = performance.now() - startedAt;
    for (const listener of operations.listeners)
      listener({ id, method, ip, logged, route: routeOptions.url, status: answer.status, ms });
  }

  return { isServed: (path) => operations.byPath.has(path), serve };
}

function refusalOf(ctx: Context, call: PlainCall, problem: Problem): Answer {
  noteProblem(ctx, problem, call);
  call.reply.headers(problemHeaders(problem));
  call.reply.header('Link', helpLink(ctx, problem.code));
  return {
    status: problem.status,
    body: JSON.stringify(problemBody(problem, call.id, call.routeOptions.problemBody)),
    code: problem.code,
  };
}

/** Refuses at once, and reads the next request of the connection later. That of a proxy is somebody else's: there the answer waits. */
function createPacedRefusal({ callers, pace }: PlainParts): Refuse {
  return ({ socket }, answer) => {
    if (callers.areMany(socket)) atPace(pace, () => answer(0));
    else answer(pace());
  };
}

/** Writes an answer as Node would, in one piece. */
function createSender(parts: PlainParts, refuseAtPace: Refuse): (call: PlainCall, answer: Answer) => void {
  const endOfHead = createEndOfHead(parts);
  return ({ id, peer, reply }, { status, body, code }) => {
    const bytes = Buffer.byteLength(body);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nx-request-id: ${id}\r\n${linesOf(reply.added)}`;
    const encoding = bytes === body.length ? 'latin1' : 'utf8';
    const answer = (pauseMs: number) => peer.answer(`${head}${endOfHead(bytes, peer)}${body}`, encoding, pauseMs);
    if (code === 'overloaded') refuseAtPace(peer, answer);
    else answer(0);
  };
}

/**
 * The cheapest refusal: before a body is read or a line logged, and nothing of it is made anew but its id. With ten times the
 * requests that the gateway can serve, refusing must leave most of the processor to those that are served.
 */
function createQuickRefusal(
  ctx: Context,
  parts: PlainParts,
  refuseAtPace: Refuse,
): (id: string, operation: Operation, peer: Peer) => void {
  const problem = new Problem('overloaded', { retryAfterSeconds: 1 });
  const headers = linesOf({ ...problemHeaders(problem), Link: helpLink(ctx, problem.code) });
  const status = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}\r\nx-request-id: `;
  const endOfHead = createEndOfHead(parts);
  const bodies = new Map<Operation, readonly string[]>();
  const bodyOf = (operation: Operation) => {
    const parted =
      bodies.get(operation) ??
      JSON.stringify(problemBody(problem, ID_GOES_HERE, operation.problemBody)).split(ID_GOES_HERE);
    bodies.set(operation, parted);
    return parted;
  };
  return (id, operation, peer) => {
    noteOverload(ctx);
    ctx.metrics.refusals.inc({ code: problem.code });
    const [before = '', after = ''] = bodyOf(operation);
    refuseAtPace(peer, (pauseMs) => {
      const end = endOfHead(before.length + id.length + after.length, peer);
      peer.answer(`${status}${id}\r\n${headers}${end}${before}${id}${after}`, 'latin1', pauseMs);
    });
  };
}

/** The headers that every answer has, and the empty line. */
function createEndOfHead({ common, keepAliveMs }: PlainParts): (bytes: number, peer: Peer) => string {
  const always = `${linesOf(common)}content-type: application/json; charset=utf-8\r\n`;
  const lasting = `connection: keep-alive\r\nkeep-alive: timeout=${keepAliveMs / 1000}\r\n\r\n`;
  const ending = 'connection: close\r\n\r\n';
  const dateLine = createDateLine();
  return (bytes, peer) => `${always}content-length: ${bytes}\r\n${dateLine()}${peer.lasts() ? lasting : ending}`;
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  let lines = '';
  for (const name in headers) lines += `${name.toLowerCase()}: ${headers[name]}\r\n`;
  return lines;
}

/** Made once a second. */
function createDateLine(): () => string {
  let second = -1;
  let line = '';
  return () => {
    const now = Math.floor(systemClock.millis() / 1000);
    if (now !== second) line = `date: ${new Date(now * 1000).toUTCString()}\r\n`;
    second = now;
    return line;
  };
}
