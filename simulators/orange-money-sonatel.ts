// The simulated Orange Money, part 3: Sonatel in Senegal. QR codes and links, payments with the payer's code, cash-ins.

import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { BodyShape } from './body-shape.ts';
import type { SimulatorAction, SimulatorAnswer, SimulatorRoute } from './frame.ts';
import { writeMoney } from './money.ts';
import { checkSonatelShape, createSonatelAccess, sonatelProblem } from './orange-money-sonatel-access.ts';
import {
  newSonatelRow,
  SONATEL_CURRENCY,
  type SonatelRow,
  type SonatelRows,
  settleSonatelRow,
  sonatelBalanceRoute,
  sonatelQueryRoutes,
  writeSonatelEvent,
} from './orange-money-sonatel-rows.ts';
import { createSonatelWebhook } from './orange-money-sonatel-webhook.ts';
import type { OrangeFamily, OrangeTools } from './orange-money-web.ts';
import { askPayer } from './payer-prompt.ts';
import { type Decision, decisionOf } from './phones.ts';
import { answerOrRefuse } from './refusal.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

type QrCode = {
  qrId: string;
  reference: string;
  amount: bigint;
  metadata: object;
  callbackUrl: string | null;
  isSingleUse: boolean;
  isPaid: boolean;
  /** The payer has scanned it. */
  isOpened: boolean;
  endsAt: number;
};

type State = SonatelRows & {
  qrCodes: Map<string, QrCode>;
  /** Codes of payers, by number. */
  otps: Map<string, { otp: string; endsAt: number }>;
};

export function createOrangeSonatel(tools: OrangeTools): OrangeFamily & { actions: Record<string, SimulatorAction> } {
  const access = createSonatelAccess(tools);
  const webhook = createSonatelWebhook(tools, access);
  const state: State = { ...tools, access, webhook, rows: [], qrCodes: new Map(), otps: new Map() };
  return {
    routes: [
      ...access.routes,
      webhook.route,
      qrRoute(state),
      linkRoute(state),
      oneStepRoute(state),
      otpRoute(state),
      ...sonatelQueryRoutes(state),
      cashInRoute(state),
      sonatelBalanceRoute(state),
    ],
    reverse(id) {
      const row = state.rows.find((each) => each.reference === id && each.status === 'SUCCESS');
      if (!row) return false;
      const { msisdn, amount } = row;
      const kind = row.kind === 'payout' ? 'payout_returned' : 'collection_reversed';
      const receipt = state.receipts.next('RV');
      state.context.book.enter({ kind, id, receipt, msisdn, amount, currency: SONATEL_CURRENCY });
      return true;
    },
    forge(id) {
      const qrCode = [...state.qrCodes.values()].find(({ reference }) => reference === id);
      if (!qrCode) return false;
      const row = newSonatelRow(state, { ...qrCode, msisdn: '770000000', kind: 'collection', paymentMethod: 'QRCODE' });
      webhook.sendForged(writeSonatelEvent(state, { ...row, status: 'SUCCESS' }), qrCode.callbackUrl);
      return true;
    },
    actions: createActions(state),
  };
}

const AMOUNT: BodyShape = { unit: 'string', value: 'number' };
const QR: BodyShape = {
  amount: AMOUNT,
  code: 'string',
  name: 'string',
  reference: 'string?',
  metadata: 'object?',
  validity: 'number',
  callbackSuccessUrl: 'string?',
  callbackCancelUrl: 'string?',
  isSingleUse: 'boolean?',
};

type Money = { unit: string; value: number };

/** Whole francs; the real minimum is ten. */
function readAmount({ unit, value }: Money): bigint {
  if (unit !== SONATEL_CURRENCY) throw sonatelProblem(400, '24', 'The unit is not XOF');
  if (!Number.isSafeInteger(value) || value < 10) throw sonatelProblem(400, '24', 'The value is not valid');
  return BigInt(value) * 100n;
}

function checkAccount({ settings }: State, kind: 'merchant' | 'retailer'): void {
  const account = settings.sonatelAccount;
  if (account !== kind && account !== 'both') throw sonatelProblem(403, '2041', 'The account may not do this');
}

function qrRoute(state: State): SimulatorRoute {
  const { context, settings, access, qrCodes } = state;
  return {
    method: 'POST',
    path: '/api/eWallet/v4/qrcode',
    operation: 'collect',
    handle(request) {
      access.enter(request, 'collect');
      checkSonatelShape(request, QR);
      const body = request.json as { amount: Money; code: string; reference?: string; validity: number } & QrOptions;
      const { validity } = body;
      if (body.code !== settings.sonatelMerchantCode) throw sonatelProblem(403, '2041', 'The code is not yours');
      if (validity < 1 || validity > 86_400) throw sonatelProblem(400, '24', 'The validity is not valid');
      const qrCode: QrCode = {
        qrId: randomBytes(10).toString('hex'),
        reference: body.reference ?? '',
        amount: readAmount(body.amount),
        metadata: body.metadata ?? {},
        callbackUrl: request.headers['x-callback-url'] ?? null,
        isSingleUse: body.isSingleUse ?? false,
        isPaid: false,
        isOpened: false,
        endsAt: context.now() + validity * 1000,
      };
      qrCodes.set(qrCode.qrId, qrCode);
      if (settings.payerOpensPage === 'at_once') openQr(state, qrCode);
      const link = `${context.url()}/qr/${qrCode.qrId}`;
      return { status: 200, body: writeQr(qrCode, link, validity, context.now()) };
    },
  };
}

function openQr(state: State, qrCode: QrCode): void {
  const { context } = state;
  const seconds = (qrCode.endsAt - context.now()) / 1000;
  if (qrCode.isOpened || seconds <= 0) return;
  qrCode.isOpened = true;
  const prompt = {
    msisdn: '',
    text: `Orange Money: scan or open ${context.url()}/qr/${qrCode.qrId} to pay.`,
    amount: writeMoney(qrCode.amount),
    currency: SONATEL_CURRENCY,
    kind: 'redirect' as const,
  };
  askPayer(context, prompt, seconds, (decision) => payQr(state, qrCode, '770000000', decision));
}

/** The link of a QR code: on a phone it opens the wallet. */
function linkRoute(state: State): SimulatorRoute {
  return {
    method: 'GET',
    path: '/qr/:id',
    operation: 'other',
    handle(request) {
      const qrCode = state.qrCodes.get(request.params.id ?? '');
      if (!qrCode) return { status: 404, body: '' };
      openQr(state, qrCode);
      return { status: 200, body: 'Orange Money: pay on your phone.' };
    },
  };
}

type QrOptions = { metadata?: object; isSingleUse?: boolean };

function writeQr({ qrId, endsAt }: QrCode, link: string, validity: number, now: number): object {
  const validFor = { startDateTime: new Date(now).toISOString(), endDateTime: new Date(endsAt).toISOString() };
  const deepLinks = { MAXIT: `${link}?app=maxit`, OM: `${link}?app=om` };
  return { qrCode: PNG, deepLink: link, deepLinks, shortLink: link, qrId, validity, validFor };
}

/** A try that fails leaves a row; the code stays good for another until its time is over. */
function payQr(state: State, qrCode: QrCode, msisdn: string, decision: Decision): void {
  const { context, settings, rows } = state;
  if (decision === 'ignore') return;
  const row = newSonatelRow(state, { ...qrCode, msisdn, kind: 'collection', paymentMethod: 'QRCODE' });
  rows.push(row);
  if (decision === 'cancel') settleSonatelRow(state, row, 'CANCELLED', qrCode.callbackUrl);
  else if (decision !== 'approve') settleSonatelRow(state, row, 'FAILED', qrCode.callbackUrl);
  else if (context.takeFault('unknown_code', 'collect')) row.status = 'ON_HOLD';
  else if (context.takeFault('late_success', 'collect')) {
    settleSonatelRow(state, row, 'FAILED', qrCode.callbackUrl);
    context.after(Number(settings.lateSeconds) * 1000, () => payQr(state, qrCode, msisdn, 'approve'));
  } else {
    qrCode.isPaid = true;
    settleSonatelRow(state, row, 'SUCCESS', qrCode.callbackUrl);
  }
}

const PARTY: BodyShape = { idType: 'string', id: 'string', walletType: 'string?' };
const ONE_STEP: BodyShape = {
  customer: { ...PARTY, otp: 'string' },
  partner: PARTY,
  amount: AMOUNT,
  reference: 'string?',
  metadata: 'object?',
  receiveNotification: 'boolean?',
};

type Party = { idType: string; id: string; otp?: string; encryptedPinCode?: string };
type Transfer = { customer: Party; partner: Party; amount: Money; reference?: string; metadata?: object };

/** Nine digits, without 221. */
function checkCustomer({ idType, id }: Party): void {
  if (idType !== 'MSISDN' || !/^7\d{8}$/.test(id)) throw sonatelProblem(400, '2001', 'The number is not valid');
  if (decisionOf(id) === 'not_found') throw sonatelProblem(400, '2000', 'The customer does not exist');
}

function oneStepRoute(state: State): SimulatorRoute {
  const { settings, access, rows } = state;
  return {
    method: 'POST',
    path: '/api/eWallet/v1/payments/onestep',
    operation: 'collect',
    handle(request) {
      access.enter(request, 'collect');
      checkAccount(state, 'merchant');
      checkSonatelShape(request, ONE_STEP);
      const { customer, partner, amount, reference = '', metadata = {} } = request.json as Transfer;
      if (partner.idType !== 'CODE' || partner.id !== settings.sonatelMerchantCode) {
        throw sonatelProblem(403, '2041', 'The code is not yours');
      }
      checkCustomer(customer);
      const about = { reference, msisdn: customer.id, amount: readAmount(amount), metadata };
      takeOtp(state, customer.id, customer.otp ?? '');
      const row = newSonatelRow(state, { ...about, kind: 'collection', paymentMethod: 'OTP' });
      rows.push(row);
      return moveNow(state, row, () => {
        const { transactionId, status } = row;
        return { reference, transactionId, status, description: 'Transaction effectuee' };
      });
    },
  };
}

/** A code is good once and for a while. */
function takeOtp({ context, otps }: State, msisdn: string, otp: string): void {
  const known = otps.get(msisdn);
  if (known?.otp !== otp) throw sonatelProblem(400, '4099', 'The OTP is wrong');
  otps.delete(msisdn);
  if (context.now() >= known.endsAt) throw sonatelProblem(400, '4099', 'The OTP has expired');
}

/** Payments with a code and cash-ins: the answer is the end, unless it is an internal error. */
function moveNow(state: State, row: SonatelRow, write: () => object): SimulatorAnswer {
  const { context, settings, float } = state;
  const operation = row.kind === 'payout' ? 'payout' : 'collect';
  const decision = decisionOf(row.msisdn);
  const refuse = (code: string, detail: string) => {
    settleSonatelRow(state, row, 'FAILED', null);
    return sonatelProblem(400, code, detail);
  };
  const lacksMoney = row.kind === 'payout' ? row.amount > float.of(SONATEL_CURRENCY) : decision === 'no_money';
  if (lacksMoney) throw refuse('2020', 'The balance is not enough');
  if (decision === 'limit_reached') throw refuse('2021', 'The limit is reached');
  if (context.takeFault('unknown_code', operation)) throw refuse('7777', 'Another rule');
  if (context.takeFault('late_success', operation)) {
    context.after(Number(settings.lateSeconds) * 1000, () => settleSonatelRow(state, row, 'SUCCESS', null));
    throw sonatelProblem(500, '50', 'Internal error');
  }
  settleSonatelRow(state, row, 'SUCCESS', null);
  return { status: 200, body: write() };
}

/** Only in the sandbox: elsewhere the payer dials for a code. */
function otpRoute(state: State): SimulatorRoute {
  return {
    method: 'POST',
    path: '/api/eWallet/v1/payments/otp',
    operation: 'other',
    handle(request) {
      state.access.enter(request, 'other');
      checkSonatelShape(request, { idType: 'string', id: 'string', encryptedPinCode: 'string' });
      const { id = '' } = request.json as Record<string, string>;
      return { status: 200, body: { otp: makeOtp(state, id) } };
    },
  };
}

function makeOtp({ context, settings, otps }: State, msisdn: string): string {
  const otp = String(randomInt(100_000, 1_000_000));
  otps.set(msisdn, { otp, endsAt: context.now() + Number(settings.otpSeconds) * 1000 });
  return otp;
}

const CASH_IN: BodyShape = {
  partner: { ...PARTY, encryptedPinCode: 'string' },
  customer: PARTY,
  amount: AMOUNT,
  reference: 'string?',
  metadata: 'object?',
  receiveNotification: 'boolean?',
};

/** A reference that was used before is paid again, unless the setting says that it is refused: no document knows. */
function cashInRoute(state: State): SimulatorRoute {
  const { settings, access, rows } = state;
  return {
    method: 'POST',
    path: '/api/eWallet/v1/cashins',
    operation: 'payout',
    handle(request) {
      access.enter(request, 'payout');
      checkAccount(state, 'retailer');
      checkSonatelShape(request, CASH_IN);
      const { customer, partner, amount, reference = '', metadata = {} } = request.json as Transfer;
      if (partner.idType !== 'MSISDN' || partner.id !== settings.sonatelRetailerMsisdn) {
        throw sonatelProblem(403, '2041', 'The partner is not known');
      }
      access.checkPin(partner.encryptedPinCode ?? '');
      checkCustomer(customer);
      const isRepeated = rows.some((row) => row.kind === 'payout' && row.reference === reference);
      if (isRepeated && settings.sonatelRepeats === 'refused') {
        throw sonatelProblem(400, '24', 'The reference was used before');
      }
      const about = { reference, msisdn: customer.id, amount: readAmount(amount), metadata };
      const row = newSonatelRow(state, { ...about, kind: 'payout', paymentMethod: 'CASHIN' });
      rows.push(row);
      return moveNow(state, row, () => {
        const { status, transactionId } = row;
        return { status, transactionId, requestId: randomUUID() };
      });
    },
  };
}

function createActions(state: State): Record<string, SimulatorAction> {
  const done = { status: 200, body: { done: true } };
  return {
    /** {"msisdn"}: the payer dials for a code. */
    dial_for_code: ({ msisdn }) => ({ status: 200, body: { otp: makeOtp(state, String(msisdn)) } }),
    /** {"id": qrId or reference, "msisdn"}: somebody pays a QR code, perhaps once more. */
    pay_qr: ({ id, msisdn }) =>
      answerOrRefuse(() => {
        const qrCode = [...state.qrCodes.values()].find((each) => each.qrId === id || each.reference === id);
        if (!qrCode) return { status: 404, body: '' };
        if (state.context.now() >= qrCode.endsAt) throw sonatelProblem(400, '4004', 'The QR code has expired');
        if (qrCode.isPaid && qrCode.isSingleUse) throw sonatelProblem(400, '4099', 'The QR code was used');
        payQr(state, qrCode, String(msisdn), decisionOf(String(msisdn)) ?? 'approve');
        return done;
      }),
    rotate_key: () => {
      state.access.rotateKey();
      return done;
    },
    /** {"secret"}: callbacks are signed with it and with the one before. */
    rotate_secret: ({ secret }) => {
      state.webhook.rotateSecret(String(secret));
      return done;
    },
  };
}
