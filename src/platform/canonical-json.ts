// RFC 8785 canonical JSON: the bytes both sides sign. Written here because a picture may be in the body: the library that the test
// compares with looks at each of its characters, which takes as long as everything else that is done with such a body.

import type { JsonObject, JsonValue } from './strict-json.ts';

/** The canonical text of an object. The strict parser has already refused what has no canonical form. */
export function canonicalJson(value: JsonObject): string {
  return writeValue(value);
}

/** JSON.stringify writes numbers and strings as the RFC wants them. Members are sorted by their UTF-16 code units. */
function writeValue(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(writeValue).join(',')}]`;
  if (typeof value === 'string' && !value.isWellFormed()) throw new Error('a lone surrogate has no canonical JSON');
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${value} has no canonical JSON`);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${writeValue(key)}:${writeValue(value[key] ?? null)}`);
  return `{${members.join(',')}}`;
}
