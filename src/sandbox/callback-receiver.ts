// The built-in receiver of callbacks at /sandbox/callbacks, in sandbox mode only: POST takes a callback, GET shows the
// last ones and whether each signature is valid.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../platform/context.ts';
import type { Problem } from '../platform/errors.ts';
import { html, problemText, sendCompressed, sendPage } from '../platform/html.ts';
import type { HttpServer } from '../platform/http.ts';
import { CALLBACKS_PATH, RECEIVED_LIMIT_BYTES, type ReceivedCallbacks, readHeaders } from './received-callbacks.ts';
import { receivedPage } from './received-page.ts';
import { sandboxPage } from './sandbox-layout.ts';

const MAX_FILTER_CHARACTERS = 100;

export function callbackReceiverRoutes(app: HttpServer, ctx: Context, callbacks: ReceivedCallbacks): void {
  if (ctx.config.mode !== 'sandbox') return;
  app.register((scope, _options, done) => {
    // A signature covers the exact bytes, so the body is not parsed.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: RECEIVED_LIMIT_BYTES }, (_request, body, parsed) =>
      parsed(null, body),
    );
    scope.post(CALLBACKS_PATH, async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const { number, verified } = await callbacks.receive({ headers: readHeaders(request), body });
      return reply.code(200).send({ received: true, number, verified });
    });
    const config = {
      problemPage: (problem: Problem, _request: FastifyRequest, reply: FastifyReply) =>
        problemText(reply, sandboxPage(ctx.config, { title: problem.message, active: 'callbacks', body: html`` })),
    };
    scope.get(CALLBACKS_PATH, { config }, async (request, reply) => {
      const query = request.query as Record<string, unknown>;
      const text = typeof query.q === 'string' ? query.q.trim().slice(0, MAX_FILTER_CHARACTERS) : '';
      const data = await callbacks.list(Number(query.after) || 0, text);
      if (!/\bapplication\/json\b/.test(request.headers.accept ?? ''))
        return sendPage(request, reply, receivedPage(ctx.config, data, text));
      void reply.header('Cache-Control', 'no-store').type('application/json; charset=utf-8');
      return sendCompressed(request, reply, JSON.stringify({ success: true, message: 'Arrivals retrieved.', data }));
    });
    done();
  });
}
