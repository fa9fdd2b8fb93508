// What a rail keeps of an answer: the operator's words without anybody's secrets.

import type { RailConnection, RailDefinition } from './connection.ts';
import { connectOperator, type Exchange, type ExchangeRequest, type OperatorConnection } from './exchange.ts';
import { MAX_RAW_CHARACTERS, type Observation, type RailReply } from './rail.ts';

const HIDDEN = '[hidden]';
/** Fields that carry credentials in some operator's messages, whatever their value is. */
const SECRET_NAMES = [
  'access_token',
  'refresh_token',
  'token',
  'Password',
  'SecurityCredential',
  'Initiator_?Password',
  'client_secret',
  'api_?Key',
  'authorization(?:_code)?',
  'pin',
  'encryptedPinCode',
  'notif_token',
  'pay_token',
  'customer_?(?:key|secret)',
];
const SECRET_FIELDS = new RegExp(
  `("(?:${SECRET_NAMES.join('|')})"\\s*:\\s*)("(?:[^"\\\\]|\\\\.)*"|[^\\s,}\\]]+)`,
  'gi',
);
/** Who knows the end of an address that an operator was given can send what only the operator may. */
const ADDRESS_TOKENS = /(\/operators\/[a-z0-9-]+\/[a-z0-9-]+\/[\w-]+\/)[\w-]+/g;
/** Shorter values (a country, "yes") would hide ordinary words. */
const SHORTEST_SECRET = 6;

export type Scrub = (text: string) => string;

/** Hides the sealed settings of a connection, in any place, every field that carries credentials, and addresses for callbacks. */
export function createScrub(
  definition: Pick<RailDefinition, 'settings'>,
  connection: Pick<RailConnection, 'settings'>,
): Scrub {
  const sealed = definition.settings
    .filter(({ kind, sealed: isSealed }) => kind === 'secret' || isSealed)
    .map(({ name }) => connection.settings[name] ?? '')
    .filter((value) => value.length >= SHORTEST_SECRET)
    .flatMap(formsOf)
    // A secret that another one begins with would leave the rest of it.
    .sort((left, right) => right.length - left.length);
  return (text) => {
    let scrubbed = hideCredentials(text);
    for (const secret of sealed) scrubbed = scrubbed.replaceAll(secret, HIDDEN);
    return scrubbed;
  };
}

/** Hides what carries credentials in any operator's message: fields by their names, and addresses for callbacks. */
export function hideCredentials(text: string): string {
  return text.replace(SECRET_FIELDS, `$1"${HIDDEN}"`).replace(ADDRESS_TOKENS, `$1${HIDDEN}`);
}

/** How a value is written in JSON, in a form, in an address and in a header. A form encodes more than an address does. */
function formsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const inForm = new URLSearchParams([['', value]]).toString().slice(1);
  return [value, inJson, inForm, encodeURIComponent(value), Buffer.from(value).toString('base64')];
}

/** Fit to be stored: cut, without NUL, well-formed. Scrubbed before it is cut, so that no half of a secret is left. */
export function evidenceOf(scrub: Scrub, text: string): string {
  return scrub(text).slice(0, MAX_RAW_CHARACTERS).replaceAll('\u0000', '').toWellFormed();
}

export function replyOf(scrub: Scrub, observation: Observation, text: string): RailReply {
  return { observation, raw: evidenceOf(scrub, text) };
}

/** Nothing is known, because the operator could not even be asked. */
export function unaskedReply(reason: string): RailReply {
  return { observation: { state: 'unknown', reason }, raw: '', notCalled: true };
}

const TOKEN_PATH = /\/(?:oauth2?|token)(?:[/?]|$)/i;

/** An access token may have any name, so that the answers of success which bring one are hidden as a whole. */
function receivedOf(path: string, answer: Exchange): string {
  if (!answer.answered) return answer.reason;
  return answer.status < 300 && TOKEN_PATH.test(path) ? HIDDEN : answer.body;
}

/** The exchange of a connection; every call is recorded, scrubbed, for the page of the connection. */
export function openExchange(connection: RailConnection, scrub: Scrub): OperatorConnection {
  return connectOperator({
    url: () => connection.baseUrl,
    timeoutMs: connection.timeoutMs,
    onExchange({ method, path, sentBody }: ExchangeRequest & { sentBody: string }, answer, ms) {
      const received = receivedOf(path, answer);
      // Most calls are not kept, so texts are scrubbed when they are read.
      connection.record({
        at: connection.clock.now(),
        method,
        status: answer.answered ? answer.status : null,
        ms,
        get path() {
          return evidenceOf(scrub, path);
        },
        get request() {
          return evidenceOf(scrub, sentBody);
        },
        get answer() {
          return evidenceOf(scrub, received);
        },
      });
    },
  });
}
