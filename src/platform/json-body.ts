// The body of a request as JSON: its content type, and the refusal of what the strict parser does not take.

import { Problem } from './errors.ts';
import { JsonError, type JsonValue, parseStrictJson } from './strict-json.ts';

const JSON_TYPE = /^application\/json(?:[ ]*;[ ]*charset=(?:utf-8|"utf-8"))?$/i;

export function parseJsonBody(contentType: string | undefined, body: Uint8Array): JsonValue {
  if (!JSON_TYPE.test(contentType ?? '')) throw new Problem('unsupported_media_type');
  try {
    return parseStrictJson(body);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const message = `The request body is not acceptable JSON: ${error.message}, at position ${error.position}.`;
    throw new Problem('invalid_json', { message, extra: { position: error.position } });
  }
}
