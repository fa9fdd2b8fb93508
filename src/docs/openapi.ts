// The OpenAPI 3.1 document: collected from the schemas of the routes, completed with what every route has in common
// (security, refusals, callbacks), and put in an order that does not depend on the order of registration.

import swagger from '@fastify/swagger';
import { fastify, type RouteOptions } from 'fastify';
import type { EventType } from '../callbacks/events.ts';
import type { ProblemMessages } from '../platform/api-schemas.ts';
import { type Config, publicUrl } from '../platform/config.ts';
import { PROBLEMS, type ProblemCode, suspendedMessage } from '../platform/errors.ts';
import { ONLY_COLLECTS_SCHEMAS } from '../platform/http.ts';
import { type KeyScope, missingScopeMessage, ROUTE_SCOPES } from '../platform/scopes.ts';

export const API_VERSION = '3.0.0';
const TITLE = 'Unified Payments API';
const REQUEST_ID = 'req_01JNAFQ7M0E9SRC45Y6Z8XKBDT';

const TAGS: { name: string; description: string }[] = [
  { name: 'Collections', description: 'Money from a customer’s mobile wallet.' },
  { name: 'Status', description: 'The status of one transaction.' },
  { name: 'Refunds', description: 'Money given back to the payer of a collection.' },
  { name: 'Balance', description: 'The wallets of the account.' },
  { name: 'Payment links', description: 'Hosted pages that anybody can pay on.' },
  { name: 'Callbacks', description: 'Events, to be polled; callbacks push the same events.' },
  { name: 'Discovery', description: 'Countries, methods, limits and fees.' },
  { name: 'Credentials', description: 'Tokens and signatures.' },
];

const DESCRIPTION = `Payment links, mobile-money collections, transaction status, balances.

Bodies are JSON. Signed operations take an envelope: client_id, sender, timestamp, salt, signature, params. The signature is
the lower-case hexadecimal HMAC-SHA256 of the RFC 8785 canonical JSON of the body without its signature, keyed with
secret_key; it works once. The other operations take a bearer token from POST /api/integration/get-token.

Every answer has success and message; a refusal has a code too, and each code has a page at /docs/errors/<code>;
the header Link with rel="help" has its address.`;

/** Refusals that any route may answer. */
const EVERYWHERE: ProblemMessages = { rate_limited: {}, overloaded: {}, database_unavailable: {}, internal: {} };
const forTokens = (config: Config): ProblemMessages => ({
  unauthenticated: {},
  address_not_allowed: {},
  account_not_found: {},
  account_suspended: { message: suspendedMessage(config) },
});
const WITH_BODY: ProblemMessages = {
  invalid_json: {},
  request_timeout: {},
  body_too_large: {},
  unsupported_media_type: {},
};
/** An operation that writes can lose the answer of a commit. */
const FOR_CHANGES: ProblemMessages = { outcome_unknown: {} };

export type SchemaObject = { [keyword: string]: unknown };
export type MediaObject = {
  schema?: SchemaObject;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
};
export type ResponseObject = {
  description: string;
  content?: Record<string, MediaObject>;
  headers?: Record<string, unknown>;
};
export type ParameterObject = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  example?: unknown;
  schema?: SchemaObject;
};
export type OperationObject = {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  security?: Record<string, string[]>[];
  parameters?: ParameterObject[];
  requestBody?: { required?: boolean; content: Record<string, MediaObject> };
  responses: Record<string, ResponseObject>;
};
export type ApiDocument = {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  webhooks?: Record<string, unknown>;
  components: { schemas: Record<string, SchemaObject>; securitySchemes: Record<string, unknown> };
};

type RouteFacts = {
  /** What a key needs to call it; undefined: nothing, or no key at all. */
  scope: KeyScope | 'any' | undefined;
  problems: ProblemMessages;
  problemBody: (body: Record<string, unknown>) => Record<string, unknown>;
};

/** The document of these routes. They are added to a server that nobody reaches, which is where the plugin finds them. */
export async function describeRoutes(routes: readonly RouteOptions[], config: Config): Promise<ApiDocument> {
  const facts = new Map(
    routes.map(({ method, url, config: { problems = {}, problemBody = same } = {} }) => [
      `${String(method).toLowerCase()} ${url.replace(/:([A-Za-z]+)/g, '{$1}')}`,
      { scope: ROUTE_SCOPES[`${String(method)} ${url}`], problems, problemBody },
    ]),
  );
  const server = fastify({ schemaController: ONLY_COLLECTS_SCHEMAS, exposeHeadRoutes: false });
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: TITLE, version: API_VERSION, description: DESCRIPTION },
      servers: [{ url: publicUrl(config) }],
      components: { securitySchemes: SECURITY },
    },
    stripBasePath: false,
    // The plugin's type allows for Swagger 2 as well; the document is always OpenAPI 3.
    transformObject: (documents: object) =>
      complete((documents as { openapiObject: ApiDocument }).openapiObject, facts, config) as never,
  });
  for (const { method, url, schema = {} } of routes) server.route({ method, url, schema, handler: () => undefined });
  await server.ready();
  return server.swagger() as unknown as ApiDocument;
}

const same = (body: Record<string, unknown>) => body;

const SECURITY = {
  bearerAuth: {
    type: 'http' as const,
    scheme: 'bearer',
    description: 'A token of POST /api/integration/get-token.',
  },
  apiKeyAuth: {
    type: 'apiKey' as const,
    in: 'header',
    name: 'X-API-Key',
    description: 'Optional on status v2: a live token of the same integration.',
  },
};

function complete(document: ApiDocument, facts: Map<string, RouteFacts>, config: Config): ApiDocument {
  const order = (operations: Record<string, OperationObject>) => {
    const tag = Object.values(operations)[0]?.tags?.[0] ?? '';
    const place = TAGS.findIndex(({ name }) => name === tag);
    return place < 0 ? TAGS.length : place;
  };
  const entries = Object.entries(document.paths)
    .filter(([, operations]) => Object.keys(operations).length > 0)
    .sort(([left, a], [right, b]) => order(a) - order(b) || (left < right ? -1 : 1));
  for (const [path, operations] of entries)
    for (const [method, operation] of Object.entries(operations)) {
      const known = facts.get(`${method} ${path}`);
      addScope(operation, known?.scope);
      addRefusals(operation, method, known, config);
    }
  const known = new Set(
    entries.flatMap(([, operations]) => Object.values(operations).flatMap(({ tags = [] }) => tags)),
  );
  return {
    openapi: document.openapi,
    info: document.info,
    servers: document.servers,
    tags: TAGS.filter(({ name }) => known.has(name)),
    paths: Object.fromEntries(entries),
    webhooks: WEBHOOKS,
    components: { ...document.components, schemas: { ...document.components.schemas, ...PROBLEM_SCHEMAS } },
  };
}

function addScope(operation: OperationObject, scope: KeyScope | 'any' | undefined): void {
  if (scope === undefined) return;
  const sentence = scope === 'any' ? 'A key with any scope may call it.' : `The key needs the scope \`${scope}\`.`;
  operation.description = [operation.description, sentence].filter(Boolean).join(' ');
}

/** Refusals grouped by status, each with an example of its exact message. */
function addRefusals(operation: OperationObject, method: string, facts: RouteFacts | undefined, config: Config): void {
  const scope = facts?.scope;
  const needsToken = operation.security?.some((scheme) => 'bearerAuth' in scheme) ?? false;
  const problems: ProblemMessages = {
    ...(method === 'post' ? WITH_BODY : {}),
    ...(needsToken ? forTokens(config) : {}),
    ...facts?.problems,
    ...(scope && scope !== 'any' ? { scope_missing: { message: missingScopeMessage(scope) } } : {}),
    ...EVERYWHERE,
    ...(method === 'get' ? {} : FOR_CHANGES),
  };
  const byStatus = Map.groupBy(
    Object.entries(problems),
    ([code, own]) => own.status ?? PROBLEMS[code as ProblemCode].status,
  );
  for (const [status, group] of [...byStatus].sort(([left], [right]) => left - right)) {
    const examples = group.map(([code, own]) => {
      const body = {
        success: false,
        message: own.message ?? PROBLEMS[code as ProblemCode].message,
        code,
        request_id: REQUEST_ID,
      };
      return [code, { value: facts?.problemBody(body) ?? body }] as const;
    });
    const isBalance = examples.some(([, { value }]) => typeof (value as { success: unknown }).success === 'string');
    operation.responses[status] = {
      description: group.map(([code]) => `\`${code}\``).join(', '),
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${isBalance ? 'BalanceProblem' : 'Problem'}` },
          examples: Object.fromEntries(examples),
        },
      },
    };
  }
}

const PROBLEM_MEMBERS = {
  message: { type: 'string', description: 'A sentence for a person; some operations have their own.' },
  code: { type: 'string', enum: Object.keys(PROBLEMS), description: 'For programs. See /docs/errors/<code>.' },
  request_id: {
    type: ['string', 'null'],
    description: 'Quote it when you report a problem to the administrators of the gateway.',
  },
  errors: {
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Field → what is wrong with it, in sentences.',
  },
  position: { type: 'integer', description: 'Of invalid_json: the character at which the first error is, from 0.' },
  tries_left: { type: 'integer', description: 'Of verification_failed: how many wrong tokens are left.' },
  debug: {
    type: 'object',
    description: 'In sandbox mode only, of timestamp_out_of_range and signature_mismatch: what the server saw.',
    properties: {
      canonical: { type: 'string', description: 'The text that is signed, as the server built it.' },
      server_time: { type: 'string', description: 'The clock of the server.' },
      skew_seconds: { type: 'integer', description: 'How far timestamp is ahead of it; negative: behind.' },
    },
  },
};
const PROBLEM_SCHEMAS: Record<string, SchemaObject> = {
  Problem: {
    type: 'object',
    required: ['success', 'message', 'code', 'request_id'],
    properties: { success: { const: false }, ...PROBLEM_MEMBERS },
  },
  BalanceProblem: {
    type: 'object',
    description: 'On the balance operation `success` is a string and `data` an array, in refusals too.',
    required: ['success', 'message', 'code', 'request_id', 'data'],
    properties: { success: { const: 'false' }, ...PROBLEM_MEMBERS, data: { type: 'array', maxItems: 0 } },
  },
};

const EVENT_TYPES: Record<EventType, true> = {
  'collection.success': true,
  'collection.failed': true,
  'collection.expired': true,
  'collection.reversed': true,
  'payout.success': true,
  'payout.failed': true,
  'payout.reversed': true,
  'payment_link.paid': true,
  'refund.success': true,
  'refund.failed': true,
};
const RECORD_OF_V3 =
  '#/paths/~1api~1v3~1service-unified-collections~1verify/post/responses/200/content/application~1json/schema/properties/data';
const RECORD_OF_REFUND =
  '#/paths/~1api~1v3~1get-unified-refund-status/post/responses/200/content/application~1json/schema/properties/data';

const WEBHOOKS = {
  event: {
    post: {
      summary: 'Callback: a transaction ended or was reversed',
      description:
        'Sent to callback_url. Signed as Standard Webhooks with the callback secret of the integration; the id is the same on ' +
        'every retry. Any 2xx within ten seconds is delivered; 410 stops.',
      parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
        name,
        in: 'header',
        required: true,
        schema: { type: 'string' },
      })),
      requestBody: {
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['id', 'type', 'created_at', 'data'],
              properties: {
                id: { type: 'string', pattern: '^evt_' },
                type: { type: 'string', enum: Object.keys(EVENT_TYPES) },
                created_at: { type: 'string' },
                data: {
                  description: 'The transaction record; of a refund event, the record of the refund.',
                  anyOf: [
                    {
                      allOf: [{ $ref: RECORD_OF_V3 }],
                      properties: {
                        payment_link_id: { type: 'string', description: 'For payments through a link.' },
                        late: { const: true, description: 'A success that came after failed or expired.' },
                      },
                    },
                    {
                      allOf: [{ $ref: RECORD_OF_REFUND }],
                      properties: { late: { const: true, description: 'A success that came after failed.' } },
                    },
                  ],
                },
              },
            },
          },
        },
      },
      responses: {
        '2XX': { description: 'Received.' },
        '410': { description: 'Send no more events to this address.' },
      },
    },
  },
};
