// A simulated Airtel Money (Airtel Africa Open API): push, enquiry, refund, payouts, balance, names and the transaction summary.
// HTTP 200 says nothing here, and neither does status.success.

import {
  AIRTEL_CURRENCIES,
  type AirtelAccess,
  checkAirtelPin,
  checkAirtelSignature,
  createAirtelAccess,
  refusalOf,
  routerRefusal,
} from './airtel-money-access.ts';
import { airtelAnswer, airtelCode, OK_RESULT } from './airtel-money-codes.ts';
import { type AirtelCollections, type AirtelTools, createAirtelCollections } from './airtel-money-collections.ts';
import { AIRTEL_SIMULATOR_PRIVATE_KEY, AIRTEL_SIMULATOR_PUBLIC_KEY } from './airtel-money-keys.ts';
import { type AirtelPayouts, createAirtelPayouts } from './airtel-money-payouts.ts';
import { type BodyShape, findShapeProblem } from './body-shape.ts';
import type { CreateSimulator, SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { createMerchantFloat } from './merchant-float.ts';
import { readMoney, writeMoney } from './money.ts';
import { createOperatorReceipts } from './operator-receipts.ts';
import { decisionOf } from './phones.ts';
import { answerOrRefuse } from './refusal.ts';

export const AIRTEL_MONEY_SIMULATOR_SETTINGS: Record<string, string> = {
  clientId: '2d9647ad-a268-4346-8f68-e7090619d40b',
  clientSecret: '8c1f0e2d-3b4a-4c5d-9e6f-7a8b9c0d1e2f',
  tokenSeconds: '180',
  /** expires_in as `string` or `number`. */
  expiresForm: 'string',
  /** Countries that the merchant may call, with commas between. */
  countries: Object.keys(AIRTEL_CURRENCIES).join(','),
  /** Countries whose numbers begin with a 0, with commas between; the others have 9 digits without it. */
  leadingZero: '',
  pin: '1234',
  /** `pkcs1` or `oaep`. */
  pinPadding: 'pkcs1',
  publicKey: AIRTEL_SIMULATOR_PUBLIC_KEY,
  privateKey: AIRTEL_SIMULATOR_PRIVATE_KEY,
  /** Products that want signed messages, with commas between: `collection`, `disbursement`. Version 2 of the push always does. */
  signedProducts: '',
  /** The one address for callbacks; the action register_callback changes it. */
  callbackUrl: '',
  callbackKey: '4f1c6b0e9d8a4e7fb2c3d5a697081b2c',
  /** What the hash covers: `transaction` as sent, `compact`, `wrapped` {"transaction":…}, or `none`: no hash. */
  callbackHash: 'transaction',
  /** `compact` or `spaced`. */
  callbackSpacing: 'compact',
  /** `yes`: a callback with status_code TIP comes first. */
  callbackIntermediate: 'no',
  /** `common` or `zambia`: two published tables that contradict each other. */
  codeTable: 'common',
  /** status.code as `string` or `number`. */
  codeForm: 'string',
  /** `contradictory`: a paid transaction is told with success false and the code of "in process". */
  paidEnquiry: 'plain',
  /** `yes`: a failed transaction has an airtel_money_id too. */
  failedReceipt: 'no',
  /** When the payer does not answer: `TE` or `TF`. */
  expiredStatus: 'TE',
  /** What a refunded collection becomes: `TR`, or `TS` as before. */
  refundedStatus: 'TR',
  promptSeconds: '180',
  refundSeconds: '0.05',
  /** The fault late_success: `TA` or `TIP` for this long, then success. */
  lateStatus: 'TA',
  lateSeconds: '240',
};

export const createAirtelMoneySimulator: CreateSimulator = (context, given) => {
  const settings = { ...AIRTEL_MONEY_SIMULATOR_SETTINGS, ...given };
  const float = createMerchantFloat(context.book);
  const tools: AirtelTools = { context, settings, float, receipts: createOperatorReceipts(() => context.now()) };
  const access = createAirtelAccess(context, settings);
  const collections = createAirtelCollections(tools);
  const payouts = createAirtelPayouts(tools);
  const parts: Parts = { ...tools, access, collections, payouts };
  const oddAnswers: OddAnswer[] = [];
  const routes = [
    ...access.routes,
    pushRoute(parts, 'v1'),
    pushRoute(parts, 'v2'),
    ...collectionRoutes(parts),
    ...payoutRoutes(parts),
    ...accountRoutes(parts),
  ];
  return {
    routes: routes.map((route) => answeringOddly(route, oddAnswers)),
    notFound: () => ({ status: 404, body: { status_message: 'Route not found', status_code: 'ROUTER005' } }),
    actions: {
      ...collections.actions,
      ...payouts.actions,
      reverse: async (body) => {
        const answer = await collections.actions.reverse?.(body);
        return answer?.status === 200 ? answer : ((await payouts.actions.reverse?.(body)) ?? { status: 404, body: '' });
      },
      top_up: (body) => float.topUp(body),
      /** {"operation", "answer"}: the next such request is processed and then answered with one of ODD_ANSWERS. */
      odd_answer: (body) => {
        if (!(String(body.answer) in ODD_ANSWERS)) return { status: 400, body: '' };
        oddAnswers.push(body as OddAnswer);
        return { status: 200, body: { done: true } };
      },
    },
  };
};

type Parts = AirtelTools & { access: AirtelAccess; collections: AirtelCollections; payouts: AirtelPayouts };

type OddAnswer = { operation: string; answer: string };

/** Answers that say nothing about the payment. */
const ODD_ANSWERS: Readonly<Record<string, SimulatorAnswer>> = {
  router117: { status: 400, body: { status_message: 'Request timed out', status_code: 'ROUTER117' } },
  gateway_timeout: { status: 504, body: '' },
  something_wrong: {
    status: 500,
    body: {
      status: { response_code: 'DP00800001005', code: '500', success: false, message: 'Something Went Wrong' },
    },
  },
  html: { status: 200, headers: { 'content-type': 'text/html' }, body: '<html><body>Please wait</body></html>' },
};

function answeringOddly(route: SimulatorRoute, oddAnswers: OddAnswer[]): SimulatorRoute {
  return {
    ...route,
    async handle(request) {
      const answer = await answerOrRefuse(() => route.handle(request));
      const index = oddAnswers.findIndex(({ operation }) => operation === route.operation);
      const [odd] = index < 0 ? [] : oddAnswers.splice(index, 1);
      return ODD_ANSWERS[odd?.answer ?? ''] ?? answer;
    },
  };
}

const PUSH: BodyShape = {
  reference: 'string',
  subscriber: { country: 'string', currency: 'string', msisdn: 'string' },
  transaction: { amount: 'number', country: 'string', currency: 'string', id: 'string' },
};

type PushBody = {
  reference: string;
  subscriber: { country: string; currency: string; msisdn: string };
  transaction: { amount: number; country: string; currency: string; id: string };
};

function pushRoute(parts: Parts, version: 'v1' | 'v2'): SimulatorRoute {
  const { access, settings, collections } = parts;
  const isSigned = version === 'v2' || isListed(settings.signedProducts, 'collection');
  return {
    method: 'POST',
    path: `/merchant/${version}/payments/`,
    operation: 'collect',
    handle(request) {
      const { country, currency } = access.enter(request, 'collect');
      if (isSigned) checkAirtelSignature(request, settings, 'DP00800001026');
      const problem = findShapeProblem(request.json, PUSH);
      if (problem !== null) throw invalid(`${problem.field}: ${problem.problem}`);
      const { reference, subscriber, transaction } = request.json as PushBody;
      const amount = readMoney(String(transaction.amount));
      if (!/^[A-Za-z0-9 ]{4,64}$/.test(reference)) throw invalid('reference is not valid');
      if (!/^[A-Za-z0-9]{1,64}$/.test(transaction.id)) throw invalid('transaction.id is not valid');
      checkMsisdn(subscriber.msisdn, country, settings.leadingZero);
      if (subscriber.country !== country || transaction.country !== country) {
        throw refusalOf(400, { result_code: 'ESB000034', message: 'Invalid Country Name' });
      }
      if (subscriber.currency !== currency || transaction.currency !== currency) {
        throw refusalOf(400, { result_code: 'ESB000035', message: 'Invalid Currency Code' });
      }
      if (amount === null || amount === 0n) {
        const response_code = airtelCode(settings.codeTable, 'invalid_amount');
        throw refusalOf(400, { response_code, result_code: 'ESB000008', message: 'Invalid Amount' });
      }
      if (collections.has(transaction.id)) {
        throw refusalOf(400, { result_code: 'ESB000041', message: 'External Transaction ID already exists.' });
      }
      if (decisionOf(subscriber.msisdn) === 'not_found') {
        throw refusalOf(400, { response_code: 'DP00800001005', message: 'Msisdn Not Found' });
      }
      return collections.push({ id: transaction.id, reference, msisdn: subscriber.msisdn, amount, currency });
    },
  };
}

const isListed = (list: string | undefined, name: string) => (list ?? '').split(',').includes(name);

const invalid = (message: string) => refusalOf(400, { result_code: 'ESB000008', message });

function checkMsisdn(msisdn: string, country: string, leadingZero: string | undefined): void {
  if (isListed(leadingZero, country)) {
    if (/^0\d{9}$/.test(msisdn)) return;
    const message = 'Invalid MSISDN Length. MSISDN Length should be 10 and should start with 0';
    throw refusalOf(400, { result_code: 'ESB000036', message });
  }
  if (!/^[1-9]\d{8}$/.test(msisdn)) {
    throw refusalOf(400, { result_code: 'ESB000033', message: 'Invalid MSISDN Length. MSISDN Length should be 9' });
  }
}

function collectionRoutes({ access, settings, collections }: Parts): SimulatorRoute[] {
  const refundRoute = (version: string): SimulatorRoute => ({
    method: 'POST',
    path: `/standard/${version}/payments/refund`,
    operation: 'refund',
    handle(request) {
      access.enter(request, 'refund');
      const problem = findShapeProblem(request.json, { transaction: { airtel_money_id: 'string' } });
      if (problem !== null) throw invalid(`${problem.field}: ${problem.problem}`);
      const { transaction } = request.json as { transaction: { airtel_money_id: string } };
      return collections.refund(transaction.airtel_money_id);
    },
  });
  return [
    {
      method: 'GET',
      path: '/standard/v1/payments/:id',
      operation: 'query',
      handle(request) {
        access.enter(request, 'query');
        return collections.enquire(request.params.id ?? '');
      },
    },
    refundRoute('v1'),
    refundRoute('v2'),
    {
      method: 'GET',
      path: '/merchant/v1/transactions',
      operation: 'query',
      handle(request) {
        access.enter(request, 'query');
        const number = (name: string, otherwise: number) => Number(request.query.get(name) ?? otherwise);
        const rows = collections.summarise(number('from', 0), number('to', Number.MAX_SAFE_INTEGER));
        const offset = number('offset', 0);
        const transactions = rows.slice(offset, offset + number('limit', 100));
        const status = { response_code: 'DP00800001001', result_code: OK_RESULT, message: 'SUCCESS', success: true };
        return airtelAnswer(settings.codeForm, status, { count: rows.length, transactions });
      },
    },
  ];
}

const PAYOUT: BodyShape = {
  payee: { currency: 'string', msisdn: 'string' },
  reference: 'string',
  pin: 'string',
  transaction: { amount: 'number', id: 'string', type: 'string' },
};
const PAYOUT_V1: BodyShape = { ...PAYOUT, transaction: { amount: 'number', id: 'string' } };

type PayoutBody = {
  payee: { currency: string; msisdn: string };
  reference: string;
  pin: string;
  transaction: { amount: number; id: string; type?: string };
};

function payoutRoutes(parts: Parts): SimulatorRoute[] {
  const { access, payouts } = parts;
  return (['v1', 'v2'] as const).flatMap((version): SimulatorRoute[] => [
    {
      method: 'POST',
      path: `/standard/${version}/disbursements/`,
      operation: 'payout',
      handle: (request) => takePayout(parts, request, version === 'v1' ? PAYOUT_V1 : PAYOUT),
    },
    {
      method: 'GET',
      path: `/standard/${version}/disbursements/:id`,
      operation: 'query',
      handle(request) {
        access.enter(request, 'query');
        if (version === 'v2' && request.query.get('transactionType') !== 'B2C') {
          throw refusalOf(200, { response_code: 'DP00900001013', message: 'Missing header/body params' });
        }
        return payouts.enquire(request.params.id ?? '');
      },
    },
  ]);
}

/** Refusals come with HTTP 200. */
function takePayout(
  { access, settings, payouts }: Parts,
  request: SimulatorRequest,
  shape: BodyShape,
): SimulatorAnswer {
  const { currency } = access.enter(request, 'payout');
  if (isListed(settings.signedProducts, 'disbursement')) checkAirtelSignature(request, settings, 'DP00900001016');
  const refused = (message: string) => refusalOf(200, { response_code: 'DP00900001013', message });
  const problem = findShapeProblem(request.json, shape);
  if (problem !== null && problem.field !== 'transaction.amount') throw refused('Missing header/body params');
  const { payee, reference, pin, transaction } = request.json as PayoutBody;
  if (payee.currency !== currency) throw refused('Invalid/Missing Currency');
  if (transaction.type !== undefined && transaction.type !== 'B2C') throw refused('Invalid transaction type');
  if (!/^[A-Za-z0-9 ]{4,64}$/.test(reference) || !/^[A-Za-z0-9]{1,64}$/.test(transaction.id)) {
    throw refused('Invalid reference or id');
  }
  if (!/^[1-9]\d{8}$/.test(payee.msisdn)) {
    const message = 'Invalid Msisdn Length. Msisdn Length should be 9';
    throw refusalOf(200, { response_code: 'DP00900001013', result_code: '521002', message });
  }
  const amount = typeof transaction.amount === 'number' ? readMoney(String(transaction.amount)) : null;
  if (amount === null || amount === 0n) {
    throw refusalOf(200, { response_code: 'DP00900001004', result_code: 'ESB000008', message: 'Invalid Amount' });
  }
  checkAirtelPin(pin, settings);
  if (payouts.has(transaction.id)) {
    throw refusalOf(200, { response_code: 'DP00900001011', result_code: '521050', message: 'Duplicate exttRID' });
  }
  return payouts.pay({ id: transaction.id, msisdn: payee.msisdn, amount, currency });
}

function accountRoutes({ access, settings, float }: Parts): SimulatorRoute[] {
  const ok = (response_code: string, data: object) =>
    airtelAnswer(settings.codeForm, { response_code, result_code: OK_RESULT, message: 'SUCCESS', success: true }, data);
  return [
    {
      method: 'GET',
      path: '/standard/v1/users/balance',
      operation: 'balance',
      handle(request) {
        const { currency } = access.enter(request, 'balance');
        const balance = writeMoney(float.of(currency));
        return ok('DP02100000001', { balance, currency, account_status: 'Active' });
      },
    },
    {
      method: 'GET',
      path: '/standard/v1/users/:msisdn',
      operation: 'name',
      handle(request) {
        access.enter(request, 'name');
        const msisdn = request.params.msisdn ?? '';
        if (!/^\d{9,10}$/.test(msisdn) || decisionOf(msisdn) === 'not_found') {
          throw routerRefusal('ROUTER003', 'The number is not known');
        }
        return ok('DP02200000001', {
          first_name: 'Ama',
          last_name: `Payer ${msisdn.slice(-4)}`,
          grade: 'SUBS',
          is_barred: false,
          is_pin_set: true,
          msisdn,
          registration: { status: 'SUBS' },
        });
      },
    },
  ];
}
