// What the three interfaces of Orange share: a token fetched with a form, calls under it, and answers that are unknown unless
// they are JSON that we understand.

import { readAccessToken } from './access-tokens.ts';
import type { RailConnection, RailDefinition } from './connection.ts';
import { createScrub, openExchange, replyOf, type Scrub } from './evidence.ts';
import type { Exchange, ExchangeRequest } from './exchange.ts';
import type { Observation, RailReply } from './rail.ts';
import { readJson } from './reading.ts';

const TOKEN_LIFE_MS = 5 * 60_000;

export type OrangeToken = {
  path: string;
  form: Record<string, string>;
  /** Basic authentication with client ID and secret. */
  basic: boolean;
};

export type OrangeApi = {
  connection: RailConnection;
  scrub: Scrub;
  call(request: ExchangeRequest): Promise<Exchange>;
  close(): Promise<void>;
};

export function openOrangeApi(
  definition: RailDefinition,
  connection: RailConnection,
  token: OrangeToken,
  headers: Record<string, string> = {},
): OrangeApi {
  const scrub = createScrub(definition, connection);
  const operator = openExchange(connection, scrub);
  const { client_id: id = '', client_secret: secret = '' } = connection.settings;
  const login = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

  async function fetchToken(): Promise<{ token: string; validForMs: number } | { error: Exchange }> {
    const answer = await operator.exchange({
      method: 'POST',
      path: token.path,
      headers: token.basic ? { authorization: login } : {},
      body: new URLSearchParams({ grant_type: 'client_credentials', ...token.form }),
    });
    return readAccessToken(answer, TOKEN_LIFE_MS);
  }

  return {
    connection,
    scrub,
    call: (request) =>
      connection.tokens.withToken(
        '',
        fetchToken,
        (live) =>
          operator.exchange({
            ...request,
            headers: { ...headers, ...request.headers, authorization: `Bearer ${live}` },
          }),
        (answer) => answer.answered && answer.status === 401,
      ),
    close: () => operator.close(),
  };
}

/** The observation of an answer that is JSON; everything else is unknown. */
export function readOrange(
  { scrub }: OrangeApi,
  answer: Exchange,
  observe: (said: unknown, status: number) => Observation,
): RailReply {
  if (!answer.answered) return replyOf(scrub, { state: 'unknown', reason: answer.reason }, '');
  const said = readJson(answer.body);
  if (said === undefined)
    return replyOf(scrub, { state: 'unknown', reason: `Orange answered ${answer.status} without JSON` }, answer.body);
  return replyOf(scrub, observe(said, answer.status), answer.body);
}

/** Nine digits without the dial code, in Cameroon and Senegal. */
export const nationalNumberOf = (msisdn: string) => msisdn.slice(-9);
