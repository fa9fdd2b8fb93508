// JSON bodies that may be large, because they carry a picture. A signature is checked over the parsed body, so parsing comes
// before anybody is known. Therefore what is over the usual size is only read for a `client_id` that exists, found by a
// search in a bounded part of the bytes, few at a time, and not from an address that sent many wrong ones.

import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addressShareOf, BODY_LIMIT_BYTES } from './admission.ts';
import type { Context } from './context.ts';
import { Problem } from './errors.ts';
import { parseJsonBody } from './json-body.ts';
import { createFailureCounter } from './rate-limit.ts';

/** Large bodies that are read at the same time. Each takes up to the limit of the route in memory. */
const MAX_AT_ONCE = 16;
const MAX_AT_ONCE_PER_ADDRESS = 4;
/** An address that sent this many large bodies with a wrong signature in a minute may send no more of them. */
const WRONG_PER_MINUTE = 10;
/** A raw quote cannot be inside a JSON string, so this finds a member and never text. */
const CLIENT_ID = /"client_id"[ \t\r\n]*:[ \t\r\n]*"([^"\\]{1,256})"/;

export type LargeJsonOptions = {
  limitBytes: number;
  isKnownClient(clientId: string): Promise<boolean>;
  /** How the operation refuses a `client_id` that does not exist. */
  unknownClient(): Problem;
};

declare module 'fastify' {
  interface FastifyRequest {
    hasLargeBody?: true;
  }
}

/** Lets the routes of this scope (an encapsulated one: `app.register`) read large JSON. */
export function parseLargeJson(scope: FastifyInstance, ctx: Context, options: LargeJsonOptions): void {
  const wrong = createFailureCounter(ctx.clock, 60);
  const reading = new Map<string | null, number>();
  let total = 0;

  function begin(request: FastifyRequest): () => void {
    const address = addressShareOf(request);
    if (address !== null && wrong.count(address) >= WRONG_PER_MINUTE)
      throw new Problem('rate_limited', { retryAfterSeconds: 60 });
    const ofAddress = reading.get(address) ?? 0;
    if (total >= MAX_AT_ONCE || (address !== null && ofAddress >= MAX_AT_ONCE_PER_ADDRESS))
      throw new Problem('overloaded', { retryAfterSeconds: 1 });
    request.hasLargeBody = true;
    total++;
    reading.set(address, ofAddress + 1);
    return () => {
      total--;
      const left = (reading.get(address) ?? 1) - 1;
      if (left > 0) reading.set(address, left);
      else reading.delete(address);
    };
  }

  scope.removeContentTypeParser('application/json');
  scope.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    let end: (() => void) | null = null;
    try {
      const beginOnce = () => {
        end ??= begin(request);
      };
      const body = await gather(payload, Number(request.headers['content-length'] ?? 0), options, beginOnce);
      return parseJsonBody(request, body);
    } finally {
      (end as (() => void) | null)?.();
    }
  });
  scope.addHook('onResponse', (request, reply, done) => {
    const address = addressShareOf(request);
    if (request.hasLargeBody && reply.statusCode === 403 && address !== null) wrong.add(address);
    done();
  });
}

/** The bytes of the body. `beginLarge` is called, and the client is looked for, as soon as it is over the usual size. */
async function gather(
  payload: IncomingMessage,
  declaredBytes: number,
  options: LargeJsonOptions,
  beginLarge: () => void,
): Promise<Buffer> {
  if (declaredBytes > options.limitBytes) throw new Problem('body_too_large');
  if (declaredBytes > BODY_LIMIT_BYTES) beginLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  let clientFound: boolean | null = null;
  // The stream stays open when the loop ends early, so that the refusal can be sent.
  for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > options.limitBytes) throw new Problem('body_too_large');
    if (length <= BODY_LIMIT_BYTES || clientFound !== null) continue;
    beginLarge();
    clientFound = await findClient(Buffer.concat(chunks).subarray(0, BODY_LIMIT_BYTES), options);
  }
  const body = Buffer.concat(chunks, length);
  // The members have no order, so the client may be named after the picture.
  if (clientFound === false && !(await findClient(body.subarray(-BODY_LIMIT_BYTES), options)))
    throw options.unknownClient();
  return body;
}

/** Whether these bytes name a client that exists; throws when they name one that does not. */
async function findClient(bytes: Buffer, options: LargeJsonOptions): Promise<boolean> {
  const clientId = CLIENT_ID.exec(bytes.toString('latin1'))?.[1];
  if (clientId === undefined) return false;
  if (await options.isKnownClient(clientId)) return true;
  throw options.unknownClient();
}
