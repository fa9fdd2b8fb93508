// pawaPay, Merchant API v2: deposits, payouts and refunds over the mobile money providers of many countries.
//
// Actions: register_callback, set_callbacks, set_token, set_status, rotate_key, plan_callback, answer_unknown_error, finish,
// dashboard_refund, top_up. Each is described where it is defined.

import { randomUUID } from 'node:crypto';
import type { Operation } from './faults.ts';
import type { CreateSimulator, SimulatorAction, SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { readMoney } from './money.ts';
import {
  createPawapayCallbacks,
  PAWAPAY_CALLBACK_FAULTS,
  type PawapayCallbackFault,
  type PawapayCallbacks,
} from './pawapay-callbacks.ts';
import {
  createPawapayPayments,
  OPERATIONS,
  type PawapayPayment,
  type PawapayPayments,
  pawapayTime,
} from './pawapay-payments.ts';
import type { PawapayKind, PawapayStatus } from './pawapay-providers.ts';
import {
  checkAmount,
  checkForm,
  isObject,
  optionalTexts,
  type PawapayOrder,
  type PawapayRefusal,
  readMetadata,
  readOrder,
  rejected,
  textOf,
} from './pawapay-rules.ts';
import { checkRequestSignature } from './pawapay-signature.ts';
import { toolkitRoutes } from './pawapay-toolkit.ts';
import { createPawapayWallets, type PawapayWallets } from './pawapay-wallets.ts';

export const PAWAPAY_SIMULATOR_SETTINGS: Record<string, string> = {
  apiToken: 'pawapay-simulator-token',
  companyName: 'Simulated Shop',
  /** The address for all three kinds; depositCallbackUrl, payoutCallbackUrl and refundCallbackUrl come first. */
  callbackUrl: '',
  depositCallbackUrl: '',
  payoutCallbackUrl: '',
  refundCallbackUrl: '',
  signedCallbacks: 'true',
  /** der or raw; the sources disagree. */
  signatureEncoding: 'der',
  digest: 'sha-512',
  signedRequestsOnly: 'false',
  merchantKeyId: '',
  /** PEM. */
  merchantPublicKey: '',
  /** 401 in the collection of requests, 403 on the page of failure codes. */
  authenticationErrorStatus: '401',
  /** DEPOSIT, PAYOUT, REFUND: what the account may not do, by commas. */
  disabledOperations: '',
  anyUuid: 'false',
  strictRanges: 'false',
  rememberRejected: 'false',
  /** 0, 2 or 4 decimals in amounts that are given back. */
  amountDecimals: '2',
  /** object or array: the form of operationTypes in active-conf. */
  operationTypes: 'object',
  /** How long a payment that was accepted is NOT_FOUND. */
  notFoundMs: '0',
  processingMs: '5',
  promptSeconds: '60',
  lateSuccessSeconds: '1200',
  callbackRetrySeconds: '60',
  callbackRetryMinutes: '15',
  statementSeconds: '5',
  statementUrlSeconds: '86400',
};

const KINDS: PawapayKind[] = ['deposit', 'payout', 'refund'];
const UNKNOWN_ERROR: SimulatorAnswer = {
  status: 500,
  body: {
    failureReason: {
      failureCode: 'UNKNOWN_ERROR',
      failureMessage: 'Unable to process request due to an unknown problem.',
    },
  },
};

export const createPawapaySimulator: CreateSimulator = (context, given) => {
  const settings = { ...PAWAPAY_SIMULATOR_SETTINGS, ...given };
  const wallets = createPawapayWallets(context.book);
  const callbacks = createPawapayCallbacks(context, settings);
  const payments = createPawapayPayments({ context, settings, callbacks, wallets });
  const account = { token: settings.apiToken ?? '', unknownErrors: 0 };
  const initiate = createInitiate({ context, settings, wallets, payments });
  const refuse = (refusal: PawapayRefusal, idField?: string) => refusalAnswer(refusal, idField, undefined);

  /** The request's token and signature, then the work. */
  function guarded(route: SimulatorRoute, isSigned = false): SimulatorRoute {
    return {
      ...route,
      handle: async (request) => {
        const refusal = checkToken(request, route.operation) ?? (isSigned ? checkSignature(request) : null);
        return refusal ? refuse(refusal) : route.handle(request);
      },
    };
  }

  function checkToken({ headers }: SimulatorRequest, operation: Operation): PawapayRefusal | null {
    if (headers.authorization === undefined)
      return { status: 401, failureCode: 'NO_AUTHENTICATION', failureMessage: 'Authentication is missing.' };
    if (headers.authorization === `Bearer ${account.token}` && !context.takeFault('token_ended', operation))
      return null;
    return {
      status: Number(settings.authenticationErrorStatus),
      failureCode: 'AUTHENTICATION_ERROR',
      failureMessage: 'The API token in the request is invalid.',
    };
  }

  function checkSignature(request: SimulatorRequest): PawapayRefusal | null {
    if (settings.signedRequestsOnly !== 'true') return null;
    const merchant = { keyId: settings.merchantKeyId ?? '', publicPem: settings.merchantPublicKey ?? '' };
    const failureMessage = checkRequestSignature(request, merchant, context.now());
    return failureMessage === null ? null : { status: 403, failureCode: 'HTTP_SIGNATURE_ERROR', failureMessage };
  }

  function answerOrder(kind: PawapayKind, body: unknown): SimulatorAnswer {
    const answer = initiate(kind, body);
    if (account.unknownErrors === 0) return answer;
    account.unknownErrors--;
    return UNKNOWN_ERROR;
  }

  const parts = { context, settings, callbacks, wallets, payments, refuse };
  const [publicKeys, others] = partition(toolkitRoutes(parts), ({ path }) => /public-key|statement-files/.test(path));
  return {
    routes: [
      ...orderRoutes(answerOrder).map((route) => guarded(route, true)),
      ...KINDS.flatMap((kind) => paymentRoutes(kind, parts)).map((route) => guarded(route)),
      ...others.map((route) => guarded(route)),
      // The public keys and the files of statements are open to everybody.
      ...publicKeys,
    ],
    actions: createActions({ callbacks, payments, wallets, account }),
  };
};

/** The calls that move money, which an account may want to be signed. */
function orderRoutes(answerOrder: (kind: PawapayKind, body: unknown) => SimulatorAnswer): SimulatorRoute[] {
  return [
    {
      method: 'POST',
      path: '/v2/payouts/bulk',
      operation: 'payout',
      handle: ({ text }) => {
        const items = readList(text);
        if (items === null) return refusalAnswer(notJson('a list'), undefined, undefined);
        return { status: 200, body: items.map((item) => answerOrder('payout', item).body) };
      },
    },
    ...KINDS.map((kind) => ({
      method: 'POST' as const,
      path: `/v2/${kind}s`,
      operation: OPERATIONS[kind],
      handle: ({ json }: SimulatorRequest) => answerOrder(kind, json),
    })),
  ];
}

type Orders = {
  context: { now(): number };
  settings: Readonly<Record<string, string>>;
  wallets: PawapayWallets;
  payments: PawapayPayments;
};

/** What happens to a new deposit, payout or refund: refused, ignored as a duplicate, or accepted. */
function createInitiate({ context, settings, wallets, payments }: Orders) {
  /** Ids that were refused and when, where the setting says to remember them. */
  const remembered = new Map<string, string>();
  const disabled = (settings.disabledOperations ?? '').split(',');

  return function initiate(kind: PawapayKind, body: unknown): SimulatorAnswer {
    const idField = `${kind}Id`;
    if (!isObject(body)) return refusalAnswer(notJson('an object'), idField, undefined);
    const id = body[idField];
    const malformed = checkForm(kind, body, settings.anyUuid === 'true');
    if (malformed) return refusalAnswer(malformed, idField, id);
    if (disabled.includes(kind.toUpperCase())) return refusalAnswer(notAllowed(kind), idField, id);
    const known = payments.find(kind, String(id))?.created ?? remembered.get(`${kind} ${String(id)}`);
    if (known !== undefined)
      return { status: 200, body: { [idField]: id, status: 'DUPLICATE_IGNORED', created: known } };
    const order =
      kind === 'refund' ? readRefund(payments, body) : readOrder(kind, body, settings.strictRanges === 'true');
    const refusal = 'refusal' in order ? order.refusal : checkRoom({ payments, wallets }, order.value);
    if (refusal) {
      if (settings.rememberRejected === 'true') remembered.set(`${kind} ${String(id)}`, pawapayTime(context.now()));
      return refusalAnswer(refusal, idField, id);
    }
    const { value } = order as { value: PawapayOrder & { amount: bigint } };
    const { created } = payments.accept(value);
    const nextStep = kind === 'deposit' ? { nextStep: 'FINAL_STATUS' } : {};
    return { status: 200, body: { [idField]: id, status: 'ACCEPTED', ...nextStep, created } };
  };
}

/** Whether the provider works, and whether the wallet of its country holds the money. */
function checkRoom(
  { payments, wallets }: Pick<Orders, 'payments' | 'wallets'>,
  { kind, provider, amount }: PawapayOrder,
): PawapayRefusal | null {
  if (payments.statusOf(provider.provider, kind) === 'CLOSED')
    return rejected('PROVIDER_TEMPORARILY_UNAVAILABLE', `The provider '${provider.provider}' is not available.`);
  if (kind !== 'deposit' && (amount ?? 0n) > wallets.available(provider.country.country))
    return rejected('PAWAPAY_WALLET_OUT_OF_FUNDS', 'The balance of the wallet is not sufficient.');
  return null;
}

function readRefund(
  payments: PawapayPayments,
  body: Record<string, unknown>,
): { value: PawapayOrder } | { refusal: PawapayRefusal } {
  const refuse = (code: string, message: string) => ({ refusal: rejected(code, message) });
  const depositId = String(body.depositId);
  const deposit = payments.find('deposit', depositId);
  if (!deposit) return refuse('NOT_FOUND', `The deposit '${depositId}' was not found.`);
  if (deposit.status !== 'COMPLETED') return refuse('INVALID_STATE', 'Only completed deposits can be refunded.');
  const refunds = payments.list().filter((payment) => payment.depositId === depositId && payment.status !== 'FAILED');
  if (refunds.some(({ status }) => status !== 'COMPLETED'))
    return refuse('REFUND_IN_PROGRESS', 'Another refund of this deposit is being processed.');
  const rest = refunds.reduce((left, { amount }) => left - amount, deposit.amount);
  if (rest === 0n) return refuse('DEPOSIT_ALREADY_REFUNDED', 'The deposit was already refunded.');
  const { provider, currency, phoneNumber } = deposit;
  if (body.currency !== undefined && body.currency !== currency)
    return refuse('INVALID_CURRENCY', `The deposit was made in '${currency}'.`);
  const asked = body.amount === undefined ? { value: rest } : checkAmount('refund', provider, textOf(body.amount));
  if ('refusal' in asked) return asked;
  if (asked.value > rest) return refuse('AMOUNT_TOO_LARGE', 'The amount is larger than what is left of the deposit.');
  return {
    value: {
      kind: 'refund',
      id: String(body.refundId),
      depositId,
      amount: asked.value,
      currency,
      phoneNumber,
      provider,
      metadata: readMetadata(body.metadata),
      ...optionalTexts(body),
    },
  };
}

type PaymentParts = {
  context: { now(): number };
  settings: Readonly<Record<string, string>>;
  payments: PawapayPayments;
};

/** The query, the resend of a callback and the end of an enqueued payment. */
function paymentRoutes(kind: PawapayKind, { context, settings, payments }: PaymentParts): SimulatorRoute[] {
  const after = (
    idField: string,
    check: (payment: PawapayPayment) => boolean,
    act: (payment: PawapayPayment) => void,
  ) =>
    function handle({ params }: SimulatorRequest): SimulatorAnswer {
      const id = params.id ?? '';
      const payment = payments.find(kind, id);
      if (!payment) return refusalAnswer(rejected('NOT_FOUND', 'There is no such payment.'), idField, id);
      if (!check(payment)) return refusalAnswer(rejected('INVALID_STATE', `It is ${payment.status}.`), idField, id);
      act(payment);
      return { status: 200, body: { [idField]: id, status: 'ACCEPTED' } };
    };
  const routes: SimulatorRoute[] = [
    {
      method: 'GET',
      path: `/v2/${kind}s/:id`,
      operation: 'query',
      handle: ({ params }) => {
        const payment = payments.find(kind, params.id ?? '');
        const isShown = payment && context.now() - payment.acceptedAt >= Number(settings.notFoundMs);
        return {
          status: 200,
          body: isShown ? { status: 'FOUND', data: payments.dataOf(payment) } : { status: 'NOT_FOUND' },
        };
      },
    },
    {
      method: 'POST',
      path: `/v2/${kind}s/resend-callback/:id`,
      operation: 'other',
      // The samples name the id payoutId for all three kinds.
      handle: after(
        'payoutId',
        ({ status }) => status === 'COMPLETED' || status === 'FAILED',
        (payment) => payments.tell(payment),
      ),
    },
  ];
  if (kind === 'deposit') return routes;
  const isEnqueued = ({ status }: PawapayPayment) => status === 'ENQUEUED';
  const cancel = (payment: PawapayPayment) => payments.fail(payment, 'MANUALLY_CANCELLED');
  const handle = after(`${kind}Id`, isEnqueued, cancel);
  return [...routes, { method: 'POST', path: `/v2/${kind}s/fail-enqueued/:id`, operation: 'other', handle }];
}

type ActionParts = {
  callbacks: PawapayCallbacks;
  payments: PawapayPayments;
  wallets: PawapayWallets;
  account: { token: string; unknownErrors: number };
};

const DONE: SimulatorAnswer = { status: 200, body: { done: true } };
const REFUSED: SimulatorAnswer = { status: 400, body: { done: false } };

function createActions({ callbacks, payments, wallets, account }: ActionParts): Record<string, SimulatorAction> {
  const findAny = (id: unknown) => KINDS.map((kind) => payments.find(kind, String(id))).find(Boolean);
  return {
    /** {url} for all kinds, or {deposit, payout, refund}. */
    set_callbacks({ url, ...each }) {
      for (const kind of KINDS) callbacks.addresses[kind] = textOf(each[kind] ?? url) || callbacks.addresses[kind];
      return DONE;
    },
    /** {url}: the address for all three kinds. */
    register_callback({ url }) {
      for (const kind of KINDS) callbacks.addresses[kind] = textOf(url);
      return DONE;
    },
    /** {token}: the token of the dashboard, instead of the one before. */
    set_token({ token }) {
      account.token = String(token);
      return DONE;
    },
    /** {provider, operation?: deposit|payout|refund, status}: enqueued payments go on when it is OPERATIONAL again. */
    set_status({ provider, operation, status }) {
      const kinds = KINDS.filter((kind) => (operation ?? kind) === kind);
      for (const kind of kinds) payments.setStatus(String(provider), kind, String(status) as PawapayStatus);
      return DONE;
    },
    rotate_key: () => ({ status: 200, body: { id: callbacks.rotateKey().id } }),
    /** {fault}: one of PAWAPAY_CALLBACK_FAULTS, for the next callback. */
    plan_callback({ fault }) {
      if (!PAWAPAY_CALLBACK_FAULTS.includes(fault as PawapayCallbackFault)) return REFUSED;
      callbacks.plan(fault as PawapayCallbackFault);
      return DONE;
    },
    /** {times?}: the next payments are processed and answered with UNKNOWN_ERROR. */
    answer_unknown_error({ times }) {
      account.unknownErrors += Number(times ?? 1);
      return DONE;
    },
    /** {id, failureCode?}: ends a payment that waits, well or with this code. */
    finish({ id, failureCode }) {
      const payment = findAny(id);
      if (!payment) return REFUSED;
      if (failureCode === undefined) payments.complete(payment);
      else payments.fail(payment, textOf(failureCode));
      return DONE;
    },
    /** {depositId, amount?}: somebody refunds on the dashboard. */
    dashboard_refund({ depositId, amount }) {
      const refundId = randomUUID();
      const currency = payments.find('deposit', String(depositId))?.currency;
      const body = { refundId, depositId, ...(amount === undefined ? {} : { amount, currency }) };
      const order = readRefund(payments, body);
      if ('refusal' in order || order.value.amount === null) return REFUSED;
      payments.accept({ ...order.value, amount: order.value.amount });
      return { status: 200, body: { refundId } };
    },
    /** {country, amount} */
    top_up({ country, amount }) {
      const sum = readMoney(String(amount));
      if (sum === null) return REFUSED;
      wallets.topUp(String(country), sum);
      return DONE;
    },
  };
}

function refusalAnswer(refusal: PawapayRefusal, idField: string | undefined, id: unknown): SimulatorAnswer {
  const { status, failureCode, failureMessage, withoutId } = refusal;
  const failureReason = { failureCode, failureMessage };
  if (idField === undefined) return { status, body: { failureReason } };
  const shown = withoutId || id === undefined ? null : id;
  return { status, body: { [idField]: shown, status: 'REJECTED', failureReason } };
}

const notJson = (expected: string): PawapayRefusal => ({
  status: 400,
  failureCode: 'INVALID_INPUT',
  failureMessage: `The body must be ${expected} in JSON.`,
});

const notAllowed = (kind: PawapayKind): PawapayRefusal => ({
  status: 403,
  failureCode: `${kind.toUpperCase()}S_NOT_ALLOWED`,
  failureMessage: `The account is not allowed to make ${kind}s.`,
});

function readList(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function partition<T>(items: T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
