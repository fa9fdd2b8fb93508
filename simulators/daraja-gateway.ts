// The API gateway before M-PESA: tokens, the envelope of errors, and the fields that a request must have.

import { constants, privateDecrypt, randomBytes } from 'node:crypto';
import type { DarajaOptions, Product } from './daraja-options.ts';
import type { Quirks } from './daraja-quirks.ts';
import type { Records } from './daraja-records.ts';
import type { Operation } from './faults.ts';
import type { SimulatorAnswer, SimulatorContext, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { readMoney } from './money.ts';

/** Everything that the parts of the simulator share. */
export type Daraja = {
  readonly context: SimulatorContext;
  readonly options: DarajaOptions;
  readonly quirks: Quirks;
  readonly records: Records;
  readonly tokens: Tokens;
};

/** The fields of a request as texts, once they were checked. */
export type Fields = Readonly<Record<string, string>>;

/** Each product says "invalid token" in its own way. */
export type InvalidToken = '404.001.03' | '400.003.01' | '401.002.01';

export type Endpoint = {
  method?: 'GET' | 'POST';
  path: string;
  operation: Operation;
  product: Product;
  invalidToken: InvalidToken;
  fields: Readonly<Record<string, FieldRule>>;
  handle(fields: Fields, request: SimulatorRequest): SimulatorAnswer;
};

export function createEndpoint(daraja: Daraja, endpoint: Endpoint): SimulatorRoute {
  const { context, options, quirks, tokens } = daraja;
  const { operation, product, invalidToken } = endpoint;

  function handle(request: SimulatorRequest): SimulatorAnswer {
    if (quirks.take('spike_arrest', operation)) return SPIKE_ARREST;
    if (context.takeFault('token_ended', operation)) tokens.end();
    const refusal = tokens.check(request.headers.authorization, invalidToken);
    if (refusal !== null) return refusal;
    if (!options.hasProduct(product)) return NO_PRODUCT;
    if (request.json === null) return answerError(400, '400.002.05', 'Invalid Request Payload');
    const wrong = findWrongField(request.json, endpoint.fields);
    if (wrong !== null) return answerWrongField(wrong);
    const fields = Object.fromEntries(Object.entries(request.json).map(([name, value]) => [name, String(value)]));
    const insecure = options.isOn('strictUrls') ? findInsecureUrl(fields) : null;
    if (insecure !== null) return answerWrongField(insecure);
    const answer = endpoint.handle(fields, request);
    return answer.status === 200 && quirks.take('system_busy', operation) ? SYSTEM_BUSY : answer;
  }

  return { method: endpoint.method ?? 'POST', path: endpoint.path, operation, handle };
}

export interface Tokens {
  /** The answer to a request for a token. */
  issue(request: SimulatorRequest): SimulatorAnswer;
  /** What the gateway answers when the header is not that of the live token; null when it is. */
  check(header: string | undefined, code: InvalidToken): SimulatorAnswer | null;
  end(): void;
}

export function createTokens(context: SimulatorContext, options: DarajaOptions, quirks: Quirks): Tokens {
  const { account } = options;
  const basic = `Basic ${Buffer.from(`${account.consumerKey}:${account.consumerSecret}`).toString('base64')}`;
  /** Only one lives: a new token ends the one before. */
  let live: { token: string; endsAt: number } | null = null;

  return {
    issue(request) {
      if (request.headers.authorization !== basic) {
        if (quirks.take('empty_token_error')) return { status: 400, body: '' };
        return answerError(400, '400.008.01', 'Invalid Authentication passed');
      }
      if (request.query.get('grant_type') !== 'client_credentials') {
        return answerError(400, '400.008.02', 'Invalid grant type passed');
      }
      live = { token: randomBytes(21).toString('base64url'), endsAt: context.now() + options.ms('tokenSeconds') };
      return { status: 200, body: { access_token: live.token, expires_in: account.tokenSeconds } };
    },
    check(header, code) {
      const token = /^Bearer (\S+)$/.exec(header ?? '')?.[1];
      if (token === undefined) return answerError(404, '404.001.04', 'Invalid Authentication Header');
      if (live !== null && token === live.token && context.now() < live.endsAt) return null;
      // The token that the merchant sent stands in the text.
      if (code === '401.002.01') return answerError(401, code, `Error Occurred - Invalid Access Token - ${token}`);
      return answerError(code === '404.001.03' ? 404 : 400, code, 'Invalid Access Token');
    },
    end() {
      live = null;
    },
  };
}

export function answerError(status: number, errorCode: string, errorMessage: string): SimulatorAnswer {
  const requestId = `${randomBytes(2).toString('hex')}-${randomBytes(2).toString('hex')}-${randomBytes(8).toString('hex')}`;
  return { status, body: { requestId, errorCode, errorMessage } };
}

export function answerWrongField(name: string): SimulatorAnswer {
  return answerError(400, '400.002.02', `Bad Request - Invalid ${name}`);
}

const SPIKE_ARREST: SimulatorAnswer = {
  status: 429,
  body: {
    fault: {
      faultstring:
        'Spike arrest violation. Allowed rate : MessageRate{messagesPerPeriod=5, periodInMicroseconds=60000000}',
      detail: { errorcode: 'policies.ratelimit.SpikeArrestViolation' },
    },
  },
};

const NO_PRODUCT: SimulatorAnswer = {
  status: 401,
  body: {
    fault: {
      faultstring: 'Invalid API call as no apiproduct match found',
      detail: { errorcode: 'keymanagement.service.InvalidAPICallAsNoApiProductMatchFound' },
    },
  },
};

const SYSTEM_BUSY = answerError(500, '500.003.02', 'System is busy. Please try again in few minutes.');

export type FieldRule = { isOptional?: boolean; accepts(value: unknown): boolean };

const isDigits = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && value >= 0
    : typeof value === 'string' && /^\d+$/.test(value);

const matches = (pattern: RegExp): FieldRule => ({
  accepts: (value) => (typeof value === 'string' || typeof value === 'number') && pattern.test(String(value)),
});

export const PHONE: FieldRule = matches(/^254[17]\d{8}$/);
export const SHORT_CODE: FieldRule = matches(/^\d{5,7}$/);
export const TIMESTAMP: FieldRule = matches(/^\d{14}$/);
export const DIGITS: FieldRule = { accepts: isDigits };
export const WHOLE_AMOUNT: FieldRule = {
  accepts: (value) => isDigits(value) && BigInt(value as string | number) >= 1n,
};
export const AMOUNT: FieldRule = {
  accepts: (value) => ['string', 'number'].includes(typeof value) && (readMoney(String(value)) ?? 0n) > 0n,
};
export const URL_FIELD: FieldRule = {
  accepts: (value) => typeof value === 'string' && /^https?:\/\/\S+$/.test(value) && URL.canParse(value),
};

export function text(shortest: number, longest: number): FieldRule {
  return { accepts: (value) => typeof value === 'string' && value.length >= shortest && value.length <= longest };
}

export function oneOf(...values: string[]): FieldRule {
  return { accepts: (value) => ['string', 'number'].includes(typeof value) && values.includes(String(value)) };
}

export function optional(rule: FieldRule): FieldRule {
  return { ...rule, isOptional: true };
}

/** A field that nobody knows is refused too: it is a misspelt one. */
function findWrongField(body: Record<string, unknown>, rules: Readonly<Record<string, FieldRule>>): string | null {
  for (const [name, rule] of Object.entries(rules)) {
    const value = body[name];
    if (value === undefined ? !rule.isOptional : !rule.accepts(value)) return name;
  }
  return Object.keys(body).find((name) => !Object.hasOwn(rules, name)) ?? null;
}

/** Words that Safaricom allows in no address of a merchant, in any case and inside longer words. */
const FORBIDDEN_IN_URLS = /m-?pesa|safaricom|exe|cmd|sql|query/i;

export const hasForbiddenWord = (url: string): boolean => FORBIDDEN_IN_URLS.test(url);

function findInsecureUrl(fields: Fields): string | null {
  const insecure = Object.entries(fields).find(
    ([name, value]) => /url$/i.test(name) && (!value.startsWith('https://') || hasForbiddenWord(value)),
  );
  return insecure?.[0] ?? null;
}

/** The password inside a SecurityCredential; null when it was not encrypted for the certificate. */
export function readCredential({ privateKey }: DarajaOptions, credential: string): string | null {
  try {
    // PKCS #1 padding is stripped by hand: some versions of Node refuse to decrypt it.
    const key = { key: privateKey, padding: constants.RSA_NO_PADDING };
    const padded = privateDecrypt(key, Buffer.from(credential, 'base64')).toString('latin1');
    // 0, 2, at least eight other bytes, 0, and the password.
    const password = /^\x00\x02[^\x00]{8,}\x00(.*)$/s.exec(padded)?.[1];
    return password === undefined ? null : Buffer.from(password, 'latin1').toString('utf8');
  } catch {
    return null;
  }
}
