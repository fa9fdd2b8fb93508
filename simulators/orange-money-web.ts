// The simulated Orange Money, part 1: Web Payment of the group. The payer opens a page; the notification has no order in it.

import { randomBytes } from 'node:crypto';
import { type BodyShape, findShapeProblem } from './body-shape.ts';
import type { Operation } from './faults.ts';
import type { SimulatorAnswer, SimulatorContext, SimulatorRequest, SimulatorRoute } from './frame.ts';
import type { MerchantFloat } from './merchant-float.ts';
import { readMoney, writeMoney } from './money.ts';
import type { OperatorReceipts } from './operator-receipts.ts';
import { askPayer } from './payer-prompt.ts';
import { type Decision, decisionOf } from './phones.ts';
import { Refusal } from './refusal.ts';
import { basicOf, bearerOf, createTokenStore, type TokenStore } from './token-store.ts';

export type OrangeTools = {
  context: SimulatorContext;
  settings: Readonly<Record<string, string>>;
  float: MerchantFloat;
  receipts: OperatorReceipts;
};

/** One of the three families: its routes, and what may happen to its payments without the merchant. */
export interface OrangeFamily {
  routes: SimulatorRoute[];
  /** False when this family has no such paid payment. */
  reverse(id: string): boolean;
  /** A stranger says that the payment succeeded. False when this family has no such payment. */
  forge(id: string): boolean;
}

/** The environment in the path and its currency; `dev` is the sandbox. */
const CURRENCIES: Readonly<Record<string, string>> = {
  dev: 'OUV',
  ci: 'XOF',
  cm: 'XAF',
  sl: 'SLE',
  ml: 'XOF',
  bf: 'XOF',
  gn: 'GNF',
  mg: 'MGA',
};

type WebPayment = {
  orderId: string;
  amount: bigint;
  currency: string;
  payToken: string;
  notifToken: string;
  notifUrl: string;
  returnUrl: string;
  cancelUrl: string;
  /** SUSPENDED is a word that no document has. */
  status: 'INITIATED' | 'PENDING' | 'SUCCESS' | 'FAILED' | 'EXPIRED' | 'SUSPENDED';
  receipt: string | null;
  /** What the payer typed on the page. */
  msisdn: string;
  /** Empty until the payer opens the page. */
  promptId: string;
  endsAt: number;
};

type State = OrangeTools & { tokens: TokenStore; payments: Map<string, WebPayment> };

export function createOrangeWeb(tools: OrangeTools): OrangeFamily {
  const state: State = { ...tools, tokens: createTokenStore(() => tools.context.now()), payments: new Map() };
  const findByOrder = (id: string) => [...state.payments.values()].find(({ orderId }) => orderId === id);
  return {
    routes: [tokenRoute(state, 'v3'), tokenRoute(state, 'v2'), ...paymentRoutes(state), ...pageRoutes(state)],
    reverse(id) {
      const payment = findByOrder(id);
      if (payment?.status !== 'SUCCESS') return false;
      const { msisdn, amount, currency } = payment;
      const receipt = state.receipts.next('RV');
      state.context.book.enter({ kind: 'collection_reversed', id, receipt, msisdn, amount, currency });
      return true;
    },
    forge(id) {
      const payment = findByOrder(id);
      if (!payment) return false;
      const notif_token = randomBytes(16).toString('hex');
      void state.context.send({
        url: payment.notifUrl,
        body: { status: 'SUCCESS', notif_token, txnid: state.receipts.next('MP') },
      });
      return true;
    },
  };
}

const refusalOf = (status: number, code: number, message: string, description: string) =>
  new Refusal(status, { code, message, description });

function tokenRoute({ settings, tokens }: State, version: string): SimulatorRoute {
  return {
    method: 'POST',
    path: `/oauth/${version}/token`,
    operation: 'token',
    handle(request) {
      const basic = basicOf(request.headers.authorization);
      if (basic?.user !== settings.webClientId || basic?.password !== settings.webClientSecret) {
        throw refusalOf(401, 41, 'Invalid credentials', 'The client is not known');
      }
      if (new URLSearchParams(request.text).get('grant_type') !== 'client_credentials') {
        throw refusalOf(400, 23, 'Missing body field', 'grant_type');
      }
      const seconds = Number(settings.webTokenSeconds);
      const access_token = tokens.issue('merchant', seconds);
      return { status: 200, body: { token_type: 'Bearer', access_token, expires_in: seconds } };
    },
  };
}

/** The environment of a call that may be made. */
function enter({ context, tokens }: State, request: SimulatorRequest, operation: Operation): string {
  const token = bearerOf(request.headers.authorization);
  if (token === '') throw refusalOf(401, 40, 'Missing credentials', 'There is no token');
  if (context.takeFault('token_ended', operation)) tokens.end(token);
  if (tokens.ownerOf(token) === null) throw refusalOf(401, 42, 'Expired credentials', 'The token has expired');
  const environment = request.params.environment ?? '';
  if (!(environment in CURRENCIES)) throw refusalOf(404, 60, 'Resource not found', 'There is no such country');
  return environment;
}

function checkShape(request: SimulatorRequest, shape: BodyShape): void {
  const problem = findShapeProblem(request.json, shape);
  if (problem?.problem === 'missing') throw refusalOf(400, 23, 'Missing body field', problem.field);
  if (problem !== null) throw refusalOf(400, 24, 'Invalid body field', problem.field);
}

const PAYMENT: BodyShape = {
  merchant_key: 'string',
  currency: 'string',
  order_id: 'string',
  amount: 'number',
  return_url: 'string',
  cancel_url: 'string',
  notif_url: 'string',
  lang: 'string?',
  reference: 'string?',
};
const QUERY: BodyShape = { order_id: 'string', amount: 'number', pay_token: 'string' };

function paymentRoutes(state: State): SimulatorRoute[] {
  return [
    {
      method: 'POST',
      path: '/orange-money-webpay/:environment/v1/webpayment',
      operation: 'collect',
      handle: (request) => takePayment(state, request),
    },
    {
      method: 'POST',
      path: '/orange-money-webpay/:environment/v1/transactionstatus',
      operation: 'query',
      handle: (request) => answerQuery(state, request),
    },
  ];
}

function takePayment(state: State, request: SimulatorRequest): SimulatorAnswer {
  const { context, settings, payments } = state;
  const environment = enter(state, request, 'collect');
  checkShape(request, PAYMENT);
  const body = request.json as Record<string, string>;
  const invalid = (field: string) => refusalOf(400, 24, 'Invalid body field', field);
  const { order_id: orderId = '', currency = '', notif_url: notifUrl = '' } = body;
  const amount = readWhole(body.amount, currency);
  if (body.merchant_key !== settings.webMerchantKey) throw invalid('merchant_key');
  if (currency !== CURRENCIES[environment]) throw invalid('currency');
  if (amount === null) throw invalid('amount');
  if (!/^[A-Za-z0-9]{1,30}$/.test(orderId)) throw invalid('order_id');
  for (const name of ['return_url', 'cancel_url', 'notif_url'])
    if (!URL.canParse(body[name] ?? '')) throw invalid(name);
  if ([...payments.values()].some((payment) => payment.orderId === orderId)) throw invalid('order_id was used before');
  const payToken = randomBytes(32).toString('hex');
  const payment: WebPayment = {
    orderId,
    amount,
    currency,
    payToken,
    notifToken: randomBytes(16).toString('hex'),
    notifUrl,
    returnUrl: body.return_url ?? '',
    cancelUrl: body.cancel_url ?? '',
    status: 'INITIATED',
    receipt: null,
    msisdn: '',
    promptId: '',
    endsAt: context.now() + Number(settings.promptSeconds) * 1000,
  };
  payments.set(payToken, payment);
  const paymentUrl = `${context.url()}/payment/pay_token/${payToken}`;
  if (settings.payerOpensPage === 'at_once') openPage(state, payment);
  const { notifToken: notif_token } = payment;
  const answer = { status: 201, message: 'OK', pay_token: payToken, payment_url: paymentUrl, notif_token };
  return { status: 201, body: answer };
}

/** Nobody but the merchant has the address, so a payment whose answer was lost is never opened. */
function openPage(state: State, payment: WebPayment): void {
  const { context } = state;
  if (payment.promptId !== '' || statusOf(state, payment) !== 'INITIATED') return;
  const { payToken, amount, currency } = payment;
  const prompt = {
    msisdn: '',
    text: `Orange Money: open ${context.url()}/payment/pay_token/${payToken} to pay.`,
    amount: writeMoney(amount),
    currency,
    kind: 'redirect' as const,
  };
  const seconds = (payment.endsAt - context.now()) / 1000;
  payment.promptId = askPayer(context, prompt, seconds, (decision) => decide(state, payment, decision)).id;
}

/** A page that nobody opened expires too. */
function statusOf({ context }: State, payment: WebPayment): WebPayment['status'] {
  if (payment.status === 'INITIATED' && context.now() >= payment.endsAt) payment.status = 'EXPIRED';
  return payment.status;
}

/** Hundredths of an amount without decimals; only the leone has some. */
function readWhole(amount: unknown, currency: string): bigint | null {
  const hundredths = readMoney(String(amount));
  if (hundredths === null || hundredths === 0n) return null;
  return currency === 'SLE' || hundredths % 100n === 0n ? hundredths : null;
}

/** Orange tells no reason: a cancelled page and one that nobody opens both end as EXPIRED. */
function decide(state: State, payment: WebPayment, decision: Decision): void {
  const { context, settings } = state;
  if (decision === 'cancel' || decision === 'ignore') {
    payment.status = 'EXPIRED';
    return;
  }
  payment.status = 'PENDING';
  context.after(Number(settings.processingSeconds) * 1000, () => {
    if (decision !== 'approve') fail(state, payment);
    else if (context.takeFault('unknown_code', 'collect')) payment.status = 'SUSPENDED';
    else if (context.takeFault('late_success', 'collect')) {
      payment.status = 'EXPIRED';
      context.after(Number(settings.lateSeconds) * 1000, () => succeed(state, payment));
    } else succeed(state, payment);
  });
}

function succeed(state: State, payment: WebPayment): void {
  const { orderId: id, msisdn, amount, currency } = payment;
  const receipt = state.receipts.next('MP');
  payment.status = 'SUCCESS';
  payment.receipt = receipt;
  state.context.book.enter({ kind: 'collection', id, receipt, msisdn, amount, currency });
  notify(state, payment);
}

function fail(state: State, payment: WebPayment): void {
  payment.status = 'FAILED';
  notify(state, payment);
}

/** Once, and neither the order nor the amount is in it. */
function notify({ context }: State, { notifUrl, status, notifToken, receipt }: WebPayment): void {
  void context.send({ url: notifUrl, body: { status, notif_token: notifToken, txnid: receipt ?? '' } });
}

/** All three fields must fit. */
function answerQuery(state: State, request: SimulatorRequest): SimulatorAnswer {
  enter(state, request, 'query');
  checkShape(request, QUERY);
  const { order_id, amount, pay_token } = request.json as { order_id: string; amount: number; pay_token: string };
  const payment = state.payments.get(pay_token);
  if (payment?.orderId !== order_id || payment.amount !== readMoney(String(amount))) {
    throw refusalOf(404, 60, 'Resource not found', 'No payment has this order, amount and token');
  }
  const status = state.context.takeFault('unknown_code', 'query') ? 'SUSPENDED' : statusOf(state, payment);
  const txnid = payment.receipt === null ? {} : { txnid: payment.receipt };
  return { status: 200, body: { status, order_id, ...txnid } };
}

/** The page that the payer opens. Its form has the number and a choice; the code that a payer types is not asked for. */
function pageRoutes(state: State): SimulatorRoute[] {
  const path = '/payment/pay_token/:token';
  const find = (request: SimulatorRequest): WebPayment => {
    const payment = state.payments.get(request.params.token ?? '');
    if (!payment) throw new Refusal(404, '');
    openPage(state, payment);
    return payment;
  };
  return [
    {
      method: 'GET',
      path,
      operation: 'other',
      handle: (request) => ({ status: 200, headers: { 'content-type': 'text/html' }, body: writePage(find(request)) }),
    },
    {
      method: 'POST',
      path,
      operation: 'other',
      handle(request) {
        const payment = find(request);
        const form = new URLSearchParams(request.text);
        payment.msisdn = form.get('msisdn') ?? '';
        const isPaying = form.get('choice') === 'pay';
        state.context.phones.decide(payment.promptId, isPaying ? (decisionOf(payment.msisdn) ?? 'approve') : 'cancel');
        return { status: 302, headers: { location: isPaying ? payment.returnUrl : payment.cancelUrl }, body: '' };
      },
    },
  ];
}

function writePage({ amount, currency }: WebPayment): string {
  return `<!doctype html><html lang="en"><title>Orange Money</title><form method="post">
<h1>Pay ${writeMoney(amount)} ${currency}</h1>
<label>Number <input name="msisdn" inputmode="numeric"></label>
<button name="choice" value="pay">Pay</button> <button name="choice" value="cancel">Cancel</button></form></html>`;
}
