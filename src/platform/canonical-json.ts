// RFC 8785 canonical JSON: the bytes both sides sign.

import canonicalize from 'canonicalize';
import type { JsonObject } from './strict-json.ts';

/** The canonical text of an object. The strict parser has already refused what has no canonical form. */
export function canonicalJson(value: JsonObject): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error('value has no canonical JSON');
  return text;
}
