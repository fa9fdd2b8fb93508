// Who may call the simulated MTN MoMo: subscription keys, API users, tokens and target environments, each for one product.

import { randomUUID } from 'node:crypto';
import type { Operation } from './faults.ts';
import type { SimulatorContext, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { Refusal } from './refusal.ts';
import { basicOf, bearerOf, createTokenStore } from './token-store.ts';

export type MomoProduct = 'collection' | 'disbursement';

export const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** The currency of each country's platform; MTN's own sandbox knows euros only. */
export const MOMO_CURRENCIES: Readonly<Record<string, string>> = {
  sandbox: 'EUR',
  mtnuganda: 'UGX',
  mtnghana: 'GHS',
  mtnivorycoast: 'XOF',
  mtnzambia: 'ZMW',
  mtncameroon: 'XAF',
  mtnbenin: 'XOF',
  mtncongo: 'XAF',
  mtnswaziland: 'SZL',
  mtnguineaconakry: 'GNF',
  mtnsouthafrica: 'ZAR',
  mtnliberia: 'LRD',
  mtnrwanda: 'RWF',
  mtnnigeria: 'NGN',
  mtnsouthsudan: 'SSP',
};

type ApiUser = { product: MomoProduct; callbackHosts: string[]; apiKey: string | null };

export interface MomoAccess {
  routes: SimulatorRoute[];
  /** The environment of a call that may be made; throws the Refusal of one that may not. */
  enter(
    request: SimulatorRequest,
    product: MomoProduct,
    operation: Operation,
  ): { environment: string; callbackHosts: string[] };
}

export function createMomoAccess(context: SimulatorContext, settings: Readonly<Record<string, string>>): MomoAccess {
  const tokens = createTokenStore(() => context.now());
  const users = new Map<string, ApiUser>();
  const keys: Record<MomoProduct, string> = {
    collection: settings.collectionSubscriptionKey ?? '',
    disbursement: settings.disbursementSubscriptionKey ?? '',
  };
  const environments = (settings.targetEnvironments ?? '').split(',');
  const callbackHosts = (settings.providerCallbackHost ?? '').split(',');
  for (const product of ['collection', 'disbursement'] as const) {
    users.set(settings[`${product}ApiUser`] ?? '', {
      product,
      callbackHosts,
      apiKey: settings[`${product}ApiKey`] ?? '',
    });
  }

  function checkSubscription(request: SimulatorRequest, product: MomoProduct): void {
    const key = request.headers['ocp-apim-subscription-key'];
    if (!key) throw new Refusal(401, { message: 'Access denied due to missing subscription key.' });
    if (key !== keys[product]) throw new Refusal(401, INVALID_SUBSCRIPTION);
  }

  function enter(request: SimulatorRequest, product: MomoProduct, operation: Operation) {
    checkSubscription(request, product);
    const token = bearerOf(request.headers.authorization);
    if (context.takeFault('token_ended', operation)) tokens.end(token);
    const user = users.get(tokens.ownerOf(token) ?? '');
    if (user?.product !== product) throw new Refusal(401, { message: 'Unauthorized' });
    if (product === 'disbursement' && settings.disbursementIp === 'forbidden') {
      throw new Refusal(403, { message: 'Authorization failed. IP not authorised.', code: 'FORBIDDEN IP' });
    }
    const environment = request.headers['x-target-environment'];
    if (!environment) throw badRequest('X-Target-Environment is missing');
    if (!environments.includes(environment) || !(environment in MOMO_CURRENCIES)) throw new Refusal(500, ENVIRONMENT);
    return { environment, callbackHosts: user.callbackHosts };
  }

  const tokenRoute = (product: MomoProduct): SimulatorRoute => ({
    method: 'POST',
    path: `/${product}/token/`,
    operation: 'token',
    handle(request) {
      checkTokenBody(request, settings.tokenBody ?? 'either');
      checkSubscription(request, product);
      const basic = basicOf(request.headers.authorization);
      const user = users.get(basic?.user ?? '');
      if (!basic || user?.product !== product || user.apiKey !== basic.password) {
        throw new Refusal(401, { error: 'login_failed' });
      }
      const seconds = Number(settings.tokenSeconds);
      const token = tokens.issue(basic.user, seconds);
      return { status: 200, body: { access_token: token, token_type: 'access_token', expires_in: seconds } };
    },
  });

  return {
    routes: [tokenRoute('collection'), tokenRoute('disbursement'), ...provisioningRoutes(users, keys)],
    enter,
  };
}

/** API users of the sandbox; in production they are made on the portal. */
function provisioningRoutes(users: Map<string, ApiUser>, keys: Record<MomoProduct, string>): SimulatorRoute[] {
  const productOf = (request: SimulatorRequest): MomoProduct => {
    const key = request.headers['ocp-apim-subscription-key'];
    if (!key) throw new Refusal(401, { message: 'Access denied due to missing subscription key.' });
    if (key === keys.collection) return 'collection';
    if (key === keys.disbursement) return 'disbursement';
    throw new Refusal(401, INVALID_SUBSCRIPTION);
  };
  const find = (request: SimulatorRequest): ApiUser => {
    const user = users.get(request.params.id ?? '');
    if (user?.product !== productOf(request)) throw new Refusal(404, NOT_FOUND);
    return user;
  };
  return [
    {
      method: 'POST',
      path: '/v1_0/apiuser',
      operation: 'other',
      handle(request) {
        const product = productOf(request);
        const id = request.headers['x-reference-id'] ?? '';
        const host = request.json?.providerCallbackHost;
        if (!UUID_V4.test(id)) throw badRequest('X-Reference-Id is not a UUID version 4');
        if (typeof host !== 'string' || !/^[\w.-]+$/.test(host)) throw badRequest('providerCallbackHost is not a host');
        if (users.has(id)) throw new Refusal(409, DUPLICATE);
        users.set(id, { product, callbackHosts: [host], apiKey: null });
        return { status: 201, body: '' };
      },
    },
    {
      method: 'POST',
      path: '/v1_0/apiuser/:id/apikey',
      operation: 'other',
      handle(request) {
        const user = find(request);
        user.apiKey = randomUUID().replaceAll('-', '');
        return { status: 201, body: { apiKey: user.apiKey } };
      },
    },
    {
      method: 'GET',
      path: '/v1_0/apiuser/:id',
      operation: 'other',
      handle: (request) => ({
        status: 200,
        body: { providerCallbackHost: find(request).callbackHosts.join(','), targetEnvironment: 'sandbox' },
      }),
    },
  ];
}

/** MTN's gateway has been seen to want a JSON body, to want none, and to refuse forms with a page and status 200. */
function checkTokenBody(request: SimulatorRequest, wanted: string): void {
  const hasLength =
    request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
  if (!hasLength || (wanted === 'json' && request.text === '')) {
    throw new Refusal(411, '<html><body><h1>Length Required</h1></body></html>', { 'content-type': 'text/html' });
  }
  if (request.text === '') return;
  if (request.json === null) {
    throw new Refusal(200, '<html><head><title>Request Rejected</title></head><body>Request Rejected</body></html>', {
      'content-type': 'text/html',
    });
  }
  if (wanted === 'empty') throw badRequest('a body is not supported here');
}

export const badRequest = (message: string) => new Refusal(400, { message, code: 'BAD_REQUEST' });

export const DUPLICATE = {
  message: 'Duplicated reference id. Creation of resource failed.',
  code: 'RESOURCE_ALREADY_EXIST',
};
export const NOT_FOUND = { message: 'Requested resource was not found.', code: 'RESOURCE_NOT_FOUND' };
const INVALID_SUBSCRIPTION = {
  statusCode: 401,
  message:
    'Access denied due to invalid subscription key. Make sure to provide a valid key for an active subscription.',
};
const ENVIRONMENT = {
  message: 'Access to target environment is forbidden.',
  code: 'NOT_ALLOWED_TARGET_ENVIRONMENT',
};
