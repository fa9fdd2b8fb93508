// What an API key may do, and which of it each route needs. One table: `holders/authentication.ts` checks it, OpenAPI shows it,
// and a test fails for a route of the API that is not in it.

export const SCOPES = ['collect', 'read', 'refund', 'links'] as const;
export type KeyScope = (typeof SCOPES)[number];

/** `any`: a live key of the integration is enough. */
export const ROUTE_SCOPES: Readonly<Record<string, KeyScope | 'any'>> = {
  'POST /api/integration/get-token': 'any',
  // What is signed here needs its scope when it is sent.
  'POST /api/service-signature': 'any',
  'GET /api/v3/tokens': 'any',
  'DELETE /api/v3/tokens/:id': 'any',
  'GET /api/v3/countries': 'any',
  'POST /api/v3/preflight': 'collect',
  'POST /api/v3/service-unified-collections': 'collect',
  'POST /api/v3/service-unified-collections/verify': 'collect',
  'POST /api/v3/service-unified-collections/resend': 'collect',
  'POST /api/v3/service-unified-refunds': 'refund',
  'POST /api/v3/payment-link-api/create': 'links',
  'GET /api/payment-link-api/list': 'read',
  'POST /api/v2/get-unified-transaction-status': 'read',
  'POST /api/v3/get-unified-transaction-status': 'read',
  'POST /api/v3/get-unified-refund-status': 'read',
  'POST /api/v3/find-payment': 'read',
  'POST /api/v3/get-unified-balance': 'read',
  'GET /api/v3/statements': 'read',
  'GET /api/v3/statements/file': 'read',
  'GET /api/v3/events': 'read',
  'POST /api/v3/events/:id/resend': 'read',
  'POST /api/v3/events/replay': 'read',
};

/** Whether a text is one of the scopes. */
export function isScope(text: string): text is KeyScope {
  return (SCOPES as readonly string[]).includes(text);
}

/** The scope that a key lacks for a route; null when it may call it. A route that is not in the table needs every scope. */
export function findMissingScope(scopes: readonly KeyScope[], route: string): KeyScope | null {
  const needed = ROUTE_SCOPES[route];
  if (needed === 'any') return null;
  return (needed === undefined ? SCOPES : [needed]).find((scope) => !scopes.includes(scope)) ?? null;
}

export function missingScopeMessage(scope: KeyScope): string {
  return `This key does not have the scope "${scope}".`;
}
