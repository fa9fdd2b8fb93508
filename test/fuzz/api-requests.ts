// Requests to the operations of OpenAPI, made from their own schemas: mostly right, signed as the program would sign them,
// then changed.

import { createHmac } from 'node:crypto';
import { canonicalEnvelope } from '../../src/holders/envelope.ts';
import { type JsonObject, parseStrictJson } from '../../src/platform/strict-json.ts';
import type { Random } from '../simulation/random.ts';
import type { Fixture } from './fixture.ts';
import type { FuzzRequest } from './transport.ts';
import {
  type Document,
  damage,
  documentOf,
  encodePart,
  hostileText,
  mutate,
  NUMBERS,
  writeDocument,
} from './values.ts';

type Schema = {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
};

export type Operation = {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly in: string; readonly name: string }[];
  readonly body: Schema | null;
  readonly needsToken: boolean;
};

type OpenApi = {
  readonly paths: Readonly<
    Record<
      string,
      Record<
        string,
        {
          parameters?: Operation['parameters'];
          requestBody?: { content: { 'application/json'?: { schema: Schema } } };
          security?: readonly Record<string, unknown>[];
        }
      >
    >
  >;
};

export function operationsOf(api: OpenApi): Operation[] {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content['application/json']?.schema ?? null,
      needsToken: operation.security?.some((scheme) => 'bearerAuth' in scheme) ?? false,
    })),
  );
}

/** Right values by the name of the field, in the words of this fixture. */
function rightValue(random: Random, fixture: Fixture, name: string): unknown {
  switch (name) {
    case 'client_id':
      return fixture.client.shop.clientId;
    case 'secret_key':
      return random.chance(0.5) ? fixture.client.shop.secretKey : 'wrong';
    case 'sender':
      return fixture.client.shop.title;
    case 'timestamp':
      return Math.floor(fixture.gateway.ctx.clock.millis() / 1000);
    case 'salt':
      return `s${random.int(0, 2 ** 31)}`;
    case 'id':
    case 'cursor':
    case 'after':
      return someId(random, fixture);
    case 'amount':
      return random.pick([500, 2500, '2500', 100.5, '1', 1_000_000]);
    case 'mobile':
    case 'phone':
      return `256772${random.int(100, 999)}${random.pick(['000', '001', '002', '003', '005', '009', '010', '012', '020'])}`;
    case 'country_id':
    case 'currency_country_id':
      return random.chance(0.8) ? 11 : random.int(0, 20);
    case 'currency':
      return random.chance(0.8) ? 'UGX' : random.pick(['KES', 'XOF', 'ZMW', 'TZS', 'USD']);
    case 'token':
      return String(random.int(0, 999_999)).padStart(6, '0');
    case 'callback_url':
    case 'redirection_url':
      return 'http://127.0.0.1:9/callback';
    case 'since':
    case 'expires_at':
      return random.pick(['2026-03-01T00:00:00Z', '2030-01-01T00:00:00Z']);
    case 'from':
    case 'to':
      return random.pick(['2026-03-01', '2026-03-02', '2026-03-31', '2026-02-30']);
    case 'format':
      return random.pick(['csv', 'xlsx', 'pdf', 'doc']);
    case 'email':
      return 'payer@example.org';
    case 'wallet_account':
      return random.int(1, 60);
    case 'limit':
      return random.int(1, 100);
    case 'accent_colour':
      return '#123abc';
    default:
      return undefined;
  }
}

export function someId(random: Random, fixture: Fixture): string {
  if (random.chance(0.2)) return random.pick(fixture.foreign.ids);
  return fixture.ids.length === 0 || random.chance(0.08) ? hostileText(random) : random.pick(fixture.ids);
}

function schemaValue(random: Random, fixture: Fixture, name: string, schema: Schema): unknown {
  const right = rightValue(random, fixture, name);
  if (right !== undefined) return right;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  if (schema.anyOf) return schemaValue(random, fixture, name, random.pick(schema.anyOf));
  if (schema.properties) return objectOf(random, fixture, schema);
  if (schema.type === 'boolean') return random.chance(0.5);
  if (schema.type === 'integer' || schema.type === 'number') return random.int(0, 2_000);
  return schema.type === 'null' ? null : random.pick(['order-1042', 'Ama', 'hello', 'MTN MoMo', hostileText(random)]);
}

function objectOf(random: Random, fixture: Fixture, schema: Schema): JsonObject {
  const members = Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== 'signature' && (schema.required?.includes(name) || random.chance(0.4)))
    .map(([name, each]) => [name, schemaValue(random, fixture, name, each)] as const);
  return Object.fromEntries(members) as JsonObject;
}

export function apiRequest(random: Random, fixture: Fixture, operation: Operation): FuzzRequest {
  const isSigned = operation.body?.properties?.signature !== undefined;
  const body = operation.body === null ? null : bodyOf(random, fixture, operation.body, isSigned);
  const query = operation.parameters
    .filter((each) => each.in === 'query' && random.chance(0.5))
    .map(({ name }) => `${name}=${encodePart(random, queryValue(random, fixture, name))}`);
  const path = operation.path.replace(/\{\w+\}/g, () => encodePart(random, someId(random, fixture)));
  return {
    method: operation.method,
    url: path + (query.length > 0 ? `?${query.join('&')}` : ''),
    headers: {
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(operation.needsToken ? { authorization: `Bearer ${tokenOf(random, fixture)}` } : {}),
      ...(random.chance(0.05) ? { 'x-api-key': tokenOf(random, fixture) } : {}),
      ...(random.chance(0.1)
        ? { 'idempotency-key': random.chance(0.7) ? `key-${random.int(0, 9)}` : 'k'.repeat(129) }
        : {}),
    },
    body,
    caller: 'program',
    way: 'entry',
    address: '127.0.0.1',
  };
}

function queryValue(random: Random, fixture: Fixture, name: string): string {
  if (random.chance(0.3)) return random.chance(0.5) ? hostileText(random) : random.pick(NUMBERS);
  const right = rightValue(random, fixture, name);
  return typeof right === 'string' || typeof right === 'number'
    ? String(right)
    : random.pick(['active', 'paid', 'expired', 'x']);
}

function tokenOf(random: Random, fixture: Fixture): string {
  if (random.chance(0.92)) return fixture.token;
  return random.pick([
    '1',
    '|x',
    '1|',
    '01|x',
    `9223372036854775808|${'x'.repeat(48)}`,
    `1|${'x'.repeat(48)}`,
    '1|x|y',
    'ü',
  ]);
}

/** The body, changed up to three times, then signed if it still is what can be signed. */
function bodyOf(random: Random, fixture: Fixture, schema: Schema, isSigned: boolean): Buffer {
  let document = documentOf(objectOf(random, fixture, schema));
  for (let left = random.pick([0, 0, 1, 1, 2, 3]); left > 0; left--)
    document = random.chance(0.6) ? mutateParams(random, document) : mutate(random, document);
  let text = writeDocument(document);
  if (isSigned) text = sign(fixture, text, random);
  return random.chance(0.03) ? damage(random, text) : Buffer.from(text);
}

/** The members of `params` are what the operation reads; what is around them is refused earlier. */
function mutateParams(random: Random, document: Document): Document {
  if (!('members' in document)) return mutate(random, document);
  return { members: document.members.map(([key, value]) => [key, key === 'params' ? mutate(random, value) : value]) };
}

function sign(fixture: Fixture, text: string, random: Random): string {
  if (!text.startsWith('{') || text === '{}') return text;
  let signature = 'f'.repeat(64);
  try {
    const canonical = canonicalEnvelope(parseStrictJson(Buffer.from(text)) as JsonObject);
    if (random.chance(0.98))
      signature = createHmac('sha256', fixture.client.shop.secretKey).update(canonical).digest('hex');
  } catch {
    // Nobody can sign this: it is sent with a signature that is wrong.
  }
  return `${text.slice(0, -1)},"signature":"${signature}"}`;
}
