// A rail for tests of connections, and the operator behind it: it takes a payment with a live token, knows it by our reference,
// and can be made deaf. A new token ends the one before, as at the strictest operators.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RailDefinition } from '../src/rails/connection.ts';
import { createScrub, openExchange, replyOf } from '../src/rails/evidence.ts';
import type { Exchange } from '../src/rails/exchange.ts';
import type { Observation, Rail, RailCapabilities, RailReply } from '../src/rails/rail.ts';

const CAPABILITIES: RailCapabilities = {
  idempotentSubmit: true,
  query: 'answers',
  firstQueryAfterMs: 0,
  notFoundIsFinalAfterMs: 60_000,
  callsPerSecond: null,
  refunds: 'none',
  sendsTokens: false,
  decimals: 2,
};

export const plainRail: RailDefinition = {
  name: 'plain',
  title: 'Plain Money',
  methods: ['MTN_MOMO_UGA', 'AIRTEL_OAPI_UGA'],
  settings: [
    {
      name: 'account',
      label: 'Account',
      help: 'It is on the first page of the portal.',
      kind: 'text',
      namesAccount: true,
      simulator: 'shop',
    },
    {
      name: 'api_key',
      label: 'API key',
      help: 'Make one in the portal.',
      kind: 'secret',
      simulator: 'key-of-the-simulator',
    },
    {
      name: 'ranges',
      label: 'Allowed addresses',
      help: 'Where callbacks come from.',
      kind: 'address_ranges',
      optional: true,
    },
    { name: 'certificate', label: 'Certificate', help: 'Download it.', kind: 'pem', optional: true },
    { name: 'signing_key', label: 'Signing key', help: 'Make one.', kind: 'pem', sealed: true, optional: true },
    { name: 'region', label: 'Region', help: 'Ask.', kind: 'choice', choices: ['east', 'west'], initial: 'east' },
    { name: 'strict', label: 'Strict', help: 'Ask.', kind: 'yes_no', initial: 'no' },
  ],
  hosts: { sandbox: 'https://sandbox.plain.example', production: 'https://plain.example' },
  forbiddenInAddresses: ['mpesa'],
  oneLiveToken: true,
  open: openPlainRail,
};

function openPlainRail(connection: Parameters<RailDefinition['open']>[0]): Rail {
  const scrub = createScrub(plainRail, connection);
  const operator = openExchange(connection, scrub);

  const fetchToken = async () => {
    const key = connection.settings.api_key ?? '';
    const answer = await operator.exchange({ method: 'POST', path: '/token', headers: { 'x-api-key': key } });
    if (!answer.answered || answer.status !== 200) return { error: answer };
    const { access_token, expires_in } = JSON.parse(answer.body) as { access_token: string; expires_in: number };
    return { token: access_token, validForMs: expires_in * 1000 };
  };

  const call = (method: 'GET' | 'POST', path: string): Promise<Exchange> =>
    connection.tokens.withToken(
      '',
      fetchToken,
      (token) => operator.exchange({ method, path, headers: { authorization: `Bearer ${token}` } }),
      (answer) => answer.answered && answer.status === 401,
    );

  async function ask(method: 'GET' | 'POST', path: string): Promise<RailReply> {
    const answer = await call(method, path);
    if (!answer.answered) return replyOf(scrub, { state: 'unknown', reason: answer.reason }, answer.reason);
    const observation: Observation =
      answer.status === 200
        ? { state: 'succeeded', receipt: `R${path.replace(/\W/g, '').slice(-12)}` }
        : { state: 'unknown', reason: `status ${answer.status}`, definitelyNotFound: answer.status === 404 };
    return replyOf(scrub, observation, answer.body);
  }

  return {
    name: connection.name,
    capabilitiesOf: (method) => (connection.methods.includes(method.code) ? CAPABILITIES : null),
    verificationFor: () => 'prompt',
    collect: ({ reference }) => ask('POST', `/payments/${reference}`),
    payout: ({ reference }) => ask('POST', `/payments/${reference}`),
    query: ({ reference }) => ask('GET', `/payments/${reference}`),
    async balance() {
      const answer = await call('GET', '/balance');
      if (!answer.answered || answer.status !== 200) return { error: answer.answered ? answer.body : answer.reason };
      return { balances: [{ account: 'main', currency: 'UGX', available: 123_400n }] };
    },
    readCallback: () => [{ kind: 'rejected', reason: 'this operator sends none' }],
    async check() {
      const answer = await call('GET', '/balance');
      const isGood = answer.answered && answer.status === 200;
      return [{ name: 'token', problem: isGood ? null : 'The operator gave no token. Check the API key.' }];
    },
    close: () => operator.close(),
  };
}

export type PlainOperator = {
  readonly url: string;
  /** References that money was taken for, and how often each was sent. */
  readonly payments: ReadonlyMap<string, number>;
  readonly counts: { tokens: number; refused: number; calls: number };
  /** While true nobody is answered, and nothing is taken. */
  deaf: boolean;
  apiKey: string;
  tokenSeconds: number;
  /** Delays the answer to a payment: until then it is in flight. */
  hold: Promise<void> | null;
  /** Delays each new token. */
  holdTokens: Promise<void> | null;
  close(): Promise<void>;
};

export async function startPlainOperator(): Promise<PlainOperator> {
  const payments = new Map<string, number>();
  let live = '';
  const server = createServer((request, response) => {
    void answer(request.method ?? '', request.url ?? '', request.headers).then(([status, body]) => {
      if (status === 0) request.socket.destroy();
      else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    request.resume();
  });

  async function answer(method: string, path: string, headers: Record<string, unknown>): Promise<[number, object]> {
    if (operator.deaf) return [0, {}];
    if (path === '/token') {
      await operator.holdTokens;
      if (headers['x-api-key'] !== operator.apiKey) return [403, { message: 'wrong key' }];
      live = `token-${++operator.counts.tokens}-of-this-operator`;
      return [200, { access_token: live, expires_in: operator.tokenSeconds }];
    }
    operator.counts.calls++;
    const isAllowed = () => headers.authorization === `Bearer ${live}`;
    await operator.hold;
    // Checked at the end, as an operator does that looks at the token in a second system.
    if (!isAllowed()) {
      operator.counts.refused++;
      return [401, { message: 'token ended' }];
    }
    if (path === '/balance') return [200, { balance: 1234 }];
    const reference = path.slice('/payments/'.length);
    if (method === 'GET') return payments.has(reference) ? [200, { state: 'paid' }] : [404, { message: 'not found' }];
    payments.set(reference, (payments.get(reference) ?? 0) + 1);
    return [200, { state: 'paid' }];
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const operator: PlainOperator = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    payments,
    counts: { tokens: 0, refused: 0, calls: 0 },
    deaf: false,
    apiKey: 'key-of-the-simulator',
    tokenSeconds: 3_600,
    hold: null,
    holdTokens: null,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return operator;
}
