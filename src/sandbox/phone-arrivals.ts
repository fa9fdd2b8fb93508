// The built-in receiver of callbacks, for the sandbox: POST takes one, GET shows what arrived and whether its signature
// holds. What keeps and verifies arrivals is given by whoever puts the gateway together.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../platform/context.ts';
import type { Problem } from '../platform/errors.ts';
import { type Html, type HtmlPage, html, problemText, sendCompressed, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { PHONE_STYLE } from './phone-page.ts';

const PATH = '/sandbox/callbacks';
const BODY_LIMIT_BYTES = 256 * 1024;
const SHOWN = 50;
/** The headers that matter to whoever verifies. */
const SHOWN_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-type', 'user-agent'];

export type ShownArrival = {
  number: number;
  at: Date;
  headers: Readonly<Record<string, string>>;
  body: string;
  verdict: { verified: true } | { verified: false; why: string };
};

export type Arrivals = {
  record: (request: { headers: FastifyRequest['headers']; body: Buffer }) => Promise<ShownArrival>;
  /** Newest first. */
  list: (after: number) => ShownArrival[];
};

export function arrivalRoutes(app: HttpServer, ctx: Context, arrivals: Arrivals): void {
  if (ctx.config.mode !== 'sandbox') return;
  app.register((scope, _options, done) => {
    // A signature is about bytes: whatever comes is kept as it came.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES }, (_request, body, parsed) =>
      parsed(null, body),
    );
    scope.post(PATH, async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const arrival = await arrivals.record({ headers: request.headers, body });
      return reply.code(200).send({ received: true, number: arrival.number, verified: arrival.verdict.verified });
    });
    const config = {
      problemPage: (problem: Problem, _request: FastifyRequest, reply: FastifyReply) =>
        problemText(reply, { ...page([]), body: html`<header><h1>${problem.message}</h1></header>` }),
    };
    scope.get(PATH, { config }, (request, reply) => {
      const after = Number((request.query as Record<string, unknown>).after) || 0;
      const shown = arrivals.list(after).slice(0, SHOWN);
      if (!/\bapplication\/json\b/.test(request.headers.accept ?? '')) return sendPage(request, reply, page(shown));
      void reply.header('Cache-Control', 'no-store').type('application/json; charset=utf-8');
      const data = shown.map(({ number, at, headers, body, verdict }) => ({ number, at, headers, body, verdict }));
      return sendCompressed(request, reply, JSON.stringify({ success: true, message: 'Arrivals retrieved.', data }));
    });
    done();
  });
}

function page(shown: readonly ShownArrival[]): HtmlPage {
  return {
    language: 'en',
    title: 'Callbacks that arrived',
    styles: [PHONE_STYLE],
    body: html`<header><h1>Callbacks that arrived</h1><p>A receiver like yours: it keeps what the gateway sends to <code>${PATH}</code> and checks each signature. The newest is on top; <a href="${PATH}">load again</a> for more.</p></header>
<main class="callbacks">${shown.length === 0 ? html`<p class="muted">Nothing has arrived yet. Pay something, then load this page again.</p>` : shown.map(card)}</main>`,
  };
}

function card({ number, at, headers, body, verdict }: ShownArrival): Html {
  return html`<section class="callback" aria-label="Callback ${number}"><h2>${number}. ${typeOf(body)} <span class="muted">${at.toISOString()}</span></h2>
<p class="notice${!verdict.verified && ' error'}">${verdict.verified ? 'The signature is right.' : `Not verified: ${verdict.why}`}</p>
<pre>${SHOWN_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [`${name}: ${headers[name]}\n`]))}</pre><pre>${pretty(body)}</pre></section>`;
}

function typeOf(body: string): string {
  return /"type":"([a-z_.]{1,40})"/.exec(body)?.[1] ?? 'not an event';
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
