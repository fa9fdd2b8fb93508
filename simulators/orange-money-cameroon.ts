// The simulated Orange Money, part 2: the core API of Orange Cameroon. A token for the payment first, then the payment.

import { randomBytes } from 'node:crypto';
import { type BodyShape, findShapeProblem } from './body-shape.ts';
import type { Operation } from './faults.ts';
import type { SimulatorAnswer, SimulatorRequest, SimulatorRoute } from './frame.ts';
import { readMoney, writeMoney } from './money.ts';
import type { OrangeFamily, OrangeTools } from './orange-money-web.ts';
import { askPayer } from './payer-prompt.ts';
import { type Decision, decisionOf } from './phones.ts';
import { Refusal } from './refusal.ts';
import { basicOf, bearerOf, createTokenStore, type TokenStore } from './token-store.ts';

/** A payment as every answer shows it; before the payment all fields but three are null. */
type PaymentData = {
  id: number;
  createtime: string;
  subscriberMsisdn: string | null;
  amount: number | null;
  payToken: string;
  txnid: string | null;
  /** The merchant's orderId. */
  txnmode: string | null;
  inittxnmessage: string | null;
  inittxnstatus: string | null;
  confirmtxnstatus: string | null;
  confirmtxnmessage: string | null;
  /** The double L is Orange's. */
  status: 'INITIATED' | 'PENDING' | 'SUCCESSFULL' | 'FAILED' | 'EXPIRED' | 'CANCELLED';
  notifUrl: string | null;
  description: string | null;
  channelUserMsisdn: string | null;
};

type CameroonPayment = { data: PaymentData; amount: bigint; createdAt: number };

type State = OrangeTools & {
  tokens: TokenStore;
  token: string;
  payments: Map<string, CameroonPayment>;
  lastId: number;
};

/** 60019 is the only code that a document explains. */
const NOT_ENOUGH = { code: '60019', message: 'Le solde du compte du payeur est insuffisant' };
const CODES: Readonly<Record<Exclude<Decision, 'approve' | 'ignore' | 'cancel'>, { code: string; message: string }>> = {
  no_money: NOT_ENOUGH,
  wrong_pin: { code: '00068', message: 'Code secret invalide' },
  not_found: { code: '60011', message: 'Compte inexistant' },
  limit_reached: { code: '60021', message: 'Plafond atteint' },
};
const UNKNOWN_CODE = { code: '77777', message: 'Regle inconnue' };

export function createOrangeCameroon(tools: OrangeTools): OrangeFamily {
  const { context } = tools;
  const tokens = createTokenStore(() => context.now());
  const state: State = { ...tools, tokens, token: '', payments: new Map(), lastId: Math.floor(context.now() / 1000) };
  const findByOrder = (id: string) => [...state.payments.values()].find(({ data }) => data.txnmode === id);
  return {
    routes: [tokenRoute(state), ...paymentRoutes(state)],
    reverse(id) {
      const payment = findByOrder(id);
      if (payment?.data.status !== 'SUCCESSFULL') return false;
      const msisdn = payment.data.subscriberMsisdn ?? '';
      const receipt = state.receipts.next('RV');
      const { amount } = payment;
      context.book.enter({ kind: 'collection_reversed', id, receipt, msisdn, amount, currency: 'XAF' });
      return true;
    },
    forge(id) {
      const payment = findByOrder(id);
      if (!payment) return false;
      notify(state, payment, 'SUCCESSFULL');
      return true;
    },
  };
}

/** The same token until it ends, with what is left of its life. */
function tokenRoute(state: State): SimulatorRoute {
  const { settings, tokens } = state;
  return {
    method: 'POST',
    path: '/token',
    operation: 'token',
    handle(request) {
      const basic = basicOf(request.headers.authorization);
      const isForm = new URLSearchParams(request.text).get('grant_type') === 'client_credentials';
      if (
        basic?.user !== settings.cameroonConsumerKey ||
        basic?.password !== settings.cameroonConsumerSecret ||
        !isForm
      ) {
        throw new Refusal(401, {
          error: 'invalid_client',
          error_description: 'A valid OAuth client could not be found',
        });
      }
      if (tokens.secondsLeft(state.token) === 0) {
        state.token = tokens.issue('merchant', Number(settings.cameroonTokenSeconds));
      }
      const scope = 'am_application_scope default';
      const expires_in = tokens.secondsLeft(state.token);
      return { status: 200, body: { access_token: state.token, scope, token_type: 'Bearer', expires_in } };
    },
  };
}

function enter({ context, settings, tokens }: State, request: SimulatorRequest, operation: Operation): void {
  const token = bearerOf(request.headers.authorization);
  if (token === '') throw new Refusal(401, writeFault(900902, 'Missing Credentials'));
  if (context.takeFault('token_ended', operation)) {
    tokens.end(token);
    // The gateway answers in XML now and then.
    const xml =
      '<ams:fault xmlns:ams="http://wso2.org/apimanager/security"><ams:code>900901</ams:code>' +
      '<ams:message>Invalid Credentials</ams:message></ams:fault>';
    throw new Refusal(401, xml, { 'content-type': 'application/xml' });
  }
  if (tokens.ownerOf(token) === null) throw new Refusal(401, writeFault(900901, 'Invalid Credentials'));
  const expected = Buffer.from(`${settings.cameroonApiUser}:${settings.cameroonApiPassword}`).toString('base64');
  if (request.headers['x-auth-token'] !== expected) throw refusalOf(401, 'Invalid X-AUTH-TOKEN');
}

const writeFault = (code: number, message: string) => ({ fault: { code, message, description: message } });
/** A copy of the data: the payment may go on before the answer is written. */
const refusalOf = (status: number, message: string, data: object | null = null) =>
  new Refusal(status, { message, data: data && { ...data } });

const PAY: BodyShape = {
  notifUrl: 'string',
  channelUserMsisdn: 'string',
  amount: 'any',
  subscriberMsisdn: 'string',
  pin: 'string',
  orderId: 'string',
  description: 'string',
  payToken: 'string',
};

function paymentRoutes(state: State): SimulatorRoute[] {
  const base = '/omcoreapis/1.0.2/mp';
  const statusRoute = (method: 'GET' | 'POST'): SimulatorRoute => ({
    method,
    path: `${base}/paymentstatus/:payToken`,
    operation: 'query',
    handle(request) {
      enter(state, request, 'query');
      const { data } = find(state, request.params.payToken ?? '');
      const status = state.context.takeFault('unknown_code', 'query') ? 'SUSPENDED' : data.status;
      return { status: 200, body: { message: 'Transaction retrieved successfully', data: { ...data, status } } };
    },
  });
  return [
    {
      method: 'POST',
      path: `${base}/init`,
      // Nothing moves yet; the payment is the call that counts.
      operation: 'other',
      handle: (request) => initiate(state, request),
    },
    { method: 'POST', path: `${base}/pay`, operation: 'collect', handle: (request) => pay(state, request) },
    {
      method: 'GET',
      path: `${base}/push/:payToken`,
      operation: 'other',
      handle(request) {
        enter(state, request, 'other');
        const payment = find(state, request.params.payToken ?? '');
        if (payment.data.status !== 'PENDING') throw refusalOf(417, 'Transaction is not pending', payment.data);
        ring(state, payment);
        return { status: 200, body: { message: 'Push sent to customer', data: payment.data } };
      },
    },
    statusRoute('GET'),
    // One client is known that posts.
    statusRoute('POST'),
  ];
}

/** A token that was never paid with expires, and then all its fields are null. */
function find({ context, settings, payments }: State, payToken: string): CameroonPayment {
  const payment = payments.get(payToken);
  if (!payment) throw refusalOf(404, 'Transaction not found');
  const endsAt = payment.createdAt + Number(settings.payTokenSeconds) * 1000;
  if (payment.data.status === 'INITIATED' && context.now() >= endsAt) payment.data.status = 'EXPIRED';
  return payment;
}

function initiate(state: State, request: SimulatorRequest): SimulatorAnswer {
  enter(state, request, 'other');
  const now = state.context.now();
  const day = new Date(now).toISOString().slice(2, 10).replaceAll('-', '');
  const payToken = `MP${day}${randomBytes(10).toString('hex').toUpperCase()}`;
  state.lastId++;
  const data: PaymentData = {
    id: state.lastId,
    createtime: String(Math.floor(now / 1000)),
    subscriberMsisdn: null,
    amount: null,
    payToken,
    txnid: null,
    txnmode: null,
    inittxnmessage: null,
    inittxnstatus: null,
    confirmtxnstatus: null,
    confirmtxnmessage: null,
    status: 'INITIATED',
    notifUrl: null,
    description: null,
    channelUserMsisdn: null,
  };
  state.payments.set(payToken, { data, amount: 0n, createdAt: now });
  return { status: 200, body: { message: 'Payment request successfully initiated', data: { payToken } } };
}

type PayBody = Record<'notifUrl' | 'channelUserMsisdn' | 'subscriberMsisdn' | 'pin', string> &
  Record<'orderId' | 'description' | 'payToken', string> & { amount: string | number };

function pay(state: State, request: SimulatorRequest): SimulatorAnswer {
  enter(state, request, 'collect');
  const body = readPay(state, request);
  const payment = find(state, body.payToken);
  const { data } = payment;
  // One token, one payment.
  if (data.status !== 'INITIATED') throw refusalOf(417, 'The payToken was used or has expired', data);
  payment.amount = readMoney(String(body.amount)) ?? 0n;
  data.amount = Number(payment.amount / 100n);
  data.subscriberMsisdn = body.subscriberMsisdn;
  data.txnmode = body.orderId;
  data.notifUrl = body.notifUrl;
  data.description = body.description;
  data.channelUserMsisdn = body.channelUserMsisdn;
  const decision = decisionOf(body.subscriberMsisdn);
  if (decision === 'no_money' || decision === 'not_found') {
    const { code, message } = CODES[decision];
    data.inittxnstatus = code;
    data.inittxnmessage = message;
    data.status = 'FAILED';
    throw refusalOf(417, `${code} :: ${message}`, data);
  }
  data.txnid = state.receipts.next('MP');
  data.inittxnstatus = '200';
  data.inittxnmessage = `Paiement de ${data.amount} FCFA initie. Composez #150*50# pour valider.`;
  data.status = 'PENDING';
  ring(state, payment);
  return { status: 200, body: { message: 'Merchant payment successfully initiated', data: { ...data } } };
}

function readPay({ settings }: State, request: SimulatorRequest): PayBody {
  const problem = findShapeProblem(request.json, PAY);
  if (problem !== null) throw refusalOf(400, `${problem.field}: ${problem.problem}`);
  const body = request.json as PayBody;
  const amount = readMoney(String(body.amount));
  if (amount === null || amount === 0n || amount % 100n !== 0n) throw refusalOf(400, 'amount is not valid');
  if (!/^6\d{8}$/.test(body.subscriberMsisdn)) throw refusalOf(400, 'subscriberMsisdn is not valid');
  if (body.orderId.length > Number(settings.cameroonOrderIdLength)) throw refusalOf(400, 'orderId is too long');
  if (!URL.canParse(body.notifUrl)) throw refusalOf(400, 'notifUrl is not valid');
  const isChannel = body.channelUserMsisdn === settings.cameroonChannelMsisdn && body.pin === settings.cameroonPin;
  if (!isChannel) throw refusalOf(417, 'Channel user or PIN is not valid');
  return body;
}

function ring(state: State, payment: CameroonPayment): void {
  const { data, amount } = payment;
  const prompt = {
    msisdn: data.subscriberMsisdn ?? '',
    text: `Orange Money: ${data.description}. Enter your PIN, or dial #150*50#.`,
    amount: writeMoney(amount),
    currency: 'XAF',
    kind: 'pin' as const,
  };
  askPayer(state.context, prompt, Number(state.settings.promptSeconds), (decision) => decide(state, payment, decision));
}

function decide(state: State, payment: CameroonPayment, decision: Decision): void {
  const { context, settings } = state;
  const { data } = payment;
  // The other of two pushes was answered.
  if (data.status !== 'PENDING') return;
  if (decision === 'ignore') end(state, payment, 'EXPIRED');
  else if (decision === 'cancel') end(state, payment, 'CANCELLED');
  else if (decision !== 'approve') end(state, payment, 'FAILED', CODES[decision]);
  else if (context.takeFault('unknown_code', 'collect')) end(state, payment, 'FAILED', UNKNOWN_CODE);
  else if (context.takeFault('late_success', 'collect')) {
    data.status = 'EXPIRED';
    context.after(Number(settings.lateSeconds) * 1000, () => succeed(state, payment));
  } else succeed(state, payment);
}

/** The message holds the merchant's balance and the payer's name, as Orange's does. */
function succeed(state: State, payment: CameroonPayment): void {
  const { data, amount } = payment;
  const { subscriberMsisdn, txnid, txnmode } = data;
  const msisdn = subscriberMsisdn ?? '';
  const receipt = txnid ?? '';
  state.context.book.enter({ kind: 'collection', id: txnmode ?? '', receipt, msisdn, amount, currency: 'XAF' });
  const message =
    `Successful Payment of COMPANY from ${msisdn} AMA PAYER. Transaction ID:${receipt}, Amount:${data.amount}, ` +
    `New balance:${writeMoney(state.float.of('XAF'))}.`;
  end(state, payment, 'SUCCESSFULL', { code: '200', message });
}

function end(
  state: State,
  payment: CameroonPayment,
  status: PaymentData['status'],
  confirmation?: { code: string; message: string },
): void {
  payment.data.status = status;
  payment.data.confirmtxnstatus = confirmation?.code ?? null;
  payment.data.confirmtxnmessage = confirmation?.message ?? null;
  notify(state, payment, status);
}

/** The body is not published; readers look for these two fields, at the top or in `data`. */
function notify({ context, settings }: State, { data }: CameroonPayment, status: string): void {
  if (data.notifUrl === null) return;
  const content = { payToken: data.payToken, status };
  void context.send({
    url: data.notifUrl,
    body: settings.cameroonNotification === 'data' ? { data: content } : content,
  });
}
