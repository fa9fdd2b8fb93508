// The body of a request as JSON: its content type, and the refusal of what the strict parser does not take.

import { Problem } from './errors.ts';
import { type CanonicalMember, JsonError, type JsonValue, readStrictJson } from './strict-json.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a JSON body that is an object: the canonical text of each member, which callers sign. */
    canonicalMembers?: readonly CanonicalMember[];
  }
}

const JSON_TYPE = /^application\/json(?:[ ]*;[ ]*charset=(?:utf-8|"utf-8"))?$/i;

type JsonRequest = {
  readonly headers: { readonly 'content-type'?: string | undefined };
  canonicalMembers?: readonly CanonicalMember[];
};

export function parseJsonBody(request: JsonRequest, body: Uint8Array): JsonValue {
  const contentType = request.headers['content-type'];
  // The usual one is compared before the expression looks at the others.
  if (contentType !== 'application/json' && !JSON_TYPE.test(contentType ?? ''))
    throw new Problem('unsupported_media_type');
  try {
    const { value, members } = readStrictJson(body);
    request.canonicalMembers = members;
    return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const message = `The request body is not acceptable JSON: ${error.message}, at position ${error.position}.`;
    throw new Problem('invalid_json', { message, extra: { position: error.position } });
  }
}
