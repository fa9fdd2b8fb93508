// The simulated operator on the wire. Bare node:http: the gateway's hottest path ends here.
//   the gateway   POST /v1/payments · GET /v1/payments/<reference> · POST /v1/refunds · GET /v1/refunds/<reference>
//                 POST /v1/messages · GET /v1/names/<number> · GET /v1/book (for tests)
//   read a phone  GET /phones/<number> · GET /phones/<number>/news?version=&wait_ms=
//   use a phone   POST /phones/<number>/answer/<id> · cancel/<id> · ignore/<id> · expire/<id> · switch · dial · pay
//   scripts       GET, POST, DELETE /script
//   callbacks     POST, GET /sandbox/callbacks, where this process also has the built-in receiver

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { formatAmount } from '../platform/money.ts';
import type { BookEntry } from './book.ts';
import type { OperatorCalls } from './calls.ts';
import { registeredName } from './names.ts';
import { describeFact, paymentReply } from './operator-callbacks.ts';
import { CALLBACKS_PATH, RECEIVED_LIMIT_BYTES, type ReceivedCallbacks, serveReceived } from './received-callbacks.ts';
import { NOT_REFUNDABLE, type RefundAnswer } from './refunds.ts';
import { type CallName, readScript, ScriptError, type Scripts } from './scripts.ts';
import { readAmount, readMsisdn, readRefund, readSubmission, SubmissionError } from './submissions.ts';
import type { PhoneView, TestPhone } from './test-phone.ts';
import { injectFault, leaveUnanswered } from './wire-faults.ts';

const MAX_BODY_BYTES = 64 * 1024;
const DEFAULT_WAIT_MS = 25_000;

export interface OperatorServer {
  readonly url: string;
  close(): Promise<void>;
}

export type OperatorServerOptions = {
  calls: OperatorCalls;
  phone: TestPhone;
  scripts: Scripts;
  book: () => Promise<BookEntry[]>;
  log: Logger;
  port: number;
  silenceMs: number;
  /** Null: the built-in receiver is in another process. */
  received: ReceivedCallbacks | null;
};

type Answer = { status: number; body: unknown } | 'silence';

/** A request that the operator refuses, with the status and error code of its response. */
class RequestError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function serveOperator(options: OperatorServerOptions): Promise<OperatorServer> {
  const server = createServer((request, response) => void handle(options, request, response));
  server.requestTimeout = 10_000;
  server.headersTimeout = 5_000;
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(options: OperatorServerOptions, request: IncomingMessage, response: ServerResponse) {
  try {
    const path = request.url ?? '/';
    if (options.received && path.startsWith(CALLBACKS_PATH)) {
      const bytes = request.method === 'POST' ? await readBytes(request, RECEIVED_LIMIT_BYTES) : Buffer.alloc(0);
      return await serveReceived(options.received, request, response, bytes);
    }
    const body = request.method === 'POST' ? readJson(await readBytes(request, MAX_BODY_BYTES)) : null;
    const answer = path.startsWith('/v1/')
      ? await serveGateway(options, request.method ?? '', path, body, response)
      : await servePhoneAndScripts(options, request, response, path, body);
    if (answer === 'silence') leaveUnanswered(response, options.silenceMs);
    else if (answer !== null) send(response, answer.status, answer.body);
  } catch (error) {
    if (error instanceof RequestError) send(response, error.status, { error: error.code, message: error.message });
    else if (error instanceof SubmissionError || error instanceof ScriptError)
      send(response, 400, { error: 'not_understood', message: error.message });
    else {
      options.log.warn({ err: error }, 'the simulated operator failed');
      send(response, 500, { error: 'internal', message: 'The simulated operator failed.' });
    }
  }
}

/** The calls of the gateway. Null: a scripted wire fault has already sent the response. */
function serveGateway(
  options: OperatorServerOptions,
  method: string,
  path: string,
  body: unknown,
  response: ServerResponse,
): Promise<Answer | null> {
  const [, , resource, id = ''] = path.split('/').map((part) => decodeURIComponent(part));
  const faulty: WithWireFault = (call, msisdn, work) => withWireFault(options, response, call, msisdn, work);
  switch (`${method} ${resource}${id === '' ? '' : '/'}`) {
    case 'POST payments':
      return acceptPayment(options.calls, faulty, body);
    case 'GET payments/':
      return reportPayment(options.calls, faulty, id);
    case 'POST refunds':
      return acceptRefund(options.calls, faulty, body);
    case 'GET refunds/':
      return reportRefund(options.calls, faulty, id);
    case 'POST messages':
      return acceptMessage(options.calls, faulty, body);
    case 'GET names/':
      return reportName(faulty, readMsisdn(id));
    case 'GET book':
      return printBook(options.book);
    default:
      throw new RequestError(404, 'no_such_path', 'No such path.');
  }
}

type WithWireFault = (call: CallName, msisdn: string | null, work: () => Promise<Answer>) => Promise<Answer | null>;

const CONFLICT = { error: 'reference_conflict', message: 'Something else has this reference.' };

function acceptPayment(calls: OperatorCalls, faulty: WithWireFault, body: unknown): Promise<Answer | null> {
  const submission = readSubmission(body);
  return faulty('submit', submission.msisdn, async () => {
    const result = await calls.submit(submission);
    if (result.answer === 'silence') return 'silence';
    if (result.answer === 'conflict') return { status: 409, body: CONFLICT };
    return { status: 200, body: paymentReply(result.payment) };
  });
}

async function reportPayment(calls: OperatorCalls, faulty: WithWireFault, id: string): Promise<Answer | null> {
  const payment = await calls.query(id);
  return faulty('query', payment?.msisdn ?? null, async () =>
    payment
      ? { status: 200, body: paymentReply(payment) }
      : { status: 404, body: { error: 'payment_not_found', message: 'No payment has this reference.' } },
  );
}

async function acceptRefund(calls: OperatorCalls, faulty: WithWireFault, body: unknown): Promise<Answer | null> {
  const submission = readRefund(body);
  const payment = await calls.query(submission.paymentReference);
  return faulty('refund', payment?.msisdn ?? null, async () => printRefund(await calls.submitRefund(submission)));
}

function printRefund(result: RefundAnswer): Answer {
  if (result.answer === 'silence') return 'silence';
  if (result.answer === 'conflict') return { status: 409, body: CONFLICT };
  if (result.refund.failureCode !== NOT_REFUNDABLE) return { status: 200, body: describeFact(result.refund) };
  const message = 'Only a collection that succeeded can be refunded, up to what is left of it.';
  return { status: 409, body: { error: 'not_refundable', reference: result.refund.reference, message } };
}

async function reportRefund(calls: OperatorCalls, faulty: WithWireFault, id: string): Promise<Answer | null> {
  const refund = await calls.queryRefund(id);
  return faulty('query', refund?.msisdn ?? null, async () =>
    refund
      ? { status: 200, body: describeFact(refund) }
      : { status: 404, body: { error: 'refund_not_found', message: 'No refund has this reference.' } },
  );
}

function acceptMessage(calls: OperatorCalls, faulty: WithWireFault, body: unknown): Promise<Answer | null> {
  const message = fields(body);
  const msisdn = readMsisdn(message.get('msisdn'));
  return faulty('message', msisdn, async () => {
    await calls.sendMessage(msisdn, text(message, 'sender'), text(message, 'text'));
    return { status: 200, body: { sent: true } };
  });
}

function reportName(faulty: WithWireFault, msisdn: string): Promise<Answer | null> {
  const name = registeredName(msisdn);
  return faulty('name', msisdn, async () =>
    name
      ? { status: 200, body: { msisdn, name } }
      : { status: 404, body: { error: 'name_not_found', message: 'This number is not registered.' } },
  );
}

async function printBook(book: OperatorServerOptions['book']): Promise<Answer> {
  const entries = (await book()).map((entry) => ({
    currency: entry.currency,
    collected: formatAmount(entry.collected),
    unmatched: formatAmount(entry.unmatched),
    paid_out: formatAmount(entry.paidOut),
    refunded: formatAmount(entry.refunded),
    collections_reversed: formatAmount(entry.collectionsReversed),
    payouts_reversed: formatAmount(entry.payoutsReversed),
    balance: formatAmount(entry.balance),
  }));
  return { status: 200, body: { book: entries } };
}

/** Does the work unless a script injects a fault before it; a fault `*_after` spoils only the response. */
async function withWireFault(
  options: OperatorServerOptions,
  response: ServerResponse,
  call: CallName,
  msisdn: string | null,
  work: () => Promise<Answer>,
): Promise<Answer | null> {
  const fault = options.scripts.wireFault(call, msisdn);
  if (fault === null) return work();
  if (fault.endsWith('_after')) await work();
  injectFault(fault, response, options.silenceMs);
  return null;
}

/** The test phones and the scripts. */
async function servePhoneAndScripts(
  options: OperatorServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  body: unknown,
): Promise<Answer> {
  // Browsers send an Origin header: a page of another site must not operate the phones of this machine.
  if (request.headers.origin !== undefined) throw new RequestError(403, 'not_for_browsers', 'Not for browsers.');
  const url = new URL(path, 'http://operator');
  const [, root, subject = '', action = '', id = ''] = url.pathname.split('/').map((part) => decodeURIComponent(part));
  if (root === 'script' && subject === '') return serveScripts(options.scripts, request.method ?? '', url, body);
  if (root !== 'phones') throw new RequestError(404, 'no_such_path', 'No such path.');
  const msisdn = readMsisdn(subject);
  if (request.method === 'GET') {
    if (action === '') return { status: 200, body: printView(await options.phone.view(msisdn)) };
    if (action !== 'news') throw new RequestError(404, 'no_such_path', 'No such path.');
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const version = Number(url.searchParams.get('version') ?? 0);
    const waitMs = Number(url.searchParams.get('wait_ms') ?? DEFAULT_WAIT_MS) || 0;
    return { status: 200, body: printView(await options.phone.waitForChange(msisdn, version, waitMs, gone.signal)) };
  }
  if (request.method !== 'POST') throw new RequestError(405, 'wrong_method', 'Wrong method.');
  const result = await usePhone(options.phone, msisdn, action, id, fields(body));
  return { status: result.ok ? 200 : 409, body: result };
}

function usePhone(phone: TestPhone, msisdn: string, action: string, id: string, given: Map<string, unknown>) {
  switch (action) {
    case 'answer':
      return phone.answer(msisdn, id, text(given, 'pin'));
    case 'cancel':
      return phone.cancel(msisdn, id);
    case 'ignore':
      return phone.ignore(msisdn, id);
    case 'expire':
      return phone.expire(msisdn, id);
    case 'switch':
      return phone.switchTo(msisdn, given.get('on') === true);
    case 'dial':
      return phone.dial(msisdn, text(given, 'code'));
    case 'pay':
      return phone.pay(msisdn, {
        to: text(given, 'to'),
        accountReference: text(given, 'account_reference'),
        amount: readAmount(given.get('amount')),
        currency: text(given, 'currency'),
      });
    default:
      throw new RequestError(404, 'no_such_path', 'No such path.');
  }
}

function serveScripts(scripts: Scripts, method: string, url: URL, body: unknown): Answer {
  if (method === 'POST') scripts.add(readScript(body));
  else if (method === 'DELETE') scripts.clear(url.searchParams.get('msisdn') ?? undefined);
  else if (method !== 'GET') throw new RequestError(405, 'wrong_method', 'Wrong method.');
  return { status: 200, body: { scripts: scripts.list() } };
}

/** A phone as JSON. */
export function printView(view: PhoneView) {
  return {
    msisdn: view.msisdn,
    is_on: view.isOn,
    version: view.version,
    messages: view.messages,
    prompts: view.prompts.map((prompt) => ({
      id: prompt.id,
      method: prompt.method,
      operator: prompt.operator,
      label: prompt.merchantName,
      amount: formatAmount(prompt.amount),
      currency: prompt.currency,
      text: prompt.text,
      state: prompt.state,
      dial_code: prompt.dialCode,
      pay_to: prompt.payTo,
      account_reference: prompt.accountReference,
      expires_at: prompt.expiresAt,
      at: prompt.at,
    })),
  };
}

/** Uses events because an asynchronous iterator over the request costs several times as much. */
function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else reject(new RequestError(413, 'too_large', 'The body is too large.'));
    });
    request.on('error', reject);
    request.on('end', () => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first ? first : Buffer.concat(chunks));
    });
  });
}

function readJson(bytes: Buffer): unknown {
  try {
    return bytes.length === 0 ? {} : JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new RequestError(400, 'not_understood', 'The body is not JSON.');
  }
}

function fields(body: unknown): Map<string, unknown> {
  return new Map(typeof body === 'object' && body !== null ? Object.entries(body) : []);
}

/** A field as text; empty if it is missing or not a string. */
function text(given: Map<string, unknown>, name: string): string {
  const value = given.get(name);
  return typeof value === 'string' ? value : '';
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed || response.headersSent) return;
  // A string body lets Node send head and body in one write.
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, headers).end(text);
}
