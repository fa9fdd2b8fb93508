// The rail to MTN MoMo: collections (requesttopay), payouts (transfer) and refunds. Each country is an account of its own, and
// collections and disbursements have keys and tokens of their own. A call names our reference as its X-Reference-Id, which MTN
// takes once; callbacks are not signed and sent once, so they are only a reason to ask.

import type { Direction } from '../catalog/catalog.ts';
import type { FailureCode } from '../catalog/failures.ts';
import { formatAmount } from '../platform/money.ts';
import { readAccessToken } from './access-tokens.ts';
import type { RailConnection, RailDefinition, RailSetting } from './connection.ts';
import { createScrub, evidenceOf, openExchange, replyOf, type Scrub } from './evidence.ts';
import type { Exchange, ExchangeRequest, OperatorConnection } from './exchange.ts';
import { textStateOf } from './payer-texts.ts';
import type {
  BalanceReply,
  CallbackReading,
  CallbackRequest,
  CollectCall,
  ConnectionCheck,
  MoneyDirection,
  NameCall,
  Observation,
  PayerTextCall,
  PayerTextReply,
  PayoutCall,
  QueryCall,
  Rail,
  RailCapabilities,
  RailReply,
  RefundCall,
} from './rail.ts';
import { currencyOf, field, moneyOf, proseOf, readJson, signedMoneyOf, textOf } from './reading.ts';
import { uuid4Of } from './wire-ids.ts';

type Product = 'collection' | 'disbursement';

const MINUTE_MS = 60_000;
/** MTN answers 404 for some seconds after it took a request. */
const NOT_FOUND_IS_FINAL_AFTER_MS = 5 * MINUTE_MS;
const TOKEN_LIFE_MS = 60 * MINUTE_MS;
/** A person waits for the name, and can do without it. */
const NAME_TIMEOUT_MS = 2_000;
const MAX_NOTE = 160;

const TARGET_ENVIRONMENTS = [
  'sandbox',
  'mtnuganda',
  'mtnghana',
  'mtnivorycoast',
  'mtnzambia',
  'mtncameroon',
  'mtnbenin',
] as const;

/** The credentials that MTN's simulator has by itself. */
const SIMULATOR = {
  collection: {
    subscription: '6f2a1d0c5b7e4a3f9c8d7e6f5a4b3c2d',
    user: '0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d',
    key: 'f1db798c98df4bcf83b538175893bbf0',
  },
  disbursement: {
    subscription: '1c9e8d7b6a5f4e3d2c1b0a9f8e7d6c5b',
    user: '5d4c3b2a-1f0e-4d9c-8b7a-6f5e4d3c2b1a',
    key: 'a7c0e1d25b9f4c6e8d3b2a1f0e9d8c7b',
  },
} as const;

const productSettings = (product: Product, title: string): RailSetting[] => [
  {
    name: `${product}_subscription_key`,
    label: `${title}: subscription key`,
    help: `The primary key of your ${title} subscription, from your profile on the MoMo developer portal.`,
    kind: 'secret',
    simulator: SIMULATOR[product].subscription,
    ...(product === 'disbursement' ? { optional: true as const } : {}),
  },
  {
    name: `${product}_api_user`,
    label: `${title}: API user`,
    help: 'A UUID. You create it with the subscription key; in production, on the partner portal.',
    kind: 'text',
    // MTN does not find the payments of another user, and what it does not find is sent again.
    namesAccount: true,
    simulator: SIMULATOR[product].user,
    pattern: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    patternHelp: 'a UUID, as the portal shows it',
    ...(product === 'disbursement' ? { optional: true as const } : {}),
  },
  {
    name: `${product}_api_key`,
    label: `${title}: API key`,
    help: 'Created for the API user, and shown once.',
    kind: 'secret',
    simulator: SIMULATOR[product].key,
    ...(product === 'disbursement' ? { optional: true as const } : {}),
  },
];

const SETTINGS: readonly RailSetting[] = [
  {
    name: 'target_environment',
    label: 'Target environment',
    help: 'The country of your contract as MTN writes it. The sandbox of MTN takes only EUR.',
    kind: 'choice',
    namesAccount: true,
    choices: TARGET_ENVIRONMENTS,
    simulator: 'mtnuganda',
  },
  ...productSettings('collection', 'Collections'),
  ...productSettings('disbursement', 'Disbursements'),
  {
    name: 'refunds',
    label: 'Refunds',
    help: 'Whether MTN has enabled the refund call for your contract. Without it, refunds can be sent as payouts.',
    kind: 'yes_no',
    initial: 'no',
    simulator: 'yes',
  },
];

export const mtnMomoRail: RailDefinition = {
  name: 'mtn-momo',
  title: 'MTN MoMo',
  methods: ['MTN_MOMO_BEN', 'MTN_MOMO_CIV', 'MTN_MOMO_CMR', 'MTN_MOMO_UGA', 'MTN_MOMO_ZMB', 'MTN_MOMO_GHA'],
  settings: SETTINGS,
  hosts: { sandbox: 'https://sandbox.momodeveloper.mtn.com', production: 'https://proxy.momoapi.mtn.com' },
  simulatorPort: 4803,
  open: openMtnMomo,
};

type Api = {
  scrub: Scrub;
  /** A call under the token of a product. */
  call(product: Product, request: ExchangeRequest): Promise<Exchange>;
};

function openMtnMomo(connection: RailConnection): Rail {
  const { settings } = connection;
  const scrub = createScrub(mtnMomoRail, connection);
  const operator = openExchange(connection, scrub);
  const api: Api = { scrub, call: (product, request) => callWithToken(connection, operator, product, request) };
  const paysOut = Boolean(settings.disbursement_subscription_key && settings.disbursement_api_key);
  const refunds = paysOut && settings.refunds === 'yes';

  return {
    name: connection.name,
    payoutAccount: 'disbursement',
    capabilitiesOf(method, direction) {
      if (!connection.methods.includes(method.code)) return null;
      if (direction === 'payout' && !paysOut) return null;
      const texts = direction === 'collection' ? { textsPayers: true as const } : {};
      return { ...CAPABILITIES, ...texts, refunds: refunds ? 'partial' : 'none' };
    },
    verificationFor: (method) => method.verification,
    collect: (call) => submit(connection, api, call, 'collection'),
    payout: (call) => submit(connection, api, call, 'payout'),
    query: (call) => query(api, call),
    ...(refunds ? { refund: (call: RefundCall) => refund(connection, api, call) } : {}),
    balance: () => balance(api, paysOut ? ['collection', 'disbursement'] : ['collection']),
    lookUpName: (call) => lookUpName(api, call),
    sendPayerText: (call) => sendPayerText(api, call),
    readCallback: (request) => readCallback(connection, request),
    check: () => check(connection, api, paysOut),
    close: () => operator.close(),
  };
}

const CAPABILITIES: Omit<RailCapabilities, 'refunds'> = {
  idempotentSubmit: true,
  query: 'answers',
  firstQueryAfterMs: 5_000,
  notFoundIsFinalAfterMs: NOT_FOUND_IS_FINAL_AFTER_MS,
  callsPerSecond: null,
  sendsTokens: false,
  decimals: 2,
};

// Calls

const PATHS: Record<MoneyDirection, { product: Product; path: string }> = {
  collection: { product: 'collection', path: '/collection/v1_0/requesttopay' },
  payout: { product: 'disbursement', path: '/disbursement/v1_0/transfer' },
  refund: { product: 'disbursement', path: '/disbursement/v1_0/refund' },
};

async function submit(
  connection: RailConnection,
  api: Api,
  call: CollectCall | PayoutCall,
  direction: Direction,
): Promise<RailReply> {
  const party = { partyIdType: 'MSISDN', partyId: call.msisdn };
  return send(connection, api, call.reference, direction, {
    amount: formatAmount(call.amount),
    currency: call.currency,
    externalId: call.reference,
    ...(direction === 'collection' ? { payer: party } : { payee: party }),
    payerMessage: note(call.merchantName),
    payeeNote: note(call.merchantName),
  });
}

function refund(connection: RailConnection, api: Api, call: RefundCall): Promise<RailReply> {
  return send(connection, api, call.reference, 'refund', {
    amount: formatAmount(call.amount),
    currency: call.currency,
    externalId: call.reference,
    payerMessage: note(call.merchantName),
    payeeNote: note(call.merchantName),
    referenceIdToRefund: uuid4Of(call.collection.reference),
  });
}

async function send(
  connection: RailConnection,
  api: Api,
  reference: string,
  direction: MoneyDirection,
  body: object,
): Promise<RailReply> {
  const { product, path } = PATHS[direction];
  const railReference = uuid4Of(reference);
  const headers = {
    'x-reference-id': railReference,
    'x-callback-url': connection.addresses.url(direction, reference),
  };
  const answer = await api.call(product, { method: 'POST', path, headers, body });
  if (!answer.answered) return replyOf(api.scrub, { state: 'unknown', reason: answer.reason }, '');
  return replyOf(api.scrub, readSubmit(answer, railReference), answer.body);
}

/** MTN reports mistakes in our configuration as 500; these say that nothing was taken. */
const CONFIGURATION_CODES = new Set([
  'INVALID_CURRENCY',
  'NOT_ALLOWED_TARGET_ENVIRONMENT',
  'INVALID_CALLBACK_URL_HOST',
  'NOT_ALLOWED',
]);

function readSubmit({ status, body }: Exchange & { answered: true }, railReference: string): Observation {
  const said = readJson(body);
  const code = textOf(field(said, 'code')) ?? '';
  // Known there already: what became of it, only a query tells.
  if (status === 202 || status === 409) return { state: 'pending', railReference };
  const refused = (failureCode: FailureCode): Observation => ({
    state: 'failed',
    failureCode,
    rawCode: code || String(status),
    message: proseOf(field(said, 'message')) || `MTN answered ${status}.`,
  });
  if (status === 400) return refused('REJECTED_BY_OPERATOR');
  // Refused at MTN's gate: keys, addresses or the path are wrong, and no payer was asked.
  if (status === 401 || status === 403 || status === 404) return refused('OPERATOR_UNAVAILABLE');
  if (status === 500 && CONFIGURATION_CODES.has(code)) return refused('REJECTED_BY_OPERATOR');
  return { state: 'unknown', reason: `MTN answered ${status}${code && ` ${code}`}` };
}

async function query(api: Api, { reference, direction, railReference }: QueryCall): Promise<RailReply> {
  const { product, path } = PATHS[direction];
  const id = railReference ?? uuid4Of(reference);
  const answer = await api.call(product, { method: 'GET', path: `${path}/${id}` });
  if (!answer.answered) return replyOf(api.scrub, { state: 'unknown', reason: answer.reason }, '');
  return replyOf(api.scrub, readStatus(answer, direction, reference), answer.body);
}

function readStatus(
  { status, body }: Exchange & { answered: true },
  direction: MoneyDirection,
  reference: string,
): Observation {
  const fact = readJson(body);
  // A proxy's 404 page says nothing: MTN's own names the code.
  if (status === 404 && field(fact, 'code') === 'RESOURCE_NOT_FOUND')
    return { state: 'unknown', reason: 'MTN does not know the reference', definitelyNotFound: true };
  if (status !== 200) return { state: 'unknown', reason: `MTN answered ${status}` };
  if (field(fact, 'externalId') !== reference)
    return { state: 'unknown', reason: 'the answer is about something else' };
  return readOutcome(fact, direction);
}

/** A status answer has no id of the request itself; `externalId` is our reference. */
function readOutcome(fact: unknown, direction: MoneyDirection): Observation {
  switch (field(fact, 'status')) {
    case 'PENDING':
    case 'CREATED':
    case 'ONGOING':
      return { state: 'pending' };
    case 'SUCCESSFUL': {
      const amount = moneyOf(field(fact, 'amount'));
      const currency = currencyOf(field(fact, 'currency'));
      if (amount === null || currency === null) return { state: 'unknown', reason: 'a success without an amount' };
      return { state: 'succeeded', receipt: textOf(field(fact, 'financialTransactionId')), amount, currency };
    }
    case 'FAILED':
    case 'REJECTED':
    case 'CANCELLED':
      return readFailure(fact, direction);
    default:
      return { state: 'unknown', reason: 'MTN sent an unknown status' };
  }
}

const COLLECTION_REASONS: Readonly<Record<string, FailureCode>> = {
  PAYER_NOT_FOUND: 'PAYER_NOT_FOUND',
  NOT_ENOUGH_FUNDS: 'INSUFFICIENT_FUNDS',
  PAYER_LIMIT_REACHED: 'PAYER_LIMIT_REACHED',
  APPROVAL_REJECTED: 'PAYER_CANCELLED',
  PAYMENT_NOT_APPROVED: 'PAYER_CANCELLED',
  EXPIRED: 'PROMPT_EXPIRED',
  COULD_NOT_PERFORM_TRANSACTION: 'PROMPT_EXPIRED',
  SENDER_ACCOUNT_NOT_ACTIVE: 'PAYER_BLOCKED',
  PAYEE_NOT_FOUND: 'REJECTED_BY_OPERATOR',
  PAYEE_NOT_ALLOWED_TO_RECEIVE: 'REJECTED_BY_OPERATOR',
  NOT_ALLOWED: 'REJECTED_BY_OPERATOR',
  NOT_ALLOWED_TARGET_ENVIRONMENT: 'REJECTED_BY_OPERATOR',
  INVALID_CURRENCY: 'REJECTED_BY_OPERATOR',
  INVALID_CALLBACK_URL_HOST: 'REJECTED_BY_OPERATOR',
  TRANSFER_TYPE_UNKNOWN: 'REJECTED_BY_OPERATOR',
  SERVICE_UNAVAILABLE: 'OPERATOR_UNAVAILABLE',
};

/** Money that leaves: the payer is us. */
const PAYOUT_REASONS: Readonly<Record<string, FailureCode>> = {
  ...COLLECTION_REASONS,
  NOT_ENOUGH_FUNDS: 'FLOAT_INSUFFICIENT',
  PAYER_LIMIT_REACHED: 'REJECTED_BY_OPERATOR',
  PAYER_NOT_FOUND: 'REJECTED_BY_OPERATOR',
  PAYEE_NOT_FOUND: 'RECIPIENT_NOT_FOUND',
  PAYEE_NOT_ALLOWED_TO_RECEIVE: 'PAYER_LIMIT_REACHED',
  EXPIRED: 'REJECTED_BY_OPERATOR',
  COULD_NOT_PERFORM_TRANSACTION: 'REJECTED_BY_OPERATOR',
};

/** MTN's words for what is still open; with FAILED they contradict themselves. */
const STILL_OPEN = new Set(['ONGOING', 'PAYER_DELAYED', 'PAYEE_DELAYED']);

function readFailure(fact: unknown, direction: MoneyDirection): Observation {
  // A word in some countries, an object in others.
  const reason = textOf(field(fact, 'reason')) ?? textOf(field(fact, 'reason', 'code')) ?? '';
  if (STILL_OPEN.has(reason)) return { state: 'pending' };
  const reasons = direction === 'collection' ? COLLECTION_REASONS : PAYOUT_REASONS;
  return {
    state: 'failed',
    failureCode: reasons[reason] ?? 'UNSPECIFIED',
    rawCode: reason,
    message: proseOf(field(fact, 'reason', 'message')),
  };
}

// Callbacks

/** Not signed, and from addresses that MTN does not publish: each is only a reason to ask. */
function readCallback({ addresses }: RailConnection, { path, body }: CallbackRequest): CallbackReading[] {
  const reference = addresses.read(path)?.reference ?? textOf(field(readJson(body.toString('utf8')), 'externalId'));
  return reference ? [{ kind: 'hint', reference }] : [{ kind: 'rejected', reason: 'it names no payment' }];
}

// Token, balance, names

async function callWithToken(
  { settings, tokens }: RailConnection,
  operator: OperatorConnection,
  product: Product,
  request: ExchangeRequest,
): Promise<Exchange> {
  const key = settings[`${product}_subscription_key`] ?? '';
  const common = { 'ocp-apim-subscription-key': key, 'x-target-environment': settings.target_environment ?? '' };
  const login = `${settings[`${product}_api_user`]}:${settings[`${product}_api_key`]}`;
  return tokens.withToken(
    product,
    async () => {
      const answer = await operator.exchange({
        method: 'POST',
        path: `/${product}/token/`,
        headers: { ...common, authorization: `Basic ${Buffer.from(login).toString('base64')}` },
        // MTN's gateway refuses a POST without a body, and a form.
        body: { grant_type: 'client_credentials' },
      });
      return readAccessToken(answer, TOKEN_LIFE_MS);
    },
    (token) =>
      operator.exchange({ ...request, headers: { ...common, ...request.headers, authorization: `Bearer ${token}` } }),
    (answer) => answer.answered && answer.status === 401,
  );
}

async function balance(api: Api, products: readonly Product[]): Promise<BalanceReply> {
  const balances = [];
  for (const product of products) {
    const answer = await api.call(product, { method: 'GET', path: `/${product}/v1_0/account/balance` });
    const fact = answer.answered && answer.status === 200 ? readJson(answer.body) : null;
    const available = signedMoneyOf(field(fact, 'availableBalance'));
    const currency = currencyOf(field(fact, 'currency'));
    if (available === null || currency === null)
      return { error: answer.answered ? `MTN answered ${answer.status}.` : answer.reason };
    balances.push({ account: product, currency, available });
  }
  return { balances };
}

async function lookUpName(api: Api, { msisdn }: NameCall): Promise<string | null> {
  const path = `/collection/v1_0/accountholder/msisdn/${encodeURIComponent(msisdn)}/basicuserinfo`;
  const answer = await api.call('collection', { method: 'GET', path, timeoutMs: NAME_TIMEOUT_MS });
  const fact = answer.answered && answer.status === 200 ? readJson(answer.body) : null;
  const names = [textOf(field(fact, 'given_name')), textOf(field(fact, 'family_name'))].filter((name) => name !== null);
  return names.length > 0 ? names.join(' ') : null;
}

/** An SMS about a payment of MTN's own, to its payer. MTN knows no way to ask whether it was sent. */
async function sendPayerText(api: Api, { reference, railReference, text }: PayerTextCall): Promise<PayerTextReply> {
  const path = `${PATHS.collection.path}/${railReference ?? uuid4Of(reference)}/deliverynotification`;
  const body = { notificationMessage: plainText(text).slice(0, MAX_NOTE) };
  const answer = await api.call('collection', { method: 'POST', path, body });
  if (!answer.answered) return { state: 'unknown', raw: '' };
  return { state: textStateOf(answer.status), raw: evidenceOf(api.scrub, answer.body) };
}

async function check(
  { environment, publicUrl }: RailConnection,
  api: Api,
  paysOut: boolean,
): Promise<ConnectionCheck[]> {
  const products: Product[] = paysOut ? ['collection', 'disbursement'] : ['collection'];
  const checks: ConnectionCheck[] = [];
  for (const product of products) {
    const reply = await balance(api, [product]);
    checks.push({
      name: `${product}: token and balance`,
      problem: 'error' in reply ? `MTN did not give the balance: ${reply.error} Check the three keys.` : null,
    });
  }
  const needsHttps = environment === 'production' && !publicUrl.startsWith('https://');
  checks.push({
    name: 'callback address',
    problem: needsHttps ? 'MTN sends callbacks only to https. Set PUBLIC_URL to an https address.' : null,
  });
  return checks;
}

/** Without accents and typographic signs, as the note of a payment; but an address must stay one. */
function plainText(text: string): string {
  return text.normalize('NFD').replace(/[^A-Za-z0-9 .,:/?=&_-]/g, '');
}

/** MTN refuses apostrophes, ampersands and the like. */
function note(text: string): string {
  return text
    .normalize('NFD')
    .replace(/[^A-Za-z0-9 .-]/g, '')
    .slice(0, MAX_NOTE);
}
