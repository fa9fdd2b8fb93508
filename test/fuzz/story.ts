// A story: some requests of one small fixture, one after the other, each chosen from the seed, its number and what the answers
// before it have shown. Stories do not depend on each other.

import { CONSOLE_ROUTES } from '../../src/console/routes.ts';
import type { TestGateway } from '../gateway.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { apiRequest, type Operation } from './api-requests.ts';
import { type Browser, createFixture, type Fixture, keepIds } from './fixture.ts';
import { checkAnswer } from './oracle.ts';
import { consoleRequest, OPEN_ROUTES, openRequest, patternRequest, routeRequest } from './page-requests.ts';
import { formsOf, linksOf } from './pages.ts';
import { type FuzzAnswer, type FuzzRequest, sendRequest } from './transport.ts';
import { hostileText } from './values.ts';

export const STORY_REQUESTS = 200;
const LINKS_KEPT = 200;
const FORMS_KEPT = 60;
const SOCKET_SHARE = 0.04;

export type Failure = {
  readonly number: number;
  readonly what: string;
  readonly request: string;
  readonly answer: string;
};

export type StoryOptions = {
  readonly seed: string;
  /** The first story has the number 0. */
  readonly story: number;
  readonly operations: readonly Operation[];
  /** Stops after the request with this number. */
  readonly until?: number;
  readonly onRequest?: (number: number, request: FuzzRequest, answer: FuzzAnswer | null) => void;
};

export async function runStory(
  gateway: TestGateway,
  options: StoryOptions,
): Promise<{ sent: number; failures: Failure[] }> {
  const { seed, story } = options;
  const first = story * STORY_REQUESTS;
  const random = createRandom(`${seed}/${story}`);
  const fixture = await createFixture(gateway, random.fork('fixture'), `${story}-${seed.replace(/\W/g, '')}`);
  const failures: Failure[] = [];
  let sent = 0;
  for (
    let number = first + 1;
    number <= Math.min(first + STORY_REQUESTS, options.until ?? Number.POSITIVE_INFINITY);
    number++
  ) {
    const turn = random.fork(number);
    const request = disturb(turn, choose(turn, fixture, options, number - first - 1));
    const { answer, what } = await ask(fixture, request);
    sent++;
    options.onRequest?.(number, request, answer);
    if (answer) learn(fixture, request, answer);
    if (what) failures.push({ number, what, request: describeRequest(request), answer: describeAnswer(answer) });
  }
  const changed = await foreignChange(fixture, story);
  if (changed) failures.push({ number: first + sent, what: changed, request: 'the whole story', answer: '' });
  return { sent, failures };
}

async function ask(
  fixture: Fixture,
  request: FuzzRequest,
): Promise<{ answer: FuzzAnswer | null; what: string | null }> {
  try {
    const answer = await sendRequest(fixture.gateway, request);
    return { answer, what: answer && checkAnswer(fixture, request, answer) };
  } catch (error) {
    return { answer: null, what: `no answer: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Stories with this distance begin with a tour of every route. */
const TOUR_EVERY = 50;

/** The request of a turn; the tour asks for each route once, whatever chance says. */
function choose(random: Random, fixture: Fixture, { operations, story }: StoryOptions, place: number): FuzzRequest {
  if (story % TOUR_EVERY === 0) {
    const operation = operations[place];
    if (operation) return apiRequest(random, fixture, operation);
    const route = CONSOLE_ROUTES[place - operations.length];
    if (route) return routeRequest(random, fixture, route);
    const pattern = OPEN_ROUTES[place - operations.length - CONSOLE_ROUTES.length];
    if (pattern) return patternRequest(random, fixture, pattern);
  }
  const kind = random.next();
  if (kind < 0.42) return apiRequest(random, fixture, random.pick(operations));
  return kind < 0.82 ? consoleRequest(random, fixture) : openRequest(random, fixture);
}

const HEADERS: readonly (readonly [string, readonly string[]])[] = [
  [
    'content-type',
    [
      'text/plain',
      'application/json; charset=utf-16',
      'multipart/form-data; boundary=x',
      'a/b',
      '',
      'application/json\t;x',
    ],
  ],
  ['accept', ['application/json', 'text/html', '*/*;q=0', 'x']],
  ['accept-language', ['fr', 'sw', 'xx-YY;q=9', ',,,;', `${'fr,'.repeat(300)}`]],
  ['content-encoding', ['gzip', 'identity', 'br']],
  ['x-forwarded-for', ['1.2.3.4', '::1', 'x', '1.2.3.4, 5.6.7.8']],
  ['origin', ['https://evil.example', 'null', 'x']],
  ['sec-fetch-site', ['cross-site', 'same-origin', 'x']],
  ['referer', ['http://[', 'https://evil.example/console', '/']],
  ['cookie', ['simbi_session=x', 'simbi_session=; simbi_session=y', '=;;;', `simbi_session=${'a'.repeat(4_000)}`]],
  ['authorization', ['Bearer', 'Bearer x', 'Basic eDp5', `Bearer ${'1'.repeat(400)}|x`]],
  ['range', ['bytes=0-1']],
  ['if-none-match', ['*', '"x"']],
  ['if-modified-since', ['x']],
  ['expect', ['x']],
];

/** Now and then another method, another header, another path, another way. */
function disturb(random: Random, request: FuzzRequest): FuzzRequest {
  let { method, url, headers, way } = request;
  if (random.chance(0.02)) method = random.pick(['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'GET', 'POST']);
  if (random.chance(0.08)) {
    const [name, values] = random.pick(HEADERS);
    headers = { ...headers, [name]: random.pick(values) };
  }
  if (random.chance(0.02))
    url = random.pick([`${url}/`, `/${url}`, `${url}?`, url.toUpperCase(), `${url}/..`, url.slice(0, -1) || '/']);
  if (random.chance(0.02))
    url += `${url.includes('?') ? '&' : '?'}${encodeURIComponent(hostileText(random).toWellFormed())}=1`;
  // Long URLs are for the socket: it does not read them before the server does.
  if (random.chance(SOCKET_SHARE) && isPrintable(url, headers)) way = 'socket';
  const address = `10.${random.int(0, 255)}.${random.int(0, 255)}.${random.int(1, 254)}`;
  return { ...request, method, url, headers, way, address };
}

const isPrintable = (url: string, headers: Readonly<Record<string, string>>): boolean =>
  !/[^\x21-\x7e]/.test(url) && !/[\r\n]/.test(JSON.stringify(headers));

function learn(fixture: Fixture, request: FuzzRequest, answer: FuzzAnswer): void {
  if (answer.status >= 400 || request.caller === 'admin') return;
  keepIds(fixture, answer.text);
  if (!answer.headers['content-type']?.startsWith('text/html')) return;
  const browser = browserOf(fixture, request);
  const links = linksOf(answer.text).filter((link) => !link.startsWith('/console') === (browser === null));
  fixture.links.push(...links.filter((link) => link.startsWith('/console') && !link.includes('sign-out')));
  fixture.links.splice(0, fixture.links.length - LINKS_KEPT);
  for (const form of formsOf(answer.text)) {
    const action = form.action === '' ? (request.url.split('?')[0] ?? '') : form.action;
    if (action.includes('sign-out')) continue;
    fixture.forms.delete(action);
    fixture.forms.set(action, { ...form, action, browser });
  }
  for (const action of [...fixture.forms.keys()].slice(0, Math.max(0, fixture.forms.size - FORMS_KEPT)))
    fixture.forms.delete(action);
}

const browserOf = (fixture: Fixture, request: FuzzRequest): Browser | null =>
  fixture.people.find(({ cookie }) => cookie === request.headers.cookie) ?? null;

/** Every change of an account is in its audit log: without an admin nobody here can cause one at the second business. */
async function foreignChange(fixture: Fixture, story: number): Promise<string | null> {
  if (fixture.people.some(({ role }) => role === 'admin')) return null;
  const rows = await fixture.gateway.ctx.db.query<{ action: string; actor: string }>(
    `select action, actor from audit_log where holder_id = $1 and member_id is not null`,
    [fixture.foreign.client.shop.holderId],
  );
  return rows[0] ? `story ${story}: ${rows[0].actor} did ${rows[0].action} at another account` : null;
}

const SHOWN_CHARACTERS = 1_500;

function describeRequest({ method, url, headers, body, way }: FuzzRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `  ${name}: ${value.slice(0, 200)}`);
  return [
    `${method} ${url.slice(0, SHOWN_CHARACTERS)} (${way})`,
    ...lines,
    `  ${body?.toString('utf8').slice(0, SHOWN_CHARACTERS) ?? ''}`,
  ].join('\n');
}

const describeAnswer = (answer: FuzzAnswer | null): string =>
  answer ? `${answer.status} ${JSON.stringify(answer.headers)} ${answer.text.slice(0, SHOWN_CHARACTERS)}` : 'none';
