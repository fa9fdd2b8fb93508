// Requests of people with a browser, and of everybody who has none: the console by its table of routes and by the forms and
// addresses that its pages show, the hosted pages, the sandbox, operators, documents.

import { createHmac } from 'node:crypto';
import type { ConsoleRoute } from '../../src/console/route.ts';
import { CONSOLE_ROUTES } from '../../src/console/routes.ts';
import { SANDBOX_CALLBACK_KEY_PURPOSE } from '../../src/rails/sandbox.ts';
import type { Random } from '../simulation/random.ts';
import { someId } from './api-requests.ts';
import type { Browser, Fixture } from './fixture.ts';
import type { FuzzRequest } from './transport.ts';
import { damage, documentOf, encodePart, hostileText, mutate, NUMBERS, writeDocument } from './values.ts';

const FORM = 'application/x-www-form-urlencoded';

/** Routes outside OpenAPI and the console. */
export const OPEN_ROUTES: readonly string[] = [
  'GET /pay/:id',
  'POST /pay/:id',
  'GET /pay/:id/card',
  'GET /pay/:id/:ref',
  'GET /pay/:id/:ref/status',
  'GET /find',
  'POST /find',
  'POST /find/report',
  'GET /r/:code',
  'POST /r/:code/mail',
  'POST /pay/:id/:ref/code',
  'POST /pay/:id/:ref/resend',
  'GET /pay/:id/qr.svg',
  'GET /logos/:hash.webp',
  'GET /sandbox/phone',
  'GET /sandbox/phone/simulators',
  'GET /sandbox/phone/:msisdn',
  'GET /sandbox/phone/:msisdn/news',
  'POST /sandbox/phone/:msisdn/:action',
  'GET /sandbox/clock',
  'POST /sandbox/clock/forward',
  'GET /sandbox/callbacks',
  'POST /sandbox/callbacks',
  'POST /operators/:connection',
  'PUT /operators/:connection',
  'POST /operators/:connection/*',
  'PUT /operators/:connection/*',
  'GET /livez',
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /openapi.json',
  'GET /llms.txt',
  'GET /docs',
  'GET /docs/overview.md',
  'GET /docs/:page',
  'GET /docs/:folder/:page',
  'GET /docs/reference',
  'GET /docs/reference/:group',
  'GET /docs/errors/:code',
  'GET /docs/search',
  'GET /',
  'GET /favicon.svg',
  'GET /robots.txt',
  'GET /.well-known/security.txt',
  'GET /sandbox/components',
  'GET /:page',
];

/** These hash a password; more of them would only be slower. */
const SLOW = /^\/(?:sign-in|sign-up|invitations|account\/password|confirm|login)/;
const SLOW_CHANCE = 0.12;

const FIELDS = [
  'amount',
  'text',
  'receipt',
  'number',
  'day',
  'currency',
  'country_id',
  'mobile',
  'method',
  'email',
  'role',
  'title',
  'name',
  'password',
  'code',
  'reason',
  'csv',
  'kind',
  'status',
  'since',
  'after',
  'before',
  'from',
  'to',
  'q',
  'page',
  'sort',
  'type',
  'decision',
  'reference',
  'note',
  'holder',
  'language',
  'next',
  'shown',
  'confirm_repeats',
  'allowed_addresses',
  'callback_url',
  'overlap',
  'percent',
  'fixed',
  'n',
  'version',
  'prompt',
  'pin',
  'on',
  'check',
  'again',
  'notice',
  'detail',
  'current',
  'format',
  'limit',
  'to',
  'reusable',
  'expires_at',
  'logo',
];

export function consoleRequest(random: Random, fixture: Fixture): FuzzRequest {
  const browser = random.pick(fixture.people);
  const forms = [...fixture.forms.values()];
  if (forms.length > 0 && random.chance(0.4)) {
    const form = random.pick(forms);
    const sender = form.browser && random.chance(0.95) ? form.browser : browser;
    return formRequest(random, sender, form.action, fieldsOf(random, fixture, form.fields));
  }
  if (fixture.links.length > 0 && random.chance(0.3))
    return addressRequest(random, fixture, browser, random.pick(fixture.links));
  return routeRequest(random, fixture, consoleRoute(random), browser);
}

export function routeRequest(
  random: Random,
  fixture: Fixture,
  route: ConsoleRoute,
  browser = random.pick(fixture.people),
): FuzzRequest {
  const path = `/console${fillPath(random, fixture, route.path)}`;
  if (route.method === 'GET') return addressRequest(random, fixture, browser, path);
  return formRequest(random, browser, path, [['csrf', browser.csrf], ...fieldsOf(random, fixture, someFields(random))]);
}

function consoleRoute(random: Random): ConsoleRoute {
  for (;;) {
    const route = random.pick(CONSOLE_ROUTES);
    // Signing out ends the story of this person.
    const isRare = route.path === '/sign-out' || (route.method === 'POST' && SLOW.test(route.path));
    if (!isRare || random.chance(SLOW_CHANCE)) return route;
  }
}

export function openRequest(random: Random, fixture: Fixture): FuzzRequest {
  const forms = [...fixture.forms.values()].filter((form) => form.browser === null);
  if (forms.length === 0 || random.chance(0.75)) return patternRequest(random, fixture, random.pick(OPEN_ROUTES));
  const form = random.pick(forms);
  return formRequest(random, null, form.action, fieldsOf(random, fixture, form.fields));
}

export function patternRequest(random: Random, fixture: Fixture, route: string): FuzzRequest {
  const [method = 'GET', pattern = '/'] = route.split(' ');
  if (pattern.startsWith('/operators/')) return operatorRequest(random, fixture, method, pattern.endsWith('/*'));
  const path = fillPath(random, fixture, pattern);
  if (method === 'GET') return addressRequest(random, fixture, null, path);
  return formRequest(random, null, path, fieldsOf(random, fixture, someFields(random)));
}

/** An event of the operator. Both references are of one account: it does not mix those of two. */
function operatorEvent(random: Random, fixture: Fixture): Record<string, unknown> {
  const type = random.pick(['payment.updated', 'refund.updated', 'payment.received', 'x']);
  const [reference, other] = [someId(random, fixture), someId(random, fixture)];
  const isForeign = (id: string) => fixture.foreign.ids.includes(id);
  return {
    type,
    reference,
    payment_reference: isForeign(reference) === isForeign(other) ? other : reference,
    direction: random.pick(['collection', 'payout']),
    status: random.pick(['pending', 'succeeded', 'failed', 'reversed', 'x']),
    amount: random.pick(['2500.00', '2500', '0', '-1', '1e3', ...NUMBERS]),
    currency: random.pick(['UGX', 'KES', 'ugx', '']),
    receipt: random.pick([null, `R${random.int(0, 50)}`, hostileText(random)]),
    failure_code: random.pick(['INSUFFICIENT_FUNDS', 'X', null]),
    message: hostileText(random),
  };
}

/** What the operator would send, signed as it signs, about our payments or about anything. */
function operatorRequest(random: Random, fixture: Fixture, method: string, hasTopic: boolean): FuzzRequest {
  const event = operatorEvent(random, fixture);
  const more = random.fork('more');
  const events = [event, ...(more.chance(0.3) ? [operatorEvent(more, fixture)] : [])];
  let document = documentOf(random.chance(0.5) ? event : { events });
  if (random.chance(0.6)) document = mutate(random, document);
  const text = writeDocument(document);
  const body = random.chance(0.05) ? damage(random, text) : Buffer.from(text);
  const connection = random.chance(0.9) ? 'sandbox' : encodePart(random, hostileText(random));
  // As an operator that has an address for each payment.
  const topic = hasTopic ? `/prompt/${someId(more, fixture)}/${encodePart(more, hostileText(more))}` : '';
  const path = `/operators/${connection}${topic}`;
  const at = String(fixture.gateway.ctx.clock.millis());
  const key = fixture.gateway.ctx.vault.deriveKey(SANDBOX_CALLBACK_KEY_PURPOSE);
  const signature = createHmac('sha256', key).update(`${at}.${path}.`).update(body).digest('hex');
  const headers = {
    'content-type': random.pick(['application/json', 'text/xml', '', 'application/octet-stream']),
    ...(random.chance(0.9) ? { 'x-operator-signature': `t=${at},v1=${signature}` } : {}),
  };
  return { method, url: path, headers, body, caller: 'anyone', way: 'entry', address: '127.0.0.1' };
}

function fillPath(random: Random, fixture: Fixture, pattern: string): string {
  return pattern.replace(/:(\w+)/g, (_, name: string) => {
    if (name === 'msisdn') return random.chance(0.8) ? '256772123000' : encodePart(random, hostileText(random));
    if (name === 'action') return random.pick(['answer', 'cancel', 'ignore', 'switch', 'dial', 'pay', 'x']);
    if (name === 'page' || name === 'code')
      return encodePart(random, random.pick(['signing', 'errors', 'x', hostileText(random)]));
    return encodePart(random, random.chance(0.15) ? String(random.int(1, 50)) : someId(random, fixture));
  });
}

const someFields = (random: Random): [string, string][] =>
  Array.from({ length: random.int(0, 6) }, () => [random.pick(FIELDS), '']);

/** The fields, each as the form gave it, or filled in, or hostile. */
function fieldsOf(
  random: Random,
  fixture: Fixture,
  fields: readonly (readonly [string, string])[],
): [string, string][] {
  const filled = fields.map(([name, value]): [string, string] => {
    if (name === 'csrf' || name === 'shown') return [name, random.chance(0.97) ? value : hostileText(random)];
    if (value !== '' && random.chance(0.6)) return [name, value];
    return [name, random.chance(0.6) ? plainText(random, fixture, name) : hostileText(random)];
  });
  if (random.chance(0.05)) filled.push([random.pick(FIELDS), hostileText(random)]);
  if (random.chance(0.05) && filled[0]) filled.push(filled[0]);
  return random.chance(0.08) ? filled.toSpliced(random.int(0, filled.length), 1) : filled;
}

function plainText(random: Random, fixture: Fixture, name: string): string {
  switch (name) {
    case 'amount':
      return random.pick(['1500', '10', '100.50']);
    case 'currency':
      return 'UGX';
    case 'country_id':
      return '11';
    case 'mobile':
    case 'phone':
      return '256772123000';
    case 'email':
      return `p${random.int(0, 999)}@example.org`;
    case 'csv':
      return `mobile,amount\n256772123000,${random.int(1, 99)}`;
    case 'role':
      return random.pick(['owner', 'finance', 'developer', 'viewer']);
    case 'reference':
      return someId(random, fixture);
    default:
      return random.pick(['1', 'yes', 'Ama', 'active', '2026-03-01', 'on']);
  }
}

function formRequest(
  random: Random,
  browser: Browser | null,
  path: string,
  fields: readonly (readonly [string, string])[],
): FuzzRequest {
  const text = fields.map(([name, value]) => `${encodePart(random, name)}=${encodePart(random, value)}`).join('&');
  return {
    method: 'POST',
    url: path === '' ? '/console' : path,
    headers: { 'content-type': FORM, ...cookieOf(browser) },
    body: random.chance(0.02) ? damage(random, text) : Buffer.from(text),
    ...callerOf(browser),
  };
}

function addressRequest(random: Random, fixture: Fixture, browser: Browser | null, address: string): FuzzRequest {
  const query = someFields(random)
    .slice(0, 3)
    .map(
      ([name]) =>
        `${name}=${encodePart(random, random.chance(0.5) ? hostileText(random) : plainText(random, fixture, name))}`,
    );
  const added = query.length > 0 && random.chance(0.5) ? `${address.includes('?') ? '&' : '?'}${query.join('&')}` : '';
  return { method: 'GET', url: address + added, headers: cookieOf(browser), body: null, ...callerOf(browser) };
}

const cookieOf = (browser: Browser | null): Record<string, string> => (browser ? { cookie: browser.cookie } : {});

function callerOf(browser: Browser | null): Pick<FuzzRequest, 'caller' | 'way' | 'address'> {
  const caller = browser === null ? 'anyone' : browser.role === 'admin' ? 'admin' : 'person';
  return { caller, way: 'entry', address: '127.0.0.1' };
}
