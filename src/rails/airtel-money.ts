// The rail to Airtel Money. HTTP 200 says nothing and neither does `success`: only the status of the transaction (TS, TF, TE)
// ends a payment, and the codes merely name the reason, because Airtel's countries publish different tables for them.

import { constants, createHmac, createPublicKey, publicEncrypt } from 'node:crypto';
import type { FailureCode } from '../catalog/failures.ts';
import { constantTimeEqual } from '../platform/secrets.ts';
import { readAccessToken } from './access-tokens.ts';
import { createAirtelSigner } from './airtel-signing.ts';
import { dashboardAddress } from './callback-addresses.ts';
import type { RailConnection, RailDefinition, RailSetting } from './connection.ts';
import { createScrub, openExchange, replyOf, type Scrub, unaskedReply } from './evidence.ts';
import type { Exchange, ExchangeRequest } from './exchange.ts';
import type {
  BalanceReply,
  CallbackReading,
  CallbackRequest,
  CollectCall,
  ConnectionCheck,
  NameCall,
  Observation,
  PayoutCall,
  QueryCall,
  Rail,
  RailCapabilities,
  RailReply,
  RefundCall,
  StatementPart,
  StatementSpan,
} from './rail.ts';
import { field, objectsOf, proseOf, readJson, signedMoneyOf, textOf } from './reading.ts';
import { type Asked, confirmRefusal } from './refusals.ts';
import { compactOf, referenceOfCompact } from './wire-ids.ts';
import { jsonNumberOf } from './wire-money.ts';

const MINUTE_MS = 60_000;
/** Airtel asks to wait this long with the first question; the payer has as long to answer. */
const PROMPT_MS = 3 * MINUTE_MS;
const TOKEN_LIFE_MS = 3 * MINUTE_MS;
const NAME_TIMEOUT_MS = 2_000;
/** National numbers have nine digits in the three countries. */
const NATIONAL_DIGITS = 9;
const SUMMARY_LIMIT = 100;
const MAX_SUMMARY_PAGES = 50;

const COUNTRIES = {
  UG: { currency: 'UGX', sandbox: 'https://openapiuat.airtel.africa', production: 'https://openapi.airtel.africa' },
  ZM: { currency: 'ZMW', sandbox: 'https://openapiuat.airtel.co.zm', production: 'https://openapi.airtel.co.zm' },
  TZ: { currency: 'TZS', sandbox: 'https://openapiuat.airtel.co.tz', production: 'https://openapi.airtel.co.tz' },
} as const;
type CountryCode = keyof typeof COUNTRIES;

/** The key of Airtel's simulator. */
const SIMULATOR_PUBLIC_KEY = [
  'MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCVKUWKEbImXBRA88/8mwUxj9hm7E1k171qE4lk8yYxFDC26oCqMVEskVkSJ69t7p/KNwfw30',
  'UK96fViI9kds3LfpXp5UJKxGvBOVW2eaZbmqBpv4dUbblFN26ZYJx7IQKm9Iyds+et4EH+mDCWeZ8Pc8Vq72AjPyhM8pmX5ZDR6wIDAQAB',
].join('');

const SETTINGS: readonly RailSetting[] = [
  {
    name: 'country',
    label: 'Country',
    help: 'The country of your Airtel contract: UG, ZM or TZ. Each country is a connection of its own.',
    kind: 'choice',
    namesAccount: true,
    choices: Object.keys(COUNTRIES),
    simulator: 'UG',
  },
  {
    name: 'client_id',
    label: 'Client ID',
    help: 'From Key Management of your application on the Airtel developer portal.',
    kind: 'text',
    // Airtel does not find the payments of another application, and what it does not find is sent again.
    namesAccount: true,
    simulator: '2d9647ad-a268-4346-8f68-e7090619d40b',
  },
  {
    name: 'client_secret',
    label: 'Client secret',
    help: 'Shown beside the client ID.',
    kind: 'secret',
    simulator: '8c1f0e2d-3b4a-4c5d-9e6f-7a8b9c0d1e2f',
  },
  {
    name: 'callback_key',
    label: 'Callback private key',
    help: 'From Callback URL settings, if you switched on callback authentication. Without it, callbacks only make us ask.',
    kind: 'secret',
    optional: true,
    simulator: '4f1c6b0e9d8a4e7fb2c3d5a697081b2c',
  },
  {
    name: 'pin',
    label: 'Disbursement PIN',
    help: 'The four digits that pay out of your wallet. Leave it empty if you only collect.',
    kind: 'secret',
    optional: true,
    pattern: /^\d{4,6}$/,
    patternHelp: 'four to six digits',
    simulator: '1234',
  },
  {
    name: 'pin_public_key',
    label: 'Public key for the PIN',
    help: 'From the disbursement page of the portal. The PIN is sent encrypted with it.',
    kind: 'pem',
    optional: true,
    simulator: SIMULATOR_PUBLIC_KEY,
  },
  {
    name: 'pin_padding',
    label: 'Padding of the PIN',
    help: 'How your country wants the PIN encrypted. Ask Airtel if payouts answer "Incorrect Encrypted Pin".',
    kind: 'choice',
    choices: ['pkcs1', 'oaep'],
    initial: 'pkcs1',
  },
  {
    name: 'signing',
    label: 'Message signing',
    help: 'Zambia wants collections signed, Malawi disbursements. Choose what your application page says.',
    kind: 'choice',
    choices: ['none', 'collections', 'everything'],
    initial: 'none',
  },
];

export const airtelMoneyRail: RailDefinition = {
  name: 'airtel-money',
  title: 'Airtel Money',
  methods: ['AIRTEL_TZA', 'AIRTEL_OAPI_UGA', 'AIRTEL_OAPI_ZMB'],
  settings: SETTINGS,
  hosts: { sandbox: COUNTRIES.UG.sandbox, production: COUNTRIES.UG.production },
  simulatorPort: 4805,
  accountsOf: ({ client_id: application = '' }) => [application],
  open: openAirtelMoney,
};

type Api = {
  connection: RailConnection;
  scrub: Scrub;
  call(request: ExchangeRequest, product?: 'collections'): Promise<Exchange>;
  country: CountryCode;
};

function openAirtelMoney(given: RailConnection): Rail {
  const country = (given.settings.country ?? 'UG') as CountryCode;
  const { environment } = given;
  // Two of the countries have hosts of their own.
  const connection = environment === 'simulator' ? given : { ...given, baseUrl: COUNTRIES[country][environment] };
  const scrub = createScrub(airtelMoneyRail, connection);
  const operator = openExchange(connection, scrub);
  const api: Api = {
    connection,
    scrub,
    country,
    call: createCalls(connection, country, (request) => operator.exchange(request)),
  };
  const pin = encryptPin(connection);

  return {
    name: connection.name,
    // Airtel tells the balance of the wallet for collections only.
    payoutAccount: 'disbursements',
    capabilitiesOf(method, direction) {
      if (!connection.methods.includes(method.code) || (direction === 'payout' && pin === null)) return null;
      return direction === 'collection' ? COLLECTIONS : PAYOUTS;
    },
    verificationFor: (method) => method.verification,
    collect: (call) => collect(api, call),
    payout: (call) => payout(api, call, pin ?? ''),
    query: async (call) =>
      call.direction === 'refund'
        ? queryRefund(api, call)
        : (await enquire(api, compactOf(call.reference), call.direction === 'payout')).reply,
    refund: (call) => refund(api, call),
    balance: () => balance(api),
    fetchStatement: (span, part) => listTransactions(api, span, part),
    lookUpName: (call) => lookUpName(api, call),
    readCallback: (request) => readCallback(connection.settings.callback_key ?? '', request),
    check: () => check(api, pin),
    close: () => operator.close(),
  };
}

const COLLECTIONS: RailCapabilities = {
  idempotentSubmit: true,
  query: 'answers',
  firstQueryAfterMs: 10_000,
  notFoundIsFinalAfterMs: PROMPT_MS + MINUTE_MS,
  callsPerSecond: null,
  refunds: 'whole',
  sendsTokens: false,
  decimals: 2,
};
const PAYOUTS: RailCapabilities = { ...COLLECTIONS, firstQueryAfterMs: 5_000, refunds: 'none' };

// Collections

async function collect(api: Api, call: CollectCall): Promise<RailReply> {
  const { country } = api;
  const { currency } = COUNTRIES[country];
  const id = compactOf(call.reference);
  const answer = await api.call(
    {
      method: 'POST',
      path: '/merchant/v1/payments/',
      body: JSON.stringify({
        reference: label(call.merchantName),
        subscriber: { country, currency, msisdn: nationalNumber(call.msisdn) },
        transaction: { amount: jsonNumberOf(call.amount), country, currency, id },
      }),
    },
    'collections',
  );
  return read(api, answer, (said) => readPush(said, answer, id));
}

/** A push that was taken is a prompt, not a payment, whatever words it uses. */
function readPush(said: unknown, answer: Exchange, railReference: string): Observation {
  const httpStatus = answer.answered ? answer.status : 0;
  if (httpStatus === 200 && isYes(field(said, 'status', 'success'))) return { state: 'pending', railReference };
  const { code, message } = codeOf(said);
  const failureCode = NOTHING_STARTED[code] ?? (isRouterRefusal(code) ? 'OPERATOR_UNAVAILABLE' : undefined);
  if (failureCode) return { state: 'failed', failureCode, rawCode: code, message };
  if (httpStatus === 400 && code === 'DP00800001005')
    return { state: 'failed', failureCode: 'PAYER_NOT_FOUND', rawCode: code, message };
  return { state: 'unknown', reason: `Airtel answered ${httpStatus} ${code}` };
}

/** Refused before a prompt was sent. Any other code may stand beside a prompt that was. */
const NOTHING_STARTED: Readonly<Record<string, FailureCode>> = {
  ESB000033: 'PAYER_NOT_FOUND',
  ESB000036: 'PAYER_NOT_FOUND',
  ESB000034: 'REJECTED_BY_OPERATOR',
  ESB000035: 'REJECTED_BY_OPERATOR',
  ESB000039: 'REJECTED_BY_OPERATOR',
  invalid_client: 'OPERATOR_UNAVAILABLE',
  invalid_token: 'OPERATOR_UNAVAILABLE',
};

/** ROUTER117 is a time-out behind the router; the others say that it sent nothing on. */
const isRouterRefusal = (code: string) => /^ROUTER\d{3}$/.test(code) && code !== 'ROUTER117';

async function enquire(api: Api, id: string, isPayout: boolean): Promise<Asked> {
  const path = isPayout ? `/standard/v2/disbursements/${id}?transactionType=B2C` : `/standard/v1/payments/${id}`;
  const answer = await api.call({ method: 'GET', path });
  return { answer, reply: read(api, answer, (said) => readEnquiry(said, isPayout, id)) };
}

const NOT_FOUND = new Set(['ESB000045', 'DP00800001025', 'DP00900001015']);

function readEnquiry(said: unknown, isPayout: boolean, id: string): Observation {
  const transaction = field(said, 'data', 'transaction');
  const status = textOf(field(transaction, 'status'));
  const { code } = codeOf(said);
  if (status === null && NOT_FOUND.has(code))
    return { state: 'unknown', reason: 'Airtel does not know the reference', definitelyNotFound: true };
  if (textOf(field(transaction, 'id')) !== id)
    return { state: 'unknown', reason: `Airtel answered ${code || 'nothing'}` };
  return readStatus(transaction, said, isPayout);
}

function readStatus(transaction: unknown, said: unknown, isPayout: boolean): Observation {
  const { code, message } = codeOf(said);
  const receipt =
    (isPayout ? textOf(field(transaction, 'reference_id')) : null) ?? textOf(field(transaction, 'airtel_money_id'));
  switch (textOf(field(transaction, 'status'))) {
    case 'TS':
      return { state: 'succeeded', receipt };
    case 'TF': {
      const reasons = isPayout ? PAYOUT_REASONS : COLLECTION_REASONS;
      return { state: 'failed', failureCode: reasons[code] ?? 'UNSPECIFIED', rawCode: code, message };
    }
    case 'TE':
      return { state: 'failed', failureCode: 'PROMPT_EXPIRED', rawCode: 'TE', message };
    case 'TIP':
      return { state: 'pending' };
    case 'TR':
      return { state: 'reversed', receipt, rawCode: 'TR', message };
    default:
      return { state: 'unknown', reason: 'Airtel does not know yet how it ended', answered: true };
  }
}

/** Only together with TF. Codes whose meaning differs between the two published tables name no reason. */
const COLLECTION_REASONS: Readonly<Record<string, FailureCode>> = {
  DP00800001004: 'AMOUNT_OUT_OF_RANGE',
  DP00800001008: 'PAYER_CANCELLED',
  DP00800001024: 'PROMPT_EXPIRED',
  DP00800001029: 'PROMPT_EXPIRED',
};

const PAYOUT_REASONS: Readonly<Record<string, FailureCode>> = {
  DP00900001003: 'PAYER_LIMIT_REACHED',
  DP00900001004: 'AMOUNT_OUT_OF_RANGE',
  DP00900001007: 'FLOAT_INSUFFICIENT',
  DP00900001009: 'RECIPIENT_NOT_FOUND',
  DP00900001010: 'REJECTED_BY_OPERATOR',
  DP00900001012: 'RECIPIENT_NOT_FOUND',
  DP00900001013: 'REJECTED_BY_OPERATOR',
};

// Payouts

async function payout(api: Api, call: PayoutCall, pin: string): Promise<RailReply> {
  const id = compactOf(call.reference);
  const answer = await api.call({
    method: 'POST',
    path: '/standard/v2/disbursements/',
    body: JSON.stringify({
      payee: { currency: COUNTRIES[api.country].currency, msisdn: nationalNumber(call.msisdn) },
      reference: label(call.merchantName),
      pin,
      transaction: { amount: jsonNumberOf(call.amount), id, type: 'B2C' },
    }),
  });
  const reply = read(api, answer, (said) => readPayout(said, id));
  const said = answer.answered ? readJson(answer.body) : null;
  // A code alone may stand beside a payout that has begun, …1013 is a plain "refused": Airtel is asked before money is given back.
  const isCodeOnly = codeOf(said).code.startsWith('DP') && !hasStatus(said, id);
  return isCodeOnly ? confirmRefusal(reply, () => enquire(api, id, true)) : reply;
}

function hasStatus(said: unknown, id: string): boolean {
  const transaction = field(said, 'data', 'transaction');
  return textOf(field(transaction, 'id')) === id && textOf(field(transaction, 'status')) !== null;
}

/** The answer itself tells whether money moved; a refusal comes with HTTP 200. */
function readPayout(said: unknown, railReference: string): Observation {
  const transaction = field(said, 'data', 'transaction');
  if (hasStatus(said, railReference)) {
    const observation = readStatus(transaction, said, true);
    return observation.state === 'succeeded' || observation.state === 'pending'
      ? { ...observation, railReference }
      : observation;
  }
  const { code, message } = codeOf(said);
  const failureCode = REFUSED_PAYOUT[code] ?? (isRouterRefusal(code) ? 'OPERATOR_UNAVAILABLE' : undefined);
  if (failureCode) return { state: 'failed', failureCode, rawCode: code, message };
  return { state: 'unknown', reason: `Airtel answered ${code || 'nothing that we know'}` };
}

/** Refused before money moved. DP00900001000, …1005, …1011 and …1014 are not among them: the enquiry tells. */
const REFUSED_PAYOUT: Readonly<Record<string, FailureCode>> = {
  DP00900001004: 'AMOUNT_OUT_OF_RANGE',
  DP00900001007: 'FLOAT_INSUFFICIENT',
  DP00900001012: 'RECIPIENT_NOT_FOUND',
  DP00900001013: 'REJECTED_BY_OPERATOR',
  ESB000033: 'RECIPIENT_NOT_FOUND',
  ESB000036: 'RECIPIENT_NOT_FOUND',
  invalid_client: 'OPERATOR_UNAVAILABLE',
  invalid_token: 'OPERATOR_UNAVAILABLE',
};

/**
 * Encrypted once: the padding is random, so it would differ each time for no gain. Null: this connection pays nothing out. A key that
 * cannot encrypt must not stop collections and callbacks, so it is said by the check.
 */
function encryptPin({ settings }: RailConnection): string | null {
  const { pin, pin_public_key: key, pin_padding: padding } = settings;
  if (!pin || !key) return null;
  const bare = key.replace(/\s+/g, '');
  const pem = key.includes('BEGIN') ? key : `-----BEGIN PUBLIC KEY-----\n${bare}\n-----END PUBLIC KEY-----`;
  try {
    return publicEncrypt(
      {
        key: createPublicKey(pem),
        padding: padding === 'oaep' ? constants.RSA_PKCS1_OAEP_PADDING : constants.RSA_PKCS1_PADDING,
      },
      Buffer.from(pin),
    ).toString('base64');
  } catch {
    return null;
  }
}

// Refunds

/** By Airtel's own id of the collection, whole, and without an id of ours: it is sent once. */
async function refund(api: Api, { collection }: RefundCall): Promise<RailReply> {
  // Nothing is sent, and nothing will be: another refund can be made when the receipt is known.
  if (collection.receipt === null) {
    const message = 'The receipt of the payment is not known yet.';
    return replyOf(
      api.scrub,
      { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode: 'NO_RECEIPT', message },
      '',
    );
  }
  const answer = await api.call({
    method: 'POST',
    path: '/standard/v1/payments/refund',
    body: JSON.stringify({ transaction: { airtel_money_id: collection.receipt } }),
  });
  return read(api, answer, (said) => {
    const own = textOf(field(said, 'data', 'transaction', 'airtel_money_id'));
    // Accepted, not yet given back: the code is the one for "in process". Only the list of transactions shows the end.
    if (isYes(field(said, 'status', 'success')) && own !== null && own !== collection.receipt)
      return { state: 'pending', railReference: own };
    const { code, message } = codeOf(said);
    if (isRouterRefusal(code)) return { state: 'failed', failureCode: 'OPERATOR_UNAVAILABLE', rawCode: code, message };
    return { state: 'unknown', reason: `Airtel answered ${code || 'nothing that we know'}` };
  });
}

/** Airtel has no enquiry for refunds; its list of transactions shows them, in an order that nobody has written down. */
async function queryRefund(api: Api, { railReference, submittedAt }: QueryCall): Promise<RailReply> {
  if (railReference === null) return unaskedReply('Airtel gave no id for the refund');
  const from = submittedAt.getTime() - PROMPT_MS;
  const to = api.connection.clock.millis() + MINUTE_MS;
  for (let page = 0; page < MAX_SUMMARY_PAGES; page += 1) {
    const offset = page * SUMMARY_LIMIT;
    const path = `/merchant/v1/transactions?from=${from}&to=${to}&limit=${SUMMARY_LIMIT}&offset=${offset}`;
    const answer = await api.call({ method: 'GET', path });
    const list = answer.answered ? field(readJson(answer.body), 'data', 'transactions') : null;
    if (!Array.isArray(list)) return read(api, answer, (said) => noList(codeOf(said).code));
    const found = objectsOf(list)
      .map((entry) => field(entry, 'transaction'))
      .find((transaction) => textOf(field(transaction, 'airtel_money_id')) === railReference);
    if (found !== undefined || list.length < SUMMARY_LIMIT)
      return read(api, answer, () => readRefund(found, railReference));
  }
  return replyOf(api.scrub, { state: 'unknown', reason: 'the list of transactions is too long' }, '');
}

const noList = (code: string): Observation => ({
  state: 'unknown',
  reason: `Airtel answered ${code || 'no list of transactions'}`,
});

function readRefund(found: unknown, receipt: string): Observation {
  const status = textOf(field(found, 'status'));
  if (status === 'TS' || status === 'TR') return { state: 'succeeded', receipt };
  if (status !== 'TF')
    return { state: 'unknown', reason: 'the refund is not in the list of transactions yet', answered: true };
  const message = 'Airtel did not refund it.';
  return { state: 'failed', failureCode: 'REJECTED_BY_OPERATOR', rawCode: 'TF', message };
}

// Callbacks

/** With the hash it is the operator's word; without, only a reason to ask. */
function readCallback(key: string, { body }: CallbackRequest): CallbackReading[] {
  const text = body.toString('utf8');
  const said = readJson(text);
  const transaction = field(said, 'transaction');
  const reference = referenceOfCompact(textOf(field(transaction, 'id')) ?? '');
  if (reference === null) return [{ kind: 'rejected', reason: 'it names no payment of ours' }];
  const hash = textOf(field(said, 'hash'));
  const isProof = key !== '' && hash !== null && hasHash(key, hash, text);
  // Airtel also reports what is under way, and calls an unfinished payment failed: it is asked.
  if (!isProof || field(transaction, 'status_code') !== 'TS') return [{ kind: 'hint', reference }];
  const receipt = textOf(field(transaction, 'airtel_money_id'));
  return [{ kind: 'proof', reference, direction: 'collection', observation: { state: 'succeeded', receipt } }];
}

/** Countries hash different texts: the transaction alone, or all of it, as sent or written anew. */
function hasHash(key: string, given: string, text: string): boolean {
  const start = text.indexOf('{', text.indexOf('"transaction"'));
  const sent = text.slice(start, closingBrace(text, start) + 1);
  const { transaction } = JSON.parse(text) as { transaction: unknown };
  // A signed transaction that stands elsewhere in the message proves nothing about the one that is read.
  const isRead = JSON.stringify(readJson(sent)) === JSON.stringify(field(readJson(text), 'transaction'));
  const candidates = [...(isRead ? [sent] : []), JSON.stringify(transaction), JSON.stringify({ transaction }), text];
  return candidates.some((payload) =>
    constantTimeEqual(Buffer.from(createHmac('sha256', key).update(payload).digest('base64')), Buffer.from(given)),
  );
}

/** Where the object that begins at `start` ends. Braces inside of texts do not count. */
function closingBrace(text: string, start: number): number {
  let depth = 0;
  let inText = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (inText && character === '\\') index++;
    else if (character === '"') inText = !inText;
    else if (!inText && character === '{') depth++;
    else if (!inText && character === '}' && --depth === 0) return index;
  }
  return text.length;
}

// The rest

async function balance(api: Api): Promise<BalanceReply> {
  const answer = await api.call({ method: 'GET', path: '/standard/v1/users/balance' });
  const said = answer.answered ? readJson(answer.body) : null;
  const available = signedMoneyOf(field(said, 'data', 'balance'));
  const currency = textOf(field(said, 'data', 'currency'));
  if (available === null || currency === null)
    return { error: answer.answered ? `Airtel answered ${answer.status} ${codeOf(said).code}`.trim() : answer.reason };
  return { balances: [{ account: 'collections', currency, available }] };
}

/** Collections of a span of time. Times are milliseconds since 1970. */
async function listTransactions(api: Api, { from, to }: StatementSpan, part: string | null): Promise<StatementPart> {
  const offset = Number(part ?? '0');
  const asked = { from: from.getTime(), to: to.getTime() - 1, limit: SUMMARY_LIMIT, offset };
  const query = Object.entries(asked).map(([name, value]) => `${name}=${value}`);
  const answer = await api.call({ method: 'GET', path: `/merchant/v1/transactions?${query.join('&')}` });
  const said = answer.answered && answer.status === 200 ? readJson(answer.body) : null;
  const rows = field(said, 'data', 'transactions');
  if (!Array.isArray(rows))
    return { error: answer.answered ? `Airtel answered ${answer.status} ${codeOf(said).code}`.trim() : answer.reason };
  const records = objectsOf(rows);
  return { records, next: rows.length < SUMMARY_LIMIT ? null : String(offset + SUMMARY_LIMIT) };
}

async function lookUpName(api: Api, { msisdn }: NameCall): Promise<string | null> {
  const path = `/standard/v1/users/${nationalNumber(msisdn)}`;
  const answer = await api.call({ method: 'GET', path, timeoutMs: NAME_TIMEOUT_MS });
  const said = answer.answered && answer.status === 200 ? readJson(answer.body) : null;
  const names = ['first_name', 'last_name'].map((name) => textOf(field(said, 'data', name)));
  return names.filter((name) => name !== null).join(' ') || null;
}

async function check(api: Api, pin: string | null): Promise<ConnectionCheck[]> {
  const reply = await balance(api);
  const { publicUrl, addresses } = api.connection;
  return [
    { name: 'token and balance', problem: 'error' in reply ? `${reply.error}. Check the client ID and secret.` : null },
    {
      name: 'payouts',
      problem: pin === null ? pinProblem(api.connection) : null,
    },
    {
      name: 'callback address',
      problem: publicUrl.startsWith('https://')
        ? null
        : `Airtel needs an https address. Set PUBLIC_URL, then enter ${dashboardAddress(addresses)} on the portal.`,
    },
  ];
}

function pinProblem({ settings }: RailConnection): string {
  return settings.pin && settings.pin_public_key
    ? 'The public key for the PIN is not an RSA key, so the PIN cannot be encrypted: this connection cannot pay out.'
    : 'There is no PIN or no public key for it: this connection cannot pay out.';
}

/** Signed where the country wants it, with the country's headers and the live token. */
function createCalls(connection: RailConnection, country: CountryCode, exchange: Send): Api['call'] {
  const { settings, tokens } = connection;
  const common = { accept: '*/*', 'x-country': country, 'x-currency': COUNTRIES[country].currency };
  const signer = createAirtelSigner(connection.clock);
  const fetchToken = async () => {
    const answer = await exchange({
      method: 'POST',
      path: '/auth/oauth2/token',
      body: {
        client_id: settings.client_id,
        client_secret: settings.client_secret,
        grant_type: 'client_credentials',
      },
    });
    return readAccessToken(answer, TOKEN_LIFE_MS);
  };

  return (request, product) =>
    tokens.withToken(
      '',
      fetchToken,
      async (token) => {
        const headers = { ...common, 'content-type': 'application/json', authorization: `Bearer ${token}` };
        const isSigned = settings.signing === 'everything' || (settings.signing === 'collections' && product);
        if (!isSigned || typeof request.body !== 'string') return exchange({ ...request, headers });
        const signature = await signer.sign(request.body, () =>
          exchange({ method: 'GET', path: '/v1/rsa/encryption-keys', headers }),
        );
        if ('error' in signature) return signature.error;
        return exchange({ ...request, headers: { ...headers, ...signature.headers } });
      },
      (answer) => answer.answered && (answer.status === 401 || answer.status === 403) && isTokenRefusal(answer.body),
    );
}

type Send = (request: ExchangeRequest) => Promise<Exchange>;

/** A 403 of a firewall in front of Airtel is not about the token. */
const isTokenRefusal = (body: string) => field(readJson(body), 'error') === 'invalid_token';

function read(api: Api, answer: Exchange, observe: (said: unknown) => Observation): RailReply {
  if (!answer.answered) return replyOf(api.scrub, { state: 'unknown', reason: answer.reason }, '');
  const said = readJson(answer.body);
  const observation: Observation =
    said === undefined ? { state: 'unknown', reason: `Airtel answered ${answer.status} without JSON` } : observe(said);
  // 5xx on a submit: Airtel may have done it.
  const isAmbiguous = answer.status >= 500 && observation.state === 'failed';
  return replyOf(
    api.scrub,
    isAmbiguous ? { state: 'unknown', reason: `Airtel answered ${answer.status}` } : observation,
    answer.body,
  );
}

function codeOf(said: unknown): { code: string; message: string } {
  const router = textOf(field(said, 'status_code')) ?? textOf(field(said, 'error'));
  const result = textOf(field(said, 'status', 'result_code'));
  const response = textOf(field(said, 'status', 'response_code'));
  // The result code is the plainer one where it names a refusal of the request itself.
  const code = router ?? (result !== null && result in NOTHING_STARTED ? result : (response ?? result)) ?? '';
  return { code, message: proseOf(field(said, 'status', 'message') ?? field(said, 'status_message')) };
}

const isYes = (value: unknown) => value === true || value === 'true';

/** Without dial code and leading zero. */
const nationalNumber = (msisdn: string) => msisdn.slice(-NATIONAL_DIGITS);

/** 4 to 64 letters and digits. */
function label(name: string): string {
  const plain = name.normalize('NFD').replace(/[^A-Za-z0-9]/g, '');
  return plain.length < 4 ? 'Payment' : plain.slice(0, 64);
}
