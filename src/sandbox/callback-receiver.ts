// The built-in receiver of callbacks at /sandbox/callbacks, in sandbox mode only: POST takes a callback, GET shows the
// last ones and whether each signature is valid. They are kept in memory.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../platform/context.ts';
import type { Problem } from '../platform/errors.ts';
import { html, problemText, sendCompressed, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { type ReceivedCallback, receivedPage } from './received-page.ts';
import { sandboxPage } from './sandbox-layout.ts';

export const CALLBACKS_PATH = '/sandbox/callbacks';
const BODY_LIMIT_BYTES = 256 * 1024;
const MAX_KEPT = 200;
const MAX_KEPT_BODY_BYTES = 65_536;
const SHOWN = 50;
const MAX_FILTER_CHARACTERS = 100;

export type ReceivedRequest = { headers: Record<string, string>; body: Buffer };

/** Verifies the signature of a callback. Given by app.ts: the sandbox knows neither events nor secrets. */
export type CheckCallback = (
  request: ReceivedRequest,
) => Promise<{ verified: true } | { verified: false; why: string }>;

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
        problemText(reply, sandboxPage(ctx.config, { title: problem.message, active: 'callbacks', body: html`` })),
    };
    scope.get(CALLBACKS_PATH, { config }, (request, reply) => {
      const query = request.query as Record<string, unknown>;
      const after = Number(query.after) || 0;
      const text = typeof query.q === 'string' ? query.q.trim().slice(0, MAX_FILTER_CHARACTERS) : '';
      const data = received.filter(({ number, body }) => number > after && body.includes(text)).slice(0, SHOWN);
      if (!/\bapplication\/json\b/.test(request.headers.accept ?? ''))
        return sendPage(request, reply, receivedPage(ctx.config, data, text));
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
