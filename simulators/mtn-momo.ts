// A simulated MTN MoMo Open API: collections, disbursements, refunds, balance and account holders. One simulator serves every
// country: X-Target-Environment chooses the currency, and `sandbox` has MTN's test numbers instead of phones.

import { type BodyShape, findShapeProblem } from './body-shape.ts';
import type { Operation } from './faults.ts';
import type { CreateSimulator, SimulatorAnswer, SimulatorContext, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { readMoney } from './money.ts';
import {
  badRequest,
  createMomoAccess,
  DUPLICATE,
  MOMO_CURRENCIES,
  type MomoAccess,
  type MomoProduct,
  NOT_FOUND,
  UUID_V4,
} from './mtn-momo-access.ts';
import { createMomoPayments, type MomoKind, type MomoPayments, writeNormalised } from './mtn-momo-payments.ts';
import { SANDBOX_HOLDER_NOT_ACTIVE, SANDBOX_HOLDER_NOT_FOUND, sandboxOutcomeOfRefund } from './mtn-momo-sandbox.ts';
import { createOddAnswers } from './odd-answers.ts';
import { decisionOf } from './phones.ts';
import { Refusal } from './refusal.ts';

export const MTN_MOMO_SIMULATOR_SETTINGS: Record<string, string> = {
  collectionSubscriptionKey: '6f2a1d0c5b7e4a3f9c8d7e6f5a4b3c2d',
  collectionApiUser: '0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d',
  collectionApiKey: 'f1db798c98df4bcf83b538175893bbf0',
  disbursementSubscriptionKey: '1c9e8d7b6a5f4e3d2c1b0a9f8e7d6c5b',
  disbursementApiUser: '5d4c3b2a-1f0e-4d9c-8b7a-6f5e4d3c2b1a',
  disbursementApiKey: 'a7c0e1d25b9f4c6e8d3b2a1f0e9d8c7b',
  /** The environments that these keys may call, with commas between. */
  targetEnvironments: Object.keys(MOMO_CURRENCIES).join(','),
  /** Hosts of X-Callback-Url, with commas between. MTN wants a name; an address is for tests on one machine. */
  providerCallbackHost: 'localhost,127.0.0.1',
  /** `forbidden`: the caller's address is not on MTN's list for disbursements. */
  disbursementIp: 'allowed',
  tokenSeconds: '3600',
  /** `json`: a token needs a body (411 without). `empty`: it may not have one (400). `either`: both are taken. */
  tokenBody: 'either',
  /** `PUT`, `POST` or `both`. */
  callbackMethod: 'PUT',
  /** `yes`: a callback with status PENDING comes first. */
  callbackPending: 'no',
  /** `yes`: the callback has `referenceId`, as some countries do it. */
  callbackReference: 'no',
  /** `object` {"code","message"} or `string`. */
  reasonForm: 'object',
  /** `string` or `number`. */
  receiptForm: 'string',
  /** The reason when the payer does not answer: EXPIRED or COULD_NOT_PERFORM_TRANSACTION. */
  expiredReason: 'EXPIRED',
  /** `taken`: apostrophes and the like in notes are no mistake. */
  specialCharacters: 'refused',
  promptSeconds: '300',
  payoutSeconds: '0.05',
  /** How long the sandbox's delayed number stays PENDING. */
  delayedSeconds: '4',
  /** How long a payment with the fault late_success is TIMEOUT before it succeeds. */
  lateSuccessSeconds: '60',
  /** How long a query answers 404 after the 202. */
  statusLagSeconds: '0',
};

const WITHOUT_DECIMALS = new Set(['XOF', 'XAF', 'GNF', 'RWF']);
const LONGEST_NOTE = 160;

export const createMtnMomoSimulator: CreateSimulator = (context, given) => {
  const settings = { ...MTN_MOMO_SIMULATOR_SETTINGS, ...given };
  const access = createMomoAccess(context, settings);
  const payments = createMomoPayments(context, settings);
  const parts: Parts = { context, settings, access, payments, texts: [] };
  const oddAnswers = createOddAnswers(ODD_ANSWERS);
  const routes = [
    ...access.routes,
    ...paymentRoutes(parts, 'collection', 'requesttopay', 'v1_0'),
    ...(['v1_0', 'v2_0'] as const).flatMap((version) => [
      ...paymentRoutes(parts, 'disbursement', 'deposit', version),
      ...paymentRoutes(parts, 'disbursement', 'refund', version),
    ]),
    ...paymentRoutes(parts, 'disbursement', 'transfer', 'v1_0'),
    notificationRoute(parts),
    ...accountRoutes(parts, 'collection'),
    ...accountRoutes(parts, 'disbursement'),
  ];
  return {
    routes: routes.map((route) => oddAnswers.wrap(route)),
    notFound: () => ({ status: 404, body: { statusCode: 404, message: 'Resource not found' } }),
    actions: {
      ...payments.actions,
      odd_answer: (body) => oddAnswers.action(body),
      texts: () => ({ status: 200, body: parts.texts }),
    },
  };
};

/** MTN answers so also when the request was taken. */
const ODD_ANSWERS: Readonly<Record<string, SimulatorAnswer>> = {
  internal_error: {
    status: 500,
    body: { message: 'An internal error occurred while processing.', code: 'INTERNAL_PROCESSING_ERROR' },
  },
  unavailable: {
    status: 503,
    body: { message: 'Service temporarily unavailable, try again later.', code: 'SERVICE_UNAVAILABLE' },
  },
};

type Parts = {
  context: SimulatorContext;
  settings: Readonly<Record<string, string>>;
  access: MomoAccess;
  payments: MomoPayments;
  /** The SMS that payers got, oldest first. */
  texts: PayerText[];
};

type PayerText = { reference: string; msisdn: string; text: string };

const PARTY: BodyShape = { partyIdType: 'string', partyId: 'string' };
const COMMON: BodyShape = {
  amount: 'string',
  currency: 'string',
  externalId: 'string',
  payerMessage: 'string?',
  payeeNote: 'string?',
};
const SHAPES: Readonly<Record<MomoKind, BodyShape>> = {
  requesttopay: { ...COMMON, payer: PARTY },
  transfer: { ...COMMON, payee: PARTY },
  deposit: { ...COMMON, payee: PARTY },
  refund: { ...COMMON, referenceIdToRefund: 'string' },
};
const OPERATIONS: Readonly<Record<MomoKind, Operation>> = {
  requesttopay: 'collect',
  transfer: 'payout',
  deposit: 'payout',
  refund: 'refund',
};

function paymentRoutes(parts: Parts, product: MomoProduct, kind: MomoKind, version: string): SimulatorRoute[] {
  const path = `/${product}/${version}/${kind}`;
  return [
    {
      method: 'POST',
      path,
      operation: OPERATIONS[kind],
      handle: (request) => takePayment(parts, product, kind, request),
    },
    {
      method: 'GET',
      path: `${path}/:reference`,
      operation: 'query',
      handle: (request) => answerQuery(parts, product, kind, request),
    },
  ];
}

/** 202 says only that the request was taken: one that cannot succeed is answered in the same way. */
function takePayment(parts: Parts, product: MomoProduct, kind: MomoKind, request: SimulatorRequest): SimulatorAnswer {
  const { context, access, payments, settings } = parts;
  const { environment, callbackHosts } = access.enter(request, product, OPERATIONS[kind]);
  const reference = request.headers['x-reference-id'] ?? '';
  if (!UUID_V4.test(reference)) throw badRequest('X-Reference-Id is not a UUID version 4');
  if (!request.headers['content-type']?.startsWith('application/json')) throw badRequest('Content-Type is not JSON');
  const problem = findShapeProblem(request.json, SHAPES[kind]);
  if (problem !== null) throw badRequest(`${problem.field}: ${problem.problem}`);
  const body = request.json as Record<string, string>;
  const { currency = '', payerMessage = '', payeeNote = '' } = body;
  if (currency !== MOMO_CURRENCIES[environment]) {
    throw new Refusal(500, { message: 'Currency not supported.', code: 'INVALID_CURRENCY' });
  }
  const amount = readAmount(body.amount ?? '', currency);
  for (const note of [payerMessage, payeeNote]) checkNote(note, settings.specialCharacters !== 'taken');
  const callbackUrl = readCallbackUrl(request.headers['x-callback-url'], callbackHosts);
  if (payments.find(product, environment, reference)) throw new Refusal(409, DUPLICATE);
  const referenceToRefund = kind === 'refund' ? (body.referenceIdToRefund ?? '') : null;
  payments.take({
    kind,
    product,
    environment,
    reference,
    amount,
    currency,
    externalId: body.externalId ?? '',
    msisdn: readParty(request.json) ?? payerOf(payments, environment, referenceToRefund ?? ''),
    payerMessage,
    payeeNote,
    callbackUrl,
    referenceToRefund,
    status: 'PENDING',
    reason: null,
    receipt: null,
    createdAt: context.now(),
  });
  return { status: 202, body: '' };
}

function readAmount(text: string, currency: string): bigint {
  const amount = readMoney(text);
  if (amount === null || amount === 0n) throw badRequest('amount is not valid');
  if (WITHOUT_DECIMALS.has(currency) && text.includes('.')) throw badRequest(`${currency} has no decimals`);
  return amount;
}

function checkNote(note: string, isStrict: boolean): void {
  if (note.length > LONGEST_NOTE) throw badRequest('a note has more than 160 characters');
  if (isStrict && !/^[\w .,:;/()+-]*$/.test(note)) throw badRequest('a note has special characters');
}

function readCallbackUrl(header: string | undefined, hosts: string[]): string | null {
  if (header === undefined) return null;
  if (!URL.canParse(header)) throw badRequest('X-Callback-Url is not an address');
  if (!hosts.includes(new URL(header).hostname)) {
    throw new Refusal(500, { message: 'Callback URL with host not allowed.', code: 'INVALID_CALLBACK_URL_HOST' });
  }
  return header;
}

/** The number of payer or payee: digits with the dial code; null when the body has neither. */
function readParty(body: Record<string, unknown> | null): string | null {
  const party = (body?.payer ?? body?.payee) as { partyIdType: string; partyId: string } | undefined;
  if (party === undefined) return null;
  if (party.partyIdType !== 'MSISDN') throw badRequest('partyIdType is not MSISDN');
  if (!/^[1-9]\d{7,14}$/.test(party.partyId)) throw badRequest('partyId is not a number with its dial code');
  return party.partyId;
}

function payerOf(payments: MomoPayments, environment: string, referenceToRefund: string): string {
  const paid = payments.find('collection', environment, referenceToRefund);
  if (paid !== null) return paid.msisdn;
  if (environment === 'sandbox' && sandboxOutcomeOfRefund(referenceToRefund) !== null) return '46733123453';
  throw new Refusal(404, NOT_FOUND);
}

function answerQuery(parts: Parts, product: MomoProduct, kind: MomoKind, request: SimulatorRequest): SimulatorAnswer {
  const { context, access, payments, settings } = parts;
  const { environment } = access.enter(request, product, 'query');
  const payment = payments.find(product, environment, request.params.reference ?? '');
  const visibleFrom = (payment?.createdAt ?? 0) + Number(settings.statusLagSeconds) * 1000;
  if (payment?.kind !== kind || context.now() < visibleFrom) throw new Refusal(404, NOT_FOUND);
  const body = payments.bodyOf(payment);
  // A word that no document has, once; the payment itself goes on as before.
  if (context.takeFault('unknown_code', 'query')) return { status: 200, body: { ...body, status: 'UNDER_REVIEW' } };
  return { status: 200, body };
}

function notificationRoute({ access, payments, texts }: Parts): SimulatorRoute {
  return {
    method: 'POST',
    path: '/collection/v1_0/requesttopay/:reference/deliverynotification',
    operation: 'other',
    handle(request) {
      const { environment } = access.enter(request, 'collection', 'other');
      const payment = payments.find('collection', environment, request.params.reference ?? '');
      if (!payment) throw new Refusal(404, NOT_FOUND);
      const problem = findShapeProblem(request.json, { notificationMessage: 'string' });
      if (problem !== null) throw badRequest(`${problem.field}: ${problem.problem}`);
      const text = String(request.json?.notificationMessage);
      if (text.length > LONGEST_NOTE) throw badRequest('notificationMessage: longer than 160 characters');
      const { reference, msisdn } = payment;
      texts.push({ reference, msisdn, text });
      return { status: 200, body: '' };
    },
  };
}

function accountRoutes({ access, payments }: Parts, product: MomoProduct): SimulatorRoute[] {
  const answerBalance = (request: SimulatorRequest): SimulatorAnswer => {
    const { environment } = access.enter(request, product, 'balance');
    const currency = MOMO_CURRENCIES[environment] ?? '';
    if (request.params.currency !== undefined && request.params.currency !== currency) {
      throw new Refusal(500, { message: 'Currency not supported.', code: 'INVALID_CURRENCY' });
    }
    return { status: 200, body: { availableBalance: writeNormalised(payments.floatOf(currency)), currency } };
  };
  const findHolder = (request: SimulatorRequest): string => {
    access.enter(request, product, 'name');
    const msisdn = request.params.msisdn ?? '';
    const isMissing = msisdn === SANDBOX_HOLDER_NOT_FOUND || decisionOf(msisdn) === 'not_found';
    if (isMissing || !/^[1-9]\d{7,14}$/.test(msisdn)) throw new Refusal(404, NOT_FOUND);
    return msisdn;
  };
  // Documents write the segment in both cases.
  const holderRoutes = ['msisdn', 'MSISDN'].flatMap((type): SimulatorRoute[] => [
    {
      method: 'GET',
      path: `/${product}/v1_0/accountholder/${type}/:msisdn/active`,
      operation: 'name',
      handle: (request) => ({ status: 200, body: { result: findHolder(request) !== SANDBOX_HOLDER_NOT_ACTIVE } }),
    },
    {
      method: 'GET',
      path: `/${product}/v1_0/accountholder/${type}/:msisdn/basicuserinfo`,
      operation: 'name',
      handle: (request) => ({ status: 200, body: personOf(findHolder(request)) }),
    },
  ]);
  return [
    { method: 'GET', path: `/${product}/v1_0/account/balance`, operation: 'balance', handle: answerBalance },
    { method: 'GET', path: `/${product}/v1_0/account/balance/:currency`, operation: 'balance', handle: answerBalance },
    ...holderRoutes,
  ];
}

function personOf(msisdn: string): object {
  return {
    given_name: 'Ama',
    family_name: `Payer ${msisdn.slice(-4)}`,
    birthdate: '1990-01-01',
    locale: 'en',
    gender: 'FEMALE',
    status: 'ACTIVE',
  };
}
