// TypeScript types written from the OpenAPI document, for a test that compiles them against those of the client. Only
// what our document uses is understood; anything else is an error rather than a guess.

import type { SchemaObject } from '../src/docs/openapi.ts';

type Json = Record<string, unknown>;
export type Document = {
  paths: Record<string, Record<string, Json & { operationId?: string }>>;
  components: { schemas: Record<string, SchemaObject> };
  webhooks: Record<string, unknown>;
};

/** What stands at a JSON pointer such as `/paths/~1api/post`, counted from `from`; references on the way are followed. */
export function at(document: Document, pointer: string, from: unknown = document): Json {
  let found = from;
  for (const key of pointer.split('/').slice(1)) {
    found = (found as Json | undefined)?.[key.replaceAll('~1', '/')];
    const reference = (found as Json | undefined)?.$ref;
    if (typeof reference === 'string') found = at(document, reference.slice(1));
  }
  if (typeof found !== 'object' || found === null) throw new Error(`the document has nothing at ${pointer}`);
  return found as Json;
}

/** The operation with this id, or an error: an operation that was renamed must not be skipped. */
export function operation(document: Document, id: string): Json {
  const all = Object.values(document.paths).flatMap((path) => Object.values(path));
  const found = all.find((each) => each.operationId === id);
  if (!found) throw new Error(`the document has no operation ${id}`);
  return found;
}

export function operationsOf(document: Document): string[] {
  return Object.values(document.paths)
    .flatMap((path) => Object.values(path))
    .flatMap(({ operationId }) => operationId ?? []);
}

export function typeOf(document: Document, schema: Json): string {
  const write = (inner: unknown) => typeOf(document, inner as Json);
  if (typeof schema.$ref === 'string') return write(at(document, schema.$ref.slice(1)));
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map((each) => `(${write(each)})`).join(' | ');
  if (Array.isArray(schema.oneOf)) return schema.oneOf.map((each) => `(${write(each)})`).join(' | ');
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...own } = schema;
    const parts = [...(allOf as Json[]), ...(own.properties ? [own] : [])];
    return parts.map((each) => `(${write(each)})`).join(' & ');
  }
  if (Array.isArray(schema.type)) return schema.type.map((type) => write({ ...schema, type })).join(' | ');
  if (schema.properties) return objectType(document, schema);
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'number':
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array':
      return `(${write(schema.items)})[]`;
    case 'object':
      return `{ [key: string]: ${typeof schema.additionalProperties === 'object' ? write(schema.additionalProperties) : 'unknown'} }`;
  }
  throw new Error(`no type for ${JSON.stringify(schema)}`);
}

function objectType(document: Document, schema: Json): string {
  const required = (schema.required ?? []) as string[];
  const members = Object.entries(schema.properties as Record<string, Json>).map(
    ([name, inner]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(document, inner)};`,
  );
  return `{ ${members.join(' ')} }`;
}
