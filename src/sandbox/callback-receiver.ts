// The built-in receiver of callbacks at /sandbox/callbacks, in sandbox mode only: POST takes a callback, GET shows the
// last ones and whether each signature is valid. They are kept in memory.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../platform/context.ts';
import type { Problem } from '../platform/errors.ts';
import { type Html, type HtmlPage, html, problemText, sendCompressed, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { PHONE_STYLE } from './phone-page.ts';

export const CALLBACKS_PATH = '/sandbox/callbacks';
const BODY_LIMIT_BYTES = 256 * 1024;
const MAX_KEPT = 200;
const MAX_KEPT_BODY_BYTES = 65_536;
const SHOWN = 50;
/** The headers that verification needs, and those that help to find a mistake. */
const SHOWN_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-type', 'user-agent'];

export type ReceivedRequest = { headers: Record<string, string>; body: Buffer };

/** Verifies the signature of a callback. Given by app.ts: the sandbox knows neither events nor secrets. */
export type CheckCallback = (
  request: ReceivedRequest,
) => Promise<{ verified: true } | { verified: false; why: string }>;

type ReceivedCallback = {
  /** Counts up, so that a client can ask for what is new. */
  number: number;
  at: Date;
  headers: Record<string, string>;
  body: string;
  verdict: Awaited<ReturnType<CheckCallback>>;
};

export function callbackReceiverRoutes(app: HttpServer, ctx: Context, check: CheckCallback): void {
  if (ctx.config.mode !== 'sandbox') return;
  const received: ReceivedCallback[] = [];
  let count = 0;

  async function receive(request: FastifyRequest): Promise<ReceivedCallback> {
    const headers = readHeaders(request);
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const verdict = await check({ headers, body });
    const text = body.subarray(0, MAX_KEPT_BODY_BYTES).toString('utf8');
    const callback = { number: ++count, at: ctx.clock.now(), headers, body: text, verdict };
    received.unshift(callback);
    if (received.length > MAX_KEPT) received.pop();
    return callback;
  }

  app.register((scope, _options, done) => {
    // A signature covers the exact bytes, so the body is not parsed.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES }, (_request, body, parsed) =>
      parsed(null, body),
    );
    scope.post(CALLBACKS_PATH, async (request, reply) => {
      const { number, verdict } = await receive(request);
      return reply.code(200).send({ received: true, number, verified: verdict.verified });
    });
    const config = {
      problemPage: (problem: Problem, _request: FastifyRequest, reply: FastifyReply) =>
        problemText(reply, { ...callbacksPage([]), body: html`<header><h1>${problem.message}</h1></header>` }),
    };
    scope.get(CALLBACKS_PATH, { config }, (request, reply) => {
      const after = Number((request.query as Record<string, unknown>).after) || 0;
      const data = received.filter(({ number }) => number > after).slice(0, SHOWN);
      if (!/\bapplication\/json\b/.test(request.headers.accept ?? ''))
        return sendPage(request, reply, callbacksPage(data));
      void reply.header('Cache-Control', 'no-store').type('application/json; charset=utf-8');
      return sendCompressed(request, reply, JSON.stringify({ success: true, message: 'Arrivals retrieved.', data }));
    });
    done();
  });
}

/** Every header as one text, by its lower-case name. */
function readHeaders(request: FastifyRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  return headers;
}

function callbacksPage(callbacks: readonly ReceivedCallback[]): HtmlPage {
  return {
    language: 'en',
    title: 'Received callbacks',
    styles: [PHONE_STYLE],
    body: html`
      <header>
        <h1>Received callbacks</h1>
        <p>
          A receiver like yours: it keeps what the gateway sends to <code>${CALLBACKS_PATH}</code> and checks each signature.
          The newest is on top; <a href="${CALLBACKS_PATH}">reload</a> for more.
        </p>
      </header>
      <main class="callbacks">
        ${
          callbacks.length === 0
            ? html`<p class="muted">No callbacks yet. Make a payment, then reload this page.</p>`
            : callbacks.map(callbackCard)
        }
      </main>
    `,
  };
}

function callbackCard({ number, at, headers, body, verdict }: ReceivedCallback): Html {
  const shownHeaders = SHOWN_HEADERS.filter((name) => headers[name] !== undefined);
  return html`
    <section class="callback" aria-label="Callback ${number}">
      <h2>${number}. ${typeOf(body)} <span class="muted">${at.toISOString()}</span></h2>
      <p class="notice${!verdict.verified && ' error'}">
        ${verdict.verified ? 'The signature is valid.' : `Not verified: ${verdict.why}`}
      </p>
      <pre>${shownHeaders.map((name) => `${name}: ${headers[name]}\n`)}</pre>
      <pre>${indented(body)}</pre>
    </section>
  `;
}

function typeOf(body: string): string {
  return /"type":"([a-z_.]{1,40})"/.exec(body)?.[1] ?? 'not an event';
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
