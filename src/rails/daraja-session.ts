// One account at Daraja: its token, its credentials and its calls.

import { constants, publicEncrypt } from 'node:crypto';
import type { FetchToken, RailConnection, RailDefinition } from './connection.ts';
import { createDarajaAddresses, type DarajaAddresses } from './daraja-addresses.ts';
import { isTokenRefused } from './daraja-codes.ts';
import { type DarajaAccount, readDarajaAccount } from './daraja-settings.ts';
import { createScrub, openExchange, replyOf, type Scrub } from './evidence.ts';
import type { Exchange, OperatorConnection } from './exchange.ts';
import type { Observation, RailReply } from './rail.ts';
import { field, readJson, textOf, tokenOf } from './reading.ts';

const NAIROBI_MS = 3 * 3_600_000;
const DEFAULT_TOKEN_SECONDS = 3_599;
const MAX_TOKEN_SECONDS = 86_400;
/** Tokens that may still be in an answer on its way. */
const TOKENS_HIDDEN = 4;
const ADDRESS_TOKEN = /(\/operators\/[a-z0-9-]+\/[a-z0-9-]+\/[A-Za-z0-9_-]+\/)[A-Za-z0-9_-]+/g;

/** `sent` false: no call was made, or it was refused for its token. Nothing was done then. */
export type DarajaAnswer = { answer: Exchange; sent: boolean };

export interface DarajaSession {
  readonly account: DarajaAccount;
  readonly addresses: DarajaAddresses;
  readonly connection: RailConnection;
  post(path: string, body: object): Promise<DarajaAnswer>;
  /** Of an answer, or of the part of it that says this. */
  reply(observation: Observation, answer: Exchange | string): RailReply;
  readonly scrub: Scrub;
  /** The problem that keeps us from a token; null: there is one. */
  tokenProblem(): Promise<string | null>;
  /** The password of the initiator, encrypted; null without an initiator, or when the certificate cannot be used. */
  credential(): string | null;
  /** Short code, password and time of M-PESA Express, which depend on each other. */
  password(): { Password: string; Timestamp: string };
  close(): Promise<void>;
}

export function openDarajaSession(
  definition: Pick<RailDefinition, 'settings'>,
  connection: RailConnection,
): DarajaSession {
  const account = readDarajaAccount(connection);
  const hidden = createHiddenValues(createScrub(definition, connection));
  const operator = openExchange(connection, hidden.scrub);
  const fetchToken = createFetchToken(operator, account, hidden.hide);
  let credential: string | null = null;

  async function withToken(call: (token: string) => Promise<Exchange>): Promise<DarajaAnswer> {
    let sent = false;
    const answer = await connection.tokens.withToken(
      '',
      fetchToken,
      (token) => {
        hidden.hide(token);
        sent = true;
        return call(token);
      },
      (refused) => {
        const isRefused = isTokenRefused(refused);
        if (isRefused) sent = false;
        return isRefused;
      },
    );
    return { answer, sent: sent && !isTokenRefused(answer) };
  }

  return {
    account,
    addresses: createDarajaAddresses(connection.addresses),
    connection,
    post: (path, body) =>
      withToken((token) =>
        operator.exchange({ method: 'POST', path, body, headers: { authorization: `Bearer ${token}` } }),
      ),
    reply(observation, answer) {
      return replyOf(hidden.scrub, scrubText(hidden.scrub, observation), textOfAnswer(answer));
    },
    scrub: hidden.scrub,
    async tokenProblem() {
      const { answer, sent } = await withToken(async () => ({ answered: true, status: 200, headers: {}, body: '' }));
      if (sent) return null;
      const said = answer.answered ? `it answered ${answer.status}` : answer.reason;
      return `Safaricom gave no access token: ${said}. Check the consumer key and the consumer secret.`;
    },
    credential() {
      credential ??= encryptPassword(account);
      if (credential !== null) hidden.hide(credential);
      return credential;
    },
    password: () => passwordOf(account, connection.clock.millis()),
    close: () => operator.close(),
  };
}

function textOfAnswer(answer: Exchange | string): string {
  if (typeof answer === 'string') return answer;
  return answer.answered ? answer.body : answer.reason;
}

/** An operator's sentence can repeat what we sent. */
function scrubText(scrub: Scrub, observation: Observation): Observation {
  if (observation.state === 'unknown') return { ...observation, reason: scrub(observation.reason) };
  return observation.state === 'failed' ? { ...observation, message: scrub(observation.message) } : observation;
}

/** Tokens and credentials come back in the operator's errors; addresses with their tokens are in our requests. */
function createHiddenValues(scrub: Scrub): { scrub: Scrub; hide: (value: string) => void } {
  const values: string[] = [];
  return {
    scrub(text) {
      let scrubbed = scrub(text).replace(ADDRESS_TOKEN, '$1[hidden]');
      for (const value of values) scrubbed = scrubbed.replaceAll(value, '[hidden]');
      return scrubbed;
    },
    hide(value) {
      if (value === '' || values.includes(value)) return;
      values.push(value);
      if (values.length > TOKENS_HIDDEN) values.shift();
    },
  };
}

function createFetchToken(
  operator: OperatorConnection,
  { consumerKey, consumerSecret }: DarajaAccount,
  hide: (token: string) => void,
): FetchToken {
  const authorization = `Basic ${Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')}`;
  return async () => {
    const path = '/oauth/v1/generate?grant_type=client_credentials';
    const answer = await operator.exchange({ method: 'GET', path, headers: { authorization } });
    const body = answer.answered && answer.status === 200 ? readJson(answer.body) : undefined;
    const token = tokenOf(field(body, 'access_token'));
    if (token === null) return { error: answer };
    hide(token);
    return { token, validForMs: secondsOf(field(body, 'expires_in')) * 1000 };
  };
}

function secondsOf(value: unknown): number {
  const text = textOf(value) ?? '';
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : DEFAULT_TOKEN_SECONDS;
  return Math.min(seconds, MAX_TOKEN_SECONDS);
}

/** RSA with PKCS #1 v1.5 over the password itself. The result differs at every run, so it is made once and kept. */
function encryptPassword({ initiator }: DarajaAccount): string | null {
  if (initiator === null) return null;
  try {
    const key = { key: initiator.certificate, padding: constants.RSA_PKCS1_PADDING };
    return publicEncrypt(key, Buffer.from(initiator.password)).toString('base64');
  } catch {
    // Not a certificate, or not one of an RSA key. The check of the connection says so.
    return null;
  }
}

function passwordOf({ shortcode, passkey }: DarajaAccount, millis: number): { Password: string; Timestamp: string } {
  const timestamp = nairobiTimestamp(millis);
  return { Password: Buffer.from(`${shortcode}${passkey}${timestamp}`).toString('base64'), Timestamp: timestamp };
}

/** YYYYMMDDHHmmss in Nairobi. */
const nairobiTimestamp = (millis: number) => nairobiTime(millis).replace(/\D/g, '');

/** "2026-01-05 09:15:00" in Nairobi, which is three hours ahead of UTC all year. */
export function nairobiTime(millis: number): string {
  return new Date(millis + NAIROBI_MS).toISOString().slice(0, 19).replace('T', ' ');
}
