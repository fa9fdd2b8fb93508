// The time of a sandbox: what it is, and a way to let some of it pass at once. See decision 37.

import type { FastifyRequest } from 'fastify';
import { HOUR_MS } from '../platform/clock.ts';
import type { Context } from '../platform/context.ts';
import { Problem } from '../platform/errors.ts';
import { field, formOf, parseForms, refuseForeignForm } from '../platform/forms.ts';
import type { HttpServer } from '../platform/http.ts';

/** The longest wait of the gateway: thirty days, after which a callback is given up. */
const MAX_SECONDS = (31 * 24 * HOUR_MS) / 1_000;

export type Forwarded = { payments: number; callbacks: number };
/** Lets time pass for whatever waits. */
export type ForwardTime = (ms: number) => Promise<Forwarded>;

export function clockRoutes(
  app: HttpServer,
  ctx: Context,
  forward: ForwardTime,
  phoneAddress: (request: FastifyRequest, message: string) => string,
): void {
  if (ctx.config.mode !== 'sandbox') return;
  app.register((scope, _options, done) => {
    parseForms(scope);
    scope.get('/sandbox/clock', async (_request, reply) => {
      void reply.header('Cache-Control', 'no-store');
      return { now: ctx.clock.now() };
    });
    scope.post('/sandbox/clock/forward', async (request, reply) => {
      refuseForeignForm(request);
      const seconds = readSeconds(field(formOf(request), 'seconds'));
      const moved = await forward(seconds * 1_000);
      const message = sentenceOf(moved);
      if (request.headers.accept === 'application/json')
        return reply.send({ ok: true, message, now: ctx.clock.now(), seconds, ...moved });
      return reply.redirect(phoneAddress(request, message), 303);
    });
    done();
  });
}

function readSeconds(text: string): number {
  const seconds = /^\d{1,8}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= MAX_SECONDS) return seconds;
  throw new Problem('invalid_params', { message: `seconds must be a whole number from 1 to ${MAX_SECONDS}.` });
}

function sentenceOf({ payments, callbacks }: Forwarded): string {
  if (payments + callbacks === 0) return 'Nothing is waiting.';
  return `Time has passed for what is waiting. Open payments: ${payments}. Callbacks: ${callbacks}.`;
}
